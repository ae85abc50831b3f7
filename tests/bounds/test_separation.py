"""Rank-1 cuts that are found are violated, and none with two or three row types is missed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from kanon_milp.bounds.parameters import SeparationParameters
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts, separate
from kanon_milp.presolve.assignment import Groups

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

Solution = tuple[list[int], list[dict[int, int]], list[float]]  # rows of row types, groups, how often each is used
MANY = 10**6


def packed(groups: list[dict[int, int]]) -> Groups:
    rows = [[i for i, a in group.items() for _ in range(a)] for group in groups]
    return Groups.of_rows(
        np.arange(len(rows)),
        np.array([len(each) for each in rows], dtype=np.int64),
        np.array([i for each in rows for i in each], dtype=np.int64),
    )


def violation(row: tuple[Any, Any, int], solution: Solution) -> float:
    """Left side less right side, group by group."""
    counts, groups, share = solution
    types, weights, d = row
    p = {i: Fraction(weight, d) for i, weight in zip(types, weights, strict=True)}
    left = 0.0
    for group, each in zip(groups, share, strict=True):
        left += math.floor(sum((p[i] * group.get(i, 0) for i in p), Fraction(0))) * each
    return left - math.floor(sum((p[i] * counts[i] for i in p), Fraction(0)))


def found_in(
    solution: Solution, most: int, touching: int = SeparationParameters.touching, known: RankOneCuts = NO_CUTS
) -> list[tuple[list[int], list[int], int]]:
    (counts, groups, share), params = solution, SeparationParameters(touching=touching)
    rows = np.array(counts, dtype=np.int64)
    return separate(packed(groups), np.array(share), rows, most, known, params=params).each()


def vertex(counts: list[int], groups: list[dict[int, int]], cost: list[int]) -> Solution:
    """Groups that hold each row once, at least cost; single rows are dear."""
    alone = [{i: 1} for i in range(len(counts))]
    every = groups + alone
    matrix = [[group.get(i, 0) for group in every] for i in range(len(counts))]
    found = linprog([*cost, *[50] * len(alone)], A_eq=matrix, b_eq=counts)
    assert found.status == 0
    assert found.x is not None
    return counts, every, found.x.tolist()


@st.composite
def solutions(draw: st.DrawFn, most_types: int = 8, most_copies: int = 3) -> Solution:
    """Vertices of the linear program over groups of two to four rows."""
    sometimes = st.sampled_from([1, 1, 1, *range(2, most_copies + 1)])
    counts = draw(st.lists(sometimes, min_size=3, max_size=most_types))
    rows = [i for i, n in enumerate(counts) for _ in range(n)]
    places = st.lists(st.integers(0, len(rows) - 1), min_size=2, max_size=4, unique=True)
    groups = []
    for each in draw(st.lists(places, min_size=3, max_size=20)):
        inside = [rows[place] for place in each]
        groups.append({i: inside.count(i) for i in inside})
    cost = draw(st.lists(st.integers(1, 9), min_size=len(groups), max_size=len(groups)))
    return vertex(counts, groups, [c + 5 * sum(g.values()) for c, g in zip(cost, groups, strict=True)])


# of two or three row types groups for each pair: half of each is the cheapest
PAIRS: list[dict[int, int]] = [{0: 1, 1: 1}, {0: 1, 2: 1}, {1: 1, 2: 1}]
TRIANGLE = ([1, 1, 1], PAIRS, [0.5, 0.5, 0.5])


@given(solutions(), st.integers(1, 30))
@settings(relaxed, max_examples=examples(60, 20))
def test_what_is_found_is_violated_and_new(solution: Solution, most: int) -> None:
    rows = found_in(solution, most)
    assert len(rows) <= most
    keys = [(tuple(types), tuple(weights), d) for types, weights, d in rows]
    assert len(set(keys)) == len(keys)
    for types, weights, d in rows:
        assert violation((types, weights, d), solution) > SeparationParameters.least_violation - 1e-6
        assert 0 < min(weights) <= max(weights) < d
        assert math.gcd(d, *weights) == 1
    for i in range(len(solution[0])):
        assert sum(i in types for types, _, _ in rows) <= SeparationParameters.touching
    # known ones are not found again
    again = found_in(solution, most, known=RankOneCuts.of(rows))
    assert not {(tuple(types), tuple(weights), d) for types, weights, d in again} & set(keys)


@given(solutions())
@settings(relaxed, max_examples=examples(60, 20))
def test_all_violated_rows_of_up_to_three_row_types_with_one_half_each(solution: Solution) -> None:
    found = {tuple(types) for types, weights, d in found_in(solution, MANY, MANY) if d == 2 and set(weights) == {1}}
    by = {
        chosen: violation((chosen, [1] * size, 2), solution)
        for size in (1, 2, 3)
        for chosen in itertools.combinations(range(len(solution[0])), size)
    }
    for chosen, over in by.items():
        if over > SeparationParameters.least_violation + 1e-6 and chosen not in found:
            # it may follow from a single row type and the others
            splits = [((i,), tuple(j for j in chosen if j != i)) for i in chosen]
            assert any(over <= max(by[one], 0) + max(by[rest], 0) + 1e-6 for one, rest in splits if rest)
    for chosen in found:
        if len(chosen) <= 3:
            assert by[chosen] > SeparationParameters.least_violation - 1e-6


@given(solutions(most_copies=1))
@settings(relaxed, max_examples=examples(60, 20))
def test_of_single_rows_all_violated_triples(solution: Solution) -> None:
    rows = found_in(solution, MANY, MANY)
    triples = itertools.combinations(range(len(solution[0])), 3)
    violated = {
        each
        for each in triples
        if violation((each, (1, 1, 1), 2), solution) > SeparationParameters.least_violation + 1e-6
    }
    assert violated <= {tuple(types) for types, weights, d in rows if d == 2}


def test_a_triangle() -> None:
    assert ([0, 1, 2], [1, 1, 1], 2) in found_in(TRIANGLE, 10)


def test_a_row_type_of_three_rows_in_pairs() -> None:
    # one and a half groups of two of three like rows, where there is room for one
    assert ([0], [1], 2) in found_in(([3], [{0: 2}], [1.5]), 10)
    # two of one row type, one of another: half of the groups {0, 0} and one of {0, 1}
    assert ([0, 1], [1, 1], 2) in found_in(([2, 1], [{0: 2}, {0: 1, 1: 1}], [0.5, 1.0]), 10)


def test_whole_solutions_and_none_violate_nothing() -> None:
    assert not found_in(([1, 1, 1], PAIRS, [0.0, 0.0, 0.0]), 10)
    assert not found_in(([1, 2, 1], [{0: 1, 1: 1}, {1: 1, 2: 1}], [1.0, 1.0]), 10)
    assert separate(Groups.none(), np.zeros(0), np.ones(3, dtype=np.int64), 10, NO_CUTS).count == 0


def test_larger_families() -> None:
    # a quarter of each four of five rows: (1, 1, 1, 1, 1)/3 says that there is one with three or more
    fours: list[dict[int, int]] = [dict.fromkeys(each, 1) for each in itertools.combinations(range(5), 4)]
    found = found_in(([1] * 5, fours, [0.25] * 5), MANY)
    assert any(violation(row, ([1] * 5, fours, [0.25] * 5)) == pytest.approx(0.25) for row in found)
    # a cycle of seven in pairs has no violated triple, but one of 7 that is grown from one that is nearly violated
    cycle: list[dict[int, int]] = [{i: 1, (i + 1) % 7: 1} for i in range(7)]
    odd = (list(range(7)), [1] * 7, 2)
    assert violation(odd, ([1] * 7, cycle, [0.5] * 7)) == pytest.approx(0.5)
    assert odd in found_in(([1] * 7, cycle, [0.5] * 7), MANY)


def test_rows_are_the_same_each_time() -> None:
    rng = np.random.default_rng(3)
    groups = [dict.fromkeys(rng.choice(30, 4, replace=False).tolist(), 1) for _ in range(150)]
    solution = vertex([1] * 30, groups, rng.integers(4, 12, 150).tolist())
    first = found_in(solution, 40)
    assert first == found_in(solution, 40)
    assert first
    assert all(violation(row, solution) > SeparationParameters.least_violation - 1e-6 for row in first)
    assert max(len(types) for types, _, _ in first) > 5
