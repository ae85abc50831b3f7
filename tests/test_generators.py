"""Generators make what the papers describe."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.instances import generators
from kanon_milp.instances.microdata import (
    CHUNK,
    QUASI_IDENTIFIERS,
    synthetic_microdata,
    write_synthetic_microdata,
)


def solve(frame: pl.DataFrame, k: int, **options: object) -> km.Result:
    return km.solve(km.Problem(km.Table.from_frame(frame, frame.columns), [km.KAnonymity(k)], **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_the_tight_example_costs_m_squared(m: int) -> None:
    frame = generators.tight_example(m)
    assert frame.height == m + m * (m - 1)
    assert solve(frame, m).require_optimal().objective == m**2


@pytest.mark.parametrize(("sizes", "k"), [([2, 3, 2], k) for k in (1, 2, 3, 4, 6, 7, 12)] + [([4, 2], 5)])
def test_full_products_have_their_known_optimum(sizes: list[int], k: int) -> None:
    frame = generators.full_product(sizes)
    assert solve(frame, k).require_optimal().objective == generators.full_product_optimum(sizes, k)


SETS = [("a", "b", "c"), ("c", "d", "e"), ("d", "e", "f"), ("a", "d", "f")]


@pytest.mark.parametrize("h", [1, 2, 3])
def test_three_set_cover_is_yes_exactly_if_h_sets_cover(h: int) -> None:
    universe = set().union(*SETS)
    covers = any(set().union(*chosen) == universe for chosen in itertools.combinations(SETS, h))
    instance = generators.three_set_cover(SETS, h)
    mask = km.PatternMask(instance.patterns)
    result = solve(instance.frame, instance.k, recoding=mask, cost_bound=instance.s)
    assert result.proof == ("optimal" if covers else "infeasible")


def test_bad_arguments_are_refused() -> None:
    for call in (
        lambda: generators.tight_example(1),
        lambda: generators.full_product([]),
        lambda: generators.full_product_optimum([2, 2], 5),
        lambda: generators.three_set_cover([("a", "a", "b")], 1),
        lambda: synthetic_microdata(0),
    ):
        with pytest.raises(km.InputError):
            call()


def test_microdata_begin_alike_whatever_their_length(tmp_path: Path) -> None:
    long = synthetic_microdata(CHUNK + 1000, seed=3)
    assert synthetic_microdata(5000, seed=3).equals(long.head(5000))
    assert not synthetic_microdata(5000, seed=4).equals(long.head(5000))
    for name in ("t.parquet", "t.csv"):
        write_synthetic_microdata(tmp_path / name, CHUNK + 1000, seed=3)
        assert km.read_table(tmp_path / name, QUASI_IDENTIFIERS).frame.to_native().equals(long)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv", "t.parquet"]


def test_row_types_of_microdata_grow_ever_more_slowly() -> None:
    frame = synthetic_microdata(200_000)
    small, large = (km.compress(frame.head(n), QUASI_IDENTIFIERS).count for n in (20_000, 200_000))
    assert 2 * small < large < 8 * small
