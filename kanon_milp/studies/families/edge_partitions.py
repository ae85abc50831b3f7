"""Edge partitions: tripartite graphs into triangles as l-diversity, 1-in-3 SAT as 4-stars and binary 3-anonymity."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kanon_milp.errors import InputError
from kanon_milp.problem.privacy import KAnonymity, LDiversity
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
from kanon_milp.studies.families.source_problems import Clause, Edge, Literal, Source, exact_cover, one_true_literal

Vertex = tuple[int, int]  # its part of three, and its number there
PartEdge = tuple[Vertex, Vertex]
Triangle = tuple[PartEdge, PartEdge, PartEdge]
PARTS = "abc"
SWITCHES = 1000  # until edges fall into no triangles


class _Case(NamedTuple):
    theorem: str
    requirement: LDiversity
    sensitive: list[str]


# Three sensitive attributes say which parts an edge touches. The proof takes a triangle for 2-diverse, which it is
# attribute by attribute. By the paper's Definition 1 no two edges of a tripartite graph are partners, since both touch
# some part; so the form is "distinct".
_TWO = _Case("Theorem 1.6", LDiversity(2, form="distinct"), [f"touches_{part}" for part in PARTS])
# One sensitive attribute says which two parts an edge joins.
_THREE = _Case("Theorem 1.7", LDiversity(3), ["joins"])
_Partition = tuple[list[PartEdge], list[Triangle] | None, Answer | None, tuple[tuple[str, ...], ...]]


def _drawn(size: int, draw: random.Random, answer: Answer) -> _Partition:
    """Edges, for yes the triangles that they are, the answer, and no names."""
    number = math.isqrt(2 * size - 1) + 2  # vertices of a part
    refuse_large(3 * size, 3 * number)
    triangles = _disjoint(size, number, draw)
    edges = [edge for triangle in triangles for edge in triangle]
    if answer == "no":
        edges = _without_partition(edges, draw)
    draw.shuffle(edges)
    return edges, triangles if answer == "yes" else None, answer, ()


def _solved(source: Source, asked: Answer | None) -> _Partition:
    if len(source.names) != 3:
        raise InputError(f"three parts of vertices are expected, found {len(source.names)}")
    edges: list[PartEdge] = list(source.members)
    refuse_large(len(edges), sum(map(len, source.names)))
    return edges, _falls_apart(edges), asked, source.names


def _partition(case: _Case, source: _Partition) -> Generated:
    """An edge is a row that says which two vertices it joins: a triangle loses three cells a row, and no other group
    that is diverse loses as few."""
    (theorem, requirement, sensitive), (edges, triangles, asked, names) = case, source
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
        f"PartEdge partition of a tripartite graph with {m} edges into triangles as {kind}",
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


def _triangles(edges: list[PartEdge]) -> list[Triangle]:
    known = set(edges)
    parts = [sorted({v for edge in edges for part, v in edge if part == which}) for which in range(3)]
    joined = [(a, b) for (pa, a), (pb, b) in edges if (pa, pb) == (0, 1)]
    found = (_triangle(a, b, c) for a, b in joined for c in parts[2])
    return sorted(each for each in found if known.issuperset(each))


def _without_partition(edges: list[PartEdge], draw: random.Random) -> list[PartEdge]:
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


def _falls_apart(edges: list[PartEdge]) -> list[Triangle] | None:
    """Triangles that share no edge and are all of the edges; None where there are none."""
    triangles = _triangles(edges)
    found = exact_cover(edges, triangles)
    return None if found is None else [triangles[number] for number in found]


def _read_triangles(groups: Groups, edges: list[PartEdge], names: Sequence[str]) -> str:
    known = {frozenset(each) for each in _triangles(edges)}
    if not all(frozenset(edges[row] for row in group) in known for group in groups):
        raise ValueError("a group is no triangle")
    return f"{len(groups)} triangles" + listed(names, groups)


_SIZE = "triangles"

COPIES = 3  # of a clause
FEW_CLAUSES, MOST_TRIED, ATTEMPTS = 6, 12, 200  # of a formula whose values are all tried; random ones of these


@dataclass
class _Graph:
    """A graph of gadgets as it grows.

    parents: of each literal the ends of shared edges that are still free, each as often as it has such edges. tree: of
    the inner vertices of a variable's gadget the literal whose tree they are in, and whether they are as deep as those.
    """

    edges: list[Edge] = field(default_factory=list)
    vertices: int = 0
    parents: dict[Literal, Counter[int]] = field(default_factory=dict)
    tree: dict[int, tuple[Literal, bool]] = field(default_factory=dict)

    def vertex(self) -> int:
        """A new vertex."""
        self.vertices += 1
        return self.vertices - 1

    def add_variable(self, variable: int, times: int) -> None:
        """Two trees whose inner vertices have three neighbours, joined by three edges between parents of leaves that
        were deleted (Definition 11). Leaves are added where they are merged with others.

        times: how often each of its literals occurs at most.
        """
        depth = 1
        while COPIES * 2 ** (depth - 1) < COPIES * (times + 1):
            depth += 1
        joined = []
        for literal in ((variable, True), (variable, False)):
            level = [self.vertex()]
            inner = [level]
            for number in range(1, depth):
                children = [[self.vertex() for _ in range(3 if number == 1 else 2)] for _ in level]
                self.edges += [(v, child) for v, new in zip(level, children, strict=True) for child in new]
                level = [child for new in children for child in new]
                inner.append(level)
            for number, alike in enumerate(inner):
                self.tree |= dict.fromkeys(alike, (literal, (depth - 1 - number) % 2 == 0))
            self.parents[literal] = Counter({v: 1 if at < COPIES else 2 for at, v in enumerate(level)})
            joined.append(level[:COPIES])
        self.edges += list(zip(*joined, strict=True))

    def take(self, literal: Literal) -> int:
        """The end of a shared edge, of those that have most left, as the paper says, so that no edge is double."""
        free = self.parents[literal]
        parent = max(free, key=lambda v: free[v])
        free[parent] -= 1
        return parent

    def add_clause(self, clause: Clause) -> None:
        """A star with a private edge and one shared edge of each literal (Definition 12), three times."""
        for _ in range(COPIES):
            centre, end = self.vertex(), self.vertex()
            self.edges += [(centre, end), *((self.take(literal), centre) for literal in clause)]

    def neighbours(self) -> dict[int, list[int]]:
        """Edges at each vertex, as numbers."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, edge in enumerate(self.edges):
            for v in edge:
                found[v].append(number)
        return found

    def stars(self) -> list[tuple[int, ...]]:
        """The three ends of each star with three rays."""
        around = ([v for e in at for v in self.edges[e] if v != centre] for centre, at in self.neighbours().items())
        return [ends for each in around for ends in itertools.combinations(each, 3)]

    def partition(self, truth: Mapping[int, bool]) -> tuple[tuple[int, ...], ...]:
        """The edges of each star, where these values make one literal of each clause true."""
        at = self.neighbours()
        centres = [v for v, ((variable, sign), deepest) in self.tree.items() if (truth[variable] == sign) == deepest]
        groups = [tuple(at[v]) for v in centres]
        taken = {edge for group in groups for edge in group}
        for v, edges in at.items():
            rest = tuple(edge for edge in edges if edge not in taken)
            if v not in self.tree and len(rest) == 3:
                groups.append(rest)
        return tuple(groups)

    def join_rest(self) -> None:
        """Shared edges that no clause has: three of different parents get a common end."""
        for free in self.parents.values():
            while sum(free.values()):
                chosen = [v for v, _ in free.most_common(COPIES)]
                centre = self.vertex()
                self.edges += [(v, centre) for v in chosen]
                free.subtract(chosen)


