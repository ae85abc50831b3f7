"""The cheapest group of a candidate under multipliers of row types and of rank-1 cuts: exact, depth first, compiled.

For one candidate: φ = σ + min { Σ r_i a_i + Σ_R ν_R ⌊p_R·a / d_R⌋ : κ ≤ Σ a_i, 0 ≤ a_i ≤ n_i, a integer } over the row
types i that it covers, with reduced costs r_i = w - λ_i and ν ≥ 0 (`kanon_milp.bounds.rank_one_cuts`). Without the
second sum this is the closed form of `kanon_milp.bounds.closed_form`, a lower bound, since no term of that sum is
negative.

The search: single rows in rising order of r; a group grows by one row after another, always by a later one. What a
partial group can still become costs at least what it costs now plus the next rows in order, as many as it needs to
reach κ, and all further ones with r < 0: its own terms of rank-1 cuts never fall when rows are added. Copies of a row
type are alike, so a later copy is taken only after the earlier ones. Rows that are too expensive for any group below
the value of interest are left out from the beginning.

All values of one call are either float64 or int64, so exact bounds are computed by the same lines.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import Heap, PricedCandidates, PricedRows, add_cheapest
from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.system.arrays import Flags, Ints, Ints32
from kanon_milp.system.jit import compiled, compiled_part
from kanon_milp.system.kernels import doubled, stable_order

Scalar = TypeVar("Scalar", np.float64, np.int64)

SORTED = 5  # nodes of the search that take as long as sorting one row type
FAR = 1 << 61  # more than any multiplier has risen since covers were sorted: these are not


class Scratch(NamedTuple, Generic[Scalar]):
    """Scratch space for the search of one candidate's cheapest group.

    items, reduced: its rows one by one, by rising reduced cost; prefix: sums of `reduced` from the left, one more.
    chosen, values: the group so far, as places in `items`, and what it costs before each. best: the cheapest group
    found, in the same way. filled: Σ p_i a_i modulo d of each rank-1 cut, of the group so far.
    """

    items: Ints
    reduced: NDArray[Scalar]
    prefix: NDArray[Scalar]
    chosen: Ints
    values: NDArray[Scalar]
    best: Ints
    filled: Ints


def unsorted_rows(counts: NDArray[Scalar], multipliers: NDArray[Scalar]) -> PricedRows[Scalar]:
    """Row types for covers in any order: here no cover has to be sorted."""
    return PricedRows(counts, multipliers, multipliers, multipliers.dtype.type(FAR))


@compiled_part
def take(i: int, cuts: PricedCuts[Scalar], filled: Ints, zero: Scalar) -> Scalar:
    """Add one row of type i to the sums of its rank-1 cuts; what that costs."""
    more = zero
    for e in range(cuts.begins[i], cuts.begins[i + 1]):
        r = cuts.cut_of[e]
        filled[r] += cuts.weight_of[e]
        if filled[r] >= cuts.denominators[r]:
            more += filled[r] // cuts.denominators[r] * cuts.multipliers[r]
            filled[r] %= cuts.denominators[r]
    return more


@compiled_part
def give_back(i: int, cuts: PricedCuts[Scalar], filled: Ints) -> None:
    """Take one row of type i out of the sums of its rank-1 cuts."""
    for e in range(cuts.begins[i], cuts.begins[i + 1]):
        r = cuts.cut_of[e]
        filled[r] -= cuts.weight_of[e]
        if filled[r] < 0:
            filled[r] %= cuts.denominators[r]


@compiled_part
def _grow(
    scratch: Scratch[Scalar],
    count: int,
    cuts: PricedCuts[Scalar],
    missing: int,
    value: Scalar,
    below: Scalar,
    first: bool,
    nodes: int,
) -> tuple[Scalar, int, int]:
    """Search from a group that has this value and needs `missing` rows more for one below `below`; the cheapest, or
    the first.

    count: rows that are sorted. Returns (value, rows, nodes left): the rows scratch.best[:rows] are places in
    `items`; rows is -1 where there is no group below. Nodes left is -1 where it gave up.
    """
    items, reduced, prefix, chosen, values, best_group, filled = scratch
    zero = value * 0
    negative = 0
    while negative < count and reduced[negative] < 0:
        negative += 1
    best, found = below, -1
    if missing <= 0 and value < best:
        best, found = value, 0
        if first:
            return best, found, nodes
    depth, at = 0, 0
    while True:
        need = max(missing - depth, 1)
        end = max(at + need, negative)
        deeper = at + need <= count and value + prefix[end] - prefix[at] < best
        if deeper:
            nodes -= 1
            if nodes < 0:
                break
            values[depth] = value
            chosen[depth] = at
            value += reduced[at] + take(items[at], cuts, filled, zero)
            depth += 1
            at += 1
            if depth >= missing and value < best:
                best, found = value, depth
                for d in range(depth):
                    best_group[d] = chosen[d]
                if first:
                    break
        else:
            if depth == 0:
                break
            depth -= 1
            at, value = chosen[depth], values[depth]
            give_back(items[at], cuts, filled)
            at += 1
            while at < count and items[at] == items[at - 1]:
                at += 1
    for d in range(depth):
        give_back(items[chosen[d]], cuts, filled)
    return best, found, nodes


@compiled_part
def _sort_rows(
    cover: Ints32,
    w: Scalar,
    rows: PricedRows[Scalar],
    limit: Scalar,
    least: int,
    without: int,
    scratch: Scratch[Scalar],
) -> int:
    """The rows of a cover with r < `limit`, one by one by rising r; one row of type `without` is left out."""
    items, reduced, prefix = scratch.items, scratch.reduced, scratch.prefix
    counts, multipliers = rows.counts, rows.multipliers
    count = 0
    for i in cover:
        if w - multipliers[i] < limit:
            count += 1
    kept = np.empty(count, np.int64)
    keys = np.empty(count, reduced.dtype)
    count = 0
    for i in cover:
        each = w - multipliers[i]
        if each < limit:
            kept[count], keys[count] = i, each
            count += 1
    order = stable_order(keys)
    total = w * 0
    prefix[0] = total
    end = 0
    for place in order:
        i, each = kept[place], keys[place]
        copies = int(counts[i]) - (1 if i == without else 0)
        if each >= 0:
            copies = min(copies, least)
        for _ in range(copies):
            items[end], reduced[end] = i, each
            total += each
            end += 1
            prefix[end] = total
    return end


@compiled_part
def _make_scratch(
    candidates: PricedCandidates[Scalar], chosen: Ints, rows: PricedRows[Scalar], cuts: int
) -> tuple[Scratch[Scalar], Heap[Scalar]]:
    """Scratch space for the candidates chosen, and for their closed forms. cuts: number of rank-1 cuts."""
    indptr, members, cost, least, _ = candidates
    counts, kind = rows.counts, cost.dtype
    length, heap = 2, 2
    for g in chosen:
        total = 0
        for i in members[indptr[g] : indptr[g + 1]]:
            total += int(counts[i])
        length = max(length, total + 1)
        heap = max(heap, min(int(least[g]), len(counts)) + 2)
    scratch = Scratch(
        np.empty(length, np.int64), np.empty(length, kind), np.empty(length + 1, kind),
        np.empty(length, np.int64), np.empty(length, kind), np.empty(length, np.int64), np.zeros(cuts, np.int64),
    )  # fmt: skip
    return scratch, Heap(np.empty(heap, kind), np.empty(heap, np.int64))


@compiled_part
def closed_form(
    cover: Ints32, w: Scalar, least: Scalar, rows: PricedRows[Scalar], heap: Heap[Scalar]
) -> tuple[Scalar, Scalar, bool]:
    """(value, marginal, possible): min Σ r_i x_i with Σ x_i ≥ κ, and the highest r ≥ 0 that it takes, 0 for none."""
    counts, multipliers = rows.counts, rows.multipliers
    value, size = w * 0, w * 0
    for i in cover:
        reduced = w - multipliers[i]
        if reduced < 0:
            value += counts[i] * reduced
            size += counts[i]
    if size >= least:
        return value, w * 0, True
    entries, over, added = add_cheapest(cover, 0, len(cover), w, least - size, rows, heap)
    if over < 0:
        return value, w * 0, False
    return value + added, heap.keys[entries - 1], True


@compiled
def cheapest_groups(
    candidates: PricedCandidates[Scalar],
    rows: PricedRows[Scalar],
    cuts: PricedCuts[Scalar],
    chosen: Ints,
    below: Scalar,
    most_nodes: int,
    phi: NDArray[Scalar],
    complete: Flags,
) -> tuple[Ints, Ints, Ints]:
    """The cheapest group of each chosen candidate, if it is below `below`.

    rows: as of `unsorted_rows`. most_nodes: of the search of one candidate. phi (chosen,): the value of the group;
    `below` where there is none cheaper; the closed form where the search gave up, and `complete` is then False.
    Returns (candidate, size, row types): the groups, one after the other, a row type as often as it has rows in it.
    """
    indptr, members, cost, least, surcharge = candidates
    counts, multipliers = rows.counts, rows.multipliers
    scratch, heap = _make_scratch(candidates, chosen, rows, len(cuts.denominators))
    found_of, sizes = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    types = np.empty(1024, np.int64)
    groups, end = 0, 0
    for c in range(len(chosen)):
        g = chosen[c]
        cover, w, needed = members[indptr[g] : indptr[g + 1]], cost[g], max(int(least[g]), 1)
        complete[c] = True
        phi[c] = below
        # no group costs less than all its rows with r < 0 alone
        value = surcharge[g]
        for i in cover:
            if w < multipliers[i]:
                value += counts[i] * (w - multipliers[i])
        if value >= below:
            continue
        value, marginal, possible = closed_form(cover, w, least[g], rows, heap)
        value += surcharge[g]
        if not possible or value >= below:
            continue
        count = _sort_rows(cover, w, rows, below - value + marginal, needed, -1, scratch)
        best, found, left = _grow(scratch, count, cuts, needed, surcharge[g], below, False, most_nodes)
        if left < 0:
            complete[c] = False
            phi[c] = value
        elif found > 0:
            phi[c] = best
        if found > 0:
            while end + found > len(types):
                types = doubled(types)
            for d in range(found):
                types[end + d] = scratch.items[scratch.best[d]]
            end += found
            found_of[groups], sizes[groups] = g, found
            groups += 1
    return found_of[:groups].copy(), sizes[:groups].copy(), types[:end].copy()


@compiled
def possible_pairs(
    candidates: PricedCandidates[Scalar],
    rows: PricedRows[Scalar],
    cuts: PricedCuts[Scalar],
    below: NDArray[Scalar],
    most_nodes: int,
    most_steps: int,
) -> Flags:
    """Per pair whether the candidate has a group with a row of this type below its value `below` (G,).

    rows: as of `unsorted_rows`. most_nodes: of the search of one pair. most_steps: of all of them, rows that are lined
    up and nodes; pairs after that are decided by the closed form. True as well where a search gave up.
    """
    indptr, members, cost, least, surcharge = candidates
    scratch, heap = _make_scratch(candidates, np.arange(len(cost)), rows, len(cuts.denominators))
    filled = scratch.filled
    possible = np.zeros(len(members), np.bool_)
    zero = rows.multipliers[0] * 0
    for g in range(len(cost)):
        cover, w, needed = members[indptr[g] : indptr[g + 1]], cost[g], max(int(least[g]), 1)
        value, marginal, enough = closed_form(cover, w, least[g], rows, heap)
        value += surcharge[g]
        if not enough or value >= below[g]:
            continue
        limit = below[g] - value + marginal
        for place in range(indptr[g], indptr[g + 1]):
            i = members[place]
            each = w - rows.multipliers[i]
            if possible[place] or each >= limit:
                continue
            if most_steps <= 0:
                possible[place] = True
                continue
            count = _sort_rows(cover, w, rows, limit, needed, i, scratch)
            start = surcharge[g] + each
            start += take(i, cuts, filled, zero)
            _, found, left = _grow(scratch, count, cuts, needed - 1, start, below[g], True, most_nodes)
            give_back(i, cuts, filled)
            most_steps -= SORTED * len(cover) + most_nodes - max(left, 0)
            possible[place] = found >= 0 or left < 0
            if found > 0 and indptr[g + 1] - indptr[g] <= 64:
                # the other rows of this group need no search of their own
                for d in range(found):
                    other = scratch.items[scratch.best[d]]
                    for p in range(indptr[g], indptr[g + 1]):
                        if members[p] == other:
                            possible[p] = True
    return possible
