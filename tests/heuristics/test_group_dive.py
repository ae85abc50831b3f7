"""Dives through the linear program over groups: what comes out is a table, and with all groups at hand a good one."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.optimize import linprog

from kanon_milp.bounds.group_costs.pricing import SquarePricing
from kanon_milp.heuristics.group_dive import Dive, DiveParameters
from kanon_milp.heuristics.group_partitions import Pool
from kanon_milp.system.limit import NO_LIMIT, Limit
from kanon_milp.system.parameters import Parameters


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
