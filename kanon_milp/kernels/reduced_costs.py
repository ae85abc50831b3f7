"""Which pairs of row types and candidates may be in groups whose reduced cost is not too high."""

from __future__ import annotations

from kanon_milp.system.arrays import Flags, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython


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
