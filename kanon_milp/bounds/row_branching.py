"""The cheapest group of one size under many rank-1 cuts: branch and bound over rows; compiled.

For `kanon_milp.bounds.valued_pricing`, where going through the groups one by one gives up. What groups cost at least is
known from cuts that are charged to single rows. A group a pays ν_R z_R(a) for cut R, z_R(a) = ⌊p_R·a / d_R⌋, which
depends on the rows of a few row types alone. For any shares q_R of these

    ν_R z_R(a) ≥ q_R·a - c_R(q_R),     c_R(q) = max { q·y - ν_R z_R(y) : y that groups may have },

and c_R is found by going through all y, few as they are. So with r'_i = r_i + Σ_R q_iR instead of r_i, single rows
alone say what a group costs at least, cuts included. This is the Lagrangian decomposition (Guignard and Kim 1987) into
the choice of rows and one problem for each cut; the shares are found by subgradients a - y, and so is the charge θ of
work.

A node forces some rows into
the group and allows no more than some; this bounds it, and finds groups on the way. Where
the charge of work leaves much of the gap, the numbers of rows with a value are divided, else rows: of the row type that
is in about half of the groups on the way, or of the cut whose share says least of what they pay for it.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.size_search import HIGHEST_CHARGE, Lined, Size, charge_numbers, cheapest_rests
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.jit import compiled_part
from kanon_milp.system.kernels import stable_order

Scalar = TypeVar("Scalar", np.float64, np.int64)

PATIENCE = 4  # steps without a better bound before they are halved
MOST = 64  # numbers of rows that a cut may look at; one that would have to look at more has no shares


class Spread(NamedTuple, Generic[Scalar]):
    """Shares of cuts, and what a node of the search asks for.

    shares, kept: q by place e of `PricedCuts`, and those of the best bound. type_of: row type by e. begins, places: the
    e of each cut. touched: the cuts that a group may have to pay, the first `number` (1,) of them; `wide` ones have too
    many y for shares. trial: room for a y. y: by e, of the maximum c, which is in `constants` by cut. over: by cut,
    what groups on the way pay more than the shares say. charge, kept_charge (1,): θ. slack (1,): what θ charges groups
    on the way, or gives them, together. taken, forced, allowed: by row type, rows of a group, and those that it must
    and may have. often: in how many groups on the way a row of each type was, together.
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
def nothing_spread(cuts: PricedCuts[Scalar]) -> Spread[Scalar]:
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
    return Spread(
        np.zeros(size, kind), np.zeros(size, kind), type_of, begins, places, np.empty(count, np.int64),
        np.zeros(1, np.int64), np.empty(longest, np.int64), np.zeros(count, np.bool_), np.zeros(size, np.int64),
        np.zeros(count, kind), np.zeros(count, kind), np.zeros(1, kind), np.zeros(1, kind), np.zeros(1),
        np.zeros(types, np.int64), np.zeros(types, np.int64), np.zeros(types, np.int64), np.zeros(types, np.int64),
    )  # fmt: skip


@compiled_part
def gather(rows: Ints, spread: Spread[Scalar]) -> None:
    """Take the shares back. rows: of the candidate."""
    for i in rows:
        spread.taken[i] = spread.forced[i] = spread.allowed[i] = 0
    for place in range(spread.number[0]):
        r = spread.touched[place]
        for at in range(spread.begins[r], spread.begins[r + 1]):
            spread.shares[spread.places[at]] = 0
    spread.number[0] = 0


@compiled_part
def touch(cuts: PricedCuts[Scalar], at: Size[Scalar], spread: Spread[Scalar]) -> None:
    """All rows may be in a group, and none must; find the cuts that it may have to pay."""
    for i in at.rows:
        spread.forced[i] = spread.allowed[i] = 0
    for i in at.rows:
        spread.allowed[i] += 1
    if spread.number[0] > 0:
        return
    for r in range(len(cuts.denominators)):
        most, looked = 0, 1
        for place in range(spread.begins[r], spread.begins[r + 1]):
            e = spread.places[place]
            most += cuts.weight_of[e] * spread.allowed[spread.type_of[e]]
            looked = min(looked * (spread.allowed[spread.type_of[e]] + 1), MOST + 1)
        if most >= cuts.denominators[r] and cuts.multipliers[r] > 0:
            spread.wide[r] = looked > MOST
            spread.touched[spread.number[0]] = r
            spread.number[0] += 1


