"""All groups of two and three rows whose reduced cost is within a limit (`bounds.matching.pairs_and_triples`)."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.growing import doubled
from kanon_milp.kernels.sorting import sort_stably
from kanon_milp.system.arrays import Flags, Ints, Ints32

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
