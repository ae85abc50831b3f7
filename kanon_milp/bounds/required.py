"""The Lagrangian bound with all requirements of a group inside the subproblems.

    L(λ, θ) = Σ_i n_i λ_i + Σ_g min(0, φ_g),    φ_g = max over relaxations v of min { Σ (w_g - λ_i) x_i : x meets v }

over the (quasi-identifier, sensitive) row types i that candidate g covers, groups of integer numbers of rows and any
size from κ_g on. A relaxation (`kanon_milp.bounds.relaxations`) is necessary for every group, so no φ_g is above the
least reduced cost of a group that satisfies all requirements, and L is a lower bound on the loss of every table, for
any λ and θ ≥ 0: add Σ λ_i (n_i - Σ_g x_ig) = 0 to the loss; what is left falls apart into one group for each
candidate, closed (0) or open.

Where one relaxation says all that is required (p-sensitivity, limits of shares, the equal distance between up to three
values, with k-anonymity), φ_g is that least cost, and max L the value of the Dantzig-Wolfe relaxation with one column
for each group that a candidate may have: at least that of the strong formulation's linear relaxation, whose constraints
of a candidate hold for all of these groups (Geoffrion 1974). The work that t-closeness limits is charged with
multipliers θ_g for each candidate, which together are as strong as its constraints in the linear relaxation (its
minimum is convex in the group, and its constraints are those of the work, whose Lagrangian dual has no gap), less what
`relaxations` says of metrics of no tree.

θ is part of the point that the volume algorithm moves; afterwards each θ_g is searched alone.
All values are in units of `Levels.unit`; the proof is in exact integer arithmetic (`exact_required`).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import ordered_covers
from kanon_milp.bounds.composition import TreeArrays, ValuedRows, Workspace, make_workspace
from kanon_milp.bounds.dual import DENOMINATOR, NEVER, round_multipliers
from kanon_milp.bounds.lagrangian_bound import refuse
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.relaxations import Relaxation, relaxations_of
from kanon_milp.bounds.sizes import CheapestGroups, ValuedCandidates, cheapest_by_size, take_groups
from kanon_milp.bounds.volume import Ascent, Evaluation, Evaluator
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.solvers.base import OnProgress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Scalar = TypeVar("Scalar", np.float64, np.int64)

TRIES, EXACT_TRIES = 25, 400  # sizes of a group that are tried for one candidate, in an iteration and for the proof
FINEST_BITS, COARSEST_BITS = 36, 6  # of the grid of shares in integers
FACTORS = (4.0, 2.0, 1.4, 1.2, 1.1, 1.05, 1.02)  # steps of the search for one θ_g, up and down
STEEP = 4.0  # times more than those of row types do charges move in an iteration: the work is a fraction of the rows
FIRST_CHARGE = 0.5  # θ_g that the search begins with where it is 0


@dataclass(frozen=True, eq=False)
class RequiredPoint:
    """Multipliers and what they prove. multipliers: float64 (t,), λ. charges: float64 (charged relaxations · G,),
    θ, one relaxation after the other. value: L in floating point (`proven_required` is what proves)."""

    multipliers: Floats
    charges: Floats
    value: float
    evaluations: int


@dataclass(frozen=True, eq=False)
class _Cells:
    """The row types of one relaxation.

    rank: int64 (t,), place of the sensitive value. indptr, value, begin: per candidate the values of its cover, and
    where each begins in the cover sorted by value (one more than values).
    """

    rank: Ints
    indptr: Ints
    value: Ints
    begin: Ints

    @classmethod
    def of(cls, instance: Instance, relaxation: Relaxation) -> _Cells:
        """The cells of a relaxation's attribute."""
        candidates = instance.candidates
        code, values = instance.sensitive_codes((relaxation.attribute,))
        place = np.empty(len(values), np.int64)
        place[relaxation.ranks] = np.arange(len(values))
        rank = place[code]
        key, members = np.unique(
            candidates.candidate_of_pair().astype(np.int64) * len(values) + rank[candidates.members], return_counts=True
        )
        of = key // len(values)
        indptr = indptr_of(np.bincount(of, minlength=candidates.count))
        # ends of the cells, and a 0 before those of each candidate
        ends = np.cumsum(members) - candidates.indptr[of]
        begin = np.insert(ends, indptr[:-1], 0)
        return cls(rank, indptr, key % len(values), begin)

    def covers(self, instance: Instance, multipliers: NDArray[np.float64] | Ints) -> Codes:
        """The covers, each sorted by value, then by falling multiplier."""
        order = np.lexsort((-multipliers, self.rank))
        covers: Codes = ordered_covers(instance.candidates.covers, order)
        return covers

    def candidates(
        self, instance: Instance, covers: Codes, cost: NDArray[Scalar], thetas: NDArray[Scalar]
    ) -> ValuedCandidates[Scalar]:
        """The candidates of an instance with covers sorted by `covers`, costs and charges."""
        indptr, support = instance.candidates.indptr, instance.candidates.support
        cells = (self.indptr, self.value, self.begin)
        return ValuedCandidates(indptr, covers, *cells, cost, instance.least, support, thetas)


