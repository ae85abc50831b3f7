"""The core problem, as one restricted MILP for the solver; a smaller one whenever a better table turns up."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, replace

import numpy as np

from kanon_milp.formulations.restricted import Answer, RestrictedModel, solve_restricted
from kanon_milp.methods.phases import Known, RestrictedModelParams
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, restore
from kanon_milp.presolve.resources import too_long
from kanon_milp.solvers import Progress, StopReason
from kanon_milp.solvers.checked import MOMENT
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.limit import AlsoSet, Limit, Over

FIXING_SECONDS = 1e-7  # a pair, for fixing and what is left by it
WORTH = 0.7  # the model is declared anew if no more than this part of its pairs would be left


@dataclass(eq=False)
class CoreProblem:
    """The models of what a better table could use, until nothing better is left, or the time is over.

    once: whether a better table ends it, as there are other things to do then. size: number of variables and
    constraints of the last model. backed_by, message: what the last answer is backed by, and what the solver said.
    """

    session: Session
    known: Known
    tracker: Tracker
    limit: Limit
    once: bool = False
    size: tuple[int, int] = (0, 0)
    backed_by: tuple[Backing, ...] = ()
    message: str = ""

    @property
    def in_time(self) -> bool:
        """Whether there is time to see what is left."""
        seconds = FIXING_SECONDS * self.session.instance.candidates.pairs
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
        ahead = 0
        while self.in_time:
            before, lower = self.tracker.best, None
            loss = None if before is None else before.cost
            step = None if before is None else self.known.fixing(before.cost + 1).apply(self.session.instance)
            rest = self.session.instance if step is None else step.instance
            if raising:
                lower = self.presuming(self.tracker.bound + ahead)
            if lower is not None and lower.instance.candidates.pairs <= WORTH * rest.candidates.pairs:
                step, rest, loss = lower, lower.instance, self.tracker.bound + ahead
            if rest.candidates.pairs > self.known.get(RestrictedModelParams).pairs or self.limit.over:
                return reason
            answer = self.decide(rest, step, loss, self.limit)
            if answer is None:
                return reason
            reason, best = answer.stop_reason, self.tracker.best
            if self.known.settled or self.limit.asked:
                return reason
            proven = loss is not None and self.tracker.bound > loss
            if step is lower and (proven or reason in (StopReason.OPTIMAL, StopReason.GAP_LIMIT)):
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
        self.size = model.size
        if limit.left == 0:
            return None
        options, best = session.options, tracker.best
        # sub-MIPs are what finds tables, but where a good one is at hand already
        if rest.problem.attributes or not rest.problem.network or (best is not None and loss == best.cost):
            options = session.adapter.suited(options, session.formulation.tune(rest))
        start = None
        if best is not None and step is not None:
            candidate = np.searchsorted(step.origin, best.candidate)
            start = model.start(replace(best, candidate=candidate))
        call = AlsoSet(limit.interrupt or threading.Event())
        seen: list[int] = [] if best is None else [best.cost]
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
                if self.known.left(seen[-1] + 1) <= WORTH * rest.candidates.pairs:
                    call.set()

        # what costs more than that may be missing from the rest
        most = math.inf if loss is None or best is None else min(loss + 1, best.cost)
        limit = replace(limit, interrupt=call)
        with session.clock.step("solve"):
            answer = solve_restricted(
                model.linear, session.adapter, options, limit, start=start, most=most, on_progress=watch
            )
        self.backed_by = answer.backed_by
        # how a model ends that is no longer needed tells nothing of the result
        self.message = "" if answer.stop_reason is StopReason.INTERRUPTED else answer.message
        if answer.x is not None:
            self.known.keep(restore([] if step is None else [step], model.assignment(answer.x)))
        if answer.bound is not None:
            tracker.higher(answer.bound, answer.backed_by)
        return answer
