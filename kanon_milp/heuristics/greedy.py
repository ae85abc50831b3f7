"""Algorithm 1 of the pattern-guided paper for any group requirements: a first table, to start a solver from."""

from __future__ import annotations

import numpy as np

from kanon_milp.heuristics.unplaced import UnplacedCheck
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import NO_LIMIT, Limit


def greedy(instance: Instance, limit: Limit = NO_LIMIT) -> Assignment | None:
    """Go through the level vectors from the cheapest to the most expensive and form every group of still unplaced rows
    that satisfies the requirements (Bredereck et al. 2013, Algorithm 1, there for k-anonymity).

    Where all unplaced rows of a candidate together do not, or what would be left over does not, the rows of its too
    frequent values wait. What is left over goes to the fully suppressed candidate; while that does not satisfy the
    requirements, the group whose rows lose least by it is dissolved into it. At the limit all rows that are not placed
    yet are left over. None where no candidate can take all rows, a requirement is about more than one group, or not
    even all rows together satisfy the requirements.
    """
    if not instance.problem.separable:
        return None
    candidates, levels = instance.candidates, instance.levels
    last = candidate_of_all(instance)
    if last is None:
        return None
    check = UnplacedCheck(instance)
    left = instance.types.counts.copy()
    rows = np.zeros(candidates.pairs, dtype=np.int64)
    # what has too few rows when all are left has too few later
    large = np.flatnonzero(candidates.support >= instance.least)
    order = large[np.lexsort((large, levels.costs[candidates.vector[large]]))]
    for g in order[order != last].tolist():
        if limit.over:
            break
        pairs = _pairs(instance, g)
        members = candidates.members[pairs]
        taken = check.most(g, members, left[members])
        if taken is not None:
            rows[pairs] = taken
            left[members] -= taken
            check.take(members, taken)
    return _place_rest(instance, check, last, left, rows)


def suppress_all(instance: Instance) -> Assignment | None:
    """All rows in one candidate, whatever is required; None where no candidate can take all."""
    last = candidate_of_all(instance)
    if last is None:
        return None
    pairs = _pairs(instance, last)
    rows = np.zeros(instance.candidates.pairs, dtype=np.int64)
    rows[pairs] = instance.types.counts[instance.candidates.members[pairs]]
    return Assignment.from_pairs(instance, rows)


def candidate_of_all(instance: Instance) -> int | None:
    """The candidate that can take any row: fully suppressed, or cheaper where all rows have more in common."""
    candidates = instance.candidates
    found = np.flatnonzero(np.diff(candidates.indptr) == instance.types.count)
    # fully suppressed rows that are exempt can be few
    best = np.lexsort((candidates.cost[found], ~instance.exempt[found]))
    return int(found[best[0]]) if len(found) else None


def _place_rest(instance: Instance, check: UnplacedCheck, g: int, left: Ints, rows: Ints) -> Assignment | None:
    """Suppress what is left, and with it the cheapest groups until the requirements are satisfied."""
    candidates, pairs = instance.candidates, _pairs(instance, g)
    members = candidates.members[pairs]
    size = np.bincount(candidates.candidate_of_pair(), weights=rows, minlength=candidates.count).astype(np.int64)
    used = np.flatnonzero(size)
    loss = size * (candidates.cost[g] - candidates.cost)
    dissolved = used[np.argsort(loss[used], kind="stable")].tolist()
    while left.any() and not check.accepts(g, members, left[members]):
        if not dissolved:
            return None
        group = _pairs(instance, dissolved.pop(0))
        left[candidates.members[group]] += rows[group]
        rows[group] = 0
    rows[pairs] = left[members]
    return Assignment.from_pairs(instance, rows)


def _pairs(instance: Instance, g: int) -> slice:
    return slice(int(instance.candidates.indptr[g]), int(instance.candidates.indptr[g + 1]))
