"""The cheapest group of a few rows, exactly, for every candidate under a relaxation that charges EMD cost; compiled.

A charge θ_g relaxes the EMD cost that t-closeness limits, and that is weakest for small groups: one row that is far
from the table's values and one that is near are within the limit on an average of two points of the subproblem, though
no group has two thirds of a row. Where single rows are allowed (the ordered distance: a row near the median), nearly
all groups have one, two or three rows, and a bound that knows charges alone is half of the optimum.

So groups of up to `SmallSizes.most` rows are looked at one by one. Which of them are allowed depends on their values
alone: a table with one entry for each multiset of values, in exact integers. The search goes depth first through rows
of rising reduced cost; the rows of one value are taken in this order, too, since one more expensive changes nothing
else. What is still to come costs at least the next rows in order. Where it takes too many steps it gives up, and the
candidate has the charged bound for these sizes as well.

All larger groups keep the charge (`kanon_milp.bounds.valued_groups` with a smallest size of `most` + 1).

Tables are put together from lists of all groups of a few rows whose reduced cost is low.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.relaxations import Node, Relaxation
from kanon_milp.bounds.tree_subproblem import ValuedCover, integral_limits
from kanon_milp.bounds.valued_groups import candidate_of
from kanon_milp.kernels.tree_subproblem import ValuedCandidates, ValuedRows
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.jit import compiled, compiled_part
from kanon_milp.system.kernels import stable_order

Scalar = TypeVar("Scalar", np.float64, np.int64)

MOST = 4  # rows of a group
STEPS = 100_000_000  # multisets times nodes of a table, at most: a tenth of a second
LARGEST = 1 << 62


class SmallSizes(NamedTuple):
    """Which groups of up to `most` rows a relaxation allows.

    allowed: bool, for all multisets of values, those of S rows from begins[S] on. begins: int64 (most + 2,). ways:
    int64 (V + most, most + 1), binomial coefficients: the ranks u_1 ≤ u_2 ≤ ... ≤ u_S of values in the order of the
    nodes are number Σ_j ways[u_j + j - 1, j] of their size.
    """

    most: int
    allowed: Flags
    begins: Ints
    ways: Ints


class SortedRows(NamedTuple, Generic[Scalar]):
    """Scratch space for the rows of one candidate. Those that may be in a small group, by rising reduced cost: keys
    (one more, sums of them in `prefix`), items: row types, values: ranks, before: place of the one of the same value
    before, -1 for the first. used, chosen, spent: the group so far. best: row types of the cheapest one, -1 for no row.
    lows: the
    least reduced costs. Of one value: own_keys, own_items."""

    keys: NDArray[Scalar]
    prefix: NDArray[Scalar]
    items: Ints
    values: Ints
    before: Ints
    used: Flags
    chosen: Ints
    spent: NDArray[Scalar]
    best: Ints
    lows: NDArray[Scalar]
    own_keys: NDArray[Scalar]
    own_items: Ints


def small_sizes(relaxation: Relaxation, least: Ints) -> SmallSizes | None:
    """The sizes that are looked at one by one; None without a charge, where there are too many values, or where no
    group is so small. least: smallest sizes of groups, of all candidates."""
    if relaxation.closeness is None or least.min(initial=MOST + 1) > MOST:
        return None
    found = _small_sizes(relaxation.nodes, relaxation.closeness)
    return found if found.most else None


@lru_cache(maxsize=4)
def _small_sizes(nodes: tuple[Node, ...], closeness: Fraction) -> SmallSizes:
    relaxation = Relaxation("", nodes, closeness=closeness)
    count, most = len(relaxation.ranks), 0
    while most < MOST and math.comb(count + most, most + 1) * len(nodes) <= STEPS:
        most += 1
    ways = np.array([[math.comb(a, b) for b in range(most + 1)] for a in range(count + most)], np.int64)
    each = [0, 1, *(math.comb(count + size - 1, size) for size in range(1, most + 1))]
    begins = np.cumsum(each, dtype=np.int64)
    allowed = np.zeros(int(begins[-1]), np.bool_)
    scale = math.lcm(*(node.share.denominator for node in nodes))
    unit = math.lcm(closeness.denominator, *(node.weight.denominator for node in nodes))
    edges = math.ceil(sum(node.weight for node in nodes)) + 1
    # where numbers would be too long, weights are rounded so that no group is refused that is allowed
    unit = min(unit, LARGEST // (edges * scale * MOST))
    if unit < 1:
        return SmallSizes(0, allowed, begins, ways)
    tree = relaxation.floats()
    weights = np.array([int(node.weight * unit) for node in nodes], np.int64)
    shares = np.array([int(node.share * scale) for node in nodes], np.int64)
    limit = math.ceil(closeness * unit) * scale
    for size in range(1, most + 1):
        _allow(size, (tree.own, tree.children, tree.of_value), (shares, weights), (scale, limit),
               allowed[begins[size] : begins[size + 1]])  # fmt: skip
    return SmallSizes(most, allowed, begins, ways)


@compiled
def _allow(
    size: int, tree: tuple[Ints, Ints, Ints], emd: tuple[Ints, Ints], limit: tuple[int, int], into: Flags
) -> None:
    """Whether each multiset of so many values is within the EMD cost and the limits of single values.

    tree: own, children and of_value of the nodes. emd: their shares and weights. limit: the denominator of shares, and
    the EMD cost of one row, in these units.
    """
    own, children, of_value = tree
    share, weight = emd
    scale, most = limit
    values = own.max() + 1
    held, below = np.zeros(values, np.int64), np.zeros(len(own) + 1, np.int64)
    ranks = np.zeros(size, np.int64)
    for number in range(len(into)):
        for v in range(values):
            held[v] = 0
        for j in range(size):
            held[ranks[j]] += 1
        top, far, good = 0, 0, True
        for v in range(len(own)):
            inside = held[own[v]] if own[v] >= 0 else 0
            if own[v] >= 0:
                low, high = integral_limits(of_value[v], size)
                good = good and low <= inside <= high
            for _ in range(children[v]):
                top -= 1
                inside += below[top]
            far += weight[v] * abs(scale * inside - share[v] * size)
            below[top] = inside
            top += 1
        into[number] = good and far <= most * size
        j = 0
        while j < size - 1 and ranks[j] == ranks[j + 1]:
            j += 1
        ranks[j] += 1
        for i in range(j):
            ranks[i] = 0


@compiled
def make_sorted_rows(most: int, values: int, kind: NDArray[Scalar]) -> SortedRows[Scalar]:
    """Scratch space for groups of at most so many rows. kind: an array of the numbers' type."""
    length = most * values + 1
    return SortedRows(
        np.empty(length, kind.dtype), np.empty(length + 1, kind.dtype), np.empty(length, np.int64),
        np.empty(length, np.int64), np.empty(length, np.int64), np.zeros(length, np.bool_),
        np.empty(most + 1, np.int64), np.empty(most + 2, kind.dtype), np.empty(most, np.int64),
        np.empty(most + 1, kind.dtype), np.empty(most + 1, kind.dtype), np.empty(most + 1, np.int64),
    )  # fmt: skip


