"""What all adapters share: checks of the input, the trajectory, waiting, and what counts as proven."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.solvers.base import (
    Floats,
    LinearModel,
    OnProgress,
    Progress,
    RawResult,
    SolverOptions,
    StopReason,
)

MAX_SEED = 2**31 - 1
FEASIBILITY = 1e-6  # by how much a start may violate a constraint, a bound or an integrality
VIOLATION = 1e-5  # relative to the largest value (text files have about eight digits); a point beyond is none
_REPORT_EVERY = 0.25  # seconds between two calls of on_progress
_NOTE_EVERY = 0.1  # seconds between two points of the trajectory that differ in the bound only
_POLL_EVERY = 0.05  # seconds between two looks at the interrupt event
_LATE = 1.0  # seconds after its time limit until a solver is stopped: rows are still to be assigned and verified


def check_numbers(model: LinearModel) -> None:
    """Raise InputError for numbers that no solver should see; HiGHS calls a model with a NaN cost solved."""
    arrays = (model.c, model.A.data, model.lower, model.upper, model.constraint_lower, model.constraint_upper)
    if any(np.isnan(array).any() for array in arrays) or math.isnan(model.offset):
        raise InputError(f"model {model.name!r} contains a NaN")
    if not (np.isfinite(model.c).all() and np.isfinite(model.A.data).all() and math.isfinite(model.offset)):
        raise InputError(f"model {model.name!r} contains an infinite coefficient")


def check_input(model: LinearModel, options: SolverOptions) -> None:
    """Raise InputError for numbers that no solver should see, in the model or in the options."""
    check_numbers(model)
    if options.time_limit is not None and not options.time_limit >= 0:
        raise InputError(f"the time limit must be at least 0 seconds, not {options.time_limit}")
    if options.threads < 1:
        raise InputError(f"the number of threads must be at least 1, not {options.threads}")
    if options.node_limit is not None and options.node_limit < 0:
        raise InputError(f"the node limit must be at least 0, not {options.node_limit}")
    if not 0 <= options.seed <= MAX_SEED:
        raise InputError(f"the seed must be between 0 and {MAX_SEED}, not {options.seed}")
    for label, gap in (("gap", options.gap), ("absolute gap", options.absolute_gap)):
        if not 0 <= gap < math.inf:
            raise InputError(f"the {label} must be a number of at least 0, not {gap}")
    if options.log_file is not None:
        try:
            # solvers append, or say nothing about a file that they cannot write
            options.log_file.write_bytes(b"")
        except OSError as error:
            raise InputError(f"cannot write the log file {options.log_file}: {error.strerror or error}") from error


def obvious_answer(model: LinearModel) -> RawResult | None:
    """Answer models that solvers disagree about or crash on: contradicting bounds, empty constraints."""
    contradictions = (
        (model.lower > model.upper) | (model.lower == np.inf) | (model.upper == -np.inf),
        (model.constraint_lower > model.constraint_upper)
        | (model.constraint_lower == np.inf)
        | (model.constraint_upper == -np.inf),
    )
    if any(bad.any() for bad in contradictions):
        return RawResult(StopReason.INFEASIBLE, None, None)
    empty = np.diff(model.A.indptr) == 0
    if ((model.constraint_lower[empty] > 0) | (model.constraint_upper[empty] < 0)).any():
        return RawResult(StopReason.INFEASIBLE, None, None)
    return _without_constraints(model) if empty.all() else None


def _without_constraints(model: LinearModel) -> RawResult:
    """Every variable at its better bound."""
    low = np.where(model.integer, np.ceil(model.lower), model.lower)
    high = np.where(model.integer, np.floor(model.upper), model.upper)
    if (low > high).any():
        return RawResult(StopReason.INFEASIBLE, None, None)
    x = np.where(model.c > 0, low, np.where(model.c < 0, high, np.clip(0.0, low, high)))
    if not np.isfinite(x).all():
        return RawResult(StopReason.UNBOUNDED, None, None)
    return RawResult(StopReason.OPTIMAL, x, model.value(x))


def usable_start(model: LinearModel, start: Mapping[int, float] | Floats | None) -> dict[int, float]:
    """The finite values of a start by column; empty for a start that is of no use."""
    if start is None:
        return {}
    try:
        if isinstance(start, Mapping):
            given = {int(column): float(value) for column, value in start.items()}
        else:
            values = np.asarray(start, dtype=np.float64)
            if values.shape != (model.variables,):
                return {}
            given = dict(enumerate(values.tolist()))
    except (TypeError, ValueError):
        return {}
    if not all(0 <= column < model.variables and math.isfinite(value) for column, value in given.items()):
        return {}
    return given


def complete_point(model: LinearModel, given: Mapping[int, float]) -> Floats | None:
    """The start as a point if it is complete and feasible, with exact integers."""
    if len(given) != model.variables or not given:
        return None
    x = np.array([given[column] for column in range(model.variables)])
    if model.violation(x) > FEASIBILITY:
        return None
    x[model.integer] = np.round(x[model.integer])
    clipped: Floats = np.clip(x, model.lower, model.upper)
    return clipped


def keep_start(raw: RawResult, point: Floats | None) -> RawResult:
    """With the feasible start as the point where the solver stopped before it took that up."""
    if point is None or raw.x is not None or raw.reason is StopReason.UNBOUNDED:
        return raw
    if raw.reason is StopReason.INFEASIBLE:
        message = "the solver says infeasible although it was given a feasible start; its claim is discarded"
        return RawResult(StopReason.ERROR, point, None, message)
    return replace(raw, x=point)


def complaint(model: LinearModel, x: Floats) -> str:
    """What makes a point that a solver has returned useless; empty if nothing does."""
    if x.shape != (model.variables,):
        return f"its point has {x.size} values for {model.variables} variables"
    if not np.isfinite(x).all():
        return f"{int((~np.isfinite(x)).sum())} values of its point are not finite"
    if model.violation(x) > VIOLATION * max(1.0, float(np.abs(x).max(initial=0.0))):
        return "its point does not satisfy the model"
    return ""


def any_point(model: LinearModel, run: Callable[[LinearModel], RawResult]) -> RawResult:
    """Solve without the objective, as an unbounded relaxation leaves open whether there is any point: the point itself
    is of no use."""
    raw = run(replace(model, c=np.zeros(model.variables), offset=0.0))
    reason = StopReason.UNBOUNDED if raw.reason is StopReason.OPTIMAL else raw.reason
    return RawResult(reason, None, None, raw.message)


def proven(objective: float, bound: float | None, options: SolverOptions) -> tuple[StopReason, float | None]:
    """Stop reason and bound of a solver that says optimal, as it also does within its gap limits."""
    if bound is None or not math.isfinite(bound):
        return StopReason.GAP_LIMIT, None
    bound = min(bound, objective)
    proven = objective - bound <= options.absolute_gap + 1e-6 * max(1.0, abs(objective))
    return (StopReason.OPTIMAL if proven else StopReason.GAP_LIMIT), bound


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

    def left(self, options: SolverOptions) -> float | None:
        """Seconds left of the time limit, None without one."""
        return None if options.time_limit is None else max(0.0, options.time_limit - self.seconds())

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
