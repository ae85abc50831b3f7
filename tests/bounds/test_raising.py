"""Rank-1 cuts by a master problem and by the volume algorithm: never above the optimum, never below the start."""

from __future__ import annotations

import itertools
import math
import threading
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from census import census_problem
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from present import present
from scipy.optimize import linprog
from scipy.sparse import csr_array
from strategies import Case, cases, reduced

import kanon_milp as km
from kanon_milp.bounds import (
    BoundLimit,
    DualPoint,
    certify,
    exact_value,
    lagrangian,
    proven_bound,
    round_dual,
    type_sets,
)
from kanon_milp.bounds.built_in import ColumnGenerationBound, RelaxAndCutBound
from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.columns.cut_rounds import _next_unit, raise_bound
from kanon_milp.bounds.columns.relax_and_cut import (
    CutEvaluator,
    RelaxAndCut,
    relax_and_cut,
)
from kanon_milp.bounds.parameters import RelaxAndCutParameters
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.search import Search
from kanon_milp.kernels.pricing import possible_pairs
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.solvers import LinearModel, SolverResult, StopReason
from kanon_milp.solvers.highs import HighsAdapter
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import Parameters
from kanon_milp.verify import check_certificate


@given(cases(max_rows=8, sides=False), st.integers(0, 2))
@settings(max_examples=examples(40, 5))
def test_fixing_with_rank_one_rows_keeps_what_is_better(case: Case, above: int) -> None:
    expected = optimum(case.rows, case.k, **case.judged())
    if expected is None:
        return
    instance = reduced(case.problem())
    table = greedy(instance)
    dual = raise_bound(instance, lagrangian(instance, iterations=60), table, BoundLimit(rounds=3))
    best = int(expected / instance.levels.unit)
    left = ReducedCosts(round_dual(dual), best + 1 + above).apply(instance).instance
    assert greedy_or_model(left) == best


def greedy_or_model(instance: km.Instance) -> int:
    """The optimum of what is left, by a solver."""
    from kanon_milp import solvers
    from kanon_milp.formulations import get_formulation
    from kanon_milp.solvers.pyomo_arrays import to_arrays

    compiled = to_arrays(get_formulation("strong").build(instance))
    answer = solvers.get("highs").solve(compiled.linear, solvers.SolverOptions())
    assert answer.objective is not None
    return round(answer.objective)


@pytest.mark.full
def test_rank_one_rows_prove_what_the_linear_relaxation_does_not() -> None:
    problem = census_problem(70, 5)
    instance = reduced(problem)
    table = greedy(instance)
    dual = lagrangian(instance)
    raised = raise_bound(instance, dual, table, BoundLimit(rounds=6))
    assert raised.value > dual.value + 1
    assert proven_bound(instance, round_dual(raised)) >= raised.value - 1e-3
    report = check_certificate(problem, certify(problem, raised))
    assert report.valid
    assert report.bound == proven_bound(instance, round_dual(raised)) * instance.levels.unit
    again = raise_bound(instance, dual, table, BoundLimit(rounds=6))
    assert (again.multipliers == raised.multipliers).all()
    further = raise_bound(instance, raised, table, BoundLimit(rounds=2))
    assert further.value >= raised.value - 1e-6


@pytest.mark.full
def test_rounds_end_when_the_point_is_good_enough() -> None:
    """Asked after each round from the third on, with a point that proves what its value says."""
    instance = reduced(census_problem(120, 5))
    dual, table = lagrangian(instance), greedy(instance)
    asked: list[tuple[float, float]] = []

    def enough(point: DualPoint, seconds: float) -> bool:
        assert float(exact_value(instance, round_dual(point))) == pytest.approx(point.value, abs=1e-2)
        asked.append((point.value, seconds))
        return len(asked) == 2

    raised = raise_bound(instance, dual, table, BoundLimit(rounds=20), enough=enough)
    assert len(asked) == 2
    assert raised.value == asked[-1][0] >= asked[0][0] > dual.value
    assert all(seconds > 0 for _, seconds in asked)
    same = raise_bound(instance, dual, table, BoundLimit(rounds=4))
    assert (same.multipliers == raised.multipliers).all()


