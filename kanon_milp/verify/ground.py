"""Ground distances of t-closeness and the earth mover's distance of each group to the entire table, in integers.

Each ground distance is plain parameters, as the user gave them. Its geometry over the values of a table is one of
three: places on a line, a hierarchy, or a matrix, of which the cost is that of a transportation problem, solved by
successive shortest paths with prices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import InputError, kind_of
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.cells import check_paths
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.numbers import Ratios, exact, numberings

SAFE = 1 << 62
CELLS = 1 << 22  # of an array of values times groups
Paths = Mapping[Label, Sequence[Label]]


class Geometry:
    """A ground distance over the values of one attribute. Counts are over these values, in this order."""

    def distances(self, counts: Counts) -> Ratios:
        """Per group the earth mover's distance to the reference, exactly."""
        raise NotImplementedError

    def within(self, counts: Counts, t: Fraction) -> Flags:
        """Per group whether that is at most t, exactly."""
        return self.distances(counts).at_most(t)


class Apart(Geometry):
    """Any two values are at distance 1."""

    def distances(self, counts: Counts) -> Ratios:
        """½ Σ |share in the group - share in the reference|."""
        return counts.equal_distance


@dataclass(frozen=True, eq=False)
class Line(Geometry):
    """Values at places from 0 to 1: Σ over the gaps of length · |share before it in the group - in the reference|.

    place: of each value, times scale.
    """

    place: Sequence[int]
    scale: int

    @classmethod
    def of(cls, places: Sequence[Fraction], length: Fraction) -> Line:
        """Places in any order, divided by the length; 0 if there is one place only."""
        start = min(places)
        at = [(place - start) / length if length else Fraction(0) for place in places]
        scale = math.lcm(*(place.denominator for place in at))
        return cls([int(place * scale) for place in at], scale)

    def distances(self, counts: Counts) -> Ratios:
        """By the gaps between the places."""
        order = sorted(range(len(self.place)), key=lambda value: self.place[value])
        gaps = [self.place[b] - self.place[a] for a, b in itertools.pairwise(order)]

        def cost_of(surplus: NDArray[Any]) -> NDArray[Any]:
            before = np.abs(np.cumsum(surplus[order[:-1]], axis=0))
            return np.asarray((before * np.array(gaps, dtype=surplus.dtype)[:, None]).sum(axis=0))

        return _each_kind(counts, self.scale, cost_of)


@dataclass(frozen=True, eq=False)
class Tree(Geometry):
    """A hierarchy, two values being as far apart as the level h at which they first meet: h/H.

    That is a tree with edges of length 1/(2H), so each node adds |share below it in the group - in the reference|.
    node: per level from 0 to H-1, the node that each value lies in.
    """

    node: Sequence[Ints]

    def distances(self, counts: Counts) -> Ratios:
        """By the nodes."""

        def cost_of(surplus: NDArray[Any]) -> NDArray[Any]:
            total = np.zeros(surplus.shape[1], dtype=surplus.dtype)
            for node in self.node:
                below = np.zeros((int(node.max()) + 1, surplus.shape[1]), dtype=surplus.dtype)
                np.add.at(below, node, surplus)
                total += np.abs(below).sum(axis=0)
            return total

        return _each_kind(counts, 2 * len(self.node), cost_of)


