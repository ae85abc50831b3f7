"""Edge partition of tripartite graphs into triangles as 2-diversity of three attributes, and 3-diversity of one."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from kanon_milp.errors import InputError
from kanon_milp.problem.privacy import LDiversity
from kanon_milp.studies.families.base import (
    Answer,
    Family,
    Generated,
    Groups,
    columns,
    listed,
    masked,
    refuse_large,
    settled,
    text_frame,
)
from kanon_milp.studies.families.source_problems import Source, exact_cover

Vertex = tuple[int, int]  # its part of three, and its number there
Edge = tuple[Vertex, Vertex]
Triangle = tuple[Edge, Edge, Edge]
PARTS = "abc"
SWITCHES = 1000  # until edges fall into no triangles


class _Case(NamedTuple):
    """A theorem, its requirement, and its sensitive attributes."""

    theorem: str
    requirement: LDiversity
    sensitive: list[str]


def two_diversity(size: int, draw: random.Random, answer: Answer) -> Generated:
    """Three sensitive attributes say which parts an edge touches (Theorem 1.6).

    The proof takes a triangle for 2-diverse, which it is attribute by attribute. By the paper's Definition 1 no two
    edges of a tripartite graph are partners, since both touch some part; so the form is "distinct".
    """
    return _partition(*_drawn(size, draw, answer), answer, _TWO)


def two_diversity_of(source: Source, asked: Answer | None) -> Generated:
    """The same, of a graph of one's own."""
    return _partition(*_solved(source, "triangles_2_diversity"), asked, _TWO, source.names)


def three_diversity(size: int, draw: random.Random, answer: Answer) -> Generated:
    """One sensitive attribute says which two parts an edge joins (Theorem 1.7)."""
    return _partition(*_drawn(size, draw, answer), answer, _THREE)


def three_diversity_of(source: Source, asked: Answer | None) -> Generated:
    """The same, of a graph of one's own."""
    return _partition(*_solved(source, "triangles_3_diversity"), asked, _THREE, source.names)


_TWO = _Case("Theorem 1.6", LDiversity(2, form="distinct"), [f"touches_{part}" for part in PARTS])
_THREE = _Case("Theorem 1.7", LDiversity(3), ["joins"])


def _drawn(size: int, draw: random.Random, answer: Answer) -> tuple[list[Edge], list[Triangle] | None]:
    """Edges, and for yes the triangles that they are."""
    number = math.isqrt(2 * size - 1) + 2  # vertices of a part
    refuse_large(3 * size, 3 * number)
    triangles = _disjoint(size, number, draw)
    edges = [edge for triangle in triangles for edge in triangle]
    if answer == "no":
        edges = _without_partition(edges, draw)
    draw.shuffle(edges)
    return edges, triangles if answer == "yes" else None


def _solved(source: Source, family: str) -> tuple[list[Edge], list[Triangle] | None]:
    """Those of one's own graph."""
    if len(source.names) != 3:
        raise InputError(f"{family}: three parts of vertices are expected, found {len(source.names)}")
    edges: list[Edge] = list(source.members)
    refuse_large(len(edges), sum(map(len, source.names)))
    return edges, _falls_apart(edges)


