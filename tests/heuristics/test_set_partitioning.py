"""Tables put together from groups: valid, no worse than the start, never below the optimum."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from census import census_problem
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from present import present
from scipy.optimize import linprog
from sensitive_cases import sensitive_cases
from strategies import covered
from test_valued_construction import is_valid

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.bounds.group_costs.pricing import SquarePricing
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import greedy, suppress_all
from kanon_milp.heuristics.group_dive import Dive, DiveParameters
from kanon_milp.heuristics.group_partitions import Pool
from kanon_milp.heuristics.set_partitioning import Columns, Partition, best_of_groups
from kanon_milp.heuristics.valued_construction import construct
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.system.limit import NO_LIMIT, Limit
from kanon_milp.system.parameters import Parameters

CHARGED = ["t equal short", "t ranks short", "t order short", "t numeric short", "t hierarchy short"]


@pytest.mark.parametrize("kind", CHARGED)
@given(data=st.data(), seed=st.integers(0, 3), rows=st.sampled_from([3.0, math.inf]))
@settings(max_examples=examples(25, 3))
def test_tables_are_valid_and_no_worse(kind: str, data: st.DataObject, seed: int, rows: float) -> None:
    case = data.draw(sensitive_cases([kind], max_rows=8, sides=False))
    instance = prepare(case.problem())
    assume(covered(instance) and instance.problem.attributes)
    point = required_bound(instance, iterations=20)
    columns, start = Columns.near(instance, point), construct(instance, point, Limit(), seed)
    assume(columns is not None and start is not None)
    columns, start = present(columns), present(start)
    seen: list[int] = []
    found, _ = Partition(instance, columns, rows).improve(
        start, get("highs"), SolverOptions(), Effort(neighbourhoods=3), seed, lambda table: seen.append(table.cost)
    )
    assert is_valid(case, instance, found)
    assert found.cost == min([start.cost, *seen])
    assert seen == sorted(seen, reverse=True)
    best = optimum(case.case.rows, case.k, **case.judged())
    assert best is not None
    assert found.cost * instance.levels.unit >= best


def test_everything_suppressed_becomes_the_optimum() -> None:
    ages = [0, 9, 3, 4, 5, 4, 5, 4]
    frame = pl.DataFrame({"a": list("xxxxyyyy"), "b": list("uvuvuvuv"), "s": [str(age) for age in ages]})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), [km.TCloseness("0.3", "ordered")])
    instance = prepare(problem)
    columns = present(Columns.near(instance, required_bound(instance)))
    start = present(suppress_all(instance))
    found, done = Partition(instance, columns).improve(
        start, get("highs"), SolverOptions(), Effort(neighbourhoods=1), 0, lambda _: None
    )
    assert done
    exact = present(km.solve(problem, method="milp").exact_objective)
    assert Fraction(found.cost) * instance.levels.unit == exact < start.cost * instance.levels.unit


OPTIONS = SolverOptions()


def drawn(instance: km.Instance, seed: int) -> Groups:
    """The groups of a table, and some others that share rows with these."""
    random = np.random.default_rng(seed)
    known = Groups.of_assignment(present(greedy(instance)))
    lists = []
    for _ in range(7):
        g = int(random.integers(instance.candidates.count))
        cover = instance.candidates.cover_lists()[g]
        lists.append((g, sorted(random.choice(cover, min(3, len(cover)), replace=False).tolist())))
    for g, members, _ in known.each():
        half = len(members) // 2
        lists += [(g, part) for part in (members[:half], members[half:]) if part]
    candidate = np.array([g for g, _ in lists], np.int64)
    types = Ragged(
        indptr_of(np.array([len(members) for _, members in lists])),
        np.array([i for _, members in lists for i in members], np.int64),
    )
    others = Groups(candidate, types, np.ones(len(types.values), np.int64))
    return known.joined(others)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_cheapest_of_all_subsets(seed: int) -> None:
    instance = prepare(census_problem(8, 2))
    assert (instance.types.counts == 1).all()
    groups = drawn(instance, seed)
    listed = groups.each()
    costs = [int(instance.candidates.cost[g]) * len(members) for g, members, _ in listed]
    best = min(
        sum(costs[c] for c in some)
        for size in range(1, 9)
        for some in itertools.combinations(range(len(listed)), size)
        if sorted(i for c in some for i in listed[c][1]) == list(range(instance.types.count))
    )
    adapter = solvers.get("highs")
    found = present(best_of_groups(instance, groups, best, adapter, OPTIONS, NO_LIMIT))
    assert found.cost == best
    assert best_of_groups(instance, groups, best - 1, adapter, OPTIONS, NO_LIMIT) is None


def test_there_may_be_none() -> None:
    instance, adapter = prepare(census_problem(8, 2)), solvers.get("highs")
    assert best_of_groups(instance, Groups.none(), 100, adapter, OPTIONS, NO_LIMIT) is None
    groups = Groups.of_assignment(present(greedy(instance)))
    assert best_of_groups(instance, groups, 10**6, adapter, OPTIONS, Limit(ends=0.0)) is None
    one = np.arange(groups.count) == 0
    if groups.count > 1:
        assert best_of_groups(instance, groups.subset(one), 10**6, adapter, OPTIONS, NO_LIMIT) is None


def squares(n: int, k: int, seed: int) -> SquarePricing:
    points = np.random.default_rng([n, k, seed]).integers(0, 9, (n, 3)).astype(float)
    return SquarePricing(((points[:, None] - points) ** 2).sum(axis=2), k, min(2 * k - 1, n))


def all_groups(priced: SquarePricing) -> Pool:
    """Every group of the sizes that are allowed."""
    found = [
        [*rows, *[-1] * (priced.largest - size)]
        for size in range(priced.smallest, priced.largest + 1)
        for rows in itertools.combinations(range(priced.n), size)
    ]
    return Pool.of(np.array(found, np.int32), priced.costs)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_dives_end_with_tables(k: int, seed: int) -> None:
    priced = squares(11, k, seed)
    every = all_groups(priced)
    matrix = (every.rows[:, :, None] == np.arange(priced.n)).any(axis=1).T.astype(float)
    least = linprog(every.costs, A_eq=matrix, b_eq=np.ones(priced.n)).fun  # of all groups: the judge
    assert least is not None
    near = Pool.of(priced.first(), priced.costs)
    for pool in (every, near):
        for noise in (None, np.random.default_rng(seed)):
            dive = Dive(pool, pool.costs - priced.start[pool.rows].sum(axis=1), priced.start, priced)
            table = dive.run(NO_LIMIT, noise)
            if table is None:
                continue  # all groups are full, and a row is left
            placed = np.sort(table[table >= 0])
            assert placed.tolist() == list(range(priced.n))
            assert ((table >= 0).sum(axis=1) >= k).all()
            assert priced.costs(table).sum() >= least - 1e-9
            known = {each.tobytes() for each in pool.rows}
            assert not known & {each.tobytes() for each in dive.found}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_groups_that_lie_apart_are_priced(k: int) -> None:
    """Also where the pool has none at all."""
    points = (np.arange(4)[:, None] * 100.0 + np.arange(k)).reshape(-1, 1)
    apart = SquarePricing(((points[:, None] - points) ** 2).sum(axis=2), k, 2 * k - 1)
    none = Pool(np.empty((0, apart.largest), np.int32), np.empty(0))
    dive = Dive(none, none.costs, apart.start, apart)
    table = dive.run(NO_LIMIT)
    assert table is not None
    assert len(dive.found)
    assert apart.costs(table).sum() == pytest.approx(4 * k * (k * k - 1) / 12)


def test_without_pricing_and_at_the_limit() -> None:
    priced = squares(12, 3, 0)
    pool = Pool.of(priced.first(), priced.costs)
    reduced = pool.costs - priced.start[pool.rows].sum(axis=1)
    tuned = Parameters({"group_dive.priced": 0})
    dive = Dive(pool, reduced, priced.start, priced, tuned)
    assert tuned.of(DiveParameters).priced == 0
    table = dive.run(NO_LIMIT)
    assert not len(dive.found)
    if table is not None:
        assert np.sort(table[table >= 0]).tolist() == list(range(priced.n))
    assert Dive(pool, reduced, priced.start, priced).run(Limit(time.perf_counter())) is None
