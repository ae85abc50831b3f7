"""Why a problem has no solution: in terms of its table, mask and requirements, or as an irreducible conflict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kanon_milp.errors import UndecidedError, counted
from kanon_milp.presolve.instance import Instance, table_as_group
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.privacy import KAnonymity, Requirement
from kanon_milp.problem.privacy.base import satisfies, viable_candidates
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Levels, describe_vector
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags

SHOWN = 10
WAY_OUT = "Add a pattern that suppresses more, such as the fully suppressed one"


def refuse_one_group(problem: Problem, types: RowTypes) -> str | None:
    """Why not even all rows as one group satisfy a requirement.

    Groups that satisfy a merge-closed requirement can be merged, so then no released table has a solution, whatever the
    mask. None if there is no such requirement.
    """
    if problem.min_groups is not None and problem.min_groups > problem.table.n:
        return f"min_groups = {problem.min_groups} is larger than the number of rows ({problem.table.n})"
    counts = table_as_group(types)
    table_group: Group = replace(counts, table_group=counts)
    for requirement in problem.requirements:
        if not requirement.merge_closed or not _refuted(requirement, table_group):
            continue
        if problem.suppressed_rows == "exempt" and requirement.exempts:
            continue  # all rows fully suppressed need no partners
        short = requirement.shortfall(table_group)
        if short is None:
            because = ""
        elif short.attribute is None:
            because = f": {short.text}"
        else:
            of_row = problem.table.column(short.attribute)
            row = int((of_row.is_null() if short.value is None else of_row == short.value).arg_max() or 0) + 1
            because = f': in column "{short.attribute}" the value of row {row} has {short.text}'
        return f"not even all rows as one group satisfy {requirement.spelled}{because}"
    return None


def _refuted(requirement: Requirement, table_group: Group) -> bool:
    try:
        return not satisfies(requirement, table_group)
    except UndecidedError:  # then nothing is claimed
        return False


def find_stranded(before: Instance, reduced: Instance) -> str | None:
    """Row types without a viable candidate: even alone they have no solution. None if there are none."""
    covered = np.zeros(reduced.types.count, dtype=bool)
    covered[reduced.candidates.members] = True
    stranded = ~covered
    if not stranded.any():
        return None
    of_row = reduced.types.type_of_rows(reduced.problem.table.keys)
    rows = np.flatnonzero(stranded[of_row]) + 1
    patterns = [describe_vector(v, reduced.levels.columns) for v in reduced.levels.vectors.tolist()]
    shown = ", ".join(map(str, rows[:SHOWN].tolist())) + (", ..." if len(rows) > SHOWN else "")
    rest = f"; and {len(patterns) - SHOWN} more" if len(patterns) > SHOWN else ""
    return (
        f"{counted(int(stranded.sum()), 'row type')} with {counted(len(rows), 'row')} cannot satisfy the privacy "
        f"requirements under {_patterns('any', len(patterns))} (rows {shown}){_blame(before, stranded)}. "
        f"Patterns tried: {'; '.join(patterns[:SHOWN])}{rest}. {WAY_OUT}"
    )


def _patterns(which: str, count: int) -> str:
    return "the only pattern" if count == 1 else f"{which} of the {counted(count, 'pattern')}"


def _blame(before: Instance, stranded: Flags) -> str:
    """Which requirement by itself leaves how many of the stranded row types without a candidate."""
    requirements = before.problem.requirements
    if len(requirements) == 1:
        return ""
    found = []
    for requirement in requirements:
        viable = viable_candidates(requirement, before)
        covered = np.zeros(before.types.count, dtype=bool)
        covered[before.candidates.members[viable[before.candidates.candidate_of_pair()]]] = True
        alone = int((stranded & ~covered).sum())
        if alone:
            found.append(f"{requirement.spelled} alone rules out {alone} of them")
    return ": " + "; ".join(found or ["no single requirement alone, but all together"])


def explain_infeasible(problem: Problem, levels: Levels) -> str:
    """Explain a proven infeasibility that no single row type causes, under the patterns of these levels."""
    sides = list(side_constraints(problem).values())
    if sides:
        return f"no table satisfies the privacy requirements with {' and '.join(sides)}"
    requirements = ", ".join(r.spelled for r in problem.requirements)
    if problem.recoding.mask is None:
        return f"no table satisfies {requirements}, although every pattern is allowed"
    # groups of one released row are one group: where that can be too large, patterns that keep more may help
    suppresses_all = (levels.vectors == levels.top).all(axis=1).any()
    way_out = "Add other patterns" if suppresses_all else WAY_OUT
    return (
        f"each row type alone could satisfy {requirements} under {_patterns('one', levels.count)}, "
        f"but not all of them at once. {way_out}"
    )


def side_constraints(problem: Problem) -> dict[str, str]:
    """The side constraints of a problem: name of the model's row → in words."""
    sides = {}
    if problem.cost_bound is not None:
        sides["cost_bound"] = f"a loss of at most {problem.cost_bound}"
    if problem.min_groups is not None:
        sides["min_groups"] = f"at least {counted(problem.min_groups, 'group')}"
    if problem.max_groups is not None:
        sides["max_groups"] = f"at most {counted(problem.max_groups, 'group')}"
    return sides


@dataclass(frozen=True)
class Conflict:
    """parts: in words, requirements and side constraints that are infeasible together.

    irreducible: whether it is proven that each of them is needed.
    """

    parts: tuple[str, ...]
    irreducible: bool

    def __str__(self) -> str:
        left_out = " (without any one of them there is a solution)" if self.irreducible else ""
        return f"no table satisfies all of these together{left_out}: {', '.join(self.parts)}"


def find_conflict(problem: Problem, is_infeasible: Callable[[Problem], bool | None]) -> Conflict | None:
    """Deletion filter over what the problem asks: leave a part out, and for good if the rest is still infeasible.

    is_infeasible: decides a smaller problem, None where it could not. Returns None for a problem with one part only.
    """
    requirements = {f"requirement {number}": r for number, r in enumerate(problem.requirements, 1)}
    sides = side_constraints(problem)
    names = {**{key: r.spelled for key, r in requirements.items()}, **sides}
    if len(names) < 2:
        return None
    kept, decided = list(names), True
    for part in names:
        rest = [name for name in kept if name != part]
        privacy = [requirements[name] for name in rest if name in requirements] or [KAnonymity(1)]
        dropped: dict[str, Any] = {side: None for side in sides if side not in rest}
        answer = is_infeasible(replace(problem, privacy=privacy, **dropped))
        if answer:
            kept = rest
        elif answer is None:
            decided = False
    return Conflict(tuple(names[name] for name in kept), decided)
