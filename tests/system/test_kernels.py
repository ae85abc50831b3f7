"""Small compiled functions on arrays do what numpy's do."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import runnable

from kanon_milp.system import kernels

stable_order = runnable(kernels.stable_order)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 1000])
@pytest.mark.parametrize("values", [1, 3, 50, 10_000])
def test_the_order_is_that_of_a_stable_sort(count: int, values: int) -> None:
    keys = np.random.default_rng(count + values).integers(-values, values, size=count)
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    assert stable_order(keys / 7).tolist() == np.argsort(keys, kind="stable").tolist()


def test_sorted_keys_keep_their_places() -> None:
    assert stable_order(np.arange(100.0)).tolist() == list(range(100))
    assert stable_order(np.arange(100.0)[::-1].copy()).tolist() == list(range(100))[::-1]
