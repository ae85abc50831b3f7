"""The conformance suite: what every solver adapter has to do, tested by what it declares to be able to do."""

from __future__ import annotations

import dataclasses
import itertools
import time
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present
from solver_cases import INF, LEFT_OUT, each_adapter, market_split, needs

from kanon_milp.errors import InputError
from kanon_milp.solvers import Capability, LinearModel, SolverOptions, StopReason
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers import highs as highs_module
from kanon_milp.solvers.adapter import proven
from kanon_milp.solvers.canaries import small_model


@each_adapter
@pytest.mark.parametrize("make", birds.CANARIES, ids=lambda make: make.__name__)
def test_canaries_get_their_known_answers(adapter: Any, make: Any) -> None:
    canary = make()
    if not adapter.takes(canary.model):
        needs(adapter, Capability.CONTINUOUS)
    result = adapter.solve(canary.model, SolverOptions(time_limit=20))
    assert result.stop_reason is canary.stop_reason
    if canary.optimum is None:
        assert result.x is None
        assert result.objective is None
    else:
        assert result.objective == pytest.approx(canary.optimum)
        assert result.bound == pytest.approx(canary.optimum, abs=1e-4)
        assert canary.model.violation(result.x) < 1e-6
    assert result.solver == adapter.name
    assert result.version == adapter.version() != ""


def test_doctor_finds_nothing_wrong_here_and_something_with_a_liar() -> None:
    diagnoses = {d.name: d for d in birds.diagnose()}
    assert {"highs", "cbc", "pulp:PULP_CBC_CMD"} <= diagnoses.keys()
    assert {d.name: d.problems for d in diagnoses.values() if d.problems and d.name not in LEFT_OUT} == {}
    assert diagnoses["highs"].location

    class Liar(highs_module.HighsAdapter):
        def solve(self, model: Any, options: Any, *_: Any, **__: Any) -> Any:
            result = super().solve(model, options)
            return dataclasses.replace(result, objective=15.0)

    assert any("mixed rounding" in problem for problem in birds.check(Liar()))


