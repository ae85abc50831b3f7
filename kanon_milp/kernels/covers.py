"""Covers of candidates, list by list: in another order, which lie in sets of row types, which hold groups, which of
their pairs may be in groups of low reduced cost."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.growing import doubled
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython


def ordered_covers(indptr: Ints, members: Ints32, order: Ints) -> Ints32:
    """The values of the covers, each with its row types in the order given (a permutation of all row types)."""
    types, pairs, count = len(order), len(members), len(indptr) - 1
    found = np.empty(pairs, np.int32)
    # the candidates of each row type, ascending; and where the next one comes
    begins, at = np.zeros(types + 1, np.int64), np.empty(types, np.int64)
    candidates, into, filled = np.empty(pairs, np.int32), np.array(indptr), found
    with cython.nogil:
        for p in range(pairs):
            begins[members[p] + 1] += 1
        for i in range(types):
            begins[i + 1] += begins[i]
            at[i] = begins[i]
        for g in range(count):
            for p in range(indptr[g], indptr[g + 1]):
                candidates[at[members[p]]] = g
                at[members[p]] += 1
        for e in range(types):
            i = order[e]
            for p in range(begins[i], begins[i + 1]):
                g = candidates[p]
                filled[into[g]] = i
                into[g] += 1
    return found


def nested_candidates(
    indptr: Ints, members: Ints32, set_indptr: Ints, set_members: Ints32, types: int
) -> tuple[Ints, Ints32]:
    """Per set of row types the candidates that cover none but these, as the two arrays of a `Ragged`."""
    sets, count, end = len(set_indptr) - 1, len(indptr) - 1, 0
    begins = np.zeros(sets + 1, np.int64)
    inside, found, begin_of = np.zeros(types, np.uint8), np.empty(1024, np.int32), begins
    with cython.nogil:
        for s in range(sets):
            first, last = set_indptr[s], set_indptr[s + 1]
            for e in range(first, last):
                inside[set_members[e]] = 1
            for g in range(count):
                begin, size = indptr[g], indptr[g + 1] - indptr[g]
                if size > last - first or size == 0:
                    continue
                at = 0
                while at < size and inside[members[begin + at]]:
                    at += 1
                if at == size:
                    if end == len(found):
                        with cython.gil:
                            found = doubled(found)
                    found[end] = g
                    end += 1
            begin_of[s + 1] = end
            for e in range(first, last):
                inside[set_members[e]] = 0
    return begins, np.array(found[:end], np.int32)


def nested_shares(indptr: Ints, members: Ints32, share: Floats, widest: int, types: int) -> Floats:
    """Per candidate Σ share over those that cover none but its row types, (G,); 0 for more than `widest` of these."""
    count = len(indptr) - 1
    found = np.zeros(count)
    # the candidates with a share, by the first row type that they cover
    begins, at, by_first = np.zeros(types + 1, np.int64), np.empty(types, np.int64), np.empty(count, np.int32)
    inside, into = np.zeros(types, np.uint8), found
    with cython.nogil:
        for g in range(count):
            if share[g] > 0 and indptr[g + 1] > indptr[g]:
                begins[members[indptr[g]] + 1] += 1
        for i in range(types):
            begins[i + 1] += begins[i]
            at[i] = begins[i]
        for g in range(count):
            if share[g] > 0 and indptr[g + 1] > indptr[g]:
                i = members[indptr[g]]
                by_first[at[i]] = g
                at[i] += 1
        for p in range(count):
            first, last = indptr[p], indptr[p + 1]
            if last - first > widest:
                continue
            for e in range(first, last):
                inside[members[e]] = 1
            for e in range(first, last):
                i = members[e]
                for x in range(begins[i], begins[i + 1]):
                    g = by_first[x]
                    begin, end = indptr[g], indptr[g + 1]
                    if end - begin > last - first:
                        continue
                    while begin < end and inside[members[begin]]:
                        begin += 1
                    if begin == end:
                        into[p] += share[g]
            for e in range(first, last):
                inside[members[e]] = 0
    return found


def cheapest_covers(
    groups: tuple[Ints, Ints], candidate: Ints, size: Ints, options: tuple[Ints, Ints], cost: Ints, least: Ints
) -> Ints:
    """For each group, of so many rows and now of a candidate, the cheapest one that all of its row types have among
    their options, int64. groups, options: (indptr, int64), row types of each group, candidates of each row type."""
    begins, members = groups
    option_begins, candidates = options
    chosen, seen = np.array(candidate, np.int64), np.zeros(len(cost), np.int64)
    with cython.nogil:
        for h in range(len(chosen)):
            best, types = chosen[h], begins[h + 1] - begins[h]
            for e in range(begins[h], begins[h + 1]):
                for q in range(option_begins[members[e]], option_begins[members[e] + 1]):
                    g = candidates[q]
                    seen[g] += 1
                    if seen[g] == types and cost[g] < cost[best] and size[h] >= least[g]:
                        best = g
            for e in range(begins[h], begins[h + 1]):
                for q in range(option_begins[members[e]], option_begins[members[e] + 1]):
                    seen[candidates[q]] = 0
            chosen[h] = best
    return np.asarray(chosen)


def pairs_within(
    indptr: Ints, members: Ints32, cost: Ints, opened: Flags, phi: Ints, most: Ints,
    counts: Ints, multipliers: Ints, value: Ints, found: Flags,
) -> None:  # fmt: skip
    """Whether a group with such a row may cost no more than `most` (G,), by (1) and (2) of
    `kanon_milp.bounds.reduced_costs.ReducedCosts`; of candidates that are `opened` (G,), into found (pairs,).

    indptr, members: the covers, each sorted by value, then by rising reduced cost. counts, multipliers, value: n, λ
    and joint sensitive value, (t,) each.
    """
    with cython.nogil:
        for g in range(len(cost)):
            if not opened[g]:
                continue
            begin, end = indptr[g], indptr[g + 1]
            below = cost[g] * 0  # all rows with a negative reduced cost
            for at in range(begin, end):
                i = members[at]
                below += counts[i] * min(cost[g] - multipliers[i], 0)
            first = begin
            while first < end:
                last = first
                own = cost[g] * 0  # the same, of this value
                while last < end and value[members[last]] == value[members[first]]:
                    i = members[last]
                    own += counts[i] * min(cost[g] - multipliers[i], 0)
                    last += 1
                for at in range(first, last):
                    reduced = cost[g] - multipliers[members[at]]
                    if reduced <= 0 or phi[g] + reduced <= most[g]:
                        found[at] = phi[g] <= most[g]
                        continue
                    # m beyond the rows that are not positive: the first of each type
                    others = below - own
                    before = cost[g] * 0
                    for other in range(first, at + 1):
                        j = members[other]
                        here = cost[g] - multipliers[j]
                        if here > 0 and max(phi[g] + reduced - here, others + before + reduced) <= most[g]:
                            found[at] = True
                            break
                        before += counts[j] * here
                first = last
