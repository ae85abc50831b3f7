"""Rows of hierarchies that are made from the values of a column: prefixes, orders and groups of texts, intervals and
quantiles of numbers."""

from __future__ import annotations

import itertools
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError, KanonWarning, counted, printable
from kanon_milp.problem.arguments import integer, listed, one_of, text, wrong
from kanon_milp.problem.column_values import DECIMALS, SAY_WHICH, Decimal, as_text, numbers_of
from kanon_milp.problem.exact import exact_parameter
from kanon_milp.problem.records import Label

T = TypeVar("T")
Row = tuple[Label, ...]
Made = tuple[list[Row], dict[str, Any]]  # rows of a hierarchy, and the arguments of its rule

SYMBOL = "*"
MISSING, OTHER = "missing", "other"
A_NUMBER = "a number, such as 37, 2.5, 1,234.50 or, with a decimal comma throughout, 1.234,50"
SERIES = "a column: a series of a data frame, or a list of values,"


@dataclass(frozen=True, repr=False)
class Rule:
    """How a hierarchy was made. way: a key of WAYS. arguments: those of its function, with all that it found out of the
    column, so that another column gets the same labels for the same values."""

    way: str
    arguments: Mapping[str, Any]

    def __repr__(self) -> str:
        """Its names, and no value of the column."""
        return printable(f"<Rule {self.way}: {', '.join(self.arguments)}>")


# key of [recoding] in model files, and option → the function of Hierarchy, and its first argument beside the column
WAYS = {
    "numeric": ("intervals", "widths"),
    "quantiles": ("quantiles", "counts"),
    "dates": ("dates", "levels"),
    "prefix": ("prefixes", "lengths"),
}


@dataclass(frozen=True, repr=False)
class Values:
    """counts: how many rows have each value, None where it is missing. source: what messages call the column. typed:
    whether the values were numbers, not text. kind: the library of the series."""

    counts: Mapping[Label, int]
    source: str
    typed: bool = False
    kind: nw.Implementation = nw.Implementation.POLARS

    @classmethod
    def of(cls, column: Any, source: str) -> Values:
        """Take a series of any kind that narwhals knows, or a list or array; values of several kinds are refused."""
        text(source, "source of a hierarchy")
        frame = nw.from_native(_series(column, source).rename("c").to_frame(), eager_only=True)
        held = as_text(frame, ["c"], source)["c"]
        if not len(held):
            raise InputError(f"{source}: the column has no rows")
        found = held.to_frame().group_by("c", maintain_order=True).len("rows")
        return cls(dict(found.rows()), source, frame["c"].dtype.is_numeric(), frame.implementation)

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
                raise InputError(f"{self.source}: {said}; correct them, or name a label for them (other=...)")
            message = (
                f'{self.source}: {said}; from level 1 on {"it becomes" if verb == "is" else "they become"} "{other}"'
            )
            warnings.warn(printable(message), KanonWarning, stacklevel=4)
        return known

    def number_reader(self, decimal: Decimal | None) -> tuple[Callable[[str], Fraction | None], Decimal]:
        """What reads the numbers, and what stands before decimals. decimal: the same, None: what the column tells.
        Raises InputError where it does not."""
        if decimal is not None:
            one_of(decimal, DECIMALS, "decimal")
        found = numbers_of(self.present, "point" if self.typed else decimal)
        if found.doubt:
            raise InputError(f"{self.source}: {found.doubt}{SAY_WHICH if found.otherwise else ''}")
        return found.of.get, "comma" if found.commas else "point"

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


def _whole(values: Any, what: str, example: str, meaning: str, least: int = 1) -> list[int]:
    given = [values] if isinstance(values, int) else listed(values, what, example)
    if not given:
        raise InputError(f"{what}: name at least one, as in {example}")
    return [integer(each, f"{what}: {meaning}", least=least) for each in given]


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


MASK, PAD = "*", "_"


def prefix_rows(values: Values, lengths: Any, missing: str, length: int | None) -> Made:
    """Rows of `Hierarchy.prefixes`."""
    kept = _whole(lengths, "lengths", "[4, 2]", "the characters that are kept")
    longest = max(map(len, values.present), default=0) if length is None else integer(length, "length")
    for more, fewer in pairwise(kept):
        if fewer >= more:
            raise InputError(
                f"lengths: they must fall from level to level, and {fewer} follows {more}; a label must lie in one of "
                "the next level"
            )
    if kept[0] >= longest:
        raise InputError(
            f"{values.source}: the longest value has {counted(longest, 'character')}, so keeping {kept[0]} of them "
            "generalizes nothing; name fewer"
        )
    # padded, since otherwise a short value and the beginning of a long one would look alike
    padded = {value: value.ljust(longest, PAD) for value in sorted(values.present)}
    paths = {value: [each[:first] + MASK * (longest - first) for first in kept] for value, each in padded.items()}
    return values.rows(paths, missing, None), {"lengths": kept, "length": longest}