@compiled_part
def _maximize(r: int, cuts: PricedCuts[Scalar], spread: Spread[Scalar]) -> None:
    """c of a cut, and the y that it is found at."""
    trial, begin, end = spread.trial, spread.begins[r], spread.begins[r + 1]
    value, weight = cuts.multipliers[r] * 0, 0
    for place in range(begin, end):
        e = spread.places[place]
        trial[place - begin] = spread.forced[spread.type_of[e]]
        value += spread.shares[e] * trial[place - begin]
        weight += cuts.weight_of[e] * trial[place - begin]
    d, first = cuts.denominators[r], True
    while first or not spread.wide[r]:
        total = value - weight // d * cuts.multipliers[r]
        if first or total > spread.constants[r]:
            spread.constants[r], first = total, False
            for place in range(begin, end):
                spread.y[spread.places[place]] = trial[place - begin]
        place = begin
        while place < end:
            e = spread.places[place]
            i = spread.type_of[e]
            if trial[place - begin] < spread.allowed[i]:
                trial[place - begin] += 1
                value += spread.shares[e]
                weight += cuts.weight_of[e]
                break
            back = trial[place - begin] - spread.forced[i]
            trial[place - begin] -= back
            value -= spread.shares[e] * back
            weight -= cuts.weight_of[e] * back
            place += 1
        if place == end:
            break


@compiled_part
def _line_up_again(
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    lined: Lined[Scalar],
    spread: Spread[Scalar],
) -> bool:
    """The rows of each value, the forced ones first and those that are not allowed last, by rising r', and their sums;
    False where no group has such numbers."""
    begins, prefix = lined.begins, lined.prefix
    possible = True
    for v in range(len(begins) - 1):
        begin, count = begins[v], begins[v + 1] - begins[v]
        keys, kinds = np.empty(count, prefix.dtype), np.empty(count, np.int64)
        copy = 0
        for place in range(count):
            i = at.rows[begin + place]
            copy = copy + 1 if place > 0 and i == at.rows[begin + place - 1] else 0
            kinds[place] = 0 if copy < spread.forced[i] else 1 if copy < spread.allowed[i] else 2
            if copy > 0:
                keys[place] = keys[place - 1]
                continue
            keys[place] = at.w - multipliers[i]
            for e in range(cuts.begins[i], cuts.begins[i + 1]):
                keys[place] += spread.shares[e]
        order, end = stable_order(keys), begin
        for kind in range(3):
            for place in order:
                if kinds[place] == kind:
                    lined.items[end] = at.rows[begin + place]
                    prefix[end + v + 1] = prefix[end + v] + keys[place]
                    end += 1
            if kind == 0:
                lined.limits[v, 0] = max(at.limits[v, 0], end - begin)
            elif kind == 1:
                lined.limits[v, 1] = min(at.limits[v, 1], end - begin)
        possible &= lined.limits[v, 0] <= lined.limits[v, 1]
    return possible


