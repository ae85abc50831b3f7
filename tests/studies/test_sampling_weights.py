"""Sampling weights in `inspect` and `measure`, and missing keys that match any value: what is judged by them."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import run
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.studies.metrics import Frequencies


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
    gone = pl.concat([pl.DataFrame({"a": ["*"], "w": ["2"]}), frame.cast({"w": pl.String})])
    with pytest.raises(InputError, match='column "w", row 3: a sampling weight'):
        km.inspect(gone, ["a"], weight="w")
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


BY_HAND = [  # fk, weights of the rows of a class, Fk and rk by the formula; 0.17707583 is in the tests of sdcMicro, too
    (2, (18.0, 92.0), Fraction(110), 0.01714426),
    (2, (45.5, 39.0), Fraction("84.5"), 0.02204233),
    (1, (17.0,), Fraction(17), 0.17707583),
    (1, (541.0,), Fraction(541), 0.01165448),
    (1, (8.0,), Fraction(8), 0.29706308),
    (1, (5.0,), Fraction(5), 0.40235948),
]


def test_the_individual_risk_is_that_of_the_formula() -> None:
    rows = [(f"class {at}", weight) for at, (_, weights, _, _) in enumerate(BY_HAND) for weight in weights]
    frame = pl.DataFrame(rows, schema=["q", "w"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["q"], keep="w"), km.KAnonymity(1))
    with pytest.raises(InputError, match='there is no column "nope" of weights'):
        km.measure(problem, frame, weight="nope")
    found = km.measure(problem, frame, weight="w")
    assert found.population_smallest == 5
    assert found.individual_highest == pytest.approx(0.40235948, abs=1e-8)
    average = sum(fk * rk for fk, _, _, rk in BY_HAND) / len(rows)
    assert found.individual_average == pytest.approx(average, abs=1e-8)
    assert km.measure(problem, frame).individual_highest is None


@pytest.mark.parametrize("rest", ["1e-15", "1e-9", "0.0099", "0.0101", "0.3", "0.9", "0.999999"])
def test_the_individual_risk_of_two_rows_is_exact_where_its_terms_are_alike(rest: str) -> None:
    """Against the formula in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        p = 1 - Decimal(rest)
        odds = p / (1 - p)
        expected = float(odds - odds * odds * (1 / p).ln())
    share = Fraction(p)
    frequencies = Frequencies(np.zeros(2, dtype=np.int64), np.array([2]), np.array([2 / share], dtype=object))
    assert frequencies.individual_risk == [pytest.approx(expected, rel=1e-10)]


key = st.sampled_from(["a", "b", None, "*"])


@given(st.lists(st.tuples(key, key, st.integers(1, 9)), min_size=1, max_size=8), st.booleans())
@settings(max_examples=examples(200, 20))
def test_frequencies_of_rows_that_match_are_those_of_pairs(
    rows: list[tuple[str | None, str | None, int]], match: bool
) -> None:
    """f_k and F_k by their definition, and the rows at risk that `inspect` counts."""
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String, "w": pl.Int64}, orient="row")
    plain = pl.DataFrame({"x": ["a"] * len(rows), "y": ["b"] * len(rows), "w": frame["w"]})
    problem = km.Problem(km.Table.from_frame(plain, ["x", "y"], keep="w"), km.KAnonymity(1))

    def alike(one: str | None, other: str | None) -> bool:
        return one == other or (match and (one in (None, "*") or other in (None, "*")))

    gone = [row[:2] == ("*", "*") for row in rows]
    shown = [not each for each in gone] if not all(gone) else [True] * len(rows)
    of_row = [
        [
            each
            for each, is_shown in zip(rows, shown, strict=True)
            if (match or is_shown) and alike(row[0], each[0]) and alike(row[1], each[1])
        ]
        for row in rows
    ]
    counts = [len(each) for each, is_shown in zip(of_row, shown, strict=True) if is_shown]
    sums = [sum(w for _, _, w in each) for each, is_shown in zip(of_row, shown, strict=True) if is_shown]
    if not any(None in row[:2] for row in rows):  # of a missing cell it is not known what it stands for
        found = km.measure(problem, frame, weight="w", missing_keys="match" if match else "own")
        assert found.population_smallest == min(sums)
        assert found.risk_highest == Fraction(1, min(counts))
    risk = km.inspect(frame, ["x", "y"], weight="w", missing="wildcard" if match else "value")
    empty = [all(cell in (None, "*") for cell in row[:2]) and "*" in row[:2] for row in rows]
    if empty == gone:
        assert risk.risk.journalist_highest == Fraction(1, min(sums))
        assert risk.risk.prosecutor_highest == Fraction(1, min(counts))
        assert risk.risk.marketer == sum(Fraction(1, each) for each in sums) / len(sums)
        assert [each.rows for each in risk.touched] == [sum(count < k for count in counts) for k in (2, 5, 10)]


def test_inspect_says_which_rows_match(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("a,b\nx,1\nx,\ny,2\n")
    shown = run("inspect", file, "--qi", "a,b", "--missing", "wildcard")
    assert shown.returncode == 0
    assert "count the rows that match a row" in " ".join(shown.stdout.split())
    found = km.inspect(file, ["a", "b"], missing="wildcard")
    assert [each.rows for each in found.touched] == [1, 3, 3]
    assert found.as_dict()["missing"] == "wildcard"
    assert not any("the risk of a unit" in note for note in found.notes)
    of_units = km.inspect(file, ["b"], unit="a", missing="wildcard")
    assert any("the risk of a unit, the units at risk, what identifies" in note for note in of_units.notes)
    assert of_units.unit_risk == km.inspect(file, ["b"], unit="a").unit_risk  # that of rows that are alike
    with pytest.raises(InputError, match="leave one of the two out"):
        km.inspect(file, ["a", "b"], missing="wildcard", population=file)
