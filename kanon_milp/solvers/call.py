"""One call of a solver: what was asked for, how it goes on, who may stop it, and what comes of it."""

from __future__ import annotations

import enum
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kanon_milp.solvers.lazy import Lazy
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.arrays import Floats

_REPORT_EVERY = 0.25  # seconds between two calls of on_progress
_NOTE_EVERY = 0.1  # seconds between two points of the trajectory that differ in the bound only
_POLL_EVERY = 0.05  # seconds between two looks at the interrupt event
_LATE = 1.0  # seconds after its time limit until a solver is stopped: rows are still to be assigned and verified


class StopReason(enum.Enum):
    """Why the solver stopped, in its own words; no proof by itself."""

    OPTIMAL = "optimal"
    GAP_LIMIT = "gap_limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    ITERATION_LIMIT = "iteration_limit"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@dataclass(frozen=True)
class SolverOptions:
    """Options that every solver understands; `extra` goes to the solver as it is.

    time_limit in seconds of wall clock, None for no limit. `gap` is relative. `absolute_gap` is in objective
    units: with an integral objective, 0.999 still ends in a proof. Default gaps of solvers are no proof, so
    both default to 0. node_limit: branch-and-bound nodes, a limit that is the same on every machine; only where the
    adapter has Capability.NODE_LIMIT.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    gap: float = 0.0
    absolute_gap: float = 0.0
    log_file: Path | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    node_limit: int | None = None


@dataclass(frozen=True)
class Progress:
    """One point of the trajectory: seconds since the start, incumbent and bound (None: none yet)."""

    seconds: float
    incumbent: float | None
    bound: float | None


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver claims: `x` its best point over all columns, `bound` its lower bound; None: none.

    backed_by: who stands behind the bound, or behind "infeasible". said: what it has said itself, before an optimum
    was compared with its bound.
    """

    stop_reason: StopReason
    x: Floats | None
    objective: float | None
    bound: float | None
    solver: str
    version: str
    options: SolverOptions
    seconds: float
    trajectory: tuple[Progress, ...] = ()
    message: str = ""
    backed_by: tuple[Backing, ...] = ("solver",)
    said: RawResult | None = None


@dataclass(frozen=True, eq=False)
class RawResult:
    """What a solver says at the end of one run, before it is checked.

    reason: None where it cannot tell infeasible from unbounded. x: float64 (variables,), or None. bound: the lower
    bound that it claims, None for none.
    """

    reason: StopReason | None
    x: Floats | None
    bound: float | None
    message: str = ""


class Recorder:
    """The trajectory of one solve. Any thread may `note`; only the caller's thread may `report`.

    failed: whether on_progress has raised, which is an error of the caller and none of the solver.
    """

    def __init__(self, on_progress: OnProgress | None, started: float | None = None) -> None:
        self.started = time.perf_counter() if started is None else started
        self._on_progress = on_progress
        self.failed = False
        self._reported = -math.inf
        self._incumbent = math.inf
        self._bound = -math.inf
        self._points: list[Progress] = []
        self._lock = threading.Lock()

    def seconds(self) -> float:
        """Wall-clock seconds since the start."""
        return time.perf_counter() - self.started

    def note(self, incumbent: float | None, bound: float | None, last: bool = False) -> None:
        """Take what the solver has; only improvements count, with `last` however small."""
        with self._lock:
            better = incumbent is not None and incumbent < self._incumbent
            tighter = bound is not None and self._bound < bound < math.inf
            if better and incumbent is not None:
                self._incumbent = incumbent
            if tighter and bound is not None:
                self._bound = bound
            new_time = not self._points or self.seconds() - self._points[-1].seconds > _NOTE_EVERY
            if better or (tighter and new_time) or (last and self._state() != self._last_state()):
                self._points.append(Progress(self.seconds(), *self._state()))

    def report(self, now: bool = False) -> None:
        """Call on_progress with the present state, if it is time to."""
        seconds = self.seconds()
        if self._on_progress is not None and (now or seconds - self._reported >= _REPORT_EVERY):
            self._reported = seconds
            self.failed = True
            self._on_progress(Progress(seconds, *self._state()))
            self.failed = False

    @property
    def bound(self) -> float | None:
        """Best bound so far."""
        return self._state()[1]

    @property
    def trajectory(self) -> tuple[Progress, ...]:
        """All points so far."""
        with self._lock:
            return tuple(self._points)

    def _state(self) -> tuple[float | None, float | None]:
        incumbent = self._incumbent if math.isfinite(self._incumbent) else None
        return incumbent, (self._bound if math.isfinite(self._bound) else None)

    def _last_state(self) -> tuple[float | None, float | None]:
        return (self._points[-1].incumbent, self._points[-1].bound) if self._points else (None, None)


