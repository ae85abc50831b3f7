"""The Lagrangian bound with all requirements of a group inside the subproblems.

    L(λ, θ) = Σ_i n_i λ_i + Σ_g min(0, φ_g),    φ_g = max over views v of min { Σ (w_g - λ_i) x_i : x meets view v }

over the (quasi-identifier, sensitive) row types i that candidate g covers, groups of whole rows and any size from κ_g
on. A view (`kanon_milp.bounds.relaxations`) is necessary for every group, so no φ_g is above the least reduced cost of
a group that satisfies all requirements, and L is a lower bound on the loss of every table, for any λ and θ ≥ 0: add
Σ λ_i (n_i - Σ_g x_ig) = 0 to the loss; what is left falls apart into one group for each candidate, closed (0) or open.

Where one view says all that is asked (p-sensitivity, limits of shares, the equal distance between up to three values,
with k-anonymity), φ_g is that least cost, and max L the value of the Dantzig-Wolfe relaxation with one column for each
group that a candidate may have: at least that of the strong formulation's linear relaxation, whose rows of a candidate
hold for all of these groups (Geoffrion 1974). The work that t-closeness limits is charged with multipliers θ_g for each
candidate, which together are as strong as its rows in the linear relaxation (its minimum is convex in the group, and
its rows are those of the work, whose Lagrangian dual has no gap), less what `demands` says of metrics of no tree.

θ is part of the point that the volume algorithm moves; afterwards each θ_g is searched alone.
All values are in units of `Levels.unit`; the proof is in whole numbers (`exact_required`).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import ordered_covers
from kanon_milp.bounds.composition import Room, Shape, make_room
from kanon_milp.bounds.dual import DENOMINATOR, NEVER, round_multipliers
from kanon_milp.bounds.lagrangian import refuse
from kanon_milp.bounds.relaxations import Relaxation, relaxations_of
from kanon_milp.bounds.sizes import cheapest_groups, take_groups
from kanon_milp.bounds.volume import Ascent, Evaluator, Limits
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.base import OnProgress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

TRIES, EXACT_TRIES = 25, 400  # sizes of a group that are tried for one candidate, in a pass and for the proof
FINEST_BITS, COARSEST_BITS = 36, 6  # of the grid of shares in whole numbers
FACTORS = (4.0, 2.0, 1.4, 1.2, 1.1, 1.05, 1.02)  # steps of the search for one θ_g, up and down
STEEP = 4.0  # times more than those of row types do charges move in a pass: the work is a fraction of the rows
FIRST_CHARGE = 0.5  # θ_g that the search begins with where it is 0


@dataclass(frozen=True, eq=False)
class RequiredPoint:
    """Multipliers and what they prove. multipliers: float64 (t,), λ. charges: float64 (charged views · G,), θ, view by
    view. value: L in floating point (`proven_required` is what proves)."""

    multipliers: Floats
    charges: Floats
    value: float
    evaluations: int


@dataclass(frozen=True, eq=False)
class _Cells:
    """The row types of one view. rank: int64 (t,), place of the sensitive value. indptr, value, begin: per candidate
    the values of its cover, and where each begins in the cover sorted by value (one more than values)."""

    rank: Ints
    indptr: Ints
    value: Ints
    begin: Ints

    @classmethod
    def of(cls, instance: Instance, relaxation: Relaxation) -> _Cells:
        """The cells of a view's attribute."""
        candidates = instance.candidates
        code, values = instance.sensitive_codes((relaxation.attribute,))
        place = np.empty(len(values), np.int64)
        place[relaxation.ranks] = np.arange(len(values))
        rank = place[code]
        key, members = np.unique(
            candidates.candidate_of_pair().astype(np.int64) * len(values) + rank[candidates.members], return_counts=True
        )
        of = key // len(values)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=candidates.count))]).astype(np.int64)
        # ends of the cells, and a 0 before those of each candidate
        ends = np.cumsum(members) - candidates.indptr[of]
        begin = np.insert(ends, indptr[:-1], 0)
        return cls(rank, indptr, key % len(values), begin)

    def covers(self, instance: Instance, multipliers: NDArray[np.float64] | Ints) -> Codes:
        """The covers, each sorted by value, then by falling multiplier."""
        order = np.lexsort((-multipliers, self.rank))
        return ordered_covers(instance.candidates.indptr, instance.candidates.members, order)


