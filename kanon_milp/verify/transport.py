"""The transportation problem in integers, by successive shortest paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAFE = 1 << 62


def least_work(supply: Sequence[int], demand: Sequence[int], cost: Sequence[Sequence[int]]) -> int:
    """Least Σ cost[i][j]·f[i][j] with Σ_j f[i][j] = supply[i], Σ_i f[i][j] = demand[j], f ≥ 0; costs are not negative.

    supply and demand have the same sum. Each round sends what it can along a shortest path from what is left to what
    is needed; what was sent can be sent back.
    """
    largest = max((max(row, default=0) for row in cost), default=0)
    far = (len(supply) + len(demand) + 1) * (largest + 1)  # longer than any path
    kind: Any = np.int64 if max(4 * far, sum(supply)) < SAFE else object
    left, needed, price = (np.array(numbers, dtype=kind) for numbers in (supply, demand, cost))
    flow = np.zeros(price.shape, dtype=kind)
    while (left > 0).any():
        end, before, back = _shortest(left > 0, needed > 0, price, flow, far)
        path, source = [], int(before[end])
        path.append((source, end))
        while back[source] >= 0:
            sink = int(back[source])
            path.append((source, sink))
            source = int(before[sink])
            path.append((source, sink))
        # arcs forwards and backwards alternate, the first and the last are forwards
        amount = min([int(left[source]), int(needed[end]), *(int(flow[arc]) for arc in path[1::2])])
        for position, arc in enumerate(path):
            flow[arc] += -amount if position % 2 else amount
        left[source] -= amount
        needed[end] -= amount
    sent = zip(price[flow > 0].tolist(), flow[flow > 0].tolist(), strict=True)
    return sum(a * b for a, b in sent)


def _shortest(
    starts: NDArray[np.bool_], ends: NDArray[np.bool_], price: NDArray[Any], flow: NDArray[Any], far: int
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """The nearest end by the method of Bellman and Ford; the source before each sink, the sink before each source (-1
    for a start)."""
    to_source = np.where(starts, 0, far).astype(price.dtype)
    to_sink = np.full(price.shape[1], 2 * far, dtype=price.dtype)
    before = np.zeros(price.shape[1], dtype=np.int64)
    back = np.full(price.shape[0], -1, dtype=np.int64)
    while True:
        through = to_source[:, None] + price
        # only what is really shorter changes, so the paths never run in a circle
        shorter = through.min(axis=0) < to_sink
        before[shorter] = through.argmin(axis=0)[shorter]
        to_sink[shorter] = through.min(axis=0)[shorter]
        returned = np.where(flow > 0, to_sink - price, far)
        nearer = returned.min(axis=1) < to_source
        if not nearer.any():
            return int(np.where(ends, to_sink, 3 * far).argmin()), before, back
        back[nearer] = returned.argmin(axis=1)[nearer]
        to_source[nearer] = returned.min(axis=1)[nearer]
