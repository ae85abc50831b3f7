"""Rows in groups: lists, sizes and losses are those that one reads off `group`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.limits import FAILED
from kanon_milp.kernels.rows import Rows, best_option, close, commit, draw, place, relink, total, undo, uniform
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Ints, Ints32

NOWHERE_COST = 1_000


class Table(NamedTuple):
    type_of: Ints32
    options: Ragged[np.int32]
    covers: Ragged[np.int32]
    cost: Ints
    least: Ints
    parked: Ints
    group: Ints32
    size: Ints


def random_table(seed: int, rows: int = 12, types: int = 5, candidates: int = 7) -> Table:
    """Each row in one of the candidates that cover it."""
    random = np.random.default_rng(seed)
    type_of = np.sort(random.integers(types, size=rows)).astype(np.int32)
    covers = random.random((candidates, types)) < 0.5
    covers[0] = True
    cost = random.integers(1, 9, size=candidates)
    cost[0] = 9
    options = [sorted(np.flatnonzero(covers[:, i]).tolist(), key=lambda g: int(cost[g])) for i in range(types)]
    covered: list[list[int]] = [np.flatnonzero(covers[g][type_of]).tolist() for g in range(candidates)]
    parked = np.append(random.integers(2, size=candidates), 0) * (random.random(candidates + 1) < 0.2)
    return Table(
        type_of,
        Ragged.of(options, np.int32),
        Ragged.of([*covered, []], np.int32),
        np.append(cost, NOWHERE_COST),
        np.append(random.integers(1, 4, size=candidates), -1),
        parked,
        np.array([random.choice(options[i]) for i in type_of], np.int32),
        np.zeros(candidates + 1, np.int64),
    )


def members(rows: Rows, g: int) -> list[int]:
    """The list of a candidate, whose links agree."""
    found, before = [], -1
    r = rows.first[g]
    while r >= 0:
        assert rows.before[r] == before
        found.append(r)
        before, r = r, rows.after[r]
    return found


def check(rows: Rows, table: Table) -> None:
    for g in range(len(table.size)):
        assert sorted(members(rows, g)) == np.flatnonzero(table.group == g).tolist()
        assert table.size[g] == (table.group == g).sum() + table.parked[g]


@given(seed=st.integers(0, 1_000), moves=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 7)), max_size=30))
def test_moves_change_lists_sizes_and_loss_and_are_taken_back(seed: int, moves: list[tuple[int, int]]) -> None:
    table = random_table(seed)
    rows = Rows(*table, random=1)
    check(rows, table)
    before, loss = table.group.copy(), total(rows)
    assert loss == table.cost[before].sum()
    for r, g in moves:
        loss += place(rows, r, g)
        assert table.group[r] == g
        assert loss == table.cost[table.group].sum() == total(rows)
    check(rows, table)
    undo(rows)
    assert (table.group == before).all()
    check(rows, table)
    for r, g in moves:
        place(rows, r, g)
    after = table.group.copy()
    commit(rows)
    undo(rows)
    assert (table.group == after).all()
    table.group[:] = before
    relink(rows)
    check(rows, table)
    assert members(rows, table.group[0])[0] == 0  # in the order of the rows


def test_the_generator_is_the_published_one() -> None:
    """Xorshift64* by numpy's unsigned integers, which wrap around."""
    rows = Rows(*random_table(0), random=88172645463325252)
    x = np.array([88172645463325252], np.uint64)
    for _ in range(100):
        for shift in (12, -25, 27):
            x ^= x >> np.uint64(shift) if shift > 0 else x << np.uint64(-shift)
        assert draw(rows) == int((x * np.uint64(2685821657736338717))[0]) >> 2
        assert rows.random == int(x[0])
    assert 0 < min(uniform(rows) for _ in range(1_000)) < 0.01 < 0.99 < max(uniform(rows) for _ in range(1_000)) <= 1


@given(st.integers(0, 1_000))
def test_the_best_option_is_the_cheapest_open_one(seed: int) -> None:
    table = random_table(seed)
    rows = Rows(*table, random=1)
    for r in range(len(table.group)):
        options = table.options.each()[table.type_of[r]]
        for closing, opening in ((-1, -1), (table.group[r], -1), (-1, 3), (0, 4)):
            allowed = [g for g in options if g != closing and (table.size[g] > 0 or g == opening)]
            found = best_option(rows, r, closing, opening)
            assert found == min(allowed, key=lambda g: table.cost[g], default=-1)


@pytest.mark.parametrize("limit", [np.inf, 3.0])
@given(seed=st.integers(0, 1_000))
def test_a_closed_group_goes_where_each_row_loses_least(limit: float, seed: int) -> None:
    table = random_table(seed)
    rows = Rows(*table, random=1)
    for h in range(len(table.size) - 1):
        before, size = table.group.copy(), table.size.copy()
        change, possible = 0, table.parked[h] == 0
        for r in np.flatnonzero(before == h):
            options = [g for g in table.options.each()[table.type_of[r]] if g != h and size[g] > 0]
            possible &= len(options) > 0
            change += min((table.cost[g] - table.cost[h] for g in options), default=0)
        found = close(rows, h, -1, limit)
        if possible and limit == np.inf:
            assert found == change == table.cost[table.group].sum() - table.cost[before].sum()
            assert table.size[h] == 0
        elif not possible:
            assert found == FAILED
        else:
            assert found == change <= limit or found == FAILED
        undo(rows)
        assert (table.group == before).all()
        assert (table.size == size).all()
