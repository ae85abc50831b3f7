"""Kernel: of a row type with very many rows, most may be kept as they are beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Reduction, Step, supports
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags, Ints


def spare_rows(counts: Ints, options: Ints, free: Flags, k: int, *, stays: int) -> Ints:
    """How many rows of each type can be placed beforehand in a candidate of their own that costs nothing, for
    k-anonymity and the loss, int64 (t,): k or more, or none.

    counts: rows of each type; options: candidates that cover it; free: whether one of these, its home, costs nothing.
    stays: rows that it keeps besides those that other groups may have: k, or none where homes count as large enough.

    Proof. Some types are large; G is the number of candidates of such a type but its home, or that of all rows that are
    not of large types, if these are fewer. Take a best table, with one group for each candidate. A group without rows
    of other types can be dissolved, its rows go home. From the others let rows of large types go home as long as k
    rows are left (of exempt ones all). So a group outside that has any has k rows, k-1 of large types at most; and
    there are no more such groups than rows that are not. Nothing costs more now, and at most G(k-1) rows of a large
    type are outside. All others but `stays` are spare; where they are k, homes are large enough with them, and where k
    stay, without them as well. ∎
    """
    large = free
    while True:
        groups = np.minimum(options - 1, counts[~large].sum())
        spare: Ints = counts - groups * (k - 1) - stays
        still = large & (spare >= k)
        if (still == large).all():
            return np.where(large, spare, 0)
        large = still


@dataclass(frozen=True, eq=False)
class Kernelized(Step):
    """Rows are placed already. pair: int64, in the order of `Candidates.members`; rows: int64, how many there."""

    pair: Ints
    rows: Ints

    def invert(self, assignment: Assignment) -> Assignment:
        """Put the rows back into their candidates, which cost nothing."""
        rows = assignment.rows_of_pairs(self.before)
        rows[self.pair] += self.rows
        return Assignment.from_pairs(self.before, rows)


@dataclass(frozen=True)
class Kernel(Reduction[Kernelized]):
    """Place all but (G+1)(k-1) + 1 rows of a type in a candidate that costs nothing, where G other groups may have some
    of them, and these are at least k rows. Keeps the optimal value, for k-anonymity and the loss.

    Blocki and Williams 2010, Lemma 2 and Algorithm 1, take groups of k from types with more than 2k²·2^m rows, where
    all 2^m patterns are allowed. `spare_rows` takes more, with proof.

    Row types, candidates and pairs stay the same in number, and so do covers and viability: more than k - 1 rows of
    each type are left. What falls is the number of rows, which exponential algorithms are about; models and their
    bounds hardly change, so it is not among the reductions made by default.
    """

    name: ClassVar[str] = "kernel"

    def accepts(self, problem: Problem) -> bool:
        """k-anonymity alone, the loss as objective, and no bounds on the number of groups."""
        return (
            problem.size_only
            and problem.objective == "loss"
            and problem.min_groups is None
            and problem.most_groups is None
        )

    def spare(self, instance: Instance, k: int) -> Ints:
        """How many rows of each type are placed beforehand if these are at least k, int64 (t,)."""
        candidates, types = instance.candidates, instance.types
        options = np.bincount(candidates.members, minlength=types.count)
        free = np.bincount(candidates.members, candidates.cost[candidates.candidate_of_pair()] == 0, types.count) > 0
        return spare_rows(types.counts, options, free, k, stays=k)

    def _apply(self, instance: Instance) -> Kernelized:
        types, candidates = instance.types, instance.candidates
        of_pair = candidates.candidate_of_pair()
        k = instance.smallest_size
        spare = self.spare(instance, k)
        free = np.flatnonzero(candidates.cost[of_pair] == 0)
        row_type, first = np.unique(candidates.members[free], return_index=True)
        enough = spare[row_type] >= k
        row_type, pair = row_type[enough].astype(np.int64), free[first[enough]]
        counts = types.counts.copy()
        counts[row_type] -= spare[row_type]
        # which sensitive values the rows have that are left does not matter: no requirement is about them
        fewer = replace(
            types,
            sensitive=(),
            domains=types.domains[: len(types.names)],
            counts=counts,
            star_type=np.arange(types.count, dtype=np.int32),
            star_codes=np.empty((types.count, 0), dtype=np.int32),
            star_counts=counts,
        )
        support = supports(counts, of_pair, candidates.members, candidates.count)
        smaller = replace(instance, types=fewer, candidates=replace(candidates, support=support))
        return Kernelized(self.name, instance, smaller, pair, spare[row_type])
