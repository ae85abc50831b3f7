"""Odd-set cuts from the components that groups of up to three rows form (`bounds.matching.program`)."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.growing import doubled
from kanon_milp.system.arrays import Floats, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython


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
