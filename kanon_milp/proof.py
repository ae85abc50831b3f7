"""What a solver's bound proves: the rounding that whole-number objectives allow, and no more."""

from __future__ import annotations

import math

# Solvers work in floating point: a value counts as reached within this much, relative to its size ...
TOLERANCE = 1e-6
# ... but where values are whole numbers never by more than this, whatever their size.
WHOLE_TOLERANCE = 0.1
# The absolute gap that still ends in a proof: with it and the tolerance, less than one unit is open.
WHOLE_GAP = 0.89


def slack(value: float, *, integral: bool = False) -> float:
    """How far a solver's floating-point value of this size may be off."""
    relative = TOLERANCE * max(1.0, abs(value))
    return min(relative, WHOLE_TOLERANCE) if integral else relative


def safe_bound(bound: float | None, *, integral: bool) -> float | None:
    """The bound that is proven, in the model's units (a minimization); None if there is none.

    With a whole-number objective the next whole number not below the bound (less a tolerance) is still a bound.
    """
    if bound is None or not math.isfinite(bound):
        return None
    return float(math.ceil(bound - slack(bound, integral=True))) if integral else bound


def meets(objective: float, bound: float | None, *, integral: bool) -> bool:
    """Whether an objective and a safe bound meet; whole numbers meet only where they are equal."""
    if bound is None:
        return False
    return round(bound) >= round(objective) if integral else bound >= objective - slack(objective)


def contradicts(objective: float, bound: float | None, *, integral: bool) -> bool:
    """Whether a verified table is better than what the solver says is possible."""
    if bound is None:
        return False
    return round(bound) > round(objective) if integral else bound > objective + slack(objective)


def close(a: float, b: float) -> bool:
    """Whether two floating-point values are the same but for the tolerance."""
    return abs(a - b) <= slack(max(abs(a), abs(b)))