@compiled_part
def _sort_rows(
    below: Scalar, candidate: ValuedCover[Scalar], rows: ValuedRows[Scalar], most: int, sorted_rows: SortedRows[Scalar]
) -> int:
    """The rows that can be in a group of at most `most` rows that costs less than `below`, which may be infinite, in
    order; how many."""
    cover, lows = candidate.members, sorted_rows.lows
    # the least reduced costs of all
    kept = 0
    for i in cover:
        key = candidate.w - rows.multipliers[i]
        copies = min(int(rows.counts[i]), most)
        for _ in range(copies):
            if kept == most and key >= lows[kept - 1]:
                break
            at = min(kept, most - 1)
            while at > 0 and lows[at - 1] > key:
                lows[at] = lows[at - 1]
                at -= 1
            lows[at] = key
            kept = min(kept + 1, most)
    # all other rows of a group cost at least the least negative ones
    highest = below
    for at in range(min(kept, most - 1)):
        highest -= min(lows[at], candidate.w * 0)
    if kept == 0 or lows[0] >= highest:
        return 0
    length = 0
    for cell in range(len(candidate.values)):
        own = 0
        for at in range(candidate.begins[cell], candidate.begins[cell + 1]):
            i = cover[at]
            key = candidate.w - rows.multipliers[i]
            if key >= highest:
                continue
            for _ in range(min(int(rows.counts[i]), most)):
                if own == most and key >= sorted_rows.own_keys[own - 1]:
                    break
                place = min(own, most - 1)
                while place > 0 and sorted_rows.own_keys[place - 1] > key:
                    sorted_rows.own_keys[place], sorted_rows.own_items[place] = (
                        sorted_rows.own_keys[place - 1],
                        sorted_rows.own_items[place - 1],
                    )
                    place -= 1
                sorted_rows.own_keys[place], sorted_rows.own_items[place] = key, i
                own = min(own + 1, most)
        for at in range(own):
            sorted_rows.keys[length], sorted_rows.items[length] = sorted_rows.own_keys[at], sorted_rows.own_items[at]
            sorted_rows.values[length] = candidate.values[cell]
            length += 1
    order = stable_order(sorted_rows.keys[:length])
    keys, items, values = (
        sorted_rows.keys[:length][order],
        sorted_rows.items[:length][order],
        sorted_rows.values[:length][order],
    )
    places = np.empty(length, np.int64)
    places[order] = np.arange(length)
    sorted_rows.prefix[0] = candidate.w * 0
    for at in range(length):
        first = order[at] == 0 or values[at] != sorted_rows.values[order[at] - 1]
        sorted_rows.before[at] = -1 if first else places[order[at] - 1]
        sorted_rows.prefix[at + 1] = sorted_rows.prefix[at] + keys[at]
        sorted_rows.used[at] = False
    for at in range(length):
        sorted_rows.keys[at], sorted_rows.items[at], sorted_rows.values[at] = keys[at], items[at], values[at]
    return length


