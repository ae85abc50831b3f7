"""Many exact ratios at once: integer numerators and denominators in arrays, fractions only for those that matter."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

# what rounding can move a quotient of integers of 64 bits, with a wide margin
NEAR = 1e-9
SAFE = 1 << 62


@dataclass(frozen=True, eq=False)
class Ratios:
    """above / below, one ratio a position; int64, or Python's integers where those are too small. below > 0."""

    above: NDArray[Any]
    below: NDArray[Any]

    @property
    def least(self) -> Fraction:
        """The smallest, exactly."""
        return min(self._fractions(self._near(largest=False)))

    @property
    def largest(self) -> Fraction:
        """The largest, exactly."""
        return max(self._fractions(self._near(largest=True)))

    def at_most(self, bound: Fraction) -> NDArray[np.bool_]:
        """Which are not above a bound; exact."""
        left, right = self._cross(bound)
        return np.asarray(left <= right, dtype=bool)

    def at_least(self, bound: Fraction) -> NDArray[np.bool_]:
        """Which are not below a bound; exact."""
        left, right = self._cross(bound)
        return np.asarray(left >= right, dtype=bool)

    def reduced(self) -> Ratios:
        """In lowest terms."""
        divisor = np.gcd(self.above, self.below)
        return Ratios(self.above // divisor, self.below // divisor)

    def floats(self) -> NDArray[np.float64]:
        """As floats, each within a few units of the last place."""
        if self.above.dtype == object:
            return np.array([float(Fraction(a, b)) for a, b in zip(self.above, self.below, strict=True)])
        return np.asarray(self.above / self.below, dtype=np.float64)

    def texts(self) -> list[str]:
        """Each as an exact text, such as 3/2 or 2."""
        least = self.reduced()
        pairs = zip(least.above.tolist(), least.below.tolist(), strict=True)
        return [str(above) if below == 1 else f"{above}/{below}" for above, below in pairs]

    def take(self, positions: NDArray[Any]) -> Ratios:
        """The ratios at some positions."""
        return Ratios(self.above[positions], self.below[positions])

    def largest_in(self, starts: NDArray[np.int64]) -> Ratios:
        """The largest of each run of positions, runs given by where they start; exactly."""
        values = self.floats()
        best = np.maximum.reduceat(values, starts)
        run = np.zeros(len(values), dtype=np.int64)
        run[starts[1:]] = 1
        run = np.cumsum(run)
        near = np.flatnonzero(values >= best[run] * (1 - NEAR))
        least = self.take(near).reduced()
        chosen = np.empty(len(starts), dtype=np.int64)
        chosen[run[near][::-1]] = near[::-1]  # the first of each run
        position = np.searchsorted(near, chosen[run[near]])
        same = (least.above == least.above[position]) & (least.below == least.below[position])
        for other in near[~same]:  # floats too close to tell
            held = chosen[run[other]]
            if self.above[other] * self.below[held] > self.above[held] * self.below[other]:
                chosen[run[other]] = other
        return self.take(chosen)

    def _cross(self, bound: Fraction) -> tuple[NDArray[Any], NDArray[Any]]:
        """What to compare: above · denominator and below · numerator."""
        above, below = self.above, self.below
        largest = max(int(above.max(initial=0)) * bound.denominator, int(below.max(initial=0)) * abs(bound.numerator))
        if largest >= SAFE:
            above, below = above.astype(object), below.astype(object)
        return above * bound.denominator, below * bound.numerator

    def _near(self, *, largest: bool) -> Ratios:
        """Those that floats cannot tell from the extreme one."""
        values = self.floats()
        chosen = values >= values.max() * (1 - NEAR) if largest else values <= values.min() * (1 + NEAR)
        return self.take(np.flatnonzero(chosen))

    @staticmethod
    def _fractions(ratios: Ratios) -> list[Fraction]:
        pairs = set(zip(ratios.above.tolist(), ratios.below.tolist(), strict=True))
        return [Fraction(above, below) for above, below in pairs]
