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
`relaxations` says of metrics of no tree. Groups of up to four rows are not charged but looked at one by one
(`bounds.small_sizes`), which is stronger.

θ is part of the point that the volume algorithm moves; afterwards each θ_g is searched alone.
All values are in units of `Levels.unit`; the proof is in exact integer arithmetic (`exact_required`).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from kanon_milp.bounds.closed_form import PricedCandidates, PricedRows, different_values, sorted_covers
from kanon_milp.bounds.composition import TreeArrays, ValuedRows, Workspace, make_workspace
from kanon_milp.bounds.dual import DENOMINATOR, NEVER, round_multipliers
from kanon_milp.bounds.lagrangian_bound import refuse
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.relaxations import Relaxation, relaxations_of
from kanon_milp.bounds.required_values import STEEP, Cells, RequiredEvaluator
from kanon_milp.bounds.sizes import CheapestGroups, ValuedCandidates, cheapest_by_size
from kanon_milp.bounds.small_sizes import EXACT_TRIED, cheapest_small_groups, small_sizes
from kanon_milp.bounds.volume import FAST, FAST_ITERATIONS, Ascent, Pace
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.call import OnProgress
from kanon_milp.system.arrays import Floats, Ints

EXACT_TRIES = 400  # sizes of a group that are tried for one candidate for the proof
REFINED = 0.15  # of the time for the last search for charges
# to begin with where shares are limited: the multipliers of sizes, where it starts, are far away then
FAR, FAR_ITERATIONS = Pace(0.6, 5, 0.66), 200
FINEST_BITS, COARSEST_BITS = 36, 6  # of the grid of shares in integers


@dataclass(frozen=True, eq=False)
class RequiredPoint:
    """Multipliers and what they prove.

    multipliers: float64 (t,), λ. charges: float64 (charged relaxations · G,), θ, one relaxation after the other. value:
    L in floating point (`proven_required` is what proves). evaluations: how many it took, those of the point that it
    went on from included. open_share: float64 (G,), how often each candidate was open on the way, in the averages.
    ascent: where the algorithm stands, to go on from there; None for a point from elsewhere, or from another process.
    rows: float64 (pairs,), the rows of each pair in these averages.
    """

    multipliers: Floats
    charges: Floats
    value: float
    evaluations: int
    open_share: Floats | None = None
    ascent: Ascent | None = field(default=None, repr=False)
    rows: Floats | None = field(default=None, repr=False)

    @cached_property
    def phi(self) -> Floats | None:
        """φ (G,) in floating point, infinite where a candidate has no group; None without `ascent`."""
        if self.ascent is None:
            return None
        return self.ascent.at(np.concatenate([self.multipliers, self.charges / STEEP]), everything=True).phi

    def __getstate__(self) -> dict[str, object]:
        """All but the ascent: it has threads."""
        return {**self.__dict__, "ascent": None}


def required_bound(
    instance: Instance,
    start: Floats | None = None,
    target: float | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
    *,
    point: RequiredPoint | None = None,
    threads: int = 1,
    small: bool = True,
) -> RequiredPoint:
    """Maximize L by the volume algorithm.

    start: multipliers to begin with, such as those of `lagrangian`. point: what to go on from instead, of this
    instance; with its `ascent` as if it had not been interrupted. iterations: at most so many more. threads: the result
    is the same for any number. small: whether groups of a few rows are looked at one by one (`bounds.small_sizes`),
    which a certificate cannot say. The other parameters are those of `lagrangian`. Raises InputError where the loss is
    not the objective, a row type has no candidate, or no requirement is about a sensitive attribute.
    """
    refuse(instance)
    limit = BoundLimit(math.inf if seconds is None else time.perf_counter() + seconds, interrupt, target, iterations)
    ascent = None if point is None else point.ascent
    if ascent is not None and ascent.at.instance is instance:
        done = 0 if iterations is None else ascent.iterations
        ascent.go_on(replace(limit, iterations=None if iterations is None else done + iterations), on_progress)
    else:
        charges = None if point is None else point.charges
        at = RequiredEvaluator(instance, start if point is None else point.multipliers, charges, threads, small=small)
        near = all(relaxed.tree.convex for relaxed in at.relaxed)
        pace, fast_iterations = (FAST, FAST_ITERATIONS) if near else (FAR, FAR_ITERATIONS)
        ascent = Ascent(at, limit, on_progress, pace, fast_iterations)
    assert isinstance(ascent.at, RequiredEvaluator)
    if ascent.at.charged:
        limit = ascent.limit
        ascent.limit = limit.share(1 - REFINED)
        ascent.maximize(packing_cuts=False)
        ascent.limit = limit
        ascent.refine(final=True)
    else:
        ascent.maximize(packing_cuts=False)
    types = instance.types.count
    found = ascent.best.copy()
    return RequiredPoint(
        found[:types], STEEP * found[types:], ascent.value, ascent.iterations, ascent.share.copy(), ascent,
        ascent.at.rows,
    )  # fmt: skip


