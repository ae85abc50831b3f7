"""Problems about graphs: edge partitions, and balanced complete bipartite subgraphs."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from kanon_milp.errors import InputError
from kanon_milp.problem.privacy import KAnonymity, LDiversity, PSensitivity
from kanon_milp.studies.families.base import (
    ATTEMPTS,
    Answer,
    Family,
    Generated,
    Groups,
    Parameter,
    columns,
    listed,
    masked,
    refuse_large,
    settled,
    text_frame,
)
from kanon_milp.studies.families.source_problems import Edge, Source, exact_cover, most_common_neighbours

DENSITY = 0.5  # of edges that are drawn beside a planted subgraph ...
DENSE = 0.65  # ... and where subgraphs are taken apart


def edge_partition(size: int, draw: random.Random, answer: Answer) -> Generated:
    """An edge is a row over two values, which says which two vertices it joins: three edges of a triangle, or of a star
    with three rays, lose three cells each (Theorem 1.5, after Aggarwal et al. 2005)."""
    refuse_large(3 * size, 3 * size)
    if answer == "no":
        return _edge_partition(*_without_partition(size, draw), None, answer)
    vertices, groups = 0, []
    edges: list[Edge] = []
    known: list[int] = []
    for number in range(size):
        shared = draw.sample(known, min(len(known), 1)) if number else []
        if draw.random() < 0.5:
            a, b, c = [*shared, *range(vertices, vertices + 3 - len(shared))]
            new = [(a, b), (b, c), (a, c)]
        else:
            centre, *rays = [*shared, *range(vertices, vertices + 4 - len(shared))]
            new = [(centre, ray) for ray in rays]
        vertices += len({v for edge in new for v in edge}) - len(shared)
        known = list(range(vertices))
        groups.append(tuple(range(len(edges), len(edges) + 3)))
        edges += new
    order = list(range(len(edges)))
    draw.shuffle(order)
    place = {edge: row for row, edge in enumerate(order)}
    parts = [tuple(sorted(place[edge] for edge in group)) for group in groups]
    return _edge_partition([edges[edge] for edge in order], vertices, parts, answer)


def edge_partition_of(source: Source, asked: Answer | None) -> Generated:
    """The same, of a graph of one's own."""
    edges, vertices = list(source.members), len(source.names[0])
    refuse_large(len(edges), vertices)
    parts = _parts(edges)
    found = exact_cover(range(len(edges)), parts)
    return _edge_partition(
        edges, vertices, None if found is None else [parts[number] for number in found], asked, source.names[0]
    )


def _parts(edges: list[Edge]) -> list[tuple[int, ...]]:
    """All triangles and stars with three rays, as numbers of edges."""
    at: dict[int, list[int]] = {}
    for number, edge in enumerate(edges):
        for v in edge:
            at.setdefault(v, []).append(number)
    place = {frozenset(edge): number for number, edge in enumerate(edges)}
    parts: set[tuple[int, ...]] = {star for around in at.values() for star in itertools.combinations(around, 3)}
    for number, (a, b) in enumerate(edges):
        for other in at[b]:
            third = place.get(frozenset((sum(edges[other]) - b, a)))
            if other != number and third is not None:
                parts.add(tuple(sorted((number, other, third))))
    return sorted(parts)


def _without_partition(size: int, draw: random.Random) -> tuple[list[Edge], int]:
    """A connected graph with three times so many edges that are not triangles and stars: a random tree, and random
    edges beside it; one in which each edge is in some triangle or star, if one is drawn."""
    simple: tuple[list[Edge], int] | None = None
    for _ in range(ATTEMPTS):
        vertices = draw.randint(min(size + 3, 3 * size + 1), max(size + 3, 3 * size + 1))
        tree = {(draw.randrange(v), v) for v in range(1, vertices)}
        others = [edge for edge in itertools.combinations(range(vertices), 2) if edge not in tree]
        missing = 3 * size - len(tree)
        if not 0 <= missing <= len(others):
            continue
        edges = sorted(tree | set(draw.sample(others, missing)))
        draw.shuffle(edges)
        parts = _parts(edges)
        if exact_cover(range(len(edges)), parts) is None:
            simple = edges, vertices
            if len({edge for part in parts for edge in part}) == len(edges):
                return simple
    assert simple is not None
    return simple


