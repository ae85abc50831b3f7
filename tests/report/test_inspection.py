"""What `inspect` says of a table, counted again by hand, and that no cell of the table is in it."""

from __future__ import annotations

import json
import random
import shlex
from collections import Counter
from fractions import Fraction
from pathlib import Path

import hypothesis.strategies as st
import pandas as pd
import polars as pl
import pytest
from command_line import run
from hypothesis import HealthCheck, given, settings

import kanon_milp as km

relaxed = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
ROWS = st.lists(st.tuples(*[st.sampled_from(["a", "b", None])] * 3), min_size=1, max_size=20)


def hospital(rows: int = 200) -> pl.DataFrame:
    """Generated: a name, numbers with gaps, dates, timestamps, a constant."""
    draw = random.Random(3)
    return pl.DataFrame(
        {
            "name": [f"Person{i:03d}" for i in range(rows)],
            "age": [None if draw.random() < 0.05 else str(draw.randint(18, 90)) for _ in range(rows)],
            "zip": [str(draw.choice([13053, 13068, 14850])) for _ in range(rows)],
            "born": [f"19{draw.randint(40, 99)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}" for _ in range(rows)],
            "admitted": [f"2024-03-0{draw.randint(1, 9)} 0{draw.randint(0, 9)}:30:00" for _ in range(rows)],
            "smoker": [draw.choice(["yes", "no"]) for _ in range(rows)],
            "cost": [f"{draw.randint(100, 900)}.5" for _ in range(rows)],
            "country": ["DE"] * rows,
        }
    )


@relaxed
@given(rows=ROWS, ks=st.lists(st.integers(2, 6), min_size=1, max_size=3))
def test_classes_and_risks_are_what_counting_gives(rows: list[tuple[str | None, ...]], ks: list[int]) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys("xyz", pl.String), orient="row")
    found = km.inspect(frame, list("xyz"), k=ks)
    classes = Counter(rows)
    n = len(rows)
    assert (found.rows, found.classes) == (n, len(classes))
    assert (found.smallest, found.largest) == (min(classes.values()), max(classes.values()))
    assert found.unique == sum(1 for count in classes.values() if count == 1)
    for touched in found.touched:
        small = [count for count in classes.values() if count < touched.k]
        assert (touched.rows, touched.classes) == (sum(small), len(small))
    risk = found.risk
    assert risk.prosecutor_highest == risk.journalist_highest == max(Fraction(1, classes[row]) for row in rows)
    assert risk.prosecutor_average == risk.marketer == sum(Fraction(1, classes[row]) for row in rows) / n
    assert sum(size.rows for size in found.sizes) == n
    assert sum(size.classes for size in found.sizes) == len(classes)
    for column in found.columns:
        values = frame[column.name].to_list()
        counts = Counter(value for value in values if value is not None)
        assert column.distinct == len(counts)
        assert column.missing == values.count(None)
        assert column.unique == sum(1 for count in counts.values() if count == 1)
    assert found.identification.columns == ("x", "y", "z")


@relaxed
@given(rows=ROWS, more=ROWS)
def test_risks_in_a_population(rows: list[tuple[str | None, ...]], more: list[tuple[str | None, ...]]) -> None:
    schema = dict.fromkeys("xyz", pl.String)
    table, everyone = (pl.DataFrame(each, schema=schema, orient="row") for each in (rows, rows + more))
    risk = km.inspect(table, list("xyz"), population=everyone).risk
    among = Counter(rows + more)
    assert risk.journalist_highest == max(Fraction(1, among[row]) for row in rows)
    assert risk.marketer == sum(Fraction(1, among[row]) for row in rows) / len(rows)
    if more:
        with pytest.raises(km.InputError, match="must hold them all"):
            km.inspect(everyone, list("xyz"), population=table)


