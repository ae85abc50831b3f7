"""Candidates that can go: those that can have no group, and those whose rows may just as well all go elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.presolve.candidates import Candidates
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import split_evenly
from kanon_milp.presolve.reductions.base import Dropped, Reduction, drop, has_values
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.privacy.base import viable_candidates
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags, Ints

SOME = 1_000_000  # pairs that are looked at in one go


@dataclass(frozen=True)
class Dominance(Reduction[Dropped]):
    """Drop g if some other g' has C(g) ⊆ C(g') and w_g' ≤ w_g: all rows of g can move to g'.

    Proof: after the move g' holds what it held before (or nothing) and the rows of g, so by merge-closedness it
    satisfies every requirement; no row costs more; the number of groups does not grow. Among candidates with equal
    covers and costs the first stays; "smaller cover, or higher cost, or later" is a strict order, so something
    undominated is always left. Not valid where a problem asks for many groups, and never applied to a candidate of
    exempt rows: few rows may lie there that form no group elsewhere. With suppression and all patterns this leaves the
    closed candidates (no further column is constant on the cover), as in closed frequent itemsets.

    It reads the values of the row types, so it comes before anything that merges them or drops pairs.
    """

    name: ClassVar[str] = "dominance"

    def accepts(self, problem: Problem) -> bool:
        """Merge-closed requirements, and no wish for many groups."""
        return problem.merge_closed and not problem.wants_many_groups

    def keep(self, instance: Instance) -> Flags:
        """Per candidate: undominated, or exempt.

        C(g) ⊆ C(g') exactly if g' belongs to a level vector v' on which all members of g agree, that is v' ≥ c(g) where
        c(g) has, per column, the lowest level at which they agree; g' is then the candidate of v' that covers them.

        Raises ValueError where row types were merged or pairs dropped before.
        """
        if not has_values(instance.types):
            raise ValueError("dominance reads the values of row types: it comes before merging and fixing")
        candidates, levels = instance.candidates, instance.levels
        agreed = _agreed_levels(instance)
        keep = np.ones(candidates.count, dtype=bool)
        tied: list[tuple[Ints, Ints]] = []
        key = mixed_key([candidates.vector, *agreed.T], [levels.count, *(c.height + 1 for c in levels.columns)])
        order = np.argsort(key, kind="stable")
        begins = np.flatnonzero(np.diff(key[order])) + 1
        for mine in np.split(order, begins) if candidates.count else ():
            v, lowest = int(candidates.vector[mine[0]]), agreed[mine[0]]
            above = (levels.vectors >= lowest).all(axis=1) & (levels.costs <= levels.costs[v])
            above[v] = False
            if not above.any():
                continue
            if (levels.costs[above] < levels.costs[v]).any():
                keep[mine] = False
            else:
                tied.append((mine, np.flatnonzero(above)))
        if tied:
            _break_ties(instance, tied, keep)
        return keep | instance.exempt

    def _apply(self, instance: Instance) -> Dropped:
        return drop(self.name, instance, self.keep(instance))


def _agreed_levels(instance: Instance) -> NDArray[np.int16]:
    """Per candidate and column the lowest level at which all members of its cover agree, int16 (G, m)."""
    candidates, codes = instance.candidates, instance.types.codes
    agreed = instance.levels.vectors[candidates.vector].copy()
    for j, column in enumerate(instance.levels.columns):
        for level in range(column.height - 1, -1, -1):
            same = _all_alike(candidates, column.label_of[level][codes[:, j]])
            agreed[same, j] = np.minimum(agreed[same, j], level)
    return agreed


def _all_alike(candidates: Candidates, label: NDArray[np.integer[Any]]) -> Flags:
    """Per candidate whether all row types of its cover have one label, bool (G,).

    Most are refuted by three of their row types, so only the others are compared member by member.
    """
    begin, end = candidates.indptr[:-1], candidates.indptr[1:]
    members = candidates.members
    first = label[members[begin]]
    alike: Flags = (label[members[end - 1]] == first) & (label[members[(begin + end) // 2]] == first)
    unsure = np.flatnonzero(alike & (end - begin > 2))
    # some at a time: between them a limit can end it
    for rest in split_evenly(unsure, (end - begin)[unsure], SOME):
        sizes = (end - begin)[rest]
        starts = np.cumsum(sizes) - sizes
        pairs = np.arange(sizes.sum()) + np.repeat(begin[rest] - starts, sizes)
        alike[rest] = np.logical_and.reduceat(label[members[pairs]] == np.repeat(first[rest], sizes), starts)
    return alike


def _break_ties(instance: Instance, tied: list[tuple[Ints, Ints]], keep: Flags) -> None:
    """Candidates with dominators of equal cost: drop if such a one covers more, or the same and comes first."""
    candidates = instance.candidates
    candidate_at = np.full((instance.types.count, instance.levels.count), -1, dtype=np.int32)
    pair_candidate = candidates.candidate_of_pair()
    candidate_at[candidates.members, candidates.vector[pair_candidate]] = pair_candidate
    for mine, vectors in tied:
        others = candidate_at[candidates.representative[mine]][:, vectors]
        found = others >= 0
        more = candidates.support[others] > candidates.support[mine][:, None]
        equal = candidates.support[others] == candidates.support[mine][:, None]
        earlier = others < mine[:, None]
        keep[mine[(found & (more | (equal & earlier))).any(axis=1)]] = False


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
