"""SCIP through PySCIPOpt."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers.base import (
    Availability,
    Capability,
    Floats,
    LinearModel,
    OnProgress,
    SolverAdapter,
    SolverOptions,
    SolverResult,
    StopReason,
)
from kanon_milp.solvers.common import (
    Answer,
    Recorder,
    Watch,
    any_point,
    check_input,
    complete_point,
    conclude,
    keep_start,
    obvious_answer,
    usable_start,
)

_OLDEST = (10, 0)  # of SCIP; the first with an event for a better dual bound
_INFINITY = 1e20  # from there on SCIP takes a number as infinite
_PATIENCE = 2.0  # seconds between an interruption and leaving the solver behind
# SCIP 10.0.2 says optimal of 17 of 1,000 small random tables where it is not (the canary `weak_dual_reductions` is what
# is left of one). How many of the same 1,000 are wrong, and seconds for all, by setting:
#     as SCIP comes                           17   13.2        misc/allowweakdualreds off           0   11.4
#     misc/allowstrongdualreds off            17   11.8        presolving off                       0   16.6
#     presolving/domcol off                   17   12.7        presolving/dualsparsify off         17   12.7
#     propagating/dualfix off before the root 17   12.2        presolving/implics off              17   15.4
_SAFE = {"misc/allowweakdualreds": False}
_REASONS = {
    "optimal": StopReason.OPTIMAL,
    "gaplimit": StopReason.OPTIMAL,  # `judge` says what it is worth
    "infeasible": StopReason.INFEASIBLE,
    "unbounded": StopReason.UNBOUNDED,
    "inforunbd": None,
    "timelimit": StopReason.TIME_LIMIT,
    "userinterrupt": StopReason.INTERRUPTED,
    "nodelimit": StopReason.NODE_LIMIT,
    "totalnodelimit": StopReason.NODE_LIMIT,
    # limits that only `extra` can set
    "memlimit": StopReason.ERROR,
    "sollimit": StopReason.ERROR,
    "bestsollimit": StopReason.ERROR,
    "stallnodelimit": StopReason.ERROR,
    "restartlimit": StopReason.ERROR,
    "primallimit": StopReason.ERROR,
    "duallimit": StopReason.ERROR,
}


class ScipAdapter(SolverAdapter):
    """SCIP in a thread of its own, while the caller's thread waits, reports progress and listens to Ctrl-C.

    One thread only: SCIP's concurrent solve of several threads holds Python's lock, so that nobody could interrupt it.
    SCIP looks for interruptions between its steps, not within an LP; there it is left behind after a few seconds, and
    the best point it has reported is returned. Its own handler of Ctrl-C counts for all of the process and is off.
    """

    name = "scip"
    capabilities = frozenset(Capability) - {Capability.THREADS, Capability.EXACT}

    def availability(self) -> Availability:
        """Say whether PySCIPOpt is there and its SCIP new enough."""
        try:
            version = _version()
        except ImportError:
            return Availability.NOT_FOUND
        except Exception:
            return Availability.BROKEN
        return Availability.AVAILABLE if version >= _OLDEST else Availability.TOO_OLD

    def version(self) -> str:
        """Version of SCIP."""
        if self.availability() not in (Availability.AVAILABLE, Availability.TOO_OLD):
            return ""
        return ".".join(map(str, _version()))

    def location(self) -> str:
        """Folder of the module."""
        if self.availability() not in (Availability.AVAILABLE, Availability.TOO_OLD):
            return ""
        return str(importlib.import_module("pyscipopt").__path__[0])

    def solve(
        self,
        model: LinearModel,
        options: SolverOptions,
        start: Mapping[int, float] | Floats | None = None,
        on_progress: OnProgress | None = None,
        interrupt: threading.Event | None = None,
    ) -> SolverResult:
        """Solve the model; see `SolverAdapter.solve`."""
        if not (found := self.availability()):
            oldest = ".".join(map(str, _OLDEST))
            raise SolverError(f"SCIP cannot be used: {found.value}; install PySCIPOpt with SCIP {oldest} or newer")
        check_input(model, options)
        recorder = Recorder(on_progress)
        watch = Watch(recorder, interrupt)

        outcome = obvious_answer(model)
        if outcome is None:
            given = usable_start(model, start)
            point = complete_point(model, given)
            if point is not None:
                given = dict(enumerate(point.tolist()))
                recorder.note(model.value(point), None)
            elif len(given) == model.variables:
                given = {}
            outcome = _run(model, options, given, recorder, watch)
            if outcome.reason is None or (outcome.reason is StopReason.UNBOUNDED and model.integer.any()):
                outcome = any_point(model, lambda other: _run(other, options, {}, recorder, watch, record=False))
            outcome = keep_start(outcome, point)
        return conclude(self, model, options, outcome, recorder)


@functools.cache
def _version() -> tuple[int, ...]:
    scip = importlib.import_module("pyscipopt").Model()
    return int(scip.getMajorVersion()), int(scip.getMinorVersion()), int(scip.getTechVersion())


def _run(
    model: LinearModel,
    options: SolverOptions,
    given: Mapping[int, float],
    recorder: Recorder,
    watch: Watch,
    *,
    record: bool = True,
) -> Answer:
    """One run of SCIP in its own thread; `record=False` keeps it out of the trajectory."""
    pyscipopt = importlib.import_module("pyscipopt")
    scip = pyscipopt.Model()
    scip.hideOutput()
    columns = _fill(scip, model)
    _set_options(scip, options)
    if given:
        _add_start(scip, columns, given, complete=len(given) == model.variables)
    best: list[Floats] = []
    scip.includeEventhdlr(_follower(pyscipopt, columns, recorder, watch, best, record=record), "progress", "progress")

    done = threading.Event()
    failures: list[Exception] = []
    left = recorder.left(options)
    if left is not None:
        scip.setParam("limits/time", left)

    def work() -> None:
        try:
            scip.optimizeNogil()
        except Exception as error:
            failures.append(error)
        finally:
            done.set()

    def stop() -> None:
        # only sets a flag, which SCIP may clear while it begins; then the follower sets it again
        with suppress(Exception):
            scip.interruptSolve()

    threading.Thread(target=work, name="scip", daemon=True).start()
    if not watch.wait(done, _PATIENCE, on_stop=stop, seconds=left):
        asked = "its time limit" if watch.late else "the interruption"
        message = f"SCIP did not react to {asked}; its last reported point is taken"
        bound = recorder.bound if record else None
        outcome = Answer(StopReason.INTERRUPTED, best[0] if best else None, bound, message)
    else:
        try:
            if failures:
                raise SolverError(f"SCIP failed: {failures[0]}") from failures[0]
            outcome = _read(scip, columns)
        finally:
            # closes the log as well
            scip.freeProb()
            scip.setLogfile(None)
    if watch.late and outcome.reason is StopReason.INTERRUPTED:
        outcome = dataclasses.replace(outcome, reason=StopReason.TIME_LIMIT)
    return outcome


def _fill(scip: Any, model: LinearModel) -> list[Any]:
    """Declare variables and rows; PySCIPOpt's sums by operators would take ten times as long."""
    module = importlib.import_module("pyscipopt.scip")
    kinds = {True: "I", False: "C"}
    data = zip(model.c, model.lower, model.upper, model.integer, strict=True)
    columns = [
        scip.addVar(f"x{j}", kinds[bool(integer)], _finite(low), _finite(high), float(cost))
        for j, (cost, low, high, integer) in enumerate(data)
    ]
    scip.addObjoffset(float(model.offset))
    terms = [module.Term(column) for column in columns]
    A = model.A
    indptr, indices, values = A.indptr.tolist(), A.indices.tolist(), A.data.tolist()
    for r, (low, high) in enumerate(zip(model.constraint_lower, model.constraint_upper, strict=True)):
        row: dict[Any, float] = {}
        for at in range(indptr[r], indptr[r + 1]):
            term = terms[indices[at]]
            row[term] = row.get(term, 0.0) + values[at]
        # `obvious_answer` has looked at rows without entries
        if row and (math.isfinite(low) or math.isfinite(high)):
            scip.addCons(module.ExprCons(module.Expr(row), _finite(low), _finite(high)), f"r{r}")
    return columns


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _add_start(scip: Any, columns: list[Any], given: Mapping[int, float], *, complete: bool) -> None:
    """Hand over a start; SCIP completes a partial one by itself, within its time limit."""
    solution = scip.createSol() if complete else scip.createPartialSol()
    for column, value in given.items():
        scip.setSolVal(solution, columns[column], value)
    scip.addSol(solution)