def one_in_three(size: int, draw: random.Random, answer: Answer) -> Generated:
    """1-in-3 SAT as edge partition into 4-stars (Theorem 1.5), whose edges are rows over two values."""
    variables = size + 1
    refuse_large(60 * size, 40 * size)
    truth = [draw.random() < 0.5 for _ in range(variables)]
    clauses = [_clause(draw, truth) for _ in range(size)]
    if answer == "no":
        return _one_in_three(_unsatisfiable(draw, clauses, variables), None, answer, draw)
    return _one_in_three(clauses, dict(enumerate(truth)), answer, draw)


def one_in_three_of(source: Source, asked: Answer | None) -> Generated:
    """The same, of a formula of one's own."""
    clauses = list(source.members)
    refuse_large(60 * len(clauses), 40 * len(clauses))
    return _one_in_three(clauses, one_true_literal(clauses), asked, random.Random(0), source.names[0])


def _one_in_three(
    clauses: list[Clause],
    truth: dict[int, bool] | None,
    asked: Answer | None,
    draw: random.Random,
    names: tuple[str, ...] = (),
) -> Generated:
    """A vertex of a tree is the centre of the star of its three edges exactly if its neighbours are not, and the three
    edges between the trees make one tree's deepest vertices centres and not the other's: true or false. A clause's
    private edge takes two of its shared edges, so exactly one is taken by a tree. The paper also says that the graph is
    bipartite. It is not, where one variable is in both of its literals; but it has no triangle, which is what is used.
    """
    answer, size = settled(asked, perfect=truth is not None, otherwise="no"), len(clauses)
    times = Counter(literal for clause in clauses for literal in clause)
    graph = _Graph()
    for variable in sorted({variable for variable, _ in times}):
        graph.add_variable(variable, max(times[variable, True], times[variable, False]))
    for clause in clauses:
        graph.add_clause(clause)
    graph.join_rest()
    draw.shuffle(graph.edges)
    m, stars = len(graph.edges), graph.stars()
    everything = range(graph.vertices)
    return Generated(
        f"1-in-3 SAT with {size} clauses as edge partition of {m} edges into 4-stars, and binary 3-anonymity",
        text_frame([[int(v in edge) for v in everything] for edge in graph.edges], columns("v", graph.vertices)),
        columns("v", graph.vertices),
        (KAnonymity(3),),
        3 * m if truth is not None else None,
        "Blocki, Williams 2010, Theorem 1.5 and Appendix C: three cells a row, exactly where values make one literal "
        "of each clause true; "
        + ("there are such values" if truth is not None else "there are none")
        + ". A mask that suppresses the three ends of a star loses nothing: a row loses three cells in stars alone",
        patterns=masked([sorted(set(everything) - set(ends)) for ends in stars], graph.vertices),
        sides={} if truth is not None else {"cost_bound": 3 * m},
        groups=graph.partition(truth) if truth is not None else None,
        source_problem=f"values of {len(graph.parents) // 2} variables with one true literal in each of {size} clauses",
        read_back=lambda found: _read_truth(found, graph, clauses, names),
        answer=answer,
    )


