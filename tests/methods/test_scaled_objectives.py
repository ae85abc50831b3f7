"""Objectives of the user's own, of any size: what is called optimal is so, and numbers that are none are refused."""

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


def problem() -> km.Problem:
    frame = pl.DataFrame({"q": list("aabbc"), "r": list("xyxyx")})
    return km.Problem(km.Table.from_frame(frame, ["q", "r"]), km.KAnonymity(2))


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize(("value", "said"), [(math.nan, "NaN"), (math.inf, "infinite coefficient")])
@pytest.mark.parametrize("constant", [False, True])
def test_a_coefficient_that_is_no_number_is_refused_by_a_message(
    solver: str, value: float, said: str, constant: bool
) -> None:
    model = km.build_model(problem())
    model.loss.set_value(model.loss.expr + (value if constant else value * model.open[0]))
    with pytest.raises(km.InputError, match=said):
        km.solve_model(problem(), model, solver)


def test_no_more_threads_are_used_than_there_are_processors_and_the_result_says_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    result = km.solve(problem(), threads=1000)
    assert result.as_dict()["solver"]["threads"] == 2
    with pytest.raises(km.InputError, match="threads must be at most 1024"):
        km.solve(problem(), threads=1025)


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
