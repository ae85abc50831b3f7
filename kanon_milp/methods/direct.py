"""The method `milp`: one model for the solver, the bound known beforehand, and row assignment of what it returns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.core as pyo

from kanon_milp.bounds import BoundLimit, BoundTask, best_registered, registered_bounds
from kanon_milp.bounds.built_in import LAGRANGIAN, REQUIREMENTS
from kanon_milp.errors import InputError, SolverError, counted, is_ours
from kanon_milp.formulations.restricted import RestrictedModel
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.methods import group_number
from kanon_milp.methods.extension import Extension, compared
from kanon_milp.methods.model_conflict import conflict_in_model
from kanon_milp.methods.outcome import UNKNOWN, Bound, Outcome, objective_of, scale_of
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session, limit_of
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.infeasibility import find_conflict, side_constraints
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.resources import LARGE, network_relaxation, too_large, too_long
from kanon_milp.problem.arguments import wrong
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import Capability, LinearModel, Progress, SolverOptions, SolverResult, StopReason
from kanon_milp.solvers.adapter import Setting
from kanon_milp.solvers.checked import solve_checked, with_integers_rounded
from kanon_milp.solvers.lazy import Lazy
from kanon_milp.solvers.model import FEASIBILITY, beyond_floats, check_numbers
from kanon_milp.solvers.proof import INTEGRAL_GAP, REGISTERED
from kanon_milp.solvers.pyomo_arrays import PyomoArrays
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit, Over
from kanon_milp.system.parameters import number, parameters

NOT_ROUNDED = (
    "no point with the solver's integers, rounded, was found to satisfy the model, so the solver's claim is not used"
)
EXTENDED_INFEASIBLE = (
    "the model, with everything that was added to it, has no solution; whether the problem has one without the "
    "additions is not known from this: solve(problem) finds out"
)
STATES_LESS = (
    "the model is weaker than a requirement, and its optimum does not satisfy it; the bound holds, and another table "
    "was taken: --method search checks each group itself"
)
NO_START = "start was dropped: the model has no candidate for some group of it"
OUTSIDE = "start was dropped: its table does not satisfy the model"
TOO_LATE = "it ended before the solver could start"
LATE = "the solver's point, its integers rounded, violates a lazy constraint, so the solver's claim is not used"


@parameters("milp")
@dataclass(frozen=True)
class MilpParams:
    """Direct MILP: what is known of the bound before the solver begins, and what is asked of it afterwards."""

    relaxation_share: float = number(0.25, "of the time limit, for a bound from an easier problem", most=1)
    bound_share: float = number(0.1, "of the time limit, for a bound from multipliers", most=1)
    bound_seconds: float = number(30.0, "seconds for a bound from multipliers, at most")
    required_times: float = number(3.0, "times the seconds of a bound, for one under requirements and its proof")
    explain_seconds: float = number(20.0, "at most, to find out what is in conflict in an infeasible problem")
    rounding_seconds: float = number(1.0, "at least, for a point's continuous variables once its integers are rounded")

    def seconds(self, asked: SolverOptions) -> float:
        """For a bound from multipliers."""
        return min(self.bound_seconds, math.inf if asked.time_limit is None else self.bound_share * asked.time_limit)


def solve_milp(session: Session, *, explain: bool = True, known: Outcome | None = None) -> Result:
    """Declare and solve one model, with what is known of its bound before.

    explain: find out what is in conflict where there is no solution. known: a bound, where there is one already.
    """
    asked, instance = session.options, session.instance
    tuned = session.adapter.suited(asked, session.formulation.tune(instance))
    # with an integral objective, incumbent and bound meet once they are less than one unit apart
    session = replace(session, options=replace(tuned, absolute_gap=INTEGRAL_GAP))
    if instance.candidates.pairs >= LARGE and not session.limit.over:
        _ = session.first  # while there is time for it: the solver may find none
    registered = _registered(session, asked)
    if (
        known is None
        and group_number.asks_for_number(session)
        and instance.candidates.pairs >= LARGE
        and not session.limit.over
    ):
        session, number = _with_number(session, asked)
        if not 1 <= number <= instance.types.n:
            return session.end(Outcome().infeasible(("own bound",), session.why_infeasible))
        known = replace(registered, bound=Bound(Fraction(number), ("own bound",)))
    elif known is None:
        known = _known_bound(session, asked, registered)
    else:
        known = replace(known, registered=registered.registered)
    if message := too_large(instance):
        return session.end_early("error", message, known)
    if session.limit.over:
        return session.end_early(session.limit.reason, TOO_LATE, known)
    if message := too_long(instance, session.limit.seconds):
        return session.end_early("time_limit", message, known)
    try:
        with session.clock.step("build"):
            model = session.limit.call(session.formulation.build, instance)
    except Over:
        return session.end_early(session.limit.reason, TOO_LATE, known)
    return solve_direct(session, model, own=True, explain=(lambda: _explain(session)) if explain else None, known=known)


def _registered(session: Session, asked: SolverOptions) -> Outcome:
    instance = session.instance
    if session.problem.objective != "loss" or session.limit.over or not registered_bounds(instance):
        return Outcome()
    with session.clock.step("bound"):
        limit = _bound_limit(session.limit, session.parameters.of(MilpParams).seconds(asked))
        own = best_registered(instance, BoundTask(limit, threads=asked.threads, parameters=session.parameters))
    return Outcome().with_registered(own.units * instance.levels.unit)


def _known_bound(session: Session, asked: SolverOptions, nothing: Outcome) -> Outcome:
    """A bound on the loss before the solver begins, where the model is large: the relaxation to a network, and
    multipliers.

    With sensitive attributes the multipliers returned, and a certificate of them, may prove less: they know sizes only.
    nothing: what is known without them.
    """
    problem, instance, clock = session.problem, session.instance, session.clock
    if problem.objective == "discernibility":
        return replace(nothing, bound=Bound(Fraction(_smallest_squares(instance)), ("own bound",)))
    if problem.objective != "loss" or session.limit.over:
        return nothing
    unit, limit, params = instance.levels.unit, session.limit, session.parameters.of(MilpParams)
    if session.formulation.name != "strong" or instance.candidates.pairs < LARGE or limit.over:
        return nothing

    seconds = params.seconds(asked)
    with clock.step("bound"):
        found = LAGRANGIAN.compute(
            instance, BoundTask(_bound_limit(limit, seconds), threads=asked.threads, parameters=session.parameters)
        )
        known, dual = Bound(found.units * unit, found.justified_by), found.dual
        if REQUIREMENTS.accepts(instance):
            with suppress(Over):  # the proof of what it has found takes as long as it takes
                task = BoundTask(_bound_limit(limit, seconds), dual, parameters=session.parameters)
                better = limit.part(params.required_times * seconds).call(REQUIREMENTS.compute, instance, task)
                known = known.and_also(Bound(better.units * unit, better.justified_by))
    relaxed = network_relaxation(instance)
    if relaxed is None or session.limit.over:
        return replace(nothing, bound=known, dual=dual)
    with clock.step("solve"):
        share = (
            None if asked.time_limit is None else min(params.relaxation_share * asked.time_limit, session.limit.left)
        )
        easier = _solve_another(session, relaxed, replace(asked, time_limit=share, log_file=None))
    bound = Bound(easier.exact_bound, easier.backed_by)
    if bound.backed_by[:1] == (REGISTERED,):  # that of the easier problem: no more than the word of the user's own
        return replace(nothing, bound=known, dual=dual, registered=nothing.registered.and_also(bound))
    return replace(nothing, bound=known.and_also(bound), dual=dual)


def _smallest_squares(instance: Instance) -> int:
    """Σ over rows of the fewest rows of a group that it can be in: each adds the size of its group to Σ |group|²."""
    candidates, smallest = instance.candidates, np.full(instance.types.count, instance.types.n, np.int64)
    np.minimum.at(smallest, candidates.members, instance.least[candidates.candidate_of_pair()])
    return int(smallest @ instance.types.counts)


def _with_number(session: Session, asked: SolverOptions) -> tuple[Session, int]:
    """The session with a table of few, or many, groups, and how many there are at least, or at most."""
    limit = session.limit.part(2 * session.parameters.of(MilpParams).seconds(asked))
    with session.clock.step("bound"):
        number, table = group_number.group_number(session, limit)
    return session if table is None else replace(session, known=table), number


def _bound_limit(limit: Limit, seconds: float) -> BoundLimit:
    """So many seconds from now, whatever is left for the session: a bound is worth them."""
    return BoundLimit(ends=time.perf_counter() + seconds, interrupt=limit.interrupt)


def _solve_another(session: Session, problem: Problem, options: SolverOptions) -> Result:
    """Solve a problem that tells something about that of the session, on the same solver."""
    clock, formulation = Clock(), session.formulation
    limit = limit_of(clock, options, session.interrupt)
    prepared = presolve(problem, clock, reduced=formulation.reduced, merge=True, limit=limit)
    another = Session(
        session.adapter, options, clock, interrupt=session.interrupt, prepared=prepared, formulation=formulation
    )
    return settled(another) or solve_milp(another, explain=False)


def settled(session: Session) -> Result | None:
    """The result where no method is needed: there is no solution, or not even all candidates; None elsewhere."""
    prepared = session.prepared
    if prepared.shortage is not None and prepared.obstacle is None:
        return session.end_early(prepared.shortage.reason, prepared.shortage.said())
    if prepared.obstacle is None:
        return None
    refuted = session.one_group()  # what the requirements say of themselves is held against a verified table
    if refuted is None:
        return session.end(Outcome().infeasible(("own bound",), prepared.obstacle))
    said = "the requirements claim that no table satisfies them, but this verified table does"
    return session.end(replace(Outcome().failed(said), found=refuted))


def _explain(session: Session) -> str:
    """Which of the things asked for are in conflict, or just that there is no solution."""
    problem, limit = session.problem, session.limit.part(session.parameters.of(MilpParams).explain_seconds)

    def is_infeasible(smaller: Problem) -> bool | None:
        if limit.over:
            return None
        # any table will do: a gap that the first one meets
        options = replace(session.options, time_limit=limit.left, gap=0.999, log_file=None)
        try:
            trial = _solve_another(session, smaller, options)
        except SolverError:  # what is proven already does not depend on this
            return None
        return True if trial.proof == "infeasible" else False if trial.verified else None

    conflict = find_conflict(problem, is_infeasible)
    return session.why_infeasible if conflict is None else str(conflict)


def _explain_extended(session: Session, model: pyo.ConcreteModel, extension: Extension) -> str:
    """Which constraints of a user's model are in conflict."""
    seconds = session.parameters.of(MilpParams).explain_seconds
    limit = session.limit.part(seconds)
    options = replace(session.options, absolute_gap=INTEGRAL_GAP)
    conflict = conflict_in_model(model, session.instance, extension, session.adapter, options, limit)
    return f"{EXTENDED_INFEASIBLE}. In the model, {conflict}"


