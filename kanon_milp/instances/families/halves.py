"""Problems about halves of a graph's vertices: minimum bisection, and cliques of half of the vertices."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction

from kanon_milp.instances.families.base import Answer, Family, Generated, Groups, columns, masked, text_frame
from kanon_milp.problem.privacy import KAnonymity

Edge = tuple[int, int]
MOST_EDGES = 16  # of which each subset may be a pattern
FEW_EDGES = 10  # where columns are added, and a mask lists each subset
SHARES = (Fraction(1, 3), Fraction(1, 4))  # c of Theorem 4
OLD, NEW = "A", "B"  # the fresh symbols


@dataclass(frozen=True)
class _Bisection:
    """A graph and its smallest cut in halves. vertices: an even number of them."""

    vertices: int
    edges: list[Edge]
    half: tuple[int, ...]
    cut: int

    @property
    def halves(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Both halves."""
        return self.half, tuple(v for v in range(self.vertices) if v not in self.half)

    @property
    def rows(self) -> list[list[object]]:
        """A vertex is a row, an edge a column in which its two ends have values of their own (Theorem 3)."""
        return _incidence(self.edges, self.vertices)

    @property
    def optimum(self) -> int:
        """Of (n/2)-anonymity."""
        return self.vertices * (len(self.edges) + self.cut) // 2

    def read_back(self, groups: Groups) -> str:
        """The cut of two groups of half of the rows, all other groups being of other rows."""
        old = [set(group) for group in groups if min(group) < self.vertices]
        if [len(half) for half in old] != [self.vertices // 2] * 2 or max(map(max, old)) >= self.vertices:
            raise ValueError("no two groups of half of the rows")
        return f"cut of {_cut(self.edges, old[0])} edges"


def _bisection(size: int, draw: random.Random, most: int) -> _Bisection:
    n = 2 * (size // 2)
    every = list(itertools.combinations(range(n), 2))
    edges = sorted(draw.sample(every, min(n + n // 2, most, len(every))))
    halves = [(0, *rest) for rest in itertools.combinations(range(1, n), n // 2 - 1)]
    half = min(halves, key=lambda chosen: _cut(edges, set(chosen)))
    return _Bisection(n, edges, half, _cut(edges, set(half)))


def _cut(edges: list[Edge], inside: set[int]) -> int:
    return sum((a in inside) != (b in inside) for a, b in edges)


def _incidence(edges: list[Edge], vertices: int) -> list[list[object]]:
    return [[v + 1 if v in edge else 0 for edge in edges] for v in range(vertices)]


def bisection(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """Minimum bisection as (n/2)-anonymity (Theorem 3)."""
    source = _bisection(size, draw, MOST_EDGES)
    n, m = source.vertices, len(source.edges)
    return Generated(
        f"Minimum bisection of a graph with {n} vertices and {m} edges as (n/2)-anonymity",
        text_frame(source.rows, columns("e", m)),
        columns("e", m),
        (KAnonymity(n // 2),),
        source.optimum,
        f"Liang, Yuan 2013, Theorem 3: n(|E| + c)/2 for the smallest cut c = {source.cut}; all halves were tried",
        groups=source.halves,
        source_problem=f"a cut of {n} vertices in halves, with as few of {m} edges as possible between them",
        read_back=source.read_back,
    )


def bisection_share(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """(n/2)-anonymity as (cn)-anonymity, c = 1/3 or 1/4 (Theorem 4): n/2c - n new rows, and nm columns that tell old
    rows from new ones, so that these are never together."""
    source = _bisection(size, draw, FEW_EDGES)
    n, m, share = source.vertices, len(source.edges), draw.choice(SHARES)
    new, added = int(n / (2 * share)) - n, n * m
    rows: list[list[object]] = [[*row, *[OLD] * added] for row in source.rows]
    rows += [[NEW] * (m + added)] * new
    every = itertools.chain.from_iterable(itertools.combinations(range(m), number) for number in range(m + 1))
    names = [*columns("e", m), *columns("x", added)]
    return Generated(
        f"(n/2)-anonymity of {n} rows as (cn)-anonymity of {n + new} rows with c = {share}",
        text_frame(rows, names),
        tuple(names),
        (KAnonymity(n // 2),),
        source.optimum,
        f"Liang, Yuan 2013, Theorem 4: that of the (n/2)-anonymity of Theorem 3, n(|E| + c)/2 for the smallest cut "
        f"c = {source.cut}; all halves were tried. A mask loses nothing: new columns are suppressed together",
        patterns=masked([[*kept, *range(m, m + added)] for kept in every], m + added),
        groups=(*source.halves, tuple(range(n, n + new))),
        source_problem=f"(n/2)-anonymity of the first {n} rows and {m} columns: a cut of {n} vertices in halves, "
        f"with as few of {m} edges as possible between them",
        read_back=source.read_back,
    )


def half_clique(size: int, draw: random.Random, answer: Answer) -> Generated:
    """A clique of half of the vertices as (cn)-anonymity with 1/3 < c < 1/2 (Theorem 5).

    Vertices are rows as in Theorem 3; the new rows have a value of their own in every column. So a group with a new row
    loses everything, and the other group should be the vertices outside of the clique, whose columns are its edges.
    The number of rows is that of c = 2/5, rounded down. In the last formula of the paper's proof, |E11| + |E22| stands
    for |E11| + |E12|.
    """
    n, rows_in_all = 2 * size, 5 * size // 2
    every = list(itertools.combinations(range(n), 2))
    clique = sorted(draw.sample(range(n), size))
    inside = list(itertools.combinations(clique, 2))
    others = draw.sample([edge for edge in every if edge not in inside], min(size + 1, len(every) - len(inside)))
    edges = sorted({*inside, *others})
    if answer == "no":
        while found := _half_clique(edges, n, size):
            edges.remove(draw.choice(list(itertools.combinations(found, 2))))
    m = len(edges)
    rows = _incidence(edges, n) + [[i + 1] * m for i in range(n, rows_in_all)]
    bound = rows_in_all * m - size * (size * (size - 1) // 2)
    smaller = itertools.chain.from_iterable(itertools.combinations(range(n), number) for number in range(2, size + 1))
    kept = {tuple(at for at, edge in enumerate(edges) if set(edge) <= set(chosen)) for chosen in smaller}
    rest = tuple(v for v in range(n) if v not in clique)
    return Generated(
        f"Clique of {size} vertices in a graph with {n} vertices and {m} edges as (cn)-anonymity of {rows_in_all} rows",
        text_frame(rows, columns("e", m)),
        columns("e", m),
        (KAnonymity(size),),
        bound if answer == "yes" else None,
        "Liang, Yuan 2013, Theorem 5: n'm - (n/2)·C(n/2, 2)"
        + ("; the clique is planted" if answer == "yes" else " needs a clique, and all sets of vertices were tried")
        + ". A mask of the edges within each set of vertices loses nothing",
        patterns=masked(sorted(kept), m),
        sides={} if answer == "yes" else {"cost_bound": bound},
        groups=(rest, (*clique, *range(n, rows_in_all))) if answer == "yes" else None,
        source_problem=f"a clique of {size} vertices in a graph with {n} vertices and {m} edges",
        read_back=lambda groups: _read_clique(groups, edges, n),
    )


def _half_clique(edges: list[Edge], n: int, size: int) -> tuple[int, ...] | None:
    known = set(edges)
    cliques = (
        each for each in itertools.combinations(range(n), size) if known.issuperset(itertools.combinations(each, 2))
    )
    return next(cliques, None)


def _read_clique(groups: Groups, edges: list[Edge], n: int) -> str:
    known = set(edges)
    for group in groups:
        clique = sorted(row for row in group if row < n)
        if len(clique) == n // 2 and known.issuperset(itertools.combinations(clique, 2)):
            return f"clique of {len(clique)} vertices"
    raise ValueError("no group holds a clique of half of the vertices")


FAMILIES = (
    Family(
        "bisection", "minimum bisection → (n/2)-anonymity", "Liang, Yuan 2013, Theorem 3", "vertices", 8, 4, bisection,
        largest=16,
    ),
    Family(
        "bisection_share", "(n/2)-anonymity → (cn)-anonymity with c = 1/3 or 1/4", "Liang, Yuan 2013, Theorem 4",
        "vertices", 8, 4, bisection_share, largest=16,
    ),
    Family(
        "half_clique", "clique of half of the vertices → (cn)-anonymity with 1/3 < c < 1/2",
        "Liang, Yuan 2013, Theorem 5", "vertices of the clique", 4, 3, half_clique, True, 6,
    ),
)  # fmt: skip
