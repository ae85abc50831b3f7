"""Odd-set (blossom) cuts: sets of row types with an odd number of rows, which some group has to leave.

The rank-1 cut Σ ⌊a_c(S)/2⌋ θ_c ≤ ⌊n(S)/2⌋ of a set S of row types with an odd number n(S) of rows says, since each row
is placed once, Σ {θ_c : a_c(S) odd} ≥ 1. Where all groups are pairs, these are the blossom inequalities (Edmonds 1965).
Sets are looked for among the components that the most used groups form, one after the other as a spanning forest grows;
in all components of the fractional groups; and for a few row types by `kanon_milp.bounds.rank_one_cuts`.
"""

from __future__ import annotations

import numpy as np

from kanon_milp.bounds.matching.pairs_and_triples import SmallGroups
from kanon_milp.bounds.parameters import MatchingParameters
from kanon_milp.bounds.rank_one_cuts import RankOneCuts, separate
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.jit import compiled, compiled_part

USED = 1e-7  # a group that is used less counts as unused
LEAST_VIOLATION = 0.02
WIDEST = 3_000  # row types of a set


def find_cuts(
    groups: SmallGroups, share: Floats, counts: Ints, known: RankOneCuts, params: MatchingParameters
) -> RankOneCuts:
    """Violated cuts that are not known. share: float64 (C,), how often each group is used. counts: int64 (t,)."""
    used = share > USED
    few, theta = groups.subset(used), share[used]
    matrix = few.matrix(len(counts)).tocsr()
    fractional = np.abs(theta - np.rint(theta)) > USED
    seen = {tuple(types) for types, _, d in known.each() if d == 2}
    touched = np.zeros(len(counts), np.int64)
    sets: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []
    for only in (np.flatnonzero(fractional), np.arange(few.count)):
        order = only[np.argsort(-theta[only], kind="stable")]
        begins, values, violations = _growing_sets(
            few.rows, theta, order, counts, (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
        )
        worst = violations / np.sqrt(np.diff(begins))
        for s in np.argsort(-worst, kind="stable").tolist():
            types = tuple(sorted(values[begins[s] : begins[s + 1]].tolist()))
            if types in seen or (touched[list(types)] >= params.touching).any():
                continue
            seen.add(types)
            touched[list(types)] += 1
            sets.append((types, (1,) * len(types), 2))
    found = RankOneCuts.of(sets)
    return found.joined(separate(few.in_lists(), theta, counts, params.few_types, known.joined(found)))


@compiled_part
def _find(parent: Ints, x: int) -> int:
    """The root of a tree."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@compiled
def _growing_sets(
    rows: Ints, theta: Floats, order: Ints, counts: Ints, of_type: tuple[Ints, Ints]
) -> tuple[Ints, Ints, Floats]:
    """Sets with an odd number of rows that the groups in this order join, if Σ {θ_c : a_c(S) odd} < 1: (begins, row
    types, violations) as CSR. of_type: the groups of each row type as CSR."""
    indptr, of = of_type
    types = len(counts)
    parent, tail, following = np.arange(types), np.arange(types), np.full(types, -1)
    size, odd = np.ones(types, np.int64), counts % 2
    inside, seen = np.zeros(types, np.bool_), np.full(len(theta), -1)
    begins, violations = [0], [0.0]
    values = [0]
    for step in range(len(order)):
        c = order[step]
        root, joins = _find(parent, rows[c, 2]), False
        for z in range(2):
            if rows[c, z] < 0:
                continue
            other = _find(parent, rows[c, z])
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
        if not joins or odd[root] == 0 or size[root] > WIDEST:
            continue
        x = root
        while x >= 0:
            inside[x] = True
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
        violated = leaving < 1 - LEAST_VIOLATION
        x = root
        while x >= 0:
            inside[x] = False
            if violated:
                values.append(x)
            x = following[x]
        if violated:
            begins.append(len(values) - 1)
            violations.append(1 - leaving)
    return np.array(begins), np.array(values)[1:], np.array(violations)[1:]
