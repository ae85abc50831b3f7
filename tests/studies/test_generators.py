"""Generators make what the papers describe."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.studies import generators
from kanon_milp.studies.generators import (
    CHUNK,
    COLUMNS,
    QUASI_IDENTIFIERS,
    synthetic_microdata,
)


def solve(frame: pl.DataFrame, k: int, **options: object) -> km.Result:
    return km.solve(km.Problem(km.Table.from_frame(frame, frame.columns), [km.KAnonymity(k)], **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_the_tight_example_costs_m_squared(m: int) -> None:
    frame = generators.tight_example(m)
    assert frame.height == m + m * (m - 1)
    assert solve(frame, m).require_optimal().objective == m**2


def greedy_cost(frame: pl.DataFrame, k: int, patterns: Sequence[Sequence[str]]) -> int:
    """Algorithm 1 of the Pattern-guided paper as printed; rows that are left at the end are fully suppressed."""
    left, cost = frame.rows(), 0
    for pattern in sorted(patterns, key=lambda cells: cells.count("*")):
        alike = defaultdict(list)
        for row in left:
            alike[tuple(value for value, cell in zip(row, pattern, strict=True) if cell == "keep")].append(row)
        cost += sum(pattern.count("*") * len(rows) for rows in alike.values() if len(rows) >= k)
        left = [row for rows in alike.values() if len(rows) < k for row in rows]
    return cost + frame.width * len(left)


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6])
def test_the_tight_example_is_tight_under_its_m_plus_2_patterns_only(m: int) -> None:
    frame = generators.tight_example(m)
    every = list(itertools.product(("keep", "*"), repeat=m))
    few = [pattern for pattern in every if pattern.count("*") in (0, 1, m)]
    assert greedy_cost(frame, m, few) == (m - 1) * m**2
    assert solve(frame, m, recoding=km.PatternMask(few)).require_optimal().objective == m**2
    # with all patterns the heuristic pairs two columns, and pays less than the paper says
    assert greedy_cost(frame, m, every) == (2 * m * (m - 1) if m % 2 == 0 else (m - 1) * (3 * m - 2))


def full_product_optimum(sizes: Sequence[int], k: int) -> int:
    """n·q with q the fewest columns whose sizes multiply to at least k."""
    fewest = next(q for q in itertools.count() if math.prod(sorted(sizes, reverse=True)[:q]) >= k)
    return math.prod(sizes) * fewest


@pytest.mark.parametrize(("sizes", "k"), [([2, 3, 2], k) for k in (1, 2, 3, 4, 6, 7, 12)] + [([4, 2], 5)])
def test_full_products_have_their_known_optimum(sizes: list[int], k: int) -> None:
    frame = generators.full_product(sizes)
    assert solve(frame, k).require_optimal().objective == full_product_optimum(sizes, k)


def test_random_tables_have_their_shape_and_seed() -> None:
    frame = generators.random_table(200, 3, 4, seed=1)
    assert frame.shape == (200, 3)
    assert frame.dtypes == [pl.String] * 3
    assert all(set(column) == {"0", "1", "2", "3"} for column in frame)
    assert frame.equals(generators.random_table(200, 3, 4, seed=1))
    assert not frame.equals(generators.random_table(200, 3, 4, seed=2))


def test_bad_arguments_are_refused() -> None:
    calls: list[Callable[[], object]] = [
        lambda: generators.tight_example(1),
        lambda: generators.full_product([]),
        lambda: generators.random_table(0, 2, 2),
        lambda: generators.random_table(2, 0, 2),
        lambda: generators.random_table(2, 2, 0),
        lambda: synthetic_microdata(0),
        lambda: synthetic_microdata(5, columns=["age", "sexe"]),
        lambda: synthetic_microdata(5, columns=["age", "age"]),
        lambda: synthetic_microdata(5, columns=[]),
        lambda: generators.microdata(10**12),
        lambda: generators.microdata(5, seed=-1),
    ]
    for call in calls:
        with pytest.raises(km.InputError):
            call()


def test_microdata_begin_alike_whatever_their_length() -> None:
    long = synthetic_microdata(CHUNK + 1000, seed=3)
    assert synthetic_microdata(5000, seed=3).equals(long.head(5000))
    assert not synthetic_microdata(5000, seed=4).equals(long.head(5000))


def test_microdata_are_text_and_do_not_depend_on_the_columns_asked_for() -> None:
    frame = synthetic_microdata(3000)
    assert tuple(frame.columns) == COLUMNS
    assert frame.dtypes == [pl.String] * len(COLUMNS)
    assert set(frame["age"].str.len_chars()) == {2}
    assert synthetic_microdata(3000, columns=["disease", "age"]).equals(frame.select("disease", "age"))


def test_row_types_of_microdata_grow_ever_more_slowly() -> None:
    frame = synthetic_microdata(200_000)
    small, large = (km.compress(frame.head(n), QUASI_IDENTIFIERS).count for n in (20_000, 200_000))
    assert 2 * small < large < 8 * small


def test_row_types_of_microdata_grow_as_those_of_a_census(data_folder: Path) -> None:
    adult = km.datasets.load("adult").sample(fraction=1, shuffle=True, seed=1)
    frame = synthetic_microdata(adult.height)
    for n in (1000, 3000, 10_000, adult.height):
        real, synthetic = (km.compress(rows.head(n), QUASI_IDENTIFIERS) for rows in (adult, frame))
        assert abs(synthetic.count / real.count - 1) < 0.1
        # the share of types that occur once is the exponent of the growth
        exponents = [(types.counts == 1).mean() for types in (real, synthetic)]
        assert abs(exponents[0] - exponents[1]) < 0.03