def _edge_partition(
    edges: list[Edge],
    vertices: int,
    parts: list[tuple[int, ...]] | None,
    asked: Answer | None,
    names: tuple[str, ...] = (),
) -> Generated:
    answer = settled(asked, perfect=parts is not None, otherwise="no")
    words = "the edges fall into triangles and stars" if parts else "the edges do not: all ways were tried"
    return Generated(
        f"Edge partition of a graph with {len(edges)} edges into triangles and 4-stars as binary 3-anonymity",
        text_frame([[int(v in edge) for v in range(vertices)] for edge in edges], columns("v", vertices)),
        columns("v", vertices),
        (KAnonymity(3),),
        3 * len(edges) if parts else None,
        "Blocki, Williams 2010, Appendix C: three cells a row exactly where the edges fall into triangles and 4-stars; "
        f"{words}. A mask of patterns that suppress three columns loses nothing: other rows lose more",
        patterns=masked(
            [[v for v in range(vertices) if v not in three] for three in itertools.combinations(range(vertices), 3)],
            vertices,
        ),
        sides={} if parts else {"cost_bound": 3 * len(edges)},
        groups=tuple(parts) if parts else None,
        source_problem=f"a partition of {len(edges)} edges into triangles and stars with three rays",
        read_back=lambda found: _read_edges(found, edges, names),
        answer=answer,
    )


def _read_edges(groups: Groups, edges: list[Edge], names: Sequence[str]) -> str:
    kinds: Counter[str] = Counter()
    for group in groups:
        touched = Counter(v for row in group for v in edges[row])
        if len(group) != 3 or sorted(touched.values()) not in ([2, 2, 2], [1, 1, 1, 3]):
            raise ValueError("a group is neither a triangle nor a star with three rays")
        kinds["triangles" if len(touched) == 3 else "stars"] += 1
    words = f"{kinds['triangles']} triangles and {kinds['stars']} stars"
    return words + listed([f"{names[a]}-{names[b]}" for a, b in edges] if names else (), groups)


