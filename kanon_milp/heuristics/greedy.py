"""Algorithm 1 of the pattern-guided paper for any group requirements: a first table, to start a solver from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import TooManyLevelVectorsError
from kanon_milp.heuristics.group_check import UnplacedCheck
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.closures import closed_instance, closures_suffice
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.hierarchies import ColumnLevels
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.recoding import Levels, fully_suppressed
from kanon_milp.system.arrays import Ints, Ints32
from kanon_milp.system.limit import NO_LIMIT, Limit, Over

CLOSED_PAIRS = 5_000_000  # (row type, candidate) pairs up to which closed candidates are gone through one by one
CLOSED_SHARE = 0.1  # of the time, that they may take
STEPS = 4  # in which a neighbourhood grows


def greedy(instance: Instance, limit: Limit = NO_LIMIT) -> Assignment | None:
    """Go through the level vectors from the cheapest to the most expensive and form every group of still unplaced rows
    that satisfies the requirements (Bredereck et al. 2013, Algorithm 1, there for k-anonymity).

    Where all unplaced rows of a candidate together do not, or what would be left over does not, the rows of its too
    frequent values wait. What is left over goes to the fully suppressed candidate; while that does not satisfy the
    requirements, the group whose rows lose least by it is dissolved into it. At the limit all rows that are not placed
    yet are left over. Where suppressed rows match any, few are suppressed. None where no candidate can take all rows, a
    requirement is about more than one group, or not even all rows together satisfy the requirements.
    """
    candidates = instance.candidates
    last = candidate_of_all(instance)
    if last is None:
        return None
    if not instance.problem.separable:
        return _suppress_few(instance, last) if instance.problem.table.keys_match else None
    check, left = UnplacedCheck(instance), instance.types.counts.copy()
    # what has too few rows when all are left has too few later
    large = np.flatnonzero(candidates.support >= instance.least)
    order = large[np.lexsort((large, candidates.cost[large]))]
    covers = ((g, candidates.members[_pairs(instance, g)]) for g in order[order != last].tolist() if not limit.over)
    formed = sorted(_formed(check, covers, left, named=True), key=lambda each: each.number)
    if not _dissolve(check, last, formed, left, candidates.cost[last] - candidates.cost):
        return None
    rows = np.zeros(candidates.pairs, dtype=np.int64)
    for each in formed:
        rows[_pairs(instance, each.number)] = each.rows
    rows[_pairs(instance, last)] = left[candidates.members[_pairs(instance, last)]]
    return Assignment.from_pairs(instance, rows)


def _suppress_few(instance: Instance, last: int) -> Assignment | None:
    """The rarest row types in the candidate of all, as many as together, with any other row, are still fewer than k
    rows; all others stay as they are, and match these. None where some cannot."""
    candidates, counts = instance.candidates, instance.types.counts
    kept = (instance.levels.vectors[candidates.vector] == 0).all(axis=1)[candidates.candidate_of_pair()]
    order = np.argsort(counts, kind="stable")
    k = max(each.k for each in instance.problem.requirements if isinstance(each, KAnonymity))
    gone = order[: int(np.searchsorted(np.cumsum(counts[order]), k))]
    if kept.sum() < len(counts) or len(gone) == len(counts):
        return None
    is_gone = np.isin(np.arange(len(counts)), gone)
    rows = np.where(kept & ~is_gone[candidates.members], counts[candidates.members], 0)
    mine = _pairs(instance, last)
    rows[mine] += np.where(is_gone, counts, 0)[candidates.members[mine]]
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
    types = instance.types
    check, left = UnplacedCheck(instance), types.counts.copy()
    levels, formed = _all_formed(instance, check, left, max(instance.smallest_size, 1), limit)
    suppressed = 0 if (instance.levels.vectors[0] == levels.top).all() else None
    if not _dissolve(check, suppressed, formed, left, levels.costs.max() - levels.costs):
        return None
    vector = levels.vectors[np.array([each.number for each in formed], dtype=np.int64)]
    rest = np.flatnonzero(left)
    if len(rest):
        # what is left over may be released alike with a group, which it must not be where unions break a requirement,
        # and keeps nothing where it is a group only because fully suppressed rows are exempt
        suppresses = bool((levels.vectors == levels.top).all(axis=1).any())
        free = instance.problem.merge_closed and check.accepts(None, rest, left[rest])
        vector = np.vstack([vector, np.full(len(levels.top), -1, np.int16) if free or not suppresses else levels.top])
        formed.append(_Formed(rest, left[rest], -1))
    size = [len(each.members) for each in formed]
    return Partition(
        np.repeat(np.arange(len(formed)), size),
        np.concatenate([each.members for each in formed]),
        np.concatenate([each.rows for each in formed]),
        vector,
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


def _all_formed(
    instance: Instance, check: UnplacedCheck, left: Ints, least: int, limit: Limit
) -> tuple[Levels, list[_Formed]]:
    """The groups that are formed from the cheapest level vector to the most expensive, by numbers of these levels.

    Where these are too many to go through, from the cheapest closed candidate on, which forms the same groups where
    costs rise from level to level: what is alike under a level vector and large enough, but not closed, was a group
    before. Where those are too many as well, from the cheapest neighbourhood on. left: rows that are not
    placed yet, which changes.
    """
    problem, types = instance.problem, instance.types
    try:
        levels = recode(problem, types)
    except TooManyLevelVectorsError:
        if not closures_suffice(problem):
            raise
        with suppress(Over):
            closed = limit.share(CLOSED_SHARE).call(closed_instance, problem, types, CLOSED_PAIRS)
            if closed is not None:
                return closed.levels, _formed(check, _closed(closed, left, limit), left, named=False)
        return _neighbourhoods(instance, check, left, least, limit)
    return levels, _formed(check, _alike(instance, levels, left, least, limit), left, named=False)


def _closed(instance: Instance, left: Ints, limit: Limit) -> Iterator[tuple[int, Ints32]]:
    """The level vector of each candidate, the cheapest first, and the row types that are left of its cover."""
    candidates, levels = instance.candidates, instance.levels
    order = np.argsort(candidates.cost, kind="stable")
    order = order[(levels.vectors[candidates.vector[order]] != levels.top).any(axis=1)]
    for g in order.tolist():
        if limit.over:
            return
        members = candidates.members[_pairs(instance, g)]
        members = members[left[members] > 0]
        if len(members):
            yield int(candidates.vector[g]), members


def _neighbourhoods(
    instance: Instance, check: UnplacedCheck, left: Ints, least: int, limit: Limit
) -> tuple[Levels, list[_Formed]]:
    """Groups of rows that are near each other: of each row type that is left the closure with those that it has most in
    common with, the cheapest first, and again as long as this forms any."""
    types, formed = instance.types, list[_Formed]()
    columns = recode(instance.problem, types, fully_suppressed).columns
    vectors = fully_suppressed(columns)
    while left.sum() >= least and not limit.over:
        active = np.flatnonzero(left)
        near = [
            _near(columns, types.codes[active], at, left[active], least) for at in range(len(active)) if not limit.over
        ]
        costs = [float(sum(column.costs[level] for column, level in zip(columns, each, strict=True))) for each in near]
        covers = (
            (len(vectors) + at, _alike_with(columns, types.codes, near[at], int(active[at]), left))
            for at in np.argsort(costs, kind="stable").tolist()
            if left[active[at]]
        )
        new = _formed(check, covers, left, named=False)
        vectors = np.vstack([vectors, *near])
        formed += new
        if not new:
            break
    return recode(instance.problem, types, lambda _: vectors), formed


def _near(columns: Sequence[ColumnLevels], codes: Ints32, at: int, rows: Ints, least: int) -> NDArray[np.int16]:
    """The level vector of a group of at least so many rows with this row type, grown by what costs least each time.

    codes: int32 (types, m), rows: int64 (types,), of the row types to choose from.
    """
    of_level = [np.array([float(cost) for cost in column.costs]) for column in columns]
    apart = np.empty(codes.shape, dtype=np.int16)  # the lowest level at which each row type is like this one
    for j, column in enumerate(columns):
        apart[:, j] = (column.label_of[:, codes[:, j]] == column.label_of[:, codes[at, j], None]).argmax(axis=0)
    vector, outside, has = np.zeros(len(columns), dtype=np.int16), np.arange(len(codes)) != at, int(rows[at])
    while True:
        within = outside & (apart <= vector).all(axis=1)
        has, outside = has + int(rows[within].sum()), outside & ~within
        others = np.flatnonzero(outside)
        if has >= least or not len(others):
            return vector
        joint = np.maximum(apart[others], vector)
        cost = sum(each[joint[:, j]] for j, each in enumerate(of_level))
        # several at a time where many are missing
        nearest = others[np.argsort(cost, kind="stable")]
        enough = np.searchsorted(np.cumsum(rows[nearest]), max((least - has) // STEPS, 1))
        vector = np.maximum(vector, apart[nearest[: enough + 1]].max(axis=0))


def _alike_with(columns: Sequence[ColumnLevels], codes: Ints32, vector: NDArray[np.int16], at: int, left: Ints) -> Ints:
    """The row types, int64, of which rows are left and that are like this one under a level vector."""
    found = np.flatnonzero(left)
    for j, column in enumerate(columns):
        label = column.label_of[vector[j]]
        found = found[label[codes[found, j]] == label[codes[at, j]]]
    return found


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
            if limit.over:  # to judge one group may take a tenth of a second
                return
            yield vector, members
