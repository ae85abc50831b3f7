"""What the checker says is what was proven: every sentence about a changed certificate is judged by force."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from certificate_cases import ROWS, certificate, required_certificate, write_csv
from effort import examples
from statement_judge import is_true

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.methods.verification import check_certificate_files
from kanon_milp.verify.certificate import CertificateReport, check_certificate

SECRETS = [("a",), ("b",), ("a",), ("b",), ("a",), ("c",)]
MASK = [(0, 1), (1, 1)]
ASKED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "k": ([km.KAnonymity(2)], {}),
    "k exempt": ([km.KAnonymity(3)], {"suppressed_rows": "exempt"}),
    "k of a mask": ([km.KAnonymity(2)], {"recoding": km.PatternMask(MASK)}),
    "k with weights": ([km.KAnonymity(2)], {"recoding": km.Suppression({"sex": "3/2"})}),
    "k and p": ([km.KAnonymity(3), km.PSensitivity(2)], {}),
    "l": ([km.LDiversity("3/2")], {}),
    "l distinct": ([km.LDiversity(2, "distinct")], {}),
    "t": ([km.TCloseness("1/5")], {}),
    "alpha": ([km.AlphaKAnonymity("0.6", 2)], {}),
    "beta": ([km.BetaLikeness("1/2")], {}),
    "delta": ([km.DeltaDisclosure("3/2")], {}),
}
ODD: list[Any] = [
    0,
    1,
    2,
    7,
    -1,
    True,
    10**20,
    0.9,
    "0.9",
    "9/10",
    "1/1000",
    "0",
    "7",
    "-1",
    "",
    "x",
    None,
    [],
    {},
    "s",
]
ODD += ["sex", "strict", "exempt", "k_anonymity", "t_closeness", [0, 1], ["sex"], "distinct", "s) suppresses 99 (x = s"]
WORDS = ("t", "t_exact", "k", "l", "p", "alpha_exact", "quasi_identifiers", "values", "note", "name", "version")


def asked(kind: str) -> km.Problem:
    privacy, more = ASKED[kind]
    return km.Problem(people(), privacy, **more)


def people() -> km.Table:
    frame = [(*row, *secret) for row, secret in zip(ROWS, SECRETS, strict=True)]
    return km.Table.from_frame(pl.DataFrame(frame, ["sex", "age", "s"], orient="row"), ["sex", "age"], "s")


def true(report: CertificateReport, kind: str) -> bool:
    if report.statement == "nothing is proven":
        return not report.valid
    assert sorted(report.quasi_identifiers) == ["age", "sex"]
    return is_true(
        report.statement,
        ROWS,
        SECRETS,
        ("s",),
        weights=[Fraction(3, 2), 1] if kind == "k with weights" else None,
        vectors=MASK if kind == "k of a mask" else None,
    )


@pytest.fixture
def original(tmp_path: Path) -> Path:
    (tmp_path / "mask.csv").write_text("sex,age\nkeep,*\n*,*\n")
    return write_csv(tmp_path / "people.csv", "sex,age,s", [(*r, *s) for r, s in zip(ROWS, SECRETS, strict=True)])


def check(original: Path, proof: Any, kind: str) -> CertificateReport:
    """As a stranger does, who has the table and the certificate, and takes the requirements from there."""
    path = original.with_name("c.json")
    path.write_text(proof if isinstance(proof, str) else json.dumps(proof))
    return check_certificate_files(
        original,
        path,
        mask=original.with_name("mask.csv") if kind == "k of a mask" else None,
        weights={"sex": "3/2"} if kind == "k with weights" else None,
    )


BY_VALUE = tuple(
    f"{kind}, by value" for kind, (privacy, _) in ASKED.items() if not isinstance(privacy[-1], km.KAnonymity)
)


def honest_one(kind: str) -> dict[str, Any]:
    """A certificate of the sizes, or of all that is required."""
    plain = kind.removesuffix(", by value")
    return (certificate if kind == plain else required_certificate)(asked(plain)).as_dict()


@pytest.mark.parametrize("kind", [*ASKED, *BY_VALUE])
def test_what_is_said_is_true(kind: str, original: Path) -> None:
    honest, kind = honest_one(kind), kind.removesuffix(", by value")
    report = check(original, honest, kind)
    assert report.valid
    assert not report.vacuous
    assert true(report, kind)


@pytest.mark.parametrize("kind", [*ASKED, *BY_VALUE])
def test_no_changed_field_makes_it_say_something_false(kind: str, original: Path) -> None:
    draw = random.Random(kind)
    honest, kind = honest_one(kind), kind.removesuffix(", by value")
    places = list(entries(honest))
    changed = [
        *((place, value) for place in places for value in ODD),
        *((place, word) for place in places for word in WORDS if isinstance(at(honest, place), dict)),
    ]
    wrong, reported = [], 0
    for place, value in draw.sample(changed, min(len(changed), examples(3000, 16))):
        forged = copy.deepcopy(honest)
        change(forged, place, value, draw)
        if draw.random() < 0.3:
            place_2 = draw.choice(places)
            change(forged, place_2, draw.choice(ODD), draw)
        if draw.random() < 0.3 and isinstance(forged, dict):
            forged["bound"] = draw.choice(["0", "1", "100"])
        try:
            report = check(original, forged, kind)
        except InputError:
            continue
        reported += 1
        if not true(report, kind):
            wrong.append((place, value, report.statement))
    assert not wrong
    assert reported


def entries(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value but the whole."""
    found = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in found:
        yield (*place, key)
        yield from entries(value, (*place, key))


