"""The cheapest group of a given size under a relaxation of the requirements; floating point or integers.

A relaxation (`kanon_milp.bounds.relaxations`) is a tree whose leaves are the values of one sensitive attribute. With
X_v the rows of a group below node v and S all its rows it asks for low_v·S ≤ X_v ≤ high_v·S, for `presence` different
values, and charges θ·(Σ_v weight_v·|X_v - share_v·S| - t·S). For a given S the least cost is found from the leaves to
the root: a node's cost is a convex function of X_v, kept as its slopes in ascending order. Adding up children merges
their slopes (infimal convolution); a lower limit takes the first ones for good, an upper one cuts the last ones off,
and q·|X - c| is added to the slopes. All of these keep them ascending, so the first S at the root are the least cost.
That is exact (rows are integer, and between integers |X - c| is replaced by the straight line, which is above it).

Presence (only in a tree of one level without charges): first rows of different values and all other rows; of S rows at
most S - p are not first ones. With the limits of the values that is a laminar matroid, in which the greedy choice is
optimal; a second row of a value is never chosen before its first one, which is as cheap.

Positions and amounts are in units of 1/grain of a row and values are times the grain: in integers `grain` is a
power of two and shares are rounded to its multiples so that h and H only become smaller; floating point has grain 1.

Where the tree is a star, all values hang below the root, each with limits of its own rows, low_v·S ≤ X_v ≤ high_v·S,
and perhaps a charge q_v·|X_v - share_v·S|. So no lists need to be merged: each value gives the cheapest of its rows
for the lower limit, then a heap of the values' next rows is emptied from the top, up to S rows. A value's next
row never costs less than the one before, and with `presence` the greedy choice is optimal as it is there. A row type
may have no rows.

Numbers are those of the tree, up to the order of sums in floating point.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.system.arrays import Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
if not cython.compiled:
    from math import floor, fmod

Scalar = TypeVar("Scalar", np.float64, np.int64)


class TreeArrays(NamedTuple, Generic[Scalar]):
    """A relaxation as arrays over the nodes of its tree, children right before their parents, the root last.

    own: rank of the value that sits at a node, in this order, or -1. children: how many. of_value, of_node: int64
    (nodes, 4), numerators and denominators of the limits low and high of the value and of the node. value_grid,
    node_grid: (nodes, 2), the same times grain, low rounded down, high up. share, weight: times grain. closeness: t,
    times grain, rounded up. presence: different values. convex: whether H itself is convex. tick: what slopes are
    rounded down to a multiple of. slack: what rounding the shares may add for each row of S and unit of weight.
    tolerance: of limits, 0 in integers. star: whether each node but the root is a leaf with the value of its number.
    """

    own: Ints
    children: Ints
    of_value: Ints
    of_node: Ints
    value_grid: NDArray[Scalar]
    node_grid: NDArray[Scalar]
    share: NDArray[Scalar]
    weight: NDArray[Scalar]
    closeness: Scalar
    presence: int
    convex: bool
    grain: Scalar
    tick: Scalar
    slack: Scalar
    tolerance: Scalar
    star: bool


class ValuedCandidates(NamedTuple, Generic[Scalar]):
    """All candidates, or some that stand next to each other.

    indptr, members: the covers, each sorted by value (in the order of the tree), then by falling multiplier. cost,
    least, support: w, and the fewest and most rows of a group, (G,). thetas: (G,), charges θ ≥ 0. cell_indptr,
    cell_value, cell_begin: per candidate the values of its cover, and where each begins in it (one more than values, so
    the places of candidate g in `cell_begin` begin at cell_indptr[g] + g).
    """

    indptr: Ints
    members: Ints32
    cell_indptr: Ints
    cell_value: Ints
    cell_begin: Ints
    cost: NDArray[Scalar]
    least: Ints
    support: Ints
    thetas: NDArray[Scalar]


class ValuedRows(NamedTuple, Generic[Scalar]):
    """Row types: n_i, λ_i and the rank of the sensitive value, int64, (t,) each."""

    counts: NDArray[Scalar]
    multipliers: NDArray[Scalar]
    value: Ints


class Subproblems:
    """Candidates and rows under one relaxation, one candidate that is looked at, and scratch space for its groups.

    Of one thread. What is in `TreeArrays`, `ValuedCandidates` and `ValuedRows` is here under the same names, but for
    `rank`, the values of the rows; the arrays are shared, not copied.

    The candidate that is looked at (`select`): its number g; w and theta; fewest and most rows of its groups, which may
    all be changed until another one is selected. Its cover is members[begin:end], its values are
    cell_value[first_cell:last_cell], and value number `cell` of them begins at begin + cell_begin[cell + g].

    What is found of it: the first `entries` of chosen and chosen_amounts are the rows of the group, whose value, times
    the grain, is `value`; `size`, `lowest` and `below` are what `kanon_milp.kernels.valued_groups` finds.
    """

    own: Ints
    children: Ints
    of_value: Ints
    of_node: Ints
    presence: int
    convex: bool
    star: bool
    indptr: Ints
    members: Ints32
    cell_indptr: Ints
    cell_value: Ints
    cell_begin: Ints
    least: Ints
    support: Ints
    rank: Ints
    g: int
    begin: int
    end: int
    first_cell: int
    last_cell: int
    fewest: int
    most: int
    size: int
    lowest: int
    entries: int
    chosen: Ints
    # of `compose`: the slopes of the open lists, one after the other, begins and ends of each, and the one that is
    # worked on, from head to tail
    items: Ints
    other_items: Ints
    begins: Ints
    ends: Ints
    head: int
    tail: int
    seen: NDArray[np.uint8]
    # of `compose_star`: values of the cover, and the place of the next row of each
    heap: Ints
    next_at: Ints
    # of two sizes of a group, one beside the other (`kanon_milp.kernels.valued_groups`)
    sides: Ints
    side_known: NDArray[np.uint8]
    side_over: NDArray[np.uint8]

    def __init__(self, tree: TreeArrays[Any], candidates: ValuedCandidates[Any], rows: ValuedRows[Any]) -> None:
        count = len(candidates.cost)
        if {len(candidates.least), len(candidates.support), len(candidates.thetas)} != {count}:
            raise ValueError(f"arrays of {count} candidates have other lengths")
        self.own, self.children, self.of_value, self.of_node = tree[:4]
        self.presence, self.convex, self.star = tree.presence, tree.convex, tree.star
        self.indptr, self.members, self.cell_indptr, self.cell_value, self.cell_begin = candidates[:5]
        self.least, self.support, self.rank = candidates.least, candidates.support, rows.value
        self.g = self.begin = self.end = self.first_cell = self.last_cell = self.head = self.tail = 0
        self.fewest = self.most = self.size = self.lowest = self.entries = 0
        nodes, widest = len(tree.own), int(np.diff(candidates.indptr).max(initial=0))
        capacity = widest + 3 * nodes + 3
        self.items, self.other_items = np.empty((2, capacity), np.int64)
        self.chosen = np.empty(2 * capacity, np.int64)
        self.begins, self.ends, self.heap, self.next_at = np.empty((4, nodes + 2), np.int64)
        self.seen = np.zeros(nodes + 1, np.uint8)
        self.sides = np.zeros(2, np.int64)
        self.side_known, self.side_over = np.zeros((2, 2), np.uint8)


class FloatSubproblems(Subproblems):
    """In floating point."""

    value_grid: Floats
    node_grid: Floats
    share: Floats
    weight: Floats
    closeness: float
    grain: float
    tick: float
    slack: float
    tolerance: float
    cost: Floats
    thetas: Floats
    counts: Floats
    multipliers: Floats
    w: float
    theta: float
    value: float
    below: float
    chosen_amounts: Floats
    # slopes of the open lists, rows of each, rows chosen for good of each and of the one that is worked on
    keys: Floats
    amounts: Floats
    other_keys: Floats
    other_amounts: Floats
    fixed: Floats
    held: float
    # of q·|X - c|
    slope: float
    until: float
    # of a star, per value of the cover: what its next row costs, what is left of that row, up to which X it costs as
    # much, X, and the most that X may be
    next_key: Floats
    next_left: Floats
    next_until: Floats
    next_held: Floats
    next_most: Floats
    side_values: Floats

    def __init__(
        self, tree: TreeArrays[np.float64], candidates: ValuedCandidates[np.float64], rows: ValuedRows[np.float64]
    ) -> None:
        super().__init__(tree, candidates, rows)
        _set_numbers(self, tree, candidates, rows, np.float64)

    def rounded(self, slope: float, grain: float) -> float:
        """A slope times the grain as a slope, in integers rounded down to a multiple of `tick`."""
        return slope if grain == 1 else floored_float(slope, grain * self.tick) * self.tick

    def rows_of(self, i: int) -> int:
        """How many rows there are of a type, as an integer."""
        count: int = cython.cast(cython.longlong, self.counts[i])
        return count

    def whole(self, x: float) -> float:
        """Rows times the grain, rounded down to whole rows; x not negative."""
        return floor(x)


class IntSubproblems(Subproblems):
    """In integers; arrays as of `FloatSubproblems`."""

    value_grid: Ints
    node_grid: Ints
    share: Ints
    weight: Ints
    closeness: int
    grain: int
    tick: int
    slack: int
    tolerance: int
    cost: Ints
    thetas: Ints
    counts: Ints
    multipliers: Ints
    w: int
    theta: int
    value: int
    below: int
    chosen_amounts: Ints
    keys: Ints
    amounts: Ints
    other_keys: Ints
    other_amounts: Ints
    fixed: Ints
    held: int
    slope: int
    until: int
    next_key: Ints
    next_left: Ints
    next_until: Ints
    next_held: Ints
    next_most: Ints
    side_values: Ints

    def __init__(
        self, tree: TreeArrays[np.int64], candidates: ValuedCandidates[np.int64], rows: ValuedRows[np.int64]
    ) -> None:
        super().__init__(tree, candidates, rows)
        _set_numbers(self, tree, candidates, rows, np.int64)

    def rounded(self, slope: int, grain: int) -> int:
        """As of `FloatSubproblems`."""
        return floored(slope, grain * self.tick) * self.tick

    def rows_of(self, i: int) -> int:
        """As of `FloatSubproblems`."""
        count: int = self.counts[i]
        return count

    def whole(self, x: int) -> int:
        """As of `FloatSubproblems`."""
        return floored(x, self.grain) * self.grain


Problems = TypeVar("Problems", FloatSubproblems, IntSubproblems)


def _set_numbers(
    s: Problems, tree: TreeArrays[Any], candidates: ValuedCandidates[Any], rows: ValuedRows[Any], kind: type
) -> None:
    s.value_grid, s.node_grid, s.share, s.weight = tree.value_grid, tree.node_grid, tree.share, tree.weight
    s.closeness, s.grain, s.tick, s.slack, s.tolerance = (
        tree.closeness, tree.grain, tree.tick, tree.slack, tree.tolerance,
    )  # fmt: skip
    s.cost, s.thetas, s.counts, s.multipliers = candidates.cost, candidates.thetas, rows.counts, rows.multipliers
    s.w = s.theta = s.value = s.below = s.held = s.slope = s.until = kind(0)
    nodes, capacity = len(tree.own), len(s.items)
    s.keys, s.amounts, s.other_keys, s.other_amounts = np.empty((4, capacity), kind)
    s.chosen_amounts = np.empty(2 * capacity, kind)
    s.fixed, s.next_key, s.next_left, s.next_until, s.next_held, s.next_most = np.empty((6, nodes + 2), kind)
    s.side_values = np.empty(2, kind)


def floored(a: int, b: int) -> int:
    """⌊a / b⌋, b positive."""
    quotient = a // b  # towards zero where it is compiled
    return quotient - 1 if quotient * b > a else quotient


def floored_float(a: float, b: float) -> float:
    """⌊a / b⌋, b positive, to the last bit as Python's a // b."""
    rest = fmod(a, b)
    quotient = (a - rest) / b
    if rest < 0:
        quotient -= 1
    whole = floor(quotient)
    return whole + 1 if quotient - whole > 0.5 else whole


