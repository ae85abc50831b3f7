"""The Lagrangian bound: assignment rows relaxed, one subproblem in closed form for each candidate.

    L(λ) = Σ_i n_i λ_i + Σ_g min(0, φ_g(λ)),   φ_g = min { Σ_i (w_g - λ_i) x_i : Σ_i x_i ≥ κ_g, 0 ≤ x_i ≤ n_i }

over the row types i that candidate g covers; κ_g is the smallest size of a group. L(λ) is a lower bound on the loss of
every solution for any λ: add Σ_i λ_i (n_i - Σ_g x_ig) = 0 to the loss; what is left falls apart into one problem for
each candidate, closed (0) or open (φ_g). The subproblems have integral vertices, so the largest L(λ) is the value of
the strong formulation's linear relaxation (Geoffrion 1974).

Where requirements ask for more than a size (p-sensitivity, l-diversity, t-closeness, ...), row types are
(quasi-identifier, sensitive) tuples and κ_g is the smallest size that the requirements imply (`Instance.least`).
Every group that they allow has at least κ_g rows, so L(λ) is still a lower bound, of the relaxation that asks for
nothing but these sizes. Side constraints only take solutions away. All values are in units of `Levels.unit`.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.kernel import sorted_covers, subproblems
from kanon_milp.compiled import compiled
from kanon_milp.errors import InputError
from kanon_milp.instance import Instance
from kanon_milp.solvers.base import OnProgress, Progress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENOMINATOR = 4096
NEVER = 1 << 62  # φ, in whole numbers, of a candidate that covers too few rows to be opened

# The volume algorithm (Barahona, Anbil 2000). Values found on samples of Adult and all of it, k from 2 to 25: the
# first passes go for a fast rise, the others for accuracy.
FAST_PASSES = 100
STEP = 0.1  # first fraction of the way to the target
LONGER, LONGEST = 1.1, 2.0  # a pass that rises in the direction of the last ones makes the step longer
SHORTER_FAST, SHORTER = 0.66, 0.8  # so many passes without a rise make it shorter
PATIENCE_FAST, PATIENCE = 5, 10
WEIGHT_FAST, WEIGHT, LEAST_WEIGHT = 0.4, 0.1, 1e-4  # at most, of the newest point in the averages
ROUND = 100  # passes between two looks at the progress
SLOW = 5e-4  # relative rise in a round below which the newest points weigh half as much
STALLED = 2e-6  # relative rise in a round that is not worth it
SORT_EVERY = 50  # passes between two sortings of the covers by multiplier
NEAR = 0.05  # units; what rounding the multipliers may cost
FIRST_TARGET = 1.05  # times the bound, where no target is given


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Multipliers and what they prove.

    multipliers: float64 (t,), λ_i, the loss that a row of type i is worth. value: L(λ) in units of `Levels.unit`, in
    floating point (`exact_value` is what proves). phi: float64 (G,), φ_g. open_share: float64 (G,), average over the
    passes of whether a candidate was open, near the y of the linear relaxation; None where there was no pass.
    """

    multipliers: Floats
    value: float
    open_share: Floats | None
    phi: Floats
    evaluations: int = 0


class _Evaluator:
    """L(λ) over one instance, in floating point; keeps the covers sorted so that selections are cheap."""

    def __init__(self, instance: Instance) -> None:
        candidates = instance.candidates
        self.indptr, self.members = candidates.indptr, candidates.members
        self.cost = candidates.cost.astype(np.float64)
        self.least = instance.least.astype(np.float64)
        self.rows = instance.types.counts.astype(np.float64)
        self.phi = np.empty(candidates.count)
        self.dearest = np.empty(candidates.count)
        self.taken = np.empty(instance.types.count)

    def sort(self, multipliers: Floats) -> None:
        """Sort the covers by falling multiplier: the cheapest rows of every candidate stand first."""
        self.members = sorted_covers(self.indptr, self.members, np.argsort(-multipliers, kind="stable"))

    def __call__(self, multipliers: Floats, *, everything: bool = False) -> float:
        """L(λ); leaves φ in `phi` (0 for those surely not negative, unless `everything`), Σ_g x in `taken`."""
        self.taken[:] = 0.0
        below = subproblems(
            self.indptr, self.members, self.cost, self.least, self.rows, multipliers, np.float64(np.inf), everything,
            self.phi, self.dearest, self.taken,
        )  # fmt: skip
        return float(below) + _dot(self.rows, multipliers)


