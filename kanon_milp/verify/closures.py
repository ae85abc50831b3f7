"""The groups that can lower a dual bound where level vectors are too many to be gone through: closed ones, by branch
and bound.

A set of rows is released at its closure: per column the lowest label that all of them share, and from there up to the
last one that costs the same. A closed set is all rows that are released so at its closure. The groups of
`kanon_milp.verify.dual` that are not dominated are the closed sets of enough rows, each once: all rows C(g) of any g
are released alike at the closure of C(g), which loses no more, since costs do not fall upwards; where it loses as much,
it is no lower than g in any column, so its rows are all of C(g) and perhaps more. And nothing comes before it but what
has the same rows and loss, since what releases all its rows alike is in no column at a lower label that costs less.

Columns are decided one after the other. A part is the rows that have some labels in the first columns; every closed set
below it has these labels, so its rows are among those of the part. So the part is left

* where all its rows share a lower label that costs less in one of these columns: then so do those of every set below,
* where its rows are too few: then so are those of every set below,
* where φ at the loss of these columns alone, of all its rows, is not negative: for no group of some of these rows, at a
  loss that is no lower, costs less.

Parts wait on a stack and are divided many at once, so that memory is bounded: about the number of columns times
`AT_ONCE` rows of parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Flags, Ints

AT_ONCE = 1 << 18  # rows of parts that are divided at once
MOST_PARTS = 1 << 25  # that are gone through


class TooManyGroupsError(InputError):
    """More is to be gone through than anybody would wait for."""


@dataclass(frozen=True, eq=False)
class Column:
    """Labels int64 (levels, t) of the distinct rows, less than `count`, and what they lose, in units, of the same
    shape, not falling from level to level."""

    labels: Ints
    count: int
    losses: Ints


class Sets(NamedTuple):
    """Sets of rows. members: int64, one set after the other, each ascending; begins: where each starts. loss: int64 of
    each, in units, of the columns decided. levels: int64 (sets, columns decided). phi: int64, φ at that loss."""

    members: Ints
    begins: Ints
    loss: Ints
    levels: Ints
    phi: Ints

    @property
    def sizes(self) -> Ints:
        """Distinct rows of each."""
        return np.diff(self.begins, append=len(self.members))

    def only(self, chosen: Flags) -> Sets:
        """Some of them."""
        sizes = self.sizes
        begins = np.cumsum(sizes[chosen]) - sizes[chosen]
        return Sets(self.members[np.repeat(chosen, sizes)], begins, *(each[chosen] for each in self[2:]))


def closed_sets(
    columns: Sequence[Column], rows: Ints, multipliers: Ints, denominator: int, least: int, *, top: bool
) -> Iterator[Sets]:
    """All closed sets with φ < 0 without cuts, some at a time; each closed set once.

    rows, multipliers: int64 (t,), copies and λ times the denominator, which falls. least: κ. top: whether the set whose
    closure is at the top of all columns is among them. Raises InputError where costs fall from level to level, or the
    multipliers leave too many parts (TooManyGroupsError).
    """
    if any((np.diff(column.losses, axis=0) < 0).any() for column in columns):
        raise InputError("a label costs more than one above it, so closed sets are not enough")
    # what divides rows most comes first: parts are small early
    columns = sorted(columns, key=lambda column: -column.count)
    everything = np.arange(len(rows), dtype=np.int64)
    nothing = np.zeros(1, dtype=np.int64)
    waiting = [Sets(everything, nothing, nothing, np.empty((1, 0), dtype=np.int64), nothing)]
    seen = 0
    while waiting:
        part = waiting.pop()
        if len(part.members) > AT_ONCE and len(part.begins) > 1:
            first = np.arange(len(part.begins)) < len(part.begins) // 2
            waiting += [part.only(~first), part.only(first)]
            continue
        j = part.levels.shape[1]
        if j == len(columns):
            tops = [len(column.labels) - 1 for column in columns]
            yield part if top else part.only(np.any(part.levels < tops, axis=1))
            continue
        # parts of all levels together: where there are few rows, each step is one for as many parts as there are
        divided = _together(
            [
                _open(_divided(part, columns[j], level), rows, multipliers, denominator, least)
                for level in range(len(columns[j].labels))
            ]
        )
        divided = _closed(columns[: j + 1], divided)
        seen += len(divided.begins)
        if seen > MOST_PARTS:
            raise TooManyGroupsError("the multipliers leave too many groups to be checked")
        waiting += [divided] if len(divided.begins) else []


def open_values(rows: Ints, reduced: Ints, begins: Ints, least: int) -> Ints:
    """φ of each set; 0 for one of fewer than `least` rows. rows, reduced: of each member, by rising reduced cost.

    All rows with a negative reduced cost are taken, then the next ones up to `least`.
    """
    together = np.cumsum(rows)
    before = together - rows
    before -= np.repeat(before[begins], np.diff(begins, append=len(rows)))
    taken = np.where(reduced < 0, rows, np.clip(least - before, 0, rows))
    phi: Ints = np.add.reduceat(taken * reduced, begins)
    phi[np.add.reduceat(rows, begins) < least] = 0
    return phi


def alike(labels: Ints, begins: Ints) -> Flags:
    """Per set: whether all its members have the same label. labels: of each member."""
    first = np.repeat(labels[begins], np.diff(begins, append=len(labels)))
    same: Flags = np.logical_and.reduceat(labels == first, begins)
    return same


def _divided(part: Sets, column: Column, level: int) -> Sets:
    """The rows of each set by their label at this level, where the one above costs more."""
    of_member = np.repeat(np.arange(len(part.begins)), part.sizes)
    key = of_member * column.count + column.labels[level][part.members]
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    members, of = part.members[order], of_member[order[begins]]
    loss = column.losses[level][members[begins]]
    levels = np.concatenate([part.levels[of], np.full((len(of), 1), level)], axis=1)
    found = Sets(members, begins, part.loss[of] + loss, levels, np.zeros(len(of), np.int64))
    if level == len(column.labels) - 1:
        return found
    return found.only(column.losses[level + 1][members[begins]] > loss)


def _together(parts: Sequence[Sets]) -> Sets:
    """The sets of all parts."""
    ahead = np.cumsum([0, *(len(part.members) for part in parts)])
    begins = [part.begins + at for part, at in zip(parts, ahead.tolist(), strict=False)]
    return Sets(
        np.concatenate([part.members for part in parts]),
        np.concatenate(begins),
        *(np.concatenate([part[field] for part in parts]) for field in range(2, len(Sets._fields))),
    )


def _open(sets: Sets, rows: Ints, multipliers: Ints, denominator: int, least: int) -> Sets:
    """Those of enough rows with φ < 0."""
    if not len(sets.begins):
        return sets
    reduced = np.repeat(sets.loss * denominator, sets.sizes) - multipliers[sets.members]
    phi = open_values(rows[sets.members], reduced, sets.begins, least)
    return sets._replace(phi=phi).only(phi < 0)


def _closed(columns: Sequence[Column], sets: Sets) -> Sets:
    """Those whose rows share no lower label that costs less, in the columns decided."""
    for j, column in enumerate(columns):
        for level in range(len(column.labels) - 1):
            if not len(sets.begins):
                return sets
            first = sets.members[sets.begins]
            lower = (level < sets.levels[:, j]) & (
                column.losses[level][first] < column.losses[sets.levels[:, j], first]
            )
            lower &= alike(column.labels[level][sets.members], sets.begins)
            sets = sets.only(~lower)
    return sets
