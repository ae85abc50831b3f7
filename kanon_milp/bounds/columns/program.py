"""The linear program over all groups of an instance, and the cheapest groups at its multipliers.

Group c takes a_ic rows of row type i for candidate g, at least κ_g together and a_ic ≤ n_i, at w_g Σ_i a_ic + σ_g:

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i for all row types i,   Σ_c ⌊p_R·a_c / d_R⌋ θ_c ≤ ⌊p_R·n / d_R⌋

Multipliers λ of the row types and ν ≥ 0 of the rank-1 cuts R (`kanon_milp.bounds.rank_one_cuts`) prove

    L(λ, ν) = Σ_i n_i λ_i - Σ_R ν_R ⌊p_R·n / d_R⌋ + Σ_g min(0, φ_g),

where φ_g is the least reduced cost cost_c - Σ_i λ_i a_ic + Σ_R ν_R ⌊p_R·a_c / d_R⌋ of a group of g, or less where the
search for it gave up: a table uses each candidate once at most. Packing cuts keep their multipliers: these are in σ,
and what they cost on the right side is not in L here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.pricing import cheapest_groups, unsorted_rows
from kanon_milp.bounds.rank_one_cuts import CutsByType, PricedCuts, RankOneCuts
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.jit import compiled
from kanon_milp.system.kernels import doubled

NODES = 200_000  # of the search for one group
NEAR_ENOUGH = 0.3  # reduced cost, in units, up to which the cheapest groups of all candidates are among the first


@dataclass(frozen=True, eq=False)
class Prices:
    """Multipliers λ of the row types and ν of the rank-1 cuts, float64."""

    multipliers: Floats
    cut_multipliers: Floats

    def towards(self, other: Prices, share: float) -> Prices:
        """So much of the way to the other prices. share: 0 to 1."""
        return Prices(
            (1 - share) * self.multipliers + share * other.multipliers,
            (1 - share) * self.cut_multipliers + share * other.cut_multipliers,
        )


@dataclass(frozen=True, eq=False)
class GroupProgram:
    """The linear program over all groups, and where its multipliers begin.

    candidates: those of an instance in float64, with σ. counts: n, int64 (t,). cuts: the rank-1 cuts that it begins
    with. start: the first multipliers, with those of these cuts.
    """

    candidates: PricedCandidates[np.float64]
    counts: Ints
    cuts: RankOneCuts
    start: Prices

    @classmethod
    def of(cls, instance: Instance, dual: DualPoint) -> GroupProgram:
        """From a point of the dual; packing cuts are held as surcharges."""
        candidates = instance.candidates
        surcharge = PackingCuts.of(instance, dual.sets).surcharge(dual.packing_multipliers, candidates.count)
        priced = PricedCandidates(
            candidates.indptr, candidates.members, candidates.cost.astype(np.float64),
            instance.least.astype(np.float64), surcharge.astype(np.float64),
        )  # fmt: skip
        return cls(priced, instance.types.counts, dual.rank_one_cuts, Prices(dual.multipliers, dual.cut_multipliers))

    @property
    def types(self) -> int:
        """Number of row types."""
        return len(self.counts)

    @property
    def near_enough(self) -> float:
        """Reduced cost up to which cheapest groups are worth being among the first columns."""
        return NEAR_ENOUGH

    def costs(self, groups: Groups) -> Floats:
        """cost_c of groups: w of their candidate for each row, and σ."""
        sizes = np.bincount(groups.types.list_of_value(), weights=groups.copies, minlength=groups.count)
        cost, surcharge = self.candidates.cost[groups.candidate], self.candidates.surcharge[groups.candidate]
        found: Floats = cost * sizes + surcharge
        return found

    def pricing(self, cuts: RankOneCuts) -> Pricing:
        """What computes L and the cheapest groups with some rank-1 cuts."""
        return Pricing(self, cuts)


class Pricing:
    """L and the cheapest groups at any prices, with some rank-1 cuts."""

    def __init__(self, program: GroupProgram, cuts: RankOneCuts) -> None:
        self.program, self.by_type = program, cuts.by_type(program.types)
        self.counts = program.counts.astype(np.float64)
        self.limits = cuts.limits(program.counts).astype(np.float64)

    def __call__(self, prices: Prices, below: float = -1e-9, known: float = -math.inf) -> tuple[float, Groups]:
        """L, and the cheapest group of each candidate, if its reduced cost is `below`.

        With below > 0 the value is still that of L: groups that cost something are not taken. Where L is no more than
        `known`, what comes back may be less than L, and groups that are not the cheapest.
        """
        del known  # the searches are short
        every = np.arange(len(self.program.candidates.cost))
        phi, complete = np.empty(len(every)), np.empty(len(every), np.bool_)
        cuts = PricedCuts(*self.by_type, prices.cut_multipliers)
        rows = unsorted_rows(self.counts, prices.multipliers)
        found = cheapest_groups(self.program.candidates, rows, cuts, every, np.float64(below), NODES, phi, complete)
        value = float(np.minimum(phi, 0.0).sum())
        value += float(self.counts @ prices.multipliers) - float(self.limits @ prices.cut_multipliers)
        return value, Groups.of_rows(*found)


def coefficients(groups: Groups, cuts: RankOneCuts, types: int) -> tuple[Ints, Ints, Ints]:
    """The coefficients of groups in rank-1 cuts that are not 0: (cut, group, coefficient), ordered by group."""
    return _coefficients(groups.types, groups.copies, cuts.by_type(types))


@compiled
def _coefficients(groups: Ragged[np.int64], copies: Ints, cuts: CutsByType) -> tuple[Ints, Ints, Ints]:
    indptr, types = groups
    begins, cut_of, weight_of, denominators = cuts
    cut, column, times = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    filled = np.zeros(len(denominators), np.int64)
    end = 0
    for c in range(len(indptr) - 1):
        for e in range(indptr[c], indptr[c + 1]):
            for f in range(begins[types[e]], begins[types[e] + 1]):
                filled[cut_of[f]] += weight_of[f] * copies[e]
        for e in range(indptr[c], indptr[c + 1]):
            for f in range(begins[types[e]], begins[types[e] + 1]):
                r = cut_of[f]
                if filled[r] >= denominators[r]:
                    if end == len(cut):
                        cut, column, times = doubled(cut), doubled(column), doubled(times)
                    cut[end], column[end], times[end] = r, c, filled[r] // denominators[r]
                    end += 1
                filled[r] = 0
    return cut[:end].copy(), column[:end].copy(), times[:end].copy()
