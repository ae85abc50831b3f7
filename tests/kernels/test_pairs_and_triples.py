"""Groups of two and three rows, against all there are."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.matching import groups_within

TYPES = 5
PLENTY = 1 << 40

numbers_of_types = st.lists(st.integers(-3, 9), min_size=TYPES, max_size=TYPES)
covers_of_candidates = st.lists(st.sets(st.integers(0, TYPES - 1), min_size=1), min_size=1, max_size=4)


@given(covers_of_candidates, numbers_of_types, st.booleans(), st.integers(-5, 30), st.data())
def test_they_are_all_groups_within_the_limit(
    covers: list[set[int]], multipliers: list[int], differ: bool, limit: int, data: st.DataObject
) -> None:
    counts = data.draw(st.lists(st.integers(1, 3), min_size=TYPES, max_size=TYPES))
    value = data.draw(st.lists(st.integers(0, 2), min_size=TYPES, max_size=TYPES))
    numbers = st.lists(st.integers(0, 9), min_size=len(covers), max_size=len(covers))
    flags = st.lists(st.booleans(), min_size=len(covers), max_size=len(covers))
    cost, alone = data.draw(numbers), [False] * len(covers) if differ else data.draw(flags)
    indptr = np.cumsum([0, *map(len, covers)]).astype(np.int64)
    members = np.array([i for each in covers for i in sorted(each)], np.int32)
    arguments = (
        indptr, members, np.array(cost), np.array(alone), np.array(counts), np.array(multipliers),
        np.array(value if differ else [], np.int64), limit,
    )  # fmt: skip
    rows, candidate, complete = groups_within(*arguments, PLENTY, PLENTY)
    found = [(g, *sorted(i for i in each if i >= 0)) for g, each in zip(candidate.tolist(), rows.tolist(), strict=True)]
    expected = [
        (g, *group)
        for g, cover in enumerate(covers)
        for size in ((1,) if alone[g] else (2, 3))
        for group in itertools.combinations_with_replacement(sorted(cover), size)
        if all(group.count(i) <= counts[i] for i in group)
        if not differ or len({value[i] for i in group}) == size
        if sum(cost[g] - multipliers[i] for i in group) <= limit
    ]
    assert complete
    assert sorted(found) == sorted(expected)
    some, _, all_there = groups_within(*arguments, 3, PLENTY)
    assert all_there <= (len(some) == len(expected))
    assert {tuple(each) for each in some.tolist()} <= {tuple(each) for each in rows.tolist()}


def test_more_groups_than_there_is_room_for_at_first() -> None:
    types = 40
    rows, candidate, complete = groups_within(
        np.array([0, types]), np.arange(types, dtype=np.int32), np.array([1]), np.array([False]),
        np.ones(types, np.int64), np.zeros(types, np.int64), np.empty(0, np.int64), 3, PLENTY, PLENTY,
    )  # fmt: skip
    assert complete
    assert len(rows) == len(candidate) == types * (types - 1) // 2 + types * (types - 1) * (types - 2) // 6