@compiled_part
def _take_cheapest(
    charge: Scalar,
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    lined: Lined[Scalar],
    spread: Spread[Scalar],
) -> tuple[Scalar, bool, Scalar, int]:
    """The group that `cheapest_rests` knows as the cheapest: (what all cost at least, whether it is allowed, what it
    costs, how far its work is beyond what is allowed).

    charge: what θ charges before the first value. Its rows are in `chosen`, X in `numbers`, and in `taken`; it is one
    more in `often` and `over`.
    """
    begins, prefix, bests, limits = lined.begins, lined.prefix, lined.bests, lined.limits
    for i in at.rows:
        spread.taken[i] = 0
    s, depth, charged = at.size, 0, len(lined.charges) > 0
    far, different, cost = at.before - at.work.limit * at.size, 0, at.w * 0
    for v in range(len(limits)):
        first, x = begins[v] + v, limits[v, 0]
        while x < min(limits[v, 1], s):
            if bests[v + 1, s - x] < at.never:
                value = prefix[first + x] + bests[v + 1, s - x]
                if charged:
                    value += lined.charges[v, at.size - s + x if at.work.line else x]
                if value == bests[v, s]:
                    break
            x += 1
        for place in range(begins[v], begins[v] + x):
            i = lined.items[place]
            lined.chosen[depth] = i
            depth += 1
            spread.often[i] += 1
            spread.taken[i] += 1
            cost += at.w - multipliers[i]
        s -= x
        lined.numbers[v] = x
        different += int(x > 0)
        if charged:
            far += lined.far[v, at.size - s if at.work.line else x]
    value = charge + bests[0, at.size]
    for number in range(spread.number[0]):
        r = spread.touched[number]
        weight, share = 0, at.w * 0
        for place in range(spread.begins[r], spread.begins[r + 1]):
            e = spread.places[place]
            weight += cuts.weight_of[e] * spread.taken[spread.type_of[e]]
            share += spread.shares[e] * spread.taken[spread.type_of[e]]
        pays = weight // cuts.denominators[r] * cuts.multipliers[r]
        cost += pays
        value -= spread.constants[r]
        spread.over[r] += pays - share + spread.constants[r]
    return value, different >= at.presence and (not charged or far <= 0), cost, far


@compiled_part
def _slope(e: int, most: Scalar, spread: Spread[Scalar]) -> int:
    """The subgradient of a share; 0 where that cannot follow it."""
    over = spread.taken[spread.type_of[e]] - spread.y[e]
    if (over < 0 and spread.shares[e] <= 0) or (over > 0 and spread.shares[e] >= most):
        return 0
    return int(over)


@compiled_part
def _length(cuts: PricedCuts[Scalar], spread: Spread[Scalar]) -> float:
    """The squared length of the subgradient."""
    total = 0.0
    for place in range(spread.number[0]):
        r = spread.touched[place]
        for at in range(spread.begins[r], spread.begins[r + 1] if not spread.wide[r] else 0):
            total += _slope(spread.places[at], cuts.multipliers[r], spread) ** 2
    return total


@compiled_part
def _move(length: float, cuts: PricedCuts[Scalar], spread: Spread[Scalar]) -> None:
    """Each share by so many times its subgradient."""
    for place in range(spread.number[0]):
        r = spread.touched[place]
        for at in range(spread.begins[r], spread.begins[r + 1] if not spread.wide[r] else 0):
            e = spread.places[at]
            moved = float(spread.shares[e]) + length * _slope(e, cuts.multipliers[r], spread)
            spread.shares[e] = min(max(moved, 0.0), float(cuts.multipliers[r]))


@compiled_part
def _keep(shares: NDArray[Scalar], others: NDArray[Scalar], spread: Spread[Scalar]) -> None:
    """Make shares of the touched cuts the others."""
    for place in range(spread.number[0]):
        r = spread.touched[place]
        for at in range(spread.begins[r], spread.begins[r + 1]):
            shares[spread.places[at]] = others[spread.places[at]]


