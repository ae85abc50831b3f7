"""The cheapest group of one size under many rank-1 cuts: branch and bound over rows.

For `kanon_milp.kernels.valued_pricing`, where going through the groups one by one gives up. What groups cost at least
is known from cuts that are charged to single rows. A group a pays ν_R z_R(a) for cut R, z_R(a) = ⌊p_R·a / d_R⌋, which
depends on the rows of a few row types alone. For any shares q_R of these

    ν_R z_R(a) ≥ q_R·a - c_R(q_R),     c_R(q) = max { q·y - ν_R z_R(y) : y that groups may have },

and c_R is found by going through all y, few as they are. So with r'_i = r_i + Σ_R q_iR instead of r_i, single rows
alone say what a group costs at least, cuts included. This is the Lagrangian decomposition (Guignard and Kim 1987) into
the choice of rows and one problem for each cut; the shares are found by subgradients a - y, and so is the charge θ of
EMD cost.

A node forces some rows into the group and allows no more than some; this bounds it, and finds groups on the way. Where
the charge of EMD cost leaves much of the gap, the numbers of rows with a value are divided, else rows: of the row type
that is in about half of the groups on the way, or of the cut whose share says least of what they pay for it.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.size_search import FloatSizeSearch, IntSizeSearch, SizeSearch
from kanon_milp.kernels.tree_subproblem import FloatSubproblems, IntSubproblems
from kanon_milp.system.arrays import Floats, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

if not cython.compiled:
    from kanon_milp.kernels.size_search import charge_numbers, cheapest_rests
    from kanon_milp.kernels.sorting import sort_stably

PATIENCE = 4  # steps without a better bound before they are halved
MOST = 64  # numbers of rows that a cut may look at; one that would have to look at more has no shares
STEPS, NODE_STEPS = 50, 12  # of the subgradient method at the root and in other nodes
EMD_PART = 0.3  # part of the gap that EMD cost has to explain for numbers of rows with a value to be divided first
STEP_NODES = 8  # nodes of a search row by row that take as long as such a step, for each row


class RowBranching:
    """Shares of cuts for the groups of a size, and what a node of the search asks for.

    number: how many cuts a group may have to pay, the first of `touched`; `wide` ones have too many y for shares. e is
    a place in `cut_of`: type_of: row type by e; first, places: the e of each cut; y: by e, of the maximum c; trial:
    scratch space for a y. taken, forced, allowed: by row type, rows of a group, and those that it must and may have.
    often: in how many groups on the way a row of each type was, together. highest_charge: most of θ, times w.

    shares, kept: q by e, and those of the best bound, with `kept_charge` as θ. constants: c by cut. over: by cut, what
    groups on the way pay more than the shares say. slack: what θ charges groups on the way, or gives them, together.

    Of the last group on the way: value, what all cost at least; cost; whether it is allowed; how far its EMD cost is
    `beyond` what is allowed. Of a node: bound, what its groups cost at least, and the steps that were made. weak: what
    all groups cost at least. nodes: left. Of the nodes from the root to this one: stack_row, stack_value: what they
    divide, the one that is not -1; split: rows of it; least, most: its limits before; likely: whether more than split
    came first; undone: whether the other side is left; stack_bound.

    phi, cheapest, highest: of `kanon_milp.kernels.valued_pricing`, which looks at one candidate after another: φ and
    what the cheapest group costs that was found, and what they are to be below.
    """

    highest_charge: int
    number: int
    touched: Ints
    wide: NDArray[np.uint8]
    type_of: Ints
    first: Ints
    places: Ints
    y: Ints
    trial: Ints
    taken: Ints
    forced: Ints
    allowed: Ints
    often: Ints
    slack: float
    is_allowed: bool
    beyond: int
    made: int
    nodes: int
    kinds: Ints
    stack_row: Ints
    stack_value: Ints
    split: Ints
    least: Ints
    most: Ints
    likely: NDArray[np.uint8]
    undone: NDArray[np.uint8]

    def __init__(self, s: SizeSearch, highest_charge: int) -> None:
        cuts, types, places = len(s.denominators), len(s.begins) - 1, len(s.cut_of)
        cut_of = np.asarray(s.cut_of)
        self.highest_charge = highest_charge
        self.type_of = np.repeat(np.arange(types), np.diff(s.begins))
        self.places = np.argsort(cut_of, kind="stable")
        lengths = np.bincount(cut_of, minlength=cuts).astype(np.int64)
        self.first = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        self.trial, self.y = np.empty(lengths.max(initial=0), np.int64), np.zeros(places, np.int64)
        self.touched, self.wide = np.empty(cuts, np.int64), np.zeros(cuts, np.uint8)
        self.taken, self.forced, self.allowed, self.often = np.zeros((4, types), np.int64)
        self.number = self.beyond = self.made = self.nodes = 0
        self.slack, self.is_allowed = 0.0, False
        self.kinds = np.empty(0, np.int64)


class FloatRowBranching(RowBranching):
    """In floating point."""

    search: FloatSizeSearch
    shares: Floats
    kept: Floats
    constants: Floats
    over: Floats
    kept_charge: float
    value: float
    cost: float
    bound: float
    weak: float
    stack_bound: Floats
    highest: float
    phi: Floats
    cheapest: Floats

    def __init__(self, problems: FloatSubproblems, cuts: Any, emd: Any, never: Any, highest_charge: int) -> None:
        self.search = FloatSizeSearch(problems, cuts, emd, never)
        super().__init__(self.search, highest_charge)
        _set_numbers(self, np.float64)

    def reserve(self, values: int, rows: int) -> None:
        """For candidates of so many values and rows."""
        self.search.reserve(values, rows)
        _reserve(self, np.float64)

    def cut_off(self, x: float) -> Any:
        """A number as one of the search."""
        return x


class IntRowBranching(RowBranching):
    """In integers; as `FloatRowBranching`."""

    search: IntSizeSearch
    shares: Ints
    kept: Ints
    constants: Ints
    over: Ints
    kept_charge: int
    value: int
    cost: int
    bound: int
    weak: int
    stack_bound: Ints
    highest: int
    phi: Ints
    cheapest: Ints

    def __init__(self, problems: IntSubproblems, cuts: Any, emd: Any, never: Any, highest_charge: int) -> None:
        self.search = IntSizeSearch(problems, cuts, emd, never)
        super().__init__(self.search, highest_charge)
        _set_numbers(self, np.int64)

    def reserve(self, values: int, rows: int) -> None:
        """For candidates of so many values and rows."""
        self.search.reserve(values, rows)
        _reserve(self, np.int64)

    def cut_off(self, x: float) -> Any:
        """A number as one of the search."""
        return cython.cast(cython.longlong, x)


Branching = TypeVar("Branching", FloatRowBranching, IntRowBranching)


def _set_numbers(s: Branching, kind: type) -> None:
    s.shares, s.kept = np.zeros((2, len(s.places)), kind)
    s.constants, s.over = np.zeros((2, len(s.touched)), kind)
    s.kept_charge = s.value = s.cost = s.bound = s.weak = s.highest = kind(0)
    s.phi = s.cheapest = np.empty(0, kind)


def _reserve(s: Branching, kind: type) -> None:
    # a node divides a row type or a value, each of which has at most as many rows as the search has room for
    depth = 2 * s.search.row_capacity + 1
    if depth <= len(s.kinds):
        return
    s.stack_row, s.stack_value, s.split, s.least, s.most, s.kinds = np.empty((6, depth), np.int64)
    s.likely, s.undone = np.empty((2, depth), np.uint8)
    s.stack_bound = np.empty(depth, kind)


def gather(s: Branching) -> None:
    """Take the shares back."""
    for place in range(s.search.starts[s.search.width]):
        i = s.search.in_order[place]
        s.taken[i] = s.forced[i] = s.allowed[i] = 0
    for number in range(s.number):
        r = s.touched[number]
        for place in range(s.first[r], s.first[r + 1]):
            s.shares[s.places[place]] = 0
    s.number = 0


def _touch(s: Branching) -> None:
    """All rows may be in a group, and none must; find the cuts that it may have to pay."""
    for place in range(s.search.starts[s.search.width]):
        i = s.search.in_order[place]
        s.forced[i] = s.allowed[i] = 0
    for place in range(s.search.starts[s.search.width]):
        s.allowed[s.search.in_order[place]] += 1
    if s.number > 0:
        return
    for r in range(len(s.touched)):
        most, looked = 0, 1
        for place in range(s.first[r], s.first[r + 1]):
            e = s.places[place]
            most += s.search.weight_of[e] * s.allowed[s.type_of[e]]
            looked = min(looked * (s.allowed[s.type_of[e]] + 1), MOST + 1)
        if most >= s.search.denominators[r] and s.search.prices[r] > 0:
            s.wide[r] = looked > MOST
            s.touched[s.number] = r
            s.number += 1


def _maximize(s: Branching, r: int) -> None:
    """c of a cut, and the y that it is found at."""
    begin, end, d, price = s.first[r], s.first[r + 1], s.search.denominators[r], s.search.prices[r]
    value, weight = price * 0, 0
    for place in range(begin, end):
        e = s.places[place]
        s.trial[place - begin] = s.forced[s.type_of[e]]
        value += s.shares[e] * s.trial[place - begin]
        weight += s.search.weight_of[e] * s.trial[place - begin]
    first = True
    while first or not s.wide[r]:
        total = value - weight // d * price
        if first or total > s.constants[r]:
            s.constants[r], first = total, False
            for place in range(begin, end):
                s.y[s.places[place]] = s.trial[place - begin]
        at = begin
        while at < end:
            e = s.places[at]
            i = s.type_of[e]
            if s.trial[at - begin] < s.allowed[i]:
                s.trial[at - begin] += 1
                value += s.shares[e]
                weight += s.search.weight_of[e]
                break
            back = s.trial[at - begin] - s.forced[i]
            s.trial[at - begin] -= back
            value -= s.shares[e] * back
            weight -= s.search.weight_of[e] * back
            at += 1
        if at == end:
            break


def _sort_again(s: Branching) -> bool:
    """The rows of each value, the forced ones first and those that are not allowed last, by rising r', and their sums;
    False where no group has such numbers."""
    possible = True
    for v in range(s.search.width):
        begin = s.search.starts[v]
        count, copy = s.search.starts[v + 1] - begin, 0
        for place in range(count):
            i = s.search.in_order[begin + place]
            copy = copy + 1 if place > 0 and i == s.search.in_order[begin + place - 1] else 0
            s.kinds[place] = 0 if copy < s.forced[i] else 1 if copy < s.allowed[i] else 2
            if copy > 0:
                s.search.keys[place] = s.search.keys[place - 1]
                continue
            s.search.keys[place] = s.search.problems.w - s.search.problems.multipliers[i]
            for e in range(s.search.begins[i], s.search.begins[i + 1]):
                s.search.keys[place] += s.shares[e]
        sort_stably(s.search.keys, count, s.search.order, s.search.other)
        end = begin
        for kind in range(3):
            for at in range(count):
                place = s.search.order[at]
                if s.kinds[place] == kind:
                    s.search.items[end] = s.search.in_order[begin + place]
                    s.search.prefix[end + v + 1] = s.search.prefix[end + v] + s.search.keys[place]
                    end += 1
            if kind == 0:
                s.search.limits[v, 0] = max(s.search.asked[v, 0], end - begin)
            elif kind == 1:
                s.search.limits[v, 1] = min(s.search.asked[v, 1], end - begin)
        if s.search.limits[v, 0] > s.search.limits[v, 1]:
            possible = False
    return possible


def _take_cheapest(s: Branching) -> None:
    """The group that `cheapest_rests` knows as the cheapest: value, is_allowed, cost and beyond.

    Its rows are in `chosen`, X in `numbers`, and in `taken`; it is one more in `often` and `over`.
    """
    size, width = s.search.size, s.search.width
    for place in range(s.search.starts[width]):
        s.taken[s.search.in_order[place]] = 0
    rest, depth, different = size, 0, 0
    s.beyond = s.search.before - s.search.limit * size
    cost = s.search.never * 0
    for v in range(width):
        first, x = s.search.starts[v] + v, s.search.limits[v, 0]
        while x < min(s.search.limits[v, 1], rest):
            if s.search.bests[v + 1, rest - x] < s.search.never:
                value = s.search.prefix[first + x] + s.search.bests[v + 1, rest - x]
                if s.search.charged:
                    number = size - rest + x if s.search.line else x
                    value += s.search.charges[v, number]
                if value == s.search.bests[v, rest]:
                    break
            x += 1
        for place in range(s.search.starts[v], s.search.starts[v] + x):
            i = s.search.items[place]
            s.search.chosen[depth] = i
            depth += 1
            s.often[i] += 1
            s.taken[i] += 1
            cost += s.search.problems.w - s.search.problems.multipliers[i]
        rest -= x
        s.search.numbers[v] = x
        if x > 0:
            different += 1
        if s.search.charged:
            number = size - rest if s.search.line else x
            s.beyond += s.search.far[v, number]
    s.value = s.search.bests[0, size]
    if s.search.charged:
        s.value = s.search.charge + s.value
    for touched in range(s.number):
        r = s.touched[touched]
        weight, share = 0, s.search.never * 0
        for place in range(s.first[r], s.first[r + 1]):
            e = s.places[place]
            weight += s.search.weight_of[e] * s.taken[s.type_of[e]]
            share += s.shares[e] * s.taken[s.type_of[e]]
        pays = weight // s.search.denominators[r] * s.search.prices[r]
        cost += pays
        s.value -= s.constants[r]
        s.over[r] += pays - share + s.constants[r]
    s.cost = cost
    s.is_allowed = different >= s.search.problems.presence and (not s.search.charged or s.beyond <= 0)


def _slope(s: Branching, r: int, e: int) -> int:
    """The subgradient of a share of cut r; 0 where that cannot follow it."""
    over: int = s.taken[s.type_of[e]] - s.y[e]
    if (over < 0 and s.shares[e] <= 0) or (over > 0 and s.shares[e] >= s.search.prices[r]):
        return 0
    return over


def _length(s: Branching) -> float:
    """The squared length of the subgradient."""
    total = 0.0
    for number in range(s.number):
        r = s.touched[number]
        if not s.wide[r]:
            for place in range(s.first[r], s.first[r + 1]):
                slope = _slope(s, r, s.places[place])
                total += slope * slope
    return total


def _move(s: Branching, length: float) -> None:
    """Each share by so many times its subgradient."""
    for number in range(s.number):
        r = s.touched[number]
        if not s.wide[r]:
            for place in range(s.first[r], s.first[r + 1]):
                e = s.places[place]
                moved = float(s.shares[e]) + length * _slope(s, r, e)
                s.shares[e] = s.cut_off(min(max(moved, 0.0), float(s.search.prices[r])))


def _keep(s: Branching) -> None:
    """The shares and θ, as those of the best bound."""
    s.kept_charge = s.search.theta
    for number in range(s.number):
        r = s.touched[number]
        for place in range(s.first[r], s.first[r + 1]):
            s.kept[s.places[place]] = s.shares[s.places[place]]


def _return_to_kept(s: Branching) -> None:
    s.search.theta = s.kept_charge
    for number in range(s.number):
        r = s.touched[number]
        for place in range(s.first[r], s.first[r + 1]):
            s.shares[s.places[place]] = s.kept[s.places[place]]


def _raise_shares(s: Branching, steps: int) -> None:
    """Better shares for the groups of a size with the rows that are forced and allowed: bound and made.

    Where a group on the way costs less than `search.below`, that is what it costs, and the group is in `search.best`.
    `often` and `over` have counted the groups of all steps; `search` is that of the last one.
    """
    for place in range(s.search.starts[s.search.width]):
        s.often[s.search.in_order[place]] = 0
    s.slack, s.made, s.bound = 0.0, 0, s.search.never
    bound, scale, idle = -s.search.never, 1.0, 0
    for r in range(len(s.over)):
        s.over[r] = s.constants[r] = 0
    while True:
        for number in range(s.number):
            _maximize(s, s.touched[number])
        if not _sort_again(s):
            return
        one = True  # composition
        for v in range(s.search.width):
            one = one and s.search.limits[v, 0] == s.search.limits[v, 1]
        if s.search.charged:
            if one:  # its EMD cost is what it is
                s.search.theta = 0
            charge_numbers(s.search)
        cheapest_rests(s.search)
        if s.search.bests[0, s.search.size] >= s.search.never:
            return
        s.made += 1
        _take_cheapest(s)
        if one and not s.is_allowed:
            return
        if s.value > bound:
            bound, idle = s.value, 0
            _keep(s)
        else:
            idle += 1
            if idle == PATIENCE:
                scale, idle = scale / 2, 0
        if s.is_allowed and s.cost < s.search.below:
            s.search.below = s.cost
            for d in range(s.search.size):
                s.search.best[d] = s.search.chosen[d]
        if bound >= s.search.below - s.search.problems.tolerance or s.made == steps:
            break
        beyond = float(s.beyond) / float(s.search.whole)
        if s.search.charged:
            s.slack += float(s.search.theta) * abs(beyond)
        if one or not s.search.charged:
            beyond = 0.0
        length = 0.0
        if beyond > 0 or s.search.theta > 0:
            length = beyond * beyond
        length += _length(s)
        if length == 0:
            break
        length = scale * float(s.search.below - s.value) / length
        _move(s, length)
        moved = float(s.search.theta) + length * beyond
        s.search.theta = s.cut_off(min(max(moved, 0.0), s.highest_charge * float(s.search.problems.w)))
    s.bound = bound
    _return_to_kept(s)


def _branching_row(s: Branching) -> tuple[int, int]:
    """(row type, rows of it): on one side there are no more of them, on the other there are more. (-1, 0): none."""
    best, split, most = -1, 0, 1e-9
    for place in range(s.search.starts[s.search.width]):
        i = s.search.in_order[place]
        if s.forced[i] < s.allowed[i]:
            average = float(s.often[i]) / float(s.made)
            low = cython.cast(cython.longlong, average)
            low = min(max(low, s.forced[i]), s.allowed[i] - 1)
            fraction = min(average - low, low + 1 - average)
            if fraction > most:
                best, split, most = i, low, fraction
    if best >= 0:
        return best, split
    # all groups were the same: a row of the cut whose share says least of what they pay for it
    over = s.search.never * 0
    for place in range(s.search.starts[s.search.width]):
        i = s.search.in_order[place]
        if s.forced[i] < s.allowed[i]:
            for e in range(s.search.begins[i], s.search.begins[i + 1]):
                r = s.search.cut_of[e]
                if s.search.prices[r] > 0 and s.over[r] > over:
                    best, split, over = i, s.forced[i], s.over[r]
    return best, split


def _branching_value(s: Branching) -> tuple[int, int]:
    """(place of a value, rows of it): on one side there are no more of them, on the other there are more. (-1, 0): each
    value has one number.

    The value is one that the last group has no row of, or the one with the most EMD cost.
    """
    best, most, size = -1, -1, 0
    for v in range(s.search.width):
        x = s.search.numbers[v]
        size += x
        if s.search.limits[v, 0] < s.search.limits[v, 1]:
            far = 1 if x == 0 else 0
            if s.search.charged:
                number = size if s.search.line else x
                far = s.search.far[v, number]
            if far > most:
                best, most = v, far
    if best < 0:
        return best, 0
    x = s.search.numbers[best]
    return best, x - 1 if x > s.search.limits[best, 0] else x


def _restrict(s: Branching, row: int, value: int, split: int, more: bool) -> None:
    """More than so many rows of a row type, or of a value where that is -1, or no more."""
    if row >= 0 and more:
        s.forced[row] = split + 1
    elif row >= 0:
        s.allowed[row] = split
    elif more:
        s.search.asked[value, 0] = split + 1
    else:
        s.search.asked[value, 1] = split


def _undo(s: Branching, d: int) -> None:
    """The limits of what a node divides, as they were before it."""
    if s.stack_row[d] >= 0:
        s.forced[s.stack_row[d]], s.allowed[s.stack_row[d]] = s.least[d], s.most[d]
    else:
        s.search.asked[s.stack_value[d], 0], s.search.asked[s.stack_value[d], 1] = s.least[d], s.most[d]


def branch_on_rows(s: Branching) -> None:
    """The cheapest group below `search.below`, which becomes what it costs; the group is in `search.best`.

    `weak` is no more than that, and less where it gave up.
    """
    _touch(s)
    s.search.theta = s.kept_charge
    s.weak = s.search.below
    depth, steps, theta = 0, STEPS, s.search.theta
    rows = s.search.starts[s.search.width]
    while True:
        _raise_shares(s, steps)
        if steps == STEPS:
            steps, theta = NODE_STEPS, s.search.theta
        s.nodes -= STEP_NODES * (s.made + 1) * rows
        s.search.theta = theta
        if s.bound < s.search.below - s.search.problems.tolerance:
            if s.nodes <= 0:  # what is left is not looked at
                s.weak = min(s.weak, s.bound)
                for d in range(depth):
                    if s.undone[d]:
                        s.weak = min(s.weak, s.stack_bound[d])
                break
            row, value, split = -1, -1, 0
            if s.slack > EMD_PART * float(s.search.below - s.bound) * s.made:
                value, split = _branching_value(s)
            if value < 0:
                row, split = _branching_row(s)
            if value < 0 and row < 0:
                value, split = _branching_value(s)
            if value >= 0 or row >= 0:
                if row >= 0:
                    more = 2 * (s.often[row] - split * s.made) >= s.made
                    s.least[depth], s.most[depth] = s.forced[row], s.allowed[row]
                else:
                    more = s.search.numbers[value] > split
                    s.least[depth], s.most[depth] = s.search.asked[value, 0], s.search.asked[value, 1]
                s.stack_row[depth], s.stack_value[depth], s.split[depth] = row, value, split
                s.likely[depth], s.undone[depth], s.stack_bound[depth] = more, True, s.bound
                _restrict(s, row, value, split, more)
                depth += 1
                continue
            s.weak = min(s.weak, s.bound)  # no more than rounding is left
        while depth > 0 and not s.undone[depth - 1]:
            depth -= 1
            _undo(s, depth)
        if depth == 0:
            break
        last = depth - 1
        s.undone[last] = False
        _undo(s, last)
        _restrict(s, s.stack_row[last], s.stack_value[last], s.split[last], not s.likely[last])
    s.weak = min(s.search.below, s.weak)