def solve_direct(
    session: Session,
    model: pyo.ConcreteModel,
    *,
    own: bool,
    explain: Callable[[], str] | None = None,
    known: Outcome | None = None,
    begin: RowGroups | None = None,
    lazy: LazyFunctions | None = None,
) -> Result:
    """Hand a problem's model over, solve it, assign rows, verify, and say what is proven.

    own: the model is as the package declares it; else it is a user's, and is compared with that. explain: says what is
    in conflict where the package's own model has no solution. known: bound and multipliers from before. begin: int64
    (n,), group of each row of a table that a user's model may begin with. lazy: a user's functions that state
    constraints of points and of points of the relaxation.
    """
    instance, clock = session.instance, session.clock
    known = known or Outcome()
    try:
        with clock.step("handover"):
            if own:
                compiled = RestrictedModel.handed_over(instance, model, session.limit).arrays
            else:
                compiled, extension = session.limit.call(compared, session.formulation, instance, model)
                session = replace(session, extension=extension)
                # what was added may be to blame, so neither mask nor requirements are
                asked, obstacle = session, session.prepared.obstacle
                if extension is None:
                    explain = lambda: _explain(asked)  # noqa: E731
                else:
                    explain = lambda: obstacle or _explain_extended(asked, model, extension)  # noqa: E731
    except Over:
        return session.end(_too_late(session, known, own=own))
    check_numbers(compiled.linear)
    if own and (said := beyond_floats(compiled.linear)):
        return session.end(session.fallback(known.stopped("error", said)))
    session = _suited_to_mixed(session, compiled, model)
    compiled, scale = scale_of(instance, compiled, session.adapter, session.extension, own=own)
    restricted, linear = RestrictedModel(instance, model, compiled, own), compiled.linear
    later = None if lazy is None else lazy.of(model, compiled)
    known = replace(known, size=(linear.variables, linear.constraints))

    start, note = (first_table(session, restricted), "") if own else _start_of_user(session, restricted, begin)
    if session.limit.over:
        return session.end(_too_late(session, known, own=own))
    options = replace(session.options, time_limit=session.limit.seconds)

    before = time.perf_counter() - clock.began

    def forward(point: Progress) -> None:
        if session.on_progress is not None:
            shown = Progress(before + point.seconds, scale.to_problem(point.incumbent), scale.to_problem(point.bound))
            session.on_progress(shown)

    with clock.step("solve"):
        answer = solve_checked(
            session.adapter,
            linear,
            options,
            scale.grid,
            start=start,
            on_progress=forward,
            interrupt=session.interrupt,
            lazy=later,
        )
        if not own:
            stated = linear if later is None else later.stated(linear)
            seconds = max(session.limit.left, session.parameters.of(MilpParams).rounding_seconds)
            answer = _rounded(stated, answer, seconds)
        if later is not None:
            session, explain = _with_lazy(session, later, explain)
            if answer.x is not None and later.violated(answer.x):
                answer = replace(answer, stop_reason=StopReason.ERROR, x=None, bound=None, backed_by=(), message=LATE)
    proven = scale.proven(answer.bound)
    if own and proven is not None and session.problem.objective == "loss":
        proven = max(proven, Fraction(0))  # the tolerance of a bound may be more than all of a loss
    bound = Bound(proven, answer.backed_by)
    if known.bound.value is not None:
        bound = known.bound.and_also(bound, highest=session.problem.objective != "max_groups")
    told = ((before + p.seconds, scale.to_problem(p.incumbent), scale.to_problem(p.bound)) for p in answer.trajectory)
    outcome = replace(known, bound=bound, trajectory=(*known.trajectory, *told), version=answer.version)
    table = None
    if answer.x is not None:
        with clock.step("assign"):
            try:
                assignment = restricted.assignment(answer.x)
                if own and _states_less(session) and len(GroupCheck(instance).refused(assignment)):
                    return session.end(session.fallback(outcome.stopped("error", STATES_LESS)))
            except SolverError as error:
                if not is_ours(session.formulation.declare):
                    name = session.formulation.name
                    raise InputError(f'the formulation "{name}" has a solution that is no table: {error}') from error
                if session.extension is None or not session.extension.relaxed:
                    raise
                said = f"a solution of the model as it was changed ({session.extension.words}) is no table: {error}"
                return session.end(outcome.failed(said))
        table = session.release(assignment)
        own_objective = session.extension is None or session.extension.objective is None
        reached = objective_of(session.problem, compiled, answer, table.report, scale, own=own or own_objective)
        table = replace(table, objective=reached)
    rival = bound.value if table is None else table.objective
    # without a point the first table is taken, whatever stopped the solver; with one, where it is better
    ours = session.constructed(better_than=None if table is None else rival) if own else None
    if ours is not None:
        table = ours
    elif answer.x is not None and not own:
        compiled.load(answer.x)
    if table is None:
        ended = _without_point(session, outcome, known.bound, answer, explain)
        return session.end(ended.noted(note) if note else ended)
    stopped, message = answer.stop_reason, answer.message
    if stopped is StopReason.INFEASIBLE:
        stopped, message = StopReason.ERROR, f"{session.adapter.name} says infeasible, which this table refutes"
    if stopped is StopReason.UNBOUNDED:
        stopped, message = (
            StopReason.ERROR,
            f"{session.adapter.name} reports an unbounded model, but this model is bounded",
        )
    message = "; ".join(each for each in (message, note) if each)
    return session.end(outcome.stopped(stopped.value, message).with_table(table, scale))


