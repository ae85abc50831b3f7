"""Rows in groups, as local search looks at them and changes them.

The rows of each group are a linked list, so that a row changes its group in constant time; every change is logged and
can be taken back.
"""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.limits import FAILED
from kanon_milp.system.arrays import Ints, Ints32

MASK = (1 << 64) - 1
MULTIPLIER = 2685821657736338717


class Lists:
    """Rows r in candidates g, each of which is a list of its rows.

    cost, least: int64 (G,), unit cost and smallest size. parked: int64 (G,), rows of g that never move, part of its
    size. group: int32 (rows,), where each row is, and size: int64 (G,); both change in place, and a candidate is open
    if it has rows. logged: moves in the log, which has room for `longest`. random: the generator's state, not 0.
    """

    def __init__(
        self, cost: Ints, least: Ints, parked: Ints, group: Ints32, size: Ints, longest: int, random: int
    ) -> None:
        self.cost, self.least, self.parked, self.group, self.size = cost, least, parked, group, size
        self.first = np.empty(len(size), np.int32)
        self.after, self.before = np.empty(len(group), np.int32), np.empty(len(group), np.int32)
        self.log_row, self.log_group = np.empty(longest, np.int32), np.empty(longest, np.int32)
        self.logged = 0
        self.random = int(random)
        relink(self)


class Rows(Lists):
    """Rows of some types; the last candidate is nowhere: where rows are that have no group.

    type_of: int32 (rows,). options: (indptr, int32), per type the candidates that its rows may have, the cheapest
    first. covers: (indptr, int32), per candidate the rows that it may have; nowhere has none.
    """

    def __init__(
        self,
        type_of: Ints32,
        options: tuple[Ints, Ints32],
        covers: tuple[Ints, Ints32],
        cost: Ints,
        least: Ints,
        parked: Ints,
        group: Ints32,
        size: Ints,
        random: int,
    ) -> None:
        Lists.__init__(self, cost, least, parked, group, size, 4 * len(group) + 64, random)
        self.type_of = type_of
        self.options_at, self.options = options
        self.covers_at, self.covers = covers


def relink(s: Lists) -> None:
    """Rebuild the lists and sizes from `group`."""
    for g in range(len(s.size)):
        s.size[g] = s.parked[g]
        s.first[g] = -1
    for r in range(len(s.group) - 1, -1, -1):
        _enter(s, r, s.group[r])
    s.logged = 0


def _enter(s: Lists, r: int, g: int) -> None:
    s.group[r] = g
    s.before[r] = -1
    s.after[r] = s.first[g]
    if s.first[g] >= 0:
        s.before[s.first[g]] = r
    s.first[g] = r
    s.size[g] += 1


def _leave(s: Lists, r: int) -> None:
    g = s.group[r]
    if s.before[r] >= 0:
        s.after[s.before[r]] = s.after[r]
    else:
        s.first[g] = s.after[r]
    if s.after[r] >= 0:
        s.before[s.after[r]] = s.before[r]
    s.size[g] -= 1


def place(s: Lists, r: int, g: int) -> int:
    """Move row r to candidate g; returns the change of the loss."""
    h = s.group[r]
    s.log_row[s.logged] = r
    s.log_group[s.logged] = h
    s.logged += 1
    _leave(s, r)
    _enter(s, r, g)
    change: int = s.cost[g] - s.cost[h]
    return change


def undo(s: Lists) -> None:
    """Take back all moves in the log."""
    while s.logged > 0:
        s.logged -= 1
        r = s.log_row[s.logged]
        _leave(s, r)
        _enter(s, r, s.log_group[s.logged])


def commit(s: Lists) -> None:
    """Forget the log."""
    s.logged = 0


def total(s: Lists) -> int:
    """Loss of all rows that can move."""
    loss = 0
    for r in range(len(s.group)):
        loss += s.cost[s.group[r]]
    return loss


def draw(s: Lists) -> int:
    """The next 62 random bits (xorshift64*, Vigna 2016)."""
    x = s.random
    x ^= x >> 12
    x ^= (x << 25) & MASK
    x ^= x >> 27
    s.random = x
    return ((x * MULTIPLIER) & MASK) >> 2


def uniform(s: Lists) -> float:
    """A random number in (0, 1]."""
    return (draw(s) + 1.0) / 4611686018427387904.0


def best_option(s: Rows, r: int, closing: int, opening: int) -> int:
    """The cheapest open candidate of row r, with `opening` taken for open and `closing` for closed; -1 if none."""
    i = s.type_of[r]
    for q in range(s.options_at[i], s.options_at[i + 1]):
        g: int = s.options[q]
        if g != closing and (s.size[g] > 0 or g == opening):
            return g
    return -1


def close(s: Rows, h: int, opening: int, limit: float) -> int:
    """Move all rows of h to their cheapest other candidates; FAILED if a row has none or the loss grows by more than
    the limit."""
    delta = 0
    if s.parked[h] > 0:
        return FAILED
    r = s.first[h]
    while r >= 0:
        following = s.after[r]
        g = best_option(s, r, h, opening)
        if g < 0:
            return FAILED
        delta += place(s, r, g)
        if delta > limit:
            return FAILED
        r = following
    return delta