def evaluate(instance: Instance, multipliers: Floats) -> tuple[float, Floats, Floats]:
    """L(λ), φ (G,) and a subgradient n - Σ_g x (t,) of L at λ, in floating point."""
    at = _Evaluator(instance)
    value = at(np.ascontiguousarray(multipliers, dtype=np.float64), everything=True)
    return value, at.phi, at.rows - at.taken


def lagrangian(
    instance: Instance,
    target: float | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
) -> DualPoint:
    """Maximize L(λ) by the volume algorithm (Barahona, Anbil 2000), and keep the average of the open candidates.

    instance: k-anonymity or any other requirements, after viability (the loss is what is bounded). target: a loss in
    units, such as that of a table at hand; it ends as soon as nothing cheaper can exist. seconds, iterations: limits;
    without any it ends when it no longer rises. on_progress: called from time to time with the bound in units.
    Raises InputError where the loss is not the objective, or a row type has no candidate.
    """
    _refuse(instance)
    began = time.perf_counter()
    at = _Evaluator(instance)
    ceiling = _ceiling(instance)
    best = _cheapest_costs(instance)
    value = at(best)
    average = at.rows - at.taken
    share = (at.phi < 0).astype(np.float64)
    trial, ahead = best.copy(), np.empty_like(best)
    evaluations, step, idle, weight, before = 1, STEP, 0, WEIGHT_FAST, value
    goal = max(FIRST_TARGET * value, value + ceiling / 1000) if target is None else target
    while iterations is None or evaluations < iterations:
        if target is not None and value > target - 1 + NEAR:
            break
        if seconds is not None and time.perf_counter() - began > seconds:
            break
        if value > ceiling or (interrupt is not None and interrupt.is_set()):
            break  # above what any table can cost: there is none
        if evaluations % SORT_EVERY == 0:
            at.sort(best)
        if evaluations == FAST_PASSES:
            weight = WEIGHT
        if target is None and value > 0.95 * goal:
            goal = FIRST_TARGET * value
        if not _move(trial, best, average, step * max(goal - value, NEAR)):
            break  # no row is placed too often or too rarely: the average is an optimal point of the relaxation
        found = at(trial)
        evaluations += 1
        np.subtract(at.rows, at.taken, out=ahead)
        same_way = _average(average, ahead, share, at.phi, weight)
        fast = evaluations <= FAST_PASSES
        if found > value:
            best, trial, value, idle = trial, best, found, 0
            step = min(step * LONGER, LONGEST) if same_way else step
        else:
            idle += 1
            if idle >= (PATIENCE_FAST if fast else PATIENCE):
                step, idle = step * (SHORTER_FAST if fast else SHORTER), 0
        if evaluations % ROUND == 0:
            if on_progress is not None:
                on_progress(Progress(time.perf_counter() - began, None, value))
            risen = (value - before) / max(abs(value), 1.0)
            if risen < STALLED and weight <= 4 * LEAST_WEIGHT:
                break
            if risen < SLOW:
                weight = max(weight / 2, LEAST_WEIGHT)
            before = value
    value = at(best, everything=True)
    return DualPoint(best, value, share if evaluations > 1 else None, at.phi, evaluations)


def round_multipliers(multipliers: Floats, denominator: int = DENOMINATOR) -> Ints:
    """λ as whole multiples of 1/denominator, int64 (t,)."""
    if denominator < 1:
        raise InputError("the denominator of multipliers must be at least 1")
    scaled = np.rint(np.asarray(multipliers, dtype=np.float64) * denominator)
    if not (np.abs(scaled) < NEVER).all():
        raise InputError("the multipliers are too large for this denominator")
    integers: Ints = scaled.astype(np.int64)
    return integers


def exact_value(instance: Instance, integers: Ints, denominator: int = DENOMINATOR) -> Fraction:
    """L(λ) for λ = integers / denominator, in units of `Levels.unit`, computed in whole numbers.

    The loss of every table is a whole number of units, so no table loses less than ⌈L(λ)⌉ (`proven_bound`).
    """
    phi, _ = exact_subproblems(instance, integers, denominator)
    return Fraction(dual_total(instance, integers, phi), denominator)


