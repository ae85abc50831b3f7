"""Dates, times and decimals as people write them: read where they can mean one thing, and else a word on what to do."""

from __future__ import annotations

import datetime
import datetime as dt
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pandas as pd
import polars as pl
import pytest
from command_line import run
from hypothesis import given

import kanon_milp as km
from kanon_milp.problem.column_values import TWO_WAYS, UNCLEAR, numbers_of
from kanon_milp.problem.dates import date_form, looks_like_date
from kanon_milp.problem.role_guess import read_values
from kanon_milp.problem.table import read_table
from kanon_milp.verify import verify
from kanon_milp.verify.numbers import numberings

DAYS = st.lists(st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)), min_size=1, max_size=8)


def label(column: list[str], value: str, level: int = 1, **how: object) -> str | None:
    return km.Hierarchy.dates(column, ["day", "month", "year"], **how).paths[value][level]  # type: ignore[arg-type]


@given(days=DAYS)
def test_a_day_in_front_of_points_is_read_as_python_reads_it(days: list[datetime.date]) -> None:
    made = km.Hierarchy.dates([f"{day:%d.%m.%Y}" for day in days], ["day", "year"])
    assert {path[1] for path in made.paths.values()} == {day.isoformat() for day in days}


@given(days=DAYS, form=st.sampled_from(["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"]))
def test_the_form_of_dates_is_never_another_one(days: list[datetime.date], form: str) -> None:
    found = date_form([day.strftime(form) for day in days])
    assert found in (form, None)
    if any(day.day > 12 for day in days):
        assert found == form
    else:
        assert found is None


def test_dates_may_have_a_time_and_few_zeros() -> None:
    column = ["28.04.2024 09:16", "3.5.2024 23:59:01", "01.12.2023"]
    assert label(column, "28.04.2024 09:16") == "2024-04-28"
    assert label(column, "3.5.2024 23:59:01") == "2024-05-03"
    assert label(column, "01.12.2023", 2) == "2023-12"
    hours = km.Hierarchy.dates(column, ["hour", "day"]).paths
    assert hours["28.04.2024 09:16"][1] == "2024-04-28 09h"
    assert km.Hierarchy.dates(column).height == 5  # times: day, month, quarter, year, *


@pytest.mark.parametrize("form", ["%m/%d/%Y", "%m/%d/%Y %H:%M"])
def test_a_form_of_dates_takes_times(form: str) -> None:
    assert label(["03/04/2024 10:30"], "03/04/2024 10:30", format=form) == "2024-03-04"


def test_a_slip_among_dates_is_another_value_and_is_told() -> None:
    column = [f"{day:02d}.02.2024" for day in range(1, 29)] + ["31.02.2024"]
    with pytest.warns(km.KanonWarning, match=r"1 value in 1 row is not a date of the form %d.%m.%Y"):
        assert label(column, "31.02.2024") == "other"


@given(days=st.lists(st.dates(datetime.date(1930, 1, 1), datetime.date.today()), min_size=1, max_size=8))
def test_no_date_with_a_year_of_two_digits_lies_after_today(days: list[datetime.date]) -> None:
    today = datetime.date.today()
    column = [f"{day:%d.%m.%y}" for day in days]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        paths = km.Hierarchy.dates(column, ["day"], format="%d.%m.%y").paths
    moved = set()
    for text, path in paths.items():
        assert text is not None
        day, month, year = map(int, text.split("."))
        later = datetime.date(2000 + year, month, day)
        moved |= {text} if year < 69 and later > today else set()
        assert path[1] == (later if later <= today else later.replace(year=later.year - 100)).isoformat()
    assert [str(each.message).partition(" in ")[0] for each in told] == (
        [f"hierarchy: {len(moved)} value{'s' * (len(moved) > 1)}"] if moved else []
    )


