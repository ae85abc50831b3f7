"""Presolve: compress, recode, enumerate and reduce, with the time that each step takes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.infeasibility import find_stranded, refuse_one_group, refuse_side_constraints
from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.reductions import MERGING, OPEN, REDUCTIONS, Step, T, reduce, restore, restore_values
from kanon_milp.presolve.resources import vectors_in_memory, vectors_in_time
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Levels, closures, fully_suppressed
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit, Over

PREPARATION_SHARE = 0.5  # of the time limit, for candidates and for reductions each


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
    all.
    """

    problem: Problem
    before: Instance
    instance: Instance
    steps: list[Step]
    row_types: tuple[int, int]
    obstacle: str | None
    shortage: Shortage | None = None

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
    limit: Limit = NO_LIMIT,
) -> Prepared:
    """Compress, recode, enumerate and reduce.

    reduced: False leaves all candidates in. merge: also by reductions that merge row types. open_model: for a model to
    which constraints or another objective are added; only candidates that no group can have are dropped then, since a
    dominated one may be what the addition asks for. enumerated: False for methods that need no candidates: the instance
    has those of one level vector, the fully suppressed or else the most expensive one. limit: of the session. Where
    that or the memory is too small for all candidates, the instance has these, too, and is not reduced. All candidates
    are those that a best table needs, where there are far fewer closures of sets of rows than level vectors.
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
        if enumerated:
            closed = reduced and not open_model and _closures_suffice(problem)
            levels = recode(problem, types, (lambda columns: closures(columns, types.codes)) if closed else None)
            before, shortage = _candidates(problem, types, levels, limit)
        else:
            before, shortage = with_candidates(problem, types, recode(problem, types, fully_suppressed).last), None
    if shortage is not None or not enumerated:
        return Prepared(problem, before, before, [], row_types, obstacle, shortage)
    with clock.step("reduce"):
        found = reduced_instance(before, row_types, limit, merge=merge, open_model=open_model)
    # a model over row types that no candidate covers cannot be stated: it is declared over all candidates
    instance = before if not reduced or found.obstacle is not None else found.instance
    return replace(found, instance=instance, obstacle=obstacle or found.obstacle)


def _closures_suffice(problem: Problem) -> bool:
    """Whether some best table releases each group at its closure.

    Costs do not fall from level to level, so a group loses no more there. Groups that are alike then are one, which has
    what is required where requirements are closed under merging, and judge each group alone; there may be fewer groups.
    """
    enough = problem.objective == "loss" and problem.min_groups is None
    return enough and problem.merge_closed and problem.separable


def reduced_instance(
    before: Instance, row_types: tuple[int, int], limit: Limit, *, merge: bool = True, open_model: bool = False
) -> Prepared:
    """An instance with what the reductions make of it in half of the time. row_types: t_in and t_in* of the table."""
    shared = limit.share(PREPARATION_SHARE)
    steps = reduce(before, OPEN if open_model else REDUCTIONS, shared)
    smaller = steps[-1].instance if steps else before
    stranded = find_stranded(before, smaller)
    if merge and stranded is None:
        steps += reduce(smaller, MERGING, shared)
        smaller = steps[-1].instance if steps else before
    return Prepared(before.problem, before, smaller, steps, row_types, stranded)


def _candidates(problem: Problem, types: RowTypes, levels: Levels, limit: Limit) -> tuple[Instance, Shortage | None]:
    """All candidates; where time or memory are too short, those of one level vector, and why."""
    shared = limit.share(PREPARATION_SHARE)
    if levels.count > vectors_in_memory(types.count, valued=bool(problem.attributes)):
        reason = "error"
    else:
        if levels.count <= vectors_in_time(types.count, shared.left):
            with suppress(Over):
                return shared.call(with_candidates, problem, types, levels), None
        reason = limit.reason
    return with_candidates(problem, types, levels.last), Shortage(reason, levels.count)
