"""Candidates that are priced, by level vectors and by sets of rows, also with rank-1 cuts.

Judges are all candidates listed, the optimum by brute force, and the checker; also at limits, and how they begin.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
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
from present import present
from routes import top
from strategies import Case, by_hypothesis, drawn_case, priceable

import kanon_milp as km
from kanon_milp.bounds import closure_pricing, pattern_pricing
from kanon_milp.bounds.certificate import certify
from kanon_milp.bounds.closure_pricing import ClosurePricing, pricing_of
from kanon_milp.bounds.columns.priced_cuts import PricedCuts
from kanon_milp.bounds.dual import DualPoint, prove
from kanon_milp.bounds.evaluation import Evaluator
from kanon_milp.bounds.packing_cuts import first_sets, type_sets
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.errors import InputError, TooManyLevelVectorsError
from kanon_milp.kernels.closure_pricing import nearest_costs
from kanon_milp.presolve import preparation
from kanon_milp.presolve.closures import closed_instance, closures_suffice
from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.reductions import Dominance, Viability
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.limit import NO_LIMIT, Limit
from kanon_milp.system.parameters import Parameters
from kanon_milp.system.worker_pool import InlinePool
from kanon_milp.verify import check_certificate


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


@pytest.mark.parametrize("kind", KINDS)
def test_looks_in_parts_find_the_same_to_the_last_bit(
    kind: type[PatternPricing], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pattern_pricing, closure_pricing):
        monkeypatch.setattr(module, "LONG", 0.0)
    random = Random(3)
    frame = pl.DataFrame({name: [random.choice("aaabc") for _ in range(90)] for name in "uvwxyz"})
    problem = km.Problem(km.Table.from_frame(frame, list("uvwxyz")), km.KAnonymity(4))
    types, threads = types_of(problem, compress_table(problem)), InlinePool()
    threads.workers = 3  # `each` has so many threads
    asked = list[int]()

    def each(function: Callable[..., Any], shared: object, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        asked.append(len(parts))
        return InlinePool.each(threads, function, shared, parts)

    monkeypatch.setattr(threads, "each", each)
    alone, divided = kind(problem, types), kind(problem, types, pool=threads)
    for _ in range(3):
        point = alone.cheapest() + np.array([random.random() for _ in range(types.count)])
        one, other = (source.near(point, 1.0, 2.0) for source in (alone, divided))
        assert one.value == other.value
        assert (one.keys == other.keys).all()
        for field in ("vector", "cost", "support", "indptr", "members"):
            assert (getattr(one.instance.candidates, field) == getattr(other.instance.candidates, field)).all()
        assert alone.value(point) == divided.value(point)
        assert alone.bound(DualPoint(point)) == divided.bound(DualPoint(point))
    assert one.value > 0
    assert len(asked) == 8, "all looks but the first one"
    assert min(asked) > 3
