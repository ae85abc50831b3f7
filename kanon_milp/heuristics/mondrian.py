"""Mondrian: rows are cut in two at the median of a quasi-identifier as long as both sides satisfy every requirement."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.column_values import numbers_of
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.recoding import Hierarchies
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit


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


def with_last_divided(instance: Instance, partition: Partition, limit: Limit) -> Partition:
    """A partition whose last group, such as the rest that greedy was too slow for, is divided by Mondrian, if it
    satisfies the requirements."""
    number = int(partition.group.max())
    last = partition.group == number
    whole, check = Part(partition.row_type[last], partition.rows[last]), GroupCheck(instance)
    if not _allowed(check, whole):
        return partition
    parts = list(divide(instance, whole, check, limit, relaxed=False))
    divided = np.repeat(number + np.arange(len(parts)), [len(part.types) for part in parts])
    vector = partition.vector
    if vector is not None:
        vector = np.vstack([vector[:number], np.full((len(parts), vector.shape[1]), -1, np.int16)])
    return Partition(
        np.concatenate([partition.group[~last], divided]),
        np.concatenate([partition.row_type[~last], *(part.types for part in parts)]),
        np.concatenate([partition.rows[~last], *(part.rows for part in parts)]),
        vector,
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
