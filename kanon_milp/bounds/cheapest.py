"""The bound that needs nothing: what every row would lose at its cheapest candidate."""

from __future__ import annotations

import numpy as np

from kanon_milp.presolve.instance import Instance


def cheapest_loss(instance: Instance) -> int:
    """A bound under any requirements, in units: no row loses less than at the cheapest candidate that covers it.

    Each row type must have a candidate. Presolve has dropped candidates that no group can use, so this is more than
    nothing; it takes one look at the pairs, and no compiled code.
    """
    candidates, counts = instance.candidates, instance.types.counts
    cheapest = np.full(instance.types.count, np.iinfo(np.int64).max)
    np.minimum.at(cheapest, candidates.members, candidates.cost[candidates.candidate_of_pair()])
    return sum(n * cost for n, cost in zip(counts.tolist(), cheapest.tolist(), strict=True))
