"""The cheapest group of any size of candidates under one relaxation; floating point or integers.

Which S: H(S) is what `kanon_milp.kernels.tree_subproblem` finds, and h(S) the same with fractions of rows. h is convex
(a minimum of a function convex in X and S together), and below the exact value H. So the least h is found by bisection,
and from there S is tried in both directions as long as h(S) is below the least H found. After `tries` of them the
lesser h on the two sides bounds the rest.

Without limits and charges H itself is convex: any group with p values can be changed row by row into the cheapest first
rows of p values and the cheapest others, so one more row costs the next cheapest. The best size is that of all negative
rows and one more for each value that is missing, but at least κ.

Functions are about the candidate that is selected, and leave what they find in the fields of its `Subproblems`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.tree_subproblem import (
    FloatSubproblems,
    IntSubproblems,
    Problems,
    cheapest_of_size,
    select,
)
from kanon_milp.system.arrays import Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

STRIDE = 3  # sizes ahead at which h is looked at


def lowest_size(s: Problems, near: int) -> bool:
    """The smallest size from which on h falls no more, into `lowest`, and h, into `value`, by bisection that begins
    around `near`; whether there is a group."""
    # the last values found, by parity of the size: two neighbours are compared at a time
    s.sides[0] = s.sides[1] = -1
    low, high, at, step = s.fewest, s.most, near, 1
    while True:
        last = low == high
        at = low if last else min(max(at, low), high - 1)
        for size in range(at, at + 1 if last else at + 2):
            slot = size % 2
            if s.sides[slot] != size:
                s.sides[slot] = size
                s.side_known[slot] = cheapest_of_size(s, size, s.convex)
                s.side_values[slot] = s.value
        here, ahead = at % 2, (at + 1) % 2
        if last:
            s.lowest, s.value = at, s.side_values[here]
            return bool(s.side_known[here])
        # h is finite up to some size, and from there on infinite
        if s.side_known[here] and s.side_known[ahead] and s.side_values[ahead] < s.side_values[here]:
            low = at + 1
            at = min(at + step, (low + high) // 2) if high == s.most else (low + high) // 2
        else:
            high = at
            at = max(at - step, (low + high) // 2) if low == s.fewest else (low + high) // 2
        step *= 2


def _lowest_plain(s: Problems) -> int:
    """The same where there are no limits and charges: all negative rows, one more for each value that is missing."""
    for v in range(len(s.seen)):
        s.seen[v] = False
    below, different = 0, 0
    for at in range(s.begin, s.end):
        i = s.members[at]
        if s.w - s.multipliers[i] < 0:
            below += s.rows_of(i)
            if not s.seen[s.rank[i]]:
                s.seen[s.rank[i]] = True
                different += 1
    return min(max(s.fewest, below + max(s.presence - different, 0)), s.most)


def _walk(s: Problems, middle: int, tries: int) -> bool:
    """The least H, or a bound below it, tried from the lowest point of h, which is `value`, to both sides: whether
    there is a group; its size into `size`."""
    found, best, best_size, tried = False, s.value, middle, 0
    s.sides[0], s.sides[1] = middle - 1, middle
    s.side_values[0] = s.side_values[1] = best
    s.side_known[0], s.side_known[1], s.side_over[0], s.side_over[1] = False, True, middle == s.fewest, False
    while True:
        for side in range(2):
            if s.side_known[side] and found and s.side_values[side] >= best:
                s.side_over[side] = True
        if s.side_over[0] and s.side_over[1]:
            s.size, s.value = best_size, best
            return found
        side = 0
        if s.side_over[0] or (not s.side_over[1] and s.side_known[0] and s.side_values[1] <= s.side_values[0]):
            side = 1
        size, integral = s.sides[side], s.side_known[side]
        if integral and tried == tries:
            s.size, s.value = best_size, s.side_values[side]
            if found:
                s.value = min(best, s.value)
            return True
        possible = cheapest_of_size(s, size, integral)
        if not integral:
            s.side_known[side], s.side_values[side], s.side_over[side] = True, s.value, not possible
            continue
        tried += 1
        if possible and (not found or s.value < best):
            found, best, best_size = True, s.value, size
        s.sides[side] += 2 * side - 1
        s.side_known[side], s.side_over[side] = False, not s.fewest <= s.sides[side] <= s.most


def add_negative_rows(s: Problems) -> None:
    """What all rows of the cover with a negative reduced cost cost together, into `below`."""
    below = s.w * 0
    for at in range(s.begin, s.end):
        i = s.members[at]
        if s.w < s.multipliers[i]:
            below += s.counts[i] * (s.w - s.multipliers[i])
    s.below = below


def cheapest_of_candidate(s: Problems, near: int, tries: int, everything: bool) -> bool:
    """φ into `value`, its size into `size`; whether there is a group.

    Into `lowest` the size at which h is lowest, looked for around `near`. tries, everything: as of `cheapest_by_size`.
    """
    s.lowest = s.size = s.fewest
    if s.most < s.fewest:
        return False
    if s.convex:
        s.lowest = s.size = _lowest_plain(s)
        possible = cheapest_of_size(s, s.size, True)
    else:
        possible = lowest_size(s, min(max(near, s.fewest), s.most))
        s.size = s.lowest
        if possible and (s.value < 0 or everything):
            possible = _walk(s, s.lowest, tries)
    if not possible:
        return False
    # no group costs less than all negative rows; with a charge that is too large the bound may
    add_negative_rows(s)
    s.value = max(s.rounded(s.value, s.grain), s.below)
    return True


def cheapest_negative(s: FloatSubproblems, near: int, tries: int) -> bool:
    """The lesser of 0 and φ into `value`, looked for from a size near the best one: whether any h is negative.

    Into `size` that of the group; where no h is negative, the size at which it is lowest. The sizes with h < H(S) for
    the best S found are next to each other, so it goes from one of them to both sides. Where these are more than
    `tries`, all is done as for `cheapest_by_size`.
    """
    near = min(max(near, s.fewest), s.most)
    if s.convex:
        if cheapest_of_candidate(s, near, tries, False) and s.value < 0:
            return True
        s.value = 0.0
        return False
    if not cheapest_of_size(s, near, False) or s.value >= 0:
        possible = lowest_size(s, near)
        near = s.lowest
        if not possible or s.value >= 0:
            s.size, s.value = near, 0.0
            return False
    best, best_size, tried = 0.0, near, 0
    for downwards in range(2):
        step = 1 - 2 * downwards
        size = near - downwards
        fence = near  # h is below the least H from `near` up to here
        while s.fewest <= size <= s.most:
            if tried == tries:
                if not cheapest_of_candidate(s, best_size, tries, False) or s.value >= 0:
                    s.value = 0.0
                return True
            if (size - fence) * step > 0:
                fence = min(max(size + STRIDE * step, s.fewest), s.most)
                if not cheapest_of_size(s, fence, False) or s.value >= best:
                    fence = size
                    if not cheapest_of_size(s, fence, False) or s.value >= best:
                        break
            tried += 1
            if cheapest_of_size(s, size, True) and s.value < best:
                best, best_size = s.value, size
            size += step
    if best < 0 and s.theta > 0:
        # no group costs less than all negative rows; with a charge that is too large the bound may
        add_negative_rows(s)
        best = max(best, s.below)
    s.size, s.value = best_size, best
    return True


def cheapest_by_size(
    s: IntSubproblems, tries: int, never: int, everything: bool, phi: Ints, sizes: Ints, groups: Ints
) -> None:
    """φ of every candidate into `phi` (G,).

    tries: sizes of a group that are tried for one candidate. never: φ of a candidate without a group. everything: also
    those that are surely not negative, whose φ is else set to 0 or to a bound above it. sizes (G,): where h is lowest,
    at first where to begin to look for it. groups (G,): sizes of the groups.
    """
    with cython.nogil:
        for g in range(len(phi)):
            select(s, g)
            add_negative_rows(s)
            phi[g] = 0
            if s.below < 0 or everything:
                phi[g] = s.value if cheapest_of_candidate(s, sizes[g], tries, everything) else never
                sizes[g], groups[g] = s.lowest, s.size


def choose_rows(s: FloatSubproblems, size: int) -> None:
    """Choose the rows of the cheapest group of a size; with fractions of rows where there is none of integer
    numbers."""
    if not cheapest_of_size(s, size, True):
        cheapest_of_size(s, size, False)


def _excess(s: FloatSubproblems, size: int, held: Floats, below: Floats) -> float:
    """Σ_v weight_v·|X_v - share_v·S| - t·S of the group that is chosen. held, below: (nodes + 1,), for sums."""
    for v in range(len(held)):
        held[v] = 0.0
    for at in range(s.entries):
        held[s.rank[s.chosen[at]]] += s.chosen_amounts[at]
    top, far = 0, -s.closeness * size
    for v in range(len(s.own)):
        inside = held[s.own[v]] if s.own[v] >= 0 else 0.0
        for _ in range(s.children[v]):
            top -= 1
            inside += below[top]
        far += s.weight[v] * abs(inside - s.share[v] * size)
        below[top] = inside
        top += 1
    return far


def place_in(members: Ints32, low: int, high: int, i: int) -> int:
    """Where row type i is in a cover, members[low:high], that is ascending."""
    while low < high:
        middle = (low + high) // 2
        if members[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


def take_groups(
    s: FloatSubproblems,
    wanted: NDArray[np.uint8],
    sizes: Ints,
    rows: Floats,
    excess: Floats,
    members: Ints32,
    average: Floats,
) -> None:
    """Add the rows of the wanted candidates' groups to what is asked for; arrays that are not asked for are empty.

    sizes (G,): of the groups. rows: (t,), of each row type. excess: (G,), Σ_v weight_v·|X_v - share_v·S| - t·S of a
    group, the derivative of φ in θ; 0 where it is not wanted. members: the covers, ascending; average: (pairs + 1,),
    rows of each pair times the last entry.
    """
    held, below = np.empty((2, len(s.own) + 1))
    asked, charged = len(excess) > 0, False
    with cython.nogil:
        for v in range(len(s.weight)):
            if s.weight[v] > 0:
                charged = True
        for g in range(len(wanted)):
            if asked:
                excess[g] = 0.0
            if not wanted[g]:
                continue
            select(s, g)
            choose_rows(s, sizes[g])
            if len(rows) > 0:
                for at in range(s.entries):
                    rows[s.chosen[at]] += s.chosen_amounts[at]
            if asked and charged:
                excess[g] = _excess(s, sizes[g], held, below)
            if len(average) == 0:
                continue
            for at in range(s.entries):
                place = place_in(members, s.begin, s.end, s.chosen[at])
                average[place] += average[len(average) - 1] * s.chosen_amounts[at]
