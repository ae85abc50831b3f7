"""Certificates that are not what they should be, and what a stranger does with the file of one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from certificate_cases import ROWS, certificate, point, problem, refused, write_csv
from oracle import optimum
from present import present

import kanon_milp as km
from kanon_milp.bounds import Certificate, certified_instance, certify, lagrangian
from kanon_milp.bounds.certificate import certify_required, required_instance
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.errors import InputError
from kanon_milp.methods.verification import check_certificate_files
from kanon_milp.verify.cells import ColumnRule
from kanon_milp.verify.certificate import check_certificate
from kanon_milp.verify.dual import Released

# --------------------------------------------------------------------------------------- what could go wrong


def test_exempt_rows_count_with_their_own_size() -> None:
    rows = [("m", "30")] * 3 + [("f", "31")]
    for reading, best, proven in (("exempt", 2, 2), ("strict", 8, 8)):
        asked = problem(3, rows, suppressed_rows=reading)
        for dual in (point([9, 9]), point([9, 0]), point([0, 2]), lagrangian(certified_instance(asked))):
            report = check_certificate(asked, certify(asked, dual))
            assert report.valid
            assert report.bound <= best
        assert report.bound == proven
    assert check_certificate(problem(3, rows, suppressed_rows="exempt"), certificate(asked)).bound == 0


def test_exempt_rows_need_not_move_to_where_more_partners_are_needed() -> None:
    rows = [("m", "30")] * 3 + [("m", "31")]  # (m, *) covers all rows and is cheaper than (*, *), but needs three
    asked = problem(3, rows, suppressed_rows="exempt")
    assert optimum(rows, 3, suppressed_rows="exempt") == 2
    bounds = {check_certificate(asked, certify(asked, point([a, b]))).bound for a in range(4) for b in range(8)}
    assert max(bounds) == 2


def test_what_is_exempt_from_k_is_not_from_other_requirements() -> None:
    rows = [("m", "30", "a")] * 3 + [("m", "30", "b"), ("f", "31", "b"), ("f", "41", "b")]
    frame = pl.DataFrame(rows, schema=["sex", "age", "s"], orient="row")
    secret = km.Table.from_frame(frame, ["sex", "age"], "s")
    asked = km.Problem(secret, [km.KAnonymity(4), km.PSensitivity(2)], suppressed_rows="exempt")
    best = optimum(
        [row[:2] for row in rows],
        4,
        suppressed_rows="exempt",
        requirement=lambda group: len({rows[i][2] for i in group}) >= 2,
    )
    report = check_certificate(asked, certificate(asked))
    assert report.valid
    assert best is not None
    assert 0 < report.bound <= best


def test_a_released_cell_that_could_be_read_in_two_ways_is_refused() -> None:
    ages = pl.Series(["30", "31", "40", "41"])

    def rule(paths: dict[str | None, tuple[str | None, ...]]) -> ColumnRule:
        return ColumnRule("age", "?", paths, (Fraction(0), Fraction(1), Fraction(2)))

    same = Released.of(rule({v: (v, v if v == "41" else "x", "?") for v in ages}), ages)
    assert same.of_row.tolist() == [[0, 3, 4, 5], [1, 1, 1, 5], [2, 2, 2, 2]]
    with pytest.raises(InputError, match="names different values at two levels"):
        Released.of(rule({v: (v, "41", "?") for v in ages}), ages)
    with pytest.raises(InputError, match="symbol is a label below the top"):
        Released.of(rule({v: (v, "?", "?") for v in ages}), ages)


def test_negative_weights_are_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        check_certificate(problem(recoding=km.Suppression({"age": -1})), certificate())


def test_large_numbers_are_refused_and_never_wrap() -> None:
    honest = certificate()
    for forged in (
        replace(honest, multipliers=(1 << 62, *honest.multipliers[1:])),
        replace(honest, multipliers=(-(1 << 80), *honest.multipliers[1:])),
        replace(honest, denominator=1 << 62),
        replace(honest, counting_rows=(((0,), 1 << 62),)),
        replace(honest, counting_rows=(((0,), 1 << 61), ((1,), 1 << 61))),
    ):
        refused(check_certificate(problem(), forged), "too large or too fine")
    fits = replace(honest, multipliers=((1 << 62) // 6 - 10**5, *honest.multipliers[1:]))
    assert not check_certificate(problem(), fits).valid
    heavy = problem(recoding=km.Suppression({"age": 2**46, "sex": 2**46 - 1}))
    found = certificate(heavy)  # with a smaller denominator
    assert found.denominator < 4096
    assert check_certificate(heavy, found).valid
    best = optimum(ROWS, 2, weights=[2**46 - 1, 2**46])
    assert best is not None
    assert 0 < found.bound <= best
    with pytest.raises(InputError, match="finite"):
        certify(problem(), point([float("inf")] * 5))
    with pytest.raises(InputError, match="too large"):
        certify(problem(), point([1e30] * 5))
    with pytest.raises(InputError, match="4 multipliers; the table has 5"):
        certify(problem(), point([0] * 4))


def test_a_wrong_number_of_multipliers_or_another_unit_is_refused() -> None:
    honest = certificate()
    refused(
        check_certificate(problem(), replace(honest, multipliers=honest.multipliers[1:])), "there are 4 multipliers"
    )
    refused(check_certificate(problem(), replace(honest, unit=Fraction(2))), "another unit")


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "something else"},
        {"version": 1},
        {"counting_rows": [{"rows": [-1, 1], "multiplier": 1}]},
        {"denominator": 0},
        {"multipliers": "12345"},
        {"bound": "1e999999999"},
        {"bound": 4},
        {"unit": "0/0"},
        {"unit": "-1"},
        {"problem": []},
    ],
    ids=str,
)
def test_what_is_no_certificate_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    data = {**certificate().as_dict(), **changed}
    with pytest.raises(InputError, match="certificate"):
        check_certificate(problem(), data)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"c\.json"):
        check_certificate(problem(), path)


@pytest.mark.parametrize("text", ["", "[]", "nothing", "[" * 10**5, '{"format": 1}', '"text"'], ids=lambda t: t[:9])
def test_what_is_no_json_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    for read in (Certificate.read, lambda p: check_certificate(problem(), p)):
        with pytest.raises(InputError, match=r"c\.json"):
            read(path)
    with pytest.raises(InputError, match=r"none\.json"):
        Certificate.read(tmp_path / "none.json")


# --------------------------------------------------------------------------------------- files


def parts(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All that a certificate holds, however deep, with where it is; of long lists the first entries."""
    yield at, data
    inner = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for key, each in inner:
        yield from parts(each, (*at, key))


