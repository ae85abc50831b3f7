"""Microaggregation by column generation, rank-1 cuts and neighbourhoods, against all partitions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from effort import examples
from group_cases import GroupCase, group_cases, least
from hypothesis import assume, given, settings

import kanon_milp as km
from kanon_milp.presolve.whole_groups import GroupInstance


@given(group_cases(boxes=False))
@settings(max_examples=examples(1000, 5))
def test_search_finds_and_proves_the_best_of_all_partitions(case: GroupCase) -> None:
    case = replace(case, required=None, recoding={**case.recoding, "cost": "sse", "center": "mean"})
    result, best = km.solve(case.problem(), method="search"), least(case.n, case.cost, case.holds)
    if best is None:
        assert result.proof == "infeasible"
        return
    assert result.require_optimal().exact_objective == best
    assert result.verified


@given(group_cases(boxes=False))
@settings(max_examples=examples(1000, 5))
def test_absolute_deviations_are_bounded(case: GroupCase) -> None:
    """Of groups of two and three rows the bound has what they cost; larger ones may cost more."""
    case = replace(case, required=None, recoding={**case.recoding, "cost": "l1", "center": "median"})
    result, best = km.solve(case.problem(), method="search"), least(case.n, case.cost, case.holds)
    if best is None:
        assert result.proof == "infeasible"
        return
    assert result.verified
    assert result.exact_objective is not None
    assert (result.exact_bound or 0) <= best <= result.exact_objective
    if case.k <= 2 or result.is_optimal:
        assert result.require_optimal().exact_objective == best
    if result.exact_objective:
        assert result.certify().bound <= best


@given(group_cases())
@settings(max_examples=examples(1000, 10))
def test_requirements_about_values_are_bounded(case: GroupCase) -> None:
    """Where groups have parts in which all values differ, the optimum is proven; elsewhere the bound is that of κ."""
    assume(case.required is not None)
    if case.recoding:
        cost, center = ("l1", "median") if case.recoding["cost"] == "l1" else ("sse", "mean")
        case = replace(case, recoding={**case.recoding, "cost": cost, "center": center})
    result, best = km.solve(case.problem(), method="search"), least(case.n, case.cost, case.holds)
    if best is None:
        assert result.proof == "infeasible"
        return
    assert result.verified
    assert result.exact_objective is not None
    assert (result.exact_bound or 0) <= best <= result.exact_objective
    if case.recoding and case.required == ("l", Fraction(2)) and case.k <= 2:
        assert result.require_optimal().exact_objective == best


@pytest.mark.full
def test_groups_of_different_values_are_searched() -> None:
    """Under l = 3: as many groups as there can be, against the model of all of them."""
    random = np.random.default_rng(5)
    for cost, center in (("sse", "mean"), ("l1", "median")):
        frame = pl.DataFrame({**{c: random.integers(0, 99, 14) for c in "ab"}, "s": list("xyzxyzxyzuvxyz")})
        recoding = km.Microaggregation(cost=cost, center=center)  # type: ignore[arg-type]
        problem = km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), km.LDiversity(3), recoding)
        instance = GroupInstance.of(problem)
        assert (instance.most, instance.differing is None) == (5, False)
        model = km.solve(problem, method="milp").require_optimal()
        found = km.solve(problem, method="search", time_limit=60)
        assert found.exact_bound is not None
        assert found.exact_bound <= model.exact_objective <= found.exact_objective  # type: ignore[operator]
        if cost == "sse":
            assert found.require_optimal().exact_objective == model.exact_objective
    assert GroupInstance.of(replace(problem, privacy=[km.KAnonymity(4), km.LDiversity(3)])).most is None
    assert GroupInstance.of(replace(problem, privacy=[km.LDiversity("3/2")])).most is None
    assert GroupInstance.of(replace(problem, privacy=[km.PSensitivity(3)])).most is None
    for other in (km.Microaggregation(), km.Boxes()):
        sized = km.solve(replace(problem, privacy=[km.PSensitivity(3)], recoding=other), method="search", time_limit=5)
        assert "the bound is that of groups of at least 3 rows; what else is required" in sized.message
        assert sized.verified
