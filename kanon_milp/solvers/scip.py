"""SCIP through PySCIPOpt."""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers.adapter import Capability, SolverAdapter
from kanon_milp.solvers.call import Background, RawResult, SolverCall, SolverOptions, StopReason
from kanon_milp.solvers.lazy import Lazy, Row
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.search_log import NUMBER, SearchLog
from kanon_milp.system.arrays import Floats

_INFINITY = 1e20  # from there on SCIP takes a number as infinite
_PATIENCE = 2.0  # seconds between an interruption and leaving the solver behind
# SCIP 10.0.2 says optimal of 17 of 1,000 small random tables where it is not (the canary `weak_dual_reductions` is what
# is left of one). How many of the same 1,000 are wrong, and seconds for all, by setting:
#     as SCIP comes                           17   13.2        misc/allowweakdualreds off           0   11.4
#     misc/allowstrongdualreds off            17   11.8        presolving off                       0   16.6
#     presolving/domcol off                   17   12.7        presolving/dualsparsify off         17   12.7
#     propagating/dualfix off before the root 17   12.2        presolving/implics off              17   15.4
_SAFE = {"misc/allowweakdualreds": False}
# What SCIP concludes from the constraints that it has must hold with those that are still to come: the handler locks
# all variables, and these would not ask it.
_WITH_LAZY = {
    "misc/usesymmetry": 0,
    "misc/allowstrongdualreds": False,
    "constraints/components/maxprerounds": 0,
    "constraints/components/maxdepth": -1,
}
_REASONS = {
    "optimal": StopReason.OPTIMAL,
    "gaplimit": StopReason.OPTIMAL,  # `proven` says what it is worth
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

    name, title = "scip", "SCIP"
    module = "pyscipopt"
    oldest = (10, 0)  # of SCIP; the first with an event for a better dual bound
    needs = f"install PySCIPOpt with SCIP {'.'.join(map(str, oldest))} or newer"
    capabilities = frozenset(Capability) - {Capability.THREADS, Capability.EXACT}
    option_names: ClassVar = {
        "seed": "randomization/randomseedshift",
        "gap": "limits/gap",
        "absolute_gap": "limits/absgap",
        "node_limit": "limits/totalnodes",
    }
    always: ClassVar = {"timing/clocktype": 2, "misc/catchctrlc": False, **_SAFE}  # 2: wall clock
    engine = name
    confirms = 2
    search_log = SearchLog(
        re.compile(
            rf"^.?\s*(?P<seconds>{NUMBER})s\|\s*(?P<node>\d+)\s*\|(?:[^|]*\|){{12}}\s*(?P<bound>[^|\s]+)\s*\|[^|]*\|[^|]*\|"
        ),
        re.compile(r"^\s*Solving Nodes\s*:\s*(\d+)"),
        re.compile(r"^\s*Dual Bound\s*:\s*(\S+)"),
        root=1,
    )

    def script(self, options: Mapping[str, object]) -> str:
        """As for every adapter."""
        return "".join(
            [
                "import pyscipopt\n\nscip = pyscipopt.Model()\n",
                *(f"scip.setParam({name!r}, {value!r})\n" for name, value in options.items()),
                'scip.readProblem("model.mps")\nscip.optimize()\nprint(scip.getStatus(), scip.getObjVal())\n',
            ]
        )

    def installed(self) -> str:
        """Version of SCIP, not of its Python package."""
        return _version()

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """SCIP in its own thread; see `SolverAdapter.run`."""
        return _run(model, call)


@functools.cache
def _version() -> str:
    scip = importlib.import_module("pyscipopt").Model()
    return f"{scip.getMajorVersion()}.{scip.getMinorVersion()}.{scip.getTechVersion()}"


def _run(model: LinearModel, call: SolverCall) -> RawResult:
    pyscipopt = importlib.import_module("pyscipopt")
    scip = pyscipopt.Model()
    scip.hideOutput()
    columns = _fill(scip, model)
    _set_options(scip, call.options)
    if call.given:
        _add_start(scip, columns, call.given, complete=call.point is not None)
    best: list[Floats] = []
    scip.includeEventhdlr(_follower(pyscipopt, columns, call, best), "progress", "progress")
    if call.lazy is not None:
        _ask_for(scip, pyscipopt, columns, call.lazy)
    left = call.seconds_left
    if left is not None:
        scip.setParam("limits/time", left)

    def stop() -> None:
        # only sets a flag, which SCIP may clear while it begins; then the follower sets it again
        with suppress(Exception):
            scip.interruptSolve()

    running = Background(scip.optimizeNogil, "scip")
    if not call.watch.wait(running.done, _PATIENCE, on_stop=stop, seconds=left):
        return call.left_behind("SCIP", best[0] if best else None)
    try:
        if running.failure is not None:
            raise SolverError(f"SCIP failed: {running.failure}") from running.failure
        if call.lazy is not None and call.lazy.failures:
            raise call.lazy.failures[0]
        return _read(scip, columns)
    finally:
        # closes the log as well
        scip.freeProb()
        scip.setLogfile(None)


def _fill(scip: Any, model: LinearModel) -> list[Any]:
    """Declare variables and constraints; PySCIPOpt's sums by operators would take ten times as long."""
    module = importlib.import_module("pyscipopt.scip")
    kinds = {True: "I", False: "C"}
    data = zip(model.c, model.lower, model.upper, model.integer, strict=True)
    columns = [
        scip.addVar(f"x{j}", kinds[bool(integer)], _finite(low), _finite(high), float(cost))
        for j, (cost, low, high, integer) in enumerate(data)
    ]
    terms = [module.Term(column) for column in columns]
    scip.addObjoffset(float(model.offset))
    A = model.A
    indptr, indices, values = A.indptr.tolist(), A.indices.tolist(), A.data.tolist()
    for r, (low, high) in enumerate(zip(model.constraint_lower, model.constraint_upper, strict=True)):
        entries = slice(indptr[r], indptr[r + 1])
        # `obvious_answer` has looked at constraints without entries
        if indptr[r] < indptr[r + 1] and (math.isfinite(low) or math.isfinite(high)):
            scip.addCons(_constraint(module, terms, indices[entries], values[entries], low, high), f"r{r}")
    return columns


def _constraint(
    module: Any, terms: list[Any], indices: Iterable[int], values: Iterable[float], low: float, high: float
) -> Any:
    terms_of: dict[Any, float] = {}
    for column, value in zip(indices, values, strict=True):
        terms_of[terms[column]] = terms_of.get(terms[column], 0.0) + value
    return module.ExprCons(module.Expr(terms_of), _finite(low), _finite(high))


def _ask_for(scip: Any, pyscipopt: Any, columns: list[Any], lazy: Lazy) -> None:
    """A constraint handler that asks for what a point violates, and states it. Like the follower it must not refer to
    the model itself."""
    module, result = importlib.import_module("pyscipopt.scip"), pyscipopt.SCIP_RESULT
    terms = [module.Term(column) for column in columns]

    class Handler(pyscipopt.Conshdlr):  # type: ignore[misc]
        def violated(self, solution: Any, *, relaxed: bool = False) -> list[Row]:
            try:
                return lazy.violated(
                    np.array([self.model.getSolVal(solution, column) for column in columns]), relaxed=relaxed
                )
            except BaseException as error:
                lazy.failures.append(error)
                self.model.interruptSolve()
                return []

        def stated(self, otherwise: Any, *, relaxed: bool = False) -> dict[str, Any]:
            rows = self.violated(None, relaxed=relaxed)
            for row in rows:
                lazy.rows.append(row)
                indices, values = row.columns.tolist(), row.values.tolist()
                self.model.addCons(
                    _constraint(module, terms, indices, values, row.low, row.high), f"lazy{len(lazy.rows)}"
                )
            return {"result": result.CONSADDED if rows else otherwise}

        def consenfolp(self, *_: object) -> dict[str, Any]:
            return self.stated(result.FEASIBLE)

        def consenfops(self, *_: object) -> dict[str, Any]:
            return self.stated(result.FEASIBLE)

        def conssepalp(self, *_: object) -> dict[str, Any]:
            return self.stated(result.DIDNOTFIND, relaxed=True)

        def conscheck(self, _constraints: object, solution: Any, *_: object) -> dict[str, Any]:
            return {"result": result.INFEASIBLE if self.violated(solution) else result.FEASIBLE}

        def conslock(self, _constraint: object, _kind: object, above: int, below: int) -> None:
            for column in columns:
                self.model.addVarLocks(column, above + below, above + below)

    # below 0, that of integrality: solutions of the relaxation are asked about once they are integral
    order = {"enfopriority": -1, "chckpriority": -1, "sepafreq": -1 if lazy.relaxations is None else 1}
    scip.includeConshdlr(Handler(), "lazy", "lazy constraints", **order, needscons=False)
    for name, value in _WITH_LAZY.items():
        scip.setParam(name, value)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _add_start(scip: Any, columns: list[Any], given: Mapping[int, float], *, complete: bool) -> None:
    """Hand over a start; SCIP completes a partial one by itself, within its time limit."""
    solution = scip.createSol() if complete else scip.createPartialSol()
    for column, value in given.items():
        scip.setSolVal(solution, columns[column], value)
    scip.addSol(solution)


def _follower(pyscipopt: Any, columns: list[Any], call: SolverCall, best: list[Floats]) -> Any:
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
            if call.watch.stop.is_set():
                self.model.interruptSolve()
            call.note(_bounded(self.model.getPrimalbound()), _bounded(self.model.getDualbound()))

    return Follower()


def _bounded(value: float) -> float | None:
    return None if abs(value) >= _INFINITY else float(value)


def _set_options(scip: Any, options: SolverOptions) -> None:
    if options.log_file is not None:
        scip.setLogfile(str(options.log_file))
    for name, value in ScipAdapter().own_options(options).items():
        try:
            scip.getParam(name)
        except KeyError:
            raise InputError(f"SCIP has no option {name!r}") from None
        try:
            scip.setParam(name, value)
        except Exception:
            raise InputError(f"SCIP does not take the value {value!r} for its option {name!r}") from None


def _read(scip: Any, columns: list[Any]) -> RawResult:
    status = scip.getStatus()
    if status not in _REASONS:
        raise SolverError(f"SCIP ended with {status!r}, a status that proves nothing")
    reason = _REASONS[status]
    if reason in (None, StopReason.INFEASIBLE, StopReason.UNBOUNDED):
        return RawResult(reason, None, None)
    x = None
    if scip.getNSols() > 0:
        point = scip.getBestSol()
        x = np.array([scip.getSolVal(point, column) for column in columns])
    return RawResult(reason, x, _bounded(scip.getDualbound()), f"SCIP: {status}" if reason is StopReason.ERROR else "")
