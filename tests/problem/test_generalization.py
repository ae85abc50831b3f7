"""Hierarchies that are made from a column: nested, complete, the same when read back, and legal to the verifier."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings

import kanon_milp as km
from kanon_milp.problem.generalization import written

relaxed = settings(max_examples=examples(40, 13))
FIRST = [Fraction(2), Fraction(5), Fraction(5, 2), Fraction(1, 4)]
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=5)


def any_present(values: list[Any]) -> bool:
    return any(value is not None for value in values)


INTEGERS = st.lists(st.integers(-200, 200) | st.none(), min_size=1, max_size=30).filter(any_present)
DECIMALS = st.lists(st.decimals(-50, 50, places=2).map(str) | st.sampled_from(["?", "n/a"]), min_size=1, max_size=30)


def steps(factors: list[int], first: Fraction) -> list[Fraction]:
    widths = [first]
    for factor in factors:
        widths.append(widths[-1] * factor)
    return widths


WIDTHS = st.builds(steps, st.lists(st.integers(2, 4), max_size=3), st.sampled_from(FIRST))


def check(made: km.Hierarchy, column: list[Any]) -> None:
    """Every value of the column is covered, levels nest, and a table may be released along the hierarchy."""
    texts = {None if value is None else str(value) for value in column}
    assert texts <= set(made.paths)
    for level in range(1, made.height):
        parent: dict[str | None, str | None] = {}
        for path in made.paths.values():
            assert parent.setdefault(path[level], path[level + 1]) == path[level + 1]
    table = km.Table.from_frame(pl.DataFrame({"a": pl.Series(column, strict=False)}), "a")
    problem = km.Problem(table, km.KAnonymity(1), km.Hierarchies({"a": made}))
    for level in range(made.height + 1):
        frame = pl.DataFrame({"a": [made.paths[value][level] for value in table.column("a")]})
        assert km.verify(problem, frame).ok


@relaxed
@given(column=INTEGERS, widths=WIDTHS, origin=st.integers(-7, 7))
def test_intervals_hold_their_numbers_and_nest(column: list[int | None], widths: list[Fraction], origin: int) -> None:
    made = km.Hierarchy.intervals(column, widths, origin=origin)
    check(made, column)
    for value in column:
        for label, width in zip(made.paths[None if value is None else str(value)][1:-1], widths, strict=True):
            if value is None:
                assert label == "missing"
            elif label is not None and label.startswith("["):
                low, high = (Fraction(end) for end in label[1:-1].split(","))
                assert low <= value < high == low + width
                assert ((low - origin) / width).denominator == 1
            else:
                low, high = (Fraction(end) for end in str(label).split("-"))
                assert low <= value <= high == low + width - 1


@relaxed
@given(column=DECIMALS, widths=WIDTHS)
def test_text_among_decimals_is_one_label_and_said(column: list[str], widths: list[Fraction]) -> None:
    texts = {value for value in column if value in ("?", "n/a")}
    if texts == set(column):
        with pytest.raises(km.InputError, match="no value is a number"):
            km.Hierarchy.intervals(column, widths)
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = km.Hierarchy.intervals(column, widths)
    assert bool(texts) == any("not a number" in str(each.message) for each in said)
    assert all(set(made.paths[text][1:-1]) == {"other"} for text in texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(made, column)
    if texts:
        with pytest.raises(km.InputError, match="not a number"):
            km.Hierarchy.intervals(column, widths, other=None)


@relaxed
@given(column=INTEGERS, counts=st.sampled_from([[2], [4, 2], [12, 6, 2]]))
def test_quantiles_nest_and_are_no_more_than_asked_for(column: list[int | None], counts: list[int]) -> None:
    if len({value for value in column if value is not None}) == 1:
        with pytest.raises(km.InputError, match="name more classes"):
            km.Hierarchy.quantiles(column, counts)
        return
    try:
        made = km.Hierarchy.quantiles(column, counts)
    except km.InputError as error:
        assert "name more classes" in str(error)  # noqa: PT017  (the other outcome is checked below)
        return
    check(made, column)
    numbers = sorted(value for value in column if value is not None)
    for level, count in enumerate(counts, 1):
        labels = [made.paths[str(value)][level] for value in numbers]
        assert len(set(labels)) <= count
        assert sorted(labels, key=labels.index) == labels  # a class is a run of neighbours


def test_quantiles_are_of_rows_not_of_values() -> None:
    made = km.Hierarchy.quantiles([1] * 6 + [2, 3, 4, 5, 6, 7], [2])
    assert {made.paths[str(value)][1] for value in range(2, 8)} == {">=2"}
    assert made.paths["1"][1] == "<2"


@relaxed
@given(column=st.lists(st.dates() | st.none(), min_size=1, max_size=20).filter(any_present))
def test_dates_are_in_their_month_quarter_and_year(column: list[datetime.date | None]) -> None:
    made = km.Hierarchy.dates(column)
    check(made, column)
    for value in column:
        if value is not None:
            quarter = f"{value.year:04d}-Q{(value.month - 1) // 3 + 1}"
            assert made.paths[str(value)][1:] == (str(value)[:7], quarter, f"{value.year:04d}", "*")


@relaxed
@given(
    column=st.lists(st.text("0123", max_size=6) | st.none(), min_size=1, max_size=20),
    lengths=st.sampled_from([[1], [3, 1], [4, 3, 2]]),
)
def test_prefixes_tell_short_values_from_long_ones(column: list[str | None], lengths: list[int]) -> None:
    longest = max((len(value) for value in column if value is not None), default=0)
    if lengths[0] >= longest:
        with pytest.raises(km.InputError, match="generalizes nothing"):
            km.Hierarchy.prefixes(column, lengths)
        return
    made = km.Hierarchy.prefixes(column, lengths)
    check(made, column)
    for value in column:
        if value is not None:
            assert made.paths[value][1:-1] == tuple(f"{value:_<{longest}}"[:n] + "*" * (longest - n) for n in lengths)


def test_an_order_and_groups() -> None:
    made = km.Hierarchy.ordered(["b", None, "e"], ["a", "b", "c", "d", "e"], [2, 4])
    assert made.paths["b"] == ("b", "a to b", "a to d", "*")
    assert made.paths["e"] == ("e", "e", "e", "*")
    assert made.paths[None] == (None, "missing", "missing", "*")
    nested = {"Europe": {"north": ["DK", "SE"], "south": ["IT"]}, "Asia": {"east": ["JP"]}}
    made = km.Hierarchy.groups(["DK", "JP"], nested)
    assert made.paths["SE"] == ("SE", "north", "Europe", "*")
    with pytest.warns(km.KanonWarning, match="1 value in 2 rows is not in a group"):
        made = km.Hierarchy.groups(["DK", "US", "US"], nested, other="elsewhere")
    assert made.paths["US"] == ("US", "elsewhere", "elsewhere", "*")


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: km.Hierarchy.intervals([1], [5, 12]), "12 is not a multiple of 5, so intervals of 12 would cut"),
        (lambda: km.Hierarchy.intervals([1], [10, 5]), "must rise from level to level, and 5 follows 10"),
        (lambda: km.Hierarchy.intervals([1], [0]), "0 is not positive"),
        (lambda: km.Hierarchy.intervals([1], [1, 5]), "hold one integer each"),
        (lambda: km.Hierarchy.intervals([1], []), "name at least one"),
        (lambda: km.Hierarchy.intervals([], [5]), "the column has no rows"),
        (lambda: km.Hierarchy.intervals([1, "a"], [5]), "several kinds"),
        (lambda: km.Hierarchy.intervals(3, [5]), "a series of a data frame, or a list"),
        (lambda: km.Hierarchy.quantiles([1, 2], [4, 3]), "3 classes would cut one of 4 in two"),
        (lambda: km.Hierarchy.quantiles([1, 2], [1]), "at least 2"),
        (lambda: km.Hierarchy.dates(["2024-01-01"], ["year", "month"]), "the order is hour, day, month"),
        (lambda: km.Hierarchy.dates(["2024-01-01"], ["week"]), "weeks lie across the ends"),
        (lambda: km.Hierarchy.dates(["2024-01-01"], ["mnth"]), "levels of dates must be one of"),
        (lambda: km.Hierarchy.dates(["2024-13-01", "01.02.2024"]), "say how others are written"),
        (lambda: km.Hierarchy.prefixes(["123"], [1, 2]), "must fall from level to level"),
        (lambda: km.Hierarchy.ordered(["a"], ["a", "b"], [2, 3]), "groups of 3 would cut groups of 2"),
        (lambda: km.Hierarchy.ordered(["x"], ["a", "b"], [2]), "no value is in the order"),
        (lambda: km.Hierarchy.groups(["a"], {"x": ["a"], "y": {"z": ["b"]}}), "different depths"),
        (lambda: km.Hierarchy.groups(["a"], {"x": ["a"], "y": ["a"]}), "lies in two groups"),
        (lambda: km.Hierarchy.groups(["a"], cast(Any, ["a"])), "a mapping from labels"),
    ],
)
def test_what_does_not_nest_is_refused_with_the_rule(make: Any, rule: str) -> None:
    with pytest.raises(km.InputError, match=rule):
        make()


def test_a_format_of_dates_and_times() -> None:
    made = km.Hierarchy.dates(["17.03.2024", "02.11.1999"], ["month", "decade"], format="%d.%m.%Y")
    assert made.paths["17.03.2024"] == ("17.03.2024", "2024-03", "2020s", "*")
    stamps = pl.Series([datetime.datetime(2024, 3, 17, 22, 5), None])
    made = km.Hierarchy.dates(stamps, ["hour", "day"])
    assert next(iter(made.paths.values()))[1:] == ("2024-03-17 22h", "2024-03-17", "*")
    assert [path[1] for path in km.Hierarchy.dates(stamps).paths.values()] == ["2024-03-17", "missing"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, np.nan, 12.0]),
        pl.Series([1, None, 12]),
        [Decimal(1), None, Decimal(12)],
        np.array([1, 12, 12]),
        pd.Series(["1", None, "12"]),
    ],
)
def test_any_column_reads_as_in_a_table(column: Any) -> None:
    made = km.Hierarchy.intervals(column, [10])
    frame = pd.DataFrame({"a": column}) if isinstance(column, pd.Series) else pl.DataFrame({"a": column})
    table = km.Table.from_frame(frame, "a")
    assert set(table.column("a")) == set(made.paths)
    assert {path[1] for value, path in made.paths.items() if value is not None} == {"0-9", "10-19"}


@relaxed
@given(st.dictionaries(TEXTS, st.integers(0, 3), min_size=1, max_size=8))
def test_a_file_gives_the_same_hierarchy_back(tmp_path_factory: pytest.TempPathFactory, found: dict[str, int]) -> None:
    rows = [(value, f"group {number}", "*") for value, number in found.items() if value != "*"]
    if not rows:
        return
    made = km.Hierarchy.from_rows([*rows, (None, "missing", "*")])
    path = tmp_path_factory.mktemp("file") / "a.csv"
    made.write(path)
    assert km.Hierarchy.read(path).paths == made.paths


def test_a_file_of_arx_is_read(tmp_path: Path) -> None:
    """As ARX writes them: semicolons, no header, the top under any name."""
    (tmp_path / "age.csv").write_text("34;20-39;0-39;0-99\n45;40-59;40-99;0-99\n66;60-79;40-99;0-99\n")
    read = km.Hierarchies.read(tmp_path, ["age"]).hierarchies["age"]
    assert read.paths["45"] == ("45", "40-59", "40-99", "*")


@relaxed
@given(st.fractions(-100, 100, max_denominator=64))
def test_numbers_are_written_exactly(number: Fraction) -> None:
    assert Fraction(written(number)) == number


def test_a_released_table_keeps_the_types_of_columns_that_hold_no_labels() -> None:
    day = datetime.date(2024, 1, 1)
    columns = {"age": [30, 30, 31, 32], "zip": [1, 1, 2, 2], "born": [day] * 4}
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns)):
        table = km.Table.from_frame(frame, ["age", "zip", "born"])
        result = km.solve(km.Problem(table, km.KAnonymity(2))).require_optimal()
        released: Any = result.table
        assert result.text_columns == ("age",)
        assert list(released["age"]) == ["30", "30", "*", "*"]
        assert released["zip"].dtype == frame["zip"].dtype
        assert released["born"].dtype == frame["born"].dtype
        assert list(released["born"]) == [day] * 4
        assert result.as_dict()["text_columns"] == ["age"]


def test_hierarchies_are_equal_where_their_labels_are() -> None:
    rows = [("1", "a", "*"), ("2", "a", "*")]
    one, other = km.Hierarchy.from_rows(rows), km.Hierarchy.from_rows(reversed(rows), source="file.csv")
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1
    assert one != km.Hierarchy.from_rows([("1", "b", "*"), ("2", "b", "*")])
    assert one != rows
    assert km.Hierarchy.intervals(["1", "7"], [5]) == km.Hierarchy.intervals(["7", "1", "1"], 5)


BOUNDS = st.lists(st.integers(-60, 60), min_size=2, max_size=2, unique=True).map(sorted)


@settings(relaxed, max_examples=10)
@given(column=INTEGERS, widths=WIDTHS | st.just([]), bounds=BOUNDS, more=INTEGERS)
def test_bottom_and_top_coding_joins_the_ends_on_each_level(
    column: list[Any], widths: list[Fraction], bounds: list[int], more: list[Any]
) -> None:
    low, high = bounds
    made = km.Hierarchy.intervals(column, widths, below=low, above=high)
    check(made, column)
    check(made.extended(more), more)
    for value, path in made.paths.items():
        if value is not None:
            inner = set(path[1:-1]).isdisjoint({f"<{low}", f">={high}"})
            assert inner == (low <= int(value) < high)
            assert inner or len(set(path[1:-1])) == 1
            if inner and not widths:
                assert path[1] == value


def test_labels_of_intervals_that_an_end_cuts() -> None:
    made = km.Hierarchy.intervals([17, 18, 19, 37, 90], [5, 10], below=18, above=90)
    assert made.paths["19"] == ("19", "18-19", "18-19", "*")
    assert made.paths["90"] == ("90", ">=90", ">=90", "*")
    assert km.Hierarchy.intervals([17, 19], [5], below=19).paths["19"][1] == "19"
    with pytest.raises(km.InputError, match="below"):
        km.Hierarchy.intervals([17, 19], [5], below=19, above=19)


RULES = {
    "numeric": lambda column: km.Hierarchy.intervals(column, [5, 10]),
    "quantiles": lambda column: km.Hierarchy.quantiles(column, [4, 2]),
    "decimals": lambda column: km.Hierarchy.quantiles([f"{each}.5" for each in column], [4, 2]),
    "dates": lambda column: km.Hierarchy.dates(
        [f"{each % 28 + 1:02d}.03.{1950 + each}" for each in column], ["year", "decade"]
    ),
    "years": lambda column: km.Hierarchy.dates([str(1950 + each) for each in column]),
    "prefix": lambda column: km.Hierarchy.prefixes([str(100 + each) for each in column], [2, 1]),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_gives_a_value_the_same_labels_in_another_column(name: str) -> None:
    """The labels of one half of a column by the rule of the other half: both halves of one hierarchy."""
    made = RULES[name](range(0, 60, 2))
    values = list(made.paths)
    assert made.extended(values[::3]).paths == {value: made.paths[value] for value in values[::3]}
    assert made.extended(values).rule == made.rule
    other = RULES[name](range(1, 60, 2))
    again = made.extended(list(other.paths))
    labels = {path[-2] for path in made.paths.values()}
    assert {path[-2] for path in again.paths.values()} & labels  # new values lie between the old ones
    assert again.extended(values).paths == made.paths


def test_a_hierarchy_of_a_file_has_no_rule() -> None:
    with pytest.raises(km.InputError, match="no rule"):
        km.Hierarchy.from_rows([("a", "*")]).extended(["b"])


def test_five_years_are_a_level_of_dates() -> None:
    made = km.Hierarchy.dates(["1984-03-01", "1999-12-31", "2000-01-01"], ["year", "5years", "decade", "50years"])
    assert made.paths["1984-03-01"][1:-1] == ("1984", "1980-1984", "1980s", "1950-1999")
    assert made.paths["1999-12-31"][2] == "1995-1999"
    for levels in (["4years", "decade"], ["decade", "5years"], ["5years", "year"], ["5years", "5years"], ["1years"]):
        with pytest.raises(km.InputError, match="levels"):
            km.Hierarchy.dates(["1984-03-01"], levels)


def test_cuts_are_given_level_by_level() -> None:
    made = km.Hierarchy.quantiles([1, 25, 40], cuts=[[20, 40], [40]])
    assert [path[1:3] for path in made.paths.values()] == [("<20", "<40"), ("20-39", "<40"), (">=40", ">=40")]
    wrong: list[list[list[int]]] = [[[40], [20, 40]], [[40, 20]], [[]], []]
    for cuts in wrong:
        with pytest.raises(km.InputError, match="cuts"):
            km.Hierarchy.quantiles([1, 25, 40], cuts=cuts)
