"""Tables of boxes and their bounds against all partitions."""

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
from kanon_milp.heuristics.boxes import improved_boxes
from kanon_milp.presolve.boxes import BoxCosts
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.group_costs.boxes import BoxPenalty
from kanon_milp.system.limit import NO_LIMIT


@given(group_cases())
@settings(max_examples=examples(1000, 4))
def test_tables_and_their_bounds_are_on_both_sides_of_the_optimum(case: GroupCase) -> None:
    case = replace(case, recoding={})
    optimum = least(case.n, case.cost, case.holds)
    assume(optimum is not None)
    for method in ("k_member", "mondrian"):
        result = km.solve(case.problem(), method=method)
        assert (result.exact_bound or 0) <= optimum  # type: ignore[operator]
        if result.exact_objective is not None:
            assert result.verified
            assert result.exact_objective >= optimum  # type: ignore[operator]


@given(group_cases())
@settings(max_examples=examples(1000, 3))
def test_search_and_its_bound_are_on_both_sides_of_the_optimum(case: GroupCase) -> None:
    case = replace(case, recoding={}, required=None, k=min(case.k, case.n))
    optimum = least(case.n, case.cost, case.holds)
    result = km.solve(case.problem(), method="search", time_limit=2)
    assert result.verified, result.message
    assert result.exact_objective is not None
    assert (result.exact_bound or 0) <= optimum <= result.exact_objective  # type: ignore[operator]
    if result.proof == "optimal":
        assert result.exact_objective == optimum


@given(group_cases())
@settings(max_examples=examples(1000, 4))
def test_moves_and_exchanges_keep_sizes_and_lower_the_cost(case: GroupCase) -> None:
    case = replace(case, recoding={}, required=None, k=min(case.k, case.n))
    instance = GroupInstance.of(case.problem())
    assert isinstance(instance.cost, BoxPenalty)
    before = np.arange(case.n) // case.k
    before[before == case.n // case.k] = case.n // case.k - 1
    after = improved_boxes(BoxCosts.of(instance.cost, 2 * case.k), before, case.k, 9, NO_LIMIT)
    assert instance.satisfies(instance.table(after))
    assert instance.table(after).cost <= instance.table(before).cost
    moved = improved_boxes(BoxCosts.of(instance.cost, 2 * case.k), after, case.k, 9, NO_LIMIT)
    assert instance.table(moved).cost == instance.table(after).cost


def test_beyond_a_number_of_rows_search_has_the_bound_of_each_row_alone() -> None:
    case = GroupCase(
        {"a": ("1", "2", "4", "8", "9", "9"), "b": ("u", "u", "v", "v", "w", "w")}, ("x",) * 6, 3, None, {}
    )
    result = km.solve(case.problem(), method="search", time_limit=5, parameters={"group_search.rows": 5})
    other = km.solve(case.problem(), method="k_member")
    assert result.verified
    assert result.exact_bound == other.exact_bound
    assert "the bound adds up" not in other.message
    assert result.exact_bound


@pytest.mark.parametrize("method", ["k_member", "mondrian"])
def test_a_bound_that_knows_sizes_alone_says_so(method: str) -> None:
    """The sensitive values of neighbours are alike, so that their box is no group."""
    frame = pl.DataFrame({"a": ["1", "2", "8", "9"], "s": ["x", "x", "y", "y"]})
    table = km.Table.from_frame(frame, ["a"], "s")
    result = km.solve(km.Problem(table, [km.KAnonymity(2), km.TCloseness("0.1")], km.Boxes()), method=method)
    assert result.exact_objective == 4
    assert result.exact_bound == Fraction(1, 2)
    assert result.message.startswith("the bound adds up what each row costs in the narrowest box of at least 2 rows")


@pytest.mark.parametrize("method", ["milp", "search"])
def test_numbers_among_texts_are_sets(method: str) -> None:
    """A column is one of intervals only where all of its values are numbers."""
    table = km.Table.from_frame(pl.DataFrame({"a": ["2", "6.5", "1", "u"]}), ["a"])
    result = km.solve(km.Problem(table, km.KAnonymity(2), km.Boxes()), method=method).require_optimal()
    assert result.exact_objective == 4 * Fraction(1, 3)
