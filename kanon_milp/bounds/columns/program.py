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
for itself (p-sensitivity, frequency l-diversity, α, β, δ, the equal distance between up to three values), or whose EMD
cost is (the equal distance, and values one after the other: `accepts`). EmdCost is charged in bounds that come first,
and exact in the end (`kanon_milp.kernels.valued_pricing`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.parameters import ColumnParameters
from kanon_milp.bounds.rank_one_cuts import PricedCuts, RankOneCuts
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.bounds.valued_pricing import ALL_NODES, HIGHEST_CHARGE, EmdCost, emd_cost_of, nodes_of
from kanon_milp.kernels.pricing import cheapest_groups
from kanon_milp.kernels.rank_one_cuts import coefficients_in_cuts
from kanon_milp.kernels.row_branching import FloatRowBranching
from kanon_milp.kernels.valued_pricing import cheapest_valued_groups
from kanon_milp.kernels.volume import dot
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Floats, Ints

COLUMNS = ColumnParameters()
HIGHEST = 1e300  # above all values in floating point


class PricedProgram(Protocol):
    """What a master problem asks of the linear program over all groups: `GroupProgram` has the meanings."""

    @property
    def start(self) -> DualPoint: ...  # noqa: D102

    @property
    def params(self) -> ColumnParameters: ...  # noqa: D102

    @property
    def counts(self) -> Ints: ...  # noqa: D102

    @property
    def types(self) -> int: ...  # noqa: D102

    @property
    def near_enough(self) -> float: ...  # noqa: D102

    @property
    def highest(self) -> float: ...  # noqa: D102

    @property
    def most(self) -> float: ...  # noqa: D102

    def spans(self, multipliers: Floats) -> Floats: ...  # noqa: D102

    def costs(self, groups: Groups) -> Floats: ...  # noqa: D102

    def pricing(self, cuts: RankOneCuts) -> Callable[..., tuple[float, Groups]]: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class GroupProgram:
    """The linear program over all groups, and where its multipliers begin.

    candidates: those of an instance in float64, with σ. counts: n, int64 (t,). start: the rank-1 cuts that it begins
    with, and the first multipliers.
    """

    candidates: PricedCandidates[np.float64]
    counts: Ints
    start: DualPoint
    params: ColumnParameters = field(default=COLUMNS, kw_only=True)

    @classmethod
    def of(cls, instance: Instance, dual: DualPoint, params: ColumnParameters = COLUMNS) -> GroupProgram:
        """From a point of the dual; packing cuts are held as surcharges."""
        candidates = instance.candidates
        surcharge = PackingCuts.of(instance, dual.sets).surcharge(dual.packing_multipliers, candidates.count)
        priced = PricedCandidates(
            candidates.indptr, candidates.members, candidates.cost.astype(np.float64),
            instance.least.astype(np.float64), surcharge.astype(np.float64),
        )  # fmt: skip
        return cls(priced, instance.types.counts, dual, params=params)

    @property
    def types(self) -> int:
        """Number of row types."""
        return len(self.counts)

    @property
    def near_enough(self) -> float:
        """Reduced cost up to which cheapest groups are worth being among the first columns."""
        return self.params.near_enough

    @property
    def highest(self) -> float:
        """Of the costs w of a row."""
        return float(self.candidates.cost.max())

    def spans(self, multipliers: Floats) -> Floats:
        """How far multipliers are likely to move, relative to each other, float64 (t,)."""
        return np.ones(len(multipliers))

    @property
    def most(self) -> float:
        """No table costs more than all rows with the most expensive candidate and each surcharge once."""
        return self.highest * float(self.counts.sum()) + float(self.candidates.surcharge.sum())

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

    def __call__(self, prices: DualPoint, below: float = -1e-9, known: float = -math.inf) -> tuple[float, Groups]:
        """L, and the cheapest group of each candidate, if its reduced cost is `below`.

        With below > 0 the value is still that of L: groups that cost something are not taken. Where L is no more than
        `known`, what comes back may be less than L, and groups that are not the cheapest.
        """
        del known  # the searches are short
        candidates = self.program.candidates
        phi, _, found = cheapest_groups(
            *candidates, self.counts, prices.multipliers, *self.by_type, prices.cut_multipliers.astype(np.float64),
            np.arange(len(candidates.cost)), np.float64(below), self.program.params.nodes,
        )  # fmt: skip
        value = float(np.minimum(phi, 0.0).sum())
        return value + self._constant(prices), Groups.of_rows(*found)

    def _constant(self, prices: DualPoint) -> float:
        return dot(self.counts, prices.multipliers) - dot(self.limits, prices.cut_multipliers.astype(np.float64))


def coefficients(groups: Groups, cuts: RankOneCuts, types: int) -> tuple[Ints, Ints, Ints]:
    """The coefficients of groups in rank-1 cuts that are not 0: (cut, group, coefficient), ordered by group."""
    return coefficients_in_cuts(*groups.types, groups.copies, *cuts.by_type(types))


@dataclass(frozen=True, eq=False)
class RequiredProgram(GroupProgram):
    """As `GroupProgram`, over the groups that meet the relaxation of `at`.
    emd: what that says of it. thetas: charges θ, float64 (G,); pricing makes them better.
    """

    at: RequiredEvaluator
    emd: EmdCost
    thetas: Floats

    @classmethod
    def of(cls, instance: Instance, dual: DualPoint, params: ColumnParameters = COLUMNS) -> RequiredProgram:
        """From a point of the dual; its charges may be none."""
        assert dual.charges is not None
        charges = dual.charges.copy() if len(dual.charges) else None
        at = RequiredEvaluator(instance, dual.multipliers, charges)
        emd = emd_cost_of(relaxations_of(instance)[0], int(instance.candidates.support.max(initial=0)))
        thetas = np.zeros(instance.candidates.count) if charges is None else charges
        return cls(at.candidates, instance.types.counts, dual, at, emd, thetas, params=params)

    @property
    def charges(self) -> Floats:
        """θ, float64 (G,), none where no EMD cost is charged."""
        return self.thetas if self.at.charged else np.zeros(0)

    @property
    def near_enough(self) -> float:
        """As `GroupProgram`; with cuts it takes long to prove that groups cost more than nothing."""
        return 0.0 if self.start.rank_one_cuts.count else super().near_enough

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

    def __call__(self, prices: DualPoint, below: float = -1e-9, known: float = -math.inf) -> tuple[float, Groups]:
        """As `Pricing` does."""
        program, at = self.program, self.program.at
        relaxed, thetas = at.relaxed[0], program.thetas
        if below > 0:
            phi = at.every_phi(0, prices.multipliers, thetas)
        else:
            charges = thetas if at.charged else np.zeros(0)
            phi = at(np.concatenate([prices.multipliers, charges])).phi
        # cuts only add to φ
        chosen = np.flatnonzero(phi < below)
        phi[:] = max(below, 0.0)
        if relaxed.plain:  # whose covers are sorted otherwise
            relaxed.covers = relaxed.cells.covers(at.instance, prices.multipliers)
        problems = at.subproblems(0, 0, len(phi), prices.multipliers, thetas)
        cuts = PricedCuts(*self.by_type, prices.cut_multipliers.astype(np.float64))  # integers where there are none
        search = FloatRowBranching(problems, cuts, program.emd, HIGHEST, HIGHEST_CHARGE)
        constant = self._constant(prices)
        least, groups = np.zeros(len(phi)), Groups.none()
        for nodes in nodes_of(program.emd):
            answers = cheapest_valued_groups(search, chosen, below, *nodes, ALL_NODES)
            groups = groups.joined(Groups.of_rows(*answers.groups))
            phi[chosen], least[chosen] = answers.phi, np.minimum(answers.cheapest, 0.0)
            chosen = chosen[~answers.complete]
            # where these prices are no better, or there are groups to go on with
            poor = constant + float(least.sum()) <= known or (known > -math.inf and groups.count)
            if poor or not len(chosen):
                break
        self.phi = phi
        return constant + float(np.minimum(phi, 0.0).sum()), groups


def group_program(instance: Instance, dual: DualPoint, params: ColumnParameters = COLUMNS) -> GroupProgram:
    """Over the groups that a point is about: of sizes alone, or of all requirements (where they `can_be_priced`)."""
    return (GroupProgram if dual.charges is None else RequiredProgram).of(instance, dual, params)
