"""Candidates priced level vector by level vector, without a list of them: which ones have φ below a threshold.

φ_g = min { Σ (w - λ_i) x_i : Σ x_i ≥ κ, 0 ≤ x_i ≤ n_i } over the row types i that candidate g covers (`closed_form`).
Row types come by falling λ. A group with φ below the threshold has a row with κ·(w - λ_i) below it, so under a level
vector only the row types before the first one without that are put into a hash table, and those after it looked up
only as long as some group that lacks rows can still come below the threshold. A candidate counts if it is closed: in no
column its cover has one label already in the class below (a class is a level, or some of equal cost); of candidates
that are not below the threshold nobody asks that.

Where costs depend on labels, w is that of the group's own labels, and a row type is looked at where its own labels
promise enough. The class below is then the highest one in which its label costs less, and a label that costs what the
one above it does stands for nothing.

All values of one call are either float64 or int64, so exact bounds are computed by the same lines.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.growing import doubled
from kanon_milp.system.arrays import Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

Scalar = TypeVar("Scalar", np.float64, np.int64)

NONE, UNKNOWN = -1, -2  # instead of the number of a group
LOW = (1 << 32) - 1  # the lower half of an entry


def _slot(one: int, other: int, mark: int, mask: int, slots: Ints) -> int:
    """Where a hash table has the pair of labels (one, other), or where it goes.

    slots: int64 (slots, 2), the pair and, times 2^32, the level vector that has put it there; mark: the one at hand;
    mask: one less than the slots that it uses, a power of two.
    """
    key = cython.cast(cython.longlong, one) << 32 | cython.cast(cython.longlong, other)
    at = (cython.cast(cython.longlong, one) * 1640531527) ^ (cython.cast(cython.longlong, other) * 1103515245)
    slot: int = (at ^ (at >> 15)) & mask
    while slots[slot, 1] >> 32 == mark and slots[slot, 0] != key:
        slot = (slot + 1) & mask
    return slot


def cheapest_vectors(
    first: Ints32, second: Ints32, of_first: Ints, of_second: Ints, first_cost: Ints, second_cost: Ints, cost: Ints,
    least: Ints, counts: Ints, found: Ints,
) -> int:  # fmt: skip
    """What each row type loses at least where it is like enough others, into `found` (t,), -1 where it never is; and
    how many these are. cost: int64, rising; least, counts: int64; the others as below."""
    types, width, by_label, highest = len(counts), 64, len(first_cost) > 0, 0
    while width < 2 * types:
        width *= 2
    slots, size, group = np.full((width, 2), -1, np.int64), np.empty(width, np.int64), np.empty(types, np.int64)
    missing = types
    with cython.nogil:
        for i in range(types):
            found[i] = -1
        for v in range(len(least)):
            if missing == 0 and cost[v] >= highest:
                break
            a, b = of_first[v], of_second[v]
            for i in range(types):
                slot = _slot(first[a, i], second[b, i], v, width - 1, slots)
                if slots[slot, 1] >> 32 != v:
                    slots[slot, 0] = cython.cast(cython.longlong, first[a, i]) << 32 | cython.cast(
                        cython.longlong, second[b, i]
                    )
                    slots[slot, 1], size[slot] = cython.cast(cython.longlong, v) << 32, 0
                size[slot] += counts[i]
                group[i] = slot
            highest = 0
            for i in range(types):
                if size[group[i]] >= least[v]:
                    w = first_cost[a, i] + second_cost[b, i] if by_label else cost[v]
                    if found[i] < 0:
                        missing -= 1
                    if found[i] < 0 or w < found[i]:
                        found[i] = w
                highest = max(highest, found[i])
    return missing


def price_vectors(
    first: Ints32, second: Ints32, of_first: Ints, of_second: Ints, first_cost: NDArray[Scalar],
    second_cost: NDArray[Scalar], label: Ints32, cheaper: Ints32, classes: Ints32, always: int, closed: bool,
    cost: NDArray[Scalar], least: NDArray[Scalar], counts: NDArray[Scalar], multipliers: NDArray[Scalar],
    added: Scalar, threshold: Scalar, margin: Scalar, listed: bool, below: NDArray[Scalar],
) -> tuple[Ints32, NDArray[Scalar], Ints, Ints32]:  # fmt: skip
    """Σ min(0, φ) over the candidates of each level vector, and those with φ below the threshold; φ with what is
    added.

    first, second: int32 (halves, t), what tells row types apart in the first columns and in the others; first_cost,
    second_cost: of the same shapes, what they lose there, (0, 0) where that is the level vector's; of_first, of_second:
    (V,), which of these a level vector has. label: int32 (columns, classes, t); cheaper: of the same shape, the highest
    class in which the label costs less, -1 for none, -2 where the next one costs as much; (0, 0, 0) where
    that is the class below. classes: int32 (V, columns). closed: whether only closed candidates count; always: number
    of the level vector of which all do, -1 for none. cost, least: (V,), w, or the least, and κ ≥ 1. counts,
    multipliers: (t,), n and λ, falling. threshold ≥ 0.

    Into below (V,): the sums. Returns, if they are to be listed, of each candidate with φ < threshold its level vector
    and φ, and its cover as (indptr, members): the row types with w - λ below the margin, and at least those that its
    group is made of.
    """
    types, width, by_label = len(counts), 64, len(first_cost) > 0
    while width < 2 * types:
        width *= 2
    kind = np.asarray(cost).dtype
    slots, group = np.full((width, 2), -1, np.int64), np.empty(types, np.int32)
    value, size, head = np.empty(types, kind), np.empty(types, kind), np.empty(types, np.int32)
    price, every = np.empty(types, kind), np.empty(types, np.int64)
    asked, turn = np.zeros(types, np.int64), 0
    live, unlike, length = np.empty(types, np.int32), np.empty(types, np.int64), np.empty(types, np.int64)
    vectors, phi, ends = np.empty(1024, np.int32), np.empty(1024, kind), np.zeros(1025, np.int64)
    members = np.empty(1024, np.int32)
    number, pairs, columns, count = 0, 0, classes.shape[1], len(cost)
    with cython.nogil:
        limit = threshold - added
        wide = max(limit, added - added)
        for v in range(count):
            w, need = cost[v], least[v]
            a, b = of_first[v], of_second[v]
            below[v] = 0
            groups, i, low, high = 0, 0, 0, types
            while low < high:
                p = (low + high) // 2
                if (w - multipliers[p]) * need < wide:
                    low = p + 1
                else:
                    high = p
            mask = 64
            while mask < 2 * low:
                mask *= 2
            mask -= 1
            skipped = low
            while i < low:
                if by_label:
                    w = first_cost[a, i] + second_cost[b, i]
                reduced = w - multipliers[i]
                if by_label and reduced * need >= wide:
                    group[i] = UNKNOWN
                    skipped = min(skipped, i)
                    i += 1
                    continue
                slot = _slot(first[a, i], second[b, i], v, mask, slots)
                if slots[slot, 1] >> 32 != v:
                    slots[slot, 0] = cython.cast(cython.longlong, first[a, i]) << 32 | cython.cast(
                        cython.longlong, second[b, i]
                    )
                    slots[slot, 1] = cython.cast(cython.longlong, v) << 32 | groups
                    value[groups], size[groups], head[groups], price[groups] = 0, 0, i, w
                    groups += 1
                g = slots[slot, 1] & LOW
                group[i] = g
                if reduced < 0:
                    value[g] += counts[i] * reduced
                    size[g] += counts[i]
                elif size[g] < need:
                    amount = min(counts[i], need - size[g])
                    value[g] += amount * reduced
                    size[g] += amount
                i += 1
            alive = 0
            for h in range(groups):
                if size[h] < need:
                    live[alive] = h
                    alive += 1
            i = skipped
            check, step = i, 64
            while alive > 0 and i < types:
                if i < low and group[i] != UNKNOWN:
                    i += 1
                    continue
                if i >= check:
                    kept = 0
                    turn += 1
                    for e in range(alive):
                        g = live[e]
                        if size[g] < need and value[g] + (need - size[g]) * (price[g] - multipliers[i]) < limit:
                            live[kept] = g
                            kept += 1
                            asked[first[a, head[g]]] = turn
                    alive = kept
                    if alive == 0:
                        break
                    check, step = i + step, min(2 * step, 1024)
                group[i] = UNKNOWN
                if asked[first[a, i]] == turn:
                    slot = _slot(first[a, i], second[b, i], v, mask, slots)
                    group[i] = slots[slot, 1] & LOW if slots[slot, 1] >> 32 == v else NONE
                    g = group[i]
                    if g >= 0 and size[g] < need:
                        amount = min(counts[i], need - size[g])
                        value[g] += amount * (price[g] - multipliers[i])
                        size[g] += amount
                i += 1
            end, unsure, some, needed = max(i, low), 0, 0, 0
            turn += 1
            if closed and v != always:
                for j in range(columns):
                    if classes[v, j] > 0:
                        needed |= cython.cast(cython.longlong, 1) << j
            for h in range(groups):
                unlike[h], every[h] = -1, needed
                if size[h] >= need and value[h] < limit:
                    unlike[h] = 0
                    if by_label and closed and v != always:
                        for j in range(columns):
                            c = cheaper[j, classes[v, j], head[h]]
                            if c == NONE:
                                every[h] &= ~(cython.cast(cython.longlong, 1) << j)
                            elif c == UNKNOWN:
                                unlike[h] = -1
                if unlike[h] == 0:
                    some += 1
                    unsure += 1 if every[h] != 0 else 0
                    asked[first[a, head[h]]] = turn
            if some == 0:
                continue
            # in which columns the cover has two labels in the class below
            i = 0
            while unsure > 0 and i < types:
                if i >= end or group[i] == UNKNOWN:
                    group[i] = NONE
                    if asked[first[a, i]] == turn:
                        slot = _slot(first[a, i], second[b, i], v, mask, slots)
                        group[i] = slots[slot, 1] & LOW if slots[slot, 1] >> 32 == v else NONE
                g = group[i]
                if g >= 0 and unlike[g] >= 0 and unlike[g] != every[g]:
                    for j in range(columns):
                        c = classes[v, j] - 1
                        if by_label and c >= 0:
                            c = cheaper[j, classes[v, j], head[g]]
                        if c >= 0 and label[j, c, i] != label[j, c, head[g]]:
                            unlike[g] |= cython.cast(cython.longlong, 1) << j
                    if unlike[g] == every[g]:
                        unsure -= 1
                i += 1
            for h in range(groups):
                if unlike[h] != every[h]:
                    unlike[h] = -1
                elif value[h] + added < 0:
                    below[v] += value[h] + added
                size[h] = length[h] = 0
            if not listed:
                continue
            last, w = 0, cost[v]
            while last < types and (last < end or w - multipliers[last] < margin):
                if last >= end or group[last] == UNKNOWN:
                    group[last] = NONE
                    if asked[first[a, last]] == turn:
                        slot = _slot(first[a, last], second[b, last], v, mask, slots)
                        group[last] = slots[slot, 1] & LOW if slots[slot, 1] >> 32 == v else NONE
                last += 1
            for p in range(last):
                g = group[p]
                if g >= 0 and unlike[g] >= 0:
                    if by_label and size[g] >= need and price[g] - multipliers[p] >= margin:
                        group[p] = NONE
                        continue
                    length[g] += 1
                    size[g] += counts[p]
            for h in range(groups):
                if unlike[h] < 0:
                    continue
                if number == len(vectors):
                    with cython.gil:
                        vectors, phi, ends = doubled(vectors), doubled(phi), doubled(ends)
                vectors[number], phi[number] = v, value[h] + added
                pairs += length[h]
                length[h] = pairs - length[h]
                number += 1
                ends[number] = pairs
            while pairs > len(members):
                with cython.gil:
                    members = doubled(members)
            for p in range(last):
                g = group[p]
                if g >= 0 and unlike[g] >= 0:
                    members[length[g]] = p
                    length[g] += 1
    return (
        np.array(vectors[:number], np.int32), np.array(phi[:number], kind), np.array(ends[: number + 1], np.int64),
        np.array(members[:pairs], np.int32),
    )  # fmt: skip
