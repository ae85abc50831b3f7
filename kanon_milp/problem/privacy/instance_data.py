"""What a requirement may use of the instance that it is declared over: arrays, and nothing that solves; and rows of a
group by sensitive value, in these arrays and in the model.

`presolve.Instance` is such a thing. Requirements know this interface only, so that problems do not depend on how they
are solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyomo.core as pyo
import scipy.sparse as sp

from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.recoding import Levels, Recoding
from kanon_milp.problem.records import Group, Label
from kanon_milp.system.arrays import Flags, Ints, Ints32


class RowTypeData(Protocol):
    """Row types i: distinct rows, with multiplicities."""

    @property
    def n(self) -> int:
        """Number of rows of the table."""

    @property
    def counts(self) -> Ints:
        """n_i, int64 (t,)."""

    @property
    def codes(self) -> Ints32:
        """Value of each quasi-identifier by number, int32 (t, m)."""


class CandidateData(Protocol):
    """Candidates g; the pairs (i, g) of a candidate stand one after the other."""

    @property
    def count(self) -> int:
        """Number G of candidates."""

    @property
    def support(self) -> Ints:
        """N_g, rows of the row types that g covers, int64 (G,)."""

    @property
    def members(self) -> Ints32:
        """The row type of each pair, int32 (pairs,)."""

    @property
    def vector(self) -> Ints32:
        """Its level vector by number, int32 (G,)."""

    @property
    def representative(self) -> Ints32:
        """The first row type of each cover, int32 (G,)."""

    def candidate_of_pair(self) -> Ints32:
        """The candidate of each pair, int32 (pairs,)."""

    def cover_lists(self) -> list[list[int]]:
        """The covers C(g) as lists of row types."""


class InstanceData(Protocol):
    """Row types, level vectors, candidates, and the entire table as a group."""

    @property
    def types(self) -> RowTypeData:
        """The row types."""

    @property
    def recoding(self) -> Recoding:
        """What quasi-identifiers may become, with hierarchies also of values that the table lacks."""

    @property
    def levels(self) -> Levels:
        """The level vectors, with the columns that they generalize."""

    @property
    def candidates(self) -> CandidateData:
        """The candidates."""

    @property
    def table_group(self) -> Group:
        """The entire table as a group, the reference distribution."""

    @property
    def exempt(self) -> Flags:
        """Candidates of fully suppressed rows that need no partners, bool (G,)."""

    @property
    def exempt_reading(self) -> bool:
        """Whether fully suppressed rows need no partners."""

    @property
    def least(self) -> Ints:
        """The smallest size κ that a group of each candidate can have, int64 (G,)."""

    def sensitive_codes(self, attributes: Sequence[str]) -> tuple[Ints, list[tuple[Label, ...]]]:
        """Joint sensitive value of each row type as a number, int64 (t,), and the values in that order."""


class Rows:
    """Pyomo expressions for the rows that a candidate receives: all of them, or those with one joint sensitive value.

    In the formulas of requirements S_g is `size(g)` and X_σg is `with_value(g, σ)`.
    """

    def __init__(self, model: pyo.ConcreteModel, instance: InstanceData, attributes: Sequence[str] = ()) -> None:
        self._model = model
        self._members = instance.candidates.cover_lists()
        self._size = model.component("rows")
        code = instance.sensitive_codes(attributes)[0].tolist() if attributes else []
        self._cells: list[dict[int, list[int]]] = []
        for cover in self._members if attributes else ():
            cells: dict[int, list[int]] = {}
            for i in cover:
                cells.setdefault(code[i], []).append(i)
            self._cells.append(cells)

    def size(self, g: int) -> Any:
        """S_g = Σ_i x[i,g]: the variable `rows[g]` where the model has it."""
        if self._size is not None:
            return self._size[g]
        return sum(self._model.assign[i, g] for i in self._members[g])

    def values(self, g: int) -> list[int]:
        """Codes of the sensitive values in the cover of g."""
        return sorted(self._cells[g])

    def types(self, g: int, value: int) -> list[int]:
        """The row types in the cover of g with this sensitive value."""
        return self._cells[g].get(value, [])

    def with_value(self, g: int, value: int) -> Any:
        """X_σg = Σ_i x[i,σ,g] over the row types with this sensitive value; 0 where the cover has none."""
        return sum(self._model.assign[i, g] for i in self.types(g, value))

    def index(self) -> list[tuple[int, int]]:
        """All (candidate, sensitive value) that occur."""
        return [(g, value) for g, cells in enumerate(self._cells) for value in sorted(cells)]


def cells(rows: Rows) -> pyo.Set:
    """The set of all (candidate, number of a sensitive value) that occur."""
    doc = "(candidate g, number of a sensitive value σ) with σ in the cover of g"
    return pyo.Set(dimen=2, initialize=rows.index(), ordered=pyo.Set.InsertionOrder, doc=doc)


def supports(instance: InstanceData, attributes: Sequence[str]) -> sp.csr_array:
    """N_gσ, rows of the cover of g with sensitive value σ: int64 CSR (G, number of values)."""
    candidates, types = instance.candidates, instance.types
    code, values = instance.sensitive_codes(attributes)
    entries = (types.counts[candidates.members], (candidates.candidate_of_pair(), code[candidates.members]))
    found = sp.csr_array(entries, shape=(candidates.count, len(values)))
    found.sum_duplicates()
    found.sort_indices()
    return found


def distinct_values(instance: InstanceData, attributes: Sequence[str]) -> Ints:
    """Number of different sensitive values in each cover, int64 (G,)."""
    return np.diff(supports(instance, attributes).indptr).astype(np.int64)


def projections(instance: InstanceData, names: Sequence[str] | None) -> tuple[Ints, Flags]:
    """Per candidate the number of what it releases of these quasi-identifiers (None: of all), and whether that is all
    suppressed."""
    levels, candidates = instance.levels, instance.candidates
    vectors = levels.vectors[candidates.vector]
    codes = instance.types.codes[candidates.representative]
    at = _places(instance, names)
    released = [levels.columns[j].label_of[vectors[:, j], codes[:, j]] for j in at]
    key = mixed_key(released, [len(levels.columns[j].labels) for j in at])
    _, number = np.unique(key, return_inverse=True)
    suppressed = (vectors[:, at] == levels.top[at]).all(axis=1)
    return number.astype(np.int64), suppressed


def _places(instance: InstanceData, names: Sequence[str] | None) -> list[int]:
    return [j for j, column in enumerate(instance.levels.columns) if names is None or column.name in names]


LOOKED_AT = 1 << 20  # pairs of released rows that are compared in one go


def matches(
    instance: InstanceData, names: Sequence[str] | None, number: Ints, k: int
) -> dict[int, tuple[list[int], int]]:
    """Which of the rows that can be released match: in each of these quasi-identifiers (None: in all) they are alike,
    or one of the two is missing or suppressed there.

    number: as `projections` has them. Of each that is not matched by k rows in any table: those that match it, and how
    many rows match it whatever is released of them.
    """
    levels, codes = instance.levels, instance.types.codes
    one = np.unique(number, return_index=True)[1]
    first, vector = instance.candidates.representative[one], levels.vectors[instance.candidates.vector[one]]
    released, of_row = [], []  # by column; 0: any value
    for j in _places(instance, names):
        column = levels.columns[j]
        of_label = np.arange(1, len(column.labels) + 1)
        of_label[[at for at, label in enumerate(column.labels) if label is None]] = 0
        of_label[column.label_of[column.height]] = 0
        of_value = of_label[column.label_of]  # (levels, values)
        several = (of_value[:, None] * of_value[None] * (of_value[:, None] != of_value[None])).any(axis=(0, 1))
        released.append(of_label[column.label_of[vector[:, j], codes[first, j]]])
        of_row.append(np.where(several, -1, of_value.max(axis=0))[codes[:, j]])
    found = {}
    for some in np.array_split(np.arange(len(first)), -(-len(first) * len(first) // LOOKED_AT)):
        always, match = np.ones((len(some), len(codes)), dtype=bool), np.ones((len(some), len(first)), dtype=bool)
        for mine, each, row in zip([each[some, None] for each in released], released, of_row, strict=True):
            always &= (mine == 0) | (row == 0) | (row == mine)
            match &= (mine == 0) | (each == 0) | (each == mine)
        rows = always @ instance.types.counts
        for at in np.flatnonzero(rows < k).tolist():
            found[int(some[at])] = np.flatnonzero(match[at]).tolist(), int(rows[at])
    return found


def declare_presence(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    attributes: Sequence[str],
    least: int,
    free: Flags | None = None,
) -> None:
    """At least so many different values in an open group: z[g,σ] = 1 claims that g receives a row with value σ.

    free: bool (G,), candidates for which one value is enough.
    """
    rows = Rows(model, instance, attributes)
    block.CELLS = cells(rows)
    block.present = pyo.Var(block.CELLS, domain=pyo.Binary, doc="z[g,σ]: 1 claims that g receives a row with value σ")

    @block.Constraint(block.CELLS, doc="a value that is claimed occurs")
    def occurs(b: pyo.Block, g: int, value: int) -> object:
        return rows.with_value(g, value) >= b.present[g, value]

    # this makes the bound of the linear relaxation stronger
    @block.Constraint(block.CELLS, doc="a value counts once in an open group, and not in one that is not open")
    def once(b: pyo.Block, g: int, value: int) -> object:
        return b.present[g, value] <= model.open[g]

    @block.Constraint(model.CANDIDATES, doc="an open group has so many different values")
    def different(b: pyo.Block, g: int) -> object:
        needed = 1 if free is not None and free[g] else least
        return sum(b.present[g, value] for value in rows.values(g)) >= needed * model.open[g]