def finest_bits(instance: Instance, multipliers: Ints, theta: int, denominator: int, terms: int = 0) -> int:
    """How many bits a grid of shares may have so that all numbers stay in the range of int64.

    multipliers: λ as integer multiples of 1/denominator. theta: the largest charge, terms: what cuts can add to the
    reduced cost of a group, in the same multiples. Raises InputError where there are too few.
    """
    most = int(instance.candidates.cost.max(initial=0)) * denominator + max(map(abs, multipliers.tolist()), default=0)
    relaxations = relaxations_of(instance)
    edges = max(sum(math.ceil(node.weight) for node in relaxation.nodes) for relaxation in relaxations)
    largest = 2 * ((most + theta * (edges + 2)) * instance.types.n + terms)
    bits = min(FINEST_BITS, (NEVER // max(largest, 1)).bit_length() - 1)
    if bits < COARSEST_BITS:
        raise InputError("the multipliers are too large or too fine for exact numbers; use a smaller denominator")
    return bits


def exact_phi(instance: Instance, multipliers: Ints, charges: Ints, denominator: int, *, small: bool = True) -> Ints:
    """φ_g times the denominator, rounded down, int64 (G,); `NEVER` where a candidate cannot have a group.

    multipliers, charges: λ and θ as integer multiples of 1/denominator. small: as in `required_bound`. Raises
    InputError where the numbers could leave the range of int64.
    """
    candidates = instance.candidates
    relaxations = relaxations_of(instance)
    bits = finest_bits(instance, multipliers, max(charges.tolist(), default=0), denominator)
    widest = int(candidates.covers.lengths.max(initial=0))
    found, begin = np.full(candidates.count, -NEVER, np.int64), 0
    for relaxation in relaxations:
        if relaxation.plain:
            found = np.maximum(found, _plain_phi(instance, relaxation, multipliers, denominator))
            continue
        cells, tree = Cells.of(instance, relaxation), relaxation.integers(1 << bits)
        thetas = np.zeros(candidates.count, np.int64)
        if relaxation.closeness is not None:
            thetas = charges[begin : begin + candidates.count]
            begin += candidates.count
        covers = cells.covers(instance, multipliers)
        priced = cells.candidates(instance, covers, candidates.cost * denominator, thetas)
        rows = ValuedRows(instance.types.counts, multipliers, cells.rank)
        room, sizes = make_workspace(widest, tree), small_sizes(relaxation, instance.least) if small else None
        phi = _every_phi(priced, rows, tree, room, 1 if sizes is None else sizes.most + 1)
        if sizes is not None:
            hard, chosen = np.ones(candidates.count, np.bool_), np.empty((candidates.count, sizes.most), np.int32)
            cheapest_small_groups(priced, rows, sizes, EXACT_TRIED, hard, phi, chosen)
            if hard.any():
                phi[hard] = _every_phi(priced, rows, tree, room, 1)[hard]
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
        priced, PricedRows(instance.types.counts, multipliers, multipliers, np.int64(0)), (code, relaxation.presence),
        np.int64(NEVER), True, np.ones(candidates.count, np.bool_), phi, nothing, (candidates.members, nothing),
    )  # fmt: skip
    return phi


def _every_phi(
    priced: ValuedCandidates[np.int64],
    rows: ValuedRows[np.int64],
    tree: TreeArrays[np.int64],
    room: Workspace[np.int64],
    least: int,
) -> Ints:
    """φ (G,) of groups of at least so many rows."""
    sizes = np.maximum(priced.least, least)
    groups = CheapestGroups(np.empty(len(sizes), np.int64), sizes.copy(), sizes.copy())
    cheapest_by_size(
        priced._replace(least=sizes), rows, tree, room, EXACT_TRIES, np.int64(NEVER), True, groups
    )  # fmt: skip
    return groups.phi


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
