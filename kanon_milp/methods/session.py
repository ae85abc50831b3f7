"""One call of `solve`: what it works on, and how it ends."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kanon_milp.formulations import Formulation
from kanon_milp.heuristics.greedy import greedy, suppress_all
from kanon_milp.methods.outcome import UNKNOWN, Bound, Scale, Verdict, judge
from kanon_milp.methods.result import Result, SolverRun
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.expansion import expand
from kanon_milp.presolve.preparation import Prepared, Size
from kanon_milp.solvers import SolverAdapter, SolverOptions, StopReason
from kanon_milp.solvers.proof import Grid
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit
from kanon_milp.verify import Report, verify

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

MethodName = Literal["auto", "milp", "search"]
METHODS = ("auto", "milp", "search")
FIRST_SHARE, FIRST_SECONDS = 0.1, 1.0  # of the time that is left, and at least, for a first table
Trajectory = tuple[tuple[float, float | None, float | None], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """An assignment as a table, in the user's own kind of data frame, with the group of each row and what the verifier
    says."""

    table: Any
    groups: NDArray[np.int64]
    report: Report


@dataclass(frozen=True, eq=False)
class Found:
    """A table with its objective, None where the verifier cannot tell it."""

    released: Released
    objective: Fraction | None


@dataclass(frozen=True, eq=False)
class Session:
    """One call of `solve`.

    method: whether one model is solved, or a search closes in on the bound. interrupt: set by whoever wants it to stop.
    """

    prepared: Prepared
    formulation: Formulation
    adapter: SolverAdapter
    options: SolverOptions
    clock: Clock
    method: MethodName = "milp"
    interrupt: threading.Event | None = None

    @property
    def limit(self) -> Limit:
        """When it has to end."""
        return limit_of(self.clock, self.options, self.interrupt)

    @cached_property
    def first(self) -> Assignment | None:
        """A table to begin with and to end with if there is no better one: greedy, or all rows suppressed; None where
        not even these can be.

        It may take its least time also after the limit. Whether it satisfies the problem is for the verifier to say.
        """
        instance = self.prepared.instance
        with self.clock.step("search"):
            found = greedy(instance, self.limit.share(FIRST_SHARE, FIRST_SECONDS))
            return suppress_all(instance) if found is None else found

    def constructed(self, better_than: Fraction | None = None) -> Found | None:
        """A verified table that no solver has made, with a better objective than this one; None if there is none.

        The first table, or the one with all rows in one group.
        """
        first = None if self.first is None else self.prepared.restore(self.first)
        return self._verified(first, better_than) or self.one_group(better_than)

    def one_group(self, better_than: Fraction | None = None) -> Found | None:
        """As `constructed`, but only the table with all rows in one group.

        It is made before anything is reduced, so what reductions and requirements say is held against it.
        """
        return self._verified(suppress_all(self.prepared.before), better_than)

    def _verified(self, table: Assignment | None, better_than: Fraction | None) -> Found | None:
        """The table of an assignment over the instance before the reductions, if it is one, and better."""
        if table is None:
            return None
        problem = self.prepared.problem
        sign = -1 if problem.objective == "max_groups" else 1
        groups = Fraction(len(np.unique(table.candidate)))
        objective = table.cost * self.prepared.before.levels.unit if problem.objective == "loss" else groups
        if better_than is not None and sign * objective >= sign * better_than:
            return None
        report = (released := self._released(table)).report
        # what the table is worth is the verifier's word
        reached = report.cost if problem.objective == "loss" else Fraction(report.groups)
        if report.ok and reached is not None and (better_than is None or sign * reached < sign * better_than):
            return Found(released, reached)
        return None

    def release(self, assignment: Assignment) -> Released:
        """The table of an assignment over the reduced instance, verified."""
        return self._released(self.prepared.restore(assignment))

    def _released(self, assignment: Assignment) -> Released:
        """The table of an assignment over the instance before the reductions, verified."""
        problem, prepared = self.prepared.problem, self.prepared
        with self.clock.step("assign"):
            release = expand(prepared.before, assignment)
            table = problem.table.released(release.columns)
        with self.clock.step("verify"):
            report = verify(problem, table, partition=release.group.tolist())
        return Released(table, release.group, report)

    def end_without(
        self,
        reason: str,
        message: str,
        *,
        own: bool = True,
        bound: Bound = UNKNOWN,
        size: tuple[int, int] = (0, 0),
        dual: DualPoint | None = None,
    ) -> Result:
        """The result where no solver was asked: the first table, if it satisfies the problem.

        own: the model is as the package declares it; of a user's own rows the first table knows nothing.
        """
        found = self.constructed() if own else None
        verdict = Verdict(reason, "none" if bound.value is None else "bound", bound, message)
        if found is not None:
            problem, unit = self.prepared.problem, self.prepared.instance.levels.unit
            sign = -1 if problem.objective == "max_groups" else 1
            scale = Scale(sign, unit if problem.objective == "loss" else Fraction(1), Grid())
            verdict = judge(StopReason(reason), message, found.released.report, found.objective, bound, scale)
        return self.end(verdict, found, size=size, dual=dual)

    def end(
        self,
        verdict: Verdict,
        found: Found | None = None,
        *,
        size: tuple[int, int] = (0, 0),
        trajectory: Trajectory = (),
        version: str | None = None,
        dual: DualPoint | None = None,
    ) -> Result:
        """The result; `size` is the model's number of variables and constraints."""
        released = None if found is None else found.released
        instance = self.prepared.instance
        types, candidates = instance.types, instance.candidates
        formulation = self.formulation.name
        shown = released is not None and released.report.ok
        if dual is not None:
            dual = dual.spread(self.prepared.restore_values)
        return Result(
            problem=self.prepared.problem,
            stop_reason=verdict.reason,
            proof=verdict.proof,
            backed_by=() if verdict.proof == "none" else verdict.bound.backed_by,
            exact_objective=None if found is None else found.objective,
            exact_bound=verdict.bound.value,
            table=released.table if released is not None and shown else None,
            groups=released.groups if released is not None and shown else None,
            report=None if released is None else released.report,
            solver=SolverRun(
                self.adapter.name, version or self.adapter.version(), formulation, self.options, self.method
            ),
            before=self.prepared.size_before,
            after=Size(types.count, candidates.count, candidates.pairs, *size),
            row_types=self.prepared.row_types,
            seconds=self.clock.total(),
            trajectory=trajectory,
            message=verdict.message,
            reductions=self.prepared.reduction_sizes,
            dual=dual,
        )


def limit_of(clock: Clock, options: SolverOptions, interrupt: threading.Event | None) -> Limit:
    """The time limit counts from the moment when the table has been read."""
    return Limit(math.inf if options.time_limit is None else clock.began + options.time_limit, interrupt)
