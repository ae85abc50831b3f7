"""The verifier over files and data frames of other kinds, and what its report says."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pandas as pd
import polars as pl
import pytest
from test_verify import TABLE_2, liang_yuan_problem, printed

from kanon_milp.errors import InputError
from kanon_milp.methods.verification import verify_files
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.verify import verify


def test_data_frames_of_other_kinds_and_numbers() -> None:
    frame = pd.DataFrame({"age": [30, 30, 41], "x": [1.5, None, 2.0], "d": ["u", "v", None]}, index=[7, 7, 9])
    problem = Problem(Table.from_frame(frame, ["age"], "d"), [KAnonymity(1)])
    mixed = frame.assign(age=pd.Series([30, 30, "*"], dtype=object, index=frame.index))
    for released in (
        mixed,
        pl.DataFrame({"age": ["30", "30", "*"], "x": [1.5, None, 2.0], "d": ["u", "v", None]}),
        pl.DataFrame({"age": ["30", "30", "*"], "x": ["1.5", None, "2.0"], "d": ["u", "v", None]}).lazy(),
        pl.DataFrame({"age": ["30", "30", "*"], "x": [1.5, None, 2.0], "d": ["u", "v", None]}).to_arrow(),
    ):
        report = verify(problem, released)
        assert report, report.violations
        assert report.cost == 1
        assert report.released.sensitive["d"].p == 1
    assert not verify(problem, mixed.assign(x=[1.5, 0.0, 2.0]))


def test_a_missing_number_is_missing_however_it_is_written() -> None:
    frame = pl.DataFrame({"age": [30.0, float("nan")], "x": [float("nan"), 1.0]})
    problem = Problem(Table.from_frame(frame, ["age"]), [KAnonymity(1)])
    for released in (frame, frame.fill_nan(None), frame.fill_nan(None).cast(pl.String)):
        assert verify(problem, released)
    assert not verify(problem, frame.fill_nan(0.0))


def write(path: Any, text: Any) -> Any:
    path.write_text(text, encoding="utf-8")
    return path


def test_files_made_by_other_tools(tmp_path: Any) -> None:
    original = write(tmp_path / "people.csv", "zip,age,d\n007,30,u\n007,31,v\n008,31,v\n")
    anonymized = write(tmp_path / "out.csv", "zip,age,d\n007,?,u\n007,?,v\n?,?,v\n")
    report = verify_files(original, anonymized, ["zip", "age"], "d", symbol="?")
    assert report
    assert (report.k_strict, report.k_exempt, report.cost, report.privacy) == (1, 2, Fraction(4), ())
    assert not verify_files(original, anonymized, ["zip", "age"], "d")
    asked: dict[str, Any] = {"privacy": [KAnonymity(2)], "symbol": "?"}
    assert not verify_files(original, anonymized, ["zip", "age"], "d", **asked)
    assert verify_files(original, anonymized, ["zip", "age"], "d", suppressed_rows="exempt", **asked)
    mask = write(tmp_path / "mask.csv", "age,zip\n*,keep\n*,?\n")
    assert verify_files(original, anonymized, ["zip", "age"], mask=mask, symbol="?")
    write(tmp_path / "mask.csv", "age,zip\nkeep,keep\n*,?\n")
    assert not verify_files(original, anonymized, ["zip", "age"], mask=mask, symbol="?")


def test_files_with_hierarchies_and_another_delimiter(tmp_path: Any) -> None:
    original = write(tmp_path / "people.csv", "zip;age\n1;30\n1;31\n")
    anonymized = write(tmp_path / "out.csv", "zip;age\n1;3x\n1;3x\n")
    write(tmp_path / "age.csv", "level0;level1;level2\n30;3x;*\n31;3x;*\n")
    options: dict[str, Any] = {"privacy": [KAnonymity(2)], "delimiter": ";"}
    report = verify_files(original, anonymized, ["zip", "age"], hierarchies=tmp_path, **options)
    assert report
    assert report.cost == 1
    assert not verify_files(original, anonymized, ["zip", "age"], **options)
    mask = write(tmp_path / "mask.csv", "zip;age\nkeep;1\n")
    assert verify_files(original, anonymized, ["zip", "age"], hierarchies=tmp_path, mask=mask, **options)
    write(tmp_path / "mask.csv", "zip;age\nkeep;2\n")
    assert not verify_files(original, anonymized, ["zip", "age"], hierarchies=tmp_path, mask=mask, **options)


def test_numbers_of_a_parquet_original_compare_with_a_text_file(tmp_path: Any) -> None:
    frame = pl.DataFrame({"age": [30, 31], "income": [1.5, None], "day": ["a", ""]})
    frame.write_parquet(tmp_path / "people.parquet")
    frame.with_columns(age=pl.lit("*")).write_csv(tmp_path / "out.csv")
    assert verify_files(tmp_path / "people.parquet", tmp_path / "out.csv", ["age"])


def test_unusable_files_are_input_errors(tmp_path: Any) -> None:
    original = write(tmp_path / "people.csv", "zip,age\n1,30\n")
    with pytest.raises(InputError, match="no such file"):
        verify_files(original, tmp_path / "none.csv", ["zip"])
    other = write(tmp_path / "other.csv", "zap,age\n1,30\n")
    with pytest.raises(InputError, match='did you mean "zap"'):
        verify_files(original, other, ["zip"])
    # a k above the number of rows is no error of the input: the table violates it
    report = verify_files(original, original, ["zip"], privacy=[KAnonymity(2)])
    assert report.violations == ("1 of 1 groups has fewer than k = 2 rows; the first is row 1",)


def test_an_anonymized_file_with_another_delimiter_is_read_or_named(tmp_path: Any) -> None:
    """ARX writes semicolons; what is divided by neither is told."""
    original = write(tmp_path / "people.csv", "zip,age\n1,30\n")
    assert verify_files(original, write(tmp_path / "t6.csv", "zip;age\n1;30\n"), ["zip", "age"]).ok
    other = write(tmp_path / "t7.csv", "zip~age\n1~30\n")
    with pytest.raises(InputError) as caught:
        verify_files(original, other, ["zip", "age"])
    assert str(caught.value).startswith(f'{other}: there is no column "zip" (quasi-identifier)')


def test_the_report_is_plain_data() -> None:
    report = verify(liang_yuan_problem(), printed(TABLE_2), [0] * 3 + [1] * 4 + [2] * 3)
    data = json.loads(json.dumps(report.as_dict()))
    assert data["ok"] is True
    assert (data["cost"], data["cost_exact"], data["groups"]) == (54, "54", 3)
    assert data["privacy"] == [{"k": 3}]
    assert data["mean_group_exact"] == "10/3"
    assert data["sensitive"]["disease"] == {
        "p": 1,
        "l": 1,
        "l_exact": "1",
        "l_distinct": 1,
        "l_entropy": 1.0,
        "l_entropy_exact": "1",
        "l_entropy_whole": 1,
        "recursive": {},
        "alpha": 1,
        "alpha_exact": "1",
        "t": 0.6,
        "t_exact": "3/5",
        "t_equal": 0.6,
        "t_equal_exact": "3/5",
        "beta": 1.5,
        "beta_exact": "3/2",
        "delta": None,
        "delta_base2": None,
        "delta_ratio": None,
        "delta_ratio_exact": None,
        "delta_present": 0.9162907318741551,
        "delta_present_base2": 1.3219280948873624,
        "delta_present_ratio": 2.5,
        "delta_present_ratio_exact": "5/2",
    }
    assert (data["l_pairwise"], data["minimal"]) == (None, True)
    assert data["partition"]["groups"] == 3
    text = report.summary()
    assert text.startswith("verified")
    assert "loss 54, 54 of 80 cells suppressed (67.5 %), 0 rows fully" in text
    wrong = verify(liang_yuan_problem(k=4), printed(TABLE_2))
    assert wrong.summary().startswith("NOT verified")
    assert wrong.as_dict()["violations"] == list(wrong.violations)
