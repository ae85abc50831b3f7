"""Row Assignment and p-Row Assignment beside every way to place the rows."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import kanon_milp as km


def cheapest(p: int, k: int, omega: list[int], rows: list[tuple[int, int]], a: list[list[int]]) -> int | None:
    """The least cost over all ways to give each row (input row type, value) an output row type."""
    costs = []
    for chosen in itertools.product(range(len(omega)), repeat=len(rows)):
        if not all(a[i][j] for (i, _), j in zip(rows, chosen, strict=True)):
            continue
        groups = [[value for (_, value), at in zip(rows, chosen, strict=True) if at == j] for j in range(len(omega))]
        if all(len(group) >= k and len(set(group)) >= p for group in groups):
            costs.append(sum(omega[j] for j in chosen))
    return min(costs, default=None)


@pytest.mark.parametrize("seed", range(60))
def test_they_cost_what_the_best_of_all_ways_costs(seed: int) -> None:
    draw = random.Random(seed)
    types, values, groups = draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 3)
    p, k = draw.randint(0, 3), draw.randint(0, 4)
    rows = [(draw.randrange(types), draw.randrange(values)) for _ in range(draw.randint(1, 7))]
    omega = [draw.randint(0, 4) for _ in range(groups)]
    a = [[int(draw.random() < 0.75) for _ in range(groups)] for _ in range(types)]
    n = np.zeros((types, values), dtype=np.int64)
    for i, value in rows:
        n[i, value] += 1

    best = cheapest(p, k, omega, rows, a)
    found = km.p_row_assignment(p, k, omega, n, a)
    assert (found is None) == (best is None)
    if found is not None:
        assert (found.sum(axis=2) == n).all()  # (7)
        assert (found.sum(axis=1) <= np.array(a) * len(rows)).all()  # (5)
        assert (found.sum(axis=(0, 1)) >= k).all()  # (6)
        assert (np.sign(found.sum(axis=0)).sum(axis=0) >= p).all()  # (9)
        assert (found @ omega).sum() == best
    if best is not None:
        assert km.p_row_assignment(p, k, omega, n, a, s=best) is not None  # (8)
        assert best == 0 or km.p_row_assignment(p, k, omega, n, a, s=best - 1) is None

    best = cheapest(0, k, omega, rows, a)
    plain = km.row_assignment(k, omega, n.sum(axis=1), a)
    assert (plain is None) == (best is None)
    if plain is not None:
        assert (plain.sum(axis=1) == n.sum(axis=1)).all()
        assert (plain @ omega).sum() == best


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, [1, 2], [3], [[1]]), r"a: 0 or 1 is expected for each of 1 input and 2 output row types"),
        ((2, [1], [3], [[2]]), "a: 0 or 1"),
        ((2, [1.5], [3], [[1]]), "omega: an array of 1 dimension, integers"),
        ((2, [1], [-3], [[1]]), "n: an array of 1 dimension, integers"),
        ((2, [1], [[3]], [[1]]), "n: an array of 1 dimension"),
        ((-1, [1], [3], [[1]]), "k must be at least 0"),
        ((2, [], [3], [[]]), "omega: an array"),
    ],
)
def test_what_is_no_input_is_refused(arguments: tuple[int, object, object, object], message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        km.row_assignment(*arguments)
