"""Why a problem has no solution: in terms of its table, mask and requirements, or as an irreducible conflict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import UndecidedError, counted
from kanon_milp.presolve.instance import Instance, recode, table_as_group
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.exact import in_words
from kanon_milp.problem.hierarchies import ColumnLevels
from kanon_milp.problem.privacy import KAnonymity, Requirement
from kanon_milp.problem.privacy.base import least_rows, satisfies, viable_candidates
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
    counts = table_as_group(types)
    table_group: Group = replace(counts, table_group=counts)
    for requirement in problem.requirements:
        needed = requirement.merge_closed or isinstance(requirement, KAnonymity)  # what rows match grows with the rows
        if not needed or not _refuted(requirement, table_group):
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


def refuse_side_constraints(problem: Problem, types: RowTypes) -> str | None:
    """Why no table satisfies the side constraints, by counts of rows alone: before any candidate is enumerated.

    Groups have at least κ rows each. And rows that are released at no loss are alike where they are one group, so with
    few groups many others lose something (Homogeneity paper, Proposition 3: none if t_in > t_out + s).
    """
    if problem.min_groups is not None and problem.min_groups > types.n:
        return f"min_groups = {problem.min_groups} is larger than the number of rows ({types.n})"
    size, smallest = _sizes(problem, types)
    if problem.min_groups is not None and size * (problem.min_groups - 1) + smallest > types.n:
        return f"min_groups = {problem.min_groups} is too many groups of {size} rows or more for {types.n} rows"
    if problem.exact_cost_bound is None:
        return None
    for most in (None, problem.most_groups):
        lose, each_loses = _losing_rows(problem, types, size, most)
        if lose * each_loses > problem.exact_cost_bound:
            groups = "" if most is None else f" in at most {counted(most, 'group')}"
            return (
                f"at least {counted(lose, 'row')}{groups} must lose {in_words(each_loses)} or more each, which is "
                f"above the cost bound of {in_words(problem.exact_cost_bound)}"
            )
    return None


def numbers_of_groups(problem: Problem, types: RowTypes) -> tuple[int, int]:
    """How many groups a table that satisfies the side constraints has at least, and at most, by counts of rows alone;
    for a problem that is not refused by these (`refuse_side_constraints`)."""
    size, smallest = _sizes(problem, types)
    low, high = problem.min_groups or 1, max(types.n - smallest, 0) // size + 1
    high = min(high, problem.most_groups or high)
    fewest, other = low, high  # the more groups there are, the fewer rows need lose something
    while problem.exact_cost_bound is not None and fewest < other:
        middle = (fewest + other) // 2
        lose, each_loses = _losing_rows(problem, types, size, middle)
        fewest, other = (middle + 1, other) if lose * each_loses > problem.exact_cost_bound else (fewest, middle)
    return fewest, high


def _sizes(problem: Problem, types: RowTypes) -> tuple[int, int]:
    """How many rows each group has at least, and one group that may be smaller."""
    table_group = table_as_group(types)
    least = [(max(1, least_rows(each, table_group)), each.exempts) for each in problem.requirements]
    size = max(rows for rows, _ in least)
    exempt = problem.suppressed_rows == "exempt"
    return size, max((rows for rows, is_k in least if not is_k), default=1) if exempt else size


def _losing_rows(problem: Problem, types: RowTypes, size: int, most: int | None) -> tuple[int, Fraction]:
    """How many rows lose something in any table of at most so many groups of so many rows, and what each of them loses
    at least."""
    levels = recode(problem, types, _one_column_at_a_time)
    losses = np.concatenate([levels.costs] if levels.cells is None else [cost.ravel() for cost in levels.cells])
    if not losses.any():
        return 0, Fraction(0)
    each_loses = int(losses[losses > 0].min()) * levels.unit
    if levels.costs.all():
        return types.n, each_loses
    alike = []  # what rows have in common that are one group at no loss
    for j, column in enumerate(levels.columns):
        cells = [(cost,) for cost in column.costs] if column.cell_costs is None else column.cell_costs
        free = np.array([[not cost for cost in level] for level in cells]).sum(axis=0) - 1  # costs never fall
        codes = types.codes[:, j]
        alike.append(column.label_of[np.broadcast_to(free, len(column.label_of[0]))[codes], codes])
    key = mixed_key(alike, [len(column.labels) for column in levels.columns])
    rows = np.bincount(np.unique(key, return_inverse=True)[1], weights=types.counts).astype(np.int64)
    kept = np.sort(rows[rows >= size])[::-1]
    if most is not None and (len(kept) < len(rows) or len(kept) > most):
        kept = kept[: most - 1]  # rows that lose something are no part of these groups
    return types.n - int(kept.sum()), each_loses


def _one_column_at_a_time(columns: Sequence[ColumnLevels]) -> NDArray[np.int16]:
    """The level vectors that generalize at most one column, int16 (p, m): among them the cheapest of any loss."""
    found = [np.zeros((1, len(columns)), np.int16)]
    for j, column in enumerate(columns):
        of_column = np.zeros((column.height, len(columns)), np.int16)
        of_column[:, j] = np.arange(1, column.height + 1)
        found.append(of_column)
    return np.concatenate(found)


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
    there = np.zeros(before.types.count, dtype=bool)
    there[before.candidates.members] = True
    for requirement in requirements:
        if requirement.asks_of_labels:
            if gone := int((stranded & ~there).sum()):
                found.append(f"{requirement.spelled} alone rules out {gone} of them")
            continue
        viable = viable_candidates(requirement, before)
        covered = np.zeros(before.types.count, dtype=bool)
        covered[before.candidates.members[viable[before.candidates.candidate_of_pair()]]] = True
        alone = int((stranded & there & ~covered).sum())
        if alone:
            found.append(f"{requirement.spelled} alone rules out {alone} of them")
    return ": " + "; ".join(found or ["no single requirement alone, but all together"])


def explain_infeasible(problem: Problem, levels: Levels) -> str:
    """Explain a proven infeasibility that no single row type causes, under the patterns of these levels."""
    sides = list(side_constraints(problem).values())
    requirements = ", ".join(r.spelled for r in problem.requirements)
    if sides:
        return f"no table satisfies {requirements} with {' and '.join(sides)}"
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
    if problem.most_groups is not None:
        sides["max_groups"] = f"at most {counted(problem.most_groups, 'group')}"
    return sides


@dataclass(frozen=True)
class Conflict:
    """parts: in words, requirements and constraints that are infeasible together.

    irreducible: whether it is proven that each of them is needed. subject: what satisfies them, or does not.
    """

    parts: tuple[str, ...]
    irreducible: bool
    subject: str = "table"

    def __str__(self) -> str:
        left_out = " (without any one of them there is a solution)" if self.irreducible else ""
        return f"no {self.subject} satisfies all of these together{left_out}: {', '.join(self.parts)}"


def find_conflict(problem: Problem, is_infeasible: Callable[[Problem], bool | None]) -> Conflict | None:
    """Deletion filter over what the problem asks: leave a part out, and for good if the rest is still infeasible.

    is_infeasible: decides a smaller problem, None where it could not. Returns None for a problem with one part only.
    """
    requirements = {f"requirement {number}": r for number, r in enumerate(problem.requirements, 1)}
    sides = side_constraints(replace(problem, privacy=KAnonymity(1)))  # those that no requirement states
    names = {**{key: r.spelled for key, r in requirements.items()}, **sides}
    if len(names) < 2:
        return None

    def decide(rest: list[str]) -> bool | None:
        privacy = [requirements[name] for name in rest if name in requirements] or [KAnonymity(1)]
        dropped: dict[str, Any] = {side: None for side in sides if side not in rest}
        return is_infeasible(replace(problem, privacy=privacy, **dropped))

    kept, decided = irreducible(list(names), decide)
    return Conflict(tuple(names[name] for name in kept), decided)


def irreducible(
    names: list[str], is_infeasible: Callable[[list[str]], bool | None], decided: bool = True
) -> tuple[list[str], bool]:
    """Deletion filter: names of which each is needed for a conflict, and whether that is proven.

    is_infeasible: decides about some of them, None where it could not. decided: False where it is not proven anyway.
    """
    kept = list(names)
    for part in names:
        rest = [name for name in kept if name != part]
        answer = is_infeasible(rest)
        if answer:
            kept = rest
        elif answer is None:
            decided = False
    return kept, decided