@dataclass(frozen=True, eq=False)
class LazyFunctions:
    """A user's functions of a model whose variables hold a point; each returns constraints, those that are not violated
    are ignored. constraints: of points that may be solutions; cuts: of points of the relaxation."""

    constraints: Callable[[Any], Any] | None
    cuts: Callable[[Any], Any] | None

    @classmethod
    def asked(cls, constraints: object, cuts: object) -> LazyFunctions | None:
        """Both, checked; None where there is neither."""
        for name, each in (("lazy", constraints), ("cuts", cuts)):
            if each is not None and not callable(each):
                raise wrong(name, "a function of the model", each)
        return None if constraints is None and cuts is None else cls(constraints, cuts)  # type: ignore[arg-type]

    def of(self, model: pyo.ConcreteModel, compiled: PyomoArrays) -> Lazy:
        """For a solver."""
        cuts = None if self.cuts is None else compiled.separator(model, self.cuts, relaxed=True)
        points = (lambda _: ()) if self.constraints is None else compiled.separator(model, self.constraints)
        return Lazy(points, cuts)


def _with_lazy(
    session: Session, lazy: Lazy, explain: Callable[[], str] | None
) -> tuple[Session, Callable[[], str] | None]:
    """The session that says how many were stated, and what is said where the model with them has no solution."""
    extension = replace(session.extension or Extension(), lazy=len(lazy.rows))
    if lazy.rows:
        explain = lambda: f"{EXTENDED_INFEASIBLE}. {counted(len(lazy.rows), 'lazy constraint')} took part"  # noqa: E731
    return replace(session, extension=extension), explain


