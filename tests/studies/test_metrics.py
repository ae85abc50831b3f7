"""Quality measures against counting by hand, and against what a paper has published."""

from __future__ import annotations

import math
import os
import time
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.studies import metrics

ORIGINAL = pl.DataFrame({"u": ["a", "a", "b", None, "c"], "v": ["x", "y", "y", "y", "y"]})
RELEASED = pl.DataFrame({"u": ["a", "a", "*", "*", "*"], "v": ["*", "*", "y", "y", "y"]})


def problem(frame: pl.DataFrame, k: int = 2, symbol: str = "*", recoding: km.Hierarchies | None = None) -> km.Problem:
    table = km.Table.from_frame(frame, frame.columns, symbol=symbol)
    return km.Problem(table, km.KAnonymity(k), recoding or km.Suppression())


def test_measures_of_a_small_table() -> None:
    found = km.measure(problem(ORIGINAL), RELEASED)
    assert found.suppressions == 5
    assert (found.groups, found.h_avg, found.h_max) == (2, Fraction(5, 2), 3)
    assert found.discernibility == 4 + 9
    assert found.class_size == Fraction(5, 4)
    # first group: 1 of 4 values of u, 2 of 2 of v; second: 3 of 4 (one of them missing), 1 of 2
    assert found.usefulness == (Fraction(1, 4) + 1 + Fraction(3, 4) + Fraction(1, 2)) / 2
    assert found.as_dict()["usefulness"] == 1.25
    assert found.precision == found.certainty_penalty == Fraction(1, 2)
    assert (found.risk_highest, found.risk_average) == (Fraction(1, 2), Fraction(2, 5))
    assert found.rows_at_risk == 0


def test_entropy_counts_the_bits_of_what_is_suppressed() -> None:
    found = km.measure(problem(ORIGINAL), RELEASED)
    u = 3 * math.log2(5)  # b, missing and c occur once in five rows
    v = math.log2(5) + math.log2(5 / 4)
    everything = 2 * math.log2(5 / 2) + u + math.log2(5) + 4 * math.log2(5 / 4)
    assert found.entropy_loss == pytest.approx((u + v) / everything)


def test_generalized_cells_lose_a_part() -> None:
    """Worked by hand: ages 21, 25, 34, 61; 21 and 25 become 20-29, one level of two; 34 and 61 are suppressed."""
    paths = {"21": ("21", "20-29", "*"), "25": ("25", "20-29", "*"), "34": ("34", "30-39", "*")}
    paths["61"] = ("61", "60-69", "*")
    ages = pl.DataFrame({"age": ["21", "25", "34", "61"]})
    released = pl.DataFrame({"age": ["20-29", "20-29", "*", "*"]})
    found = km.measure(problem(ages, recoding=km.Hierarchies({"age": paths})), released)
    assert found.precision == 1 - Fraction(1, 4) * (2 * Fraction(1, 2) + 2)
    assert found.certainty_penalty == Fraction(1, 4) * (2 * Fraction(4, 40) + 2)
    assert found.entropy_loss == pytest.approx((2 * 1 + 2 * 2) / (4 * 2))
    assert found.usefulness == (Fraction(4, 40) + Fraction(27, 40)) / 2
    words = ages.with_columns(pl.col("age") + " years")
    named = {f"{age} years": (f"{age} years", *path[1:]) for age, path in paths.items()}
    found = km.measure(problem(words, recoding=km.Hierarchies({"age": named})), released)
    assert found.certainty_penalty == Fraction(1, 4) * (2 * Fraction(2, 4) + 2)
    assert found.usefulness == Fraction(2, 4)


def test_rows_in_small_groups_are_at_risk() -> None:
    found = km.measure(problem(ORIGINAL, k=3), ORIGINAL)
    assert found.rows_at_risk == 1
    assert found.risk_highest == 1
    assert found.precision == 1
    assert found.certainty_penalty == 0
    assert found.entropy_loss == 0


def test_usefulness_is_the_number_of_columns_when_everything_is_one_group() -> None:
    suppressed = ORIGINAL.with_columns(pl.lit("*").alias(c) for c in ORIGINAL.columns)
    assert metrics.usefulness(ORIGINAL, suppressed) == 2


def test_usefulness_of_an_untouched_table_is_one_value_of_each_domain() -> None:
    rows = ORIGINAL.unique(maintain_order=True)
    assert metrics.usefulness(rows, rows) == Fraction(1, 4) + Fraction(1, 2)


def test_each_group_counts_once_in_usefulness() -> None:
    twice = pl.concat([ORIGINAL, ORIGINAL[:2], ORIGINAL[:2]])
    released = pl.concat([RELEASED, RELEASED[:2], RELEASED[:2]])
    assert metrics.usefulness(twice, released) == metrics.usefulness(ORIGINAL, RELEASED)


def test_missing_and_empty_are_different_groups() -> None:
    frame = pl.DataFrame({"u": [None, "", None]})
    assert metrics.group_sizes(frame, np.ones(3, dtype=np.int64)) == [2, 1]


def test_labels_that_nobody_knows_and_rows_that_do_not_match_are_not_measured() -> None:
    other = km.measure(problem(ORIGINAL, symbol="?"), RELEASED)
    assert other.suppressions == 0
    assert other.precision is None
    assert other.certainty_penalty is None
    assert other.entropy_loss is None
    assert km.measure(problem(ORIGINAL), RELEASED[:4]).usefulness is None
    with pytest.raises(km.InputError, match='no column "v"'):
        km.measure(problem(ORIGINAL), RELEASED.drop("v"))


