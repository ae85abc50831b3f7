"""Compact models of microaggregation, for very few rows: their linear relaxations are weak, and they grow as n² does.

Slots t stand for groups of a fixed size s(t) from κ to 2κ-1, ⌊n/s⌋ of each size, since more cannot be used.

    Σ_t assign[i,t] = 1                                  for each row i
    Σ_i assign[i,t] = s(t)·open[t]                       for each slot t

Sum of squares: a group's is Σ over its pairs of d(i,j) / s, linearised over pairs (as clique partitioning is).

    minimize  Σ_s 1/s Σ_{i<j} d(i,j)·together[i,j,s]
    together[i,j,s] ≥ assign[i,t] + assign[j,t] - 1      for each slot t of size s

Absolute deviations: a free centre for each slot; the best one is a median.

    minimize  Σ_{i,c} w_c·deviation[i,c]
    deviation[i,c] ≥ ±(x_ic - center[t,c]) - R_c·(1 - assign[i,t])      R_c: range of column c
"""

from __future__ import annotations

from itertools import combinations

import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.group_costs import NumericCost

MOST_ROWS = 60


def build_compact(instance: GroupInstance) -> pyo.ConcreteModel:
    """Declare the model: `ROWS` from 1, `SLOTS` from 1 with `size`, `assign`, `open`.

    Raises InputError for costs that do not split, requirements of more than sizes, and too many rows.
    """
    cost, n, points = instance.cost, len(instance.of_row), instance.points
    if not (isinstance(cost, NumericCost) and cost.splits and instance.problem.size_only) or points is None:
        raise InputError(
            "the compact model is for microaggregation around the mean (sse) or the median (l1) under sizes of groups "
            "alone; build the model groups"
        )
    if n > MOST_ROWS:
        raise InputError(f"the compact model is for up to {MOST_ROWS} rows, and the table has {n:,}")
    m = pyo.ConcreteModel(name=instance.problem.name)
    sizes = [s for s in range(instance.least, 2 * instance.least) for _ in range(n // s)]
    m.ROWS = pyo.RangeSet(n)
    m.SLOTS = pyo.RangeSet(len(sizes))
    m.size = pyo.Param(m.SLOTS, initialize=dict(enumerate(sizes, 1)))
    m.assign = pyo.Var(m.ROWS, m.SLOTS, domain=pyo.Binary)
    m.open = pyo.Var(m.SLOTS, domain=pyo.Binary)

    @m.Constraint(m.ROWS, doc="every row is in one group")
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        return pyo.quicksum(m.assign[i, t] for t in m.SLOTS) == 1

    @m.Constraint(m.SLOTS, doc="an open slot is full")
    def full(m: pyo.ConcreteModel, t: int) -> object:
        return pyo.quicksum(m.assign[i, t] for i in m.ROWS) == m.size[t] * m.open[t]

    if cost.power == 2:
        _add_pairs(m, instance)
    else:
        _add_centers(m, cost)
    return m


def _add_pairs(m: pyo.ConcreteModel, instance: GroupInstance) -> None:
    points = instance.points
    assert points is not None
    m.SIZES = pyo.Set(initialize=sorted({m.size[t] for t in m.SLOTS}))
    m.PAIRS = pyo.Set(dimen=2, initialize=list(combinations(m.ROWS, 2)))
    row = points.of_row
    m.distance = pyo.Param(
        m.PAIRS, initialize={(i, j): float(points.exact(row[i - 1], row[j - 1])) for i, j in m.PAIRS}
    )
    m.together = pyo.Var(m.PAIRS, m.SIZES, bounds=(0, 1))

    # Σ over the pairs of each group, divided by its size
    m.loss = pyo.Objective(
        expr=pyo.quicksum(m.distance[i, j] / s * m.together[i, j, s] for i, j in m.PAIRS for s in m.SIZES)
    )

    @m.Constraint(m.PAIRS, m.SLOTS, doc="two rows in one slot are together in a group of its size")
    def joined(m: pyo.ConcreteModel, i: int, j: int, t: int) -> object:
        return m.together[i, j, m.size[t]] >= m.assign[i, t] + m.assign[j, t] - 1


def _add_centers(m: pyo.ConcreteModel, cost: NumericCost) -> None:
    points = cost.points
    m.COLUMNS = pyo.Set(initialize=points.columns)
    value = {
        (i, name): float(points.values[i - 1, c]) / points.scale[c]
        for i in m.ROWS
        for c, name in enumerate(points.columns)
    }
    reach = {name: max(value[i, name] for i in m.ROWS) for name in points.columns}  # values begin at 0
    weight = {name: float(w) for name, w in zip(points.columns, cost.weights, strict=True)}
    m.center = pyo.Var(m.SLOTS, m.COLUMNS, bounds=lambda m, t, c: (0, reach[c]))
    m.deviation = pyo.Var(m.ROWS, m.COLUMNS, domain=pyo.NonNegativeReals)

    # absolute deviations from the centre of one's slot
    m.loss = pyo.Objective(expr=pyo.quicksum(weight[c] * m.deviation[i, c] for i in m.ROWS for c in m.COLUMNS))

    @m.Constraint(m.ROWS, m.SLOTS, m.COLUMNS, doc="at least what the value is above the centre")
    def above(m: pyo.ConcreteModel, i: int, t: int, c: str) -> object:
        return m.deviation[i, c] >= value[i, c] - m.center[t, c] - reach[c] * (1 - m.assign[i, t])

    @m.Constraint(m.ROWS, m.SLOTS, m.COLUMNS, doc="at least what the value is below the centre")
    def below(m: pyo.ConcreteModel, i: int, t: int, c: str) -> object:
        return m.deviation[i, c] >= m.center[t, c] - value[i, c] - reach[c] * (1 - m.assign[i, t])