def test_years_of_two_digits_are_told_by_a_form_that_reads_them(tmp_path: Path) -> None:
    """What is advised is the form of the dates that are there, and reads each of them."""
    for column, said in (
        (["20.11.86", "17.11.49", "5.1.01"], ["%d.%m.%y"]),
        (["20/11/86", "17/10/49", "05/01/01"], ["%d/%m/%y"]),
        (["11/20/86", "10/17/49", "05/01/01"], ["%m/%d/%y"]),
        (["01/02/03", "03/04/05"], ["%d/%m/%y", "%m/%d/%y", "%y/%m/%d"]),
        (["86-11-20", "49-11-17"], ["%y-%m-%d"]),
        (["03/04/2024", "05/06/2024"], ["%d/%m/%Y", "%m/%d/%Y"]),
    ):
        advised = " or ".join(f"--dates COLUMN={form}" for form in said)
        assert read_values(pl.Series(column)).note.endswith(f"as in {advised}"), column
        with pytest.raises(km.InputError, match=re.escape(f"(say how others are written: {advised}, `hierarchy")):
            km.Hierarchy.dates(column)
        for form in said:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", km.KanonWarning)
                assert km.Hierarchy.dates(column, ["day"], format=form).height == 2
    with pytest.raises(km.InputError, match=r"no value is a date of the form %d/%m/%Y, as they are of .* %d\.%m\.%y$"):
        km.Hierarchy.dates(["20.11.86"], format="%d/%m/%Y")
    path = tmp_path / "t.csv"
    path.write_text("born\n20.11.86\n17.11.49\n")
    done = run("solve", "--data", path, "--qi", "born", "--k", 1, "--dates", "born=%d.%m.%y", "--out", tmp_path / "o")
    assert done.returncode == 0
    assert "1 value in 1 row would lie after today if years of two digits (%y) were of this century" in done.stderr


def test_dates_that_may_be_of_two_forms_are_an_error_with_a_way_out() -> None:
    with pytest.raises(km.InputError, match=r"no value is a date .*--dates COLUMN=%m/%d/%Y"):
        km.Hierarchy.dates(["03/04/2024", "05/06/2024"])


@pytest.mark.parametrize(
    ("column", "levels", "path"),
    [
        (["1990", "1985"], None, ("1990", "1990s", "*")),
        ([1990, 1985], "decade", ("1990", "1990s", "*")),
        (["1990", "1985", "unknown"], ["decade"], ("1990", "1990s", "*")),
        (["2020-05", "2021-01"], None, ("2020-05", "2020-Q2", "2020", "2020s", "*")),
        (["2020Q2", "2021-Q1"], ["year"], ("2020Q2", "2020", "*")),
    ],
)
@pytest.mark.filterwarnings("ignore::kanon_milp.KanonWarning")
def test_years_months_and_quarters_are_generalized_as_what_they_are(column: Any, levels: Any, path: Any) -> None:
    assert km.Hierarchy.dates(column, levels).paths[path[0]] == path


def test_what_is_finer_than_a_value_is_not_known_and_said() -> None:
    with pytest.raises(
        km.InputError, match="the values are years, of which no month is known; possible levels are decade"
    ):
        km.Hierarchy.dates(["1990", "1985"], ["month", "year"])
    kinds = km.inspect(pl.DataFrame({"born": [str(1950 + each % 40) for each in range(60)]})).columns
    assert kinds[0].kind == "integer"


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        *((value, False) for value in ("123-45-6789", "12-34-5678", "12345-6789", "555-12-3456", "1.2.3", "192.168.1")),
        *((value, False) for value in ("2024-13-13", "13/13/2020", "0171-12-3456", "06-12-34-56-78")),
        *((value, True) for value in ("03/04/2024", "3.4.2024", "2024/1/2", "03-04-24", "03/04/2024 10:30")),
    ],
)
def test_numbers_of_persons_and_phones_look_like_no_dates(value: str, is_one: bool) -> None:
    assert looks_like_date(value) == is_one
    column = pl.Series([value[:-1] + str(each) for each in range(10)])
    assert is_one or "looks like dates" not in read_values(column).note