class _Relaxed:
    """One relaxation over an instance, with room to work in, and the sizes at which the last search ended: those of the
    next point are near them."""

    def __init__(self, instance: Instance, relaxation: Relaxation) -> None:
        widest = int(instance.candidates.covers.lengths.max(initial=0))
        self.cells: _Cells = _Cells.of(instance, relaxation)
        self.tree: TreeArrays[np.float64] = relaxation.floats()
        self.room: Workspace[np.float64] = make_workspace(widest, self.tree)
        self.sizes = instance.least.copy()


class RequiredEvaluator(Evaluator):
    """L(λ, θ) over one instance.

    A point is one array: λ of the row types, then θ / STEEP of the charged relaxations.
    """

    def __init__(self, instance: Instance, start: Floats | None = None) -> None:
        super().__init__(instance)
        relaxations = relaxations_of(instance)
        if not relaxations:
            raise InputError("no requirement is about a sensitive attribute: the bound is that of the sizes")
        self.relaxed = [_Relaxed(instance, relaxation) for relaxation in relaxations]
        self.charged = [v for v, relaxation in enumerate(relaxations) if relaxation.closeness is not None]
        self.right = np.concatenate([self.counts, np.zeros(len(self.charged) * instance.candidates.count)])
        self.first = start

    def start(self) -> Floats:
        """The multipliers given, or the loss of every row at its cheapest candidate; nothing is charged."""
        begin = super().start() if self.first is None else np.asarray(self.first, dtype=np.float64)
        return np.concatenate([begin, np.zeros(len(self.right) - len(begin))])

    def sort(self, point: Floats) -> None:
        """Nothing: covers are sorted at every point."""

    def thetas(self, point: Floats, v: int) -> Floats:
        """θ of one relaxation, 0 for one without a charge."""
        count = self.instance.candidates.count
        if v not in self.charged:
            return np.zeros(count)
        begin = self.types + self.charged.index(v) * count
        return point[begin : begin + count] * STEEP

    def __call__(self, point: Floats, *, everything: bool = False) -> Evaluation:
        """L, φ and a subgradient: rows not yet placed, and work above what is allowed."""
        multipliers = np.ascontiguousarray(point[: self.types])
        given = [self._candidates(v, multipliers, self.thetas(point, v)) for v in range(len(self.relaxed))]
        found = [self.solve(v, candidates, multipliers, everything) for v, candidates in enumerate(given)]
        phis = np.array([each.phi for each in found])
        which, phi = phis.argmax(axis=0), phis.max(axis=0)
        taken, excesses = np.zeros(self.types), np.zeros((len(self.relaxed), len(phi)))
        for v, relaxed in enumerate(self.relaxed):
            rows, wanted = ValuedRows(self.counts, multipliers, relaxed.cells.rank), (which == v) & (phi < 0)
            take_groups(
                given[v], rows, relaxed.tree, relaxed.room, wanted, found[v].groups, taken, excesses[v]
            )  # fmt: skip
        value = float(phi[phi < 0].sum() + self.counts @ multipliers)
        return Evaluation(value, phi, np.concatenate([self.counts - taken, STEEP * excesses[self.charged].ravel()]))

    def _candidates(self, v: int, multipliers: Floats, thetas: Floats) -> ValuedCandidates[np.float64]:
        cells = self.relaxed[v].cells
        covers = cells.covers(self.instance, multipliers)
        return cells.candidates(self.instance, covers, self.candidates.cost, thetas)

    def solve(
        self, v: int, candidates: ValuedCandidates[np.float64], multipliers: Floats, everything: bool
    ) -> CheapestGroups[np.float64]:
        """φ and the groups under one relaxation."""
        relaxed = self.relaxed[v]
        rows = ValuedRows(self.counts, multipliers, relaxed.cells.rank)
        count, never = len(candidates.cost), np.float64(np.inf)
        found = CheapestGroups(np.empty(count), relaxed.sizes, self.instance.least.copy())
        cheapest_by_size(candidates, rows, relaxed.tree, relaxed.room, TRIES, never, everything, found)
        return found

    def search_charges(self, point: Floats) -> Floats:
        """Each θ_g by itself, for given λ: the best of steps that become shorter."""
        multipliers = np.ascontiguousarray(point[: self.types])
        point = point.copy()
        for v in self.charged:
            best = self.thetas(point, v)
            candidates = self._candidates(v, multipliers, best)
            value = self.solve(v, candidates, multipliers, False).phi
            for factor in FACTORS:
                for step in (factor, 1 / factor):
                    thetas = np.where(best > 0, best * step, FIRST_CHARGE * step)
                    trial = self.solve(v, candidates._replace(thetas=thetas), multipliers, False).phi
                    better = trial > value + 1e-6
                    best[better], value[better] = thetas[better], trial[better]
            begin = self.types + self.charged.index(v) * len(best)
            point[begin : begin + len(best)] = best / STEEP
        return point


