"""The cheapest group of any size, against all groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from subproblems import SCALE, Case, cases

from kanon_milp.kernels.tree_subproblem import cheapest_of_size, select
from kanon_milp.kernels.valued_groups import (
    add_negative_rows,
    cheapest_by_size,
    cheapest_negative,
    cheapest_of_candidate,
    choose_rows,
    lowest_size,
    take_groups,
)

NEVER = 1 << 60


def cheapest(case: Case, g: int, scale: int = 1) -> float:
    """φ times `scale` by brute force, no less than all rows with a negative reduced cost."""
    allowed = [cost for rows, cost in case.groups(g) if sum(rows) >= case.least[g]]
    below = sum(case.counts[i] * min(case.cost[g] - case.multipliers[i], 0) for i in case.covers[g])
    return scale * max(min(allowed, default=math.inf), below)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@given(case=cases())
def test_the_cheapest_group_of_a_candidate(kind: type, case: Case) -> None:
    s = case.subproblems(kind)
    for g in range(2):
        select(s, g)
        for near in (1, 4):
            possible = cheapest_of_candidate(s, near, 100, True)
            phi = cheapest(case, g, SCALE[kind])
            assert possible == math.isfinite(phi)
            if not possible:
                continue
            # in integers rounded down
            assert s.value == pytest.approx(phi if kind is np.float64 else max(math.floor(phi), s.below))
            # a size that is not convex has h below H
            if s.most >= s.fewest and not s.convex:
                values = {}
                for size in range(s.fewest, s.most + 1):
                    if cheapest_of_size(s, size, False):
                        values[size] = s.value
                assert lowest_size(s, min(max(near, s.fewest), s.most))
                assert s.value == pytest.approx(min(values.values()))
            # few tries give a bound below
            assert cheapest_of_candidate(s, near, 1, True)
            assert s.value <= phi + 1e-9


@given(case=cases())
def test_negative_groups_and_their_rows(case: Case) -> None:
    s = case.subproblems(np.float64)
    sizes, phi = np.zeros(2, np.int64), np.zeros(2)
    for g in range(2):
        select(s, g)
        if s.most < s.fewest:
            continue
        for near in (1, 4):
            some = cheapest_negative(s, near, 100)
            assert s.value == pytest.approx(min(cheapest(case, g), 0.0), abs=1e-9)
            assert some or s.value == 0
        phi[g], sizes[g] = s.value, s.size
        add_negative_rows(s)
        assert s.below <= phi[g] + 1e-9
    pairs = len(s.members)
    rows, excess, average = np.zeros(5), np.ones(2), np.full(pairs + 1, 0.5)
    ascending = np.concatenate([np.sort(np.asarray(s.members)[a:b]) for a, b in [s.indptr[:2], s.indptr[1:]]])
    wanted = (phi < 0).view(np.uint8)
    take_groups(s, wanted, sizes, rows, excess, ascending, average)
    assert rows.sum() == pytest.approx(sizes[phi < 0].sum())
    assert (excess[phi >= 0] == 0).all()
    assert (average[:-1] - 0.5).sum() == pytest.approx(0.5 * rows.sum())
    for g in np.flatnonzero(phi < 0).tolist():
        select(s, g)
        choose_rows(s, sizes[g])
        before = s.value
        far = excess[g]
        s.theta = s.theta + 1
        choose_rows(s, sizes[g])
        # a subgradient of a concave function
        assert s.value <= before + far + 1e-6


@given(case=cases())
def test_all_candidates_in_integers(case: Case) -> None:
    s = case.subproblems(np.int64)
    phi, some, sizes, groups = np.empty((4, 2), np.int64)
    sizes[:] = case.least
    cheapest_by_size(s, 100, NEVER, True, phi, sizes, groups)
    cheapest_by_size(s, 100, NEVER, False, some, sizes, groups)
    for g in range(2):
        least = cheapest(case, g, SCALE[np.int64])
        if not math.isfinite(least):
            assert phi[g] == NEVER
            continue
        select(s, g)
        add_negative_rows(s)
        assert phi[g] == max(math.floor(least), s.below)
        assert min(some[g], 0) == min(max(math.floor(least), s.below), 0)
