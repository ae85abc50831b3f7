"""The scheduler: the next phase is the one that gains most for its time, until nothing is left to do; and how a session
with phases begins and ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TypeVar

from kanon_milp.errors import own_code
from kanon_milp.methods.outcome import TOO_HIGH, Bound, Outcome, Scale
from kanon_milp.methods.phases import REGISTERED, Estimate, Known, Phase
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import PhaseRun, Tracker
from kanon_milp.presolve.instance import mutation_guard
from kanon_milp.problem.arguments import instance_of
from kanon_milp.solvers import StopReason
from kanon_milp.system.limit import AlsoSet, Limit
from kanon_milp.system.parameters import number, parameters
from kanon_milp.system.worker_pool import Pool, open_pool

K = TypeVar("K", bound=Known)
T = TypeVar("T")


@parameters("rounds")
@dataclass(frozen=True)
class RoundParams:
    """Rounds of the phases that repeat: what takes a share of the time takes it of a part of the time first, so that a
    problem that needs little does not wait until shares of a long limit are over."""

    share: float = number(1 / 3, "seconds of a round, of those of the next one", most=1)
    shortest: float = number(60.0, "seconds of the first round, at least")


@contextmanager
def begun(
    kind: type[K], session: Session, limit: Limit, tracker: Tracker | None = None, pool: Pool | None = None
) -> Iterator[K]:
    """What the phases of a session know, from its first table on, with workers.

    tracker: what another method has found and proven before; pool: its workers.
    """
    tracker = tracker or Tracker(session.instance.levels.unit, session.clock.began, session.on_progress)
    with nullcontext(pool) if pool else open_pool(session.options.threads, session.dask) as workers:
        known, first = kind(session, tracker, workers, limit), session.first
        with session.clock.step("search"):
            known.keep(first)
        yield known
        known.notes.append(workers.losses())


def outcome_of(known: Known) -> Outcome:
    """What is known in the end."""
    session, tracker, unit = known.session, known.tracker, known.instance.levels.unit
    model = known.model
    # what a model ended by says nothing where the rest has ended otherwise
    failed = model.stopped in (StopReason.INFEASIBLE, StopReason.ERROR)
    reason = model.stopped if model.stopped and (failed or not known.settled) else known.why()
    outcome = Outcome(
        size=model.size,
        dual=known.dual,
        required=known.required,
        trajectory=tuple(tracker.trajectory),
        phases=tuple(known.log),
    )
    notes = (model.message, *known.notes, TOO_HIGH if tracker.refuted else "")
    message = "; ".join(each for each in notes if each)
    found = session.constructed() if tracker.best is None else session.release(tracker.best)
    if reason is StopReason.INFEASIBLE:
        if found is None:
            return replace(outcome, dual=None).infeasible(model.backed_by, session.why_infeasible)
        reason, message = StopReason.ERROR, f"{session.adapter.name} says infeasible, which this table refutes"
    bound = Bound(tracker.proven * unit, tracker.proven_by)
    outcome = replace(outcome, bound=bound).with_registered(tracker.registered * unit)
    if found is None:
        return outcome.stopped(reason.value, message or "the search has found no table")
    return outcome.stopped(reason.value, message).with_table(found, Scale.of_problem(known.instance))


def run_phases(known: Known, phases: Sequence[Phase], *, rounds: bool = False) -> None:
    """Run phases until table and bound meet, none applies any more, or the time is over.

    rounds: whether those that repeat do so in rounds, each of which is longer than the one before.
    """
    ahead: list[float] | None = None  # seconds of the rounds to come, once a phase that repeats is due
    background: list[Concurrent] = []
    with ExitStack() as stack:
        while not (known.ended or known.settled or known.whole.over):
            phase = best_of(known, [each for each in phases if all(each is not other.phase for other in background)])
            if phase is None and ahead:
                known.round, known.limit = known.round + 1, known.whole.part(ahead.pop())
            elif phase is None and background:
                background.pop().join()
            elif phase is None:
                break
            else:
                if phase.repeats and ahead is None:
                    ahead = _round_seconds(known) if rounds else [known.whole.left]
                    known.limit = known.whole.part(ahead.pop())
                if phase.concurrent:
                    background.append(stack.enter_context(Concurrent(known, phase)))
                else:
                    with logged(known, phase):
                        phase.run(known, known.limit)


def best_of(known: Known, phases: Sequence[Phase]) -> Phase | None:
    """The one of those that apply that gains most for its time, the first of equal ones; None where none applies."""
    able = [phase for phase in phases if _asked(known, phase, phase.applies, bool)]
    if len(able) < 2:
        return next(iter(able), None)
    return max(able, key=lambda phase: _asked(known, phase, phase.estimate, Estimate).rate)


def _asked(known: Known, phase: Phase, question: Callable[[Known], T], kind: type[T]) -> T:
    """What a phase says of itself. Raises InputError where one of a user's own fails, or says something else."""
    with _users_code(known, phase):
        found = question(known)
    return instance_of(found, kind, f'the phase "{phase.name}": {question.__name__}', f"a {kind.__name__} returned")