def fewest_rows(numerator: int, denominator: int, size: int) -> int:
    """A share of `size` rows as an integer number of rows, rounded up."""
    return 0 if numerator == 0 else -floored(-numerator * size, denominator)


def most_rows(numerator: int, denominator: int, size: int) -> int:
    """A share of `size` rows as an integer number of rows, rounded down."""
    return size if numerator == denominator else floored(numerator * size, denominator)


def select(s: Problems, g: int) -> None:
    """Look at candidate g."""
    s.g, s.w, s.theta, s.fewest, s.most = g, s.cost[g], s.thetas[g], s.least[g], s.support[g]
    s.begin, s.end, s.first_cell, s.last_cell = s.indptr[g], s.indptr[g + 1], s.cell_indptr[g], s.cell_indptr[g + 1]


def _limit(s: Problems, v: int, size: int, integral: bool, below: bool) -> bool:
    """Limits of the list that is worked on: of the value at node v, or of all rows below it; whether they can be
    met."""
    if below:
        low, high = s.node_grid[v, 0] * size, s.node_grid[v, 1] * size
    else:
        low, high = s.value_grid[v, 0] * size, s.value_grid[v, 1] * size
    if integral:
        if below:
            fewest = fewest_rows(s.of_node[v, 0], s.of_node[v, 1], size)
            most = most_rows(s.of_node[v, 2], s.of_node[v, 3], size)
        else:
            fewest = fewest_rows(s.of_value[v, 0], s.of_value[v, 1], size)
            most = most_rows(s.of_value[v, 2], s.of_value[v, 3], size)
        low, high = fewest * s.grain, most * s.grain
    high = min(high, size * s.grain)
    added = low * 0
    while low - s.held > s.tolerance:
        if s.head == s.tail:
            return False
        amount = min(s.amounts[s.head], low - s.held)
        s.chosen[s.entries], s.chosen_amounts[s.entries] = s.items[s.head], amount
        s.entries += 1
        added += amount * s.keys[s.head]
        s.held += amount
        s.amounts[s.head] -= amount
        if s.amounts[s.head] <= 0:
            s.head += 1
    if s.held - high > s.tolerance:
        return False
    held, at = s.held, s.head
    while at < s.tail and held < high:
        s.amounts[at] = min(s.amounts[at], high - held)
        held += s.amounts[at]
        at += 1
    s.tail = at
    s.value += added
    return True


