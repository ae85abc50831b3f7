"""The method `subset_dp`: dynamic programming over all sets of rows (Blocki and Williams 2010, Theorem 1.3; Liang and
Yuan 2013, Theorem 8), exact in 2^O(n) steps for any requirement that judges each group alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.kernels.subset_dp import divide_some
from kanon_milp.methods.direct import settled
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.closures import Axis, rises
from kanon_milp.presolve.instance import Instance, recode, with_candidates
from kanon_milp.presolve.kernel import Kernel, spare_rows
from kanon_milp.presolve.partition import Partition
from kanon_milp.presolve.preparation import reduced_instance
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.limit import Limit, Over
from kanon_milp.system.parameters import number, parameters

NEVER = 1 << 60


@parameters("subset_dp")
@dataclass(frozen=True)
class SubsetParams:
    """Dynamic programming over all sets of rows, those of a type being alike: 22 rows of which no two are."""

    sets: int = number(1 << 22, "sets of rows, at most")
    steps: float = number(4e10, "(set, part of it) pairs, at most: about a minute")
    counts: int = number(1 << 18, "different counts by sensitive value that the requirements are asked about, at most")
    slice: int = number(1 << 25, "steps between two looks at the clock", least=1)


def solve_subset_dp(session: Session) -> Result:
    """The cheapest way to part every set of rows into a group and the best partition of the rest. No candidates are
    listed: a group is released at the closure of its rows, so any number of columns will do.

    Under k-anonymity alone the kernel comes first (Blocki and Williams 2010, Theorem 1.4): rows that no group with
    others can need stay as they are, and then the number of row types decides, not that of rows.
    """
    limit, params, instance = session.limit, session.parameters.of(SubsetParams), session.prepared.before
    kinds = Kinds.of(instance)
    if 1 << len(kinds.copies) > params.sets:
        raise _too_many(*_sizes(kinds.copies))
    try:
        with session.clock.step("search"):
            unit = unit_costs(instance, kinds)
            home = np.zeros_like(kinds.copies)
            if Kernel().accepts(session.problem):
                single = unit[1 << np.arange(len(home))]
                k = instance.smallest_size
                # under a mask what costs nothing may cover other kinds as well, which need the rows there
                stays = 0 if instance.problem.recoding.mask is None else k
                home = spare_rows(kinds.copies, _options(unit), single == 0, k, stays=stays)
            sets = RowSets.of(kinds.copies - home, params)
            cost, suppressed = cheapest_groups(instance, kinds, sets, unit, home > 0, params, limit)
            total, group = divide(sets, cost, limit, params)
    except Over:
        return session.end_early(limit.reason)
    if total >= NEVER:  # under a mask, since all rows as one group are no table for what is asked
        every = with_candidates(instance.problem, instance.types, recode(instance.problem, instance.types))
        session = replace(session, prepared=reduced_instance(every, session.prepared.row_types, limit, merge=False))
        return settled(session) or session.end_infeasible()
    homes = {int(kind): row for row, kind in enumerate(np.flatnonzero(home))}
    groups, alone, left = list(np.diag(home)[home > 0]), [False] * len(homes), sets.count - 1
    while left:
        rows = sets.rows(int(group[left]))
        held, is_alone = np.flatnonzero(rows), bool(suppressed[group[left]])
        if len(held) == 1 and int(held[0]) in homes and not is_alone:
            groups[homes[int(held[0])]] += rows
        else:
            groups.append(rows)
            alone.append(is_alone)
        left -= int(group[left])
    vector = np.where(np.array(alone)[:, None], instance.levels.top, np.int16(-1))
    found = replace(kinds.partition(np.array(groups)), vector=vector.astype(np.int16))
    return session.finish_partition(found, bound=Fraction(total) * instance.levels.unit)


@dataclass(frozen=True)
class Kinds:
    """Row types that no group need tell apart are one kind: they have the same sensitive values, and at no level that
    costs less than the next one, and is allowed, different labels.

    of_type: int64 (t,), kind of each row type. copies: int64, rows of each kind. first: int64, its first row type.
    """

    of_type: Ints
    copies: Ints
    first: Ints
    counts: Ints

    @classmethod
    def of(cls, instance: Instance) -> Kinds:
        """Those of an instance."""
        types, mask = instance.types, instance.problem.recoding.mask
        lowest = recode(instance.problem, types).vectors.min(axis=0) if mask is not None else None
        columns = instance.levels.columns
        told = [
            axis.label[0] if lowest is None else columns[j].label_of[lowest[j], types.codes[:, j]]
            for j, axis in enumerate(_axes(instance))
        ]
        told += list(types.star_codes.T) if instance.problem.attributes else []
        _, first, of_type = np.unique(np.stack(told, axis=1), axis=0, return_index=True, return_inverse=True)
        of_type = of_type.reshape(-1).astype(np.int64)
        return cls(of_type, np.bincount(of_type, weights=types.counts).astype(np.int64), first, types.counts)

    def partition(self, groups: Ints) -> Partition:
        """Groups with so many rows of each kind, int64 (groups, kinds), as those of row types."""
        found: list[Ints] = []
        for kind, rows in enumerate(groups.T):
            types = np.flatnonzero(self.of_type == kind)
            of_group, of_type = np.cumsum(rows), np.cumsum(self.counts[types])
            ends = np.union1d(of_group, of_type)
            ends = ends[ends > 0]
            at = np.searchsorted(of_group, ends), types[np.searchsorted(of_type, ends)], np.diff(ends, prepend=0)
            found.append(np.stack(at))
        group, row_type, placed = np.concatenate(found, axis=1)
        return Partition(group, row_type, placed)


def _axes(instance: Instance) -> list[Axis]:
    return [Axis.of(column, instance.types.codes[:, j]) for j, column in enumerate(instance.levels.columns)]


def unit_costs(instance: Instance, kinds: Kinds) -> Ints:
    """What a row of a group loses that has rows of these kinds (bits), released at their closure, or under a mask at
    the cheapest pattern that makes them alike: int64 (2^kinds,); `NEVER` where there is none.

    A set that is alike in a column below a level saves what this costs more; so a set saves what all sets do that have
    all of its kinds, which is one sum for each of them, whatever the number of columns.
    """
    bit = np.zeros(instance.types.count, np.int64)
    bit[kinds.first] = 1 << np.arange(len(kinds.first))
    combine: np.ufunc
    if instance.problem.recoding.mask is not None:
        made = with_candidates(instance.problem, instance.types, recode(instance.problem, instance.types)).candidates
        found, combine = np.full(1 << len(kinds.first), NEVER), np.minimum
        np.minimum.at(found, np.add.reduceat(bit[made.members], made.indptr[:-1]), made.cost)
    else:
        axes = _axes(instance)
        labels = [label for axis in axes for label in axis.label[: axis.top]]
        found, combine = np.zeros(1 << len(kinds.first), np.int64), np.add
        found[-1] = instance.candidates.cost[0]
        for label, rise in zip(labels, rises(instance, axes).T, strict=True):
            of_label, row = np.unique(label[kinds.first], return_index=True)
            alike = [int(bit[kinds.first][label[kinds.first] == each].sum()) for each in of_label.tolist()]
            np.subtract.at(found, alike, np.broadcast_to(rise, bit.shape)[kinds.first][row])
    for i in range(len(kinds.first)):
        part = found.reshape(-1, 2, 1 << i)
        part[:, 0] = combine(part[:, 0], part[:, 1])
    return found


def _options(unit: Ints) -> Ints:
    """How many candidates that nothing dominates cover each kind: sets of kinds of which each larger one costs more."""
    kinds = len(unit).bit_length() - 1
    worth = unit < NEVER
    for i in range(kinds):
        part, cost = worth.reshape(-1, 2, 1 << i), unit.reshape(-1, 2, 1 << i)
        part[:, 0] &= cost[:, 1] > cost[:, 0]
    return np.array([np.count_nonzero(worth.reshape(-1, 2, 1 << i)[:, 1]) for i in range(kinds)], dtype=np.int64)


def _sizes(copies: Ints) -> tuple[int, int]:
    """How many sets of rows there are, and (set, part of it) pairs."""
    return math.prod(n + 1 for n in copies.tolist()), math.prod(math.comb(n + 2, 2) for n in copies.tolist())


def _too_many(count: int, steps: int) -> InputError:
    return InputError(
        f"the method subset_dp is for about 22 different rows: it would go through {Decimal(count):.2g} sets "
        f"of rows and {Decimal(steps):.2g} parts of them; use another method, such as milp"
    )


@dataclass(frozen=True)
class RowSets:
    """Sets of rows as numbers: rows of a type are alike, so a set is how many of each type it has, in mixed radix.

    copies: int64 (t,), rows of each type. place: int64 (t,), what one row of each type adds to the number. count: of
    sets; the last one is the table.
    """

    copies: Ints
    place: Ints
    count: int

    @classmethod
    def of(cls, copies: Ints, params: SubsetParams) -> RowSets:
        """Raises InputError where there are too many sets."""
        count, steps = _sizes(copies)
        if count > params.sets or steps > params.steps:
            raise _too_many(count, steps)
        place = np.concatenate([[1], np.cumprod(copies + 1)[:-1]]).astype(np.int64)
        return cls(copies, place, count)

    def rows(self, number: int) -> Ints:
        """How many rows of each type a set has, int64 (t,)."""
        return number // self.place % (self.copies + 1)

    def sums(self, weights: Ints) -> Ints:
        """Of every set, the sum of a weight of its rows, int64 (count,). weights: int64 (t,), of a row of each type."""
        found = np.zeros(1, dtype=np.int64)
        for copies, weight in zip(self.copies.tolist(), weights.tolist(), strict=True):
            found = (np.arange(copies + 1)[:, None] * weight + found[None, :]).reshape(-1)
        return found


def cheapest_groups(
    instance: Instance, kinds: Kinds, sets: RowSets, unit: Ints, home: Flags, params: SubsetParams, limit: Limit
) -> tuple[Ints, Flags]:
    """For every set of rows, the least loss as one group, int64 (count,), `NEVER` where it cannot be one; and whether
    it is then fully suppressed rows that need no partners. home: kinds of which a group of any size costs nothing.

    Raises InputError where the sets differ in too many ways in their sensitive values, and `Over` at the limit.
    """
    size = sets.sums(np.ones_like(sets.copies))
    support = np.zeros(1, dtype=np.int64)  # the kinds of a set as bits
    for i, copies in enumerate(sets.copies.tolist()):
        has = np.minimum(np.arange(copies + 1), 1) << i
        support = (has[:, None] | support[None, :]).reshape(-1)
    allowed, exempt = _allowed(instance, kinds, sets, params.counts, limit)
    at_home = np.zeros(len(unit), np.bool_)
    at_home[1 << np.flatnonzero(home)] = True
    fits = (((size >= instance.smallest_size) & allowed) | at_home[support]) & (unit[support] < NEVER)
    cost = np.where(fits, size * np.where(fits, unit[support], 0), NEVER)
    lone = np.where(exempt, size * instance.candidates.cost[0], NEVER)
    return np.minimum(cost, lone), lone < cost


def _allowed(instance: Instance, kinds: Kinds, sets: RowSets, most: int, limit: Limit) -> tuple[Flags, Flags]:
    """Whether every set, as a group, satisfies the requirements: with k-anonymity, and fully suppressed where such rows
    are exempt from it."""
    check = GroupCheck(instance)
    alone = bool(instance.exempt[0])  # then this is the only candidate
    every = np.ones(sets.count, dtype=bool)
    if check.code is None:  # sizes are all
        return every, every & alone & (sets.sums(np.ones_like(sets.copies)) >= instance.least[0])
    values = int(check.code.max()) + 1
    table = np.bincount(check.code, weights=instance.types.counts, minlength=values).astype(np.int64)
    ways = math.prod(n + 1 for n in table.tolist())
    if ways > most:
        raise InputError(
            f"the method subset_dp would have to ask the requirements about {ways:.2g} different counts of sensitive "
            f"values, more than {most:,}; use another method, such as milp"
        )
    place = np.concatenate([[1], np.cumprod(table + 1)[:-1]]).astype(np.int64)
    of_set = sets.sums(place[check.code[kinds.first]])
    found = np.zeros((2, ways), dtype=bool)
    for at in np.unique(of_set[1:]).tolist():
        if limit.over:
            raise Over
        counts = at // place % (table + 1)
        found[:, at] = check.holds(None, counts), alone and check.holds(0, counts)
    return found[0, of_set], found[1, of_set]


def divide(sets: RowSets, cost: Ints, limit: Limit, params: SubsetParams) -> tuple[int, Ints]:
    """The least loss of the table, and for every set of rows the first group of its best partition, int64 (count,).

    cost: of every set as one group. Raises `Over` at the limit.
    """
    total, group = np.full(sets.count, NEVER), np.zeros(sets.count, dtype=np.int64)
    total[0] = 0
    done = 1
    while done < sets.count:
        if limit.over:
            raise Over
        done = divide_some(sets.copies, sets.place, cost, total, group, done, params.slice)
    return int(total[-1]), group
