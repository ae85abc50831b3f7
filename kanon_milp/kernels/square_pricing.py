"""The cheapest groups where one of s rows costs Σ_{x<y} D_xy / e_s: e_s = s, D squared distances for sums of squares.

Of a group with rows P, multipliers λ of rows and ν ≥ 0 of rank-1 cuts the reduced cost, times 2e_s, is

    2 Σ_{x<y} D_xy - 2e_s Σ λ_x + 2e_s Σ_R ν_R ⌊p_R·a / d_R⌋.

A group belongs to its first row in order of falling multipliers, its seed. For each seed and each size s the search is
depth-first. With p rows placed, and q = s - p to come, a further row x is worth at least

    v_x = 2 Σ_{y placed} D_xy - 2e_s λ_x + (sum of its q - 1 smallest D to other rows),

and the group at least what the placed rows cost and the q smallest v. Rows with v so high that this is not below what
is looked for are left out; at the root, the sums of smallest D are taken among the rows that are left, and again. Terms
of cuts never fall when rows are added. In integers everything is exact.

No two rows of a group have the same value, where rows have some.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.sorting import sort_stably
from kanon_milp.system.arrays import Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

PASSES = 3  # of leaving rows out at the root


class SquareSearch:
    """Scratch space of a search, and what it looks at.

    near: int32 (n, w), the nearest other rows of each row, nearest first. begins, cut_of, weight_of, denominators: of
    `PricedCuts`. rank: place of each row in the order of seeds. smallest, largest: rows of a group. twice: 2e_s, int64
    (largest + 1,). value_of: int64 (n,), different in the rows of a group. nodes: left of a seed. held: Σ p a of each
    cut in the group so far. By depth: rows that may come, how many, which is next; the row that was placed last. few:
    number of values in `least`, the smallest v. count, rows: columns of a seed so far, and their rows, -1 for none.
    """

    near: Ints32
    begins: Ints
    cut_of: Ints
    weight_of: Ints
    denominators: Ints
    rank: Ints
    smallest: int
    largest: int
    twice: Ints
    value_of: Ints
    columns: int
    nodes: int
    few: int
    held: Ints
    mark: Ints
    stamp: int
    items: NDArray[np.int64]
    length: Ints
    at: Ints
    chosen: Ints
    order: Ints
    other: Ints
    count: int
    rows: Ints32

    def __init__(
        self, near: Ints32, smallest: int, twice: Ints, value_of: Ints, cuts: Any, rank: Ints, columns: int
    ) -> None:
        n, largest, deep = len(near), len(twice) - 1, len(twice)
        self.near, self.smallest, self.largest, self.columns, self.rank = near, smallest, largest, columns, rank
        self.twice, self.value_of = twice, value_of
        self.begins, self.cut_of, self.weight_of, self.denominators = cuts[:4]
        self.held = np.zeros(len(self.denominators), np.int64)
        self.mark, self.order, self.other = np.zeros((3, n + 1), np.int64)
        self.items = np.zeros((deep, n + 1), np.int64)
        self.length, self.at, self.chosen = np.zeros((3, deep), np.int64)
        self.rows = np.full((columns, largest), -1, np.int32)
        self.nodes = self.stamp = self.count = self.few = 0


class FloatSquareSearch(SquareSearch):
    """In floating point. distances: D, float64 (n, n). sums: (n, largest), of the 0, 1, ... nearest rows' D. reduced:
    reduced costs of the columns of a seed, `best` the least; below: what further ones are looked for below; share:
    times the least reduced cost so far, where that is lower; below 0, the search ends once a seed has more columns than
    there is place for. lowest: what groups cost at least; paid: for cuts. value,
    fence: arguments of functions."""

    distances: Floats
    sums: Floats
    multipliers: Floats
    prices: Floats
    values: Floats
    crossed: Floats
    base: Floats
    least: Floats
    inner: Floats
    keys: Floats
    reduced: Floats
    below: float
    best: float
    lowest: float
    paid: float
    share: float
    value: float
    fence: float

    def __init__(
        self, distances: Floats, sums: Floats, near: Ints32, smallest: int, twice: Ints,
        value_of: Ints, multipliers: Floats, cuts: Any, rank: Ints, columns: int,
    ) -> None:  # fmt: skip
        super().__init__(near, smallest, twice, value_of, cuts, rank, columns)
        self.distances, self.sums, self.multipliers, self.prices = distances, sums, multipliers, cuts[4]
        n, largest, deep = len(near), len(twice) - 1, len(twice)
        self.values, self.crossed = np.zeros((2, deep, n + 1))
        self.base, self.least, self.keys = np.zeros(deep), np.zeros(deep), np.zeros(n + 1)
        self.inner, self.reduced = np.zeros((n, largest)), np.zeros(columns)
        self.below = self.best = self.lowest = self.paid = self.share = self.value = self.fence = 0.0

    def of_size(self, value: float, size: int) -> float:
        """What is 2e_s times the reduced cost, without this factor, rounded down."""
        found: float = value / self.twice[size]
        return found


class IntSquareSearch(SquareSearch):
    """In integers; as `FloatSquareSearch`."""

    distances: Ints
    sums: Ints
    multipliers: Ints
    prices: Ints
    values: Ints
    crossed: Ints
    base: Ints
    least: Ints
    inner: Ints
    keys: Ints
    reduced: Ints
    below: int
    best: int
    lowest: int
    paid: int
    share: int
    value: int
    fence: int

    def __init__(
        self, distances: Ints, sums: Ints, near: Ints32, smallest: int, twice: Ints,
        value_of: Ints, multipliers: Ints, cuts: Any, rank: Ints, columns: int,
    ) -> None:  # fmt: skip
        super().__init__(near, smallest, twice, value_of, cuts, rank, columns)
        self.distances, self.sums, self.multipliers, self.prices = distances, sums, multipliers, cuts[4]
        n, largest, deep = len(near), len(twice) - 1, len(twice)
        self.values, self.crossed = np.zeros((2, deep, n + 1), np.int64)
        self.base, self.least, self.keys = np.zeros(deep, np.int64), np.zeros(deep, np.int64), np.zeros(n + 1, np.int64)
        self.inner, self.reduced = np.zeros((n, largest), np.int64), np.zeros(columns, np.int64)
        self.below = self.best = self.lowest = self.paid = self.share = self.value = self.fence = 0

    def of_size(self, value: int, size: int) -> int:
        """What is 2e_s times the reduced cost, without this factor, rounded down."""
        whole: int = value // self.twice[size]
        return whole - 1 if whole * self.twice[size] > value else whole  # compiled, // rounds towards 0


Search = TypeVar("Search", FloatSquareSearch, IntSquareSearch)


def cheapest_of_seed(s: Search, seed: int, nodes: int) -> bool:
    """The groups of a seed with a reduced cost below `below`, the cheapest of them into `rows` and `reduced`.

    nodes: of the search, at most. Returns whether the search was complete; `lowest` is what the reduced cost of a
    group of the seed is at least, if that is negative, else 0.
    """
    with cython.nogil:
        s.nodes, s.count, s.best = nodes, 0, s.below * 0
        weakest = s.best
        size = s.smallest
        while size <= s.largest and s.nodes >= 0:
            _search_size(s, seed, size)
            if s.nodes < 0:
                weakest = min(weakest, s.lowest)
            size += 1
        complete = s.nodes >= 0
        while not complete and size <= s.largest:
            _root(s, seed, size, False)
            weakest = min(weakest, s.lowest)
            size += 1
        s.lowest = min(weakest, s.best)
    return complete


def _insert(s: Search, most: int) -> None:
    """Keep the `most` smallest of each `value` in order."""
    a, value = s.few, s.value
    if a == most:
        if value >= s.least[a - 1]:
            return
        a -= 1
    else:
        s.few += 1
    while a > 0 and s.least[a - 1] > value:
        s.least[a] = s.least[a - 1]
        a -= 1
    s.least[a] = value


def _set_lowest(s: Search, seed: int, size: int) -> None:
    """By the smallest v."""
    total = -s.twice[size] * s.multipliers[seed]
    for a in range(size - 1):
        total += s.least[a]
    s.lowest = s.of_size(total, size)


def _root(s: Search, seed: int, size: int, listed: bool) -> None:
    """What a group of the seed of this size costs at least, by single rows; these with their v, where `listed`."""
    q, m, twice = size - 1, 0, s.twice[size]
    s.few = 0
    for x in range(len(s.rank)):
        if s.rank[x] > s.rank[seed] and s.value_of[x] != s.value_of[seed]:
            s.value = 2 * s.distances[seed, x] - twice * s.multipliers[x] + s.sums[x, q - 1]
            if listed:
                s.items[0, m], s.values[0, m] = x, s.value
            m += 1
            if s.few < q or s.value < s.least[q - 1]:
                _insert(s, q)
    s.length[0] = m
    s.lowest = s.below + 1
    if m >= q:
        _set_lowest(s, seed, size)


def _restrict(s: Search, seed: int, size: int) -> None:
    """Take the sums of smallest D among the rows that are left, and what a group costs at least by these."""
    q, m, reach = size - 1, s.length[0], s.near.shape[1]
    twice = s.twice[size]
    s.few = 0
    s.stamp += 1
    for a in range(m):
        s.mark[s.items[0, a]] = s.stamp
    for a in range(m):
        x = s.items[0, a]
        count = 0
        total = s.below * 0
        s.inner[x, 0] = total
        for e in range(reach):
            if count == q - 1:
                break
            if s.mark[s.near[x, e]] == s.stamp:
                total += s.distances[x, s.near[x, e]]
                count += 1
                s.inner[x, count] = total
        while count < q - 1:  # all others are no nearer than the last one
            total += s.distances[x, s.near[x, reach - 1]]
            count += 1
            s.inner[x, count] = total
        s.value = 2 * s.distances[seed, x] - twice * s.multipliers[x] + total
        s.values[0, a] = s.value
        _insert(s, q)
    _set_lowest(s, seed, size)


def _leave_out(s: Search, depth: int, q: int) -> bool:
    """Drop rows whose v is not below `fence`, but for the q smallest; whether any were."""
    m, left, last = s.length[depth], 0, s.least[q - 1]
    for a in range(m):
        value = s.values[depth, a]
        if value < s.fence or value <= last:
            s.items[depth, left], s.values[depth, left] = s.items[depth, a], value
            s.crossed[depth, left] = s.crossed[depth, a]
            left += 1
    s.length[depth] = left
    return bool(left < m)


def _line_up(s: Search, depth: int) -> None:
    """By rising v."""
    m = s.length[depth]
    for a in range(m):
        s.keys[a] = s.values[depth, a]
    sort_stably(s.keys, m, s.order, s.other)
    for a in range(m):
        s.values[depth, a] = s.keys[s.order[a]]
    for a in range(m):
        s.keys[a], s.other[a] = s.crossed[depth, a], s.items[depth, a]
    for a in range(m):
        s.crossed[depth, a], s.items[depth, a] = s.keys[s.order[a]], s.other[s.order[a]]


def _put(s: Search, x: int) -> None:
    """Add a row to the sums of its cuts; `paid` is what the group pays more for them."""
    total = s.below * 0
    for e in range(s.begins[x], s.begins[x + 1]):
        r, before = s.cut_of[e], s.held[s.cut_of[e]] // s.denominators[s.cut_of[e]]
        s.held[r] += s.weight_of[e]
        total += s.prices[r] * (s.held[r] // s.denominators[r] - before)
    s.paid = total


def _take(s: Search, x: int) -> None:
    """Take a row out of the sums of its cuts."""
    for e in range(s.begins[x], s.begins[x + 1]):
        s.held[s.cut_of[e]] -= s.weight_of[e]


def _search_size(s: Search, seed: int, size: int) -> None:
    """The groups of a seed of one size; `lowest` is what they cost at least by single rows."""
    twice = s.twice[size]
    if size == 1:
        _put(s, seed)
        _take(s, seed)
        s.chosen[0], s.lowest = seed, s.paid - s.multipliers[seed]
        s.value = twice * s.lowest
        _keep(s, 1)
        return
    _root(s, seed, size, True)
    if s.length[0] < size - 1 or s.lowest >= s.below:
        return
    for _ in range(PASSES):
        # a row with a v of this is in no group below
        s.fence = s.below * twice + twice * s.multipliers[seed]
        for a in range(size - 2):
            s.fence -= s.least[a]
        if not _leave_out(s, 0, size - 1):
            break
        _restrict(s, seed, size)
        if s.lowest >= s.below:
            return
    _restrict(s, seed, size)
    for a in range(s.length[0]):
        s.crossed[0, a] = s.distances[seed, s.items[0, a]]
    _line_up(s, 0)
    _put(s, seed)
    s.chosen[0], s.at[0], s.base[0] = seed, 0, twice * (s.paid - s.multipliers[seed])
    depth = 0
    while depth >= 0:
        q, j = size - 1 - depth, s.at[depth]
        done = j + q > s.length[depth] or s.nodes < 0
        if not done:
            value = s.base[depth]
            for a in range(q):
                value += s.values[depth, j + a]
            done = value >= s.below * twice
        if done:
            _take(s, s.chosen[depth])
            depth -= 1
            continue
        s.at[depth] = j + 1
        x = s.items[depth, j]
        _put(s, x)
        s.value = s.base[depth] + 2 * s.crossed[depth, j] + twice * (s.paid - s.multipliers[x])
        s.chosen[depth + 1] = x
        if q > 1:
            s.nodes -= 1
            if s.nodes >= 0 and _descend(s, depth, size):
                depth += 1
                continue
        elif s.value < s.below * twice:
            _keep(s, size)
        _take(s, x)


def _descend(s: Search, depth: int, size: int) -> bool:
    """List the rows that may come after the one that was just chosen; whether there can be a group below."""
    q, j, m, twice = size - 2 - depth, s.at[depth] - 1, 0, s.twice[size]
    x, t = s.items[depth, j], depth + 1
    base = s.value
    # by v of the level above: this row, the cheapest ones after it, and one more
    fence = s.below * twice - s.base[depth] - s.values[depth, j] - twice * s.paid
    for a in range(1, q):
        fence -= s.values[depth, j + a]
    s.few = 0
    for e in range(j + 1, s.length[depth]):
        if s.values[depth, e] >= fence and e > j + q:
            break
        y = s.items[depth, e]
        if s.value_of[y] == s.value_of[x]:
            continue
        cross = s.crossed[depth, e] + s.distances[x, y]
        s.value = 2 * cross - twice * s.multipliers[y] + s.inner[y, q - 1]
        s.items[t, m], s.crossed[t, m], s.values[t, m] = y, cross, s.value
        m += 1
        if s.few < q or s.value < s.least[q - 1]:
            _insert(s, q)
    s.length[t] = m
    if m < q:
        return False
    lowest = base
    for a in range(q):
        lowest += s.least[a]
    if lowest >= s.below * twice:
        return False
    s.fence = s.below * twice - lowest + s.least[q - 1]
    _leave_out(s, t, q)
    _line_up(s, t)
    s.base[t], s.at[t] = base, 0
    return True


def _keep(s: Search, size: int) -> None:
    """A group, the rows in `chosen`, of this `value`, unless it costs too much."""
    value = s.of_size(s.value, size)
    if value >= s.below:
        return
    if value < s.best:
        s.best = value
        if s.share > 0:
            s.below = min(s.below, s.share * value)
    c = s.count
    if c < s.columns:
        s.count += 1
    elif s.share < 0:
        s.nodes = -1
        return
    else:
        c = 0
        for e in range(1, s.columns):
            if s.reduced[e] > s.reduced[c]:
                c = e
        if s.reduced[c] <= value:
            return
    s.reduced[c] = value
    for e in range(s.largest):
        s.rows[c, e] = s.chosen[e] if e < size else -1