@each_adapter
def test_linear_programs_have_their_objective_as_bound(adapter: Any) -> None:
    needs(adapter, Capability.CONTINUOUS)
    # min x - 2y + 10 with x + y ≤ 4, x - y ≥ -2, free x: (1, 3)
    rows = [(-INF, (1.0, 1.0), 4.0), (-2.0, (1.0, -1.0), INF)]
    model = small_model("lp", (1, -2), rows, [(-INF, INF), (0, INF)], (False, False), offset=10.0)
    result = adapter.solve(model, SolverOptions())
    assert result.stop_reason is StopReason.OPTIMAL
    assert result.x == pytest.approx([1, 3])
    assert result.objective == result.bound == pytest.approx(5)
    infeasible = dataclasses.replace(model, upper=np.array([-5.0, 1.0]), constraint_lower=np.array([-INF, 0.0]))
    assert adapter.solve(infeasible, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    endless = dataclasses.replace(model, c=np.array([1.0, 2.0]))
    assert adapter.solve(endless, SolverOptions()).objective is not None
    endless = dataclasses.replace(model, c=np.array([1.0, 0.0]), constraint_lower=np.array([-INF, -INF]))
    assert adapter.solve(endless, SolverOptions()).stop_reason is StopReason.UNBOUNDED


def sides_model(*, integer: bool) -> LinearModel:
    """All kinds of rows and columns."""
    rows = [
        (1.0, (1, 1, 0, 0, 0, 0), INF),
        (-3.5, (0, 1, 1, 0, 1, 0), 4.0),  # a range
        (-INF, (0, 0, 0, 0, 0, 0), 5.0),  # empty
        (-INF, (1, 0, -1, 0, 0, 0), INF),  # says nothing
        (-2.0, (1, 1, 1, 0, 1, 1), 8.0),
        (-8.5, (0, 0, 1, 0, 0, 2), -8.5),
    ]
    bounds = [(-7, INF), (-3, 2.5), (-INF, INF), (0, INF), (-INF, 6), (-5, -1)]
    kinds = (False, False, False, True, True, True) if integer else (False,) * 6
    return small_model("sides", (1, -2, 3, 0, 0.5, -1), rows, bounds, kinds, offset=7.25)


@cache
def sides_optimum(*, integer: bool) -> float | None:
    return reference(sides_model(integer=integer))


@each_adapter
@pytest.mark.parametrize("integer", [True, False])
def test_negative_free_fixed_equality_range_and_empty_rows(adapter: Any, integer: Any) -> None:
    needs(adapter, Capability.CONTINUOUS)
    model = sides_model(integer=integer)
    result = adapter.solve(model, SolverOptions())
    assert result.stop_reason is StopReason.OPTIMAL
    assert model.violation(result.x) < 1e-6
    assert result.objective == pytest.approx(sides_optimum(integer=integer))


def reference(model: LinearModel) -> float | None:
    """Independent judge: scipy's LP on every assignment of the integer columns within -8..8."""
    from scipy.optimize import linprog

    best: float | None = None
    where = np.flatnonzero(model.integer)
    ranges = [range(int(max(-8, model.lower[j])), int(min(8, model.upper[j])) + 1) for j in where]
    dense = model.A.toarray()
    upper, lower = np.isfinite(model.constraint_upper), np.isfinite(model.constraint_lower)
    A = np.vstack([dense[upper], -dense[lower]])
    b = np.r_[model.constraint_upper[upper], -model.constraint_lower[lower]]
    for values in itertools.product(*ranges):
        low, high = model.lower.copy(), model.upper.copy()
        low[where] = high[where] = values
        done: Any = linprog(model.c, A_ub=A if len(b) else None, b_ub=b if len(b) else None, bounds=np.c_[low, high])
        if done.status == 0 and (best is None or done.fun < best):
            best = done.fun
    return None if best is None else best + model.offset


@each_adapter
def test_obvious_models_need_no_solver(adapter: Any) -> None:
    box = small_model("box", (1, 1), [(0, (1, 1), INF)], [(0, 1), (0, 1)], (True, False))
    crossed = dataclasses.replace(box, lower=np.array([2.0, 0.0]))
    assert adapter.solve(crossed, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    crossed = dataclasses.replace(box, constraint_lower=np.array([3.0]), constraint_upper=np.array([1.0]))
    assert adapter.solve(crossed, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    empty_row = small_model("empty row", (1,), [(1, (0,), INF)], [(0, 1)], (True,))
    assert adapter.solve(empty_row, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    nothing = small_model("nothing", (), [(-1, (), INF)], [], (), offset=3.0)
    result = adapter.solve(nothing, SolverOptions())
    assert (result.stop_reason, result.objective, result.bound) == (StopReason.OPTIMAL, 3.0, 3.0)
    no_rows = small_model("no rows", (1, -1), [], [(0, 1), (0, 1)], (True, False))
    assert adapter.solve(no_rows, SolverOptions()).x == pytest.approx([0, 1])


@st.composite
def small_programs(draw: st.DrawFn) -> LinearModel:
    """Two to four integer columns within -3..3 and one to four rows of any kind, sometimes infeasible."""
    columns, rows = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    number = st.integers(-4, 4).map(float)
    bounds = [tuple(sorted(draw(st.tuples(*[st.integers(-3, 3)] * 2)))) for _ in range(columns)]
    written = []
    for _ in range(rows):
        low, high = sorted(draw(st.tuples(*[st.integers(-6, 6)] * 2)))
        low, high = draw(st.sampled_from([(low, high), (low, INF), (-INF, high), (low, low)]))
        written.append((low, tuple(draw(number) for _ in range(columns)), high))
    c = [draw(number) for _ in range(columns)]
    return small_model("random", c, written, bounds, (True,) * columns, offset=draw(number))


def values_of(model: LinearModel) -> list[float]:
    """The objective values of all feasible points."""
    bounds = zip(model.lower, model.upper, strict=True)
    points = itertools.product(*(range(int(low), int(high) + 1) for low, high in bounds))
    return [model.value(np.array(p, float)) for p in points if model.violation(np.array(p, float)) <= 0]


@each_adapter
@settings(max_examples=examples(25, 3))
@given(model=small_programs())
def test_random_integer_programs_agree_with_enumeration(adapter: Any, model: Any) -> None:
    feasible = values_of(model)
    result = adapter.solve(model, SolverOptions(time_limit=20))
    if feasible:
        assert result.stop_reason is StopReason.OPTIMAL
        assert result.objective == pytest.approx(min(feasible))
        assert result.bound == pytest.approx(min(feasible), abs=1e-4)
    else:
        assert result.stop_reason is StopReason.INFEASIBLE


@each_adapter
def test_values_go_to_the_columns_they_belong_to_whatever_the_names(adapter: Any) -> None:
    names = ("e12", "x 1", "Σ[1,2]", "free", "x0")
    c = (1, 2, 3, 4, 5)
    rows = [(float(j + 1), tuple(float(i == j) for i in range(5)), INF) for j in range(5)]
    model = small_model("names", c, rows, [(0, 9)] * 5, (True, False, True, False, True), integral=True)
    order = np.array([3, 0, 4, 1, 2])
    permuted = dataclasses.replace(
        model,
        c=model.c[order],
        A=sp.csr_array(model.A[:, order]),
        integer=model.integer[order],
        variable_names=tuple(names[j] for j in order),
    )
    x = adapter.solve(permuted, SolverOptions()).x
    assert dict(zip(permuted.variable_names, x, strict=True)) == pytest.approx(
        dict(zip(names, range(1, 6), strict=True))
    )


@each_adapter
def test_large_values_keep_all_their_digits(adapter: Any) -> None:
    if adapter.name.startswith("pulp:PULP_CBC"):
        pytest.skip("PuLP reads a text file with eight digits")
    rows = [(123456789.0, (1.0, 1.0), INF)]
    model = small_model("digits", (1, 1.5), rows, [(0, 123456000), (0, 1e9)], (True, True))
    result = adapter.solve(model, SolverOptions())
    assert result.x == pytest.approx([123456000, 789], abs=1e-3)
    assert result.stop_reason is StopReason.OPTIMAL


@each_adapter
def test_time_limit_with_incumbent_is_no_proof(adapter: Any) -> None:
    began = time.perf_counter()
    result = adapter.solve(market_split(), SolverOptions(time_limit=1))
    assert time.perf_counter() - began < 4
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert market_split().violation(result.x) < 1e-4
    assert result.objective == pytest.approx(market_split().value(result.x))
    if Capability.BOUND in adapter.capabilities:
        assert 999 < result.bound <= 1000.001
    else:
        assert result.bound is None
    if Capability.TRAJECTORY in adapter.capabilities:
        incumbents = [p.incumbent for p in result.trajectory if p.incumbent is not None]
        bounds = [p.bound for p in result.trajectory if p.bound is not None]
        assert incumbents == sorted(incumbents, reverse=True)
        assert bounds == sorted(bounds)
        assert (incumbents[-1], bounds[-1]) == pytest.approx((result.objective, result.bound), abs=1e-3)
        assert [p.seconds for p in result.trajectory] == sorted(p.seconds for p in result.trajectory)


@each_adapter
def test_time_limit_without_incumbent_has_no_point(adapter: Any) -> None:
    result = adapter.solve(market_split(slack=False), SolverOptions(time_limit=0.4))
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.x is None
    assert result.objective is None


@each_adapter
def test_a_gap_that_was_asked_for_is_not_called_optimal(adapter: Any) -> None:
    random = np.random.default_rng(1)
    # maximize over a strong correlation of weight and value: good points at once, proofs late
    weights = random.integers(100, 1000, (3, 60)).astype(float)
    rows = [(-INF, tuple(row), row.sum() / 2) for row in weights]
    model = small_model("gap", tuple(-weights.sum(axis=0)), rows, [(0, 1)] * 60, (True,) * 60)
    result = adapter.solve(model, SolverOptions(time_limit=10, gap=0.2))
    assert result.stop_reason is StopReason.GAP_LIMIT
    assert result.objective * 1.2 - 1 <= result.bound <= result.objective


@each_adapter
@settings(max_examples=examples(15, 3))
@given(model=small_programs(), gap=st.sampled_from([0.1, 0.5, 3.0]), absolute=st.booleans())
def test_a_bound_is_a_bound_whatever_the_gap(adapter: Any, model: Any, gap: Any, absolute: Any) -> None:
    options = SolverOptions(time_limit=20, absolute_gap=gap) if absolute else SolverOptions(time_limit=20, gap=gap)
    result = adapter.solve(model, options)
    best = min(values_of(model), default=None)
    assert (result.x is None) == (best is None)
    if result.x is not None:
        assert model.violation(result.x) < 1e-6
        assert result.objective >= present(best) - 1e-6
        assert result.bound is None or result.bound <= present(best) + 1e-6


@each_adapter
def test_a_number_of_nodes_is_a_limit(adapter: Any) -> None:
    needs(adapter, Capability.NODE_LIMIT)
    result = adapter.solve(market_split(), SolverOptions(node_limit=20, time_limit=30))
    assert result.stop_reason is StopReason.NODE_LIMIT
    assert result.seconds < 15
    assert result.bound == pytest.approx(1000, abs=1e-2)


@each_adapter
def test_absolute_gap_below_one_proves_integral_objectives(adapter: Any) -> None:
    canary = birds.knapsack()
    result = adapter.solve(canary.model, SolverOptions(absolute_gap=0.999))
    assert result.stop_reason is StopReason.OPTIMAL
    assert result.objective == pytest.approx(canary.optimum)
    assert result.objective - result.bound <= 0.999 + 1e-3


def test_judge_wants_incumbent_and_bound_to_meet() -> None:
    exact, integral = SolverOptions(), SolverOptions(absolute_gap=0.999)
    assert proven(100.0, 100.0, exact) == (StopReason.OPTIMAL, 100.0)
    assert proven(100.0, 99.99, exact) == (StopReason.GAP_LIMIT, 99.99)
    assert proven(100.0, 99.01, integral)[0] is StopReason.OPTIMAL
    assert proven(100.0, 98.9, integral)[0] is StopReason.GAP_LIMIT
    assert proven(100.0, None, exact) == (StopReason.GAP_LIMIT, None)
    assert proven(100.0, -INF, exact) == (StopReason.GAP_LIMIT, None)


@each_adapter
def test_numbers_that_are_none_are_refused(adapter: Any) -> None:
    model = birds.knapsack().model
    broken = dataclasses.replace(model, c=np.array([1.0, np.nan, 1.0]))
    with pytest.raises(InputError, match="NaN"):
        adapter.solve(broken, SolverOptions())
    for options in (
        SolverOptions(threads=0),
        SolverOptions(time_limit=-1.0),
        SolverOptions(gap=-0.1),
        SolverOptions(seed=-1),
    ):
        with pytest.raises(InputError):
            adapter.solve(model, options)


@each_adapter
def test_unknown_option_is_named(adapter: Any) -> None:
    with pytest.raises(InputError, match="nosuchoption"):
        adapter.solve(birds.knapsack().model, SolverOptions(extra={"nosuchoption": 3}))


@each_adapter
def test_neither_model_nor_options_nor_start_are_changed(adapter: Any) -> None:
    model = market_split()
    arrays = (model.c, model.constraint_lower, model.constraint_upper, model.lower, model.upper, model.integer)
    before = [array.copy() for array in (*arrays, model.A.data, model.A.indices, model.A.indptr)]
    start: dict[int, float] = {0: 1.0, 1: 0.0}
    extra: dict[str, object] = {}
    options = SolverOptions(time_limit=0.2, extra=extra)
    result = adapter.solve(model, options, start=start)
    after: list[Any] = [*arrays, model.A.data, model.A.indices, model.A.indptr]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert (start, extra) == ({0: 1.0, 1: 0.0}, {})
    assert result.options is options
