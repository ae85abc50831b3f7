"""What `inspect` says of values that are written in ways of their own: dates, decimals, marks of missing values."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
from command_line import run

import kanon_milp as km


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
    assert found["unique"] == "1 row (33.3%) is like no other row"
    assert found["k = 2"].startswith("1 row (33.3%) is in classes of fewer than 2")
