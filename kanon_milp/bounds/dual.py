"""Points of the Lagrangian dual, and what they prove, in exact integer arithmetic.

    L(λ, μ, ν) = Σ_i n_i λ_i - Σ_S μ_S ⌊N_S/κ_S⌋ - Σ_R ν_R ⌊p_R·n/d_R⌋ + Σ_g min(0, φ_g),
    φ_g = σ_g + min { Σ_i (w_g - λ_i) x_i + Σ_R ν_R ⌊p_R·x/d_R⌋ : Σ_i x_i ≥ κ_g, 0 ≤ x_i ≤ n_i, x integer },
    σ_g = Σ_{S: C(g) ⊆ S} μ_S

is a lower bound on the loss of every solution for any λ, any μ ≥ 0 on packing cuts (`kanon_milp.bounds.packing_cuts`)
and any ν ≥ 0 on rank-1 cuts (`kanon_milp.bounds.rank_one_cuts`): `kanon_milp.bounds.lagrangian_bound` says why for λ
and μ, and ν_R (Σ_groups ⌊p_R·x/d_R⌋ - ⌊p_R·n/d_R⌋) ≤ 0 is added to the loss in the same way. All values are in units of
`Levels.unit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import Found, PricedCandidates, PricedRows, sorted_covers, subproblems
from kanon_milp.bounds.packing_cuts import NO_SETS, PackingCuts, TypeSets, mapped_sets
from kanon_milp.bounds.pricing import cheapest_groups, unsorted_rows
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, PricedCuts, RankOneCuts
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Floats, Ints

DENOMINATOR = 4096
FINE = 1 << 20  # denominator where there are rank-1 cuts: many small multipliers add up
NODES = 100_000  # of the search for the cheapest group of one candidate; beyond it rank-1 cuts are left out there
NEVER = 1 << 62  # φ, in integers, of a candidate that covers too few rows to be opened


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Multipliers and what they prove.

    multipliers: float64 (t,), λ_i, the loss that a row of type i is worth. value: L in units of `Levels.unit`, in
    floating point (`exact_value` is what proves). phi: float64 (G,), φ_g. open_share: float64 (G,), average over the
    iterations of whether a candidate was open, near the y of the linear relaxation; None where there was no iteration.
    sets, packing_multipliers: packing cuts and their μ ≥ 0, float64. rank_one_cuts, cut_multipliers: rank-1 cuts and
    their ν ≥ 0, float64.
    """

    multipliers: Floats
    value: float
    open_share: Floats | None
    phi: Floats
    evaluations: int = 0
    sets: TypeSets = NO_SETS
    packing_multipliers: Floats = field(default_factory=lambda: np.zeros(0))
    rank_one_cuts: RankOneCuts = NO_CUTS
    cut_multipliers: Floats = field(default_factory=lambda: np.zeros(0))

    def spread(self, back: Callable[[NDArray[Any]], NDArray[Any]]) -> DualPoint:
        """The same over the row types before a reduction; back: as `reductions.restore_values`."""
        types = len(self.multipliers)
        sets, cuts = mapped_sets(self.sets, types, back), self.rank_one_cuts.mapped(types, back)
        return replace(self, multipliers=back(self.multipliers), sets=sets, rank_one_cuts=cuts)


@dataclass(frozen=True, eq=False)
class ExactDual:
    """Multipliers as integer multiples of 1/denominator: λ int64 (t,), μ int64 (s,) and ν int64 (r,), both not
    negative, one for each set and each rank-1 cut."""

    multipliers: Ints
    denominator: int = DENOMINATOR
    sets: TypeSets = NO_SETS
    packing_multipliers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    rank_one_cuts: RankOneCuts = NO_CUTS
    cut_multipliers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if self.denominator < 1:
            raise InputError("the denominator of multipliers must be at least 1")
        if len(self.packing_multipliers) != self.sets.lists or (self.packing_multipliers < 0).any():
            raise InputError("there must be one multiplier for each set, and none may be negative")
        if len(self.cut_multipliers) != self.rank_one_cuts.count or (self.cut_multipliers < 0).any():
            raise InputError("there must be one multiplier for each rank-1 cut, and none may be negative")

    def spread(self, back: Callable[[NDArray[Any]], NDArray[Any]]) -> ExactDual:
        """The same over the row types before a reduction; back: as `reductions.restore_values`."""
        types = len(self.multipliers)
        sets, cuts = mapped_sets(self.sets, types, back), self.rank_one_cuts.mapped(types, back)
        return replace(self, multipliers=back(self.multipliers), sets=sets, rank_one_cuts=cuts)


def round_dual(dual: DualPoint, denominator: int | None = None) -> ExactDual:
    """Round a point; sets and rank-1 cuts whose multiplier becomes 0 are left out.

    denominator: `DENOMINATOR` or, with rank-1 cuts, `FINE` where none is given.
    """
    if denominator is None:
        denominator = FINE if dual.rank_one_cuts.count else DENOMINATOR
    packing = round_multipliers(np.maximum(dual.packing_multipliers, 0.0), denominator)
    cutting = round_multipliers(np.maximum(dual.cut_multipliers, 0.0), denominator)
    return ExactDual(
        round_multipliers(dual.multipliers, denominator),
        denominator,
        dual.sets.subset(packing > 0),
        packing[packing > 0],
        dual.rank_one_cuts.subset(cutting > 0),
        cutting[cutting > 0],
    )


