"""Groups of two and three rows as arrays, and all of them whose reduced cost is within a limit.

They are enough for 2-anonymity: a group of four or more rows is one candidate's, and any parts of two and three of it
are released alike at the same unit cost (Blocki, Williams 2010, section 3; so it holds under masks and hierarchies as
well). They are enough for 2-diversity, where the sensitive values of a group differ pairwise: a larger group in which
no value has more than half of the rows has two rows of different values without which that is still so (Liang, Yuan
2013, Lemma 2). Exempt rows, which need no partners, are groups of one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.bounds.dual import DualPoint, ExactDual, Proof
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.kernels.matching import groups_within
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Flags, Ints

Number = TypeVar("Number", np.int64, np.float64)

LARGEST = 3  # rows of a group


@dataclass(frozen=True, eq=False)
class SmallGroups:
    """Groups of one to three rows.

    rows: int64 (C, 3), their row types, ascending, -1 in front where there are fewer than three. cost: int64 (C,), loss
    of each group in units. candidate: int64 (C,), the cheapest one that covers it.
    """

    rows: Ints
    cost: Ints
    candidate: Ints

    @classmethod
    def none(cls) -> SmallGroups:
        """No groups."""
        return cls(np.empty((0, LARGEST), np.int64), np.empty(0, np.int64), np.empty(0, np.int64))

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.cost)

    @property
    def sizes(self) -> Ints:
        """Rows of each group, int64 (C,)."""
        found: Ints = (self.rows >= 0).sum(axis=1).astype(np.int64)
        return found

    def keys(self, types: int) -> Ints:
        """One number for each group that tells it apart. types: number of row types."""
        base, rows = types + 1, self.rows + 1
        found: Ints = (rows[:, 0] * base + rows[:, 1]) * base + rows[:, 2]
        return found

    def subset(self, keep: Flags | Ints) -> SmallGroups:
        """Only some of them, by flags or by number."""
        return SmallGroups(self.rows[keep], self.cost[keep], self.candidate[keep])

    def joined(self, others: SmallGroups) -> SmallGroups:
        """These and then the others."""
        return SmallGroups(
            np.concatenate([self.rows, others.rows]),
            np.concatenate([self.cost, others.cost]),
            np.concatenate([self.candidate, others.candidate]),
        )

    def matrix(self, types: int) -> sp.csc_array:
        """Rows of each row type in each group, int64 (t, C)."""
        column = np.repeat(np.arange(self.count), LARGEST)
        flat = self.rows.ravel()
        there = flat >= 0
        entries = np.ones(int(there.sum()), np.int64), (flat[there], column[there])
        found = sp.csc_array(entries, shape=(types, self.count))
        found.sum_duplicates()
        return found

    def in_lists(self) -> Groups:
        """The same as lists."""
        return Groups.of_rows(self.candidate, self.sizes, self.rows[self.rows >= 0])

    def cheapest(self, types: int) -> SmallGroups:
        """Each group once, by the candidate of the lowest cost. types: number of row types."""
        rows = np.sort(self.rows, axis=1)
        key = SmallGroups(rows, self.cost, self.candidate).keys(types)
        order = np.lexsort((self.candidate, self.cost, key))
        first = np.ones(len(order), np.bool_)
        first[1:] = key[order][1:] != key[order][:-1]
        kept = order[first]
        return SmallGroups(rows[kept], self.cost[kept], self.candidate[kept])


@dataclass(frozen=True, eq=False)
class Space:
    """All groups of two and three rows of an instance.

    value: int64 (t,), sensitive value of each row type, pairwise different in a group; of no length for k-anonymity.
    """

    instance: Instance
    value: Ints

    @classmethod
    def of(cls, instance: Instance) -> Space:
        """For 2-anonymity, or for 2-diversity where the instance's problem is about a sensitive attribute."""
        attributes = instance.problem.attributes
        value = instance.sensitive_codes(attributes)[0] if attributes else np.empty(0, np.int64)
        return cls(instance, value)

    @property
    def counts(self) -> Ints:
        """Rows of each row type, int64 (t,)."""
        return self.instance.types.counts

    @property
    def types(self) -> int:
        """Number of row types."""
        return self.instance.types.count

    @property
    def alone(self) -> Flags:
        """Candidates whose rows need no partners, bool (G,)."""
        found: Flags = (self.instance.least == 1) & (len(self.value) == 0)
        return found

    def enumerated(
        self, multipliers: Ints, denominator: int, limit: int, most: int, each: int | None = None
    ) -> tuple[SmallGroups, bool]:
        """Groups whose cost times the denominator less their rows' multipliers is at most `limit`, and whether these
        are all of them.

        most: number of groups at which it gives up, each candidate's counted. each: for a selection, how many with the
        same first row in a candidate.
        """
        candidates = self.instance.candidates
        found, candidate, complete = groups_within(
            candidates.indptr, candidates.members, candidates.cost * denominator, self.alone,
            self.counts, np.ascontiguousarray(multipliers, np.int64), self.value,
            limit, most, most if each is None else each,
        )  # fmt: skip
        cost = candidates.cost[candidate] * (found >= 0).sum(axis=1)
        return SmallGroups(found, cost, candidate).cheapest(self.types), complete and each is None

    def within(self, proof: Proof, loss: int, most: int) -> tuple[SmallGroups, bool]:
        """The groups that a table of at most this loss may have, and whether these are all: none of higher reduced
        cost than loss - L. most: number at which it gives up."""
        return self.cheaper(proof.dual, math.floor((loss - proof.value) * proof.dual.denominator), most)

    def cheaper(self, exact: ExactDual, limit: int, most: int) -> tuple[SmallGroups, bool]:
        """The groups of reduced cost up to this limit, times the denominator, and whether these are all."""
        found, complete = self.enumerated(exact.multipliers, exact.denominator, limit, most)
        return found.subset(self.reduced_costs(found, exact) <= limit), complete

    def reduced_costs(self, groups: SmallGroups, dual: DualPoint[Number]) -> NDArray[Number]:
        """cost - Σ λ + Σ ν ⌊p·a/d⌋ of each group, times the denominator, (C,)."""
        reduced: NDArray[Any] = groups.cost * dual.denominator - self.worth(groups, dual.multipliers)
        if dual.rank_one_cuts.count and groups.count:
            reduced = reduced + dual.cut_multipliers @ cut_coefficients(groups, dual.rank_one_cuts, self.types)
        return np.asarray(reduced, dtype=dual.multipliers.dtype)

    def worth(self, groups: SmallGroups, multipliers: NDArray[Number]) -> NDArray[Number]:
        """Σ of the multipliers of each group's rows, (C,)."""
        padded = np.append(multipliers, np.zeros(1, multipliers.dtype))
        found: NDArray[Number] = padded[groups.rows].sum(axis=1)
        return found


def cut_coefficients(groups: SmallGroups, cuts: RankOneCuts, types: int) -> sp.csr_array:
    """⌊p·a/d⌋ of each cut (rows) and group (columns), int64. types: number of row types."""
    weights = sp.csr_array((cuts.weights, cuts.types.values, cuts.types.indptr), shape=(cuts.count, types))
    found = sp.csr_array(weights @ groups.matrix(types))
    found.data = found.data // np.repeat(cuts.denominators, np.diff(found.indptr))
    found.eliminate_zeros()
    found.sort_indices()
    return found
