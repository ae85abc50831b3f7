"""The cheapest group of any size for every candidate under one relaxation, compiled; floating point or integers.

Which S: H(S) is what `kanon_milp.bounds.tree_subproblem` finds, and h(S) the same with fractions of rows. h is convex
(a minimum of a function convex in X and S together), and below the exact value H. So the least h is found by bisection,
and from there S is tried in both directions as long as h(S) is below the least H found. After `tries` of them the
lesser h on the two sides bounds the rest.

Without limits and charges H itself is convex: any group with p values can be changed row by row into the cheapest first
rows of p values and the cheapest others, so one more row costs the next cheapest. The best size is that of all negative
rows and one more for each value that is missing, but at least κ.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.tree_subproblem import ValuedCover, Workspace, cheapest_of_size, rounded
from kanon_milp.kernels.tree_subproblem import TreeArrays, ValuedCandidates, ValuedRows
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.jit import compiled, compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64)

NEVER = np.float64(np.inf)
STRIDE = 3  # sizes ahead at which h is looked at


class CheapestGroups(NamedTuple, Generic[Scalar]):
    """What is found of each candidate, (G,). phi: φ_g under one relaxation. sizes: where h is lowest; at first where to
    begin to look for it. groups: the size of the group."""

    phi: NDArray[Scalar]
    sizes: Ints
    groups: Ints


@compiled_part
def candidate_of(candidates: ValuedCandidates[Scalar], g: int) -> ValuedCover[Scalar]:
    """One of them."""
    begin, end = candidates.cell_indptr[g], candidates.cell_indptr[g + 1]
    return ValuedCover(
        candidates.cost[g], candidates.thetas[g], candidates.least[g], candidates.support[g],
        candidates.members[candidates.indptr[g] : candidates.indptr[g + 1]],
        candidates.cell_value[begin:end], candidates.cell_begin[begin + g :],
    )  # fmt: skip


@compiled_part
def lowest_size(
    least: int,
    most: int,
    near: int,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    workspace: Workspace[Scalar],
) -> tuple[bool, int, Scalar]:
    """The smallest size from which on h falls no more, by bisection that begins around `near`: (possible, size, h)."""
    # the last values found, by parity of the size: two neighbours are compared at a time
    sizes, possible, values = np.empty(2, np.int64), np.empty(2, np.bool_), np.empty(2, rows.counts.dtype)
    sizes[0] = sizes[1] = -1
    low, high, at, step = least, most, near, 1
    while True:
        last = low == high
        at = low if last else min(max(at, low), high - 1)
        for size in range(at, at + 1 if last else at + 2):
            slot = size % 2
            if sizes[slot] != size:
                sizes[slot] = size
                possible[slot], values[slot], _ = cheapest_of_size(size, tree.convex, candidate, rows, tree, workspace)
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


@compiled_part
def _lowest_plain(candidate: ValuedCover[Scalar], rows: ValuedRows[Scalar], presence: int, seen: Flags) -> int:
    """The same where there are no limits and charges: all negative rows, one more for each value that is missing."""
    for v in range(len(seen)):
        seen[v] = False
    below, different = 0, 0
    for i in candidate.members:
        if candidate.w - rows.multipliers[i] < 0:
            below += int(rows.counts[i])
            if not seen[rows.value[i]]:
                seen[rows.value[i]] = True
                different += 1
    return min(max(candidate.least, below + max(presence - different, 0)), candidate.support)


@compiled_part
def _walk(
    middle: int,
    bound: Scalar,
    tries: int,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    workspace: Workspace[Scalar],
) -> tuple[bool, int, Scalar]:
    """The least H, tried from the lowest point of h to both sides: (possible, size, H or a bound below it)."""
    least, most = candidate.least, candidate.support
    found, best, best_size, tried = False, bound, middle, 0
    sides, bounds = np.empty(2, np.int64), np.empty(2, rows.counts.dtype)
    known, over = np.empty(2, np.bool_), np.empty(2, np.bool_)
    sides[0], sides[1], bounds[0], bounds[1] = middle - 1, middle, bound, bound
    known[0], known[1], over[0], over[1] = False, True, middle == least, False
    while True:
        for side in range(2):
            over[side] = over[side] or (known[side] and found and bounds[side] >= best)
        if over[0] and over[1]:
            return found, best_size, best
        side = 1 if over[0] or (not over[1] and known[0] and bounds[1] <= bounds[0]) else 0
        size, integral = sides[side], known[side]
        if integral and tried == tries:
            return True, best_size, min(best, bounds[side]) if found else bounds[side]
        possible, value, _ = cheapest_of_size(size, integral, candidate, rows, tree, workspace)
        if not integral:
            known[side], bounds[side], over[side] = True, value, not possible
            continue
        tried += 1
        if possible and (not found or value < best):
            found, best, best_size = True, value, size
        sides[side] += 2 * side - 1
        known[side], over[side] = False, not least <= sides[side] <= most


@compiled_part
def cheapest_of_candidate(
    near: int,
    tries: int,
    never: Scalar,
    everything: bool,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    workspace: Workspace[Scalar],
) -> tuple[Scalar, int, int]:
    """φ_g of one candidate, the size at which h is lowest, looked for around `near`, and the size of its group.

    The other parameters are those of `cheapest_by_size`.
    """
    least, support = candidate.least, candidate.support
    if support < least:
        return never, least, least
    near = min(max(near, least), support)
    if tree.convex:
        near = _lowest_plain(candidate, rows, tree.presence, workspace.seen)
    possible, lowest, bound = lowest_size(
        near if tree.convex else least, near if tree.convex else support, near, candidate, rows, tree, workspace
    )
    size = lowest
    if possible and not tree.convex and (bound < 0 or everything):
        possible, size, bound = _walk(lowest, bound, tries, candidate, rows, tree, workspace)
    if not possible:
        return never, lowest, size
    # no group costs less than all negative rows; with a charge that is too large the bound may
    below = bound * 0
    for i in candidate.members:
        below += rows.counts[i] * min(candidate.w - rows.multipliers[i], below * 0)
    return max(rounded(bound, tree.grain, tree.tick), below), lowest, size


@compiled_part
def cheapest_negative(
    near: int,
    tries: int,
    candidate: ValuedCover[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    workspace: Workspace[np.float64],
) -> tuple[bool, np.float64, int]:
    """The least of 0 and φ_g, looked for from a size of group near the best one: (whether any h is negative, φ_g, size
    of the group; where no h is negative, the size at which it is lowest).

    The sizes with h < H(S) for the best S found are next to each other, so it goes from one of them to both sides.
    Where these are more than `tries`, all is done as for `cheapest_by_size`.
    """
    least, support = candidate.least, candidate.support
    near = min(max(near, least), support)
    best, best_size, tried = candidate.w * 0, near, 0
    if tree.convex:
        phi, _, size = cheapest_of_candidate(near, tries, NEVER, False, candidate, rows, tree, workspace)
        return bool(phi < 0), phi if phi < 0 else best, size
    possible, bound, _ = cheapest_of_size(near, False, candidate, rows, tree, workspace)
    if not possible or bound >= 0:
        possible, near, bound = lowest_size(least, support, near, candidate, rows, tree, workspace)
        if not possible or bound >= 0:
            return False, best, near
    for step in (1, -1):
        size = near if step > 0 else near - 1
        fence = near  # h is below the least H from `near` up to here
        while least <= size <= support:
            if tried == tries:
                phi, _, size = cheapest_of_candidate(best_size, tries, NEVER, False, candidate, rows, tree, workspace)
                return True, phi if phi < 0 else best * 0, size
            if (size - fence) * step > 0:
                ahead = min(max(size + STRIDE * step, least), support)
                for fence in (ahead, size):
                    possible, value, _ = cheapest_of_size(fence, False, candidate, rows, tree, workspace)
                    if possible and value < best:
                        break
                if not possible or value >= best:
                    break
            tried += 1
            possible, value, _ = cheapest_of_size(size, True, candidate, rows, tree, workspace)
            if possible and value < best:
                best, best_size = value, size
            size += step
    if best < 0 and candidate.theta > 0:
        # no group costs less than all negative rows; with a charge that is too large the bound may
        below = best * 0
        for i in candidate.members:
            below += rows.counts[i] * min(candidate.w - rows.multipliers[i], below * 0)
        best = max(best, below)
    return True, best, best_size


@compiled
def cheapest_by_size(
    candidates: ValuedCandidates[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    workspace: Workspace[Scalar],
    tries: int,
    never: Scalar,
    everything: bool,
    found: CheapestGroups[Scalar],
) -> None:
    """φ_g of every candidate under one relaxation into `found`.

    tries: sizes of a group that are tried for one candidate. never: φ of a candidate without a group. everything: also
    those that are surely not negative, whose φ is else set to 0 or to a bound above it.
    """
    phi, sizes, groups = found
    indptr, members, cost = candidates.indptr, candidates.members, candidates.cost
    counts, multipliers, _ = rows
    for g in range(len(cost)):
        w = cost[g]
        phi[g] = 0
        below = w * 0
        for i in members[indptr[g] : indptr[g + 1]]:
            below += counts[i] * min(w - multipliers[i], w * 0)
        if below < 0 or everything:
            candidate = candidate_of(candidates, g)
            phi[g], sizes[g], groups[g] = cheapest_of_candidate(
                sizes[g], tries, never, everything, candidate, rows, tree, workspace
            )


class Taken(NamedTuple):
    """Where the rows of groups are added to; arrays that are not asked for are empty.

    rows: (t,), of each row type. excess: (G,), Σ_v weight_v·|X_v - share_v·S| - t·S of a group, the derivative of φ_g
    in θ; 0 where it is not wanted. members: the covers, ascending; average: (pairs + 1,), rows of each pair times the
    last entry.
    """

    rows: Floats
    excess: Floats
    members: Ints32
    average: Floats


@compiled_part
def choose_rows(
    size: int,
    candidate: ValuedCover[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    workspace: Workspace[np.float64],
) -> int:
    """How many entries of `workspace.chosen` are the cheapest group of a size; with fractions of rows where there is
    none of
    integer numbers."""
    chosen = 0
    for fractions in range(2):
        possible, _, chosen = cheapest_of_size(size, not fractions, candidate, rows, tree, workspace)
        if possible:
            break
    return chosen


@compiled_part
def _excess(
    size: int,
    chosen: int,
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    workspace: Workspace[np.float64],
    held: Floats,
    below: Floats,
) -> float:
    """Σ_v weight_v·|X_v - share_v·S| - t·S of the group in the workspace. held, below: (nodes + 1,), for sums."""
    for v in range(len(held)):
        held[v] = 0.0
    for at in range(chosen):
        held[rows.value[workspace.chosen[at]]] += workspace.chosen_amounts[at]
    top, far = 0, -tree.closeness * size
    for v in range(len(tree.own)):
        inside = held[tree.own[v]] if tree.own[v] >= 0 else 0.0
        for _ in range(tree.children[v]):
            top -= 1
            inside += below[top]
        far += tree.weight[v] * abs(inside - tree.share[v] * size)
        below[top] = inside
        top += 1
    return far


@compiled
def take_groups(
    candidates: ValuedCandidates[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    workspace: Workspace[np.float64],
    wanted: Flags,
    sizes: Ints,
    taken: Taken,
) -> None:
    """Add the rows of the wanted candidates' groups to what `taken` asks for. sizes (G,): of the groups."""
    held, below = np.empty(len(tree.own) + 1), np.empty(len(tree.own) + 1)
    charged = False
    for v in range(len(tree.weight)):
        charged = charged or tree.weight[v] > 0
    asked = len(taken.excess) > 0
    for g in range(len(candidates.cost)):
        if asked:
            taken.excess[g] = 0.0
        if not wanted[g]:
            continue
        chosen = choose_rows(sizes[g], candidate_of(candidates, g), rows, tree, workspace)
        if len(taken.rows) > 0:
            for at in range(chosen):
                taken.rows[workspace.chosen[at]] += workspace.chosen_amounts[at]
        if asked and charged:
            taken.excess[g] = _excess(sizes[g], chosen, rows, tree, workspace, held, below)
        if len(taken.average) == 0:
            continue
        for at in range(chosen):
            low, high = candidates.indptr[g], candidates.indptr[g + 1]
            while low < high:
                middle = (low + high) // 2
                if taken.members[middle] < workspace.chosen[at]:
                    low = middle + 1
                else:
                    high = middle
            taken.average[low] += taken.average[-1] * workspace.chosen_amounts[at]
