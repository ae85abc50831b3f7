"""Problems about halves of a graph's vertices: minimum bisection, and cliques of half of the vertices."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from kanon_milp.errors import InputError
from kanon_milp.problem.privacy import KAnonymity
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
    settled,
    text_frame,
)
from kanon_milp.studies.families.source_problems import Edge, Source, clique, smallest_bisection

MOST_EDGES = 16  # of which each subset may be a pattern
FEW_EDGES = 10  # where columns are added, and a mask lists each subset
SHARES = (Fraction(1, 3), Fraction(1, 4))  # c of Theorem 4, where none is given
SHARE_OF_CLIQUE = Fraction(2, 5)  # c of Theorem 5, where none is given
MOST_CLIQUE = 6  # vertices
OLD, NEW = "A", "B"  # the fresh symbols


@dataclass(frozen=True)
class _Bisection:
    """A graph and its smallest cut in halves. vertices: an even number of them."""

    vertices: int
    edges: list[Edge]
    half: tuple[int, ...]
    cut: int
    answer: Answer = "yes"
    names: tuple[str, ...] = ()
    share: Fraction = SHARES[0]

    @property
    def words(self) -> str:
        """The source problem."""
        asked = f"as few of {len(self.edges)} edges as possible" if self.answer == "yes" else f"at most {self.cut - 1}"
        return (
            f"a cut of {self.vertices} vertices in halves, with {asked}{' edges' * (self.answer == 'no')} between them"
        )

    def generated(self, found: Generated) -> Generated:
        """The instance; for no, at most as much as a cut of one edge fewer costs."""
        if self.answer == "yes":
            return found
        bound = self.optimum - self.vertices // 2
        return replace(found, answer="no", optimum=None, groups=None, sides={"cost_bound": bound})

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
        return f"cut of {_cut(self.edges, old[0])} edges" + listed(self.names, map(sorted, old))


def _drawn(most: int, size: int, draw: random.Random, answer: Answer) -> _Bisection:
    """most: edges."""
    n = 2 * (size // 2)
    every = list(itertools.combinations(range(n), 2))
    for _ in range(ATTEMPTS):
        edges = sorted(draw.sample(every, min(n + n // 2, most, len(every))))
        half = smallest_bisection(n, edges)
        if answer == "yes" or _cut(edges, set(half)):
            return _Bisection(n, edges, half, _cut(edges, set(half)), answer, share=draw.choice(SHARES))
    raise InputError("all graphs that were drawn fall into halves without an edge between them; choose a larger size")


def _of_source(most: int, source: Source, asked: Answer | None) -> _Bisection:
    n, edges = len(source.names[0]), list(source.members)
    if n % 2 or n < 4:
        raise InputError(f"an even number of at least 4 vertices is expected, found {n}")
    if len(edges) > most:
        raise InputError(f"at most {most} edges, found {len(edges)}: any set of their columns may be a pattern")
    half = smallest_bisection(n, edges)
    if asked == "no" and not _cut(edges, set(half)):
        raise InputError("halves without an edge between them cannot be improved on; the answer is not no")
    return _Bisection(n, edges, half, _cut(edges, set(half)), asked or "yes", source.names[0])


def _cut(edges: list[Edge], inside: set[int]) -> int:
    return sum((a in inside) != (b in inside) for a, b in edges)


def _incidence(edges: list[Edge], vertices: int) -> list[list[object]]:
    return [[v + 1 if v in edge else 0 for edge in edges] for v in range(vertices)]


def bisection(source: _Bisection) -> Generated:
    """Minimum bisection as (n/2)-anonymity (Theorem 3); the answer no asks for one edge fewer than the smallest cut."""
    n, m = source.vertices, len(source.edges)
    found = Generated(
        f"Minimum bisection of a graph with {n} vertices and {m} edges as (n/2)-anonymity",
        text_frame(source.rows, columns("e", m)),
        columns("e", m),
        (KAnonymity(n // 2),),
        source.optimum,
        f"Liang, Yuan 2013, Theorem 3: n(|E| + c)/2 for the smallest cut c = {source.cut}; all halves were tried",
        groups=source.halves,
        source_problem=source.words,
        read_back=source.read_back,
    )
    return source.generated(found)


def bisection_share(source: _Bisection, c: Fraction | None) -> Generated:
    """(n/2)-anonymity as (cn)-anonymity, c ≤ 1/3 (Theorem 4): n/2c - n new rows, and nm columns that tell old rows from
    new ones, so that these are never together."""
    share = source.share if c is None else c
    n, m, rows_in_all = source.vertices, len(source.edges), source.vertices / (2 * share)
    if rows_in_all.denominator > 1:
        raise InputError(f"n/2c rows must be a whole number; for c = {share}, n = {n} it is {rows_in_all}")
    new, added = int(rows_in_all) - n, n * m
    rows: list[list[object]] = [[*row, *[OLD] * added] for row in source.rows]
    rows += [[NEW] * (m + added)] * new
    every = itertools.chain.from_iterable(itertools.combinations(range(m), number) for number in range(m + 1))
    names = [*columns("e", m), *columns("x", added)]
    found = Generated(
        f"(n/2)-anonymity of {n} rows as (cn)-anonymity of {n + new} rows with c = {share}",
        text_frame(rows, names),
        tuple(names),
        (KAnonymity(n // 2),),
        source.optimum,
        f"Liang, Yuan 2013, Theorem 4: that of the (n/2)-anonymity of Theorem 3, n(|E| + c)/2 for the smallest cut "
        f"c = {source.cut}; all halves were tried. A mask loses nothing: new columns are suppressed together",
        patterns=masked([[*kept, *range(m, m + added)] for kept in every], m + added),
        groups=(*source.halves, tuple(range(n, n + new))),
        source_problem=f"(n/2)-anonymity of the first {n} rows and {m} columns: {source.words}",
        read_back=source.read_back,
    )
    return source.generated(found)


def half_clique(size: int, draw: random.Random, answer: Answer, c: Fraction) -> Generated:
    """A clique of half of the vertices as (cn)-anonymity with 1/3 < c < 1/2 (Theorem 5)."""
    n = 2 * size
    every = list(itertools.combinations(range(n), 2))
    planted = sorted(draw.sample(range(n), size))
    inside = list(itertools.combinations(planted, 2))
    others = draw.sample([edge for edge in every if edge not in inside], min(size + 1, len(every) - len(inside)))
    edges = sorted({*inside, *others})
    if answer == "no":
        while found := clique(n, edges, size):
            edges.remove(draw.choice(list(itertools.combinations(found, 2))))
    return _half_clique(edges, n, tuple(planted) if answer == "yes" else None, answer, c)


def half_clique_of(source: Source, asked: Answer | None, c: Fraction) -> Generated:
    """The same, of a graph of one's own."""
    n, edges = len(source.names[0]), list(source.members)
    if n % 2 or not 6 <= n <= 2 * MOST_CLIQUE:
        raise InputError(
            f"an even number of 6 to {2 * MOST_CLIQUE} vertices is expected, found {n}: any set of half "
            "of them may give a pattern"
        )
    return _half_clique(edges, n, clique(n, edges, n // 2), asked, c, source.names[0])


def _half_clique(
    edges: list[Edge],
    n: int,
    found: tuple[int, ...] | None,
    asked: Answer | None,
    c: Fraction,
    names: tuple[str, ...] = (),
) -> Generated:
    """Vertices are rows as in Theorem 3; the new rows have a value of their own in every column. So a group with a new
    row loses everything, and the other group should be the vertices outside of the clique, whose columns are its edges.
    n/2c rows, rounded down. In the last formula of the paper's proof, |E11| + |E22| stands for |E11| + |E12|.
    """
    size, m = n // 2, len(edges)
    rows_in_all = int(size / c)
    if rows_in_all < n + 2 and c != SHARE_OF_CLIQUE:
        raise InputError(f"two new rows are needed, n/2c - n of them; c = {c} gives fewer for n = {n}")
    answer = settled(asked, perfect=found is not None, otherwise="no")
    rows = _incidence(edges, n) + [[i + 1] * m for i in range(n, rows_in_all)]
    bound = rows_in_all * m - size * (size * (size - 1) // 2)
    smaller = itertools.chain.from_iterable(itertools.combinations(range(n), number) for number in range(2, size + 1))
    kept = {tuple(at for at, edge in enumerate(edges) if set(edge) <= set(chosen)) for chosen in smaller}
    rest = tuple(v for v in range(n) if v not in (found or ()))
    return Generated(
        f"Clique of {size} vertices in a graph with {n} vertices and {m} edges as (cn)-anonymity of {rows_in_all} rows",
        text_frame(rows, columns("e", m)),
        columns("e", m),
        (KAnonymity(size),),
        bound if found else None,
        "Liang, Yuan 2013, Theorem 5: n'm - (n/2)·C(n/2, 2)"
        + ("; there is a clique" if found else " needs a clique, and there is none")
        + ". A mask of the edges within each set of vertices loses nothing",
        patterns=masked(sorted(kept), m),
        sides={} if found else {"cost_bound": bound},
        groups=(rest, (*found, *range(n, rows_in_all))) if found else None,
        source_problem=f"a clique of {size} vertices in a graph with {n} vertices and {m} edges",
        read_back=lambda groups: _read_clique(groups, edges, n, names),
        answer=answer,
    )


def _read_clique(groups: Groups, edges: list[Edge], n: int, names: Sequence[str]) -> str:
    known = set(edges)
    for group in groups:
        clique = sorted(row for row in group if row < n)
        if len(clique) == n // 2 and known.issuperset(itertools.combinations(clique, 2)):
            return f"clique of {len(clique)} vertices" + listed(names, [clique])
    raise ValueError("no group holds a clique of half of the vertices")


_C = Parameter("c", "above 0 and at most 1/3, default drawn of 1/3 and 1/4", None, lambda c: 0 < c <= Fraction(1, 3))
_MIDDLE = Parameter(
    "c", "above 1/3 and below 1/2, default 2/5", SHARE_OF_CLIQUE, lambda c: Fraction(1, 3) < c < Fraction(1, 2)
)
FAMILIES = (
    Family(
        "bisection", "minimum bisection → (n/2)-anonymity", "Liang, Yuan 2013, Theorem 3", "vertices", 8, 4,
        partial(_drawn, MOST_EDGES), True, 16, reads="graph", of_source=partial(_of_source, MOST_EDGES),
        build=bisection,
    ),
    Family(
        "bisection_share", "(n/2)-anonymity → (cn)-anonymity with c ≤ 1/3", "Liang, Yuan 2013, Theorem 4",
        "vertices", 8, 4, partial(_drawn, FEW_EDGES), True, 16, reads="graph",
        of_source=partial(_of_source, FEW_EDGES), build=bisection_share, parameters=(_C,),
    ),
    Family(
        "half_clique", "clique of half of the vertices → (cn)-anonymity with 1/3 < c < 1/2",
        "Liang, Yuan 2013, Theorem 5", "vertices of the clique", 4, 3, half_clique, True, MOST_CLIQUE,
        reads="graph", of_source=half_clique_of, parameters=(_MIDDLE,),
    ),
)  # fmt: skip
