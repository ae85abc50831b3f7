"""Groups of rows that one candidate receives, as arrays: what set partitioning and column generation choose from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Flags, Ints


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
