"""Kinds that solve: a problem, or the model of a file, solved and checked; and a solver that begins from a table."""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kanon_milp import solvers
from kanon_milp.errors import KanonError, SolverError, UnusablePointError
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.restricted import RestrictedModel
from kanon_milp.methods.arguments import check_available, checked_options
from kanon_milp.methods.direct import TOO_LATE, settled, solve_direct
from kanon_milp.methods.outcome import Scale, scale_of
from kanon_milp.methods.result import NO_SOLVER, Result
from kanon_milp.methods.session import Session, limit_of
from kanon_milp.methods.solve import solve
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.resources import too_large, too_long
from kanon_milp.problem.exact import in_words
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import (
    Availability,
    Capability,
    LinearModel,
    OnProgress,
    Progress,
    SolverAdapter,
    SolverOptions,
    SolverResult,
    StopReason,
)
from kanon_milp.solvers.lazy import Lazy
from kanon_milp.solvers.model import check_numbers
from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid, slack
from kanon_milp.solvers.registry import SOLVERS
from kanon_milp.solvers.search_log import Search
from kanon_milp.studies.bench.checks import CheckedPoint, check_point, check_unbounded
from kanon_milp.studies.bench.kinds import Measured, Teller, facts
from kanon_milp.studies.bench.plan import ALONE, UNBOUNDED
from kanon_milp.studies.bench.sources import SolverModel, model_of, problem_of, sign_of
from kanon_milp.studies.bench.study import adapter_of
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Over


@dataclass(frozen=True, eq=False)
class Permutation:
    """An order of rows and columns: position → number in the original model."""

    rows: Ints
    columns: Ints

    @classmethod
    def drawn(cls, model: LinearModel, seed: int) -> Permutation:
        """The permutation of a model that a seed gives, by NumPy's PCG64: rows first, then columns."""
        rng = np.random.Generator(np.random.PCG64(seed))
        return cls(rng.permutation(model.constraints), rng.permutation(model.variables))

    def of_model(self, model: LinearModel) -> LinearModel:
        """The permuted model."""
        rows, columns = self.rows, self.columns
        return replace(
            model,
            c=model.c[columns],
            A=sp.csr_array(sp.csr_array(model.A)[rows][:, columns]),
            constraint_lower=model.constraint_lower[rows],
            constraint_upper=model.constraint_upper[rows],
            lower=model.lower[columns],
            upper=model.upper[columns],
            integer=model.integer[columns],
            variable_names=tuple(model.variable_names[j] for j in columns.tolist()),
            constraint_names=tuple(model.constraint_names[i] for i in rows.tolist()),
        )

    def back(self, x: Floats) -> Floats:
        """A point of the permuted model as one of the original."""
        original = np.empty_like(x)
        original[self.columns] = x
        return original

    def of_start(self, start: Mapping[int, float] | Floats | None) -> Mapping[int, float] | Floats | None:
        """A start of the original as one of the permuted model."""
        if start is None:
            return None
        if isinstance(start, Mapping):
            place = np.empty_like(self.columns)
            place[self.columns] = np.arange(len(self.columns))
            return {int(place[j]): value for j, value in start.items()}
        return np.asarray(start)[self.columns]


