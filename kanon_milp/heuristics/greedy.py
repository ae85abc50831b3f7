"""Algorithm 1 of the pattern-guided paper for any group requirements: a first table, to start a solver from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kanon_milp.heuristics.group_check import UnplacedCheck
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.arrays import Ints, Ints32
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
    check, left = UnplacedCheck(instance), instance.types.counts.copy()
    # what has too few rows when all are left has too few later
    large = np.flatnonzero(candidates.support >= instance.least)
    order = large[np.lexsort((large, levels.costs[candidates.vector[large]]))]
    covers = ((g, candidates.members[_pairs(instance, g)]) for g in order[order != last].tolist() if not limit.over)
    formed = sorted(_formed(check, covers, left, named=True), key=lambda each: each.number)
    if not _dissolve(check, last, formed, left, candidates.cost[last] - candidates.cost):
        return None
    rows = np.zeros(candidates.pairs, dtype=np.int64)
    for each in formed:
        rows[_pairs(instance, each.number)] = each.rows
    rows[_pairs(instance, last)] = left[candidates.members[_pairs(instance, last)]]
    return Assignment.from_pairs(instance, rows)


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


def _pairs(instance: Instance, g: int) -> slice:
    return slice(int(instance.candidates.indptr[g]), int(instance.candidates.indptr[g + 1]))


def greedy_partition(instance: Instance, limit: Limit = NO_LIMIT) -> Partition | None:
    """As `heuristics.greedy.greedy`, of which it is the form for tables with too many candidates to enumerate.

    instance: before the reductions; its candidates play no part, but for the first one if that is fully suppressed:
    then it takes what is left over. None where not even all rows together satisfy the requirements.
    """
    types, levels = instance.types, recode(instance.problem, instance.types)
    check, left = UnplacedCheck(instance), types.counts.copy()
    least = instance.smallest_size
    formed = _formed(check, _alike(instance, levels, left, max(least, 1), limit), left, named=False)
    suppressed = 0 if (instance.levels.vectors[0] == levels.top).all() else None
    if not _dissolve(check, suppressed, formed, left, levels.costs.max() - levels.costs):
        return None
    rest = np.flatnonzero(left)
    if len(rest):
        # what is left over may be released alike with a group, which it must not be where unions break a requirement,
        # and keeps nothing where it is a group only because fully suppressed rows are exempt
        top = np.flatnonzero((levels.vectors == levels.top).all(axis=1))
        free = instance.problem.merge_closed and check.accepts(None, rest, left[rest])
        vector = -1 if free or not len(top) else int(top[0])
        formed.append(_Formed(rest, left[rest], vector))
    size = [len(each.members) for each in formed]
    return Partition(
        np.repeat(np.arange(len(formed)), size),
        np.concatenate([each.members for each in formed]),
        np.concatenate([each.rows for each in formed]),
        np.array([each.number for each in formed]),
    )


@dataclass(frozen=True, eq=False)
class _Formed:
    """A group: so many rows (int64) of each of these row types, of this candidate, or under this level vector; -1: the
    cheapest that fits."""

    members: Ints32 | Ints
    rows: Ints
    number: int


def _formed(
    check: UnplacedCheck, covers: Iterable[tuple[int, Ints32 | Ints]], left: Ints, *, named: bool
) -> list[_Formed]:
    """Every group of rows that are left which satisfies the requirements, one after the other. covers: numbers and row
    types; named: the numbers are those of candidates."""
    formed = []
    for number, members in covers:
        taken = check.most(number if named else None, members, left[members])
        if taken is not None:
            left[members] -= taken
            check.take(members, taken)
            formed.append(_Formed(members, taken, number))
    return formed


def _dissolve(check: UnplacedCheck, last: int | None, formed: list[_Formed], left: Ints, loss: Ints) -> bool:
    """Dissolve the groups whose rows lose least by it, until what is left over satisfies the requirements; whether it
    does. last: the candidate that takes it. loss: of a row of each number."""
    losses = np.array([int(each.rows.sum()) * int(loss[each.number]) for each in formed], dtype=np.int64)
    order, dissolved = np.argsort(losses, kind="stable").tolist(), set[int]()
    while left.any():
        rest = np.flatnonzero(left)
        if check.accepts(last, rest, left[rest]):
            break
        if len(dissolved) == len(formed):
            return False
        number = order[len(dissolved)]
        dissolved.add(number)
        left[formed[number].members] += formed[number].rows
    formed[:] = [each for number, each in enumerate(formed) if number not in dissolved]
    return True


def _alike(instance: Instance, levels: Levels, left: Ints, least: int, limit: Limit) -> Iterator[tuple[int, Ints]]:
    """Level vectors from the cheapest on, each with the row types of which at least so many rows that are left would
    be alike; not the fully suppressed one. left: changes between two of them."""
    from kanon_milp.presolve.alike import Alike

    alike = Alike(instance.types, levels)
    order = np.argsort(levels.costs, kind="stable")
    order = order[(levels.vectors[order] != levels.top).any(axis=1)]
    active = np.arange(instance.types.count)
    for vector in order.tolist():
        if limit.over:
            return
        active = active[left[active] > 0]
        if left[active].sum() < least:
            return
        for members in alike.under(vector, active, left, least):
            yield vector, members
