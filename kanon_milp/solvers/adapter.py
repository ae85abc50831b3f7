"""The base of all solver adapters: what one solver has to do is `run`, and everything around it is done here.

An adapter is one file with one class. It declares what it can do as class data, and every adapter of this package runs
the same conformance suite (`tests/solvers/test_adapter.py`). One of your own comes in by `register_solver` or by an
entry point of the group `kanon_milp.solvers`.
"""

from __future__ import annotations

import enum
import importlib.metadata
import importlib.util
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from kanon_milp.errors import InputError, KanonError, SolverError, UnusablePointError, one_line, type_in_words
from kanon_milp.solvers.call import (
    OnProgress,
    RawResult,
    Recorder,
    SolverCall,
    SolverOptions,
    SolverResult,
    StopReason,
    Watch,
)
from kanon_milp.solvers.lazy import Lazy
from kanon_milp.solvers.model import LinearModel, beyond_floats, check_numbers, complaint, complete_point, usable_start
from kanon_milp.solvers.search_log import SearchLog
from kanon_milp.system.arrays import Floats

MAX_SEED = 2**31 - 1
WITH_LAZY = 'solve with "scip", or add all of them to the model'
NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Availability(enum.Enum):
    """Whether a solver can be used here; true in a boolean context only if it can."""

    AVAILABLE = "available"
    NOT_FOUND = "not found"
    TOO_OLD = "too old"
    BROKEN = "found, but it does not run"

    def __bool__(self) -> bool:
        return self is Availability.AVAILABLE


class Capability(enum.Enum):
    """What an adapter can do; the conformance suite tests exactly what is declared."""

    START = "takes a complete starting point"
    PARTIAL_START = "takes a partial starting point"
    BOUND = "reports a dual bound when it stops early"
    TRAJECTORY = "reports incumbents and bounds over time"
    THREADS = "runs on a chosen number of threads"
    SEED = "takes a random seed"
    LOG_FILE = "writes its log to a file"
    NODE_LIMIT = "stops after a number of nodes"
    INTERRUPT = "keeps the incumbent when it is interrupted"
    EXACT = "computes in integers, without rounding"
    CONTINUOUS = "takes fractional and unbounded variables"
    LAZY = "asks for constraints while it solves a model"


class Setting(enum.Enum):
    """What is known of a model, and makes some solvers faster or safer; an adapter says by which options."""

    VERTEX = "a linear program of which a vertex is wanted"
    NEARLY_INTEGRAL = "the relaxation is nearly integral, and rounding it gives good points"
    MIXED = "fractional variables stand beside integer ones"
    CONDENSED = "what is alike is one variable already, so there is no symmetry to look for"
    SAME_WORK = "a small model that shall end after the same work on every machine"


