"""The groups of one size of a candidate, row by row and depth first, for `kanon_milp.kernels.valued_pricing`.

The EMD cost that t-closeness limits is exact, in integers, value by value. Of a group of S rows, X_v of them with value
v, and shares p_v of the table:

    star (the equal distance)       Σ_v weight_v·|X_v - p_v·S| ≤ t·S
    line (values one after other)   Σ_v weight_v·|X_1 + ... + X_v - (p_1 + ... + p_v)·S| ≤ t·S,   weight_v from v to v+1

So once the rows of some values are chosen, what they add to the EMD cost depends on the next value's rows alone (star),
or on how many rows there are up to this value (line).

Compositions (X_v) value by value: X_v rows with value v cost at least their X_v cheapest ones, so those of the values
that are still to come are found for all numbers of rows by a dynamic program, and only compositions that can be below
are looked at. For each of these, rows in rising order, value by value: a group grows by one row after another, and what
it can still become costs at least what it costs now plus the next rows in order. Its own terms of rank-1 cuts never
fall when rows are added.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from kanon_milp.kernels.tree_subproblem import FloatSubproblems, IntSubproblems
from kanon_milp.system.arrays import Floats, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

if not cython.compiled:
    from kanon_milp.kernels.sorting import sort_stably
    from kanon_milp.kernels.tree_subproblem import fewest_rows, most_rows

PASSES = 4  # over the compositions of a size, each with four times the distance to the bound, the last without one


class SizeSearch:
    """The candidate that is looked at in `problems`, its rows one by one, and scratch space for its groups.

    begins, cut_of, weight_of, denominators, prices: of `PricedCuts`. line, parts, weights, scale, limit, whole: of
    `EmdCost`, the parts being its shares; charged: whether it says anything.

    starts (V + 1,): where each value begins in the rows. in_order, items: row types, value by value, copies one after
    the other; `items` of each value by rising reduced cost. prefix: sums of reduced costs from the left, one more, of
    each value from its own 0, so value v begins at starts[v] + v.

    size: of the groups; limits (V, 2): the least and most rows of each value, asked (V, 2): before rows are forced and
    left out; before, charge: EMD cost of the values before the first, and what θ (theta) charges for it less what it
    allows. far, charges (V, rows + 1): EMD cost of the size by number of rows, and what θ charges for it. bests (V + 1,
    rows + 1): of the dynamic program, `never` where there is nothing. numbers (V,): X of the group so far; chosen,
    values: its rows, as places in `items`, and what it costs before each. filled: its Σ p_i a_i of each rank-1 cut,
    modulo d; paid: what the row that came last costs in cuts.

    below: what a group is to be below, and what is found costs. best: its row types. start: what groups of the size
    cost at least; above: how far from that the first pass goes. nodes: left, -1 where the search gave up.
    """

    begins: Ints
    cut_of: Ints
    weight_of: Ints
    denominators: Ints
    line: bool
    charged: bool
    parts: Ints
    weights: Ints
    scale: int
    limit: int
    whole: int
    value_capacity: int
    row_capacity: int
    width: int
    starts: Ints
    in_order: Ints
    items: Ints
    size: int
    limits: Ints
    asked: Ints
    before: int
    far: Ints
    numbers: Ints
    chosen: Ints
    filled: Ints
    best: Ints
    nodes: int
    # scratch space to line rows up, and of the search of compositions: rows that are left, and EMD cost so far
    order: Ints
    other: Ints
    left: Ints
    gone: Ints

    def __init__(self, cuts: tuple[Any, ...], emd: tuple[Any, ...]) -> None:
        self.begins, self.cut_of, self.weight_of, self.denominators = cuts[:4]
        self.line, self.parts, self.weights, self.scale, self.limit, self.whole = emd
        self.charged = len(self.weights) > 0
        self.filled = np.zeros(len(self.denominators), np.int64)
        self.value_capacity = self.row_capacity = self.width = self.size = self.before = self.nodes = 0


class FloatSizeSearch(SizeSearch):
    """In floating point. cuts, emd: as `PricedCuts` and `EmdCost` have them. never: above all values."""

    problems: FloatSubproblems
    prices: Floats
    prefix: Floats
    bests: Floats
    values: Floats
    charges: Floats
    keys: Floats
    spent: Floats
    theta: float
    charge: float
    never: float
    below: float
    start: float
    above: float
    paid: float

    def __init__(self, problems: FloatSubproblems, cuts: Any, emd: Any, never: float) -> None:
        super().__init__(cuts, emd)
        self.problems = problems
        self.prices, self.never = cuts[4], never
        self.theta = self.charge = self.below = self.start = self.above = self.paid = 0.0

    def reserve(self, width: int, rows: int) -> None:
        """For candidates of so many values and rows."""
        _reserve(self, width, rows, np.float64)


class IntSizeSearch(SizeSearch):
    """In integers; as `FloatSizeSearch`."""

    problems: IntSubproblems
    prices: Ints
    prefix: Ints
    bests: Ints
    values: Ints
    charges: Ints
    keys: Ints
    spent: Ints
    theta: int
    charge: int
    never: int
    below: int
    start: int
    above: int
    paid: int

    def __init__(self, problems: IntSubproblems, cuts: Any, emd: Any, never: int) -> None:
        super().__init__(cuts, emd)
        self.problems = problems
        self.prices, self.never = cuts[4], never
        self.theta = self.charge = self.below = self.start = self.above = self.paid = 0

    def reserve(self, width: int, rows: int) -> None:
        """For candidates of so many values and rows."""
        _reserve(self, width, rows, np.int64)


Search = TypeVar("Search", FloatSizeSearch, IntSizeSearch)


def _reserve(s: Search, width: int, rows: int, kind: type) -> None:
    if width <= s.value_capacity and rows <= s.row_capacity:
        return
    width, rows = max(width, s.value_capacity), max(rows, s.row_capacity)
    deep = width if s.charged else 0
    s.starts, s.numbers, s.left, s.gone = np.zeros((4, width + 1), np.int64)
    s.limits, s.asked = np.zeros((2, width + 1, 2), np.int64)
    s.in_order, s.items, s.chosen, s.best, s.order, s.other = np.empty((6, rows + 1), np.int64)
    s.far, s.charges = np.empty((deep, rows + 1), np.int64), np.empty((deep, rows + 1), kind)
    s.prefix, s.bests = np.empty(rows + width + 1, kind), np.empty((width + 1, rows + 1), kind)
    s.values, s.keys = np.empty((2, rows + 1), kind)
    s.spent = np.zeros(width + 1, kind)
    s.value_capacity, s.row_capacity = width, rows


def rows_of(s: Search) -> int:
    """How many rows the candidate that is looked at covers."""
    total = 0
    for at in range(s.problems.begin, s.problems.end):
        total += s.problems.rows_of(s.problems.members[at])
    return total


def sort_rows(s: Search) -> None:
    """Line up the rows of the candidate that is looked at, for which there must be room."""
    s.width = s.problems.last_cell - s.problems.first_cell
    s.starts[0] = end = 0
    for v in range(s.width):
        cell = s.problems.first_cell + v + s.problems.g
        begin = s.problems.begin + s.problems.cell_begin[cell]
        count = s.problems.begin + s.problems.cell_begin[cell + 1] - begin
        for at in range(count):
            s.keys[at] = s.problems.w - s.problems.multipliers[s.problems.members[begin + at]]
        sort_stably(s.keys, count, s.order, s.other)
        total = s.problems.w * 0
        s.prefix[end + v] = total
        for at in range(count):
            i = s.problems.members[begin + s.order[at]]
            for _ in range(s.problems.rows_of(i)):
                s.items[end] = s.in_order[end] = i
                total += s.keys[s.order[at]]
                end += 1
                s.prefix[end + v] = total
        s.starts[v + 1] = end


def limit_numbers(s: Search, size: int) -> bool:
    """The least and the most rows of each value in a group of so many, which is the size from now on; False where there
    is none."""
    s.size = size
    cell = 0
    for v in range(len(s.problems.own)):
        if s.problems.own[v] < 0:
            continue
        low = fewest_rows(s.problems.of_value[v, 0], s.problems.of_value[v, 1], size)
        if cell < s.width and s.problems.cell_value[s.problems.first_cell + cell] == v:
            high = most_rows(s.problems.of_value[v, 2], s.problems.of_value[v, 3], size)
            high = min(high, s.starts[cell + 1] - s.starts[cell])
            if low > high:
                return False
            s.limits[cell, 0] = s.asked[cell, 0] = low
            s.limits[cell, 1] = s.asked[cell, 1] = high
            cell += 1
        elif low > 0:
            return False
    return True


def far_by_number(s: Search) -> None:
    """EMD cost of a group of the size by value and number of rows, and of the values before the first.

    The number of rows is that of this value, on a line that of all values up to it; the values between this one and the
    next are part of it.
    """
    values, first, size = s.problems.cell_value, s.problems.first_cell, s.size
    s.before = 0
    for u in range(values[first]):
        s.before += s.weights[u] * s.parts[u] * size
    for cell in range(s.width):
        v, end = values[first + cell], len(s.weights)
        if cell + 1 < s.width:
            end = values[first + cell + 1]
        for number in range(size + 1):
            total = s.weights[v] * abs(s.scale * number - s.parts[v] * size)
            held = number if s.line else 0
            for u in range(v + 1, end):
                total += s.weights[u] * abs(s.scale * held - s.parts[u] * size)
            s.far[cell, number] = total


def charge_numbers(s: Search) -> None:
    """What θ charges for the EMD cost of each value by number of rows, and before the first value."""
    whole = s.theta * 0 + s.whole
    for cell in range(s.width):
        for number in range(s.size + 1):
            s.charges[cell, number] = s.problems.rounded(s.theta * s.far[cell, number], whole)
    s.charge = s.problems.rounded(s.theta * (s.before - s.limit * s.size), whole)


def cheapest_rests(s: Search) -> None:
    """bests[v, r]: the least that r rows of value v and those after it cost in a group of the size."""
    prefix, bests, limits, charges, size = s.prefix, s.bests, s.limits, s.charges, s.size
    for r in range(size + 1):
        bests[s.width, r] = s.never
    bests[s.width, 0] = 0
    for v in range(s.width - 1, -1, -1):
        first = s.starts[v] + v
        for r in range(size + 1):
            least = value = s.never
            for x in range(limits[v, 0], min(limits[v, 1], r) + 1):
                if bests[v + 1, r - x] < s.never:
                    value = prefix[first + x] + bests[v + 1, r - x]
                    if s.charged:
                        number = size - r + x if s.line else x
                        value += charges[v, number]
                    least = min(least, value)
            bests[v, r] = least


def _take(s: Search, i: int) -> None:
    """Add one row of type i to the sums of its rank-1 cuts; `paid` is what that costs."""
    paid = s.never * 0
    for e in range(s.begins[i], s.begins[i + 1]):
        r = s.cut_of[e]
        s.filled[r] += s.weight_of[e]
        if s.filled[r] >= s.denominators[r]:
            paid += s.filled[r] // s.denominators[r] * s.prices[r]
            s.filled[r] %= s.denominators[r]
    s.paid = paid


def _give_back(s: Search, i: int) -> None:
    """Take one row of type i out of the sums of its rank-1 cuts."""
    for e in range(s.begins[i], s.begins[i + 1]):
        r, d = s.cut_of[e], s.denominators[s.cut_of[e]]
        s.filled[r] -= s.weight_of[e]
        if s.filled[r] < 0:
            s.filled[r] += (d - 1 - s.filled[r]) // d * d


def _grow(s: Search) -> None:
    """Search the groups with the numbers of rows in `numbers` for the cheapest that is `below`."""
    starts, items, prefix, numbers, chosen, values, size = (
        s.starts, s.items, s.prefix, s.numbers, s.chosen, s.values, s.size,
    )  # fmt: skip
    value = rest = s.below * 0
    for v in range(s.width):
        rest += prefix[starts[v] + v + numbers[v]]
    v, fence = -1, 0  # value of the next row, and the number of rows with which this value is complete
    depth, at = 0, 0
    deeper = True
    while True:
        if deeper:
            while depth == fence and depth < size:
                v += 1
                fence += numbers[v]
                at = starts[v]
                rest -= prefix[starts[v] + v + numbers[v]]
        need = fence - depth
        if at + need <= starts[v + 1] and value + (prefix[at + v + need] - prefix[at + v]) + rest < s.below:
            s.nodes -= 1
            if s.nodes < 0:
                break
            values[depth], chosen[depth] = value, at
            _take(s, items[at])
            value += prefix[at + v + 1] - prefix[at + v] + s.paid
            depth += 1
            at += 1
            deeper = depth < size
            if deeper:
                continue
            if value < s.below:
                s.below = value
                for d in range(size):
                    s.best[d] = items[chosen[d]]
        deeper = False
        if depth == 0:
            break
        depth -= 1
        while depth < fence - numbers[v]:
            rest += prefix[starts[v] + v + numbers[v]]
            fence -= numbers[v]
            v -= 1
        at, value = chosen[depth], values[depth]
        _give_back(s, items[at])
        at += 1
        while at < starts[v + 1] and items[at] == items[at - 1]:
            at += 1
    for d in range(depth):
        _give_back(s, items[chosen[d]])


def _search_size(s: Search) -> None:
    """As `_grow`, over all compositions of the size."""
    width, numbers, limits, left, spent, gone = s.width, s.numbers, s.limits, s.left, s.spent, s.gone
    left[0], gone[0], spent[0] = s.size, s.before, s.charge
    v = 0
    numbers[0] = limits[0, 0] - 1
    while v >= 0:
        numbers[v] += 1
        x, first = numbers[v], s.starts[v] + v
        if x > min(limits[v, 1], left[v]):
            v -= 1
            continue
        left[v + 1], gone[v + 1] = left[v] - x, gone[v]
        spent[v + 1] = spent[v] + s.prefix[first + x]
        if s.charged:
            number = s.size - left[v + 1] if s.line else x
            spent[v + 1] += s.charges[v, number]
            gone[v + 1] += s.far[v, number]
        # `never` is so large that nothing that is below can have it
        if spent[v + 1] + s.bests[v + 1, left[v + 1]] >= s.below or gone[v + 1] > s.limit * s.size:
            continue
        if v + 1 < width:
            s.nodes -= 1
            if s.nodes < 0:
                break
            v += 1
            numbers[v] = limits[v, 0] - 1
            continue
        different = 0
        for u in range(width):
            if numbers[u] > 0:
                different += 1
        if different < s.problems.presence:
            continue
        _grow(s)
        if s.nodes < 0:
            break


def search_passes(s: Search) -> None:
    """As `_search_size`, first no further than `above` from `start`."""
    below, above = s.below, s.above
    for number in range(PASSES):
        last = not s.charged or number == PASSES - 1 or s.start + above >= below
        enough = below if last else s.start + above
        s.below = enough
        _search_size(s)
        if s.below < enough:
            return
        s.below = below
        if last or s.nodes < 0:
            break
        above *= 4