def _follower(
    pyscipopt: Any, columns: list[Any], recorder: Recorder, watch: Watch, best: list[Floats], *, record: bool
) -> Any:
    """An event handler that notes incumbents and bounds, and stops SCIP. It must not refer to the model itself: that
    holds it."""
    kinds = pyscipopt.SCIP_EVENTTYPE
    found = kinds.BESTSOLFOUND
    wanted = (found, kinds.DUALBOUNDIMPROVED, kinds.FIRSTLPSOLVED, kinds.NODEFOCUSED, kinds.PRESOLVEROUND)

    class Follower(pyscipopt.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            for kind in wanted:
                self.model.catchEvent(kind, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == found:
                point = self.model.getBestSol()
                best[:] = [np.array([self.model.getSolVal(point, column) for column in columns])]
            if watch.stop.is_set():
                self.model.interruptSolve()
            if record:
                recorder.note(_bounded(self.model.getPrimalbound()), _bounded(self.model.getDualbound()))

    return Follower()


def _bounded(value: float) -> float | None:
    return None if abs(value) >= _INFINITY else float(value)


def _set_options(scip: Any, options: SolverOptions) -> None:
    own: dict[str, object] = {
        "timing/clocktype": 2,  # wall clock
        "misc/catchctrlc": False,
        **_SAFE,
        "randomization/randomseedshift": options.seed,
        "limits/gap": float(options.gap),
        "limits/absgap": float(options.absolute_gap),
    }
    if options.node_limit is not None:
        own["limits/totalnodes"] = options.node_limit
    if options.log_file is not None:
        scip.setLogfile(str(options.log_file))
    for name, value in (*own.items(), *options.extra.items()):
        try:
            scip.getParam(name)
        except KeyError:
            raise InputError(f"SCIP has no option {name!r}") from None
        try:
            scip.setParam(name, value)
        except Exception:
            raise InputError(f"SCIP does not take the value {value!r} for its option {name!r}") from None


def _read(scip: Any, columns: list[Any]) -> Answer:
    """What SCIP says after a run."""
    status = scip.getStatus()
    if status not in _REASONS:
        raise SolverError(f"SCIP ended with {status!r}, from which nothing can be concluded")
    reason = _REASONS[status]
    if reason in (None, StopReason.INFEASIBLE, StopReason.UNBOUNDED):
        return Answer(reason, None, None)
    x = None
    if scip.getNSols() > 0:
        point = scip.getBestSol()
        x = np.array([scip.getSolVal(point, column) for column in columns])
    return Answer(reason, x, _bounded(scip.getDualbound()), f"SCIP: {status}" if reason is StopReason.ERROR else "")
