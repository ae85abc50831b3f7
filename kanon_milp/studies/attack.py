"""What an attacker learns from a released table because it is optimal.

He knows the released table, the recoding and its costs, k, the values of each column, and that no k-anonymous table
loses less. He does not know who has which values. Originals with which a group could have been released more cheaply
were not there: linear constraints on how many rows of a group have which originals. (Minimality attacks: Wong, Fu, Wang
and Pei 2007; downcoding: Cohen 2022; linear programs over the groups of ARX's local recoding: Chhillar, Righi, Sutter
and Kornaropoulos 2025, arXiv:2509.03350.)
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, islice, product
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, counted
from kanon_milp.methods.solve import solve
from kanon_milp.problem.arguments import instance_of, real_number
from kanon_milp.problem.hierarchies import ColumnLevels
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.problem.recoding import apply_recoding, recoded_columns
from kanon_milp.problem.table import Table, in_kind
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.verify.tables import Original, classes, counts_of, open_released, tally, text_columns

MOST_ORIGINALS = 20_000  # originals of a released row, of a group that is examined
MOST_SPLITS = 2_000  # more specific groups that are held against one
MOST_TABLES = 5_000  # original tables that are looked at to say exactly what is possible
NOT_OPTIMAL = (
    "attack: the table is not optimal for this problem: whatever the original was, another table would lose less; name "
    "the requirement, recoding and costs that it was made with"
)


@dataclass(frozen=True, eq=False, repr=False)
class Attack:
    """What remains possible for the originals of an optimal table. It holds no cell.

    of_groups, of_cells: `groups` and `cells` as data frames of polars. exact: whether no more can be ruled out; else
    fewer may be possible, and more certain. kind: the library of the user's own data frame.
    """

    of_groups: pl.DataFrame
    of_cells: pl.DataFrame
    exact: bool
    kind: nw.Implementation

    @property
    def groups(self) -> Any:
        """A row for each group: group (number from 1), rows, originals (combinations of values that its released row
        stands for), possible (those that some row can have), examined (False: too many originals, or not reached)."""
        return in_kind(self.of_groups, self.kind)

    @property
    def cells(self) -> Any:
        """A row for each generalized column of each group that was examined: group, rows, column, values (that the
        label stands for), possible (those that some row can have), certain (those that some row is certain to have)."""
        return in_kind(self.of_cells, self.kind)

    @property
    def refined_rows(self) -> int:
        """Rows of groups of whose originals one is ruled out at least."""
        return int(self.of_groups.filter(pl.col("possible") < pl.col("originals"))["rows"].sum())

    @property
    def refined_cells(self) -> int:
        """Generalized cells that cannot have some value that their label stands for."""
        return int(self.of_cells.filter(pl.col("possible") < pl.col("values"))["rows"].sum())

    @property
    def known_cells(self) -> int:
        """Cells whose label stands for several values, of which one is left."""
        return int(self.of_cells.filter((pl.col("possible") == 1) & (pl.col("values") > 1))["rows"].sum())

    @property
    def certain_groups(self) -> int:
        """Groups in which some generalized column has a value that one of the rows is certain to have."""
        return self.of_cells.filter((pl.col("certain") > 0) & (pl.col("values") > 1))["group"].n_unique()

    def summary(self) -> str:
        """A few lines for people."""
        rows, seen = int(self.of_groups["rows"].sum()), self.of_groups.filter("examined")
        how = "exactly" if self.exact else "at least, by conditions that every optimal table satisfies"
        examined, left = int(seen["rows"].sum()), self.of_groups.height - seen.height
        lines = [
            f"what optimality gives away, {how}:",
            f"rows of which some original is ruled out: {self.refined_rows:,} of {examined:,}",
            f"generalized cells with fewer values than their label says: {self.refined_cells:,} of "
            f"{int(self.of_cells['rows'].sum()):,}, with only one: {self.known_cells:,}",
            f"groups with a value that some row is certain to have: {self.certain_groups:,} of {seen.height:,}",
        ]
        if left:
            lines.append(
                f"not examined (too many originals, or the limit was reached): {counted(left, 'group')} with "
                f"{rows - examined:,} of {rows:,} rows"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Figures, and no cell."""
        return f"<Attack: {self.refined_rows:,} of {int(self.of_groups['rows'].sum()):,} rows refined>"

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the figures, and both tables as lists of rows."""
        named = ("exact", "refined_rows", "refined_cells", "known_cells", "certain_groups")
        tables = {"groups": self.of_groups.to_dicts(), "cells": self.of_cells.to_dicts()}
        return {**{name: getattr(self, name) for name in named}, **tables}


def attack(problem: Problem, released: Any, *, exact: bool = False, time_limit: float = 60) -> Attack:
    """What somebody who knows that a released table is optimal can learn about its original.

    problem: k-anonymity alone, at least loss. Of its table only the values of each column are used: the attacker is
    assumed to know them, and the recoding, costs and k. released: data frame with the quasi-identifiers, in labels of
    the recoding. time_limit: seconds.

    Two conditions are used, which the rows of each group of an optimal table satisfy. None of them could have been in a
    cheaper group of the table while k are left, nor all of them. No k of them could have been a cheaper group of their
    own while k are left, nor all. exact: examine all original tables instead, and solve each; for a dozen rows. Raises
    InputError for another problem, for a label that the recoding does not have, and if there are too many tables for
    `exact`.
    """
    k = _k_alone(expect_problem(problem, "attack"))
    instance_of(exact, bool, "exact", "True or False")
    limit = Limit(time.perf_counter() + real_number(time_limit, "time_limit", "a number of seconds"))
    table, names = problem.table, problem.table.quasi_identifiers
    domains = [table.keys[name].unique().sort(nulls_last=True).to_list() for name in names]
    columns = recoded_columns(problem.recoding, table, domains)
    allowed = None
    if problem.recoding.mask is not None:
        allowed = apply_recoding(problem.recoding, table, columns).vectors.astype(np.int64)
    frame = open_released(released, Original.of(table))
    groups = _groups(columns, text_columns(frame, names), counts_of(frame, table.count, "released table"))
    if any(group.rows < k for group in groups):
        raise InputError(f"attack: the released table is not {k}-anonymous, so it does not solve this problem")
    conditions = [_conditions(columns, group, groups, allowed, k) for group in groups]
    if exact:
        found = _exactly(problem, columns, groups, conditions, limit)
    else:
        found = [_left(group, each, limit) for group, each in zip(groups, conditions, strict=True)]
    told, cells = _told(names, groups, found)
    return Attack(told, cells, exact, frame.implementation)


class Condition(NamedTuple):
    """No more than so many rows of a group have one of these originals. members: bool (v,)."""

    members: Flags
    most: int


class Left(NamedTuple):
    """What is left possible of a group. originals: bool (v,), which of them some row can have. values: per column, of
    the values that its label stands for, which some row can have, and which some row is certain to have, both bool."""

    originals: Flags
    values: tuple[tuple[Flags, Flags], ...]


@dataclass(frozen=True, eq=False)
class _Group:
    """A released row and how often it is there.

    level: int64 (m,), the lowest level of each label. values: per column the values that the label stands for, int64,
    positions in the domain. cost: what a row loses. originals: int64 (v, m), all combinations of values; None where
    they are more than MOST_ORIGINALS.
    """

    rows: int
    level: Ints
    values: tuple[Ints, ...]
    cost: Fraction
    originals: Ints | None

    @property
    def count(self) -> int:
        """How many originals the released row stands for."""
        return math.prod(len(each) for each in self.values)

    def of(self, rows: Ints) -> Ints:
        """So many rows of each original, int64 (rows, m). rows: int64 (v,)."""
        assert self.originals is not None
        return np.repeat(self.originals, rows, axis=0)

    def covers(self, originals: Ints) -> Flags:
        """Which originals its labels stand for, bool (v,)."""
        inside = [np.isin(originals[:, j], each) for j, each in enumerate(self.values)]
        return np.asarray(np.logical_and.reduce(inside), bool)


def _k_alone(problem: Problem) -> int:
    """The k of a problem that the conditions hold for. Raises InputError for another problem."""
    (only, *others) = problem.requirements
    sides = (problem.cost_bound, problem.min_groups, problem.most_groups)
    if others or type(only) is not KAnonymity or not only.separable or problem.table.unit is not None:
        raise InputError("attack: only k-anonymity of rows, in all columns together, is supported")
    if problem.objective != "loss" or problem.suppressed_rows != "strict" or any(side is not None for side in sides):
        raise InputError(
            "attack: the table must have the least loss, in the strict reading and without side constraints"
        )
    return only.k


def _cost(column: ColumnLevels, level: int, value: int) -> Fraction:
    """What a cell loses."""
    return column.costs[level] if column.cell_costs is None else Fraction(column.cell_costs[level][value])


def _groups(columns: Sequence[ColumnLevels], texts: pl.DataFrame, weights: Ints) -> list[_Group]:
    """The groups of a released table, in the order of their first rows. weights: rows that each row stands for."""
    found = []
    number, distinct = classes(texts)
    for labels, rows in zip(distinct.iter_rows(), tally(number, weights).tolist(), strict=True):
        level, values, cost = [], [], Fraction(0)
        for column, label in zip(columns, labels, strict=True):
            if label not in column.labels:
                raise InputError(
                    f'attack: released table: column "{column.name}" has a label that the recoding does not have; name '
                    "the recoding that the table was made with"
                )
            at = column.label_of == column.labels.index(label)
            level.append(int(at.any(axis=1).argmax()))
            values.append(np.flatnonzero(at[level[-1]]))
            cost += _cost(column, level[-1], int(values[-1][0]))
        originals = None
        if math.prod(map(len, values)) <= MOST_ORIGINALS:
            originals = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(values))
        found.append(_Group(rows, np.array(level), tuple(values), cost, originals))
    return found


def _conditions(
    columns: Sequence[ColumnLevels], group: _Group, groups: Sequence[_Group], allowed: Ints | None, k: int
) -> list[Condition]:
    """What the originals of a group's rows satisfy in an optimal table; nothing where they are too many to be listed.

    Rows that a cheaper group covers could join it, one by one while k are left, or all at once. k rows that a more
    specific and cheaper candidate covers could be a group of their own while k are left, or all at once.
    """
    if group.originals is None or not group.level.any():
        return []
    cheaper = [each.covers(group.originals) for each in groups if each.cost < group.cost]
    joining = np.logical_or.reduce(cheaper) if cheaper else np.zeros(len(group.originals), bool)
    found = [Condition(joining, 0 if group.rows > k else group.rows - 1)] if joining.any() else []
    most = k - 1 if group.rows >= 2 * k else group.rows - 1
    for level in _below(group.level, allowed, deep=group.rows >= 2 * k):
        labels = np.stack([c.label_of[level[j], group.originals[:, j]] for j, c in enumerate(columns)], axis=1)
        _, first, which = np.unique(labels, axis=0, return_index=True, return_inverse=True)
        for number, at in enumerate(first.tolist()):
            values = group.originals[at]
            if sum(_cost(c, level[j], int(values[j])) for j, c in enumerate(columns)) < group.cost:
                found.append(Condition(which.reshape(-1) == number, most))
        if len(found) >= MOST_SPLITS:
            break
    return found


def _below(level: Ints, allowed: Ints | None, *, deep: bool) -> Iterator[Ints]:
    """Level vectors that are more specific, the nearest first. deep: not only those one step below, which are enough
    where no condition but that of all rows is asked of them."""
    if allowed is not None:
        below = allowed[(allowed <= level).all(axis=1) & (allowed < level).any(axis=1)]
        yield from below[np.argsort(-below.sum(axis=1), kind="stable")]
    elif deep:
        every = product(*(range(int(each), -1, -1) for each in level))
        next(every)
        yield from sorted(map(np.array, islice(every, MOST_SPLITS)), key=lambda each: -int(each.sum()))
    else:
        yield from (level - step for step in np.eye(len(level), dtype=np.int64) if (level >= step).all())


def _left(group: _Group, conditions: Sequence[Condition], limit: Limit) -> Left | None:
    """What the conditions leave possible, by integer programs over how many rows have each original; None where these
    are too many, or the limit is reached.

    Each solution shows of many values that they can be there, and of others that they need not.
    """
    if not group.level.any():  # nothing was generalized
        return Left(np.ones(1, bool), ((np.ones(1, bool), np.ones(1, bool)),) * len(group.values))
    if group.originals is None or limit.over:
        return None
    barred = np.zeros(len(group.originals), bool)
    for each in conditions:
        if each.most == 0:
            barred |= each.members
    holds = [group.originals[:, j] == value for j, each in enumerate(group.values) for value in each]
    members = np.array(holds)[:, ~barred]  # values of all columns one after the other, by originals
    rows = np.array([each.members[~barred] for each in conditions if each.most] or np.zeros((0, members.shape[1])))
    most = [each.most for each in conditions if each.most]
    possible, absent = np.zeros(len(members), bool), np.zeros(len(members), bool)

    def seen(wanted: Floats, upper: Floats) -> bool:
        """Take note of a solution with as much as possible of what is wanted; False where there is none."""
        found = _program(wanted, rows, most, group.rows, upper)
        if found is None:
            return False
        there = (members @ found) > 0
        possible[there], absent[~there] = True, True
        return bool(wanted @ found > 0)

    if barred.all():
        raise InputError(NOT_OPTIMAL)
    every, once = np.full(members.shape[1], float(group.rows)), np.ones(members.shape[1])
    if _program(0 * every, rows, most, group.rows, every) is None:
        raise InputError(NOT_OPTIMAL)
    while not possible.all():
        wanted = members[~possible].sum(axis=0).astype(float)
        if limit.over:
            return None
        if not (seen(wanted, np.where(wanted > 0, once, every)) or seen(wanted, every)):
            break
    for value in np.flatnonzero(~absent & possible):
        if limit.over:
            return None
        if not absent[value]:
            seen((~members[value]).astype(float), np.where(members[value], 0, every))
    ends = np.cumsum([len(each) for each in group.values])[:-1]
    found = zip(np.split(possible, ends), np.split(possible & ~absent, ends), strict=True)
    return Left(~barred, tuple(found))


def _program(wanted: Floats, rows: NDArray[Any], most: Sequence[int], total: int, upper: Floats) -> Floats | None:
    """So many rows in all, of each original up to `upper`, of the originals of a condition up to its `most`, with most
    of what is wanted: how many rows have each original; None if there is no such table."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import, and no other command needs it

    constraints = [LinearConstraint(np.ones((1, len(wanted))), total, total)] if len(wanted) else []
    if len(most):
        constraints.append(LinearConstraint(rows.astype(float), 0, most))
    found = milp(-wanted, integrality=np.ones(len(wanted), np.int64), bounds=Bounds(0, upper), constraints=constraints)
    return None if found.x is None else np.asarray(np.round(found.x))


