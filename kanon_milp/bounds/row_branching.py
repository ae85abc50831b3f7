"""The cheapest group of one size under many rank-1 cuts: branch and bound over rows; compiled.

For `kanon_milp.bounds.valued_pricing`, where going through the groups one by one gives up. What groups cost at least is
known from cuts that are charged to single rows. A group a pays ν_R z_R(a) for cut R, z_R(a) = ⌊p_R·a / d_R⌋, which
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

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.size_search import HIGHEST_CHARGE, Size, SortedRows, charge_numbers, cheapest_rests
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.jit import compiled_part
from kanon_milp.system.kernels import stable_order

Scalar = TypeVar("Scalar", np.float64, np.int64)

PATIENCE = 4  # steps without a better bound before they are halved
MOST = 64  # numbers of rows that a cut may look at; one that would have to look at more has no shares


class CutShares(NamedTuple, Generic[Scalar]):
    """Shares of cuts, and what a node of the search asks for.

    shares, kept: q by place e of `PricedCuts`, and those of the best bound. type_of: row type by e. begins, places: the
    e of each cut. touched: the cuts that a group may have to pay, the first `number` (1,) of them; `wide` ones have too
    many y for shares. trial: scratch space for a y. y: by e, of the maximum c, which is in `constants` by cut. over: by
    cut, what groups on the way pay more than the shares say. charge, kept_charge (1,): θ. slack (1,): what θ charges
    groups on the way, or gives them, together. taken, forced, allowed: by row type, rows of a group, and those that it
    must and may have. often: in how many groups on the way a row of each type was, together.
    """

    shares: NDArray[Scalar]
    kept: NDArray[Scalar]
    type_of: Ints
    begins: Ints
    places: Ints
    touched: Ints
    number: Ints
    trial: Ints
    wide: Flags
    y: Ints
    constants: NDArray[Scalar]
    over: NDArray[Scalar]
    charge: NDArray[Scalar]
    kept_charge: NDArray[Scalar]
    slack: Floats
    taken: Ints
    forced: Ints
    allowed: Ints
    often: Ints


@compiled_part
def no_shares(cuts: PricedCuts[Scalar]) -> CutShares[Scalar]:
    """No shares yet."""
    count, types, size = len(cuts.denominators), len(cuts.begins) - 1, len(cuts.cut_of)
    kind = cuts.multipliers.dtype
    begins, places, type_of = np.zeros(count + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    for e in range(size):
        begins[cuts.cut_of[e] + 1] += 1
    for r in range(count):
        begins[r + 1] += begins[r]
    filled, longest = np.zeros(count, np.int64), 0
    for i in range(types):
        for e in range(cuts.begins[i], cuts.begins[i + 1]):
            r = cuts.cut_of[e]
            type_of[e] = i
            places[begins[r] + filled[r]] = e
            filled[r] += 1
            longest = max(longest, filled[r])
    return CutShares(
        np.zeros(size, kind), np.zeros(size, kind), type_of, begins, places, np.empty(count, np.int64),
        np.zeros(1, np.int64), np.empty(longest, np.int64), np.zeros(count, np.bool_), np.zeros(size, np.int64),
        np.zeros(count, kind), np.zeros(count, kind), np.zeros(1, kind), np.zeros(1, kind), np.zeros(1),
        np.zeros(types, np.int64), np.zeros(types, np.int64), np.zeros(types, np.int64), np.zeros(types, np.int64),
    )  # fmt: skip


@compiled_part
def gather(rows: Ints, decomposition: CutShares[Scalar]) -> None:
    """Take the shares back. rows: of the candidate."""
    for i in rows:
        decomposition.taken[i] = decomposition.forced[i] = decomposition.allowed[i] = 0
    for place in range(decomposition.number[0]):
        r = decomposition.touched[place]
        for at in range(decomposition.begins[r], decomposition.begins[r + 1]):
            decomposition.shares[decomposition.places[at]] = 0
    decomposition.number[0] = 0


@compiled_part
def touch(cuts: PricedCuts[Scalar], at: Size[Scalar], decomposition: CutShares[Scalar]) -> None:
    """All rows may be in a group, and none must; find the cuts that it may have to pay."""
    for i in at.rows:
        decomposition.forced[i] = decomposition.allowed[i] = 0
    for i in at.rows:
        decomposition.allowed[i] += 1
    if decomposition.number[0] > 0:
        return
    for r in range(len(cuts.denominators)):
        most, looked = 0, 1
        for place in range(decomposition.begins[r], decomposition.begins[r + 1]):
            e = decomposition.places[place]
            most += cuts.weight_of[e] * decomposition.allowed[decomposition.type_of[e]]
            looked = min(looked * (decomposition.allowed[decomposition.type_of[e]] + 1), MOST + 1)
        if most >= cuts.denominators[r] and cuts.multipliers[r] > 0:
            decomposition.wide[r] = looked > MOST
            decomposition.touched[decomposition.number[0]] = r
            decomposition.number[0] += 1


@compiled_part
def _maximize(r: int, cuts: PricedCuts[Scalar], decomposition: CutShares[Scalar]) -> None:
    """c of a cut, and the y that it is found at."""
    trial, begin, end = decomposition.trial, decomposition.begins[r], decomposition.begins[r + 1]
    value, weight = cuts.multipliers[r] * 0, 0
    for place in range(begin, end):
        e = decomposition.places[place]
        trial[place - begin] = decomposition.forced[decomposition.type_of[e]]
        value += decomposition.shares[e] * trial[place - begin]
        weight += cuts.weight_of[e] * trial[place - begin]
    d, first = cuts.denominators[r], True
    while first or not decomposition.wide[r]:
        total = value - weight // d * cuts.multipliers[r]
        if first or total > decomposition.constants[r]:
            decomposition.constants[r], first = total, False
            for place in range(begin, end):
                decomposition.y[decomposition.places[place]] = trial[place - begin]
        place = begin
        while place < end:
            e = decomposition.places[place]
            i = decomposition.type_of[e]
            if trial[place - begin] < decomposition.allowed[i]:
                trial[place - begin] += 1
                value += decomposition.shares[e]
                weight += cuts.weight_of[e]
                break
            back = trial[place - begin] - decomposition.forced[i]
            trial[place - begin] -= back
            value -= decomposition.shares[e] * back
            weight -= cuts.weight_of[e] * back
            place += 1
        if place == end:
            break


@compiled_part
def _sort_again(
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    sorted_rows: SortedRows[Scalar],
    decomposition: CutShares[Scalar],
) -> bool:
    """The rows of each value, the forced ones first and those that are not allowed last, by rising r', and their sums;
    False where no group has such numbers."""
    begins, prefix = sorted_rows.begins, sorted_rows.prefix
    possible = True
    for v in range(len(begins) - 1):
        begin, count = begins[v], begins[v + 1] - begins[v]
        keys, kinds = np.empty(count, prefix.dtype), np.empty(count, np.int64)
        copy = 0
        for place in range(count):
            i = at.rows[begin + place]
            copy = copy + 1 if place > 0 and i == at.rows[begin + place - 1] else 0
            kinds[place] = 0 if copy < decomposition.forced[i] else 1 if copy < decomposition.allowed[i] else 2
            if copy > 0:
                keys[place] = keys[place - 1]
                continue
            keys[place] = at.w - multipliers[i]
            for e in range(cuts.begins[i], cuts.begins[i + 1]):
                keys[place] += decomposition.shares[e]
        order, end = stable_order(keys), begin
        for kind in range(3):
            for place in order:
                if kinds[place] == kind:
                    sorted_rows.items[end] = at.rows[begin + place]
                    prefix[end + v + 1] = prefix[end + v] + keys[place]
                    end += 1
            if kind == 0:
                sorted_rows.limits[v, 0] = max(at.limits[v, 0], end - begin)
            elif kind == 1:
                sorted_rows.limits[v, 1] = min(at.limits[v, 1], end - begin)
        possible &= sorted_rows.limits[v, 0] <= sorted_rows.limits[v, 1]
    return possible


@compiled_part
def _take_cheapest(
    charge: Scalar,
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    sorted_rows: SortedRows[Scalar],
    decomposition: CutShares[Scalar],
) -> tuple[Scalar, bool, Scalar, int]:
    """The group that `cheapest_rests` knows as the cheapest: (what all cost at least, whether it is allowed, what it
    costs, how far its EMD cost is beyond what is allowed).

    charge: what θ charges before the first value. Its rows are in `chosen`, X in `numbers`, and in `taken`; it is one
    more in `often` and `over`.
    """
    begins, prefix, bests, limits = sorted_rows.begins, sorted_rows.prefix, sorted_rows.bests, sorted_rows.limits
    for i in at.rows:
        decomposition.taken[i] = 0
    s, depth, charged = at.size, 0, len(sorted_rows.charges) > 0
    far, different, cost = at.before - at.emd.limit * at.size, 0, at.w * 0
    for v in range(len(limits)):
        first, x = begins[v] + v, limits[v, 0]
        while x < min(limits[v, 1], s):
            if bests[v + 1, s - x] < at.never:
                value = prefix[first + x] + bests[v + 1, s - x]
                if charged:
                    value += sorted_rows.charges[v, at.size - s + x if at.emd.line else x]
                if value == bests[v, s]:
                    break
            x += 1
        for place in range(begins[v], begins[v] + x):
            i = sorted_rows.items[place]
            sorted_rows.chosen[depth] = i
            depth += 1
            decomposition.often[i] += 1
            decomposition.taken[i] += 1
            cost += at.w - multipliers[i]
        s -= x
        sorted_rows.numbers[v] = x
        different += int(x > 0)
        if charged:
            far += sorted_rows.far[v, at.size - s if at.emd.line else x]
    value = charge + bests[0, at.size]
    for number in range(decomposition.number[0]):
        r = decomposition.touched[number]
        weight, share = 0, at.w * 0
        for place in range(decomposition.begins[r], decomposition.begins[r + 1]):
            e = decomposition.places[place]
            weight += cuts.weight_of[e] * decomposition.taken[decomposition.type_of[e]]
            share += decomposition.shares[e] * decomposition.taken[decomposition.type_of[e]]
        pays = weight // cuts.denominators[r] * cuts.multipliers[r]
        cost += pays
        value -= decomposition.constants[r]
        decomposition.over[r] += pays - share + decomposition.constants[r]
    return value, different >= at.presence and (not charged or far <= 0), cost, far


@compiled_part
def _slope(e: int, most: Scalar, decomposition: CutShares[Scalar]) -> int:
    """The subgradient of a share; 0 where that cannot follow it."""
    over = decomposition.taken[decomposition.type_of[e]] - decomposition.y[e]
    if (over < 0 and decomposition.shares[e] <= 0) or (over > 0 and decomposition.shares[e] >= most):
        return 0
    return int(over)


@compiled_part
def _length(cuts: PricedCuts[Scalar], decomposition: CutShares[Scalar]) -> float:
    """The squared length of the subgradient."""
    total = 0.0
    for place in range(decomposition.number[0]):
        r = decomposition.touched[place]
        for at in range(decomposition.begins[r], decomposition.begins[r + 1] if not decomposition.wide[r] else 0):
            total += _slope(decomposition.places[at], cuts.multipliers[r], decomposition) ** 2
    return total


@compiled_part
def _move(length: float, cuts: PricedCuts[Scalar], decomposition: CutShares[Scalar]) -> None:
    """Each share by so many times its subgradient."""
    for place in range(decomposition.number[0]):
        r = decomposition.touched[place]
        for at in range(decomposition.begins[r], decomposition.begins[r + 1] if not decomposition.wide[r] else 0):
            e = decomposition.places[at]
            moved = float(decomposition.shares[e]) + length * _slope(e, cuts.multipliers[r], decomposition)
            decomposition.shares[e] = min(max(moved, 0.0), float(cuts.multipliers[r]))


@compiled_part
def _keep(shares: NDArray[Scalar], others: NDArray[Scalar], decomposition: CutShares[Scalar]) -> None:
    """Make shares of the touched cuts the others."""
    for place in range(decomposition.number[0]):
        r = decomposition.touched[place]
        for at in range(decomposition.begins[r], decomposition.begins[r + 1]):
            shares[decomposition.places[at]] = others[decomposition.places[at]]


@compiled_part
def raise_shares(
    steps: int,
    best: Scalar,
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    sorted_rows: SortedRows[Scalar],
    decomposition: CutShares[Scalar],
) -> tuple[Scalar, Scalar, int]:
    """Better shares for the groups of a size with the rows that are forced and allowed.

    best: what is to be below. Returns what such a group costs at least, the best value with what was found on the way
    (the group is in `sorted_rows.best` then), and the steps that were made. `often` and `over` have counted the groups
    of all steps; `sorted_rows` is that of the last one.
    """
    for i in at.rows:
        decomposition.often[i] = 0
    decomposition.slack[0] = 0
    bound, scale, idle, made = -at.never, 1.0, 0, 0
    for r in range(len(decomposition.over)):
        decomposition.over[r] = decomposition.constants[r] = 0
    charged, charge = len(sorted_rows.charges) > 0, at.w * 0
    while True:
        for place in range(decomposition.number[0]):
            _maximize(decomposition.touched[place], cuts, decomposition)
        if not _sort_again(multipliers, cuts, at, sorted_rows, decomposition):
            return at.never, best, made
        one = True  # composition
        for v in range(len(sorted_rows.limits)):
            one &= sorted_rows.limits[v, 0] == sorted_rows.limits[v, 1]
        if charged:
            if one:  # its EMD cost is what it is
                decomposition.charge[0] = 0
            charge = charge_numbers(at.size, decomposition.charge[0], at.before, at.emd, at.tick, sorted_rows)
        cheapest_rests(at.size, at.emd, sorted_rows, at.never)
        if sorted_rows.bests[0, at.size] >= at.never:
            return at.never, best, made
        made += 1
        value, allowed, cost, far = _take_cheapest(charge, multipliers, cuts, at, sorted_rows, decomposition)
        if one and not allowed:
            return at.never, best, made
        if value > bound:
            bound, idle = value, 0
            decomposition.kept_charge[0] = decomposition.charge[0]
            _keep(decomposition.kept, decomposition.shares, decomposition)
        else:
            idle += 1
            if idle == PATIENCE:
                scale, idle = scale / 2, 0
        if allowed and cost < best:
            best = cost
            for d in range(at.size):
                sorted_rows.best[d] = sorted_rows.chosen[d]
        if bound >= best - at.tolerance or made == steps:
            break
        if charged:
            decomposition.slack[0] += float(decomposition.charge[0]) * abs(far / at.emd.whole)
        beyond = 0.0 if one or not charged else far / at.emd.whole
        length = beyond**2 if beyond > 0 or decomposition.charge[0] > 0 else 0.0
        length += _length(cuts, decomposition)
        if length == 0:
            break
        length = scale * float(best - value) / length
        _move(length, cuts, decomposition)
        moved = float(decomposition.charge[0]) + length * beyond
        decomposition.charge[0] = min(max(moved, 0.0), HIGHEST_CHARGE * float(at.w))
    decomposition.charge[0] = decomposition.kept_charge[0]
    _keep(decomposition.shares, decomposition.kept, decomposition)
    return bound, best, made


STEPS, NODE_STEPS = 50, 12  # of the subgradient method at the root and in other nodes
EMD_PART = 0.3  # part of the gap that EMD cost has to explain for numbers of rows with a value to be divided first
STEP_NODES = 8  # nodes of a search row by row that take as long as such a step, for each row


@compiled_part
def _branching_row(
    made: int, cuts: PricedCuts[Scalar], at: Size[Scalar], decomposition: CutShares[Scalar]
) -> tuple[int, int]:
    """(row type, rows of it): on one side there are no more of them, on the other there are more. (-1, 0): none.

    made: groups that `often` has counted.
    """
    best, least, most = -1, 0, 1e-9
    for i in at.rows:
        if decomposition.forced[i] < decomposition.allowed[i]:
            average = decomposition.often[i] / made
            low = min(max(int(average), decomposition.forced[i]), decomposition.allowed[i] - 1)
            fraction = min(average - low, low + 1 - average)
            if fraction > most:
                best, least, most = i, low, fraction
    if best >= 0:
        return best, least
    # all groups were the same: a row of the cut whose share says least of what they pay for it
    over = at.w * 0
    for i in at.rows:
        if decomposition.forced[i] < decomposition.allowed[i]:
            for e in range(cuts.begins[i], cuts.begins[i + 1]):
                if cuts.multipliers[cuts.cut_of[e]] > 0 and decomposition.over[cuts.cut_of[e]] > over:
                    best, least, over = i, decomposition.forced[i], decomposition.over[cuts.cut_of[e]]
    return best, least


@compiled_part
def _branching_value(at: Size[Scalar], sorted_rows: SortedRows[Scalar]) -> tuple[int, int]:
    """(place of a value, rows of it): on one side there are no more of them, on the other there are more. (-1, 0): each
    value has one number.

    The value is one that the last group has no row of, or the one with the most EMD cost.
    """
    best, most, s = -1, -1, 0
    for v in range(len(sorted_rows.numbers)):
        x = sorted_rows.numbers[v]
        s += x
        if sorted_rows.limits[v, 0] < sorted_rows.limits[v, 1]:
            far = sorted_rows.far[v, s if at.emd.line else x] if len(sorted_rows.charges) > 0 else int(x == 0)
            if far > most:
                best, most = v, far
    if best < 0:
        return best, 0
    x = sorted_rows.numbers[best]
    return best, x - 1 if x > sorted_rows.limits[best, 0] else x


@compiled_part
def _restrict(row: int, value: int, split: int, more: bool, at: Size[Scalar], decomposition: CutShares[Scalar]) -> None:
    """More than so many rows of a row type, or of a value where that is -1, or no more."""
    if row >= 0 and more:
        decomposition.forced[row] = split + 1
    elif row >= 0:
        decomposition.allowed[row] = split
    else:
        at.limits[value, 0 if more else 1] = split + 1 if more else split


@compiled_part
def _set(row: int, value: int, limits: tuple[int, int], at: Size[Scalar], decomposition: CutShares[Scalar]) -> None:
    """The least and most rows of a row type, or of a value where that is -1."""
    if row >= 0:
        decomposition.forced[row], decomposition.allowed[row] = limits
    else:
        at.limits[value, 0], at.limits[value, 1] = limits


@compiled_part
def branch_on_rows(
    best: Scalar,
    nodes: int,
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    sorted_rows: SortedRows[Scalar],
    decomposition: CutShares[Scalar],
) -> tuple[Scalar, int, Scalar]:
    """The cheapest group below `best`: (what it costs or `best`, nodes left, what all groups cost at least).

    The last is no more than the first, and less where it gave up. The group is in `sorted_rows.best`.
    """
    touch(cuts, at, decomposition)
    decomposition.charge[0] = decomposition.kept_charge[0]
    length = len(at.rows) + 1
    for v in range(len(at.limits)):
        length += max(at.limits[v, 1] - at.limits[v, 0], 0)
    rows, values, splits = np.empty(length, np.int64), np.empty(length, np.int64), np.empty(length, np.int64)
    least, most = np.empty(length, np.int64), np.empty(length, np.int64)
    likely, left = np.empty(length, np.bool_), np.empty(length, np.bool_)
    bounds = np.empty(length, sorted_rows.prefix.dtype)
    depth, steps, weak, theta = 0, STEPS, best, decomposition.charge[0]
    while True:
        bound, best, made = raise_shares(steps, best, multipliers, cuts, at, sorted_rows, decomposition)
        if steps == STEPS:
            steps, theta = NODE_STEPS, decomposition.charge[0]
        nodes, decomposition.charge[0] = nodes - STEP_NODES * (made + 1) * len(at.rows), theta
        if bound < best - at.tolerance:
            if nodes <= 0:  # what is left is not looked at
                weak = min(weak, bound)
                for d in range(depth):
                    if left[d]:
                        weak = min(weak, bounds[d])
                break
            row, value, split = -1, -1, 0
            if decomposition.slack[0] > EMD_PART * float(best - bound) * made:
                value, split = _branching_value(at, sorted_rows)
            if value < 0:
                row, split = _branching_row(made, cuts, at, decomposition)
            if value < 0 and row < 0:
                value, split = _branching_value(at, sorted_rows)
            if value >= 0 or row >= 0:
                if row >= 0:
                    more = 2 * (decomposition.often[row] - split * made) >= made
                    least[depth], most[depth] = decomposition.forced[row], decomposition.allowed[row]
                else:
                    more = sorted_rows.numbers[value] > split
                    least[depth], most[depth] = at.limits[value, 0], at.limits[value, 1]
                rows[depth], values[depth], splits[depth] = row, value, split
                likely[depth], left[depth], bounds[depth] = more, True, bound
                _restrict(row, value, split, more, at, decomposition)
                depth += 1
                continue
            weak = min(weak, bound)  # no more than rounding is left
        while depth > 0 and not left[depth - 1]:
            depth -= 1
            _set(rows[depth], values[depth], (least[depth], most[depth]), at, decomposition)
        if depth == 0:
            break
        last = depth - 1
        left[last] = False
        _set(rows[last], values[last], (least[last], most[last]), at, decomposition)
        _restrict(rows[last], values[last], splits[last], not likely[last], at, decomposition)
    return best, nodes, min(best, weak)
