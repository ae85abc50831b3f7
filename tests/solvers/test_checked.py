"""Solvers that lie: on small models none of their lies ends as a proof, whatever the way to the solver.

And a bound proves what it proves, not a unit more.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from lying import Lie, Lying, only_highs
from oracle import optimum

import kanon_milp as km
from kanon_milp.bounds import DualPoint, ProvenBound, evaluate, proven_bound, round_dual
from kanon_milp.bounds.built_in import LAGRANGIAN
from kanon_milp.methods.sizes_phases import TableSearch
from kanon_milp.solvers import LinearModel, SolverAdapter, SolverOptions, SolverResult, StopReason, checked, get
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers.checked import solve_checked
from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid

# on this table greedy is not optimal: it costs 9
ROWS = [("3", "2"), ("3", "2"), ("0", "0"), ("1", "2"), ("1", "0"), ("1", "0")]
OPTIMUM = 6


def problem(**options: Any) -> km.Problem:
    frame = pl.DataFrame(ROWS, schema={"a": pl.String, "b": pl.String}, orient="row")
    return km.Problem(km.Table.from_frame(frame, ["a", "b"]), [km.KAnonymity(3)], **options)


def worst_point(model: LinearModel) -> SolverResult:
    """The dearest point of a model as its optimum."""
    dearest = get("highs").solve(replace(model, c=-model.c, offset=-model.offset), SolverOptions())
    assert dearest.x is not None
    value = model.value(dearest.x)
    return replace(dearest, objective=value, bound=value, stop_reason=StopReason.OPTIMAL)


def dear_is_optimal(_: SolverResult, model: LinearModel) -> SolverResult:
    return worst_point(model)


def dear_at_the_time_limit(_: SolverResult, model: LinearModel) -> SolverResult:
    return replace(worst_point(model), stop_reason=StopReason.TIME_LIMIT)


def nothing_is_feasible(answer: SolverResult, _: LinearModel) -> SolverResult:
    return replace(answer, stop_reason=StopReason.INFEASIBLE, x=None, objective=None, bound=None)


def bound_above(answer: SolverResult, _: LinearModel) -> SolverResult:
    return replace(answer, bound=(answer.objective or 0.0) + 5)


def bound_above_a_dear_point(_: SolverResult, model: LinearModel) -> SolverResult:
    answer = worst_point(model)
    return replace(answer, bound=(answer.objective or 0.0) + 5)


def only_a_bound_above(answer: SolverResult, _: LinearModel) -> SolverResult:
    return replace(answer, x=None, objective=None, bound=1000.0, stop_reason=StopReason.TIME_LIMIT)


def no_numbers(answer: SolverResult, model: LinearModel) -> SolverResult:
    return replace(answer, x=np.full(model.variables, np.nan))


def endless(answer: SolverResult, model: LinearModel) -> SolverResult:
    return replace(answer, x=np.full(model.variables, np.inf), bound=float("nan"))


def too_short(answer: SolverResult, _: LinearModel) -> SolverResult:
    assert answer.x is not None
    return replace(answer, x=answer.x[:-1])


def not_of_the_model(answer: SolverResult, _: LinearModel) -> SolverResult:
    assert answer.x is not None
    return replace(answer, x=answer.x * 0, objective=0.0, bound=0.0)


LIES = [
    dear_is_optimal,
    dear_at_the_time_limit,
    nothing_is_feasible,
    bound_above,
    bound_above_a_dear_point,
    only_a_bound_above,
    no_numbers,
    endless,
    too_short,
    not_of_the_model,
]
each_lie = pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)


def solved(solver: SolverAdapter, **options: Any) -> km.Result:
    return km.solve(problem(**options), solver)


def extended(solver: SolverAdapter) -> km.Result:
    """The user's own objective over the model: twice the loss and a half."""
    p = problem()
    model = km.build_model(p)
    model.loss.deactivate()
    model.twice = pyo.Objective(expr=2 * model.loss.expr + 0.5)
    return km.solve_model(p, model, solver)


