"""Closing in on the optimum from both sides: a Lagrangian bound, a search for tables, and a model of what is left.

For k-anonymity at minimum loss on tables whose whole model is too large, or would take too long. The multipliers of the
bound guide the search; bound and table together fix candidates and pairs; where little is left, it goes to the solver.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.algorithms.greedy import greedy
from kanon_milp.algorithms.row_assignment import Assignment
from kanon_milp.bounds import lagrangian, proven_bound, round_dual
from kanon_milp.compilation import compile_model
from kanon_milp.infeasibility import explain_infeasible
from kanon_milp.judgement import Scale, judge
from kanon_milp.monolithic import assignment_of, start_of
from kanon_milp.proof import WHOLE_GAP, safe_bound
from kanon_milp.reductions.base import Dropped, restore
from kanon_milp.reductions.fixing import ReducedCosts
from kanon_milp.result import Result
from kanon_milp.run import Run
from kanon_milp.search.effort import Effort
from kanon_milp.search.grouping import close_groups
from kanon_milp.search.pool import Pool, open_pool
from kanon_milp.search.search import Search
from kanon_milp.solvers import OnProgress, Progress, StopReason

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

DEFAULT_SECONDS = 600.0  # where neither a time limit nor an iteration limit is given
BOUND_SHARE, BOUND_SECONDS = 0.25, 60.0  # for the multipliers, at most
COUNTED_EVALUATIONS = 3000  # of the Lagrangian, where work is counted instead of time
MODEL_PAIRS = 300_000  # what is left after fixing goes to the solver as one model up to this size
SEARCH_SHARE = 0.3  # of the time before it does, at most
PATIENCE = 2  # turns of such a search that find nothing


@dataclass
class Ledger:
    """What is known so far, in units of the loss: the cheapest assignment and the proven bound; tells who wants to
    know."""

    unit: Fraction
    began: float
    on_progress: OnProgress | None
    bound: int = 0
    best: Assignment | None = None
    trajectory: list[tuple[float, float | None, float | None]] = field(default_factory=list)

    def better(self, assignment: Assignment | None) -> None:
        """Take a table if it is the cheapest so far."""
        if assignment is not None and (self.best is None or assignment.cost < self.best.cost):
            self.best = assignment
            self._note()

    def higher(self, bound: int) -> None:
        """Take a proven bound if it is the highest so far."""
        if bound > self.bound:
            self.bound = bound
            self._note()

    def show(self, point: Progress) -> None:
        """Pass on what a bound that is on its way has reached (in floating point)."""
        if self.on_progress is not None:
            bound = self.bound if point.bound is None else max(self.bound, point.bound)
            self.on_progress(Progress(time.perf_counter() - self.began, self._loss(), bound * float(self.unit)))

    def _note(self) -> None:
        seconds = time.perf_counter() - self.began
        point = (seconds, self._loss(), self.bound * float(self.unit))
        self.trajectory.append(point)
        if self.on_progress is not None:
            self.on_progress(Progress(*point))

    def _loss(self) -> float | None:
        return None if self.best is None else self.best.cost * float(self.unit)


def close_in(
    run: Run,
    *,
    iterations: int | None = None,
    dask: str | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
) -> Result:
    """Bound, search, fix and solve what is left, until the gap is closed or the time is over.

    iterations: neighbourhoods of the search; with it no clock plays a part but a time limit that is given as well.
    dask: a Dask scheduler whose workers search; else processes of this machine, as many as there are threads.
    """
    instance, clock, options = run.prepared.instance, run.clock, run.options
    limit = options.time_limit if options.time_limit is not None else math.inf if iterations else DEFAULT_SECONDS
    ends = clock.began + limit
    ledger = Ledger(instance.levels.unit, clock.began, on_progress)
    with ctrl_c_sets(interrupt) as stop, open_pool(options.threads, dask) as pool:
        with clock.step("search"):
            first = greedy(instance)
            ledger.better(None if first is None else close_groups(instance, first))
        with clock.step("bound"):
            left = max(0.0, ends - time.perf_counter())
            dual = lagrangian(
                instance,
                target=None if ledger.best is None else float(ledger.best.cost),
                seconds=None if math.isinf(left) else min(BOUND_SHARE * left, BOUND_SECONDS),
                iterations=COUNTED_EVALUATIONS if iterations else None,
                on_progress=ledger.show,
                interrupt=stop,
            )
            ledger.higher(proven_bound(instance, round_dual(dual)))
        closing = _Closing(run, dual, ledger, pool, stop, ends, iterations)
        with clock.step("search"):
            closing.search()
        size, reason, message = (0, 0), closing.why(), ""
        if reason is not StopReason.OPTIMAL and not stop.is_set():
            size, reason, message = closing.solve_rest()
    scale = Scale(1, instance.levels.unit, integral=True)
    bound = float(ledger.bound)
    trajectory = tuple(ledger.trajectory)
    if ledger.best is None and reason is StopReason.INFEASIBLE:
        why = explain_infeasible(run.prepared.problem, run.prepared.before.levels.count)
        return run.end("infeasible", "infeasible", size=size, trajectory=trajectory, message=why)
    if ledger.best is None:
        return run.end(
            reason.value,
            "bound",
            bound=scale.exact(bound),
            size=size,
            trajectory=trajectory,
            message=message or "the search has found no table",
            dual=dual,
        )
    released = run.release(ledger.best)
    objective = released.report.cost
    ended, proof, exact_bound, message = judge(reason, message, released.report, objective, bound, scale)
    return run.end(
        ended,
        proof,
        objective=objective,
        bound=exact_bound,
        released=released,
        size=size,
        trajectory=trajectory,
        message=message,
        dual=dual,
    )


@dataclass(eq=False)
class _Closing:
    """The two phases after the bound, and why the second ended."""

    run: Run
    dual: DualPoint
    ledger: Ledger
    pool: Pool
    stop: threading.Event
    ends: float
    iterations: int | None

    @property
    def enough(self) -> int:
        """The largest loss at which it may stop: the bound, or what lies within the gap that was asked for."""
        return max(self.ledger.bound, math.floor(self.ledger.bound / (1 - self.run.options.gap)))

    def why(self) -> StopReason:
        """Why it would end now."""
        if self.ledger.best is not None and self.ledger.best.cost <= self.enough:
            return StopReason.OPTIMAL if self.ledger.best.cost <= self.ledger.bound else StopReason.GAP_LIMIT
        if self.stop.is_set():
            return StopReason.INTERRUPTED
        # without an iteration limit nothing else ends a search for good
        timed = self.iterations is None or time.perf_counter() >= self.ends
        return StopReason.TIME_LIMIT if timed else StopReason.ITERATION_LIMIT

    def search(self) -> None:
        """Search until the time is over; where what is left is likely to fit into one model, for a part of it."""
        effort = Effort(self.ends, self.iterations, self.stop, self.enough)
        if self.run.prepared.instance.candidates.pairs <= MODEL_PAIRS:
            effort = replace(effort.part(SEARCH_SHARE * effort.left), patience=PATIENCE)
        seed, instance = self.run.options.seed, self.run.prepared.instance
        search = Search(instance, self.dual, self.ledger.best, self.pool, effort, seed, self.ledger.better)
        search.run(self.run.adapter, self.run.options)

    def solve_rest(self) -> tuple[tuple[int, int], StopReason, str]:
        """The model of all that a better table could use, if it is not too large; its size and why it stopped."""
        run, ledger, instance = self.run, self.ledger, self.run.prepared.instance
        steps: list[Dropped] = []
        if ledger.best is not None:
            # one more than the incumbent: that it survives makes it a complete start
            fixing = ReducedCosts(round_dual(self.dual), ledger.best.cost + 1)
            steps.append(fixing.apply(instance))
        rest = steps[-1].instance if steps else instance
        if rest.candidates.pairs > MODEL_PAIRS or time.perf_counter() >= self.ends:
            return (0, 0), self.why(), ""
        with run.clock.step("build"):
            model = run.prepared.formulation.build(rest)
        with run.clock.step("handover"):
            compiled = compile_model(model)
        size = (compiled.linear.variables, compiled.linear.constraints)
        left = self.ends - time.perf_counter()
        if left <= 0:
            return size, self.why(), ""
        limited = replace(run.options, time_limit=None if math.isinf(left) else left, absolute_gap=WHOLE_GAP)
        start = None
        if ledger.best is not None:
            candidate = np.searchsorted(steps[-1].origin, ledger.best.candidate)
            start = start_of(rest, model, compiled, replace(ledger.best, candidate=candidate))
        with run.clock.step("solve"):
            answer = run.adapter.solve(
                compiled.linear,
                limited,
                start=start,
                on_progress=lambda point: ledger.show(replace(point, bound=safe_bound(point.bound, integral=True))),
                interrupt=self.stop,
            )
        if answer.x is not None:
            found = assignment_of(rest, model, compiled, answer.x, own=True)
            ledger.better(close_groups(instance, restore(steps, found)))
        bound = safe_bound(answer.bound, integral=True)
        if bound is not None:
            # what costs as much as the incumbent may be missing from the rest
            ledger.higher(int(bound) if ledger.best is None else min(int(bound), ledger.best.cost))
        return size, answer.stop_reason, answer.message


@contextmanager
def ctrl_c_sets(interrupt: threading.Event | None) -> Iterator[threading.Event]:
    """While the block runs, the first Ctrl-C sets the event instead of raising; the second raises."""
    stop = interrupt or threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