class RequiredEvaluator(Evaluator):
    """L(λ, θ) over one instance. A point is one array: λ of the row types, then θ / STEEP of the charged views."""

    def __init__(self, instance: Instance, start: Floats | None = None) -> None:
        super().__init__(instance)
        self.relaxations = relaxations_of(instance)
        if not self.relaxations:
            raise InputError("no requirement is about a sensitive attribute: the bound is that of the sizes")
        count, widest = instance.candidates.count, int(np.diff(instance.candidates.indptr).max(initial=0))
        self.cells = [_Cells.of(instance, relaxation) for relaxation in self.relaxations]
        self.shapes: list[Shape[np.float64]] = [relaxation.floats() for relaxation in self.relaxations]
        self.rooms: list[Room[np.float64]] = [make_room(widest, shape) for shape in self.shapes]
        self.sizes, self.groups = ([instance.least.copy() for _ in self.relaxations] for _ in range(2))
        self.phis, self.excesses = np.empty((len(self.relaxations), count)), np.zeros((len(self.relaxations), count))
        self.charged = [v for v, relaxation in enumerate(self.relaxations) if relaxation.closeness is not None]
        self.right = np.concatenate([self.rows, np.zeros(len(self.charged) * count)])
        self.first = start

    def start(self) -> Floats:
        """The multipliers given, or the loss of every row at its cheapest candidate; nothing is charged."""
        begin = super().start() if self.first is None else np.asarray(self.first, dtype=np.float64)
        return np.concatenate([begin, np.zeros(len(self.right) - len(begin))])

    def sort(self, point: Floats) -> None:
        """Nothing: covers are sorted at every point."""

    def thetas(self, point: Floats, v: int) -> Floats:
        """θ of one view, 0 for one without a charge."""
        count, types = len(self.phi), len(self.rows)
        if v not in self.charged:
            return np.zeros(count)
        begin = types + self.charged.index(v) * count
        return point[begin : begin + count] * STEEP

    def __call__(self, point: Floats, *, everything: bool = False) -> float:
        """L; leaves φ in `phi`, Σ_g x in `taken`, and how far the groups are from what is charged."""
        multipliers = np.ascontiguousarray(point[: len(self.rows)])
        covers = [cells.covers(self.instance, multipliers) for cells in self.cells]
        for v in range(len(self.relaxations)):
            self.solve(v, covers[v], multipliers, self.thetas(point, v), self.phis[v], everything)
        which = self.phis.argmax(axis=0)
        self.phi = self.phis.max(axis=0)
        self.taken[:] = 0.0
        for v, (cells, shape, room) in enumerate(zip(self.cells, self.shapes, self.rooms, strict=True)):
            take_groups(
                self.indptr, covers[v], cells.indptr, cells.value, cells.begin, self.cost, self.rows, multipliers,
                self.thetas(point, v), cells.rank, shape, room, (which == v) & (self.phi < 0), self.groups[v],
                self.taken, self.excesses[v],
            )  # fmt: skip
        return float(self.phi[self.phi < 0].sum() + self.rows @ multipliers)

    def solve(self, v: int, covers: Codes, multipliers: Floats, thetas: Floats, phi: Floats, everything: bool) -> None:
        """φ of one view into `phi`."""
        cells = self.cells[v]
        cheapest_groups(
            self.indptr, covers, cells.indptr, cells.value, cells.begin, self.cost, self.instance.least,
            self.instance.candidates.support, self.rows, multipliers, thetas, cells.rank, self.shapes[v],
            self.rooms[v], TRIES, np.float64(np.inf), everything, phi,
            self.sizes[v], self.groups[v],
        )  # fmt: skip

    def slope(self, into: Floats) -> None:
        """A subgradient at the last point: rows not yet placed, and work above what is allowed."""
        types, count = len(self.rows), len(self.phi)
        np.subtract(self.rows, self.taken, out=into[:types])
        for number, v in enumerate(self.charged):
            into[types + number * count : types + (number + 1) * count] = STEEP * self.excesses[v]

    def search_charges(self, point: Floats) -> Floats:
        """Each θ_g by itself, for given λ: the best of steps that become shorter."""
        multipliers = np.ascontiguousarray(point[: len(self.rows)])
        point = point.copy()
        for v in self.charged:
            covers, best = self.cells[v].covers(self.instance, multipliers), self.thetas(point, v)
            value, trial = np.empty_like(best), np.empty_like(best)
            self.solve(v, covers, multipliers, best, value, False)
            for factor in FACTORS:
                for step in (factor, 1 / factor):
                    thetas = np.where(best > 0, best * step, FIRST_CHARGE * step)
                    self.solve(v, covers, multipliers, thetas, trial, False)
                    better = trial > value + 1e-6
                    best[better], value[better] = thetas[better], trial[better]
            begin = len(self.rows) + self.charged.index(v) * len(best)
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
    ends = None if seconds is None else time.perf_counter() + seconds
    at = RequiredEvaluator(instance, start)
    ascent = Ascent(at, Limits(target, ends, iterations, interrupt), on_progress)
    ascent.climb(counting=False)
    point, value = ascent.best, ascent.value
    if at.charged:
        searched = at.search_charges(point)
        found = at(searched)
        if found > value:
            point, value = searched, found
    types = instance.types.count
    return RequiredPoint(point[:types].copy(), STEEP * point[types:], value, ascent.passes)


