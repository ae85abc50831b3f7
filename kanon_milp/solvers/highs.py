"""HiGHS through highspy, handed over as arrays (100,000 variables with 500,000 nonzeros take about 0.1 s)."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import importlib
import re
import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers.adapter import Capability, Setting, SolverAdapter, keep_start, numbers
from kanon_milp.solvers.call import Background, RawResult, SolverCall, SolverOptions, StopReason
from kanon_milp.solvers.model import FEASIBILITY, LinearModel, complete_point
from kanon_milp.solvers.search_log import NUMBER, SearchLog
from kanon_milp.system.arrays import Floats

# Bits of the option presolve_rule_off. The rule "enumeration" of HiGHS 1.15.1 can drop an equation of which all
# variables but one are fixed, and a more expensive point looks optimal
# (https://github.com/ERGO-Code/HiGHS/issues/3216, mended after it). The aggregator derives bounds for continuous
# variables that cut off the optimum (https://github.com/ERGO-Code/HiGHS/issues/3274; the canary `equality_clique`).
# What its absence costs, in seconds for three tables each, with the aggregator and without:
#     k = 3, 60 x 5           2.0   1.4        k = 3, p = 2, 60 x 4      7.4   5.1
#     k = 2, l = 2, 40 x 3    0.2   0.2        k = 2, t = 0.3, 25 x 3    0.4   0.1
# (k = 5, 150 x 5 is not solved within 25 s either way, and the bounds are the same to three digits.)
_ENUMERATION, _AGGREGATOR = 1 << 16, 1 << 12
_UNSAFE_RULES = _ENUMERATION | _AGGREGATOR
# With continuous variables HiGHS 1.16 gains in the objective what constraints may be violated by, and counts it in the
# bound, too; its own tolerance is ten times as large, and a millionth of a group of a million rows is a row.
_FEASIBILITY = 1e-7
_MENDED = (1, 16)  # see `all_integer`
_PATIENCE = 2.0  # seconds between an interruption and leaving the solver behind
_LAST_SECONDS = 5.0  # for one that was left behind, at the end of the process
_COMPLETION_SECONDS = 10.0
_COMPLETION_SHARE = 0.1  # of the time limit


class HighsAdapter(SolverAdapter):
    """The default solver.

    HiGHS runs in a thread of its own while the caller's thread waits, reports progress and listens to Ctrl-C.
    HiGHS looks for interruptions at nodes and in plain LPs, not within presolve or the root LP of a MIP;
    there it is left behind after a few seconds, and the best point it has reported is returned.
    """

    name, title = "highs", "HiGHS"
    module = "highspy"
    oldest = (1, 15, 1)  # 1.14.0 returns wrong optima marked optimal
    needs = f"install highspy {'.'.join(map(str, oldest))} or newer"
    capabilities = frozenset(Capability) - {Capability.EXACT, Capability.LAZY}
    option_names: ClassVar = {
        "threads": "threads",
        "seed": "random_seed",
        "gap": "mip_rel_gap",
        "absolute_gap": "mip_abs_gap",
        "node_limit": "mip_max_nodes",
        "log_file": "log_file",
    }
    always: ClassVar = {"log_to_console": False, "presolve_rule_off": _UNSAFE_RULES}
    settings: ClassVar = {
        Setting.VERTEX: {"solver": "simplex"},
        # they take most of the time then (all of Adult, one mask of 10 patterns, k = 25: 23 s without them, no proof
        # after 150 s with them); elsewhere they are what finds good tables at all
        Setting.NEARLY_INTEGRAL: {f"mip_heuristic_run_{name}": False for name in ("rins", "rens", "root_reduced_cost")},
        Setting.MIXED: {"presolve": "off"},  # which may be wrong (see `formulations.strong.add_sizes`)
        Setting.CONDENSED: {"mip_detect_symmetry": False},
    }
    alternatives = ({"presolve": "off"}, {"presolve": "on"})
    engine = name
    confirms = 1
    search_log = SearchLog(
        re.compile(rf"^.{{2}}\s*(?P<node>\d+)\s+\d+\s+\d+\s+[\d.]+%\s+(?P<bound>\S+)\s.*\s(?P<seconds>{NUMBER})s\s*$"),
        re.compile(r"^  Nodes\s+(\d+)"),
        re.compile(r"^  Dual bound\s+(\S+)"),
        root=1,
    )

    def script(self, options: Mapping[str, object]) -> str:
        """As for every adapter."""
        return "".join(
            [
                "import highspy\n\nhighs = highspy.Highs()\n",
                *(f"highs.setOptionValue({name!r}, {value!r})\n" for name, value in options.items()),
                'highs.readModel("model.mps")\nhighs.run()\n',
                "print(highs.modelStatusToString(highs.getModelStatus()), highs.getInfo().objective_function_value)\n",
            ]
        )

    def installed(self) -> str:
        """Version of HiGHS, not of its Python package."""
        return _version(importlib.import_module("highspy"))

    def restated(self, model: LinearModel) -> LinearModel:
        """In an older HiGHS all variables integer, where that loses nothing."""
        return model if numbers(self.installed()) >= _MENDED else all_integer(model)

    def complete(self, model: LinearModel, call: SolverCall) -> Floats | None:
        """A complete feasible point from a partial start.

        HiGHS would complete it itself, but with a time limit of its own on top of the given one.
        """
        given, options = call.given, call.options
        columns = np.fromiter(given.keys(), dtype=np.intp)
        values = np.fromiter(given.values(), dtype=np.float64)
        lower, upper = model.lower.copy(), model.upper.copy()
        if (values < lower[columns] - FEASIBILITY).any() or (values > upper[columns] + FEASIBILITY).any():
            return None
        lower[columns] = upper[columns] = values
        limit = _COMPLETION_SECONDS
        if options.time_limit is not None:
            limit = min(limit, _COMPLETION_SHARE * options.time_limit)
        quick = dataclasses.replace(options, time_limit=call.recorder.seconds() + limit, gap=max(options.gap, 0.05))
        fixed = dataclasses.replace(model, lower=lower, upper=upper)
        x = self.run(fixed, dataclasses.replace(call.without_start(), options=quick)).x
        return None if x is None else complete_point(model, dict(enumerate(x.tolist())))

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """HiGHS in its own thread; see `SolverAdapter.run`.

        Its presolve may take a start for one of another value, and then ends with a point that is not as good as it
        says (1.16, parallel columns). Without the start it is right.
        """
        found, said = _run(model, call)
        if call.point is None or found.x is None or said is None or _same(said, model.value(found.x)):
            return found
        again = keep_start(_run(model, dataclasses.replace(call, given={}, point=None))[0], found.x)
        if again.x is None or again.reason is StopReason.ERROR:
            return again
        bound = max((each.bound for each in (found, again) if each.bound is not None), default=None)
        return dataclasses.replace(again, x=min((again.x, found.x), key=model.value), bound=bound)


def all_integer(model: LinearModel) -> LinearModel:
    """The model with integer variables only, where that loses nothing.

    Cuts of HiGHS 1.15.1 that substitute a bound x ≤ n·y of a continuous variable can cut off all good points
    (https://github.com/ERGO-Code/HiGHS/issues/3170 and 3171, both mended in 1.16): all of Adult under ten patterns,
    k = 5, ended as optimal with 68,830, without presolve with 68,387, where there is a table of 68,360. In integer
    variables, most of which are binary, it does not substitute them. They take 1.7 times as long (15 masks and
    samples of Adult and CMC; condensed models of masks of ten patterns with HiGHS 1.16 up to three times).
    """
    if model.integral and model.integer.any():
        return dataclasses.replace(model, integer=np.ones_like(model.integer))
    return model


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= FEASIBILITY * max(1.0, abs(other))


def _run(model: LinearModel, call: SolverCall) -> tuple[RawResult, float | None]:
    """The result, and the value that HiGHS says its point has, None where it says none."""
    highspy = importlib.import_module("highspy")
    highs = new_highs()
    _set_options(highs, highspy, model, call)
    if highs.passModel(as_highs_lp(highspy, model)) == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS rejects the model {model.name!r}")
    if call.point is not None and model.integer.any():
        solution = highspy.HighsSolution()
        solution.col_value = call.point.tolist()
        highs.setSolution(solution)

    best: list[Floats] = []
    kinds = highspy.cb.HighsCallbackType
    improving = int(kinds.kCallbackMipImprovingSolution)
    interruptible = (
        kinds.kCallbackMipInterrupt,
        kinds.kCallbackSimplexInterrupt,
        kinds.kCallbackIpmInterrupt,
    )
    plain_lp = {int(kind) for kind in interruptible[1:]}

    def on_event(kind: Any, _message: str, out: Any, answer: Any, _data: Any) -> None:
        kind = int(kind)
        if kind == improving:
            best[:] = [np.array(out.mip_solution)]
            call.note(model.value(best[0]), None)
        elif call.watch.stop.is_set():
            answer.user_interrupt = True
        if kind not in plain_lp:
            call.note(None, out.mip_dual_bound)  # the value of its best point may be wrong, see `run`

    highs.setCallback(on_event, None)
    for kind in (kinds.kCallbackMipImprovingSolution, *interruptible):
        highs.startCallback(kind)

    def work() -> None:
        # the pool of threads belongs to the calling thread and refuses another number of threads
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()
        highspy.Highs.resetGlobalScheduler(True)

    running = Background(work, HighsAdapter.name)
    if not call.watch.wait(running.done, _PATIENCE, seconds=call.seconds_left):
        silence = functools.partial(_silence, highs, kinds)
        atexit.register(_part, running.thread, silence)
        return call.left_behind("HiGHS", best[0] if best else None), None
    if running.failure is not None:
        raise SolverError(f"HiGHS failed: {running.failure}") from running.failure
    mixed = bool(model.integer.any())
    said = highs.getInfo().objective_function_value
    return _read(highs, highspy, model, call.options), float(said) if mixed else None


def _silence(highs: Any, kinds: Any) -> None:
    for kind in kinds.__members__.values():
        highs.stopCallback(kind)


def _part(thread: threading.Thread, silence: Callable[[], object]) -> None:
    """At the end of the process: what was left behind must not call back any more, or it brings the process down."""
    thread.join(_LAST_SECONDS)
    if thread.is_alive():
        silence()


def _read(highs: Any, highspy: Any, model: LinearModel, options: SolverOptions) -> RawResult:
    status, kinds = highs.getModelStatus(), highspy.HighsModelStatus
    reasons = {
        kinds.kOptimal: StopReason.OPTIMAL,
        kinds.kInfeasible: StopReason.INFEASIBLE,
        kinds.kUnbounded: StopReason.UNBOUNDED,
        kinds.kUnboundedOrInfeasible: None,
        kinds.kTimeLimit: StopReason.TIME_LIMIT,
        kinds.kInterrupt: StopReason.INTERRUPTED,
        # limits that only `extra` can set
        kinds.kIterationLimit: StopReason.ERROR,
        kinds.kSolutionLimit: StopReason.ERROR if options.node_limit is None else StopReason.NODE_LIMIT,
        kinds.kObjectiveBound: StopReason.ERROR,
        kinds.kObjectiveTarget: StopReason.ERROR,
    }
    text = highs.modelStatusToString(status)
    if status not in reasons:
        raise SolverError(f"HiGHS ended with {text!r}, a status that proves nothing")
    reason = reasons[status]
    if reason in (None, StopReason.INFEASIBLE, StopReason.UNBOUNDED):
        return RawResult(reason, None, None)
    info = highs.getInfo()
    x = None
    if info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible):
        x = np.array(highs.getSolution().col_value)
    bound = None
    if model.integer.any():
        bound = float(info.mip_dual_bound)
    elif reason is StopReason.OPTIMAL and x is not None:
        bound = model.value(x)
    return RawResult(reason, x, bound, f"HiGHS: {text}" if reason is StopReason.ERROR else "")


def _set_options(highs: Any, highspy: Any, model: LinearModel, call: SolverCall) -> None:
    own: dict[str, object] = {"output_flag": call.options.log_file is not None}
    if not model.integer.all():
        own["mip_feasibility_tolerance"] = _FEASIBILITY
    if call.seconds_left is not None:
        own["time_limit"] = float(call.seconds_left)
    for name, value in {**own, **HighsAdapter().own_options(call.options)}.items():
        try:
            accepted = highs.setOptionValue(name, value) == highspy.HighsStatus.kOk
        except TypeError:
            accepted = False
        if not accepted:
            known = highs.getOptionType(name)[0] == highspy.HighsStatus.kOk
            problem = f"does not take the value {value!r} for its option" if known else "has no option"
            raise InputError(f"HiGHS {problem} {name!r}")


def as_highs_lp(highspy: Any, model: LinearModel) -> Any:
    """A model as HiGHS takes it."""
    A = model.A
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.variables, model.constraints
    lp.offset_ = float(model.offset)
    lp.col_cost_ = model.c
    lp.col_lower_, lp.col_upper_ = model.lower, model.upper
    lp.row_lower_, lp.row_upper_ = model.constraint_lower, model.constraint_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    if model.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[is_integer] for is_integer in model.integer.tolist()]
    return lp


def new_highs() -> Any:
    """A `highspy.Highs` with its output switched off.

    From HiGHS 1.16 on the first object of a process prints HiGHS's name and licence to standard output, before anybody
    can ask it not to: results written there would begin with them. Where this one is the first, they are printed
    nowhere. Raises ImportError where there is no highspy.
    """
    highs = _quiet(importlib.import_module("highspy"))()
    highs.setOptionValue("output_flag", False)
    return highs


@functools.cache
def _version(_: ModuleType) -> str:
    return str(new_highs().version())


@functools.cache
def _quiet(highspy: ModuleType) -> type[Any]:
    plain: Any = highspy.Highs

    def enable_callbacks(self: Any) -> None:  # the constructor calls it, and it is what prints
        self.setOptionValue("log_to_console", False)
        plain.enableCallbacks(self)

    return type("QuietHighs", (plain,), {"enableCallbacks": enable_callbacks})