@compiled_part
def is_allowed(some: int, size: int, small: SmallSizes, sorted_rows: SortedRows[Scalar]) -> bool:
    """Whether a part of the group that is chosen is allowed. some: bit d for its row number d; size: of the group."""
    number, rows = 0, 0
    # its values in ascending order, each by the number of those before it
    for d in range(size):
        if some >> d & 1 == 0:
            continue
        rows += 1
        value, j = sorted_rows.values[sorted_rows.chosen[d]], 1
        for other in range(size):
            if some >> other & 1 == 0:
                continue
            another = sorted_rows.values[sorted_rows.chosen[other]]
            if another < value or (another == value and other < d):
                j += 1
        number += small.ways[value + j - 1, j]
    return bool(small.allowed[small.begins[rows] + number])


@compiled_part
def cheapest_small_group(
    below: Scalar,
    tried: int,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    small: SmallSizes,
    sorted_rows: SortedRows[Scalar],
) -> tuple[bool, Scalar]:
    """The cheapest allowed group of few rows, if it costs less than `below`: (whether the search came to its end, what
    it costs or `below`). Its rows are in `sorted_rows.best`."""
    best = below
    for d in range(small.most):
        sorted_rows.best[d] = -1
    length = _sort_rows(below, candidate, rows, small.most, sorted_rows)
    if length == 0:
        return True, best
    prefix, chosen, spent = sorted_rows.prefix, sorted_rows.chosen, sorted_rows.spent
    for size in range(max(candidate.least, 1), min(small.most, candidate.support) + 1):
        depth, at = 0, 0
        spent[0] = candidate.w * 0
        while True:
            need = size - depth
            if at + need <= length and spent[depth] + (prefix[at + need] - prefix[at]) < best:
                tried -= 1
                if tried < 0:
                    return False, best
                if sorted_rows.before[at] < 0 or sorted_rows.used[sorted_rows.before[at]]:
                    chosen[depth] = at
                    if need > 1:
                        sorted_rows.used[at] = True
                        spent[depth + 1] = spent[depth] + sorted_rows.keys[at]
                        depth += 1
                    elif is_allowed((1 << size) - 1, size, small, sorted_rows):
                        best = spent[depth] + sorted_rows.keys[at]
                        for d in range(small.most):
                            sorted_rows.best[d] = sorted_rows.items[chosen[d]] if d < size else -1
                at += 1
                continue
            if depth == 0:
                break
            depth -= 1
            at = chosen[depth]
            sorted_rows.used[at] = False
            at += 1
    return True, best


@compiled
def cheapest_small_groups(
    candidates: ValuedCandidates[Scalar],
    rows: ValuedRows[Scalar],
    small: SmallSizes,
    tried: int,
    left: Flags,
    phi: NDArray[Scalar],
    chosen: Ints32,
) -> None:
    """For all candidates in `left` the least of φ and the cheapest small group into φ, and its rows into `chosen`,
    int32 (G, most), -1 for no row. `left` stays where the search gave up."""
    sorted_rows = make_sorted_rows(small.most, len(small.ways), candidates.cost)
    for g in range(len(left)):
        for d in range(small.most):
            chosen[g, d] = -1
        if not left[g]:
            continue
        complete, phi[g] = cheapest_small_group(phi[g], tried, candidate_of(candidates, g), rows, small, sorted_rows)
        left[g] = not complete
        if complete:
            for d in range(small.most):
                chosen[g, d] = sorted_rows.best[d]


