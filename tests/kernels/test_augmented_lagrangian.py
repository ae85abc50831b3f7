"""Shares of groups that minimize an augmented Lagrangian, by the conditions of its minimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanon_milp.kernels.augmented_lagrangian import Program, minimize


@given(st.data())
@settings(max_examples=20)
def test_sweeps_find_the_least_augmented_lagrangian(data: st.DataObject) -> None:
    """At the minimum no group that is used, and none that is not, can lower it."""
    types, limits, count = 4, 3, data.draw(st.integers(1, 6))
    some = st.lists(st.integers(0, 2), min_size=types, max_size=types).filter(any)
    a = np.array([data.draw(some) for _ in range(count)], float)
    q = np.array([[data.draw(st.integers(0, 2)) for _ in range(limits)] for _ in range(count)], float)
    cost = np.array([data.draw(st.integers(0, 9)) for _ in range(count)], float)
    held, many = a > 0, q > 0
    columns = (
        np.concatenate([[0], np.cumsum(held.sum(axis=1))]), np.nonzero(held)[1].copy(), a[held],
        np.concatenate([[0], np.cumsum(many.sum(axis=1))]), np.nonzero(many)[1].copy(), q[many], cost,
    )  # fmt: skip
    free = np.array(data.draw(st.lists(st.integers(0, 5), min_size=types, max_size=types)), float)
    bounded = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=limits, max_size=limits)), float)
    share, steps = np.zeros(count), np.array([0.5, 0.25, 0.5, 1.0])
    to_free, to_bounded = free.copy(), bounded.copy()
    for _ in range(50):
        minimize(Program(*columns, share, to_free, steps, to_bounded, 0.5), 1.0)
    assert (share >= 0).all()
    assert to_free == pytest.approx(free - steps * (share @ a))
    assert to_bounded == pytest.approx(bounded + 0.5 * (share @ q))
    reduced_costs = cost - a @ to_free + q @ np.maximum(to_bounded, 0.0)
    assert (reduced_costs > -0.05).all()
    assert np.abs(reduced_costs[share > 0.1]) == pytest.approx(0.0, abs=0.05)
