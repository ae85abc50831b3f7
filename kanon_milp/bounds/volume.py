"""The volume algorithm (Barahona, Anbil 2000), in floating point, over the multipliers of row types and packing cuts.

Deterministic for a given number of iterations: only limits of time look at the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kanon_milp.bounds.closed_form import Found, PricedCandidates, PricedRows, sorted_covers, subproblems
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.packing_cuts import NO_SETS, PackingCuts, TypeSets, violated_sets
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.solvers.call import OnProgress, Progress
from kanon_milp.system.arrays import Floats
from kanon_milp.system.jit import compiled

Part = TypeVar("Part")

# Values found on samples of Adult and all of it, k from 2 to 25: the first iterations go for a fast rise, the others
# for accuracy.
FAST_ITERATIONS = 100
STEP = 0.1  # first fraction of the way to the target
LONGER, LONGEST = 1.1, 2.0  # an iteration that rises in the direction of the last ones makes the step longer
SHORTER, SHORTEST = 4, 1e-4  # where steps cancel at once: each beginning is so many times shorter, down to this
LEAST_WEIGHT = 1e-4  # of the newest point in the averages
ROUND = 100  # iterations between two looks at the progress
SLOW = 1e-4  # relative rise in a round below which the newest points weigh half as much
STALLED = 2e-6  # relative rise in a round that is not worth it
SORT_EVERY = 50  # iterations between two sortings of the covers by multiplier
NEAR = 0.05  # units; what rounding the multipliers may cost
FIRST_TARGET = 1.05  # times the bound, where no target is given
ADDED = 300  # packing cuts at most in a round
PARTS = 4  # that the candidates are divided into, for any number of threads: so they do not change a sum
DIVIDED = 200_000  # pairs from which on they are


@dataclass(frozen=True)
class Pace:
    """weight: of the newest point in the averages, at most; patience: so many iterations without a rise make the step
    shorter, `shorter` times as long."""

    weight: float
    patience: int
    shorter: float


FAST, ACCURATE = Pace(0.4, 5, 0.66), Pace(0.1, 10, 0.8)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a point of the dual gives: L, φ (G,) (0 for those surely not negative, unless everything was asked for), a
    subgradient of L, as long as the point."""

    value: float
    phi: Floats
    subgradient: Floats


