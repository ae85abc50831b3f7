"""Conflicts: candidates of which one at most is open, because together they have too few rows for two groups.

    N(C(g) ∪ C(h)) < κ_g + κ_h   ⇒   y_g + y_h ≤ 1

No row is in two groups. It is the packing cut of the union of two covers (`packing_cuts`), which the linear relaxation
does not know: it opens both by halves. Where all of some candidates are in conflict with each other, one constraint
says it of all of them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Ints


def conflicts(instance: Instance, chosen: Ints) -> tuple[Ints, Ints]:
    """Pairs of these candidates that are in conflict and share rows, as positions in `chosen`, the smaller one first.

    Those that share none are not asked for: with κ_g rows each, as all candidates have them, they have enough.
    """
    candidates, counts, least = instance.candidates, instance.types.counts, instance.least[chosen]
    at = np.full(candidates.count, -1, dtype=np.int64)
    small = np.flatnonzero(candidates.support[chosen] < least + least.max(initial=0))  # the union is no smaller
    at[chosen[small]] = np.arange(len(small))
    of_pair = at[candidates.candidate_of_pair()]
    inside = of_pair >= 0
    members, of_pair = candidates.members[inside], of_pair[inside]
    shape = (len(small), instance.types.count)
    covers = sp.csr_array((np.ones(len(members), dtype=np.int64), (of_pair, members)), shape=shape)
    rows = sp.csr_array((counts[members].astype(np.int64), (of_pair, members)), shape=shape)
    shared = sp.coo_array(rows @ covers.T)
    g, h = shared.coords
    size: Ints = np.asarray(rows.sum(axis=1)).ravel()
    least = least[small]
    found = (g < h) & (size[g] + size[h] - shared.data < least[g] + least[h])
    return small[g[found]], small[h[found]]


def cliques(first: Ints, second: Ints) -> Ragged[np.int64]:
    """Sets of candidates in conflict with each other, ascending: every conflict is in at least one, greedily."""
    others: dict[int, set[int]] = {}
    edges = sorted(zip(first.tolist(), second.tolist(), strict=True))
    for g, h in edges:
        others.setdefault(g, set()).add(h)
        others.setdefault(h, set()).add(g)
    degree = {g: len(each) for g, each in others.items()}
    said: set[tuple[int, int]] = set()
    found: list[list[int]] = []
    for g, h in edges:
        if (g, h) in said:
            continue
        clique, common = [g, h], others[g] & others[h]
        while common:
            f = max(common, key=lambda each: (degree[each], -each))
            clique.append(f)
            common &= others[f]
        clique.sort()
        said.update((a, b) for n, a in enumerate(clique) for b in clique[n + 1 :])
        found.append(clique)
    return Ragged.of(found, np.int64)
