"""Rank-1 rows over all row types and block by block: never above the optimum, never below the start, checked."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import optimum
from strategies import Case, cases

import kanon_milp as km
from kanon_milp import closing, remainder
from kanon_milp.algorithms.greedy import greedy
from kanon_milp.bounds import certify, exact_value, lagrangian, proven_bound, round_dual
from kanon_milp.bounds.kernel import sorted_covers
from kanon_milp.bounds.pricing import possible_pairs
from kanon_milp.columns import RoundLimits, raise_bound, sweep, sweep_blocks
from kanon_milp.columns.blocks import Links, cut_part, put_back
from kanon_milp.instance import prepare
from kanon_milp.reductions import reduce
from kanon_milp.reductions.fixing import ReducedCosts
from kanon_milp.search.pool import InlinePool, open_pool
from kanon_milp.solvers import LinearModel, SolverResult
from kanon_milp.solvers.highs import HighsAdapter
from kanon_milp.verify import check_certificate

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def adult(folder: Path, rows: int, k: int) -> km.Problem:
    return km.Problem(km.read_table(folder / "adult.csv.gz", Q8, rows=rows), [km.KAnonymity(k)])


def reduced(problem: km.Problem) -> km.Instance:
    before = prepare(problem)
    steps = reduce(before)
    return steps[-1].instance if steps else before


@given(cases(max_rows=9, sides=False), st.integers(1, 4))
@settings(relaxed, max_examples=40)
def test_no_bound_is_above_the_optimum(case: Case, block: int) -> None:
    expected = optimum(case.rows, case.k, **case.judged())
    instance = reduced(case.problem())
    if expected is None:
        return
    units = expected / instance.levels.unit
    table = greedy(instance)
    dual = lagrangian(instance, iterations=60)
    first = exact_value(instance, round_dual(dual))
    whole = raise_bound(instance, dual, table, RoundLimits(rounds=4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "BLOCK", block)
        blocks = sweep_blocks(instance, dual, InlinePool(), RoundLimits(rounds=2))
    assert first <= exact_value(instance, round_dual(whole)) <= units
    assert exact_value(instance, round_dual(blocks)) <= units
    assert exact_value(instance, round_dual(blocks)) >= first - 1e-2  # compared in floating point
    for raised in (whole, blocks):
        report = check_certificate(case.problem(), certify(case.problem(), raised))
        assert report.valid
        assert report.bound <= expected


@given(cases(max_rows=8, sides=False))
@settings(relaxed, max_examples=40)
def test_the_search_with_rank_one_rows_agrees_with_brute_force(case: Case) -> None:
    expected = optimum(case.rows, case.k, **case.judged())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closing, "EASY_PAIRS", -1)
        patch.setattr(closing.Search, "run", lambda *_: None)  # whatever the search would have found
        result = km.solve(case.problem(), method="search", iteration_limit=1)
    if expected is None:
        assert result.proof == "infeasible"
    else:
        assert result.exact_objective == expected == result.exact_bound
        assert result.is_optimal


@given(cases(max_rows=8, sides=False), st.integers(0, 2))
@settings(relaxed, max_examples=40)
def test_fixing_with_rank_one_rows_keeps_what_is_better(case: Case, above: int) -> None:
    expected = optimum(case.rows, case.k, **case.judged())
    if expected is None:
        return
    instance = reduced(case.problem())
    table = greedy(instance)
    dual = raise_bound(instance, lagrangian(instance, iterations=60), table, RoundLimits(rounds=3))
    best = int(expected / instance.levels.unit)
    left = ReducedCosts(round_dual(dual), best + 1 + above).apply(instance).instance
    assert greedy_or_model(left) == best


def greedy_or_model(instance: km.Instance) -> int:
    """The optimum of what is left, by a solver."""
    from kanon_milp import solvers
    from kanon_milp.compilation import compile_model
    from kanon_milp.formulations import get_formulation

    compiled = compile_model(get_formulation("strong").build(instance))
    answer = solvers.get("highs").solve(compiled.linear, solvers.SolverOptions())
    assert answer.objective is not None
    return round(answer.objective)


def test_rank_one_rows_prove_what_the_linear_relaxation_does_not(data_folder: Path) -> None:
    problem = adult(data_folder, 120, 5)
    instance = reduced(problem)
    table = greedy(instance)
    dual = lagrangian(instance)
    raised = raise_bound(instance, dual, table, RoundLimits(rounds=6))
    assert raised.value > dual.value + 1
    assert proven_bound(instance, round_dual(raised)) >= raised.value - 1e-3
    report = check_certificate(problem, certify(problem, raised))
    assert report.valid
    assert report.bound == proven_bound(instance, round_dual(raised)) * instance.levels.unit
    again = raise_bound(instance, dual, table, RoundLimits(rounds=6))
    assert (again.multipliers == raised.multipliers).all()
    further = raise_bound(instance, raised, table, RoundLimits(rounds=2))
    assert further.value >= raised.value - 1e-6


def test_blocks_on_workers_raise_the_bound(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = reduced(adult(data_folder, 400, 5))
    dual = lagrangian(instance)
    monkeypatch.setattr(sweep, "BLOCK", 150)
    seen: list[float | None] = []
    with open_pool(2, None) as pool:
        raised = sweep_blocks(instance, dual, pool, RoundLimits(rounds=1), on_progress=lambda p: seen.append(p.bound))
    assert exact_value(instance, round_dual(raised)) > exact_value(instance, round_dual(dual)) + 1
    assert seen == sorted(seen, key=float)  # type: ignore[arg-type]
    stop = threading.Event()
    stop.set()
    same = sweep_blocks(instance, raised, InlinePool(), RoundLimits(interrupt=stop))
    assert same.value == pytest.approx(raised.value, abs=1e-4)


def test_blocks_hold_every_row_type_once(data_folder: Path) -> None:
    instance = reduced(adult(data_folder, 300, 3))
    dual = lagrangian(instance)
    members = sorted_covers(instance.candidates.indptr, instance.candidates.members, dual.multipliers)
    blocks = Links.of(instance, dual, members).blocks(70, 1)
    held = np.concatenate(blocks)
    assert len(np.unique(held)) == len(held)
    assert all(len(block) == 70 for block in blocks[:-1])
    part, numbers = cut_part(instance, dual, blocks[0], members)
    assert (numbers[: part.free] == blocks[0]).all()
    assert part.free == 70
    assert (part.multipliers == dual.multipliers[numbers]).all()
    back = put_back(dual, blocks[0], part.multipliers[:70], part.own, part.own_charges)
    assert (back.multipliers == dual.multipliers).all()


def test_the_rest_is_made_anew_when_a_better_table_turns_up(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = adult(data_folder, 120, 3)
    expected = km.solve(problem, method="milp").require_optimal().objective
    sizes: list[int] = []
    real = HighsAdapter.solve

    def solve(self: HighsAdapter, model: LinearModel, *more: object, **named: object) -> SolverResult:
        sizes.append(model.variables)
        return real(self, model, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(HighsAdapter, "solve", solve)
    monkeypatch.setattr(closing.Search, "run", lambda *_: None)  # so that the first table is the greedy one
    monkeypatch.setattr(closing, "EASY_PAIRS", 1_000_000)
    monkeypatch.setattr(remainder, "WORTH", 1.0)
    result = km.solve(problem, method="search", time_limit=60)
    assert result.require_optimal().objective == expected
    assert len(sizes) > 1
    assert sizes == sorted(sizes, reverse=True)


def test_a_search_that_gives_up_leaves_the_pair() -> None:
    # one candidate, four rows, a group of two; no node at all: nothing is known of any pair
    ones = np.ones(4, np.int64)
    arrays = (
        np.array([0, 4]), np.arange(4, dtype=np.int32), np.array([3]), np.array([2]), ones, np.zeros(4, np.int64),
        np.zeros(1, np.int64), np.zeros(5, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64),
        np.zeros(0, np.int64), np.zeros(0, np.int64),
    )  # fmt: skip
    assert possible_pairs(*arrays, np.array([7]), 0).all()
    assert possible_pairs(*arrays, np.array([7]), 100).all()
    assert not possible_pairs(*arrays, np.array([6]), 100).any()
