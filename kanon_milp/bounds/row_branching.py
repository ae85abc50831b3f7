"""The cheapest group of one size under many rank-1 cuts: branch and bound over rows; compiled.

For `kanon_milp.bounds.valued_pricing`, where going through the groups one by one gives up. A node forces some rows into
the group and allows no more than some; `kanon_milp.bounds.spread_cuts` bounds it, and finds groups on the way. Where
the charge of work leaves much of the gap, the numbers of rows with a value are divided, else rows: of the row type that
is in about half of the groups on the way, or of the cut whose share says least of what they pay for it.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.rows_by_value import Lined, Size
from kanon_milp.bounds.spread_cuts import Spread, raise_shares, touch
from kanon_milp.system.jit import compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64)

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
