"""Sampling weights in `inspect`, and missing keys that match any value in `verify`: what is judged by them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.errors import InputError


def test_the_population_of_a_class_is_the_sum_of_its_weights() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "z"], "b": ["1"] * 4, "w": ["10", "2.5", "4", "1"]})
    risk = km.inspect(frame, ["a", "b"], weight="w").risk
    assert risk.journalist_highest == 1
    assert risk.marketer == (Fraction(2) / Fraction("12.5") + Fraction(1, 4) + 1) / 4
    assert risk.prosecutor_average == Fraction(3, 4)


def test_weights_of_rows_that_are_counted() -> None:
    """A row of 3 with the weight 2 stands for 6 of the population."""
    frame = pl.DataFrame({"a": ["x", "y"], "n": [3, 1], "w": [2.0, 5.0]})
    risk = km.inspect(frame, ["a"], count="n", weight="w").risk
    assert risk.journalist_highest == Fraction(1, 5)
    assert risk.marketer == (Fraction(3, 6) + Fraction(1, 5)) / 4


@pytest.mark.parametrize("cell", ["0.5", "-1", "x", "", None])
def test_weights_that_are_none_are_refused(cell: str | None) -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "w": ["2", cell]})
    with pytest.raises(InputError, match='column "w", row 2: a sampling weight'):
        km.inspect(frame, ["a"], weight="w")
    with pytest.raises(InputError, match="weight or population, not both"):
        km.inspect(frame, ["a"], weight="w", population=frame)


def test_missing_keys_that_match_are_a_reading_of_verify(tmp_path: Path) -> None:
    file, original = tmp_path / "released.csv", tmp_path / "original.csv"
    original.write_text("a,b\nx,1\nx,2\nx,1\n")
    file.write_text("a,b\nx,1\nx,\nx,1\n")
    asked = ["--qi", "a,b", "--k", 3]
    assert run("verify", file, *asked).returncode == 6
    assert run("verify", file, *asked, "--missing", "wildcard").returncode == 0
    given = ["--original", original, "--cells", "intervals", *asked]
    assert run("verify", file, *given).returncode == 6
    assert run("verify", file, *given, "--missing", "wildcard").returncode == 0
