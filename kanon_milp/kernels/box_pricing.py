"""Pricing of groups by their boxes, where each of the s rows of a group costs the penalty e of the group's box.

Of a group with rows P, multipliers λ of rows and ν ≥ 0 of rank-1 cuts the reduced cost is

    Σ_{x in P} (e - λ_x) + Σ_R ν_R ⌊p_R·a / d_R⌋.

A group belongs to its first row in order of falling multipliers, its seed. For each seed the search is over boxes, and
depth-first: the rows that have been placed span a box, and every row inside that no cut is about may come for e - λ. So
what is branched on is the row that would widen the box most, and after it only rows that would have widened it less.
With p rows placed, and y the next, a group costs at least

    (p + 1) e_y - Σ λ_placed - λ_y + Σ over the best others that widen the box less (e_y - λ_x),

as many others as a group must have, and more while e_y < λ_x; e_y is the penalty of the box with y. Rows for which
this is not below what is looked for, with any others, are left out. Terms of cuts never fall when rows are added. All
numbers are integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kanon_milp.kernels.sorting import sort_stably
from kanon_milp.system.arrays import Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

NEVER = 1 << 60  # a reduced cost that no group has
PASSES = 3  # of leaving rows out of a list
INTERVAL, SET = 0, 1  # kinds of columns; others are labels of hierarchies


class BoxSearch:
    """Scratch space of a search, and what it looks at.

    codes: int32 (n, m), value of each row in each column. kind: of each column. begin: int64 (m + 1,), where the values
    of each column begin in `place`. place: of the values of intervals where they are, in units of cost. further: of
    each column what each further value of a set costs. height: of each column how many labels a value has. label, cost:
    of hierarchies the label of each value and its cost, value by value, from `tree` on.

    multipliers, rank: of each row, and its place in the order of seeds; `order` has the rows by it. begins, cut_of,
    weight_of, denominators, prices: of the rank-1 cuts of each row. smallest, largest: rows of a group.

    below: what is looked for is below this; share: times the least reduced cost of the seed so far, where that is
    lower, as num/den. nodes: left of a seed. lowest: what groups of the seed cost at least; best: the least found.
    count, rows, reduced: columns of the seed.

    By depth: rows that may come (`items`, in the order of seeds), how many, the penalty with each (`wide`), the place
    of each by it (`turn`), the items in that order (`queue`) and what a group costs at least that has this one as its
    widest row (`least`); which is next (`at`); low and high ends, levels of labels, and the penalty of the box; λ and
    cuts of what is placed.
    """

    codes: Ints32
    kind: Ints
    begin: Ints
    place: Ints
    further: Ints
    height: Ints
    tree: Ints
    label: Ints
    cost: Ints
    multipliers: Ints
    rank: Ints
    order: Ints
    begins: Ints
    cut_of: Ints
    weight_of: Ints
    denominators: Ints
    prices: Ints
    touched: Ints
    smallest: int
    largest: int
    columns: int
    nodes: int
    below: int
    share: float
    lowest: int
    best: int
    count: int
    rows: Ints32
    reduced: Ints
    held: Ints
    has: Ints
    rise: Ints
    charge: Ints
    items: Ints
    wide: Ints
    turn: Ints
    queue: Ints
    least: Ints
    length: Ints
    at: Ints
    chosen: Ints
    low: Ints
    high: Ints
    sets: Ints
    penalty: Ints
    placed: Ints
    paid: Ints
    top: Ints
    top_row: Ints
    sums: Ints
    few: int
    keys: Ints
    sorted: Ints
    other: Ints

    def __init__(
        self, box: Any, multipliers: Ints, cuts: Any, order: Ints, smallest: int, largest: int, columns: int
    ) -> None:  # fmt: skip
        n, m = box.codes.shape
        deep = largest + 1
        self.codes, self.kind, self.begin, self.place = box.codes, box.kind, box.begin, box.place
        self.further, self.height, self.tree, self.label, self.cost = (
            box.further, box.height, box.tree, box.label, box.cost
        )  # fmt: skip
        self.multipliers, self.order = multipliers, order
        self.rank = np.argsort(order)
        self.begins, self.cut_of, self.weight_of, self.denominators, self.prices = cuts
        paying = np.append(0, np.cumsum(cuts[4][cuts[1]] > 0))
        self.touched = (paying[cuts[0][1:]] > paying[cuts[0][:-1]]).astype(np.int64)
        self.smallest, self.largest, self.columns = smallest, largest, columns
        self.nodes = self.count = self.few = 0
        self.below, self.share, self.lowest, self.best = 0, 0.0, 0, 0
        self.rows, self.reduced = np.full((columns, largest), -1, np.int32), np.zeros(columns, np.int64)
        self.held = np.zeros(len(self.denominators), np.int64)
        self.has, self.rise = np.zeros((2, int(box.begin[m])), np.int64)
        self.charge = np.zeros(int(box.height.sum()), np.int64)
        self.items, self.wide, self.turn, self.queue, self.least = np.zeros((5, deep, n), np.int64)
        self.length, self.at, self.chosen, self.sets, self.penalty, self.placed, self.paid = np.zeros(
            (7, deep), np.int64
        )
        self.low, self.high = np.zeros((2, deep, m), np.int64)
        self.top, self.top_row, self.sums = np.zeros((3, 2 * deep), np.int64)
        self.keys, self.sorted, self.other = np.zeros((3, n), np.int64)


def cheapest_of_seed(s: BoxSearch, seed: int, nodes: int) -> bool:
    """The groups of a seed with a reduced cost below `below`, the cheapest of them into `rows` and `reduced`.

    nodes: of the search, at most. Returns whether the search was complete; `lowest` is what the reduced cost of a group
    of the seed is at least, if that is negative, else 0.
    """
    with cython.nogil:
        s.nodes, s.count, s.best = nodes, 0, 0
        _begin(s, seed)
        rest = _search(s)
        s.lowest = min(s.best, rest)
    return s.nodes >= 0


def penalty_of(s: BoxSearch, rows: Ints, count: int) -> int:
    """The penalty of the box of so many rows."""
    _begin(s, rows[0])
    found = int(s.penalty[0])
    for a in range(1, count):
        found = _with(s, 0, rows[a])
        _widen(s, 0, 0, rows[a])
        _put(s, rows[a])
    for a in range(1, count):
        _leave(s, rows[a])
    _leave(s, rows[0])
    return found


def _begin(s: BoxSearch, seed: int) -> None:
    """The box of a seed alone, and the levels at which other values have a label with it."""
    m, offset = len(s.kind), 0
    s.penalty[0] = s.sets[0] = 0
    for c in range(m):
        v, b = s.codes[seed, c], s.begin[c]
        if s.kind[c] == INTERVAL:
            s.low[0, c] = s.high[0, c] = s.place[b + v]
        elif s.kind[c] == SET:
            s.has[b + v] += 1
        else:
            h, t = s.height[c], s.tree[c]
            for level in range(h):
                s.charge[offset + level] = s.cost[t + v * h + level]
            for u in range(s.begin[c + 1] - b):
                level = 0
                while s.label[t + u * h + level] != s.label[t + v * h + level]:
                    level += 1
                s.rise[b + u] = level
            s.low[0, c] = offset
            s.high[0, c] = 0
            s.penalty[0] += s.charge[offset]
            offset += h
    s.chosen[0], s.placed[0] = seed, s.multipliers[seed]
    s.paid[0] = _put(s, seed)


def _with(s: BoxSearch, depth: int, x: int) -> int:
    """The penalty of the box at a depth with one more row."""
    total: int = s.sets[depth]
    for c in range(len(s.kind)):
        v = s.begin[c] + s.codes[x, c]
        if s.kind[c] == SET:
            if s.has[v] == 0:
                total += s.further[c]
        elif s.kind[c] == INTERVAL:
            a = s.place[v]
            total += max(s.high[depth, c], a) - min(s.low[depth, c], a)
        else:
            total += s.charge[s.low[depth, c] + max(s.high[depth, c], s.rise[v])]
    return total


def _widen(s: BoxSearch, depth: int, to: int, x: int) -> None:
    """The box at a depth with one more row, as that of another depth."""
    total = s.sets[depth]
    for c in range(len(s.kind)):
        v = s.begin[c] + s.codes[x, c]
        if s.kind[c] == SET:
            if s.has[v] == 0:
                total += s.further[c]
            s.has[v] += 1
        elif s.kind[c] == INTERVAL:
            a = s.place[v]
            s.low[to, c], s.high[to, c] = min(s.low[depth, c], a), max(s.high[depth, c], a)
        else:
            s.low[to, c], s.high[to, c] = s.low[depth, c], max(s.high[depth, c], s.rise[v])
    s.sets[to] = total


def _leave(s: BoxSearch, x: int) -> None:
    """Take a row out of the sets of the box, and out of the sums of its cuts."""
    for c in range(len(s.kind)):
        if s.kind[c] == SET:
            s.has[s.begin[c] + s.codes[x, c]] -= 1
    for e in range(s.begins[x], s.begins[x + 1]):
        s.held[s.cut_of[e]] -= s.weight_of[e]


def _put(s: BoxSearch, x: int) -> int:
    """Add a row to the sums of its cuts; what the group pays more for them."""
    total = 0
    for e in range(s.begins[x], s.begins[x + 1]):
        r = s.cut_of[e]
        before = s.held[r] // s.denominators[r]
        s.held[r] += s.weight_of[e]
        total += s.prices[r] * (s.held[r] // s.denominators[r] - before)
    return total


def _gather(s: BoxSearch, row: int, most: int) -> None:
    """Keep the `most` rows with the largest multipliers, these falling, and their sums."""
    value = s.multipliers[row]
    a = s.few
    if a == most:
        if most == 0 or value <= s.top[a - 1]:
            return
        a -= 1
    else:
        s.few += 1
    while a > 0 and s.top[a - 1] < value:
        s.top[a], s.top_row[a] = s.top[a - 1], s.top_row[a - 1]
        a -= 1
    s.top[a], s.top_row[a] = value, row
    while a < s.few:
        s.sums[a + 1] = s.sums[a] + s.top[a]
        a += 1


def _others(s: BoxSearch, e: int, must: int, most: int) -> int:
    """How many of the best others come into a box of penalty e: as many as must, and more while they gain."""
    low, high = must, min(s.few, most)
    while low < high:
        middle = (low + high) // 2
        if s.top[middle] > e:
            low = middle + 1
        else:
            high = middle
    return low


def _value(s: BoxSearch, depth: int, e: int, own: int, must: int, most: int) -> int:
    """What a group costs at least whose box has penalty e, with the best others: own: of λ, of what is placed, and of
    the next row if there is one. NEVER where there are too few others."""
    if s.few < must:
        return NEVER
    others = _others(s, e, must, most)
    value: int = e * (s.largest - most + others) - own - s.sums[others] + s.paid[depth]
    return value


def _search(s: BoxSearch) -> int:
    """All groups of the seed that is placed. What groups are cost at least that were not looked at, when nodes are
    used up; else 0."""
    depth, rest = 0, 0
    m = 0
    for a in range(s.rank[s.chosen[0]] + 1, len(s.order)):
        s.items[0, m] = s.order[a]
        s.wide[0, m] = _with(s, 0, s.order[a])
        m += 1
    s.length[0] = m
    _line_up(s, 0)
    while depth >= 0:
        j = s.at[depth]
        if j == s.length[depth] or s.nodes < 0:
            if s.nodes < 0 and depth == 0:
                for a in range(max(j - 1, 0), s.length[0]):
                    rest = min(rest, s.least[0, a])
            _leave(s, s.chosen[depth])
            depth -= 1
            continue
        s.at[depth] = j + 1
        if s.least[depth, j] >= s.below:
            continue
        s.nodes -= 1
        if s.nodes < 0:
            if depth == 0:
                rest = min(rest, s.least[0, j])
            continue
        if _descend(s, depth, j):
            depth += 1
    return rest


def _descend(s: BoxSearch, depth: int, j: int) -> bool:
    """Place the j-th row by what it widens, and list those that may come after it; whether there are any."""
    to, y, m = depth + 1, s.items[depth, s.queue[depth, j]], 0
    s.penalty[to] = s.wide[depth, s.queue[depth, j]]
    _widen(s, depth, to, y)
    s.chosen[to], s.placed[to] = y, s.placed[depth] + s.multipliers[y]
    s.paid[to] = s.paid[depth] + _put(s, y)
    for a in range(s.length[depth]):
        if s.turn[depth, a] < j:
            x = s.items[depth, a]
            s.items[to, m] = x
            s.wide[to, m] = _with(s, to, x)
            m += 1
    s.length[to] = m
    _line_up(s, to)
    if s.length[to] == 0:
        _leave(s, y)
        return False
    return True


def _line_up(s: BoxSearch, depth: int) -> None:
    """Leave out rows that are in no group below, take the group that the box has, and set what is next.

    The lists are by rising penalty with each row, those inside before those that cuts are about.
    """
    placed = depth + 1
    must, most = max(s.smallest - placed - 1, 0), max(s.largest - placed - 1, 0)
    e, own = s.penalty[depth], s.placed[depth]
    inside = min(s.largest - placed, s.length[depth])
    for _ in range(PASSES):
        m, left = s.length[depth], 0
        s.few = 0
        for a in range(min(m, most)):
            _gather(s, s.items[depth, a], most)  # these are by falling multipliers
        for a in range(m):
            x = s.items[depth, a]
            if _value(s, depth, s.wide[depth, a], own + s.multipliers[x], must, most) < s.below:
                s.items[depth, left], s.wide[depth, left] = x, s.wide[depth, a]
                left += 1
        s.length[depth] = left
        if left == m:
            break
    m = s.length[depth]
    for a in range(m):
        s.keys[a] = 2 * s.wide[depth, a] + s.touched[s.items[depth, a]]
    sort_stably(s.keys, m, s.sorted, s.other)
    s.few, inside = 0, 0
    while inside < m and s.keys[s.sorted[inside]] == 2 * e:
        s.turn[depth, s.sorted[inside]] = inside
        s.queue[depth, inside] = s.sorted[inside]
        s.least[depth, inside] = NEVER  # what is inside is not branched on
        _gather(s, s.items[depth, s.sorted[inside]], most + 1)
        inside += 1
    _keep(s, depth)
    s.few = min(s.few, most)
    for a in range(inside, m):
        i = s.sorted[a]
        x = s.items[depth, i]
        s.turn[depth, i], s.queue[depth, a] = a, i
        s.least[depth, a] = NEVER
        if placed < s.largest:
            s.least[depth, a] = _value(s, depth, s.wide[depth, i], own + s.multipliers[x], must, most)
        _gather(s, x, most)
    s.at[depth] = inside
    if placed >= s.largest:
        s.length[depth] = inside


def _keep(s: BoxSearch, depth: int) -> None:
    """The group of the box, of the rows placed and the best of those inside, unless it costs too much."""
    placed = depth + 1
    must, most = max(s.smallest - placed, 0), max(s.largest - placed, 0)
    if s.few < must:
        return
    e = s.penalty[depth]
    others = _others(s, e, must, most)
    value = e * (placed + others) - s.placed[depth] - s.sums[others] + s.paid[depth]
    if value >= s.below:
        return
    if value < s.best:
        s.best = value
        if s.share > 0:
            s.below = min(s.below, cython.cast(cython.longlong, s.share * value))
    c = s.count
    if c < s.columns:
        s.count += 1
    else:
        c = 0
        for a in range(1, s.columns):
            if s.reduced[a] > s.reduced[c]:
                c = a
        if s.reduced[c] <= value:
            return
    s.reduced[c] = value
    for a in range(s.largest):
        s.rows[c, a] = -1
    for a in range(placed):
        s.rows[c, a] = s.chosen[a]
    for a in range(others):
        s.rows[c, placed + a] = s.top_row[a]


def exchange(s: BoxSearch, group: Ints, members: Ints, sizes: Ints, penalties: Ints, begin: int, end: int) -> int:
    """Move the rows from one number to another to groups where they cost less, or let them change places.

    group: int64 (n,), of each row. members: int64 (groups, largest + 1), rows of each group, so many of them as `sizes`
    says; penalties: of its box. All are changed. Returns how many moves and exchanges lowered the cost.
    """
    with cython.nogil:
        changed = 0
        for x in range(begin, end):
            changed += _better_place(s, x, group, members, sizes, penalties)
    return changed


def _better_place(s: BoxSearch, x: int, group: Ints, members: Ints, sizes: Ints, penalties: Ints) -> int:
    """The best of all moves of a row, and of its exchanges with the rows of the group that it widens least."""
    own = group[x]
    without = _span(s, members, own, sizes[own], x, -1)
    saved = sizes[own] * penalties[own] - (sizes[own] - 1) * without
    near, least = -1, NEVER
    to, gain = -1, 0
    for g in range(len(sizes)):
        if g == own:
            continue
        wide = max(penalties[g], _apart(s, x, members[g, 0]))  # or more
        if wide >= least and saved - (sizes[g] + 1) * wide + sizes[g] * penalties[g] <= gain:
            continue
        wide = _span(s, members, g, sizes[g], -1, x)
        if wide < least:
            near, least = g, wide
        if sizes[own] > s.smallest and sizes[g] < s.largest:
            better = saved - (sizes[g] + 1) * wide + sizes[g] * penalties[g]
            if better > gain:
                to, gain = g, better
    partner = -1
    if near >= 0:
        before = sizes[own] * penalties[own] + sizes[near] * penalties[near]
        for a in range(sizes[near]):
            y = members[near, a]
            after = sizes[near] * _span(s, members, near, sizes[near], y, x)
            if after < before - gain:
                after += sizes[own] * _span(s, members, own, sizes[own], x, y)
                if before - after > gain:
                    partner, gain = y, before - after
    if gain <= 0:
        return 0
    if partner >= 0:
        to = near
        _replace(members, to, sizes[to], partner, x)
        _replace(members, own, sizes[own], x, partner)
        group[partner] = own
    else:
        sizes[own] -= 1
        _replace(members, own, sizes[own] + 1, x, members[own, sizes[own]])
        members[to, sizes[to]] = x
        sizes[to] += 1
    group[x] = to
    penalties[own] = _span(s, members, own, sizes[own], -1, -1)
    penalties[to] = _span(s, members, to, sizes[to], -1, -1)
    return 1


def _apart(s: BoxSearch, x: int, y: int) -> int:
    """What the box of two rows costs at least: its intervals and sets."""
    total = 0
    for c in range(len(s.kind)):
        v, w = s.begin[c] + s.codes[x, c], s.begin[c] + s.codes[y, c]
        if s.kind[c] == INTERVAL:
            total += max(s.place[v], s.place[w]) - min(s.place[v], s.place[w])
        elif s.kind[c] == SET and v != w:
            total += s.further[c]
    return total


def _replace(members: Ints, g: int, size: int, old: int, new: int) -> None:
    for a in range(size):
        if members[g, a] == old:
            members[g, a] = new
            return


def _span(s: BoxSearch, members: Ints, g: int, size: int, without: int, extra: int) -> int:
    """The penalty of the box of a group without one of its rows and with another, -1 for none."""
    first, started = extra, extra >= 0
    if started:
        _begin(s, extra)
    for a in range(size):
        x = members[g, a]
        if x == without:
            continue
        if started:
            s.penalty[0] = _with(s, 0, x)
            _widen(s, 0, 0, x)
            _put(s, x)
        else:
            first, started = x, True
            _begin(s, x)
    found = s.penalty[0] if started else 0
    for a in range(size):
        if members[g, a] != without and members[g, a] != first:
            _leave(s, members[g, a])
    if started:
        _leave(s, first)
    return int(found)
