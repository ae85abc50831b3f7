"""Own exponentials and logarithms, against those of the C library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.elementary import exp, exponentials, log, power


@given(st.floats(5e-324, 1e308))
def test_logarithms(x: float) -> None:
    assert log(x) == pytest.approx(math.log(x), rel=2e-12, abs=1e-300)


@given(st.floats(1e-300, 1e-3), st.sampled_from([-1.0, 1.0]))
def test_logarithms_near_1(away: float, sign: float) -> None:
    assert log(1.0 + sign * away) == pytest.approx(math.log(1.0 + sign * away), rel=2e-12, abs=1e-300)


@given(st.floats(-690, 690))
def test_exponentials(x: float) -> None:
    assert exp(x) == pytest.approx(math.exp(x), rel=1e-12)
    assert exponentials(np.array([x, 0.0, -1e9])).tolist() == [exp(x), 1.0, 0.0]


@given(st.floats(1e-9, 1e9), st.floats(-8, 8))
def test_powers(base: float, exponent: float) -> None:
    assert power(base, exponent) == pytest.approx(base**exponent, rel=1e-9)


def test_what_has_no_logarithm() -> None:
    assert [log(0.0), log(-1.0)] == [-math.inf, -math.inf]
    assert all(map(math.isnan, (log(math.inf), log(math.nan))))
    assert exp(-math.inf) == exp(math.nan) == 0.0
