"""Ground distances that need no file: equal, ordered and numeric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from kanon_milp.errors import InputError, printable
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
from kanon_milp.problem.hierarchies import Label
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