@pytest.mark.parametrize(
    ("values", "expected"),
    [([3.0, 3.2, 3.3, 3.4], 6.0), ([3.0, 3.5, 4.0, 4.5], 4 / 3), ([3.0] * 4, math.inf), ([5.0, 5.4, 5.8, 6.0], 4.0)],
)
def test_the_next_unit_is_foreseen_by_the_last_rounds(values: list[float], expected: float) -> None:
    """Four rounds in four seconds: the last three of these tell the pace."""
    assert _next_unit([0.0, *values], [0.0, 0.0, 2.0, 3.0, 4.0], 3) == pytest.approx(expected)


@pytest.mark.full
def test_steps_over_all_of_the_table_close_a_part_of_the_gap() -> None:
    instance = reduced(census_problem(120, 5))
    dual = lagrangian(instance)
    params = Parameters({"subproblems.divided": 0})
    seen: list[float | None] = []
    limit = BoundLimit(rounds=8)
    first, second = (
        relax_and_cut(instance, dual, limit, threads, lambda p: seen.append(p.bound), params) for threads in (1, 2)
    )
    assert proven_bound(instance, round_dual(first)) >= proven_bound(instance, round_dual(dual)) + 2
    assert (first.multipliers == second.multipliers).all()
    assert (first.cut_multipliers == second.cut_multipliers).all()
    half = len(seen) // 2
    assert seen[:half] == seen[half:] == sorted(seen[:half], key=float)  # type: ignore[arg-type]
    further = raise_bound(instance, first, None, BoundLimit(rounds=1))
    assert further.value > first.value
    stop = threading.Event()
    stop.set()
    assert relax_and_cut(instance, first, BoundLimit(interrupt=stop)).value == pytest.approx(first.value, abs=1e-6)


def moved_to(instance: km.Instance, data: st.DataObject) -> tuple[CutEvaluator, list[np.ndarray[Any, Any]]]:
    """An evaluator with drawn rank-1 and packing cuts, and two points."""
    types = instance.types.count
    some = st.lists(st.integers(0, types - 1), min_size=1, max_size=3, unique=True)
    drawn = data.draw(st.lists(st.tuples(some, st.integers(1, 2), st.integers(2, 3)), max_size=4))
    rows = RankOneCuts.of([(chosen, [weight] * len(chosen), d) for chosen, weight, d in drawn])
    sets = type_sets(data.draw(st.lists(some, max_size=2)))
    nothing = np.zeros(types)
    dual = DualPoint(nothing, 0.0, None, nothing, 0, sets, np.zeros(sets.lists), rows, np.zeros(rows.count))
    points = []
    for _ in range(2):
        free = data.draw(st.lists(st.integers(-4, 12), min_size=types, max_size=types))
        bound = data.draw(
            st.lists(st.integers(0, 6), min_size=sets.lists + rows.count, max_size=sets.lists + rows.count)
        )
        points.append(np.array(free + bound) / 4)
    return CutEvaluator(instance, dual), points


