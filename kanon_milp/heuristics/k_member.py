"""Greedy k-member clustering (Byun, Kamra, Bertino, Li 2007), for every cost of whole groups and every requirement that
unions keep: groups grow by the row that costs least, from seeds far from each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kanon_milp.heuristics.median_cuts import coordinates, median_parts
from kanon_milp.heuristics.microaggregation import scaled
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.group_costs import NumericCost
from kanon_milp.problem.group_costs.boxes import BoxColumn, BoxPenalty
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import NO_LIMIT, Limit


class Growing(ABC):
    """A group that grows, and what it would cost with one more row, in floating point."""

    @abstractmethod
    def start(self, row: int) -> None:
        """Begin a group with this row."""

    @abstractmethod
    def with_each(self, rows: Ints) -> Floats:
        """What the group would cost with each of these rows, float64 (rows,), but for what is the same for all."""

    @abstractmethod
    def add(self, row: int) -> None:
        """Take a row in."""


class _Points(Growing):
    """Around the mean, or for absolute deviations the mean of the columns: near enough to choose by."""

    def __init__(self, cost: NumericCost) -> None:
        self._points, self._power = scaled(cost), cost.power

    def start(self, row: int) -> None:
        self._sum, self._size = self._points[row].copy(), 1

    def with_each(self, rows: Ints) -> Floats:
        found: Floats = (np.abs(self._points[rows] - self._sum / self._size) ** self._power).sum(axis=1)
        return found

    def add(self, row: int) -> None:
        self._sum += self._points[row]
        self._size += 1


class _Boxes(Growing):
    def __init__(self, cost: BoxPenalty) -> None:
        self._columns = [_BoxColumn(column) for column in cost.columns]

    def start(self, row: int) -> None:
        for column in self._columns:
            column.start(row)

    def with_each(self, rows: Ints) -> Floats:
        found: Floats = np.sum([column.with_each(rows) for column in self._columns], axis=0)
        return found

    def add(self, row: int) -> None:
        for column in self._columns:
            column.add(row)


class _BoxColumn:
    """Weight · NCP of the box in one column."""

    def __init__(self, column: BoxColumn) -> None:
        self._codes, self._weight = column.codes, float(column.weight)
        self._numbers: Floats | None = None
        self._levels = column.levels
        self._domain = len(column.domain)
        if column.levels is not None and column.levels.cell_costs is not None:
            self._shares = np.array([[float(cost) for cost in level] for level in column.levels.cell_costs])
        elif column.numbers is not None:
            least = min(column.numbers)
            self._numbers = np.array([float((x - least) / column.extent) for x in column.numbers])

    def start(self, row: int) -> None:
        code = self._codes[row]
        self._inside = np.zeros(self._domain, dtype=bool)
        self._inside[code] = True
        self._first, self._level = int(code), 0
        if self._numbers is not None:
            self._low = self._high = float(self._numbers[code])

    def with_each(self, rows: Ints) -> Floats:
        codes = self._codes[rows]
        if self._levels is not None:
            shares: Floats = self._shares[self._level_with(codes), self._first]
            return self._weight * shares
        if self._numbers is not None:
            x = self._numbers[codes]
            return self._weight * (np.maximum(x, self._high) - np.minimum(x, self._low))
        different: Floats = float(self._inside.sum()) + ~self._inside[codes]
        return self._weight * (different - 1) / max(self._domain - 1, 1)

    def add(self, row: int) -> None:
        code = self._codes[row]
        if self._levels is not None:
            self._level = int(self._level_with(np.array([code]))[0])
        elif self._numbers is not None:
            self._low = min(self._low, float(self._numbers[code]))
            self._high = max(self._high, float(self._numbers[code]))
        self._inside[code] = True

    def _level_with(self, codes: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Ints:
        """The lowest level at which each of these values has the label of the group."""
        assert self._levels is not None
        labels = self._levels.label_of[self._level :]
        found: Ints = self._level + (labels[:, codes] == labels[:, [self._first]]).argmax(axis=0)
        return found


def k_member(instance: GroupInstance, limit: Limit) -> Ints | None:
    """A partition, int64 (n,), whose groups all have what is required; None where that is not found.

    A group that lacks something takes rows with the sensitive values that it has fewest of, the one that costs least
    among them. Rows that are left, and what lacks something in the end, go to the group that costs least with them. At
    the limit the rows left are cut at medians; where these are no group, they are with the last one.
    """
    cost, n = instance.cost, len(instance.of_row)
    growing = _Points(cost) if isinstance(cost, NumericCost) else _Boxes(cost) if isinstance(cost, BoxPenalty) else None
    if growing is None:
        return None
    value = instance.sensitive_value
    left, groups, last = np.ones(n, dtype=bool), list[list[int]](), 0
    while left.sum() >= instance.least and not limit.over:
        rows = np.flatnonzero(left)
        growing.start(last)
        last = int(rows[growing.with_each(rows).argmax()])
        group = _grown(instance, growing, last, left, value, limit)
        if group is None:
            break
        groups.append(group)
    if limit.over and (rest := np.flatnonzero(left)).size:
        if instance.holds(rest):
            groups += [part.tolist() for part in median_parts(instance, coordinates(instance), rest, NO_LIMIT)]
        elif groups:
            groups[-1] += rest.tolist()
        left[:] = False
    group_of = np.full(n, -1, dtype=np.int64)
    for at, rows_of in enumerate(groups):
        group_of[rows_of] = at
    if not groups:
        return None
    centres = np.array([rows_of[0] for rows_of in groups])
    for row in np.flatnonzero(left).tolist():
        growing.start(row)
        group_of[row] = int(growing.with_each(centres).argmin())
    return group_of if instance.satisfies(instance.table(group_of)) else None


def _grown(
    instance: GroupInstance, growing: Growing, seed: int, left: Flags, value: Ints, limit: Limit
) -> list[int] | None:
    """A group about a row that has all that is required, taken out of the rows left; None where there is none, and at
    the limit."""
    group, free = [seed], left.copy()
    growing.start(seed)
    free[seed] = False
    while not instance.holds(np.array(group)):
        rows = np.flatnonzero(free)
        if not len(rows) or limit.over:
            return None
        if len(group) >= instance.least:  # large enough: a value is missing, or one is there too often
            held = np.bincount(value[group], minlength=int(value.max()) + 1)[value[rows]]
            rows = rows[held == held.min()]
        row = int(rows[growing.with_each(rows).argmin()])
        growing.add(row)
        group.append(row)
        free[row] = False
    left &= free
    return group
