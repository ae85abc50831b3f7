"""Which rows each candidate receives, as numbers of rows of each type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kanon_milp.errors import InputError, SolverError, counted, type_in_words
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Ints


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
        keys = candidates.candidate_of_pair().astype(np.int64) * types + candidates.members
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
        keys = candidates.candidate_of_pair().astype(np.int64) * types + candidates.members
        rows = np.zeros(candidates.pairs, dtype=np.int64)
        rows[np.searchsorted(keys, self.candidate * types + self.row_type)] = self.rows
        return rows


def _shape(value: object) -> str:
    return f"one {value.shape} of {value.dtype}" if isinstance(value, np.ndarray) else type_in_words(value)
