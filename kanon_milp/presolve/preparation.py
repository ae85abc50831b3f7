"""Presolve: compress, recode, enumerate and reduce, with the time that each step takes."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import TooManyLevelVectorsError
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.closures import (
    MOST_COLUMNS,
    closed_instance,
    closures_suffice,
    instance_of_small_sets,
    pricing_suffices,
)
from kanon_milp.presolve.infeasibility import (
    find_stranded,
    refuse_one_group,
    refuse_side_constraints,
    side_constraints,
)
from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.own_reductions import own_steps
from kanon_milp.presolve.reductions import MERGING, OPEN, REDUCTIONS, Step, T, reduce, restore, restore_values
from kanon_milp.presolve.resources import vectors_in_memory, vectors_in_time
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import MAX_LEVEL_VECTORS, fully_suppressed
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit, Over

PREPARATION_SHARE = 0.5  # of the time limit, for candidates and for reductions each
FEW_VECTORS = 1 << 10  # level vectors up to which a group-by for each is quick
CLOSED_SHARE = 0.1  # of the time limit, that closed candidates are expected to take at most
CLOSED_SECONDS = 2e-7  # a pair of a closed candidate: all of Adult with hierarchies, 6,480 level vectors
PRICED_PAIRS = 10_000_000  # pairs of closed candidates beyond which these are priced instead of listed
PAIRS_LISTED = 8  # (row type, level vector) pairs for one of a closed candidate, at most, where listing these is tried
MANY_VECTORS = 1 << 14  # level vectors beyond which that may take longer than listing them, so it is tried first
MOST_LABELS = 1 << 30  # level vectors times row types that can be priced: some seconds for each look at them
MASK_LABELS = 8  # times fewer labels that halves of the level vectors of a mask give row types, at most
LOOKS = 4  # at all candidates, until there is a bound and something to search in
VECTOR_SECONDS, LABEL_SECONDS = 5e-6, 3e-9  # of a look: for each level vector, and for each row type under it
PAIR_SECONDS = 2e-8  # of a look at sets of rows, for each two row types; of 1,000 to 5,000 with 20 to 40 columns


@dataclass(frozen=True)
class Size:
    """Size of an instance and its model: numbers of row types, candidates, pairs, variables and constraints."""

    row_types: int
    candidates: int
    pairs: int
    variables: int
    constraints: int


@dataclass(frozen=True)
class Shortage:
    """Why not all candidates of a problem could be enumerated. reason: as a stop reason of results; "error" is a
    shortage of memory. patterns: how many level vectors there are."""

    reason: str
    patterns: int

    def said(self, used: int | None = None) -> str:
        """In words. used: how many of the level vectors occur in the table that there is nevertheless."""
        what = {"error": "Not enough memory to examine", "interrupted": "Interrupted before it had examined"}
        way_out = {"error": "Try a pattern mask or fewer quasi-identifiers.", "interrupted": ""}
        begin = what.get(self.reason, "Not enough time to examine")
        table = "" if used is None else f"; this table uses {used:,} of them"
        patterns = "the only pattern" if self.patterns == 1 else f"all {self.patterns:,} patterns"
        return f"{begin} {patterns}{table}. {way_out.get(self.reason, 'Try a longer --time-limit.')}".rstrip()


@dataclass(frozen=True, eq=False)
class Prepared:
    """An instance before and after the reductions: formulations are declared over the latter.

    row_types: t_in and t_in*. obstacle: why there is no solution, where that is known without a solver. shortage: why
    the instance has the candidates of a single level vector, so that it gives tables and no bound; None where it has
    all. priced: whether it has these because the closed ones are too many, and are priced.
    """

    problem: Problem
    before: Instance
    instance: Instance
    steps: list[Step]
    row_types: tuple[int, int]
    obstacle: str | None
    shortage: Shortage | None = None
    priced: bool = False

    def __repr__(self) -> str:
        """Sizes, and no cell."""
        steps = ", ".join(step.name for step in self.steps)
        return f"<Prepared: {self.instance!r}; reductions: {steps or 'none'}>"

    @property
    def size_before(self) -> Size:
        """The strong formulation over all candidates: one variable and link a pair, one a candidate, one row a type."""
        types, candidates = self.before.types.count, self.before.candidates
        return Size(
            row_types=types,
            candidates=candidates.count,
            pairs=candidates.pairs,
            variables=candidates.pairs + candidates.count,
            constraints=types + candidates.pairs + candidates.count,
        )

    @property
    def reduction_sizes(self) -> tuple[dict[str, object], ...]:
        """What each reduction found and left."""
        return tuple(step.describe() for step in self.steps)

    def restore(self, assignment: Assignment) -> Assignment:
        """An assignment over `instance` as one over `before`, whose row types are those of the table."""
        return restore(self._made, assignment)

    def restore_values(self, values: NDArray[T]) -> NDArray[T]:
        """Numbers for the row types of `instance`, such as multipliers, as ones for those of `before`."""
        return restore_values(self._made, values)

    @property
    def _made(self) -> list[Step]:
        return [] if self.instance is self.before else self.steps


def presolve(
    problem: Problem,
    clock: Clock,
    *,
    reduced: bool = True,
    merge: bool = False,
    open_model: bool = False,
    enumerated: bool = True,
    small_groups: bool = False,
    priced: bool = False,
    limit: Limit = NO_LIMIT,
) -> Prepared:
    """Compress, recode, enumerate and reduce.

    reduced: False leaves all candidates in. merge: also by reductions that merge row types. open_model: for a model to
    which constraints or another objective are added; only candidates that no group can have are dropped then, since a
    dominated one may be what the addition asks for. enumerated: False for methods that need no candidates: the instance
    has those of one level vector, the fully suppressed or else the most expensive one. small_groups: whether groups of
    two and three rows are enough, as methods say. limit: of the session. Where that or the memory is too small for all
    candidates, the instance has these, too, and is not reduced. All candidates are the closed ones, where these are
    enough (`closures_suffice`) and level vectors are many.
    """
    clock.seconds["read"] = problem.table.read_seconds
    with clock.step("compress"):
        compressed = compress_table(problem)
        types = types_of(problem, compressed)
        obstacle = refuse_one_group(problem, types)
        counted_out = None if obstacle is not None or open_model else refuse_side_constraints(problem, types)
    row_types = (compressed.count, compressed.star_count)
    if counted_out is not None:
        only = with_candidates(problem, types, recode(problem, types, fully_suppressed).last)
        return Prepared(problem, only, only, [], row_types, counted_out)
    with clock.step("candidates"):
        free = not side_constraints(problem)  # methods.side_constraints has the others
        allowed = priced and reduced and not open_model and free and pricing_suffices(problem)
        priced = allowed and _priceable(problem, types, limit)
        if enumerated:
            found = _closed(problem, types, limit, small_groups, priced) if reduced and not open_model else None
            too_many = closures_suffice(problem) or _many_pairs(problem, types)
            if found is None and priced and too_many and many_vectors(problem, types):
                only = with_candidates(problem, types, recode(problem, types, fully_suppressed).last)
                return Prepared(problem, only, only, [], row_types, obstacle, priced=True)
            before, shortage = (found, None) if found is not None else _candidates(problem, types, limit)
            # with more time they would have been priced, whatever the memory
            late = allowed and not priced and many_vectors(problem, types)
            if late and shortage is not None and shortage.reason == "error" and _priceable(problem, types, NO_LIMIT):
                shortage = replace(shortage, reason="time_limit")
        else:
            found = None
            before, shortage = with_candidates(problem, types, recode(problem, types, fully_suppressed).last), None
    if shortage is not None or not enumerated:
        return Prepared(problem, before, before, [], row_types, obstacle, shortage)
    with clock.step("reduce"):
        # of closed candidates none dominates another, unless only some labels of a level cost what those above them do
        undominated = open_model or (found is not None and before.levels.cells is None)
        made = reduced_instance(before, row_types, limit, merge=merge, undominated=undominated)
    # a model over row types that no candidate covers cannot be stated: it is declared over all candidates
    instance = before if not reduced or made.obstacle is not None else made.instance
    return replace(made, instance=instance, obstacle=obstacle or made.obstacle)


def reduced_instance(
    before: Instance, row_types: tuple[int, int], limit: Limit, *, merge: bool = True, undominated: bool = False
) -> Prepared:
    """An instance with what the reductions make of it in half of the time. row_types: t_in and t_in* of the table.
    undominated: leaves out the reduction by dominance, where it is not valid or finds nothing."""
    shared = limit.share(PREPARATION_SHARE)
    steps = reduce(before, OPEN if undominated else REDUCTIONS, shared)
    smaller = steps[-1].instance if steps else before
    if not undominated:
        steps += own_steps(smaller, shared)
        smaller = steps[-1].instance if steps else before
    stranded = find_stranded(before, smaller)
    if merge and stranded is None:
        steps += reduce(smaller, MERGING, shared)
        smaller = steps[-1].instance if steps else before
    return Prepared(before.problem, before, smaller, steps, row_types, stranded)


def _closed(problem: Problem, types: RowTypes, limit: Limit, small_groups: bool, priced: bool) -> Instance | None:
    """The closed candidates alone, where these are enough and likely to be had sooner than those of all level vectors;
    None also where they turn out to be too many for the memory or the time, or to be priced as well. Raises
    TooManyLevelVectorsError where those of groups of two and three rows are, and level vectors as well."""
    if not closures_suffice(problem):
        return None
    every = _vectors(problem, types)
    if every <= FEW_VECTORS:
        return None
    most = min(vectors_in_memory(1, valued=bool(problem.attributes)), limit.share(CLOSED_SHARE).left / CLOSED_SECONDS)
    if priced:
        most = min(most, PRICED_PAIRS)
        if every <= MANY_VECTORS and every * types.count > PAIRS_LISTED * most:
            return None
    within = limit.share(PREPARATION_SHARE)
    with suppress(Over):
        if small_groups:
            found = within.call(closed_instance, problem, types, min(most, types.count**3))
            if (found := found or within.call(instance_of_small_sets, problem, types, most)) is not None:
                return found
        else:
            return within.call(closed_instance, problem, types, most)
    if small_groups and every > MAX_LEVEL_VECTORS:
        raise TooManyLevelVectorsError(
            f"groups of two and three of {types.count:,} row types can be released in more ways than there is memory "
            "or time to list; name the allowed level vectors in a pattern mask"
        )
    return None


def _vectors(problem: Problem, types: RowTypes) -> int:
    """How many level vectors are allowed."""
    levels = recode(problem, types, fully_suppressed)
    return math.prod(column.height + 1 for column in levels.columns) if problem.recoding.mask is None else levels.count


def _many_pairs(problem: Problem, types: RowTypes) -> bool:
    return _vectors(problem, types) * types.count > PAIRS_LISTED * PRICED_PAIRS


def too_many_to_list(problem: Problem, types: RowTypes) -> bool:
    """Whether candidates are too many to be listed, and can be priced."""
    if not pricing_suffices(problem) or not many_vectors(problem, types):
        return False
    if priced_by_vectors(problem, types):
        return _many_pairs(problem, types)
    return _priced_by_rows(problem)


def many_vectors(problem: Problem, types: RowTypes) -> bool:
    """Whether there are more level vectors than are quickly gone through, one by one."""
    return _vectors(problem, types) > FEW_VECTORS


def priced_by_vectors(problem: Problem, types: RowTypes) -> bool:
    """Whether level vectors are few enough to price the candidates of each, and the fully suppressed one is allowed;
    else candidates are priced by sets of rows."""
    every = _vectors(problem, types)
    if every > MAX_LEVEL_VECTORS or every * types.count > MOST_LABELS:
        return False
    if problem.recoding.mask is None:
        return True
    levels = recode(problem, types)
    half = levels.vectors.shape[1] // 2
    parts = (levels.vectors[:, :half], levels.vectors[:, half:])
    labels = sum(len(np.unique(part, axis=0)) for part in parts) * types.count
    return bool((levels.vectors == levels.top).all(axis=1).any()) and labels <= MOST_LABELS // MASK_LABELS


def _priced_by_rows(problem: Problem) -> bool:
    """Whether candidates can be priced by sets of rows."""
    return len(problem.table.quasi_identifiers) <= MOST_COLUMNS and closures_suffice(problem)


def _priceable(problem: Problem, types: RowTypes, limit: Limit) -> bool:
    """Whether pricing all candidates a few times is possible, and takes less than half of the time."""
    if priced_by_vectors(problem, types):
        look = _vectors(problem, types) * (VECTOR_SECONDS + LABEL_SECONDS * types.count)
    elif _priced_by_rows(problem):
        look = PAIR_SECONDS * types.count**2
    else:
        return False
    return LOOKS * look <= PREPARATION_SHARE * limit.left


def _candidates(problem: Problem, types: RowTypes, limit: Limit) -> tuple[Instance, Shortage | None]:
    """All candidates; where time or memory are too short, those of one level vector, and why."""
    levels = recode(problem, types)
    shared = limit.share(PREPARATION_SHARE)
    if levels.count > vectors_in_memory(types.count, valued=bool(problem.attributes)):
        reason = "error"
    else:
        if levels.count <= vectors_in_time(types.count, shared.left):
            with suppress(Over):
                return shared.call(with_candidates, problem, types, levels), None
        reason = limit.reason
    return with_candidates(problem, types, levels.last), Shortage(reason, levels.count)