@compiled
def take_small_groups(
    candidates: tuple[Ints, Ints32],
    wanted: Flags,
    chosen: Ints32,
    taken: Floats,
    average: Floats,
) -> None:
    """Add the rows of wanted candidates' small groups to row types, and those of each pair times the last entry to the
    averages; arrays that are not asked for are empty. candidates: indptr and ascending members."""
    indptr, members = candidates
    for g in range(len(wanted)):
        if not wanted[g]:
            continue
        for d in range(chosen.shape[1]):
            i = chosen[g, d]
            if i < 0:
                break
            if len(taken) > 0:
                taken[i] += 1.0
            if len(average) > 0:
                at = indptr[g] + np.searchsorted(members[indptr[g] : indptr[g + 1]], i)
                average[at] += average[-1]


@compiled_part
def _list_rows(
    below: Scalar, candidate: ValuedCover[Scalar], rows: ValuedRows[Scalar], most: int
) -> tuple[NDArray[Scalar], Ints, Ints]:
    """All rows that can be in a group that costs less than `below`, by rising reduced cost: reduced costs, row types,
    ranks of values. A row type is there as often as it can have rows in it."""
    length = 0
    for i in candidate.members:
        length += min(int(rows.counts[i]), most)
    keys, items = np.empty(length, rows.multipliers.dtype), np.empty(length, np.int64)
    at = 0
    for i in candidate.members:
        for _ in range(min(int(rows.counts[i]), most)):
            keys[at], items[at] = candidate.w - rows.multipliers[i], i
            at += 1
    order = stable_order(keys)
    highest = below
    for d in range(min(length, most - 1)):
        highest -= min(keys[order[d]], below * 0)
    kept = 0
    while kept < length and keys[order[kept]] < highest:
        kept += 1
    chosen = order[:kept]
    return keys[chosen], items[chosen], rows.value[items[chosen]]


@compiled
def list_small_groups(
    candidates: ValuedCandidates[Scalar],
    rows: ValuedRows[Scalar],
    small: SmallSizes,
    below: Scalar,
    limit: int,
) -> tuple[bool, Ints, Ints]:
    """All allowed groups of up to `small.most` rows with a reduced cost under `below` that do not fall into two allowed
    ones: (whether there are no more than `limit`, and they were found within a thousand times as many steps,
    candidates, row types (C, most), -1 for no row)."""
    most, groups, steps = small.most, 0, 1000 * limit
    found, types = np.empty(limit, np.int64), np.full((limit, most), -1, np.int64)
    chosen, spent = np.empty(most, np.int64), np.empty(most + 1, rows.multipliers.dtype)
    for g in range(len(candidates.cost)):
        candidate = candidate_of(candidates, g)
        # of a group that costs less than something positive one row does so, too
        one = below < 0
        for i in candidate.members:
            one = one or candidate.w - rows.multipliers[i] < below
        if not one:
            continue
        keys, items, values = _list_rows(below, candidate, rows, most)
        length = len(keys)
        sorted_rows = SortedRows(
            keys, keys, items, values, items, np.zeros(0, np.bool_), chosen, spent, items, keys, keys, items
        )
        prefix = np.empty(length + 1, keys.dtype)
        prefix[0] = below * 0
        for at in range(length):
            prefix[at + 1] = prefix[at] + keys[at]
        for size in range(max(candidate.least, 1), min(most, candidate.support) + 1):
            depth, at = 0, 0
            spent[0] = below * 0
            while True:
                need = size - depth
                if at + need <= length and spent[depth] + (prefix[at + need] - prefix[at]) < below:
                    steps -= 1
                    if steps < 0:
                        return False, found[:groups], types[:groups]
                    # rows of one type are taken one after the other
                    if at == 0 or items[at - 1] != items[at] or (depth > 0 and chosen[depth - 1] == at - 1):
                        chosen[depth] = at
                        if need > 1:
                            spent[depth + 1] = spent[depth] + keys[at]
                            depth += 1
                        elif is_allowed((1 << size) - 1, size, small, sorted_rows) and not _falls_apart(
                            size, candidate.least, small, sorted_rows
                        ):
                            if groups == limit:
                                return False, found, types
                            found[groups] = g
                            for d in range(size):
                                types[groups, d] = items[chosen[d]]
                            groups += 1
                    at += 1
                    continue
                if depth == 0:
                    break
                depth -= 1
                at = chosen[depth] + 1
    return True, found[:groups], types[:groups]


@compiled_part
def _falls_apart(size: int, least: int, small: SmallSizes, sorted_rows: SortedRows[Scalar]) -> bool:
    """Whether the group that is chosen is two allowed ones together."""
    every = (1 << size) - 1
    for some in range(1, every, 2):  # the part with the first row
        rows = 0
        for d in range(size):
            rows += some >> d & 1
        if rows < least or size - rows < least:
            continue
        if is_allowed(some, size, small, sorted_rows) and is_allowed(every - some, size, small, sorted_rows):
            return True
    return False
