"""Earth mover's distances between all groups and the whole table, in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.distances import Space, Tree
from kanon_milp.emd import emd
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.ratios import Ratios

CELLS = 1 << 22  # of an array of nodes times groups
SAFE = 1 << 62


def distances(counts: Counts, space: Space) -> Ratios:
    """Per group the earth mover's distance to the whole table. space: over the values of `counts`, in their order."""
    first, kind = counts.alike
    if space.tree is None:
        found = [_one(counts, space, g) for g in first.tolist()]
    else:
        found = []
        step = max(1, CELLS // len(space.tree.parent))
        for start in range(0, len(first), step):
            found += _on_tree(counts, space.scale, space.tree, first[start : start + step])
    above = np.array([number.numerator for number in found], dtype=object)
    below = np.array([number.denominator for number in found], dtype=object)
    if max(*above, *below) < SAFE:
        above, below = above.astype(np.int64), below.astype(np.int64)
    return Ratios(above, below).take(kind)


def _one(counts: Counts, space: Space, g: int) -> Fraction:
    inside = counts.of_group(g)
    return emd(space, [inside.get(code, 0) for code in range(len(counts.labels))], counts.total.tolist())


def _on_tree(counts: Counts, scale: int, tree: Tree, groups: NDArray[np.int64]) -> list[Fraction]:
    """Σ over edges of weight · |share of the group below the edge - share of the table below it|."""
    size = counts.size[groups]
    # whole numbers: times scale, group size and n; no sum of theirs is above this
    largest = scale * counts.n * int(size.max())
    kind: Any = np.int64 if largest < SAFE else object
    excess = np.zeros((len(tree.parent), len(groups)), dtype=kind)
    excess[: len(counts.labels)] = -np.outer(counts.total.astype(kind), size.astype(kind))
    for column, g in enumerate(groups.tolist()):
        part = slice(counts.starts[g], counts.starts[g + 1])
        excess[counts.value[part], column] += counts.n * counts.count[part].astype(kind)
    moved = np.zeros(len(groups), dtype=kind)
    for node in tree.order:
        if tree.parent[node] >= 0:
            moved += tree.weight[node] * np.abs(excess[node])
            excess[tree.parent[node]] += excess[node]
    below = (scale * counts.n * size.astype(kind)).tolist()
    return [Fraction(a, b) for a, b in zip(moved.tolist(), below, strict=True)]
