"""Quality measures against counting by hand."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from kanon_milp.errors import InputError
from kanon_milp.problem.table import Table
from kanon_milp.report import metrics

ORIGINAL = pl.DataFrame({"u": ["a", "a", "b", None, "c"], "v": ["x", "y", "y", "y", "y"]})
RELEASED = pl.DataFrame({"u": ["a", "a", "*", "*", "*"], "v": ["*", "*", "y", "y", "y"]})


def test_measures_of_a_small_table() -> None:
    found = metrics.measure(Table.from_frame(ORIGINAL, ["u", "v"]), RELEASED)
    assert found.suppressions == 5
    assert (found.groups, found.h_avg, found.h_max) == (2, Fraction(5, 2), 3)
    assert found.discernibility == 4 + 9
    # first group: 1 of 4 values of u, 2 of 2 of v; second: 3 of 4 (one of them missing), 1 of 2
    assert found.usefulness == (Fraction(1, 4) + 1 + Fraction(3, 4) + Fraction(1, 2)) / 2
    assert found.as_dict()["usefulness"] == 1.25


def test_usefulness_is_the_number_of_columns_when_everything_is_one_group() -> None:
    whole = ORIGINAL.with_columns(pl.lit("*").alias(c) for c in ORIGINAL.columns)
    assert metrics.usefulness(ORIGINAL, whole) == 2


def test_usefulness_of_an_untouched_table_is_one_value_of_each_domain() -> None:
    rows = ORIGINAL.unique(maintain_order=True)
    assert metrics.usefulness(rows, rows) == Fraction(1, 4) + Fraction(1, 2)


def test_each_group_counts_once_in_usefulness() -> None:
    twice = pl.concat([ORIGINAL, ORIGINAL[:2], ORIGINAL[:2]])
    released = pl.concat([RELEASED, RELEASED[:2], RELEASED[:2]])
    assert metrics.usefulness(twice, released) == metrics.usefulness(ORIGINAL, RELEASED)


def test_missing_and_empty_are_different_groups() -> None:
    frame = pl.DataFrame({"u": [None, "", None]})
    assert metrics.group_sizes(frame) == [2, 1]
    assert metrics.suppressions(frame, "*") == 0


def test_other_symbol_and_rows_that_do_not_match() -> None:
    table = Table.from_frame(ORIGINAL, ["u", "v"], symbol="?")
    assert metrics.measure(table, RELEASED).suppressions == 0
    assert metrics.measure(table, RELEASED[:4]).usefulness is None
    with pytest.raises(InputError, match='no column "v"'):
        metrics.measure(table, RELEASED.drop("v"))