def proven_bound(instance: Instance, integers: Ints, denominator: int = DENOMINATOR) -> int:
    """⌈L(λ)⌉: no solution of the instance loses fewer units."""
    return math.ceil(exact_value(instance, integers, denominator))


def dual_total(instance: Instance, integers: Ints, phi: Ints) -> int:
    """Σ n_i λ_i + Σ min(0, φ_g), times the denominator; both sums without a limit of size."""
    rows = sum(n * each for n, each in zip(instance.types.counts.tolist(), integers.tolist(), strict=True))
    return int(rows + sum(phi[phi < 0].tolist()))


def exact_subproblems(instance: Instance, integers: Ints, denominator: int) -> tuple[Ints, Ints]:
    """φ_g and the dearest row taken to reach κ_g, both int64 (G,), times the denominator; `NEVER` where N_g < κ_g.

    Raises InputError where the numbers could leave the range of int64: no sum within a subproblem is larger than
    n · (w + |λ|).
    """
    candidates, counts = instance.candidates, instance.types.counts
    largest = int(candidates.cost.max(initial=0)) * denominator + max((abs(x) for x in integers.tolist()), default=0)
    if largest * instance.types.n >= NEVER:
        raise InputError("the multipliers are too large or too fine for exact numbers; use a smaller denominator")
    phi, dearest = np.empty(candidates.count, np.int64), np.empty(candidates.count, np.int64)
    subproblems(
        candidates.indptr, candidates.members, candidates.cost * denominator, instance.least, counts,
        np.ascontiguousarray(integers, dtype=np.int64), np.int64(NEVER), True, phi, dearest, np.zeros_like(counts),
    )  # fmt: skip
    return phi, dearest


def _refuse(instance: Instance) -> None:
    if instance.problem.objective != "loss":
        raise InputError(f"the Lagrangian bound is one on the loss; the objective is {instance.problem.objective}")
    covered = np.zeros(instance.types.count, dtype=bool)
    covered[instance.candidates.members] = True
    if not covered.all():
        raise InputError(f"{int((~covered).sum())} row types have no candidate: there is no table, and no bound")


def _ceiling(instance: Instance) -> float:
    """The loss of a table that pays the dearest candidate for every row."""
    return float(instance.candidates.cost.max()) * instance.types.n


def _cheapest_costs(instance: Instance) -> Floats:
    """Multipliers to begin with: the loss of every row at its cheapest candidate, so that no φ_g is negative."""
    candidates = instance.candidates
    cheapest = np.full(instance.types.count, np.inf)
    np.minimum.at(cheapest, candidates.members, np.repeat(candidates.cost, np.diff(candidates.indptr)).astype(float))
    return cheapest


# Compiled instead of numpy's products: these would start threads for vectors of this length, which then wait.
@compiled
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _move(trial: Floats, best: Floats, direction: Floats, rise: float) -> bool:
    """trial = best + s · direction with the s at which the direction promises this rise; False for no direction."""
    norm = 0.0
    for d in direction:
        norm += d * d
    if norm < 1e-12:
        return False
    for i in range(len(best)):
        trial[i] = best[i] + rise / norm * direction[i]
    return True


@compiled
def _average(average: Floats, ahead: Floats, share: Floats, phi: Floats, weight: float) -> bool:
    """Mix the new subgradient and open candidates into the averages; whether it points the same way as the average.

    The weight α makes |α·new + (1-α)·average| least, between a tenth of the weight allowed and the whole.
    """
    old, new, both = 0.0, 0.0, 0.0
    for i in range(len(average)):
        old += average[i] * average[i]
        new += ahead[i] * ahead[i]
        both += average[i] * ahead[i]
    apart = old + new - 2 * both
    alpha = weight
    if apart > 0:
        alpha = min(max((old - both) / apart, weight / 10), weight)
    for i in range(len(average)):
        average[i] += alpha * (ahead[i] - average[i])
    for g in range(len(share)):
        opened = 1.0 if phi[g] < 0 else 0.0
        share[g] += alpha * (opened - share[g])
    return both > 0