class Watch:
    """Waits for a running solver and carries Ctrl-C or the caller's event to it."""

    def __init__(self, recorder: Recorder, interrupt: threading.Event | None) -> None:
        self.stop = threading.Event()
        self._recorder = recorder
        self._interrupt = interrupt
        self._impatient = False
        self.late = False

    def asked(self) -> bool:
        """Whether somebody wants the solver to stop; also looks at the caller's event."""
        if self._interrupt is not None and self._interrupt.is_set():
            self.stop.set()
        return self.stop.is_set()

    def wait(
        self,
        done: threading.Event,
        patience: float,
        on_stop: Callable[[], None] | None = None,
        seconds: float | None = None,
    ) -> bool:
        """Wait until `done`; False if the solver does not react within `patience` seconds to being stopped.

        A second Ctrl-C ends the patience. `on_stop` is called once when stopping is asked for. An exception
        of on_progress stops the solver and is raised. seconds: the solver's own time limit; one that does not keep
        it is stopped `_LATE` seconds later, and `late` is set.
        """
        deadline = math.inf
        over = math.inf if seconds is None else time.perf_counter() + seconds + _LATE
        while True:
            try:
                while not done.wait(_POLL_EVERY):
                    self._recorder.report()
                    if time.perf_counter() > over and not self.stop.is_set():
                        self.late = True
                        self.stop.set()
                    if self.asked() and deadline == math.inf:
                        deadline = time.perf_counter() + patience
                        if on_stop is not None:
                            on_stop()
                    if self._impatient or time.perf_counter() > deadline:
                        return False
                return True
            except KeyboardInterrupt:
                self._impatient = self.stop.is_set()
                self.stop.set()
            except BaseException:
                self.stop.set()
                raise


@dataclass(frozen=True, eq=False)
class SolverCall:
    """One call of a solver: what was asked for, where progress is noted, and who may stop it.

    given: a start, column → value: a complete feasible point, or a partial one that nobody has checked; empty without
    one. point: the complete one as an array, or None. lazy: constraints that the solver asks for as it goes on.
    """

    options: SolverOptions
    recorder: Recorder
    watch: Watch
    given: Mapping[int, float] = field(default_factory=dict)
    point: Floats | None = None
    silent: bool = False
    lazy: Lazy | None = None

    @property
    def seconds_left(self) -> float | None:
        """Seconds left of the time limit, None without one."""
        limit = self.options.time_limit
        return None if limit is None else max(0.0, limit - self.recorder.seconds())

    @property
    def bound(self) -> float | None:
        """The best bound noted so far, of this model."""
        return None if self.silent else self.recorder.bound

    def note(self, incumbent: float | None, bound: float | None) -> None:
        """Take the value of a better point or a better bound; any thread may."""
        if not self.silent:
            self.recorder.note(incumbent, bound)

    def without_start(self) -> SolverCall:
        """The same call for an auxiliary model: without a start, and out of the trajectory."""
        return replace(self, given={}, point=None, silent=True)

    def left_behind(self, solver: str, point: Floats | None) -> RawResult:
        """The result where the solver did not stop when it had to: its last reported point."""
        asked = "its time limit" if self.watch.late else "the interruption"
        message = f"{solver} did not stop at {asked}; its last reported point is used"
        return RawResult(StopReason.INTERRUPTED, point, self.bound, message)


class Background:
    """Work in a thread of its own, so that the caller's thread can wait, report and listen to Ctrl-C."""

    def __init__(self, work: Callable[[], object], name: str) -> None:
        self._work = work
        self.done = threading.Event()
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:
            self.failure = error
        finally:
            self.done.set()