class Recording(SolverAdapter):
    """Another adapter, under its name. permutation: a seed, 0 for none. model, answer: of the call with the most
    variables so far, the last of these; None before the first. wrong: what the adapter's own check has said of points
    that were refused."""

    def __init__(self, adapter: SolverAdapter, permutation: int = 0) -> None:
        self.adapter, self.permutation = adapter, permutation
        for name in ("name", "title", "needs", "capabilities", "engine", "settings", "alternatives", "confuses"):
            setattr(self, name, getattr(adapter, name))
        self.model: LinearModel | None = None
        self.answer: SolverResult | None = None
        self.wrong: list[str] = []

    def availability(self) -> Availability:
        """That of the adapter."""
        return self.adapter.availability()

    def version(self) -> str:
        """That of the adapter."""
        return self.adapter.version()

    def location(self) -> str:
        """That of the adapter."""
        return self.adapter.location()

    def restated(self, model: LinearModel) -> LinearModel:
        """That of the adapter."""
        return self.adapter.restated(model)

    def solve(
        self,
        model: LinearModel,
        options: SolverOptions,
        start: Mapping[int, float] | Floats | None = None,
        on_progress: OnProgress | None = None,
        interrupt: threading.Event | None = None,
        lazy: Lazy | None = None,
    ) -> SolverResult:
        """Solve by the adapter; see `SolverAdapter.solve`."""
        largest = self.model is None or model.variables >= self.model.variables
        if largest:
            self.model, self.answer = model, None
        try:
            answer = self._solve(model, options, start, on_progress, interrupt, lazy)
        except UnusablePointError as error:  # a method may go on without this answer
            self.wrong.append(str(error))
            raise
        if largest:
            self.answer = answer
        return answer

    def _solve(self, model: LinearModel, options: SolverOptions, start: Any, *others: Any) -> SolverResult:
        if not self.permutation:
            return self.adapter.solve(model, options, start, *others)
        order = Permutation.drawn(model, self.permutation)
        answer = self.adapter.solve(order.of_model(model), options, order.of_start(start), *others)
        if answer.x is not None and answer.x.shape == (model.variables,):
            answer = replace(answer, x=order.back(answer.x))
        return answer


INFEASIBLE_BUT = "says infeasible, which a verified table refutes"


def solving(task: Mapping[str, Any], tell: Teller) -> Measured:
    """The kind "solve": solve and check. Raises InputError for bad input, SolverError for a solver that fails."""
    name = task["solver"]
    adapter = Recording(_adapter(solvers.DEFAULT if name == NO_SOLVER else name, task), task["permutation"])
    if name != NO_SOLVER:
        check_available(adapter)
    given = model_of(task["source"])
    if given is not None:
        return _solve_file(given, adapter, task, tell)
    problem = problem_of(task["source"])
    if task["method"] == ALONE:
        return _solve_alone(problem, adapter, task, tell)
    return _solve_problem(problem, adapter, task, tell)


def _adapter(name: str, task: Mapping[str, Any]) -> SolverAdapter:
    return adapter_of(name, task.get("program", {}))


def _solve_problem(problem: Problem, adapter: Recording, task: Mapping[str, Any], tell: Teller) -> Measured:
    tell.ready()
    result = solve(
        problem,
        adapter if task["solver"] != NO_SOLVER else solvers.DEFAULT,
        formulation=task["formulation"] or "strong",
        method=task["method"],
        time_limit=task["time_limit"],
        threads=task["threads"],
        seed=task["seed"],
        solver_options=dict(task["options"]) or None,
        on_progress=lambda point: tell.point(point.incumbent, point.bound),
    )
    tell.point(result.objective, result.bound)
    tell.done()
    found = measured_of(result, adapter)
    grace = task["parameters"]["late_seconds"]
    over = result.seconds["total"] - result.seconds["read"] - task["time_limit"]
    if grace is None or over <= float(grace) + 0.05 * task["time_limit"]:
        return found
    late = f"late: it took {over:.1f} s more than its time limit of {task['time_limit']:g} s"
    return replace(found, defects=(*found.defects, late))


