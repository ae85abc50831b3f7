"""Points of the Lagrangian dual, and what they prove, in exact integer arithmetic.

    L(λ, μ, ν, θ) = Σ_i n_i λ_i - Σ_S μ_S ⌊N_S/κ_S⌋ - Σ_R ν_R ⌊p_R·n/d_R⌋ + Σ_g min(0, φ_g),
    φ_g = σ_g + min { Σ_i (w_g - λ_i) x_i + Σ_R ν_R ⌊p_R·x/d_R⌋ : x is a group of g },   σ_g = Σ_{S: C(g) ⊆ S} μ_S

is a lower bound on the loss of every solution for any λ, any μ ≥ 0 on packing cuts (`kanon_milp.bounds.packing_cuts`),
any ν ≥ 0 on rank-1 cuts (`kanon_milp.bounds.rank_one_cuts`) and any charges θ ≥ 0: `kanon_milp.bounds.lagrangian_bound`
says why for λ, μ and θ, and ν_R (Σ_groups ⌊p_R·x/d_R⌋ - ⌊p_R·n/d_R⌋) ≤ 0 is added to the loss in the same way. All
values are in units of `Levels.unit`.

What a group is depends on what the subproblem of a candidate knows of the requirements:

    closed form                Σ_i x_i ≥ κ_g, 0 ≤ x_i ≤ n_i, in integers; with rank-1 cuts by depth-first search
    tree or star, small groups a relaxation of all requirements (`kanon_milp.bounds.relaxations`), with charges θ for
                               the EMD cost of larger groups
    priced one by one          the same for one star or line, with rank-1 cuts and the exact EMD cost

A point without charges is of sizes alone, whatever the requirements; one with charges, be it none of them, of the
requirements. k-anonymity is the case of a requirement without values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import Found, PricedCandidates, PricedRows, sorted_covers
from kanon_milp.bounds.packing_cuts import NO_SETS, PackingCuts, TypeSets, mapped_sets
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, PricedCuts, RankOneCuts
from kanon_milp.bounds.relaxations import Cells, Relaxation, relaxations_of
from kanon_milp.bounds.small_groups import small_sizes
from kanon_milp.bounds.valued_pricing import ALL_NODES, HIGHEST_CHARGE, emd_cost_of, nodes_of
from kanon_milp.errors import InputError
from kanon_milp.kernels.closed_form import different_values, subproblems
from kanon_milp.kernels.pricing import cheapest_groups
from kanon_milp.kernels.row_branching import IntRowBranching
from kanon_milp.kernels.small_groups import IntSmallGroups, cheapest_small_groups
from kanon_milp.kernels.tree_subproblem import IntSubproblems, TreeArrays, ValuedCandidates, ValuedRows
from kanon_milp.kernels.valued_groups import cheapest_by_size
from kanon_milp.kernels.valued_pricing import cheapest_valued_groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Flags, Floats, Ints

if TYPE_CHECKING:  # the default is of Python 3.13
    from typing_extensions import TypeVar

    Scalar = TypeVar("Scalar", np.float64, np.int64, default=np.float64)
else:
    from typing import TypeVar

    Scalar = TypeVar("Scalar", np.float64, np.int64)

DENOMINATOR = 4096
FINE = 1 << 20  # denominator where there are rank-1 cuts: many small multipliers add up
NEVER = 1 << 62  # φ, in integers, of a candidate that has no group
FINEST_BITS, COARSEST_BITS = 36, 6  # of the grid of shares in integers
TERMS_OF_SHARES = 32  # times their cost is what cuts charged to single rows may add up to
EFFORT = SubproblemParameters()
TOO_FINE = "the multipliers are too large or too fine for exact numbers; use a smaller denominator"


def _nothing() -> NDArray[Any]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class DualPoint(Generic[Scalar]):
    """Multipliers, in floating point or as integer multiples of 1/denominator, and how good they are.

    multipliers: (t,), λ_i, the loss that a row of type i is worth. value: L in floating point (`prove` is what proves).
    open_share: float64 (G,), average over the iterations of whether a candidate was open, near the y of the linear
    relaxation; None where there was no iteration. phi: float64 (G,), φ_g where it is known. evaluations: how many it
    took. sets, packing_multipliers: packing cuts and their μ ≥ 0. rank_one_cuts, cut_multipliers: rank-1 cuts and their
    ν ≥ 0. charges: θ ≥ 0, (charged relaxations · G,), one relaxation after the other; None for a point of sizes alone.
    rows: float64 (pairs,), the rows of each pair in the averages. ascent: where the algorithm stands, to go on from
    there; None for a point from elsewhere, or from another process.
    """

    multipliers: NDArray[Scalar]
    value: float = 0.0
    open_share: Floats | None = None
    phi: Floats = field(default_factory=lambda: np.zeros(0))
    evaluations: int = 0
    sets: TypeSets = NO_SETS
    packing_multipliers: NDArray[Scalar] = field(default_factory=_nothing)
    rank_one_cuts: RankOneCuts = NO_CUTS
    cut_multipliers: NDArray[Scalar] = field(default_factory=_nothing)
    charges: NDArray[Scalar] | None = None
    rows: Floats | None = field(default=None, repr=False)
    denominator: int = 1
    ascent: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.denominator < 1:
            raise InputError("the denominator of multipliers must be at least 1")
        if self.multipliers.dtype != np.int64:
            return
        if len(self.packing_multipliers) != self.sets.lists or (self.packing_multipliers < 0).any():
            raise InputError("there must be one multiplier for each set, and none may be negative")
        if len(self.cut_multipliers) != self.rank_one_cuts.count or (self.cut_multipliers < 0).any():
            raise InputError("there must be one multiplier for each rank-1 cut, and none may be negative")

    def __getstate__(self) -> dict[str, object]:
        """All but the ascent: it has threads."""
        return {**self.__dict__, "ascent": None}

    def restored(self, back: Callable[[NDArray[Any]], NDArray[Any]]) -> DualPoint[Scalar]:
        """The same over the row types before a reduction; back: as `reductions.restore_values`."""
        types = len(self.multipliers)
        sets, cuts = mapped_sets(self.sets, types, back), self.rank_one_cuts.mapped(types, back)
        return replace(self, multipliers=back(self.multipliers), sets=sets, rank_one_cuts=cuts)

    def of_numbers(self, sets: TypeSets) -> NDArray[Scalar]:
        """The multipliers of numbers of groups, of sets that are all row types or none, over any row types; 0 of those
        that the point does not have."""
        lengths, every = self.sets.lengths, len(self.multipliers)
        wanted = (lengths == (every if length else 0) for length in sets.lengths.tolist())
        return np.array([self.packing_multipliers[each].sum() for each in wanted], self.multipliers.dtype)

    def floats(self) -> DualPoint:
        """The same in floating point."""
        point: Any = self
        found: DualPoint = replace(
            point,
            multipliers=self.multipliers / self.denominator,
            packing_multipliers=self.packing_multipliers / self.denominator,
            cut_multipliers=self.cut_multipliers / self.denominator,
            charges=None if self.charges is None else self.charges / self.denominator,
            denominator=1,
        )
        return found


ExactDual: TypeAlias = DualPoint[np.int64]
"""A point in integer multiples of 1/denominator."""


def round_dual(dual: DualPoint, denominator: int | None = None) -> ExactDual:
    """Round a point; sets and rank-1 cuts whose multiplier becomes 0 are left out.

    denominator: `DENOMINATOR` or, with rank-1 cuts, `FINE` where none is given.
    """
    if denominator is None:
        denominator = FINE if dual.rank_one_cuts.count else DENOMINATOR
    packing = round_multipliers(np.maximum(dual.packing_multipliers, 0.0), denominator)
    cutting = round_multipliers(np.maximum(dual.cut_multipliers, 0.0), denominator)
    charges = None if dual.charges is None else round_multipliers(np.maximum(dual.charges, 0.0), denominator)
    return ExactDual(
        round_multipliers(dual.multipliers, denominator),
        dual.value,
        sets=dual.sets.subset(packing > 0),
        packing_multipliers=packing[packing > 0],
        rank_one_cuts=dual.rank_one_cuts.subset(cutting > 0),
        cut_multipliers=cutting[cutting > 0],
        charges=charges,
        denominator=denominator,
    )


def round_multipliers(multipliers: Floats, denominator: int = DENOMINATOR) -> Ints:
    """Integer multiples of 1/denominator, int64 (t,)."""
    if denominator < 1:
        raise InputError("the denominator of multipliers must be at least 1")
    scaled = np.rint(np.asarray(multipliers, dtype=np.float64) * denominator)
    if not (np.abs(scaled) < NEVER).all():
        raise InputError("the multipliers are too large for this denominator")
    integers: Ints = scaled.astype(np.int64)
    return integers


@dataclass(frozen=True, eq=False)
class Proof:
    """What a point proves of an instance, in integers: times the denominator.

    dual: the point, its charges as the search has left them. total: L. phi: int64 (G,), φ_g with the terms of cuts,
    `NEVER` where a candidate has no group, and a lower bound of it: 0 where rank-1 cuts lift it above that, and without
    their terms where the search gave up or the closed form is not negative. priced: whether groups were priced one by
    one. marginal: int64 (G,), as in `closed_form.Found`, and candidates, as they were priced: of sizes alone.
    """

    instance: Instance
    dual: ExactDual
    phi: Ints
    total: int
    priced: bool = False
    marginal: Ints | None = None
    candidates: PricedCandidates[np.int64] | None = None

    @property
    def value(self) -> Fraction:
        """L in units: no table loses less."""
        return Fraction(self.total, self.dual.denominator)

    @property
    def bound(self) -> int:
        """⌈L⌉: the loss of every table is an integer number of units, so none loses fewer."""
        return math.ceil(self.value)

    @cached_property
    def without_and_with_cuts(self) -> tuple[Ints, Ints]:
        """φ under requirements without the terms of rank-1 cuts and with them, as high as it is known, (G,) each."""
        if not self.priced:
            return self.phi, self.phi
        charged = required_phi(self.instance, self.dual)
        uncut = replace(self.dual, rank_one_cuts=NO_CUTS, cut_multipliers=self.dual.cut_multipliers[:0])
        without = _priced(self.instance, uncut).phi
        return np.where(charged < 0, np.maximum(charged, without), charged), np.maximum(charged, self.phi)

    def near(self, open_limit: float, pair_limit: float) -> Flags:
        """Pairs with a reduced cost up to a limit, of candidates with φ up to another, in units: bool (pairs,)."""
        candidates, d = self.instance.candidates, self.dual.denominator
        of_pair = candidates.candidate_of_pair()
        reduced = candidates.cost[of_pair] * d - self.dual.multipliers[candidates.members]
        found: Flags = (self.phi[of_pair] <= open_limit * d) & (reduced <= pair_limit * d)
        return found


def exact_value(instance: Instance, exact: ExactDual) -> Fraction:
    """L in units of `Levels.unit`, computed in integers."""
    return prove(instance, exact).value


def proven_bound(instance: Instance, exact: ExactDual) -> int:
    """⌈L⌉: no solution of the instance loses fewer units."""
    return prove(instance, exact).bound


def prove(
    instance: Instance,
    exact: ExactDual,
    *,
    small: bool = True,
    priced: bool | None = None,
    params: SubproblemParameters = EFFORT,
) -> Proof:
    """Solve all subproblems in integers; sums over rows, sets and candidates have no limit of size.

    small: whether groups of a few rows are looked at one by one (`bounds.small_groups`), which a certificate cannot
    say. priced: whether all groups are, under requirements; None: where there are rank-1 cuts. Raises InputError where
    the numbers could leave the range of int64.
    """
    if exact.charges is None:
        return _of_sizes(instance, exact, params)
    if not exact.sets.lists and (exact.rank_one_cuts.count if priced is None else priced):
        return _priced(instance, exact)
    phi = required_phi(instance, exact, small=small, params=params)
    surcharge, paid = _packed(instance, exact)
    phi = np.where(phi < NEVER, phi + surcharge, NEVER)
    return Proof(instance, exact, phi, right_side(instance, exact) - paid + sum(phi[phi < 0].tolist()))


def right_side(instance: Instance, exact: ExactDual) -> int:
    """Σ n λ - Σ ν ⌊p·n/d⌋ times the denominator."""
    counts = instance.types.counts
    total: int = sum(n * each for n, each in zip(counts.tolist(), exact.multipliers.tolist(), strict=True))
    return total - _terms(instance, exact)


def _packed(instance: Instance, exact: ExactDual) -> tuple[Ints, int]:
    """σ (G,) and Σ μ ⌊N/κ⌋ times the denominator."""
    packing, multipliers = PackingCuts.of(instance, exact.sets), exact.packing_multipliers.tolist()
    if sum(multipliers) >= NEVER:
        raise InputError(TOO_FINE)
    surcharge = packing.surcharge(np.asarray(exact.packing_multipliers, dtype=np.int64), instance.candidates.count)
    return surcharge, sum(limit * each for limit, each in zip(packing.limits.tolist(), multipliers, strict=True))


def _terms(instance: Instance, exact: ExactDual) -> int:
    """Σ ν ⌊p·n/d⌋ times the denominator."""
    limits = exact.rank_one_cuts.limits(instance.types.counts).tolist()
    return sum(limit * each for limit, each in zip(limits, exact.cut_multipliers.tolist(), strict=True))


def priced_cuts(exact: ExactDual, types: int) -> PricedCuts[np.int64]:
    """The rank-1 cuts with their multipliers. types: number of row types."""
    return PricedCuts(*exact.rank_one_cuts.by_type(types), np.ascontiguousarray(exact.cut_multipliers, dtype=np.int64))


def _of_sizes(instance: Instance, exact: ExactDual, params: SubproblemParameters) -> Proof:
    """By the closed form, and with rank-1 cuts by depth-first search.

    No number within a subproblem is larger than n · (w + |λ|) + Σ μ + Σ ν ⌊p·n/d⌋.
    """
    candidates, counts = instance.candidates, instance.types.counts
    largest = int(candidates.cost.max(initial=0)) * exact.denominator
    largest += max(map(abs, exact.multipliers.tolist()), default=0)
    if largest * instance.types.n + sum(exact.packing_multipliers.tolist()) + _terms(instance, exact) >= NEVER:
        raise InputError(TOO_FINE)
    surcharge, paid = _packed(instance, exact)
    lambdas = np.ascontiguousarray(exact.multipliers, dtype=np.int64)
    priced: PricedCandidates[np.int64] = PricedCandidates(
        candidates.indptr, candidates.members, candidates.cost * exact.denominator, instance.least, surcharge
    )
    found = Found(np.empty(candidates.count, np.int64), np.empty(candidates.count, np.int64))
    subproblems(
        *priced._replace(members=sorted_covers(candidates.covers, lambdas)),
        *PricedRows(counts, lambdas, lambdas, np.int64(0)),
        np.int64(NEVER), True, *found, np.zeros_like(counts),
    )  # fmt: skip
    phi = found.phi
    if exact.rank_one_cuts.count:
        # their terms are not negative: where the closed form is not, φ is not either
        chosen = np.flatnonzero(phi < 0)
        cuts = priced_cuts(exact, instance.types.count)
        phi[chosen], _, _ = cheapest_groups(*priced, counts, lambdas, *cuts, chosen, np.int64(0), params.nodes)
    total = right_side(instance, exact) - paid + sum(phi[phi < 0].tolist())
    return Proof(instance, exact, phi, total, False, found.marginal, priced)


def _finest_bits(instance: Instance, exact: ExactDual, theta: int, terms: int = 0) -> int:
    """How many bits a grid of shares may have so that all numbers stay in the range of int64.

    theta: the largest charge, terms: what cuts can add to the reduced cost of a group, times the denominator. Raises
    InputError where there are too few.
    """
    most = int(instance.candidates.cost.max(initial=0)) * exact.denominator
    most += max(map(abs, exact.multipliers.tolist()), default=0)
    relaxations = relaxations_of(instance)
    edges = max(sum(math.ceil(node.weight) for node in relaxation.nodes) for relaxation in relaxations)
    largest = 2 * ((most + theta * (edges + 2)) * instance.types.n + terms)
    bits = min(FINEST_BITS, (NEVER // max(largest, 1)).bit_length() - 1)
    if bits < COARSEST_BITS:
        raise InputError(TOO_FINE)
    return bits


def required_phi(
    instance: Instance, exact: ExactDual, *, small: bool = True, params: SubproblemParameters = EFFORT
) -> Ints:
    """φ_g under all requirements times the denominator, without cuts, rounded down, int64 (G,); `NEVER` where a
    candidate cannot have a group. small: as of `prove`."""
    candidates, denominator = instance.candidates, exact.denominator
    multipliers, charges = exact.multipliers, exact.charges
    assert charges is not None
    bits = _finest_bits(instance, exact, max(charges.tolist(), default=0))
    found, begin = np.full(candidates.count, -NEVER, np.int64), 0
    for relaxation in relaxations_of(instance):
        if relaxation.plain:
            found = np.maximum(found, _plain_phi(instance, relaxation, multipliers, denominator))
            continue
        cells, tree = Cells.of(instance, relaxation), relaxation.integers(1 << bits)
        thetas = np.zeros(candidates.count, np.int64)
        if relaxation.closeness is not None:
            thetas = charges[begin : begin + candidates.count].copy()
            begin += candidates.count
        covers = cells.covers(instance, multipliers)
        priced = cells.candidates(instance, covers, candidates.cost * denominator, thetas)
        rows = ValuedRows(instance.types.counts, multipliers, cells.rank)
        listed = small and params.exact_tried > 0
        sizes = small_sizes(relaxation, instance.least) if listed else None
        phi = _every_phi(priced, rows, tree, 1 if sizes is None else sizes.most + 1, params.exact_tries)
        if sizes is not None:
            hard, chosen = np.ones(candidates.count, np.bool_), np.empty((candidates.count, sizes.most), np.int32)
            few = IntSmallGroups(IntSubproblems(tree, priced, rows), sizes, phi)
            cheapest_small_groups(few, params.exact_tried, hard.view(np.uint8), chosen)
            if hard.any():
                phi[hard] = _every_phi(priced, rows, tree, 1, params.exact_tries)[hard]
        found = np.maximum(found, phi)
    return found


def _plain_phi(instance: Instance, relaxation: Relaxation, multipliers: Ints, denominator: int) -> Ints:
    """φ (G,) where different ones of many values are all that is asked."""
    candidates = instance.candidates
    priced = PricedCandidates(
        candidates.indptr, sorted_covers(candidates.covers, multipliers), candidates.cost * denominator,
        instance.least, np.zeros(candidates.count, np.int64),
    )  # fmt: skip
    code, _ = instance.sensitive_codes((relaxation.attribute,))
    phi, nothing = np.empty(candidates.count, np.int64), np.empty(0, np.int64)
    different_values(
        *priced, *PricedRows(instance.types.counts, multipliers, multipliers, np.int64(0)), code, relaxation.presence,
        np.int64(NEVER), True, np.ones(candidates.count, np.bool_), phi, nothing, candidates.members, nothing,
    )  # fmt: skip
    return phi


def _every_phi(
    priced: ValuedCandidates[np.int64],
    rows: ValuedRows[np.int64],
    tree: TreeArrays[np.int64],
    least: int,
    tries: int,
) -> Ints:
    """φ (G,) of groups of at least so many rows."""
    sizes = np.maximum(priced.least, least)
    phi = np.empty(len(sizes), np.int64)
    s = IntSubproblems(tree, priced._replace(least=sizes), rows)
    cheapest_by_size(s, tries, NEVER, True, phi, sizes.copy(), sizes.copy())
    return phi


def can_be_priced(instance: Instance) -> bool:
    """Whether groups can be priced one by one under requirements: one relaxation of one attribute is all that bounds
    know, of limits and different values, or of EMD cost as well in a star or a line."""
    relaxations = relaxations_of(instance)
    if len(relaxations) != 1:
        return False
    (found,) = relaxations
    return found.star if found.closeness is None else found.star or found.line


def _priced(instance: Instance, exact: ExactDual) -> Proof:
    """With all groups priced one by one, which makes charges better."""
    (relaxation,) = relaxations_of(instance)
    candidates, terms = instance.candidates, _terms(instance, exact)
    thetas, highest = np.zeros(candidates.count, np.int64), 0
    assert exact.charges is not None
    if relaxation.closeness is not None:
        highest = HIGHEST_CHARGE * int(candidates.cost.max(initial=0)) * exact.denominator
        if len(exact.charges):
            thetas = np.minimum(exact.charges, highest)
    bits = _finest_bits(instance, exact, highest, TERMS_OF_SHARES * terms)
    emd = emd_cost_of(relaxation, int(candidates.support.max(initial=0)), highest)
    tree, cells = relaxation.integers(1 << bits), Cells.of(instance, relaxation)
    covers = cells.covers(instance, exact.multipliers)
    problems = IntSubproblems(
        tree,
        cells.candidates(instance, covers, candidates.cost * exact.denominator, thetas),
        ValuedRows(instance.types.counts, exact.multipliers, cells.rank),
    )
    cuts = priced_cuts(exact, instance.types.count)
    search = IntRowBranching(problems, cuts, emd, NEVER >> 1, HIGHEST_CHARGE)
    answers = cheapest_valued_groups(search, np.arange(candidates.count), 0, *nodes_of(emd)[-1], ALL_NODES)
    improved = exact if relaxation.closeness is None else replace(exact, charges=thetas)
    total = right_side(instance, exact) + sum(answers.phi.tolist())
    return Proof(instance, improved, answers.phi, total, True)
