"""Relax and cut: rank-1 cuts for tables that are too large for one master problem.

Groups are priced, and violated rank-1 cuts found, as in column generation, but the linear program over the groups is
never solved: its multipliers go on by steps of an augmented Lagrangian (below), for all of the table at once. Its
groups, each with its share, are nearly a point of the relaxation; the cuts that it violates are the next ones. Steps
from averages of all subproblems, such as those of the volume algorithm, are much shorter once there are cuts: they know
nothing of each group by itself.

L is computed for all of the table after each step, so every point proves what its value says. Only the candidates with
φ < 0 in closed form are searched. Where such a search gives up, the candidate goes on without rank-1 cuts, in L and in
the linear program alike: else one of them stops the rise of all others.

The augmented Lagrangian. Over the groups c found so far, with a_ic rows of type i, and constraints r of the kind "at
most" (rank-1 cuts, packing cuts, each candidate once):

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i,   Σ_c q_rc θ_c ≤ b_r,   θ ≥ 0

From multipliers λ', ν' and with steps τ_i, τ_r, the θ ≥ 0 that minimizes

    Σ_c cost_c θ_c + Σ_i (λ_i² - λ'_i²) / 2τ_i + Σ_r (max(0, ν_r)² - ν'_r²) / 2τ_r,
    λ_i = λ'_i + τ_i (n_i - Σ_c a_ic θ_c),   ν_r = ν'_r + τ_r (Σ_c q_rc θ_c - b_r)

gives λ and max(0, ν) of the highest value over these groups, less half the squared distance from λ', ν' divided by τ:
a step of the proximal method (Rockafellar 1976), or of a bundle method that knows every group by itself. A group has a
few rows and a few cuts, so one θ_c after the other is minimized, and a sweep over 70,000 groups takes some
milliseconds. Nothing has to be exact here: what multipliers prove is computed from the table.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kanon_milp.bounds.columns.program import coefficients
from kanon_milp.bounds.dual import DualPoint, exact_value, round_dual
from kanon_milp.bounds.evaluation import Evaluator
from kanon_milp.bounds.lagrangian_bound import NEAR
from kanon_milp.bounds.parameters import (
    LagrangianParameters,
    RelaxAndCutParameters,
    SeparationParameters,
    SubproblemParameters,
)
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, PricedCuts, RankOneCuts, Seeds, separate
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.kernels.augmented_lagrangian import Program, minimize
from kanon_milp.kernels.pricing import cheapest_groups
from kanon_milp.kernels.volume import dot
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.call import OnProgress, Progress
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.parameters import DEFAULT, Parameters


class Columns(NamedTuple):
    """Groups as columns. begins, types, copies: the rows a of each. starts, bounds, times: its constraints r of the
    kind "at most" with q. cost: float64 (C,). Lists as compressed sparse rows, int64; copies and times float64."""

    begins: Ints
    types: Ints
    copies: Floats
    starts: Ints
    bounds: Ints
    times: Floats
    cost: Floats


@dataclass(frozen=True, eq=False)
class Priced:
    """L at a point, φ (G,) (0 for those surely not negative, unless everything was asked for) and the groups with
    φ < 0."""

    value: float
    phi: Floats
    groups: Groups


class CutEvaluator(Evaluator):
    """L(λ, μ, ν) over one instance. A point is one array: λ of the row types, μ of the packing cuts, ν of the rank-1
    cuts.

    uncut: bool (G,), candidates where the search has given up: no cut counts there.
    """

    def __init__(self, instance: Instance, dual: DualPoint, threads: int = 1, params: Parameters = DEFAULT) -> None:
        super().__init__(instance, threads, params.of(SubproblemParameters))
        self.dual, self.relax = dual, params.of(RelaxAndCutParameters)
        self.uncut = np.zeros(instance.candidates.count, np.bool_)
        self.set_packing_cuts(dual.sets)
        self.set_rank_one_cuts(dual.rank_one_cuts)

    @property
    def plain(self) -> int:
        """Where the multipliers of rank-1 cuts begin in a point."""
        return self.types + self.sets.lists

    def start(self) -> Floats:
        """The point of the dual that it was made for."""
        return np.concatenate([self.dual.multipliers, self.dual.packing_multipliers, self.dual.cut_multipliers])

    def set_rank_one_cuts(self, cuts: RankOneCuts) -> None:
        """Take these rank-1 cuts instead of those before."""
        self.rank_one_cuts, self.by_type = cuts, cuts.by_type(self.types)
        limits = cuts.limits(self.instance.types.counts).astype(np.float64)
        self.right = np.concatenate([self.right[: self.plain], -limits])

    def price(self, point: Floats, *, everything: bool = False) -> Priced:
        """L (φ is a lower bound where a search gave up) and the groups."""
        _, phi, _ = self.closed_forms(point, everything)
        cuts = PricedCuts(*self.by_type, point[self.plain :])
        # rank-1 cuts only add to φ
        chosen = np.flatnonzero(phi < 0)
        with_cuts, without = chosen[~self.uncut[chosen]], chosen[self.uncut[chosen]]
        none = PricedCuts(*NO_CUTS.by_type(self.types), np.zeros(0))
        found = [*self._cheapest(point, cuts, with_cuts, phi), *self._cheapest(point, none, without, phi)]
        value = float(phi[chosen].sum()) + dot(self.right, point)
        return Priced(value, phi, Groups.of_rows(*(np.concatenate(each) for each in zip(*found, strict=True))))

    def _cheapest(
        self, point: Floats, cuts: PricedCuts[np.float64], chosen: Ints, phi: Floats
    ) -> list[tuple[Ints, Ints, Ints]]:
        """The cheapest groups of these candidates, as `Groups.of_rows` takes them; φ of these is set."""
        parts = np.array_split(chosen, self.parts)

        def part(number: int) -> tuple[Ints, Ints, Ints]:
            some = parts[number]
            phi[some], complete, found = cheapest_groups(
                *self.candidates, self.counts, point[: self.types], *cuts, some, np.float64(0), self.relax.nodes
            )
            self.uncut[some[~complete]] = True
            return found

        return list(self.each_part(part))


class GroupPool:
    """The groups of the linear program, and how often each is used.

    share: float64 (C,), θ. idle: int64 (C,), steps since a group was used last. columns: with the cuts of an evaluator.
    """

    def __init__(self, at: CutEvaluator) -> None:
        self.at = at
        self.groups, self.share, self.idle = Groups.none(), np.zeros(0), np.zeros(0, np.int64)
        candidates = at.instance.candidates.count
        self._hashes = np.random.default_rng(0).integers(1, 1 << 63, at.types + candidates, np.uint64)
        self._keys = np.zeros(0, np.uint64)
        self.columns = self._columns(self.groups)

    def add(self, groups: Groups) -> None:
        """Those that are new."""
        # with 64 bits, two groups that differ are taken for one hardly ever, and then one of them is missing
        keys = self._hashes[self.at.types + groups.candidate]
        mixed = self._hashes[groups.types.values] * groups.copies.astype(np.uint64)
        keys += np.add.reduceat(mixed, groups.types.indptr[:-1]) if groups.count else keys
        new = ~np.isin(keys, self._keys)
        groups = groups.subset(new)
        self._keys = np.concatenate([self._keys, keys[new]])
        self.groups = self.groups.joined(groups)
        self.share = np.concatenate([self.share, np.zeros(groups.count)])
        self.idle = np.concatenate([self.idle, np.zeros(groups.count, np.int64)])
        old, more = self.columns, self._columns(groups)
        self.columns = Columns(
            np.concatenate([old.begins[:-1], old.begins[-1] + more.begins]),
            np.concatenate([old.types, more.types]), np.concatenate([old.copies, more.copies]),
            np.concatenate([old.starts[:-1], old.starts[-1] + more.starts]),
            np.concatenate([old.bounds, more.bounds]), np.concatenate([old.times, more.times]),
            np.concatenate([old.cost, more.cost]),
        )  # fmt: skip

    def moved(self, at: CutEvaluator, numbers: Ints) -> GroupPool:
        """The same groups over other candidates of the same row types. numbers: int64 (G,), of each candidate there, -1
        for none: its groups stay behind."""
        kept, pool = numbers[self.groups.candidate] >= 0, GroupPool(at)
        groups = self.groups.subset(kept)
        pool.add(replace(groups, candidate=numbers[groups.candidate]))
        pool.share, pool.idle = self.share[kept], self.idle[kept]
        return pool

    def count_idle(self) -> None:
        """A step is done."""
        self.idle = np.where(self.share > 0, 0, self.idle + 1)

    def renew(self) -> None:
        """Leave out groups that are not used, and take the evaluator's cuts."""
        kept = self.idle < self.at.relax.unused
        self.groups, self.share = self.groups.subset(kept), self.share[kept]
        self.idle, self._keys = self.idle[kept], self._keys[kept]
        self.columns = self._columns(self.groups)

    def used(self) -> tuple[Groups, Floats]:
        """The groups with their shares; those with hardly any are left out."""
        used = self.share > self.at.relax.used
        return self.groups.subset(used), self.share[used]

    def placed(self) -> Floats:
        """Σ_c a_ic θ_c (t,)."""
        shares = np.repeat(self.share, np.diff(self.columns.begins))
        weights = self.columns.copies * shares
        return np.bincount(self.columns.types, weights=weights, minlength=self.at.types).astype(np.float64)

    def taken(self) -> Floats:
        """Σ_c q_rc θ_c of all constraints of the kind "at most": rank-1 cuts, packing cuts, candidates."""
        at, columns = self.at, self.columns
        shares = np.repeat(self.share, np.diff(columns.starts))
        every = at.rank_one_cuts.count + at.sets.lists + at.instance.candidates.count
        return np.bincount(columns.bounds, weights=columns.times * shares, minlength=every).astype(np.float64)

    def _columns(self, groups: Groups) -> Columns:
        at, candidate = self.at, groups.candidate
        cut, of_cut, times = coefficients(groups, at.rank_one_cuts, at.types)
        counted = ~at.uncut[candidate[of_cut]]
        cut, of_cut, times = cut[counted], of_cut[counted], times[counted]
        sets, _ = at.packing.nested.transposed(at.instance.candidates.count)
        lengths = sets.lengths[candidate]
        places = np.arange(lengths.sum()) + np.repeat(sets.indptr[candidate] - np.cumsum(lengths) + lengths, lengths)
        each, first = np.arange(groups.count), at.rank_one_cuts.count
        column = np.concatenate([of_cut, np.repeat(each, lengths), each])
        bounds = np.concatenate([cut, first + sets.values[places], first + at.sets.lists + candidate])
        signs = at.packing.signs[sets.values[places]]
        every = np.concatenate([times, signs, np.ones(groups.count)]).astype(np.float64)
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(groups.count + 1))
        copies = groups.copies.astype(np.float64)
        sizes = np.bincount(groups.types.list_of_value(), weights=copies, minlength=groups.count)
        return Columns(
            groups.types.indptr, groups.types.values, copies,
            starts, bounds[order], every[order], at.candidates.cost[candidate] * sizes,
        )  # fmt: skip


