"""Which row types are alike under a level vector, without candidates: one hash table for all vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kanon_milp.kernels.alike import group_alike
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.arrays import Ints


class Alike:
    """Asks for one level vector after the other, in O(t·m) each. Not for several threads at once."""

    def __init__(self, types: RowTypes, levels: Levels) -> None:
        self._levels, self._labels = levels, _Labels.of(levels)
        self._codes = np.ascontiguousarray(types.codes, np.int64)
        slots = 1 << int(2 * types.count).bit_length()
        self._work = _Work(
            np.zeros(slots, dtype=np.int64),
            np.full(slots, -1, dtype=np.int64),
            *(np.empty(types.count, dtype=np.int64) for _ in range(4)),
        )
        self._asked = 0

    def under(self, vector: int, active: Ints, rows: Ints, least: int) -> list[Ints]:
        """The row types, int64, of each set of active ones that are alike under this level vector and have at least so
        many rows together. rows: int64 (t,), of every row type."""
        entries, groups = self._ask(vector, active, rows, least)
        return np.split(self._work.members[:entries].copy(), self._work.size[1:groups].copy()) if groups else []

    def together(self, vector: int, active: Ints, rows: Ints, least: int) -> Ints:
        """The row types of all these sets, int64, in any order; valid until the next question."""
        return self._work.members[: self._ask(vector, active, rows, least)[0]]

    def _ask(self, vector: int, active: Ints, rows: Ints, least: int) -> tuple[int, int]:
        at = self._levels.vectors[vector]
        used = np.flatnonzero(at < self._levels.top)
        place = self._labels.begin[used, at[used]]
        self._asked += 1
        labels = self._labels.label, self._labels.mixed
        return group_alike(self._codes, used, place, *labels, active, rows, least, self._asked, *self._work)


class _Labels(NamedTuple):
    """Labels of all columns, levels and values in one array: begin[j, level] + code is the place of a value's label.

    label: int64, a number that tells the labels of a column apart; mixed: int64, a random number for each of them.
    """

    begin: Ints
    label: Ints
    mixed: Ints

    @classmethod
    def of(cls, levels: Levels) -> _Labels:
        """Those of all columns."""
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
    """Arrays that the inner loop writes to: see `group_alike`.

    stamp, first: int64 (slots,), of a hash table: the last vector that used a slot, and the group in it. group: int64
    (t,), of each row type. size, begin: int64 (t,), of each group. members: int64 (t,), row types by group.
    """

    stamp: Ints
    first: Ints
    group: Ints
    size: Ints
    begin: Ints
    members: Ints
