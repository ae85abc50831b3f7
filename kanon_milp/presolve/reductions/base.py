"""What a reduction is: whether it holds for a problem, the smaller instance, and the way back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags, Ints, Ints32
from kanon_milp.system.limit import NO_LIMIT, Limit, Over

T = TypeVar("T", bound=np.generic)
REDUCING_SECONDS = 1e-7  # a pair, for one reduction: three seconds and more for 50 million pairs on a quiet machine


@dataclass(frozen=True, eq=False)
class Step(ABC):
    """One reduction as applied: the instance before and after it."""

    name: str
    before: Instance
    instance: Instance

    @abstractmethod
    def invert(self, assignment: Assignment) -> Assignment:
        """An assignment over the smaller instance as one over the instance before, at the same cost."""

    def invert_values(self, values: NDArray[T]) -> NDArray[T]:
        """Numbers for the row types of the smaller instance, such as multipliers, as ones for those before."""
        return values

    def describe(self) -> dict[str, object]:
        """Its name and the sizes before and after, as in `result.json`."""
        return {"name": self.name, "before": sizes_of(self.before), **sizes_of(self.instance)}


@dataclass(frozen=True, eq=False)
class Dropped(Step):
    """Candidates or pairs are gone. origin: int64 (G,), ascending, candidate of the instance before."""

    origin: Ints

    def invert(self, assignment: Assignment) -> Assignment:
        """The same rows in the same candidates, with their numbers before."""
        return replace(assignment, candidate=self.origin[assignment.candidate])


S_co = TypeVar("S_co", bound=Step, covariant=True)


class Reduction(ABC, Generic[S_co]):
    """What makes an instance smaller, by steps of one kind; each says in its own file what it keeps and why."""

    name: ClassVar[str]

    @abstractmethod
    def accepts(self, problem: Problem) -> bool:
        """Whether the reduction is valid for this problem."""

    @abstractmethod
    def _apply(self, instance: Instance) -> S_co:
        """Apply it to an instance of a problem that it accepts."""

    def apply(self, instance: Instance) -> S_co:
        """Apply it. Raises ValueError for a problem that it does not accept."""
        if not self.accepts(instance.problem):
            raise ValueError(f"the reduction {self.name} is not valid for this problem")
        return self._apply(instance)


def apply_all(instance: Instance, reductions: Sequence[Reduction[Step]], limit: Limit = NO_LIMIT) -> list[Step]:
    """Apply the reductions that are valid for the problem, in order, until the limit: the problem is the same without
    the rest, and one that is likely to end after the limit is not begun."""
    steps: list[Step] = []
    with suppress(Over):
        for reduction in reductions:
            if limit.left < REDUCING_SECONDS * instance.candidates.pairs:
                break
            if reduction.accepts(instance.problem):
                steps.append(limit.call(reduction.apply, instance))
                instance = steps[-1].instance
    return steps


def restore(steps: Sequence[Step], assignment: Assignment) -> Assignment:
    """An assignment over the instance after all steps as one over the instance before the first, at the same cost."""
    for step in reversed(steps):
        assignment = step.invert(assignment)
    return assignment


def restore_values(steps: Sequence[Step], values: NDArray[T]) -> NDArray[T]:
    """Numbers for the row types after all steps as ones for those before the first.

    Multipliers prove the same there: row types that were merged get the same one, so no subproblem changes.
    """
    for step in reversed(steps):
        values = step.invert_values(values)
    return values


def drop(name: str, instance: Instance, keep: Flags) -> Dropped:
    """Keep only some candidates; keep: bool (G,)."""
    return Dropped(name, instance, instance.subset(keep), np.flatnonzero(keep))


def drop_pairs(name: str, instance: Instance, possible: Flags, pairs: Flags) -> Dropped:
    """Keep only some candidates, bool (G,), and pairs, bool (pairs,) in the order of `Candidates.members`; what covers
    too few rows then goes as well.

    Covers are no longer what recoding the table gives, so the row types that are left have no values.
    """
    fewer = with_pairs(instance, pairs)
    keep = possible & (fewer.candidates.support >= instance.least)
    return Dropped(name, instance, fewer.subset(keep), np.flatnonzero(keep))


def with_pairs(instance: Instance, pairs: Flags) -> Instance:
    """The same, but candidates keep their numbers, and have no row types where nothing is left."""
    candidates = instance.candidates
    members, of_pair = candidates.members[pairs], candidates.candidate_of_pair()[pairs]
    support = supports(instance.types.counts, of_pair, members, candidates.count)
    indptr = indptr_of(np.bincount(of_pair, minlength=candidates.count))
    fewer = replace(candidates, support=support, indptr=indptr, members=members)
    return replace(instance, types=without_values(instance.types), candidates=fewer)


def sizes_of(instance: Instance) -> dict[str, int]:
    """Row types, candidates and pairs."""
    candidates = instance.candidates
    return {"row_types": instance.types.count, "candidates": candidates.count, "pairs": candidates.pairs}


def supports(counts: Ints, of_pair: Ints32, members: Ints32, candidates: int) -> Ints:
    """N_g, the rows of the row types in each cover, int64 (G,). of_pair, members: candidate and row type of each
    pair."""
    found = np.zeros(candidates, dtype=np.int64)
    np.add.at(found, of_pair, counts[members])
    return found


def without_values(types: RowTypes) -> RowTypes:
    """Row types whose quasi-identifiers cannot be read: `codes` has no columns.

    For instances whose covers are no longer those that recoding the table gives. Code that generalizes the values of
    such row types anew (enumeration, dominance, labels, the way back to the rows) finds covers that are not there, and
    an "optimum" below the true one; instead there is an IndexError.
    """
    return replace(types, codes=np.empty((types.count, 0), dtype=np.int32))


def has_values(types: RowTypes) -> bool:
    """Whether the row types still have the values of the table."""
    return bool(types.codes.shape[1] == len(types.names))
