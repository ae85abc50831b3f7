"""Full-domain k-anonymity as a MILP, for a few row types: what the search over the lattice is held against."""

from __future__ import annotations

from collections.abc import Sequence

import pyomo.environ as pyo

from kanon_milp.system.arrays import Ints, Ints32
from kanon_milp.system.modeling import without_model_log


@without_model_log()
def build_full_domain(
    label_of: Sequence[Ints32],
    costs: Sequence[Sequence[float]],
    codes: Ints32,
    counts: Ints,
    k: int,
    suppressed: int,
) -> pyo.ConcreteModel:
    """One level for each column; every row is like k - 1 others, or one of so many suppressed ones; least loss.

    label_of: for each column int32 (levels, values), the label of each value at each level. costs: for each column the
    cost of a cell at each level. codes: int32 (t, m), values of the row types; counts: int64 (t,), their rows.
    """
    types, width = codes.shape
    m = pyo.ConcreteModel(name="full_domain")
    m.COLUMNS = pyo.RangeSet(0, width - 1, doc="columns")
    m.ROW_TYPES = pyo.RangeSet(0, types - 1, doc="row types")
    m.LEVELS = pyo.Set(initialize=[(j, v) for j in range(width) for v in range(len(costs[j]))], doc="levels of columns")
    m.level = pyo.Var(m.LEVELS, domain=pyo.Binary, doc="whether a column is released at this level")
    m.alike = pyo.Var(m.ROW_TYPES, m.ROW_TYPES, bounds=(0, 1), doc="whether two row types are released alike")
    m.kept = pyo.Var(m.ROW_TYPES, domain=pyo.Binary, doc="whether the rows of a type are not suppressed")
    m.pays = pyo.Var(m.ROW_TYPES, domain=pyo.NonNegativeReals, doc="loss of a row of the type that is kept")
    top = sum(cost[-1] for cost in costs)

    @m.Constraint(m.COLUMNS, doc="each column has one level")
    def one_level(m: pyo.ConcreteModel, j: int) -> object:
        return sum(m.level[j, v] for v in range(len(costs[j]))) == 1

    @m.Constraint(m.ROW_TYPES, m.ROW_TYPES, m.COLUMNS, doc="what is alike has one label in every column")
    def same_label(m: pyo.ConcreteModel, i: int, r: int, j: int) -> object:
        same = [v for v in range(len(costs[j])) if label_of[j][v, codes[i, j]] == label_of[j][v, codes[r, j]]]
        return m.alike[i, r] <= sum(m.level[j, v] for v in same)

    @m.Constraint(m.ROW_TYPES, doc="a row that is kept is like k - 1 others")
    def hidden(m: pyo.ConcreteModel, i: int) -> object:
        return sum(int(counts[r]) * m.alike[i, r] for r in m.ROW_TYPES) >= k * m.kept[i]

    @m.Constraint(m.ROW_TYPES, doc="a row that is kept pays for the levels")
    def pay(m: pyo.ConcreteModel, i: int) -> object:
        spent = sum(costs[j][v] * m.level[j, v] for j, v in m.LEVELS)
        return m.pays[i] >= spent - top * (1 - m.kept[i])

    @m.Constraint(doc="so many rows are suppressed at most")
    def limit(m: pyo.ConcreteModel) -> object:
        return sum(int(counts[i]) * (1 - m.kept[i]) for i in m.ROW_TYPES) <= suppressed

    loss = sum(int(counts[i]) * (m.pays[i] + top * (1 - m.kept[i])) for i in m.ROW_TYPES)
    m.loss = pyo.Objective(expr=loss, doc="loss of all rows")
    return m