class Evaluator:
    """L(λ, μ) over one instance; keeps the covers sorted so that selections are cheap.

    A point is one array: λ of the row types, then μ of the packing cuts.
    """

    def __init__(self, instance: Instance, threads: int = 1) -> None:
        candidates = instance.candidates
        self.instance = instance
        self.candidates: PricedCandidates[np.float64] = PricedCandidates(
            candidates.indptr, candidates.members, candidates.cost.astype(np.float64),
            instance.least.astype(np.float64), np.zeros(candidates.count),
        )  # fmt: skip
        self.counts = instance.types.counts.astype(np.float64)
        self._marginal = np.empty(candidates.count)
        parts = PARTS if candidates.pairs >= DIVIDED else 1
        inner = np.searchsorted(candidates.indptr, np.linspace(0, candidates.pairs, parts + 1)[1:-1])
        self._ends = [0, *inner.tolist(), candidates.count]
        self._taken = np.empty((parts, instance.types.count))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 and parts > 1 else None
        self.set_packing_cuts(NO_SETS)
        self.sort(_cheapest_costs(instance))

    @property
    def types(self) -> int:
        """Number of row types."""
        return len(self.counts)

    @property
    def parts(self) -> int:
        """What the candidates are divided into, for threads."""
        return len(self._taken)

    def start(self) -> Floats:
        """A point to begin with, where no φ_g is negative."""
        return _cheapest_costs(self.instance)

    @property
    def scale(self) -> Floats:
        """How far each entry of a point moves along a subgradient of 1, as long as the point, positive.

        Twice as many rows of a type are too many or too few twice as often, for the same multiplier.
        """
        return np.concatenate([1 / self.counts, np.ones(len(self.right) - self.types)])

    def set_packing_cuts(self, sets: TypeSets) -> None:
        """Take these packing cuts instead of those before."""
        self.sets, self.packing = sets, PackingCuts.of(self.instance, sets)
        self.right = np.concatenate([self.counts, -self.packing.limits.astype(np.float64)])

    def sort(self, point: Floats) -> None:
        """Sort the covers by falling multiplier: the cheapest rows of every candidate stand first."""
        self.order = point[: self.types].copy()
        covers: Ragged[np.int32] = Ragged(self.candidates.indptr, self.candidates.members)
        self.candidates = self.candidates._replace(members=sorted_covers(covers, self.order))

    def refined(self, point: Floats, limit: BoundLimit, final: bool) -> Floats | None:
        """A point that may be better, found in another way than along subgradients, if there is one."""
        return None

    def average(self, weight: float) -> None:
        """Be told which weight the last point has been given in the averages."""

    def __call__(self, point: Floats, *, everything: bool = False) -> Evaluation:
        """L and a subgradient: rows not yet placed; groups too many."""
        below, phi, taken = self.closed_forms(point, everything)
        types, subgradient = self.types, self.right.copy()
        subgradient[:types] -= taken
        count_open(self.packing.nested, phi, subgradient[types:])
        return Evaluation(below + dot(self.right, point), phi, subgradient)

    def closed_forms(self, point: Floats, everything: bool) -> tuple[float, Floats, Floats]:
        """Without rank-1 cuts: Σ min(0, φ), φ (G,) and Σ_g x (t,)."""
        types, priced = self.types, self.candidates
        _spread(self.packing.nested, point[types : types + self.sets.lists], priced.surcharge)
        rise = np.float64((point[:types] - self.order).max(initial=0.0))
        rows = PricedRows(self.counts, point[:types], self.order, rise)
        phi = np.empty(len(priced.cost))

        def part(number: int) -> float:
            begin, end = self._ends[number : number + 2]
            taken = self._taken[number]
            taken[:] = 0.0
            some = PricedCandidates(
                priced.indptr[begin : end + 1], priced.members, priced.cost[begin:end], priced.least[begin:end],
                priced.surcharge[begin:end],
            )  # fmt: skip
            found = Found(phi[begin:end], self._marginal[begin:end])
            return float(subproblems(some, rows, np.float64(np.inf), everything, found, taken))

        below = sum(self.each_part(part))
        return below, phi, self._taken.sum(axis=0)

    def each_part(self, function: Callable[[int], Part]) -> Iterator[Part]:
        """What a function says of the number of each part, on all threads."""
        each = range(self.parts)
        return map(function, each) if self._pool is None else self._pool.map(function, each)


