"""One number for several codes: what tells rows apart without Python tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.system.arrays import Ints


def mixed_key(columns: Sequence[NDArray[np.integer[Any]]], sizes: Sequence[int]) -> Ints:
    """One int64 per row that orders and tells apart rows as the tuple of their codes does."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span * size > 2**62:  # make room: renumber the keys seen so far
            seen, inverse = np.unique(key, return_inverse=True)
            key, span = inverse.astype(np.int64), len(seen)
        key *= size
        key += column
        span *= size
    return key
