"""The volume algorithm (Barahona, Anbil 2000), in floating point, over the multipliers of row types and packing cuts.

Deterministic for a given number of passes: only limits of time look at the clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import sorted_covers, subproblems
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.packing_cuts import NO_SETS, PackingCuts, RowSets, violated_sets
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.base import OnProgress, Progress
from kanon_milp.system.jit import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Part = TypeVar("Part")

# Values found on samples of Adult and all of it, k from 2 to 25: the first passes go for a fast rise, the others for
# accuracy.
FAST_PASSES = 100
STEP = 0.1  # first fraction of the way to the target
LONGER, LONGEST = 1.1, 2.0  # a pass that rises in the direction of the last ones makes the step longer
LEAST_WEIGHT = 1e-4  # of the newest point in the averages
ROUND = 100  # passes between two looks at the progress
SLOW = 1e-4  # relative rise in a round below which the newest points weigh half as much
STALLED = 2e-6  # relative rise in a round that is not worth it
SORT_EVERY = 50  # passes between two sortings of the covers by multiplier
NEAR = 0.05  # units; what rounding the multipliers may cost
FIRST_TARGET = 1.05  # times the bound, where no target is given
ADDED = 300  # packing cuts at most in a round
PARTS = 4  # that the candidates are divided into, for any number of threads: so they do not change a sum
DIVIDED = 200_000  # pairs from which on they are


@dataclass(frozen=True)
class Limits:
    """When to stop. target: a loss in units; ends: a moment of `time.perf_counter`; passes: how many in total."""

    target: float | None = None
    ends: float | None = None
    passes: int | None = None
    interrupt: threading.Event | None = None

    def reached(self, value: float, passes: int) -> bool:
        """Whether the bound is good enough, or the time is over."""
        if self.target is not None and value > self.target - 1 + NEAR:
            return True
        if self.passes is not None and passes >= self.passes:
            return True
        late = self.ends is not None and time.perf_counter() > self.ends
        return late or (self.interrupt is not None and self.interrupt.is_set())


@dataclass(frozen=True)
class Pace:
    """weight: of the newest point in the averages, at most; patience: so many passes without a rise make the step
    shorter, `shorter` times as long."""

    weight: float
    patience: int
    shorter: float


FAST, ACCURATE = Pace(0.4, 5, 0.66), Pace(0.1, 10, 0.8)


class Evaluator:
    """L(λ, μ) over one instance; keeps the covers sorted so that selections are cheap.

    A point is one array: λ of the row types, then μ of the packing cuts.
    """

    def __init__(self, instance: Instance, threads: int = 1) -> None:
        candidates = instance.candidates
        self.instance = instance
        self.indptr, self.members = candidates.indptr, candidates.members
        self.cost = candidates.cost.astype(np.float64)
        self.least = instance.least.astype(np.float64)
        self.rows = instance.types.counts.astype(np.float64)
        self.phi = np.empty(candidates.count)
        self.dearest = np.empty(candidates.count)
        self.surcharge = np.zeros(candidates.count)
        self.taken = np.empty(instance.types.count)
        parts = PARTS if candidates.pairs >= DIVIDED else 1
        inner = np.searchsorted(self.indptr, np.linspace(0, candidates.pairs, parts + 1)[1:-1])
        self.ends = [0, *inner.tolist(), candidates.count]
        self.shares = np.empty((parts, instance.types.count))
        self.pool = ThreadPoolExecutor(threads) if threads > 1 and parts > 1 else None
        self.count_rows(NO_SETS)
        self.sort(_cheapest_costs(instance))

    def start(self) -> Floats:
        """A point to begin with, where no φ_g is negative."""
        return _cheapest_costs(self.instance)

    def count_rows(self, sets: RowSets) -> None:
        """Take these packing cuts instead of those before."""
        self.sets, self.counting = sets, PackingCuts.of(self.instance, sets)
        self.right = np.concatenate([self.rows, -self.counting.limits.astype(np.float64)])

    def sort(self, point: Floats) -> None:
        """Sort the covers by falling multiplier: the cheapest rows of every candidate stand first."""
        self.order = point[: len(self.rows)].copy()
        self.members = sorted_covers(self.indptr, self.members, self.order)

    def __call__(self, point: Floats, *, everything: bool = False) -> float:
        """L; leaves φ in `phi` (0 for those surely not negative, unless `everything`), Σ_g x in `taken`."""
        return self.closed_forms(point, everything) + dot(self.right, point)

    def closed_forms(self, point: Floats, everything: bool) -> float:
        """Σ min(0, φ) without rank-1 cuts; leaves the rest as `__call__` does."""
        types = len(self.rows)
        _spread(self.counting.indptr, self.counting.nested, point[types : types + self.sets.count], self.surcharge)
        rise = np.float64((point[:types] - self.order).max(initial=0.0))

        def part(number: int) -> float:
            begin, end = self.ends[number : number + 2]
            taken = self.shares[number]
            taken[:] = 0.0
            below = subproblems(
                self.indptr[begin : end + 1], self.members, self.cost[begin:end], self.least[begin:end], self.rows,
                point[:types], self.order, rise, self.surcharge[begin:end], np.float64(np.inf), everything,
                self.phi[begin:end], self.dearest[begin:end], taken,
            )  # fmt: skip
            return float(below)

        below = sum(self.each_part(part))
        self.shares.sum(axis=0, out=self.taken)
        return below

    def each_part(self, function: Callable[[int], Part]) -> Iterator[Part]:
        """What a function says of the number of each part, on all threads."""
        each = range(len(self.shares))
        return map(function, each) if self.pool is None else self.pool.map(function, each)

    def slope(self, into: Floats) -> None:
        """A subgradient at the last point: rows not yet placed; groups too many."""
        types = len(self.rows)
        np.subtract(self.rows, self.taken, out=into[:types])
        into[types:] = self.right[types:]
        count_open(self.counting.indptr, self.counting.nested, self.phi, into[types:])

    def mixed(self, weight: float) -> None:
        """Be told which weight the last point has been given in the averages."""


class Ascent:
    """Where the algorithm stands: the best point and its value, and the averages of slopes and open candidates."""

    def __init__(self, at: Evaluator, limits: Limits, on_progress: OnProgress | None = None, pace: Pace = FAST) -> None:
        self.at, self.limits, self.on_progress, self.began = at, limits, on_progress, time.perf_counter()
        candidates = at.instance.candidates
        # no table costs more than the dearest candidate for every row
        self.ceiling = float(candidates.cost.max()) * at.instance.types.n
        self.best = at.start()
        self.value = at(self.best)
        self.average = np.empty_like(self.best)
        at.slope(self.average)
        self.share = (at.phi < 0).astype(np.float64)
        self.passes, self.step, self.idle = 1, STEP, 0
        self.pace, self.weight = pace, pace.weight
        self.begun = -np.inf
        first = max(FIRST_TARGET * self.value, self.value + self.ceiling / 1000)
        self.goal = first if limits.target is None else limits.target

    def climb(self, *, counting: bool) -> None:
        """Until it no longer rises. counting: add packing cuts on the way, while the steps are long enough to make
        use of them."""
        before = self.value
        while not self.limits.reached(self.value, self.passes) and self.value <= self.ceiling:
            if self.passes % SORT_EVERY == 0:
                self.at.sort(self.best)
            if self.passes == FAST_PASSES:
                self.pace, self.weight = ACCURATE, ACCURATE.weight
            if not self.make_pass():
                # no row is placed too often or too rarely: the average is a point of the relaxation, though on small
                # tables not always an optimal one; new packing cuts do not always violate it
                fresh = counting and self.add_rows() > 0
                if not (fresh and self.make_pass()) and not self._begin_again():
                    break
            if self.passes % ROUND == 0:
                self.show()
                risen = (self.value - before) / max(abs(self.value), 1.0)
                if risen < STALLED and self.weight <= 4 * LEAST_WEIGHT:
                    break
                if risen < SLOW:
                    self.weight = max(self.weight / 2, LEAST_WEIGHT)
                before = self.value
                if counting:
                    self.add_rows()

    def show(self) -> None:
        """Tell how far it is."""
        if self.on_progress is not None:
            self.on_progress(Progress(time.perf_counter() - self.began, None, self.value))

    def make_pass(self) -> bool:
        """One step along the average, from the best point; False where the average is no direction."""
        if self.limits.target is None and self.value > 0.95 * self.goal:
            self.goal = FIRST_TARGET * self.value
        trial, ahead = np.empty_like(self.best), np.empty_like(self.best)
        rise = self.step * max(self.goal - self.value, NEAR)
        if not _move(trial, self.best, self.average, rise, len(self.at.rows)):
            return False
        found = self.at(trial)
        self.passes += 1
        self.at.slope(ahead)
        weight, same_way = _average(self.average, ahead, self.share, self.at.phi, self.weight)
        self.at.mixed(weight)
        if found > self.value:
            self.best, self.value, self.idle = trial, found, 0
            self.step = min(self.step * LONGER, LONGEST) if same_way else self.step
        else:
            self.idle += 1
            if self.idle >= self.pace.patience:
                self.step, self.idle = self.step * self.pace.shorter, 0
        return True

    def _begin_again(self) -> bool:
        """Forget the averages; False if nothing has risen since the last time."""
        if self.value <= self.begun + STALLED * max(abs(self.value), 1.0):
            return False
        self.begun, self.step, self.idle, self.weight = self.value, STEP, 0, FAST.weight
        self.at(self.best)
        self.at.slope(self.average)
        return True

    def add_rows(self) -> int:
        """Add packing cuts that the average violates, and drop those that do nothing; how many are new."""
        at, types = self.at, len(self.at.rows)
        active = (self.best[types:] > 0) | (self.average[types:] > 0)
        kept = at.sets.subset(active)
        new = violated_sets(at.instance, self.share, kept, ADDED)
        if new.count:
            at.count_rows(kept.joined(new))
            self.best = np.concatenate([self.best[:types], self.best[types:][active], np.zeros(new.count)])
            self.average = np.concatenate([self.average[:types], at.right[types:]])
            _add_shares(at.counting.indptr, at.counting.nested, self.share, self.average[types:])
        return new.count

    def end(self) -> DualPoint:
        """The best point."""
        at, types = self.at, len(self.at.rows)
        self.value = at(self.best, everything=True)
        share = self.share if self.passes > 1 else None
        active = self.best[types:] > 0
        sets, charges = at.sets.subset(active), self.best[types:][active]
        return DualPoint(self.best[:types].copy(), self.value, share, at.phi, self.passes, sets, charges)


def _cheapest_costs(instance: Instance) -> Floats:
    """Multipliers to begin with: the loss of every row at its cheapest candidate, so that no φ_g is negative."""
    candidates = instance.candidates
    cheapest = np.full(instance.types.count, np.inf)
    np.minimum.at(cheapest, candidates.members, np.repeat(candidates.cost, np.diff(candidates.indptr)).astype(float))
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
def _spread(indptr: Ints, nested: NDArray[np.int32], charges: Floats, surcharge: Floats) -> None:
    """σ = Σ μ over the sets that a candidate is nested in."""
    surcharge[:] = 0.0
    for s in range(len(charges)):
        for at in range(indptr[s], indptr[s + 1]):
            surcharge[nested[at]] += charges[s]


@compiled
def count_open(indptr: Ints, nested: NDArray[np.int32], phi: Floats, into: Floats) -> None:
    """Add to each set the number of open candidates that are nested in it."""
    for s in range(len(into)):
        for at in range(indptr[s], indptr[s + 1]):
            if phi[nested[at]] < 0:
                into[s] += 1.0


@compiled
def _add_shares(indptr: Ints, nested: NDArray[np.int32], share: Floats, into: Floats) -> None:
    """Add to each set the shares of the candidates that are nested in it."""
    for s in range(len(into)):
        for at in range(indptr[s], indptr[s + 1]):
            into[s] += share[nested[at]]


@compiled
def _move(trial: Floats, best: Floats, direction: Floats, rise: float, free: int) -> bool:
    """trial = best + s · direction with the s at which the direction promises this rise; False for no direction.

    Entries from `free` on stay at least 0.
    """
    norm = 0.0
    for i in range(len(best)):
        if i < free or best[i] > 0 or direction[i] > 0:
            norm += direction[i] * direction[i]
    if norm < 1e-12:
        return False
    for i in range(len(best)):
        trial[i] = best[i] + rise / norm * direction[i]
        if i >= free and trial[i] < 0:
            trial[i] = 0.0
    return True


@compiled
def _average(average: Floats, ahead: Floats, share: Floats, phi: Floats, weight: float) -> tuple[float, bool]:
    """Mix the new subgradient and open candidates into the averages; its weight, and whether it points the same way.

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
    return alpha, both > 0