def order_rows(values: Values, order: Any, sizes: Any, missing: str, other: str | None) -> list[Row]:
    """Rows of `Hierarchy.ordered`."""
    named = _texts(order, "order", "a list of all values, in their order")
    blocks = _whole(sizes, "sizes", "[2, 6]", "the values in a group", 2)
    for few, many in pairwise(blocks):
        if many <= few or many % few:
            raise InputError(
                f"sizes: {many} is not a multiple of {few}, or not larger: groups of {many} would cut groups of {few} "
                "in two, and levels must nest"
            )
    place = {value: at for at, value in enumerate(named)}
    values.read(place.get, "in the order", other)
    paths = {value: [_span(named, at // size * size, size) for size in blocks] for value, at in place.items()}
    return values.rows(paths, missing, other)


def _span(order: list[str], start: int, size: int) -> str:
    block = order[start : start + size]
    return block[0] if len(block) == 1 else f"{block[0]} to {block[-1]}"


def group_rows(values: Values, groups: Any, missing: str, other: str | None) -> list[Row]:
    """Rows of `Hierarchy.groups`."""
    paths: dict[str, list[str]] = {}
    for value, labels in _leaves(groups, ()):
        if value in paths:
            raise InputError("groups: a value lies in two groups, and levels must nest")
        paths[value] = labels
    if len({len(labels) for labels in paths.values()}) != 1:
        raise InputError(
            "groups: the values lie at different depths, or there are none; each value needs a group at each level"
        )
    values.read(paths.get, "in a group", other)
    return values.rows(paths, missing, other)


def _leaves(groups: Any, above: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Each value with the labels of its groups, the smallest first."""
    if isinstance(groups, Mapping):
        for label, inside in groups.items():
            if not isinstance(label, str) or not label:
                raise wrong("groups: the label of a group", "text", label)
            yield from _leaves(inside, (label, *above))
        return
    if not above:
        raise wrong("groups", "a mapping from labels to lists of values, or to such mappings,", groups)
    for value in _texts(groups, "groups: the values of a group", "a list of values"):
        yield value, list(above)


def _texts(given: Any, what: str, expected: str) -> list[str]:
    """Values as text: numbers may be given as such."""
    found = []
    for value in listed(given, what, expected):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise wrong(f"{what}: a value", "text, or a number", value)
        found.append(str(value))
    if len(set(found)) < len(found) or not found:
        raise InputError(f"{what}: a value occurs twice, or there is none")
    return found


def interval_rows(
    values: Values,
    widths: Any,
    origin: Any,
    below: Any,
    above: Any,
    missing: str,
    other: str | None,
    decimal: Decimal | None,
    dashes: bool | None,
) -> Made:
    """Rows of `Hierarchy.intervals`."""
    if not isinstance(dashes, bool | None):
        raise wrong("dashes", "true, false or None", dashes)
    ends = [None if end is None else exact_parameter(end, what) for end, what in ((below, "below"), (above, "above"))]
    bottom, top = ends
    if bottom is not None and top is not None and bottom >= top:
        raise InputError(
            f"below: {written(bottom)} is not less than {written(top)}, from which numbers are the highest"
        )
    coded = bottom is not None or top is not None
    one_level = coded and not isinstance(widths, int | float | str | Fraction | np.number) and not len(widths)
    wide = [] if one_level else numbers(widths, "widths", "[5, 10, 20]")
    multiples(wide, "widths", "intervals")
    start = exact_parameter(origin, "origin")
    read, decimal = values.number_reader(decimal)
    known = values.read(read, A_NUMBER, other)
    limits = [each for each in (*wide, start, *ends) if each is not None]
    integral = all(each.denominator == 1 for each in (*known.values(), *limits))
    if integral and wide[:1] == [1] and not coded:
        raise InputError("widths: intervals of width 1 hold one integer each, as the values do; leave this width out")

    def interval(value: Fraction, width: Fraction) -> tuple[Fraction, Fraction]:
        low = start + (value - start) // width * width
        high = low + width
        return low if bottom is None else max(low, bottom), high if top is None else min(high, top)

    inner = [each for each in known.values() if (bottom is None or each >= bottom) and (top is None or each < top)]
    if dashes is None:
        dashes = integral and min((interval(each, width)[0] for each in inner for width in wide), default=0) >= 0

    def label(text: str, value: Fraction, width: Fraction | None) -> str:
        if bottom is not None and value < bottom:
            return f"<{written(bottom)}"
        if top is not None and value >= top:
            return f">={written(top)}"
        if width is None:
            return text
        low, high = interval(value, width)
        whole = dashes and low >= 0 and all(each.denominator == 1 for each in (value, low, high))
        return written(low) if whole and high == low + 1 else _label(low, high, whole)

    levels: Sequence[Fraction | None] = wide or [None]
    paths = {
        value: [label(value, each, width) for width in levels]
        for value, each in sorted(known.items(), key=lambda pair: pair[1])
    }
    rule: dict[str, Any] = {"widths": [written(width) for width in wide], "decimal": decimal, "dashes": dashes}
    named = (("origin", start or None), ("below", bottom), ("above", top))
    rule.update({name: written(each) for name, each in named if each is not None})
    return values.rows(paths, missing, other), rule


def quantile_rows(
    values: Values,
    counts: Any,
    cuts: Any,
    missing: str,
    other: str | None,
    decimal: Decimal | None,
    dashes: bool | None,
) -> Made:
    """Rows of `Hierarchy.quantiles`."""
    if not isinstance(dashes, bool | None):
        raise wrong("dashes", "true, false or None", dashes)
    if (counts is None) == (cuts is None):
        raise InputError("name the number of classes at each level, or the cuts between them: one of the two")
    read, decimal = values.number_reader(decimal)
    known = values.read(read, A_NUMBER, other)
    levels = _levels_of(values, known, counts) if cuts is None else _given_cuts(cuts)
    if dashes is None:
        dashes = all(each.denominator == 1 for each in known.values()) and levels[0][0] >= 0
    paths = {
        value: [_class(each, level, dashes) for level in levels]
        for value, each in sorted(known.items(), key=lambda pair: pair[1])
    }
    rule = {"cuts": [[written(cut) for cut in level] for level in levels], "decimal": decimal, "dashes": dashes}
    return values.rows(paths, missing, other), rule


def _given_cuts(cuts: Any) -> list[list[Fraction]]:
    """The numbers at which classes begin, level by level. Raises InputError where levels would not nest."""
    example = "a list with the cuts of each level, as in [[20, 40, 60], [40]],"
    found = [
        [exact_parameter(each, "cuts") for each in listed(level, "cuts", example)]
        for level in listed(cuts, "cuts", example)
    ]
    for level in found or [[]]:
        if not level or any(low >= high for low, high in pairwise(level)):
            raise InputError("cuts: the numbers of a level must rise, and there must be one at least")
    if any(set(coarse) - set(fine) for fine, coarse in pairwise(found)):
        raise InputError("cuts: each cut of a level must be one of the level before it, as levels must nest")
    return found


def _levels_of(values: Values, known: Mapping[str, Fraction], counts: Any) -> list[list[Fraction]]:
    """The cuts between so many classes of about equally many rows, level by level."""
    fine = _whole(counts, "counts", "[16, 4]", "the number of classes", 2)
    for many, few in pairwise(fine):
        if few >= many or many % few:
            raise InputError(
                f"counts: {many} is not a multiple of {few}, or not larger: {few} classes would cut one of {many} in "
                "two, and levels must nest"
            )
    cuts = [_cuts(values.counts, known, count) for count in fine]
    if not cuts[-1]:
        raise InputError(
            f"{values.source}: one number is in so many rows that {fine[-1]} classes are one; name more classes"
        )
    return cuts


def _cuts(counts: Mapping[str | None, int], known: Mapping[str, Fraction], classes: int) -> list[Fraction]:
    """The numbers at which a class begins, but the first: those below which at least i/classes of the rows lie.

    A number has all of its rows in one class, so there may be fewer classes.
    """
    rows: dict[Fraction, int] = {}
    for value, each in known.items():
        rows[each] = rows.get(each, 0) + counts[value]
    order = sorted(rows)
    below = list(accumulate((rows[each] for each in order[:-1]), initial=0))
    n = sum(rows.values())
    places = (next((at for at, b in enumerate(below) if b * classes >= i * n), None) for i in range(1, classes))
    return [order[at] for at in sorted({at for at in places if at is not None})]


def _class(value: Fraction, cuts: Sequence[Fraction], dashes: bool) -> str:
    """The label of the class of a number; the outer ones do not tell the least and the largest number."""
    at = bisect_right(cuts, value)
    if at == 0:
        return f"<{written(cuts[0])}"
    if at == len(cuts):
        return f">={written(cuts[-1])}"
    return _label(cuts[at - 1], cuts[at], dashes and value.denominator == 1)


def _label(low: Fraction, high: Fraction, dashes: bool) -> str:
    """low ≤ value < high; dashes: of integers, with the last one instead of `high`."""
    return f"{written(low)}-{written(high - 1)}" if dashes else f"[{written(low)}, {written(high)}["
