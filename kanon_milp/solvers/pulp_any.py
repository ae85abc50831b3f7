"""Any solver that PuLP reaches, as `pulp:NAME`."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import inspect
import math
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from kanon_milp.errors import InputError, SolverError, nearest
from kanon_milp.solvers.adapter import MAX_SEED, Availability, Capability, SolverAdapter
from kanon_milp.solvers.call import Background, RawResult, SolverCall, SolverOptions, StopReason
from kanon_milp.solvers.cbc import says_infeasible
from kanon_milp.solvers.highs import HighsAdapter, all_integer, new_highs
from kanon_milp.solvers.model import LinearModel, complaint
from kanon_milp.system.arrays import Floats

PULP = "pulp:"
_PATIENCE = 2.0  # seconds between an interruption and leaving the solver behind
_MISLED = ("HiGHS_CMD",)  # a start may end as the optimum that it is not, and there is no bound that would tell (1.16)
# as in the adapter of SCIP, in the words of its interfaces
_SAFE = {
    "SCIP_PY": ("misc/allowweakdualreds=0",),
    "SCIP_CMD": ("misc/allowweakdualreds=FALSE",),
    "FSCIP_CMD": ("misc/allowweakdualreds=FALSE",),
}
_ENGINES = {  # adapters of this package that reach the same solver
    HighsAdapter.name: ("HiGHS", "HiGHS_CMD"),
    "cbc": ("PULP_CBC_CMD", "COIN_CMD"),
    "scip": ("SCIP_PY", "SCIP_CMD", "FSCIP_CMD"),
}
_CBC_SEEDS = ("randomSeed", "randomCbcSeed")
_LICENCE = "and a licence"
# what PuLP needs for the solvers that people ask for by their plain names
NEEDS = {
    "GUROBI": f"the Python package gurobipy {_LICENCE}",
    "GUROBI_CMD": f"the executable gurobi_cl on the PATH {_LICENCE}",
    "CPLEX_PY": f"the Python package cplex {_LICENCE}",
    "CPLEX_CMD": f"the executable cplex on the PATH {_LICENCE}",
    "XPRESS": f"the executable optimizer on the PATH {_LICENCE}",
    "XPRESS_PY": f"the Python package xpress {_LICENCE}",
    "MOSEK": f"the Python package Mosek {_LICENCE}",
    "COPT": f"the Python package coptpy {_LICENCE}",
    "COPT_CMD": f"the executable copt_cmd on the PATH {_LICENCE}",
    "GLPK_CMD": "the executable glpsol on the PATH",
    "PYGLPK": "the Python package glpk",
    "SCIP_CMD": "the executable scip on the PATH",
    "FSCIP_CMD": "the executable fscip on the PATH",
}


class PulpAdapter(SolverAdapter):
    """One of PuLP's solvers.

    PuLP reports no bounds, says optimal at a time limit, and returns zeros where there is no point: only its
    `sol_status` 1 counts as proven, only for solvers that take gaps, and a point must satisfy the model. An
    interrupted solver is left behind if it does not end within a few seconds; a Ctrl-C on a terminal reaches
    those that are executables, and then their point is returned.
    """

    confuses = True
    option_names: ClassVar = {
        "gap": "gapRel",
        "absolute_gap": "gapAbs",
        "threads": "threads",
        "log_file": "logPath",
    }

    def __init__(self, solver: str) -> None:
        known = solver_names()
        if solver not in known:
            raise InputError(f"PuLP has no solver {solver!r}{nearest(solver, known)}; it has {', '.join(known)}")
        self.solver = solver
        self.name = self.title = f"{PULP}{solver}"
        self.engine = next((engine for engine, names in _ENGINES.items() if solver in names), self.name)
        self.needs = f"PuLP finds it only with {NEEDS.get(solver, 'its package or executable')}"
        parameters = self._parameters()
        found = {
            Capability.START: "warmStart" in parameters and solver not in _MISLED,
            Capability.THREADS: "threads" in parameters,
            Capability.LOG_FILE: "logPath" in parameters,
            Capability.SEED: self._takes_seed(),
            Capability.CONTINUOUS: True,
        }
        self.capabilities = frozenset(capability for capability, has in found.items() if has)

    def availability(self) -> Availability:
        """Say whether PuLP finds the solver."""
        try:
            with warnings.catch_warnings(action="ignore"):
                found = _pulp().getSolver(self.solver, msg=False).available()
        except Exception:
            return Availability.NOT_FOUND
        return Availability.AVAILABLE if found else Availability.NOT_FOUND

    def version(self) -> str:
        """Version of PuLP, as it does not tell that of its solvers."""
        return f"PuLP {importlib.metadata.version('pulp')}" if self.availability() else ""

    def location(self) -> str:
        """Path of the solver's executable, or the folder of PuLP for a solver that is a module."""
        if not self.availability():
            return ""
        with warnings.catch_warnings(action="ignore"):
            path = getattr(_pulp().getSolver(self.solver, msg=False), "path", None)
        return str(Path(path).resolve() if path and Path(path).exists() else path or _pulp().__path__[0])

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """The solver in its own thread; see `SolverAdapter.run`."""
        raw = self._raw(model, call)
        if raw.reason is StopReason.OPTIMAL and raw.x is not None:
            raw = dataclasses.replace(raw, bound=self._claimed_bound(model, call.options, model.value(raw.x)))
        return raw

    def _claimed_bound(self, model: LinearModel, options: SolverOptions, objective: float) -> float | None:
        """The bound that "optimal" states: by the gaps asked for. Of a solver with its own gaps, nothing."""
        if not model.integer.any() or model.A.nnz == 0:
            return objective
        parameters = self._parameters()
        if "gapRel" not in parameters:
            return None
        gap = options.absolute_gap if "gapAbs" in parameters else 0.0
        return objective - max(gap, options.gap * abs(objective - model.offset))

    def _raw(self, model: LinearModel, call: SolverCall) -> RawResult:
        problem, variables = _build(model, call.point)
        left = call.seconds_left
        with TemporaryDirectory(prefix="kanon_milp_pulp_", ignore_cleanup_errors=True) as folder:
            log = call.options.log_file
            if log is None and self._is_cbc():
                log = Path(folder) / "log"
            solver = self._make_solver(dataclasses.replace(call.options, log_file=log), left, call.point is not None)
            if hasattr(solver, "tmpDir"):
                solver.tmpDir = folder
            began = time.perf_counter()
            # a thread of its own also because HiGHS fixes its number of threads once for each calling thread
            running = Background(lambda: problem.solve(solver), self.name)
            if not call.watch.wait(running.done, _PATIENCE):
                message = f"{self.solver} did not end when it was interrupted; it is left behind without a point"
                return RawResult(StopReason.INTERRUPTED, None, None, message)
            took = time.perf_counter() - began
            # cbcbox's CBC calls unknown in the file that PuLP reads what its log calls infeasible
            refused = running.failure is None and problem.status == _pulp().LpStatusUndefined
            infeasible = refused and self._is_cbc() and log is not None and says_infeasible(log)
        stopped = StopReason.INTERRUPTED if call.watch.asked() else StopReason.TIME_LIMIT
        out_of_time = call.watch.asked() or (left is not None and took >= 0.95 * left)
        if running.failure is not None:
            if out_of_time:
                return RawResult(stopped, None, None, f"{self.solver} ended without a point")
            raise SolverError(f"{self.solver} failed: {running.failure}") from running.failure
        return _read(problem, variables, model, self.solver, stopped if out_of_time else None, infeasible=infeasible)

    def _make_solver(self, options: SolverOptions, seconds: float | None, has_start: bool) -> Any:
        if self.solver == "HiGHS":
            new_highs()  # prints nothing, and so does no object after the first one
        parameters = self._parameters()
        for name in options.extra:
            if name not in parameters:
                raise InputError(f"{self.name} has no option {name!r}{nearest(name, sorted(parameters))}")
        if seconds is not None and self.solver == "GLPK_CMD":
            seconds = math.ceil(seconds)  # glpsol takes whole seconds only
        wanted = {"msg": False, "timeLimit": seconds, "warmStart": has_start, **self.own_options(options)}
        chosen = {name: value for name, value in wanted.items() if name in parameters and value is not None}
        own = list(_SAFE.get(self.solver, ()))
        if self._is_cbc():
            seed = 1 + options.seed % MAX_SEED  # CBC takes 0 for "draw one"
            own += [f"{name} {seed}" for name in _CBC_SEEDS]
        elif self._takes_seed():
            chosen.setdefault("random_seed", options.seed)
        if own:  # the user's own come later, and so win
            extra = options.extra.get("options", ())
            chosen["options"] = own + (list(extra) if isinstance(extra, list | tuple) else [str(extra)])
        with warnings.catch_warnings(action="ignore"):
            return _pulp().getSolver(self.solver, **chosen)

    def _is_cbc(self) -> bool:
        return self.solver in _ENGINES["cbc"]

    def _takes_seed(self) -> bool:
        return self._is_cbc() or self.solver == "HiGHS"

    def restated(self, model: LinearModel) -> LinearModel:
        """Of a HiGHS whose version PuLP does not tell, as of an old one."""
        return all_integer(model) if self.engine == HighsAdapter.name else model

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        solver_class = getattr(importlib.import_module("pulp.apis"), self.solver, None)
        if solver_class is None:
            return {}
        return {
            name: parameter
            for name, parameter in inspect.signature(solver_class.__init__).parameters.items()
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and name != "self"
        }