@dataclass(frozen=True, eq=False)
class Distances(Geometry):
    """Any distances, times scale. In a metric what the two sides have in common stays where it is."""

    distance: Sequence[Sequence[int]]
    scale: int
    metric: bool
    _known: dict[tuple[object, ...], int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, distance: Sequence[Sequence[Fraction]]) -> Distances:
        """From exact numbers."""
        scale = math.lcm(1, *(entry.denominator for row in distance for entry in row))
        scaled = [[int(entry * scale) for entry in row] for row in distance]
        if min((min(row) for row in scaled), default=0) < 0:
            raise InputError("a ground distance must not be negative")
        kind: Any = np.int64 if 2 * max((max(row) for row in scaled), default=0) < SAFE else object
        d = np.array(scaled, dtype=kind)
        metric = not any(d[i, i] for i in range(len(d))) and not any(
            (d[:, j, None] + d[None, j, :] < d).any() for j in range(len(d))
        )
        return cls(scaled, scale, metric)

    def distances(self, counts: Counts) -> Ratios:
        """By transport, of each kind of group once."""
        first, kind = counts.alike
        reference = counts.total.tolist()
        found = [self._one(counts.of_group(g), reference) for g in first.tolist()]
        return _ratios([above for above, _ in found], [below for _, below in found]).take(kind)

    def within(self, counts: Counts, t: Fraction) -> Flags:
        """Bounds decide most groups."""
        first, kind = counts.alike
        reference = counts.total.tolist()
        return np.array([self._is_within(counts.of_group(g), reference, t) for g in first.tolist()], dtype=bool)[kind]

    def _one(self, inside: Mapping[int, int], reference: Sequence[int]) -> tuple[int, int]:
        """The distance as a numerator and a denominator; of each group once."""
        key = (tuple(sorted(inside.items())), tuple(reference))
        if key not in self._known:
            self._known[key] = emd_cost(*self._problem(inside, reference))
        return self._known[key], self.scale * sum(inside.values()) * sum(reference)

    def _is_within(self, inside: Mapping[int, int], reference: Sequence[int], t: Fraction) -> bool:
        most = t * self.scale * sum(inside.values()) * sum(reference)
        low, high = emd_bounds(*self._problem(inside, reference))
        return low <= most and (high <= most or self._one(inside, reference)[0] <= most)

    def _problem(
        self, inside: Mapping[int, int], reference: Sequence[int]
    ) -> tuple[list[int], list[int], list[list[int]]]:
        """What is to be moved, and at what cost."""
        size, n = sum(inside.values()), sum(reference)
        mine = [inside.get(code, 0) * n for code in range(len(reference))]
        theirs = [rows * size for rows in reference]
        common = [min(a, b) if self.metric else 0 for a, b in zip(mine, theirs, strict=True)]
        sources = [i for i, (a, c) in enumerate(zip(mine, common, strict=True)) if a > c]
        sinks = [j for j, (b, c) in enumerate(zip(theirs, common, strict=True)) if b > c]
        return (
            [mine[i] - common[i] for i in sources],
            [theirs[j] - common[j] for j in sinks],
            [[self.distance[i][j] for j in sinks] for i in sources],
        )


