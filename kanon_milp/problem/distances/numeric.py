"""Numeric distance: how far two numbers are apart, divided by the range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kanon_milp.problem.distances.base import GroundDistance, Space, all_numbers, path_space, the_one
from kanon_milp.problem.hierarchies import Label


@dataclass(frozen=True)
class NumericDistance(GroundDistance):
    """|a - b| divided by the range of the table's values, exact: values are read as decimals or fractions
    (Li, Li, Venkatasubramanian 2007, for numerical attributes, divide ranks: that is `OrderedDistance`).
    """

    name: ClassVar[str] = "numeric"

    def space(self, values: Sequence[Label], where: str) -> Space:
        """Numbers on a line."""
        ways = all_numbers(values, where, "is not a number; choose another ground distance")
        return the_one([path_space(values, places, max(places) - min(places)) for places in ways], where)
