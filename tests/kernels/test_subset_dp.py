"""The best partition of every set of rows, against the same without tricks."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.subset_dp import divide_some

NEVER = 1 << 60


@given(st.lists(st.integers(1, 2), min_size=1, max_size=4), st.integers(1, 50), st.data())
def test_the_best_partition(copies: list[int], steps: int, data: st.DataObject) -> None:
    place = np.cumprod([1, *(n + 1 for n in copies[:-1])]).astype(np.int64)
    sets = sorted(itertools.product(*(range(n + 1) for n in copies)), key=lambda each: int(np.array(each) @ place))
    costs = st.one_of(st.integers(0, 30), st.just(NEVER))
    cost = np.array(data.draw(st.lists(costs, min_size=len(sets), max_size=len(sets))), np.int64)
    total, group = np.full(len(sets), NEVER), np.zeros(len(sets), np.int64)
    total[0], done = 0, 1
    while done < len(sets):
        done = divide_some(np.array(copies, np.int64), place, cost, total, group, done, steps)
    best = [0]
    for number in range(1, len(sets)):
        parts = [p for p in range(1, number + 1) if all(a <= b for a, b in zip(sets[p], sets[number], strict=True))]
        best.append(min(NEVER, *(int(cost[p]) + best[number - p] for p in parts)))
    assert total.tolist() == best
    for number in range(1, len(sets)):
        if best[number] < NEVER:
            assert cost[group[number]] + total[number - group[number]] == total[number]