def _start_of_user(
    session: Session, model: RestrictedModel, groups: RowGroups | None
) -> tuple[dict[int, float] | None, str]:
    """A table as a start for a user's model, and why it is of no use. The solver finds the user's own variables."""
    if groups is None:
        return None, ""
    if Capability.START not in session.adapter.capabilities:
        return None, f"start was dropped: {session.adapter.title} takes none"
    found = assignment_of_groups(session.prepared, groups)
    if found is None:
        return None, NO_START
    start, linear = model.start(found), model.linear
    if len(start) == linear.variables:
        point = np.array([start[column] for column in range(linear.variables)])
        return (None, OUTSIDE) if linear.violation(point) > FEASIBILITY else (start, "")
    return (start, "") if Capability.PARTIAL_START in session.adapter.capabilities else (None, "")


def _states_less(session: Session) -> bool:
    return any(each.states_less(session.instance) for each in session.problem.requirements)


def _suited_to_mixed(session: Session, compiled: PyomoArrays, model: pyo.ConcreteModel) -> Session:
    """The session with what the solver needs where there are fractional variables, whoever has declared them."""
    continuous = np.flatnonzero(~compiled.linear.integer)
    added = ~np.isin(continuous, compiled.columns_of(list(model.assign.values())))
    if not added.any():
        return session
    return replace(session, options=session.adapter.suited(session.options, [Setting.MIXED]))


