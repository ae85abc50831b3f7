"""Viability: candidates that no solution opens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, Reduction, drop
from kanon_milp.problem.privacy.base import viable_candidates
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags


@dataclass(frozen=True)
class Viability(Reduction[Dropped]):
    """Drop a candidate if no subset of its cover satisfies every requirement: it is open in no solution.

    Testing the requirements one by one is valid for their conjunction, and so is N_g ≥ κ with κ the smallest size that
    any of them allows (k, p, ⌈l⌉, ...). Holds for every problem; what is exempt is so from k alone. It reads supports
    and sensitive values as the candidates carry them, so it may also come after merging.
    """

    name: ClassVar[str] = "viability"

    def accepts(self, problem: Problem) -> bool:
        """Always valid."""
        return True

    def keep(self, instance: Instance) -> Flags:
        """Per candidate: as many rows as the smallest group has, and viable for each requirement."""
        viable: Flags = instance.candidates.support >= instance.least
        for requirement in instance.problem.requirements if len(viable) else ():
            viable &= viable_candidates(requirement, instance)
        return viable

    def _apply(self, instance: Instance) -> Dropped:
        return drop(self.name, instance, self.keep(instance))
