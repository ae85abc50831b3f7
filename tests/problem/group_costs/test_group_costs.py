"""Costs of whole groups against their definitions, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from statistics import median

import numpy as np
import polars as pl
import pytest
from effort import examples
from group_cases import GroupCase, group_cases
from hypothesis import given, settings

import kanon_milp as km
from kanon_milp.presolve.whole_groups import GroupInstance

VALUES = {"a": ["1.5", "2", "7.25", "-3", "2", "0"], "b": ["10", "20", "20", "35", "1", "4"]}
ROWS = [(0, 1, 2), (3, 4), (0, 1, 2, 3, 4, 5), (1, 4), (2,)]


def problem(recoding: km.Microaggregation | km.Boxes, values: dict[str, list[str]] = VALUES) -> km.Problem:
    return km.Problem(km.Table.from_frame(pl.DataFrame(values), list(values)), km.KAnonymity(2), recoding)


def deviations(column: Sequence[Fraction], centre: Fraction, power: int) -> Fraction:
    return sum((abs(x - centre) ** power for x in column), Fraction(0))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("cost", ["sse", "l1"])
@pytest.mark.parametrize("center", ["mean", "median", "member"])
def test_cost_of_a_group_is_that_of_its_definition(center: str, cost: str, *, standardize: bool) -> None:
    power = {"sse": 2, "l1": 1}[cost]
    recoding = km.Microaggregation(center=center, cost=cost, standardize=standardize, weights={"b": "1/3"})  # type: ignore[arg-type]
    bound = problem(recoding).group_cost
    columns = [[Fraction(x) for x in column] for column in VALUES.values()]
    weights = [Fraction(1), Fraction(1, 3)]
    if standardize:
        for j, column in enumerate(columns):
            mean, n = Fraction(sum(column), len(column)), len(column)
            squares = deviations(column, mean, 2) / (n - 1)
            weights[j] /= squares if cost == "sse" else deviations(column, Fraction(median(column)), 1) / n
    assert bound is not None
    for rows in ROWS:
        inside = [[column[i] for i in rows] for column in columns]
        centres = {
            "mean": [[Fraction(sum(column), len(column)) for column in inside]],
            "median": [[Fraction(median(column)) for column in inside]],
            "member": [[column[i] for column in columns] for i in rows],
        }[center]
        costs = [
            sum(w * deviations(column, c, power) for w, column, c in zip(weights, inside, each, strict=True))
            for each in centres
        ]
        assert bound.exact(np.array(rows)) == min(costs)
        assert bound.below().exact(np.array(rows)) <= min(costs)
    assert bound.splits == ((center, cost) in {("mean", "sse"), ("median", "l1")})


def test_distances_in_floating_point_enclose_the_exact_ones() -> None:
    for cost in ("sse", "l1"):
        points = GroupInstance.of(
            problem(km.Microaggregation(standardize=True, cost=cost, weights={"a": "1/7"}))
        ).points
        assert points is not None
        assert points.counts.sum() == len(points.of_row) == 6
        for i, j in combinations(range(len(points.points)), 2):
            assert Fraction(points.below[i, j]) < points.exact(i, j) < Fraction(points.above[i, j])
            assert points.exact(i, j) * points.denominator % 1 == 0
            assert points.above[i, j] / points.below[i, j] < 1 + 1e-13


def test_sum_of_squares_is_that_of_pairs() -> None:
    instance = GroupInstance.of(problem(km.Microaggregation(standardize=True)))
    points = instance.points
    assert points is not None
    for rows in ROWS:
        pairs = sum(points.exact(*points.of_row[list(pair)]) for pair in combinations(rows, 2))
        assert instance.cost.exact(np.array(rows)) == pairs / len(rows)


def test_boxes_cost_shares_of_range_domain_and_hierarchy() -> None:
    values = {"age": ["20", "21", "30", "60"], "sex": ["m", "f", "f", "m"], "town": ["a", "b", "c", "d"]}
    tree = {"a": ["a", "x", "*"], "b": ["b", "x", "*"], "c": ["c", "y", "*"], "d": ["d", "y", "*"]}
    bound = problem(km.Boxes(weights={"age": 2}, hierarchies={"town": tree}), values).group_cost
    assert bound is not None
    assert bound.exact(np.array([0, 1])) == 2 * (2 * Fraction(1, 40) + 1 + Fraction(1, 2))
    assert bound.exact(np.array([1, 2])) == 2 * (2 * Fraction(9, 40) + 0 + 1)
    assert bound.exact(np.array([3])) == 0
    assert bound.total() == 4 * 4
    released = bound.release(np.array([0, 0, 1, 1]))
    assert {name: column.to_list()[::2] for name, column in released.items()} == {
        "age": ["20-21", "30-60"],
        "sex": ["{f, m}", "{f, m}"],
        "town": ["x", "y"],
    }


def test_different_groups_never_look_alike() -> None:
    values = {"a": ["0", "0", "0.000001", "0", "0", "0.0000011", "5", "5"]}
    cost = problem(km.Microaggregation(), values).group_cost
    assert cost is not None
    released = cost.release(np.array([0, 0, 0, 1, 1, 1, 2, 2]))["a"].to_list()
    assert released[0] != released[3]
    assert released[6] == "5"


@pytest.mark.parametrize(
    ("values", "recoding", "said"),
    [
        ({"a": ["1", None, "3"]}, km.Microaggregation(), 'column "a", row 2: the value is missing'),
        ({"a": ["1", None, "3"]}, km.Boxes(), 'column "a", row 2: the value is missing'),
        ({"a": ["1", "2", "x"]}, km.Microaggregation(), 'column "a", row 3: the value is no number'),
        ({"a": ["1", "2"], "b": ["1", "2"]}, km.Microaggregation("a"), '"b" is not among the columns'),
        ({"a": ["1", "2"]}, km.Microaggregation(["a", "c"]), '"c" is not a quasi-identifier'),
        ({"a": ["1", "2"]}, km.Boxes(hierarchies={"a": {"1": ["1", "*"]}}), "row 2: the value"),
        ({"a": ["1", str(2**60)]}, km.Microaggregation(), "too many digits"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    values: dict[str, list[str | None]], recoding: km.Microaggregation | km.Boxes, said: str
) -> None:
    with pytest.raises(km.InputError, match=said):
        km.Problem(km.Table.from_frame(pl.DataFrame(values), list(values)), km.KAnonymity(1), recoding)


def test_what_only_rows_have_is_refused() -> None:
    for changed in ({"objective": "min_groups"}, {"min_groups": 2}, {"cost_bound": 3}, {"suppressed_rows": "exempt"}):
        table = km.Table.from_frame(pl.DataFrame(VALUES), list(VALUES))
        with pytest.raises(km.InputError, match="not supported with the recoding microaggregation"):
            km.Problem(table, km.KAnonymity(2), km.Microaggregation(), **changed)


@given(group_cases(boxes=True))
@settings(max_examples=examples(1000, 10))
def test_a_triple_costs_half_of_its_pairs_or_more(case: GroupCase) -> None:
    """The condition under which groups of two and three rows are chosen in polynomial time, for costs that split."""
    bound = case.problem().group_cost
    assert bound is not None
    for triple in combinations(range(case.n), 3):
        pairs = [bound.exact(np.array(pair)) for pair in combinations(triple, 2)]
        assert not bound.splits or sum(pairs) <= 2 * bound.exact(np.array(triple))


def test_squares_around_a_member_are_no_simplex_matching() -> None:
    bound = problem(km.Microaggregation(center="member"), {"a": ["0", "1", "2"]}).group_cost
    assert bound is not None
    pairs = [bound.exact(np.array(pair)) for pair in combinations(range(3), 2)]
    assert sum(pairs) > 2 * bound.exact(np.array([0, 1, 2]))