def others(value: Any) -> Iterator[Any]:
    """What Python may take for the same, what a reader may overlook, and numbers and lists that there are not."""
    if isinstance(value, dict):
        yield {**value, "surplus": 1}
        yield from ({name: each for name, each in value.items() if name != left_out} for left_out in value)
    elif isinstance(value, bool | int):
        yield from (float(value), str(value), [value], None, 1 << 80, math.nan)
        yield from (bool(value),) * (value in (0, 1))
    elif isinstance(value, str):
        yield from (f"{value} ", None, [value])
    elif isinstance(value, list):
        yield from ({str(i): each for i, each in enumerate(value)}, None, 5, "".join(map(str, value)))
        if all(isinstance(each, int) for each in value):
            yield from ([], [*value, value[0]], [*value[:-1], 1 << 80])
            yield from (value[::-1],) * (value == sorted({*value}) and len(value) > 1)


def put(data: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[at[0]] = put(data[at[0]], at[1:], value)
    return copy


@pytest.mark.parametrize("by_value", [False, True])
def test_every_part_is_read_as_strictly_as_the_top(by_value: bool, tmp_path: Path) -> None:
    """Numbers of another kind, surplus entries, lists that are none: in rows, cuts, charges, patterns, requirements."""
    frame = pl.DataFrame({"a": list("xxyyzz"), "b": list("uuvvvw"), "s": list("112212")})
    mask = km.PatternMask([["keep", "*"], ["*", "keep"], ["*", "*"]])
    asked = km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), [km.KAnonymity(2), km.TCloseness("1/3")], mask)
    if by_value:
        instance = present(required_instance(asked))
        types = instance.types.count
        charged = DualPoint(np.full(types, 0.5), 0.0, charges=np.full(instance.candidates.count, 0.25))
        data = certify_required(asked, instance, charged).as_dict()
        data["charges"] = [{"sensitive": "s", "levels": [1, 1], "row": 0, "charge": 1}]
        data["bound"] = "0"
    else:
        data = certificate(asked).as_dict()
    data["counting_rows"] = [{"rows": [0, 1], "multiplier": 0}]
    data["rank_one_rows"] = [{"rows": [0, 1], "weights": [1, 1], "denominator": 2, "multiplier": 0}]
    assert check_certificate(asked, data).valid
    path = tmp_path / "c.json"
    Certificate.read(write_json(path, data))
    for at, value in parts(data):
        for other in others(value):
            changed = put(data, at, other)
            try:
                report = check_certificate(asked, changed)
            except km.InputError:
                pass
            else:
                assert not report.valid, (at, other)
            if at[:1] == ("problem",):
                continue  # which is compared with a problem, by the checker
            try:
                kept = Certificate.read(write_json(path, changed)).as_dict()
            except km.InputError:
                continue
            assert json.dumps(kept, sort_keys=True) == json.dumps(changed, sort_keys=True), (at, other)


