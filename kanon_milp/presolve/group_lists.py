"""Groups of rows that one candidate receives, as arrays: what set partitioning and column generation choose from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanon_milp.presolve.assignment import Assignment

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups as CSR: group c takes copies[e] rows of types[e] for e in indptr[c]:indptr[c+1], types ascending.

    candidate, sizes: int64 (C,), sizes in rows.
    """

    candidate: Ints
    indptr: Ints
    types: Ints
    copies: Ints

    @classmethod
    def of_rows(cls, candidate: Ints, sizes: Ints, rows: Ints) -> Groups:
        """From row types one after the other, each as often as it has rows in the group (`cheapest_groups`)."""
        group = np.repeat(np.arange(len(candidate)), sizes)
        order = np.lexsort((rows, group))
        group, rows = group[order], rows[order]
        first = np.flatnonzero(
            np.concatenate([[True], (group[1:] != group[:-1]) | (rows[1:] != rows[:-1])])[: len(rows)]
        )
        copies = np.diff(np.concatenate([first, [len(rows)]]))
        begins = np.concatenate([[0], np.cumsum(np.bincount(group[first], minlength=len(candidate)))])
        return cls(candidate, begins.astype(np.int64), rows[first], copies.astype(np.int64))

    @classmethod
    def of_assignment(cls, assignment: Assignment) -> Groups:
        """The groups of a table, one for each candidate that is used."""
        order = np.lexsort((assignment.row_type, assignment.candidate))
        candidate = assignment.candidate[order]
        used, first = np.unique(candidate, return_index=True)
        return cls(
            used.astype(np.int64),
            np.concatenate([first, [len(order)]]).astype(np.int64),
            assignment.row_type[order].astype(np.int64),
            assignment.rows[order].astype(np.int64),
        )

    @classmethod
    def none(cls) -> Groups:
        """No groups."""
        empty = np.empty(0, np.int64)
        return cls(empty, np.zeros(1, np.int64), empty, empty)

    @classmethod
    def of_all(cls, lists: Sequence[Groups]) -> Groups:
        """The groups of some lists, one list after the other; at least one list."""
        sizes = np.concatenate([np.diff(each.indptr) for each in lists])
        return cls(
            np.concatenate([each.candidate for each in lists]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([each.types for each in lists]),
            np.concatenate([each.copies for each in lists]),
        )

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.candidate)

    def each(self) -> list[tuple[int, list[int], list[int]]]:
        """The groups one by one: candidate, row types, rows of each."""
        types, copies = self.types.tolist(), self.copies.tolist()
        spans = itertools.pairwise(self.indptr.tolist())
        return [(g, types[a:b], copies[a:b]) for g, (a, b) in zip(self.candidate.tolist(), spans, strict=True)]

    def most(self, counts: Ints) -> Ints:
        """How often each group fits into the table, min_i ⌊n_i / a_i⌋. counts: rows of each row type."""
        if not self.count:
            return np.empty(0, dtype=np.int64)
        found: Ints = np.minimum.reduceat(counts[self.types] // self.copies, self.indptr[:-1])
        return found

    def of_entry(self) -> Ints:
        """The group of each entry of `types`."""
        return np.repeat(np.arange(self.count), np.diff(self.indptr))

    def subset(self, keep: Flags) -> Groups:
        """Only some of the groups."""
        lengths = np.diff(self.indptr)
        inside = np.repeat(keep, lengths)
        indptr = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
        return Groups(self.candidate[keep], indptr, self.types[inside], self.copies[inside])

    def joined(self, others: Groups) -> Groups:
        """These groups and then the others."""
        return Groups.of_all([self, others])

    def by_type(self, types: int) -> tuple[Ints, Ints, Ints]:
        """The same by row type: (begins, group, copies) as CSR."""
        order = np.argsort(self.types, kind="stable")
        begins = np.concatenate([[0], np.cumsum(np.bincount(self.types, minlength=types))]).astype(np.int64)
        return begins, self.of_entry()[order], self.copies[order]

    def keys(self) -> list[bytes]:
        """One value for each group that tells it apart."""
        entries = np.stack([self.types, self.copies], axis=1)
        return [
            int(g).to_bytes(8, "little") + entries[begin:end].tobytes()
            for g, begin, end in zip(self.candidate, self.indptr[:-1], self.indptr[1:], strict=True)
        ]
