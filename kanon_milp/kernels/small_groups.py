"""The cheapest group of a few rows, exactly, for every candidate under a relaxation that charges EMD cost.

Which groups are allowed depends on their values alone: a table with one entry for each multiset of values, in exact
integers. The search goes depth first through rows of rising reduced cost; the rows of one value are taken in this
order, too, since one more expensive changes nothing else. What is still to come costs at least the next rows in order.
Where it takes too many steps it gives up.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.sorting import sort_stably
from kanon_milp.kernels.tree_subproblem import (
    FloatSubproblems,
    IntSubproblems,
    Subproblems,
    fewest_rows,
    most_rows,
    select,
)
from kanon_milp.kernels.valued_groups import place_in
from kanon_milp.system.arrays import Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython


def allow(
    size: int,
    own: Ints,
    children: Ints,
    of_value: Ints,
    share: Ints,
    weight: Ints,
    scale: int,
    limit: int,
    into: NDArray[np.uint8],
) -> None:
    """Whether each multiset of so many values is within the EMD cost and the limits of single values.

    own, children, of_value: of the nodes, as in `TreeArrays`; share, weight: the same, times `scale` and a unit. limit:
    the EMD cost of one row, times both.
    """
    values = np.asarray(own).max() + 1
    held, below, ranks = np.zeros(values, np.int64), np.zeros(len(own) + 1, np.int64), np.zeros(size, np.int64)
    with cython.nogil:
        for number in range(len(into)):
            for v in range(len(held)):
                held[v] = 0
            for j in range(size):
                held[ranks[j]] += 1
            top, far, good = 0, 0, True
            for v in range(len(own)):
                inside = 0
                if own[v] >= 0:
                    inside = held[own[v]]
                    if inside < fewest_rows(of_value[v, 0], of_value[v, 1], size):
                        good = False
                    if inside > most_rows(of_value[v, 2], of_value[v, 3], size):
                        good = False
                for _ in range(children[v]):
                    top -= 1
                    inside += below[top]
                far += weight[v] * abs(scale * inside - share[v] * size)
                below[top] = inside
                top += 1
            into[number] = good and far <= limit * size
            j = 0
            while j < size - 1 and ranks[j] == ranks[j + 1]:
                j += 1
            ranks[j] += 1
            for i in range(j):
                ranks[i] = 0


class SmallSizes:
    """Which groups of up to `most` rows a relaxation allows.

    allowed: uint8, for all multisets of values, those of S rows from begins[S] on. begins: int64 (most + 2,). ways:
    int64 (V + most, most + 1), binomial coefficients: the ranks u_1 ≤ u_2 ≤ ... ≤ u_S of values in the order of the
    nodes are number Σ_j ways[u_j + j - 1, j] of their size.
    """

    most: int
    allowed: NDArray[np.uint8]
    begins: Ints
    ways: Ints

    def __init__(self, most: int, allowed: NDArray[np.uint8], begins: Ints, ways: Ints) -> None:
        self.most, self.allowed, self.begins, self.ways = most, allowed, begins, ways


class SmallGroups:
    """Scratch space for the small groups of one candidate.

    chosen: the rows of the group so far, as places in `items`. best: row types of the cheapest one, -1 for no row.
    """

    small: SmallSizes
    chosen: Ints
    best: Ints
    # rows that may be in a small group, by rising reduced cost: how many, row types, ranks of values, the place of the
    # one of the same value before, -1 for the first, and whether it is in the group so far
    length: int
    items: Ints
    values: Ints
    before: Ints
    used: NDArray[np.uint8]
    # to sort them; and those of one value
    order: Ints
    other: Ints
    unsorted_items: Ints
    unsorted_values: Ints
    own_items: Ints

    def __init__(self, problem: Subproblems, small: SmallSizes) -> None:
        most = small.most
        capacity = most * int(max(np.diff(problem.indptr).max(initial=0), len(problem.own))) + 1
        self.small, self.length = small, 0
        self.items, self.values, self.before, self.order, self.other = np.empty((5, capacity), np.int64)
        self.unsorted_items, self.unsorted_values = np.empty((2, capacity), np.int64)
        self.used = np.zeros(capacity, np.uint8)
        self.chosen, self.own_items = np.empty((2, most + 1), np.int64)
        self.best = np.empty(most, np.int64)


class FloatSmallGroups(SmallGroups):
    """In floating point; phi: (G,), φ, and value: what the cheapest group of one candidate costs, or has to cost less
    than."""

    problem: FloatSubproblems
    phi: Floats
    value: float
    # reduced costs of the rows, sums of them (one more), what the group costs before each of its rows; the least of all
    keys: Floats
    prefix: Floats
    spent: Floats
    lows: Floats
    unsorted_keys: Floats
    own_keys: Floats

    def __init__(self, problem: FloatSubproblems, small: SmallSizes, phi: Floats) -> None:
        super().__init__(problem, small)
        self.problem, self.phi = problem, phi
        _set_numbers(self, np.float64)


class IntSmallGroups(SmallGroups):
    """In integers; arrays as of `FloatSmallGroups`."""

    problem: IntSubproblems
    phi: Ints
    value: int
    keys: Ints
    prefix: Ints
    spent: Ints
    lows: Ints
    unsorted_keys: Ints
    own_keys: Ints

    def __init__(self, problem: IntSubproblems, small: SmallSizes, phi: Ints) -> None:
        super().__init__(problem, small)
        self.problem, self.phi = problem, phi
        _set_numbers(self, np.int64)


Groups = TypeVar("Groups", FloatSmallGroups, IntSmallGroups)


def _set_numbers(t: Groups, kind: Any) -> None:
    capacity, most = len(t.items), t.small.most
    t.keys, t.unsorted_keys, t.prefix = np.empty((3, capacity + 1), kind)
    t.spent, t.lows, t.own_keys = np.empty((3, most + 2), kind)
    t.value = kind(0)


def _sort_rows(t: Groups) -> None:
    """The rows that can be in a group of few rows that costs less than `value`, which may be infinite, in order."""
    most, kept = t.small.most, 0
    t.length = 0
    # the least reduced costs of all
    for at in range(t.problem.begin, t.problem.end):
        i = t.problem.members[at]
        key = t.problem.w - t.problem.multipliers[i]
        for _ in range(min(t.problem.rows_of(i), most)):
            if kept == most and key >= t.lows[kept - 1]:
                break
            place = min(kept, most - 1)
            while place > 0 and t.lows[place - 1] > key:
                t.lows[place] = t.lows[place - 1]
                place -= 1
            t.lows[place] = key
            kept = min(kept + 1, most)
    # all other rows of a group cost at least the least negative ones
    highest = t.value
    for place in range(min(kept, most - 1)):
        if t.lows[place] < 0:
            highest -= t.lows[place]
    if kept == 0 or t.lows[0] >= highest:
        return
    length = 0
    for cell in range(t.problem.first_cell, t.problem.last_cell):
        own = 0
        for at in range(
            t.problem.begin + t.problem.cell_begin[cell + t.problem.g],
            t.problem.begin + t.problem.cell_begin[cell + t.problem.g + 1],
        ):
            i = t.problem.members[at]
            key = t.problem.w - t.problem.multipliers[i]
            if key >= highest:
                continue
            for _ in range(min(t.problem.rows_of(i), most)):
                if own == most and key >= t.own_keys[own - 1]:
                    break
                place = min(own, most - 1)
                while place > 0 and t.own_keys[place - 1] > key:
                    t.own_keys[place], t.own_items[place] = t.own_keys[place - 1], t.own_items[place - 1]
                    place -= 1
                t.own_keys[place], t.own_items[place] = key, i
                own = min(own + 1, most)
        for place in range(own):
            t.unsorted_keys[length], t.unsorted_items[length] = t.own_keys[place], t.own_items[place]
            t.unsorted_values[length] = t.problem.cell_value[cell]
            length += 1
    sort_stably(t.unsorted_keys, length, t.order, t.other)
    for at in range(length):
        t.other[t.order[at]] = at
    t.prefix[0] = 0
    for at in range(length):
        place = t.order[at]
        t.keys[at], t.items[at], t.values[at] = (
            t.unsorted_keys[place],
            t.unsorted_items[place],
            t.unsorted_values[place],
        )
        t.before[at] = -1
        if place > 0 and t.unsorted_values[place] == t.unsorted_values[place - 1]:
            t.before[at] = t.other[place - 1]
        t.prefix[at + 1] = t.prefix[at] + t.keys[at]
        t.used[at] = False
    t.length = length


def is_allowed(t: SmallGroups, some: int, size: int) -> bool:
    """Whether a part of the group that is chosen is allowed. some: bit d for its row number d; size: of the group."""
    number, rows = 0, 0
    # its values in ascending order, each by the number of those before it
    for d in range(size):
        if some >> d & 1 == 0:
            continue
        rows += 1
        value, j = t.values[t.chosen[d]], 1
        for other in range(size):
            if some >> other & 1 == 0:
                continue
            another = t.values[t.chosen[other]]
            if another < value or (another == value and other < d):
                j += 1
        number += t.small.ways[value + j - 1, j]
    return bool(t.small.allowed[t.small.begins[rows] + number])


def cheapest_small_group(t: Groups, tried: int) -> bool:
    """The cheapest allowed group of few rows of the candidate that is selected, if it costs less than `value`, into
    `value` and `best`; whether the search came to its end."""
    most = t.small.most
    for d in range(most):
        t.best[d] = -1
    _sort_rows(t)
    if t.length == 0:
        return True
    for size in range(max(t.problem.fewest, 1), min(most, t.problem.most) + 1):
        depth, at = 0, 0
        t.spent[0] = 0
        while True:
            need = size - depth
            if at + need <= t.length and t.spent[depth] + (t.prefix[at + need] - t.prefix[at]) < t.value:
                tried -= 1
                if tried < 0:
                    return False
                if t.before[at] < 0 or t.used[t.before[at]]:
                    t.chosen[depth] = at
                    if need > 1:
                        t.used[at] = True
                        t.spent[depth + 1] = t.spent[depth] + t.keys[at]
                        depth += 1
                    elif is_allowed(t, (1 << size) - 1, size):
                        t.value = t.spent[depth] + t.keys[at]
                        for d in range(most):
                            t.best[d] = t.items[t.chosen[d]] if d < size else -1
                at += 1
                continue
            if depth == 0:
                break
            depth -= 1
            at = t.chosen[depth]
            t.used[at] = False
            at += 1
    return True


def cheapest_small_groups(t: Groups, tried: int, left: NDArray[np.uint8], chosen: Ints32) -> None:
    """For all candidates in `left` the least of φ and the cheapest small group into `phi`, and its rows into `chosen`,
    int32 (G, most), -1 for no row. `left` stays where the search gave up."""
    with cython.nogil:
        for g in range(len(left)):
            for d in range(t.small.most):
                chosen[g, d] = -1
            if not left[g]:
                continue
            select(t.problem, g)
            t.value = t.phi[g]
            left[g] = not cheapest_small_group(t, tried)
            t.phi[g] = t.value
            if not left[g]:
                for d in range(t.small.most):
                    chosen[g, d] = t.best[d]


def take_small_groups(
    indptr: Ints, members: Ints32, wanted: NDArray[np.uint8], chosen: Ints32, taken: Floats, average: Floats
) -> None:
    """Add the rows of wanted candidates' small groups to row types, and those of each pair times the last entry to the
    averages; arrays that are not asked for are empty. members: the covers, ascending."""
    with cython.nogil:
        for g in range(len(wanted)):
            if not wanted[g]:
                continue
            for d in range(chosen.shape[1]):
                i = chosen[g, d]
                if i < 0:
                    break
                if len(taken) > 0:
                    taken[i] += 1.0
                if len(average) > 0:
                    at = place_in(members, indptr[g], indptr[g + 1], i)
                    average[at] += average[len(average) - 1]


def _list_rows(t: FloatSmallGroups, below: float) -> int:
    """All rows that can be in a group that costs less than `below`, by rising reduced cost, into keys, items and
    values; how many. A row type is there as often as it can have rows in it."""
    most, length = t.small.most, 0
    for at in range(t.problem.begin, t.problem.end):
        i = t.problem.members[at]
        for _ in range(min(t.problem.rows_of(i), most)):
            t.unsorted_keys[length], t.unsorted_items[length] = t.problem.w - t.problem.multipliers[i], i
            length += 1
    sort_stably(t.unsorted_keys, length, t.order, t.other)
    highest = below
    for d in range(min(length, most - 1)):
        highest -= min(t.unsorted_keys[t.order[d]], 0.0)
    kept = 0
    while kept < length and t.unsorted_keys[t.order[kept]] < highest:
        i = t.unsorted_items[t.order[kept]]
        t.keys[kept], t.items[kept], t.values[kept] = t.unsorted_keys[t.order[kept]], i, t.problem.rank[i]
        kept += 1
    return kept


def list_small_groups(t: FloatSmallGroups, below: float, limit: int) -> tuple[bool, Ints, Ints]:
    """All allowed groups of up to `most` rows with a reduced cost under `below` that do not fall into two allowed
    ones: (whether there are no more than `limit`, and they were found within a thousand times as many steps,
    candidates, row types (C, most), -1 for no row)."""
    most, groups, steps, complete = t.small.most, 0, 1000 * limit, True
    found, types = np.empty(limit, np.int64), np.full((limit, most), -1, np.int64)
    with cython.nogil:
        for g in range(len(t.problem.cost)):
            select(t.problem, g)
            # of a group that costs less than something positive one row does so, too
            one = below < 0
            for at in range(t.problem.begin, t.problem.end):
                if t.problem.w - t.problem.multipliers[t.problem.members[at]] < below:
                    one = True
            if not one:
                continue
            t.length = _list_rows(t, below)
            t.prefix[0] = 0
            for at in range(t.length):
                t.prefix[at + 1] = t.prefix[at] + t.keys[at]
            for size in range(max(t.problem.fewest, 1), min(most, t.problem.most) + 1):
                depth, at = 0, 0
                t.spent[0] = 0
                while complete:
                    need = size - depth
                    if at + need <= t.length and t.spent[depth] + (t.prefix[at + need] - t.prefix[at]) < below:
                        steps -= 1
                        if steps < 0:
                            complete = False
                            break
                        # rows of one type are taken one after the other
                        if at == 0 or t.items[at - 1] != t.items[at] or (depth > 0 and t.chosen[depth - 1] == at - 1):
                            t.chosen[depth] = at
                            if need > 1:
                                t.spent[depth + 1] = t.spent[depth] + t.keys[at]
                                depth += 1
                            elif is_allowed(t, (1 << size) - 1, size) and not _falls_apart(t, size, t.problem.fewest):
                                if groups == limit:
                                    complete = False
                                    break
                                found[groups] = g
                                for d in range(size):
                                    types[groups, d] = t.items[t.chosen[d]]
                                groups += 1
                        at += 1
                        continue
                    if depth == 0:
                        break
                    depth -= 1
                    at = t.chosen[depth] + 1
            if not complete:
                break
    return complete, np.asarray(found)[:groups], np.asarray(types)[:groups]


def _falls_apart(t: SmallGroups, size: int, least: int) -> bool:
    """Whether the group that is chosen is two allowed ones together."""
    every = (1 << size) - 1
    some = 1  # the part with the first row
    while some < every:
        rows = 0
        for d in range(size):
            rows += some >> d & 1
        if rows >= least and size - rows >= least and is_allowed(t, some, size) and is_allowed(t, every - some, size):
            return True
        some += 2
    return False
