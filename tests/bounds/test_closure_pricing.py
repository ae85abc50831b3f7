"""Candidates priced by sets of rows: where there are more level vectors than can be gone through, at limits, and how
they begin; what they find is in `test_priced_candidates`."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from present import present
from strategies import Case, by_hypothesis, drawn_case, priceable

import kanon_milp as km
from kanon_milp.bounds.certificate import certify
from kanon_milp.bounds.closure_pricing import ClosurePricing, pricing_of
from kanon_milp.bounds.dual import DualPoint, prove
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.errors import InputError
from kanon_milp.kernels.closure_pricing import nearest_costs
from kanon_milp.presolve import preparation
from kanon_milp.presolve.closures import closed_instance
from kanon_milp.presolve.instance import Instance, compress_table, types_of
from kanon_milp.presolve.reductions import Dominance
from kanon_milp.system.limit import Limit
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


@given(free)
@settings(max_examples=15)
def test_it_begins_no_higher_than_the_one_by_level_vectors(case: Case) -> None:
    problem = case.problem()
    source = source_of(problem)
    first = source.cheapest()
    assert source.root.exempt_reading or (first <= PatternPricing(problem, source.types).cheapest()).all()
    assert source.root.exempt_reading or source.value(first) == first @ source.types.counts


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
