"""Boxes: a group is released as the interval or the set of its values in each column, or as the lowest label of a
hierarchy above them. The cost is the normalized certainty penalty (NCP, Xu et al. 2006) of its rows; that of a set is
(|set| - 1)/(|domain| - 1), as in published codes of Mondrian."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import polars as pl

from kanon_milp.problem.column_values import numbers_of
from kanon_milp.problem.costs import NCP
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.generalization import written
from kanon_milp.problem.group_costs.base import GroupCost, refuse_missing, rows_of
from kanon_milp.problem.hierarchies import ColumnLevels, Hierarchy, check_cover, column_levels
from kanon_milp.problem.records import Label
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Ints, Ints32


@dataclass(frozen=True, eq=False)
class BoxColumn:
    """A column of boxes, over its distinct values (`domain`), which `codes`, int32 (n,), has by row.

    weight: of its NCP. numbers: of each value of the domain, where all of them are numbers and not all the same; then a
    box is an interval. extent: their range. levels: of its hierarchy, whose labels are boxes then; otherwise, and where
    there are no numbers, they are sets.
    """

    name: str
    domain: tuple[str, ...]
    codes: Ints32
    weight: Fraction
    numbers: tuple[Fraction, ...] | None = None
    extent: Fraction = Fraction(0)
    levels: ColumnLevels | None = None

    @classmethod
    def of(cls, table: Table, name: str, hierarchy: Hierarchy | None, weight: Fraction) -> BoxColumn:
        """Bind to a table without missing values; raises InputError where the hierarchy does not have a value."""
        domain = table.column(name).unique(maintain_order=True).to_list()
        code = {value: at for at, value in enumerate(domain)}
        codes = np.array([code[value] for value in table.column(name).to_list()], dtype=np.int32)
        known = cls(name, tuple(domain), codes, weight)
        if hierarchy is not None:
            check_cover(hierarchy, name, domain, table)
            return replace(known, levels=column_levels(name, domain, hierarchy, NCP, Fraction(1), table.symbol))
        read = numbers_of(domain, "point" if table.frame.schema[name].is_numeric() else None)
        if len(read.of) < len(domain) or not read.is_proportional:
            return known
        numbers = tuple(read.of[value] for value in domain)
        extent = max(numbers) - min(numbers)
        return replace(known, numbers=numbers, extent=extent) if extent else known

    def ncp(self, codes: Iterable[int]) -> Fraction:
        """Of the box around these values: its share of the range, or the NCP of the label; of a set
        (|set| - 1)/(|domain| - 1), so that it rises from 0 to 1 as an interval does."""
        inside = list(dict.fromkeys(codes))
        if self.levels is not None and self.levels.cell_costs is not None:
            return self.levels.cell_costs[self.level(inside)][inside[0]]
        if self.numbers is not None:
            found = [self.numbers[code] for code in inside]
            return (max(found) - min(found)) / self.extent
        return Fraction(len(inside) - 1, len(self.domain) - 1) if len(inside) > 1 else Fraction(0)

    def level(self, codes: Sequence[int]) -> int:
        """The lowest level at which the hierarchy has one label for these values."""
        assert self.levels is not None
        labels = self.levels.label_of[:, list(codes)]
        return int((labels == labels[:, :1]).all(axis=1).argmax())

    def label(self, codes: Iterable[int], symbol: str) -> Label:
        """The box around these values as a cell."""
        inside = list(dict.fromkeys(codes))
        if self.levels is not None:
            return self.levels.labels[int(self.levels.label_of[self.level(inside), inside[0]])]
        numbers = {} if self.numbers is None else dict(zip(self.domain, self.numbers, strict=True))
        return box([self.domain[code] for code in inside], numbers, symbol)


@dataclass(frozen=True, eq=False)
class BoxPenalty(GroupCost):
    """Σ over rows and columns of weight · NCP of the group's box."""

    table: Table
    columns: tuple[BoxColumn, ...]

    name: ClassVar[str] = "ncp"
    words: ClassVar[str] = "NCP"

    @classmethod
    def of(
        cls,
        table: Table,
        columns: tuple[str, ...],
        weights: Mapping[str, Number],
        hierarchies: Mapping[str, Hierarchy],
    ) -> BoxPenalty:
        """Bind to a table. Raises InputError for missing values, and those that a hierarchy does not have."""
        refuse_missing(table, columns, "a box")
        exact = {name: exact_number(weights.get(name, 1), f'weight of column "{name}"') for name in columns}
        return cls(table, tuple(BoxColumn.of(table, name, hierarchies.get(name), exact[name]) for name in columns))

    @property
    def splits(self) -> bool:
        """The box of a part lies in that of the group."""
        return True

    def exact(self, rows: Ints) -> Fraction:
        """Σ over columns of weight · rows · NCP."""
        found = (column.weight * column.ncp(column.codes[rows].tolist()) for column in self.columns)
        return len(rows) * sum(found, Fraction(0))

    def total(self) -> Fraction:
        """Every cell as the entire range or domain: with it, the loss is the global certainty penalty (GCP)."""
        return self.table.n * sum((column.weight for column in self.columns), Fraction(0))

    def below(self) -> Self:
        """Itself."""
        return self

    def release(self, group: Ints) -> dict[str, pl.Series]:
        """The box of its group in each row."""
        groups, found = rows_of(group), {}
        for column in self.columns:
            cells = np.empty(len(group), dtype=object)
            for rows in groups:
                cells[rows] = column.label(column.codes[rows].tolist(), self.table.symbol)
            found[column.name] = pl.Series(column.name, cells.tolist(), dtype=pl.String)
        return found


def box(values: Sequence[Label], numbers: Mapping[str, Fraction], symbol: str) -> Label:
    """The narrowest cell that holds these values. numbers: of the values that are some."""
    if len(values) == 1:
        return values[0]
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return symbol
    known = [numbers[value] for value in present if value in numbers]
    if len(known) < len(present):
        return "{" + ", ".join(sorted(map(_quoted, present))) + "}"
    low, high = min(known), max(known)
    if low >= 0 and all(each.denominator == 1 for each in known):
        return f"{written(low)}-{written(high)}"
    return f"[{written(low)}, {written(high)}]"


def _quoted(value: str) -> str:
    """A member of a set; in double quotes where it could be read as several."""
    return '"' + value.replace('"', '""') + '"' if set(value) & set(',;|~"{}') or value != value.strip() else value
