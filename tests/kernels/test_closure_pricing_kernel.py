"""Candidates priced by sets of rows, against the closures of all subsets and Python's integers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanon_milp.kernels.closure_pricing import nearest_costs, price_closures

KINDS = pytest.mark.parametrize("kind", [np.int64, np.float64])
BITS = 4
tables = st.lists(st.tuples(*[st.integers(0, 1)] * BITS), min_size=1, max_size=8, unique=True)


def never() -> bool:
    return False


def loss(rows: tuple[tuple[int, ...], ...], delta: list[int]) -> int:
    return sum(d for b, d in enumerate(delta) if len({row[b] for row in rows}) > 1)


@KINDS
@settings(max_examples=25)
@given(tables, st.data())
def test_the_sum_is_that_of_all_closures(kind: Any, rows: list[tuple[int, ...]], data: st.DataObject) -> None:
    t, numbers = len(rows), st.integers(1, 3)
    delta = data.draw(st.lists(st.integers(1, 5), min_size=BITS, max_size=BITS))
    counts = data.draw(st.lists(numbers, min_size=t, max_size=t))
    need = data.draw(st.integers(1, sum(counts)))
    lam = sorted(data.draw(st.lists(st.integers(-5, 20), min_size=t, max_size=t)), reverse=True)
    expected, closed = 0, set()
    for size in range(1, t + 1):
        for chosen in itertools.combinations(rows, size):
            closed.add(tuple(b for b in range(BITS) if len({row[b] for row in chosen}) > 1))
    for free in closed:
        w = sum(delta[b] for b in free)
        for covered in {tuple(row[b] for b in range(BITS) if b not in free) for row in rows}:
            cover = [i for i, row in enumerate(rows) if tuple(row[b] for b in range(BITS) if b not in free) == covered]
            if tuple(b for b in range(BITS) if len({rows[i][b] for i in cover}) > 1) != free:
                continue
            single = [i for i in cover for _ in range(counts[i])]
            if len(single) >= need:
                expected += min(0, sum(w - lam[i] for at, i in enumerate(single) if at < need or lam[i] > w))
    label = np.array(rows, np.int32)
    each = [np.array(part, kind) for part in (delta, counts, lam)]
    each[0] = each[0][None, :]
    given_ = (label, each[0], each[1], each[2], kind(need), kind(0), kind(0), kind(0), False, False)
    total, seed, *_ = price_closures(*given_, 0, len(label), 10**6, 10**6, never)
    assert (total, seed) == (expected, t)
    stopped = price_closures(*given_, 0, len(label), 10**6, 10**6, lambda: True)
    assert stopped[:2] == (0, 0)  # it was asked at once, and nothing counts
    near = nearest_costs(label, each[0], each[1], kind(need), never)
    for i, row in enumerate(rows):
        nearest = sorted((loss((row, other), delta), n) for other, n in zip(rows, counts, strict=True))
        held = itertools.accumulate(n for _, n in nearest)
        assert near[i] == next(each for (each, _), size in zip(nearest, held, strict=True) if size >= need)
    assert not nearest_costs(label, each[0], each[1], kind(need), lambda: True).any()
