"""Simplex matching (`bounds.matching`): all groups of two and three rows whose reduced cost is within a limit, and
odd-set cuts from the components that such groups form."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.growing import doubled
from kanon_milp.kernels.sorting import sort_stably
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

STEPS = 2_000_000_000  # of an enumeration, some seconds


class _Found:
    """Groups and their candidates: row types, -1 for none."""

    def __init__(self) -> None:
        self.rows, self.candidate = np.empty((1024, 3), np.int64), np.empty(1024, np.int64)
        self.end = 0


def groups_within(
    indptr: Ints, members: Ints32, cost: Ints, alone: Flags, counts: Ints, multipliers: Ints, value: Ints,
    limit: int, most: int, each: int,
) -> tuple[Ints, Ints, bool]:  # fmt: skip
    """Groups whose cost less their rows' multipliers is at most `limit`, row types in any order, their candidates, and
    whether none is missing.

    indptr, members, cost: the covers and unit costs of candidates; alone: whether rows need no partners there. counts,
    multipliers, value: by row type; values differ within a group, none where its rows may be alike. most: number of
    groups at which it gives up. each: how many with the same first row in a candidate.
    """
    widest = int(np.diff(indptr).max(initial=0))
    order, other, keys = np.empty(widest, np.int64), np.empty(widest, np.int64), np.empty(widest, np.int64)
    reduced, cover = np.empty(widest, np.int64), np.empty(widest, np.int64)
    differ, steps, complete, found = len(value) > 0, 0, True, _Found()
    with cython.nogil:
        for g in range(len(cost)):
            first, length = indptr[g], indptr[g + 1] - indptr[g]
            if found.end + length > most or steps > STEPS:
                complete = False
                break
            for x in range(length):
                keys[x] = cost[g] - multipliers[members[first + x]]
            sort_stably(keys, length, order, other)
            for x in range(length):
                reduced[x], cover[x] = keys[order[x]], members[first + order[x]]
            if alone[g]:
                for x in range(length):
                    if reduced[x] > limit:
                        break
                    _append(found, -1, -1, cover[x], g)
                continue
            for a in range(length):
                if 2 * reduced[a] > limit and 3 * reduced[a] > limit:
                    break
                i, begin = cover[a], found.end
                for b in range(a, length):
                    j, pair = cover[b], reduced[a] + reduced[b]
                    if pair > limit and pair + reduced[b] > limit:
                        break
                    steps += 1
                    if (a == b and counts[i] < 2) or (differ and value[i] == value[j]):
                        continue
                    if pair <= limit:
                        _append(found, -1, i, j, g)
                    twice = 3 if a == b else 2  # rows of j that a group with a second j needs
                    for c in range(b, length):
                        if pair + reduced[c] > limit or found.end - begin >= each or found.end >= most:
                            break
                        steps += 1
                        r = cover[c]
                        if (b == c and counts[j] < twice) or (
                            differ and (value[r] == value[i] or value[r] == value[j])
                        ):
                            continue
                        _append(found, i, j, r, g)
                    if found.end - begin >= each or found.end >= most or steps > STEPS:
                        complete = False
                        break
                if found.end >= most or steps > STEPS:
                    complete = False
                    break
    end = found.end
    return np.array(found.rows[:end], np.int64), np.array(found.candidate[:end], np.int64), complete


def _append(s: _Found, i: int, j: int, r: int, g: int) -> None:
    if s.end == len(s.candidate):
        with cython.gil:
            s.rows, s.candidate = doubled(s.rows), doubled(s.candidate)
    s.rows[s.end, 0], s.rows[s.end, 1], s.rows[s.end, 2], s.candidate[s.end] = i, j, r, g
    s.end += 1


def growing_sets(
    rows: Ints, theta: Floats, order: Ints, counts: Ints, indptr: Ints, of: Ints, least: float, widest: int
) -> tuple[Ints, Ints, Floats]:
    """Sets with an odd number of rows that the groups in this order join, if Σ {θ_c : a_c(S) odd} < 1: (begins, row
    types, violations) as CSR.

    rows: (C, 3), the row types of each group, -1 in front for none. indptr, of: the groups of each row type as CSR.
    least: violation that is wanted. widest: row types that a set may have.
    """
    types = len(counts)
    parent, tail, following = np.arange(types), np.arange(types), np.full(types, -1, np.int64)
    size, odd = np.ones(types, np.int64), np.empty(types, np.int64)
    inside, seen = np.zeros(types, np.uint8), np.full(len(theta), -1, np.int64)
    begins, violations, values = np.zeros(64, np.int64), np.empty(64), np.empty(1024, np.int64)
    sets = 0
    with cython.nogil:
        for i in range(types):
            odd[i] = counts[i] % 2
        for step in range(len(order)):
            c = order[step]
            root, joins = _root(parent, rows[c, 2]), False
            for z in range(2):
                if rows[c, z] < 0:
                    continue
                other = _root(parent, rows[c, z])
                if other == root:
                    continue
                if size[root] < size[other]:
                    root, other = other, root
                parent[other] = root
                following[tail[root]] = other
                tail[root] = tail[other]
                size[root] += size[other]
                odd[root] = (odd[root] + odd[other]) % 2
                joins = True
            if not joins or odd[root] == 0 or size[root] > widest:
                continue
            x = root
            while x >= 0:
                inside[x] = 1
                x = following[x]
            leaving, x = 0.0, root
            while x >= 0:
                for at in range(indptr[x], indptr[x + 1]):
                    e = of[at]
                    if seen[e] == step:
                        continue
                    seen[e] = step
                    number = 0
                    for z in range(3):
                        if rows[e, z] >= 0 and inside[rows[e, z]]:
                            number += 1
                    if number % 2 == 1:
                        leaving += theta[e]
                x = following[x]
            x = root
            while x >= 0:
                inside[x] = 0
                x = following[x]
            if leaving >= 1 - least:
                continue
            begin = begins[sets]
            while begin + size[root] > len(values):
                with cython.gil:
                    values = doubled(values)
            if sets + 1 == len(begins):
                with cython.gil:
                    begins, violations = doubled(begins), doubled(violations)
            x = root
            while x >= 0:
                values[begin] = x
                begin += 1
                x = following[x]
            violations[sets] = 1 - leaving
            sets += 1
            begins[sets] = begin
    end = begins[sets]
    return np.array(begins[: sets + 1], np.int64), np.array(values[:end], np.int64), np.array(violations[:sets])


def _root(parent: Ints, x: int) -> int:
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x