def _each_kind(counts: Counts, scale: int, cost_of: Callable[[NDArray[Any]], NDArray[Any]]) -> Ratios:
    """Each kind of group once. cost_of: surplus (values, groups), group minus reference times n·S → cost times scale.

    No number that cost_of meets is above scale·n·S.
    """
    first, kind = counts.alike
    above: list[int] = []
    below: list[int] = []
    step = max(1, CELLS // max(1, len(counts.labels)))
    for start in range(0, len(first), step):
        groups = first[start : start + step]
        size = counts.size[groups]
        number_type: Any = np.int64 if scale * counts.n * int(size.max()) < SAFE else object
        surplus = -np.outer(counts.total.astype(number_type), size.astype(number_type))
        for column, g in enumerate(groups.tolist()):
            part = slice(counts.starts[g], counts.starts[g + 1])
            surplus[counts.value[part], column] += counts.n * counts.count[part].astype(number_type)
        above += cost_of(surplus).tolist()
        below += (scale * counts.n * size.astype(number_type)).tolist()
    return _ratios(above, below).take(kind)


def _ratios(above: Sequence[int], below: Sequence[int]) -> Ratios:
    """In lowest terms, in 64 bits where they fit."""
    least = [Fraction(a, b) for a, b in zip(above, below, strict=True)]
    pairs = [[number.numerator for number in least], [number.denominator for number in least]]
    kind: Any = np.int64 if max(map(max, pairs)) < SAFE else object
    return Ratios(*(np.array(numbers, dtype=kind) for numbers in pairs))


# ---------------------------------------------------------------------------------------------- ground distances


@dataclass(frozen=True)
class Equal:
    """Any two different values are at distance 1 (Liang, Yuan 2013, Fact 1)."""

    name: ClassVar[str] = "equal"

    def over(self, _values: Sequence[Label], _where: str) -> Geometry:
        """The same over all values."""
        return Apart()


@dataclass(frozen=True)
class Ordered:
    """|rank - rank| / (V - 1) over V ranks (Li, Li, Venkatasubramanian 2007): in the order given, or of numbers."""

    order: tuple[Label, ...] | None = field(default=None, repr=False)
    source: str = "the order"
    name: ClassVar[str] = "ordered"

    def over(self, values: Sequence[Label], where: str) -> Geometry:
        """Ranks on a line; the same number written in two ways has one rank."""
        if self.order is None:
            return _line([_ranked(numbers, sorted(set(numbers))) for numbers in _numbers(values, where)], where)
        known = set(self.order)
        for number, value in enumerate(values, 1):
            if value not in known:
                raise _no_place(where, number, value, f"has no rank in {self.source}")
        return _ranked(values, self.order)


@dataclass(frozen=True)
class Numeric:
    """|a - b| divided by the range of the values."""

    name: ClassVar[str] = "numeric"

    def over(self, values: Sequence[Label], where: str) -> Geometry:
        """Numbers on a line."""
        ways = _numbers(values, where)
        return _line([Line.of(places, max(places) - min(places)) for places in ways], where)


@dataclass(frozen=True)
class Hierarchical:
    """Height of the lowest common ancestor / height of the hierarchy (Li, Li, Venkatasubramanian 2007)."""

    paths: Paths = field(repr=False)
    source: str
    name: ClassVar[str] = "hierarchical"

    def over(self, values: Sequence[Label], where: str) -> Geometry:
        """The nodes above the values, level by level."""
        check_paths(self.paths, self.source)
        for number, value in enumerate(values, 1):
            if value not in self.paths:
                raise _no_place(where, number, value, f"is not covered by {self.source}")
        by_level = []
        for labels in zip(*(self.paths[value] for value in values), strict=True):
            node: dict[Label, int] = {}
            by_level.append(np.array([node.setdefault(label, len(node)) for label in labels], dtype=np.int64))
        return Tree(by_level[:-1])


@dataclass(frozen=True)
class Matrix:
    """Distances written out, possibly of more values than a table has."""

    values: Sequence[Label] = field(repr=False)
    matrix: Sequence[Sequence[object]]
    source: str
    name: ClassVar[str] = "matrix"
    _known: dict[tuple[Label, ...], Geometry] = field(default_factory=dict, repr=False, compare=False)

    def over(self, values: Sequence[Label], where: str) -> Geometry:
        """The rows and columns of these values, checked once. Raises InputError for a matrix that is none of a
        metric."""
        key = tuple(values)
        if key not in self._known:
            self._known[key] = self._over(values, where)
        return self._known[key]

    def _over(self, values: Sequence[Label], where: str) -> Geometry:
        at = {value: position for position, value in enumerate(self.values)}
        for number, value in enumerate(values, 1):
            if value not in at:
                raise _no_place(where, number, value, f"is not in {self.source}")
        chosen = [[exact(self.matrix[at[a]][at[b]], self.source) for b in values] for a in values]
        found = Distances.of(chosen)
        if not found.metric or found.distance != [list(row) for row in zip(*found.distance, strict=True)]:
            raise InputError(
                f"{self.source}: not a metric: a diagonal entry, a pair or a triple of values breaks the rules"
            )
        return found


@dataclass(frozen=True)
class Own:
    """A ground distance of the user's making: distance(i, j) of its space, over scale."""

    given: Any = field(repr=False)

    @property
    def name(self) -> str:
        """As it calls itself."""
        return str(self.given.name)

    def over(self, values: Sequence[Label], where: str) -> Geometry:
        """Every pair is asked about once."""
        space = self.given.space(values, where)
        pairs = range(len(values))
        return Distances.of([[Fraction(int(space.distance(i, j)), int(space.scale)) for j in pairs] for i in pairs])


SIMPLE: Mapping[str, Callable[[], Equal | Ordered | Numeric]] = {"equal": Equal, "ordered": Ordered, "numeric": Numeric}
Ground = Equal | Ordered | Numeric | Hierarchical | Matrix | Own
BUILT_IN: Mapping[str, Callable[[Any], Ground]] = {
    "EqualDistance": lambda _: Equal(),
    "OrderedDistance": lambda given: Ordered(None if given.order is None else tuple(given.order), given.source),
    "NumericDistance": lambda _: Numeric(),
    "HierarchicalDistance": lambda given: Hierarchical(given.hierarchy.paths, given.hierarchy.source),
    "MatrixDistance": lambda given: Matrix(given.values, given.matrix, given.source),
}
PACKAGE = __name__.partition(".")[0]


def built_in(given: object) -> str | None:
    """The class of an object if it is exactly one of this package, by its name; None for a class of the user's."""
    kind = type(given)
    return kind.__qualname__ if kind.__module__.partition(".")[0] == PACKAGE else None


def ground(given: Any, what: str = "ground distance") -> Ground:
    """A ground distance by the name of a simple one, or from the parameters of an object."""
    if isinstance(given, str):
        if given not in SIMPLE:
            raise InputError(f"{what}: one of {', '.join(SIMPLE)} or an object is expected, found {kind_of(given)}")
        return SIMPLE[given]()
    read = BUILT_IN.get(built_in(given) or "")
    if read is None and not (hasattr(given, "name") and callable(getattr(given, "space", None))):
        raise InputError(f"{what}: one of {', '.join(SIMPLE)} or a ground distance is expected, found {kind_of(given)}")
    return Own(given) if read is None else read(given)


def _numbers(values: Sequence[Label], where: str) -> list[list[Fraction]]:
    """The values as numbers, in each way in which they may be read."""
    ways = numberings(values, quotients=True)
    if not ways:
        raise InputError(f"{where}: its numbers are written in two ways, or in several units; write all in one")
    for number, value in enumerate(values, 1):
        if value not in ways[0]:
            raise _no_place(where, number, value, "is not a number")
    return [[way[value] for value in values if value is not None] for way in ways]


def _line(ways: Sequence[Line], where: str) -> Line:
    """The line on which numbers lie, the same in each way to read them."""
    if any((way.place, way.scale) != (ways[0].place, ways[0].scale) for way in ways):
        raise InputError(
            f"{where}: its numbers, such as 1,234, may have thousands or decimals, and that makes a difference"
        )
    return ways[0]


def _ranked(values: Sequence[Any], order: Sequence[Any]) -> Line:
    rank = {value: place for place, value in enumerate(order)}
    return Line.of([Fraction(rank[value]) for value in values], Fraction(len(order) - 1))


def _no_place(where: str, number: int, value: Label, what: str) -> InputError:
    return InputError(f"{where}: value number {number} of the sorted distinct values ({kind_of(value)}) {what}")


# ---------------------------------------------------------------------------------------------- transport


def emd_bounds(supply: Sequence[int], demand: Sequence[int], cost: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Between which integers `emd_cost` lies, quickly."""
    kind = _kind(supply, demand, cost)
    left, needed, price = (np.array(numbers, dtype=kind) for numbers in (supply, demand, cost))
    if not left.size:
        return 0, 0
    of_source, of_sink = _first_prices(price)
    low = _dot(of_source, left) + _dot(of_sink, needed)
    # every source sends to every sink, in proportion to what that needs
    everything = sum(supply)
    high = sum(amount * _dot(row, needed) for amount, row in zip(left.tolist(), price, strict=True))
    return low, -(-high // everything)


def emd_cost(supply: Sequence[int], demand: Sequence[int], cost: Sequence[Sequence[int]]) -> int:
    """Least Σ cost[i][j]·f[i][j] with Σ_j f[i][j] = supply[i], Σ_i f[i][j] = demand[j], f ≥ 0; costs are not negative.

    supply and demand have the same sum. Each round sends what it can along a shortest path from a source that has
    something left to the nearest sink that needs something; what was sent can be sent back. The prices of sources and
    sinks never add up to more than the cost between them, and to just that where something is sent: so the plan is a
    best one at the end.
    """
    kind = _kind(supply, demand, cost)
    left, needed, price = (np.array(numbers, dtype=kind) for numbers in (supply, demand, cost))
    if not left.size:
        return 0
    plan = _Plan(left, needed, price, *_first_prices(price), np.zeros(price.shape[::-1], dtype=kind))
    for source in range(len(left)):
        while plan.left[source] > 0:
            plan.send(source)
    sent = plan.flow > 0
    return sum(a * b for a, b in zip(price.T[sent].tolist(), plan.flow[sent].tolist(), strict=True))


def _kind(supply: Sequence[int], demand: Sequence[int], cost: Sequence[Sequence[int]]) -> Any:
    """64 bits where they are enough for every path and every amount."""
    largest = max((max(row, default=0) for row in cost), default=0)
    longest = (len(supply) + len(demand) + 1) * (largest + 1)
    return np.int64 if max(4 * longest, sum(supply)) < SAFE else object


def _first_prices(price: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Of sources and sinks, as high as they can be one after the other."""
    of_sink = price.min(axis=0)
    return (price - of_sink).min(axis=1), of_sink


def _dot(left: NDArray[Any], right: NDArray[Any]) -> int:
    return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))


