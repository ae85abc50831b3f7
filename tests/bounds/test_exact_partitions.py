"""The proof in rational numbers against all partitions."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.bounds.group_costs.bound import CostDual
from kanon_milp.bounds.group_costs.exact_partitions import Groups, better_partition, solved_partitions
from kanon_milp.bounds.parameters import GroupProofParameters
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.formulations.restricted import Answer, solve_restricted
from kanon_milp.solvers import SolverOptions
from kanon_milp.solvers.model import LinearModel


def partitions(rows: tuple[int, ...], smallest: int) -> list[list[tuple[int, ...]]]:
    """All of them into groups of so many rows or more."""
    if not rows:
        return [[]]
    found = []
    for size in range(smallest, len(rows) + 1):
        for others in itertools.combinations(rows[1:], size - 1):
            rest = tuple(row for row in rows[1:] if row not in others)
            found += [[(rows[0], *others), *each] for each in partitions(rest, smallest)]
    return found


@pytest.mark.parametrize("seed", range(examples(200, 6)))
def test_the_least_of_all_partitions(seed: int) -> None:
    rng = random.Random(seed)
    n, smallest = rng.randint(3, 8), rng.randint(1, 3)
    listed = [rows for size in range(smallest, n + 1) for rows in itertools.combinations(range(n), size)]
    near = Fraction(1, 10 ** rng.choice([1, 12, 30]))  # costs that floating point tells apart, or not
    cost = {rows: len(rows) + rng.randint(0, 3) * near * Fraction(1, rng.randint(1, 7)) for rows in listed}
    tables = sorted(sum((cost[rows] for rows in table), Fraction(0)) for table in partitions(tuple(range(n)), smallest))
    rows = np.array([[*each, *[-1] * (n - len(each))] for each in listed], np.int32)
    groups = Groups.at_relaxation(rows, n, list(cost.values()), n // smallest)
    assert groups is not None
    assert groups.bound <= tables[0]
    found: list[Any] = []
    for known in (tables[0], tables[-1] + near):
        least, complete = better_partition(groups, known, GroupProofParameters(nodes=10**6), on_better=found.append)
        assert complete
        assert least == tables[0]
    assert groups.cost(found[-1]) == tables[0]
    assert (groups.member[:, found[-1]].sum(axis=1) == 1).all()
    given_up = better_partition(groups, tables[-1] + near, GroupProofParameters(nodes=1))
    assert given_up[0] >= tables[0]


@pytest.mark.parametrize("seed", range(examples(200, 6)))
def test_a_solver_finds_the_least_of_all_partitions(seed: int) -> None:
    """From the best table, the worst, and a part of one, which forbids none; one that is as good may be found, and
    proves nothing by itself."""
    rng = random.Random(seed)
    n, smallest = rng.randint(4, 8), rng.randint(1, 3)
    listed = [rows for size in range(smallest, n + 1) for rows in itertools.combinations(range(n), size)]
    near = Fraction(1, 10 ** rng.choice([0, 8, 12]))
    cost = {rows: Fraction(rng.randint(1, 9)) + rng.randint(0, 10**6) * near for rows in listed}
    of = {rows: g for g, rows in enumerate(listed)}
    tables = sorted(
        (sum(map(cost.__getitem__, table), Fraction(0)), table) for table in partitions((*range(n),), smallest)
    )
    rows = np.array([[*each, *[-1] * (n - len(each))] for each in listed], np.int32)
    groups = Groups.at_relaxation(rows, n, list(cost.values()), n // smallest)
    assert groups is not None

    def solve(model: LinearModel, _: Any) -> Answer:
        return solve_restricted(model, solvers.get(), SolverOptions())

    for known, groups_left_out in ((tables[0], 0), (tables[-1], 0), (tables[-1], 1)):
        found: list[Any] = []
        of_best = tables[0][1] if groups_left_out else known[1]
        table = np.array([of[each] for each in of_best[groups_left_out:]], np.int64)
        least, _ = solved_partitions(groups, known[0], table, GroupProofParameters(), solve, found.append)
        assert least == tables[0][0]
        assert min([known[0], *map(groups.cost, found)]) == tables[0][0]


def test_tables_that_do_not_use_up_a_cut_are_not_taken_for_cheap_ones() -> None:
    """Of rows 0, 1, 2 two at most are in one pair: the cut counts 2 for that, and the six tables without such a pair
    cost 30, while the reduced costs of their groups are 0, and the multipliers prove 28."""
    listed: list[tuple[int, ...]] = [*itertools.combinations(range(6), 2)]
    cost = {rows: 10 if rows[0] < 3 <= rows[1] or rows == (4, 5) else 50 for rows in listed} | {(0, 1): 9}
    cuts, prices = RankOneCuts.of([((0, 1, 2), (1, 1, 1), 2)]), np.array([2])
    dual = CostDual(np.full(6, 5), cuts, prices, 28, Fraction(1), 0)
    rows, costs = np.array(listed, np.int32), np.array(list(cost.values()))
    groups = Groups.at_dual(rows, costs, dual, lambda chosen: Fraction(int(costs[chosen].sum())), Fraction(1))
    table = np.array([listed.index(each) for each in ((0, 1), (2, 3), (4, 5))])

    def solve(model: LinearModel, _: Any) -> Answer:
        return solve_restricted(model, solvers.get(), SolverOptions())

    assert solved_partitions(groups, Fraction(29), table, GroupProofParameters(tables=1), solve)[0] == 29
    assert (
        min(map(sum, ([cost[each] for each in found] for found in partitions((*range(6),), 2) if len(found) == 3)))
        == 29
    )


@pytest.mark.parametrize("method", ["milp", "search"])
@pytest.mark.parametrize("recoding", [km.Microaggregation(standardize=True), km.Boxes(weights={"a": "1/7"})])
def test_costs_that_are_no_small_integers_are_proven(method: str, recoding: Any) -> None:
    values = np.random.default_rng(3).integers(0, 10**9, (9, 2))
    problem = km.Problem(
        km.Table.from_frame(pl.DataFrame(values, ["a", "b"], orient="row"), ["a", "b"]), km.KAnonymity(2), recoding
    )
    found = km.solve(problem, method=method, time_limit=20).require_optimal()
    assert found.exact_bound == found.exact_objective
    assert "millionth" not in found.message
    best = min(
        sum((problem.group_cost.exact(np.array(rows)) for rows in table), Fraction(0))  # type: ignore[union-attr]
        for table in partitions(tuple(range(9)), 2)
    )
    assert found.exact_objective == best
