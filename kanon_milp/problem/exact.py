"""Exact numbers: rationals as users write them, and as results show them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError, kind_of

LARGEST_SHOWN = 10**6  # denominator of a number in a text for people
MOST_DIGITS = 12  # significant ones of a float that stands for the decimal number that one reads
LARGEST = 10**100  # of numerators and denominators
WRITTEN = re.compile(r"[+-]?(\d+/\d+|(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?)", re.ASCII | re.IGNORECASE)
Number = int | str | float | Fraction | Decimal


def exact_number(value: object, what: str) -> Fraction:
    """Read a number that must not be negative; as `exact_parameter` otherwise."""
    number = exact_parameter(value, what)
    if number < 0:
        raise InputError(f"{what}: must not be negative")
    return number


def exact_parameter(value: object, what: str) -> Fraction:
    """Read a number exactly, by the one rule of this package.

    Integers, fractions, decimals and text ("0.15", "3/20") are what they say. A float stands for its shortest decimal
    form, 0.3 for 3/10, where that has no more than `MOST_DIGITS` digits: one with more was computed, and nobody has
    written what it stands for (0.1 + 0.2, 1/3). Numerator and denominator stay below `LARGEST`, which is checked before
    anything is computed from an exponent.
    """
    number = _read(value)
    if number is None and isinstance(value, float | np.floating):
        raise InputError(
            f"{what}: a float of more than {MOST_DIGITS} digits, or one that is not a number, has no exact value; "
            'round it, or write it as text, such as "0.15" or "3/20", or as a Fraction'
        )
    if number is None:
        raise InputError(f'{what}: an exact number such as 2, "1.5" or "3/2" is expected, found {kind_of(value)}')
    if max(abs(number.numerator), number.denominator) >= LARGEST:
        raise InputError(f"{what}: the number is too large or too fine; at most 100 digits are read")
    return number


def _read(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | np.floating):
        shortest = float.__repr__(float(value))
        digits = shortest.partition("e")[0].replace(".", "").lstrip("-0").rstrip("0")
        return Fraction(shortest) if math.isfinite(value) and len(digits) <= MOST_DIGITS else None
    if not isinstance(value, str | Decimal):
        return None
    written = str(value).strip()
    if WRITTEN.fullmatch(written) is None:
        return None
    try:
        return Fraction(written)
    except (ValueError, ZeroDivisionError):  # 1/0, or more digits than Python converts
        return None


def in_words(value: Fraction | None) -> str:
    """An exact number for people: 54, 2.5, 17,832, or 20/3 (6.667) where no short decimal number is exact.

    A denominator that nobody has written comes from a solver's floating-point number, and is not shown.
    """
    if value is None:
        return "none"
    decimal = plain(value)
    if value.denominator == 1 or value.denominator > LARGEST_SHOWN or Fraction(str(decimal)) == value:
        return f"{decimal:,}"
    return f"{value.numerator:,}/{value.denominator:,} ({decimal:,.{max(4, len(str(int(value))) + 3)}g})"


def text_in_words(value: object) -> object:
    """An exact number that stands as text, such as "9/100", in words; anything else as it is."""
    exact = isinstance(value, str) and WRITTEN.fullmatch(value) is not None
    return in_words(Fraction(str(value))) if exact else value


def plain(value: Fraction | None) -> int | float | None:
    """A fraction as int where it is an integer, else as float."""
    if value is None:
        return None
    return int(value) if value.denominator == 1 else float(value)


def both(name: str, value: Fraction) -> dict[str, object]:
    """A number as plain data, and under NAME_exact its exact text."""
    return {name: plain(value), f"{name}_exact": str(value)}


def largest_below(below: Callable[[Fraction], bool], limit: int) -> Fraction:
    """The largest fraction ≥ 0 with a denominator of at most `limit` for which `below` is true.

    below: true for 0, true exactly up to some number. Walks the Stern-Brocot tree in galloping steps.
    """
    return _neighbours(below, limit)[0]


def smallest_above(below: Callable[[Fraction], bool], limit: int) -> Fraction | None:
    """The smallest fraction with a denominator of at most `limit` for which `below` is false."""
    return _neighbours(below, limit)[1]


def _neighbours(below: Callable[[Fraction], bool], limit: int) -> tuple[Fraction, Fraction | None]:
    low, high = (0, 1), (1, 0)
    while low[1] + high[1] <= limit:
        moved = False
        for up in (True, False):
            # as many steps as possible towards the one end: first doubling, then halving
            step, done = 1, 0
            while step:
                ahead = _step(low, high, done + step, up)
                if ahead[1] <= limit and below(Fraction(*ahead)) == up:
                    done += step
                    step *= 2
                else:
                    step //= 2
            if done:
                moved = True
                if up:
                    low = _step(low, high, done, up)
                else:
                    high = _step(low, high, done, up)
        if not moved:
            break
    return Fraction(*low), Fraction(*high) if high[1] else None


def _step(low: tuple[int, int], high: tuple[int, int], steps: int, up: bool) -> tuple[int, int]:
    """`steps` times the mediant towards `high` (up) or towards `low`."""
    if up:
        return low[0] + steps * high[0], low[1] + steps * high[1]
    return high[0] + steps * low[0], high[1] + steps * low[1]
