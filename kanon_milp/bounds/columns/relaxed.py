"""Relax and cut: rank-1 cuts for tables that are too large for one master problem.

The multipliers ν of the rank-1 cuts join those that the volume algorithm moves (`kanon_milp.bounds.volume`): a pass
costs three times as much as without them, since only the candidates with φ < 0 in closed form are searched. What the
passes weigh into their averages are groups, nearly a point of the linear relaxation; the rows that it violates are the
next ones (relax and cut, Lucena 2005). A master problem comes nearer to what the rows can prove, but not for tables of
more than some thousand row types.

L is computed for the whole table in each pass, so every point proves what its value says.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.columns.ascent import RoundLimits
from kanon_milp.bounds.columns.program import coefficients
from kanon_milp.bounds.columns.separation import separate
from kanon_milp.bounds.dual import DualPoint, exact_value, round_dual
from kanon_milp.bounds.pricing import cheapest_groups
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.bounds.volume import ROUND, SORT_EVERY, Ascent, Evaluator, Limits, Pace, count_open, dot
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.base import OnProgress

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Values found on all of Adult, k = 5.
PACE = Pace(0.02, 5, 0.8)
STEEP = 3.0  # times more than those of row types do multipliers of rank-1 cuts move in a pass
FIRST_PASSES, FIRST_WEIGHT, FIRST_STEP = 60, 0.1, 0.1  # before new rows, for averages near the best point
STEP = 0.01  # first fraction of the way to the target
LEAST_WEIGHT, LEAST_STEP = 0.005, 1e-5
MOST_PASSES = 3000  # in a round
SEPARATION = 500  # passes that finding rows takes as long as: a round ends that rises slower than all of it on average
NODES = 3000  # of the search for one group
ADDED = 0.6  # rank-1 cuts a round, for each row type
LEAST_SHARE, LEAST_KEPT = 1e-3, 1e-4  # of a group: for rows to be looked for, and to stay in the average
ENTRIES = 5_000_000  # of new groups before they are merged into the average
STALLED = 0.01  # share of the gap that a round must close to go on


class CutEvaluator(Evaluator):
    """L(λ, μ, ν) over one instance. A point is one array: λ of the row types, μ of the packing cuts, then ν / STEEP of
    the rank-1 cuts. groups: those of the last point with φ < 0."""

    def __init__(self, instance: Instance, dual: DualPoint, threads: int = 1) -> None:
        super().__init__(instance, threads)
        self.dual, self.types = dual, instance.types.count
        self.count_rows(dual.sets)
        self.take_rows(dual.rank_one)
        self.groups = Groups.none()
        self.forget()
        self.hashes = np.random.default_rng(0).integers(1, 1 << 63, self.types + instance.candidates.count, np.uint64)

    def start(self) -> Floats:
        """The point of the dual that it was made for."""
        return np.concatenate([self.dual.multipliers, self.dual.charges, self.dual.cuts / STEEP])

    def take_rows(self, rows: RankOneCuts) -> None:
        """Take these rank-1 cuts instead of those before."""
        self.rank_one, self.by_type = rows, rows.by_type(self.types)
        limits = rows.limits(self.instance.types.counts).astype(np.float64)
        self.right = np.concatenate([self.right[: self.types + self.sets.count], -STEEP * limits])

    def __call__(self, point: Floats, *, everything: bool = False) -> float:
        """L; leaves φ in `phi` (a lower bound where a search gave up), the groups, Σ_g x in `taken`."""
        self.closed_forms(point, everything)
        multipliers, cuts = point[: self.types], STEEP * point[self.types + self.sets.count :]
        # rank-1 cuts only add to φ
        chosen = np.flatnonzero(self.phi < 0)
        parts = np.array_split(chosen, len(self.shares))

        def part(number: int) -> tuple[Floats, tuple[Ints, Ints, Ints]]:
            some = parts[number]
            phi, complete = np.empty(len(some)), np.empty(len(some), np.bool_)
            found = cheapest_groups(
                self.indptr, self.members, self.cost, self.least, self.rows, multipliers, self.surcharge,
                *self.by_type, self.rank_one.denominators, cuts, some, np.float64(0), NODES, phi, complete,
            )  # fmt: skip
            return phi, found

        answers = list(self.each_part(part))
        self.phi[chosen] = np.concatenate([phi for phi, _ in answers])
        candidates, sizes, types = (np.concatenate([found[n] for _, found in answers]) for n in range(3))
        self.groups = Groups.of_rows(candidates, sizes, types)
        self.taken[:] = np.bincount(self.groups.types, weights=self.groups.copies, minlength=self.types)
        return float(self.phi[chosen].sum()) + dot(self.right, point)

    def slope(self, into: Floats) -> None:
        """A subgradient at the last point: rows not yet placed; groups too many; what rank-1 cuts are violated by."""
        counting = self.types + self.sets.count
        np.subtract(self.rows, self.taken, out=into[: self.types])
        into[self.types :] = self.right[self.types :]
        count_open(self.counting.indptr, self.counting.nested, self.phi, into[self.types : counting])
        row, _, times = coefficients(self.groups, self.rank_one, self.types)
        into[counting:] += STEEP * np.bincount(row, weights=times, minlength=self.rank_one.count)

    def forget(self) -> None:
        """Begin the averages anew."""
        self.average, self.share = Groups.none(), np.zeros(0)
        self.fresh: list[tuple[float, Groups]] = []
        self.entries = 0

    def mixed(self, weight: float) -> None:
        """Keep the groups of the last point with their weight."""
        self.fresh.append((weight, self.groups))
        self.entries += len(self.groups.types)
        if self.entries > ENTRIES:
            self._merge()

    def average_groups(self) -> tuple[Groups, Floats]:
        """The groups of the averages, with their shares; those with hardly any are left out."""
        self._merge()
        used = self.share > LEAST_SHARE
        return self.average.subset(used), self.share[used]

    def _merge(self) -> None:
        """Weigh the newest groups into the average; equal ones become one."""
        weights = np.array([weight for weight, _ in self.fresh])
        later = np.cumprod(np.append(1.0, 1 - weights[::-1]))[::-1]
        groups = Groups.of_all([self.average, *(each for _, each in self.fresh)])
        counts = [each.count for _, each in self.fresh]
        share = np.concatenate([later[0] * self.share, np.repeat(later[1:] * weights, counts)])
        self.fresh, self.entries = [], 0
        # with 64 bits, two groups that differ are taken for one hardly ever, and then a few rows are of less use
        mixed = self.hashes[groups.types] * groups.copies.astype(np.uint64)
        key = self.hashes[self.types + groups.candidate]
        key += np.add.reduceat(mixed, groups.indptr[:-1]) if groups.count else key
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        total = np.bincount(inverse, weights=share, minlength=len(first))
        kept = np.zeros(groups.count, dtype=bool)
        kept[first[total > LEAST_KEPT]] = True
        share[first] = total
        self.average, self.share = groups.subset(kept), share[kept]


class CutAscent(Ascent):
    """Rounds of passes, and of rank-1 cuts that the average violates."""

    at: CutEvaluator

    def __init__(self, at: CutEvaluator, limits: Limits, on_progress: OnProgress | None = None) -> None:
        super().__init__(at, limits, on_progress, PACE)

    def climb(self, *, counting: bool = False, rounds: float = math.inf) -> None:
        """Until nothing is violated, it hardly rises, or there were so many rounds."""
        self._begin_averages()
        done, separation, fresh = 0, 0.0, True
        while done < rounds and not self.limits.reached(self.value, self.passes):
            began, before = time.perf_counter(), self.value
            if self.limits.ends is not None and began + 2 * separation > self.limits.ends:
                break
            if not self.add_rows():
                break
            separation = time.perf_counter() - began
            self.step, self.idle, self.weight = STEP, 0, self.pace.weight
            self._passes(MOST_PASSES)
            done += 1
            if self.value - before >= STALLED * (self.goal - self.value):
                fresh = False
            elif fresh:
                break
            else:  # the averages may hold too much of points that are far away by now
                self._begin_averages()
                fresh = True

    def _begin_averages(self) -> None:
        """Averages over points near the best one, without those it came from."""
        self.at.forget()
        self.at(self.best)
        self.at.slope(self.average)
        self.at.mixed(1.0)
        self.step, self.idle, self.weight = FIRST_STEP, 0, FIRST_WEIGHT
        self._passes(FIRST_PASSES)

    def _passes(self, most: int) -> None:
        """So many passes, or until others, after new rows, would rise faster."""
        begin, last, fastest = self.value, self.value, 0.0
        for done in range(1, most + 1):
            if self.limits.reached(self.value, self.passes):
                return
            if self.passes % SORT_EVERY == 0:
                self.at.sort(self.best)
            if not self.make_pass():
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

    def add_rows(self) -> int:
        """Add rank-1 cuts that the average violates, and drop those that do nothing; how many are new."""
        at = self.at
        counting, counts = at.types + at.sets.count, at.instance.types.counts
        groups, share = at.average_groups()
        new = separate(groups, share, counts, math.ceil(ADDED * at.types), at.rank_one)
        active = (self.best[counting:] > 0) | (self.average[counting:] > 0)
        row, group, times = coefficients(groups, new, at.types)
        over = np.bincount(row, weights=times * share[group], minlength=new.count) - new.limits(counts)
        at.take_rows(at.rank_one.subset(active).joined(new))
        self.best = np.concatenate([self.best[:counting], self.best[counting:][active], np.zeros(new.count)])
        self.average = np.concatenate([self.average[:counting], self.average[counting:][active], STEEP * over])
        return new.count

    def end(self) -> DualPoint:
        """The best point."""
        at = self.at
        value, counting = at(self.best, everything=True), at.types + at.sets.count
        charges, cuts = self.best[at.types : counting], STEEP * self.best[counting:]
        return DualPoint(
            self.best[: at.types].copy(), value, self.share, at.phi, at.dual.evaluations + self.passes,
            at.sets.subset(charges > 0), charges[charges > 0], at.rank_one.subset(cuts > 0), cuts[cuts > 0],
        )  # fmt: skip


def relax_and_cut(
    instance: Instance,
    dual: DualPoint,
    limits: RoundLimits,
    threads: int = 1,
    on_progress: OnProgress | None = None,
) -> DualPoint:
    """Rounds of rank-1 cuts over all row types, from a point; what comes back proves no less.

    The same on any number of threads, and each time for a number of rounds.
    """
    ends = None if math.isinf(limits.ends) else limits.ends
    target = None if limits.target is None else float(limits.target)
    at = CutEvaluator(instance, dual, threads)
    at.sort(dual.multipliers)
    ascent = CutAscent(at, Limits(target, ends, None, limits.interrupt), on_progress)
    ascent.climb(rounds=math.inf if limits.rounds is None else limits.rounds)
    better = replace(ascent.end(), open_share=dual.open_share)
    return better if exact_value(instance, round_dual(better)) > exact_value(instance, round_dual(dual)) else dual