def started(task: Mapping[str, Any], tell: Teller) -> Measured:
    """The kind "started": a solver on the strong model of all candidates, handed the table that `method="search"` finds
    in so many seconds before the clock starts. Raises SolverError without one."""
    problem = problem_of(task["source"])
    adapter = Recording(_adapter(task["solver"], task), task["permutation"])
    seconds = float(task["parameters"]["start_seconds"])
    start = solve(problem, method="search", time_limit=seconds, seed=task["seed"])
    if start.placed is None:
        raise SolverError("the search has found no start")
    tell.ready()
    clock, chosen = Clock(), get_formulation("strong")
    prepared = presolve(problem, clock, merge=True)
    instance = prepared.instance
    threads = task["threads"] if Capability.THREADS in adapter.capabilities else 1
    options = SolverOptions(task["time_limit"], threads, task["seed"], absolute_gap=INTEGRAL_GAP, extra=task["options"])
    options = adapter.suited(options, chosen.tune(instance))
    if obstacle := too_large(instance) or too_long(instance, options.time_limit):
        raise SolverError(obstacle)
    session = Session(
        adapter, options, clock, prepared=prepared, formulation=chosen, start=start.placed,
        on_progress=lambda point: tell.point(point.incumbent, point.bound),
    )  # fmt: skip
    with clock.step("build"):
        model = chosen.build(instance)
    result = solve_direct(session, model, own=True)
    tell.point(result.objective, result.bound)
    tell.done()
    found = measured_of(result, adapter)
    return replace(found, message="; ".join(filter(None, [f"start {start.exact_objective}", found.message])))


def measured_of(result: Result, adapter: Recording) -> Measured:
    """What a result says, with what the verifier, and the check of the last point of the largest model, have found."""
    defects = [] if result.report is None else [f"verifier: {each}" for each in result.report.violations]
    model, answer = adapter.model, adapter.answer
    if model is not None and answer is not None:
        defects += [f"model: {each}" for each in check_point(model, answer.x).defects]
        if answer.stop_reason is StopReason.UNBOUNDED:
            defects += check_unbounded(model) or ()
    defects += [f"model: {each}" for each in adapter.wrong]
    after = result.after
    sizes = {"variables": after.variables or None, "constraints": after.constraints or None}
    sizes |= {} if model is None else _sizes(model)
    return Measured(
        stop_reason=result.stop_reason,
        proof=result.proof,
        objective=result.exact_objective,
        bound=result.exact_bound,
        sense=_sense(result.problem),
        verified=None if result.report is None else result.report.ok,
        defects=tuple(defects),
        message=result.message,
        solver_version=result.solver.version,
        problem=facts(result.problem, result.row_types),
        sizes={
            "candidates": result.after.candidates,
            "pairs": result.after.pairs,
            **(sizes if model is None else _sizes(model)),
        },
        seconds=_steps(result.seconds),
    )


def _sizes(model: LinearModel) -> dict[str, int | None]:
    return {"variables": model.variables, "constraints": model.constraints, "nonzeros": int(model.A.nnz)}


def _sense(problem: Problem) -> str:
    return "max" if problem.objective == "max_groups" else "min"


def _steps(seconds: Mapping[str, float]) -> dict[str, float]:
    return {step: seconds.get(step, 0.0) for step in ("build", "handover", "solve")}


def _options(task: Mapping[str, Any], *, integral: bool) -> SolverOptions:
    gap = INTEGRAL_GAP if integral else 0.0
    return SolverOptions(
        task["time_limit"], task["threads"], task["seed"], absolute_gap=gap, extra=dict(task["options"])
    )


def _answered(
    adapter: Recording, model: LinearModel, options: SolverOptions, on_progress: OnProgress
) -> tuple[SolverResult, Search]:
    """The solver's answer, and what its log says of its search where that can be read; of a minimization."""
    same = SOLVERS.find(adapter.engine) if adapter.engine else None
    if same is None or same.search_log is None:
        return _as_said(adapter.solve(model, options, on_progress=on_progress)), Search()
    with tempfile.TemporaryDirectory(prefix="kanon_milp_log_") as folder:
        path = Path(folder) / "solver.log"
        answer = _as_said(adapter.solve(model, replace(options, log_file=path), on_progress=on_progress))
        if not path.is_file():
            return answer, Search()
        with path.open(errors="replace") as lines:
            return replace(answer, options=options), same.search_log.read(lines, model.offset)


