"""Equal distance: any two different values are at distance 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kanon_milp.problem.distances.base import GroundDistance, Space, Tree
from kanon_milp.problem.hierarchies import Label


@dataclass(frozen=True)
class EqualDistance(GroundDistance):
    """Every two different values are at distance 1 (Liang, Yuan 2013, Fact 1): a star with edges of length 1/2."""

    name: ClassVar[str] = "equal"

    def space(self, values: Sequence[Label], where: str) -> Space:
        """A star with one leaf a value."""
        hub = len(values)
        tree = Tree((hub,) * hub + (-1,), (1,) * hub + (0,), tuple(range(hub + 1)))
        return Space(tuple(values), 2, _unequal, tree)


def _unequal(i: int, j: int) -> int:
    return 0 if i == j else 2