def solver_names(only_available: bool = False) -> list[str]:
    """Names of PuLP's solvers, in its order, without repetitions."""
    with warnings.catch_warnings(action="ignore"):
        return list(dict.fromkeys(_pulp().listSolvers(onlyAvailable=only_available)))


def _pulp() -> Any:
    return importlib.import_module("pulp")


def _build(model: LinearModel, point: Floats | None) -> tuple[Any, list[Any]]:
    """The PuLP problem without the objective's constant, and its variables in the order of the columns."""
    pulp = _pulp()
    with warnings.catch_warnings(action="ignore"):
        problem = pulp.LpProblem("model", pulp.LpMinimize)
        variables = [
            pulp.LpVariable(
                f"x{j}",
                None if low == -np.inf else low,
                None if high == np.inf else high,
                pulp.LpInteger if is_integer else pulp.LpContinuous,
            )
            for j, (low, high, is_integer) in enumerate(
                zip(model.lower.tolist(), model.upper.tolist(), model.integer.tolist(), strict=True)
            )
        ]
        problem.addVariables(variables)
        if point is not None:
            for variable, value in zip(variables, point.tolist(), strict=True):
                variable.setInitialValue(value)
        problem.setObjective(pulp.LpAffineExpression(zip(variables, model.c.tolist(), strict=True)))
        A = model.A.copy()
        A.sum_duplicates()
        indptr, indices, data = A.indptr.tolist(), A.indices.tolist(), A.data.tolist()
        sides_of = zip(model.constraint_lower.tolist(), model.constraint_upper.tolist(), strict=True)
        for i, (low, high) in enumerate(sides_of):
            span = range(indptr[i], indptr[i + 1])
            if not span:
                continue
            if low == high:
                sides = [(pulp.LpConstraintEQ, low)]
            else:
                sides = [(pulp.LpConstraintGE, low), (pulp.LpConstraintLE, high)]
            for sense, side in sides:
                if np.isfinite(side):
                    left = pulp.LpAffineExpression([(variables[indices[e]], data[e]) for e in span])
                    problem.addConstraint(pulp.LpConstraint(left, sense, f"r{i}_{sense + 1}", side))
    return problem, variables


