"""What compiled functions do to arrays and numpy's own compiled functions do too, but take far longer to compile."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.system.arrays import Ints
from kanon_milp.system.jit import compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64, np.int32)

RUN = 8  # keys that are sorted by insertion


@compiled_part
def stable_order(keys: NDArray[Scalar]) -> Ints:
    """The places of the keys, the lowest first, equal ones in their order: np.argsort(keys, kind="stable")."""
    count = len(keys)
    order, other = np.empty(count, np.int64), np.empty(count, np.int64)
    for a in range(count):
        e, begin = a, a - a % RUN
        while e > begin and keys[order[e - 1]] > keys[a]:
            order[e] = order[e - 1]
            e -= 1
        order[e] = a
    width = RUN
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for e in range(begin, end):
                if left < middle and (right >= end or keys[order[left]] <= keys[order[right]]):
                    other[e] = order[left]
                    left += 1
                else:
                    other[e] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order
