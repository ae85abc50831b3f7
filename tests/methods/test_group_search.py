"""Microaggregation by column generation, rank-1 cuts and neighbourhoods, against all partitions."""

from __future__ import annotations

from dataclasses import replace

from effort import examples
from group_cases import GroupCase, group_cases, least
from hypothesis import given, settings

import kanon_milp as km


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
