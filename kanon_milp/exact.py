"""Exact numbers: rationals as users write them, and as results show them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError, kind_of

LARGEST_SHOWN = 10**6  # denominator of a number in a text for people
Number = int | str | float | Fraction


def exact_number(value: Number, what: str) -> Fraction:
    """Read a non-negative number exactly; a float means its shortest decimal form."""
    try:
        number = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{what}: a non-negative number is expected, found {kind_of(value)}") from None
    if number < 0:
        raise InputError(f"{what}: must not be negative")
    return number


def exact_parameter(value: object, what: str) -> Fraction:
    """Read a parameter of a privacy requirement, which must be an exact rational.

    Whole numbers, text ("0.15", "3/20") and fractions are. A float is where it is the number that one reads, as 0.5 is;
    0.15 is refused, since that float is not 3/20.
    """
    if isinstance(value, float | np.floating) and not is_exact(float(value)):
        raise InputError(
            f"{what}: a float is not exact unless it is one like 0.5 or 0.25; write it as text, such as "
            '"0.15" or "3/20", or as a Fraction'
        )
    if isinstance(value, bool) or not hasattr(value, "__str__"):
        raise InputError(f"{what}: a number is expected, found {kind_of(value)}")
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f'{what}: an exact number such as 2, "1.5" or "3/2" is expected, found {kind_of(value)}'
        ) from None


def is_exact(value: float) -> bool:
    """Whether a float is, to the last bit, the decimal number that it is written as: 0.5 is, 0.1 is not."""
    return math.isfinite(value) and Fraction(value) == Fraction(str(float(value)))


def in_words(value: Fraction | None) -> str:
    """An exact number for people: 54, 2.5, or 20/3 (6.667) where no short decimal number is exact.

    A denominator that nobody has written comes from a solver's floating-point number, and is not shown.
    """
    if value is None:
        return "none"
    decimal = plain(value)
    if value.denominator == 1 or value.denominator > LARGEST_SHOWN or Fraction(str(decimal)) == value:
        return str(decimal)
    return f"{value} ({decimal:.{max(4, len(str(int(value))) + 3)}g})"


def plain(value: Fraction | None) -> int | float | None:
    """A fraction as int where it is whole, else as float."""
    if value is None:
        return None
    return int(value) if value.denominator == 1 else float(value)


def both(name: str, value: Fraction) -> dict[str, object]:
    """A number as plain data, and under NAME_exact its exact text."""
    return {name: plain(value), f"{name}_exact": str(value)}
