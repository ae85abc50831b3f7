"""Certificates that know the population of journalist risk: against brute force, and forged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Literal

import polars as pl
import pytest
from command_line import run
from effort import examples
from oracle import Paths, Row, optimum

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.verify import check_certificate

PATHS: dict[str | None, tuple[str | None, ...]] = {
    "a": ("a", "ab", "*"), "b": ("b", "ab", "*"), "c": ("c", "cd", "*"), "d": ("d", "cd", "*"),
}  # fmt: skip


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"q0": pl.String, "q1": pl.String}, orient="row")


def matching(released: Row, people: Sequence[Row], hierarchies: Mapping[int, Paths]) -> int:
    def fits(column: int, label: str | None, value: str | None) -> bool:
        return label in ("*", *hierarchies.get(column, {value: (value, "*")}).get(value, ()))

    return sum(all(fits(j, *pair) for j, pair in enumerate(zip(released, row, strict=True))) for row in people)


def case(number: int) -> tuple[km.Problem, Fraction | None, int]:
    """A problem, its optimum by brute force, and k."""
    rng = Random(f"population {number}")
    rows: list[Row] = [(rng.choice("abc"), rng.choice(("x", "y", None))) for _ in range(rng.randint(2, 7))]
    people: list[Row] = [(rng.choice("abcde"), rng.choice(("x", "y", "z", None))) for _ in range(rng.randint(3, 14))]
    risk, k = Fraction(rng.choice(["1/2", "0.4", "1/3", "1/5"])), rng.choice([1, 1, 2])
    hierarchies: dict[int, Paths] = {0: PATHS} if rng.random() < 0.5 else {}
    reading: Literal["strict", "exempt"] = rng.choice(("strict", "exempt"))
    best = optimum(
        rows,
        k,
        hierarchies=hierarchies,
        suppressed_rows=reading,
        allowed=lambda released: matching(released, people, hierarchies) >= 1 / risk,
    )
    problem = km.Problem(
        km.Table.from_frame(frame_of(rows), ["q0", "q1"]),
        [km.JournalistRisk(risk, frame_of(people)), *([km.KAnonymity(k)] if k > 1 else [])],
        km.Hierarchies({"q0": PATHS}) if hierarchies else km.Suppression(),
        suppressed_rows=reading,
    )
    return problem, best, k


@pytest.mark.full
@pytest.mark.parametrize("number", range(examples(300, 25)))
def test_what_is_proven_is_true_whatever_the_multipliers_are(number: int) -> None:
    problem, best, k = case(number)
    if best is None:
        return
    certificate = km.solve(problem).certify()
    report = check_certificate(problem, certificate)
    assert report.valid, report.problems
    assert report.bound == certificate.bound <= best
    assert k > 1 or certificate.bound == best  # each row has the cheapest that it may have
    rng, forged = Random(number), certificate.as_dict()
    for _ in range(20):
        forged["multipliers"] = [
            each + rng.randint(-2, 2) * forged["denominator"] // 2 for each in forged["multipliers"]
        ]
        assert check_certificate(problem, {**forged, "bound": "0"}).bound <= best
    raised = {**certificate.as_dict(), "bound": str(certificate.bound + certificate.unit)}
    assert not check_certificate(problem, raised).valid


def small(people: Sequence[Row], risk: str = "1/2") -> km.Problem:
    table = km.Table.from_frame(frame_of([("a", "x"), ("a", "y"), ("b", "y")]), ["q0", "q1"])
    return km.Problem(table, km.JournalistRisk(risk, frame_of(people)))


PEOPLE: list[Row] = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "x")]


def test_another_population_is_refused() -> None:
    problem = small(PEOPLE)
    certificate = km.solve(problem).certify()
    assert certificate.bound == 2
    assert check_certificate(problem, certificate).valid
    assert check_certificate(small(PEOPLE[::-1]), certificate).valid  # in another order
    more: list[Row] = [*PEOPLE[:3], ("b", "y"), ("b", "y")]  # as many, of whom more match
    for other in (small(more), small([*PEOPLE, ("c", "z")]), small(PEOPLE, "1/3")):
        report = check_certificate(other, certificate)
        assert not report.valid
        assert "the requirements differ" in report.problems[0]
    # what is stated of the population is not believed, either
    forged: Any = json.loads(json.dumps(certificate.as_dict()))
    (stated,) = km.solve(small(more)).certify().as_dict()["problem"]["requirements"]
    forged["problem"]["requirements"] = [stated]
    report = check_certificate(small(more), forged)
    assert not report.valid
    assert report.problems == ("the certificate claims 2; its multipliers prove 1",)
    for left_out in ("population_sha256", "population_rows"):
        less: Any = json.loads(json.dumps(certificate.as_dict()))
        del less["problem"]["requirements"][0][left_out]
        if left_out == "population_rows":
            with pytest.raises(InputError, match="the parameters of journalist_risk cannot be read"):
                check_certificate(problem, less)
        else:
            assert not check_certificate(problem, less).valid


def test_a_certificate_without_the_requirement_proves_what_holds_without_it() -> None:
    problem = small(PEOPLE)
    alone = km.Problem(problem.table, km.KAnonymity(1))
    report = check_certificate(problem, km.solve(alone).certify())
    assert not report.valid
    report = check_certificate(alone, km.solve(problem).certify())
    assert not report.valid
    assert report.bound == 0


def test_from_the_command_line_the_population_is_one_more_file(tmp_path: Path) -> None:
    file, people, out = tmp_path / "table.csv", tmp_path / "people.csv", tmp_path / "proof.json"
    frame_of([("a", "x"), ("a", "y"), ("b", "y")]).write_csv(file)
    frame_of(PEOPLE).write_csv(people)
    asked = ["--qi", "q0,q1", "--journalist-risk", "1/2", "--population", people]
    done = run("solve", "--data", file, *asked, "--certificate", out)
    assert done.returncode == 0, done.stderr
    assert str(people) not in out.read_text()
    checked = run("verify", "--original", file, "--certificate", out, *asked)
    assert checked.returncode == 0, checked.stderr
    assert "suppresses fewer than 2 cells" in checked.stdout
    without = run("verify", "--original", file, "--certificate", out)
    assert without.returncode == 2
    assert "name all requirements, with the population" in without.stderr
    people.write_text(people.read_text() + "b,y\n")
    assert run("verify", "--original", file, "--certificate", out, *asked).returncode == 6
