"""Violations of rank-1 cuts, as their formula has them, and odd sets, as their cuts do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.matching import growing_sets
from kanon_milp.kernels.rank_one_cuts import FractionalGroups, coefficients_in_cuts, enlarged, links, smallest_sets
from kanon_milp.system.arrays import Floats, Ints

TYPES = 5
LEAST = 0.02

groups_and_shares = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=TYPES, max_size=TYPES).filter(any), st.integers(1, 4)),
    min_size=1, max_size=6,
)  # fmt: skip


def lists_of(table: Ints) -> tuple[Ints, Ints, Ints]:
    """What is not 0 in each line of a table: indptr, columns, values."""
    line, column = map(np.ascontiguousarray, np.nonzero(table))
    return np.searchsorted(line, np.arange(len(table) + 1)), column, table[line, column]


def point_of(a: Ints, share: Floats, counts: Ints) -> FractionalGroups:
    return FractionalGroups(*lists_of(a), share, *lists_of(np.ascontiguousarray(a.T)), counts)


def violation(a: Ints, share: Floats, counts: Ints, p: Ints, d: int) -> float:
    return float((a @ p // d) @ share - (counts @ p) // d)


@given(groups_and_shares, st.lists(st.integers(1, 6), min_size=TYPES, max_size=TYPES))
def test_sets_are_violated_by_what_is_said(groups: list[tuple[list[int], int]], rows: list[int]) -> None:
    a, share = np.array([each for each, _ in groups], np.int64), np.array([n / 4 for _, n in groups])
    counts = np.array(rows, np.int64)
    point = point_of(a, share, counts)
    sets, violations = smallest_sets(point, links(point), 0, len(counts), LEAST)
    found = {}
    for each, by in zip(sets.tolist(), violations.tolist(), strict=True):
        chosen = [i for i in each if i >= 0]
        p = np.isin(np.arange(TYPES), chosen).astype(np.int64)
        assert LEAST < by == pytest.approx(violation(a, share, counts, p, 2))
        assert tuple(sorted(chosen)) not in found
        found[tuple(sorted(chosen))] = by
    for i in range(TYPES):
        p = (np.arange(TYPES) == i).astype(np.int64)
        assert ((i,) in found) == (counts[i] > 1 and violation(a, share, counts, p, 2) > LEAST)
    for d in (2, 3, 5):
        seeds = np.array(list(itertools.combinations(range(TYPES), 3)), np.int64)
        types, weights, over = enlarged(point, seeds, d, 4, LEAST)
        for each, by, value in zip(types.tolist(), weights.tolist(), over.tolist(), strict=True):
            p = np.zeros(TYPES, np.int64)
            for i, weight in zip(each, by, strict=True):
                assert (i >= 0) == (0 < weight < d)
                if i >= 0:
                    assert p[i] == 0
                    p[i] = weight
            assert LEAST < value == pytest.approx(violation(a, share, counts, p, d))


def test_more_sets_than_there_is_room_for_at_first() -> None:
    types = 20
    a = np.array([[int(i in pair) for i in range(types)] for pair in itertools.combinations(range(types), 2)], np.int64)
    share, counts = np.full(len(a), 0.5), np.ones(types, np.int64)
    point = point_of(a, share, counts)
    sets, violations = smallest_sets(point, links(point), 0, len(counts), LEAST)
    assert len(sets) == types * (types - 1) * (types - 2) // 6
    assert violations.tolist() == [0.5] * len(sets)
    every, _, over = enlarged(point, sets, 2, 3, LEAST)
    assert len(every) == len(sets)
    assert (over >= 0.5).all()


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=TYPES, max_size=TYPES), max_size=5),
    st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=TYPES, max_size=TYPES), st.integers(1, 4)), max_size=5),
)
def test_coefficients_of_groups_in_cuts(groups: list[list[int]], cuts: list[tuple[list[int], int]]) -> None:
    a = np.array(groups, np.int64).reshape(-1, TYPES)
    p = np.array([weights for weights, _ in cuts], np.int64).reshape(-1, TYPES)
    d = np.array([denominator for _, denominator in cuts], np.int64)
    cut, column, times = coefficients_in_cuts(*lists_of(a), *lists_of(np.ascontiguousarray(p.T)), d)
    found = np.zeros((len(a), len(p)), np.int64)
    found[column, cut] = times
    assert found.tolist() == (a @ p.T // d).tolist()
    assert (times > 0).all()
    assert (np.diff(column) >= 0).all()


def test_more_coefficients_than_there_is_room_for_at_first() -> None:
    a = np.ones((3_000, 1), np.int64)
    cut, column, times = coefficients_in_cuts(*lists_of(a), *lists_of(np.array([[2]])), np.array([2]))
    assert (cut == 0).all()
    assert column.tolist() == list(range(3_000))
    assert (times == 1).all()


ROWS = 8


@given(
    st.lists(st.tuples(st.lists(st.integers(0, ROWS - 1), min_size=2, max_size=3), st.integers(1, 4)), min_size=1),
    st.lists(st.integers(1, 3), min_size=ROWS, max_size=ROWS),
)
def test_sets_are_odd_and_violated_by_what_is_said(groups: list[tuple[list[int], int]], rows: list[int]) -> None:
    members = np.array([[-1] * (3 - len(each)) + sorted(each) for each, _ in groups], np.int64)
    theta, counts = np.array([n / 10 for _, n in groups]), np.array(rows, np.int64)
    a = np.array([[(line == i).sum() for i in range(ROWS)] for line in members])
    of, group = map(np.ascontiguousarray, np.nonzero(a.T))
    indptr = np.searchsorted(of, np.arange(ROWS + 1))
    order = np.argsort(-theta, kind="stable")
    begins, values, violations = growing_sets(members, theta, order, counts, indptr, group, LEAST, 6)
    assert begins[0] == 0
    for s, violation in enumerate(violations.tolist()):
        inside = values[begins[s] : begins[s + 1]]
        assert len(set(inside.tolist())) == len(inside) <= 6
        assert counts[inside].sum() % 2 == 1
        odd = a[:, inside].sum(axis=1) % 2 == 1
        assert LEAST < violation == pytest.approx(1 - theta[odd].sum())


def test_more_odd_sets_than_there_is_room_for_at_first() -> None:
    pairs = 2_000  # of row types that nothing else touches
    members = np.column_stack([np.full(pairs, -1), np.arange(pairs) * 2, np.arange(pairs) * 2 + 1])
    counts, group = np.tile([1, 2], pairs), np.repeat(np.arange(pairs), 2)
    begins, values, violations = growing_sets(
        members, np.full(pairs, 0.5), np.arange(pairs), counts, np.arange(2 * pairs + 1), group, LEAST, 6
    )
    assert begins.tolist() == list(range(0, 2 * pairs + 1, 2))
    assert sorted(values.tolist()) == list(range(2 * pairs))
    assert violations.tolist() == [1.0] * pairs