def numbers(version: str) -> tuple[int, ...]:
    """Major, minor and patch number."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


class SolverAdapter:
    """One solver. Stateless: every `solve` is independent of those before it.

    A subclass has the method `run`, and says where the solver is: by `module`, or by the methods `installed` and
    `location`. All else is data of the class, except where one adapter stands for many solvers (PuLP):

    name: what the solver is called in options and results. title: as its authors write it. aliases: what else people
    call it. capabilities: what `run` can do; what is not declared is not asked for. needs: how to make it available.
    module: the Python module by which it is reached. oldest: the first version that can be used.
    option_names: its names of fields of `SolverOptions`; always: options of its own for every call; settings: for what
    is known of a model. alternatives: options by which it solves in another way, for a second look at its own claims.
    engine: the name of the solver inside, where several adapters reach the same one. confirms: its place among those
    that look at the claims of others, the lowest first; None for one that is not asked to. search_log: how its log says
    what the search did. confuses: whether it may say "infeasible" of a model that is unbounded.
    """

    name: str
    capabilities: frozenset[Capability]
    title: str = ""
    needs: str = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    module: ClassVar[str] = ""
    oldest: ClassVar[tuple[int, ...]] = ()
    option_names: ClassVar[Mapping[str, str]] = NOTHING
    always: ClassVar[Mapping[str, object]] = NOTHING
    settings: ClassVar[Mapping[Setting, Mapping[str, object]]] = NOTHING
    alternatives: ClassVar[tuple[Mapping[str, object], ...]] = ()
    engine: str = ""
    confirms: ClassVar[int | None] = None
    search_log: ClassVar[SearchLog | None] = None
    confuses: ClassVar[bool] = False

    def installed(self) -> str:
        """Version of the solver itself. Raises ImportError where it is not found, another error where it is broken."""
        if not self.location():
            raise ImportError
        return importlib.metadata.version(self.module)

    def location(self) -> str:
        """Where it was found (module or executable), or an empty text."""
        try:
            found = importlib.util.find_spec(self.module) if self.module else None
        except (ImportError, ValueError):
            return ""
        return "" if found is None or found.origin is None else str(Path(found.origin).parent)

    def availability(self) -> Availability:
        """Say whether it can be used here; never raises."""
        try:
            version = self.installed()
        except ImportError:
            return Availability.NOT_FOUND
        except Exception:
            return Availability.BROKEN
        return Availability.AVAILABLE if numbers(version) >= self.oldest else Availability.TOO_OLD

    def version(self) -> str:
        """Version of the solver itself, or an empty text if it is not found."""
        return self.installed() if self.availability() in (Availability.AVAILABLE, Availability.TOO_OLD) else ""

    def with_executable(self, path: Path | str) -> SolverAdapter:
        """The same with the executable at this path."""
        raise InputError(f"the solver {self.name!r} takes no executable (found {path})")

    def script(self, options: Mapping[str, object]) -> str:
        """Lines of Python that solve model.mps by this solver alone, with its own options; "" where there are none."""
        return ""

    def own_options(self, options: SolverOptions) -> dict[str, object]:
        """Its options in its own words, those last that go to it as they are."""
        plain = replace(options, gap=float(options.gap), absolute_gap=float(options.absolute_gap))
        given = {own: getattr(plain, name) for name, own in self.option_names.items()}
        named = {own: str(value) if isinstance(value, Path) else value for own, value in given.items()}
        return {**self.always, **{own: value for own, value in named.items() if value is not None}, **options.extra}

    def suited(self, options: SolverOptions, known: Iterable[Setting]) -> SolverOptions:
        """The options with its own for what is known of a model; what the user asks for comes first."""
        own = {name: value for each in known for name, value in self.settings.get(each, NOTHING).items()}
        return replace(options, extra={**own, **options.extra})

    def takes(self, model: LinearModel) -> bool:
        """Whether it is made for such models: some solvers are for integer programs only."""
        return Capability.CONTINUOUS in self.capabilities or bool(model.integer.all()) or model.integral

    def restated(self, model: LinearModel) -> LinearModel:
        """The model as this solver has to get it, so that its claims can be believed."""
        return model

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """Solve the model within `call.options` and `call.seconds_left`, and say what the solver claims.

        The caller checks the point, and what the claim is worth. Raises InputError for an option (`options.extra`)
        that the solver does not take, SolverError where it fails.
        """
        raise SolverError(f"the adapter {self.name!r} must define a method run")

    def complete(self, model: LinearModel, call: SolverCall) -> Floats | None:
        """A complete feasible point from the partial start `call.given`; None where the solver does that itself."""
        return None

    def solve(
        self,
        model: LinearModel,
        options: SolverOptions,
        start: Mapping[int, float] | Floats | None = None,
        on_progress: OnProgress | None = None,
        interrupt: threading.Event | None = None,
        lazy: Lazy | None = None,
    ) -> SolverResult:
        """Solve the model.

        `start` is a complete point (array over all columns) or a partial one (column → value); a bad start is
        ignored, never an error. Ctrl-C (KeyboardInterrupt in the main thread) or setting `interrupt` stops
        the solver and gives the incumbent with StopReason.INTERRUPTED. `lazy`: constraints that are stated
        while it is solved. Raises InputError for an option that the solver does not take, SolverError where
        the solver is not available or fails.
        """
        if not (found := self.availability()):
            raise SolverError(
                f"{self.title or self.name} cannot be used: {found.value}{self.needs and '; '}{self.needs}"
            )
        check_input(model, options)
        if options.node_limit is not None and Capability.NODE_LIMIT not in self.capabilities:
            raise InputError(f"{self.title or self.name} takes no node limit; use another solver or another limit")
        if lazy is not None and Capability.LAZY not in self.capabilities:
            raise InputError(f"{self.title or self.name} takes no lazy constraints or cuts; {WITH_LAZY}")
        recorder = Recorder(on_progress)
        call = SolverCall(options, recorder, Watch(recorder, interrupt), lazy=lazy)
        raw = obvious_answer(model)
        if lazy is not None and raw is not None and raw.x is not None:
            raw = None  # of the model without them
        if raw is None:
            call = self._started(model, start, call)
            raw = self._answered(model, call)
            if raw.reason is StopReason.INTERRUPTED and call.watch.late:
                raw = replace(raw, reason=StopReason.TIME_LIMIT)
            raw = keep_start(raw, call.point)
        return self._concluded(model, raw, call)

    def _started(self, model: LinearModel, start: Mapping[int, float] | Floats | None, call: SolverCall) -> SolverCall:
        given = usable_start(model, start)
        partial = 0 < len(given) < model.variables
        point = self.complete(model, replace(call, given=given)) if partial else complete_point(model, given)
        if call.lazy is not None and point is not None and call.lazy.violated(point):
            return call
        if point is None:
            return replace(call, given=given if partial else {})
        if Capability.TRAJECTORY in self.capabilities:
            call.note(model.value(point), None)
        return replace(call, given=dict(enumerate(point.tolist())), point=point)

    def _answered(self, model: LinearModel, call: SolverCall) -> RawResult:
        """What the solver says, asked again without the objective where it has only looked at the relaxation."""
        if call.watch.asked():
            return RawResult(StopReason.INTERRUPTED, call.point, None)
        raw = self._run(model, call)
        unbounded = raw.reason is StopReason.UNBOUNDED and bool(model.integer.any())
        if raw.reason is None or unbounded or (self.confuses and raw.reason is StopReason.INFEASIBLE):
            return any_point(model, lambda other: self._run(other, call.without_start()))
        return raw

    def _run(self, model: LinearModel, call: SolverCall) -> RawResult:
        try:
            raw: object = self.run(model, call)
        except Exception as error:
            if isinstance(error, KanonError) or call.recorder.failed:
                raise
            raise SolverError(f"{self.title or self.name} failed: {type(error).__name__}: {one_line(error)}") from error
        if not isinstance(raw, RawResult):
            raise SolverError(f"{type(self).__name__}.run must return a RawResult, found {type_in_words(raw)}")
        fields: tuple[tuple[str, object, Any, str], ...] = (
            ("reason", raw.reason, StopReason, "a StopReason"),
            ("bound", raw.bound, int | float | np.number, "a number"),
            ("x", raw.x, np.ndarray, "an array of numbers"),
            ("message", raw.message, str, "text"),
        )
        for field_name, value, kind, expected in fields:
            if value is not None and not isinstance(value, kind):
                raise SolverError(
                    f"{type(self).__name__}.run returned a RawResult whose {field_name} is {type_in_words(value)}; "
                    f"{expected}{' or None' if field_name != 'message' else ''} is expected"
                )
        if raw.x is not None and (raw.x.dtype.kind not in "biuf" or raw.x.ndim != 1):
            raise SolverError(
                f"{type(self).__name__}.run returned a point {raw.x.shape} of {raw.x.dtype}; an array of numbers is "
                f"expected, one a variable: ({model.variables},) of float64"
            )
        return raw if raw.x is None else replace(raw, x=raw.x.astype(np.float64, copy=False))

    def _concluded(self, model: LinearModel, raw: RawResult, call: SolverCall) -> SolverResult:
        """The result, with the last point of its trajectory. Raises UnusablePointError where the point is none."""
        if raw.x is not None and (wrong := complaint(model, raw.x)):
            raise UnusablePointError(f"{self.name} returned an unusable point: {wrong}")
        if raw.x is not None and call.lazy is not None and call.lazy.violated(raw.x):
            raise UnusablePointError(f"{self.name} returned an unusable point: it violates a lazy constraint")
        reason, bound, message = raw.reason or StopReason.ERROR, raw.bound, raw.message
        if raw.x is None and reason in (StopReason.OPTIMAL, StopReason.GAP_LIMIT):
            raise UnusablePointError(f"{self.name} says {reason.value.replace('_', ' ')} and returned no point")
        if reason is StopReason.ERROR and not message:
            message = f"{self.name} ended with an error and says nothing about it"
        if bound is not None and not math.isfinite(bound):
            bound = None
        if reason is StopReason.OPTIMAL and bound is None and not message:
            message = f"{self.name} says optimal and names no bound, so its word is no proof"
        objective = None if raw.x is None else model.value(raw.x)
        if reason is StopReason.OPTIMAL and objective is not None:
            reason, bound = proven(objective, bound, call.options)
        call.recorder.note(objective, bound, last=True)
        call.recorder.report(now=True)
        return SolverResult(
            stop_reason=reason,
            x=raw.x,
            objective=objective,
            bound=bound,
            solver=self.name,
            version=self.version(),
            options=call.options,
            seconds=call.recorder.seconds(),
            trajectory=call.recorder.trajectory,
            message=message,
            said=raw,
        )


def check_input(model: LinearModel, options: SolverOptions) -> None:
    """Raise InputError for numbers that no solver should see, in the model or in the options, SolverError for a model
    with coefficients that floating point does not hold."""
    check_numbers(model)
    if said := beyond_floats(model):
        raise SolverError(said)
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


def keep_start(raw: RawResult, point: Floats | None) -> RawResult:
    """With the feasible start as the point where the solver stopped before it took that up."""
    if point is None or raw.x is not None or raw.reason is StopReason.UNBOUNDED:
        return raw
    if raw.reason is StopReason.INFEASIBLE:
        message = "the solver says infeasible although it was given a feasible start; its claim is discarded"
        return RawResult(StopReason.ERROR, point, None, message)
    return replace(raw, x=point)


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
