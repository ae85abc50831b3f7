"""Rank-1 cuts over candidates that are priced, against all closed ones listed, the optimum by brute force, and the
checker."""

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
from hypothesis import given
from hypothesis import strategies as st
from strategies import Case, by_hypothesis, drawn_case, priceable

import kanon_milp as km
from kanon_milp.bounds.certificate import certify
from kanon_milp.bounds.columns.priced_cuts import PricedCuts
from kanon_milp.bounds.dual import DualPoint, prove
from kanon_milp.bounds.packing_cuts import type_sets
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.presolve.closures import closed_instance
from kanon_milp.presolve.instance import compress_table, types_of
from kanon_milp.system.limit import NO_LIMIT
from kanon_milp.system.parameters import Parameters
from kanon_milp.verify import check_certificate

free = by_hypothesis(partial(drawn_case, rows=(1, 9), sides=False)).map(priceable)


def raised(problem: km.Problem, rounds: int, **numbers: float) -> tuple[PricedAscent, PricedCuts]:
    params = Parameters({f"pricing.{name}": number for name, number in numbers.items()})
    ascent = PricedAscent(PatternPricing(problem, types_of(problem, compress_table(problem))), params=params)
    for _ in range(5):
        ascent.rise(NO_LIMIT)
    cuts = PricedCuts(ascent, params)
    for _ in range(rounds):
        cuts.rise(NO_LIMIT)
    return ascent, cuts


@given(free, st.data())
def test_l_with_cuts_is_that_of_all_closed_candidates(case: Case, data: st.DataObject) -> None:
    """Any cuts and multipliers; those of a fully suppressed candidate with exempt rows as well."""
    problem, draw = case.problem(), data.draw
    types = types_of(problem, compress_table(problem))
    source, listed = PatternPricing(problem, types), closed_instance(problem, types)
    assert listed is not None
    c = listed.candidates
    whole = np.diff(c.indptr) == types.count
    listed = listed.subset(~(whole & ~listed.exempt & np.isin(c.cost, c.cost[listed.exempt & whole])))
    d = draw(st.integers(1, 7))
    lam = np.array([draw(st.integers(-5 * d, 40 * d)) for _ in range(types.count)], np.int64)
    cuts = []
    for _ in range(draw(st.integers(1, 3))):
        rows = sorted(draw(st.sets(st.integers(0, types.count - 1), min_size=1, max_size=4)))
        cuts.append((rows, [draw(st.integers(1, 2)) for _ in rows], draw(st.integers(1, 3))))
    charges = np.array([draw(st.integers(0, 9 * d)) for _ in cuts], np.int64)
    point = DualPoint(lam, rank_one_cuts=RankOneCuts.of(cuts), cut_multipliers=charges, denominator=d)
    assert source.exact(point) == prove(listed, point).total


@pytest.mark.parametrize("seed", range(examples(300, 39)))
def test_the_bound_is_below_the_optimum_and_its_certificate_is_believed(seed: int) -> None:
    """And above the one without cuts, but for what rounding costs; whoever changes cuts proves nothing false."""
    case = priceable(drawn_case(Random(f"priced-cuts-{seed}"), (4, 10), sides=False))
    problem, best = case.problem(), oracle.optimum(case.rows, case.k, **case.judged())
    ascent, cuts = raised(problem, 3)
    source, dual = cuts.source, cuts.dual
    assert best is not None
    bound = source.bound(dual)
    assert bound >= source.bound(ascent.best) - 1
    assert bound * source.levels.unit <= best
    certificate = certify(problem, dual)
    report = check_certificate(problem, certificate)
    assert report.valid, report.problems
    assert report.bound == certificate.bound == max(bound, 0) * source.levels.unit
    stated = certificate.as_dict()
    for forged in forgeries(stated):
        answer = check_certificate(problem, forged | {"bound": str(best + source.levels.unit)})
        assert not answer.valid
        assert answer.bound is None or answer.bound <= best


def forgeries(stated: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows are worth more; a cut is worth more, or less than 0, is about other rows, rounded otherwise, or left out."""
    cuts, d, rows = stated["rank_one_rows"], stated["denominator"], len(stated["multipliers"])
    found = [stated | {"multipliers": [each + by * d for each in stated["multipliers"]]} for by in (1, 40)]
    for changed in (
        {"multiplier": 50 * d}, {"multiplier": -d}, {"rows": [0], "weights": [1]}, {"denominator": 100},
        {"rows": list(range(rows)), "weights": [1] * rows},
    ):  # fmt: skip
        found += [stated | {"rank_one_rows": [each | changed, *cuts[1:]]} for each in cuts[:1]]
    return [*found, stated | {"rank_one_rows": cuts[1:]}]


def sixty_rows() -> km.Problem:
    draw = Random(0)
    frame = pl.DataFrame([[str(draw.randrange(6)) for _ in range(3)] for _ in range(60)], ["a", "b", "c"], orient="row")
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3))


def test_cuts_raise_the_bound() -> None:
    ascent, cuts = raised(sixty_rows(), 2)
    source = cuts.source
    assert source.bound(cuts.dual) > source.bound(ascent.best)
    # without the cuts these multipliers prove less
    assert source.bound(DualPoint(cuts.dual.multipliers)) < source.bound(ascent.best)


def test_a_point_that_is_worth_less_over_all_is_left() -> None:
    """Where next to nothing is near, multipliers run away from all other candidates, and come back."""
    _, cuts = raised(sixty_rows(), 1, open_limit=0.0, pair_limit=0.0)
    far = cuts.dual
    assert far.value > cuts.source.value(far.multipliers) + 100
    for _ in range(6):
        cuts.rise(NO_LIMIT)
    assert cuts.source.bound(cuts.dual) > cuts.source.bound(raised(sixty_rows(), 0)[0].best)


def test_packing_cuts_are_not_counted() -> None:
    """What they allow depends on all candidates."""
    source = PatternPricing(problem := sixty_rows(), types_of(problem, compress_table(problem)))
    point = DualPoint(np.zeros(source.types.count, np.int64))
    assert source.exact(point) == 0
    with pytest.raises(ValueError, match="packing cuts"):
        source.exact(replace(point, sets=type_sets([[0, 1]]), packing_multipliers=np.ones(1, np.int64)))