class Ascent:
    """Where the algorithm stands: the best point and its value, and the averages of subgradients and open
    candidates."""

    def __init__(
        self,
        at: Evaluator,
        limit: BoundLimit,
        on_progress: OnProgress | None = None,
        pace: Pace = FAST,
        fast_iterations: int = FAST_ITERATIONS,
    ) -> None:
        self.at, self.limit, self.on_progress, self.began = at, limit, on_progress, time.perf_counter()
        candidates = at.instance.candidates
        # no table costs more than the most expensive candidate for every row
        self.ceiling = float(candidates.cost.max()) * at.instance.types.n
        self.best = at.start()
        found = at(self.best)
        self.value, self.average = found.value, found.subgradient
        self.share = (found.phi < 0).astype(np.float64)
        self.iterations, self.first_step, self.step, self.idle = 1, STEP, STEP, 0
        self.pace, self.weight, self.fast_iterations = pace, pace.weight, fast_iterations
        self.begun = -np.inf
        first = max(FIRST_TARGET * self.value, self.value + self.ceiling / 1000)
        self.goal = first if limit.target is None else limit.target

    @property
    def reached(self) -> bool:
        """Whether the bound is good enough, or the time is over."""
        return self.limit.reached(self.value, NEAR, iterations=self.iterations)

    def maximize(self, *, packing_cuts: bool) -> None:
        """Until it no longer rises. packing_cuts: add some on the way, while the steps are long enough to make use of
        them."""
        before = self.value
        while not self.reached and self.value <= self.ceiling:
            if self.iterations % SORT_EVERY == 0:
                self.at.sort(self.best)
                self.refine()
            if self.iterations == self.fast_iterations:
                self.pace, self.weight = ACCURATE, ACCURATE.weight
            if not self.iterate():
                # no row is placed too often or too rarely: the average is a point of the relaxation, though on small
                # tables not always an optimal one; new packing cuts do not always violate it
                fresh = packing_cuts and self.add_cuts() > 0
                if not (fresh and self.iterate()) and not self._begin_again(packing_cuts):
                    break
            if self.iterations % ROUND == 0:
                self.show()
                risen = (self.value - before) / max(abs(self.value), 1.0)
                if risen < STALLED and self.weight <= 4 * LEAST_WEIGHT:
                    break
                if risen < SLOW:
                    self.weight = max(self.weight / 2, LEAST_WEIGHT)
                before = self.value
                if packing_cuts:
                    self.add_cuts()

    def go_on(self, limit: BoundLimit, on_progress: OnProgress | None) -> None:
        """Get another limit."""
        self.limit, self.on_progress, self.began = limit, on_progress, time.perf_counter()
        self.goal = self.goal if limit.target is None else limit.target
        self.begun = -np.inf

    def refine(self, *, final: bool = False) -> None:
        """Take what the evaluator makes of the best point, if that is better. final: with more care."""
        trial = self.at.refined(self.best, self.limit, final)
        if trial is not None:
            value = self.at(trial).value
            if value > self.value:
                self.best, self.value = trial, value

    def show(self) -> None:
        """Tell how far it is."""
        if self.on_progress is not None:
            self.on_progress(Progress(time.perf_counter() - self.began, None, self.value))

    def iterate(self) -> bool:
        """One step along the average, from the best point; False where the average is no direction."""
        if self.limit.target is None and self.value > 0.95 * self.goal:
            self.goal = FIRST_TARGET * self.value
        trial = np.empty_like(self.best)
        rise, scale = self.step * max(self.goal - self.value, NEAR), self.at.scale
        if not _move(trial, self.best, self.average, scale, rise, self.at.types):
            return False
        found = self.at(trial)
        self.iterations += 1
        weight, same_way = _average(self.average, found.subgradient, scale, self.share, found.phi, self.weight)
        self.at.average(weight)
        if found.value > self.value:
            self.best, self.value, self.idle = trial, found.value, 0
            self.step = min(self.step * LONGER, LONGEST) if same_way else self.step
        else:
            self.idle += 1
            if self.idle >= self.pace.patience:
                self.step, self.idle = self.step * self.pace.shorter, 0
        return True

    def _begin_again(self, packing_cuts: bool) -> bool:
        """Forget the averages. Where nothing has risen since the last time the steps were too long, and shorter ones
        are tried; False if they are short enough, or packing cuts are added, which go on without end else."""
        risen = self.value > self.begun + STALLED * max(abs(self.value), 1.0)
        self.first_step = STEP if risen else self.first_step / SHORTER
        if self.first_step < SHORTEST or (packing_cuts and not risen):
            return False
        self.begun, self.step, self.idle, self.weight = self.value, self.first_step, 0, FAST.weight
        self.average = self.at(self.best).subgradient
        return True

    def add_cuts(self) -> int:
        """Add packing cuts that the average violates, and drop those that do nothing; how many are new."""
        at, types = self.at, self.at.types
        active = (self.best[types:] > 0) | (self.average[types:] > 0)
        kept = at.sets.subset(active)
        new = violated_sets(at.instance, self.share, kept, ADDED)
        if new.lists:
            at.set_packing_cuts(kept.joined(new))
            self.best = np.concatenate([self.best[:types], self.best[types:][active], np.zeros(new.lists)])
            self.average = np.concatenate([self.average[:types], at.right[types:]])
            _add_shares(at.packing.nested, self.share, self.average[types:])
        return new.lists

    def end(self) -> DualPoint:
        """The best point."""
        at, types = self.at, self.at.types
        found = at(self.best, everything=True)
        share = self.share if self.iterations > 1 else None
        active = self.best[types:] > 0
        sets, packing = at.sets.subset(active), self.best[types:][active]
        return DualPoint(self.best[:types].copy(), found.value, share, found.phi, self.iterations, sets, packing)


