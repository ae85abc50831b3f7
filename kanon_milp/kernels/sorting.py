"""Stable sorting, while no Python may run."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.system.arrays import Ints

Key = TypeVar("Key", np.float64, np.int64, np.int32)

RUN = 8  # keys that are sorted by insertion


def sort_stably(keys: NDArray[Key], count: int, order: Ints, other: Ints) -> None:
    """The places of the first keys, the lowest first, equal ones in their order, into `order`.

    order, other: int64, room for so many; `other` is scratch.
    """
    for a in range(count):
        e, begin = a, a - a % RUN
        while e > begin and keys[order[e - 1]] > keys[a]:
            order[e] = order[e - 1]
            e -= 1
        order[e] = a
    width = RUN
    swapped = False
    while width < count:
        _merge_runs(keys, count, width, order, other)
        order, other = other, order
        swapped = not swapped
        width *= 2
    if swapped:
        for a in range(count):
            other[a] = order[a]


def _merge_runs(keys: NDArray[Key], count: int, width: int, order: Ints, other: Ints) -> None:
    begin = 0
    while begin < count:
        middle, end = min(begin + width, count), min(begin + 2 * width, count)
        left, right = begin, middle
        for e in range(begin, end):
            if left < middle and (right >= end or keys[order[left]] <= keys[order[right]]):
                other[e] = order[left]
                left += 1
            else:
                other[e] = order[right]
                right += 1
        begin = end
