"""Which candidates cover nothing but row types of a set, compiled."""

from __future__ import annotations

import numpy as np

from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.jit import compiled
from kanon_milp.system.kernels import doubled


@compiled
def nested_candidates(covers: Ragged[np.int32], sets: Ragged[np.int32], types: int) -> tuple[Ints, Ints32]:
    """Per set of row types the candidates that cover none but these, as the two arrays of a `Ragged`."""
    indptr, members = covers
    begins = np.zeros(len(sets.indptr), np.int64)
    found = np.empty(1024, np.int32)
    inside = np.zeros(types, np.bool_)
    end = 0
    for s in range(len(sets.indptr) - 1):
        chosen = sets.values[sets.indptr[s] : sets.indptr[s + 1]]
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
                    found = doubled(found)
                found[end] = g
                end += 1
        begins[s + 1] = end
        for i in chosen:
            inside[i] = False
    return begins, found[:end].copy()


@compiled
def nested_shares(covers: Ragged[np.int32], share: Floats, widest: int, types: int) -> Floats:
    """Per candidate Σ share over those that cover none but its row types, (G,); 0 for more than `widest` of these."""
    indptr, members = covers
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
