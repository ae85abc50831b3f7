"""The exact earth mover's distance between two distributions of sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from kanon_milp.problem.distances.base import Space


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
