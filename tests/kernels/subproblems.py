"""Small subproblems under requirements, drawn, and all groups of each by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from kanon_milp.kernels.tree_subproblem import (
    FloatSubproblems,
    IntSubproblems,
    TreeArrays,
    ValuedCandidates,
    ValuedRows,
)

GRAIN = 8
SCALE: dict[type, int] = {np.int64: 8, np.float64: 1}  # of costs, so that all slopes are whole numbers
# own values and numbers of children of the nodes: a star, two levels, a line
SHAPES = {
    "star": ([0, 1, 2, -1], [0, 0, 0, 3]),
    "levels": ([0, 1, -1, 2, -1], [0, 0, 2, 0, 2]),
    "line": ([0, 1, 2], [0, 1, 1]),
}


class Case(NamedTuple):
    """A relaxation with limits and shares in eighths, weights 0 to 2; two candidates over five row types."""

    shape: str
    limits: list[tuple[int, int]]
    shares: list[int]
    weights: list[int]
    closeness: int
    presence: int
    counts: list[int]
    multipliers: list[int]
    value: list[int]
    cost: list[int]
    least: list[int]
    thetas: list[int]
    covers: list[list[int]]

    def tree(self, kind: type) -> TreeArrays[Any]:
        """As arrays."""
        own, children = (np.array(each) for each in SHAPES[self.shape])
        grain = GRAIN if kind is np.int64 else 1
        parts = np.array([[low, 8, high, 8] for low, high in self.limits])
        everything = np.array([[0, 1, 1, 1]] * len(own))
        of_value = np.where((own >= 0)[:, None], parts, everything)
        grid: Any = np.ascontiguousarray(of_value[:, [0, 2]] * grain / of_value[:, [1, 3]], kind)
        convex = self.presence > 0 and self.limits == [(0, 8)] * len(own) and not any(self.thetas)
        return TreeArrays(
            own, children, of_value, everything, grid, np.array([[0, grain]] * len(own), kind),
            (np.array(self.shares) * grain / 8).astype(kind), (np.array(self.weights) * grain).astype(kind),
            kind(self.closeness * grain / 8), self.presence, convex, kind(grain), kind(1 if grain > 1 else 2.0**-40),
            kind(0), kind(0 if grain > 1 else 1e-9), self.shape == "star",
        )  # fmt: skip

    def subproblems(self, kind: type) -> Any:
        """In floating point or integers."""
        rank, scale = np.array(self.value), SCALE[kind]
        covers = [sorted(cover, key=lambda i: (rank[i], -self.multipliers[i])) for cover in self.covers]
        cells = [np.unique(rank[cover], return_index=True) for cover in covers]
        candidates: Any = ValuedCandidates(
            np.cumsum([0, *map(len, covers)]), np.concatenate(covers).astype(np.int32),
            np.cumsum([0, *(len(values) for values, _ in cells)]), np.concatenate([values for values, _ in cells]),
            np.concatenate([[*at, len(cover)] for (_, at), cover in zip(cells, covers, strict=True)]),
            np.array(self.cost, kind) * scale, np.array(self.least),
            np.array([sum(self.counts[i] for i in cover) for cover in covers]), np.array(self.thetas, kind) * scale,
        )  # fmt: skip
        rows: Any = ValuedRows(np.array(self.counts, kind), np.array(self.multipliers, kind) * scale, rank)
        return (IntSubproblems if kind is np.int64 else FloatSubproblems)(self.tree(kind), candidates, rows)

    def groups(self, g: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """All allowed groups of a candidate, as rows of each type of its cover, and what each costs."""
        own, children = SHAPES[self.shape]
        cover = self.covers[g]
        for rows in itertools.product(*(range(self.counts[i] + 1) for i in cover)):
            size, held = sum(rows), [0] * len(own)
            of_value = [sum(x for x, i in zip(rows, cover, strict=True) if self.value[i] == v) for v in range(3)]
            if not size or sum(x > 0 for x in of_value) < self.presence:
                continue
            far, good, stack = 0.0, True, list[int]()
            for v in range(len(own)):
                if own[v] >= 0:
                    low, high = self.limits[v]
                    good = good and low * size <= 8 * of_value[own[v]] <= high * size
                held[v] = of_value[own[v]] if own[v] >= 0 else 0
                for _ in range(children[v]):
                    held[v] += stack.pop()
                stack.append(held[v])
                # the root has no edge above it
                far += self.weights[v] * abs(held[v] - self.shares[v] * size / 8) if v < len(own) - 1 else 0
            if good:
                value = sum(x * (self.cost[g] - self.multipliers[i]) for x, i in zip(rows, cover, strict=True))
                yield rows, value + self.thetas[g] * (far - self.closeness * size / 8)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Limits and charges, or different values."""
    shape = draw(st.sampled_from(list(SHAPES)))
    nodes = len(SHAPES[shape][0])
    number = st.integers(0, 8)
    limited, charged = draw(st.booleans()), draw(st.booleans())
    limits = [(0, 8)] * nodes
    if limited:
        limits = [(draw(st.integers(0, 2)), draw(st.integers(3, 8))) for _ in range(nodes)]
    presence = 1 if charged or shape != "star" else draw(st.integers(1, 3))
    members = st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True)
    weights = [draw(st.integers(0, 2)) for _ in range(nodes - 1)] + [0]
    return Case(
        shape, limits, [draw(number) for _ in range(nodes)], weights, draw(number), presence,
        draw(st.lists(st.integers(1, 2), min_size=5, max_size=5)),
        draw(st.lists(st.integers(-5, 9), min_size=5, max_size=5)),
        draw(st.lists(st.integers(0, 2), min_size=5, max_size=5)),
        draw(st.lists(st.integers(0, 9), min_size=2, max_size=2)),
        draw(st.lists(st.integers(1, 3), min_size=2, max_size=2)),
        [draw(st.integers(0, 6)) if charged else 0 for _ in range(2)], [draw(members), draw(members)],
    )  # fmt: skip