def _merge(s: Problems, begin: int, end: int, second: int, last: int) -> int:
    """Merge the list second..last into the one begin..end before it; returns its new end."""
    into, a, b = 0, begin, second
    if second == last:
        return end
    while a < end or b < last:
        if b == last or (a < end and s.keys[a] <= s.keys[b]):
            at = a
            a += 1
        else:
            at = b
            b += 1
        s.other_keys[into], s.other_amounts[into], s.other_items[into] = s.keys[at], s.amounts[at], s.items[at]
        into += 1
    for at in range(into):
        s.keys[begin + at], s.amounts[begin + at] = s.other_keys[at], s.other_amounts[at]
        s.items[begin + at] = s.other_items[at]
    return begin + into


def _charge(s: Problems, v: int, size: int, integral: bool) -> None:
    """Add q·|X - c| of a node to the list that is worked on.

    The slope -q ends at `first`; if that is below c rows are integer, and the slope of the next row is that of the
    straight line, else q begins there.
    """
    q, c = s.rounded(s.theta * s.weight[v], s.grain), s.share[v] * size
    if q <= 0:
        return
    first = c
    if integral:
        first = s.whole(c)
    second = first if first >= c else first + s.grain
    middle = q * 0
    if first < c:
        middle = s.rounded(q * (first + second - 2 * c), s.grain)
    added = q * c - q * min(s.held, first)
    added += middle * max(min(s.held, second) - first, q * 0) + q * max(s.held - second, q * 0)
    into, position = 0, s.held
    for at in range(s.head, s.tail):
        left = s.amounts[at]
        while left > 0:
            slope, piece = q, left
            if position < first:
                slope, piece = -q, min(left, first - position)
            elif position < second:
                slope, piece = middle, min(left, second - position)
            s.other_keys[into], s.other_amounts[into], s.other_items[into] = s.keys[at] + slope, piece, s.items[at]
            into += 1
            position += piece
            left -= piece
    for at in range(into):
        s.keys[s.head + at], s.amounts[s.head + at] = s.other_keys[at], s.other_amounts[at]
        s.items[s.head + at] = s.other_items[at]
    s.tail = s.head + into
    s.value += added - q * s.slack * size


