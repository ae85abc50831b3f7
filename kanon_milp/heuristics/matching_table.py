"""Tables from groups of two and three: a point of the matching program, rounded where it is integral, and a small
integer program for the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.bounds.matching.small_groups import SmallGroups
from kanon_milp.heuristics.grouping import assignment_of
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import LinearModel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CERTAIN = 1e-6


def table_of(instance: Instance, groups: SmallGroups, times: Ints) -> Assignment:
    """The table with each group so many times, int64 (C,). Raises SolverError unless it places each row once."""
    each = np.repeat(times, 3)
    flat, candidate = groups.rows.ravel(), np.repeat(groups.candidate, 3)
    there = (flat >= 0) & (each > 0)
    return assignment_of(instance, flat[there], candidate[there], each[there])


def partition_model(groups: SmallGroups, counts: Ints) -> LinearModel:
    """Place so many rows of each type in groups, at the least loss. counts: int64 (t,)."""
    matrix = sp.csr_array(groups.matrix(len(counts)))
    rows = np.flatnonzero((counts > 0) | (np.diff(matrix.indptr) > 0))
    right, none = counts[rows].astype(np.float64), ("",)
    most = np.full(groups.count, float(counts.max(initial=0)))
    return LinearModel(
        name="groups of two and three",
        c=groups.cost.astype(np.float64),
        offset=0.0,
        A=sp.csr_array(matrix[rows].astype(np.float64)),
        constraint_lower=right,
        constraint_upper=right.copy(),
        lower=np.zeros(groups.count),
        upper=most,
        integer=np.ones(groups.count, np.bool_),
        variable_names=none * groups.count,
        constraint_names=none * len(rows),
        integral=True,
    )


@dataclass(eq=False)
class Rounded:
    """The groups that are settled, and the rows that are open.

    settled: int64 (C,), how often each group is used. left: int64 (t,), rows of each type that are in none of these.
    """

    groups: SmallGroups
    counts: Ints
    settled: Ints
    left: Ints

    @classmethod
    def of(cls, groups: SmallGroups, share: Floats, counts: Ints) -> Rounded:
        """With all that is used integrally, and the integral part of the rest."""
        settled = np.floor(share + CERTAIN).astype(np.int64)
        found = cls(groups, counts, settled, counts.copy())
        found._count()
        return found

    def _count(self) -> None:
        self.left = self.counts - self.groups.matrix(len(self.counts)) @ self.settled

    @property
    def open_groups(self) -> Flags:
        """Groups that the open rows can form, bool (C,)."""
        rows = self.groups.rows
        padded = np.append(self.left, len(rows))  # -1 is no row
        enough: Flags = (padded[rows] > 0).all(axis=1)
        # of the same type, as many as there are
        same = 1 + (rows[:, 2] == rows[:, 1]).astype(np.int64) + (rows[:, 2] == rows[:, 0])
        return enough & (padded[rows[:, 2]] >= same) & (padded[rows[:, 1]] >= 1 + (rows[:, 1] == rows[:, 0]))

    def widen(self, most: int, random: np.random.Generator) -> bool:
        """Open settled groups that share a possible group with open rows, as many as `most`; whether there are any."""
        is_open = np.append(self.left > 0, False)
        rows = self.groups.rows
        beside = np.zeros(len(is_open), np.bool_)
        beside[rows[is_open[rows].any(axis=1)]] = True
        beside[-1] = False
        near = np.flatnonzero((self.settled > 0) & (beside[rows] | is_open[rows]).any(axis=1))
        if not len(near):
            return False
        chosen = near if len(near) <= most else random.choice(near, most, replace=False)
        self.settled[chosen] = 0
        self._count()
        return True
