"""The cheapest group of a given size under a relaxation of the requirements, compiled; floating point or integers.

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

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.tree_subproblem import TreeArrays, ValuedRows
from kanon_milp.system.arrays import Flags, Ints, Ints32
from kanon_milp.system.jit import compiled, compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64)


class Workspace(NamedTuple, Generic[Scalar]):
    """Where one group is worked out: slopes of the open lists, a list being merged, and the rows chosen for good."""

    keys: NDArray[Scalar]
    amounts: NDArray[Scalar]
    items: Ints
    other_keys: NDArray[Scalar]
    other_amounts: NDArray[Scalar]
    other_items: Ints
    chosen: Ints
    chosen_amounts: NDArray[Scalar]
    begins: Ints
    ends: Ints
    fixed: NDArray[Scalar]
    seen: Flags


class ValuedCover(NamedTuple, Generic[Scalar]):
    """One candidate.

    w: unit cost. theta: θ ≥ 0, what it is charged with. least, support: sizes that a group can have. members: its row
    types by value (in the order of the tree), then falling multiplier. values: the ranks that occur; begins: where
    each begins in `members`, one more than there are.
    """

    w: Scalar
    theta: Scalar
    least: int
    support: int
    members: Ints32
    values: Ints
    begins: Ints


@compiled_part
def rounded(slope: Scalar, grain: Scalar, tick: Scalar) -> Scalar:
    """A slope times the grain as a slope, in integers rounded down."""
    return slope if grain == 1 else slope // (grain * tick) * tick


@compiled_part
def _limit(
    workspace: Workspace[Scalar],
    begin: int,
    end: int,
    fixed: Scalar,
    chosen: int,
    low: Scalar,
    high: Scalar,
    tolerance: Scalar,
) -> tuple[bool, int, int, Scalar, int, Scalar]:
    """Limits of one list: (possible, begin, end, fixed, chosen, value of what is now fixed)."""
    value = low * 0
    while low - fixed > tolerance:
        if begin == end:
            return False, begin, end, fixed, chosen, value
        amount = min(workspace.amounts[begin], low - fixed)
        workspace.chosen[chosen], workspace.chosen_amounts[chosen] = workspace.items[begin], amount
        chosen += 1
        value += amount * workspace.keys[begin]
        fixed += amount
        workspace.amounts[begin] -= amount
        if workspace.amounts[begin] <= 0:
            begin += 1
    if fixed - high > tolerance:
        return False, begin, end, fixed, chosen, value
    held, at = fixed, begin
    while at < end and held < high:
        workspace.amounts[at] = min(workspace.amounts[at], high - held)
        held += workspace.amounts[at]
        at += 1
    return True, begin, at, fixed, chosen, value


@compiled_part
def _merge(workspace: Workspace[Scalar], begin: int, end: int, second: int, last: int) -> int:
    """Merge the list second..last into the one begin..end before it; returns its new end."""
    into, a, b = 0, begin, second
    if second == last:
        return end
    while a < end or b < last:
        if b == last or (a < end and workspace.keys[a] <= workspace.keys[b]):
            at = a
            a += 1
        else:
            at = b
            b += 1
        workspace.other_keys[into], workspace.other_amounts[into] = workspace.keys[at], workspace.amounts[at]
        workspace.other_items[into] = workspace.items[at]
        into += 1
    for at in range(into):
        workspace.keys[begin + at], workspace.amounts[begin + at] = (
            workspace.other_keys[at],
            workspace.other_amounts[at],
        )
        workspace.items[begin + at] = workspace.other_items[at]
    return begin + into


@compiled_part
def _charge(
    workspace: Workspace[Scalar],
    begin: int,
    end: int,
    fixed: Scalar,
    q: Scalar,
    c: Scalar,
    first: Scalar,
    tree: TreeArrays[Scalar],
) -> tuple[int, Scalar]:
    """Add q·|X - c| to a list: (new end, value at what is fixed).

    first: where the slope -q ends; if that is below c rows are integer, and the slope of the next row is that of the
    straight line, else q begins there.
    """
    second = first if first >= c else first + tree.grain
    middle = q * 0
    if first < c:
        middle = rounded(q * (first + second - 2 * c), tree.grain, tree.tick)
    value = q * c - q * min(fixed, first)
    value += middle * max(min(fixed, second) - first, q * 0) + q * max(fixed - second, q * 0)
    into, position = 0, fixed
    for at in range(begin, end):
        left = workspace.amounts[at]
        while left > 0:
            slope, piece = q, left
            if position < first:
                slope, piece = -q, min(left, first - position)
            elif position < second:
                slope, piece = middle, min(left, second - position)
            workspace.other_keys[into], workspace.other_amounts[into] = workspace.keys[at] + slope, piece
            workspace.other_items[into] = workspace.items[at]
            into += 1
            position += piece
            left -= piece
    for at in range(into):
        workspace.keys[begin + at], workspace.amounts[begin + at] = (
            workspace.other_keys[at],
            workspace.other_amounts[at],
        )
        workspace.items[begin + at] = workspace.other_items[at]
    return begin + into, value


@compiled_part
def _finish(
    workspace: Workspace[Scalar],
    begin: int,
    end: int,
    need: Scalar,
    chosen: int,
    value_of: Ints,
    presence: int,
    tree: TreeArrays[Scalar],
) -> tuple[bool, Scalar, int]:
    """Take the cheapest rows of the root's list, with enough different values: (possible, value, chosen)."""
    grain = tree.grain
    value = need * 0
    others = need
    if presence > 1:
        for v in range(len(workspace.seen)):
            workspace.seen[v] = False
        different = 0
        for at in range(chosen):
            if not workspace.seen[value_of[workspace.chosen[at]]]:
                workspace.seen[value_of[workspace.chosen[at]]] = True
                different += 1
        others = need - max(presence - different, 0) * grain
    for at in range(begin, end):
        if need <= 0:
            break
        if workspace.amounts[at] <= 0:
            continue  # none of its rows is there: its value is not seen by it
        amount = min(workspace.amounts[at], need)
        if presence > 1:
            first = need * 0
            which = value_of[workspace.items[at]]
            if not workspace.seen[which]:
                workspace.seen[which] = True
                first = min(amount, grain)
            rest = max(min(amount - first, others), need * 0)
            others -= rest
            amount = first + rest
        if amount > 0:
            workspace.chosen[chosen], workspace.chosen_amounts[chosen] = workspace.items[at], amount
            chosen += 1
            value += amount * workspace.keys[at]
            need -= amount
    # others < 0: there are too few rows for so many values
    return bool(abs(need) <= tree.tolerance and others >= 0), value, chosen