def _finish(s: Problems, size: int, presence: int) -> bool:
    """Take the cheapest rows of the root's list, with enough different values; whether there are enough."""
    need = size * s.grain - s.held
    added = need * 0
    others = need
    if presence > 1:
        for v in range(len(s.seen)):
            s.seen[v] = False
        different = 0
        for at in range(s.entries):
            if not s.seen[s.rank[s.chosen[at]]]:
                s.seen[s.rank[s.chosen[at]]] = True
                different += 1
        others = need - max(presence - different, 0) * s.grain
    for at in range(s.head, s.tail):
        if need <= 0:
            break
        if s.amounts[at] <= 0:
            continue  # none of its rows is there: its value is not seen by it
        amount = min(s.amounts[at], need)
        if presence > 1:
            first = need * 0
            which = s.rank[s.items[at]]
            if not s.seen[which]:
                s.seen[which] = True
                first = min(amount, s.grain)
            rest = max(min(amount - first, others), need * 0)
            others -= rest
            amount = first + rest
        if amount > 0:
            s.chosen[s.entries], s.chosen_amounts[s.entries] = s.items[at], amount
            s.entries += 1
            added += amount * s.keys[at]
            need -= amount
    s.value += added
    # others < 0: there are too few rows for so many values
    return bool(abs(need) <= s.tolerance and others >= 0)


