"""Several objectives, one after the other: among the tables with the best value of the first, the best of the second.

For models of a moderate size each stage is a model of its own, with the values of the stages before as constraints. On
larger tables what is linear in the cells, as "keep COLUMN" is, becomes part of the weights: M · loss + loss in the
column, where M is more than the latter can be, so that no gain in the column makes up for a loss.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.formulations.goals import KEEP, first_goal
from kanon_milp.methods.further import ENDING, Stage, judged
from kanon_milp.methods.open_model import TOO_LATE, OpenModel, Request, Solved
from kanon_milp.methods.outcome import Found
from kanon_milp.methods.result import Result
from kanon_milp.presolve.instance import compress_table, recode, types_of
from kanon_milp.problem.exact import exact_number
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Hierarchies, Suppression, fully_suppressed
from kanon_milp.system.limit import Limit
from kanon_milp.verify import verify

NO_TABLE = "there is no table, so nothing was optimized after the first objective"
AROUND = ("compress", "candidates", "reduce", "assign", "verify")  # steps of a session that come with any search
NOT_LINEAR = "for large tables only keep COLUMN is optimized, right after the loss or another such goal"


def solve_stages(asked: Request, goals: Sequence[str]) -> Result:
    """The result of a problem with goals that come after its objective. Each stage has an equal share of the time that
    is left; those that cannot be optimized, since the table is too large for them, have none."""
    began, problem, limit = time.perf_counter(), asked.problem, asked.limit
    linear = list(itertools.takewhile(lambda goal: goal.startswith(KEEP), goals)) if problem.objective == "loss" else []
    models = len(goals)
    if limit.seconds is not None and asked.surely_too_large():
        models = 1 if linear else 0  # all of these are one problem
    first = asked.first(1 / (1 + models))
    if first.table is None or first.placed is None or first.exact_objective is None:
        return first if first.proof == "infeasible" else replace(first, message=_joined(first.message, NO_TABLE))
    assert first.report is not None
    stage = Stage(first_goal(problem), first.exact_objective, first.exact_bound, backed_by=first.backed_by)
    found = Found(first.table, first.placed, first.report, first.exact_objective)
    opened = asked.opened(first)
    if isinstance(opened, OpenModel):
        limit = replace(limit, ends=limit.ends - ENDING * (first.seconds["assign"] + first.seconds["verify"]))
        stages = _by_models(opened, stage, goals, found, limit)
    else:
        why, stages = opened if limit.over else f"{opened}; {NOT_LINEAR}", [(stage, found)]
        if linear and not limit.over:
            around = sum(first.seconds[step] for step in AROUND)
            stages = _by_weights(problem, stage, linear, found, asked.solved, limit, around)
        last = stages[-1][1]
        for goal in goals[len(stages) - 1 :]:
            stages.append((Stage(goal, measured(problem, goal, last), message=why), last))
    last = stages[-1][1]
    every = [replace(each, value=measured(problem, each.goal, last)) for each, _ in stages]
    proven = judged(every)
    spent = time.perf_counter() - began
    seconds = {
        **first.seconds,
        "then": max(spent - first.seconds["total"], 0.0),
        "total": max(spent, first.seconds["total"]),
    }
    met = proven[0].proof == "optimal"
    return replace(
        first,
        table=last.table,
        placed=last.groups,
        report=last.report,
        parts=None,
        exact_objective=proven[0].value,
        proof="optimal" if met else first.proof,
        stop_reason="optimal" if met else first.stop_reason,
        stages=proven,
        seconds=seconds,
    )


def measured(problem: Problem, goal: str, found: Found) -> Fraction:
    """The value of a goal, from the released table, by the verifier: for a column, with weights of 0 for all others."""
    if goal in ("groups", "fewer groups"):
        return Fraction(found.report.groups)
    if goal == "discernibility":
        return Fraction(found.report.discernibility)
    if goal == "loss":
        cost = found.report.cost
    else:
        return column_loss(problem, found.table, goal.removeprefix(KEEP))
    assert cost is not None  # the table was verified
    return cost


def column_loss(problem: Problem, released: Any, column: str) -> Fraction:
    """What the cells of a column lose in a table, by the verifier: with weights of 0 for all others."""
    names, recoding = problem.table.quasi_identifiers, problem.recoding
    weights = {name: recoding.weights.get(name, 1) if name == column else 0 for name in names}
    # without a mask, so that each cell is judged alone
    own = replace(recoding, weights=weights, mask=None) if isinstance(recoding, Hierarchies) else Suppression(weights)
    cost = verify(replace(problem, recoding=own, cost_bound=None), released, minimal=False).cost
    assert cost is not None  # the table was verified
    return cost


def weighed(problem: Problem, weights: dict[str, Any]) -> Problem:
    """The same at other weights, without a bound on the loss, which they change."""
    return replace(problem, recoding=replace(problem.recoding, weights=weights), cost_bound=None)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _by_models(
    opened: OpenModel, first: Stage, goals: Sequence[str], found: Found, limit: Limit
) -> list[tuple[Stage, Found]]:
    """Each stage by a model in which those before have the values that were reached. Each with its table."""
    problem = opened.session.problem
    stages, goal = [(first, found)], opened.goal(first.goal)
    opened.hold(goal.declared(opened.model), first.value / goal.unit)
    known = opened.of_groups(found.groups)
    for number, name in enumerate(goals):
        goal = opened.goal(name)
        before, message = measured(problem, name, found), ""
        if limit.over:
            stages.append((Stage(name, before, message=TOO_LATE), found))
            continue
        expression = goal.declared(opened.model)
        opened.minimize(expression)
        start = known if known is not None and goal.of(known) * goal.unit == before else None
        answer, table = opened.best(limit.share(1 / (len(goals) - number)), start)
        if table is not None:
            better = opened.release(table)
            if better.report.ok and measured(problem, name, better) / goal.unit <= before / goal.unit:
                found, known = better, table
        value = measured(problem, name, found)
        bound = None if answer.bound is None else answer.bound * goal.unit
        if bound is not None and value / goal.unit < bound / goal.unit:
            bound, message = None, "a verified table is better than the bound, which is discarded"
        message = message or ("" if bound is not None else answer.message or answer.stop_reason.value.replace("_", " "))
        stages.append((Stage(name, value, bound, backed_by=answer.backed_by, message=message), found))
        opened.hold(expression, value / goal.unit)
    return stages


@dataclass(frozen=True)
class Combined:
    """times · what was combined before + what the cells of a column lose, which is at most `most`.

    weights: of all columns, exact. unit: of which the combined loss of a table is a multiple.
    """

    weights: dict[str, Any]
    times: Fraction
    most: Fraction
    unit: Fraction


def combined(problem: Problem, goals: Sequence[str]) -> list[Combined]:
    """The loss alone, then the loss and the first column, and so on.

    Raises InputError where the numbers become too large.
    """
    types = types_of(problem, compress_table(problem))
    given = problem.recoding.weights
    own = {name: exact_number(given.get(name, 1), "weight") for name in problem.table.quasi_identifiers}
    levels = recode(problem, types, fully_suppressed)
    found = [Combined(own, Fraction(0), Fraction(0), levels.unit)]
    for goal in goals:
        name, last = goal.removeprefix(KEEP), found[-1]
        column = next(each for each in levels.columns if each.name == name)
        largest = max(column.costs if column.cell_costs is None else map(max, column.cell_costs))
        most = problem.table.n * largest
        times = Fraction(math.floor(most / last.unit) + 1)
        weights = {each: times * weight + (own[each] if each == name else 0) for each, weight in last.weights.items()}
        unit = recode(weighed(problem, weights), types, fully_suppressed).unit
        found.append(Combined(weights, times, most, unit))
    return found


def _by_weights(
    problem: Problem, first: Stage, goals: Sequence[str], found: Found, solved: Solved, limit: Limit, around: float
) -> list[tuple[Stage, Found]]:
    """All stages as one problem at other weights, from the table of the first on. What it takes to value its table is
    part of the time, and so is what a session takes before and after it searches, `around` seconds."""
    names, began = (first.goal, *goals), time.perf_counter()
    before = [measured(problem, name, found) for name in names]
    limit = replace(limit, ends=limit.ends - ENDING * (time.perf_counter() - began) - around)
    if limit.over:
        return _left(problem, first, goals, found, TOO_LATE)
    try:
        sums = combined(problem, goals)
        if limit.over:
            return _left(problem, first, goals, found, TOO_LATE)
        again = solved(
            weighed(problem, sums[-1].weights), time_limit=limit.seconds, start=found.groups, gap=0.0, log_file=None
        )
    except InputError as error:
        why = f"with its weights it cannot be solved as one problem: {error}"
        return _left(problem, first, goals, found, why)
    values = before
    if again.table is not None and again.placed is not None and again.report is not None:
        report = verify(problem, again.table, partition=again.placed.group.tolist(), minimal=False)
        # whether cells could be more specific does not depend on weights
        report = replace(report, minimal=again.report.minimal, not_minimal=again.report.not_minimal)
        better = Found(again.table, again.placed, report, report.cost)
        after = [measured(problem, name, better) for name in names] if report.ok else values
        if report.ok and after <= values:
            found, values = better, after
    # bounds of the sums, the last one first
    bounds: list[Fraction | None] = [again.exact_bound]
    for each, smaller in zip(reversed(sums[1:]), reversed(sums[:-1]), strict=True):
        bound = None if bounds[0] is None else (bounds[0] - each.most) / each.times
        bounds.insert(0, None if bound is None else math.ceil(bound / smaller.unit) * smaller.unit)
    stages, total = [], values[0]
    ambiguous = problem.recoding.mask is not None and _has_labels_twice(problem)
    for number, name in enumerate(goals, 1):
        less, bound = sums[number].times * total, bounds[number]
        known = None if bound is None or ambiguous else max(bound - less, Fraction(0))
        total = less + values[number]
        stages.append((Stage(name, values[number], known, backed_by=again.backed_by, message=again.message), found))
    known = max((each for each in (first.bound, bounds[0]) if each is not None), default=None)
    backed_by = first.backed_by if known == first.bound else again.backed_by
    return [(replace(first, bound=known, backed_by=backed_by), found), *stages]


def _left(problem: Problem, first: Stage, goals: Sequence[str], found: Found, why: str) -> list[tuple[Stage, Found]]:
    """The stages where nothing was optimized after the first."""
    return [(first, found), *((Stage(goal, measured(problem, goal, found), message=why), found) for goal in goals)]


def _has_labels_twice(problem: Problem) -> bool:
    """Whether a value has the same label on two levels: under a mask, what a column loses is then not told by its
    label."""
    return any(
        len(set(path)) < len(path) for each in problem.recoding.hierarchies.values() for path in each.paths.values()
    )