def round_multipliers(multipliers: Floats, denominator: int = DENOMINATOR) -> Ints:
    """λ as integer multiples of 1/denominator, int64 (t,)."""
    if denominator < 1:
        raise InputError("the denominator of multipliers must be at least 1")
    scaled = np.rint(np.asarray(multipliers, dtype=np.float64) * denominator)
    if not (np.abs(scaled) < NEVER).all():
        raise InputError("the multipliers are too large for this denominator")
    integers: Ints = scaled.astype(np.int64)
    return integers


def exact_value(instance: Instance, exact: ExactDual) -> Fraction:
    """L in units of `Levels.unit`, computed in integers.

    The loss of every table is an integer number of units, so no table loses less than ⌈L⌉ (`proven_bound`).
    """
    return Fraction(exact_subproblems(instance, exact).total, exact.denominator)


def proven_bound(instance: Instance, exact: ExactDual) -> int:
    """⌈L⌉: no solution of the instance loses fewer units."""
    return math.ceil(exact_value(instance, exact))


@dataclass(frozen=True, eq=False)
class Subproblems:
    """Times the denominator: φ_g and the marginal cost of each candidate, int64 (G,) as in `closed_form.Found`, and
    total, L. candidates: as they were priced.

    φ_g is `NEVER` where N_g < κ_g, and a lower bound of it: 0 where rank-1 cuts lift it above that, and without
    their terms where the search gave up or the closed form is not negative.
    """

    phi: Ints
    marginal: Ints
    total: int
    candidates: PricedCandidates[np.int64]


def exact_candidates(instance: Instance, exact: ExactDual, packing: PackingCuts) -> PricedCandidates[np.int64]:
    """The candidates with costs times the denominator. packing: the cuts of `exact.sets`."""
    candidates = instance.candidates
    surcharge = packing.surcharge(exact.packing_multipliers, candidates.count)
    cost = candidates.cost * exact.denominator
    return PricedCandidates(candidates.indptr, candidates.members, cost, instance.least, surcharge)


def exact_cuts(exact: ExactDual, types: int) -> PricedCuts[np.int64]:
    """The rank-1 cuts with their multipliers. types: number of row types."""
    return PricedCuts(*exact.rank_one_cuts.by_type(types), np.ascontiguousarray(exact.cut_multipliers, dtype=np.int64))


def exact_subproblems(instance: Instance, exact: ExactDual) -> Subproblems:
    """Solve all subproblems in integers; the sums over rows, sets and candidates have no limit of size.

    Raises InputError where the numbers could leave the range of int64: none within a subproblem is larger than
    n · (w + |λ|) + Σ μ + Σ ν ⌊p·n/d⌋.
    """
    candidates, counts = instance.candidates, instance.types.counts
    multipliers, packing_multipliers = exact.multipliers.tolist(), exact.packing_multipliers.tolist()
    limits = exact.rank_one_cuts.limits(counts).tolist()
    largest = int(candidates.cost.max(initial=0)) * exact.denominator + max((abs(x) for x in multipliers), default=0)
    cutting = sum(limit * each for limit, each in zip(limits, exact.cut_multipliers.tolist(), strict=True))
    if largest * instance.types.n + sum(packing_multipliers) + cutting >= NEVER:
        raise InputError("the multipliers are too large or too fine for exact numbers; use a smaller denominator")
    packing = PackingCuts.of(instance, exact.sets)
    lambdas = np.ascontiguousarray(exact.multipliers, dtype=np.int64)
    priced = exact_candidates(instance, exact, packing)
    found = Found(np.empty(candidates.count, np.int64), np.empty(candidates.count, np.int64))
    subproblems(
        priced._replace(members=sorted_covers(candidates.covers, lambdas)),
        PricedRows(counts, lambdas, lambdas, np.int64(0)),
        np.int64(NEVER), True, found, np.zeros_like(counts),
    )  # fmt: skip
    phi = found.phi
    if exact.rank_one_cuts.count:
        # their terms are not negative: where the closed form is not, φ is not either
        chosen = np.flatnonzero(phi < 0)
        better, complete = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.bool_)
        rows, cuts = unsorted_rows(counts, lambdas), exact_cuts(exact, instance.types.count)
        cheapest_groups(priced, rows, cuts, chosen, np.int64(0), NODES, better, complete)
        phi[chosen] = better
    total = sum(n * each for n, each in zip(counts.tolist(), multipliers, strict=True)) - cutting
    total -= sum(limit * each for limit, each in zip(packing.limits.tolist(), packing_multipliers, strict=True))
    return Subproblems(phi, found.marginal, total + sum(phi[phi < 0].tolist()), priced)
