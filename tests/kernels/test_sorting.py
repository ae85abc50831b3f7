"""Stable sorting of kernels, against numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kanon_milp.kernels.sorting import sort_stably


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
@given(keys=st.lists(st.integers(-5, 5), max_size=70))
def test_equal_keys_keep_their_order(dtype: type, keys: list[int]) -> None:
    array: NDArray[Any] = np.array(keys, dtype)
    order, other = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    sort_stably(array, len(keys), order, other)
    assert order.tolist() == np.argsort(array, kind="stable").tolist()
