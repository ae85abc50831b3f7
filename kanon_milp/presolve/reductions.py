"""Exact reductions: what each one preserves, its proof, the problems that it is valid for, and its inverse.

`REDUCTIONS` leave the row types as they are. A model that users read and extend is declared over what `OPEN` leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Candidates, Instance
from kanon_milp.presolve.ragged import indptr_of, split_evenly
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.privacy.base import viable_candidates
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Levels
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


NEVER = np.iinfo(np.int64).max  # a cost above all others
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

    Where a requirement asks what is released, g' must be one of the candidates that there are.

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
        # of what may be released only in part it matters where there is a candidate
        at = _candidate_at(instance) if instance.problem.asks_of_labels else None
        tied: list[tuple[Ints, Ints]] = []
        key = mixed_key([candidates.vector, *agreed.T], [levels.count, *(c.height + 1 for c in levels.columns)])
        order = np.argsort(key, kind="stable")
        begins = np.flatnonzero(np.diff(key[order])) + 1
        for mine in np.split(order, begins) if candidates.count else ():
            v, lowest = int(candidates.vector[mine[0]]), agreed[mine[0]]
            cost = candidates.cost[mine]
            above = (levels.vectors >= lowest).all(axis=1) & (levels.costs <= cost.max())
            above[v] = False
            if not above.any():
                continue
            vectors = np.flatnonzero(above)
            first = candidates.representative[mine]
            if at is None:
                least = _least_costs(levels, vectors, instance.types.codes[first])
            else:
                others = at[np.ix_(first, vectors)]
                least = np.where(others >= 0, candidates.cost[others], NEVER).min(axis=1)
            keep[mine[least < cost]] = False
            if (least == cost).any():
                tied.append((mine[least == cost], vectors))
        if tied:
            _break_ties(instance, _candidate_at(instance) if at is None else at, tied, keep)
        return keep | instance.exempt

    def _apply(self, instance: Instance) -> Dropped:
        return drop(self.name, instance, self.keep(instance))


def _least_costs(levels: Levels, vectors: Ints, codes: Ints32) -> Ints:
    """The least that rows with these values lose under any of these level vectors, int64 (r,). codes: int32 (r, m)."""
    if levels.cells is None:
        return np.full(len(codes), levels.costs[vectors].min())
    pieces = np.array_split(vectors, -(-len(vectors) * len(codes) // SOME))
    found: Ints = np.min([levels.row_costs(some[None, :], codes[:, None, :]).min(axis=1) for some in pieces], axis=0)
    return found


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


def _candidate_at(instance: Instance) -> Ints32:
    """The candidate of each row type and level vector, int32 (t, p); -1 where there is none."""
    candidates = instance.candidates
    found = np.full((instance.types.count, instance.levels.count), -1, dtype=np.int32)
    pair_candidate = candidates.candidate_of_pair()
    found[candidates.members, candidates.vector[pair_candidate]] = pair_candidate
    return found


def _break_ties(instance: Instance, candidate_at: Ints32, tied: list[tuple[Ints, Ints]], keep: Flags) -> None:
    """Candidates with dominators of equal cost: drop if such a one covers more, or the same and comes first."""
    candidates = instance.candidates
    for mine, vectors in tied:
        others = candidate_at[candidates.representative[mine]][:, vectors]
        found = others >= 0
        more = candidates.support[others] > candidates.support[mine][:, None]
        equal = candidates.support[others] == candidates.support[mine][:, None]
        earlier = others < mine[:, None]
        found &= candidates.cost[others] == candidates.cost[mine][:, None]
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


@dataclass(frozen=True, eq=False)
class Merged(Step):
    """Row types are merged. row_type: int64 (t before,), number afterwards of each row type."""

    row_type: Ints

    def invert(self, assignment: Assignment) -> Assignment:
        """Split the rows of a merged type among its row types: in order, each takes what comes next.

        Both sides are the same line of n rows, cut by row types and cut by entries; its pieces are the new entries.
        """
        counts = self.before.types.counts
        order = np.argsort(self.row_type, kind="stable")
        by_type, by_entry = np.cumsum(counts[order]), np.cumsum(assignment.rows)
        ends = np.union1d(by_type, by_entry)
        row_type = order[np.searchsorted(by_type, ends)]
        candidate = assignment.candidate[np.searchsorted(by_entry, ends)]
        rows = np.diff(ends, prepend=0)
        sort = np.lexsort((candidate, row_type))
        return Assignment(row_type[sort], candidate[sort], rows[sort], assignment.cost)

    def invert_values(self, values: NDArray[T]) -> NDArray[T]:
        """Each row type gets the number of the one that it is part of."""
        return values[self.row_type]


@dataclass(frozen=True)
class EqualSignature(Reduction[Merged]):
    """Merge row types with the same surviving candidates, and the same sensitive values where requirements are about
    these.

    Keeps every solution, its value and the bound of the linear relaxation. Proof: a unit cost belongs to a candidate,
    so rows of such types may change places within and between groups without changing any number of rows of a
    candidate and sensitive value, which is all that rows and objective are about; split or add up accordingly (in
    fractions in proportion to n_i: x_ig ≤ n_i y_g adds up to x_Ig ≤ n_I y_g, and is scaled down from it).

    Valid for all requirements, merge-closed or not, and for side constraints. Not for constraints of a user over single
    row types, nor for requirements that read the values of quasi-identifiers.

    The covers and supports that survived are carried through; only the members of a cover get new numbers. They must
    not be computed anew from one of the merged row types: others agree with it in fewer columns than it does with
    itself, candidates would look viable that are not, and the "optimum" would be below the true one. So a merged row
    type has no values (`without_values`).
    """

    name: ClassVar[str] = "equal_signature"

    def accepts(self, problem: Problem) -> bool:
        """Whatever is asked of each group alone."""
        return problem.separable

    def _apply(self, instance: Instance) -> Merged:
        types, candidates = instance.types, instance.candidates
        row_type, first = _equal(instance)
        # all row types of a merged one stand in the same covers: the first stands for them
        is_first = np.zeros(types.count, dtype=bool)
        is_first[first] = True
        stays = is_first[candidates.members]
        sizes = np.bincount(candidates.candidate_of_pair()[stays], minlength=candidates.count)
        merged = replace(
            candidates,
            indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            members=row_type[candidates.members[stays]].astype(np.int32),
        )
        counts = np.zeros(len(first), dtype=np.int64)
        np.add.at(counts, row_type, types.counts)
        fewer = replace(instance, types=merged_types(types, first, counts), candidates=merged)
        return Merged(self.name, instance, fewer, row_type)


def _equal(instance: Instance) -> tuple[Ints, Ints]:
    """Number of the merged type of each row type, and the first row type of each; numbered in the order of these."""
    types, candidates = instance.types, instance.candidates
    options, _ = candidates.covers.transposed(types.count)
    of_type, ends = options.values, options.indptr[1:].tolist()
    number: dict[tuple[bytes, bytes], int] = {}
    row_type = np.empty(types.count, dtype=np.int64)
    first: list[int] = []
    begin = 0
    for i, end in enumerate(ends):
        sensitive = types.star_codes[i].tobytes() if types.split else b""
        row_type[i] = number.setdefault((sensitive, of_type[begin:end].tobytes()), len(number))
        if row_type[i] == len(first):
            first.append(i)
        begin = end
    return row_type, np.array(first, dtype=np.int64)


def merged_types(types: RowTypes, first: Ints, counts: Ints) -> RowTypes:
    """Row types with these counts and without values, each with the sensitive values of the one at `first` where these
    tell row types apart."""
    plain = np.empty((len(first), 0), dtype=np.int32)
    merged = replace(
        types,
        sensitive=types.sensitive if types.split else (),
        domains=types.domains if types.split else types.domains[: len(types.names)],
        codes=plain,
        counts=counts,
        star_type=np.arange(len(first), dtype=np.int32),
        star_codes=types.star_codes[first] if types.split else plain,
        star_counts=counts,
    )
    return without_values(merged)


REDUCTIONS: tuple[Reduction[Step], ...] = (Viability(), Dominance())
# what holds whatever constraint or objective is added to the model
OPEN: tuple[Reduction[Step], ...] = (Viability(),)
# after these, where nobody looks at single row types
MERGING: tuple[Reduction[Step], ...] = (EqualSignature(),)


def reduce(
    instance: Instance, reductions: Sequence[Reduction[Step]] = REDUCTIONS, limit: Limit = NO_LIMIT
) -> list[Step]:
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
