"""Candidates priced under requirements about values, against all closed ones listed, and against brute force."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from case_judge import truth
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from present import present
from sensitive_cases import SensitiveCase, drawn_sensitive_case
from strategies import by_hypothesis, priceable

import kanon_milp as km
from kanon_milp.bounds.certificate import Certificate, certify, certify_required, required_problem
from kanon_milp.bounds.dual import DualPoint, prove
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.bounds.required_pricing import RequiredClosurePricing, RequiredPricing, priced_point
from kanon_milp.presolve import preparation
from kanon_milp.presolve.closures import closed_instance, pricing_suffices
from kanon_milp.presolve.instance import Instance, compress_table, types_of
from kanon_milp.problem.privacy import Requirement
from kanon_milp.system.limit import NO_LIMIT
from kanon_milp.verify import check_certificate


def drawn(rng: Random) -> SensitiveCase:
    case = drawn_sensitive_case(rng, rows=(2, 7), sides=False)
    return replace(case, case=priceable(case.case))


cases = by_hypothesis(drawn)
KINDS: tuple[type[RequiredPricing], ...] = (RequiredPricing, RequiredClosurePricing)
both_kinds = pytest.mark.parametrize("kind", KINDS)


def both(problem: km.Problem, kind: type[RequiredPricing] = RequiredPricing) -> tuple[RequiredPricing, Instance]:
    """Priced, and listed."""
    assume(pricing_suffices(problem) and bool(problem.attributes))
    types = types_of(problem, compress_table(problem))
    listed = closed_instance(problem, types)
    assert listed is not None
    c = listed.candidates
    whole = np.diff(c.indptr) == types.count
    # what is as cheap and covers as much as exempt rows do is not priced
    alike = whole & np.isin(c.cost, c.cost[listed.exempt & whole]) & ~listed.exempt
    return kind(problem, types), listed.subset(~alike)


@both_kinds
@given(case=cases, data=st.data())
@settings(max_examples=15)
def test_l_is_that_of_all_closed_candidates(
    kind: type[RequiredPricing], case: SensitiveCase, data: st.DataObject
) -> None:
    """In integers and in floating point, without charges; and at least that of sizes."""
    source, listed = both(case.problem(), kind)
    t, d = source.types.count, data.draw(st.integers(1, 7))
    lam = np.array(data.draw(st.lists(st.integers(-2 * d, 40 * d), min_size=t, max_size=t)), np.int64)
    exact = DualPoint(lam, charges=np.zeros(listed.candidates.count * charged(listed), np.int64), denominator=d)
    expected = prove(listed, exact)
    assert source.exact(DualPoint(lam, denominator=d)) == expected.total
    assert expected.total >= PatternPricing(source.root.problem, source.types).exact(DualPoint(lam, denominator=d))
    near = source.near(lam / d, 0.5, 1e6)
    if not charged(listed):
        assert near.value == pytest.approx(float(expected.value))


SIDES: tuple[dict[str, int], ...] = (
    {"max_groups": 1}, {"max_groups": 2}, {"min_groups": 2}, {"min_groups": 2, "max_groups": 2}
)  # fmt: skip


@both_kinds
@given(case=cases, data=st.data())
@settings(max_examples=examples(60, 4))
def test_so_it_is_with_numbers_of_groups(kind: type[RequiredPricing], case: SensitiveCase, data: st.DataObject) -> None:
    """No multipliers prove more than the optimum, nor less than sizes; those of a largest number what lists say."""
    sides = data.draw(st.sampled_from(SIDES[: 2 if kind is RequiredClosurePricing else 4]))
    case = replace(case, case=replace(case.case, sides=sides))
    problem = case.problem()
    assume(pricing_suffices(problem) and bool(problem.attributes))
    source = kind(problem, types_of(problem, compress_table(problem)))
    t, d = source.types.count, data.draw(st.integers(1, 7))
    lam = data.draw(st.lists(st.integers(-2 * d, 40 * d), min_size=t, max_size=t))
    of_groups = data.draw(st.lists(st.integers(0, 30 * d), min_size=source.sets.lists, max_size=source.sets.lists))
    exact = DualPoint(np.array(lam), sets=source.sets, packing_multipliers=np.array(of_groups), denominator=d)
    total, best = source.exact(exact), truth(case).best
    assert best is None or total * source.levels.unit <= best * d
    assert total >= PatternPricing(problem, source.types).exact(exact)
    if "min_groups" not in sides:
        _, listed = both(problem, kind)
        charges = np.zeros(listed.candidates.count * charged(listed), np.int64)
        assert total == prove(listed, replace(exact, charges=charges)).total
    ascent = PricedAscent(source)
    before = ascent.value
    ascent.rise(NO_LIMIT)
    assert ascent.value >= before
    assert best is None or source.bound(ascent.best) * source.levels.unit <= best
    relaxed = required_problem(problem)
    if relaxed is None:
        return
    types = types_of(relaxed, compress_table(relaxed))
    with mock.patch.object(preparation, "MOST_LABELS", 0 if kind is RequiredClosurePricing else 1 << 30):
        start = exact.multipliers / d if len(exact.multipliers) == types.count else None
        instance, point = priced_point(relaxed, types, exact.floats(), start, NO_LIMIT, 0.0)
    certificate = certify_required(problem, instance, point)
    report = check_certificate(problem, certificate)
    assert best is None or max(report.bound, certificate.bound) <= best
    assert report.valid or report.bound < certificate.bound  # it knows less of some requirements
    assert not check_certificate(problem, replace(certificate, bound=max(report.bound, certificate.bound) + 1)).valid


def charged(instance: Instance) -> int:
    return len(RequiredEvaluator(instance).charged)


@both_kinds
@given(case=cases)
@settings(max_examples=8)
def test_the_bound_rises_and_stays_below_the_optimum(kind: type[RequiredPricing], case: SensitiveCase) -> None:
    problem = case.problem()
    source, _ = both(problem, kind)
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


def wide(rows: int, columns: int, *privacy: Requirement) -> km.Problem:
    """Rows near some of a few others, each with one of three values."""
    draw = Random(columns)
    kinds = [[draw.random() < 0.4 for _ in range(columns)] for _ in range(4)]
    cells = [
        [*(str(int(cell != (draw.random() < 0.1))) for cell in draw.choice(kinds)), "abc"[i % 3]] for i in range(rows)
    ]
    frame = pl.DataFrame(cells, schema=[*(f"q{j}" for j in range(columns)), "s"], orient="row")
    return km.Problem(km.Table.from_frame(frame, frame.columns[:-1], sensitive="s"), privacy)


WIDE = [
    wide(9, 21, km.KAnonymity(3), km.LDiversity(2)),
    pytest.param(wide(10, 40, km.PSensitivity(2)), marks=pytest.mark.full),
    pytest.param(wide(9, 30, km.TCloseness("1/5")), marks=pytest.mark.full),
]


@pytest.mark.parametrize("problem", WIDE)
def test_more_level_vectors_than_can_be_gone_through(problem: km.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table, bound and certificate, which is refused where it is changed; the optimum is by dynamic programming."""
    monkeypatch.setattr(preparation, "PRICED_PAIRS", 0)
    best = present(km.solve(problem, method="subset_dp").exact_objective)
    found = km.solve(problem, method="search", iteration_limit=5)
    assert found.verified
    assert "pricing" in {run.name for run in found.phases}
    assert 0 < present(found.exact_bound) <= best <= present(found.exact_objective)
    sizes, certificate = certify(problem, present(found.dual)), found.certify()
    assert 0 < sizes.bound <= certificate.bound <= best
    assert certificate.charges is not None
    for good in (sizes, certificate):
        report = check_certificate(problem, good)
        assert report.valid, report.problems
        assert report.bound == good.bound
    assert_forgeries_are_refused(problem, certificate)


