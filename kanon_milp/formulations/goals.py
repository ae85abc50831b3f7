"""What a second objective minimizes, and tables that are to be left out, over the model of an instance.

A goal is "loss", "groups" (as many as possible), "fewer groups", "discernibility" (Σ |group|²), or "keep COLUMN" (what
the cells of that column lose).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError, among
from kanon_milp.formulations.strong import add_squares
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.arguments import instance_of, listed, one_of, wrong
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Ints

KEEP = "keep "
GOALS = ("loss", "groups", "fewer groups", "discernibility")
EXPECTED = f"{', '.join(GOALS)}, or keep COLUMN"
Differ = Literal["rows", "columns"]
DIFFER: tuple[Differ, ...] = ("rows", "columns")


def checked_goals(given: str | Sequence[str], problem: Problem) -> tuple[str, ...]:
    """The goals that were asked for, in order. Raises InputError for one that there is not, or that is named twice."""
    goals = (given,) if isinstance(given, str) else tuple(listed(given, "then", f"a list with some of {EXPECTED},"))
    names = problem.table.quasi_identifiers
    for goal in goals:
        if not isinstance(goal, str):
            raise wrong("then", EXPECTED, goal)
        column = goal.removeprefix(KEEP)
        if goal.startswith(KEEP) and column not in names:
            raise InputError(f'then: "{column}" is not a quasi-identifier{among(column, names, "quasi-identifier")}')
        if not goal.startswith(KEEP) and goal not in GOALS:
            raise InputError(f"then: {EXPECTED} is expected, found {goal!r}")
    asked = (first_goal(problem), *goals)
    if twice := [goal for at, goal in enumerate(asked) if goal in asked[:at]]:
        raise InputError(f'then: "{twice[0]}" is an objective already; name each once')
    return goals


def first_goal(problem: Problem) -> str:
    """The objective of a problem as a goal."""
    return {"min_groups": "fewer groups", "max_groups": "groups"}.get(problem.objective, problem.objective)


@dataclass(frozen=True, eq=False)
class Goal:
    """A goal over an instance, minimized as an integer.

    unit: what one of it is worth; negative where more is better. declared: adds what it needs to a model and returns
    the expression. of: its value for the table of an assignment.
    """

    unit: Fraction
    declared: Callable[[pyo.ConcreteModel], Any]
    of: Callable[[Assignment], int]


def goal_over(instance: Instance, name: str) -> Goal:
    """The goal of that name."""
    candidates = instance.candidates
    if name == "loss":
        return _linear(instance, candidates.cost[candidates.candidate_of_pair()], instance.levels.unit)
    if name.startswith(KEEP):
        return _linear(instance, *_cell_costs(instance, name.removeprefix(KEEP)))
    if name == "discernibility":
        return Goal(Fraction(1), lambda m: add_squares(m, instance), lambda table: int((_sizes(table) ** 2).sum()))
    sign = -1 if name == "groups" else 1
    return Goal(
        Fraction(sign),
        lambda m: sum(sign * m.open[g] for g in m.CANDIDATES),
        lambda table: sign * len(np.unique(table.candidate)),
    )


def _sizes(table: Assignment) -> Ints:
    """Rows of each candidate, int64."""
    found: Ints = np.bincount(table.candidate, weights=table.rows).astype(np.int64)
    return found


def _linear(instance: Instance, costs: Ints, unit: Fraction) -> Goal:
    """costs: int64 (pairs,), of a row of each pair."""
    return Goal(
        unit,
        lambda m: sum(cost * m.assign[pair] for pair, cost in zip(m.PAIRS, costs.tolist(), strict=True) if cost),
        lambda table: int(table.rows_of_pairs(instance) @ costs),
    )


def _cell_costs(instance: Instance, name: str) -> tuple[Ints, Fraction]:
    """What the cell of a column loses in a row of each pair, int64 (pairs,), and what one of it is worth. A label that
    a value has on several levels loses as little as the cheapest of them."""
    candidates, levels, types = instance.candidates, instance.levels, instance.types
    at = list(types.names).index(name)
    column = levels.columns[at]
    of_level, label_of = column.cell_costs, column.label_of.tolist()
    cheapest: dict[tuple[int, int], Fraction] = {}  # by value and label
    for level in reversed(range(column.height + 1)):
        for value, label in enumerate(label_of[level]):
            cheapest[value, label] = column.costs[level] if of_level is None else of_level[level][value]
    used = levels.vectors[candidates.vector[candidates.candidate_of_pair()], at].tolist()
    values = types.codes[candidates.members, at].tolist()
    costs = [cheapest[value, label_of[level][value]] for value, level in zip(values, used, strict=True)]
    denominator = np.lcm.reduce([cost.denominator for cost in costs] or [1], dtype=object)
    return np.array([int(cost * denominator) for cost in costs], dtype=np.int64), Fraction(1, int(denominator))


def exclude(
    model: pyo.ConcreteModel, rows: Mapping[tuple[int, int], int] | None = None, *, differ: Differ = "rows"
) -> None:
    """Leave a table out of a model of `build_model`: the next solution of `solve_model` is another one.

    rows: how many rows of type i candidate g receives, by (i, g), 0 where it is not named; by default what the
    variables `assign` hold, as they do after `solve_model`. differ: "rows", then no table is left out but this one (and
    those that exchange rows that the model does not tell apart); "columns", then all tables are that use the same level
    vectors. The components are `excluded` (a list of constraints) and `moved` (variables). Raises InputError for a
    model without values, and for rows that are not as many as each row type has.

    Rows: let x* be the table. Some x[i,g] with x*[i,g] > 0 must be smaller: Σ (n_i - x[i,g]) over those with x* = n_i,
    and Σ moved over the others, is at least 1, where moved = 1 asks for x[i,g] ≤ x*[i,g] - 1. Columns: p[v], whether
    level vector v is used, is the largest open[g] of its candidates; one p[v] must be another.
    """
    instance_of(model, pyo.ConcreteModel, "model", "a Pyomo model of build_model(problem)")
    one_of(differ, DIFFER, "differ")
    held = _rows_held(model, rows)
    if model.component("excluded") is None:
        model.excluded = pyo.ConstraintList(doc="tables that are left out")
        model.moved = pyo.VarList(domain=pyo.Binary, doc="by which row type or level vector another table differs")
    if differ == "columns":
        used = {model.vector[g] for (_, g) in held}
        differing = [1 - p if v in used else p for v, p in _vectors_used(model).items()]
    else:
        differing = []
        for (i, g), number in held.items():
            if number == model.n[i]:
                differing.append(model.n[i] - model.assign[i, g])
            else:
                moved = model.moved.add()
                model.excluded.add(model.assign[i, g] + (model.n[i] - number + 1) * moved <= model.n[i])
                differing.append(moved)
    model.excluded.add(sum(differing) >= 1 if differing else pyo.Constraint.Infeasible)


def _vectors_used(model: pyo.ConcreteModel) -> dict[int, Any]:
    """For each level vector a variable: whether one of its candidates is open."""
    if model.component("uses") is None:
        of_vector: dict[int, list[int]] = {}
        for g in model.CANDIDATES:
            of_vector.setdefault(model.vector[g], []).append(g)
        model.uses = pyo.Var(list(of_vector), domain=pyo.Binary, doc="p[v]: whether level vector v is used")
        model.used = pyo.Constraint(
            model.CANDIDATES, rule=lambda m, g: m.open[g] <= m.uses[m.vector[g]], doc="by an open candidate"
        )
        model.used_by = pyo.Constraint(
            list(of_vector),
            rule=lambda m, v: m.uses[v] <= sum(m.open[g] for g in of_vector[v]),
            doc="and only by one",
        )
    return dict(model.uses.items())


def _rows_held(model: pyo.ConcreteModel, rows: Mapping[tuple[int, int], int] | None) -> dict[tuple[int, int], int]:
    """The pairs that have rows, and how many."""
    if rows is None:
        values = {pair: variable.value for pair, variable in model.assign.items()}
        if any(value is None for value in values.values()):
            raise InputError("exclude: the variables of the model have no values; solve it first, or name rows")
        rows = {pair: round(value) for pair, value in values.items()}
    instance_of(rows, Mapping, "rows", "numbers of rows by (i, g)")
    held = {pair: number for pair, number in rows.items() if number}
    placed = dict.fromkeys(model.ROW_TYPES, 0)
    for pair, number in held.items():
        if pair not in model.PAIRS:
            raise InputError("exclude: rows: (i, g) must be one of model.PAIRS")
        placed[pair[0]] += number
    if any(placed[i] != model.n[i] for i in model.ROW_TYPES):
        raise InputError("exclude: rows: each row type must have as many rows as model.n says")
    return held