def _read(
    problem: Any, variables: list[Any], model: LinearModel, solver: str, stopped: StopReason | None, *, infeasible: bool
) -> RawResult:
    """What PuLP says. stopped: the reason if the limit was reached or somebody interrupted. infeasible: whether the log
    says so."""
    pulp = _pulp()
    reasons = {
        pulp.LpSolutionOptimal: StopReason.OPTIMAL,
        pulp.LpSolutionInfeasible: StopReason.INFEASIBLE,
        pulp.LpSolutionUnbounded: StopReason.UNBOUNDED,
    }
    reason = reasons.get(problem.sol_status)
    if reason is None and (infeasible or problem.status == pulp.LpStatusInfeasible):
        reason = StopReason.INFEASIBLE  # of CBC's "Integer infeasible", PuLP understands half
    if reason in (StopReason.INFEASIBLE, StopReason.UNBOUNDED):
        # out of time, some solvers call the model infeasible
        return RawResult(stopped or reason, None, None)
    x = np.array(
        [np.nan if variable.varValue is None else float(variable.varValue) for variable in variables],
        dtype=np.float64,
    )
    satisfied = not complaint(model, x)
    if reason is StopReason.OPTIMAL:
        if not satisfied:  # a text file with eight digits was between
            message = f"{solver} says optimal, but its point does not satisfy the model"
            return RawResult(StopReason.ERROR, None, None, message)
        return RawResult(reason, x, None)
    message = "" if stopped else f"{solver} ended early: {pulp.LpStatus[problem.status]}"
    return RawResult(stopped or StopReason.ERROR, x if satisfied else None, None, message)