def searched(solver: SolverAdapter, monkeypatch: pytest.MonkeyPatch) -> km.Result:
    """The hybrid method, with nothing done before its last model: no bound to speak of and no search."""
    monkeypatch.setattr(LAGRANGIAN, "compute", _flat)
    monkeypatch.setattr(TableSearch, "applies", lambda *_: False)
    return km.solve(problem(), solver, method="search", iteration_limit=1)


def _flat(instance: Any, _: Any) -> Any:
    multipliers = np.zeros(instance.types.count)
    value, phi, _ = evaluate(instance, multipliers)
    dual = DualPoint(multipliers, value, None, phi)
    return ProvenBound(proven_bound(instance, round_dual(dual)), ("certificate",), dual)


def nothing_wrong(result: km.Result, best: Fraction | int) -> None:
    """No proof of anything wrong, and no table that is none."""
    assert result.proof != "infeasible"
    if result.proof == "optimal":  # without the liar: two others say so, or whoever reads a certificate
        assert "solver" not in result.backed_by, result.summary()
        assert result.exact_objective == best
    if result.table is not None:
        assert result.verified
        assert result.exact_objective is not None
        assert result.exact_objective >= best
    if result.exact_bound is not None:
        assert result.exact_bound <= best


@each_lie
def test_no_lie_is_a_proof(lie: Lie) -> None:
    assert optimum(ROWS, 3) == OPTIMUM
    nothing_wrong(solved(Lying(lie)), OPTIMUM)


@each_lie
def test_no_lie_about_a_users_model_is_a_proof(lie: Lie) -> None:
    nothing_wrong(extended(Lying(lie)), 2 * OPTIMUM + Fraction(1, 2))


@each_lie
def test_no_lie_about_the_last_model_of_the_search_is_a_proof(lie: Lie, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = searched(Lying(lambda answer, _: answer), monkeypatch)
    assert (honest.proof, honest.objective, honest.backed_by) == ("optimal", OPTIMUM, ("solver", "second look"))
    nothing_wrong(searched(Lying(lie), monkeypatch), OPTIMUM)


@each_lie
def test_no_lie_about_numbers_of_groups_is_a_proof(lie: Lie) -> None:
    for objective in ("min_groups", "max_groups"):
        best = optimum(ROWS, 3, objective=objective)
        result = solved(Lying(lie), objective=objective)
        if result.proof == "optimal":  # the dearest point may be as good as any
            assert result.exact_objective == best
        assert result.proof != "infeasible"


def test_a_better_point_of_the_second_look_is_kept() -> None:
    result = solved(Lying(dear_is_optimal))
    assert (result.stop_reason, result.proof, result.objective) == ("optimal", "optimal", OPTIMUM)
    assert "contradict each other" in result.message
    assert result.backed_by == ("second look",)


def test_without_a_third_solver_neither_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    only_highs(monkeypatch)
    for lie in (dear_is_optimal, nothing_is_feasible):
        result = solved(Lying(lie))
        assert (result.stop_reason, result.proof, result.objective) == ("error", "none", OPTIMUM)
        assert "contradict each other" in result.message
        assert result.backed_by == ()


def test_what_is_too_large_for_a_second_look_is_held_against_our_own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "SMALL", 0)
    monkeypatch.setattr(checked, "CONFIRMATION", 0.0)
    believed = solved(Lying(lambda answer, _: answer))
    assert (believed.proof, believed.backed_by) == ("optimal", ("solver",))
    for lie in (dear_is_optimal, nothing_is_feasible, only_a_bound_above):
        # 6 rows with both cells suppressed cost 12; greedy costs 9
        result = solved(Lying(lie))
        assert (result.proof, result.objective) == ("none", 9), lie.__name__
        assert result.stop_reason == "error"


def test_infeasible_is_confirmed_or_said_to_be_the_solvers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hopeless = {"cost_bound": OPTIMUM, "max_groups": 1}  # counting rows does not see it
    result = solved(Lying(lambda answer, _: answer), **hopeless)
    assert (result.proof, result.backed_by) == ("infeasible", ("solver", "second look"))
    assert result.as_dict()["proof_backed_by"] == ["solver", "second look"]
    assert json.dumps(result.as_dict())
    monkeypatch.setattr(checked, "CONFIRMATION", 0.0)
    assert solved(Lying(lambda answer, _: answer), **hopeless).backed_by == ("solver",)
    assert solved(get("highs"), recoding=km.PatternMask([(0, 0)])).backed_by == ("own bound",)


