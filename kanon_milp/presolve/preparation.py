"""Presolve: compress, recode, enumerate and reduce, with the time that each step takes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.infeasibility import find_stranded, refuse_one_group
from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.reductions import MERGING, OPEN, REDUCTIONS, Step, reduce, restore, restore_values
from kanon_milp.presolve.reductions.base import T
from kanon_milp.presolve.resources import vectors_in_memory, vectors_in_time
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit, Over

PREPARATION_SHARE = 0.5  # of the time limit, for candidates and for reductions each
FEW_SHARE = 0.25  # of what is left after it, for some of the candidates where there is no time or memory for all
FEW_VECTORS, FEW_PAIRS = 10_000, 10_000_000  # of these at most, however much time there is


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
    """What there was not enough of, as a stop reason of results, and in words."""

    reason: str
    message: str


@dataclass(frozen=True, eq=False)
class Prepared:
    """An instance before and after the reductions: formulations are declared over the latter.

    row_types: t_in and t_in*. obstacle: why there is no solution, where that is known without a solver. shortage: why
    the instance has only some of the problem's candidates, so that it gives tables and no bound; None where it has all.
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
        """The steps between `before` and `instance`."""
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
    that or the memory is too small for all candidates, the instance has some of them, and is not reduced. The
    candidates of one level vector are enumerated also after the limit.
    """
    clock.seconds["read"] = problem.table.read_seconds
    with clock.step("compress"):
        compressed = compress_table(problem)
        types = types_of(problem, compressed)
        obstacle = refuse_one_group(problem, types)
    row_types = (compressed.count, compressed.star_count)
    with clock.step("candidates"):
        levels = recode(problem, types)
        if enumerated:
            before, shortage = _candidates(problem, types, levels, limit)
        else:
            before, shortage = with_candidates(problem, types, levels.last), None
    if shortage is not None or not enumerated:
        return Prepared(problem, before, before, [], row_types, obstacle, shortage)
    with clock.step("reduce"):
        shared = limit.share(PREPARATION_SHARE)
        steps = reduce(before, OPEN if open_model else REDUCTIONS, shared)
        smaller = steps[-1].instance if steps else before
        stranded = find_stranded(before, smaller)
        if merge and stranded is None:
            steps += reduce(smaller, MERGING, shared)
            smaller = steps[-1].instance if steps else before
    # a model over row types that no candidate covers cannot be stated: it is declared over all candidates
    instance = before if not reduced or stranded is not None else smaller
    return Prepared(problem, before, instance, steps, row_types, obstacle or stranded)


def _candidates(problem: Problem, types: RowTypes, levels: Levels, limit: Limit) -> tuple[Instance, Shortage | None]:
    """All candidates; where time or memory are too short, those of some level vectors, and why."""
    shared = limit.share(PREPARATION_SHARE)
    fits = vectors_in_memory(types.count, valued=bool(problem.attributes))
    if levels.count > fits:
        shortage = Shortage("error", "the memory that is free is too small")
    else:
        if levels.count <= vectors_in_time(types.count, shared.left):
            with suppress(Over):
                return shared.call(with_candidates, problem, types, levels), None
        shortage = Shortage(limit.reason, "interrupted" if limit.asked else "the time limit is too short")
    in_time = 0.0 if limit.asked else vectors_in_time(types.count, FEW_SHARE * limit.left)
    few = levels.some(int(max(1, min(FEW_VECTORS, FEW_PAIRS // types.count, fits, in_time))))
    those = "1 pattern" if levels.count == 1 else f"{levels.count:,} patterns"
    table = "the first one" if few.count == levels.count else f"what {few.count:,} of the patterns give"
    message = (
        f"{shortage.message} for the candidates of {those} over {types.count:,} row types, so the table is {table}"
    )
    return with_candidates(problem, types, few), replace(shortage, message=message)
