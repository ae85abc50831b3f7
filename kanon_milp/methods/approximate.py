"""The methods that divide the rows themselves and need no candidates: `greedy`, `mondrian`, `mondrian_relaxed`, which
prove nothing, and `m_approximation`, which keeps within a factor of the optimum.

The groups are released as cheaply as the recoding allows, so that their loss compares with that of every other method.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.greedy import greedy_partition
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.column_values import mixed_key, numbers_of
from kanon_milp.problem.hierarchies import ColumnLevels, Label
from kanon_milp.problem.recoding import Hierarchies
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit

NO_GREEDY_TABLE = (
    "greedy has found no table: no pattern fits all rows, or not even all rows together satisfy the requirements; "
    "another method may find one"
)
NOTHING_TO_DIVIDE = "not even all rows together satisfy the requirements, so there is nothing to divide"
ONE_GROUP = "the limit was reached before classes of equal rows were found: all rows are one group"


def solve_greedy(session: Session) -> Result:
    """Form groups from the cheapest pattern to the most expensive (Bredereck et al. 2013, Algorithm 1)."""
    with session.clock.step("search"):
        found = greedy_partition(session.prepared.before, session.limit)
    if found is None:
        return session.finish(None, message=NO_GREEDY_TABLE)
    short = "the limit was reached before every pattern was gone through" if session.limit.over else ""
    return session.finish_partition(found, message=short)


def solve_mondrian(session: Session, *, relaxed: bool = False) -> Result:
    """Cut the rows in two at the median of a quasi-identifier as long as both parts satisfy every requirement (LeFevre,
    DeWitt and Ramakrishnan 2006).

    relaxed: rows at the median go to both sides, so that these are equally large; otherwise a value is on one side.
    """
    with session.clock.step("search"):
        found = mondrian_partition(session.prepared.before, session.limit, relaxed=relaxed)
    if found is None:
        return session.finish(None, message=NOTHING_TO_DIVIDE)
    over = session.limit.over
    short = "the limit was reached before every part was divided as far as the requirements allow" if over else ""
    return session.finish_partition(found, message=short)


def mondrian_partition(instance: Instance, limit: Limit, *, relaxed: bool = False) -> Partition | None:
    """The parts that no allowable cut is left in, or what there is at the limit; None where all rows together do not
    satisfy the requirements."""
    whole = Part(np.arange(instance.types.count), instance.types.counts.copy())
    check = GroupCheck(instance)
    if not _allowed(check, whole):
        return None
    parts = list(divide(instance, whole, check, limit, relaxed=relaxed))
    number = np.repeat(np.arange(len(parts)), [len(part.types) for part in parts])
    return Partition(
        number, np.concatenate([part.types for part in parts]), np.concatenate([part.rows for part in parts])
    )


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of the table: so many of each of these row types, both int64."""

    types: Ints
    rows: Ints

    def of(self, rows: Ints) -> Part:
        """These of its rows, int64 as `rows`."""
        return Part(self.types[rows > 0], rows[rows > 0])


def divide(instance: Instance, whole: Part, check: GroupCheck, limit: Limit, *, relaxed: bool) -> Iterator[Part]:
    """The parts that no allowable cut is left in; at the limit, what there is then: parts of about equally many rows.

    The column of a cut is the one in which the part is widest, relative to the table; if that cannot be cut, the next.
    """
    axes, least = [Axis.of(instance, j) for j in range(len(instance.types.names))], instance.smallest_size
    open_ = deque([whole])
    while open_:
        part = open_.popleft()
        done = limit.over or part.rows.sum() < 2 * least
        cut = None if done else next(_cuts(part, axes, check, relaxed=relaxed), None)
        if cut is None:
            yield part
        else:
            open_.extend(cut)


def _cuts(part: Part, axes: Sequence[Axis], check: GroupCheck, *, relaxed: bool) -> Iterator[tuple[Part, Part]]:
    widths = np.array([axis.width(part.types) for axis in axes])
    for j in np.argsort(-widths, kind="stable").tolist():
        if widths[j] <= 0:
            return
        for below in axes[j].halves(part) if relaxed else axes[j].cuts(part):
            sides = part.of(below), part.of(part.rows - below)
            if all(len(side.types) and _allowed(check, side) for side in sides):
                yield sides


def _allowed(check: GroupCheck, part: Part) -> bool:
    return check.accepts(None, part.types, part.rows)


