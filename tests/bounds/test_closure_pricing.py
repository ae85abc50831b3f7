"""Candidates priced by sets of rows, against all closed ones listed, and against the optimum by brute force."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import oracle
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present
from strategies import Case, by_hypothesis, drawn_case, priceable

import kanon_milp as km
from kanon_milp.bounds.certificate import certify
from kanon_milp.bounds.closure_pricing import ClosurePricing, pricing_of
from kanon_milp.bounds.dual import DualPoint, prove
from kanon_milp.bounds.evaluation import Evaluator
from kanon_milp.bounds.pattern_pricing import PatternPricing, PricedAscent
from kanon_milp.errors import InputError
from kanon_milp.kernels.closure_pricing import nearest_costs
from kanon_milp.presolve import preparation
from kanon_milp.presolve.closures import closed_instance
from kanon_milp.presolve.instance import Instance, compress_table, types_of
from kanon_milp.presolve.reductions import Dominance
from kanon_milp.system.arrays import Floats
from kanon_milp.system.limit import NO_LIMIT, Limit
from kanon_milp.system.parameters import Parameters
from kanon_milp.verify import check_certificate

free = by_hypothesis(partial(drawn_case, rows=(1, 9), sides=False)).map(priceable)


def source_of(problem: km.Problem, params: Parameters | None = None) -> ClosurePricing:
    return ClosurePricing(problem, types_of(problem, compress_table(problem)), params or Parameters())


def listed(problem: km.Problem) -> Instance:
    """All closed candidates; where fully suppressed rows are exempt, without what is as cheap and asks for more."""
    found = closed_instance(problem, types_of(problem, compress_table(problem)))
    assert found is not None
    found = Dominance().apply(found).instance  # where only some labels of a level cost what those above them do
    c = found.candidates
    whole = np.diff(c.indptr) == found.types.count
    exempt = found.exempt & whole
    return found.subset(~(whole & np.isin(c.cost, c.cost[exempt]) & ~exempt))


def by_cover(instance: Instance, values: Floats) -> dict[tuple[tuple[int, ...], int], float]:
    covers, costs = instance.candidates.cover_lists(), instance.candidates.cost
    return {(tuple(cover), int(cost)): value for cover, cost, value in zip(covers, costs, values, strict=True)}


@given(free, st.data())
@settings(deadline=None)
def test_l_is_that_of_all_closed_candidates_in_integers_and_in_floating_point(case: Case, data: st.DataObject) -> None:
    """Hierarchies, weights, costs of levels and of labels, a largest number of groups, and both readings; multipliers
    of any sign."""
    problem = replace(case.problem(), max_groups=data.draw(st.sampled_from([None, 1, 3])))
    source, every = source_of(problem), listed(problem)
    t, d = source.types.count, data.draw(st.integers(1, 7))
    lam = np.array(data.draw(st.lists(st.integers(-5 * d, 40 * d), min_size=t, max_size=t)), np.int64)
    of_groups = np.array([data.draw(st.integers(0, 20 * d)) for _ in source.sets.each()], np.int64)
    point = DualPoint(lam, denominator=d, sets=source.sets, packing_multipliers=of_groups)
    expected = prove(every, point)
    assert source.exact(point) == expected.total
    assert source.value(np.concatenate([lam, of_groups]) / d) == pytest.approx(float(expected.value))


@given(free, st.data())
@settings(deadline=None)
def test_near_candidates_are_the_closed_ones_below_the_limit(case: Case, data: st.DataObject) -> None:
    source, closed = source_of(case.problem()), listed(case.problem())
    t = source.types.count
    lam = np.array(data.draw(st.lists(st.integers(0, 30), min_size=t, max_size=t)), np.float64)
    limit = data.draw(st.integers(0, 20)) + 0.5
    value, near, keys = source.near(lam, limit / source.cell, 1e6)
    assert value == pytest.approx(source.value(lam))
    assert (np.diff(keys) > 0).all()
    phi = Evaluator(closed)(lam, everything=True).phi
    every, found = by_cover(closed, phi), by_cover(near, Evaluator(near)(lam, everything=True).phi)
    assert found.items() <= every.items()
    assert {key for key, each in every.items() if each < limit} <= found.keys()
    again = source.near(lam, limit / source.cell, 1e6, near)
    assert again.keys.tolist() == keys.tolist()
    assert source.numbers(again, near).tolist() == list(range(near.candidates.count))


@given(free)
@settings(deadline=None, max_examples=15)
def test_it_begins_no_higher_than_the_one_by_level_vectors_and_stays_below_the_optimum(case: Case) -> None:
    problem = case.problem()
    best = oracle.optimum(case.rows, case.k, **case.judged())
    source = source_of(problem)
    first = source.cheapest()
    assert source.root.exempt_reading or (first <= PatternPricing(problem, source.types).cheapest()).all()
    assert source.root.exempt_reading or source.value(first) == first @ source.types.counts
    ascent = PricedAscent(source)
    bounds = [source.bound(ascent.best)]
    for _ in range(4):
        ascent.rise(NO_LIMIT)
        bounds.append(source.bound(ascent.best))
    assert bounds == sorted(bounds)
    assert best is not None
    assert bounds[-1] * source.levels.unit <= best


def test_where_no_column_loses_anything_multipliers_begin_at_nothing() -> None:
    """No value is read of the costs of bits, of which there are none."""
    no_bits = np.array([[np.nan]])[:, :0]
    found = nearest_costs(np.zeros((3, 0), np.int32), no_bits, np.ones(3), np.float64(2), lambda: False)
    assert found.tolist() == [0.0, 0.0, 0.0]


def wide(rows: int, columns: int, seed: int = 0) -> km.Problem:
    """Rows near some of a few others."""
    draw = Random(seed)
    kinds = [[draw.random() < 0.4 for _ in range(columns)] for _ in range(6)]
    cells = [[str(int(cell != (draw.random() < 0.15))) for cell in draw.choice(kinds)] for _ in range(rows)]
    frame = pl.DataFrame(cells, schema=[f"q{j}" for j in range(columns)], orient="row")
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3))


def test_where_level_vectors_are_few_they_are_gone_through() -> None:
    for columns, kind in ((8, PatternPricing), (21, ClosurePricing), (70, ClosurePricing)):
        problem = wide(12, columns)
        source = pricing_of(problem, types_of(problem, compress_table(problem)))
        assert type(source) is kind
        lam = source.cheapest() + 1
        every = prove(listed(problem), DualPoint(np.rint(lam).astype(np.int64), denominator=1))
        assert source.exact(DualPoint(np.rint(lam).astype(np.int64), denominator=1)) == every.total


def test_multipliers_that_leave_too_many_groups_prove_nothing() -> None:
    problem = wide(30, 24)
    source = source_of(problem, Parameters({"closure_pricing.sets": 50}))
    high = np.full(source.types.count, 24.0)
    assert source.value(high) == -np.inf
    assert source.near(high, 1.0, 1.0).value == -np.inf
    with pytest.raises(InputError, match="too many groups"):
        source.bound(DualPoint(high))
    first = source.cheapest()
    assert source.bound(DualPoint(first)) == first @ source.types.counts


def test_at_the_limit_looks_end_and_prove_nothing() -> None:
    problem = wide(30, 24)
    types = types_of(problem, compress_table(problem))
    event = threading.Event()
    source = ClosurePricing(problem, types, limit=Limit(interrupt=event))
    first = source.cheapest()
    assert source.value(first) == first @ types.counts
    event.set()
    assert source.value(first) == -np.inf
    assert source.near(first, 1.0, 1.0).value == -np.inf
    with pytest.raises(InputError, match="time is over"):
        source.bound(DualPoint(first))
    assert not source.cheapest().any()


@pytest.mark.parametrize("columns", [21, pytest.param(40, marks=pytest.mark.full)])
def test_search_and_auto_have_a_table_and_a_checked_bound(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few candidates there are; the optimum is that of dynamic programming over all sets of rows."""
    monkeypatch.setattr(preparation, "PRICED_PAIRS", 0)
    problem = wide(9, columns)
    best = km.solve(problem, method="subset_dp").exact_objective
    for found in (km.solve(problem, iteration_limit=5), km.solve(problem, method="search", iteration_limit=5)):
        assert found.verified
        assert "pricing" in {run.name for run in found.phases}
        assert 0 < present(found.exact_bound) <= present(best) <= present(found.exact_objective)
    certificate = certify(problem, present(found.dual))
    assert certificate.bound == found.exact_bound
    assert check_certificate(problem, certificate).valid
    assert not check_certificate(problem, replace(certificate, bound=certificate.bound + 1)).valid


def test_a_table_that_keeps_the_side_constraints_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem without them is stopped early; that with them has too many level vectors for a model."""
    monkeypatch.setattr(preparation, "PRICED_PAIRS", 0)
    found = km.solve(replace(wide(14, 24), min_groups=1), time_limit=0.5)
    assert found.verified
    assert present(found.exact_bound) <= present(found.exact_objective)
