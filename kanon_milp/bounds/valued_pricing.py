"""The cheapest group of a candidate under limits of sensitive values and rank-1 cuts: exact, depth first, compiled.

For one candidate: φ = min { Σ r_i a_i + Σ_R ν_R ⌊p_R·a / d_R⌋ : a integer, 0 ≤ a_i ≤ n_i, κ ≤ Σ a_i = S,
low_v·S ≤ X_v ≤ high_v·S, p different values }, X_v the rows with value v, reduced costs r_i = w - λ_i and ν ≥ 0
(`kanon_milp.bounds.rank_one_cuts`). The first sum alone is what `kanon_milp.bounds.sizes` finds, a lower bound.

The search: sizes S whose h(S), with fractions of rows, is below the value of interest; these are next to each other,
since h is convex. For each of them compositions (X_v) value by value: X_v rows with value v cost at least their X_v
cheapest ones, so those of the values that are still to come are found for all numbers of rows by a dynamic program, and
only compositions that can be below are looked at. For each of these, rows in rising order of r, value by value: a
group grows by one row after another, and what it can still become costs at least what it costs now plus the next rows
in order. Its own terms of rank-1 cuts never fall when rows are added.

All values of one call are either float64 or int64, so exact bounds are computed by the same lines.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.composition import TreeArrays, ValuedCover, ValuedRows, Workspace, rounded
from kanon_milp.bounds.pricing import give_back, take
from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.sizes import ValuedCandidates, candidate_of, lowest_size
from kanon_milp.bounds.star import cheapest_of_size, integral_limits
from kanon_milp.system.arrays import doubled, stable_order
from kanon_milp.system.jit import compiled, compiled_part

Ints = NDArray[np.int64]
Scalar = TypeVar("Scalar", np.float64, np.int64)

PREPARED = 8  # the dynamic program for a size takes as long as its square divided by that in nodes


class Lined(NamedTuple, Generic[Scalar]):
    """One candidate's rows one by one, value by value, by rising reduced cost, and room for its groups.

    begins (V + 1,): where each value begins. items: row types. prefix: sums of reduced costs from the left, one more,
    of each value from its own 0, so value v begins at begins[v] + v. bests: of the dynamic program, (V + 1, rows + 1).
    numbers, limits: X and its limits, (V,) and (V, 2). chosen, values: the group so far, as places in `items`, and what
    it costs before each. best: the cheapest group found. filled: Σ p_i a_i of each rank-1 cut, of the group so far.
    """

    begins: Ints
    items: Ints
    prefix: NDArray[Scalar]
    bests: NDArray[Scalar]
    numbers: Ints
    limits: Ints
    chosen: Ints
    values: NDArray[Scalar]
    best: Ints
    filled: Ints


class Answers(NamedTuple, Generic[Scalar]):
    """Of each chosen candidate: φ, and whether the search came to its end."""

    phi: NDArray[Scalar]
    complete: NDArray[np.bool_]


@compiled_part
def _line_up(candidate: ValuedCover[Scalar], rows: ValuedRows[Scalar], cuts: int) -> Lined[Scalar]:
    """The rows of a candidate. cuts: number of rank-1 cuts."""
    cover, begins = candidate.members, candidate.begins
    counts, multipliers, _ = rows
    width, total = len(candidate.values), 0
    for i in cover:
        total += int(counts[i])
    starts, items = np.zeros(width + 1, np.int64), np.empty(total, np.int64)
    kind = multipliers.dtype
    prefix = np.empty(total + width, kind)
    end = 0
    for v in range(width):
        begin, size = begins[v], begins[v + 1] - begins[v]
        keys = np.empty(size, kind)
        for at in range(size):
            keys[at] = candidate.w - multipliers[cover[begin + at]]
        summed = candidate.w * 0
        prefix[end + v] = summed
        for at in stable_order(keys):
            for _ in range(int(counts[cover[begin + at]])):
                items[end] = cover[begin + at]
                summed += keys[at]
                end += 1
                prefix[end + v] = summed
        starts[v + 1] = end
    return Lined(
        starts, items, prefix, np.empty((width + 1, total + 1), kind), np.zeros(width, np.int64),
        np.zeros((width, 2), np.int64), np.empty(total + 1, np.int64), np.empty(total + 1, kind),
        np.empty(total + 1, np.int64), np.zeros(cuts, np.int64),
    )  # fmt: skip


@compiled_part
def _limit(size: int, values: Ints, tree: TreeArrays[Scalar], lined: Lined[Scalar]) -> bool:
    """The least and the most rows of each value in a group of so many; False where there is none."""
    cell = 0
    for v in range(len(tree.own) - 1):
        low, high = integral_limits(tree.of_value[v], size)
        if cell < len(values) and values[cell] == v:
            high = min(high, lined.begins[cell + 1] - lined.begins[cell])
            if low > high:
                return False
            lined.limits[cell, 0], lined.limits[cell, 1] = low, high
            cell += 1
        elif low > 0:
            return False
    return True


@compiled_part
def _prepare(size: int, lined: Lined[Scalar], never: Scalar) -> None:
    """bests[v, s]: the least that s rows of value v and those after it cost in a group of this size."""
    begins, prefix, bests, limits = lined.begins, lined.prefix, lined.bests, lined.limits
    width = len(limits)
    for s in range(size + 1):
        bests[width, s] = never
    bests[width, 0] = 0
    for v in range(width - 1, -1, -1):
        first = begins[v] + v
        for s in range(size + 1):
            least = never
            for x in range(limits[v, 0], min(limits[v, 1], s) + 1):
                if bests[v + 1, s - x] < never:
                    least = min(least, prefix[first + x] + bests[v + 1, s - x])
            bests[v, s] = least


@compiled_part
def _grow(size: int, cuts: PricedCuts[Scalar], below: Scalar, nodes: int, lined: Lined[Scalar]) -> tuple[Scalar, int]:
    """Search the groups with the numbers of rows in `lined` for one below `below`; (the least or `below`, nodes left).

    What is found is in `best`. Nodes left is -1 where it gave up.
    """
    begins, items, prefix, _, numbers, _, chosen, values, best_group, filled = lined
    zero = below * 0
    best, value, rest = below, zero, zero
    for v in range(len(numbers)):
        rest += prefix[begins[v] + v + numbers[v]]
    v, fence = -1, 0  # value of the next row, and the number of rows with which this value is complete
    depth, at = 0, 0
    deeper = True
    while True:
        if deeper:
            while depth == fence and depth < size:
                v += 1
                fence += numbers[v]
                at = begins[v]
                rest -= prefix[begins[v] + v + numbers[v]]
        need = fence - depth
        deeper = at + need <= begins[v + 1] and value + (prefix[at + v + need] - prefix[at + v]) + rest < best
        if deeper:
            nodes -= 1
            if nodes < 0:
                break
            values[depth], chosen[depth] = value, at
            value += prefix[at + v + 1] - prefix[at + v] + take(items[at], cuts, filled, zero)
            depth += 1
            at += 1
            if depth < size:
                continue
            if value < best:
                best = value
                for d in range(size):
                    best_group[d] = chosen[d]
            deeper = False
        if depth == 0:
            break
        depth -= 1
        while depth < fence - numbers[v]:
            rest += prefix[begins[v] + v + numbers[v]]
            fence -= numbers[v]
            v -= 1
        at, value = chosen[depth], values[depth]
        give_back(items[at], cuts, filled)
        at += 1
        while at < begins[v + 1] and items[at] == items[at - 1]:
            at += 1
    for d in range(depth):
        give_back(items[chosen[d]], cuts, filled)
    return best, nodes


@compiled_part
def _search_size(
    size: int, presence: int, cuts: PricedCuts[Scalar], below: Scalar, nodes: int, lined: Lined[Scalar]
) -> tuple[Scalar, int]:
    """As `_grow`, over all compositions of a size."""
    begins, prefix, bests, numbers, limits = lined.begins, lined.prefix, lined.bests, lined.numbers, lined.limits
    width = len(numbers)
    best = below
    left, spent = np.empty(width + 1, np.int64), np.zeros(width + 1, prefix.dtype)
    left[0] = size
    v = 0
    numbers[0] = limits[0, 0] - 1
    while v >= 0:
        numbers[v] += 1
        x, first = numbers[v], begins[v] + v
        if x > min(limits[v, 1], left[v]):
            v -= 1
            continue
        left[v + 1] = left[v] - x
        spent[v + 1] = spent[v] + prefix[first + x]
        # `never` is so large that nothing that is below can have it
        if spent[v + 1] + bests[v + 1, left[v + 1]] >= best:
            continue
        if v + 1 < width:
            v += 1
            numbers[v] = limits[v, 0] - 1
            continue
        different = 0
        for u in range(width):
            different += int(numbers[u] > 0)
        if different < presence:
            continue
        best, nodes = _grow(size, cuts, best, nodes, lined)
        if nodes < 0:
            break
    return best, nodes


@compiled
def cheapest_valued_groups(
    candidates: ValuedCandidates[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    room: Workspace[Scalar],
    cuts: PricedCuts[Scalar],
    chosen: Ints,
    settings: tuple[Scalar, Scalar, int, int],
    answers: Answers[Scalar],
) -> tuple[Ints, Ints, Ints]:
    """The cheapest group of each chosen candidate, if it is below `below`.

    tree: a star without a charge. settings: below; a number larger than any value here; nodes of the search of one
    candidate, and of all of them. φ is `below` where there is no cheaper group, a lower bound where the search gave up.
    Returns (candidate, size, row types): the groups, one after the other, a row type as often as it has rows in it.
    """
    below, never, most_nodes, all_nodes = settings
    found_of, sizes = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    types = np.empty(1024, np.int64)
    groups, end = 0, 0
    for c in range(len(chosen)):
        candidate = candidate_of(candidates, chosen[c])
        least, support = candidate.least, candidate.support
        answers.phi[c], answers.complete[c] = below, True
        if support < least:
            continue
        possible, middle, value = lowest_size(least, support, least, candidate, rows, tree, room)
        bound = rounded(value, tree.grain, tree.tick)
        if not possible or bound >= below:
            continue
        lined = _line_up(candidate, rows, len(cuts.denominators))
        best, best_size = below, 0
        most = min(most_nodes, all_nodes)
        nodes = most
        for step in (1, -1):
            size = middle if step > 0 else middle - 1
            while least <= size <= support and nodes >= 0:
                possible, value, _ = cheapest_of_size(size, False, candidate, rows, tree, room)
                if not possible or rounded(value, tree.grain, tree.tick) >= best:
                    break
                if _limit(size, candidate.values, tree, lined):
                    _prepare(size, lined, never)
                    nodes = max(nodes - size * size // PREPARED, 0)
                    before = best
                    best, nodes = _search_size(size, tree.presence, cuts, best, nodes, lined)
                    if best < before:
                        best_size = size
                        while end + size > len(types):
                            types = doubled(types)
                        for d in range(size):
                            types[end + d] = lined.items[lined.best[d]]
                size += step
        all_nodes -= most - max(nodes, 0)
        answers.phi[c] = best
        if nodes < 0:
            answers.complete[c], answers.phi[c] = False, bound
        if best_size > 0:
            end += best_size
            found_of[groups], sizes[groups] = chosen[c], best_size
            groups += 1
    return found_of[:groups].copy(), sizes[:groups].copy(), types[:end].copy()