def _partition(
    edges: list[Edge],
    triangles: list[Triangle] | None,
    asked: Answer | None,
    case: _Case,
    names: tuple[tuple[str, ...], ...] = (),
) -> Generated:
    """An edge is a row that says which two vertices it joins: a triangle loses three cells a row, and no other group
    that is diverse loses as few."""
    theorem, requirement, sensitive = case
    called = ["-".join(names[part][number] for part, number in edge) for edge in edges] if names else ()
    answer = settled(asked, perfect=triangles is not None, otherwise="no")
    place = {edge: row for row, edge in enumerate(edges)}
    vertices = sorted({v for edge in edges for v in edge})
    touched = [{part for part, _ in edge} for edge in edges]
    rows = [[int(v in edge) for v in vertices] for edge in edges]
    secrets: list[list[object]] = [[int(part in each) for part in range(3)] for each in touched]
    if len(sensitive) == 1:
        secrets = [["".join(PARTS[part] for part in sorted(each))] for each in touched]
    held, m = columns("v", len(vertices)), len(edges)
    kind = f"{requirement.l}-diversity of {'three attributes' if len(sensitive) > 1 else 'one attribute'}"
    triples = [tuple(sorted({v for edge in each for v in edge})) for each in _triangles(edges)]
    return Generated(
        f"Edge partition of a tripartite graph with {m} edges into triangles as {kind}",
        text_frame([[*row, *secret] for row, secret in zip(rows, secrets, strict=True)], [*held, *sensitive]),
        held,
        (requirement,),
        3 * m if answer == "yes" else None,
        f"Blocki, Williams 2010, {theorem}: three cells a row, if "
        + (
            "the edges fall into triangles, as they do"
            if answer == "yes"
            else "the edges fall into triangles, which they do not: all ways were tried"
        )
        + ". A mask that suppresses the columns of a triangle loses nothing: other rows lose more than three cells",
        sensitive=tuple(sensitive),
        patterns=masked([[at for at, v in enumerate(vertices) if v not in each] for each in triples], len(vertices)),
        sides={} if answer == "yes" else {"cost_bound": 3 * m},
        groups=None if triangles is None else tuple(tuple(place[edge] for edge in each) for each in triangles),
        source_problem=f"a partition of {m} edges of a tripartite graph into triangles",
        read_back=lambda found: _read_triangles(found, edges, called),
        answer=answer,
    )


def _disjoint(size: int, number: int, draw: random.Random) -> list[Triangle]:
    """So many triangles of a tripartite graph with so many vertices a part, no two of which share an edge: those of a
    Latin square, some of its cells."""
    shift = [draw.sample(range(number), number) for _ in range(3)]
    cells = draw.sample(list(itertools.product(range(number), repeat=2)), size)
    return [_triangle(shift[0][a], shift[1][b], shift[2][(a + b) % number]) for a, b in cells]


def _triangle(a: int, b: int, c: int) -> Triangle:
    return ((0, a), (1, b)), ((0, a), (2, c)), ((1, b), (2, c))


def _triangles(edges: list[Edge]) -> list[Triangle]:
    """All triangles of a tripartite graph."""
    known = set(edges)
    parts = [sorted({v for edge in edges for part, v in edge if part == which}) for which in range(3)]
    joined = [(a, b) for (pa, a), (pb, b) in edges if (pa, pb) == (0, 1)]
    found = (_triangle(a, b, c) for a, b in joined for c in parts[2])
    return sorted(each for each in found if known.issuperset(each))


def _without_partition(edges: list[Edge], draw: random.Random) -> list[Edge]:
    """A graph with the same degrees between the parts whose edges do not fall into triangles: pairs of edges between
    the same parts exchange their ends."""
    for _ in range(SWITCHES):
        (a, b), (c, d) = draw.sample(edges, 2)
        new = [(a, d), (c, b)]
        if (a[0], b[0]) == (c[0], d[0]) and not set(new) & set(edges) and len({a, b, c, d}) == 4:
            edges = [edge for edge in edges if edge not in ((a, b), (c, d))] + new
            if _falls_apart(edges) is None:
                return edges
    raise AssertionError("few edges of a graph in general position fall into triangles")


def _falls_apart(edges: list[Edge]) -> list[Triangle] | None:
    """Triangles that share no edge and are all of the edges; None where there are none."""
    triangles = _triangles(edges)
    found = exact_cover(edges, triangles)
    return None if found is None else [triangles[number] for number in found]


def _read_triangles(groups: Groups, edges: list[Edge], names: Sequence[str]) -> str:
    known = {frozenset(each) for each in _triangles(edges)}
    if not all(frozenset(edges[row] for row in group) in known for group in groups):
        raise ValueError("a group is no triangle")
    return f"{len(groups)} triangles" + listed(names, groups)


_SIZE = "triangles"
FAMILIES = (
    Family(
        "triangles_2_diversity", "tripartite edge partition into triangles → 2-diversity of three attributes",
        "Blocki, Williams 2010, Theorem 1.6", _SIZE, 4, 3, two_diversity, True, 60,
        reads="parts", of_source=two_diversity_of,
    ),
    Family(
        "triangles_3_diversity", "tripartite edge partition into triangles → 3-diversity of one attribute",
        "Blocki, Williams 2010, Theorem 1.7", _SIZE, 4, 3, three_diversity, True, 60,
        reads="parts", of_source=three_diversity_of,
    ),
)  # fmt: skip
