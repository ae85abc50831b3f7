"""Candidates priced under requirements about values, against all closed ones listed, and against brute force."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from case_judge import truth
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sensitive_cases import SensitiveCase, drawn_sensitive_case
from strategies import by_hypothesis, priceable

import kanon_milp as km
from kanon_milp.bounds.dual import DualPoint, prove
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.pattern_pricing import PatternPricing, PricedAscent
from kanon_milp.bounds.required_pricing import RequiredPricing
from kanon_milp.presolve.closures import closed_instance, pricing_suffices
from kanon_milp.presolve.instance import Instance, compress_table, types_of
from kanon_milp.system.limit import NO_LIMIT


def drawn(rng: Random) -> SensitiveCase:
    case = drawn_sensitive_case(rng, rows=(2, 7), sides=False)
    return replace(case, case=priceable(case.case))


cases = by_hypothesis(drawn)


def both(problem: km.Problem) -> tuple[RequiredPricing, Instance]:
    """Priced, and listed."""
    assume(pricing_suffices(problem) and bool(problem.attributes))
    types = types_of(problem, compress_table(problem))
    listed = closed_instance(problem, types)
    assert listed is not None
    c = listed.candidates
    whole = np.diff(c.indptr) == types.count
    # what is as cheap and covers as much as exempt rows do is not priced
    alike = whole & np.isin(c.cost, c.cost[listed.exempt & whole]) & ~listed.exempt
    return RequiredPricing(problem, types), listed.subset(~alike)


@given(cases, st.data())
@settings(deadline=None, max_examples=25)
def test_l_is_that_of_all_closed_candidates(case: SensitiveCase, data: st.DataObject) -> None:
    """In integers and in floating point, without charges; and at least that of sizes."""
    source, listed = both(case.problem())
    t, d = source.types.count, data.draw(st.integers(1, 7))
    lam = np.array(data.draw(st.lists(st.integers(-2 * d, 40 * d), min_size=t, max_size=t)), np.int64)
    exact = DualPoint(lam, charges=np.zeros(listed.candidates.count * charged(listed), np.int64), denominator=d)
    expected = prove(listed, exact)
    assert source.exact(DualPoint(lam, denominator=d)) == expected.total
    assert expected.total >= PatternPricing(source.root.problem, source.types).exact(DualPoint(lam, denominator=d))
    near = source.near(lam / d, 0.5, 1e6)
    if not charged(listed):
        assert near.value == pytest.approx(float(expected.value))


def charged(instance: Instance) -> int:
    return len(RequiredEvaluator(instance).charged)


@given(cases)
@settings(deadline=None, max_examples=12)
def test_the_bound_rises_and_stays_below_the_optimum(case: SensitiveCase) -> None:
    problem = case.problem()
    source, _ = both(problem)
    best = truth(case).best
    ascent = PricedAscent(source)
    bounds = [ascent.value]
    for _ in range(4):
        ascent.rise(NO_LIMIT)
        bounds.append(ascent.value)
        if best is not None:
            assert source.bound(ascent.best) * source.levels.unit <= best
    assert bounds == sorted(bounds)
    near = source.near(ascent.multipliers, 2.0, 4.0)
    point = ascent.point(near)
    assert point.charges is not None
    assert len(point.charges) == charged(near.instance) * near.instance.candidates.count


def test_what_asks_nothing_about_values_is_of_sizes() -> None:
    case = priceable(drawn(Random(0)).case)
    problem = case.problem()
    with pytest.raises(ValueError, match="sensitive attribute"):
        RequiredPricing(problem, types_of(problem, compress_table(problem)))
