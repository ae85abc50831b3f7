"""The cheapest group of a candidate under multipliers of row types and of rank-1 cuts: exact, depth first.

For one candidate: φ = σ + min { Σ r_i a_i + Σ_R ν_R ⌊p_R·a / d_R⌋ : κ ≤ Σ a_i, 0 ≤ a_i ≤ n_i, a integer } over the row
types i that it covers, with reduced costs r_i = w - λ_i and ν ≥ 0 (`kanon_milp.bounds.rank_one_cuts`). Without the
second sum this is the closed form of `kanon_milp.kernels.closed_form`, a lower bound, since no term of that sum is
negative.

The search: single rows in rising order of r; a group grows by one row after another, always by a later one. What a
partial group can still become costs at least what it costs now plus the next rows in order, as many as it needs to
reach κ, and all further ones with r < 0: its own terms of rank-1 cuts never fall when rows are added. Copies of a row
type are alike, so a later copy is taken only after the earlier ones. Rows that are too expensive for any group below
the value of interest are left out from the beginning.

All values of one call are either float64 or int64, so exact bounds are computed by the same lines. Arrays everywhere:

indptr, members, cost, least, surcharge: of `PricedCandidates`; covers in any order. counts, multipliers: n_i and λ_i,
(t,). begins, cut_of, weight_of, denominators, prices: of `PricedCuts`, the prices being ν. filled: Σ p_i a_i modulo d
of each rank-1 cut, of the group so far. items, reduced: the rows of a cover one by one, by rising reduced cost; prefix:
sums of `reduced` from the left, one more. best: the cheapest group found, as places in `items`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.system.arrays import Flags, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

if not cython.compiled:
    from kanon_milp.kernels.closed_form import add_cheapest
    from kanon_milp.kernels.sorting import sort_stably

Scalar = TypeVar("Scalar", np.float64, np.int64)

SORTED = 5  # nodes of the search that take as long as sorting one row type
FAR = 1 << 61  # more than any multiplier is above that of another row type: covers are in any order
SMALL = 64  # row types of a cover in which those of a group are looked up one by one


def take(
    i: int, begins: Ints, cut_of: Ints, weight_of: Ints, denominators: Ints, prices: NDArray[Scalar], filled: Ints,
    zero: Scalar,
) -> Scalar:  # fmt: skip
    """Add one row of type i to the sums of its rank-1 cuts; what that costs."""
    more = zero
    for e in range(begins[i], begins[i + 1]):
        r = cut_of[e]
        filled[r] += weight_of[e]
        if filled[r] >= denominators[r]:
            more += filled[r] // denominators[r] * prices[r]
            filled[r] %= denominators[r]
    return more


def give_back(i: int, begins: Ints, cut_of: Ints, weight_of: Ints, denominators: Ints, filled: Ints) -> None:
    """Take one row of type i out of the sums of its rank-1 cuts."""
    for e in range(begins[i], begins[i + 1]):
        r = cut_of[e]
        filled[r] -= weight_of[e]
        if filled[r] < 0:
            filled[r] += (denominators[r] - 1 - filled[r]) // denominators[r] * denominators[r]


def _grow(
    items: Ints, reduced: NDArray[Scalar], prefix: NDArray[Scalar], chosen: Ints, values: NDArray[Scalar], best: Ints,
    filled: Ints, count: int, begins: Ints, cut_of: Ints, weight_of: Ints, denominators: Ints, prices: NDArray[Scalar],
    missing: int, value: Scalar, below: Scalar, first: bool, nodes: int,
) -> tuple[Scalar, int, int]:  # fmt: skip
    """Search from a group that has this value and needs `missing` rows more for one below `below`; the cheapest, or
    the first.

    chosen, values: scratch space for the group so far, and what it costs before each row. count: rows that are sorted.
    Returns (value, rows, nodes left): the first so many of `best`; rows is -1 where there is no group below. Nodes left
    is -1 where it gave up.
    """
    zero = value * 0
    negative = 0
    while negative < count and reduced[negative] < 0:
        negative += 1
    found = -1
    if missing <= 0 and value < below:
        below, found = value, 0
        if first:
            return below, found, nodes
    depth, at = 0, 0
    while True:
        need = max(missing - depth, 1)
        end = max(at + need, negative)
        if at + need <= count and value + prefix[end] - prefix[at] < below:
            nodes -= 1
            if nodes < 0:
                break
            values[depth] = value
            chosen[depth] = at
            value += reduced[at] + take(items[at], begins, cut_of, weight_of, denominators, prices, filled, zero)
            depth += 1
            at += 1
            if depth >= missing and value < below:
                below, found = value, depth
                for d in range(depth):
                    best[d] = chosen[d]
                if first:
                    break
        else:
            if depth == 0:
                break
            depth -= 1
            at, value = chosen[depth], values[depth]
            give_back(items[at], begins, cut_of, weight_of, denominators, filled)
            at += 1
            while at < count and items[at] == items[at - 1]:
                at += 1
    for d in range(depth):
        give_back(items[chosen[d]], begins, cut_of, weight_of, denominators, filled)
    return below, found, nodes


def _sort_rows(
    members: Ints32, begin: int, end: int, w: Scalar, counts: NDArray[Scalar], multipliers: NDArray[Scalar],
    limit: Scalar, least: int, without: int, items: Ints, reduced: NDArray[Scalar], prefix: NDArray[Scalar],
    kept: Ints, keys: NDArray[Scalar], order: Ints, other: Ints,
) -> int:  # fmt: skip
    """The rows of the cover members[begin:end] with r < `limit`, one by one by rising r; one row of type `without` is
    left out. kept, keys, order, other: scratch space for the row types of a cover."""
    few = 0
    for at in range(begin, end):
        each = w - multipliers[members[at]]
        if each < limit:
            kept[few], keys[few] = members[at], each
            few += 1
    sort_stably(keys, few, order, other)
    total = w * 0
    prefix[0] = total
    count = 0
    for at in range(few):
        i, each = kept[order[at]], keys[order[at]]
        copies = cython.cast(cython.longlong, counts[i]) - (1 if i == without else 0)
        if each >= 0:
            copies = min(copies, least)
        for _ in range(copies):
            items[count], reduced[count] = i, each
            total += each
            count += 1
            prefix[count] = total
    return count


def _capacities(
    indptr: Ints, members: Ints32, least: NDArray[Scalar], counts: NDArray[Scalar], chosen: Ints
) -> tuple[int, int, int]:
    """What the candidates chosen need at most: (rows, row types, entries of the closed form)."""
    rows, types, heap = 2, 2, 2
    for c in range(len(chosen)):
        g = chosen[c]
        total = 0
        for at in range(indptr[g], indptr[g + 1]):
            total += cython.cast(cython.longlong, counts[members[at]])
        rows, types = max(rows, total + 1), max(types, indptr[g + 1] - indptr[g])
        heap = max(heap, min(cython.cast(cython.longlong, least[g]), len(counts)) + 2)
    return rows, types, heap


def _scratch(rows: int, widest: int, entries: int, kind: Any) -> tuple[NDArray[Any], ...]:
    """Scratch space: items, reduced, prefix, chosen, values and best; kept, keys, order and other; the heap."""
    return (
        np.empty(rows, np.int64), np.empty(rows, kind), np.empty(rows + 1, kind),
        np.empty(rows, np.int64), np.empty(rows, kind), np.empty(rows, np.int64),
        np.empty(widest, np.int64), np.empty(widest, kind), np.empty(widest, np.int64), np.empty(widest, np.int64),
        np.empty(entries, kind), np.empty(entries, np.int64),
    )  # fmt: skip


def _closed_form(
    members: Ints32, begin: int, end: int, w: Scalar, least: Scalar, counts: NDArray[Scalar],
    multipliers: NDArray[Scalar], keys: NDArray[Scalar], items: Ints,
) -> tuple[Scalar, Scalar, bool]:  # fmt: skip
    """(value, marginal, possible): min Σ r_i x_i with Σ x_i ≥ κ, and the highest r ≥ 0 that it takes, 0 for none."""
    value, size = w * 0, w * 0
    for at in range(begin, end):
        i = members[at]
        reduced = w - multipliers[i]
        if reduced < 0:
            value += counts[i] * reduced
            size += counts[i]
    if size >= least:
        return value, w * 0, True
    entries, over, added = add_cheapest(
        members, begin, end, counts, multipliers, multipliers, w * 0 + FAR, w, least - size, keys, items
    )
    if over < 0:
        return value, w * 0, False
    return value + added, keys[entries - 1], True


def cheapest_groups(
    indptr: Ints, members: Ints32, cost: NDArray[Scalar], least: NDArray[Scalar], surcharge: NDArray[Scalar],
    counts: NDArray[Scalar], multipliers: NDArray[Scalar],
    begins: Ints, cut_of: Ints, weight_of: Ints, denominators: Ints, prices: NDArray[Scalar],
    chosen: Ints, below: Scalar, most_nodes: int,
) -> tuple[NDArray[Scalar], Flags, tuple[Ints, Ints, Ints]]:  # fmt: skip
    """The cheapest group of each chosen candidate, if it is below `below`.

    most_nodes: of the search of one candidate. Returns of each of them (chosen,) the value of the group, which is
    `below` where there is none cheaper, and the closed form where the search gave up; whether it came to its end; and
    the groups, one after the other: (candidate, size, row types), a row type as often as it has rows in it.
    """
    rows, widest, entries = _capacities(indptr, members, least, counts, chosen)
    items, reduced, prefix, places, values, best, kept, keys, order, other, heap_keys, heap = _scratch(
        rows, widest, entries, np.asarray(cost).dtype
    )
    filled = np.zeros(len(denominators), np.int64)
    phi, complete = np.empty(len(chosen), np.asarray(cost).dtype), np.ones(len(chosen), np.uint8)
    found_of, sizes = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    types = np.empty(1024, np.int64)
    groups, length = 0, 0
    with cython.nogil:
        for c in range(len(chosen)):
            g = chosen[c]
            w, begin, end, needed = cost[g], indptr[g], indptr[g + 1], max(cython.cast(cython.longlong, least[g]), 1)
            phi[c] = below
            # no group costs less than all its rows with r < 0 alone
            value = surcharge[g]
            for at in range(begin, end):
                i = members[at]
                if w < multipliers[i]:
                    value += counts[i] * (w - multipliers[i])
            if value >= below:
                continue
            value, marginal, possible = _closed_form(
                members, begin, end, w, least[g], counts, multipliers, heap_keys, heap
            )
            value += surcharge[g]
            if not possible or value >= below:
                continue
            count = _sort_rows(
                members, begin, end, w, counts, multipliers, below - value + marginal, needed, -1,
                items, reduced, prefix, kept, keys, order, other,
            )  # fmt: skip
            cheapest, found, left = _grow(
                items, reduced, prefix, places, values, best, filled, count,
                begins, cut_of, weight_of, denominators, prices, needed, surcharge[g], below, False, most_nodes,
            )  # fmt: skip
            if left < 0:
                complete[c] = False
                phi[c] = value
            elif found > 0:
                phi[c] = cheapest
            if found > 0:
                while length + found > len(types):
                    with cython.gil:
                        types = np.resize(np.asarray(types), 2 * len(types))
                for d in range(found):
                    types[length + d] = items[best[d]]
                length += found
                found_of[groups], sizes[groups] = g, found
                groups += 1
    return (
        np.asarray(phi), np.asarray(complete).view(np.bool_),
        (np.asarray(found_of)[:groups].copy(), np.asarray(sizes)[:groups].copy(), np.asarray(types)[:length].copy()),
    )  # fmt: skip


def possible_pairs(
    indptr: Ints, members: Ints32, cost: NDArray[Scalar], least: NDArray[Scalar], surcharge: NDArray[Scalar],
    counts: NDArray[Scalar], multipliers: NDArray[Scalar],
    begins: Ints, cut_of: Ints, weight_of: Ints, denominators: Ints, prices: NDArray[Scalar],
    below: NDArray[Scalar], most_nodes: int, most_steps: int,
) -> Flags:  # fmt: skip
    """Per pair whether the candidate has a group with a row of this type below its value `below` (G,).

    most_nodes: of the search of one pair. most_steps: of all of them, rows that are lined up and nodes; pairs after
    that are decided by the closed form. True as well where a search gave up.
    """
    every = np.arange(len(cost))
    rows, widest, entries = _capacities(indptr, members, least, counts, every)
    items, reduced, prefix, places, values, best, kept, keys, order, other, heap_keys, heap = _scratch(
        rows, widest, entries, np.asarray(cost).dtype
    )
    filled = np.zeros(len(denominators), np.int64)
    possible = np.zeros(len(members), np.uint8)
    with cython.nogil:
        for g in range(len(cost)):
            w, begin, end, needed = cost[g], indptr[g], indptr[g + 1], max(cython.cast(cython.longlong, least[g]), 1)
            value, marginal, enough = _closed_form(
                members, begin, end, w, least[g], counts, multipliers, heap_keys, heap
            )
            value += surcharge[g]
            if not enough or value >= below[g]:
                continue
            limit = below[g] - value + marginal
            for place in range(begin, end):
                i = members[place]
                each = w - multipliers[i]
                if possible[place] or each >= limit:
                    continue
                if most_steps <= 0:
                    possible[place] = True
                    continue
                count = _sort_rows(
                    members, begin, end, w, counts, multipliers, limit, needed, i,
                    items, reduced, prefix, kept, keys, order, other,
                )  # fmt: skip
                value = surcharge[g] + each
                value += take(i, begins, cut_of, weight_of, denominators, prices, filled, w * 0)
                _, found, left = _grow(
                    items, reduced, prefix, places, values, best, filled, count, begins, cut_of, weight_of,
                    denominators, prices, needed - 1, value, below[g], True, most_nodes,
                )  # fmt: skip
                give_back(i, begins, cut_of, weight_of, denominators, filled)
                most_steps -= SORTED * (end - begin) + most_nodes - max(left, 0)
                possible[place] = found >= 0 or left < 0
                if found > 0 and end - begin <= SMALL:
                    # the other rows of this group need no search of their own
                    for d in range(found):
                        for at in range(begin, end):
                            if members[at] == items[best[d]]:
                                possible[at] = True
    found_pairs: Flags = np.asarray(possible).view(np.bool_)
    return found_pairs
