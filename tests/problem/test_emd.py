"""The exact earth mover's distance agrees with its linear program, with published examples and with another library."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.problem.distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    MatrixDistance,
    NumericDistance,
    OrderedDistance,
    Space,
)
from kanon_milp.problem.distances.base import emd, emd_by_flow

PATHS: dict[str | None, tuple[str | None, ...]] = {
    "a": ("a", "ab", "left", "*"),
    "b": ("b", "ab", "left", "*"),
    "c": ("c", "c+", "left", "*"),
    "d": ("d", "d+", "right", "*"),
    "e": ("e", "d+", "right", "*"),
}


def random_metric(count: int, seed: int) -> MatrixDistance:
    """Shortest paths over random lengths, scaled to a maximum of 1."""
    draw = random.Random(seed)
    d = [[Fraction(draw.randint(1, 12)) for _ in range(count)] for _ in range(count)]
    for i, j in itertools.product(range(count), repeat=2):
        d[i][j] = Fraction(0) if i == j else d[min(i, j)][max(i, j)]
    for k, i, j in itertools.product(range(count), repeat=3):
        d[i][j] = min(d[i][j], d[i][k] + d[k][j])
    largest = max(map(max, d))
    return MatrixDistance([chr(97 + i) for i in range(count)], [[cell / largest for cell in row] for row in d])


def by_linear_program(space: Space, p: list[int], q: list[int]) -> float:
    count = len(p)
    cost = [space.distance(i, j) / space.scale for i in range(count) for j in range(count)]
    rows = [np.kron(np.eye(count)[i], np.ones(count)) for i in range(count)]
    columns = [np.kron(np.ones(count), np.eye(count)[j]) for j in range(count)]
    masses = [x / sum(p) for x in p] + [x / sum(q) for x in q]
    solved = scipy.optimize.linprog(cost, A_eq=np.array(rows + columns), b_eq=masses)
    assert solved.fun is not None
    return float(solved.fun)


@pytest.fixture
def pycanon() -> Any:
    """Another library, which pins old releases of numpy and typer: it is no dependency."""
    return pytest.importorskip("pycanon.anonymity", reason="needs pip install --no-deps pycanon")


COUNTS = st.lists(st.integers(0, 6), min_size=5, max_size=5).filter(any)


@given(COUNTS, COUNTS, st.integers(0, 10**6), st.permutations(["-3", "0.5", "1", "2", "10/3"]))
@settings(max_examples=examples(30, 3))
def test_all_ways_agree(p: list[int], q: list[int], seed: int, numbers: list[str]) -> None:
    spaces = [
        distance.space(list("abcde"), "test")
        for distance in (
            EqualDistance(),
            OrderedDistance(list("xeadcby")),
            HierarchicalDistance(km.Hierarchy(PATHS)),
            random_metric(5, seed),
        )
    ]
    for space in (*spaces, NumericDistance().space(numbers, "test"), OrderedDistance().space(numbers, "test")):
        found = emd(space, p, q)
        assert found == emd_by_flow(space, p, q) == emd(space, q, p)
        assert float(found) == pytest.approx(by_linear_program(space, p, q), abs=1e-9)
        assert 0 <= found <= 1
        assert (found == 0) == ([x * sum(q) for x in p] == [x * sum(p) for x in q])


@given(COUNTS, COUNTS, COUNTS, st.integers(0, 10**6))
@settings(max_examples=examples(30, 3))
def test_it_is_a_metric_and_convex(p: list[int], q: list[int], r: list[int], seed: int) -> None:
    """Convexity is why t-closeness survives the union of two groups."""
    space = random_metric(5, seed).space(list("abcde"), "test")
    assert emd(space, p, r) <= emd(space, p, q) + emd(space, q, r)
    union = [a + b for a, b in zip(p, q, strict=True)]
    assert emd(space, union, r) <= max(emd(space, p, r), emd(space, q, r))


def test_single_values_are_at_their_ground_distance() -> None:
    metric = random_metric(6, 3)
    space = metric.space(list("abcdef"), "test")
    unit = [[int(i == j) for j in range(6)] for i in range(6)]
    for i, j in itertools.product(range(6), repeat=2):
        assert emd(space, unit[i], unit[j]) == Fraction(metric.matrix[i][j])


def test_numbers_of_any_size_stay_exact() -> None:
    """Counts from arrays of 64 bits, whose products would overflow, and distances beyond them."""
    tiny = Fraction(1, 3 * 10**30)
    p, q = (np.array([2**40, 2**40 + more], dtype=np.int64) for more in (1, 3))
    expected = Fraction(2**40, 2**41 + 1) - Fraction(2**40, 2**41 + 3)
    for distance in (EqualDistance(), MatrixDistance(["a", "b"], [[0, 1], [1, 0]])):
        space = distance.space(["a", "b"], "test")
        assert emd(space, p, q) == expected  # type: ignore[arg-type]
    metric = MatrixDistance(["a", "b", "c"], [[0, tiny, 1], [tiny, 0, 1], [1, 1, 0]]).space(["a", "b", "c"], "test")
    assert emd(metric, [2, 1, 0], [1, 2, 0]) == tiny / 3


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([1], "2 values need as many counts, found 1"),
        ([1, 1, 1], "2 values need as many counts, found 3"),
        ([0, 0], "some must be positive"),
        ([2, -1], "must not be negative"),
    ],
)
def test_counts_that_are_no_distribution(p: list[int], message: str) -> None:
    for distance in (EqualDistance(), MatrixDistance(["a", "b"], [[0, 1], [1, 0]])):
        space = distance.space(["a", "b"], "test")
        for first, second in ((p, [1, 1]), ([1, 1], p), (p, p)):
            for judge in (emd, emd_by_flow):
                with pytest.raises(ValueError, match=message):
                    judge(space, first, second)


def test_salaries_of_the_t_closeness_paper() -> None:
    """Li, Li, Venkatasubramanian 2007: 3k to 11k in the table; 0.375 and 0.167."""
    space = OrderedDistance().space([str(1000 * x) for x in range(3, 12)], "salary")
    table = [1] * 9
    assert emd(space, [1, 1, 1, 0, 0, 0, 0, 0, 0], table) == Fraction(3, 8)
    assert emd(space, [0, 0, 0, 1, 0, 1, 0, 0, 1], table) == Fraction(1, 6)


def test_classes_of_table_5() -> None:
    """Liang, Yuan 2013: the partition of Table 5 is 0.1-close."""
    space = EqualDistance().space(["Cancer", "Heart Disease", "Viral Infection"], "disease")
    table = [4, 3, 3]
    groups = [[1, 1, 1], [2, 1, 1], [1, 1, 1]]
    assert [emd(space, group, table) for group in groups] == [Fraction(1, 15), Fraction(1, 10), Fraction(1, 15)]


def random_frame(draw: random.Random, secrets: Sequence[object]) -> pd.DataFrame:
    """Twelve rows with at least two different secrets: with one the other library divides by 0."""
    drawn = [*secrets[:2], *draw.choices(secrets, k=10)]
    return pd.DataFrame({"q": draw.choices("xyz", k=12), "r": draw.choices("uv", k=12), "s": drawn})


def worst(frame: pd.DataFrame, distance: GroundDistance) -> Fraction:
    values = sorted(set(frame["s"]))
    space = distance.space([str(value) for value in values], "s")
    table = Counter(frame["s"])
    groups = [Counter(group["s"]) for _, group in frame.groupby(["q", "r"])]
    return max(emd(space, [group[v] for v in values], [table[v] for v in values]) for group in groups)


def test_the_other_library_agrees_on_equal_distance(pycanon: Any) -> None:
    """For text it takes half the sum of the differences, which is Fact 1 of Liang, Yuan 2013."""
    draw = random.Random(7)
    for _ in range(8):
        frame = random_frame(draw, "abcd")
        theirs = pycanon.t_closeness(frame, ["q", "r"], ["s"])
        assert float(worst(frame, EqualDistance())) == pytest.approx(theirs, abs=1e-12)


def test_the_other_library_agrees_on_ordered_distance(pycanon: Any) -> None:
    """For numbers it sums cumulative differences over the values of the whole table and divides by V - 1.

    That counts ranks, whatever the numbers are: it is ordered distance without an order, not numeric distance, and not
    an order with values that the table lacks.
    """
    draw = random.Random(8)
    for _ in range(8):
        frame = random_frame(draw, [-1, 2, 3, 50])
        theirs = pycanon.t_closeness(frame, ["q", "r"], ["s"])
        assert float(worst(frame, OrderedDistance())) == pytest.approx(theirs, abs=1e-12)
    skewed = pd.DataFrame({"q": list("xxy"), "r": list("uuu"), "s": [0, 1, 10]})
    assert worst(skewed, OrderedDistance()) == Fraction(1, 2)
    assert pycanon.t_closeness(skewed, ["q", "r"], ["s"]) == pytest.approx(1 / 2)
    assert worst(skewed, NumericDistance()) == Fraction(19, 30)