def _exactly(
    problem: Problem,
    columns: Sequence[ColumnLevels],
    groups: Sequence[_Group],
    conditions: Sequence[Sequence[Condition]],
    limit: Limit,
) -> list[Left | None]:
    """The same over all original tables whose least loss is that of the released table."""
    tables = math.prod(math.comb(group.count + group.rows - 1, group.rows) for group in groups)
    if tables > MOST_TABLES:
        raise InputError(
            f"attack: {tables:,} original tables are possible, and at most {MOST_TABLES:,} are examined; leave out "
            "exact=True (--exact)"
        )
    loss = sum(group.rows * group.cost for group in groups)
    every = [list(_tables_of(group, each)) for group, each in zip(groups, conditions, strict=True)]
    seen: list[tuple[Ints, ...]] = []
    for chosen in product(*every):
        if limit.over:
            raise InputError(
                "attack: the limit was reached before all original tables were examined; name a longer one"
            )
        rows = np.concatenate([g.of(y) for g, y in zip(groups, chosen, strict=True)])
        frame = {c.name: [c.labels[value] for value in rows[:, j]] for j, c in enumerate(columns)}
        table = Table.from_frame(pl.DataFrame(frame, schema=dict.fromkeys(frame, pl.String)), list(frame))
        if solve(replace(problem, table=table)).require_optimal().exact_objective == loss:
            seen.append(chosen)
    if not seen:
        raise InputError(NOT_OPTIMAL)
    return [_left_by(group, np.array(each)) for group, each in zip(groups, zip(*seen, strict=True), strict=True)]