@compiled_part
def raise_shares(
    steps: int,
    best: Scalar,
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    lined: Lined[Scalar],
    spread: Spread[Scalar],
) -> tuple[Scalar, Scalar, int]:
    """Better shares for the groups of a size with the rows that are forced and allowed.

    best: what is to be below. Returns what such a group costs at least, the best value with what was found on the way
    (the group is in `lined.best` then), and the steps that were made. `often` and `over` have counted the groups of all
    steps; `lined` is that of the last one.
    """
    for i in at.rows:
        spread.often[i] = 0
    spread.slack[0] = 0
    bound, scale, idle, made = -at.never, 1.0, 0, 0
    for r in range(len(spread.over)):
        spread.over[r] = spread.constants[r] = 0
    charged, charge = len(lined.charges) > 0, at.w * 0
    while True:
        for place in range(spread.number[0]):
            _maximize(spread.touched[place], cuts, spread)
        if not _line_up_again(multipliers, cuts, at, lined, spread):
            return at.never, best, made
        one = True  # composition
        for v in range(len(lined.limits)):
            one &= lined.limits[v, 0] == lined.limits[v, 1]
        if charged:
            if one:  # its work is what it is
                spread.charge[0] = 0
            charge = charge_numbers(at.size, spread.charge[0], at.before, at.work, at.tick, lined)
        cheapest_rests(at.size, at.work, lined, at.never)
        if lined.bests[0, at.size] >= at.never:
            return at.never, best, made
        made += 1
        value, allowed, cost, far = _take_cheapest(charge, multipliers, cuts, at, lined, spread)
        if one and not allowed:
            return at.never, best, made
        if value > bound:
            bound, idle = value, 0
            spread.kept_charge[0] = spread.charge[0]
            _keep(spread.kept, spread.shares, spread)
        else:
            idle += 1
            if idle == PATIENCE:
                scale, idle = scale / 2, 0
        if allowed and cost < best:
            best = cost
            for d in range(at.size):
                lined.best[d] = lined.chosen[d]
        if bound >= best - at.tolerance or made == steps:
            break
        if charged:
            spread.slack[0] += float(spread.charge[0]) * abs(far / at.work.whole)
        beyond = 0.0 if one or not charged else far / at.work.whole
        length = beyond**2 if beyond > 0 or spread.charge[0] > 0 else 0.0
        length += _length(cuts, spread)
        if length == 0:
            break
        length = scale * float(best - value) / length
        _move(length, cuts, spread)
        moved = float(spread.charge[0]) + length * beyond
        spread.charge[0] = min(max(moved, 0.0), HIGHEST_CHARGE * float(at.w))
    spread.charge[0] = spread.kept_charge[0]
    _keep(spread.shares, spread.kept, spread)
    return bound, best, made


STEPS, NODE_STEPS = 50, 12  # of the subgradient method at the root and in other nodes
WORK = 0.3  # part of the gap that work has to explain for numbers of rows with a value to be divided first
STEP_NODES = 8  # nodes of a search row by row that take as long as such a step, for each row


@compiled_part
def _branching_row(made: int, cuts: PricedCuts[Scalar], at: Size[Scalar], spread: Spread[Scalar]) -> tuple[int, int]:
    """(row type, rows of it): on one side there are no more of them, on the other there are more. (-1, 0): none.

    made: groups that `often` has counted.
    """
    best, least, most = -1, 0, 1e-9
    for i in at.rows:
        if spread.forced[i] < spread.allowed[i]:
            average = spread.often[i] / made
            low = min(max(int(average), spread.forced[i]), spread.allowed[i] - 1)
            fraction = min(average - low, low + 1 - average)
            if fraction > most:
                best, least, most = i, low, fraction
    if best >= 0:
        return best, least
    # all groups were the same: a row of the cut whose share says least of what they pay for it
    over = at.w * 0
    for i in at.rows:
        if spread.forced[i] < spread.allowed[i]:
            for e in range(cuts.begins[i], cuts.begins[i + 1]):
                if cuts.multipliers[cuts.cut_of[e]] > 0 and spread.over[cuts.cut_of[e]] > over:
                    best, least, over = i, spread.forced[i], spread.over[cuts.cut_of[e]]
    return best, least


@compiled_part
def _branching_value(at: Size[Scalar], lined: Lined[Scalar]) -> tuple[int, int]:
    """(place of a value, rows of it): on one side there are no more of them, on the other there are more. (-1, 0): each
    value has one number.

    The value is one that the last group has no row of, or the one with the most work.
    """
    best, most, s = -1, -1, 0
    for v in range(len(lined.numbers)):
        x = lined.numbers[v]
        s += x
        if lined.limits[v, 0] < lined.limits[v, 1]:
            far = lined.far[v, s if at.work.line else x] if len(lined.charges) > 0 else int(x == 0)
            if far > most:
                best, most = v, far
    if best < 0:
        return best, 0
    x = lined.numbers[best]
    return best, x - 1 if x > lined.limits[best, 0] else x


