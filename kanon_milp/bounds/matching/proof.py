"""What multipliers of the matching program prove, in exact integers.

With λ, ν ≥ 0 integer multiples of 1/D, all groups of two and three rows are enumerated whose reduced cost is negative.
Where there are such ones, as rounding leaves, λ is lowered by as much as the lowest needs. Then no group has a negative
reduced cost, and L = Σ n_i λ_i - Σ ν_R ⌊p_R·n/d_R⌋ is a lower bound: add Σ_R ν_R (Σ_c ⌊p_R·a_c/d_R⌋ - ⌊p_R·n/d_R⌋) ≤ 0
to the loss of a table; what is left besides L are the reduced costs of its groups of two and three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.matching.program import MOST_PRICED, MatchingDual, denominator_for
from kanon_milp.bounds.matching.small_groups import SmallGroups, Space, cut_coefficients
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.system.arrays import Ints


@dataclass(frozen=True, eq=False)
class MatchingProof:
    """Multipliers times the denominator, λ int64 (t,) and ν int64 (r,), for which no group of two or three rows has a
    negative reduced cost."""

    space: Space
    multipliers: Ints
    cuts: RankOneCuts
    cut_multipliers: Ints
    denominator: int

    @property
    def value(self) -> Fraction:
        """L, in units."""
        counts, limits = self.space.counts.tolist(), self.cuts.limits(self.space.counts).tolist()
        total = sum(n * each for n, each in zip(counts, self.multipliers.tolist(), strict=True))
        total -= sum(limit * each for limit, each in zip(limits, self.cut_multipliers.tolist(), strict=True))
        return Fraction(total, self.denominator)

    @property
    def bound(self) -> int:
        """⌈L⌉: no table loses fewer units."""
        return math.ceil(self.value)

    def within(self, loss: int, most: int) -> tuple[SmallGroups, bool]:
        """The groups that a table of at most this loss may have, and whether these are all: none of higher reduced
        cost than loss - L. most: number at which it gives up."""
        gap = math.floor((loss - self.value) * self.denominator)
        return self.cheaper(gap, most)

    def cheaper(self, limit: int, most: int) -> tuple[SmallGroups, bool]:
        """The groups of reduced cost up to this limit, times the denominator, and whether these are all."""
        found, complete = self.space.within(self.multipliers, self.denominator, limit, most)
        return found.subset(self.reduced_costs(found) <= limit), complete

    def reduced_costs(self, groups: SmallGroups) -> Ints:
        """Of each group, times the denominator, int64 (C,)."""
        reduced = groups.cost * self.denominator - self.space.worth(groups, self.multipliers)
        if self.cuts.count and groups.count:
            reduced = reduced + self.cut_multipliers @ cut_coefficients(groups, self.cuts, self.space.types)
        return np.asarray(reduced, dtype=np.int64)

    def as_dual(self) -> DualPoint:
        """The same for certificates."""
        return DualPoint(
            self.multipliers / self.denominator,
            float(self.value),
            None,
            np.zeros(self.space.instance.candidates.count),
            rank_one_cuts=self.cuts,
            cut_multipliers=self.cut_multipliers / self.denominator,
        )


def prove(space: Space, dual: MatchingDual) -> MatchingProof | None:
    """Round multipliers so that they prove something; None where there are too many groups of negative reduced cost."""
    largest = float(np.abs(dual.multipliers).max(initial=0.0)) + float(dual.cut_multipliers.sum())
    denominator = denominator_for(space, largest)
    used = dual.cut_multipliers * denominator >= 1
    charged = np.ceil(dual.cut_multipliers[used] * denominator).astype(np.int64)
    # a little lower, so that rounding leaves hardly any group below 0
    multipliers = np.floor(dual.multipliers * denominator).astype(np.int64) - 1
    proof = MatchingProof(space, multipliers, dual.cuts.subset(used), charged, denominator)
    negative, complete = proof.cheaper(-1, MOST_PRICED)
    if not complete:
        return None
    lowest = -int(proof.reduced_costs(negative).min(initial=0))
    shift = lowest if space.alone.any() else -(-lowest // 2)
    return MatchingProof(space, multipliers - shift, proof.cuts, charged, denominator)
