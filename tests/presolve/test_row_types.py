"""Row types are the distinct rows; the kernel keeps as many rows of each as others can need."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reduction_cases import PrintedKernel, keeps, table_of

import kanon_milp as km
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.kernel import Kernel
from kanon_milp.presolve.row_types import rows_by_type
from kanon_milp.problem.column_values import mixed_key

value = st.sampled_from(["a", "b", "", "aa", None])
rows = st.lists(st.tuples(value, value, value), min_size=1, max_size=40)


def frame_of(data: list[tuple[str | None, ...]]) -> pl.DataFrame:
    return pl.DataFrame(data, schema={"x": pl.String, "y": pl.String, "s": pl.String}, orient="row")


@given(rows)
def test_multiplicities_are_those_of_a_counter(data: list[tuple[str | None, ...]]) -> None:
    types = km.compress(frame_of(data), ["x", "y"], ["s"])
    expected = Counter(row[:2] for row in data)
    assert dict(zip(types.frame().rows(), types.counts.tolist(), strict=True)) == expected
    stars = Counter(data)
    found = {
        (*types.frame().row(t), types.domains[2][c]): n
        for t, c, n in zip(
            types.star_type.tolist(), types.star_codes[:, 0].tolist(), types.star_counts.tolist(), strict=True
        )
    }
    assert found == stars
    assert types.n == len(data)
    assert types.star_count == len(stars)


@given(rows)
def test_the_inverse_leads_back_to_every_row(data: list[tuple[str | None, ...]]) -> None:
    frame = frame_of(data)
    types = km.compress(frame, ["x", "y"])
    of_row = types.type_of_rows(frame)
    assert [types.frame().row(t) for t in of_row.tolist()] == [row[:2] for row in data]
    indptr, order = rows_by_type(of_row, types.count)
    for t in range(types.count):
        mine = order[indptr[t] : indptr[t + 1]].tolist()
        assert mine == [r for r, row in enumerate(of_row.tolist()) if row == t]


@given(rows, st.randoms())
def test_row_types_do_not_depend_on_the_order_of_rows(data: list[tuple[str | None, ...]], random: object) -> None:
    first = km.compress(frame_of(data), ["x", "y"], ["s"])
    random.shuffle(data)  # type: ignore[attr-defined]
    second = km.compress(frame_of(data), ["x", "y"], ["s"])
    assert first.domains == second.domains
    for name in ("codes", "counts", "star_type", "star_codes", "star_counts"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


def test_keys_of_very_wide_tables_do_not_overflow() -> None:
    codes = np.random.default_rng(1).integers(0, 1000, size=(200, 30))
    codes[100:] = codes[:100]
    key = mixed_key(list(codes.T), [1000] * 30)
    assert len(np.unique(key)) == len(np.unique(codes, axis=0)) == 100
    assert (key[100:] == key[:100]).all()


def test_numbers_and_dates_are_compressed_by_their_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.0, 1.0, float("nan"), None], "b": [True, True, False, False]})
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    types = km.compress(pl.scan_parquet(path), ["a", "b"])
    assert types.frame().rows() == [("1.0", "true"), (None, "false")]
    assert types.counts.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("name", "drop", "n", "m", "t", "widest"),
    [
        ("adult", ["native-country"], 30162, 8, 18755, 72),
        ("adult", ["salary-class"], 30162, 8, 18109, 72),
        ("adult_raw", ["fnlwgt"], 32561, 14, 29096, 119),
        ("cmc", ["method"], 1473, 9, 1358, 34),
    ],
)
def test_real_tables_have_their_published_numbers(
    data_folder: Path, name: str, drop: list[str], n: int, m: int, t: int, widest: int
) -> None:
    frame = km.datasets.load(name)
    names = [c for c in frame.columns if c not in drop]
    types = km.compress(frame, names)
    assert (types.n, len(names), types.count) == (n, m, t)
    assert max(len(domain) for domain in types.domains) == widest


@pytest.mark.parametrize(("copies", "left"), [(4, 4), (5, 3), (6, 3), (100, 3)])
def test_a_row_type_keeps_as_many_rows_as_others_can_need(copies: int, left: int) -> None:
    # k = 2 and P = 2 candidates (keep, suppress): 2·1 + 1 rows stay, once 2 others can be placed beforehand
    problem = km.Problem(table_of(" ".join(["a"] * copies + ["b"])), [km.KAnonymity(2)])
    steps = keeps(problem, Fraction(2), (Kernel(),))
    assert steps[0].instance.types.counts.tolist() == [left, 1]
    assert steps[0].instance.candidates.support.tolist() == [left, 1, left + 1]


def test_the_kernel_is_for_groups_of_size_k_alone() -> None:
    table = table_of("axm byn czm dwn", sensitive=True)
    k = km.KAnonymity(2)
    assert Kernel().accepts(km.Problem(table, [k, km.KAnonymity(3)], cost_bound=3))
    for problem in (
        km.Problem(table, [k, km.PSensitivity(2)]),
        km.Problem(table, [k], min_groups=1),
        km.Problem(table, [k], max_groups=1),
        km.Problem(table, [k], objective="max_groups"),
    ):
        assert not Kernel().accepts(problem)


def test_the_kernel_needs_a_candidate_that_costs_nothing() -> None:
    problem = km.Problem(table_of(" ".join(["ax"] * 9)), [km.KAnonymity(2)], km.PatternMask([("keep", "*")]))
    assert Kernel().apply(prepare(problem)).instance.types.n == 9
    free = replace(problem, recoding=km.PatternMask([("keep", "*")], {"q1": 0}))
    assert Kernel().apply(prepare(free)).instance.types.n == 2


@pytest.mark.parametrize(("copies", "left"), [(16, 16), (17, 15), (18, 16), (100, 16), (101, 15)])
def test_the_printed_kernel_takes_groups_of_k_above_its_threshold(copies: int, left: int) -> None:
    # k = 2, m = 1: of more than 2·2²·2 = 16 rows of a type groups of two are taken
    problem = km.Problem(table_of(" ".join(["a"] * copies + ["b"])), [km.KAnonymity(2)])
    steps = keeps(problem, Fraction(2), (PrintedKernel(),))
    assert steps[0].instance.types.counts.tolist() == [left, 1]


def test_the_printed_kernel_is_for_all_patterns() -> None:
    table = table_of("ax by")
    assert PrintedKernel().accepts(km.Problem(table, [km.KAnonymity(2)]))
    assert not PrintedKernel().accepts(km.Problem(table, [km.KAnonymity(2)], km.PatternMask([("keep", "*")])))