def _tables_of(group: _Group, conditions: Sequence[Condition]) -> Iterator[Ints]:
    """How many rows of each original a group may have, int64 (v,)."""
    assert group.originals is not None
    for each in combinations_with_replacement(range(len(group.originals)), group.rows):
        rows = np.bincount(each, minlength=len(group.originals))
        if all(rows[condition.members].sum() <= condition.most for condition in conditions):
            yield rows


def _left_by(group: _Group, rows: Ints) -> Left:
    """What these tables have in common. rows: int64 (tables, v)."""
    assert group.originals is not None
    values = []
    for j, each in enumerate(group.values):
        there = np.stack([(rows[:, group.originals[:, j] == value] > 0).any(axis=1) for value in each], axis=1)
        values.append((np.asarray(there.any(axis=0)), np.asarray(there.all(axis=0))))
    return Left(np.asarray((rows > 0).any(axis=0)), tuple(values))


def _told(
    names: Sequence[str], groups: Sequence[_Group], found: Sequence[Left | None]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The two tables."""
    told, cells = [], []
    for number, (group, each) in enumerate(zip(groups, found, strict=True), 1):
        possible = group.count if each is None else int(each.originals.sum())
        told.append((number, group.rows, group.count, possible, each is not None))
        for j, (some, certain) in enumerate(() if each is None else each.values):
            if group.level[j]:
                cells.append((number, group.rows, names[j], len(some), int(some.sum()), int(certain.sum())))
    of_groups = ["group", "rows", "originals", "possible", "examined"]
    of_cells = ["group", "rows", "column", "values", "possible", "certain"]
    kinds = {name: pl.String if name == "column" else pl.Int64 for name in of_cells}
    return pl.DataFrame(told, of_groups, orient="row"), pl.DataFrame(cells, kinds, orient="row")
