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
from kanon_milp.kernels.odd_sets import growing_sets
from kanon_milp.system.arrays import Floats, Ints

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
    of_type = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    fractional = np.abs(theta - np.rint(theta)) > USED
    seen = {tuple(types) for types, _, d in known.each() if d == 2}
    touched = np.zeros(len(counts), np.int64)
    sets: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []
    for only in (np.flatnonzero(fractional), np.arange(few.count)):
        order = only[np.argsort(-theta[only], kind="stable")]
        begins, values, violations = growing_sets(few.rows, theta, order, counts, *of_type, LEAST_VIOLATION, WIDEST)
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
