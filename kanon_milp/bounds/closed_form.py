"""The closed form of the Lagrangian subproblems, compiled; one source for floating point and for whole numbers.

For one candidate: φ = σ + min { Σ r_i x_i : Σ x_i ≥ κ, 0 ≤ x_i ≤ n_i } over the row types i that it covers, with the
reduced costs r_i = w - λ_i. All rows with r_i < 0 are taken; if they are fewer than κ, the cheapest others are added up
to κ.

Covers are sorted by the multipliers of a while ago, and most of each is not looked at: with λ_i ≤ order_i + rise for
all i, no row type from one with w - order_i ≥ rise on has r < 0, and none from one with w - order_i - rise ≥ r on is
cheaper than r. Of all of Adult's pairs, 2 to 10 % are left. That the cheapest row not taken costs so much also tells,
of three in four candidates with rows of r < 0, that they need too many others to have φ < 0.

All values of one call are either float64 or int64, so the exact bound is computed by the same lines.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.system.jit import compiled

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Scalar = TypeVar("Scalar", np.float64, np.int64)


@compiled
def add_cheapest(
    members: Codes,
    begin: int,
    end: int,
    w: Scalar,
    need: Scalar,
    rows: NDArray[Scalar],
    multipliers: NDArray[Scalar],
    order: NDArray[Scalar],
    rise: Scalar,
    keys: NDArray[Scalar],
    items: Ints,
) -> tuple[int, Scalar, Scalar]:
    """The cheapest `need` > 0 rows whose reduced cost is not negative, of the cover members[begin:end].

    order, rise: as in `subproblems`. Returns (entries, over, value): the row types items[:entries] with reduced costs
    keys[:entries], the cheapest first; of the rows of the last one `over` are too many. value: Σ r_i x_i of these rows.
    over < 0 if there are too few.
    """
    entries = 0
    held = w * 0
    for at in range(begin, end):
        i = members[at]
        if held >= need and w - order[i] - rise >= keys[entries - 1]:
            break
        reduced = w - multipliers[i]
        if reduced >= 0 and (held < need or reduced < keys[entries - 1]):
            # in covers that are nearly sorted, close to the end
            e = entries
            while e > 0 and keys[e - 1] > reduced:
                keys[e], items[e] = keys[e - 1], items[e - 1]
                e -= 1
            keys[e], items[e] = reduced, i
            entries += 1
            held += rows[i]
            while held - rows[items[entries - 1]] >= need:
                entries -= 1
                held -= rows[items[entries]]
    over = held - need
    value = w * 0
    if over >= 0:
        for e in range(entries):
            value += rows[items[e]] * keys[e]
        value -= over * keys[entries - 1]
    return entries, over, value


@compiled
def subproblems(
    indptr: Ints,
    members: Codes,
    cost: NDArray[Scalar],
    least: NDArray[Scalar],
    rows: NDArray[Scalar],
    multipliers: NDArray[Scalar],
    order: NDArray[Scalar],
    rise: Scalar,
    surcharge: NDArray[Scalar],
    never: Scalar,
    everything: bool,
    phi: NDArray[Scalar],
    dearest: NDArray[Scalar],
    taken: NDArray[Scalar],
) -> Scalar:
    """φ_g of every candidate into `phi`; returns Σ min(0, φ_g), and adds to `taken` (t,) the x of those with φ_g < 0.

    order (t,): what each cover is sorted by, falling; rise: no multiplier is above its order by more than that.
    surcharge (G,): σ_g ≥ 0, what opening a candidate costs besides its rows; part of φ_g.
    dearest (G,): the largest reduced cost among rows that are taken only to reach κ, 0 where there are none. never: φ
    of a candidate that covers fewer than κ rows. everything: also work out the φ_g that are surely not negative; else
    these are set to 0, which is faster.
    """
    room = 2
    for g in range(len(least)):
        room = max(room, min(int(least[g]), len(rows)) + 2)
    keys = np.empty(room, cost.dtype)
    items = np.empty(room, np.int64)
    total: Scalar = multipliers[0] * 0
    for g in range(len(cost)):
        w = cost[g]
        begin, end = indptr[g], indptr[g + 1]
        value, need = surcharge[g], least[g]
        # no row that is not counted here costs less
        cheapest = never
        for at in range(begin, end):
            i = members[at]
            if w - order[i] >= rise:
                cheapest = min(cheapest, w - order[i] - rise)
                break
            reduced = w - multipliers[i]
            if reduced < 0:
                value += rows[i] * reduced
                need -= rows[i]
            else:
                cheapest = min(cheapest, reduced)
        phi[g] = dearest[g] = 0
        if not everything and (value >= 0 or (need > 0 and value + need * min(cheapest, -value) >= 0)):
            continue
        entries, over = 0, w * 0
        if need > 0:
            entries, over, added = add_cheapest(
                members, begin, end, w, need, rows, multipliers, order, rise, keys, items
            )
            if over < 0:
                phi[g] = never
                continue
            value += added
            dearest[g] = keys[entries - 1]
        phi[g] = value
        if value >= 0:
            continue
        total += value
        if entries > 0:
            taken[items[entries - 1]] -= over
            for e in range(entries):
                taken[items[e]] += rows[items[e]]
        for at in range(begin, end):
            i = members[at]
            if w - order[i] >= rise:
                break
            if w - multipliers[i] < 0:
                taken[i] += rows[i]
    return total


def sorted_covers(indptr: Ints, members: Codes, multipliers: NDArray[Scalar]) -> Codes:
    """The covers, each with its row types by falling multiplier."""
    covers: Codes = ordered_covers(indptr, members, np.argsort(-multipliers, kind="stable"))
    return covers


@compiled
def ordered_covers(indptr: Ints, members: Codes, order: Ints) -> Codes:
    """The covers, each with its row types in the order given (a permutation of all row types)."""
    types = len(order)
    begins = np.zeros(types + 1, np.int64)
    for i in members:
        begins[i + 1] += 1
    for i in range(types):
        begins[i + 1] += begins[i]
    candidates = np.empty(len(members), np.int32)
    at = begins[:-1].copy()
    for g in range(len(indptr) - 1):
        for i in members[indptr[g] : indptr[g + 1]]:
            candidates[at[i]] = g
            at[i] += 1
    found = np.empty_like(members)
    into = indptr[:-1].copy()
    for i in order:
        for g in candidates[begins[i] : begins[i + 1]]:
            found[into[g]] = i
            into[g] += 1
    return found


@compiled
def nested_candidates(
    indptr: Ints, members: Codes, set_indptr: Ints, set_types: Codes, types: int
) -> tuple[Ints, Codes]:
    """Per set of row types the candidates that cover none but these: (begins, candidates), as CSR."""
    begins = np.zeros(len(set_indptr), np.int64)
    found = np.empty(1024, np.int32)
    inside = np.zeros(types, np.bool_)
    end = 0
    for s in range(len(set_indptr) - 1):
        chosen = set_types[set_indptr[s] : set_indptr[s + 1]]
        for i in chosen:
            inside[i] = True
        for g in range(len(indptr) - 1):
            begin, size = indptr[g], indptr[g + 1] - indptr[g]
            if size > len(chosen) or size == 0:
                continue
            at = 0
            while at < size and inside[members[begin + at]]:
                at += 1
            if at == size:
                if end == len(found):
                    longer = np.empty(2 * end, np.int32)
                    longer[:end] = found
                    found = longer
                found[end] = g
                end += 1
        begins[s + 1] = end
        for i in chosen:
            inside[i] = False
    return begins, found[:end].copy()


@compiled
def nested_shares(
    indptr: Ints, members: Codes, share: NDArray[np.float64], widest: int, types: int
) -> NDArray[np.float64]:
    """Per candidate Σ share over those that cover none but its row types, (G,); 0 for more than `widest` of these."""
    count = len(indptr) - 1
    # the candidates with a share, by the first row type that they cover
    begins = np.zeros(types + 1, np.int64)
    for g in range(count):
        if share[g] > 0 and indptr[g + 1] > indptr[g]:
            begins[members[indptr[g]] + 1] += 1
    for i in range(types):
        begins[i + 1] += begins[i]
    by_first = np.empty(begins[types], np.int32)
    at = begins[:-1].copy()
    for g in range(count):
        if share[g] > 0 and indptr[g + 1] > indptr[g]:
            i = members[indptr[g]]
            by_first[at[i]] = g
            at[i] += 1
    found = np.zeros(count)
    inside = np.zeros(types, np.bool_)
    for p in range(count):
        cover = members[indptr[p] : indptr[p + 1]]
        if len(cover) > widest:
            continue
        for i in cover:
            inside[i] = True
        for i in cover:
            for g in by_first[begins[i] : begins[i + 1]]:
                begin, end = indptr[g], indptr[g + 1]
                if end - begin > len(cover):
                    continue
                while begin < end and inside[members[begin]]:
                    begin += 1
                if begin == end:
                    found[p] += share[g]
        for i in cover:
            inside[i] = False
    return found
