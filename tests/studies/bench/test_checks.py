"""Answers held against each other, and the formulas of the summary."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from kanon_milp.studies.bench.checks import judged
from kanon_milp.studies.bench.running import SCHEMA, frame_of
from kanon_milp.studies.bench.statistics import MEASURED, summary, with_outcomes

GOOD = {
    "run": "a", "instance": "i", "solver": "s", "method": "solver", "formulation": "strong", "options": "{}",
    "threads": 1, "ended": "finished", "proof": "optimal", "objective_exact": "12", "bound_exact": "12", "sense": "min",
    "verified": True, "defects": [], "time_limit": 60.0, "seconds": 4.0, "stop_reason": "optimal",
}  # fmt: skip


def defects(*rows: dict[str, Any]) -> list[list[str]]:
    named = [{**GOOD, "run": f"r{number}", **row} for number, row in enumerate(rows)]
    found: list[list[str]] = judged(frame_of(named))["defects"].to_list()
    return found


BOUND = {"proof": "bound", "objective_exact": None, "verified": None}
ENDLESS = {"proof": "unbounded", "objective_exact": None, "bound_exact": None, "verified": None}
NEGATIVE = {"objective_exact": "-12", "bound_exact": "-12"}
NO = {"proof": "infeasible", "objective_exact": None, "bound_exact": None, "verified": None}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, {"objective_exact": "13", "bound_exact": "13"}, "says optimal with 13"),
        ({}, {**BOUND, "bound_exact": "25/2"}, "bound 12.5"),
        ({"proof": "bound", "bound_exact": "3"}, {**BOUND, "bound_exact": "13"}, "bound 13"),
        ({"proof": "none", "bound_exact": None}, NO, "says infeasible"),
        ({"sense": "max"}, {"sense": "max", "objective_exact": "11", "bound_exact": "11"}, "says optimal with 11"),
        ({"sense": "max"}, {**BOUND, "sense": "max", "bound_exact": "11"}, "bound 11"),
    ],
)
def test_a_contradiction_is_said_of_who_is_refuted(first: dict[str, Any], second: dict[str, Any], said: str) -> None:
    for order in ((first, second), (second, first)):
        found = defects(*order)
        mine, other = (found[1], found[0]) if order[0] is first else (found[0], found[1])
        assert other == []
        assert len(mine) == 1
        assert said in mine[0]
        assert "has a solution with 12" in mine[0]


def test_a_checked_unbounded_refutes_bounds_and_infeasible() -> None:
    assert defects(ENDLESS, NO)[1] == ["says infeasible, s, solver, strong (run r0) says unbounded, which was checked"]
    assert defects(ENDLESS, {**BOUND, "bound_exact": "3"})[1] != []
    assert defects({**ENDLESS, "defects": ["wrong"]}, {**BOUND, "bound_exact": "3"})[1] == []


@pytest.mark.parametrize(
    "second",
    [
        {},
        {**BOUND, "bound_exact": "12"},
        {**BOUND, "bound_exact": "11"},
        {"objective_exact": "13", "bound_exact": "12", "proof": "bound"},
        {**NO, "instance": "another"},
        {**NO, "ended": "time"},
        # a solution in which something is wrong refutes nothing
        {"objective_exact": "3", "bound_exact": "3", "verified": False, "proof": "none"},
        {"objective_exact": "3", "bound_exact": "3", "verified": None, "defects": ["model: bad"], "proof": "none"},
    ],
)
def test_what_does_not_contradict_is_not_red(second: dict[str, Any]) -> None:
    found = defects({}, second)
    assert found[0] == []
    assert found[1] == second.get("defects", [])


@pytest.mark.parametrize(
    ("known", "row", "said"),
    [
        ("11", {}, "says optimal with 12, the known optimum is 11"),
        ("13", {}, "better than the known optimum"),
        ("11", {**BOUND, "bound_exact": "12"}, "beyond the known optimum"),
        ("12", NO, "says infeasible"),
        ("infeasible", {}, "known to be infeasible"),
        ("12", {}, ""),
        ("infeasible", NO, ""),
        ("12", {**BOUND, "bound_exact": "23/2"}, ""),
        ("12", ENDLESS, "says unbounded, the known optimum is 12"),
        ("infeasible", ENDLESS, "known to be infeasible"),
        ("unbounded", ENDLESS, ""),
        ("unbounded", {}, "bound 12, the instance is known to be unbounded"),
        ("unbounded", NO, "says infeasible, the instance is known to be unbounded"),
        ("-12", NEGATIVE, ""),
        ("-13", NEGATIVE, "says optimal with -12, the known optimum is -13"),
        ("-11", NEGATIVE, "its solution with -12 is better than the known optimum -11"),
        ("-12", {**NEGATIVE, "sense": "max"}, ""),
        ("-11", {**NEGATIVE, "sense": "max"}, "says optimal with -12, the known optimum is -11"),
        ("-13", {**NEGATIVE, "sense": "max"}, "its solution with -12 is better than the known optimum -13"),
        ("-11", {**BOUND, "sense": "max", "bound_exact": "-12"}, "bound -12 is beyond the known optimum -11"),
        ("-11", {**BOUND, "sense": "max", "bound_exact": "-10"}, ""),
    ],
)
def test_what_is_known_refutes(known: str, row: dict[str, Any], said: str) -> None:
    (found,) = defects({**row, "known": known})
    assert bool(found) == bool(said)
    assert any(said in each for each in found) or not said


def test_the_page_knows_what_the_harness_writes() -> None:
    """The formulas themselves are tested with the statistics of the page; here the columns meet."""
    rows = [
        {**GOOD, "run": "1", "seconds": 2.0},
        {**GOOD, "run": "2", "seconds": 70.0, "proof": "bound", "gap": 0.5},
        {**GOOD, "run": "3", "seconds": 1.0, "defects": ["wrong"]},
        {**GOOD, "run": "4", "seconds": 30.0, "solver": "other", "proof": "none", "stop_reason": MEASURED},
        {**GOOD, "run": "5", "seconds": 30.0, "solver": "other", "ended": "crashed", "gap": None},
    ]
    found = {each["setting"]: each for each in summary(with_outcomes(frame_of(rows))).iter_rows(named=True)}
    assert set(found) == {"s", "other"}
    assert (found["s"]["solved"], found["s"]["red"], found["s"]["runs"]) == (1, 1, 3)
    assert found["s"]["mean"] == pytest.approx(((2 + 10) * (60 + 10) * (60 + 10)) ** (1 / 3) - 10)
    assert found["s"]["par10"] == pytest.approx((2 + 600 + 600) / 3)
    assert found["other"]["mean"] == pytest.approx(math.sqrt(40 * 70) - 10)
    assert found["other"]["solved"] == 1
    assert pl.Schema(SCHEMA).names()[:3] == ["run", "study", "instance"]
