"""Exact numbers: rationals as users write them, and as results show them."""

from __future__ import annotations

from fractions import Fraction

from kanon_milp.errors import InputError, kind_of

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

    Whole numbers, text ("0.15", "3/20") and fractions are. A float is refused, since 0.15 as a float is not 3/20.
    """
    if isinstance(value, float):
        raise InputError(f'{what}: a float is not exact; write it as text, such as "0.15" or "3/20", or as a Fraction')
    if isinstance(value, bool) or not hasattr(value, "__str__"):
        raise InputError(f"{what}: a number is expected, found {kind_of(value)}")
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f'{what}: an exact number such as 2, "1.5" or "3/2" is expected, found {kind_of(value)}'
        ) from None


def plain(value: Fraction | None) -> int | float | None:
    """A fraction as int where it is whole, else as float."""
    if value is None:
        return None
    return int(value) if value.denominator == 1 else float(value)


def both(name: str, value: Fraction) -> dict[str, object]:
    """A number as plain data, and under NAME_exact its exact text."""
    return {name: plain(value), f"{name}_exact": str(value)}
