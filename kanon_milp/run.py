"""One call of `solve`: what it works on, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kanon_milp.algorithms.row_assignment import Assignment
from kanon_milp.expansion import expand
from kanon_milp.preparation import Clock, Prepared
from kanon_milp.result import Proof, Result, Size, SolverRun
from kanon_milp.solvers import SolverAdapter, SolverOptions
from kanon_milp.verify import Report, verify

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

MethodName = Literal["auto", "milp", "search"]
METHODS = ("auto", "milp", "search")
Trajectory = tuple[tuple[float, float | None, float | None], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """An assignment as a table, in the user's own kind of data frame, with the group of each row and what the verifier
    says."""

    table: Any
    groups: NDArray[np.int64]
    report: Report


@dataclass(frozen=True, eq=False)
class Run:
    """One call of `solve`. method: whether one model is solved, or a search closes in on the bound."""

    prepared: Prepared
    adapter: SolverAdapter
    options: SolverOptions
    clock: Clock
    method: MethodName = "milp"

    def release(self, assignment: Assignment) -> Released:
        """The table of an assignment over the reduced instance, verified."""
        problem, prepared = self.prepared.problem, self.prepared
        with self.clock.step("assign"):
            release = expand(prepared.before, prepared.restore(assignment))
            table = problem.table.released(release.columns)
        with self.clock.step("verify"):
            report = verify(problem, table, partition=release.group.tolist())
        return Released(table, release.group, report)

    def end(
        self,
        reason: str,
        proof: Proof,
        *,
        objective: Fraction | None = None,
        bound: Fraction | None = None,
        released: Released | None = None,
        size: tuple[int, int] = (0, 0),
        trajectory: Trajectory = (),
        version: str | None = None,
        message: str = "",
        dual: DualPoint | None = None,
    ) -> Result:
        """The result; `size` is the model's number of variables and constraints."""
        instance = self.prepared.instance
        types, candidates = instance.types, instance.candidates
        formulation = self.prepared.formulation.name
        shown = released is not None and released.report.ok
        if dual is not None:
            dual = dual.spread(self.prepared.restore_values)
        return Result(
            problem=self.prepared.problem,
            stop_reason=reason,
            proof=proof,
            exact_objective=objective,
            exact_bound=bound,
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
            message=message,
            reductions=self.prepared.reduction_sizes,
            dual=dual,
        )
