"""Arrays that grow: what kernels call when they have found more than there is room for. Plain Python, and rare."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Entry = TypeVar("Entry", bound=np.generic)


def doubled(array: NDArray[Entry]) -> NDArray[Entry]:
    """The entries of an array (n, ...), or of a view of one, with room for as many again."""
    old: NDArray[Any] = np.asarray(array)
    longer = np.empty((2 * len(old), *old.shape[1:]), old.dtype)
    longer[: len(old)] = old
    return longer
