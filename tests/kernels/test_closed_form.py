"""The cheapest groups of candidates, against all groups of a few rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.closed_form import add_cheapest, different_values, subproblems
from kanon_milp.kernels.covers import ordered_covers
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