@compiled_part
def compose(
    size: int,
    integral: bool,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    workspace: Workspace[Scalar],
) -> tuple[bool, Scalar, int]:
    """The least cost of a group of `size` rows, times grain: (possible, value, number of entries of
    `workspace.chosen`).

    integral: with integer numbers of rows (H), or with fractions of rows (h).
    """
    w, theta, _, _, cover, cell_value, cell_begin = candidate
    counts, multipliers, value_of = rows
    total = size * tree.grain
    value = -theta * tree.closeness * size
    end, top, chosen, cell = 0, 0, 0, 0
    begin, fixed = 0, total * 0
    for v in range(len(tree.own)):
        begin, fixed = end, total * 0
        if tree.own[v] >= 0:
            if cell < len(cell_value) and cell_value[cell] == tree.own[v]:
                held = total * 0
                for at in range(cell_begin[cell], cell_begin[cell + 1]):
                    if held >= total:
                        break
                    i = cover[at]
                    workspace.keys[end], workspace.amounts[end], workspace.items[end] = (
                        w - multipliers[i],
                        counts[i] * tree.grain,
                        i,
                    )
                    held += workspace.amounts[end]
                    end += 1
                cell += 1
            low, high = tree.value_grid[v, 0] * size, tree.value_grid[v, 1] * size
            if integral:
                of = tree.of_value[v]
                low, high = -((-of[0] * size) // of[1]) * tree.grain, (of[2] * size) // of[3] * tree.grain
            possible, begin, end, fixed, chosen, more = _limit(
                workspace, begin, end, fixed, chosen, low, min(high, total), tree.tolerance
            )
            if not possible:
                return False, value, 0
            value += more
        # the children's lists and then its own, two neighbours at a time
        workspace.begins[top], workspace.ends[top], workspace.fixed[top] = begin, end, fixed
        first, lists, step = top - tree.children[v], tree.children[v] + 1, 1
        while step < lists:
            for at in range(first, first + lists - step, 2 * step):
                second = at + step
                workspace.ends[at] = _merge(
                    workspace,
                    workspace.begins[at],
                    workspace.ends[at],
                    workspace.begins[second],
                    workspace.ends[second],
                )
                workspace.fixed[at] += workspace.fixed[second]
            step *= 2
        top = first
        begin, end, fixed = workspace.begins[top], workspace.ends[top], workspace.fixed[top]
        if v == len(tree.own) - 1:
            break
        low, high = tree.node_grid[v, 0] * size, tree.node_grid[v, 1] * size
        if integral:
            of = tree.of_node[v]
            low, high = -((-of[0] * size) // of[1]) * tree.grain, (of[2] * size) // of[3] * tree.grain
        possible, begin, end, fixed, chosen, more = _limit(
            workspace, begin, end, fixed, chosen, low, min(high, total), tree.tolerance
        )
        if not possible:
            return False, value, 0
        value += more
        q = rounded(theta * tree.weight[v], tree.grain, tree.tick)
        if q > 0:
            c = tree.share[v] * size
            first_end = c
            if integral:
                first_end = int(c) * tree.grain if tree.grain == 1 else c // tree.grain * tree.grain
            end, more = _charge(workspace, begin, end, fixed, q, c, first_end, tree)
            value += more - q * tree.slack * size
        workspace.begins[top], workspace.ends[top], workspace.fixed[top] = begin, end, fixed
        top += 1
    presence = tree.presence if integral else 0
    possible, more, chosen = _finish(workspace, begin, end, total - fixed, chosen, value_of, presence, tree)
    return possible, value + more, chosen


@compiled
def make_workspace(widest: int, tree: TreeArrays[Scalar]) -> Workspace[Scalar]:
    """Scratch space for covers of at most so many row types."""
    nodes = len(tree.own)
    size = widest + 3 * nodes + 3
    kind = tree.share
    return Workspace(
        np.empty(size, kind.dtype), np.empty(size, kind.dtype), np.empty(size, np.int64),
        np.empty(size, kind.dtype), np.empty(size, kind.dtype), np.empty(size, np.int64),
        np.empty(2 * size, np.int64), np.empty(2 * size, kind.dtype),
        np.empty(nodes + 2, np.int64), np.empty(nodes + 2, np.int64), np.empty(nodes + 2, kind.dtype),
        np.zeros(nodes + 1, np.bool_),
    )  # fmt: skip


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
    workspace: Workspace[Scalar],
) -> tuple[bool, Scalar, int]:
    """What `kanon_milp.bounds.tree_subproblem.compose` does, for a star."""
    # tuples of arrays take long to hand on: only numbers and single arrays are here
    w, theta, _, _, cover, values, begins = candidate
    counts, multipliers, _ = rows
    grain, tick, tolerance = tree.grain, tree.tick, tree.tolerance
    # per value of the cover: what its next row costs, what is left of that row, up to which X it costs as much, X, the
    # most that X may be, and the place of the row
    keys, left, ends, held, most, at = (
        workspace.keys,
        workspace.amounts,
        workspace.other_keys,
        workspace.fixed,
        workspace.other_amounts,
        workspace.begins,
    )
    heap, taken, amounts = workspace.other_items, workspace.chosen, workspace.chosen_amounts
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
    workspace: Workspace[Scalar],
) -> tuple[bool, Scalar, int]:
    """`compose`, by the shorter way where the tree is a star."""
    if tree.star:
        return compose_star(size, integral, candidate, rows, tree, workspace)
    return compose(size, integral, candidate, rows, tree, workspace)