def at(data: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        data = data[key]
    return data


def change(data: Any, place: tuple[Any, ...], value: Any, draw: random.Random) -> None:
    """Replace an entry, remove it, or add one beside it; of a number, also something near it."""
    try:
        owner = at(data, place[:-1])
        old = owner[place[-1]]
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took it away
    if not isinstance(owner, dict | list):
        return
    if isinstance(old, dict) and value in WORDS:
        old[value] = draw.choice(["9/10", 0.9, 7, "s"])
    elif draw.random() < 0.1:
        del owner[place[-1]]
    elif type(old) is int and draw.random() < 0.7:
        owner[place[-1]] = old + draw.choice([1, -1, 1000, -1000, 10**5, -old, 10**18])
    else:
        owner[place[-1]] = copy.deepcopy(value)


# --------------------------------------------------------------------------------------- one number, once


def with_parameters(honest: dict[str, Any], version: int = 4, **parameters: Any) -> dict[str, Any]:
    changed = copy.deepcopy(honest)
    changed["version"] = version
    changed["problem"]["requirements"][0].update(parameters)
    return changed


def test_a_number_stands_once_and_is_the_one_that_is_proven_with(original: Path) -> None:
    honest = certificate(asked("t")).as_dict()
    (stated,) = honest["problem"]["requirements"]
    assert stated == {"name": "t_closeness", "t": "1/5", "distance": "equal", "form": "short", "sensitive": "s"}
    before = check(original, honest, "t")
    assert "t = 0.2" in before.statement
    wider = check(original, with_parameters(honest, t="9/10"), "t")
    assert "t = 0.9" in wider.statement
    assert wider.bound < before.bound
    for added in ({"t": 0.2}, {"t_exact": "1/5"}, {"note": "t = 9/10"}, {"t": "1/5", "k": 9}):
        with pytest.raises(InputError, match="parameters of t_closeness cannot be read"):
            check(original, with_parameters(honest, **added), "t")
    twice = json.dumps(honest).replace('"t": "1/5"', '"t": "9/10", "t": "1/5"')
    assert "9/10" in twice
    with pytest.raises(InputError, match="cannot be read"):
        check(original, twice, "t")
    with pytest.raises(InputError, match="no such entries"):
        check(original, {**honest, "statement": "something"}, "t")


def test_older_versions_are_read_where_their_two_numbers_agree(original: Path) -> None:
    honest = certificate(asked("t")).as_dict()
    old = with_parameters(honest, 3, t=0.2, t_exact="1/5")
    report = check(original, old, "t")
    assert report == check(original, honest, "t")
    assert check_certificate(asked("t"), old).valid
    for changed in ({"t": 0.9}, {"t_exact": "9/10"}, {"t": "1/5"}, {"t": None}, {"t": True}, {"t_exact": 0.2}):
        with pytest.raises(InputError, match=r"not the same number|not an exact number"):
            check(original, {**old, **with_parameters(old, 3, **changed)}, "t")
    with pytest.raises(InputError, match="cannot be read"):  # two numbers, where there is one since version 4
        check(original, {**old, "version": 4}, "t")


# --------------------------------------------------------------------------------------- what says nothing


def test_a_bound_for_tables_that_do_not_exist_says_so(original: Path) -> None:
    honest = certificate(asked("k")).as_dict()
    for k in (7, 10**9, 10**20):
        report = check(original, with_parameters(honest, k=k), "k")
        assert report.vacuous
        assert report.statement == f"there is no {k}-anonymous table at all, so a bound on its loss says nothing"
        assert true(report, "k")
        assert report.as_dict()["vacuous"] is True
    exempt = with_parameters(certificate(asked("k exempt")).as_dict(), k=7)
    exempt["bound"] = "0"
    report = check(original, exempt, "k exempt")
    assert report.valid
    assert "at all" not in report.statement  # all rows may be suppressed
    assert true(report, "k exempt")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("l", {"l": "21/10"}), ("l distinct", {"l": "4"}), ("alpha", {"alpha": "1/3"}), ("k and p", {"k": 10**20})],
)
def test_other_requirements_that_no_table_has(kind: str, parameters: dict[str, Any], original: Path) -> None:
    report = check(original, with_parameters(certificate(asked(kind)).as_dict(), **parameters), kind)
    assert report.vacuous
    assert report.statement.startswith("there is no table with ")
    assert true(report, kind)


def test_a_bound_of_nothing_says_so() -> None:
    report = check_certificate(asked("k"), {**certificate(asked("k")).as_dict(), "bound": "0", "multipliers": [0] * 5})
    assert report.valid
    assert report.vacuous
    assert report.statement == (
        "no 2-anonymous table suppresses fewer than 0 cells, which is true of every table and says nothing"
    )
