"""The bounds of this package as the methods ask for them, and the one that needs nothing but a look at the pairs.

Their code is compiled, and imported when it is needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds.registry import NOTHING, BoundTask, LowerBound, ProvenBound
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds.dual import DualPoint


def cheapest_loss(instance: Instance) -> int:
    """A bound under any requirements, in units: no row loses less than at the cheapest candidate that covers it.

    Each row type must have a candidate. Presolve has dropped candidates that no group can use, so this is more than
    nothing; it takes one look at the pairs.
    """
    candidates, counts = instance.candidates, instance.types.counts
    cheapest = np.full(instance.types.count, np.iinfo(np.int64).max)
    np.minimum.at(cheapest, candidates.members, candidates.cost[candidates.candidate_of_pair()])
    return sum(n * cost for n, cost in zip(counts.tolist(), cheapest.tolist(), strict=True))


def cheapest_without_candidates(instance: Instance, levels: Levels, limit: Limit) -> int:
    """The same where there are too many candidates to enumerate, in units: no row loses less than under the cheapest
    level vector under which as many rows are alike as a group needs.

    levels: all that the recoding allows; the candidates of the instance play no part. It goes through the level vectors
    from the cheapest on; rows that have found none before the limit lose at least as much as under the next one.
    """
    from kanon_milp.presolve.alike import Alike

    types, counts = instance.types, instance.types.counts
    least = instance.smallest_size
    alike, every = Alike(types, levels), np.arange(types.count)
    order = np.argsort(levels.costs, kind="stable")
    exempt = (levels.vectors == levels.top).all(axis=1) & instance.exempt_reading
    open_, total, cost = np.ones(types.count, dtype=bool), 0, 0
    for vector in order.tolist():
        cost = int(levels.costs[vector])
        if limit.over or not open_.any():
            break
        members = alike.together(vector, every, counts, 1 if exempt[vector] else least)
        found = members[open_[members]]
        total += cost * int(counts[found].sum())
        open_[found] = False
    return total + cost * int(counts[open_].sum())


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
    """The Lagrangian bound with the requirements inside the subproblems (`kanon_milp.bounds.lagrangian_bound`)."""

    name = "requirements"

    def accepts(self, instance: Instance) -> bool:
        """Requirements about sensitive attributes."""
        return instance.problem.objective == "loss" and bool(instance.problem.attributes)

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """From the multipliers at hand; `NOTHING` where exact numbers would need more than 64 bits."""
        from kanon_milp.bounds.dual import proven_bound, round_dual
        from kanon_milp.bounds.lagrangian_bound import required_bound

        limit, start = task.limit, None if task.dual is None else task.dual.multipliers
        point = required_bound(
            instance, start, limit.target, limit.seconds, limit.iterations, task.on_progress, limit.interrupt,
            threads=task.threads, params=task.parameters,
        )  # fmt: skip
        try:
            return ProvenBound(proven_bound(instance, round_dual(point)), dual=task.dual)
        except InputError:
            return NOTHING


class RelaxAndCutBound:
    """The Lagrangian bound with rank-1 cuts, for tables of any size (`kanon_milp.bounds.columns.relax_and_cut`)."""

    name = "relax_and_cut"

    def accepts(self, instance: Instance) -> bool:
        """Whatever is required."""
        return instance.problem.objective == "loss"

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """From the multipliers at hand; proves no less than these."""
        from kanon_milp.bounds.columns.relax_and_cut import relax_and_cut

        dual = _multipliers(instance, task)
        return certified(
            instance, relax_and_cut(instance, dual, task.limit, task.threads, task.on_progress, task.parameters)
        )


class ColumnGenerationBound:
    """Column generation over groups with rank-1 cuts, for few row types (`kanon_milp.bounds.columns.cut_rounds`)."""

    name = "column_generation"

    def accepts(self, instance: Instance) -> bool:
        """Whatever is required."""
        return instance.problem.objective == "loss"

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """From the multipliers and the table at hand; proves no less than these multipliers."""
        from kanon_milp.bounds.columns.cut_rounds import raise_bound

        dual = _multipliers(instance, task)
        return certified(
            instance,
            raise_bound(instance, dual, task.table, task.limit, task.on_progress, task.enough, task.parameters),
        )


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
        params=task.parameters,
    )


def certified(instance: Instance, dual: DualPoint) -> ProvenBound:
    """What these multipliers prove, in integers."""
    from kanon_milp.bounds.dual import proven_bound, round_dual

    return ProvenBound(proven_bound(instance, round_dual(dual)), ("certificate",), dual)


LAGRANGIAN, REQUIREMENTS = LagrangianBound(), RequirementsBound()
RELAX_AND_CUT, COLUMN_GENERATION = RelaxAndCutBound(), ColumnGenerationBound()
BUILT_IN: tuple[LowerBound, ...] = (LAGRANGIAN, REQUIREMENTS, RELAX_AND_CUT, COLUMN_GENERATION)
