"""Algorithm 1 of the pattern-guided paper as it is printed: over rows and patterns, O(p·n·m), without candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kanon_milp.heuristics.unplaced import UnplacedCheck
from kanon_milp.presolve.alike import Alike
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.privacy.base import least_rows
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import NO_LIMIT, Limit


def greedy_partition(instance: Instance, limit: Limit = NO_LIMIT) -> Partition | None:
    """As `heuristics.greedy.greedy`, of which it is the form for tables with too many candidates to enumerate.

    instance: before the reductions; its candidates play no part, but for the first one if that is fully suppressed:
    then it takes what is left over. None where not even all rows together satisfy the requirements.
    """
    types, levels = instance.types, recode(instance.problem, instance.types)
    check, left = UnplacedCheck(instance), types.counts.copy()
    least = max(least_rows(requirement, instance.table_group) for requirement in instance.problem.requirements)
    formed: list[_Formed] = []
    for number, members in _alike(instance, levels, left, max(least, 1), limit):
        taken = check.most(None, members, left[members])
        if taken is not None:
            left[members] -= taken
            check.take(members, taken)
            formed.append(_Formed(members, taken, number))
    suppressed = 0 if (instance.levels.vectors[0] == levels.top).all() else None
    if not _place_rest(check, suppressed, formed, left, levels):
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
        np.array([each.vector for each in formed]),
    )


@dataclass(frozen=True, eq=False)
class _Formed:
    """A group: so many rows (int64) of each of these row types, under this level vector; -1: the cheapest that fits."""

    members: Ints
    rows: Ints
    vector: int


def _place_rest(
    check: UnplacedCheck, suppressed: int | None, formed: list[_Formed], left: Ints, levels: Levels
) -> bool:
    """Dissolve the groups whose rows lose least by it, until what is left over satisfies the requirements; whether it
    does."""
    loss = [int(each.rows.sum()) * int(levels.costs.max() - levels.costs[each.vector]) for each in formed]
    order = np.argsort(np.array(loss, dtype=np.int64), kind="stable").tolist()
    dissolved: set[int] = set()
    while left.any():
        rest = np.flatnonzero(left)
        if check.accepts(suppressed, rest, left[rest]):
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
