"""Which rows each candidate receives: as numbers of rows of each type, as groups, and as the released table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, SolverError, counted, type_in_words
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.presolve.row_types import RowTypes, rows_by_type
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Flags, Ints


@dataclass(frozen=True, eq=False)
class Assignment:
    """How many rows of which type each candidate receives: parallel int64 arrays with one entry for each non-zero
    number.

    Entries are ordered by row type, then candidate. cost: total loss in units of `Levels.unit`.
    """

    row_type: Ints
    candidate: Ints
    rows: Ints
    cost: int

    @classmethod
    def from_pairs(cls, instance: Instance, rows: Ints) -> Assignment:
        """Take the number of rows of every pair, in the order of `Candidates.members`.

        Raises InputError for an array that is not of this length, SolverError unless it places each row exactly once.
        """
        given: object = rows
        expected = f"an int64 array of {counted(instance.candidates.pairs, 'entry', 'entries')}, one a pair,"
        if not (
            isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.shape == (instance.candidates.pairs,)
        ):
            raise InputError(f"Assignment.from_pairs: rows: {expected} is expected, found {_shape(given)}")
        candidate = instance.candidates.candidate_of_pair().astype(np.int64)
        row_type = instance.candidates.members.astype(np.int64)
        placed = np.bincount(row_type, weights=rows, minlength=instance.types.count)
        if (placed != instance.types.counts).any() or (rows < 0).any():
            raise SolverError("the numbers of rows do not place each row of the table exactly once")
        used = np.flatnonzero(rows)
        used = used[np.lexsort((candidate[used], row_type[used]))]
        cost = int(rows[used] @ instance.candidates.cost[candidate[used]])
        return cls(row_type[used], candidate[used], rows[used], cost)

    def within(self, problem: Problem, unit: Fraction) -> bool:
        """Whether it satisfies the side constraints of a problem. unit: what one of the cost is worth."""
        groups, most = len(np.unique(self.candidate)), problem.exact_cost_bound
        return (
            (most is None or self.cost * unit <= most)
            and (problem.min_groups is None or groups >= problem.min_groups)
            and (problem.most_groups is None or groups <= problem.most_groups)
        )

    def checked(self, instance: Instance) -> Assignment:
        """The same, in order and with the cost as it is.

        Raises InputError for arrays that are not of integers, of one length, about this instance; SolverError unless
        each row is placed exactly once.
        """
        candidates, types = instance.candidates, instance.types.count
        arrays: dict[str, object] = {"row_type": self.row_type, "candidate": self.candidate, "rows": self.rows}
        for name, given in arrays.items():
            if not (isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.ndim == 1):
                raise InputError(
                    f"Assignment: {name}: an int64 array of one dimension is expected, found {_shape(given)}"
                )
        if not len(self.row_type) == len(self.candidate) == len(self.rows):
            found = f"{len(self.row_type)}, {len(self.candidate)} and {len(self.rows)} entries"
            raise InputError(f"Assignment: row_type, candidate and rows must be of the same length, found {found}")
        keys = candidates.pair_keys(types)
        asked = self.candidate.astype(np.int64) * types + self.row_type
        pair = np.searchsorted(keys, asked)
        outside = (self.row_type < 0) | (self.row_type >= types) | (pair >= len(keys))
        if outside.any() or (keys[pair] != asked).any():
            raise InputError(
                "Assignment: a candidate receives rows of a type that it does not generalize, or one of them is not in "
                "the instance; both are numbered as in session.instance"
            )
        rows = np.zeros(candidates.pairs, dtype=np.int64)
        np.add.at(rows, pair, self.rows.astype(np.int64))
        return Assignment.from_pairs(instance, rows)

    def rows_of_pairs(self, instance: Instance) -> Ints:
        """The number of rows of every pair, in the order of `Candidates.members`: the inverse of `from_pairs`."""
        candidates, types = instance.candidates, instance.types.count
        rows = np.zeros(candidates.pairs, dtype=np.int64)
        rows[np.searchsorted(candidates.pair_keys(types), self.candidate * types + self.row_type)] = self.rows
        return rows


def _shape(value: object) -> str:
    return f"one {value.shape} of {value.dtype}" if isinstance(value, np.ndarray) else type_in_words(value)


@dataclass(frozen=True, eq=False, repr=False)
class RowGroups:
    """A table's rows in groups, as parallel int64 arrays with an entry for each released row.

    group: its group. row: which row of `Table.frame` it is of, from 0; ascending. rows: how many rows of the table it
    stands for, 1 where the table has no counts. A row of several may be in several groups.
    """

    group: Ints
    row: Ints
    rows: Ints

    @classmethod
    def of_table(cls, group: Ints, table: Table) -> RowGroups:
        """Each row of the table's frame as it is. group: int64, of each."""
        return cls(group, np.arange(len(group)), table.rows_of)

    @classmethod
    def of_types(cls, table: Table, types: RowTypes, group: Ints, rows: Ints) -> RowGroups:
        """From so many rows of each type in each group, ordered by row type: the type's rows, in row order, go to its
        groups in this order."""
        type_of_row = types.type_of_rows(table.keys)
        _, row = rows_by_type(type_of_row, types.count)
        # both are ordered by row type, so they are laid side by side and cut where either ends
        ends_of_row, ends_of_group = np.cumsum(table.rows_of[row]), np.cumsum(rows)
        ends = ends_of_row if table.counts is None else np.union1d(ends_of_row, ends_of_group)
        row = row[np.searchsorted(ends_of_row, ends)]
        group = group[np.searchsorted(ends_of_group, ends)]
        order = np.argsort(row, kind="stable")
        return cls(group[order], row[order], np.diff(ends, prepend=0)[order])


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """columns: per quasi-identifier its released values as text, in row order.

    groups: of the released rows, numbered from 1 in the order of their first rows.
    """

    columns: dict[str, pl.Series]
    groups: RowGroups

    def table(self, table: Table) -> Any:
        """The released table of this one, in the user's own kind of data frame."""
        return table.divided(self.groups.row, self.groups.rows).released(self.columns)