def _solve_alone(problem: Problem, adapter: Recording, task: Mapping[str, Any], tell: Teller) -> Measured:
    """The solver alone on the presolved problem's model, once, with nothing beside it: no bound, no start, no second
    look, no settings but those of the study."""
    checked_options(problem, task["time_limit"], task["threads"], task["seed"], 0.0, None, dict(task["options"]))
    tell.ready()
    clock, chosen = Clock(), get_formulation(task["formulation"])
    limit = limit_of(clock, SolverOptions(task["time_limit"]), None)
    prepared = presolve(problem, clock, reduced=chosen.reduced, merge=True, limit=limit)
    options = _options(task, integral=True)
    session = Session(adapter, options, clock, interrupt=threading.Event(), prepared=prepared, formulation=chosen)
    known = Measured(
        "time_limit",
        sense=_sense(problem),
        solver_version=adapter.version(),
        problem=facts(problem, prepared.row_types),
        sizes={"candidates": prepared.instance.candidates.count, "pairs": prepared.instance.candidates.pairs},
    )
    if (end := settled(session)) is not None:
        tell.done()
        table = None if end.report is None else end.report.ok
        return replace(
            known, stop_reason=end.stop_reason, proof=end.proof, objective=end.exact_objective, verified=table,
            message=f"presolve: {end.message}",
        )  # fmt: skip
    try:
        with clock.step("build"):
            model = limit.call(chosen.build, prepared.instance)
        with clock.step("handover"):
            compiled = RestrictedModel.handed_over(prepared.instance, model, limit).arrays
    except Over:
        tell.done()
        return replace(known, message=TOO_LATE, seconds=_steps(clock.total()))
    check_numbers(compiled.linear)
    compiled, scale = scale_of(prepared.instance, compiled, adapter, own=True)

    def show(point: Progress) -> None:
        tell.point(scale.to_problem(point.incumbent), scale.to_problem(point.bound))

    with clock.step("solve"):
        answer, search = _answered(adapter, compiled.linear, replace(options, time_limit=limit.seconds), show)
    tell.point(scale.to_problem(answer.objective), scale.to_problem(answer.bound))
    tell.done()
    linear = compiled.linear
    known = replace(
        known,
        sizes={**known.sizes, **_sizes(linear)},
        seconds=_steps(clock.total()),
        message=answer.message,
        search=replace(search, root_bound=scale.to_problem(search.root_bound)),
    )
    point = check_point(linear, answer.x)
    defects, found = _claims(answer, point), None
    if answer.x is not None and not point.defects:
        try:
            found = session.release(RestrictedModel(session.instance, model, compiled).assignment(answer.x))
            defects += [f"verifier: {each}" for each in found.report.violations]
        except KanonError as error:
            defects.append(f"the point gives no table: {error}")
    objective = None if found is None or not found.report.ok else found.objective
    proof, bound = _proven(answer, objective, scale.proven(answer.bound), scale, "table", defects)
    if proof == "infeasible" and objective is not None:
        defects.append(INFEASIBLE_BUT)
    if answer.stop_reason is StopReason.UNBOUNDED:
        defects.append("says unbounded of a problem that is not")
    return replace(
        known,
        stop_reason=answer.stop_reason.value,
        proof=proof,
        objective=None if found is None else found.objective,
        bound=bound,
        verified=None if found is None else found.report.ok,
        defects=tuple(defects),
    )


