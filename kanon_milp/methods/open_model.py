"""The strong model of a problem with all its candidates, solved again and again with other objectives, and with tables
left out."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyomo.core as pyo
from pyomo.common.modeling import unique_component_name

from kanon_milp.errors import SolverError, TooManyLevelVectorsError
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.goals import Differ, Goal, exclude, goal_over
from kanon_milp.formulations.restricted import Answer, RestrictedModel, solve_restricted
from kanon_milp.methods.outcome import Found
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment, RowGroups
from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.resources import too_large, too_long
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import SolverAdapter, SolverOptions, StopReason
from kanon_milp.solvers.model import beyond_floats, check_numbers
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit, Over
from kanon_milp.system.parameters import Parameters, number, parameters

TOO_LATE = "there was no time left for it"


@parameters("open_model")
@dataclass(frozen=True)
class OpenModelParams:
    """The model behind a second objective, and behind a pool."""

    pairs: int = number(20_000, "(row type, candidate) pairs, up to which it is stated; with more, search goes on")


Solved = Callable[..., Result]  # of a problem: `solve` with the arguments that the user has given, some of them changed


@dataclass(frozen=True, eq=False)
class Request:
    """What was asked of `solve`, for methods that solve more than one problem for it. iterations: the iteration
    limit."""

    problem: Problem
    solved: Solved
    adapter: SolverAdapter
    options: SolverOptions
    interrupt: threading.Event
    parameters: Parameters
    iterations: int | None = None

    @cached_property
    def limit(self) -> Limit:
        """When all of it has to end, counted from the first time that this is asked."""
        seconds = self.options.time_limit
        return Limit(math.inf if seconds is None else time.perf_counter() + seconds, self.interrupt)

    def first(self, share: float) -> Result:
        """The result of the problem itself, in a share of the time that is left."""
        found = self.solved(self.problem, time_limit=self.limit.share(share).seconds)
        options = replace(found.solver.options, time_limit=self.options.time_limit)
        return replace(found, solver=replace(found.solver, options=options))

    def surely_too_large(self) -> bool:
        """Whether the model with all candidates has too many pairs already where it has those of few level vectors: so
        that it is known before anything is solved."""
        types, most = types_of(self.problem, compress_table(self.problem)), self.parameters.of(OpenModelParams).pairs
        try:
            levels = recode(self.problem, types)
        except TooManyLevelVectorsError:
            return True
        widest = np.argsort(levels.costs, kind="stable")[-2 * (most // types.count + 1) :]
        return with_candidates(self.problem, types, levels.only(widest)).candidates.pairs > most

    def opened(self, first: Result) -> OpenModel | str:
        """The model with all candidates; why there is none, where it is too large, or there is no time or memory for
        it."""
        most = self.parameters.of(OpenModelParams).pairs
        if self.limit.over:
            return TOO_LATE
        if first.before.pairs > most:
            return _too_many(first.before.pairs, most)
        return OpenModel.of(self.problem, self.adapter, self.options, self.limit, most)


def _too_many(pairs: int, most: int) -> str:
    return f"its model has {pairs:,} (row type, candidate) pairs or more, above open_model.pairs ({most:,})"


@dataclass(frozen=True, eq=False)
class OpenModel:
    """session: over the instance with all candidates that a group can have."""

    session: Session
    model: pyo.ConcreteModel

    @classmethod
    def of(
        cls, problem: Problem, adapter: SolverAdapter, options: SolverOptions, limit: Limit, most: int
    ) -> OpenModel | str:
        """Declare it; why not, where it has more pairs than `most`, or there is no time or memory for it."""
        formulation, clock = get_formulation("strong"), Clock()
        prepared = presolve(problem, clock, open_model=True, limit=limit)
        instance = prepared.instance
        if prepared.shortage is not None:
            return prepared.shortage.said()
        if instance.candidates.pairs > most:
            return _too_many(instance.candidates.pairs, most)
        if message := too_large(instance) or too_long(instance, limit.seconds):
            return message
        try:
            model = limit.call(formulation.build, instance)
        except Over:
            return TOO_LATE
        suited = adapter.suited(replace(options, log_file=None), formulation.trust(instance))
        stated = Session(adapter, suited, clock, interrupt=limit.interrupt, prepared=prepared, formulation=formulation)
        return cls(stated, model)

    @property
    def instance(self) -> Instance:
        """Its row types and candidates."""
        return self.session.instance

    def goal(self, name: str) -> Goal:
        """The goal of that name over its instance."""
        return goal_over(self.instance, name)

    def minimize(self, expression: object) -> None:
        """Take another objective."""
        for each in self.model.component_objects(pyo.Objective, active=True):
            each.deactivate()
        self.model.add_component(unique_component_name(self.model, "goal"), pyo.Objective(expr=expression))

    def hold(self, expression: object, most: Fraction) -> None:
        """From now on, an expression whose values are integers is at most this."""
        if isinstance(expression, int):
            return  # a constant, such as what a column without a weight loses
        name = unique_component_name(self.model, "held")
        self.model.add_component(name, pyo.Constraint(expr=expression <= math.floor(most)))  # type: ignore[operator]

    def exclude(self, table: Assignment, differ: Differ) -> None:
        """From now on, a table is another one than this."""
        pairs = zip(table.row_type.tolist(), table.candidate.tolist(), strict=True)
        rows: Mapping[tuple[int, int], int] = dict(zip(pairs, table.rows.tolist(), strict=True))
        exclude(self.model, rows, differ=differ)

    def of_groups(self, groups: RowGroups) -> Assignment | None:
        """The groups of a table, each released as cheaply as possible; None where one of them has no candidate."""
        return assignment_of_groups(self.session.prepared, groups)

    def best(self, limit: Limit, start: Assignment | None = None) -> tuple[Answer, Assignment | None]:
        """Solve it: what is proven, and the best point as an assignment."""
        try:
            arrays = limit.call(to_arrays, self.model)
        except Over:
            return Answer(StopReason.TIME_LIMIT, None, None, (), TOO_LATE, 0.0), None
        restricted = RestrictedModel(self.instance, self.model, arrays, own=False).with_integer_rows()
        check_numbers(restricted.linear)
        if message := beyond_floats(restricted.linear):
            return Answer(StopReason.ERROR, None, None, (), message, 0.0), None
        known = None if start is None else restricted.start(start)
        answer = solve_restricted(restricted.linear, self.session.adapter, self.session.options, limit, start=known)
        try:
            return answer, None if answer.x is None else restricted.assignment(answer.x)
        except SolverError as error:
            return replace(answer, bound=None, message=str(error)), None

    def release(self, table: Assignment) -> Found:
        """Its table, verified."""
        return self.session.release(table)
