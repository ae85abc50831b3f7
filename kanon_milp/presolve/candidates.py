"""Candidates: the output row types that could be used, as CSR arrays over the row types that each covers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from kanon_milp.presolve.ragged import Ragged
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.arrays import Flags, Ints, Ints32


@dataclass(frozen=True, eq=False)
class Candidates:
    """G candidates; candidate g covers the row types members[indptr[g]:indptr[g+1]] (ascending), its cover C(g).

    vector: int32 (G,), its level vector. cost: int64 (G,), unit cost w_g in units of `Levels.unit`.
    support: int64 (G,), rows covered N_g. indptr: int64 (G+1,). members: int32 (number of pairs,).
    """

    vector: Ints32
    cost: Ints
    support: Ints
    indptr: Ints
    members: Ints32

    @property
    def count(self) -> int:
        """Number G of candidates."""
        return len(self.vector)

    @property
    def pairs(self) -> int:
        """Number of (row type, candidate) pairs."""
        return len(self.members)

    @property
    def covers(self) -> Ragged[np.int32]:
        """The covers as lists of row types."""
        return Ragged(self.indptr, self.members)

    @property
    def representative(self) -> Ints32:
        """The first row type of each cover, int32 (G,)."""
        first: Ints32 = self.members[self.indptr[:-1]]
        return first

    def candidate_of_pair(self) -> Ints32:
        """The candidate of each pair, in the order of `members`."""
        return np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.indptr))

    def cover_lists(self) -> list[list[int]]:
        """The covers as lists, for declaring a model."""
        members, bounds = self.members.tolist(), self.indptr.tolist()
        return [members[a:b] for a, b in itertools.pairwise(bounds)]

    def subset(self, keep: Flags) -> Candidates:
        """Only the candidates where `keep` is true, in the same order."""
        covers = self.covers.subset(keep)
        return Candidates(self.vector[keep], self.cost[keep], self.support[keep], covers.indptr, covers.values)

    def labels(self, types: RowTypes, levels: Levels, chosen: Ints) -> list[list[Label]]:
        """Released values of the chosen candidates: per quasi-identifier a list with one label for each of them."""
        codes = types.codes[self.representative[chosen]]
        vectors = levels.vectors[self.vector[chosen]]
        columns = []
        for j, column in enumerate(levels.columns):
            ids = column.label_of[vectors[:, j], codes[:, j]]
            columns.append([column.labels[i] for i in ids.tolist()])
        return columns


def enumerate_candidates(types: RowTypes, levels: Levels) -> Candidates:
    """All candidates: per level vector one for each distinct generalized row (the instances of a pattern)."""
    widths = [len(column.labels) for column in levels.columns]
    members = np.empty((levels.count, types.count), dtype=np.int32)
    begins, support = [], []
    for number, vector in enumerate(levels.vectors):
        # a column at its top level is the same everywhere and tells no rows apart
        used = [j for j, column in enumerate(levels.columns) if vector[j] < column.height]
        released = [levels.columns[j].label_of[vector[j], types.codes[:, j]] for j in used]
        key = mixed_key(released, [widths[j] for j in used]) if used else np.zeros(types.count, dtype=np.int64)
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        members[number] = order
        begins.append(first + number * types.count)
        support.append(np.add.reduceat(types.counts[order], first))
    vector_of = np.repeat(np.arange(levels.count, dtype=np.int32), [len(each) for each in begins])
    candidates = Candidates(
        vector=vector_of,
        cost=levels.costs[vector_of],
        support=np.concatenate(support),
        indptr=np.concatenate([*begins, [members.size]]).astype(np.int64),
        members=members.reshape(-1),
    )
    return _one_per_released_row(candidates, types, levels)


def _one_per_released_row(candidates: Candidates, types: RowTypes, levels: Levels) -> Candidates:
    """Where two level vectors give the same released row (a label that stands at two levels), keep the cheaper one."""
    shared = any(
        len(np.unique(column.label_of)) < sum(len(np.unique(level)) for level in column.label_of)
        for column in levels.columns
    )
    if not shared:
        return candidates
    codes = types.codes[candidates.representative]
    vectors = levels.vectors[candidates.vector]
    released = [column.label_of[vectors[:, j], codes[:, j]] for j, column in enumerate(levels.columns)]
    key = mixed_key(released, [len(column.labels) for column in levels.columns])
    order = np.lexsort((np.arange(candidates.count), candidates.cost, key))
    first = np.concatenate([[True], key[order][1:] != key[order][:-1]])
    keep = np.zeros(candidates.count, dtype=bool)
    keep[order[first]] = True
    return candidates.subset(keep)
