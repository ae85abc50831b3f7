"""A user's objective in units in which a solver's absolute tolerances mean something."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from kanon_milp.solvers.base import LinearModel
from kanon_milp.solvers.proof import INTEGRAL_TOLERANCE, PRECISION

_DENOMINATOR = 1000  # largest one that a coefficient may have to be a fraction, in some unit
_ROUNDING = 1e-14  # of coefficients that were multiplied in floating point, such as 3 · 0.3
_STEPS = 1_000_000  # most steps that a unit may have
_SPREAD = 1e6  # a coefficient this much smaller than the largest one is not taken as the unit where there are no steps


def rescaled(linear: LinearModel) -> tuple[LinearModel, Fraction, bool]:
    """The model in another unit of its objective, that unit, and whether its values at integral points are integers.

    They are where the variables are integer and the coefficients are fractions, or fractions of the smallest one. Where
    they are not, the smallest coefficient becomes 1: what is 10⁻⁸ times as large looks solved to a solver from the
    start.
    """
    sizes = np.abs(linear.c[linear.c != 0])
    if not len(sizes):
        return linear, Fraction(1), False
    smallest, largest = float(sizes.min()), float(sizes.max())
    if linear.integer[linear.c != 0].all():
        values = {linear.offset, *linear.c.tolist()}
        # decimal as it was written, not the nearest binary number
        for unit in (Fraction(1), Fraction(repr(smallest))):
            steps = _steps(values, unit)
            if steps and PRECISION * linear.largest_cost * steps <= INTEGRAL_TOLERANCE * unit:
                return _in_units(linear, float(unit / steps), integral=True), unit / steps, True
        if steps := _steps(values, Fraction(1)):  # too fine for floating point, but not for a solver that is exact
            return _in_units(linear, 1 / steps, integral=True), Fraction(1, steps), True
    unit = Fraction(max(smallest, largest / _SPREAD))
    return _in_units(linear, float(unit), integral=False), unit, False


def _in_units(linear: LinearModel, unit: float, *, integral: bool) -> LinearModel:
    c, offset = linear.c / unit, linear.offset / unit
    return (
        replace(linear, c=np.round(c), offset=float(round(offset))) if integral else replace(linear, c=c, offset=offset)
    )


def _steps(values: Iterable[float], unit: Fraction) -> int:
    """Into how many steps a unit falls where all of these are multiples of one; 0 where that is not known."""
    steps = 1
    for value in values:
        ratio = value / float(unit)
        simple = Fraction(ratio).limit_denominator(_DENOMINATOR)
        steps = math.lcm(steps, simple.denominator)
        if not math.isclose(simple, ratio, rel_tol=_ROUNDING) or steps > _STEPS:
            return 0
    return steps
