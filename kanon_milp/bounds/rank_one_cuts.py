"""Rank-1 cuts: what rounding one combination of assignment rows says about groups.

Write a solution as groups, each the rows a = (a_i) that one candidate receives, a_i of row type i. Every row is in one
group: Σ_groups a_i = n_i. For whole weights p_i ≥ 0 on a few row types R and a whole denominator d ≥ 1:

    Σ_groups ⌊Σ_{i∈R} p_i a_i / d⌋ ≤ ⌊Σ_{i∈R} p_i n_i / d⌋

Proof. Add p_i/d times the assignment rows; the left side only falls when each group's coefficient is rounded down, and
is whole then, so the right side may be rounded down as well (Chvatal 1973; of rank 1, since nothing but assignment
rows is combined). It holds whatever else is asked for, and whether or not groups are split or merged. With three row
types of one row each, p = 1 and d = 2 these are the subset-row cuts of Jepsen, Petersen, Spoorendonk and Pisinger
(2008): of the groups that hold two or three of three rows there is at most one. The families of four and five rows are
those of Pecin, Pessoa, Poggi, Uchoa and Santos (2017).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import InputError

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RankOneCuts:
    """Rows by number r: row types types[indptr[r]:indptr[r+1]] (int32), ascending, with the weights p at the same
    places (int64, positive), and denominators d (int64, positive). indptr: int64 (r+1,)."""

    indptr: Ints
    types: Codes
    weights: Ints
    denominators: Ints

    def __post_init__(self) -> None:
        if (self.weights < 1).any() or (self.denominators < 1).any():
            raise InputError("weights and denominators of rank-1 cuts must be positive")

    @classmethod
    def of(cls, rows: Iterable[tuple[Sequence[int], Sequence[int], int]]) -> RankOneCuts:
        """From (row types, weights, denominator) of each row."""
        given = list(rows)
        orders = [np.argsort(np.asarray(types, dtype=np.int64), kind="stable") for types, _, _ in given]
        sizes = [len(types) for types, _, _ in given]
        types = [np.asarray(each[0], dtype=np.int32)[order] for each, order in zip(given, orders, strict=True)]
        weights = [np.asarray(each[1], dtype=np.int64)[order] for each, order in zip(given, orders, strict=True)]
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([np.empty(0, np.int32), *types]),
            np.concatenate([np.empty(0, np.int64), *weights]),
            np.array([denominator for _, _, denominator in given], dtype=np.int64),
        )

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.denominators)

    def each(self) -> list[tuple[list[int], list[int], int]]:
        """The rows one by one: row types, weights, denominator."""
        ends = self.indptr.tolist()
        return [
            (self.types[begin:end].tolist(), self.weights[begin:end].tolist(), denominator)
            for begin, end, denominator in zip(ends[:-1], ends[1:], self.denominators.tolist(), strict=True)
        ]

    def limits(self, counts: Ints) -> Ints:
        """The right sides, int64 (r,). counts: rows of each row type, int64 (t,)."""
        row = np.repeat(np.arange(self.count), np.diff(self.indptr))
        total = np.zeros(self.count, dtype=np.int64)
        np.add.at(total, row, self.weights * counts[self.types])
        found: Ints = total // self.denominators
        return found

    def by_type(self, types: int) -> tuple[Ints, Codes, Ints]:
        """The same by row type: (begins, row, weight) as CSR; begins: int64 (types+1,)."""
        order = np.argsort(self.types, kind="stable")
        row = np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.indptr))
        begins = np.concatenate([[0], np.cumsum(np.bincount(self.types, minlength=types))]).astype(np.int64)
        return begins, row[order], self.weights[order]

    def subset(self, keep: Flags) -> RankOneCuts:
        """Only the rows where `keep` is true."""
        sizes = np.diff(self.indptr)
        inside = np.repeat(keep, sizes)
        indptr = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
        return RankOneCuts(indptr, self.types[inside], self.weights[inside], self.denominators[keep])

    def joined(self, others: RankOneCuts) -> RankOneCuts:
        """These rows and then the others."""
        return RankOneCuts(
            np.concatenate([self.indptr, others.indptr[1:] + self.indptr[-1]]),
            np.concatenate([self.types, others.types]),
            np.concatenate([self.weights, others.weights]),
            np.concatenate([self.denominators, others.denominators]),
        )

    def mapped(self, types: int, back: Callable[[NDArray[Any]], NDArray[Any]]) -> RankOneCuts:
        """The same rows over other row types. types: number of row types here; back: takes one number for each of
        these to one for each of the others, as `reductions.restore_values` does.

        Row types that were merged get the weight of what they were merged to: a group's sum is the same.
        """
        found = []
        for chosen, weights, denominator in self.each():
            weight = np.zeros(types, dtype=np.int64)
            weight[chosen] = weights
            there = back(weight)
            others = np.flatnonzero(there)
            found.append((others.tolist(), there[others].tolist(), denominator))
        return RankOneCuts.of(found)


NO_CUTS = RankOneCuts.of([])