def expand(instance: Instance, assignment: Assignment) -> Release:
    """Give the rows of each type, in row order, to its candidates, in candidate order."""
    types, levels = instance.types, instance.levels
    placed = RowGroups.of_types(instance.problem.table, types, assignment.candidate, assignment.rows)
    used, first, inverse = np.unique(placed.group, return_index=True, return_inverse=True)
    labels = instance.candidates.labels(types, levels, used)
    released = pl.DataFrame([pl.Series(f"c{j}", label, dtype=pl.String) for j, label in enumerate(labels)])[inverse]
    columns = {name: column.alias(name) for name, column in zip(types.names, released, strict=True)}
    number = np.empty(len(used), dtype=np.int64)
    number[np.argsort(first)] = np.arange(1, len(used) + 1)
    return Release(columns, replace(placed, group=number[inverse]))


@dataclass(frozen=True, eq=False)
class Groups:
    """Group c is of candidate[c], int64 (C,), and has copies[e] rows (int64) of the e-th row type in `types` (int64),
    whose list c has the row types of the group, ascending."""

    candidate: Ints
    types: Ragged[np.int64]
    copies: Ints

    @classmethod
    def of_rows(cls, candidate: Ints, sizes: Ints, rows: Ints) -> Groups:
        """From row types one after the other, each as often as it has rows in the group.

        sizes: int64 (C,), rows of each group.
        """
        group = np.repeat(np.arange(len(candidate)), sizes)
        order = np.lexsort((rows, group))
        group, rows = group[order], rows[order]
        first = np.flatnonzero(
            np.concatenate([[True], (group[1:] != group[:-1]) | (rows[1:] != rows[:-1])])[: len(rows)]
        )
        copies = np.diff(np.concatenate([first, [len(rows)]]))
        indptr = indptr_of(np.bincount(group[first], minlength=len(candidate)))
        return cls(candidate, Ragged(indptr, rows[first]), copies.astype(np.int64))

    @classmethod
    def of_assignment(cls, assignment: Assignment) -> Groups:
        """The groups of a table, one for each candidate that is used."""
        order = np.lexsort((assignment.row_type, assignment.candidate))
        used, sizes = np.unique(assignment.candidate, return_counts=True)
        types = Ragged(indptr_of(sizes), assignment.row_type[order].astype(np.int64))
        return cls(used.astype(np.int64), types, assignment.rows[order].astype(np.int64))

    @classmethod
    def none(cls) -> Groups:
        """No groups."""
        empty = np.empty(0, np.int64)
        return cls(empty, Ragged(np.zeros(1, np.int64), empty), empty)

    @classmethod
    def of_all(cls, lists: Sequence[Groups]) -> Groups:
        """The groups of some lists, one list after the other; at least one list."""
        first, *others = (each.types for each in lists)
        return cls(
            np.concatenate([each.candidate for each in lists]),
            first.joined(*others),
            np.concatenate([each.copies for each in lists]),
        )

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.candidate)

    def each(self) -> list[tuple[int, list[int], list[int]]]:
        """The groups one by one: candidate, row types, rows of each."""
        types, copies = self.types.values.tolist(), self.copies.tolist()
        spans = itertools.pairwise(self.types.indptr.tolist())
        return [(g, types[a:b], copies[a:b]) for g, (a, b) in zip(self.candidate.tolist(), spans, strict=True)]

    def most(self, counts: Ints) -> Ints:
        """How often each group fits into the table, min_i ⌊n_i / a_i⌋. counts: rows of each row type."""
        if not self.count:
            return np.empty(0, dtype=np.int64)
        found: Ints = np.minimum.reduceat(counts[self.types.values] // self.copies, self.types.indptr[:-1])
        return found

    def subset(self, keep: Flags) -> Groups:
        """Only some of the groups."""
        return Groups(self.candidate[keep], self.types.subset(keep), self.copies[self.types.of_kept(keep)])

    def joined(self, others: Groups) -> Groups:
        """These groups and then the others."""
        return Groups.of_all([self, others])

    def by_type(self, types: int) -> tuple[Ragged[np.int64], Ints]:
        """Per row type the groups that have rows of it, and how many, in the same order."""
        groups, places = self.types.transposed(types)
        return groups, self.copies[places]

    def keys(self) -> list[bytes]:
        """One value for each group that tells it apart."""
        entries, indptr = np.stack([self.types.values, self.copies], axis=1), self.types.indptr
        return [
            int(g).to_bytes(8, "little") + entries[begin:end].tobytes()
            for g, begin, end in zip(self.candidate, indptr[:-1], indptr[1:], strict=True)
        ]
