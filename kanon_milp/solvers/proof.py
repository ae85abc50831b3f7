"""What a bound proves: the rounding that integral objectives allow, and no more; and what stands behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from kanon_milp.solvers.model import LinearModel

# "solver": the solver that was asked says so. "second look": another solver, or the same one in another setting, has
# solved the same model and agrees. "own bound": what this package has computed itself proves it. "certificate": so do
# multipliers, which anybody can check from the table alone. "registered bound": a bound of the user's own says so.
Backing = Literal["solver", "second look", "own bound", "certificate", "registered bound"]
REGISTERED: Backing = "registered bound"
Number = float | Fraction

# Solvers work in floating point: a value counts as reached within this much, relative to its size ...
TOLERANCE = 1e-6
# ... but where values are integers never by more than this, whatever their size ...
INTEGRAL_TOLERANCE = 0.1
# ... except that nothing is known below this part of the largest number in the objective: SCIP takes two values for
# equal there (its numerics/epsilon), and no finer one is known of the others. From about 10^8 units on, integers
# next to each other are not told apart.
PRECISION = 1e-9
# The absolute gap that still ends in a proof: with it and the tolerance, less than one unit is open.
INTEGRAL_GAP = 0.89


def slack(value: Number) -> float:
    """How far a solver's floating-point value of this size may be off."""
    return TOLERANCE * max(1.0, abs(float(value)))


@dataclass(frozen=True)
class Grid:
    """Where the values of a model's objective lie: at integral points they are integer multiples of 1 / steps.

    steps: 0 where they may lie anywhere. size: the largest number in the objective; 0 for a solver that computes
    exactly.
    """

    steps: int = 1
    size: float = 0.0

    @property
    def too_fine(self) -> bool:
        """Whether floating point cannot tell values next to each other apart."""
        return PRECISION * self.size * self.steps > INTEGRAL_TOLERANCE

    def safe(self, bound: float | None) -> Fraction | None:
        """The bound that is proven where a solver claims this one, exactly; None if there is none.

        The next value not below the claimed bound, less a tolerance, is still a bound.
        """
        scaled = math.nan if bound is None else bound * max(self.steps, 1)
        if bound is None or not math.isfinite(scaled):
            return None
        if not self.steps:
            return Fraction(bound) - Fraction(PRECISION * self.size)
        error = min(slack(scaled), INTEGRAL_TOLERANCE)
        if self.size:
            error = max(error, PRECISION * max(self.size * self.steps, abs(scaled)))
        return Fraction(math.ceil(Fraction(scaled) - Fraction(error)), self.steps)

    def meets(self, objective: Number, bound: Fraction | None) -> bool:
        """Whether an objective and a safe bound meet; multiples of 1 / steps meet only where they are equal."""
        if bound is None:
            return False
        if not self.steps:
            return bound >= Fraction(objective) - Fraction(slack(objective))
        return self._step(bound) >= self._step(objective)

    def contradicts(self, objective: Number, bound: Fraction | None) -> bool:
        """Whether a verified table is better than what the solver says is possible."""
        if bound is None:
            return False
        if not self.steps:
            return bound > Fraction(objective) + Fraction(slack(objective))
        return self._step(bound) > self._step(objective)

    def _step(self, value: Number) -> int:
        return round(Fraction(value) * self.steps)


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