@dataclass(eq=False)
class _Plan:
    """What sources have left, sinks need, and is sent so far; flow: by sink and source."""

    left: NDArray[Any]
    needed: NDArray[Any]
    price: NDArray[Any]
    of_source: NDArray[Any]
    of_sink: NDArray[Any]
    flow: NDArray[Any]

    def send(self, start: int) -> None:
        """Send what is possible along a shortest path from one source, by the method of Dijkstra, and set the prices
        so that nothing on that path costs more than them."""
        far = self.price[start] - self.of_source[start] - self.of_sink
        before = np.full(len(far), start, dtype=np.int64)
        open_sinks = np.ones(len(far), dtype=bool)
        reached = np.zeros(len(self.left), dtype=bool)
        reached[start] = True
        at = np.zeros_like(self.left)
        back = np.full(len(self.left), -1, dtype=np.int64)
        while True:
            nearest = far[open_sinks].min()
            here = np.flatnonzero(open_sinks & (far == nearest))
            ends = here[self.needed[here] > 0]
            if ends.size:
                break
            open_sinks[here] = False
            sends = self.flow[here] > 0
            new = np.flatnonzero(sends.any(axis=0) & ~reached)
            if not new.size:
                continue
            reached[new], at[new], back[new] = True, nearest, here[sends[:, new].argmax(axis=0)]
            through = self.price[new] - self.of_source[new, None] - self.of_sink
            by = through.argmin(axis=0)
            through = through[by, np.arange(len(far))] + nearest
            shorter = open_sinks & (through < far)
            far[shorter], before[shorter] = through[shorter], new[by[shorter]]
        self.of_source[reached] += nearest - at[reached]
        self.of_sink[~open_sinks] -= nearest - far[~open_sinks]
        self._send_along(int(ends[0]), before, back)

    def _send_along(self, end: int, before: Ints, back: Ints) -> None:
        """before: per sink the source before it on the path; back: per source the sink before it, -1 for the start."""
        path, source = [(end, int(before[end]))], int(before[end])
        while back[source] >= 0:
            sink = int(back[source])
            path += [(sink, source), (sink, int(before[sink]))]
            source = int(before[sink])
        # arcs forwards and backwards alternate, the first and the last are forwards
        amount = min([int(self.left[source]), int(self.needed[end]), *(int(self.flow[arc]) for arc in path[1::2])])
        for position, arc in enumerate(path):
            self.flow[arc] += -amount if position % 2 else amount
        self.left[source] -= amount
        self.needed[end] -= amount
