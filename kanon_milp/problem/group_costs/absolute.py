"""The sum of absolute deviations around the centres of groups."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from kanon_milp.problem.group_costs.numeric import Center, NumericCost


class AbsoluteDeviations(NumericCost):
    """Σ over rows and columns of weight · |value - centre|. Least around the median."""

    name: ClassVar[str] = "l1"
    words: ClassVar[str] = "sum of absolute deviations"
    natural: ClassVar[Center] = "median"
    power: ClassVar[int] = 1

    def variation(self, j: int) -> Fraction:
        """The mean absolute deviation around the median: a standard deviation is no rational number."""
        values = sorted(self.points.values[:, j].tolist())
        n = len(values)
        twice = values[(n - 1) // 2] + values[n // 2]
        return Fraction(sum(abs(2 * x - twice) for x in values), 2 * n * self.points.scale[j])
