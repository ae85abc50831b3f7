"""Models over columns and pairs of row types, for few of them: minimum quasi-identifiers, and full-domain k-anonymity,
what the search over the lattice is held against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyomo.core as pyo

from kanon_milp.system.arrays import Flags, Ints, Ints32
from kanon_milp.system.modeling import without_model_log


@without_model_log()
def build_identifying(
    columns: Sequence[str], differing: Flags, known: Sequence[Sequence[int]] = ()
) -> pyo.ConcreteModel:
    """Fewest columns such that each of these pairs of rows differs in one of them: minimum cover.

    differing: bool (pairs, m), the columns in which the two rows of a pair differ. known: sets of columns that are not
    asked for again.
    """
    m = _columns(columns)
    m.PAIRS = pyo.RangeSet(0, len(differing) - 1, doc="pairs of rows")

    @m.Constraint(m.PAIRS, doc="the two rows differ in a chosen column")
    def told_apart(m: pyo.ConcreteModel, pair: int) -> object:
        return sum(m.chosen[j] for j in np.flatnonzero(differing[pair]).tolist()) >= 1

    m.KNOWN = pyo.RangeSet(0, len(known) - 1, doc="sets of columns that are known")

    @m.Constraint(m.KNOWN, doc="some column of a known set is left out")
    def new(m: pyo.ConcreteModel, number: int) -> object:
        return sum(m.chosen[j] for j in known[number]) <= len(known[number]) - 1

    return m


@without_model_log()
def build_violating(columns: Sequence[str], codes: Ints32, counts: Ints, k: int) -> pyo.ConcreteModel:
    """Fewest columns in which fewer than k rows look like some row.

    codes: int32 (t, m), distinct rows; counts: int64 (t,), how often each occurs.
    """
    types, rows = len(codes), int(counts.sum())
    m = _columns(columns)
    m.ROW_TYPES = pyo.RangeSet(0, types - 1, doc="distinct rows")
    m.rare = pyo.Var(m.ROW_TYPES, domain=pyo.Binary, doc="the row that is a witness")
    m.alike = pyo.Var(m.ROW_TYPES, m.ROW_TYPES, bounds=(0, 1), doc="whether two rows agree in all chosen columns")

    @m.Constraint(doc="one witness")
    def witness(m: pyo.ConcreteModel) -> object:
        return sum(m.rare[i] for i in m.ROW_TYPES) == 1

    @m.Constraint(m.ROW_TYPES, m.ROW_TYPES, doc="rows are alike unless they differ in a chosen column")
    def agree(m: pyo.ConcreteModel, i: int, r: int) -> object:
        differ = np.flatnonzero(codes[i] != codes[r]).tolist()
        return m.alike[i, r] + sum(m.chosen[j] for j in differ) >= 1

    @m.Constraint(m.ROW_TYPES, doc="fewer than k rows are like the witness")
    def few(m: pyo.ConcreteModel, i: int) -> object:
        alike = sum(int(counts[r]) * m.alike[i, r] for r in m.ROW_TYPES)
        return alike <= (k - 1) + (rows - k + 1) * (1 - m.rare[i])

    return m


def _columns(columns: Sequence[str]) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel(name="minimum quasi-identifier")
    m.COLUMNS = pyo.RangeSet(0, len(columns) - 1, doc="columns of the table")
    m.chosen = pyo.Var(m.COLUMNS, domain=pyo.Binary, doc="whether a column is in the quasi-identifier")
    m.size = pyo.Objective(expr=sum(m.chosen[j] for j in m.COLUMNS), doc="number of columns")
    return m


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