def _rounded(linear: LinearModel, answer: SolverResult, seconds: float) -> SolverResult:
    """The answer with its integers rounded, and what goes with them; without its bound where nothing does."""
    if answer.x is None or linear.integer.all():
        return answer
    point = with_integers_rounded(linear, answer.x, None if math.isinf(seconds) else seconds)
    if point is not None:
        return replace(answer, x=point, objective=linear.value(point))
    return replace(answer, stop_reason=StopReason.ERROR, bound=None, backed_by=(), message=NOT_ROUNDED)


def _too_late(session: Session, known: Outcome, *, own: bool) -> Outcome:
    """The end before the solver could start. Of a user's own constraints the first table knows nothing."""
    ended = known.stopped(session.limit.reason, TOO_LATE)
    return session.fallback(ended) if own else ended


def _without_point(
    session: Session, outcome: Outcome, known: Bound, answer: SolverResult, explain: Callable[[], str] | None
) -> Outcome:
    """What is left of an answer without a point. known: the bound from before the solver."""
    if answer.stop_reason is StopReason.INFEASIBLE:
        message = session.why_infeasible
        if explain is not None:
            # parts of the problem may have too many groups to be listed: then this message stays
            with suppress(InputError):
                message = explain()
        return outcome.infeasible(answer.backed_by, message)
    if answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.NODE_LIMIT, StopReason.INTERRUPTED):
        return outcome.stopped(answer.stop_reason.value, answer.message)
    message = answer.message or f"the solver ended as {answer.stop_reason.value} without a table"
    return replace(outcome, bound=known, registered=UNKNOWN).stopped("error", message)


def first_table(session: Session, model: RestrictedModel) -> dict[int, float] | None:
    """The table that was given to start with; else a first one for models whose `assign` is integer, where solvers find
    none for long; None for others."""
    problem = session.problem
    sides = side_constraints(problem)
    found = session.start is not None or (bool(sides) and session.known is not None)
    if not found and (problem.network or problem.objective != "loss" or sides):
        return None
    if Capability.PARTIAL_START not in session.adapter.capabilities or session.first is None:
        return None
    return model.start(session.first)
