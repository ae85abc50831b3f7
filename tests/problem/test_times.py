"""Different times are different values, whatever kind of column holds them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.problem.table import read_table
from kanon_milp.verify import verify

NANOSECONDS = [pl.Time, pl.Duration("ns"), pl.Datetime("ns"), pl.Datetime("ns", "Europe/Berlin")]


@pytest.mark.parametrize("kind", NANOSECONDS, ids=str)
def test_times_a_nanosecond_apart_are_not_merged(kind: Any) -> None:
    frame = pl.DataFrame({"a": pl.Series([1, 2]).cast(kind)})
    problem = km.Problem(km.Table.from_frame(frame, "a"), km.KAnonymity(2))
    assert km.solve(problem).objective == 2
    swapped = verify(problem, frame.reverse())
    assert any("not the original value" in said for said in swapped.violations)
    assert any("fewer than k = 2" in said for said in verify(problem, frame).violations)


def test_times_in_a_parquet_file_are_not_merged(tmp_path: Any) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": pl.Series([1, 2, 10**9, 3], dtype=pl.Time)}).write_parquet(path)
    keys = read_table(path, "a").keys["a"].to_list()
    assert keys == ["00:00:00.000000001", "00:00:00.000000002", "00:00:01", "00:00:00.000000003"]


MERGED = {
    "with a time zone and without": [pd.Timestamp("2020"), pd.Timestamp("2020", tz="UTC")],
    "dates and times": [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12)],
    "times of day": [dt.time(1), dt.time(1, tzinfo=dt.UTC)],
    "nanoseconds as objects": [pd.Timestamp(1), pd.Timestamp(2)],
    "differences": [pd.Timedelta(1), pd.Timedelta(2)],
}


@pytest.mark.parametrize("values", MERGED.values(), ids=MERGED.keys())
def test_objects_that_would_become_one_time_are_refused(values: list[object]) -> None:
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    with pytest.raises(km.InputError, match='column "a" holds values of several kinds'):
        km.Table.from_frame(frame, "a")


def test_a_changed_time_zone_is_a_change() -> None:
    frame = pd.DataFrame({"q": ["x", "x"], "rest": [pd.Timestamp("2020")] * 2})
    problem = km.Problem(km.Table.from_frame(frame, "q", keep="rest"), km.KAnonymity(2))
    assert verify(problem, frame).ok
    mixed = pd.Series([pd.Timestamp("2020"), pd.Timestamp("2020", tz="UTC")], dtype=object)
    assert any('"rest"' in said for said in verify(problem, frame.assign(rest=mixed)).violations)


def test_missing_times_of_several_kinds_are_no_mixture() -> None:
    frame = pd.DataFrame({"a": pd.Series([dt.time(1), None, pd.NaT, dt.time(1)], dtype=object)})
    problem = km.Problem(km.Table.from_frame(frame, "a"), km.KAnonymity(2))
    assert km.solve(problem).objective == 0
