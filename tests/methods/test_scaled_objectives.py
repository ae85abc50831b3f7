"""Objectives and weights of any size: what is called optimal is so, and numbers that are none are refused."""

from __future__ import annotations

import math
import os
import random
from fractions import Fraction

import polars as pl
import pyomo.environ as pyo
import pytest
from effort import examples
from oracle import optimum
from present import present

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid

SCALES = [10.0**power for power in range(-9, 10)]


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "cpsat"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(examples(3, 1)))
def test_what_is_called_optimal_is_so_at_any_scale(solver: str, scale: float, seed: int) -> None:
    draw = random.Random(seed)
    rows = [(draw.choice("abc"), draw.choice("abc"), draw.choice("ab")) for _ in range(8)]
    given = km.Table.from_frame(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), ["a", "b", "c"])
    own = km.Problem(given, km.KAnonymity(3))
    best = optimum(rows, 3)
    assert best is not None
    model = km.build_model(own)
    model.loss.set_value(model.loss.expr * scale)
    result = km.solve_model(own, model, solver)
    assert result.is_optimal
    assert result.objective == pytest.approx(float(best) * scale, rel=1e-9)
    assert result.report is not None
    assert result.report.cost == best


@pytest.mark.parametrize("scale", SCALES)
def test_neither_is_anything_else_called_so_where_there_are_no_steps(scale: float) -> None:
    draw = random.Random(7)
    rows = [(draw.choice("abc"), draw.choice("abc"), draw.choice("ab")) for _ in range(8)]
    given = km.Table.from_frame(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), ["a", "b", "c"])
    own = km.Problem(given, km.KAnonymity(3))
    found = []
    for factor in (1.0, scale):
        model = km.build_model(own)
        price = random.Random(1)
        extra = sum((1 + math.sqrt(price.random())) * model.open[g] for g in model.CANDIDATES)
        model.loss.set_value((model.loss.expr + extra) * factor)
        result = km.solve_model(own, model)
        assert result.is_optimal
        assert "a millionth of their size" in result.message
        found.append(present(result.objective) / factor)
    assert found[0] == pytest.approx(found[1], rel=2e-6)


def five() -> km.Problem:
    frame = pl.DataFrame({"q": list("aabbc"), "r": list("xyxyx")})
    return km.Problem(km.Table.from_frame(frame, ["q", "r"]), km.KAnonymity(2))


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize(("value", "said"), [(math.nan, "NaN"), (math.inf, "infinite coefficient")])
@pytest.mark.parametrize("constant", [False, True])
def test_a_coefficient_that_is_no_number_is_refused_by_a_message(
    solver: str, value: float, said: str, constant: bool
) -> None:
    model = km.build_model(five())
    model.loss.set_value(model.loss.expr + (value if constant else value * model.open[0]))
    with pytest.raises(km.InputError, match=said):
        km.solve_model(five(), model, solver)


def test_no_more_threads_are_used_than_there_are_processors_and_the_result_says_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    result = km.solve(five(), threads=1000)
    assert result.as_dict()["solver"]["threads"] == 2
    with pytest.raises(km.InputError, match="threads must be at most 1024"):
        km.solve(five(), threads=1025)


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize("small", ["1e-3", "1e-7", "1e-8", "1e-12"])
def test_terms_that_break_ties_are_part_of_the_objective_however_small(solver: str, small: str) -> None:
    """Of all tables of the least loss the one whose candidates have the smallest numbers, up to what is told apart."""
    draw = random.Random(1)
    rows = [(draw.choice("abc"), draw.choice("abc"), draw.choice("ab")) for _ in range(20)]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), ["a", "b", "c"])
    own = km.Problem(table, km.KAnonymity(3))
    least = km.solve(own).require_optimal().exact_objective
    assert least is not None
    model = km.build_model(own)
    ties = sum(g * model.open[g] for g in model.CANDIDATES)
    model.loss.set_value(model.loss.expr + float(small) * ties)
    if solver == "cpsat" and float(small) < 1e-7:
        with pytest.raises(km.SolverError, match="coefficients that are not fractions"):
            km.solve_model(own, model, solver)
        return
    result = km.solve_model(own, model, solver).require_optimal()
    assert result.report is not None
    assert result.report.cost == least
    if float(small) >= 1e-7:
        assert result.message == ""
        # the same, found as the second of two objectives
        second = km.build_model(own)
        second.least = pyo.Constraint(expr=second.loss.expr <= int(least))
        second.loss.set_value(sum(g * second.open[g] for g in second.CANDIDATES))
        numbers = km.solve_model(own, second).require_optimal().exact_objective
        assert numbers is not None
        assert result.exact_objective == result.exact_bound == least + numbers * Fraction(small)
    else:
        assert "meet only up to a millionth of their size" in result.message
        assert result.objective == pytest.approx(float(least), rel=1e-6)


