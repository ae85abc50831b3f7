"""Raising the bound by rank-1 cuts: column generation over groups, cuts for what is fractional, and again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from kanon_milp.bounds.columns.master import Master, MasterSolution
from kanon_milp.bounds.columns.program import RequiredPricing, RequiredProgram, group_program
from kanon_milp.bounds.dual import FINE, DualPoint, Proof, can_be_priced, exact_value, prove, round_dual
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.parameters import ColumnParameters, RoundParameters
from kanon_milp.bounds.rank_one_cuts import RankOneCuts, separate
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.errors import InputError
from kanon_milp.kernels.volume import dot
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.call import OnProgress, Progress
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import DEFAULT, Parameters

MARGIN = 1e-3  # units; what rounding the multipliers may cost
FOREVER = 1e6  # seconds that are never waited for

Enough: TypeAlias = Callable[[Master, float], bool]
"""Asked after a round, with the seconds that the next unit is likely to take; True ends the rounds."""


def _silent(_: float) -> None:
    return None


class Rounds:
    """Such rounds, which go on where they have stopped.

    careful: with few cuts at first, more in each round, and fewer again where the last ones have made groups so hard to
    find that nothing is proven any more: then all those go that have no multiplier.
    """

    def __init__(self, master: Master, *, careful: bool = False, params: RoundParameters | None = None) -> None:
        self.master, self.careful, self.params = master, careful, params or RoundParameters()
        self._highest = max(self.params.fewest, math.ceil(self.params.added * master.program.types))
        self._most = self.params.first if careful else self._highest  # cuts of the next round
        self._growth, self._longest = (
            self.params.first_growth,
            0.0,
        )  # of that number, and seconds of a round that was good for something

    def go_on(
        self,
        limit: BoundLimit,
        constant: float = 0.0,
        on_value: Callable[[float], None] = _silent,
        enough: Enough | None = None,
        whole: Limit | None = None,
    ) -> None:
        """Until the limit, or as long as they raise the bound. constant: what is added to the value of the linear
        program for the bound. whole: until when a round goes on that has begun; None: until the limit."""
        master, program = self.master, self.master.program
        seconds = [time.process_time()]  # of the processor: what else the machine does would make it look slow
        solved = master.solve(limit)
        history, mean = [master.value + constant], np.zeros(0) if solved is None else solved.share
        while solved is not None and not limit.reached(history[-1], MARGIN, rounds=len(history) - 1):
            on_value(history[-1])
            # cuts that the last few points violate on average serve longer than those of the newest alone
            mean = np.concatenate([mean, np.zeros(len(solved.share) - len(mean))])
            mean = self.params.inertia * mean + (1 - self.params.inertia) * solved.share
            cuts = separate(master.groups, mean, program.counts, self._most, master.cuts, limit=limit)
            if not cuts.count:
                cuts = separate(master.groups, solved.share, program.counts, self._most, master.cuts, limit=limit)
            if not cuts.count:
                break
            solved = self._add(cuts, whole or limit)
            if solved is not None:
                master.purge_cuts(solved.prices)
            history.append(master.value + constant)
            seconds.append(time.process_time())
            if (
                enough is not None
                and len(history) > self.params.pace
                and enough(master, _next_unit(history, seconds, self.params.pace))
            ):
                break
            look_back = self.params.look_back_carefully if self.careful else self.params.look_back
            if len(history) > look_back:
                left = history[-1] - history[0] if limit.target is None else limit.target - 1 - history[-1]
                if history[-1] - history[-1 - look_back] < self.params.stalled * left:
                    break

    def _add(self, cuts: RankOneCuts, limit: Limit) -> MasterSolution | None:
        """A round with these cuts."""
        master, before, began = self.master, self.master.value, time.perf_counter()
        master.add_cuts(cuts)
        part = limit.part(max(self.params.shortest, self.params.longer * self._longest)) if self.careful else limit
        solved = master.solve(part)
        if not self.careful or limit.over:
            return solved
        if part.over or (
            master.value < before + self.params.least_rise and master.upper - master.value > self.params.near
        ):
            self._most, self._growth = max(self._most // 2, self.params.fewest_carefully), self.params.growth
            master.drop_idle_cuts()
            return master.solve(limit)
        self._longest = max(self._longest, time.perf_counter() - began)
        self._most = min(math.ceil(self._growth * self._most), self._highest)
        return solved


def _next_unit(values: list[float], seconds: list[float], pace: int) -> float:
    """Seconds until the value passes the next integer, if it goes on rising as in the last rounds."""
    rise = (values[-1] - values[-1 - pace]) / max(seconds[-1] - seconds[-1 - pace], 1e-9)
    missing = math.floor(values[-1]) + 1 - values[-1]
    return math.inf if missing > rise * FOREVER else missing / rise


class CutRounds:
    """Rounds of column generation and rank-1 cuts over an instance, from a point; goes on where it has stopped.

    Under requirements, where the point has charges, it goes carefully. Packing cuts keep their multipliers. table: its
    groups are the first columns. Raises InputError for requirements under which groups cannot be priced.
    """

    def __init__(
        self, instance: Instance, dual: DualPoint, table: Assignment | None, params: Parameters = DEFAULT
    ) -> None:
        self.params = params.of(RoundParameters)
        self.required = dual.charges is not None
        if self.required and not can_be_priced(instance):
            raise InputError(
                "rank-1 cuts need limits of the values of one sensitive attribute, or of its EMD cost, alone"
            )
        self.instance, self._dual = instance, dual
        groups = Groups.none() if table is None else Groups.of_assignment(table)
        self._program = group_program(instance, dual, params.of(ColumnParameters))
        self._master = Master(self._program, groups)
        self._rounds = Rounds(self._master, careful=self.required, params=self.params)
        # what the held packing cuts cost on the right side; the linear program knows nothing of it
        limits = PackingCuts.of(instance, dual.sets).limits
        self._constant = -dot(limits.astype(np.float64), dual.packing_multipliers) if dual.sets.lists else 0.0

    @property
    def value(self) -> float:
        """L at the best point so far, in floating point (`proof` is what proves)."""
        return self._master.value + self._constant

    def go_on(
        self,
        limit: BoundLimit,
        on_value: Callable[[float], None],
        enough: Callable[[DualPoint, float], bool] | None = None,
        whole: Limit | None = None,
    ) -> bool:
        """More rounds; whether the limit ended them, so that there may be more to gain. enough: is asked after a round,
        with the point and the seconds that the bound is likely to take for the next unit; True ends it. whole: as of
        `Rounds`."""
        asked: Enough | None = None if enough is None else lambda _, seconds: enough(self.point, seconds)
        self._rounds.go_on(limit, self._constant, on_value, asked, whole)
        return limit.over

    @property
    def point(self) -> DualPoint:
        """The best point, with all of its cuts."""
        best, program = self._master.best, self._program
        return replace(
            self._dual,
            multipliers=best.multipliers,
            value=self.value,
            rank_one_cuts=self._master.cuts,
            cut_multipliers=best.cut_multipliers,
            charges=program.charges if isinstance(program, RequiredProgram) else None,
            evaluations=self._dual.evaluations + self._master.iterations,
        )

    @property
    def at(self) -> DualPoint:
        """The best point, with the cuts that have a multiplier there: with all of them groups are hard to find."""
        point = self.point
        used = point.cut_multipliers > 0
        return replace(
            point, rank_one_cuts=point.rank_one_cuts.subset(used), cut_multipliers=point.cut_multipliers[used]
        )

    @property
    def groups(self) -> Groups:
        """The columns so far."""
        return self._master.groups

    @property
    def converged(self) -> bool:
        """Whether the last linear program is near its value over all groups."""
        return self._master.upper - self._master.value <= self.params.converged * abs(self._master.value)

    def near(self, open_limit: float, pair_limit: float) -> Flags:
        """Pairs at the best point whose candidate has φ below `open_limit` and whose reduced cost w - λ is no more than
        `pair_limit`, in units; bool (pairs,). Under requirements."""
        assert isinstance(self._program, RequiredProgram)
        candidates, best = self.instance.candidates, self._master.best
        of_pair = candidates.candidate_of_pair()
        pricing = RequiredPricing(self._program, self._master.cuts)
        pricing(best, open_limit)
        reduced = candidates.cost[of_pair] - best.multipliers[candidates.members]
        found: Flags = (pricing.phi[of_pair] < open_limit) & (reduced <= pair_limit)
        return found

    def proof(self) -> Proof:
        """The best point in integers. Raises InputError where the numbers could leave the range of int64."""
        return prove(self.instance, round_dual(self.point, FINE), priced=self.required)

    def averages(self) -> DualPoint:
        """The best point without its cuts, with the averages of the last solution of the linear program."""
        master, candidates = self._master, self.instance.candidates
        groups = master.groups
        share = np.concatenate([master.share, np.zeros(groups.count - len(master.share))])
        opened = np.bincount(groups.candidate, weights=share, minlength=candidates.count).astype(np.float64)
        of = groups.types.list_of_value()
        key = groups.candidate[of] * self._program.types + groups.types.values
        keys = candidates.pair_keys(self._program.types)
        pairs = np.searchsorted(keys, key)
        rows = np.bincount(pairs, weights=groups.copies * share[of], minlength=candidates.pairs).astype(np.float64)
        point = self.point
        charges = None if point.charges is None else point.charges.copy()
        return DualPoint(
            point.multipliers, self.value, opened, evaluations=master.iterations, charges=charges, rows=rows
        )


def raise_bound(
    instance: Instance,
    dual: DualPoint,
    table: Assignment | None,
    limit: BoundLimit,
    on_progress: OnProgress | None = None,
    enough: Callable[[DualPoint, float], bool] | None = None,
    params: Parameters = DEFAULT,
) -> DualPoint:
    """Rounds of column generation and rank-1 cuts from the multipliers of `dual`.

    Arguments as of `CutRounds` and its `go_on`. What comes back proves no less than `dual` does. Deterministic for a
    number of rounds, without `enough`.
    """
    began = time.perf_counter()

    def show(value: float) -> None:
        if on_progress is not None:
            on_progress(Progress(time.perf_counter() - began, None, value))

    rounds = CutRounds(instance, dual, table, params)
    rounds.go_on(limit, show, enough)
    better = rounds.point
    return better if exact_value(instance, round_dual(better)) > exact_value(instance, round_dual(dual)) else dual
