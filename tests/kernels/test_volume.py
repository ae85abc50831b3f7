"""Loops of the volume algorithm and shares that minimize an augmented Lagrangian, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanon_milp.kernels.augmented_lagrangian import Program, minimize
from kanon_milp.kernels.volume import add_shares, dot, mix, move, spread

INDPTR, NESTED = np.array([0, 2, 2, 5]), np.array([3, 1, 0, 1, 2], np.int32)  # of three sets over four candidates
INSIDE = np.array([[0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]], float)


def test_products_and_sums_over_sets() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 100))
    assert dot(a, b) == pytest.approx(a @ b)
    surcharge, into = np.full(4, 7.0), np.array([1.0, 2.0, 3.0])
    spread(INDPTR, NESTED, np.array([0.5, 3.0, 2.0]), surcharge)
    assert surcharge.tolist() == (np.array([0.5, 3.0, 2.0]) @ INSIDE).tolist()
    add_shares(INDPTR, NESTED, np.array([1.0, 2.0, 4.0, 8.0]), into)
    assert into.tolist() == [11.0, 2.0, 10.0]


def test_a_step_promises_a_rise_and_keeps_signs() -> None:
    best, direction, scale = np.array([-1.0, 2.0, 0.5, 0.0]), np.array([1.0, 2.0, -9.0, -3.0]), np.array([1.0, 2, 1, 1])
    trial = np.empty(4)
    assert move(trial, best, direction, scale, 9.0, 2)
    step = 9.0 / (1.0 + 8.0 + 81.0)  # what is 0 and would go below counts for nothing
    assert trial == pytest.approx([-1.0 + step, 2.0 + step * 4.0, 0.0, 0.0])
    assert not move(trial, best, np.array([0.0, 0.0, 0.0, -1.0]), scale, 9.0, 2)


@pytest.mark.parametrize(("ahead", "same_way"), [([2.0, 1.0], True), ([-3.0, 0.5], False)])
def test_the_weight_makes_the_mean_short(ahead: list[float], same_way: bool) -> None:
    old, new, scale = np.array([1.0, 2.0]), np.array(ahead), np.array([1.0, 0.5])
    average, share, phi = old.copy(), np.array([1.0, 0.0, 0.5]), np.array([-1.0, -2.0, 0.0])
    weight, found = mix(average, new, scale, share, phi, 0.8)
    tried = np.linspace(0.08, 0.8, 721)
    lengths = [(scale * (w * new + (1 - w) * old) ** 2).sum() for w in tried]
    assert weight == pytest.approx(tried[np.argmin(lengths)], abs=2e-3)
    assert found == same_way
    assert average == pytest.approx(weight * new + (1 - weight) * old)
    assert share == pytest.approx([1.0, weight, 0.5 * (1 - weight)])


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