def interval(column: list[str], value: str, widths: Any, **how: Any) -> str | None:
    return km.Hierarchy.intervals(column, widths, **how).paths[value][1]


def test_a_decimal_comma_is_read_where_it_divides_nothing_else() -> None:
    assert interval(["27,4", "31", "-0,5"], "27,4", [5]) == "[25, 30["
    made = km.Hierarchy.quantiles(["1,5", "2,5", "3,25", "4"], [2])
    assert [path[1] for path in made.paths.values()] == ["<3.25", "<3.25", ">=3.25", ">=3.25"]
    with pytest.raises(km.InputError, match=r"thousands or decimals.*--numeric COLUMN=5,10,point, or comma"):
        km.Hierarchy.intervals(["1,234", "2,345"], [5])
    with pytest.raises(km.InputError, match="some numbers have a decimal comma and some a decimal point"):
        km.Hierarchy.intervals(["27,4", "27.4"], [5])


@pytest.mark.parametrize(
    ("column", "label"),
    [
        (["1.234,50", "2"], "[1200, 1300["),
        (["1,234.50", "2"], "[1200, 1300["),
        (["$1,234", "$950"], "1200-1299"),
        (["1.234 €", "950 €"], "1200-1299"),
        (["45 %", "150 %"], "0-99"),
        (["1 234", "950"], "1200-1299"),
        (["1\u202f234,5", "950"], "[1200, 1300["),
        (["1'234", "950"], "1200-1299"),
        (["−5", "950"], "[-100, 0["),
        (["+1e3", "950"], "1000-1099"),
        (["12,34,567", "1"], "1234500-1234599"),
        (["1,234", "1,234,567"], "1200-1299"),
        (["1,234", "0,5"], "[0, 100["),
        (["CHF 1'234.50", "CHF 2"], "[1200, 1300["),
    ],
)
def test_numbers_are_read_as_people_write_them(column: list[str], label: str) -> None:
    assert interval(column, column[0], [100]) == label


def test_what_stands_before_decimals_can_be_said_and_numbers_need_not_be_asked() -> None:
    column = ["1.234", "12"]
    assert interval(column, "1.234", [1000], decimal="comma") == "1000-1999"
    assert interval(column, "1.234", [1], decimal="point") == "[1, 2["
    assert interval(column, "1.234", [1000], decimal="comma") == "1000-1999"
    with pytest.raises(km.InputError, match="decimal must be one of point, comma"):
        km.Hierarchy.intervals(column, [5], decimal=".")  # type: ignore[arg-type]
    assert km.Hierarchy.intervals(pl.Series([1.234, 2.345]), [1]).paths["1.234"][1] == "[1, 2["


def number(text: str, mark: str) -> Fraction | None:
    """A judge of its own: digits and one sign, or groups of three."""
    body = text.lstrip("+-")
    front, sign, decimals = body.partition(mark)
    groups = front.split("." if mark == "," else ",")
    digits = all(each.isascii() and each.isdigit() for each in [*groups, *([decimals] if decimals else [])])
    grouped = len(groups) == 1 or (
        1 <= len(groups[0]) <= 3 and groups[0][0] != "0" and {len(g) for g in groups[1:]} == {3}
    )
    sizes = [len(group) for group in groups]
    in_india = mark == "." and sizes[0] < 3 and front[0] != "0" and sizes[1:] == [2] * (len(sizes) - 2) + [3]
    if not digits or not (grouped or in_india) or (sign and mark in decimals):
        return None
    return Fraction(f"{'-' if text[0] == '-' else ''}{''.join(groups)}.{decimals or '0'}")


WRITTEN = st.from_regex(r"-?[0-9]{1,4}([.,][0-9]{1,3}){0,2}", fullmatch=True)


