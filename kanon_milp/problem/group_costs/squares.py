"""The sum of squares around the centres of groups, the SSE of microaggregation (Domingo-Ferrer, Mateo-Sanz 2002)."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from kanon_milp.problem.group_costs.numeric import Center, NumericCost


class SumOfSquares(NumericCost):
    """Σ over rows and columns of weight · (value - centre)². Least around the mean."""

    name: ClassVar[str] = "sse"
    words: ClassVar[str] = "SSE"
    natural: ClassVar[Center] = "mean"
    power: ClassVar[int] = 2

    def variation(self, j: int) -> Fraction:
        """The variance of the sample, with n - 1 in the denominator."""
        values, scale = self.points.values[:, j].tolist(), self.points.scale[j]
        n = len(values)
        return Fraction(n * sum(x * x for x in values) - sum(values) ** 2, n * max(n - 1, 1) * scale**2)