@pytest.mark.parametrize(
    ("charge", "said"),
    [
        ({"levels": [1, 0, 0]}, "a level vector that is not allowed"),
        ({"levels": [7, 0]}, "a level vector that is not allowed"),
        ({"levels": [0, 0]}, "a level vector that is not allowed"),
        ({"row": 6}, "names a row that the table does not have"),
        ({}, "stated twice"),
    ],
)
def test_a_charge_is_of_a_group_that_there_is(charge: dict[str, Any], said: str) -> None:
    frame = pl.DataFrame({"a": list("xxyyzz"), "b": list("uuvvvw"), "s": list("112212")})
    mask = km.PatternMask([["keep", "*"], ["*", "*"]])
    asked = km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), [km.TCloseness("1/3")], mask)
    instance = present(required_instance(asked))
    zero = DualPoint(np.zeros(instance.types.count), 0.0, charges=np.zeros(instance.candidates.count))
    data = certify_required(asked, instance, zero).as_dict()
    first = {"sensitive": "s", "levels": [0, 1], "row": 0, "charge": 1}
    data["charges"] = [first]
    assert check_certificate(asked, data).valid
    refused(check_certificate(asked, {**data, "charges": [first, {**first, **charge}]}), said)


def write_json(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data))
    return path


def test_a_file_is_written_whole_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    certificate().write(path)
    assert Certificate.read(path) == certificate()
    assert [each.name for each in tmp_path.iterdir()] == ["c.json"]
    assert check_certificate(problem(), path).valid
    with pytest.raises(InputError, match="cannot be written"):
        certificate().write(tmp_path / "nowhere" / "c.json")


def test_a_stranger_checks_with_the_table_alone(tmp_path: Path) -> None:
    original = write_csv(
        tmp_path / "people.csv", "age,other,sex", [(age, str(i), sex) for i, (sex, age) in enumerate(ROWS)]
    )
    found = tmp_path / "c.json"
    certificate().write(found)
    assert check_certificate_files(original, found).statement == "no 2-anonymous table suppresses fewer than 4 cells"
    own = {"quasi_identifiers": ["age", "sex"], "privacy": [km.KAnonymity(2)], "suppressed_rows": "strict"}
    assert check_certificate_files(original, found, **own).bound == 4  # type: ignore[arg-type]
    refused(check_certificate_files(original, found, privacy=[km.KAnonymity(3)]), "requirements differ")
    refused(check_certificate_files(original, found, quasi_identifiers="age"), "quasi-identifiers differ")
    refused(check_certificate_files(original, found, sensitive="other"), "sensitive attributes differ")
    refused(check_certificate_files(original, found, suppressed_rows="exempt"), "fully suppressed rows differ")
    refused(check_certificate_files(original, found, weights={"age": 2}), "weights or level costs differ")
    other = write_csv(tmp_path / "other.csv", "sex,age", [("f", "30"), *ROWS[1:]])
    refused(check_certificate_files(other, found), "another table")
    third = write_csv(tmp_path / "third.csv", "age,more", [("30", "x")])
    with pytest.raises(km.InputError) as caught:
        check_certificate_files(third, found)
    assert str(caught.value) == f'{found}: the certificate is about another table: its column "sex" is not in {third}'
    with pytest.raises(km.InputError, match='there is no column "zip"'):
        check_certificate_files(original, found, quasi_identifiers=["age", "zip"])