def test_the_second_look_keeps_the_time_limit() -> None:
    model = birds.infeasible_integers().model
    honest = Lying(lambda answer, _: answer)
    assert solve_checked(honest, model, SolverOptions(time_limit=1e-9), Grid()).backed_by == ("solver",)
    assert solve_checked(honest, model, SolverOptions(time_limit=5), Grid()).backed_by == ("solver", "second look")


@pytest.mark.parametrize("name", ["highs", "scip", "cbc", "cpsat"])
def test_every_solver_gets_a_second_look(name: str) -> None:
    result = km.solve(problem(), name, time_limit=20)
    assert result.require_optimal().objective == OPTIMUM
    assert result.backed_by == ("solver", "second look")
    assert result.summary() == "proven optimum 6, verified; backed by solver and second look"


def test_options_of_the_user_win_over_safe_ones() -> None:
    canary = birds.weak_dual_reductions()
    unsafe = SolverOptions(extra={"misc/allowweakdualreds": True})
    wrong = get("scip").solve(canary.model, unsafe)
    assert wrong.objective == 9  # SCIP 10.0.2; with a version that is right, the canary has done its work
    checked = solve_checked(get("scip"), canary.model, unsafe, Grid())
    assert (checked.objective, checked.bound, checked.backed_by) == (6, 6, ("second look",))
    result = km.solve(problem(), "scip", solver_options={"misc/allowweakdualreds": True})
    assert (result.proof, result.objective, result.backed_by) == ("optimal", OPTIMUM, ("second look",))
    clique = birds.equality_clique()
    unsafe = SolverOptions(extra={"presolve_rule_off": 1 << 16})
    wrong_until_1_15 = 2 if get("highs").version().startswith("1.15.") else 0
    assert get("highs").solve(clique.model, unsafe).objective == wrong_until_1_15
    # as it is proven, by integer variables in an older version and by the second look, the rule does no harm
    checked = solve_checked(get("highs"), clique.model, unsafe, Grid())
    assert (checked.objective, checked.bound, checked.backed_by) == (0, 0, ("solver", "second look"))


INTEGERS, ANYWHERE = Grid(), Grid(steps=0)


@pytest.mark.parametrize("objective", [5, 4563, 73_912, 10_000_000, 2**45])
def test_whole_numbers_meet_within_one_unit_whatever_their_size(objective: int) -> None:
    def proven(bound: float) -> bool:
        return INTEGERS.meets(objective, INTEGERS.safe(bound))

    assert proven(objective)
    assert proven(objective - INTEGRAL_GAP)
    assert not proven(objective - 1)
    assert not proven(objective - 10)
    # a bound that is one unit above by rounding alone does not count as met
    assert not proven(objective - 1 + 1e-7)


def test_a_bound_above_the_table_contradicts_it() -> None:
    assert INTEGERS.contradicts(5, INTEGERS.safe(5.2))
    assert not INTEGERS.contradicts(5, INTEGERS.safe(5.0000001))
    assert ANYWHERE.contradicts(5.0, ANYWHERE.safe(5.001))
    assert not ANYWHERE.contradicts(5.0, ANYWHERE.safe(5.0000001))


def test_no_bound_proves_nothing() -> None:
    for bound in (None, float("inf"), float("-inf"), float("nan")):
        assert INTEGERS.safe(bound) is None
        assert ANYWHERE.safe(bound) is None
    for grid in (INTEGERS, ANYWHERE):
        assert not grid.meets(5, None)
        assert not grid.contradicts(5, None)


def test_other_objectives_are_not_rounded() -> None:
    assert ANYWHERE.safe(3.2) == Fraction(3.2)
    assert ANYWHERE.meets(3.2, ANYWHERE.safe(3.2 - 1e-7))
    assert not ANYWHERE.meets(3.2, ANYWHERE.safe(3.19))