def _proven(
    answer: SolverResult, objective: Fraction | None, bound: Fraction | None, scale: Scale, own: str, defects: list[str]
) -> tuple[str, Fraction | None]:
    """Proof and bound, whatever the solver calls it, from bound and objective in the problem's units. own: what the
    objective is one of. defects: is added to."""
    proof = "none" if bound is None else "bound"
    if answer.stop_reason is StopReason.INFEASIBLE:
        proof = "infeasible"
    elif answer.stop_reason is not StopReason.UNBOUNDED and objective is not None and bound is not None:
        reached, proven = scale.to_model(objective), scale.to_model(bound)
        if scale.grid.contradicts(reached, proven):
            defects.append(f"bound {in_words(bound)} is beyond the objective {in_words(objective)} of its own {own}")
        elif scale.grid.meets(reached, proven):
            proof, bound = "optimal", objective
    if answer.stop_reason is StopReason.OPTIMAL and proof != "optimal":
        defects.append("says optimal, but its solution and its bound do not meet")
    return proof, bound


def _as_said(answer: SolverResult) -> SolverResult:
    """With reason and bound of an optimum as the solver says them. An adapter makes a gap of a bound below it, which is
    no defect if gaps were asked for, and hides one above it."""
    said, objective = answer.said, answer.objective
    if said is None or said.reason is not StopReason.OPTIMAL or said.bound is None or objective is None:
        return answer
    gaps = any("gap" in name.lower() for name in answer.options.extra)
    if not math.isfinite(said.bound) or (gaps and said.bound < objective):
        return answer
    return replace(answer, stop_reason=said.reason, bound=said.bound)


def _claims(answer: SolverResult, point: CheckedPoint, sign: int = 1) -> list[str]:
    """What is wrong with a point, and with what the solver says of it. sign: of the model's values in messages."""
    defects = [f"model: {each}" for each in point.defects]
    worth, said = point.objective, answer.objective
    if worth is not None and said is not None and abs(Fraction(said) - worth) > Fraction(slack(worth)):
        defects.append(f"says its point is worth {sign * said:.9g}, which is {in_words(sign * worth)}")
    return defects


def _solve_file(given: SolverModel, adapter: Recording, task: Mapping[str, Any], tell: Teller) -> Measured:
    """The solver alone on a model that came as a file; values have the file's sense and sign."""
    linear, sign = given.linear, sign_of(given.sense)
    used = linear.c != 0
    integers = bool((linear.integer | linear.integral)[used].all())
    # 1 where the objective has integer values at all integral points; 0 where that is not known
    steps = int(integers and bool((linear.c == np.rint(linear.c)).all()) and float(linear.offset).is_integer())
    scale = Scale(sign, Fraction(1), Grid(steps, linear.largest_cost))

    def told(incumbent: float | None, bound: float | None) -> None:
        tell.point(*(None if value is None else sign * value + 0.0 for value in (incumbent, bound)))  # no -0.0

    tell.ready()
    clock = Clock()
    with clock.step("solve"):
        answer, search = _answered(
            adapter,
            linear,
            _options(task, integral=steps == 1),
            lambda point: told(point.incumbent, point.bound),
        )
    told(answer.objective, answer.bound)
    tell.done()
    point = check_point(linear, answer.x)
    known = Measured(
        answer.stop_reason.value,
        sense=given.sense,
        warnings=given.warnings,
        solver_version=answer.version,
        message=answer.message,
        sizes=_sizes(linear),
        seconds=_steps(clock.seconds),
        search=replace(search, root_bound=None if search.root_bound is None else sign * search.root_bound + 0.0),
    )
    defects, safe = _claims(answer, point, sign), scale.grid.safe(answer.bound)
    objective, bound = (None if value is None else sign * value for value in (point.objective, safe))
    proof, bound = _proven(answer, None if point.defects else objective, bound, scale, "point", defects)
    if answer.stop_reason is StopReason.UNBOUNDED:
        wrong = check_unbounded(linear)
        proof = "none" if wrong is None or wrong else UNBOUNDED
        defects += wrong or ()
    if answer.stop_reason in (StopReason.INFEASIBLE, StopReason.UNBOUNDED):
        bound = None
    return replace(known, proof=proof, objective=objective, bound=bound, defects=tuple(defects))
