"""The distinct values of a column, as the text by which tables compare them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError, KanonWarning, counted, printable
from kanon_milp.problem.arguments import listed, one_of, text
from kanon_milp.problem.column_numbers import DECIMALS, SAY_WHICH, Decimal, numbers_of
from kanon_milp.problem.column_text import as_text
from kanon_milp.problem.exact import exact_parameter
from kanon_milp.problem.records import Label

T = TypeVar("T")
Row = tuple[Label, ...]

SYMBOL = "*"
MISSING, OTHER = "missing", "other"
A_NUMBER = "a number, such as 37, 2.5, 1,234.50 or, with a decimal comma throughout, 1.234,50"
SERIES = "a column: a series of a data frame, or a list of values,"


@dataclass(frozen=True, repr=False)
class Values:
    """counts: how many rows have each value, None where it is missing. source: what messages call the column. typed:
    whether the values were numbers, not text."""

    counts: Mapping[Label, int]
    source: str
    typed: bool = False

    @classmethod
    def of(cls, column: Any, source: str) -> Values:
        """Take a series of any kind that narwhals knows, or a list or array; values of several kinds are refused."""
        text(source, "source of a hierarchy")
        frame = nw.from_native(_series(column, source).rename("c").to_frame(), eager_only=True)
        held = as_text(frame, ["c"], source)["c"]
        if not len(held):
            raise InputError(f"{source}: the column has no rows")
        found = held.to_frame().group_by("c", maintain_order=True).len("rows")
        return cls(dict(found.rows()), source, frame["c"].dtype.is_numeric())

    @property
    def present(self) -> list[str]:
        """The values that are not missing."""
        return [value for value in self.counts if value is not None]

    def read(self, read: Callable[[str], T | None], what: str, other: str | None) -> dict[str, T]:
        """The values that `read` makes something of; it returns None for the others.

        other: their label, of which a warning tells; None: they are refused, as is a column with nothing else.
        """
        found = {value: read(value) for value in self.present}
        known = {value: each for value, each in found.items() if each is not None}
        strange = [value for value in found if value not in known]
        if not known:
            raise InputError(f"{self.source}: no value is {what}")
        if strange:
            rows = sum(self.counts[value] for value in strange)
            verb = "is" if len(strange) == 1 else "are"
            said = f"{counted(len(strange), 'value')} in {counted(rows, 'row')} {verb} not {what}"
            if other is None:
                raise InputError(f"{self.source}: {said}; mend them, or name a label for them (other=...)")
            message = (
                f'{self.source}: {said}; from level 1 on {"it becomes" if verb == "is" else "they become"} "{other}"'
            )
            warnings.warn(printable(message), KanonWarning, stacklevel=4)
        return known

    def number_reader(self, decimal: Decimal | None) -> Callable[[str], Fraction | None]:
        """What reads the numbers. decimal: what stands before decimals, None: what the column tells. Raises InputError
        where it does not."""
        if decimal is not None:
            one_of(decimal, DECIMALS, "decimal")
        found = numbers_of(self.present, "point" if self.typed else decimal)
        if found.doubt:
            raise InputError(f"{self.source}: {found.doubt}{SAY_WHICH if found.otherwise else ''}")
        return found.of.get

    def rows(self, paths: Mapping[str, Sequence[str]], missing: str, other: str | None) -> list[Row]:
        """Rows of a hierarchy. paths: value → its labels from level 1 to the one below `*`, in the order of the rows;
        values without one come after them with `other` at each level, a missing one last with `missing`."""
        height = len(next(iter(paths.values())))
        for label, what in ((missing, "missing"), (other, "other")):
            if (label is not None or what == "missing") and not text(label, what):
                raise InputError(f"{what}: the label must not be empty")
        found: list[Row] = [(value, *labels, SYMBOL) for value, labels in paths.items()]
        found += [(value, *[other] * height, SYMBOL) for value in self.present if value not in paths]
        return [*found, (None, *[missing] * height, SYMBOL)] if None in self.counts else found


def numbers(values: Any, what: str, example: str) -> list[Fraction]:
    """Exact positive numbers in rising order, as widths are given; one of them needs no list."""
    given = [values] if isinstance(values, int | float | str | Fraction | np.number) else listed(values, what, example)
    found = [exact_parameter(value, what) for value in given]
    if not found:
        raise InputError(f"{what}: name at least one, as in {example}")
    for each in found:
        if each <= 0:
            raise InputError(f"{what}: {written(each)} is not positive")
    return found


def multiples(found: Sequence[Fraction], what: str, one: str) -> None:
    """Check that each is a multiple of the one before it, and larger; else levels would not nest."""
    for small, large in itertools.pairwise(found):
        if large <= small:
            raise InputError(
                f"{what}: they must rise from level to level, and {written(large)} follows {written(small)}"
            )
        if (large / small).denominator != 1:
            raise InputError(
                f"{what}: {written(large)} is not a multiple of {written(small)}, so {one} of {written(large)} would "
                f"cut {one} of {written(small)} in two, and levels must nest"
            )


def written(value: Fraction) -> str:
    """An exact number as a decimal where it has one, else as a fraction."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest > 1:
        return str(value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _series(column: Any, source: str) -> nw.Series[Any]:
    if isinstance(column, nw.Series):
        return column
    try:
        return nw.from_native(column, series_only=True)
    except TypeError:
        held = listed(column, source, SERIES)
    try:
        return nw.from_native(pl.Series("c", held), series_only=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise InputError(f"{source}: the column holds values of several kinds; make them all text") from None