ROWS = [tuple(row.split()) for row in ("0 1 2", "0 1 0", "1 1 2", "1 0 2", "2 2 0", "2 0 0", "0 1 1")]
NAMES = ["a", "b", "c"]


def problem(rows: list[tuple[str, ...]], k: int, weights: list[Fraction]) -> km.Problem:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row")
    recoding = km.Suppression(dict(zip(NAMES, weights, strict=True)))
    return km.Problem(km.Table.from_frame(frame, NAMES), [km.KAnonymity(k)], recoding)


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_what_floating_point_cannot_tell_apart_is_not_proven(solver: str) -> None:
    weights = [Fraction("1.0000000001"), Fraction("1e-12"), Fraction(1)]
    best = optimum(ROWS, 2, weights=weights)
    result = km.solve(problem(ROWS, 2, weights), solver, time_limit=20)
    assert result.proof == "bound"
    assert result.stop_reason == "gap_limit"
    assert exit_code(result) == 4
    assert "weights differ so much in size" in result.message
    assert best is not None
    assert present(result.exact_bound) < best <= present(result.exact_objective)
    assert present(result.gap) < 1e-8


def test_cpsat_computes_exactly() -> None:
    weights = [Fraction("1.0000000001"), Fraction("1e-10"), Fraction(1)]
    best = optimum(ROWS, 2, weights=weights)
    assert km.solve(problem(ROWS, 2, weights), time_limit=20).proof == "bound"
    result = km.solve(problem(ROWS, 2, weights), "cpsat", time_limit=20)
    assert result.require_optimal().exact_objective == best
    assert result.backed_by == ("solver",)  # no other solver here could confirm it


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_optimal_is_exact_whatever_the_weights(solver: str) -> None:
    rng = random.Random(4)
    for digits in (0, 2, 4, 6, 9, 11):
        rows = [tuple(str(rng.randrange(3)) for _ in NAMES) for _ in range(rng.randrange(5, 9))]
        weights = [
            1 + Fraction(rng.randrange(1, 9), 10**digits),
            Fraction(rng.randrange(1, 9), 10**digits),
            Fraction(2),
        ]
        best = optimum(rows, 2, weights=weights)
        result = km.solve(problem(rows, 2, weights), solver, time_limit=20)
        assert result.proof == ("optimal" if digits < 7 else "bound"), (digits, result.summary())
        if result.proof == "optimal":
            assert result.exact_objective == best
        assert best is not None
        assert present(result.exact_bound) <= best <= present(result.exact_objective)


def test_large_numbers_are_compared_exactly() -> None:
    large = 2**60
    exact, floating = Grid(), Grid(size=1.0)
    assert exact.meets(Fraction(large), Fraction(large))
    assert not exact.meets(Fraction(large + 1), Fraction(large))  # the same number in floating point
    assert exact.contradicts(Fraction(large), Fraction(large + 1))
    safe = floating.safe(float(large))
    assert safe is not None
    assert safe < large - 10**8
    assert floating.safe(1000.0) == 1000
    assert floating.safe(1000.0 - INTEGRAL_GAP) == 1000
    assert Grid(size=1e7).safe(1000.0) == 1000
    assert Grid(size=1e9).safe(1000.0) == 999
    assert [Grid(size=size).too_fine for size in (0.0, 1e7, 1e9)] == [False, False, True]
    assert Grid(steps=20, size=3.0).safe(4.2001 - 0.04) == Fraction(84, 20)
    assert not Grid(steps=20).meets(Fraction(85, 20), Fraction(84, 20))


def test_a_users_fractions_are_proven_exactly() -> None:
    import pyomo.environ as pyo

    p = problem(ROWS, 2, [Fraction(1)] * 3)
    model = km.build_model(p)
    model.loss.deactivate()
    model.own = pyo.Objective(expr=0.3 * model.loss.expr + 0.25)
    result = km.solve_model(p, model).require_optimal()
    best = optimum(ROWS, 2)
    assert best is not None
    assert result.exact_objective == result.exact_bound == Fraction(3, 10) * best + Fraction(1, 4)
    assert result.message == ""
    model.own.set_value(2**0.5 * model.loss.expr)  # a multiple of whole numbers as well
    assert km.solve_model(p, model).require_optimal().message == ""
    model.own.set_value(2**0.5 * model.loss.expr + 3**0.5 * model.open[0] + 5**0.5 * model.open[1])
    rough = km.solve_model(p, model).require_optimal()
    assert "up to a millionth" in rough.message
