"""The core problem, what fixing leaves for the solver: one restricted MILP, a smaller one whenever a better table turns
up; or, under a mask of few patterns, condensed models (`kanon_milp.bounds.condensed`) from below.

With few candidates a row type reduced costs fix little, since no row can cost much more elsewhere; but most rows are in
groups with rows to spare, and what is left to decide is a small part of the model.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds.condensed import NOWHERE, Condensed, condense
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.formulations.restricted import Answer, RestrictedModel, solve_restricted
from kanon_milp.formulations.row_assignment import PRICED, Placed, place_rows
from kanon_milp.methods.phases import Known, LastModel, RestrictedModelParams
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Dropped, restore
from kanon_milp.presolve.resources import too_long
from kanon_milp.solvers import Progress, Setting, StopReason
from kanon_milp.solvers.adapter import Capability
from kanon_milp.solvers.checked import MOMENT
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.limit import AlsoSet, Limit, Over
from kanon_milp.system.parameters import number, parameters

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint


@parameters("core_problem")
@dataclass(frozen=True)
class CoreProblemParams:
    """Models of what a better table could use."""

    pair_seconds: float = number(1e-7, "seconds a pair, for fixing and what is left by it")
    node_pairs: int = number(
        1_000_000, "nodes times pairs, at most, of one where work is counted, without a time or node limit", least=1
    )
    worth: float = number(
        0.7, "of the pairs, at most, that a better table leaves, for a model to be declared anew", most=1
    )


@parameters("condensed")
@dataclass(frozen=True)
class CondensedParams:
    """Condensed models, where row types have few candidates."""

    share: float = number(0.3, "of the time, expected", most=1)
    gain: float = number(0.9, "expected share of the gap that they close")
    near: float = number(0.2, "units between what a row is worth and what it costs somewhere that count as none")
    worth: float = number(0.3, "of the pairs of an instance, at most, that condensing leaves")
    ahead: int = number(12, "units above the bound, of the first tables that are looked for; doubled each time")
    smaller: float = number(
        0.85, "of the pairs of the model of all better tables, at most, has one of the first tables"
    )
    turns: int = number(6, "of a model whose point is no table, each with less taken for ample")
    first_gap: float = number(5e-4, "of the first of them: what is scarce shows in any good point")
    repairs: int = number(6, "of a point that is no table, at most")
    repair_share: float = number(0.3, "of the time that its model has taken, at most, for these")
    far: float = number(4e-3, "relative gap after a slow model, beyond which a search finds more than the next one")
    slow_seconds: float = number(2.0, "seconds, from which on a model is slow")
    closings: int = number(5, "of groups that are too small, until there is a table")
    free: int = number(600, "candidates that a repair decides anew, at most")


@dataclass(eq=False)
class CoreProblem:
    """The models of what a better table could use, until nothing better is left, or the time is over.

    once: whether a better table ends it, as there are other things to do then. takes: whether a model of so many pairs
    is worth its time; by default those are that fit into one.
    """

    known: Known
    limit: Limit
    once: bool = False
    takes: Callable[[int], bool] | None = None
    last: LastModel = field(default_factory=LastModel)

    def __post_init__(self) -> None:
        self.session, self.tracker = self.known.session, self.known.tracker

    @property
    def in_time(self) -> bool:
        """Whether there is time to see what is left."""
        seconds = self.known.get(CoreProblemParams).pair_seconds * self.session.instance.candidates.pairs
        return not self.limit.over and self.limit.left >= seconds

    def solve(self, *, raising: bool = True) -> StopReason | None:
        """Why the last model stopped; None where no solver has run, because the core problem is too large or the time
        is over, where nothing better is left, and where a better table or bound has ended it and no time is left for
        another.

        raising: whether to raise the bound from below first, as long as the models for that are smaller.
        """
        reason = self._solve_all(raising)
        return None if reason is StopReason.INTERRUPTED and not self.limit.asked else reason

    def _solve_all(self, raising: bool) -> StopReason | None:
        """Model after model, and why the last one stopped."""
        reason: StopReason | None = None
        ahead, worth = 0, self.known.get(CoreProblemParams).worth
        while self.in_time:
            before, lower = self.tracker.best, None
            loss = None if before is None else before.cost
            step = None if before is None else self.known.fixing(before.cost + 1).apply(self.session.instance)
            rest = self.session.instance if step is None else step.instance
            if raising:
                lower = self.presuming(self.tracker.bound + ahead)
            if lower is not None and lower.instance.candidates.pairs <= worth * rest.candidates.pairs:
                step, rest, loss = lower, lower.instance, self.tracker.bound + ahead
            pairs, most = rest.candidates.pairs, self.known.get(RestrictedModelParams).pairs
            if self.limit.over or not (pairs <= most if self.takes is None else self.takes(pairs)):
                return reason
            answer = self.decide(rest, step, loss, self.limit)
            if answer is None:
                return reason
            reason, best = answer.stop_reason, self.tracker.best
            if self.known.settled or self.limit.asked:
                return reason
            proven = loss is not None and self.tracker.bound > loss
            if lower is not None and step is lower and (proven or reason in (StopReason.OPTIMAL, StopReason.GAP_LIMIT)):
                raising, ahead, reason = proven, 2 * ahead + 1, None  # what ends such a model does not end the run
            elif reason is not StopReason.INTERRUPTED or best is before or self.once:
                return reason
        return reason

    def presuming(self, loss: int) -> Dropped | None:
        """What tables up to this loss use, and the best one; None where that is as cheap, or nothing is known."""
        best = self.tracker.best
        presuming = None if best is None or best.cost <= loss else self.known.presuming(loss)
        return None if presuming is None else presuming.apply(self.session.instance)

    def decide(self, rest: Instance, step: Dropped | None, loss: int | None, limit: Limit) -> Answer | None:
        """One model: `rest` has all tables up to this loss, None: all tables, and the best one."""
        session, tracker = self.session, self.tracker
        if too_long(rest, limit.seconds):
            return None
        try:
            model = RestrictedModel.of(rest, session.formulation, limit, session.clock)
        except Over:
            return None
        self.last.size = model.size
        if limit.left == 0:
            return None
        options, best, params = session.options, tracker.best, self.known.get(CoreProblemParams)
        untimed = self.known.counted and options.time_limit is None and options.node_limit is None
        if untimed and Capability.NODE_LIMIT in session.adapter.capabilities:
            options = replace(options, node_limit=math.ceil(params.node_pairs / max(rest.candidates.pairs, 1)))
        # sub-MIPs are what finds tables, but where a good one is at hand already
        if rest.problem.attributes or not rest.problem.network or (best is not None and loss == best.cost):
            options = session.adapter.suited(options, session.formulation.tune(rest))
        start = None
        if best is not None and step is not None:
            candidate = np.searchsorted(step.origin, best.candidate)
            start = model.start(replace(best, candidate=candidate))
        call = AlsoSet(limit.interrupt or threading.Event())
        seen: list[int] = [] if best is None else [best.cost]
        worth = params.worth * rest.candidates.pairs
        presumed = loss if loss is not None and best is not None and loss < best.cost else None
        began = time.perf_counter()

        def watch(point: Progress) -> None:
            bound = point.bound
            tracker.show(point)
            # above the loss is all that this model is for; what is quick has a second look at its end
            known = presumed is not None and bound is not None and bound > presumed
            if known and time.perf_counter() - began > MOMENT:
                call.set()
            if point.incumbent is not None and round(point.incumbent) < min(seen, default=math.inf):
                seen.append(round(point.incumbent))
                if self.known.left(seen[-1] + 1) <= worth:
                    call.set()

        # what costs more than that may be missing from the rest
        most = math.inf if loss is None or best is None else min(loss + 1, best.cost)
        limit = replace(limit, interrupt=call)
        with session.clock.step("solve"):
            answer = solve_restricted(
                model.linear, session.adapter, options, limit, start=start, most=most, on_progress=watch
            )
        self.last.backed_by = answer.backed_by
        # how a model ends that is no longer needed tells nothing of the result
        self.last.message = "" if answer.stop_reason is StopReason.INTERRUPTED else answer.message
        if answer.x is not None:
            self.known.keep(restore([] if step is None else [step], model.assignment(answer.x)))
        if answer.bound is not None:
            tracker.higher(answer.bound, answer.backed_by)
        return answer


@dataclass(frozen=True, eq=False)
class _Point:
    """What a point of a model opens, bool (G,), and where the rows go then, None where some have no place."""

    opened: Flags
    placed: Placed | None


@dataclass(eq=False)
class CondensedCore:
    """Models of the tables up to some loss, which grows until there is one."""

    known: Known
    limit: Limit
    last: LastModel = field(default_factory=LastModel)

    def __post_init__(self) -> None:
        self.session, self.tracker = self.known.session, self.known.tracker
        self.params = self.known.get(CondensedParams)

    @property
    def applies(self) -> bool:
        """Whether it is valid here, and likely to be worth it."""
        best, instance = self.tracker.best, self.session.instance
        if best is None or side_constraints(self.session.problem):
            return False
        return self._condensed(instance, *_by_prices(instance, self._dual, best, self.params.near)) is not None

    @property
    def _dual(self) -> DualPoint:
        assert self.known.dual is not None
        return self.known.dual

    def _condensed(self, instance: Instance, ample: Flags, apart: Flags) -> Condensed | None:
        """What condensing leaves, None where it is too much."""
        found = condense(instance, ample, apart, self._dual.sets)
        left = len(found.pair) + len(found.supply)
        return found if left <= self.params.worth * instance.candidates.pairs else None

    def solve(self) -> bool:
        """Model after model, until table and bound meet or the time is over; False where condensed models do not lead
        to a table, or not soon, and something else has to."""
        ahead = self.params.ahead
        while not self.limit.over and not self.known.settled:
            best = self.tracker.best
            assert best is not None
            loss, near = best.cost - 1, self.tracker.bound + ahead
            step = self._up_to(loss)
            smaller = self._up_to(near) if near < loss else None
            if step is None:
                return False
            if smaller and smaller.instance.candidates.pairs <= self.params.smaller * step.instance.candidates.pairs:
                loss, step = near, smaller
            if not self._decide(step, loss):
                return self.limit.over or self.known.settled
            ahead *= 2
        return True

    def _up_to(self, loss: int) -> Dropped | None:
        presuming = self.known.presuming(loss)
        return None if presuming is None else presuming.apply(self.session.instance)

    def _decide(self, step: Dropped, loss: int) -> bool:
        """Whether there is a table up to this loss, and if so the cheapest; False where that is not known."""
        rest, best = step.instance, self.tracker.best
        assert best is not None
        table = replace(best, candidate=np.searchsorted(step.origin, best.candidate))
        ample, apart = _by_prices(rest, self._dual, table, self.params.near)
        for turn in range(self.params.turns):
            condensed = self._condensed(rest, ample, apart)
            if condensed is None:
                return False
            began = time.perf_counter()
            point = self._solve(condensed, table if turn == 0 else None, step, loss)
            if point is None or self.known.settled or self.tracker.bound > loss:
                return self.tracker.bound > loss or self.known.settled
            seconds = time.perf_counter() - began
            ample, apart = self._repaired(
                condensed, point, apart, step, self.limit.part(self.params.repair_share * seconds)
            )
            if self.known.settled:
                return True
            if seconds > self.params.slow_seconds and self._far:
                return False
        return False

    @property
    def _far(self) -> bool:
        best = self.tracker.best
        return best is not None and best.cost - self.tracker.bound > self.params.far * best.cost

    def _solve(self, condensed: Condensed, table: Assignment | None, step: Dropped, loss: int) -> _Point | None:
        """Solve one model, and take its table and bound; its point, None where it was not solved to the end.

        table: to start with, for a first model, of which a good point is enough.
        """
        session, limit = self.session, self.limit
        model = condensed.model()
        self.last.size = (model.variables, model.constraints)
        options = replace(session.options, gap=0.0 if table is None else self.params.first_gap)
        options = session.adapter.suited(options, [Setting.CONDENSED])
        start, call = None if table is None else condensed.start(table), AlsoSet(limit.interrupt or threading.Event())

        def watch(point: Progress) -> None:
            self.tracker.show(Progress(point.seconds, None, point.bound))
            if point.incumbent is not None and round(point.incumbent) <= self.tracker.bound:
                call.set()  # nothing is cheaper

        with session.clock.step("solve"):
            answer = solve_restricted(
                model,
                session.adapter,
                options,
                replace(limit, interrupt=call),
                start=start,
                most=loss + 1,
                on_progress=watch,
            )
        self.last.backed_by = answer.backed_by
        found = None if answer.x is None else self._table(condensed, answer.x, step)
        bound = loss + 1 if answer.infeasible else answer.bound
        if bound is not None:
            self.tracker.higher(bound, answer.backed_by)
        return found if answer.solved or (call.is_set() and not limit.over) else None

    def _table(self, condensed: Condensed, x: Floats, step: Dropped) -> _Point:
        """Keep the table of what a point opens."""
        instance, opened = condensed.instance, condensed.opened(x)
        with self.session.clock.step("assign"):
            placed = place_rows(instance, opened)
            self.known.keep(_closed(instance, _Point(opened, placed), step, self.params.closings))
        return _Point(opened, placed)

    def _repaired(
        self, condensed: Condensed, point: _Point, apart: Flags, step: Dropped, limit: Limit
    ) -> tuple[Flags, Flags]:
        """Tables from a point that is none; what is ample, and what is told apart, by what the point and these have
        shown."""
        for turn in range(self.params.repairs + 1):
            ample, apart = _refined(condensed, point, apart)
            scarce = condensed.ample & ~ample
            if turn == self.params.repairs or not scarce.any() or limit.over:
                break
            condensed = condense(condensed.instance, ample, apart, self._dual.sets)
            free = near(condensed, scarce, self.params.free)
            found = None if free is None else self._repair(held(condensed, point.opened, free), limit)
            if found is None:
                break
            point = self._table(condensed, found, step)
            if self.known.settled:
                break
        return ample, apart

    def _repair(self, model: LinearModel, limit: Limit) -> Floats | None:
        """A good point of a repair; its bound is of no use."""
        session = self.session
        with session.clock.step("solve"):
            return solve_restricted(model, session.adapter, replace(session.options, gap=0.0), limit, checked=False).x


def _by_prices(instance: Instance, dual: DualPoint, table: Assignment, near: float) -> tuple[Flags, Flags]:
    """What is ample, bool (G,), and which row types are told apart, bool (t,), by what a row is worth: ample is a group
    that has, in the table and by the multipliers, rows to spare at its own cost, and rows of a type are told apart
    where they are worth less than what they would lose there, because many groups want them."""
    candidates, least, worth = instance.candidates, instance.least, dual.multipliers
    of_pair, members = candidates.candidate_of_pair(), candidates.members
    here = worth[members] >= candidates.cost[of_pair] - near
    rows = np.bincount(of_pair, weights=instance.types.counts[members] * here, minlength=candidates.count)
    size = np.bincount(table.candidate, weights=table.rows, minlength=candidates.count)
    ample = (rows > least) & (size > least)
    ample[PackingCuts.of(instance, dual.sets).nested.values] = False  # or the cuts would say less
    return ample, _scarce_rows(instance, ample, worth, near)


def _refined(condensed: Condensed, point: _Point, apart: Flags) -> tuple[Flags, Flags]:
    """What is ample, and which row types are told apart, after a point that is no table of its loss.

    The smallest sizes of scarce groups, and what rows are worth, are a dual solution of placing the rows. With these
    groups no longer ample, and these rows told apart, it is one of the next model with the same candidates open: there
    they cost no less than in the table, but for scarce groups in which no row saves anything: these are closed there.
    """
    instance, placed = condensed.instance, point.placed
    if placed is None:
        return np.zeros_like(point.opened), apart
    ample = condensed.ample & ~placed.scarce
    return ample, apart | _scarce_rows(instance, ample, placed.worth, PRICED)


def _scarce_rows(instance: Instance, ample: Flags, worth: Floats, near: float) -> Flags:
    """Row types worth less, by more than `near`, than what they lose in the cheapest ample group: bool (t,)."""
    candidates = instance.candidates
    of_pair, lost = candidates.candidate_of_pair(), np.full(instance.types.count, NOWHERE, dtype=np.int64)
    inside = ample[of_pair]
    np.minimum.at(lost, candidates.members[inside], candidates.cost[of_pair[inside]])
    return (worth < lost - near) & (lost < NOWHERE)


def _closed(instance: Instance, point: _Point, step: Dropped, closings: int) -> Assignment | None:
    """A table of what a point opens, without the candidates that would be too small."""
    opened, placed = point.opened, point.placed
    for _ in range(closings):
        if placed is None:
            return None
        if not placed.short.any():
            return step.invert(Assignment.from_pairs(instance, placed.rows))
        opened = opened & ~placed.short
        placed = place_rows(instance, opened)
    return None


def near(condensed: Condensed, scarce: Flags, most: int) -> Flags | None:
    """Positions of candidates that are decided anew, bool (C,): those that compete with scarce ones for row types, and
    those that compete with these, as long as there are no more than `most`; None where the first are too many.

    scarce: bool (G,), candidates of the instance.
    """
    found = None
    at = scarce[condensed.candidates]
    while True:
        wanted = np.zeros(len(condensed.rows), dtype=bool)
        wanted[condensed.row_type[at[condensed.candidate]]] = True
        more = at.copy()
        more[condensed.candidate[wanted[condensed.row_type]]] = True
        if more.sum() > most:
            return found
        if found is not None and more.sum() == found.sum():
            return found
        found = at = more


def held(condensed: Condensed, opened: Flags, free: Flags) -> LinearModel:
    """The model with all but the free candidates open or closed as they are in `opened`, bool (G,)."""
    model = condensed.model()
    first = len(condensed.pair) + len(condensed.supply)
    lower, upper = model.lower.copy(), model.upper.copy()
    as_it_is = opened[condensed.candidates]
    lower[first:] = np.where(free, 0.0, as_it_is)
    upper[first:] = np.where(free, 1.0, as_it_is)
    return replace(model, lower=lower, upper=upper)