@compiled_part
def _restrict(row: int, value: int, split: int, more: bool, at: Size[Scalar], spread: Spread[Scalar]) -> None:
    """More than so many rows of a row type, or of a value where that is -1, or no more."""
    if row >= 0 and more:
        spread.forced[row] = split + 1
    elif row >= 0:
        spread.allowed[row] = split
    else:
        at.limits[value, 0 if more else 1] = split + 1 if more else split


@compiled_part
def _set(row: int, value: int, limits: tuple[int, int], at: Size[Scalar], spread: Spread[Scalar]) -> None:
    """The least and most rows of a row type, or of a value where that is -1."""
    if row >= 0:
        spread.forced[row], spread.allowed[row] = limits
    else:
        at.limits[value, 0], at.limits[value, 1] = limits


@compiled_part
def branch_on_rows(
    best: Scalar,
    nodes: int,
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    at: Size[Scalar],
    lined: Lined[Scalar],
    spread: Spread[Scalar],
) -> tuple[Scalar, int, Scalar]:
    """The cheapest group below `best`: (what it costs or `best`, nodes left, what all groups cost at least).

    The last is no more than the first, and less where it gave up. The group is in `lined.best`.
    """
    touch(cuts, at, spread)
    spread.charge[0] = spread.kept_charge[0]
    room = len(at.rows) + 1
    for v in range(len(at.limits)):
        room += max(at.limits[v, 1] - at.limits[v, 0], 0)
    rows, values, splits = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    least, most = np.empty(room, np.int64), np.empty(room, np.int64)
    likely, left = np.empty(room, np.bool_), np.empty(room, np.bool_)
    bounds = np.empty(room, lined.prefix.dtype)
    depth, steps, weak, theta = 0, STEPS, best, spread.charge[0]
    while True:
        bound, best, made = raise_shares(steps, best, multipliers, cuts, at, lined, spread)
        if steps == STEPS:
            steps, theta = NODE_STEPS, spread.charge[0]
        nodes, spread.charge[0] = nodes - STEP_NODES * (made + 1) * len(at.rows), theta
        if bound < best - at.tolerance:
            if nodes <= 0:  # what is left is not looked at
                weak = min(weak, bound)
                for d in range(depth):
                    if left[d]:
                        weak = min(weak, bounds[d])
                break
            row, value, split = -1, -1, 0
            if spread.slack[0] > WORK * float(best - bound) * made:
                value, split = _branching_value(at, lined)
            if value < 0:
                row, split = _branching_row(made, cuts, at, spread)
            if value < 0 and row < 0:
                value, split = _branching_value(at, lined)
            if value >= 0 or row >= 0:
                if row >= 0:
                    more = 2 * (spread.often[row] - split * made) >= made
                    least[depth], most[depth] = spread.forced[row], spread.allowed[row]
                else:
                    more = lined.numbers[value] > split
                    least[depth], most[depth] = at.limits[value, 0], at.limits[value, 1]
                rows[depth], values[depth], splits[depth] = row, value, split
                likely[depth], left[depth], bounds[depth] = more, True, bound
                _restrict(row, value, split, more, at, spread)
                depth += 1
                continue
            weak = min(weak, bound)  # no more than rounding is left
        while depth > 0 and not left[depth - 1]:
            depth -= 1
            _set(rows[depth], values[depth], (least[depth], most[depth]), at, spread)
        if depth == 0:
            break
        last = depth - 1
        left[last] = False
        _set(rows[last], values[last], (least[last], most[last]), at, spread)
        _restrict(rows[last], values[last], splits[last], not likely[last], at, spread)
    return best, nodes, min(best, weak)