def compose(s: Problems, size: int, integral: bool) -> bool:
    """The cheapest group of `size` rows; whether there is one.

    integral: with integer numbers of rows (H), or with fractions of rows (h).
    """
    total = size * s.grain
    s.value = -s.theta * s.closeness * size
    s.entries, s.tail = 0, 0
    nodes, top, cell = len(s.own), 0, s.first_cell
    for v in range(nodes):
        s.head, s.held = s.tail, total * 0
        if s.own[v] >= 0:
            if cell < s.last_cell and s.cell_value[cell] == s.own[v]:
                held = total * 0
                for at in range(s.begin + s.cell_begin[cell + s.g], s.begin + s.cell_begin[cell + s.g + 1]):
                    if held >= total:
                        break
                    i = s.members[at]
                    s.keys[s.tail], s.amounts[s.tail] = s.w - s.multipliers[i], s.counts[i] * s.grain
                    s.items[s.tail] = i
                    held += s.amounts[s.tail]
                    s.tail += 1
                cell += 1
            if not _limit(s, v, size, integral, False):
                return False
        # the children's lists and then its own, two neighbours at a time
        s.begins[top], s.ends[top], s.fixed[top] = s.head, s.tail, s.held
        first, lists, step = top - s.children[v], s.children[v] + 1, 1
        while step < lists:
            at = first
            while at < first + lists - step:
                second = at + step
                s.ends[at] = _merge(s, s.begins[at], s.ends[at], s.begins[second], s.ends[second])
                s.fixed[at] += s.fixed[second]
                at += 2 * step
            step *= 2
        top = first
        s.head, s.tail, s.held = s.begins[top], s.ends[top], s.fixed[top]
        if v == nodes - 1:
            break
        if not _limit(s, v, size, integral, True):
            return False
        _charge(s, v, size, integral)
        s.begins[top], s.ends[top], s.fixed[top] = s.head, s.tail, s.held
        top += 1
    return _finish(s, size, s.presence if integral else 0)


def _sink(s: Problems, at: int, length: int) -> None:
    """Move a cell of the heap down to where it belongs."""
    moved = s.heap[at]
    while True:
        child = 2 * at + 1
        if child >= length:
            break
        if child + 1 < length and s.next_key[s.heap[child + 1]] < s.next_key[s.heap[child]]:
            child += 1
        if s.next_key[s.heap[child]] >= s.next_key[moved]:
            break
        s.heap[at] = s.heap[child]
        at = child
    s.heap[at] = moved


def _segment(s: Problems, v: int, size: int, integral: bool) -> None:
    """Of q·|X - c| of a value from X = held on: the slope, and `until` which X; where rows are integer, |X - c| is the
    straight line between the two beside c. `until` is 0 where there is no end."""
    q, c = s.rounded(s.theta * s.weight[v], s.grain), s.share[v] * size
    s.slope, s.until = q, q * 0
    if q <= 0:
        return
    first = c
    if integral:
        first = s.whole(c)
    second = first if first >= c else first + s.grain
    if s.held < first - s.tolerance:
        s.slope, s.until = -q, first
    elif s.held < second - s.tolerance:
        s.slope, s.until = s.rounded(q * (first + second - 2 * c), s.grain), second


