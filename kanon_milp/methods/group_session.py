"""One call of `solve` of a problem whose cost is one of whole groups: what a method works on, and how it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from kanon_milp.bounds.group_costs.bound import CostDual
from kanon_milp.methods.outcome import UNKNOWN, Bound, Found, Outcome, Scale, verified_objective
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Call
from kanon_milp.methods.tracker import GroupTracker, PhaseRun
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.preparation import Size
from kanon_milp.presolve.whole_groups import GroupInstance, GroupTable
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers.proof import Grid
from kanon_milp.system.arrays import Ints
from kanon_milp.verify import verify

FORMULATION = "set_partitioning"
ROUGH = (
    "floating point cannot distinguish costs this close to each other, so table and bound meet only up to a millionth "
    "of the cost, and another table may cost less by that much"
)


@dataclass(frozen=True, eq=False)
class GroupSession(Call):
    """One call of `solve`. What is known of tables and bounds goes to `tracker`, and `finish` ends with it.

    start: int64 (n,), group of each row in a table to start with.
    """

    instance: GroupInstance = field(kw_only=True)
    start: Ints | None = None

    def __repr__(self) -> str:
        """Names and sizes, and no cell."""
        return f"<GroupSession: method {self.method}; {self.instance!r}>"

    @property
    def problem(self) -> Problem:
        """The problem as it was given."""
        return self.instance.problem

    @cached_property
    def tracker(self) -> GroupTracker:
        """The best table so far and the highest bound; the table to start with where that satisfies the problem."""
        tracker = GroupTracker(Fraction(1), self.clock.began, self.on_progress)
        if self.started is not None and self.instance.satisfies(self.started):
            tracker.better(self.started)
        return tracker

    @cached_property
    def started(self) -> GroupTable | None:
        """The table that was given to start with."""
        return None if self.start is None else self.instance.table(self.start)

    @property
    def reached(self) -> bool:
        """Whether the gap that was asked for is reached."""
        best, bound = self.tracker.best, self.tracker.bound
        if best is None:
            return False
        return best.cost - bound <= Fraction(self.options.gap) * best.cost

    def end_infeasible(self, backed_by: tuple[str, ...] = ("own bound",)) -> Result:
        """The result of a problem that has no solution."""
        message = self.instance.obstacle or "no division of the rows into groups satisfies the requirements"
        return self._end(Outcome().infeasible(backed_by, message))

    def finish(
        self,
        reason: str = "finished",
        message: str = "",
        *,
        size: tuple[int, int] = (0, 0),
        phases: tuple[PhaseRun, ...] = (),
        rough: Fraction | None = None,
        dual: CostDual | None = None,
    ) -> Result:
        """The result with the best table and the bound of the tracker: optimal where they are equal, exactly.

        reason: why the method stopped, where it is not the limit. size: variables and constraints of the model.
        rough: the bound is a solver's, in floating point, and meets the table within its tolerance, in this unit. dual:
        multipliers for a certificate.
        """
        tracker, limit = self.tracker, self.limit
        bound = Bound(tracker.proven, tracker.proven_by)
        if not tracker.proven and (tracker.best is None or tracker.best.cost):
            bound = UNKNOWN  # that no table costs less than nothing is worth a word only where one costs nothing
        best = self.instance.one_group if tracker.best is None else tracker.best
        if self.started is not None and best is self.started:
            message = "; ".join(each for each in (message, "the table is the one that was given to start with") if each)
        elif self.started is not None and not self.instance.satisfies(self.started):
            message = "; ".join(each for each in (message, "start was dropped: its groups give no table") if each)
        outcome = Outcome(bound=bound, trajectory=tuple(tracker.trajectory), size=size, phases=phases)
        outcome = outcome.stopped(limit.reason if limit.over else reason, message)
        if best is None:
            return self._end(outcome)
        found = self._released(best)
        if found.report.ok and found.objective != best.cost:
            return self._end(replace(outcome.failed("the verifier and the method find different costs"), found=found))
        values = (found.objective or Fraction(0), bound.value or Fraction(0))
        grid = Grid(0) if rough else Grid(math.lcm(*(value.denominator for value in values)))
        ended = outcome.with_table(found, Scale(1, rough or Fraction(1), grid, ROUGH))
        if rough and ended.proof == "optimal" and bound.value is not None and found.objective is not None:
            ended = replace(ended, bound=replace(bound, value=min(bound.value, found.objective)))  # what is proven
        return replace(self._end(ended), group_dual=dual)

    def _released(self, best: GroupTable) -> Found:
        with self.clock.step("assign"):
            group = best.group + 1
            table = self.problem.table.released(self.instance.cost.release(best.group))
        with self.clock.step("verify"):
            report = verify(self.problem, table, partition=group.tolist(), minimal=False)
        placed = RowGroups.of_table(group, self.problem.table)
        return Found(table, placed, report, verified_objective(self.problem, report))

    def _end(self, outcome: Outcome) -> Result:
        types = self.instance.types.count
        sizes = Size(types, 0, 0, 0, 0), Size(types, 0, 0, *outcome.size)
        return self.result_of(outcome, FORMULATION, *sizes, row_types=self.instance.row_types)
