"""The bounds of this package as the methods ask for them. Their code is compiled, and imported when it is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_milp.bounds.registry import NOTHING, BoundTask, LowerBound, ProvenBound
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance

if TYPE_CHECKING:
    from kanon_milp.bounds.dual import DualPoint


class LagrangianBound:
    """The Lagrangian bound with packing cuts; of all requirements only the sizes (`bounds.lagrangian_bound`)."""

    name = "lagrangian"

    def accepts(self, instance: Instance) -> bool:
        """Whatever is required; side constraints only take solutions away."""
        return instance.problem.objective == "loss"

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """From the beginning. Raises InputError where a row type has no candidate."""
        return certified(instance, _multipliers(instance, replace(task, dual=None)))


class RequirementsBound:
    """The Lagrangian bound with the requirements inside the subproblems (`kanon_milp.bounds.required`)."""

    name = "requirements"

    def accepts(self, instance: Instance) -> bool:
        """Requirements about sensitive attributes."""
        return instance.problem.objective == "loss" and bool(instance.problem.attributes)

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """From the multipliers at hand; `NOTHING` where exact numbers would need more than 64 bits."""
        from kanon_milp.bounds.required import proven_required, required_bound

        limit, start = task.limit, None if task.dual is None else task.dual.multipliers
        point = required_bound(
            instance, start, limit.target, limit.seconds, limit.iterations, task.on_progress, limit.interrupt,
            threads=task.threads,
        )  # fmt: skip
        try:
            return ProvenBound(proven_required(instance, point), dual=task.dual)
        except InputError:
            return NOTHING


class RelaxAndCutBound:
    """The Lagrangian bound with rank-1 cuts, for tables of any size (`kanon_milp.bounds.columns.relaxed`)."""

    name = "relax_and_cut"

    def accepts(self, instance: Instance) -> bool:
        """Whatever is required."""
        return instance.problem.objective == "loss"

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """From the multipliers at hand; proves no less than these."""
        from kanon_milp.bounds.columns import relax_and_cut

        dual = _multipliers(instance, task)
        return certified(instance, relax_and_cut(instance, dual, task.limit, task.threads, task.on_progress))


class ColumnGenerationBound:
    """Column generation over groups with rank-1 cuts, for few row types (`kanon_milp.bounds.columns.ascent`)."""

    name = "column_generation"

    def accepts(self, instance: Instance) -> bool:
        """Whatever is required."""
        return instance.problem.objective == "loss"

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """From the multipliers and the table at hand; proves no less than these multipliers."""
        from kanon_milp.bounds.columns import raise_bound

        dual = _multipliers(instance, task)
        return certified(instance, raise_bound(instance, dual, task.table, task.limit, task.on_progress, task.enough))


def _multipliers(instance: Instance, task: BoundTask) -> DualPoint:
    """Those at hand, else those of the Lagrangian bound."""
    from kanon_milp.bounds.lagrangian_bound import lagrangian

    limit = task.limit
    return task.dual or lagrangian(
        instance,
        limit.target,
        limit.seconds,
        limit.iterations,
        task.on_progress,
        limit.interrupt,
        threads=task.threads,
    )


def certified(instance: Instance, dual: DualPoint) -> ProvenBound:
    """What these multipliers prove, in integers."""
    from kanon_milp.bounds.dual import proven_bound, round_dual

    return ProvenBound(proven_bound(instance, round_dual(dual)), ("certificate",), dual)


LAGRANGIAN, REQUIREMENTS = LagrangianBound(), RequirementsBound()
RELAX_AND_CUT, COLUMN_GENERATION = RelaxAndCutBound(), ColumnGenerationBound()
BUILT_IN: tuple[LowerBound, ...] = (LAGRANGIAN, REQUIREMENTS, RELAX_AND_CUT, COLUMN_GENERATION)
