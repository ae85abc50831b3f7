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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.pricing import cheapest_groups
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.jit import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

NODES = 200_000  # of the search for one group


@dataclass(frozen=True, eq=False)
class Point:
    """Multipliers λ of the row types and ν of the rank-1 cuts, float64."""

    multipliers: Floats
    charges: Floats

    def towards(self, other: Point, share: float) -> Point:
        """So much of the way to the other point. share: 0 to 1."""
        return Point(
            (1 - share) * self.multipliers + share * other.multipliers,
            (1 - share) * self.charges + share * other.charges,
        )


@dataclass(frozen=True, eq=False)
class GroupProgram:
    """The linear program over all groups, and where its multipliers begin.

    indptr, members, cost, least: as in an instance, in float64. surcharge: σ, float64 (g,). counts: n, int64 (t,).
    rank_one: the rank-1 cuts that it begins with. start: the first multipliers, with those of these rows.
    """

    indptr: Ints
    members: Codes
    cost: Floats
    least: Floats
    surcharge: Floats
    counts: Ints
    rank_one: RankOneCuts
    start: Point

    @classmethod
    def of(cls, instance: Instance, dual: DualPoint) -> GroupProgram:
        """From a point of the dual; packing cuts are held as surcharges."""
        candidates = instance.candidates
        surcharge = PackingCuts.of(instance, dual.sets).surcharge(dual.charges, candidates.count)
        return cls(
            candidates.indptr,
            candidates.members,
            candidates.cost.astype(np.float64),
            instance.least.astype(np.float64),
            surcharge.astype(np.float64),
            instance.types.counts,
            dual.rank_one,
            Point(dual.multipliers, dual.cuts),
        )

    @property
    def types(self) -> int:
        """Number of row types."""
        return len(self.counts)

    def costs(self, groups: Groups) -> Floats:
        """cost_c of groups: w of their candidate for each row, and σ."""
        sizes = np.bincount(groups.of_entry(), weights=groups.copies, minlength=groups.count)
        found: Floats = self.cost[groups.candidate] * sizes + self.surcharge[groups.candidate]
        return found


class Pricing:
    """L and the cheapest groups, at any point."""

    def __init__(self, program: GroupProgram) -> None:
        self.program = program
        self.rows = program.counts.astype(np.float64)
        self.every = np.arange(len(program.cost))
        self.set_rows(program.rank_one)

    def set_rows(self, rank_one: RankOneCuts) -> None:
        """Take these rank-1 cuts instead of those before."""
        self.begins, self.row_of, self.weight_of = rank_one.by_type(self.program.types)
        self.denominators = rank_one.denominators
        self.limits = rank_one.limits(self.program.counts).astype(np.float64)

    def __call__(self, point: Point, below: float = -1e-9) -> tuple[float, Groups]:
        """L, and the cheapest group of each candidate, if its reduced cost is `below`.

        With below > 0 the value is still that of L: groups that cost something are not taken.
        """
        program = self.program
        phi, complete = np.empty(len(self.every)), np.empty(len(self.every), np.bool_)
        found = cheapest_groups(
            program.indptr, program.members, program.cost, program.least, self.rows, point.multipliers,
            program.surcharge, self.begins, self.row_of, self.weight_of, self.denominators, point.charges,
            self.every, np.float64(below), NODES, phi, complete,
        )  # fmt: skip
        value = float(np.minimum(phi, 0.0).sum())
        value += float(self.rows @ point.multipliers) - float(self.limits @ point.charges)
        return value, Groups.of_rows(*found)


def coefficients(groups: Groups, rows: RankOneCuts, types: int) -> tuple[Ints, Ints, Ints]:
    """The coefficients of groups in rank-1 cuts that are not 0: (row, group, coefficient), ordered by group."""
    return _coefficients(groups.indptr, groups.types, groups.copies, *rows.by_type(types), rows.denominators)


@compiled
def _coefficients(
    indptr: Ints, types: Ints, copies: Ints, begins: Ints, row_of: Codes, weight_of: Ints, denominators: Ints
) -> tuple[Ints, Ints, Ints]:
    row, column, times = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    filled = np.zeros(len(denominators), np.int64)
    end = 0
    for c in range(len(indptr) - 1):
        for e in range(indptr[c], indptr[c + 1]):
            for f in range(begins[types[e]], begins[types[e] + 1]):
                filled[row_of[f]] += weight_of[f] * copies[e]
        for e in range(indptr[c], indptr[c + 1]):
            for f in range(begins[types[e]], begins[types[e] + 1]):
                r = row_of[f]
                if filled[r] >= denominators[r]:
                    if end == len(row):
                        row = np.concatenate((row, np.empty_like(row)))
                        column = np.concatenate((column, np.empty_like(column)))
                        times = np.concatenate((times, np.empty_like(times)))
                    row[end], column[end], times[end] = r, c, filled[r] // denominators[r]
                    end += 1
                filled[r] = 0
    return row[:end].copy(), column[:end].copy(), times[:end].copy()
