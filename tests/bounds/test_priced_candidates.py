"""Candidates that are priced, by level vectors and by sets of rows, against all of them listed, and against the optimum
by brute force."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import oracle
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from routes import top
from strategies import Case, by_hypothesis, drawn_case, priceable

import kanon_milp as km
from kanon_milp.bounds.closure_pricing import ClosurePricing
from kanon_milp.bounds.dual import DualPoint, prove
from kanon_milp.bounds.evaluation import Evaluator
from kanon_milp.bounds.packing_cuts import first_sets
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.errors import InputError, TooManyLevelVectorsError
from kanon_milp.presolve.closures import closed_instance, closures_suffice
from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.reductions import Dominance, Viability
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.limit import NO_LIMIT


def allows_all(case: Case) -> bool:
    """Whether all rows may be fully suppressed."""
    return case.vectors is not None and top(case) in case.vectors


free = by_hypothesis(partial(drawn_case, rows=(1, 9), sides=False)).map(priceable)
masked = by_hypothesis(partial(drawn_case, rows=(1, 9), sides=False)).filter(allows_all)
KINDS: tuple[type[PatternPricing], ...] = (PatternPricing, ClosurePricing)
kinds = st.sampled_from(KINDS)


def drawn(data: st.DataObject, kind: type[PatternPricing]) -> Case:
    """One that this kind prices: masks are lists of level vectors."""
    found: Case = data.draw(st.one_of(free, masked) if kind is PatternPricing else free)
    return found


def both(problem: km.Problem, kind: type[PatternPricing]) -> tuple[PatternPricing, Instance]:
    """Priced, and listed."""
    types = types_of(problem, compress_table(problem))
    listed = closed_instance(problem, types) if closures_suffice(problem) else with_all(problem, types)
    assert listed is not None
    if Dominance().accepts(
        problem
    ):  # where only some labels of a level cost what those above them do, and under a mask
        listed = Dominance().apply(listed).instance
    c = listed.candidates
    # what is as cheap and covers as much as exempt rows do, and asks for more of them, is not priced
    exempt = listed.exempt & (np.diff(c.indptr) == types.count)
    alike = (np.diff(c.indptr) == types.count) & np.isin(c.cost, c.cost[exempt]) & ~exempt
    return kind(problem, types), listed if problem.wants_many_groups else listed.subset(~alike)


def with_all(problem: km.Problem, types: RowTypes) -> Instance:
    listed = with_candidates(problem, types, recode(problem, types))
    return listed.subset(Viability().keep(listed))


def by_cover(instance: Instance, values: Floats) -> dict[tuple[tuple[int, ...], int], float]:
    covers, costs = instance.candidates.cover_lists(), instance.candidates.cost
    return {(tuple(cover), int(cost)): value for cover, cost, value in zip(covers, costs, values, strict=True)}


@given(kinds, st.data())
def test_l_is_that_of_all_candidates_in_integers_and_in_floating_point(
    kind: type[PatternPricing], data: st.DataObject
) -> None:
    """Hierarchies, weights, costs of levels and of labels, masks, numbers of groups, and both readings; multipliers of
    any sign."""
    numbers: dict[str, Any] = data.draw(
        st.sampled_from(
            [{}, {"max_groups": 2}, {"min_groups": 2}, {"min_groups": 1, "max_groups": 3}]
            if kind is PatternPricing
            else [{}, {"max_groups": 1}, {"max_groups": 3}]
        )
    )
    problem = replace(drawn(data, kind).problem(), **numbers)
    source, listed = both(problem, kind)
    t, d = source.types.count, data.draw(st.integers(1, 7))
    lam = np.array(data.draw(st.lists(st.integers(-5 * d, 40 * d), min_size=t, max_size=t)), np.int64)
    of_groups = np.array(data.draw(st.lists(st.integers(0, 20 * d), min_size=len(numbers), max_size=len(numbers))), int)
    point = DualPoint(lam, denominator=d, sets=first_sets(listed), packing_multipliers=of_groups)
    expected = prove(listed, point)
    if problem.min_groups is not None and labels_stand_twice(listed):  # which counts twice here
        assert source.exact(point) <= expected.total
        return
    assert source.exact(point) == expected.total
    assert source.value(np.concatenate([lam, of_groups]) / d) == pytest.approx(float(expected.value))


def labels_stand_twice(instance: Instance) -> bool:
    return any(
        len(np.unique(column.label_of)) < sum(len(np.unique(level)) for level in column.label_of)
        for column in instance.levels.columns
    )


@given(kinds, st.data())
def test_near_candidates_are_those_below_the_limit(kind: type[PatternPricing], data: st.DataObject) -> None:
    source, listed = both(drawn(data, kind).problem(), kind)
    t = source.types.count
    lam = np.array(data.draw(st.lists(st.integers(0, 30), min_size=t, max_size=t)), np.float64)
    limit = data.draw(st.integers(0, 20)) + 0.5
    value, near, keys = source.near(lam, limit / source.cell, 1e6)
    assert value == pytest.approx(source.value(lam))
    assert (np.diff(keys) > 0).all()
    phi = Evaluator(listed)(lam, everything=True).phi
    every, found = by_cover(listed, phi), by_cover(near, Evaluator(near)(lam, everything=True).phi)
    assert found.items() <= every.items()
    assert {key for key, each in every.items() if each < limit} <= found.keys()
    # with few pairs each of these has the same φ still
    few = source.near(lam, limit / source.cell, 0.0, near.subset(phi_below(near, found, limit)))
    again = Evaluator(few.instance)(lam, everything=True).phi
    assert few.keys.tolist() == keys.tolist()
    assert np.minimum(again, limit).tolist() == np.minimum(list(found.values()), limit).tolist()
    assert source.numbers(few, near).tolist() == list(range(near.candidates.count))


def phi_below(near: Instance, found: dict[tuple[tuple[int, ...], int], float], limit: float) -> Flags:
    assert len(found) == near.candidates.count
    return np.array([each < limit for each in found.values()], dtype=bool)


@given(kinds, free)
@settings(max_examples=examples(60, 13))
def test_the_bound_rises_and_stays_below_the_optimum(kind: type[PatternPricing], case: Case) -> None:
    problem = case.problem()
    best = oracle.optimum(case.rows, case.k, **case.judged())
    source, listed = both(problem, kind)
    ascent = PricedAscent(source)
    bounds = [source.bound(ascent.best)]
    for _ in range(6):
        ascent.rise(NO_LIMIT)
        bounds.append(source.bound(ascent.best))
        assert (
            bounds[-1]
            == prove(listed, DualPoint(np.rint(ascent.multipliers * 4096).astype(np.int64), denominator=4096)).bound
        )
    assert bounds == sorted(bounds)
    assert best is not None
    assert bounds[-1] * source.levels.unit <= best
    point = ascent.point(source.near(ascent.multipliers, 2.0, 2.0))
    assert point.open_share is not None
    assert (point.open_share > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_64_bits_do_not_hold_are_refused(kind: type[PatternPricing]) -> None:
    case = priceable(drawn_case(Random(1), sides=False))
    source, _ = both(case.problem(), kind)
    with pytest.raises(InputError, match="too large or too fine"):
        source.exact(DualPoint(np.full(source.types.count, 1 << 60, np.int64)))


def test_too_many_level_vectors_are_not_priced() -> None:
    names = [f"q{j}" for j in range(21)]
    problem = km.Problem(
        km.Table.from_frame(pl.DataFrame({name: ["0", "1"] for name in names}), names), km.KAnonymity(2)
    )
    with pytest.raises(TooManyLevelVectorsError, match="2,097,152 level vectors are too many"):
        PatternPricing(problem, types_of(problem, compress_table(problem)))
