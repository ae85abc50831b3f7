"""Answers checked: points against models, and rows against each other and what is known."""

from __future__ import annotations

import gzip
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from kanon_milp.errors import InputError
from kanon_milp.solvers import LinearModel, SolverOptions, get
from kanon_milp.solvers.canaries import CANARIES, small_model
from kanon_milp.solvers.mps import write_model
from kanon_milp.studies.bench.checks import check_point, check_unbounded, judged, read_number
from kanon_milp.studies.bench.kinds.solving import Permutation, Recording
from kanon_milp.studies.bench.running import SCHEMA, frame_of
from kanon_milp.studies.bench.sources import read_solver_model
from kanon_milp.studies.bench.statistics import MEASURED, summary, with_outcomes
from kanon_milp.system.arrays import Flags

INF = float("inf")
COEFFICIENTS = (-3.0, -1.0, 0.0, 0.1, 0.3, 1.0, 1 / 3, 2.0, 1e15)


def drawn(seed: int) -> LinearModel:
    """A small model of integer variables with coefficients that are not all doubles."""
    rng = random.Random(seed)
    n = rng.randint(1, 5)
    rows = []
    for _ in range(rng.randint(1, 4)):
        low, high = sorted((rng.choice((-INF, -1.0, 0.3, 1.0)), rng.choice((0.9, 1.3, 5.0, INF))))
        rows.append((low, [rng.choice(COEFFICIENTS) for _ in range(n)], high))
    return small_model(
        "drawn", [rng.choice(COEFFICIENTS) for _ in range(n)], rows, [(0, 3)] * n, [True] * n, offset=0.1
    )


@pytest.mark.parametrize("seed", range(200))
def test_integer_points_are_judged_as_fractions_judge_them(seed: int) -> None:
    model, rng = drawn(seed), random.Random(seed)
    x = [rng.randint(-1 if seed % 5 == 0 else 0, 3) for _ in range(model.variables)]
    good = all(0 <= value <= 3 for value in x)
    for r, row in enumerate(model.A.todense().tolist()):
        value = sum((read_number(a) * v for a, v in zip(row, x, strict=True)), Fraction(0))
        low, high = float(model.constraint_lower[r]), float(model.constraint_upper[r])
        good &= low == -INF or value >= read_number(low)
        good &= high == INF or value <= read_number(high)
    found = check_point(model, np.array(x, dtype=float) + 1e-9)
    assert (not found.defects) == good
    costs = zip(model.c.tolist(), x, strict=True)
    assert found.objective == Fraction(1, 10) + sum((read_number(c) * v for c, v in costs), Fraction(0))


def test_a_violation_of_one_in_a_large_sum_is_seen() -> None:
    """Doubles would not tell it."""
    model = small_model("large", (1, 1), [(2.0**53, (2.0**52, 1.0), 2.0**53)], [(0, 9)] * 2, (True, True))
    assert not check_point(model, np.array([2.0, 0.0])).defects
    assert check_point(model, np.array([2.0, 1.0])).defects == ("1 constraint violated, by up to 1",)


def test_a_side_beyond_the_integers_of_a_machine_is_no_infinity() -> None:
    model = small_model("huge", (1,), [(1e19, (1.0,), INF)], [(0, 9)], (True,))
    assert check_point(model, np.array([2.0])).defects == ("1 constraint violated, by up to 1e+19",)


def test_what_is_no_point_is_said() -> None:
    model = small_model("three", (1, 1), [(1.0, (1.0, 1.0), INF)], [(0, 9)] * 2, (True, False))
    assert "1 values for 2" in check_point(model, np.array([1.0])).defects[0]
    assert "not finite" in check_point(model, np.array([1.0, np.nan])).defects[0]
    assert "misses an integer by 0.5" in check_point(model, np.array([0.5, 0.5])).defects[0]
    assert "outside the bounds" in check_point(model, np.array([0.0, 9.1])).defects[0]
    assert check_point(model, None).objective is None


def test_continuous_variables_may_be_off_by_tolerances() -> None:
    """A point whose integer variable is 1e-7 short of 1; the continuous one goes with it."""
    model = small_model(
        "link", (1, 1), [(-INF, (-100.0, 1.0), 0.0), (0.5, (0.0, 1.0), INF)], [(0, 1), (0, 100)], (True, False)
    )
    assert not check_point(model, np.array([1 - 1e-7, 0.5 + 1e-8])).defects
    found = check_point(model, np.array([4.9e-6, 4.9e-4]))  # half a row through a closed door
    assert found.defects


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_permuted_models_have_the_same_optima(solver: str) -> None:
    for make in CANARIES:
        canary = make()
        if canary.optimum is None:
            continue
        for seed in (1, 2):
            adapter = Recording(get(solver), seed)
            answer = adapter.solve(canary.model, SolverOptions(time_limit=20))
            assert adapter.model is canary.model
            assert not check_point(canary.model, answer.x).defects
            assert answer.objective == pytest.approx(canary.optimum)


def test_a_permutation_is_a_permutation() -> None:
    model = drawn(7)
    order = Permutation.drawn(model, 3)
    permuted = order.of_model(model)
    x = np.arange(model.variables, dtype=float)
    assert permuted.value(x) == pytest.approx(model.value(order.back(x)))
    assert sorted((permuted.A @ x).tolist()) == pytest.approx(sorted((model.A @ order.back(x)).tolist()))
    start = order.of_start(order.back(x))
    assert isinstance(start, np.ndarray)
    assert start.tolist() == x.tolist()
    assert order.of_start(dict(enumerate(order.back(x).tolist()))) == dict(enumerate(x.tolist()))