class RelaxAndCut:
    """Rounds of steps, and of rank-1 cuts that the point of the linear program violates.

    best: the point that steps go out from, the best one so far. value, phi: there.
    """

    def __init__(
        self,
        instance: Instance,
        dual: DualPoint,
        limit: BoundLimit,
        threads: int = 1,
        on_progress: OnProgress | None = None,
        params: Parameters = DEFAULT,
    ) -> None:
        """limit: may be another one whenever it goes on."""
        self.at = at = CutEvaluator(instance, dual, threads, params)
        at.sort(dual.multipliers)
        self.params, self._separation_params = at.relax, params.of(SeparationParameters)
        self._sort_every = params.of(LagrangianParameters).sort_every
        self.limit, self.on_progress, self.began, self.threads = limit, on_progress, time.perf_counter(), threads
        self.pool = GroupPool(at)
        self.best = at.start()
        first = at.price(self.best)
        self.value, self.phi, self.shown = first.value, first.phi, -math.inf
        self.pool.add(first.groups)
        self.unit = max(float(at.candidates.cost.max(initial=0.0)), 1.0)
        self.step, self.idle, self.steps = self.params.longest * self.unit, 0, 1
        self._values, self._separation = [self.value], 0.0  # after each round; seconds that the last cuts have taken

    def move_to(self, instance: Instance, dual: DualPoint, numbers: Ints, params: Parameters = DEFAULT) -> None:
        """Go on over other candidates of the same row types, from a point with any cuts; rounds begin again.

        numbers: as `GroupPool.moved` takes them.
        """
        self.at = at = CutEvaluator(instance, dual, self.threads, params)
        at.sort(dual.multipliers)
        self.pool, self.best = self.pool.moved(at, numbers), at.start()
        found = at.price(self.best)
        self.value, self.phi = found.value, found.phi
        self.pool.add(found.groups)
        self._values = [self.value]

    @property
    def reached(self) -> bool:
        """Whether the bound is good enough, or the time is over."""
        return self.limit.reached(self.value, NEAR, iterations=self.steps)

    @property
    def short(self) -> bool:
        """Whether there is no time for more cuts, by what the last ones have taken."""
        return time.perf_counter() + 2 * self._separation > self.limit.ends

    def maximize(self, pause: float = math.inf) -> bool:
        """Until nothing is violated and it does not rise, it hardly rises, or the limit is reached; packing cuts stay.

        pause: a moment (`time.perf_counter`) after which it ends with a round; called again it goes on from there.
        Returns whether it would end at once if it was called again.
        """
        values = self._values
        if self.steps == 1:
            self._go(self.params.first_steps)
        while not self.reached and (self.limit.rounds is None or len(values) <= self.limit.rounds):
            began = time.perf_counter()
            if self.short:
                break
            # where nothing is violated by shares that are not the last ones yet, steps go on
            if not self.add_cuts(len(values)) and len(values) > 1 and self.value - values[-2] < self.params.risen:
                break
            self._separation = time.perf_counter() - began
            self._go(self.params.steps)
            values.append(self.value)
            left = 0.01 * values[0] if self.limit.target is None else self.limit.target - self.value
            if (
                len(values) > self.params.look_back
                and self.value - values[-1 - self.params.look_back] <= self.params.stalled * left
            ):
                break
            if time.perf_counter() >= pause:
                return False
        return True

    def _go(self, most: int) -> None:
        for _ in range(most):
            if self.reached:
                return
            self.go()
        if self.on_progress is not None:
            self.shown = max(self.shown, self.value)
            self.on_progress(Progress(time.perf_counter() - self.began, None, self.shown))

    def go(self) -> None:
        """One step from the best point."""
        at, pool = self.at, self.pool
        if self.steps % self._sort_every == 0:
            at.sort(self.best)
        types, plain, cuts = at.types, at.plain, at.rank_one_cuts.count
        limits = np.concatenate([-at.right[plain:], -at.right[types:plain], np.ones(len(self.phi))])
        steps = self.step / at.counts
        free = self.best[:types] + steps * (at.counts - pool.placed())
        bounded = np.concatenate([self.best[plain:], self.best[types:plain], -np.minimum(self.phi, 0.0)])
        bounded += self.step * (pool.taken() - limits)
        program = Program(*pool.columns, pool.share, free, steps, bounded, self.step)
        minimize(program, self.params.low * self.unit)
        bounded = np.maximum(bounded, 0.0)
        promised = dot(free, at.counts) - dot(bounded, limits) - self.value
        trial = np.concatenate([free, bounded[cuts : cuts + at.sets.lists], bounded[:cuts]])
        given_up = at.uncut.sum()
        found = at.price(trial)
        self.steps += 1
        pool.count_idle()
        pool.add(found.groups)
        if at.uncut.sum() > given_up:
            self._uncut()
        self._take(trial, found, promised)

    def _uncut(self) -> None:
        """What a step is compared with, and the columns, where more candidates are without cuts."""
        again = self.at.price(self.best)
        self.value, self.phi = again.value, again.phi
        self.pool.renew()

    def _take(self, trial: Floats, found: Priced, promised: float) -> None:
        """Go there if it is better, and let that say how long the next step is."""
        rise = found.value - self.value
        if rise > 0:
            self.best, self.value, self.phi, self.idle = trial, found.value, found.phi, 0
            if rise > self.params.kept * promised:
                self.step = min(self.step * self.params.longer, self.params.longest * self.unit)
            return
        if promised > 0:  # else groups are missing, and shorter steps would not help
            self.idle += 1
        if self.idle >= self.params.patience:
            self.step, self.idle = max(self.step * self.params.shorter, self.params.shortest * self.unit), 0

    def add_cuts(self, turn: int) -> int:
        """Add rank-1 cuts that the shares violate, and drop those that do nothing; how many are new."""
        at, plain, counts = self.at, self.at.plain, self.at.instance.types.counts
        groups, share = self.pool.used()
        seeds = Seeds(
            max(self._separation_params.seeds, math.ceil(self.params.seeds_share * at.types)), turn, self.threads
        )
        new = separate(
            groups,
            share,
            counts,
            math.ceil(self.params.added * at.types),
            at.rank_one_cuts,
            seeds,
            self._separation_params,
            self.limit,
        )
        over = self.pool.taken()[: at.rank_one_cuts.count] + at.right[plain:]
        active = (self.best[plain:] > 0) | (over > -self.params.slack)
        at.set_rank_one_cuts(at.rank_one_cuts.subset(active).joined(new))
        self.best = np.concatenate([self.best[:plain], self.best[plain:][active], np.zeros(new.count)])
        self.pool.renew()
        return new.count

    def end(self) -> DualPoint:
        """The best point."""
        at, given_up = self.at, self.at.uncut.sum()
        found = at.price(self.best, everything=True)
        if at.uncut.sum() > given_up:
            self._uncut()
        packing, cutting = self.best[at.types : at.plain], self.best[at.plain :]
        return DualPoint(
            self.best[: at.types].copy(), found.value, None, found.phi, at.dual.evaluations + self.steps,
            at.sets.subset(packing > 0), packing[packing > 0],
            at.rank_one_cuts.subset(cutting > 0), cutting[cutting > 0],
        )  # fmt: skip


def relax_and_cut(
    instance: Instance,
    dual: DualPoint,
    limit: BoundLimit,
    threads: int = 1,
    on_progress: OnProgress | None = None,
    params: Parameters = DEFAULT,
) -> DualPoint:
    """Rounds of rank-1 cuts over all row types, from a point; what comes back proves no less.

    The same on any number of threads, and each time for a number of rounds.
    """
    ascent = RelaxAndCut(instance, dual, limit, threads, on_progress, params)
    ascent.maximize()
    better = replace(ascent.end(), open_share=dual.open_share)
    return better if exact_value(instance, round_dual(better)) > exact_value(instance, round_dual(dual)) else dual
