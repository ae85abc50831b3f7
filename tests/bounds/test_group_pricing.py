"""Groups priced by their first rows, against all groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kanon_milp.bounds.group_costs.pricing import SquarePricing
from kanon_milp.bounds.rank_one_cuts import PricedCuts, RankOneCuts


@pytest.mark.parametrize(("k", "power"), [(1, 2), (2, 2), (3, 2), (2, 1), (3, 1)])
@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_group_of_each_seed_is_found(k: int, power: int, seed: int) -> None:
    random = np.random.default_rng([k, seed])
    n = int(random.integers(max(k, 2), 10))
    points = random.integers(0, 4, (n, 2)).astype(float)  # some of them equal
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    largest = min(2 * k - 1, n)
    priced = SquarePricing(distances, k, largest, power=power)
    multipliers = random.integers(0, 12, n) / 4
    cuts = RankOneCuts.of([([0, 1], [1, 1], 2), (list(range(min(n, 4))), [2, 1, 1, 1][: min(n, 4)], 3)])
    prices = random.integers(0, 8, 2) / 4
    order = np.argsort(-multipliers, kind="stable")
    best = dict.fromkeys(range(n), 0.0)
    below = 0
    for size in range(k, largest + 1):
        for rows in itertools.combinations(order.tolist(), size):
            cost = sum(distances[a, b] for a, b in itertools.combinations(rows, 2)) / max(size - 2 + power, 1)
            cost -= multipliers[list(rows)].sum()
            for (types, weights, denominator), price in zip(cuts.each(), prices, strict=True):
                cost += price * (sum(p for i, p in zip(types, weights, strict=True) if i in rows) // denominator)
            best[rows[0]] = min(best[rows[0]], cost)  # the first row in this order is the seed
            below += cost < -1e-9
    floats = PricedCuts(*cuts.by_type(n), prices)
    found = priced(multipliers, floats, -1e-9, 10**6, 1000)
    assert found.complete.all()
    assert len(found.rows) == below  # all groups that are worth something, once each
    assert np.allclose(found.least, [best[i] for i in range(n)])
    assert (priced(multipliers, floats, -1e-9, 0, 1000).least <= found.least + 1e-9).all()
    exact = PricedCuts(*cuts.by_type(n), np.rint(prices * priced.units).astype(np.int64))
    proven = priced.proven(np.rint(multipliers * priced.units).astype(np.int64), exact, 10**6)
    assert proven == pytest.approx(sum(best.values()) * priced.units, abs=n)
    assert proven <= sum(best.values()) * priced.units