def required_bound(
    instance: Instance,
    start: Floats | None = None,
    target: float | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
) -> RequiredPoint:
    """Maximize L by the volume algorithm.

    start: multipliers to begin with, such as those of `lagrangian`. The other parameters are as there. Raises
    InputError where the loss is not the objective, a row type has no candidate, or no requirement is about a sensitive
    attribute.
    """
    refuse(instance)
    ends = math.inf if seconds is None else time.perf_counter() + seconds
    at = RequiredEvaluator(instance, start)
    ascent = Ascent(at, BoundLimit(ends, interrupt, target, iterations), on_progress)
    ascent.maximize(packing_cuts=False)
    point, value = ascent.best, ascent.value
    if at.charged:
        searched = at.search_charges(point)
        found = at(searched).value
        if found > value:
            point, value = searched, found
    types = instance.types.count
    return RequiredPoint(point[:types].copy(), STEEP * point[types:], value, ascent.iterations)


def exact_phi(instance: Instance, multipliers: Ints, charges: Ints, denominator: int) -> Ints:
    """φ_g times the denominator, rounded down, int64 (G,); `NEVER` where a candidate cannot have a group.

    multipliers, charges: λ and θ as integer multiples of 1/denominator. Raises InputError where the numbers could leave
    the range of int64.
    """
    candidates = instance.candidates
    relaxations = relaxations_of(instance)
    most = int(candidates.cost.max(initial=0)) * denominator + max(map(abs, multipliers.tolist()), default=0)
    theta = max(charges.tolist(), default=0)
    edges = max(sum(math.ceil(node.weight) for node in relaxation.nodes) for relaxation in relaxations)
    largest = 2 * (most + theta * (edges + 2)) * instance.types.n
    bits = min(FINEST_BITS, (NEVER // max(largest, 1)).bit_length() - 1)
    if bits < COARSEST_BITS:
        raise InputError("the multipliers are too large or too fine for exact numbers; use a smaller denominator")
    widest = int(candidates.covers.lengths.max(initial=0))
    found, begin = np.full(candidates.count, -NEVER, np.int64), 0
    for relaxation in relaxations:
        cells, tree = _Cells.of(instance, relaxation), relaxation.integers(1 << bits)
        thetas = np.zeros(candidates.count, np.int64)
        if relaxation.closeness is not None:
            thetas = charges[begin : begin + candidates.count]
            begin += candidates.count
        covers = cells.covers(instance, multipliers)
        priced = cells.candidates(instance, covers, candidates.cost * denominator, thetas)
        rows = ValuedRows(instance.types.counts, multipliers, cells.rank)
        groups = CheapestGroups(np.empty(candidates.count, np.int64), instance.least.copy(), instance.least.copy())
        room = make_workspace(widest, tree)
        cheapest_by_size(priced, rows, tree, room, EXACT_TRIES, np.int64(NEVER), True, groups)
        found = np.maximum(found, groups.phi)
    return found


def exact_required(instance: Instance, point: RequiredPoint, denominator: int = DENOMINATOR) -> Fraction:
    """L at the rounded point, in exact integers: a lower bound on the loss of every table, in units."""
    multipliers = round_multipliers(point.multipliers, denominator)
    charges = round_multipliers(np.maximum(point.charges, 0.0), denominator)
    phi = exact_phi(instance, multipliers, charges, denominator)
    total = sum(n * each for n, each in zip(instance.types.counts.tolist(), multipliers.tolist(), strict=True))
    return Fraction(total + sum(phi[phi < 0].tolist()), denominator)


def proven_required(instance: Instance, point: RequiredPoint, denominator: int = DENOMINATOR) -> int:
    """⌈L⌉: no table loses fewer units."""
    return math.ceil(exact_required(instance, point, denominator))