@given(column=st.lists(WRITTEN, min_size=1, max_size=4, unique=True))
def test_a_column_is_read_in_one_way_or_refused(column: list[str]) -> None:
    """Read as by the only sign before decimals under which all numbers can be read; by the verifier likewise."""
    ways = {mark: {text: read for text in column if (read := number(text, mark)) is not None} for mark in ".,"}
    every = ways["."].keys() | ways[","].keys()
    fitting = [way for way in ways.values() if way.keys() == every]
    found, again = numbers_of(column), numberings(column)
    if not fitting:
        assert found.doubt == TWO_WAYS
        assert again == []
    elif len(fitting) == 1 or fitting[0] == fitting[1]:
        assert found.of == fitting[0]
        assert found.doubt == ""
        assert again == [fitting[0]]
    else:
        assert [found.of, found.otherwise] == fitting == again
        assert found.doubt == UNCLEAR


def test_the_command_line_reads_and_verifies_them(tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "out"
    path.write_text("pay;age\n1.234,50;3\n1.250,00;3\n987;4\n12.000,1;4\n")
    asked = ["--qi", "pay,age", "--k", 2, "--delimiter", ";", "--numeric", "pay=100,10000"]
    done = run("solve", "--data", path, *asked, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "[1200, 1300[" in (out / "anonymized.csv").read_text()
    assert run("verify", out / "anonymized.csv", "--original", path, *asked).returncode == 0
    other = tmp_path / "other.csv"
    other.write_text(
        "pay;age\n[1.000,00;2.000,00[;3\n[1000, 2000[;3\n*;4\n*;4\n".replace(
            "[1.000,00;2.000,00[", '"[1.000,00;2.000,00["'
        )
    )
    said = run("verify", other, "--original", path, "--qi", "pay,age", "--delimiter", ";", "--cells", "intervals")
    assert "does not lie" not in said.stdout
    path.write_text("pay;age\n1.234;3\n1.250;3\n987;4\n12.000;4\n")
    refused = run("solve", "--data", path, *asked)
    assert refused.returncode == 2
    assert "thousands or decimals" in " ".join(refused.stderr.split())
    assert run("solve", "--data", path, *asked[:-1], "pay=100,10000,comma").returncode == 0
    assert run("solve", "--data", path, *asked[:-1], "pay=100,comma,point").returncode == 2


def european(path: Path) -> Path:
    rows = [
        (f"{1 + i % 28:02d}.0{1 + i % 9}.19{40 + i % 50} 0{i % 9}:16", f"{20 + i % 15},{i % 10}") for i in range(40)
    ]
    pl.DataFrame(rows, schema=["born", "bmi"], orient="row").write_csv(path)
    return path


@pytest.mark.parametrize(
    "how", ["born=year,decade", "born=year,%d.%m.%Y", "born=%d.%m.%Y", 'born=decade,"%d.%m.%Y %H:%M"', "born"]
)
def test_the_command_line_says_how_dates_are_written_and_verify_repeats_it(how: str, tmp_path: Path) -> None:
    path, out = european(tmp_path / "t.csv"), tmp_path / "out"
    asked = ["--qi", "born,bmi", "--k", 3, "--dates", how, "--numeric", "bmi=5,10"]
    done = run("solve", "--data", path, *asked, "--method", "greedy", "--out", out, "--report", out / "r.html", "-q")
    assert done.returncode == 4, done.stderr
    assert run("verify", out / "anonymized.csv", "--original", path, *asked).returncode == 0
    shown = (out / "r.html").read_text()
    assert "kanon-milp verify anonymized.csv" in shown
    assert "--dates" in shown[shown.index("kanon-milp verify anonymized.csv") :][:500]


def test_two_forms_or_one_that_reads_nothing_are_refused(tmp_path: Path) -> None:
    path = european(tmp_path / "t.csv")
    asked = ["solve", "--data", path, "--qi", "born,bmi", "--k", 3, "--dates"]
    assert "takes one format for a column" in run(*asked, "born=%d.%m.%Y,%Y").stderr
    said = " ".join(run(*asked, "born=%Y-%m-%d").stderr.split())
    assert f'{path}: column "born"' in said
    assert "no value is a date of the form %Y-%m-%d" in said


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
