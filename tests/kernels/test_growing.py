"""Arrays with more room."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.growing import doubled


def test_longer_arrays_begin_with_what_was_there() -> None:
    longer = doubled(np.arange(5))
    assert longer.dtype == np.int64
    assert len(longer) == 10
    assert longer[:5].tolist() == [0, 1, 2, 3, 4]
    assert doubled(np.arange(5) / 2)[:5].tolist() == [0, 0.5, 1, 1.5, 2]
    rows = doubled(np.arange(12).reshape(4, 3))
    assert rows.shape == (8, 3)
    assert rows[:4].tolist() == np.arange(12).reshape(4, 3).tolist()
