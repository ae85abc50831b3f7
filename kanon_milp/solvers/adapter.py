"""The base of all solver adapters: what one solver has to do is `run`, and everything around it is done here.

An adapter is one file with one class. It declares what it can do as class data, and every adapter of this package runs
the same conformance suite (`tests/solvers/test_solvers.py`). One of your own comes in by `register_solver` or by an
entry point of the group `kanon_milp.solvers`.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from kanon_milp.errors import InputError, KanonError, SolverError, UnusablePointError, one_line, type_in_words
from kanon_milp.solvers.base import (
    Availability,
    Capability,
    Floats,
    LinearModel,
    OnProgress,
    RawResult,
    SolverOptions,
    SolverResult,
    StopReason,
)
from kanon_milp.solvers.common import (
    Recorder,
    Watch,
    any_point,
    check_input,
    complaint,
    complete_point,
    keep_start,
    obvious_answer,
    proven,
    usable_start,
)


@dataclass(frozen=True, eq=False)
class SolverCall:
    """One call of a solver: what was asked for, where progress is noted, and who may stop it.

    given: a start, column → value: a complete feasible point, or a partial one that nobody has checked; empty without
    one. point: the complete one as an array, or None.
    """

    options: SolverOptions
    recorder: Recorder
    watch: Watch
    given: Mapping[int, float] = field(default_factory=dict)
    point: Floats | None = None
    silent: bool = False

    @property
    def seconds_left(self) -> float | None:
        """Seconds left of the time limit, None without one."""
        return self.recorder.left(self.options)

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


class SolverAdapter(ABC):
    """One solver. Stateless: every `solve` is independent of those before it.

    A subclass has the methods `availability`, `version`, `location` and `run`. Class data, except where one adapter
    stands for many solvers (PuLP):

    name: what the solver is called in options and results, such as "highs". title: as its authors write it.
    capabilities: what `run` can do; what is not declared is not asked for. needs: how to make it available. counted:
    options that end a small model after the same work on every machine, of a solver without a node limit. confuses:
    whether it may say "infeasible" of a model that is unbounded.
    """

    name: str
    capabilities: frozenset[Capability]
    title: str = ""
    needs: str = ""
    counted: ClassVar[Mapping[str, object]] = MappingProxyType({})
    confuses: ClassVar[bool] = False

    @abstractmethod
    def availability(self) -> Availability:
        """Say whether it can be used here; never raises."""

    @abstractmethod
    def version(self) -> str:
        """Version of the solver itself, or an empty text if it is not available."""

    @abstractmethod
    def location(self) -> str:
        """Where it was found (module or executable), or an empty text."""

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """Solve the model within `call.options` and `call.seconds_left`, and say what the solver claims.

        The point is checked and the claim is judged by the caller. Raises InputError for an option (`options.extra`)
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
    ) -> SolverResult:
        """Solve the model.

        `start` is a complete point (array over all columns) or a partial one (column → value); a bad start is
        ignored, never an error. Ctrl-C (KeyboardInterrupt in the main thread) or setting `interrupt` stops
        the solver and gives the incumbent with StopReason.INTERRUPTED. Raises InputError for an option that
        the solver does not take, SolverError where the solver is not available or fails.
        """
        if not (found := self.availability()):
            raise SolverError(
                f"{self.title or self.name} cannot be used: {found.value}{self.needs and '; '}{self.needs}"
            )
        check_input(model, options)
        if options.node_limit is not None and Capability.NODE_LIMIT not in self.capabilities:
            raise InputError(f"{self.title or self.name} takes no node limit; use another solver or another limit")
        recorder = Recorder(on_progress)
        call = SolverCall(options, recorder, Watch(recorder, interrupt))
        raw = obvious_answer(model)
        if raw is None:
            call = self._started(model, start, call)
            raw = self._answered(model, call)
            if raw.reason is StopReason.INTERRUPTED and call.watch.late:
                raw = replace(raw, reason=StopReason.TIME_LIMIT)
            raw = keep_start(raw, call.point)
        return self._concluded(model, raw, call)

    def _started(self, model: LinearModel, start: Mapping[int, float] | Floats | None, call: SolverCall) -> SolverCall:
        """The call with a start, if there is one that is of use."""
        given = usable_start(model, start)
        partial = 0 < len(given) < model.variables
        point = self.complete(model, replace(call, given=given)) if partial else complete_point(model, given)
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
        )
