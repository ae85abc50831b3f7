"""A problem as arrays: what reductions work on and what formulations declare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanon_milp.candidates import Candidates, enumerate_candidates
from kanon_milp.problem import Problem
from kanon_milp.recoding import Levels, apply_recoding
from kanon_milp.rowtypes import RowTypes, compress


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem, compressed and recoded.

    exempt: bool (G,), candidates of fully suppressed rows that need no partners (all False in the strict reading).
    """

    problem: Problem
    types: RowTypes
    levels: Levels
    candidates: Candidates
    exempt: NDArray[np.bool_]

    @property
    def cost_bound(self) -> int | None:
        """The cost bound in units of `levels.unit`, rounded down (costs are whole)."""
        bound = self.problem.exact_cost_bound
        return None if bound is None else int(bound // self.levels.unit)

    def subset(self, keep: NDArray[np.bool_]) -> Instance:
        """The instance with only the candidates where `keep` is true."""
        return Instance(self.problem, self.types, self.levels, self.candidates.subset(keep), self.exempt[keep])


def prepare(problem: Problem) -> Instance:
    """Compress, recode and enumerate: the whole way from a table to an unreduced instance."""
    types = compress_table(problem)
    levels = recode(problem, types)
    return with_candidates(problem, types, levels)


def compress_table(problem: Problem) -> RowTypes:
    """Row types of the problem's table."""
    table = problem.table
    return compress(table.keys, table.quasi_identifiers, table.sensitive)


def recode(problem: Problem, types: RowTypes) -> Levels:
    """The problem's recoding over the domains that occur."""
    return apply_recoding(problem.recoding, problem.table, types.domains[: len(types.names)])


def with_candidates(problem: Problem, types: RowTypes, levels: Levels) -> Instance:
    """All candidates of the problem."""
    candidates = enumerate_candidates(types, levels)
    if problem.suppressed_rows == "exempt":
        exempt = (levels.vectors == levels.top).all(axis=1)[candidates.vector]
    else:
        exempt = np.zeros(candidates.count, dtype=bool)
    return Instance(problem, types, levels, candidates, exempt)
