"""Exponentials and logarithms with the same bits on every processor.

Those of C libraries and of numpy are other code where a processor has fused multiplication, and so have other last
bits. These consist of sums, products and quotients alone; their relative error is below 2e-12 (of `exp` and `power`:
times the exponent, where that is above 1).
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
import numpy as np

from kanon_milp.kernels.limits import INFINITE
from kanon_milp.system.arrays import Floats

if not cython.compiled:
    from math import ldexp

LN2 = 0.6931471805599453
HALF, TWICE = 0.7071067811865476, 1.4142135623730951  # √½ and √2
LOWEST = -700.0  # below, an exponential is 0


def log(x: float) -> float:
    """ln x; -∞ or no number where 0 < x < ∞ does not hold."""
    if not 0 < x < INFINITE:
        return x - INFINITE
    exponent = 0
    while x < HALF:
        x *= 2
        exponent -= 1
    while x > TWICE:
        x *= 0.5
        exponent += 1
    # ln x = 2 artanh s
    s = (x - 1) / (x + 1)
    z = s * s
    series = 1.0 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13))))))
    return exponent * LN2 + 2 * s * series


def exp(x: float) -> float:
    """e^x, for x < 700."""
    if not x >= LOWEST:
        return 0.0
    exponent = int(x / LN2 + (0.5 if x > 0 else -0.5))
    r = x - exponent * LN2
    series = 1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880 + r * (1.0 / 3628800 + r / 39916800)))
    series = 1.0 + r * (
        1 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r * series)))))
    )
    return ldexp(series, exponent)


def power(base: float, exponent: float) -> float:
    """base^exponent, for 0 < base < ∞."""
    return exp(exponent * log(base))


def exponentials(x: Floats) -> Floats:
    """e^x of each, float64 (n,)."""
    found = np.empty(len(x))
    for i in range(len(x)):
        found[i] = exp(x[i])
    return np.asarray(found)