def slow_value(instance: km.Instance, at: CutEvaluator, point: np.ndarray[Any, Any]) -> float:
    """L, every group one by one."""
    counts, covers = instance.types.counts.tolist(), instance.candidates.cover_lists()
    free, sets = point[: len(counts)], [set(each.tolist()) for each in at.sets.each()]
    charges, cuts = point[len(counts) : len(counts) + len(sets)], point[len(counts) + len(sets) :]
    total = float(free @ counts)
    for each, charge in zip(sets, charges, strict=True):
        least = [int(instance.least[g]) for g, cover in enumerate(covers) if set(cover) <= each]
        total -= charge * (sum(counts[i] for i in each) // min(least)) if least else 0.0
    rows = at.rank_one_cuts.each()
    for (chosen, weights, d), cut in zip(rows, cuts, strict=True):
        total -= cut * (sum(p * counts[i] for i, p in zip(chosen, weights, strict=True)) // d)
    for g, cover in enumerate(covers):
        best = 0.0
        for copies in itertools.product(*(range(counts[i] + 1) for i in cover)):
            if sum(copies) < instance.least[g]:
                continue
            held = dict(zip(cover, copies, strict=True))
            value = sum(a * (instance.candidates.cost[g] - free[i]) for i, a in held.items())
            value += sum(charge for each, charge in zip(sets, charges, strict=True) if set(cover) <= each)
            for (chosen, weights, d), cut in zip(rows, cuts, strict=True):
                value += cut * (sum(p * held.get(i, 0) for i, p in zip(chosen, weights, strict=True)) // d)
            best = min(best, value)
        total += best
    return total


@given(cases(max_rows=7, sides=False), st.data())
@settings(max_examples=examples(60, 6))
def test_an_evaluation_has_the_value_of_all_groups(case: Case, data: st.DataObject) -> None:
    instance = reduced(case.problem())
    assume(set(instance.candidates.members.tolist()) == set(range(instance.types.count)) and instance.types.count)
    at, points = moved_to(instance, data)
    for point in points:
        assert at.price(point).value == pytest.approx(slow_value(instance, at, point))
    # without cuts where a search has given up: lower, and what cuts cost on the right side stays
    at.uncut[:] = True
    plain = np.concatenate([points[0][: at.plain], np.zeros(at.rank_one_cuts.count)])
    right = float(at.right[at.plain :] @ points[0][at.plain :])
    assert at.price(points[0]).value == pytest.approx(at.price(plain).value + right)


@given(cases(max_rows=8, sides=False), st.integers(1, 3))
@settings(max_examples=examples(40, 5))
def test_no_bound_is_above_the_optimum_where_searches_give_up(case: Case, rounds: int) -> None:
    expected = optimum(case.rows, case.k, **case.judged())
    instance = reduced(case.problem())
    if expected is None:
        return
    start, one = lagrangian(instance, iterations=60), Parameters({"relax_and_cut.nodes": 1})
    raised = relax_and_cut(instance, start, BoundLimit(rounds=rounds), params=one)
    assert exact_value(instance, round_dual(raised)) <= expected / instance.levels.unit


def test_steps_come_near_the_value_of_the_linear_program() -> None:
    """Over the groups at hand, with multipliers up to 0.1 from the best ones, by an independent solver."""
    instance = reduced(census_problem(120, 3))
    ascent = RelaxAndCut(instance, lagrangian(instance, iterations=300), BoundLimit(rounds=6))
    at = ascent.at
    ascent.maximize()
    columns, groups = ascent.pool.columns, ascent.pool.groups
    assert at.rank_one_cuts.count
    assert len(set(groups.keys())) == groups.count
    every, free = at.rank_one_cuts.count + at.sets.lists + instance.candidates.count, ascent.best[: at.types]
    placed = csr_array((columns.copies, columns.types, columns.begins), (groups.count, at.types)).toarray().T
    taken = csr_array((columns.times, columns.bounds, columns.starts), (groups.count, every)).toarray().T
    limits = np.concatenate([-at.right[at.plain :], -at.right[at.types : at.plain], np.ones(instance.candidates.count)])
    answer: Any = linprog(
        np.concatenate([columns.cost, free + 0.1, 0.1 - free]),
        A_ub=np.hstack([taken, np.zeros((every, 2 * at.types))]), b_ub=limits,
        A_eq=np.hstack([placed, np.eye(at.types), -np.eye(at.types)]), b_eq=at.counts,
    )  # fmt: skip
    assert answer.fun - 0.5 < ascent.value <= answer.fun + 1e-6
    used, share = ascent.pool.used()
    assert used.count == (ascent.pool.share > RelaxAndCutParameters.used).sum() == len(share)


@pytest.mark.full
def test_the_rest_is_made_anew_when_a_better_table_turns_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = census_problem(90, 3)
    expected = km.solve(problem, method="milp").require_optimal().objective
    sizes: list[int] = []
    real = HighsAdapter.solve

    def solve(self: HighsAdapter, model: LinearModel, *more: object, **named: object) -> SolverResult:
        if "on_progress" in named:  # a core problem, and no row assignment
            sizes.append(model.variables)
        return real(self, model, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(HighsAdapter, "solve", solve)
    for step in ("run", "construct"):
        monkeypatch.setattr(Search, step, lambda *_: None)  # so that the first table is the greedy one
    monkeypatch.setattr(CoreProblem, "presuming", lambda *_: None)  # which raises the bound from below
    parameters = {"forecast.easy_pairs": 1_000_000, "core_problem.worth": 1.0}
    for seed in range(8):  # until the solver comes upon a better table on its way
        sizes.clear()
        result = km.solve(problem, method="search", time_limit=60, seed=seed, parameters=parameters)
        assert result.require_optimal().objective == expected
        assert sizes == sorted(sizes, reverse=True)
        if len(sizes) > 1:
            break
    assert len(sizes) > 1


def test_a_model_that_a_better_table_ended_is_no_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no time is left for another one, the limit has ended it; only a user interrupts."""
    monkeypatch.setattr(CoreProblem, "_solve_all", lambda *_: StopReason.INTERRUPTED)
    known, stop = SimpleNamespace(session=None, tracker=None), threading.Event()
    core = CoreProblem(cast(Any, known), Limit(interrupt=stop))
    assert core.solve() is None
    stop.set()
    assert core.solve() is StopReason.INTERRUPTED


def test_a_search_that_gives_up_leaves_the_pair() -> None:
    # one candidate, four rows, a group of two; no node at all: nothing is known of any pair
    ones = np.ones(4, np.int64)
    cover = (np.array([0, 4]), np.arange(4, dtype=np.int32))
    candidates = PricedCandidates(*cover, np.array([3]), np.array([2]), np.zeros(1, np.int64))
    arrays = (
        *candidates,
        ones,
        np.zeros(4, np.int64),
        *NO_CUTS.by_type(4),
        np.zeros(0, np.int64),
    )
    assert possible_pairs(*arrays, np.array([7]), 0, 100).all()
    assert possible_pairs(*arrays, np.array([7]), 100, 100).all()
    assert not possible_pairs(*arrays, np.array([6]), 100, 100).any()


@pytest.mark.full
def test_what_does_not_fit_into_a_model_is_raised_after_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = census_problem(80, 5)
    parameters = {"restricted_model.pairs": 0, "cuts.master_types": 0, "cuts.rounds": 2}
    monkeypatch.setattr(CoreProblem, "solve", lambda *_, **__: None)
    result = km.solve(problem, method="search", iteration_limit=1, parameters=parameters)
    assert result.exact_bound is not None
    assert result.exact_bound <= present(result.objective)
    report = check_certificate(problem, result.certify())
    assert report.valid
    assert report.bound == result.exact_bound
    # larger groups, or no time: left out
    for name, value, options in (
        ("cuts.group_rows", 4, {"iteration_limit": 1}),
        ("cuts.iterations", 10**12, {"time_limit": 0.7}),
    ):
        plain = km.solve(problem, method="search", parameters={**parameters, name: value}, **options)
        assert plain.exact_bound is not None
        assert plain.exact_bound < result.exact_bound


@pytest.mark.full
def test_large_groups_have_no_rank_one_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On 5,000 rows with k = 100 looking for them took 207 s of a minute."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    parameters = {"forecast.easy_pairs": 0}
    monkeypatch.setattr(RelaxAndCutBound, "compute", never)
    monkeypatch.setattr(ColumnGenerationBound, "compute", never)
    result = km.solve(census_problem(120, 20), method="search", iteration_limit=1, parameters=parameters)
    assert result.verified
    parameters["cuts.group_rows"] = 30
    with pytest.raises(AssertionError):
        km.solve(census_problem(120, 20), method="search", iteration_limit=1, parameters=parameters)
