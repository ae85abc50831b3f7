"""Pairs that no group within the limit has, against all groups."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.covers import pairs_within


@given(
    st.lists(st.tuples(st.integers(1, 2), st.integers(-4, 8), st.integers(0, 1)), min_size=1, max_size=4),
    st.integers(1, 4), st.integers(1, 2), st.integers(-10, 30), st.booleans(),
)  # fmt: skip
def test_a_pair_of_a_group_within_the_limit_stays(
    types: list[tuple[int, int, int]], least: int, presence: int, most: int, opened: bool
) -> None:
    counts, reduced, value = (np.array(each, np.int64) for each in zip(*types, strict=True))
    cover = np.lexsort((reduced, value)).astype(np.int32)
    groups = [
        group
        for group in itertools.product(*(range(n + 1) for n in counts))
        if sum(group) >= least and len({v for v, x in zip(value, group, strict=True) if x}) >= presence
    ]
    if not groups:
        return
    phi = min(int(np.array(group) @ reduced) for group in groups)
    found = np.zeros(len(types), np.bool_)
    pairs_within(
        np.array([0, len(types)]), cover, np.array([20]), np.array([opened]), np.array([phi]), np.array([most]),
        counts, 20 - reduced, value, found,
    )  # fmt: skip
    for at, i in enumerate(cover.tolist()):
        cheapest = min((int(np.array(group) @ reduced) for group in groups if group[i]), default=most + 1)
        assert found[at] or not opened or cheapest > most
    assert found.any() <= (opened and phi <= most)
