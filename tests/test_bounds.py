"""The Lagrangian bound is below every optimum, is what the closed form says, and reaches the linear relaxation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.bounds import evaluate, exact_value, lagrangian, proven_bound, round_multipliers
from kanon_milp.compilation import compile_model
from kanon_milp.errors import InputError
from kanon_milp.formulations.strong import build_strong
from kanon_milp.instance import Instance, prepare
from kanon_milp.reductions import reduce
from kanon_milp.solvers import SolverOptions, get

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def slow_value(instance: Instance, multipliers: Sequence[Fraction]) -> Fraction:
    """L(λ) row by row: every copy of a row on its own, the cheapest ones sorted out by Python."""
    counts, total = instance.types.counts.tolist(), Fraction(0)
    for n, each in zip(counts, multipliers, strict=True):
        total += n * each
    for g, cover in enumerate(instance.candidates.cover_lists()):
        costs = sorted(int(instance.candidates.cost[g]) - multipliers[i] for i in cover for _ in range(counts[i]))
        least = int(instance.least[g])
        if len(costs) >= least:
            total += min(0, sum(c for at, c in enumerate(costs) if at < least or c < 0))
    return total


def strong_lp(instance: Instance) -> float | None:
    """Value of the strong formulation's linear relaxation by HiGHS."""
    linear = compile_model(build_strong(instance)).linear
    answer = get("highs").solve(replace(linear, integer=np.zeros_like(linear.integer)), SolverOptions())
    return answer.objective


def reduced(problem: km.Problem) -> Instance:
    return reduce(prepare(problem))[-1].instance


def drawn_multipliers(data: st.DataObject, count: int, denominator: int) -> list[int]:
    each = st.integers(-3 * denominator, 12 * denominator)
    return data.draw(st.lists(each, min_size=count, max_size=count))


def covered(instance: Instance) -> bool:
    return set(instance.candidates.members.tolist()) == set(range(instance.types.count))


@given(cases(sides=False), st.data(), st.sampled_from([1, 3, 4096]))
@settings(relaxed, max_examples=40)
def test_any_multipliers_give_the_value_of_the_closed_form_and_a_bound(
    case: Case, data: st.DataObject, denominator: int
) -> None:
    problem = case.problem()
    for instance in (prepare(problem), reduced(problem)):
        integers = np.array(drawn_multipliers(data, instance.types.count, denominator), dtype=np.int64)
        exact = exact_value(instance, integers, denominator)
        assert exact == slow_value(instance, [Fraction(x, denominator) for x in integers.tolist()])
        value, _, _ = evaluate(instance, integers / denominator)
        assert value == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
        best = optimum(case.rows, case.k, **case.judged())
        if best is not None:
            assert proven_bound(instance, integers, denominator) * instance.levels.unit <= best


@given(cases(sides=False), st.data())
@settings(relaxed, max_examples=40)
def test_what_is_left_of_the_rows_is_a_subgradient(case: Case, data: st.DataObject) -> None:
    instance = prepare(case.problem())
    here, there = (np.array(drawn_multipliers(data, instance.types.count, 4)) / 4 for _ in range(2))
    value, _, slope = evaluate(instance, here)
    assert evaluate(instance, there)[0] <= value + slope @ (there - here) + 1e-6


@given(cases(sides=False))
@settings(relaxed, max_examples=40)
def test_the_lagrangian_bound_is_the_value_of_the_linear_relaxation(case: Case) -> None:
    instance = reduced(case.problem())
    assume(covered(instance))
    relaxation = strong_lp(instance)
    assume(relaxation is not None)
    value = lagrangian(instance).value
    assert value <= relaxation + 1e-6 * max(1, relaxation)
    assert value >= relaxation - 1e-4 * max(1, relaxation)


@pytest.mark.parametrize("k", [2, 5])
def test_the_lagrangian_bound_is_the_value_of_the_linear_relaxation_on_adult(data_folder: Path, k: int) -> None:
    table = km.read_table(data_folder / "adult.csv.gz", Q8, rows=200)
    instance = reduced(km.Problem(table, [km.KAnonymity(k)]))
    assert lagrangian(instance).value == pytest.approx(strong_lp(instance), rel=1e-4)


def small() -> Instance:
    rows = [(a, b) for a in "abc" for b in "xyz"]
    case = Case(tuple(rows), 2, None, (Fraction(1), Fraction(1)), {}, {}, "strict", {})
    return reduced(case.problem())


def test_it_ends_when_it_is_told_to() -> None:
    instance = small()
    stop = threading.Event()
    stop.set()
    assert lagrangian(instance, interrupt=stop).evaluations == 1
    assert lagrangian(instance, iterations=7).evaluations <= 7
    assert lagrangian(instance, seconds=0.0).evaluations == 1
    assert lagrangian(instance, iterations=1).open_share is None


def test_it_ends_when_nothing_better_than_the_target_can_exist() -> None:
    dual = lagrangian(small(), target=9)  # one cell of every row
    assert dual.value > 8
    assert dual.value <= 9 + 1e-6


def test_progress_is_told_and_never_falls() -> None:
    told: list[float] = []
    lagrangian(small(), on_progress=lambda progress: told.append(progress.bound or 0.0), iterations=500)
    assert told == sorted(told)


def test_another_objective_is_refused() -> None:
    case = Case((("a",), ("b",)), 2, None, (Fraction(1),), {}, {}, "strict", {"objective": "min_groups"})
    with pytest.raises(InputError, match="min_groups"):
        lagrangian(prepare(case.problem()))


def test_a_row_without_a_candidate_is_refused() -> None:
    case = Case((("a",), ("a",), ("b",)), 2, ((0,),), (Fraction(1),), {}, {}, "strict", {})
    with pytest.raises(InputError, match="1 row types have no candidate"):
        lagrangian(reduced(case.problem()))


def test_numbers_that_do_not_fit_are_refused() -> None:
    instance = small()
    with pytest.raises(InputError, match="too large"):
        exact_value(instance, np.full(9, 1 << 60, dtype=np.int64))
    for bad in (1e300, float("nan"), float("inf")):
        with pytest.raises(InputError, match="too large"):
            round_multipliers(np.array([bad]))
    with pytest.raises(InputError, match="at least 1"):
        round_multipliers(np.array([1.0]), 0)