def _clause(draw: random.Random, truth: list[bool]) -> Clause:
    """Three variables, one of whose literals is true."""
    chosen = draw.sample(range(len(truth)), 3)
    a, b, c = ((variable, truth[variable] == (at == 0)) for at, variable in enumerate(chosen))
    return a, b, c


def _unsatisfiable(draw: random.Random, clauses: list[Clause], variables: int) -> list[Clause]:
    """As many clauses that no values make true: random ones where all values can be tried, else the paper's Example 2.

    In that, one clause has the opposite literals of another: where one of three is true, two of their opposites are.
    """
    if FEW_CLAUSES <= len(clauses) <= MOST_TRIED:
        for _ in range(ATTEMPTS):
            some = [_clause(draw, [draw.random() < 0.5 for _ in range(variables)]) for _ in clauses]
            if one_true_literal(some) is None:
                return some
    a, b, c = clauses[0]
    return [*clauses[:-1], (_opposite(a), _opposite(b), _opposite(c))]


def _opposite(literal: Literal) -> Literal:
    return literal[0], not literal[1]


def _read_truth(groups: Groups, graph: _Graph, clauses: list[Clause], names: tuple[str, ...]) -> str:
    """A literal is true where the deepest vertices of its tree are centres of stars."""
    truth: dict[Literal, bool] = {}
    for group in groups:
        ends = Counter(v for row in group for v in graph.edges[row])
        (centre, times), *others = ends.most_common()
        if len(group) != 3 or times != 3 or len(others) != 3:
            raise ValueError("a group is no star with three rays")
        if centre in graph.tree:
            literal, deepest = graph.tree[centre]
            if (
                truth.setdefault(literal, deepest) != deepest
                or truth.setdefault(_opposite(literal), not deepest) == deepest
            ):
                raise ValueError("a tree has centres at odd and at even depths")
    if any(sum(truth[literal] for literal in clause) != 1 for clause in clauses):
        raise ValueError("a clause has not one true literal")
    values = (f"{name} {str(truth[number, True]).lower()}" for number, name in enumerate(names))
    return f"one true literal in each of {len(clauses)} clauses{': ' if names else ''}{', '.join(values)}"


FAMILIES = (
    Family(
        "triangles_2_diversity", "tripartite edge partition into triangles → 2-diversity of three attributes",
        "Blocki, Williams 2010, Theorem 1.6", _SIZE, 4, 3, _drawn, True, 60,
        reads="parts", of_source=_solved, build=partial(_partition, _TWO),
    ),
    Family(
        "triangles_3_diversity", "tripartite edge partition into triangles → 3-diversity of one attribute",
        "Blocki, Williams 2010, Theorem 1.7", _SIZE, 4, 3, _drawn, True, 60,
        reads="parts", of_source=_solved, build=partial(_partition, _THREE),
    ),
    Family(
        "one_in_three", "1-in-3 SAT → edge partition into 4-stars → binary 3-anonymity",
        "Blocki, Williams 2010, Theorem 1.5", "clauses", 2, 2, one_in_three, True, reads="formula",
        of_source=one_in_three_of,
    ),
)  # fmt: skip