@dataclass(frozen=True)
class _Bipartite:
    """A bipartite graph of 2q + 2q vertices, and q vertices of its first side with as many neighbours in common as
    possible. neighbours: of the vertices of the first side."""

    q: int
    neighbours: list[set[int]]
    chosen: tuple[int, ...]
    common: int
    answer: Answer
    names: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def drawn(cls, q: int, draw: random.Random, answer: Answer) -> _Bipartite:
        """A graph with a planted complete subgraph of q + q vertices, or one from which edges of each were taken."""
        half = 2 * q
        first, second = sorted(draw.sample(range(half), q)), sorted(draw.sample(range(half), q))
        neighbours = [set(draw.sample(range(half), q - 1)) for _ in range(half)]
        if answer == "yes":
            for a in first:
                neighbours[a] = {*second, *(b for b in range(half) if draw.random() < DENSITY)}
            for b in set(range(half)) - set(second):
                if all(b in neighbours[a] for a in first):
                    neighbours[draw.choice(first)].remove(b)
        else:
            neighbours = [{b for b in range(half) if draw.random() < DENSE} for _ in range(half)]
            while len((found := most_common_neighbours(neighbours, q))[1]) >= q:
                neighbours[draw.choice(found[0])].remove(draw.choice(sorted(found[1])))
        return cls.solved(q, neighbours, answer)

    @classmethod
    def of_source(cls, source: Source, asked: Answer | None) -> _Bipartite:
        """One's own, solved."""
        sizes = [len(part) for part in source.names]
        if len(sizes) != 2 or sizes[0] != sizes[1] or sizes[0] % 2 or not sizes[0]:
            raise InputError(f"two parts of one even number of vertices are expected, found {sizes}")
        neighbours: list[set[int]] = [set() for _ in range(sizes[0])]
        for (_, a), (_, b) in source.members:
            neighbours[a].add(b)
        return replace(cls.solved(sizes[0] // 2, neighbours, asked), names=source.names)

    @classmethod
    def solved(cls, q: int, neighbours: list[set[int]], asked: Answer | None) -> _Bipartite:
        """All sets of q vertices are tried."""
        chosen, common = most_common_neighbours(neighbours, q)
        answer = settled(asked, perfect=len(common) >= q, otherwise="no")
        return cls(q, neighbours, chosen, len(common), answer)

    @property
    def matrix(self) -> list[list[str]]:
        """1 for an edge; 0 with one of two indices, so that no other symbol is in more than q rows."""
        half = range(2 * self.q)
        return [["1" if b in self.neighbours[a] else "01" if a < self.q else "02" for b in half] for a in half]


def _homogeneous(
    theorem: str, graph: _Bipartite, t_out: Fraction | int = 2, p: Fraction | int = 1, *, diverse: bool = False
) -> Generated:
    """The vertices of a balanced complete bipartite subgraph, and all else, are two released row types (Proposition 1);
    there may be more of them, of rows that are alike (Theorem 1), and p different sensitive values in each group
    (Corollary 1.1), or l-diversity alone: each row has a sensitive value of its own, and l = q + 1 (Corollary 1.2).

    The paper sketches p = 2: the two special rows have the value 1, the vertices 0, and rows that are alike half and
    half. For larger p there are p - 1 of each special row, with the values 1 to p - 1, k is larger by p - 2, and rows
    that are alike have all values in turn.
    """
    types, least = int(t_out), int(p)
    q, half, special = graph.q, 2 * graph.q, max(1, least - 1)
    k = q + special
    dummies = half if types > 2 else 0
    rows = [[*row, *["1"] * dummies] for row in graph.matrix]
    rows += [["-"] * half + ["1"] * dummies] * special + [["1"] * (half + dummies)] * special
    names = [*columns("b", half), *columns("d", dummies)]
    rows += [[f"x{number}"] * len(names) for number in range(types - 2) for _ in range(k)]
    refuse_large(len(rows), len(names))
    bound, first = k * half + k * q, half + 2 * special
    rest = [a for a in range(half) if a not in graph.chosen]
    alike = [tuple(range(first + number * k, first + (number + 1) * k)) for number in range(types - 2)]
    groups = (
        (*rest, *range(half, half + special)),
        (*graph.chosen, *range(half + special, half + 2 * special)),
        *alike,
    )
    sensitive: tuple[str, ...] = ()
    privacy: list[KAnonymity | PSensitivity | LDiversity] = [KAnonymity(k)]
    if diverse or least > 1:
        sensitive = ("s",)
        values = [str(1 + number) for number in range(special)]
        secrets = ["0"] * half + values + values + [str(number % least) for _ in alike for number in range(k)]
        privacy.append(PSensitivity(least))
        if diverse:
            secrets, privacy = [f"s{number}" for number in range(len(rows))], [LDiversity(k)]
        rows = [[*row, value] for row, value in zip(rows, secrets, strict=True)]
    what = f"{k}-diversity" if diverse else f"{least}-sensitive {k}-anonymity" if least > 1 else f"{k}-anonymity"
    words = f"a bipartite graph with {half} + {half} vertices"
    yes = graph.answer == "yes"
    return Generated(
        f"Balanced complete bipartite subgraph of {words} as {what} with {types} released row types",
        text_frame(rows, [*names, *sensitive]),
        tuple(names),
        tuple(privacy),
        k * half + k * (half - graph.common) if yes else None,
        f"Bredereck et al. 2012, {theorem}: {k}·{half} cells, and {k} for each vertex of the second side that is not "
        f"joined to the {q} chosen ones; of all sets of {q} vertices one has {graph.common} neighbours in common, and "
        "none has more",
        sensitive=sensitive,
        sides={"cost_bound": bound, "groups": types},
        groups=groups if yes else None,
        source_problem=f"a complete bipartite subgraph with {q} + {q} vertices in {words}",
        read_back=lambda found: _read_subgraph(found, graph, range(half + special, half + 2 * special)),
        answer=graph.answer,
    )


def _read_subgraph(groups: Groups, graph: _Bipartite, ones: range) -> str:
    half = 2 * graph.q
    for group in groups:
        first = [row for row in group if row < half]
        common = set.intersection(set(range(half)), *(graph.neighbours[a] for a in first))
        if len(first) >= graph.q and len(common) >= graph.q and any(row in ones for row in group):
            words = f"complete bipartite subgraph with {len(first)} + {len(common)} vertices"
            both = [*first, *(half + b for b in sorted(common))]
            return words + listed([name for part in graph.names for name in part], [both])
    raise ValueError("no group stands for a complete bipartite subgraph")


_T_OUT = Parameter("t_out", "an integer of at least 2, default 4", Fraction(4), lambda t: t >= 2 and t.denominator == 1)
_P = Parameter("p", "an integer of at least 2, default 2", Fraction(2), lambda p: p >= 2 and p.denominator == 1)
FAMILIES = (
    Family(
        "edge_partition", "edge partition into triangles and 4-stars → binary 3-anonymity",
        "Blocki, Williams 2010, Theorem 1.5, Appendix C", "parts of the partition", 4, 1, edge_partition, True,
        reads="graph", of_source=edge_partition_of,
    ),
    *(
        Family(
            name, f"balanced complete bipartite subgraph → {what}", f"Bredereck et al. 2012, {theorem}",
            "q of a subgraph with q + q vertices in a graph with 2q + 2q", 2, 2, _Bipartite.drawn, True, largest,
            reads="parts", of_source=_Bipartite.of_source, build=partial(_homogeneous, theorem, diverse=diverse),
            parameters=parameters,
        )
        for name, what, theorem, largest, diverse, parameters in (
            ("bipartite", "k-anonymity with t_out = 2", "Proposition 1", 9, False, ()),
            ("bipartite_types", "k-anonymity with any t_out", "Theorem 1", 4, False, (_T_OUT,)),
            ("bipartite_sensitive", "p-sensitivity with any t_out", "Corollary 1.1", 4, False, (_T_OUT, _P)),
            ("bipartite_diverse", "l-diversity with any t_out", "Corollary 1.2", 4, True, (_T_OUT,)),
        )
    ),
)  # fmt: skip
