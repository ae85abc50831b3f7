"""Cheapest groups of candidates, groups of two and three rows, and pairs within a limit: against all groups."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.closed_form import add_cheapest, different_values, subproblems
from kanon_milp.kernels.covers import ordered_covers, pairs_within
from kanon_milp.kernels.matching import groups_within
from kanon_milp.system.arrays import Ints, Ints32

NEVER = 1 << 40
TYPES = 4
KINDS = pytest.mark.parametrize("kind", [np.int64, np.float64])

counts_of_types = st.lists(st.integers(1, 2), min_size=TYPES, max_size=TYPES)
multipliers_of_types = st.lists(st.integers(-6, 12), min_size=TYPES, max_size=TYPES)
covers = st.lists(st.sets(st.integers(0, TYPES - 1), min_size=1), min_size=1, max_size=4)


def sorted_by(order: Ints, cover_sets: list[set[int]]) -> tuple[Ints, Ints32, Ints32]:
    """indptr; the covers by falling order; and ascending."""
    indptr = np.cumsum([0, *map(len, cover_sets)]).astype(np.int64)
    members = np.array([i for each in cover_sets for i in sorted(each)], np.int32)
    return indptr, ordered_covers(indptr, members, np.argsort(-order, kind="stable")), members


def groups_of(cover: set[int], counts: list[int]) -> list[tuple[int, ...]]:
    """Rows of each type, of all groups that a cover has."""
    return list(itertools.product(*(range(counts[i] + 1 if i in cover else 1) for i in range(TYPES))))


@KINDS
@given(counts_of_types, multipliers_of_types, multipliers_of_types, covers, st.data())
def test_the_cheapest_group_of_a_size(
    kind: Any, counts: list[int], multipliers: list[int], order: list[int], cover_sets: list[set[int]],
    data: st.DataObject,
) -> None:  # fmt: skip
    lam, of, rows = np.array(multipliers, kind), np.array(order, kind), np.array(counts, kind)
    numbers = st.lists(st.integers(0, 9), min_size=len(cover_sets), max_size=len(cover_sets))
    cost, least, surcharge = (np.array(data.draw(numbers), kind) for _ in range(3))
    indptr, members, _ = sorted_by(np.array(order), cover_sets)
    rise = kind((lam - of).max(initial=0))
    found = {}
    for everything in (False, True):
        phi, marginal, taken = np.empty(len(cost), kind), np.empty(len(cost), kind), np.zeros(TYPES, kind)
        total = subproblems(
            indptr, members, cost, least, surcharge, rows, lam, of, rise, kind(NEVER), everything, phi, marginal, taken
        )  # fmt: skip
        found[everything] = total, phi.tolist(), taken.tolist()
        assert total == np.minimum(phi, 0).sum()
        for g, cover in enumerate(cover_sets):
            priced = [
                surcharge[g] + sum(x * (cost[g] - lam[i]) for i, x in enumerate(group))
                for group in groups_of(cover, counts)
                if sum(group) >= least[g]
            ]
            expected = min(priced, default=NEVER)
            assert phi[g] == expected or (not everything and phi[g] == 0 <= expected)
            bought = [cost[g] - lam[i] for i in cover if counts[i]]
            assert marginal[g] == 0 or marginal[g] in bought
    assert found[False][0] == found[True][0]
    assert found[False][2] == found[True][2]
    opened = sum(phi[g] < 0 for g in range(len(cost)))
    assert opened or not any(found[True][2])


@KINDS
@given(counts_of_types, multipliers_of_types, covers, st.integers(0, 3), st.data())
def test_the_cheapest_group_of_different_values(
    kind: Any, counts: list[int], multipliers: list[int], cover_sets: list[set[int]], presence: int,
    data: st.DataObject,
) -> None:  # fmt: skip
    lam, rows = np.array(multipliers, kind), np.array(counts, kind)
    value = np.array(data.draw(st.lists(st.integers(0, 2), min_size=TYPES, max_size=TYPES)), np.int64)
    numbers = st.lists(st.integers(0, 5), min_size=len(cover_sets), max_size=len(cover_sets))
    cost, least = (np.array(data.draw(numbers), kind) for _ in range(2))
    left = np.array(data.draw(st.lists(st.booleans(), min_size=len(cost), max_size=len(cost))), np.bool_)
    indptr, members, ascending = sorted_by(np.array(multipliers), cover_sets)
    for everything in (False, True):
        phi, taken, average = np.empty(len(cost), kind), np.zeros(TYPES, kind), np.zeros(len(members) + 1, kind)
        average[-1] = 2
        different_values(
            indptr, members, cost, least, np.zeros(len(cost), kind), rows, lam, lam, kind(0), value, presence,
            kind(NEVER), everything, left, phi, taken, ascending, average,
        )  # fmt: skip
        for g, cover in enumerate(cover_sets):
            priced = [
                sum(x * (cost[g] - lam[i]) for i, x in enumerate(group))
                for group in groups_of(cover, counts)
                if sum(group) >= least[g] and len({value[i] for i, x in enumerate(group) if x}) >= presence
            ]
            expected = min(priced, default=NEVER) if left[g] else 0
            assert phi[g] == expected or (not everything and phi[g] == 0 <= expected)
            if phi[g] < 0:
                group = average[indptr[g] : indptr[g + 1]] / 2
                reduced = cost[g] - lam[ascending[indptr[g] : indptr[g + 1]]]
                assert (group * reduced).sum() == phi[g]
        by_type = np.zeros(TYPES, kind)
        np.add.at(by_type, ascending, average[:-1])
        assert (by_type == 2 * taken).all()


@KINDS
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(-3, 9)), min_size=1, max_size=8), st.integers(1, 9))
def test_the_cheapest_rows(kind: Any, types: list[tuple[int, int]], need: int) -> None:
    rows, reduced = np.array([n for n, _ in types], kind), np.array([r for _, r in types], kind)
    members, zero = np.arange(len(types), dtype=np.int32), np.zeros(len(types), kind)
    keys, items = np.empty(need + 2, kind), np.empty(need + 2, np.int64)
    # rows that may be in any order: no multiplier is above its order by more than the rise
    rise = kind(20)
    entries, over, value = add_cheapest(
        members, 0, len(types), rows, -reduced, zero, rise, kind(0), kind(need), keys, items
    )
    single = sorted(r for n, r in types if r >= 0 for _ in range(n))
    assert (over < 0) == (len(single) < need)
    if over >= 0:
        assert value == sum(single[:need])
        assert rows[items[:entries]].sum() == need + over
        assert keys[:entries].tolist() == sorted(reduced[items[:entries]].tolist())


FEW = 5
PLENTY = 1 << 40

numbers_of_types = st.lists(st.integers(-3, 9), min_size=FEW, max_size=FEW)
covers_of_candidates = st.lists(st.sets(st.integers(0, FEW - 1), min_size=1), min_size=1, max_size=4)


@given(covers_of_candidates, numbers_of_types, st.booleans(), st.integers(-5, 30), st.data())
def test_they_are_all_groups_within_the_limit(
    covers: list[set[int]], multipliers: list[int], differ: bool, limit: int, data: st.DataObject
) -> None:
    counts = data.draw(st.lists(st.integers(1, 3), min_size=FEW, max_size=FEW))
    value = data.draw(st.lists(st.integers(0, 2), min_size=FEW, max_size=FEW))
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


@given(
    st.lists(st.tuples(st.integers(1, 2), st.integers(-4, 8), st.integers(0, 1)), min_size=1, max_size=4),
    st.integers(1, 4), st.integers(1, 2), st.integers(-10, 30), st.booleans(),
)  # fmt: skip
def test_a_pair_of_a_group_within_the_limit_stays(
    types: list[tuple[int, int, int]], least: int, presence: int, most: int, opened: bool
) -> None:
    counts, reduced, value = (np.array(each, np.int64) for each in zip(*types, strict=True))
    cover = np.lexsort((reduced, value)).astype(np.int32)
    groups = [
        group
        for group in itertools.product(*(range(n + 1) for n in counts))
        if sum(group) >= least and len({v for v, x in zip(value, group, strict=True) if x}) >= presence
    ]
    if not groups:
        return
    phi = min(int(np.array(group) @ reduced) for group in groups)
    found = np.zeros(len(types), np.bool_)
    pairs_within(
        np.array([0, len(types)]), cover, np.array([20]), np.array([opened]), np.array([phi]), np.array([most]),
        counts, 20 - reduced, value, found,
    )  # fmt: skip
    for at, i in enumerate(cover.tolist()):
        cheapest = min((int(np.array(group) @ reduced) for group in groups if group[i]), default=most + 1)
        assert found[at] or not opened or cheapest > most
    assert found.any() <= (opened and phi <= most)
