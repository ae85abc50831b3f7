"""The linear program over all groups of an instance, and the cheapest groups at its multipliers.

Group c takes a_ic rows of row type i for candidate g, at least κ_g together and a_ic ≤ n_i, at w_g Σ_i a_ic + σ_g:

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i for all row types i,   Σ_c ⌊p_R·a_c / d_R⌋ θ_c ≤ ⌊p_R·n / d_R⌋

Multipliers λ of the row types and ν ≥ 0 of the rank-1 cuts R (`kanon_milp.bounds.rank_one_cuts`) prove

    L(λ, ν) = Σ_i n_i λ_i - Σ_R ν_R ⌊p_R·n / d_R⌋ + Σ_g min(0, φ_g),

where φ_g is the least reduced cost cost_c - Σ_i λ_i a_ic + Σ_R ν_R ⌊p_R·a_c / d_R⌋ of a group of g, or less where the
search for it gave up: a table uses each candidate once at most. Packing cuts keep their multipliers: these are in σ,
and what they cost on the right side is not in L here.

Under requirements of sensitive values the groups are those that meet a relaxation of these
(`kanon_milp.bounds.relaxations`) instead of all of some size. For one sensitive attribute whose values are limited each
for itself (p-sensitivity, frequency l-diversity, α, β, δ, the equal distance between up to three values), or whose work
is (the equal distance, and values one after the other: `accepts`). Work is charged in bounds that come first, and exact
in the end (`kanon_milp.bounds.valued_pricing`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.dual import FINE, NEVER, DualPoint, round_multipliers
from kanon_milp.bounds.evaluation import STEEP, Cells, RequiredEvaluator
from kanon_milp.bounds.lagrangian_bound import exact_phi, finest_bits
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.pricing import cheapest_groups, unsorted_rows
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, CutsByType, PricedCuts, RankOneCuts
from kanon_milp.bounds.reduced_costs import RequiredReducedCosts
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.bounds.size_search import HIGHEST_CHARGE, Work, work_of
from kanon_milp.bounds.tree_subproblem import ValuedRows, make_workspace
from kanon_milp.bounds.valued_pricing import Answers, cheapest_valued_groups
from kanon_milp.errors import InputError
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.jit import compiled
from kanon_milp.system.kernels import doubled
from kanon_milp.system.limit import Limit

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
class NodePoint:
    """Rank-1 cuts, and multipliers of the row types and of these."""

    prices: Prices
    cuts: RankOneCuts


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


# of the search for one group, one by one and by branch and bound over rows: at prices that are not known to be better,
# where few searches need more, and at others; where work is limited, the latter bounds it less well
Nodes: TypeAlias = tuple[int, int]
VALUED_NODES: tuple[Nodes, ...] = (10_000, 0), (50_000, 150_000), (1_500_000, 3_500_000)
NODES_OF_WORK: tuple[Nodes, ...] = (10_000, 0), (200_000, 0), (5_000_000, 1_000_000)
ALL_NODES = 200_000_000  # of one call, of each kind: some seconds
SPREAD_TERMS = 32  # times their cost is what cuts charged to single rows may add up to
HIGHEST = 1e300  # above all values in floating point


def accepts(instance: Instance) -> bool:
    """Whether one relaxation of one attribute is all that bounds know: of limits and different values, or of work as
    well in a star or a line."""
    relaxations = relaxations_of(instance)
    if len(relaxations) != 1:
        return False
    (found,) = relaxations
    return found.star if found.closeness is None else found.star or found.line


@dataclass(frozen=True, eq=False)
class RequiredProgram(GroupProgram):
    """As `GroupProgram`, over the groups that meet the relaxation of `at`.

    work: what that says of it. thetas: charges θ, float64 (G,); pricing makes them better.
    """

    at: RequiredEvaluator
    work: Work
    thetas: Floats

    @classmethod
    def from_point(cls, instance: Instance, multipliers: Floats, charges: Floats) -> RequiredProgram:
        """From multipliers of row types and charges, without cuts. charges: (G,), or none."""
        at = RequiredEvaluator(instance, multipliers, charges if len(charges) else None)
        thetas = charges.copy() if len(charges) else np.zeros(instance.candidates.count)
        work = work_of(relaxations_of(instance)[0], _largest(instance))
        prices = Prices(multipliers, np.zeros(0))
        return cls(at.candidates, instance.types.counts, NO_CUTS, prices, at, work, thetas)

    @property
    def near_enough(self) -> float:
        """As `GroupProgram`; with cuts it takes long to prove that groups cost more than nothing."""
        return 0.0 if self.cuts.count else super().near_enough

    def pricing(self, cuts: RankOneCuts) -> RequiredPricing:
        """What computes L and the cheapest groups with some rank-1 cuts."""
        return RequiredPricing(self, cuts)


class RequiredPricing(Pricing):
    """L and the cheapest groups at any prices, with some rank-1 cuts.

    phi: float64 (G,), φ at the prices asked for last, where it is below what was asked for, else that.
    """

    program: RequiredProgram

    def __init__(self, program: RequiredProgram, cuts: RankOneCuts) -> None:
        super().__init__(program, cuts)
        self.phi = np.zeros(len(program.candidates.cost))

    def __call__(self, prices: Prices, below: float = -1e-9, known: float = -math.inf) -> tuple[float, Groups]:
        """As `Pricing` does."""
        program, at = self.program, self.program.at
        relaxed, thetas = at.relaxed[0], program.thetas
        if below > 0:
            phi = at.every_phi(0, prices.multipliers, thetas)
        else:
            charges = thetas / STEEP if at.charged else np.zeros(0)
            phi = at(np.concatenate([prices.multipliers, charges])).phi
        # cuts only add to φ
        chosen = np.flatnonzero(phi < below)
        phi[:] = max(below, 0.0)
        if relaxed.plain:  # whose covers are sorted otherwise
            relaxed.covers = relaxed.cells.covers(at.instance, prices.multipliers)
        some, room = at.some(0, 0, len(phi), thetas), relaxed.rooms[0][1]
        rows = ValuedRows(self.counts, prices.multipliers, relaxed.cells.rank)
        cuts = PricedCuts(*self.by_type, prices.cut_multipliers)
        constant = float(self.counts @ prices.multipliers) - float(self.limits @ prices.cut_multipliers)
        least, groups = np.zeros(len(phi)), Groups.none()
        for nodes in _nodes(program.work):
            answers = Answers.of(chosen, np.float64(0))
            limits = np.float64(below), np.float64(HIGHEST), *nodes, ALL_NODES
            found = cheapest_valued_groups(some, rows, relaxed.tree, program.work, room, cuts, limits, answers)
            groups = groups.joined(Groups.of_rows(*found))
            phi[chosen], least[chosen] = answers.phi, np.minimum(answers.cheapest, 0.0)
            chosen = chosen[~answers.complete]
            # where these prices are no better, or there are groups to go on with
            poor = constant + float(least.sum()) <= known or (known > -math.inf and groups.count)
            if poor or not len(chosen):
                break
        self.phi = phi
        return constant + float(np.minimum(phi, 0.0).sum()), groups


@dataclass(frozen=True, eq=False)
class ExactCuts:
    """A point with cuts in integer multiples of 1/denominator.

    counts: n. multipliers, charges: λ and θ, int64 (t,) and (G,). terms: Σ_R ν_R ⌊p_R·n / d_R⌋. phi: int64 (G,), at
    most 0: φ with the terms of the cuts.
    """

    counts: Ints
    multipliers: Ints
    charges: Ints
    terms: int
    phi: Ints
    denominator: int

    @property
    def value(self) -> Fraction:
        """L(λ, ν), in units."""
        total = sum(a * b for a, b in zip(self.counts.tolist(), self.multipliers.tolist(), strict=True)) - self.terms
        return Fraction(total + sum(self.phi.tolist()), self.denominator)


def exact_cuts(
    instance: Instance,
    multipliers: Floats,
    cuts: RankOneCuts,
    cut_multipliers: Floats,
    denominator: int = FINE,
    charges: Floats | None = None,
) -> ExactCuts:
    """L(λ, ν) at multipliers rounded to multiples of 1/denominator, in integers: no table loses less.

    cut_multipliers: ν ≥ 0, float64, one for each cut. charges: θ to begin with, float64 (G,). Raises InputError for
    an instance that is not accepted, for a negative ν, and where the numbers could leave the range of int64.
    """
    (relaxation,) = relaxations_of(instance)
    exact, prices = round_multipliers(multipliers, denominator), round_multipliers(cut_multipliers, denominator)
    if (prices < 0).any():
        raise InputError("no multiplier of a rank-1 cut may be negative")
    limits = cuts.limits(instance.types.counts)
    terms = sum(a * b for a, b in zip(limits.tolist(), prices.tolist(), strict=True))
    thetas, highest = np.zeros(instance.candidates.count, np.int64), 0
    if relaxation.closeness is not None:
        highest = HIGHEST_CHARGE * int(instance.candidates.cost.max(initial=0)) * denominator
        if charges is not None:
            thetas = np.minimum(round_multipliers(charges, denominator), highest)
    bits = finest_bits(instance, exact, highest, denominator, SPREAD_TERMS * terms)
    work = work_of(relaxation, _largest(instance), highest)
    tree, cells = relaxation.integers(1 << bits), Cells.of(instance, relaxation)
    covers = cells.covers(instance, exact)
    answers = Answers.of(np.arange(len(thetas)), np.int64(0))
    cheapest_valued_groups(
        cells.candidates(instance, covers, instance.candidates.cost * denominator, thetas),
        ValuedRows(instance.types.counts, exact, cells.rank),
        tree,
        work,
        make_workspace(int(instance.candidates.covers.lengths.max(initial=0)), tree),
        PricedCuts(*cuts.by_type(instance.types.count), prices),
        (np.int64(0), np.int64(NEVER >> 1), *_nodes(work)[-1], ALL_NODES),
        answers,
    )
    return ExactCuts(instance.types.counts, exact, thetas, terms, answers.phi, denominator)


def exact_fixing(instance: Instance, point: ExactCuts, incumbent: int, limit: Limit) -> RequiredReducedCosts:
    """What a point with cuts says of candidates and pairs, for tables that lose less than the incumbent, in units.

    Raises InputError where the numbers could leave the range of int64.
    """
    found, denominator = (point.multipliers / point.denominator, NO_CUTS, np.zeros(0)), point.denominator
    charged = point.charges if relaxations_of(instance)[0].closeness is not None else np.zeros(0, np.int64)
    phi = exact_phi(instance, point.multipliers, charged, denominator)
    without = exact_cuts(instance, *found, denominator, charges=point.charges / denominator).phi
    return RequiredReducedCosts(
        point.multipliers, np.where(phi < 0, np.maximum(phi, without), phi), denominator, incumbent,
        charged if len(charged) else None, limit, terms=point.terms, with_cuts=np.maximum(phi, point.phi),
    )  # fmt: skip


def _nodes(work: Work) -> tuple[Nodes, ...]:
    return NODES_OF_WORK if len(work.weights) else VALUED_NODES


def _largest(instance: Instance) -> int:
    return int(instance.candidates.support.max(initial=0))
