"""Problems about graphs: edge partitions, and balanced complete bipartite subgraphs."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from kanon_milp.instances.families.base import (
    Answer,
    Family,
    Generated,
    Groups,
    columns,
    masked,
    refuse_large,
    text_frame,
)
from kanon_milp.problem.privacy import KAnonymity, LDiversity, PSensitivity

Edge = tuple[int, int]
DENSITY = 0.5  # of edges that are drawn


def edge_partition(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """An edge is a row over two values, which says which two vertices it joins: three edges of a triangle, or of a star
    with three rays, lose three cells each (Theorem 1.5, after Aggarwal et al. 2005)."""
    refuse_large(3 * size, 3 * size)
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
    rows = [[int(v in edges[edge]) for v in range(vertices)] for edge in order]
    return Generated(
        f"Edge partition of a graph with {len(edges)} edges into triangles and 4-stars as binary 3-anonymity",
        text_frame(rows, columns("v", vertices)),
        columns("v", vertices),
        (KAnonymity(3),),
        3 * len(edges),
        "Blocki, Williams 2010, section 5: three cells a row, since the edges were drawn as triangles and 4-stars; a "
        "mask of patterns that suppress three columns loses nothing",
        patterns=masked(
            [[v for v in range(vertices) if v not in three] for three in itertools.combinations(range(vertices), 3)],
            vertices,
        ),
        groups=tuple(tuple(sorted(place[edge] for edge in group)) for group in groups),
        source_problem=f"a partition of {len(edges)} edges into triangles and stars with three rays",
        read_back=lambda found: _read_edges(found, [edges[edge] for edge in order]),
    )


def _read_edges(groups: Groups, edges: list[Edge]) -> str:
    kinds: Counter[str] = Counter()
    for group in groups:
        touched = Counter(v for row in group for v in edges[row])
        if len(group) != 3 or sorted(touched.values()) not in ([2, 2, 2], [1, 1, 1, 3]):
            raise ValueError("a group is neither a triangle nor a star with three rays")
        kinds["triangles" if len(touched) == 3 else "stars"] += 1
    return f"{kinds['triangles']} triangles and {kinds['stars']} stars"


def bipartite(size: int, draw: random.Random, answer: Answer) -> Generated:
    """Two released row types: the vertices of a balanced complete bipartite subgraph, and all else (Proposition 1)."""
    matrix, chosen = _bipartite_rows(size, draw, answer)
    return _homogeneous(matrix, chosen, size, answer, 2, None)


def bipartite_types(size: int, draw: random.Random, answer: Answer) -> Generated:
    """The same with four released row types, two of them of rows that are alike (Theorem 1)."""
    matrix, chosen = _bipartite_rows(size, draw, answer)
    return _homogeneous(matrix, chosen, size, answer, 4, None)


def bipartite_sensitive(size: int, draw: random.Random, answer: Answer) -> Generated:
    """The same with two different sensitive values in each group (Corollary 1)."""
    matrix, chosen = _bipartite_rows(size, draw, answer)
    return _homogeneous(matrix, chosen, size, answer, 4, "p")


def bipartite_diverse(size: int, draw: random.Random, answer: Answer) -> Generated:
    """The same with l-diversity, l = k/(k - 1): no group of k rows with one value only (Corollary 1)."""
    matrix, chosen = _bipartite_rows(size, draw, answer)
    return _homogeneous(matrix, chosen, size, answer, 4, "l")


def _bipartite_rows(q: int, draw: random.Random, answer: Answer) -> tuple[list[list[str]], list[int] | None]:
    """The matrix of a bipartite graph with 2q + 2q vertices, and for yes q vertices of its first side that have q
    neighbours in common, and no q vertices that have more; for no, each vertex has fewer than q neighbours."""
    half = 2 * q
    first, second = sorted(draw.sample(range(half), q)), sorted(draw.sample(range(half), q))
    neighbours = {a: set(draw.sample(range(half), q - 1)) for a in range(half)}
    if answer == "yes":
        for a in first:
            neighbours[a] = {*second, *(b for b in range(half) if draw.random() < DENSITY)}
        for b in set(range(half)) - set(second):
            if all(b in neighbours[a] for a in first):
                neighbours[draw.choice(first)].remove(b)
    rows = [["1" if b in neighbours[a] else "01" if a < q else "02" for b in range(half)] for a in range(half)]
    return rows, first if answer == "yes" else None


def _homogeneous(
    matrix: list[list[str]], chosen: list[int] | None, q: int, answer: Answer, types: int, secret: str | None
) -> Generated:
    """The table of Proposition 1, for `types` = 2, and of Theorem 1."""
    half, k = 2 * q, q + 1
    dummies = half if types > 2 else 0
    rows = [[*row, *["1"] * dummies] for row in matrix]
    rows += [["-"] * half + ["1"] * dummies, ["1"] * (half + dummies)]
    names = [*columns("b", half), *columns("d", dummies)]
    rows += [[f"x{number}"] * len(names) for number in range(types - 2) for _ in range(k)]
    bound = k * half + k * q
    groups = None
    if chosen is not None:
        rest = [a for a in range(half) if a not in chosen]
        alike = [tuple(range(half + 2 + number * k, half + 2 + (number + 1) * k)) for number in range(types - 2)]
        groups = ((*rest, half), (*chosen, half + 1), *alike)
    sensitive: tuple[str, ...] = ()
    privacy: list[KAnonymity | PSensitivity | LDiversity] = [KAnonymity(k)]
    if secret is not None:
        sensitive = ("s",)
        values = ["0"] * half + ["1", "1"] + ["1" if number % k == 0 else "0" for number in range((types - 2) * k)]
        rows = [[*row, value] for row, value in zip(rows, values, strict=True)]
        privacy.append(PSensitivity(2) if secret == "p" else LDiversity(f"{k}/{k - 1}"))
    graph = f"a bipartite graph with {half} + {half} vertices"
    return Generated(
        f"Balanced complete bipartite subgraph of {graph} as {k}-anonymity with {types} released row types",
        text_frame(rows, [*names, *sensitive]),
        tuple(names),
        tuple(privacy),
        bound if answer == "yes" else None,
        "Bredereck et al. 2012, "
        + ("Proposition 1" if types == 2 else "Theorem 1" if secret is None else "Corollary 1")
        + (": the subgraph is planted" if answer == "yes" else f": no vertex has {q} neighbours"),
        sensitive=sensitive,
        sides={"cost_bound": bound, "groups": types},
        groups=groups,
        source_problem=f"a complete bipartite subgraph with {q} + {q} vertices in {graph}",
        read_back=lambda found: _read_subgraph(found, matrix, q),
    )


def _read_subgraph(groups: Groups, matrix: list[list[str]], q: int) -> str:
    half = 2 * q
    for group in groups:
        first = [row for row in group if row < half]
        common = [b for b in range(half) if all(matrix[a][b] == "1" for a in first)]
        if len(first) >= q and len(common) >= q and half + 1 in group:
            return f"complete bipartite subgraph with {len(first)} + {len(common)} vertices"
    raise ValueError("no group stands for a complete bipartite subgraph")


_BIPARTITE = "q of a subgraph with q + q vertices in a graph with 2q + 2q"
FAMILIES = (
    Family(
        "edge_partition", "edge partition into triangles and 4-stars → binary 3-anonymity",
        "Blocki, Williams 2010, Theorem 1.5", "parts of the partition", 4, 1, edge_partition,
    ),
    Family(
        "bipartite", "balanced complete bipartite subgraph → k-anonymity with t_out = 2",
        "Bredereck et al. 2012, Proposition 1", _BIPARTITE, 2, 2, bipartite, True, 9,
    ),
    Family(
        "bipartite_types", "balanced complete bipartite subgraph → k-anonymity with t_out = 4",
        "Bredereck et al. 2012, Theorem 1", _BIPARTITE, 2, 2, bipartite_types, True, 4,
    ),
    Family(
        "bipartite_sensitive", "balanced complete bipartite subgraph → 2-sensitivity with t_out = 4",
        "Bredereck et al. 2012, Corollary 1", _BIPARTITE, 2, 2, bipartite_sensitive, True, 4,
    ),
    Family(
        "bipartite_diverse", "balanced complete bipartite subgraph → l-diversity with t_out = 4",
        "Bredereck et al. 2012, Corollary 1", _BIPARTITE, 2, 2, bipartite_diverse, True, 4,
    ),
)  # fmt: skip
