"""Exact reductions: each states what it keeps, the fact it rests on, for which problems it holds, and its inverse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.instance import Instance
from kanon_milp.problem import Problem

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Step:
    """One reduction as applied: the smaller instance, and for each of its candidates the one of the instance before."""

    name: str
    instance: Instance
    origin: Ints

    def invert(self, candidates: Ints) -> Ints:
        """Candidates of the smaller instance as candidates of the one before."""
        return self.origin[candidates]


class Reduction(ABC):
    """A step that makes an instance smaller and keeps its optimal value."""

    name: ClassVar[str]

    @abstractmethod
    def accepts(self, problem: Problem) -> bool:
        """Whether the reduction is valid for this problem."""

    @abstractmethod
    def keep(self, instance: Instance) -> NDArray[np.bool_]:
        """Per candidate: whether it stays."""

    def apply(self, instance: Instance) -> Step:
        """Apply it."""
        keep = self.keep(instance)
        return Step(self.name, instance.subset(keep), np.flatnonzero(keep))


class Viability(Reduction):
    """Drop a candidate if no subset of its cover satisfies every requirement: it is open in no solution.

    Testing the requirements one by one is valid for their conjunction, and so is N_g ≥ κ with κ the smallest size that
    any of them allows (k, p, ⌈l⌉, ...). Holds for every problem; what is exempt is so from k alone.
    """

    name = "viability"

    def accepts(self, problem: Problem) -> bool:
        """Always valid."""
        return True

    def keep(self, instance: Instance) -> NDArray[np.bool_]:
        """As many rows as the smallest group has, and viable for each requirement."""
        viable: NDArray[np.bool_] = instance.candidates.support >= instance.least
        for requirement in instance.problem.requirements:
            viable &= requirement.viable(instance)
        return viable


class Dominance(Reduction):
    """Drop g if some other g' has C(g) ⊆ C(g') and w_g' ≤ w_g: all rows of g can move to g'.

    Proof: after the move g' holds what it held before (or nothing) and the rows of g, so by merge-closedness it
    satisfies
    every requirement; no row costs more; the number of groups does not grow. Among candidates with equal covers and
    costs
    the first stays; "smaller cover, or dearer, or later" is a strict order, so something undominated is always left.
    Not valid where a problem asks for many groups, and never applied to a candidate of exempt rows: few rows may lie
    there
    that form no group elsewhere. With suppression and all patterns this leaves the closed candidates (no further
    column is
    constant on the cover), as in closed frequent itemsets.
    """

    name = "dominance"

    def accepts(self, problem: Problem) -> bool:
        """Merge-closed requirements, and no wish for many groups."""
        return problem.merge_closed and not problem.wants_many_groups

    def keep(self, instance: Instance) -> NDArray[np.bool_]:
        """Undominated, or exempt.

        C(g) ⊆ C(g') exactly if g' belongs to a level vector v' on which all members of g agree, that is v' ≥ c(g) where
        c(g) has, per column, the lowest level at which they agree; g' is then the candidate of v' that covers them.
        """
        candidates, levels = instance.candidates, instance.levels
        agreed = _agreed_levels(instance)
        keep = np.ones(candidates.count, dtype=bool)
        tied: list[tuple[Ints, Ints]] = []
        profile, inverse = np.unique(np.column_stack([candidates.vector, agreed]), axis=0, return_inverse=True)
        for number, row in enumerate(profile):
            v, lowest = int(row[0]), row[1:]
            above = (levels.vectors >= lowest).all(axis=1) & (levels.costs <= levels.costs[v])
            above[v] = False
            if not above.any():
                continue
            mine = np.flatnonzero(inverse == number)
            if (levels.costs[above] < levels.costs[v]).any():
                keep[mine] = False
            else:
                tied.append((mine, np.flatnonzero(above)))
        if tied:
            _break_ties(instance, tied, keep)
        return keep | instance.exempt


def _agreed_levels(instance: Instance) -> NDArray[np.int16]:
    """Per candidate and column the lowest level at which all members of its cover agree, int16 (G, m)."""
    candidates, codes = instance.candidates, instance.types.codes
    begins = candidates.indptr[:-1]
    first = np.repeat(candidates.representative, np.diff(candidates.indptr))
    agreed = instance.levels.vectors[candidates.vector].copy()
    for j, column in enumerate(instance.levels.columns):
        at = codes[candidates.members, j], codes[first, j]
        for level in range(column.height - 1, -1, -1):
            labels = column.label_of[level]
            same = np.logical_and.reduceat(labels[at[0]] == labels[at[1]], begins)
            agreed[same, j] = np.minimum(agreed[same, j], level)
    return agreed


def _break_ties(instance: Instance, tied: list[tuple[Ints, Ints]], keep: NDArray[np.bool_]) -> None:
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


REDUCTIONS: tuple[Reduction, ...] = (Viability(), Dominance())


def reduce(instance: Instance, reductions: Sequence[Reduction] = REDUCTIONS) -> list[Step]:
    """Apply the reductions that are valid for the problem, in order."""
    steps: list[Step] = []
    for reduction in reductions:
        if reduction.accepts(instance.problem):
            steps.append(reduction.apply(instance))
            instance = steps[-1].instance
    return steps
