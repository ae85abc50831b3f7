"""Weights of very different size: optimal is said only where it is exact."""

from __future__ import annotations

import random
from fractions import Fraction

import polars as pl
import pytest
from oracle import optimum
from present import present

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid

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
