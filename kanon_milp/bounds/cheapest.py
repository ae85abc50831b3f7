"""The bound that needs nothing: what every row would lose at its cheapest candidate."""

from __future__ import annotations

import numpy as np

from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy.base import least_rows
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.limit import Limit


def cheapest_loss(instance: Instance) -> int:
    """A bound under any requirements, in units: no row loses less than at the cheapest candidate that covers it.

    Each row type must have a candidate. Presolve has dropped candidates that no group can use, so this is more than
    nothing; it takes one look at the pairs, and no compiled code.
    """
    candidates, counts = instance.candidates, instance.types.counts
    cheapest = np.full(instance.types.count, np.iinfo(np.int64).max)
    np.minimum.at(cheapest, candidates.members, candidates.cost[candidates.candidate_of_pair()])
    return sum(n * cost for n, cost in zip(counts.tolist(), cheapest.tolist(), strict=True))


def cheapest_without_candidates(instance: Instance, levels: Levels, limit: Limit) -> int:
    """The same where there are too many candidates to enumerate, in units: no row loses less than under the cheapest
    level vector under which as many rows are alike as a group needs.

    levels: all that the recoding allows; the candidates of the instance play no part. It goes through the level vectors
    from the cheapest on; rows that have found none before the limit lose at least as much as under the next one.
    """
    from kanon_milp.presolve.alike import Alike  # compiled code

    types, counts = instance.types, instance.types.counts
    least = max(1, *(least_rows(requirement, instance.table_group) for requirement in instance.problem.requirements))
    alike, every = Alike(types, levels), np.arange(types.count)
    order = np.argsort(levels.costs, kind="stable")
    exempt = (levels.vectors == levels.top).all(axis=1) & instance.exempt_reading
    open_, total, cost = np.ones(types.count, dtype=bool), 0, 0
    for vector in order.tolist():
        cost = int(levels.costs[vector])
        if limit.over or not open_.any():
            break
        members = alike.together(vector, every, counts, 1 if exempt[vector] else least)
        found = members[open_[members]]
        total += cost * int(counts[found].sum())
        open_[found] = False
    return total + cost * int(counts[open_].sum())