@contextmanager
def _users_code(known: Known, phase: Phase) -> Iterator[None]:
    """Around a call of a phase: of one that a user has registered nothing is taken on trust, and the arrays of the
    instance are the same afterwards."""
    if REGISTERED.get(phase.name) is not type(phase):
        yield
        return
    what = f'the phase "{phase.name}"'
    must = "return from applies a bool, from estimate an Estimate, and keep what run finds in known"
    with mutation_guard(known.instance, what), own_code(what, must), known.tracker.users_code(what):
        yield


@contextmanager
def logged(known: Known, phase: Phase) -> Iterator[None]:
    """Note when a phase begins and ends, and loss and bound before and after it."""
    tracker, clock = known.tracker, known.session.clock
    began, loss, bound = time.perf_counter(), tracker.loss, tracker.value
    with ExitStack() as stack:
        if phase.step and not phase.concurrent:
            stack.enter_context(clock.step(phase.step))
        try:
            with _users_code(known, phase):
                yield
        finally:
            seconds = time.perf_counter() - began
            known.log.append(
                PhaseRun(phase.name, began - clock.began, seconds, tracker.loss, tracker.value, loss, bound)
            )


def _round_seconds(known: Known) -> list[float]:
    """Of all rounds, the last one first, which has all that is left."""
    params, seconds = known.get(RoundParams), [known.whole.left]
    while params.share * seconds[-1] >= params.shortest:
        seconds.append(params.share * seconds[-1])
    return seconds


class Concurrent:
    """A context manager: a phase in a thread, which may take the place of one of the workers until it ends.

    The limits of all other phases end as well once it has settled everything, or fails. What goes wrong in the thread
    is raised by `join`, which is called at the end of the block.
    """

    def __init__(self, known: Known, phase: Phase) -> None:
        self.phase, self._known = phase, known
        self._error: BaseException | None = None
        self._ended = AlsoSet(known.whole.interrupt or threading.Event())
        self._interrupts = known.whole.interrupt, known.limit.interrupt
        self._places, self._joined = ExitStack(), False
        self._give_back: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name=phase.name, daemon=True)

    def __enter__(self) -> Concurrent:
        known, pool = self._known, self._known.pool
        if self.phase.worker:
            threads = known.session.options.threads if known.session.dask is None else pool.workers + 1
            self._give_back = self._places.enter_context(pool.part(threads - 1))
            known.concurrent += 1
        known.whole, known.limit = (replace(each, interrupt=self._ended) for each in (known.whole, known.limit))
        self._limit = known.limit
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            self._known.tracker.own_thread()
            with logged(self._known, self.phase):
                self.phase.run(self._known, self._limit)
            if self._known.settled or self._known.ended:
                self._ended.set()
        except BaseException as error:
            self._error = error
            self._ended.set()
        finally:
            self._give_back()

    def join(self) -> None:
        """Wait for its end; raise what has gone wrong in it."""
        if self._joined:
            return
        if self._known.settled or self._known.ended:
            self._ended.set()
        self._end()
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        self._thread.join()
        self._joined = True
        known, (whole, limit) = self._known, self._interrupts
        known.concurrent -= self.phase.worker
        known.whole, known.limit = replace(known.whole, interrupt=whole), replace(known.limit, interrupt=limit)
        self._places.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self.join()
        elif not self._joined:
            self._ended.set()
            self._end()
