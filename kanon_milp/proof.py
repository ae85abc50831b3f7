"""What a solver's bound proves: the rounding that integral objectives allow, and no more."""

from __future__ import annotations

import math

# solvers work in floating point: a bound counts as reached within this much, relative to its size
TOLERANCE = 1e-6


def safe_bound(bound: float | None, *, integral: bool) -> float | None:
    """The bound that is proven in the model's units (a minimization), None if there is none.

    With an integral objective the next whole number not below the bound (less a tolerance) is still a bound.
    """
    if bound is None or not math.isfinite(bound):
        return None
    return float(math.ceil(bound - slack(bound))) if integral else bound


def slack(value: float) -> float:
    """How far a floating-point value of this size may be off."""
    return TOLERANCE * max(1.0, abs(value))


def meets(objective: float, bound: float | None) -> bool:
    """Whether incumbent and proven bound meet."""
    return bound is not None and bound >= objective - slack(objective)


def contradicts(objective: float, bound: float | None) -> bool:
    """Whether a verified table is better than what the solver says is possible."""
    return bound is not None and bound > objective + slack(objective)
