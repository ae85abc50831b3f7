"""Groups priced by their first rows, against all groups, by costs that are computed from the values themselves."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.bounds.group_costs.pricing import SquarePricing
from kanon_milp.bounds.rank_one_cuts import PricedCuts, RankOneCuts
from kanon_milp.kernels.box_pricing import cheapest_of_seed
from kanon_milp.presolve.boxes import BoxCosts
from kanon_milp.problem.group_costs.boxes import BoxPenalty


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


Row = tuple[int, str, str]
TREE = {"a": ["a", "x", "*"], "b": ["b", "x", "*"], "c": ["c", "y", "*"], "d": ["d", "y", "*"]}
ABOVE = {"x": "ab", "y": "cd"}
ROW = st.tuples(st.integers(0, 9), st.sampled_from("uvw"), st.sampled_from("abcd"))


def penalty(rows: list[Row], group: tuple[int, ...]) -> Fraction:
    """NCP of the box of a group: a column of numbers at weight 2, of sets, and of labels."""
    numbers, words, towns = ([column[i] for i in group] for column in zip(*rows, strict=True))
    span = max(row[0] for row in rows) - min(row[0] for row in rows)
    found = Fraction(0)
    if span:
        found += 2 * Fraction(max(numbers) - min(numbers), span)
    elif len(set(numbers)) > 1:
        raise AssertionError
    domain, known = {row[1] for row in rows}, {row[2] for row in rows}
    if len(set(words)) > 1:
        found += Fraction(len(set(words)) - 1, len(domain) - 1)
    if len(set(towns)) > 1:
        inside = next((set(below) for below in ABOVE.values() if set(below) >= set(towns)), set("abcd"))
        found += Fraction(len(inside & known), len(known))
    return found


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from("uvw"), st.sampled_from("abcd")), min_size=3, max_size=8
    ),
    k=st.integers(1, 3),
    seed=st.integers(0, 999),
)
@settings(max_examples=examples(1000, 8))
def test_the_cheapest_groups_of_each_seed(rows: list[Row], k: int, seed: int) -> None:
    table = km.Table.from_frame(pl.DataFrame(rows, ["n", "s", "t"], orient="row"), ["n", "s", "t"])
    asked = km.Problem(table, km.KAnonymity(k), km.Boxes(weights={"n": 2}, hierarchies={"t": TREE}))
    assert isinstance(asked.group_cost, BoxPenalty)
    rng, n, largest = random.Random(seed), len(rows), min(2 * k - 1, len(rows))
    costs = BoxCosts.of(asked.group_cost, largest)
    assert costs.slack == 0
    scale = costs.scale
    multipliers = np.array([rng.randrange(3 * scale) for _ in rows])
    cuts = [(rng.sample(range(n), 3), rng.randrange(scale)) for _ in range(rng.randrange(3))]
    of_row = [[r for r, (members, _) in enumerate(cuts) if i in members] for i in range(n)]
    fields = (
        np.cumsum([0, *map(len, of_row)]),
        np.array([r for each in of_row for r in each], np.int64),
        np.ones(3 * len(cuts), np.int64),
        np.full(len(cuts), 2),
        np.array([price for _, price in cuts], np.int64),
    )
    order = np.argsort(-multipliers, kind="stable")

    def reduced(group: tuple[int, ...]) -> Fraction:
        paid = sum(price * (len(set(group) & set(members)) // 2) for members, price in cuts)
        return len(group) * penalty(rows, group) * scale - int(multipliers[list(group)].sum()) + paid

    search = costs.search(multipliers, fields, order, k, largest, 2)
    for place, i in enumerate(order.tolist()):
        groups = [
            (i, *others)
            for size in range(k, largest + 1)
            for others in itertools.combinations(order[place + 1 :], size - 1)
        ]
        for group in groups[:3]:
            padded = np.array([[*group, *[-1] * (largest - len(group))]], np.int32)
            assert costs.penalties(padded)[0] == penalty(rows, group) * scale
        least = min([Fraction(0), *map(reduced, groups)])
        search.below, search.share = 0, rng.choice([0.0, 0.5])
        complete = cheapest_of_seed(search, i, rng.choice([0, 2, 1000]))
        assert search.lowest == least if complete else search.lowest <= least
        for a in range(search.count):
            group = tuple(int(x) for x in search.rows[a] if x >= 0)
            assert group[0] == i
            assert k <= len(set(group)) == len(group)
            assert reduced(group) == search.reduced[a]