def compose_star(s: Problems, size: int, integral: bool) -> bool:
    """What `compose` does, for a star."""
    cells = s.last_cell - s.first_cell
    need = size * s.grain
    value = -s.theta * s.closeness * size
    cell, length, different = 0, 0, 0
    s.entries = 0
    # without limits and charges, nothing is to be said of values that the cover lacks: there may be thousands
    for step in range(cells if s.convex else len(s.own) - 1):
        v = s.cell_value[s.first_cell + step] if s.convex else step
        low, high = s.value_grid[v, 0] * size, s.value_grid[v, 1] * size
        if integral:
            low = fewest_rows(s.of_value[v, 0], s.of_value[v, 1], size) * s.grain
            high = most_rows(s.of_value[v, 2], s.of_value[v, 3], size) * s.grain
        q, c = s.rounded(s.theta * s.weight[v], s.grain), s.share[v] * size
        value += q * c - q * s.slack * size
        if cell == cells or s.cell_value[s.first_cell + cell] != v:
            if low > s.tolerance:
                return False
            continue
        if low - high > s.tolerance:
            return False
        place, last = _place(s, cell), _place(s, cell + 1)
        rest = s.counts[s.members[place]] * s.grain
        s.held = need * 0
        _segment(s, v, size, integral)
        while low - s.held > s.tolerance:
            if place == last:
                return False
            amount = min(rest, low - s.held)
            if s.until > 0:
                amount = min(amount, s.until - s.held)
            s.chosen[s.entries], s.chosen_amounts[s.entries] = s.members[place], amount
            s.entries += 1
            value += amount * (s.w - s.multipliers[s.members[place]] + s.slope)
            s.held += amount
            rest -= amount
            if rest <= 0:
                place += 1
                if place < last:
                    rest = s.counts[s.members[place]] * s.grain
            if s.until > 0 and s.held >= s.until - s.tolerance:
                _segment(s, v, size, integral)
        need -= s.held
        if s.held > 0:
            different += 1
        while place < last and rest <= 0:  # row types of which all rows have a group already
            place += 1
            if place < last:
                rest = s.counts[s.members[place]] * s.grain
        if place < last and high - s.held > s.tolerance:
            s.next_key[cell], s.next_left[cell] = s.w - s.multipliers[s.members[place]] + s.slope, rest
            s.next_until[cell], s.next_held[cell], s.next_most[cell] = s.until, s.held, high
            s.next_at[cell] = place
            s.heap[length] = cell
            length += 1
        cell += 1
    for top in range(length // 2 - 1, -1, -1):
        _sink(s, top, length)
    # besides the first rows of new values
    presence = s.presence if integral else 0
    others = need
    if presence > 1:
        others -= max(presence - different, 0) * s.grain
    while length > 0 and need > s.tolerance:
        cell = s.heap[0]
        place, last, first = s.next_at[cell], _place(s, cell + 1), need * 0
        s.held = s.next_held[cell]
        amount = min(need, s.next_left[cell], s.next_most[cell] - s.held)
        if s.next_until[cell] > 0:
            amount = min(amount, s.next_until[cell] - s.held)
        if presence > 1:
            if s.held <= 0:
                first = s.grain
            amount = min(amount, others + first)
        if amount > 0:
            s.chosen[s.entries], s.chosen_amounts[s.entries] = s.members[place], amount
            s.entries += 1
            value += amount * s.next_key[cell]
            need -= amount
            others -= amount - first
            s.held += amount
            s.next_left[cell] -= amount
            if s.next_left[cell] <= 0:
                place += 1
                while place < last and s.counts[s.members[place]] <= 0:
                    place += 1
                s.next_at[cell] = place
        if amount <= 0 or place == last or s.next_most[cell] - s.held <= s.tolerance:
            length -= 1
            s.heap[0] = s.heap[length]
        else:
            s.next_held[cell] = s.held
            if s.next_left[cell] <= 0:
                s.next_left[cell] = s.counts[s.members[place]] * s.grain
            _segment(s, s.cell_value[s.first_cell + cell], size, integral)
            s.next_key[cell], s.next_until[cell] = s.w - s.multipliers[s.members[place]] + s.slope, s.until
        _sink(s, 0, length)
    s.value = value
    # others < 0: there are too few rows for so many values
    return bool(abs(need) <= s.tolerance and (others >= 0 or presence <= 1))


def _place(s: Subproblems, cell: int) -> int:
    """Where value number `cell` of the candidate that is looked at begins."""
    begin: int = s.cell_begin[s.first_cell + cell + s.g]
    return s.begin + begin


def cheapest_of_size(s: Problems, size: int, integral: bool) -> bool:
    """`compose`, by the shorter way where the tree is a star."""
    return compose_star(s, size, integral) if s.star else compose(s, size, integral)
