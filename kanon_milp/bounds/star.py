"""The cheapest group of a given size where the tree of a relaxation is a star, compiled; floating point or integers.

All values hang below the root, each with limits of its own rows, low_v·S ≤ X_v ≤ high_v·S, and perhaps a charge
q_v·|X_v - share_v·S|. So no lists need to be merged (`kanon_milp.bounds.composition`): each value gives the cheapest of
its rows for the lower limit, then a heap of the values' next rows is emptied from the top, up to S rows. A value's next
row never costs less than the one before, and with `presence` the greedy choice is optimal as it is there. A row type
may have no rows.

Numbers are those of `compose`, up to the order of sums in floating point.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.composition import TreeArrays, ValuedCover, ValuedRows, Workspace, compose, rounded
from kanon_milp.system.arrays import Ints
from kanon_milp.system.jit import compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64)


@compiled_part
def integral_limits(low: Ints, size: int) -> tuple[int, int]:
    """Limits of shares, two numerators and denominators, as integer numbers of `size` rows."""
    fewest = 0 if low[0] == 0 else -((-low[0] * size) // low[1])
    return fewest, size if low[2] == low[3] else (low[2] * size) // low[3]


@compiled_part
def _sink(heap: Ints, keys: NDArray[Scalar], at: int, length: int) -> None:
    """Move a cell of a heap down to where it belongs."""
    moved = heap[at]
    while True:
        child = 2 * at + 1
        if child >= length:
            break
        if child + 1 < length and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[heap[child]] >= keys[moved]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


@compiled_part
def _segment(
    held: Scalar, c: Scalar, q: Scalar, integral: bool, grain: Scalar, tick: Scalar, tolerance: Scalar
) -> tuple[Scalar, Scalar]:
    """Of q·|X - c| from X = held on: the slope, and up to which X; where rows are integer, |X - c| is the straight line
    between the two beside c. The end is 0 where there is none."""
    first = c
    if integral:
        first = int(c) * grain if grain == 1 else c // grain * grain
    if held < first - tolerance:
        return -q, first
    second = first if first >= c else first + grain
    if held < second - tolerance:
        return rounded(q * (first + second - 2 * c), grain, tick), second
    return q, q * 0


@compiled_part
def compose_star(
    size: int,
    integral: bool,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    room: Workspace[Scalar],
) -> tuple[bool, Scalar, int]:
    """What `kanon_milp.bounds.composition.compose` does, for a star."""
    # tuples of arrays take long to hand on: only numbers and single arrays are here
    w, theta, _, _, cover, values, begins = candidate
    counts, multipliers, _ = rows
    grain, tick, tolerance = tree.grain, tree.tick, tree.tolerance
    # per value of the cover: what its next row costs, what is left of that row, up to which X it costs as much, X, the
    # most that X may be, and the place of the row
    keys, left, ends, held, most, at = (
        room.keys,
        room.amounts,
        room.other_keys,
        room.fixed,
        room.other_amounts,
        room.begins,
    )
    heap, taken, amounts = room.other_items, room.chosen, room.chosen_amounts
    need = size * grain
    value = -theta * tree.closeness * size
    chosen, cell, length, different = 0, 0, 0, 0
    # without limits and charges, nothing is to be said of values that the cover lacks: there may be thousands
    for step in range(len(values) if tree.convex else len(tree.own) - 1):
        v = values[step] if tree.convex else step
        low, high = tree.value_grid[v, 0] * size, tree.value_grid[v, 1] * size
        if integral:
            fewest, greatest = integral_limits(tree.of_value[v], size)
            low, high = fewest * grain, greatest * grain
        q, c = rounded(theta * tree.weight[v], grain, tick), tree.share[v] * size
        value += q * c - q * tree.slack * size
        if cell == len(values) or values[cell] != v:
            if low > tolerance:
                return False, value, 0
            continue
        if low - high > tolerance:
            return False, value, 0
        place, last, have = begins[cell], begins[cell + 1], need * 0
        rest, slope, end = counts[cover[place]] * grain, need * 0, need * 0
        if q > 0:
            slope, end = _segment(have, c, q, integral, grain, tick, tolerance)
        while low - have > tolerance:
            if place == last:
                return False, value, 0
            amount = min(rest, low - have)
            if end > 0:
                amount = min(amount, end - have)
            taken[chosen], amounts[chosen] = cover[place], amount
            chosen += 1
            value += amount * (w - multipliers[cover[place]] + slope)
            have += amount
            rest -= amount
            if rest <= 0:
                place += 1
                rest = counts[cover[place]] * grain if place < last else rest
            if end > 0 and have >= end - tolerance:
                slope, end = _segment(have, c, q, integral, grain, tick, tolerance)
        need -= have
        different += int(have > 0)
        while place < last and rest <= 0:  # row types of which all rows have a group already
            place += 1
            rest = counts[cover[place]] * grain if place < last else rest
        if place < last and high - have > tolerance:
            keys[cell], left[cell] = w - multipliers[cover[place]] + slope, rest
            ends[cell], held[cell], most[cell], at[cell] = end, have, high, place
            heap[length] = cell
            length += 1
        cell += 1
    for top in range(length // 2 - 1, -1, -1):
        _sink(heap, keys, top, length)
    # besides the first rows of new values
    apart = integral and tree.presence > 1
    others = need - (max(tree.presence - different, 0) * grain if apart else 0)
    while length > 0 and need > tolerance:
        cell = int(heap[0])
        place, have, amount, first = at[cell], held[cell], min(need, left[cell], most[cell] - held[cell]), need * 0
        if ends[cell] > 0:
            amount = min(amount, ends[cell] - have)
        if apart:
            first = grain if have <= 0 else first
            amount = min(amount, others + first)
        if amount > 0:
            taken[chosen], amounts[chosen] = cover[place], amount
            chosen += 1
            value += amount * keys[cell]
            need -= amount
            others -= amount - first
            have += amount
            left[cell] -= amount
            if left[cell] <= 0:
                place += 1
                while place < begins[cell + 1] and counts[cover[place]] <= 0:
                    place += 1
                at[cell] = place
        if amount <= 0 or place == begins[cell + 1] or most[cell] - have <= tolerance:
            length -= 1
            heap[0] = heap[length]
        else:
            held[cell], slope, end = have, need * 0, need * 0
            if left[cell] <= 0:
                left[cell] = counts[cover[place]] * grain
            if theta > 0:
                v = values[cell]
                q, c = rounded(theta * tree.weight[v], grain, tick), tree.share[v] * size
                slope, end = _segment(have, c, q, integral, grain, tick, tolerance)
            keys[cell], ends[cell] = w - multipliers[cover[place]] + slope, end
        _sink(heap, keys, 0, length)
    # others < 0: there are too few rows for so many values
    return bool(abs(need) <= tolerance and (others >= 0 or not apart)), value, chosen


@compiled_part
def cheapest_of_size(
    size: int,
    integral: bool,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    room: Workspace[Scalar],
) -> tuple[bool, Scalar, int]:
    """`compose`, by the shorter way where the tree is a star."""
    if tree.star:
        return compose_star(size, integral, candidate, rows, tree, room)
    return compose(size, integral, candidate, rows, tree, room)
