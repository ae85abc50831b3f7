"""The set-partitioning model of costs of whole groups: a variable for each set of rows that can be a group.

    minimize    Σ_G c_G·x_G
    subject to  Σ_{G ∋ i} x_G = 1      for each row i
                x_G ∈ {0, 1}

For few rows, to read, to export and to extend. A group has κ rows or more, and at most 2κ-1 where larger ones can be
split without loss.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.presolve.whole_groups import GroupInstance

MOST_GROUPS = 50_000


def number_of_sets(instance: GroupInstance) -> int:
    """How many sets of rows have the size of a group; more than `MOST_GROUPS` is not counted on."""
    n = len(instance.of_row)
    total = 0
    for size in range(instance.least, min(instance.most or n, n) + 1):
        total += math.comb(n, size)
        if total > MOST_GROUPS:
            break
    return total


def possible_groups(instance: GroupInstance) -> Iterator[tuple[int, ...]]:
    """The sets of rows that have all that is required, by rising size. Raises InputError where they are too many."""
    n = len(instance.of_row)
    if number_of_sets(instance) > MOST_GROUPS:
        raise InputError(
            f"the set-partitioning model has a variable for each possible group, and {n:,} rows have more than "
            f"{MOST_GROUPS:,}; take fewer rows, or a method that lists none"
        )
    for size in range(instance.least, min(instance.most or n, n) + 1):
        for rows in itertools.combinations(range(n), size):
            if instance.problem.size_only or instance.holds(np.array(rows)):
                yield rows


@dataclass(frozen=True, eq=False)
class GroupColumns:
    """All possible groups with their exact costs."""

    groups: tuple[tuple[int, ...], ...]
    costs: tuple[Fraction, ...]

    @classmethod
    def of(cls, instance: GroupInstance) -> GroupColumns:
        """List them; raises InputError where they are too many."""
        groups = tuple(possible_groups(instance))
        return cls(groups, tuple(instance.cost.exact(np.array(rows)) for rows in groups))


def build_whole_groups(instance: GroupInstance, columns: GroupColumns | None = None) -> pyo.ConcreteModel:
    """Declare the model: `ROWS` from 1, `GROUPS` from 1 with `members`, `cost`, and the variables `choose`.

    The objective `loss` is in the problem's units.
    """
    known = GroupColumns.of(instance) if columns is None else columns
    m = pyo.ConcreteModel(name=instance.problem.name)
    m.ROWS = pyo.RangeSet(len(instance.of_row))
    m.GROUPS = pyo.RangeSet(len(known.groups))
    m.members = {g: tuple(row + 1 for row in rows) for g, rows in enumerate(known.groups, 1)}
    m.cost = pyo.Param(m.GROUPS, initialize={g: float(cost) for g, cost in enumerate(known.costs, 1)})
    m.choose = pyo.Var(m.GROUPS, domain=pyo.Binary)

    # what the chosen groups cost
    m.loss = pyo.Objective(expr=pyo.quicksum(m.cost[g] * m.choose[g] for g in m.GROUPS))

    having: dict[int, list[int]] = {row: [] for row in m.ROWS}
    for g, rows in m.members.items():
        for row in rows:
            having[row].append(g)

    # every row is in one chosen group
    @m.Constraint(m.ROWS)
    def placed(m: pyo.ConcreteModel, row: int) -> object:
        return pyo.quicksum(m.choose[g] for g in having[row]) == 1 if having[row] else pyo.Constraint.Infeasible

    return m
