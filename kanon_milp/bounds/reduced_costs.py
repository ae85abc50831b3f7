"""Reduced-cost fixing: candidates and pairs that no solution better than the incumbent uses.

Not among the reductions of `presolve`: it needs the compiled code of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kanon_milp.bounds.dual import NEVER, ExactDual, Subproblems, exact_cuts, exact_subproblems
from kanon_milp.bounds.pricing import possible_pairs, unsorted_rows
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import split_evenly
from kanon_milp.presolve.reductions.base import Dropped, Reduction, drop_pairs, separable_by_group
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags

SOME = 1_000_000  # pairs that are looked at in one go
SEARCHED = 500_000  # pairs up to which groups with rank-1 cuts are searched pair by pair; beyond, φ alone decides
NODES = 20_000  # of the search for a group with a row; beyond it the pair stays
STEPS = 400_000_000  # of all these searches, some seconds; pairs that come later are decided without one


@dataclass(frozen=True, eq=False)
class ReducedCosts(Reduction[Dropped]):
    """Drop candidates and pairs whose reduced cost is too high for anything better than a table at hand.

    dual: multipliers λ for the row types of the instance that it is applied to, and μ ≥ 0 on packing cuts, as
    integers (`bounds.round_dual`; any are valid). incumbent: loss U of a table, in units of `Levels.unit`.

    Keeps every solution with a loss below U, so every optimal one if U is not optimal, and adds none. Solutions that
    cost U or more may be lost, the incumbent among them: where row types are left without a candidate, or what is left
    has no solution, nothing is better than the incumbent. Valid for the objective "loss", with all side constraints.

    Proof. Losses are integer numbers of units, so a solution better than U costs at most U - 1. Let it open g. Its loss
    is at least Σ n_i λ_i - Σ_S μ_S ⌊N_S/κ_S⌋ + Σ_{h≠g} min(0, φ_h) + φ_g = L + max(0, φ_g), since g contributes its
    open subproblem's value, surcharge included (`bounds.lagrangian_bound`). If it gives a row of type i to g, that
    subproblem has x_ig ≥ 1 besides, and its value is at least φ_g + max(0, r_ig - ρ_g), where r_ig = w_g - λ_i and ρ_g
    is the highest reduced cost among the rows that the closed form takes only to reach κ_g, 0 where it takes none: if
    r_ig < 0 or the closed form takes a row of type i, it costs nothing more; else the best with such a row is the row
    instead of one at ρ_g (exchange argument), or besides all others where κ_g is reached without. So y_g = 0 if
    L + max(0, φ_g) > U - 1, and x_ig = 0 if L + max(0, φ_g) + max(0, r_ig - ρ_g) > U - 1. Both hold for relaxations
    with only the sizes κ_g, hence for all requirements. A candidate whose pairs that are left cover fewer than κ_g rows
    is in no such solution either.

    With rank-1 cuts, L + max(0, φ) is replaced by L - min(0, φ) + v for the value v of a group, their terms included:
    a pair stays if its candidate has a group with v ≤ U - 1 - L + min(0, φ) that holds such a row, which a depth-first
    search finds out.

    kept: a table whose candidates and pairs stay as well, whatever they cost; what is left has a solution then.

    What is left is no longer what recoding the table gives, so its row types have no values (`without_values`).
    """

    dual: ExactDual
    incumbent: int
    kept: Assignment | None = None
    name: ClassVar[str] = "reduced_costs"

    def accepts(self, problem: Problem) -> bool:
        """The loss as objective, and whatever is asked of each group alone."""
        return problem.objective == "loss" and separable_by_group(problem)

    def _apply(self, instance: Instance) -> Dropped:
        candidates = instance.candidates
        of_pair = candidates.candidate_of_pair()
        possible, pairs = self.possible(instance)
        if self.kept is not None:
            used = self.kept.rows_of_pairs(instance) > 0
            pairs = pairs | used
            possible = possible | (np.bincount(of_pair[used], minlength=candidates.count) > 0)
        return drop_pairs(self.name, instance, possible, pairs)

    def possible(self, instance: Instance) -> tuple[Flags, Flags]:
        """What can be part of a solution better than the incumbent: candidates, bool (G,), and pairs, bool (pairs,) in
        the order of `Candidates.members`, in exact integers."""
        dual = self.dual
        found = exact_subproblems(instance, dual)
        room = (self.incumbent - 1) * dual.denominator - found.total
        room = max(-1, min(room, NEVER - 1))  # a candidate that can never be opened is out in any case
        opened = np.maximum(found.phi, 0)
        candidates = opened <= room
        if dual.rank_one_cuts.count:
            return self._with_rank_one(instance, found, room)
        # compared without a sum, which could leave the range
        left = room - np.where(candidates, opened, 0)
        multipliers, indptr = dual.multipliers[: instance.types.count], instance.candidates.indptr
        costs, members = instance.candidates.cost * dual.denominator, instance.candidates.members
        pairs = np.zeros(len(members), np.bool_)
        # some at a time: as arrays of their own, the numbers of all pairs take gigabytes on large tables
        looked = np.flatnonzero(candidates)
        for some in split_evenly(looked, np.diff(indptr)[looked], SOME):
            lengths = np.diff(indptr)[some]
            here = np.repeat(indptr[some] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
            more = (
                np.repeat(costs[some], lengths) - multipliers[members[here]] - np.repeat(found.marginal[some], lengths)
            )
            pairs[here] = np.maximum(more, 0) <= np.repeat(left[some], lengths)
        return candidates, pairs

    def _with_rank_one(self, instance: Instance, found: Subproblems, room: int) -> tuple[Flags, Flags]:
        """As `possible`: a pair can be part of it if its candidate has a group with such a row whose value is no higher
        than what is left for it. room: U - 1 - L."""
        dual, candidates = self.dual, instance.candidates
        if candidates.pairs > SEARCHED:
            # φ is a lower bound of every group's value, whatever rows it holds
            possible = np.maximum(found.phi, 0) <= room
            return possible, possible[candidates.candidate_of_pair()]
        # its own part of L comes back: L - min(0, φ) + (value of the group) ≤ U - 1
        below = room + np.minimum(found.phi, 0) + 1
        rows = unsorted_rows(instance.types.counts, np.ascontiguousarray(dual.multipliers, dtype=np.int64))
        cuts = exact_cuts(dual, instance.types.count)
        pairs = possible_pairs(found.candidates, rows, cuts, below, NODES, STEPS)
        return np.logical_or.reduceat(pairs, candidates.indptr[:-1]), pairs
