"""Loops of the volume algorithm, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

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
