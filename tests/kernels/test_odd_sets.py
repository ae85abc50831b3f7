"""Odd sets, as their cuts have them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.matching import growing_sets

TYPES = 8
LEAST = 0.02


@given(
    st.lists(st.tuples(st.lists(st.integers(0, TYPES - 1), min_size=2, max_size=3), st.integers(1, 4)), min_size=1),
    st.lists(st.integers(1, 3), min_size=TYPES, max_size=TYPES),
)
def test_sets_are_odd_and_violated_by_what_is_said(groups: list[tuple[list[int], int]], rows: list[int]) -> None:
    members = np.array([[-1] * (3 - len(each)) + sorted(each) for each, _ in groups], np.int64)
    theta, counts = np.array([n / 10 for _, n in groups]), np.array(rows, np.int64)
    a = np.array([[(line == i).sum() for i in range(TYPES)] for line in members])
    of, group = map(np.ascontiguousarray, np.nonzero(a.T))
    indptr = np.searchsorted(of, np.arange(TYPES + 1))
    order = np.argsort(-theta, kind="stable")
    begins, values, violations = growing_sets(members, theta, order, counts, indptr, group, LEAST, 6)
    assert begins[0] == 0
    for s, violation in enumerate(violations.tolist()):
        inside = values[begins[s] : begins[s + 1]]
        assert len(set(inside.tolist())) == len(inside) <= 6
        assert counts[inside].sum() % 2 == 1
        odd = a[:, inside].sum(axis=1) % 2 == 1
        assert LEAST < violation == pytest.approx(1 - theta[odd].sum())


def test_more_sets_than_there_is_room_for_at_first() -> None:
    pairs = 2_000  # of row types that nothing else touches
    members = np.column_stack([np.full(pairs, -1), np.arange(pairs) * 2, np.arange(pairs) * 2 + 1])
    counts, group = np.tile([1, 2], pairs), np.repeat(np.arange(pairs), 2)
    begins, values, violations = growing_sets(
        members, np.full(pairs, 0.5), np.arange(pairs), counts, np.arange(2 * pairs + 1), group, LEAST, 6
    )
    assert begins.tolist() == list(range(0, 2 * pairs + 1, 2))
    assert sorted(values.tolist()) == list(range(2 * pairs))
    assert violations.tolist() == [1.0] * pairs