def evaluate_required(instance: Instance, multipliers: Floats, charges: Floats | None = None) -> tuple[float, Floats]:
    """L(λ, θ) and φ (G,) in floating point."""
    at = RequiredEvaluator(instance, multipliers)
    point = at.start()
    if charges is not None:
        point[len(multipliers) :] = charges / STEEP
    value = at(point, everything=True)
    return value, at.phi


def exact_phi(instance: Instance, multipliers: Ints, charges: Ints, denominator: int) -> Ints:
    """φ_g times the denominator, rounded down, int64 (G,); `NEVER` where a candidate cannot have a group.

    multipliers, charges: λ and θ as whole multiples of 1/denominator. Raises InputError where the numbers could leave
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
    counts, widest = instance.types.counts, int(np.diff(candidates.indptr).max(initial=0))
    found = np.full(candidates.count, -NEVER, np.int64)
    phi, begin = np.empty(candidates.count, np.int64), 0
    for relaxation in relaxations:
        cells, shape = _Cells.of(instance, relaxation), relaxation.integers(1 << bits)
        thetas = np.zeros(candidates.count, np.int64)
        if relaxation.closeness is not None:
            thetas = charges[begin : begin + candidates.count]
            begin += candidates.count
        cheapest_groups(
            candidates.indptr, cells.covers(instance, multipliers), cells.indptr, cells.value, cells.begin,
            candidates.cost * denominator, instance.least, candidates.support, counts, multipliers, thetas,
            cells.rank, shape, make_room(widest, shape), EXACT_TRIES, np.int64(NEVER), True, phi,
            instance.least.copy(), instance.least.copy(),
        )  # fmt: skip
        found = np.maximum(found, phi)
    return found


def exact_required(instance: Instance, point: RequiredPoint, denominator: int = DENOMINATOR) -> Fraction:
    """L at the rounded point, in whole numbers: a lower bound on the loss of every table, in units."""
    multipliers = round_multipliers(point.multipliers, denominator)
    charges = round_multipliers(np.maximum(point.charges, 0.0), denominator)
    phi = exact_phi(instance, multipliers, charges, denominator)
    total = sum(n * each for n, each in zip(instance.types.counts.tolist(), multipliers.tolist(), strict=True))
    return Fraction(total + sum(phi[phi < 0].tolist()), denominator)


def proven_required(instance: Instance, point: RequiredPoint, denominator: int = DENOMINATOR) -> int:
    """⌈L⌉: no table loses fewer units."""
    return math.ceil(exact_required(instance, point, denominator))


def improved(
    instance: Instance, known: int, start: Floats, seconds: float | None, interrupt: threading.Event | None
) -> int:
    """The better one of a bound that is known and this one, in units; the first where there is nothing to add.

    start: multipliers that prove about as much as is known.
    """
    if not instance.problem.attributes:
        return known
    point = required_bound(instance, start, seconds=seconds, interrupt=interrupt)
    try:
        return max(known, proven_required(instance, point))
    except InputError:  # numbers that need more than 64 bits
        return known
