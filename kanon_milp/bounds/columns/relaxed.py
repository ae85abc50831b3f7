"""Relax and cut: rank-1 cuts for tables that are too large for one master problem.

The multipliers ν of the rank-1 cuts join those that the volume algorithm moves (`kanon_milp.bounds.volume`): an
iteration costs three times as much as without them, since only the candidates with φ < 0 in closed form are searched.
What the iterations weigh into their averages are groups, nearly a point of the linear relaxation; the cuts that it
violates are the next ones (relax and cut, Lucena 2005). A master problem comes nearer to what the cuts can prove, but
not for tables of more than some thousand row types.

L is computed for all of the table in each iteration, so every point proves what its value says.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.columns.program import coefficients
from kanon_milp.bounds.columns.separation import separate
from kanon_milp.bounds.dual import DualPoint, exact_value, round_dual
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.pricing import cheapest_groups, unsorted_rows
from kanon_milp.bounds.rank_one_cuts import PricedCuts, RankOneCuts
from kanon_milp.bounds.volume import ROUND, SORT_EVERY, Ascent, Evaluation, Evaluator, Pace, count_open, dot
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.base import OnProgress

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Values found on all of Adult, k = 5.
PACE = Pace(0.02, 5, 0.8)
STEEP = 3.0  # times more than those of row types do multipliers of rank-1 cuts move in an iteration
FIRST_ITERATIONS, FIRST_WEIGHT, FIRST_STEP = 60, 0.1, 0.1  # before new cuts, for averages near the best point
STEP = 0.01  # first fraction of the way to the target
LEAST_WEIGHT, LEAST_STEP = 0.005, 1e-5
MOST_ITERATIONS = 3000  # in a round
SEPARATION = 500  # iterations that finding cuts takes as long as: a round ends that rises slower than all of it does
NODES = 3000  # of the search for one group
ADDED = 0.6  # rank-1 cuts a round, for each row type
LEAST_SHARE, LEAST_KEPT = 1e-3, 1e-4  # of a group: for cuts to be looked for, and to stay in the average
ENTRIES = 5_000_000  # of new groups before they are merged into the average
STALLED = 0.01  # share of the gap that a round must close to go on


class CutEvaluator(Evaluator):
    """L(λ, μ, ν) over one instance. A point is one array: λ of the row types, μ of the packing cuts, then ν / STEEP of
    the rank-1 cuts. An evaluation has the groups with φ < 0."""

    def __init__(self, instance: Instance, dual: DualPoint, threads: int = 1) -> None:
        super().__init__(instance, threads)
        self.dual = dual
        self.set_packing_cuts(dual.sets)
        self.set_rank_one_cuts(dual.rank_one_cuts)

    @property
    def uncut(self) -> int:
        """Where the multipliers of rank-1 cuts begin in a point."""
        return self.types + self.sets.lists

    def start(self) -> Floats:
        """The point of the dual that it was made for."""
        dual = self.dual
        return np.concatenate([dual.multipliers, dual.packing_multipliers, dual.cut_multipliers / STEEP])

    def set_rank_one_cuts(self, cuts: RankOneCuts) -> None:
        """Take these rank-1 cuts instead of those before."""
        self.rank_one_cuts, self.by_type = cuts, cuts.by_type(self.types)
        limits = cuts.limits(self.instance.types.counts).astype(np.float64)
        self.right = np.concatenate([self.right[: self.uncut], -STEEP * limits])

    def __call__(self, point: Floats, *, everything: bool = False) -> Evaluation:
        """L (φ is a lower bound where a search gave up), the groups, and a subgradient: rows not yet placed; groups too
        many; what rank-1 cuts are violated by."""
        _, phi, _ = self.closed_forms(point, everything)
        priced = PricedCuts(*self.by_type, STEEP * point[self.uncut :])
        rows = unsorted_rows(self.counts, point[: self.types])
        # rank-1 cuts only add to φ
        chosen = np.flatnonzero(phi < 0)
        parts = np.array_split(chosen, self.parts)

        def part(number: int) -> tuple[Floats, tuple[Ints, Ints, Ints]]:
            some = parts[number]
            better, complete = np.empty(len(some)), np.empty(len(some), np.bool_)
            found = cheapest_groups(self.candidates, rows, priced, some, np.float64(0), NODES, better, complete)
            return better, found

        answers = list(self.each_part(part))
        phi[chosen] = np.concatenate([better for better, _ in answers])
        candidates, sizes, types = (np.concatenate([found[n] for _, found in answers]) for n in range(3))
        groups = Groups.of_rows(candidates, sizes, types)
        value = float(phi[chosen].sum()) + dot(self.right, point)
        return Evaluation(value, phi, self._subgradient(phi, groups), groups)

    def _subgradient(self, phi: Floats, groups: Groups) -> Floats:
        into: Floats = self.right.copy()
        cuts = self.rank_one_cuts
        into[: self.types] -= np.bincount(groups.types.values, weights=groups.copies, minlength=self.types)
        count_open(self.packing.nested, phi, into[self.types : self.uncut])
        cut, _, times = coefficients(groups, cuts, self.types)
        into[self.uncut :] += STEEP * np.bincount(cut, weights=times, minlength=cuts.count)
        return into


class AverageGroups:
    """The groups of the last points, each with its share in their weighted average."""

    def __init__(self, types: int, candidates: int) -> None:
        self.groups, self.share = Groups.none(), np.zeros(0)
        self._fresh: list[tuple[float, Groups]] = []
        self._types = types
        self._hashes = np.random.default_rng(0).integers(1, 1 << 63, types + candidates, np.uint64)

    def mix(self, groups: Groups, weight: float) -> None:
        """Weigh the groups of a point in."""
        self._fresh.append((weight, groups))
        if sum(len(each.copies) for _, each in self._fresh) > ENTRIES:
            self._merge()

    def used(self) -> tuple[Groups, Floats]:
        """The groups with their shares; those with hardly any are left out."""
        self._merge()
        used = self.share > LEAST_SHARE
        return self.groups.subset(used), self.share[used]

    def _merge(self) -> None:
        """Weigh the newest groups into the average; equal ones become one."""
        weights = np.array([weight for weight, _ in self._fresh])
        later = np.cumprod(np.append(1.0, 1 - weights[::-1]))[::-1]
        groups = Groups.of_all([self.groups, *(each for _, each in self._fresh)])
        counts = [each.count for _, each in self._fresh]
        share = np.concatenate([later[0] * self.share, np.repeat(later[1:] * weights, counts)])
        self._fresh = []
        # with 64 bits, two groups that differ are taken for one hardly ever, and then a few cuts are of less use
        mixed = self._hashes[groups.types.values] * groups.copies.astype(np.uint64)
        key = self._hashes[self._types + groups.candidate]
        key += np.add.reduceat(mixed, groups.types.indptr[:-1]) if groups.count else key
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        total = np.bincount(inverse, weights=share, minlength=len(first))
        kept = np.zeros(groups.count, dtype=bool)
        kept[first[total > LEAST_KEPT]] = True
        share[first] = total
        self.groups, self.share = groups.subset(kept), share[kept]


class CutAscent(Ascent):
    """Rounds of iterations, and of rank-1 cuts that the average violates."""

    at: CutEvaluator

    def __init__(self, at: CutEvaluator, limit: BoundLimit, on_progress: OnProgress | None = None) -> None:
        super().__init__(at, limit, on_progress, PACE)
        self.groups = AverageGroups(at.types, at.instance.candidates.count)

    def maximize(self, *, packing_cuts: bool = False) -> None:
        """Until nothing is violated, it hardly rises, or the rounds are over; packing cuts stay as they are."""
        self._begin_averages()
        done, separation, fresh = 0, 0.0, True
        while not self.reached and (self.limit.rounds is None or done < self.limit.rounds):
            began, before = time.perf_counter(), self.value
            if began + 2 * separation > self.limit.ends:
                break
            if not self.add_cuts():
                break
            separation = time.perf_counter() - began
            self.step, self.idle, self.weight = STEP, 0, self.pace.weight
            self._iterate(MOST_ITERATIONS)
            done += 1
            if self.value - before >= STALLED * (self.goal - self.value):
                fresh = False
            elif fresh:
                break
            else:  # the averages may hold too much of points that are far away by now
                self._begin_averages()
                fresh = True

    def averaged(self, found: Evaluation, weight: float) -> None:
        """Keep the groups of a point with their weight."""
        assert found.groups is not None
        self.groups.mix(found.groups, weight)

    def _begin_averages(self) -> None:
        """Averages over points near the best one, without those it came from."""
        self.groups = AverageGroups(self.at.types, self.at.instance.candidates.count)
        found = self.at(self.best)
        self.average = found.subgradient
        self.averaged(found, 1.0)
        self.step, self.idle, self.weight = FIRST_STEP, 0, FIRST_WEIGHT
        self._iterate(FIRST_ITERATIONS)

    def _iterate(self, most: int) -> None:
        """So many iterations, or until others, after new cuts, would rise faster."""
        begin, last, fastest = self.value, self.value, 0.0
        for done in range(1, most + 1):
            if self.reached:
                return
            if self.iterations % SORT_EVERY == 0:
                self.at.sort(self.best)
            if not self.iterate():
                return
            if done % ROUND == 0:
                self.show()
                rise = self.value - last
                slow = rise / ROUND < (self.value - begin) / (done + SEPARATION)
                if self.weight <= LEAST_WEIGHT and (slow or rise <= 0):
                    return
                if rise <= fastest / 2:
                    # averages over more points are nearer to a direction in which all of them rise
                    self.weight = max(self.weight / 2, LEAST_WEIGHT)
                if self.step < LEAST_STEP:  # too short to see more than one side of a kink
                    self.step, self.idle = STEP, 0
                fastest, last = max(fastest, rise), self.value

    def add_cuts(self) -> int:
        """Add rank-1 cuts that the average violates, and drop those that do nothing; how many are new."""
        at, uncut = self.at, self.at.uncut
        counts = at.instance.types.counts
        groups, share = self.groups.used()
        new = separate(groups, share, counts, math.ceil(ADDED * at.types), at.rank_one_cuts)
        active = (self.best[uncut:] > 0) | (self.average[uncut:] > 0)
        cut, group, times = coefficients(groups, new, at.types)
        over = np.bincount(cut, weights=times * share[group], minlength=new.count) - new.limits(counts)
        at.set_rank_one_cuts(at.rank_one_cuts.subset(active).joined(new))
        self.best = np.concatenate([self.best[:uncut], self.best[uncut:][active], np.zeros(new.count)])
        self.average = np.concatenate([self.average[:uncut], self.average[uncut:][active], STEEP * over])
        return new.count

    def end(self) -> DualPoint:
        """The best point."""
        at, uncut = self.at, self.at.uncut
        found = at(self.best, everything=True)
        packing, cutting = self.best[at.types : uncut], STEEP * self.best[uncut:]
        return DualPoint(
            self.best[: at.types].copy(), found.value, self.share, found.phi, at.dual.evaluations + self.iterations,
            at.sets.subset(packing > 0), packing[packing > 0],
            at.rank_one_cuts.subset(cutting > 0), cutting[cutting > 0],
        )  # fmt: skip


def relax_and_cut(
    instance: Instance,
    dual: DualPoint,
    limit: BoundLimit,
    threads: int = 1,
    on_progress: OnProgress | None = None,
) -> DualPoint:
    """Rounds of rank-1 cuts over all row types, from a point; what comes back proves no less.

    The same on any number of threads, and each time for a number of rounds.
    """
    at = CutEvaluator(instance, dual, threads)
    at.sort(dual.multipliers)
    ascent = CutAscent(at, limit, on_progress)
    ascent.maximize()
    better = replace(ascent.end(), open_share=dual.open_share)
    return better if exact_value(instance, round_dual(better)) > exact_value(instance, round_dual(dual)) else dual
