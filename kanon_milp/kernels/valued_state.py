"""Rows in groups whose requirements are about sensitive values: what each group lacks is kept up with every move."""

from __future__ import annotations

from typing import Any

import numpy as np

from kanon_milp.kernels.limits import DRAWS, INFINITE, SAMPLE
from kanon_milp.kernels.rows import Rows, draw, place, relink
from kanon_milp.kernels.rules import Rules, count_in, violation_of
from kanon_milp.system.arrays import Ints, Ints32


class ValuedState(Rows):
    """Rows of which those of each cover stand in the order of their values, and what is asked of groups.

    rules: those, and the counts of each group. value: int64 (rows,), joint value of a row. parked_counts: int32
    (G+1, columns), rows that never move. violation: float64 (G+1,); violated: their sum, failing: how many groups have
    one. price, cell: what a unit of violation and what a cell costs, in units of the loss.

    Scratch space of one move. Rows that a candidate could have, -1 for those that it has taken: sample_row,
    sample_value: int64 (SAMPLE,), the row and its value, sample_price: float64 (SAMPLE,), sample_checked: uint8
    (SAMPLE,), whether their groups were looked at. change: float64 (J,), of the violation by a row of each value;
    known: int64 (J,), at which stamp.
    """

    def __init__(
        self, state: tuple[Any, ...], rules: tuple[Any, ...], value: Ints, parked_counts: Ints32, cell: float
    ) -> None:
        Rows.__init__(self, *state)
        self.rules = Rules(parked_counts.copy(), *rules)
        values = len(self.rules.columns)
        self.value, self.parked_counts = value, parked_counts
        self.violation = np.zeros(len(self.cost))
        self.price, self.cell, self.violated, self.failing = 0.0, cell, 0.0, 0
        self.sample_row, self.sample_value = np.zeros(SAMPLE, np.int64), np.zeros(SAMPLE, np.int64)
        self.sample_price, self.sample_checked = np.zeros(SAMPLE), np.zeros(SAMPLE, np.uint8)
        self.change, self.known, self.stamp = np.zeros(values), np.zeros(values, np.int64), 0
        recount(self)


def recount(c: ValuedState) -> None:
    """Rebuild everything from `group`."""
    relink(c)
    for g in range(len(c.cost)):
        for column in range(c.parked_counts.shape[1]):
            c.rules.counts[g, column] = c.parked_counts[g, column]
    for r in range(len(c.group)):
        count_in(c.rules, c.group[r], c.value[r], 1)
    c.violated, c.failing = 0.0, 0
    for g in range(len(c.cost)):
        c.violation[g] = violation_of(c.rules, g, c.size[g], c.least[g])
        c.violated += c.violation[g]
        if c.violation[g] > 0:
            c.failing += 1


def put(c: ValuedState, r: int, g: int) -> int:
    """Move row r to candidate g; returns the change of the loss, that of the violation is in `violated`."""
    h = c.group[r]
    change = place(c, r, g)
    count_in(c.rules, h, c.value[r], -1)
    count_in(c.rules, g, c.value[r], 1)
    _judge(c, h)
    _judge(c, g)
    return change


def _judge(c: ValuedState, g: int) -> None:
    before = c.violation[g]
    now = violation_of(c.rules, g, c.size[g], c.least[g])
    c.violation[g] = now
    c.violated += now - before
    if now > 0:
        c.failing += 1
    if before > 0:
        c.failing -= 1


def take_back(c: ValuedState) -> None:
    """Take back all moves in the log."""
    while c.logged > 0:
        last = c.logged - 1
        put(c, c.log_row[last], c.log_group[last])
        c.logged = last


def with_one(c: ValuedState, g: int, u: int, by: int) -> float:
    """By how much the violation of g changes with one more row of value u, or one less."""
    count_in(c.rules, g, u, by)
    change: float = violation_of(c.rules, g, c.size[g] + by, c.least[g]) - c.violation[g]
    count_in(c.rules, g, u, -by)
    return change


def exchanged(c: ValuedState, g: int, u: int, v: int) -> float:
    """By how much the violation of g changes with a row of value u instead of one of v."""
    count_in(c.rules, g, u, 1)
    count_in(c.rules, g, v, -1)
    change: float = violation_of(c.rules, g, c.size[g], c.least[g]) - c.violation[g]
    count_in(c.rules, g, u, -1)
    count_in(c.rules, g, v, 1)
    return change


def may_have(c: ValuedState, r: int, g: int) -> bool:
    """Whether candidate g is an option of row r, by bisection (options are sorted by cost, then number)."""
    i = c.type_of[r]
    low, high = c.options_at[i], c.options_at[i + 1]
    while low < high:
        middle = (low + high) // 2
        other = c.options[middle]
        if c.cost[other] < c.cost[g] or (c.cost[other] == c.cost[g] and other < g):
            low = middle + 1
        else:
            high = middle
    found: bool = low < c.options_at[i + 1] and c.options[low] == g
    return found


def of_value(c: ValuedState, g: int, u: int) -> tuple[int, int]:
    """Where the rows of value u begin and end in the cover of g."""
    end = c.covers_at[g + 1]
    low, high = c.covers_at[g], end
    while low < high:
        middle = (low + high) // 2
        if c.value[c.covers[middle]] < u:
            low = middle + 1
        else:
            high = middle
    first, high = low, end
    while low < high:
        middle = (low + high) // 2
        if c.value[c.covers[middle]] <= u:
            low = middle + 1
        else:
            high = middle
    return first, low


def best_target(c: ValuedState, r: int, closing: int) -> tuple[int, float]:
    """The open candidate at which row r costs least, violations included, and what that changes; -1 if there is none.

    closing: a candidate that is taken for closed.
    """
    i, h, u = c.type_of[r], c.group[r], c.value[r]
    best, chosen = INFINITE, -1
    for q in range(c.options_at[i], c.options_at[i + 1]):
        g = c.options[q]
        loss = float(c.cost[g] - c.cost[h])
        if loss >= best:
            break
        if g in (h, closing) or c.size[g] == 0:
            continue
        change = loss + c.price * with_one(c, g, u, 1)
        if change < best:
            best, chosen = change, g
    return chosen, best


def of_group(c: ValuedState, h: int) -> int:
    """A row of group h, at random as far as a few tries on its cover find one; -1 where it has none that moves."""
    begin = c.covers_at[h]
    covered = c.covers_at[h + 1] - begin
    for _ in range(DRAWS if covered > 0 else 0):
        r: int = c.covers[begin + draw(c) % covered]
        if c.group[r] == h:
            return r
    first: int = c.first[h]
    return first
