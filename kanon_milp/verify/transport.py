"""The transportation problem in integers, by successive shortest paths with prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAFE = 1 << 62


def bounds(supply: Sequence[int], demand: Sequence[int], cost: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Between which integers `least_work` lies, quickly."""
    kind = _kind(supply, demand, cost)
    left, needed, price = (np.array(numbers, dtype=kind) for numbers in (supply, demand, cost))
    if not left.size:
        return 0, 0
    of_source, of_sink = _first_prices(price)
    low = _dot(of_source, left) + _dot(of_sink, needed)
    # every source sends to every sink, in proportion to what that needs
    everything = sum(supply)
    high = sum(amount * _dot(row, needed) for amount, row in zip(left.tolist(), price, strict=True))
    return low, -(-high // everything)


def least_work(supply: Sequence[int], demand: Sequence[int], cost: Sequence[Sequence[int]]) -> int:
    """Least Σ cost[i][j]·f[i][j] with Σ_j f[i][j] = supply[i], Σ_i f[i][j] = demand[j], f ≥ 0; costs are not negative.

    supply and demand have the same sum. Each round sends what it can along a shortest path from a source that has
    something left to the nearest sink that needs something; what was sent can be sent back. The prices of sources and
    sinks never add up to more than the cost between them, and to just that where something is sent: so the plan is a
    best one at the end.
    """
    kind = _kind(supply, demand, cost)
    left, needed, price = (np.array(numbers, dtype=kind) for numbers in (supply, demand, cost))
    if not left.size:
        return 0
    plan = _Plan(left, needed, price, *_first_prices(price), np.zeros(price.shape[::-1], dtype=kind))
    for source in range(len(left)):
        while plan.left[source] > 0:
            plan.send(source)
    sent = plan.flow > 0
    return sum(a * b for a, b in zip(price.T[sent].tolist(), plan.flow[sent].tolist(), strict=True))


def _kind(supply: Sequence[int], demand: Sequence[int], cost: Sequence[Sequence[int]]) -> Any:
    """64 bits where they are enough for every path and every amount."""
    largest = max((max(row, default=0) for row in cost), default=0)
    longest = (len(supply) + len(demand) + 1) * (largest + 1)
    return np.int64 if max(4 * longest, sum(supply)) < SAFE else object


def _first_prices(price: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Of sources and sinks, as high as they can be one after the other."""
    of_sink = price.min(axis=0)
    return (price - of_sink).min(axis=1), of_sink


def _dot(left: NDArray[Any], right: NDArray[Any]) -> int:
    return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))


@dataclass(eq=False)
class _Plan:
    """What sources have left, sinks need, and is sent so far; flow: by sink and source."""

    left: NDArray[Any]
    needed: NDArray[Any]
    price: NDArray[Any]
    of_source: NDArray[Any]
    of_sink: NDArray[Any]
    flow: NDArray[Any]

    def send(self, start: int) -> None:
        """Send what is possible along a shortest path from one source, by the method of Dijkstra, and set the prices
        so that nothing on that path costs more than them."""
        far = self.price[start] - self.of_source[start] - self.of_sink
        before = np.full(len(far), start, dtype=np.int64)
        open_sinks = np.ones(len(far), dtype=bool)
        reached = np.zeros(len(self.left), dtype=bool)
        reached[start] = True
        at = np.zeros_like(self.left)
        back = np.full(len(self.left), -1, dtype=np.int64)
        while True:
            nearest = far[open_sinks].min()
            here = np.flatnonzero(open_sinks & (far == nearest))
            ends = here[self.needed[here] > 0]
            if ends.size:
                break
            open_sinks[here] = False
            sends = self.flow[here] > 0
            new = np.flatnonzero(sends.any(axis=0) & ~reached)
            if not new.size:
                continue
            reached[new], at[new], back[new] = True, nearest, here[sends[:, new].argmax(axis=0)]
            through = self.price[new] - self.of_source[new, None] - self.of_sink
            by = through.argmin(axis=0)
            through = through[by, np.arange(len(far))] + nearest
            shorter = open_sinks & (through < far)
            far[shorter], before[shorter] = through[shorter], new[by[shorter]]
        self.of_source[reached] += nearest - at[reached]
        self.of_sink[~open_sinks] -= nearest - far[~open_sinks]
        self._send_along(int(ends[0]), before, back)

    def _send_along(self, end: int, before: NDArray[np.int64], back: NDArray[np.int64]) -> None:
        """before: per sink the source before it on the path; back: per source the sink before it, -1 for the start."""
        path, source = [(end, int(before[end]))], int(before[end])
        while back[source] >= 0:
            sink = int(back[source])
            path += [(sink, source), (sink, int(before[sink]))]
            source = int(before[sink])
        # arcs forwards and backwards alternate, the first and the last are forwards
        amount = min([int(self.left[source]), int(self.needed[end]), *(int(self.flow[arc]) for arc in path[1::2])])
        for position, arc in enumerate(path):
            self.flow[arc] += -amount if position % 2 else amount
        self.left[source] -= amount
        self.needed[end] -= amount