@dataclass(frozen=True, eq=False)
class Axis:
    """A quasi-identifier as an ordered axis. rank: int64 (t,), place of each row type; at: float64 (t,), its position,
    from 0 to 1.

    Numbers stand where they are; other values one after the other: in the order of their hierarchy, so that what has a
    label in common stays together, or of their text; missing ones last.
    """

    rank: Ints
    at: Floats

    @classmethod
    def of(cls, instance: Instance, j: int) -> Axis:
        """The axis of column j."""
        types, recoding = instance.types, instance.problem.recoding
        domain, codes = types.domains[j], types.codes[:, j]
        known = numbers_of(domain).of
        numbers = [None if value is None else known.get(value) for value in domain]
        tree = recoding.hierarchies.get(types.names[j]) if isinstance(recoding, Hierarchies) else None
        if all(number is not None for number in numbers):
            order = np.array(sorted(range(len(domain)), key=lambda i: numbers[i] or Fraction(0)))
            values = np.array([float(number or 0) for number in numbers])
        else:
            paths = [_path(value, None if tree is None else tree.paths[value]) for value in domain]
            order = np.array(sorted(range(len(domain)), key=lambda i: paths[i]))
            values = np.empty(len(domain))
            values[order] = np.arange(len(domain))
        rank = np.empty(len(domain), dtype=np.int64)
        rank[order] = np.arange(len(domain))
        present = values[codes]
        span = float(present.max() - present.min())
        return cls(rank[codes], (present - present.min()) / (span or 1.0))

    def width(self, types: Ints) -> float:
        """How far these row types are apart, from 0 to 1."""
        found = self.at[types]
        return float(found.max() - found.min())

    def cuts(self, part: Part) -> list[Ints]:
        """Rows of each type, int64, below a cut beside the median: after it or before, the more equal sides first."""
        rank = self.rank[part.types]
        order, before, half = self._median(rank, part)
        median = rank[order[np.searchsorted(before, half)]]
        found = [np.where(rank <= median, part.rows, 0), np.where(rank < median, part.rows, 0)]
        return sorted(found, key=lambda below: abs(2 * int(below.sum()) - int(part.rows.sum())))

    def halves(self, part: Part) -> list[Ints]:
        """The same for a cut within the rows at the median, so that both sides have as many."""
        order, before, half = self._median(self.rank[part.types], part)
        below = np.zeros_like(part.rows)
        below[order] = np.clip(half - (before - part.rows[order]), 0, part.rows[order])
        return [below]

    def _median(self, rank: Ints, part: Part) -> tuple[Ints, Ints, int]:
        """Row types in the order of the axis, numbers of rows up to each of them, and half of the rows."""
        order = np.argsort(rank, kind="stable")
        return order, np.cumsum(part.rows[order]), (int(part.rows.sum()) + 1) // 2


def _path(value: Label, path: Sequence[Label] | None) -> tuple[tuple[bool, str], ...]:
    """What values are ordered by: their labels from the top on, or the value itself."""
    labels = [value] if path is None else [*reversed(path)]
    return tuple((label is None, label or "") for label in labels)


def solve_m_approximation(session: Session) -> Result:
    """Rows that are alike k times stay as they are; all others are one group, with as many of the former as it needs
    (Liang and Yuan 2013, Theorem 10: k-anonymity within a factor of the number m of quasi-identifiers).

    In any table so many rows lose at least the least that a row can lose, and here none loses more than a fully
    suppressed one: so the bound, and the factor, which is m where each suppressed cell costs the same. Under a mask
    without the pattern that keeps everything no row stays as it is. At the limit all rows are one group, and nothing
    is proven.
    """
    before, limit = session.prepared.before, session.limit
    of_all = np.arange(before.types.count)
    everything = Partition(np.zeros_like(of_all), of_all, before.types.counts)
    if limit.over:
        return session.finish_partition(everything, message=ONE_GROUP)
    types, levels = before.types, recode(session.problem, before.types, _least_general)
    k = before.smallest_size
    alike = mixed_key(list(types.codes.T.astype(np.int64)), [len(d) for d in types.domains[: len(types.names)]])
    _, of_type = np.unique(alike, return_inverse=True)
    size = np.bincount(of_type, weights=types.counts).astype(np.int64)
    if limit.over:  # what follows is quick
        return session.finish_partition(everything, message=ONE_GROUP)
    kept = (levels.vectors == 0).all(axis=1).any()
    order = np.argsort(size, kind="stable")
    small = int((size < k).sum()) if kept else len(size)
    rest = np.where(np.arange(len(size)) < small, size[order], 0)  # rows of each class in the common group
    if 0 < rest.sum() < k:
        spare = size[order] - np.where(rest > 0, size[order], k)
        if rest.sum() + spare.sum() >= k:
            wanted = k - int(rest.sum())
            rest += np.clip(wanted - (np.cumsum(spare) - spare), 0, spare)
        elif small < len(size):  # each row of the next class at least loses something, or one of a larger class does
            rest[small] = size[order][small]
    # fully suppressed rows that are exempt need no partners that lose as well
    losing = int(size[order][:small].sum() if before.exempt_reading else rest.sum())
    taken = np.zeros(len(size), dtype=np.int64)
    taken[order] = rest
    partition = _partition(of_type, types.counts, taken)
    if before.exempt_reading and 0 < rest.sum() < k:  # too few to be released but as suppressed rows
        vector = np.full((len(np.unique(partition.group)), len(levels.top)), -1, np.int16)
        vector[-1] = levels.top
        partition = replace(partition, vector=vector)
    least = levels.costs[(levels.vectors != 0).any(axis=1)].min(initial=levels.costs.max())
    return session.finish_partition(partition, bound=losing * int(least) * levels.unit)


def _least_general(columns: Sequence[ColumnLevels]) -> NDArray[np.int16]:
    """The level vector that keeps everything, and those that generalize one column by one level, int16 (m + 1, m)."""
    return np.vstack([np.zeros((1, len(columns)), np.int16), np.eye(len(columns), dtype=np.int16)])


def _partition(of_type: Ints, counts: Ints, taken: Ints) -> Partition:
    """Each class as a group, but for the rows that are taken out of it, which are the last group.

    of_type: int64 (t,), class of each row type. taken: int64 (classes,).
    """
    order = np.argsort(of_type, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    first = np.searchsorted(of_type[order], np.arange(len(taken)))
    within = before - before[first][of_type[order]]
    out = np.zeros_like(counts)
    out[order] = np.clip(taken[of_type[order]] - within, 0, counts[order])
    group = np.concatenate([of_type, np.full(len(of_type), len(taken))])
    rows = np.concatenate([counts - out, out])
    row_type = np.tile(np.arange(len(of_type)), 2)
    used = rows > 0
    return Partition(group[used].astype(np.int64), row_type[used], rows[used])
