"""What a ground distance is to the rest of the package: a metric on the values of a sensitive attribute; and the exact
earth mover's distance over it."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from kanon_milp.errors import InputError, kind_of
from kanon_milp.problem.arguments import listed
from kanon_milp.problem.column_values import UNCLEAR, numbers_of
from kanon_milp.problem.hierarchies import Label


@dataclass(frozen=True)
class Tree:
    """A tree whose path lengths are the distances. Nodes 0..V-1 are the values, further nodes come after them.

    parent: of each node, -1 for the root. weight: length of the edge to the parent, in units of 1/scale (root: 0).
    order: all nodes, children before their parents.
    """

    parent: tuple[int, ...]
    weight: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """The metric space of a table's sensitive values (Liang, Yuan 2013, section 2.1).

    values: in the order that counts are given in. scale: every distance is an integer multiple of 1/scale.
    between: distance of two values by position, times scale. tree: where the metric is that of a tree.
    """

    values: tuple[Label, ...]
    scale: int
    between: Callable[[int, int], int]
    tree: Tree | None = None

    def distance(self, i: int, j: int) -> int:
        """Distance of the values at two positions, in units of 1/scale."""
        return self.between(i, j)


class GroundDistance(ABC):
    """A distance between sensitive values, normalized to a maximum of 1; one file each."""

    name: ClassVar[str]

    @abstractmethod
    def space(self, values: Sequence[Label], where: str) -> Space:
        """The metric on these values, in this order.

        where: beginning of error messages, file and column. Raises InputError for a value that has no place.
        """


def distinct_labels(labels: Sequence[Label], source: str) -> tuple[Label, ...]:
    """Check a list of values that the user gives: text, or None for missing, each once."""
    found: dict[Label, int] = {}
    for number, label in enumerate(listed(labels, source, "a list of values"), 1):
        if not (label is None or isinstance(label, str)):
            raise InputError(
                f"{source}: entry {number} is a {kind_of(label)}; values are compared as text, so write them as text"
            )
        if found.setdefault(label, number) != number:
            raise InputError(
                f"{source}: entry {number} occurs twice, first as entry {found[label]}; each value may be named once"
            )
    return tuple(found)


def missing_place(where: str, number: int, value: Label, what: str) -> InputError:
    """The error for a value without a place, named by its number among the sorted distinct values."""
    return InputError(f"{where}: value number {number} of the sorted distinct values ({kind_of(value)}) {what}")


def all_numbers(values: Sequence[Label], where: str, what: str) -> list[list[Fraction]]:
    """The values as exact numbers; in both ways, where it is not clear which of two is meant. what: end of the message
    where one is none."""
    numbers = numbers_of(values, fractions=True)
    for number, value in enumerate(values, 1):
        if value is None:
            raise InputError(
                f"{where}: some rows have no value, and a missing one has no place among numbers; rank it in an order "
                "(order:FILE, an empty line stands for it), take the equal distance, or leave these rows out"
            )
        if value not in numbers.of:
            raise missing_place(where, number, value, what)
    if numbers.doubt and numbers.otherwise is None:
        raise InputError(f"{where}: {numbers.doubt}")
    ways = [numbers.of] if numbers.otherwise is None else [numbers.of, numbers.otherwise]
    return [[way[value] for value in values if value is not None] for way in ways]


def the_one(spaces: Sequence[Space], where: str) -> Space:
    """The space of numbers that may be read in two ways, if both are the same."""
    first, *others = spaces
    for other in others:
        if (other.scale, other.tree) != (first.scale, first.tree):
            raise InputError(f"{where}: {UNCLEAR}")
    return first


def path_space(values: Sequence[Label], places: Sequence[Fraction], length: Fraction) -> Space:
    """Values on a line: |a - b| / length, a path from place to place.

    places: one a value. length: at least as long as from the first place to the last; 0 if there is one place only.
    """
    start = min(places)
    positions = [(place - start) / length if length else Fraction(0) for place in places]
    scale = math.lcm(*(position.denominator for position in positions))
    at = [int(position * scale) for position in positions]
    # neighbours on the line; values at the same place hang on each other by an edge of length 0
    line = sorted(range(len(at)), key=lambda i: (at[i], i))
    parent, weight = [-1] * len(at), [0] * len(at)
    for left, right in itertools.pairwise(line):
        parent[left], weight[left] = right, at[right] - at[left]
    return Space(tuple(values), scale, partial(_apart, at), Tree(tuple(parent), tuple(weight), tuple(line)))


def _apart(at: Sequence[int], i: int, j: int) -> int:
    return abs(at[i] - at[j])


def emd(space: Space, p: Sequence[int], q: Sequence[int]) -> Fraction:
    """Least work to turn p/Σp into q/Σq (Liang, Yuan 2013, section 2.1), as an exact fraction.

    p, q: counts per value in the order of `space.values`, each with a positive sum. In a tree each edge carries the
    difference of what lies below it; any other metric is a transportation problem in integers.
    Raises ValueError for counts that are no distribution over the values.
    """
    if space.tree is None:
        return emd_by_flow(space, p, q)
    # what lies below each node, times Σp·Σq
    over, mass = _surplus(space, p, q)
    over += [0] * (len(space.tree.parent) - len(over))
    work = 0
    for node in space.tree.order:
        parent = space.tree.parent[node]
        if parent >= 0:
            work += space.tree.weight[node] * abs(over[node])
            over[parent] += over[node]
    return Fraction(work, space.scale * mass)


def emd_by_flow(space: Space, p: Sequence[int], q: Sequence[int]) -> Fraction:
    """The same by the network simplex method in integers, for any metric.

    What p and q have in common stays where it is: by the triangle inequality no least work moves it.
    """
    import networkx as nx  # slow to import, and tree metrics do without it

    over, mass = _surplus(space, p, q)
    graph = nx.DiGraph()
    graph.add_nodes_from((i, {"demand": -amount}) for i, amount in enumerate(over))
    sources = [i for i, amount in enumerate(over) if amount > 0]
    sinks = [j for j, amount in enumerate(over) if amount < 0]
    graph.add_weighted_edges_from((i, j, space.distance(i, j)) for i in sources for j in sinks)
    work, _ = nx.network_simplex(graph)
    return Fraction(int(work), space.scale * mass)


def _surplus(space: Space, p: Sequence[int], q: Sequence[int]) -> tuple[list[int], int]:
    """Per value p/Σp - q/Σq times Σp·Σq, and Σp·Σq. Python's own integers: those of arrays may overflow."""
    ours, theirs = [int(a) for a in p], [int(b) for b in q]
    for counts in (ours, theirs):
        if len(counts) != len(space.values):
            raise ValueError(f"{len(space.values)} values need as many counts, found {len(counts)}")
        if min(counts) < 0 or not any(counts):
            raise ValueError("counts must not be negative, and some must be positive")
    total_p, total_q = sum(ours), sum(theirs)
    return [a * total_q - b * total_p for a, b in zip(ours, theirs, strict=True)], total_p * total_q
