"""What is proposed for a table: hints for suppressed columns, and how values are read."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.studies.proposal import suppressed_everywhere

AGES = [str(20 + i) for i in range(12)]
BORN = [f"19{20 + 6 * i}-0{i % 9 + 1}-11" for i in range(12)]


def solved(
    columns: dict[str, list[str]], recoding: km.Hierarchies | km.PatternMask | None = None, k: int = 6
) -> km.Result:
    table = km.Table.from_frame(pl.DataFrame(columns), list(columns))
    return km.solve(km.Problem(table, km.KAnonymity(k), km.Suppression() if recoding is None else recoding))


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"age": AGES}, "--numeric age=4"),
        ({"born": BORN}, "--dates born=year,decade"),
        ({"zip": [f"{i:05}" for i in range(12)]}, "--prefix zip=2"),
        ({"job": [f"job {i}" for i in range(12)]}, "hierarchies (--hierarchies)"),
        ({"age": AGES, "born": BORN}, "--numeric age=4 or --dates born=year,decade"),
    ],
)
def test_columns_that_keep_nothing_are_named_with_the_way_out(columns: dict[str, list[str]], options: str) -> None:
    result = solved({**columns, "sex": ["f", "m"] * 6})
    assert result.suppressed_columns == tuple(columns)
    said = suppressed_everywhere(result)
    assert said == (f"{', '.join(columns)} (* in every row); {options} may keep more")
    assert not any(cell in said for cells in columns.values() for cell in cells)


def test_levels_that_are_there_are_not_proposed_again() -> None:
    sex = ["f", "m"] * 6
    table = {"born": BORN, "sex": sex}
    assert "--dates born=year,decade" in suppressed_everywhere(
        solved(table, km.Hierarchies({"born": km.Hierarchy.dates(BORN)}))
    )
    far = [f"{1700 + 25 * i}-01-01" for i in range(12)]
    lost = solved({"born": far, "sex": sex}, km.Hierarchies({"born": km.Hierarchy.dates(far, ["year", "decade"])}))
    assert "; a higher --weight may keep more" in suppressed_everywhere(lost)
    near = [f"2{i:03}-01-01" for i in range(12)]
    for level, said in (("month", "--dates born=year may"), ("year", "; a higher --weight may keep more")):
        few = solved({"born": near, "sex": sex}, km.Hierarchies({"born": km.Hierarchy.dates(near, [level])}))
        assert said in suppressed_everywhere(few)
    ages = km.Hierarchies({"age": km.Hierarchy.intervals(AGES, [2])})
    assert "; a higher --weight may keep more" in suppressed_everywhere(solved({"age": AGES, "sex": sex}, ages))


def test_between_two_values_and_suppression_lies_no_level() -> None:
    table = km.Table.from_frame(pl.DataFrame({"sex": list("fmfm"), "job": list("abcd")}), ["sex", "job"])
    short = km.solve(km.Problem(table, km.KAnonymity(4)))
    assert short.suppressed_columns == ("sex", "job")
    assert suppressed_everywhere(short).endswith("; hierarchies of job (--hierarchies) may keep more")
    sex = km.Table.from_frame(pl.DataFrame({"sex": list("fm")}), ["sex"])
    assert suppressed_everywhere(km.solve(km.Problem(sex, km.KAnonymity(2)))).endswith(
        "; a higher --weight may keep more"
    )


def test_patterns_and_limits_have_their_own_way_out() -> None:
    mask = km.PatternMask([["*", "keep"], ["*", "*"]])
    said = suppressed_everywhere(solved({"age": AGES, "sex": ["f", "m"] * 6}, mask))
    assert said.startswith("age (* in every row); other patterns may")
    table = km.Table.from_frame(pl.DataFrame({"a": list("aabbcc"), "b": list("xxyyzz")}), ["a", "b"])
    short = km.solve(km.Problem(table, km.KAnonymity(2)), method="m_approximation", time_limit=1e-6)
    assert short.suppressed_columns == ("a", "b")
    assert "; more time or hierarchies (--hierarchies) may keep more" in suppressed_everywhere(short)


def test_nothing_is_said_where_something_is_kept(tmp_path: Path) -> None:
    kept = solved({"sex": ["f", "m"] * 6})
    assert kept.suppressed_columns == ()
    assert suppressed_everywhere(kept) == ""
    none = solved({"sex": ["f"] * 12}, k=13)
    assert none.table is None
    assert none.suppressed_columns == ()
    pl.DataFrame({"age": AGES}).write_csv(tmp_path / "ages.csv")
    shown = run("solve", "--data", tmp_path / "ages.csv", "--qi", "age", "--k", "6").stdout
    assert "lost        age (* in every row); --numeric age=4" in shown


@pytest.mark.parametrize("kind", ["pandas", "categorical"])
def test_of_any_data_frame(kind: str) -> None:
    frame = pl.DataFrame({"age": range(12), "sex": ["f", "m"] * 6})
    given = frame.to_pandas() if kind == "pandas" else frame.with_columns(pl.col("sex").cast(pl.Categorical))
    result = km.solve(km.Problem(km.Table.from_frame(given, ["age", "sex"]), km.KAnonymity(6)))
    assert result.suppressed_columns == ("age",)


def ward(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "admitted": [f"{1 + i % 28:02d}.04.20{10 + i % 12} 09:{10 + i % 40}" for i in range(rows)],
            "bmi": [f"{20 + i % 15},{i % 10}" for i in range(rows)],
            "seen": [f"0{1 + i % 9}/0{1 + i % 8}/2024" for i in range(rows)],
            "pay": [f"{1 + i % 9},{100 + i}" for i in range(rows)],
            "age": ["NA" if i % 10 == 0 else "?" if i % 10 == 1 else str(20 + i % 50) for i in range(rows)],
            "ward": ["abc"[i % 3] for i in range(rows)],
        }
    )


def test_european_dates_and_decimal_commas_are_read_and_it_is_told() -> None:
    found = km.inspect(ward())
    kinds = {each.name: each.kind for each in found.columns}
    assert kinds == {
        "admitted": "timestamp",
        "bmi": "decimal",
        "seen": "text",
        "pay": "text",
        "age": "integer",
        "ward": "text",
    }
    notes = {name: text for name, _, text in (note.partition(": ") for note in found.notes)}
    assert notes["admitted"] == "dates are read as %d.%m.%Y"
    assert notes["bmi"] == "numbers are read with a decimal comma"
    assert "--dates COLUMN=%d/%m/%Y" in notes["seen"]
    assert "--numeric COLUMN=5,10,point, or comma" in notes["pay"]
    assert notes["age"] == "?,NA look like missing values; make them null in the data frame"
    assert "missing" not in notes.get("ward", "")


def test_what_stands_for_missing_values_is_missing_once_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    ward().write_csv(path)
    said = json.loads(run("inspect", path, "--missing-values", "NA,?", "--json").stdout)
    (age,) = [each for each in said["columns"] if each["name"] == "age"]
    assert (age["missing"], age["kind"]) == (12, "integer")
    assert not any("look" in note and "missing" in note for note in said["notes"])
    words = shlex.split(said["command"])
    assert words[words.index("--missing-values") + 1] == "NA,?"
    frame = km.inspect(ward(), missing_values=["NA", "?"])
    assert next(each.missing for each in frame.columns if each.name == "age") == 12


def test_one_row_is_singular() -> None:
    found = dict(km.inspect(pl.DataFrame({"a": ["1", "1", "2"]})).facts)
    assert found["unique"] == "1 row (33.3 %) differs from every other row"
    assert found["identify"].startswith("a is enough to tell")
    assert found["k = 2"].startswith("1 row (33.3 %) is in a group of fewer than 2")