def _cheapest_costs(instance: Instance) -> Floats:
    """Multipliers to begin with: the loss of every row at its cheapest candidate, so that no φ_g is negative."""
    candidates = instance.candidates
    cheapest = np.full(instance.types.count, np.inf)
    np.minimum.at(cheapest, candidates.members, candidates.cost[candidates.candidate_of_pair()].astype(np.float64))
    return cheapest


# Compiled instead of numpy's products: these would start threads for vectors of this length, which then wait.
@compiled
def dot(a: Floats, b: Floats) -> float:
    """Σ a_i b_i."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _spread(nested: Ragged[np.int32], multipliers: Floats, surcharge: Floats) -> None:
    """σ = Σ μ over the sets that a candidate is nested in."""
    surcharge[:] = 0.0
    for s in range(len(multipliers)):
        for at in range(nested.indptr[s], nested.indptr[s + 1]):
            surcharge[nested.values[at]] += multipliers[s]


@compiled
def count_open(nested: Ragged[np.int32], phi: Floats, into: Floats) -> None:
    """Add to each set the number of open candidates that are nested in it."""
    for s in range(len(into)):
        for at in range(nested.indptr[s], nested.indptr[s + 1]):
            if phi[nested.values[at]] < 0:
                into[s] += 1.0


@compiled
def _add_shares(nested: Ragged[np.int32], share: Floats, into: Floats) -> None:
    """Add to each set the shares of the candidates that are nested in it."""
    for s in range(len(into)):
        for at in range(nested.indptr[s], nested.indptr[s + 1]):
            into[s] += share[nested.values[at]]


@compiled
def _move(trial: Floats, best: Floats, direction: Floats, scale: Floats, rise: float, free: int) -> bool:
    """trial = best + s · scale · direction with the s at which this promises this rise; False for no direction.

    Entries from `free` on stay at least 0.
    """
    norm = 0.0
    for i in range(len(best)):
        if i < free or best[i] > 0 or direction[i] > 0:
            norm += scale[i] * direction[i] * direction[i]
    if norm < 1e-12:
        return False
    for i in range(len(best)):
        trial[i] = best[i] + rise / norm * scale[i] * direction[i]
        if i >= free and trial[i] < 0:
            trial[i] = 0.0
    return True


@compiled
def _average(
    average: Floats, ahead: Floats, scale: Floats, share: Floats, phi: Floats, weight: float
) -> tuple[float, bool]:
    """Mix the new subgradient and open candidates into the averages; its weight, and whether it points the same way.

    The weight α makes |α·new + (1-α)·average| least, in the norm of `scale`, between a tenth of the weight allowed
    and all of it.
    """
    old, new, both = 0.0, 0.0, 0.0
    for i in range(len(average)):
        old += scale[i] * average[i] * average[i]
        new += scale[i] * ahead[i] * ahead[i]
        both += scale[i] * average[i] * ahead[i]
    apart = old + new - 2 * both
    alpha = weight
    if apart > 0:
        alpha = min(max((old - both) / apart, weight / 10), weight)
    for i in range(len(average)):
        average[i] += alpha * (ahead[i] - average[i])
    for g in range(len(share)):
        opened = 1.0 if phi[g] < 0 else 0.0
        share[g] += alpha * (opened - share[g])
    return alpha, both > 0
