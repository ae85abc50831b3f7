"""Why a problem has no solution, in its own words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanon_milp.instance import Instance
from kanon_milp.recoding import describe_vector

SHOWN = 10


@dataclass(frozen=True, eq=False)
class Stranded:
    """Row types that no candidate can hold: even alone they have no solution.

    types: their numbers. rows: how many rows they have. examples: row numbers (from 1) of the first of these rows.
    patterns: the level vectors tried, as in a mask file.
    """

    types: NDArray[np.int64]
    rows: int
    examples: tuple[int, ...]
    patterns: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.examples))
        more = ", ..." if self.rows > len(self.examples) else ""
        patterns = "; ".join(self.patterns[:SHOWN])
        rest = f"; and {len(self.patterns) - SHOWN} more" if len(self.patterns) > SHOWN else ""
        return (
            f"{len(self.types)} row types with {self.rows} rows cannot satisfy the privacy requirements "
            f"under any of the {len(self.patterns)} patterns (rows {shown}{more}). Patterns tried: {patterns}{rest}. "
            "Add a pattern that suppresses more, such as the fully suppressed one"
        )


def find_stranded(reduced: Instance) -> Stranded | None:
    """The row types without a viable candidate; they prove infeasibility by themselves."""
    covered = np.zeros(reduced.types.count, dtype=bool)
    covered[reduced.candidates.members] = True
    types = np.flatnonzero(~covered)
    if not len(types):
        return None
    of_row = reduced.types.type_of_rows(reduced.problem.table.keys)
    rows = np.flatnonzero(~covered[of_row]) + 1
    return Stranded(
        types=types,
        rows=len(rows),
        examples=tuple(rows[:SHOWN].tolist()),
        patterns=tuple(describe_vector(v, reduced.levels.columns) for v in reduced.levels.vectors.tolist()),
    )


def explain_infeasible(instance: Instance, before: Instance) -> str:
    """Explain a proven infeasibility that no single row type causes."""
    problem = instance.problem
    sides = []
    if problem.cost_bound is not None:
        sides.append(f"a loss of at most {problem.cost_bound}")
    if problem.min_groups is not None:
        sides.append(f"at least {problem.min_groups} groups")
    if problem.max_groups is not None:
        sides.append(f"at most {problem.max_groups} groups")
    if sides:
        return f"proven: no table satisfies the privacy requirements with {' and '.join(sides)}"
    requirements = ", ".join(f"{key} = {value}" for r in problem.privacy for key, value in r.describe().items())
    return (
        f"proven: each row type alone could satisfy {requirements} under one of the {before.levels.count} patterns, "
        "but not all of them at once; add a pattern that suppresses more, such as the fully suppressed one"
    )
