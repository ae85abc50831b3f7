"""Tables from groups of two and three: a point of the matching program, rounded where it is integral, and a small
integer program for the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from kanon_milp.bounds.matching.pairs_and_triples import SmallGroups
from kanon_milp.formulations.arrays import set_partitioning
from kanon_milp.heuristics.grouping import assignment_of
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import LinearModel
from kanon_milp.system.arrays import Flags, Floats, Ints

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
    most = np.full(groups.count, counts.max(initial=0))
    return set_partitioning(sp.csr_array(matrix[rows]), groups.cost, counts[rows], most)


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
        enough: Flags = np.asarray((padded[rows] > 0).all(axis=1))
        # of the same type, as many as there are
        same = 1 + (rows[:, 2] == rows[:, 1]).astype(np.int64) + (rows[:, 2] == rows[:, 0])
        enough &= (padded[rows[:, 2]] >= same) & (padded[rows[:, 1]] >= 1 + (rows[:, 1] == rows[:, 0]))
        return enough

    def parts(self) -> list[tuple[Ints, Ints]]:
        """What falls apart: open row types, and the groups that they can form, by number; int64."""
        open_types = np.flatnonzero(self.left > 0)
        possible = np.flatnonzero(self.open_groups)
        matrix = sp.csr_array(self.groups.subset(possible).matrix(len(self.counts)))[open_types]
        count, label = connected_components(matrix @ matrix.T, directed=False)
        place = np.zeros(len(self.counts), np.int64)
        place[open_types] = label
        of_group = place[self.groups.rows[possible, 2]]
        order, types_order = np.argsort(of_group, kind="stable"), np.argsort(label, kind="stable")
        ends = np.arange(1, count)
        groups = np.split(possible[order], np.searchsorted(of_group[order], ends))
        types = np.split(open_types[types_order], np.searchsorted(label[types_order], ends))
        return list(zip(types, groups, strict=True))

    def settle(self, groups: Ints, times: Ints) -> bool:
        """Use these groups, by number, so often; whether there are rows for them, else nothing changes."""
        before = self.settled.copy()
        np.add.at(self.settled, groups, times)
        self._count()
        if (times >= 0).all() and (self.left >= 0).all():
            return True
        self.settled = before
        self._count()
        return False

    def widen(self, types: Ints, most: int, random: np.random.Generator) -> bool:
        """Open settled groups of which rows could be together with rows of these types, as many as `most`; whether
        there are any."""
        wanted = np.zeros(len(self.counts) + 1, np.bool_)
        wanted[types] = True
        rows = self.groups.rows
        beside = wanted.copy()
        beside[rows[wanted[rows].any(axis=1)]] = True
        beside[-1] = False  # -1 is no row
        near = np.flatnonzero((self.settled > 0) & beside[rows].any(axis=1))
        if not len(near):
            return False
        chosen = near if len(near) <= most else random.choice(near, most, replace=False)
        self.settled[chosen] = 0
        self._count()
        return True