def test_kinds_of_values_and_proposed_roles() -> None:
    found = {each.name: each for each in km.inspect(hospital()).columns}
    kinds = {name: each.kind for name, each in found.items()}
    assert kinds == {
        "name": "text",
        "age": "integer",
        "zip": "integer",
        "born": "date",
        "admitted": "timestamp",
        "smoker": "true/false",
        "cost": "decimal",
        "country": "text",
    }
    roles = {name: each.role for name, each in found.items()}
    assert roles["name"] == "identifying"
    assert roles["country"] == "keep"
    assert {roles[name] for name in ("age", "zip", "born", "admitted", "smoker", "cost")} == {"quasi-identifier"}
    assert all(each.proposed for each in found.values())


def test_codes_with_leading_zeros_are_text() -> None:
    frame = pl.DataFrame({"zip": ["01067", "04103", "10115"], "size": ["0", "10", "0.5"]})
    assert [each.kind for each in km.inspect(frame).columns] == ["text", "decimal"]


def test_a_notebook_shows_counts_and_no_cell() -> None:
    html = km.inspect(hospital())._repr_html_()
    assert "200 rows, 8 columns" in html
    assert "quasi-identifier?" in html
    assert "kanon-milp solve" in html
    assert "Person" not in html
    assert "13053" not in html


def test_roles_that_are_named_are_taken() -> None:
    found = km.inspect(hospital(), ["age", "zip"], "cost", identifying="name")
    roles = {each.name: (each.role, each.proposed) for each in found.columns}
    assert found.quasi_identifiers == ("age", "zip")
    assert roles["cost"] == ("sensitive", False)
    assert roles["name"] == ("identifying", False)
    assert roles["smoker"] == ("none", True)
    assert "smoker" not in found.command
    assert "--sensitive cost" in found.command


def test_the_proposed_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hospital(60).write_csv("people.csv", separator=";")
    done = run("inspect", "people.csv", "--qi", "age,zip,born", "--delimiter", ";", "--json")
    assert done.returncode == 0
    command = shlex.split(json.loads(done.stdout)["command"])
    assert command[:2] == ["kanon-milp", "solve"]
    assert {"--numeric", "--dates"} <= set(command)
    solved = run(*command[1:], "--time-limit", "20")
    assert solved.returncode in (0, 4), solved.stderr
    assert Path("released/anonymized.csv").is_file()


@pytest.mark.parametrize("columns", ["60", "80"])
def test_nothing_shown_is_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    frame = hospital()
    frame.write_csv(tmp_path / "people.csv")
    done = run("inspect", tmp_path / "people.csv")
    assert done.returncode == 0
    shown, _, command = done.stdout.partition("A command")
    assert max(map(len, shown.splitlines())) <= int(columns)
    told = done.stdout + json.dumps(km.inspect(frame).as_dict()) + repr(km.inspect(frame))
    for name in ("name", "born", "admitted", "cost"):
        assert not any(value in told for value in frame[name].to_list())
    assert "kanon-milp solve" in command


def test_frames_of_pandas_and_what_is_refused(tmp_path: Path) -> None:
    pandas = pd.DataFrame({"a": [1.0, None, 1.0], "b": ["x", "y", "x"]})
    found = km.inspect(pandas, k=[2])
    assert [(each.kind, each.missing) for each in found.columns] == [("integer", 1), ("text", 0)]
    assert found.frame().height == 2
    with pytest.raises(km.InputError, match='there is no column "c"'):
        km.inspect(pandas, "c")
    with pytest.raises(km.InputError, match="name at least one quasi-identifier"):
        km.inspect(pandas, keep=["a", "b"])
    with pytest.raises(km.InputError, match="no column is left"):
        km.inspect(pl.DataFrame({"a": [1, 1], "b": ["x", "x"]}))
    with pytest.raises(km.InputError, match="at least 2"):
        km.inspect(pandas, k=[1])
    with pytest.raises(km.InputError, match="has no rows"):
        km.inspect(pandas.head(0))
    with pytest.raises(km.InputError, match="no such file"):
        km.inspect(tmp_path / "no.csv")
    wide = pl.DataFrame({f"c{j}": [1, 1, 2] for j in range(24)})
    assert "24 quasi-identifiers are more than" in km.inspect(wide).notes[0]
