"""Numbers as intervals: of widths that nest, or between quantiles."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import integer, listed
from kanon_milp.problem.column_numbers import Decimal
from kanon_milp.problem.exact import exact_parameter
from kanon_milp.problem.generalization.values import A_NUMBER, Row, Values, multiples, numbers, written


def interval_rows(
    values: Values, widths: Any, origin: Any, missing: str, other: str | None, decimal: Decimal | None
) -> list[Row]:
    """Rows of `Hierarchy.intervals`."""
    wide = numbers(widths, "widths", "[5, 10, 20]")
    multiples(wide, "widths", "intervals")
    start = exact_parameter(origin, "origin")
    known = values.read(values.number_reader(decimal), A_NUMBER, other)
    integral = all(each.denominator == 1 for each in (*known.values(), *wide, start))
    if integral and wide[0] == 1:
        raise InputError("widths: intervals of width 1 hold one integer each, as the values do; leave this width out")

    def low(value: Fraction, width: Fraction) -> Fraction:
        return start + (value - start) // width * width

    dashes = integral and min(low(value, width) for value in known.values() for width in wide) >= 0
    paths = {
        value: [_label(low(each, width), low(each, width) + width, dashes) for width in wide]
        for value, each in sorted(known.items(), key=lambda pair: pair[1])
    }
    return values.rows(paths, missing, other)


def quantile_rows(values: Values, counts: Any, missing: str, other: str | None, decimal: Decimal | None) -> list[Row]:
    """Rows of `Hierarchy.quantiles`."""
    given = [counts] if isinstance(counts, int) else listed(counts, "counts", "[16, 4]")
    fine = [integer(count, "counts: the number of classes", least=2) for count in given]
    if not fine:
        raise InputError("counts: name at least one, as in [16, 4]")
    for many, few in pairwise(fine):
        if few >= many or many % few:
            raise InputError(
                f"counts: {many} is not a multiple of {few}, or not larger: {few} classes would cut one of {many} in "
                "two, and levels must nest"
            )
    known = values.read(values.number_reader(decimal), A_NUMBER, other)
    cuts = [_cuts(values.counts, known, count) for count in fine]
    if not cuts[-1]:
        raise InputError(
            f"{values.source}: one number has so many of the rows that {fine[-1]} classes are one; name more classes"
        )
    dashes = all(each.denominator == 1 for each in known.values()) and cuts[0][0] >= 0
    paths = {
        value: [_class(each, level, dashes) for level in cuts]
        for value, each in sorted(known.items(), key=lambda pair: pair[1])
    }
    return values.rows(paths, missing, other)


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
    return _label(cuts[at - 1], cuts[at], dashes)


def _label(low: Fraction, high: Fraction, dashes: bool) -> str:
    """low ≤ value < high; dashes: of integers, with the last one instead of `high`."""
    return f"{written(low)}-{written(high - 1)}" if dashes else f"[{written(low)}, {written(high)}["
