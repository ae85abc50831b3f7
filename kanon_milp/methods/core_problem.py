"""The core problem, as one restricted MILP for the solver; a smaller one whenever a better table turns up."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kanon_milp.methods.direct import assignment_of, integral_assignment, start_of
from kanon_milp.methods.guide import MODEL_PAIRS, Guide
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, restore
from kanon_milp.presolve.resources import too_long
from kanon_milp.solvers import Progress, SolverResult, StopReason
from kanon_milp.solvers.proof import INTEGRAL_GAP, Backing, Grid
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.solvers.second_look import precision_size, solve_checked
from kanon_milp.system.limit import Limit, Over

WORTH = 0.7  # the model is declared anew if no more than this part of its pairs would be left


class _Call(threading.Event):
    """Set by a better table, or by whoever sets the other event."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self.other = other

    def is_set(self) -> bool:
        """Whether one of the two is."""
        return super().is_set() or self.other.is_set()


@dataclass(eq=False)
class CoreProblem:
    """The models of what a better table could use, until nothing better is left, or the time is over.

    backed_by: what the last answer is backed by.
    """

    session: Session
    guide: Guide
    tracker: Tracker
    limit: Limit
    backed_by: tuple[Backing, ...] = ()

    def solve(self) -> tuple[tuple[int, int], StopReason | None, str]:
        """Number of variables and constraints of the last model, why it stopped, and what the solver says.

        None: no solver has run, because the core problem is too large or the time is over.
        """
        size, reason, message = (0, 0), None, ""
        while True:
            before = self.tracker.best
            if self.limit.over:
                return size, reason, message
            step = self._fixed(None if before is None else before.cost)
            rest = self.session.instance if step is None else step.instance
            if rest.candidates.pairs > MODEL_PAIRS or self.limit.over:
                return size, reason, message
            size, answer = self._solve(rest, step)
            if answer is None:
                return size, reason, message
            reason, message, self.backed_by = answer.stop_reason, answer.message, answer.backed_by
            best = self.tracker.best
            if reason is not StopReason.INTERRUPTED or self.limit.asked:
                return size, reason, message
            if best is before or best is None or best.cost <= self.tracker.bound:
                return size, None, message

    def _fixed(self, incumbent: int | None) -> Dropped | None:
        """The core problem of tables no more expensive than the incumbent, which is among them: a complete start."""
        if incumbent is None:
            return None
        return self.guide.fixing(incumbent + 1).apply(self.session.instance)

    def _solve(self, rest: Instance, step: Dropped | None) -> tuple[tuple[int, int], SolverResult | None]:
        session, tracker, limit = self.session, self.tracker, self.limit
        if too_long(rest, limit.seconds):
            return (0, 0), None
        try:
            with session.clock.step("build"):
                model = limit.call(session.formulation.build, rest)
            with session.clock.step("handover"):
                compiled = integral_assignment(rest, limit.call(to_arrays, model), model)
        except Over:
            return (0, 0), None
        size = (compiled.linear.variables, compiled.linear.constraints)
        grid = Grid(size=precision_size(session.adapter, compiled.linear))
        if limit.left == 0:
            return size, None
        options = session.options
        if rest.problem.attributes or not rest.problem.network:
            tuned = session.formulation.tune(rest).get(session.adapter.name, {})
            options = replace(options, extra={**tuned, **options.extra})
        limited = replace(options, time_limit=limit.seconds, absolute_gap=INTEGRAL_GAP)
        start = None
        if tracker.best is not None and step is not None:
            candidate = np.searchsorted(step.origin, tracker.best.candidate)
            start = start_of(rest, model, compiled, replace(tracker.best, candidate=candidate))
        call = _Call(limit.interrupt or threading.Event())
        seen: list[int] = [] if tracker.best is None else [tracker.best.cost]

        def watch(point: Progress) -> None:
            tracker.show(replace(point, bound=_rounded(grid.safe(point.bound))))
            if point.incumbent is not None and round(point.incumbent) < min(seen, default=math.inf):
                seen.append(round(point.incumbent))
                if self.guide.left(seen[-1] + 1) <= WORTH * rest.candidates.pairs:
                    call.set()

        with session.clock.step("solve"):
            answer = solve_checked(
                session.adapter, compiled.linear, limited, grid, start=start, on_progress=watch, interrupt=call
            )
        incumbent = None if tracker.best is None else tracker.best.cost
        if answer.x is not None:
            found = assignment_of(rest, model, compiled, answer.x, own=True)
            self.guide.keep(restore([] if step is None else [step], found))
        bound = grid.safe(answer.bound)
        if bound is not None:
            # what costs as much as the incumbent may be missing from the rest
            tracker.higher(int(bound) if incumbent is None else min(int(bound), incumbent), answer.backed_by)
        return size, answer


def _rounded(bound: Fraction | None) -> float | None:
    return None if bound is None else float(bound)
