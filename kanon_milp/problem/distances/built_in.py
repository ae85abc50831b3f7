"""The ground distances of this package: equal, ordered and numeric, and those that a file says: along a hierarchy, and
as a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from kanon_milp.errors import InputError, printable
from kanon_milp.problem.arguments import instance_of, listed
from kanon_milp.problem.distances.base import (
    GroundDistance,
    Space,
    Tree,
    all_numbers,
    distinct_labels,
    missing_place,
    path_space,
    the_one,
)
from kanon_milp.problem.exact import Number, exact_parameter
from kanon_milp.problem.hierarchies import Hierarchy, Label
from kanon_milp.problem.side_files import read_side_frame


@dataclass(frozen=True)
class EqualDistance(GroundDistance):
    """Every two different values are at distance 1 (Liang, Yuan 2013, Fact 1): a star with edges of length 1/2."""

    name: ClassVar[str] = "equal"

    def space(self, values: Sequence[Label], where: str) -> Space:
        """A star with one leaf a value."""
        hub = len(values)
        tree = Tree((hub,) * hub + (-1,), (1,) * hub + (0,), tuple(range(hub + 1)))
        return Space(tuple(values), 2, _unequal, tree)


def _unequal(i: int, j: int) -> int:
    return 0 if i == j else 2


@dataclass(frozen=True, repr=False)
class OrderedDistance(GroundDistance):
    """|rank - rank| / (V - 1) over V ranked values (Li, Li, Venkatasubramanian 2007, for numerical attributes).

    order: all values from first to last, possibly more than a table has (None stands for missing); without it the
    values must be numbers, and are ranked by size, where the same number written in two ways has one rank.
    source: what error messages call the order.
    """

    order: Sequence[Label] | None = None
    source: str = "the order"
    name: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        if self.order is not None:
            object.__setattr__(self, "order", distinct_labels(self.order, self.source))

    def __repr__(self) -> str:
        """How many values are ranked, and none of them."""
        ranked = "by size" if self.order is None else f"{self.source}: {len(self.order)} values"
        return printable(f"<OrderedDistance {ranked}>")

    @classmethod
    def read(cls, path: str | Path, encoding: str | None = None) -> OrderedDistance:
        """Read a CSV file with one column `value`, the values in order; an empty line (also at the end) is missing."""
        frame = read_side_frame(Path(path), encoding, lambda rows: rows[0] == ["value"])
        # a file without a header would lose its first value unnoticed
        if frame.columns != ["value"]:
            raise InputError(
                f'{path}: an order has one column with the header "value", then the values in order; the first row of '
                f"this file has {frame.width} column{'s' * (frame.width > 1)} and is another"
            )
        return cls(frame.to_series().to_list(), str(path))

    def space(self, values: Sequence[Label], where: str) -> Space:
        """Ranks on a line."""
        if self.order is None:
            ways = all_numbers(values, where, "is not a number and so has no rank; give the order of the values")
            return the_one([_by_size(values, numbers) for numbers in ways], where)
        position = {value: place for place, value in enumerate(self.order)}
        for number, value in enumerate(values, 1):
            if value not in position:
                raise missing_place(where, number, value, f"has no rank in {self.source}; add it there")
        return _ranked(values, [position[value] for value in values], len(position))


def _by_size(values: Sequence[Label], numbers: Sequence[Fraction]) -> Space:
    place = {number: place for place, number in enumerate(sorted(set(numbers)))}
    return _ranked(values, [place[number] for number in numbers], len(place))


def _ranked(values: Sequence[Label], ranks: Sequence[int], count: int) -> Space:
    """Ranks among `count` values, of which the table may lack some: divided by count - 1 all the same."""
    return path_space(values, [Fraction(rank) for rank in ranks], Fraction(count - 1))


@dataclass(frozen=True)
class NumericDistance(GroundDistance):
    """|a - b| divided by the range of the table's values, exact: values are read as decimals or fractions
    (Li, Li, Venkatasubramanian 2007, for numerical attributes, divide ranks: that is `OrderedDistance`).
    """

    name: ClassVar[str] = "numeric"

    def space(self, values: Sequence[Label], where: str) -> Space:
        """Numbers on a line."""
        ways = all_numbers(values, where, "is not a number; choose another ground distance")
        return the_one([path_space(values, places, max(places) - min(places)) for places in ways], where)


@dataclass(frozen=True)
class HierarchicalDistance(GroundDistance):
    """Height of the lowest common ancestor divided by the height H of the hierarchy (Li, Li, Venkatasubramanian 2007,
    for categorical attributes): path lengths in the hierarchy with edges of length 1/(2H).

    A level is a height: where a label is repeated on the next level, the value still climbs. Raises InputError if
    no two values meet at the top only, since then the largest distance is below 1.
    """

    hierarchy: Hierarchy
    name: ClassVar[str] = "hierarchical"

    def __post_init__(self) -> None:
        instance_of(self.hierarchy, Hierarchy, "hierarchical distance", "a Hierarchy, such as Hierarchy.read(file),")
        if len(self.hierarchy.paths) < 2:
            raise InputError(f"{self.hierarchy.source}: a distance needs at least two values")
        if len({path[-2] for path in self.hierarchy.paths.values()}) < 2:
            raise InputError(
                f"{self.hierarchy.source}: all values meet below the top, so their largest distance is below 1; "
                "leave out the levels at which there is one label only"
            )

    @classmethod
    def read(cls, path: str | Path, encoding: str | None = None) -> HierarchicalDistance:
        """Read a hierarchy file (`Hierarchy.read`); an empty level0 stands for missing."""
        return cls(Hierarchy.read(path, encoding))

    def space(self, values: Sequence[Label], where: str) -> Space:
        """The part of the hierarchy above the values, as a tree of their depth."""
        paths = self.hierarchy.paths
        for number, value in enumerate(values, 1):
            if value not in paths:
                raise missing_place(where, number, value, f"is not covered by {self.hierarchy.source}; add it there")
        height = self.hierarchy.height
        node: dict[tuple[int, Label], int] = {(0, value): position for position, value in enumerate(values)}
        parent: dict[int, int] = {}
        for value in values:
            for level in range(height):
                upper = node.setdefault((level + 1, paths[value][level + 1]), len(node))
                parent[node[level, paths[value][level]]] = upper
        levels = {number: level for (level, _), number in node.items()}
        tree = Tree(
            tuple(parent.get(number, -1) for number in range(len(node))),
            tuple(1 if number in parent else 0 for number in range(len(node))),
            tuple(sorted(range(len(node)), key=lambda number: levels[number])),
        )
        return Space(tuple(values), 2 * height, partial(_climb, [paths[value] for value in values]), tree)


def _climb(routes: Sequence[tuple[Label, ...]], i: int, j: int) -> int:
    """Up from one value to the first common ancestor and down to the other."""
    if i == j:
        return 0
    above = zip(routes[i][1:], routes[j][1:], strict=True)
    return 2 * next(level for level, (left, right) in enumerate(above, 1) if left == right)


SAFE = 1 << 62


@dataclass(frozen=True, repr=False)
class MatrixDistance(GroundDistance):
    """Distances written out (Liang, Yuan 2013, section 2.1): zero diagonal, symmetric, triangle inequality, maximum 1.

    values: of rows and columns, possibly more than a table has. matrix: exact rationals (`exact_parameter`), one row a
    value. source: what error messages call it. scaled: the matrix in integers, times scale.
    Two values may be at distance 0. Raises InputError that names the entries, or the three values, that break the rule,
    by their numbers: values of the matrix are values of the table.
    """

    values: Sequence[Label]
    matrix: Sequence[Sequence[Number]]
    source: str = "the distance matrix"
    scale: int = field(init=False, repr=False, compare=False)
    scaled: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "matrix"

    def __post_init__(self) -> None:
        values = distinct_labels(self.values, self.source)
        count = len(values)
        given = listed(self.matrix, self.source, "a list of rows")
        matrix = tuple(
            listed(row, f"{self.source}: row {number}", "a list of numbers") for number, row in enumerate(given, 1)
        )
        if len(matrix) != count:
            raise InputError(f"{self.source}: {count} values need {count} rows, it has {len(matrix)}")
        exact: list[list[Fraction]] = []
        for number, row in enumerate(matrix, 1):
            if len(row) != count:
                raise InputError(f"{self.source}: row {number} has {len(row)} entries, {count} values need {count}")
            where = f"{self.source}: row {number}, column"
            exact.append([exact_parameter(cell, f"{where} {column}") for column, cell in enumerate(row, 1)])
        scale = math.lcm(1, *(cell.denominator for row in exact for cell in row))
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "scaled", tuple(tuple(int(cell * scale) for cell in row) for row in exact))
        self._check_pairs()
        self._check_triples()
        self._check_maximum()

    def __repr__(self) -> str:
        """How many values there are, and none of them."""
        return printable(f"<MatrixDistance {self.source}: {len(self.values)} values>")

    @classmethod
    def read(cls, path: str | Path, encoding: str | None = None) -> MatrixDistance:
        """Read a CSV file: the header names the values from the second cell on, the first column names them again.

        An empty cell in both stands for missing values; the first cell of the header must then not be empty, too.
        """
        frame = read_side_frame(
            Path(path), encoding, lambda rows: len(rows[0]) > 1 and [row[0] for row in rows[1:]] == rows[0][1:]
        )
        header, first = (
            [name or None for name in names] for names in (frame.columns[1:], frame.to_series(0).to_list())
        )
        if not header or first != header:
            raise InputError(f"{path}: the first column must name the same values in the same order as the header")
        rows = [["" if cell is None else cell for cell in row[1:]] for row in frame.rows()]
        return cls(header, rows, str(path))

    def space(self, values: Sequence[Label], where: str) -> Space:
        """The rows and columns of these values."""
        at = {value: position for position, value in enumerate(self.values)}
        for number, value in enumerate(values, 1):
            if value not in at:
                raise missing_place(where, number, value, f"is not in {self.source}; add it there")
        return Space(tuple(values), self.scale, partial(_entry, self.scaled, [at[value] for value in values]))

    def _at(self, i: int, j: int) -> Fraction:
        return Fraction(self.scaled[i][j], self.scale)

    def _check_pairs(self) -> None:
        """Zero diagonal, non-negative, symmetric."""
        d, everything = self.scaled, range(len(self.values))
        for i in everything:
            if d[i][i]:
                raise InputError(f"{self.source}: the distance of value {i + 1} to itself is {self._at(i, i)}, not 0")
            for j in everything:
                if d[i][j] < 0:
                    raise InputError(
                        f"{self.source}: the distance of values {i + 1} and {j + 1} is negative: {self._at(i, j)}"
                    )
                if d[i][j] != d[j][i]:
                    raise InputError(
                        f"{self.source}: the distance of values {i + 1} and {j + 1} differs from that of the reverse "
                        f"pair: {self._at(i, j)} and {self._at(j, i)}; make them equal"
                    )

    def _check_triples(self) -> None:
        """Triangle inequality, for each value in the middle."""
        largest = max((max(row) for row in self.scaled), default=0)
        d = np.array(self.scaled, dtype=np.int64 if 2 * largest < SAFE else object)
        for j in range(len(self.values)):
            longer = d[:, j, None] + d[None, j, :] < d
            if longer.any():
                i, k = divmod(int(longer.argmax()), len(self.values))
                raise InputError(
                    f"{self.source}: the triangle inequality fails for values {i + 1}, {j + 1}, {k + 1}: "
                    f"{self._at(i, j)} + {self._at(j, k)} < {self._at(i, k)}; lower the last or raise one of the others"
                )

    def _check_maximum(self) -> None:
        largest = Fraction(max((max(row) for row in self.scaled), default=0), self.scale)
        if not largest:
            raise InputError(f"{self.source}: the largest distance must be 1, it is 0; two values must be apart")
        if largest != 1:
            raise InputError(
                f"{self.source}: the largest distance must be 1, it is {largest}; divide all entries by {largest}"
            )


def _entry(scaled: Sequence[Sequence[int]], chosen: Sequence[int], i: int, j: int) -> int:
    return scaled[chosen[i]][chosen[j]]