def test_a_stranger_checks_what_is_asked_of_sensitive_values(tmp_path: Path) -> None:
    rows = [(*row, secret) for row, secret in zip(ROWS, ("a", "a", "b", "a", None, "b"), strict=True)]
    original = write_csv(tmp_path / "people.csv", "sex,age,s", rows)
    found = tmp_path / "c.json"
    read = km.read_table(original, ["sex", "age"], "s")
    certificate(km.Problem(read, [km.PSensitivity(2)])).write(found)
    best = optimum(ROWS, 1, requirement=lambda group: len({rows[i][2] for i in group}) >= 2)
    report = check_certificate_files(original, found, sensitive="s", privacy=[km.PSensitivity(2)])
    assert report.valid
    assert best is not None
    assert 4 < report.bound <= best  # more than what 2-anonymity alone asks for
    refused(check_certificate_files(original, found, privacy=[km.PSensitivity(3)]), "requirements differ")
    write_csv(tmp_path / "s.csv", "level0,level1", [("a", "*"), ("b", "*")])  # a ground distance, no recoding
    assert check_certificate_files(original, found, hierarchies=tmp_path).valid
    with pytest.raises(InputError, match="no such folder"):
        check_certificate_files(original, found, hierarchies=tmp_path / "none")


def test_a_stranger_names_mask_and_hierarchies(tmp_path: Path) -> None:
    original = write_csv(tmp_path / "people.csv", "sex,age", ROWS)
    mask = write_csv(tmp_path / "mask.csv", "age,sex", [("1", "keep"), ("*", "*")])
    folder = tmp_path / "trees"
    folder.mkdir()
    write_csv(folder / "age.csv", "level0,level1,level2", [(v, v[0] + "x", "*") for v in ("30", "31", "40", "41")])
    weights = {"sex": "3/2"}
    recoding = km.Hierarchies.read(folder, ["sex", "age"], weights=weights, mask=km.PatternMask.read(mask, weights))
    asked = problem(recoding=recoding)
    found = tmp_path / "c.json"
    certificate(asked).write(found)
    best = optimum(
        ROWS,
        2,
        hierarchies={1: {v: (v, v[0] + "x", "*") for v in ("30", "31", "40", "41")}},
        vectors=[(0, 1), (1, 2)],
        weights=[Fraction(3, 2), 1],
    )
    report = check_certificate_files(original, found, mask=mask, hierarchies=folder, weights=weights)
    assert report.valid
    assert best is not None
    assert 0 < report.bound <= best
    assert report.statement.startswith("no 2-anonymous table of this mask of 2 level vectors has a loss below")
    refused(check_certificate_files(original, found, hierarchies=folder, weights=weights), "pattern mask differ")
    refused(check_certificate_files(original, found, mask=mask, hierarchies=folder), "weights")


def test_a_certificate_that_names_no_problem_is_refused(tmp_path: Path) -> None:
    original = write_csv(tmp_path / "people.csv", "sex,age", ROWS)
    for key in ("quasi_identifiers", "requirements", "suppressed_rows"):
        data = certificate().as_dict()
        data["problem"] = {name: value for name, value in data["problem"].items() if name != key}
        path = tmp_path / "c.json"
        path.write_text(json.dumps(data))
        with pytest.raises(InputError, match="does not name"):
            check_certificate_files(original, path)


@pytest.mark.parametrize(
    "requirement", [{"name": "k_anonymity", "k": 0}, {"name": "k_anonymity"}, {"name": "k_anonymity", "k": "2"}]
)
def test_a_certificate_with_senseless_requirements_is_refused(tmp_path: Path, requirement: dict[str, Any]) -> None:
    original = write_csv(tmp_path / "people.csv", "sex,age", ROWS)
    data = certificate().as_dict()
    data["problem"] = {**data["problem"], "requirements": [requirement]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="cannot be read"):
        check_certificate_files(original, path)
