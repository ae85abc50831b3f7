"""The cheapest group of any size for every candidate under one view, compiled; floating point or whole numbers.

Which S: H(S) is what `kanon_milp.bounds.composition` finds, and h(S) the same with fractions of rows. h is convex (a
minimum of a function convex in X and S together), and below the exact value H. So the least h is found by bisection,
and from there S is tried in both directions as long as h(S) is below the least H found. After `tries` of them the
lesser h on the two sides bounds the rest.

Without limits and charges H itself is convex: any group with p values can be changed row by row into the cheapest first
rows of p values and the cheapest others, so one more row costs the next cheapest. The best size is that of all negative
rows and one more for each value that is missing, but at least κ.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.composition import Room, Shape, compose
from kanon_milp.system.jit import compiled

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Scalar = TypeVar("Scalar", np.float64, np.int64)


@compiled
def _lowest(
    least: int,
    most: int,
    near: int,
    theta: Scalar,
    w: Scalar,
    cover: Codes,
    cell_value: Ints,
    cell_begin: Ints,
    rows: NDArray[Scalar],
    multipliers: NDArray[Scalar],
    types_value: Ints,
    shape: Shape[Scalar],
    room: Room[Scalar],
) -> tuple[bool, int, Scalar]:
    """The smallest size from which on h falls no more, by bisection that begins around `near`: (possible, size, h)."""
    # the last values found, by parity of the size: two neighbours are compared at a time
    sizes, possible, values = np.full(2, -1, np.int64), np.zeros(2, np.bool_), np.zeros(2, rows.dtype)
    low, high, at, step = least, most, near, 1
    while True:
        last = low == high
        at = low if last else min(max(at, low), high - 1)
        for size in range(at, at + 1 if last else at + 2):
            slot = size % 2
            if sizes[slot] != size:
                sizes[slot] = size
                possible[slot], values[slot], _ = compose(
                    size, shape.convex, theta, w, cover, cell_value, cell_begin, rows, multipliers, types_value, shape,
                    room,
                )  # fmt: skip
        here, ahead = at % 2, (at + 1) % 2
        if last:
            return possible[here], at, values[here]
        # h is finite up to some size, and from there on infinite
        if possible[here] and possible[ahead] and values[ahead] < values[here]:
            low = at + 1
            at = min(at + step, (low + high) // 2) if high == most else (low + high) // 2
        else:
            high = at
            at = max(at - step, (low + high) // 2) if low == least else (low + high) // 2
        step *= 2


@compiled
def _lowest_plain(
    least: int, presence: int, w: Scalar, cover: Codes, types_value: Ints, rows: NDArray[Scalar],
    multipliers: NDArray[Scalar], seen: NDArray[np.bool_],
) -> int:  # fmt: skip
    """The same where there are no limits and charges: all negative rows, one more for each value that is missing."""
    seen[:] = False
    below, different = 0, 0
    for i in cover:
        if w - multipliers[i] < 0:
            below += int(rows[i])
            if not seen[types_value[i]]:
                seen[types_value[i]] = True
                different += 1
    return max(least, below + max(presence - different, 0))


@compiled
def _walk(
    middle: int,
    bound: Scalar,
    least: int,
    most: int,
    tries: int,
    theta: Scalar,
    w: Scalar,
    cover: Codes,
    cell_value: Ints,
    cell_begin: Ints,
    rows: NDArray[Scalar],
    multipliers: NDArray[Scalar],
    types_value: Ints,
    shape: Shape[Scalar],
    room: Room[Scalar],
) -> tuple[bool, int, Scalar]:
    """The least H, tried from the lowest point of h to both sides: (possible, size, H or a bound below it)."""
    found, best, best_size, tried = False, bound, middle, 0
    sides, bounds = np.array([middle - 1, middle]), np.array([bound, bound])
    known, over = np.array([False, True]), np.array([middle == least, False])
    while True:
        for side in range(2):
            over[side] = over[side] or (known[side] and found and bounds[side] >= best)
        if over.all():
            return found, best_size, best
        side = 1 if over[0] or (not over[1] and known[0] and bounds[1] <= bounds[0]) else 0
        size, whole = sides[side], known[side]
        if whole and tried == tries:
            return True, best_size, min(best, bounds[side]) if found else bounds[side]
        possible, value, _ = compose(
            size, whole, theta, w, cover, cell_value, cell_begin, rows, multipliers, types_value, shape, room
        )
        if not whole:
            known[side], bounds[side], over[side] = True, value, not possible
            continue
        tried += 1
        if possible and (not found or value < best):
            found, best, best_size = True, value, size
        sides[side] += 2 * side - 1
        known[side], over[side] = False, not least <= sides[side] <= most


@compiled
def cheapest_groups(
    indptr: Ints,
    members: Codes,
    cell_indptr: Ints,
    cell_value: Ints,
    cell_begin: Ints,
    cost: NDArray[Scalar],
    least: Ints,
    support: Ints,
    rows: NDArray[Scalar],
    multipliers: NDArray[Scalar],
    thetas: NDArray[Scalar],
    types_value: Ints,
    shape: Shape[Scalar],
    room: Room[Scalar],
    tries: int,
    never: Scalar,
    everything: bool,
    phi: NDArray[Scalar],
    sizes: Ints,
    groups: Ints,
) -> None:
    """φ_g of every candidate under one view into `phi`.

    sizes (G,): where h was lowest the last time, and is now. groups (G,): the sizes of the groups.

    thetas (G,): charges θ ≥ 0. never: φ of a candidate without a group. everything: also those that are surely not
    negative, whose φ is else set to 0 or to a bound above it.
    """
    for g in range(len(cost)):
        w = cost[g]
        cover = members[indptr[g] : indptr[g + 1]]
        phi[g] = 0
        below = w * 0
        for i in cover:
            below += rows[i] * min(w - multipliers[i], w * 0)
        if below >= 0 and not everything:
            continue
        if support[g] < least[g]:
            phi[g] = never
            continue
        of, begin, theta = cell_value[cell_indptr[g] : cell_indptr[g + 1]], cell_begin[cell_indptr[g] + g :], thetas[g]
        near = min(max(sizes[g], least[g]), support[g])
        if shape.convex:
            near = _lowest_plain(least[g], shape.presence, w, cover, types_value, rows, multipliers, room.seen)
            near = min(near, support[g])
        possible, sizes[g], bound = _lowest(
            near if shape.convex else least[g], near if shape.convex else support[g], near,
            theta, w, cover, of, begin, rows, multipliers, types_value, shape, room,
        )  # fmt: skip
        groups[g] = sizes[g]
        if possible and not shape.convex and (bound < 0 or everything):
            possible, groups[g], bound = _walk(
                sizes[g], bound, least[g], support[g], tries, theta, w, cover, of, begin, rows, multipliers,
                types_value, shape, room,
            )  # fmt: skip
        # no group costs less than all negative rows; with a charge that is too large the bound may
        phi[g] = max(bound // (shape.grain * shape.tick) * shape.tick, below) if possible else never


@compiled
def take_groups(
    indptr: Ints,
    members: Codes,
    cell_indptr: Ints,
    cell_value: Ints,
    cell_begin: Ints,
    cost: NDArray[np.float64],
    rows: NDArray[np.float64],
    multipliers: NDArray[np.float64],
    thetas: NDArray[np.float64],
    types_value: Ints,
    shape: Shape[np.float64],
    room: Room[np.float64],
    wanted: NDArray[np.bool_],
    sizes: Ints,
    taken: NDArray[np.float64],
    excess: NDArray[np.float64],
) -> None:
    """Add the rows of the wanted candidates' groups to `taken` (t,), and say how far each is from what θ asks for.

    excess (G,): Σ_v weight_v·|X_v - share_v·S| - t·S of a group, the slope of φ_g in θ; 0 where it is not wanted.
    """
    nodes = len(shape.own)
    held, below = np.zeros(nodes + 1), np.zeros(nodes + 1)
    charged = shape.weight.max() > 0
    for g in range(len(cost)):
        excess[g] = 0.0
        if not wanted[g]:
            continue
        cover = members[indptr[g] : indptr[g + 1]]
        of, begin = cell_value[cell_indptr[g] : cell_indptr[g + 1]], cell_begin[cell_indptr[g] + g :]
        chosen = 0
        for fractions in range(2):  # with fractions of rows where no size that was tried has whole ones
            possible, _, chosen = compose(
                sizes[g], not fractions, thetas[g], cost[g], cover, of, begin, rows, multipliers, types_value, shape,
                room,
            )  # fmt: skip
            if possible:
                break
        held[:] = 0.0
        for at in range(chosen):
            i, amount = room.chosen[at], room.chosen_amounts[at]
            taken[i] += amount
            held[types_value[i]] += amount
        if not charged:
            continue
        top, far = 0, -shape.closeness * sizes[g]
        for v in range(nodes):
            inside = held[shape.own[v]] if shape.own[v] >= 0 else 0.0
            for _ in range(shape.children[v]):
                top -= 1
                inside += below[top]
            far += shape.weight[v] * abs(inside - shape.share[v] * sizes[g])
            below[top] = inside
            top += 1
        excess[g] = far
