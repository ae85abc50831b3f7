"""The restricted model: some candidates and pairs as a model, its checked solution, and the assignment in that.

Whatever hands a model of a part of a problem to the solver does it here: methods, the neighbourhoods of a search, the
nodes of branch and bound. The model comes from a formulation (`RestrictedModel`), or as arrays of the same constraints
(`kanon_milp.formulations.arrays`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import SolverError
from kanon_milp.formulations import Formulation
from kanon_milp.formulations.row_assignment import Cells, assign_rows
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import OnProgress, Progress, SolverOptions, StopReason
from kanon_milp.solvers.checked import precision_size, solve_checked, tried
from kanon_milp.solvers.model import VIOLATION, LinearModel
from kanon_milp.solvers.proof import INTEGRAL_GAP, Backing, Grid
from kanon_milp.solvers.pyomo_arrays import PyomoArrays, to_arrays
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit

Start = Mapping[int, float] | Floats

NEAR = 1e-4  # by how much a number of rows may miss an integer


@dataclass(frozen=True, eq=False)
class RestrictedModel:
    """A model with the components `assign` and `open` over an instance, and its arrays.

    own: it is as a formulation of this package declares it; else `assign` is taken as it comes from the solver.
    """

    instance: Instance
    declared: pyo.ConcreteModel
    arrays: PyomoArrays
    own: bool = True

    @classmethod
    def of(
        cls, instance: Instance, formulation: Formulation, limit: Limit = NO_LIMIT, clock: Clock | None = None
    ) -> RestrictedModel:
        """Declare the model of an instance. Raises `Over` at the limit."""
        clock = clock or Clock()
        with clock.step("build"):
            declared = limit.call(formulation.build, instance)
        with clock.step("handover"):
            return cls.handed_over(instance, declared, limit)

    @classmethod
    def handed_over(
        cls, instance: Instance, declared: pyo.ConcreteModel, limit: Limit = NO_LIMIT, *, names: bool = False
    ) -> RestrictedModel:
        """A model that is declared already; it says that an integral optimum exists where only `assign` is continuous
        and the rest a network. names: carry its own names through.

        With the binaries fixed, a minimum-cost flow is left, one of which is integral; if any flow is within the cost
        bound, that one is.
        """
        arrays = limit.call(partial(to_arrays, names=names), declared)
        if instance.problem.network:
            continuous = np.flatnonzero(~arrays.linear.integer)
            integral = bool(np.isin(continuous, arrays.columns_of(list(declared.assign.values()))).all())
            arrays = replace(arrays, linear=replace(arrays.linear, integral=integral))
        return cls(instance, declared, arrays)

    def with_integer_rows(self) -> RestrictedModel:
        """The same with `assign` as integers: where something has broken the network behind it."""
        columns, integer = self.columns, self.linear.integer.copy()
        integer[columns[columns >= 0]] = True
        return replace(self, arrays=replace(self.arrays, linear=replace(self.linear, integer=integer)))

    @property
    def linear(self) -> LinearModel:
        """What the solver sees."""
        return self.arrays.linear

    @property
    def columns(self) -> Ints:
        """The column of each pair, -1 where the model does not need it, int64 (pairs,)."""
        return self.arrays.columns_of(list(self.declared.assign.values()))

    @property
    def size(self) -> tuple[int, int]:
        """Number of variables and constraints."""
        return self.linear.variables, self.linear.constraints

    def start(self, rows: Assignment | Ints, *, sizes: bool = False) -> dict[int, float]:
        """An assignment, or rows of each pair, as values of `assign` and `open`, by column.

        sizes: also of `rows`, where the model has them as variables.
        """
        candidates = self.instance.candidates
        rows = rows.rows_of_pairs(self.instance) if isinstance(rows, Assignment) else rows
        size = np.bincount(candidates.candidate_of_pair(), weights=rows, minlength=candidates.count)
        variables = [*self.declared.assign.values(), *self.declared.open.values()]
        values = [rows, size > 0]
        if sizes and self.declared.component("rows") is not None:
            variables += self.declared.rows.values()
            values.append(size)
        columns = self.arrays.columns_of(variables).tolist()
        found = zip(columns, np.concatenate(values).astype(float).tolist(), strict=True)
        return {column: value for column, value in found if column >= 0}

    def assignment(self, point: Floats) -> Assignment:
        """Integral rows of each pair: by row assignment where our own model leaves a network, else as the solver says.

        Raises SolverError for a point that is no table.
        """
        instance, candidates = self.instance, self.instance.candidates
        x = _near_integers(self.arrays.values_of(list(self.declared.assign.values()), point))
        candidate = candidates.candidate_of_pair()
        if not self.own or not instance.problem.network:
            return Assignment.from_pairs(instance, np.round(x).astype(np.int64))
        rows = np.bincount(candidate, weights=x, minlength=candidates.count)
        exclusive = any(requirement.absence_matters for requirement in instance.problem.requirements)
        assignment = assign_rows(instance, rows > 0.5, Cells.from_point(instance, x, exclusive=exclusive))
        claimed = float(candidates.cost[candidate] @ x)
        # what a point that the model's constraints only just allow may be cheaper, by rows that it does not place
        missing = VIOLATION * max(1.0, float(x.max(initial=0.0))) * float(candidates.cost[candidate[x > 0]].sum())
        if assignment.cost > claimed + 1e-6 * max(1.0, claimed) + missing:
            raise SolverError(f"the row assignment costs {assignment.cost}, more than the solver's point ({claimed})")
        return assignment


def _near_integers(x: Floats) -> Floats:
    """Numbers of rows, none negative, those near to an integer rounded: solvers are off by their tolerances."""
    integers = np.round(x)
    return np.maximum(np.where(np.abs(x - integers) <= NEAR, integers, x), 0.0)


@dataclass(frozen=True, eq=False)
class Answer:
    """What is known after a restricted model.

    x: the best point, None where there is none. bound: what the problem loses at least, None where nothing is proven.
    backed_by: who stands behind that, or behind "infeasible".
    """

    stop_reason: StopReason
    x: Floats | None
    bound: int | None
    backed_by: tuple[Backing, ...]
    message: str
    seconds: float

    @property
    def optimal(self) -> bool:
        """Whether the solver says that there is no better point."""
        return self.stop_reason is StopReason.OPTIMAL

    @property
    def solved(self) -> bool:
        """Whether the model was solved to the end, or to the gap that was asked for."""
        return self.stop_reason in (StopReason.OPTIMAL, StopReason.GAP_LIMIT)

    @property
    def infeasible(self) -> bool:
        """Whether the model has no point."""
        return self.stop_reason is StopReason.INFEASIBLE and self.x is None


def solve_restricted(
    model: LinearModel,
    adapter: SolverAdapter,
    options: SolverOptions,
    limit: Limit = NO_LIMIT,
    *,
    start: Start | None = None,
    most: float = math.inf,
    on_progress: OnProgress | None = None,
    checked: bool = True,
) -> Answer:
    """Solve a model with an integral objective that the search can do without: a solver that fails ends with an error.

    options: its time limit holds where `limit` has none. most: what loses as much may be missing from the model, so
    its bound is worth no more. on_progress: told of points and of what is proven. checked: with a second look where
    that is affordable (`solve_checked`); without it there is no bound.
    """
    began = time.perf_counter()
    seconds = options.time_limit if limit.seconds is None else limit.seconds
    options = replace(options, time_limit=seconds, absolute_gap=INTEGRAL_GAP)
    interrupt = limit.interrupt
    if not checked:
        answer = tried(adapter, options, lambda: adapter.solve(model, options, start=start, interrupt=interrupt))
        return Answer(answer.stop_reason, answer.x, None, (), answer.message, time.perf_counter() - began)
    grid = Grid(size=precision_size(adapter, model))

    def proven(bound: float | None) -> int | None:
        safe = grid.safe(bound)
        return None if safe is None else int(safe if safe < most else most)

    def show(point: Progress) -> None:
        assert on_progress is not None
        bound = proven(point.bound)
        on_progress(replace(point, bound=None if bound is None else float(bound)))

    told = None if on_progress is None else show
    answer = tried(
        adapter,
        options,
        lambda: solve_checked(adapter, model, options, grid, start=start, on_progress=told, interrupt=interrupt),
    )
    spent = time.perf_counter() - began
    return Answer(answer.stop_reason, answer.x, proven(answer.bound), answer.backed_by, answer.message, spent)
