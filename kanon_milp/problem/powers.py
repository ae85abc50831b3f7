"""Exact comparison of rationals with e^δ and 2^δ, and the best rationals beside such numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction
from functools import cache
from typing import Literal

Base = Literal["natural", "base2"]
BASES = ("natural", "base2")


def below_power(value: Fraction, exponent: Fraction, base: Base) -> bool:
    """Whether value < e^exponent ("natural") or value < 2^exponent ("base2"), decided exactly. exponent > 0.

    The power itself is only computed where value is near it, so that no exponent is too large or too fine.
    """
    if value <= 1:
        return True
    # 2^bits is above value, so a power of at least that is, too
    bits = value.numerator.bit_length() - value.denominator.bit_length() + 1
    if exponent >= bits:
        return True
    if base == "base2" and exponent.denominator == 1:
        return value < Fraction(2) ** exponent.numerator
    # e^exponent is transcendental and 2^exponent irrational, so enough digits always decide
    digits = 30
    while True:
        exact = _power(exponent, base, digits)
        # relative error of the rounded exponent, carried through exp, and of the result
        margin = exact * (abs(exponent) + 2) * Fraction(10) ** (2 - digits)
        if abs(value - exact) > margin:
            return value < exact
        digits *= 2


@cache
def _power(exponent: Fraction, base: Base, digits: int) -> Fraction:
    """e^exponent or 2^exponent to so many digits."""
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emax=10**15, Emin=-(10**15))
    power = context.divide(exponent.numerator, exponent.denominator)
    if base == "base2":
        power = context.multiply(power, context.ln(2))
    return Fraction(context.exp(power))


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
