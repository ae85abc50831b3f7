"""Algorithm 1 of the pattern-guided paper as it is printed: over rows and patterns, O(p·n·m), without candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.unplaced import UnplacedCheck
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.privacy.base import least_rows
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.jit import compiled, compiled_part
from kanon_milp.system.limit import NO_LIMIT, Limit

Ints = NDArray[np.int64]


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
    types, table = instance.types, _Labels.of(instance, levels)
    codes = types.codes.astype(np.int64)
    slots = 1 << int(2 * types.count).bit_length()
    work = _Work(
        np.zeros(slots, dtype=np.int64),
        np.full(slots, -1, dtype=np.int64),
        np.empty(types.count, dtype=np.int64),
        np.empty(types.count, dtype=np.int64),
        np.empty(types.count, dtype=np.int64),
        np.empty(types.count, dtype=np.int64),
    )
    order = np.argsort(levels.costs, kind="stable")
    order = order[(levels.vectors[order] != levels.top).any(axis=1)]
    active = np.arange(types.count)
    for stamp, vector in enumerate(order.tolist()):
        if limit.over:
            return
        active = active[left[active] > 0]
        if left[active].sum() < least:
            return
        used = np.flatnonzero(levels.vectors[vector] < levels.top)
        place = table.begin[used, levels.vectors[vector][used]]
        entries, groups = _group(codes, used, place, table, active, left, work, np.array([least, stamp]))
        if groups:
            for members in np.split(work.members[:entries].copy(), work.size[1:groups].copy()):
                yield vector, members


class _Labels(NamedTuple):
    """Labels of all columns, levels and values in one array: begin[j, level] + code is the place of a value's label.

    label: int64, a number that tells the labels of a column apart; mixed: int64, a random number for each of them.
    """

    begin: Ints
    label: Ints
    mixed: Ints

    @classmethod
    def of(cls, instance: Instance, levels: Levels) -> _Labels:
        """Those of an instance's domains."""
        height = max(column.height for column in levels.columns)
        begin, label, mixed, at = np.zeros((len(levels.columns), height + 1), np.int64), [], [], 0
        random = np.random.default_rng(0)
        for j, column in enumerate(levels.columns):
            numbers = random.integers(1 << 62, size=len(column.labels))
            for level, of_value in enumerate(column.label_of):
                begin[j, level] = at
                at += len(of_value)
                label.append(of_value.astype(np.int64))
                mixed.append(numbers[of_value])
        return cls(begin, np.concatenate(label), np.concatenate(mixed))


class _Work(NamedTuple):
    """Arrays that the inner loop writes to.

    stamp, first: int64 (slots,), of a hash table: the last vector that used a slot, and the group in it. group: int64
    (t,), of each row type. size, begin: int64 (t,), of each group. members: int64 (t,), row types by group.
    """

    stamp: Ints
    first: Ints
    group: Ints
    size: Ints
    begin: Ints
    members: Ints


@compiled
def _group(
    codes: Ints, used: Ints, place: Ints, table: _Labels, active: Ints, left: Ints, work: _Work, need: Ints
) -> tuple[int, int]:
    """Put the active row types that have the same labels in the used columns together.

    need: least rows of a group, and the number of the vector. Afterwards `work.members` has the row types of the groups
    that are large enough, one group after the other, and `work.size` where each begins; returns how many of both.
    """
    label, mixed = table.label, table.mixed
    stamp, first, group, size, begin, members = work
    mask, now, groups = len(stamp) - 1, need[1] + 1, 0
    for i in active:
        key = 0
        for j in range(len(used)):
            key ^= mixed[place[j] + codes[i, used[j]]]
        slot = (key ^ (key >> 29)) & mask
        while True:
            if stamp[slot] != now:  # a new group, of which this row type is the first
                stamp[slot] = now
                first[slot] = groups
                begin[groups] = i
                size[groups] = left[i]
                group[i] = groups
                groups += 1
                break
            other, alike = begin[first[slot]], True
            for j in range(len(used)):
                at = place[j]
                if label[at + codes[i, used[j]]] != label[at + codes[other, used[j]]]:
                    alike = False
                    break
            if alike:
                group[i] = first[slot]
                size[group[i]] += left[i]
                break
            slot = (slot + 1) & mask
    return _gather(active, group, size, begin, members, groups, need[0])


@compiled_part
def _gather(
    active: Ints, group: Ints, size: Ints, begin: Ints, members: Ints, groups: int, least: int
) -> tuple[int, int]:
    """The row types of the groups that are large enough, by group; afterwards `size` has where each begins."""
    for h in range(groups):
        begin[h] = 0
    for i in active:
        begin[group[i]] += 1
    entries, kept = 0, 0
    for h in range(groups):
        number, large = begin[h], size[h] >= least
        begin[h] = entries if large else -1
        if large:
            size[kept] = entries
            kept += 1
            entries += number
    for i in active:
        at = begin[group[i]]
        if at >= 0:
            members[at] = i
            begin[group[i]] += 1
    return entries, kept
