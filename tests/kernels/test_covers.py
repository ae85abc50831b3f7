"""What is asked of covers, against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.covers import cheapest_covers, nested_candidates, nested_shares, ordered_covers
from kanon_milp.system.arrays import Ints, Ints32

TYPES = 6

lists_of_types = st.lists(st.sets(st.integers(0, TYPES - 1)), max_size=8)


def arrays(sets: list[set[int]]) -> tuple[Ints, Ints32]:
    """indptr and values, ascending."""
    indptr = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return indptr, np.array([i for each in sets for i in sorted(each)], np.int32)


@given(lists_of_types, st.permutations(range(TYPES)))
def test_covers_in_an_order(covers: list[set[int]], order: list[int]) -> None:
    indptr, members = arrays(covers)
    found = ordered_covers(indptr, members, np.array(order, np.int64))
    assert found.tolist() == [i for each in covers for i in sorted(each, key=order.index)]


@given(lists_of_types, lists_of_types)
def test_nested_candidates_cover_nothing_else(covers: list[set[int]], sets: list[set[int]]) -> None:
    begins, found = nested_candidates(*arrays(covers), *arrays(sets), TYPES)
    nested = [[g for g, cover in enumerate(covers) if cover and cover <= each] for each in sets]
    assert [found[begins[s] : begins[s + 1]].tolist() for s in range(len(sets))] == nested


def test_more_nested_candidates_than_there_is_room_for_at_first() -> None:
    covers = [{g % TYPES} for g in range(3_000)]
    begins, found = nested_candidates(*arrays(covers), *arrays([set(range(TYPES))]), TYPES)
    assert (begins.tolist(), found.tolist()) == ([0, 3_000], list(range(3_000)))


@given(lists_of_types, st.integers(0, TYPES), st.data())
def test_shares_of_nested_candidates(covers: list[set[int]], widest: int, data: st.DataObject) -> None:
    share = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(covers), max_size=len(covers))), np.float64)
    found = nested_shares(*arrays(covers), share, widest, TYPES)
    for cover, nested in zip(covers, found.tolist(), strict=True):
        inside = sum(share[g] for g, other in enumerate(covers) if other and other <= cover)
        assert nested == (inside if cover and len(cover) <= widest else 0)


@given(lists_of_types, st.lists(st.sets(st.integers(0, TYPES - 1), min_size=1), max_size=5), st.integers(0, 2**32 - 1))
def test_the_cheapest_cover_of_each_group(covers: list[set[int]], groups: list[set[int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    covers = [set(range(TYPES)), *covers]
    cost, least = random.permutation(len(covers)), random.integers(5, size=len(covers))
    cost[0], size = 100, random.integers(5, size=len(groups))
    options = [{g for g, cover in enumerate(covers) if i in cover} for i in range(TYPES)]
    by_group, by_type = (
        (np.cumsum([0, *map(len, sets)]), np.array([e for each in sets for e in sorted(each)], np.int64))
        for sets in (groups, options)
    )
    found = cheapest_covers(by_group, np.zeros(len(groups), np.int64), size, by_type, cost, least)
    for group, rows, chosen in zip(groups, size, found.tolist(), strict=True):
        fits = [g for g, cover in enumerate(covers) if cover >= group and (least[g] <= rows or g == 0)]
        assert chosen == min(fits, key=lambda g: int(cost[g]))
