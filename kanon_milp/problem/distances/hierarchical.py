"""Hierarchical distance: how far up the hierarchy two values first meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import instance_of
from kanon_milp.problem.distances.base import GroundDistance, Space, Tree, missing_place
from kanon_milp.problem.hierarchies import Hierarchy, Label


@dataclass(frozen=True)
class HierarchicalDistance(GroundDistance):
    """Height of the lowest common ancestor divided by the height H of the hierarchy (Li, Li, Venkatasubramanian 2007,
    for categorical attributes): path lengths in the hierarchy with edges of length 1/(2H).

    A level is a height: where a label is repeated on the next level, the value still climbs. Raises InputError if
    no two values meet at the top only, since then the largest distance is below 1.
    """

    hierarchy: Hierarchy
    name: ClassVar[str] = "hierarchical"

    def __post_init__(self) -> None:
        instance_of(self.hierarchy, Hierarchy, "hierarchical distance", "a Hierarchy, such as Hierarchy.read(file),")
        if len(self.hierarchy.paths) < 2:
            raise InputError(f"{self.hierarchy.source}: a distance needs at least two values")
        if len({path[-2] for path in self.hierarchy.paths.values()}) < 2:
            raise InputError(
                f"{self.hierarchy.source}: all values meet below the top, so their largest distance is below 1; "
                "leave out the levels at which there is one label only"
            )

    @classmethod
    def read(cls, path: str | Path, encoding: str | None = None) -> HierarchicalDistance:
        """Read a hierarchy file (`Hierarchy.read`); an empty level0 stands for missing."""
        return cls(Hierarchy.read(path, encoding))

    def space(self, values: Sequence[Label], where: str) -> Space:
        """The part of the hierarchy above the values, as a tree of their depth."""
        paths = self.hierarchy.paths
        for number, value in enumerate(values, 1):
            if value not in paths:
                raise missing_place(where, number, value, f"is not covered by {self.hierarchy.source}; add it there")
        height = self.hierarchy.height
        node: dict[tuple[int, Label], int] = {(0, value): position for position, value in enumerate(values)}
        parent: dict[int, int] = {}
        for value in values:
            for level in range(height):
                upper = node.setdefault((level + 1, paths[value][level + 1]), len(node))
                parent[node[level, paths[value][level]]] = upper
        levels = {number: level for (level, _), number in node.items()}
        tree = Tree(
            tuple(parent.get(number, -1) for number in range(len(node))),
            tuple(1 if number in parent else 0 for number in range(len(node))),
            tuple(sorted(range(len(node)), key=lambda number: levels[number])),
        )
        return Space(tuple(values), 2 * height, partial(_climb, [paths[value] for value in values]), tree)


def _climb(routes: Sequence[tuple[Label, ...]], i: int, j: int) -> int:
    """Up from one value to the first common ancestor and down to the other."""
    if i == j:
        return 0
    above = zip(routes[i][1:], routes[j][1:], strict=True)
    return 2 * next(level for level, (left, right) in enumerate(above, 1) if left == right)