@pytest.mark.parametrize("name", ["model.mps", "model.mps.gz"])
def test_models_come_back_from_files(tmp_path: Path, name: str) -> None:
    for make in CANARIES:
        model = make().model
        write_model(model, tmp_path / name)
        back = read_solver_model(tmp_path / name).linear
        assert np.array_equal(back.A.todense(), model.A.todense()[_stated(model)])
        assert np.array_equal(back.c, model.c)
        assert back.offset == model.offset
        assert np.array_equal(back.integer, model.integer)
        assert np.array_equal(back.upper, model.upper)


def _stated(model: LinearModel) -> Flags:
    """Constraints with a finite side."""
    return np.isfinite(model.constraint_lower) | np.isfinite(model.constraint_upper)


def test_what_is_no_model_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.mps").write_text("no model")
    (tmp_path / "a.mps.gz").write_text("no archive")
    for name in ("a.mps", "a.mps.gz"):
        with pytest.raises(InputError):
            read_solver_model(tmp_path / name)


MODEL = """NAME a
{sense}ROWS
 N obj
 L r
COLUMNS
 x obj 2
 x r 1
RHS
 rhs r 4
 rhs obj {offset}
ENDATA
"""


@pytest.mark.parametrize(
    ("sense", "meant"),
    [
        ("", "min"),
        ("* OBJSENSE MAX\n", "min"),
        ("OBJSENSE\n    MAX\n", "max"),
        ("OBJSENSE\n    MIN\n", "min"),
        ("OBJSENSE\n\n* to be sold\n  maximize\n", "max"),
        ("OBJSENSE\nMAXIMISE\n", "max"),
        ("OBJSENSE MAX\n", "max"),
        ("OBJSENSE MAXIMIZE\n", "max"),  # HiGHS minimizes this one and the next two
        ("OBJSENSE\tMaximum\n", "max"),
        ("OBJMAX\n", "max"),
        ("OBJSENSE MINIMIZE\n", "min"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_sense_is_the_one_that_the_file_states(sense: str, meant: str, packed: bool, tmp_path: Path) -> None:
    text = MODEL.format(sense=sense, offset=-3).encode()
    path = tmp_path / ("a.mps.gz" if packed else "a.mps")
    path.write_bytes(gzip.compress(text) if packed else text.replace(b"\n", b"\r\n"))
    stated = read_solver_model(path)
    sign = -1 if meant == "max" else 1
    assert stated.sense == meant
    assert stated.linear.c.tolist() == [2.0 * sign]
    assert stated.linear.offset == 3.0 * sign
    assert stated.linear.constraint_upper.tolist() == [4.0]
    assert stated.warnings == ()


def test_a_sense_that_is_none_is_refused_and_a_name_is_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "a.mps"
    path.write_text(MODEL.format(sense="OBJSENSE\n UPWARDS\n", offset=0))
    with pytest.raises(InputError, match="line 3: OBJSENSE must say MIN or MAX"):
        read_solver_model(path)
    path.write_text(MODEL.format(sense="", offset=0).replace(" x ", "MAX "))
    assert read_solver_model(path).sense == "min"


@pytest.mark.parametrize(("word", "sense"), [("Maximize", "max"), ("max", "max"), ("MINIMISE", "min"), ("min", "min")])
def test_lp_files_are_read_too(word: str, sense: str, tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text(f"{word}\n obj: 2 x - 3\nSubject To\n r: x <= 4\nEnd\n")
    stated = read_solver_model(tmp_path / "a.lp")
    assert (stated.sense, abs(stated.linear.offset)) == (sense, 3)


def test_what_is_said_of_a_file_while_it_is_read_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.mps").write_text(MODEL.format(sense="", offset=0).replace(" rhs r 4", " rhs r 4\n rhs q 5"))
    assert any('"q"' in line for line in read_solver_model(tmp_path / "a.mps").warnings)


@pytest.mark.parametrize("integer", [True, False])
def test_unbounded_is_believed_only_with_a_point_and_a_direction(integer: bool) -> None:
    """x + y ≥ 1 with costs -1, 0: x can grow; not if it costs, if it is limited, or if there is no point."""
    kinds = (integer, integer)
    free = small_model("free", (-1, 0), [(1.0, (1.0, 1.0), INF)], [(0, INF)] * 2, kinds)
    assert check_unbounded(free) == ()
    line = small_model("line", (-1, 0), [(0.0, (1.0, -1.0), 0.0)], [(-INF, INF)] * 2, kinds)
    assert check_unbounded(line) == ()
    for costs, rows, upper in (
        ((1, 0), [(1.0, (1.0, 1.0), INF)], INF),
        ((-1, 0), [(1.0, (1.0, 1.0), INF)], 1e9),
        ((-1, 0), [(1.0, (1.0, 1.0), 1e9)], INF),
        ((0, 0), [(1.0, (1.0, 1.0), INF)], INF),
    ):
        (said,) = check_unbounded(small_model("limited", costs, rows, [(0, upper)] * 2, kinds)) or ()
        assert "in no direction" in said
    empty = small_model("empty", (-1, 0), [(1.0, (1.0, -1.0), INF), (-INF, (1.0, -1.0), 0.0)], [(0, INF)] * 2, kinds)
    assert check_unbounded(empty) == ("says unbounded, but the model has no point",)


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
