"""Rows as points: the numbers of some columns exactly, and costs of groups around a centre (microaggregation).

A centre is the mean or the median of each column, or the member of the group that costs least. Means and medians are
rationals; they are written with six decimals more than the column has, and with more where different groups would look
alike. Costs are those around the exact centres.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, counted
from kanon_milp.problem.column_values import numbers_of
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.group_costs.base import GroupCost, refuse_missing, rows_of
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Ints

Center = Literal["mean", "median", "member"]
CENTERS: tuple[Center, ...] = ("mean", "median", "member")
LARGEST = 1 << 53  # of the differences in a column, in its smallest unit: floats hold these exactly
MORE_DECIMALS = 6  # of means and medians than the column has
FLOAT_DIGITS = 15  # significant digits that a float gives back as they were written


@dataclass(frozen=True, eq=False)
class Points:
    """The rows as points, exactly: the value of row i in column c is (origin[c] + values[i, c]) / scale[c].

    values: int64 (n, m), from 0 on, below 2^53. decimals: of each column, as it is written. commas: whether decimals
    have a comma there.
    """

    table: Table
    columns: tuple[str, ...]
    values: Ints
    origin: tuple[int, ...]
    scale: tuple[int, ...]
    decimals: tuple[int, ...]
    commas: tuple[bool, ...]

    @classmethod
    def of(cls, table: Table, columns: tuple[str, ...]) -> Points:
        """Read the columns; raises InputError for a value that is missing or no number, and where it is not clear which
        number it is."""
        refuse_missing(table, columns, "microaggregation")
        found = [_read(table, name) for name in columns]
        values, origin, scale, decimals, commas = zip(*found, strict=True)
        return cls(table, columns, np.column_stack(values), origin, scale, decimals, commas)


def _read(table: Table, name: str) -> tuple[Ints, int, int, int, bool]:
    where, column = f'{table.source}: column "{name}"', table.column(name)
    distinct = column.unique().to_list()
    numbers = numbers_of(distinct, "point" if table.frame.schema[name].is_numeric() else None)
    if numbers.doubt:
        raise InputError(f"{where}: {numbers.doubt}")
    if unread := set(distinct) - set(numbers.of):
        wrong = column.is_in(list(unread))
        row, cells = (wrong.arg_max() or 0) + 1, counted(int(wrong.sum()), "such cell")
        raise InputError(
            f"{where}, row {row}: the value is no number ({cells}); "
            "microaggregation is for numbers: leave the column out, or take Boxes(), which takes any values"
        )
    scale = math.lcm(*(number.denominator for number in numbers.of.values()))
    units = {value: int(number * scale) for value, number in numbers.of.items()}
    origin = min(units.values())
    if max(units.values()) - origin >= LARGEST or scale >= LARGEST:
        raise InputError(f"{where}: the values have too many digits for exact costs; round them to 15 digits")
    code = {value: unit - origin for value, unit in units.items()}
    decimals = next(d for d in range(scale.bit_length() + 1) if 10**d % scale == 0)
    return (
        np.array([code[value] for value in column.to_list()], dtype=np.int64),
        origin,
        scale,
        decimals,
        numbers.commas,
    )


@dataclass(frozen=True, eq=False)
class NumericCost(GroupCost):
    """A cost around the centres of groups: Σ over rows and columns of weight · deviation.

    weights: of each column, what a deviation of 1 costs. natural: the centre at which the cost of a group is least.
    """

    points: Points
    weights: tuple[Fraction, ...]
    center: Center

    natural: ClassVar[Center]
    power: ClassVar[int]  # of the absolute deviation

    @classmethod
    def of(
        cls, table: Table, columns: tuple[str, ...], center: Center, weights: Mapping[str, Number], *, standardize: bool
    ) -> Self:
        """Bind to a table. standardize: divide by what the column varies (`variation`); a column with one value only
        costs nothing, standardized or not. Raises InputError for values that are no numbers."""
        points = Points.of(table, columns)
        given = [exact_number(weights.get(name, 1), f'weight of column "{name}"') for name in columns]
        found = cls(points, tuple(given), center)
        if standardize:
            varied = [found.variation(j) for j in range(len(columns))]
            found = replace(
                found, weights=tuple(w / v if v else Fraction(0) for w, v in zip(given, varied, strict=True))
            )
        return found

    @property
    def splits(self) -> bool:
        """Around the centre where a group costs least."""
        return self.center == self.natural

    def below(self) -> Self:
        """The same around the centre where a group costs least."""
        return self if self.splits else replace(self, center=self.natural)

    @abstractmethod
    def variation(self, j: int) -> Fraction:
        """What deviations in a column are divided by when it is standardized."""

    def exact(self, rows: Ints) -> Fraction:
        """Σ over rows and columns of weight · |value - centre|^power."""
        denominator, centre = self._centre(rows)
        return self._around(rows, denominator, centre)

    def _around(self, rows: Ints, denominator: int, centre: Sequence[int]) -> Fraction:
        total = Fraction(0)
        for j, weight in enumerate(self.weights):
            if weight:
                deviations = (abs(denominator * x - centre[j]) for x in self.points.values[rows, j].tolist())
                unit = (denominator * self.points.scale[j]) ** self.power
                total += weight * Fraction(sum(each**self.power for each in deviations), unit)
        return total

    def total(self) -> Fraction:
        """The least cost of all rows as one group."""
        return self.below().exact(np.arange(len(self.points.values)))

    def _centre(self, rows: Ints) -> tuple[int, list[int]]:
        """A common denominator, and the numerators of the centre, in the units of `values`."""
        values = self.points.values[rows]
        if self.center == "mean":
            return len(rows), [sum(column) for column in values.T.tolist()]
        if self.center == "median":
            ordered = np.sort(values, axis=0)
            return 2, (ordered[(len(rows) - 1) // 2] + ordered[len(rows) // 2]).tolist()
        return 1, values[self.member(rows)].tolist()

    def member(self, rows: Ints) -> int:
        """Which of these rows costs least as the centre, the first one of several."""
        costs = [self._around(rows, 1, self.points.values[row].tolist()) for row in rows]
        return min(range(len(rows)), key=costs.__getitem__)

    def release(self, group: Ints) -> dict[str, pl.Series]:
        """The centre of its group in each row: of a member its values as they are written, else rounded decimals."""
        groups, table = rows_of(group), self.points.table
        if self.center == "member":
            row = np.empty(len(group), dtype=np.int64)
            for rows in groups:
                row[rows] = rows[self.member(rows)]
            return {name: self._typed(table.keys[name].gather(row)) for name in self.points.columns}
        found: dict[str, pl.Series] = {}
        for j, texts in enumerate(self._written([self._centre(rows) for rows in groups])):
            name = self.points.columns[j]
            cells = np.empty(len(group), dtype=object)
            for rows, text in zip(groups, texts, strict=True):
                cells[rows] = text
            found[name] = self._typed(pl.Series(name, cells.tolist(), dtype=pl.String))
        return found

    def _typed(self, texts: pl.Series) -> pl.Series:
        """As floats where the column held numbers, and floats give back the digits."""
        numeric = self.points.table.frame.schema[texts.name].is_numeric()
        return texts.cast(pl.Float64) if numeric and all(_digits(text) <= FLOAT_DIGITS for text in texts) else texts

    def _written(self, centres: Sequence[tuple[int, Sequence[int]]]) -> list[list[str]]:
        """By column the centre of each group as text, with decimals enough to tell different ones apart."""
        points = self.points
        exact = [
            [(origin + Fraction(numerators[j], d)) / scale for d, numerators in centres]
            for j, (origin, scale) in enumerate(zip(points.origin, points.scale, strict=True))
        ]
        different = len(set(zip(*exact, strict=True)))
        more = MORE_DECIMALS
        while True:
            texts = [
                [decimal(value, points.decimals[j] + more, comma=points.commas[j]) for value in column]
                for j, column in enumerate(exact)
            ]
            if len(set(zip(*texts, strict=True))) == different:
                return texts
            more *= 2


def decimal(value: Fraction, decimals: int, *, comma: bool = False) -> str:
    """A number rounded to so many decimals (halves to even), without zeros at the end."""
    units = round(value * 10**decimals)
    front, back = divmod(abs(units), 10**decimals)
    text = f"{'-' if units < 0 else ''}{front}"
    end = f"{back:0{decimals}d}".rstrip("0") if decimals else ""
    return f"{text}{',' if comma else '.'}{end}" if end else text


def _digits(text: str) -> int:
    return len(text.lstrip("-0.").replace(".", ""))