def assert_forgeries_are_refused(problem: km.Problem, certificate: Certificate) -> None:
    """A higher bound, higher multipliers, other values, one row's multiplier left out, a charge of nothing."""
    plain, lam = certificate.as_dict(), certificate.multipliers
    unit = certificate.denominator
    (name, *_), row = problem.attributes, len(lam) - 1
    levels = [0] * len(problem.table.quasi_identifiers)
    forged: list[dict[str, Any]] = [
        {"bound": str(certificate.bound + certificate.unit)},
        {"multipliers": [each + unit for each in lam], "bound": str(certificate.bound + len(lam) * certificate.unit)},
        {"multipliers": list(lam[:-1])},
        {"table_sha256": "0" * 64},
        {"charges": [{"sensitive": name, "levels": levels, "row": row + 1, "charge": 1}]},
        {"charges": [{"sensitive": name, "levels": [9, *levels[1:]], "row": row, "charge": 1}]},
        {"charges": [{"sensitive": name, "levels": levels, "row": row, "charge": -1}]},
        {"charges": [{"sensitive": "q0", "levels": levels, "row": row, "charge": 1}]},
    ]
    for change in forged:
        report = check_certificate(problem, {**plain, **change})
        assert not report.valid, change
    # with other sensitive values it is another table
    frame = problem.table.frame.to_native().with_columns(pl.col(name).reverse())
    table = km.Table.from_frame(frame, problem.table.quasi_identifiers, sensitive=name)
    assert not check_certificate(replace(problem, table=table), certificate).valid


def test_what_asks_nothing_about_values_is_of_sizes() -> None:
    case = priceable(drawn(Random(0)).case)
    problem = case.problem()
    with pytest.raises(ValueError, match="sensitive attribute"):
        RequiredPricing(problem, types_of(problem, compress_table(problem)))
