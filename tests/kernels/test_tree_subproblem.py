"""The cheapest group of a size, against all groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from subproblems import SCALE, Case, cases

from kanon_milp.kernels.tree_subproblem import (
    cheapest_of_size,
    compose,
    compose_star,
    fewest_rows,
    floored,
    floored_float,
    most_rows,
    select,
)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@given(case=cases())
def test_the_cheapest_group_of_each_size(kind: type, case: Case) -> None:
    s, scale = case.subproblems(kind), SCALE[kind]
    for g in range(2):
        select(s, g)
        least = dict[int, float]()
        for rows, cost in case.groups(g):
            least[sum(rows)] = min(cost, least.get(sum(rows), math.inf))
        for size in range(1, s.most + 1):
            for way in (compose, compose_star, cheapest_of_size) if s.star else (compose, cheapest_of_size):
                assert way(s, size, True) == (size in least)
                if size not in least:
                    continue
                value = s.value / float(s.grain) / scale
                assert value == pytest.approx(least[size], abs=1e-9)
                types, amounts = np.asarray(s.chosen)[: s.entries], np.asarray(s.chosen_amounts)[: s.entries]
                assert amounts.sum() == size * s.grain
                assert (np.bincount(types, amounts, 5) <= np.array(case.counts) * float(s.grain)).all()
                assert way(s, size, False)
                assert s.value / float(s.grain) / scale <= value + 1e-9


@given(st.integers(-(2**40), 2**40), st.integers(1, 2**20), st.integers(0, 5000))
def test_quotients_are_rounded_down(a: int, b: int, size: int) -> None:
    assert floored(a, b) == a // b
    assert floored_float(a / 3, b / 7) == (a / 3) // (b / 7)
    assert fewest_rows(min(abs(a), b), b, size) == math.ceil(min(abs(a), b) * size / b)
    assert most_rows(min(abs(a), b), b, size) == min(abs(a), b) * size // b