@pytest.mark.full
@pytest.mark.skipif(not os.environ.get("KANON_MILP_DATA"), reason="KANON_MILP_DATA is not set")
@pytest.mark.parametrize(
    ("k", "groups", "largest", "usefulness"),
    [(2, 14589, 16, 2.062), pytest.param(10, 2559, 56, 3.106, marks=pytest.mark.slow)],
)
def test_the_greedy_heuristic_has_the_published_measures(k: int, groups: int, largest: int, usefulness: float) -> None:
    """Bredereck et al. 2013, Table 1: Adult, 32,561 rows, all columns but fnlwgt.

    In one row of what is left over the paper's program leaves a group of fewer than k, which here is dissolved into
    another: one group fewer.
    """
    frame = km.datasets.load("adult_raw")
    columns = [name for name in frame.columns if name != "fnlwgt"]
    asked = km.Problem(km.Table.from_frame(frame, columns), km.KAnonymity(k))
    found = km.measure(asked, km.solve(asked, method="greedy").table)
    assert 0 <= groups - found.groups <= 1
    assert found.h_max == largest
    assert round(float(found.usefulness or 0), 3) == usefulness


def test_a_number_of_a_billion_digits_is_text() -> None:
    frame = pl.DataFrame({"a": ["1e999999999", "1e-999999999", "2", "9" * 5000]})
    asked = km.Problem(km.Table.from_frame(frame, "a"), km.KAnonymity(2))
    # as text, so the cells stand for four values of four
    assert km.measure(asked, pl.DataFrame({"a": ["*"] * 4})).certainty_penalty == 1
    small = frame.with_columns(pl.Series("a", ["1e2", "-1.5E+3", ".5", "7."]))
    asked = km.Problem(km.Table.from_frame(small, "a"), km.KAnonymity(2))
    assert metrics.numeric_values(asked.table.keys["a"]) == [100, -1500, Fraction(1, 2), 7]


@pytest.mark.full
def test_columns_of_thousands_of_values_are_measured_in_seconds() -> None:
    """Each label is looked at once, not once for each value that has it."""
    values = [str(number) for number in range(12_000)]
    frame = pl.DataFrame({"a": values, "b": values})
    tree = {value: (value, f"{int(value) % 6000}-", "*") for value in values}
    asked = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2), km.Hierarchies({"b": tree}))
    released = pl.DataFrame({"a": ["*"] * len(values), "b": [tree[value][1] for value in values]})
    began = time.perf_counter()
    found = km.measure(asked, released)
    assert time.perf_counter() - began < 30
    # b: pairs of values that are 6,000 of 11,999 apart; a: all of it
    assert found.certainty_penalty == (1 + Fraction(6000, 11999)) / 2


def test_names_that_are_patterns_to_polars_are_names() -> None:
    names = ["^a.*$", "ab", "*"]
    frame = pl.DataFrame({name: ["1", "1", "2", "3"] for name in names})
    released = frame.with_columns(pl.Series("ab", ["*"] * 4))
    plain = dict(zip(names, "xyz", strict=True))
    expected = km.measure(problem(frame.rename(plain)), released.rename(plain))
    assert km.measure(problem(frame), released) == expected
    assert expected.suppressions == 4


def test_boxes_and_means_of_other_tools() -> None:
    """Worked by hand: ages 21, 25, 35, 61 in two groups; the sides of boxes, and squares around the means."""
    frame = pl.DataFrame({"age": [21, 25, 35, 61], "job": ["a", "b", "c", "c"]})
    asked, groups = problem(frame), [7, 7, 3, 3]
    mean = Fraction(142, 4)
    total = sum((age - mean) ** 2 for age in (21, 25, 35, 61))
    lost = 100 * (2 * Fraction(2) ** 2 + 2 * Fraction(13) ** 2) / total
    boxes = pl.DataFrame({"age": ["[21, 25]", "21-25", "35~61", "[35, 61]"], "job": ["a~b", "{a, b}", "c", "c"]})
    box = (2 * Fraction(4, 40) + 2 * Fraction(26, 40) + 2 * Fraction(1, 2)) / 8
    found = km.measure(asked, km.boxes(asked, groups), partition=groups)
    assert (found.groups, found.discernibility, found.class_size) == (2, 8, Fraction(1))
    assert (found.box_penalty, found.information_loss) == (box, lost)
    assert km.measure(asked, boxes, partition=groups).box_penalty == box
    assert km.measure(asked, boxes).groups == 4
    means = pl.DataFrame({"age": ["23", "23", "48", "48"], "job": ["x", "x", "c", "c"]})
    found = km.measure(asked, means)
    assert (found.box_penalty, found.information_loss, found.certainty_penalty) == (box, lost, None)
    medians = km.measure(asked, pl.DataFrame({"age": [21, 21, 35, 35], "job": ["x", "x", "c", "c"]}))
    assert medians.information_loss == 100 * Fraction(4**2 + 26**2) / total
    words = problem(frame.select("job"))
    assert km.measure(words, frame.select("job")).information_loss is None
    with pytest.raises(km.InputError, match="partition: 4 integers"):
        km.measure(asked, means, partition=[1, 2])
