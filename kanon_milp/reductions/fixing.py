"""Reduced-cost fixing: candidates and pairs that no solution better than the incumbent uses.

Not among the public names of the package `reductions`: it needs the compiled code of `kanon_milp.bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.dual import NEVER, ExactDual, exact_subproblems
from kanon_milp.instance import Instance
from kanon_milp.problem import Problem
from kanon_milp.reductions.base import Dropped, Reduction, judges_groups_alone, supports, without_values

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReducedCosts(Reduction[Dropped]):
    """Drop candidates and pairs whose reduced cost is too high for anything better than a table at hand.

    dual: multipliers λ for the row types of the instance that it is applied to, and μ ≥ 0 on counting rows, in whole
    numbers (`bounds.round_dual`; any are valid). incumbent: loss U of a table, in units of `Levels.unit`.

    Keeps every solution with a loss below U, so every optimal one if U is not optimal, and adds none. Solutions that
    cost U or more may be lost, the incumbent among them: where row types are left without a candidate, or what is left
    has no solution, nothing is better than the incumbent. Valid for the objective "loss", with all side constraints.

    Proof. Losses are whole numbers of units, so a solution better than U costs at most U - 1. Let it open g. Its loss
    is at least Σ n_i λ_i - Σ_S μ_S ⌊N_S/κ_S⌋ + Σ_{h≠g} min(0, φ_h) + φ_g = L + max(0, φ_g), since g contributes its
    open subproblem's value, surcharge included (`bounds.lagrangian`). If it gives a row of type i to g, that
    subproblem has x_ig ≥ 1 besides, and its value is at least φ_g + max(0, r_ig - ρ_g), where r_ig = w_g - λ_i and ρ_g
    is the dearest reduced cost among the rows that the closed form takes only to reach κ_g, 0 where it takes none: if
    r_ig < 0 or the closed form takes a row of type i, it costs nothing more; else the best with such a row is the row
    instead of one at ρ_g (exchange argument), or besides all others where κ_g is reached without. So y_g = 0 if
    L + max(0, φ_g) > U - 1, and x_ig = 0 if L + max(0, φ_g) + max(0, r_ig - ρ_g) > U - 1. Both hold for relaxations
    with only the sizes κ_g, hence for all requirements. A candidate whose pairs that are left cover fewer than κ_g rows
    is in no such solution either.

    What is left is no longer what recoding the table gives, so its row types have no values (`without_values`).
    """

    dual: ExactDual
    incumbent: int
    name: ClassVar[str] = "reduced_costs"

    def accepts(self, problem: Problem) -> bool:
        """The loss as objective, and whatever is asked of each group alone."""
        return problem.objective == "loss" and judges_groups_alone(problem)

    def _apply(self, instance: Instance) -> Dropped:
        candidates = instance.candidates
        of_pair = candidates.candidate_of_pair()
        possible, pairs = self.possible(instance)
        members, of_pair = candidates.members[pairs], of_pair[pairs]
        support = supports(instance.types.counts, of_pair, members, candidates.count)
        sizes = np.bincount(of_pair, minlength=candidates.count)
        fewer = replace(
            candidates,
            support=support,
            indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            members=members,
        )
        keep = possible & (support >= instance.least)
        left = replace(instance, types=without_values(instance.types), candidates=fewer).subset(keep)
        return Dropped(self.name, instance, left, np.flatnonzero(keep))

    def possible(self, instance: Instance) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """What can be part of a solution better than the incumbent: candidates, bool (G,), and pairs, bool (pairs,) in
        the order of `Candidates.members`, in whole numbers."""
        dual = self.dual
        found = exact_subproblems(instance, dual)
        room = (self.incumbent - 1) * dual.denominator - found.total
        room = max(-1, min(room, NEVER - 1))  # a candidate that can never be opened is out in any case
        opened = np.maximum(found.phi, 0)
        candidates = opened <= room
        of_pair = instance.candidates.candidate_of_pair()
        reduced = instance.candidates.cost[of_pair] * dual.denominator - dual.multipliers[instance.candidates.members]
        more = np.maximum(reduced - found.dearest[of_pair], 0)
        # compared without a sum, which could leave the range
        pairs = candidates[of_pair] & (more <= room - np.where(candidates, opened, 0)[of_pair])
        return candidates, pairs
