"""Numbers as users write them, and as reports show them; read by the verifier itself."""

from __future__ import annotations

import operator
import re
from fractions import Fraction

from kanon_milp.errors import InputError, kind_of

# four digits of exponent, and the number has thousands of digits
HUGE = re.compile(r"[eE][+-]?[0-9_]*[1-9][0-9_]{3}")
WRITTEN = re.compile(r"[+-]?(?:\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)")


def exact(value: object, what: str) -> Fraction:
    """Any number exactly; a float stands for its shortest decimal form. what: beginning of the error message."""
    text = "" if isinstance(value, bool) else str(value)
    try:
        if HUGE.search(text):
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{what}: a number is expected, found {kind_of(value)}") from None


def integer(value: object, what: str) -> int:
    """An integer, of Python or numpy."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InputError(f"{what} must be an integer, found {kind_of(value)}")


def number_in(cell: str | None) -> Fraction | None:
    """The decimal number or fraction that a cell holds; None for any other cell."""
    text = "" if cell is None else cell.strip()
    if not WRITTEN.fullmatch(text):
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):  # more digits than Python converts; 1/0
        return None


def plain(value: Fraction | None) -> int | float | None:
    """As int where it is one, else as float."""
    if value is None:
        return None
    return value.numerator if value.denominator == 1 else float(value)


def both(name: str, value: Fraction | None) -> dict[str, object]:
    """A number as plain data, and under NAME_exact its exact text."""
    return {name: plain(value), f"{name}_exact": None if value is None else str(value)}


def in_words(value: Fraction) -> str:
    """An exact number for people: 54, 3011.25, or 1/3 (0.3333) where no decimal number of a computer is exact."""
    if value.denominator == 1:
        return str(value)
    if Fraction(decimal := str(float(value))) == value:
        return decimal
    return f"{value} ({float(value):.{max(4, len(str(int(value))) + 3)}g})"
