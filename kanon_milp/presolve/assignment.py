"""Which rows each candidate receives, as numbers of rows of each type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import SolverError
from kanon_milp.presolve.instance import Instance

Ints = NDArray[np.int64]


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

        Raises SolverError unless they place each row exactly once.
        """
        candidate = instance.candidates.candidate_of_pair().astype(np.int64)
        row_type = instance.candidates.members.astype(np.int64)
        placed = np.bincount(row_type, weights=rows, minlength=instance.types.count)
        if (placed != instance.types.counts).any() or (rows < 0).any():
            raise SolverError("the solver's point does not place each row exactly once")
        used = np.flatnonzero(rows)
        used = used[np.lexsort((candidate[used], row_type[used]))]
        cost = int(rows[used] @ instance.candidates.cost[candidate[used]])
        return cls(row_type[used], candidate[used], rows[used], cost)

    def rows_of_pairs(self, instance: Instance) -> Ints:
        """The number of rows of every pair, in the order of `Candidates.members`: the inverse of `from_pairs`."""
        candidates, types = instance.candidates, instance.types.count
        keys = candidates.candidate_of_pair().astype(np.int64) * types + candidates.members
        rows = np.zeros(candidates.pairs, dtype=np.int64)
        rows[np.searchsorted(keys, self.candidate * types + self.row_type)] = self.rows
        return rows
