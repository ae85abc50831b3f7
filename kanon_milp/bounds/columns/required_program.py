"""Rank-1 cuts under requirements of sensitive values: the linear program over the groups that these allow, and proofs.

As in `kanon_milp.bounds.columns.program`, with the groups that meet a relaxation of the requirements
(`kanon_milp.bounds.relaxations`) instead of all of some size: with multipliers λ of the row types and ν ≥ 0 of the cuts

    L(λ, ν) = Σ_i n_i λ_i - Σ_R ν_R ⌊p_R·n / d_R⌋ + Σ_g min(0, φ_g)

is a lower bound on the loss of every table, φ_g the least reduced cost of such a group with the terms of the cuts, or
less. For one sensitive attribute whose values are limited each for itself (p-sensitivity, frequency l-diversity, α, β,
δ, the equal distance between up to three values), or whose work is (the equal distance, and values one after the other:
`accepts`). Work is charged in bounds that come first, and exact in the end (`kanon_milp.bounds.valued_pricing`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from kanon_milp.bounds.columns.ascent import Rounds
from kanon_milp.bounds.columns.master import Master
from kanon_milp.bounds.columns.node_bounds import NodePoint
from kanon_milp.bounds.columns.program import GroupProgram, Prices, Pricing
from kanon_milp.bounds.composition import ValuedRows, make_workspace
from kanon_milp.bounds.dual import FINE, NEVER, round_multipliers
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, PricedCuts, RankOneCuts
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.bounds.required import RequiredPoint, exact_phi, finest_bits
from kanon_milp.bounds.required_reduced_costs import RequiredReducedCosts
from kanon_milp.bounds.required_values import STEEP, Cells, RequiredEvaluator
from kanon_milp.bounds.valued_pricing import Answers, cheapest_valued_groups
from kanon_milp.bounds.work import HIGHEST_CHARGE, Work, work_of
from kanon_milp.errors import InputError
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Limit

# of the search for one group, one by one and by branch and bound over rows: at prices that are not known to be better,
# where few searches need more, and at others; where work is limited, the latter bounds it less well
Nodes: TypeAlias = tuple[int, int]
NODES: tuple[Nodes, ...] = (10_000, 0), (50_000, 150_000), (1_500_000, 3_500_000)
NODES_OF_WORK: tuple[Nodes, ...] = (10_000, 0), (200_000, 0), (5_000_000, 1_000_000)
ALL_NODES = 200_000_000  # of one call, of each kind: some seconds
SPREAD_TERMS = 32  # times their cost is what cuts charged to single rows may add up to
CONVERGED = 2e-3  # part of its value
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


class RequiredCuts:
    """Rounds of column generation and rank-1 cuts, from multipliers of the required bound; goes on where it stopped.

    Raises InputError for an instance that is not accepted. charges: those of the same point. table: its groups are the
    first columns.
    """

    def __init__(
        self, instance: Instance, multipliers: Floats, table: Assignment | None, charges: Floats | None = None
    ) -> None:
        if not accepts(instance):
            raise InputError("rank-1 cuts need limits of the values of one sensitive attribute, or of its work, alone")
        self.instance = instance
        groups = Groups.none() if table is None else Groups.of_assignment(table)
        charges = np.zeros(0) if charges is None else charges
        self._program = RequiredProgram.from_point(instance, multipliers, charges)
        self._master = Master(self._program, groups)
        self._rounds = Rounds(self._master, careful=True)

    @property
    def value(self) -> float:
        """L at the best point so far, in floating point (`proven` is what proves)."""
        return self._master.value

    def go_on(self, limit: BoundLimit, on_value: Callable[[float], None], whole: Limit | None = None) -> bool:
        """More rounds; whether the limit ended them, so that there may be more to gain. whole: as of `Rounds`."""
        self._rounds.go_on(limit, 0.0, on_value, whole=whole)
        return limit.over

    def near(self, open_limit: float, pair_limit: float) -> Flags:
        """Pairs at the best point whose candidate has φ below `open_limit` and whose reduced cost w - λ is no more than
        `pair_limit`, in units; bool (pairs,)."""
        candidates, best = self.instance.candidates, self._master.best
        of_pair = candidates.candidate_of_pair()
        pricing = RequiredPricing(self._program, self._master.cuts)
        pricing(best, open_limit)
        reduced = candidates.cost[of_pair] - best.multipliers[candidates.members]
        found: Flags = (pricing.phi[of_pair] < open_limit) & (reduced <= pair_limit)
        return found

    @property
    def at(self) -> NodePoint:
        """The best point, with the cuts that have a multiplier there: with all of them groups are hard to find."""
        best, cuts = self._master.best, self._master.cuts
        used = best.cut_multipliers > 0
        return NodePoint(Prices(best.multipliers, best.cut_multipliers[used]), cuts.subset(used))

    @property
    def charges(self) -> Floats:
        """θ, float64 (G,), none where no work is charged."""
        return self._program.thetas if self._program.at.charged else np.zeros(0)

    @property
    def groups(self) -> Groups:
        """The columns so far."""
        return self._master.groups

    @property
    def converged(self) -> bool:
        """Whether the last linear program is near its value over all groups."""
        return self._master.upper - self._master.value <= CONVERGED * abs(self._master.value)

    def exact(self) -> ExactCuts:
        """The best point in integers. Raises InputError where the numbers could leave the range of int64."""
        best = self._master.best
        return exact_cuts(
            self.instance, best.multipliers, self._master.cuts, best.cut_multipliers, charges=self._program.thetas
        )

    def proven(self) -> int:
        """⌈L⌉: no table loses fewer units."""
        return math.ceil(self.exact().value)

    def point(self) -> RequiredPoint:
        """The best point without its cuts, with the averages of the last solution of the linear program."""
        master, candidates = self._master, self.instance.candidates
        groups = master.groups
        share = np.concatenate([master.share, np.zeros(groups.count - len(master.share))])
        opened = np.bincount(groups.candidate, weights=share, minlength=candidates.count).astype(np.float64)
        of = groups.types.list_of_value()
        key = groups.candidate[of] * self._program.types + groups.types.values
        keys = candidates.candidate_of_pair().astype(np.int64) * self._program.types + candidates.members
        pairs = np.searchsorted(keys, key)
        rows = np.bincount(pairs, weights=groups.copies * share[of], minlength=candidates.pairs).astype(np.float64)
        return RequiredPoint(
            master.best.multipliers, self.charges.copy(), master.value, master.iterations, opened, None, rows
        )


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
    return NODES_OF_WORK if len(work.weights) else NODES


def _largest(instance: Instance) -> int:
    return int(instance.candidates.support.max(initial=0))
