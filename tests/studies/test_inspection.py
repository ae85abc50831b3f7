"""What `inspect` says of a table, counted again by hand, and that no cell of the table is in it."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import time
import warnings
from collections import Counter
from datetime import date
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis.strategies as st
import pandas as pd
import polars as pl
import pytest
from command_line import run, run_in
from effort import examples
from hypothesis import given, settings

import kanon_milp as km
from kanon_milp.studies.proposal import listing

relaxed = settings(max_examples=examples(30, 10))
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
        with pytest.raises(km.InputError, match="must contain the table"):
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


def test_of_columns_that_say_the_same_one_is_left_out() -> None:
    """Unless both are named, or some row says otherwise."""
    words = ["north", "south", "east"] * 10
    frame = pl.DataFrame({"code": [str(len(word)) + word[0] for word in words], "region": words, "age": range(30)})

    def left_out(frame: pl.DataFrame, **named: Any) -> dict[str, str]:
        return {each.name: each.same_as for each in km.inspect(frame, **named).columns if each.same_as}

    assert left_out(frame) == {"region": "code"}
    assert left_out(frame, quasi_identifiers=["code", "region"]) == {}
    other = frame.with_columns(region=pl.Series([*words[:-1], "north"]))
    assert left_out(other) == {}


VALUES = st.sampled_from(["a", "b", "c", None])


@relaxed
@given(
    columns=st.lists(st.lists(VALUES, min_size=20, max_size=20), min_size=2, max_size=5),
    copied=st.lists(st.tuples(st.integers(0, 4), st.permutations("abc")), max_size=4),
)
def test_a_column_that_says_the_same_is_found_as_comparing_all_pairs_does(
    columns: list[list[str | None]], copied: list[tuple[int, list[str]]]
) -> None:
    for j, letters in copied:  # the same under other names
        to = dict(zip("abc", letters, strict=True))
        columns = [*columns, [None if each is None else to[each] for each in columns[j % len(columns)]]]
    values = {f"age_{j}": each for j, each in enumerate(columns)}
    same = {
        (one, other)
        for one in values
        for other in values
        if len(set(values[one])) == len(set(values[other])) == len(set(zip(values[one], values[other], strict=True)))
        and len({*values[one]} - {None}) == len({*values[other]} - {None})
    }
    values["age"] = [str(number // 4) for number in range(20)]  # a quasi-identifier at least
    found = km.inspect(pl.DataFrame(values, schema=dict.fromkeys(values, pl.String))).columns
    for each in found:
        assert not each.same_as or (each.name, each.same_as) in same
    kept = [each for each in found if each.role == "quasi-identifier" and each.distinct * 5 <= each.rows]
    assert not any((one.name, other.name) in same for one in kept for other in kept if one is not other)


@pytest.mark.full
def test_a_thousand_columns_take_seconds_and_not_minutes() -> None:
    """Each is looked at by itself: with 800 columns 320,000 pairs took ten minutes."""
    draw = random.Random(1)
    frame = pl.DataFrame({f"c{j}": [draw.randint(0, 9) for _ in range(200)] for j in range(1000)})
    began = time.process_time()
    found = km.inspect(frame)
    km.inspect(frame, frame.columns[:300])
    assert time.process_time() - began < 30
    assert [each.role for each in found.columns].count("quasi-identifier") == 8


def test_codes_with_leading_zeros_are_text() -> None:
    frame = pl.DataFrame({"zip": ["01067", "04103", "10115"], "size": ["0", "10", "0.5"]})
    assert [each.code for each in km.inspect(frame).columns] == [5, None]
    assert [each.kind for each in km.inspect(frame).columns] == ["text", "decimal"]


def test_a_notebook_shows_counts_and_no_cell() -> None:
    found = km.inspect(hospital())
    assert "200 rows, 8 columns" in found._repr_html_()
    for shown in (found._repr_html_(), str(found)):
        assert "quasi-identifier?" in shown
        assert "km.solve(" in shown
    assert repr(found).startswith("<Inspection of table: 200 rows; quasi-identifiers ")
    for shown in (found._repr_html_(), str(found), repr(found)):
        assert "Person" not in shown
        assert "13053" not in shown


def test_missing_sensitive_values_are_no_diversity_and_it_is_told(tmp_path: Path) -> None:
    """Whose value is known has the same one in each group: the other one is missing."""
    path = tmp_path / "t.csv"
    path.write_text("zip,sick\n1,flu\n1,NA\n2,flu\n2,NA\n")
    (note,) = [note for note in km.inspect(path, "zip", "sick").notes if "count as one value" in note]
    assert note.startswith("sick: values are missing")
    done = run("solve", "--data", path, "--qi", "zip", "--sensitive", "sick", "--l", 2, "--missing-values", "NA")
    assert done.returncode == 0
    assert "sick (2 values) are missing, and count as one value" in done.stderr
    with pytest.warns(km.RoleWarning, match="fill them, or leave these rows out"):
        table = km.read_table(path, "zip", "sick", missing_values=["NA"])
    assert len(table.warnings) == 1
    assert not km.read_table(path, "zip", "sick").warnings


def test_roles_that_are_named_are_taken() -> None:
    found = km.inspect(hospital(), ["age", "zip"], "cost", identifying="name")
    roles = {each.name: (each.role, each.proposed) for each in found.columns}
    assert found.quasi_identifiers == ("age", "zip")
    assert roles["cost"] == ("sensitive", False)
    assert roles["name"] == ("identifying", False)
    assert roles["smoker"] == ("none", True)
    assert "smoker" not in found.command
    assert "sensitive=['cost']" in found.command


NAMES = ["Meier", "Schulz", "Weber", "Klein", "Wolf"]
ZIPS = ["01067", "01069", "04103", "10115", "10117", "10119", "20095", "20097", "80331"]
WARDS = {"flu": 3, "copd": 2, "asthma": 2}


def export(rows: int) -> pl.DataFrame:
    """Generated, as a hospital exports it: stays of patients, with names that come again, zip codes, missing values,
    numbers that somebody did not know."""
    draw = random.Random(5)

    def missing(share: float, value: str) -> str | None:
        return None if draw.random() < share else value

    diagnoses = [name for name, times in WARDS.items() for _ in range(times)]
    return pl.DataFrame(
        {
            "patientId": [str(100_000 + i // 2) for i in range(rows)],
            "last name": [draw.choice(NAMES) for _ in range(rows)],
            "plz": [missing(0.04, draw.choice(ZIPS)) for _ in range(rows)],
            "birth_date": [f"{draw.randint(1930, 2010)}-0{draw.randint(1, 9)}-11" for _ in range(rows)],
            "sex": [draw.choice("fm") for _ in range(rows)],
            "admitted": [f"2024-0{draw.randint(1, 9)}-11 0{draw.randint(0, 9)}:30:00" for _ in range(rows)],
            "weight": [missing(0.03, str(draw.randint(45, 120))) for _ in range(rows - 2)] + ["unknown", "?"],
            "diagnosis": [missing(0.02, draw.choice(diagnoses)) for _ in range(rows)],
        }
    )


def options_of(command: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    words = shlex.split(command)
    assert words[:2] == ["kanon-milp", "solve"]
    for option, value in zip(words[2::2], words[3::2], strict=True):
        found.setdefault(option, []).append(value)
    return found


def proposed(frame: pl.DataFrame, *named: Any, **roles: Any) -> dict[str, list[str]]:
    """The options that are proposed for a file with this table."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        frame.write_parquet(path)
        return options_of(km.inspect(path, *named, **roles).command)


def test_a_hospital_export_gets_a_command_that_runs_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export(60).write_csv("stays.csv")
    shown = run("inspect", "stays.csv")
    command = shown.stdout.splitlines()[-1]
    assert options_of(command) == {
        "--data": ["stays.csv"],
        "--identifying": ["last name"],
        "--unit": ["patientId"],
        "--qi": ["plz,birth_date,sex,admitted"],
        "--sensitive": ["diagnosis"],
        "--drop": ["weight"],
        "--k": ["5"],
        "--l": ["2"],
        "--prefix": ["plz=4,2"],
        "--dates": ["birth_date=month,quarter,year,decade", "admitted=day,month,quarter,year"],
        "--missing-values": ["?"],
        "--time-limit": ["60"],
        "--out": ["released"],
        "--report": ["released/report.html"],
    }
    assert not any(name in shown.stdout for name in (*NAMES, *ZIPS, *WARDS))
    solved = run(*shlex.split(command)[1:], "--time-limit", "2")
    assert solved.returncode in (0, 4), solved.stderr
    assert {path.name for path in Path("released").iterdir()} >= {"anonymized.csv", "report.html"}
    released = pl.read_csv("released/anonymized.csv", infer_schema=False)
    assert released.columns == ["plz", "birth_date", "sex", "admitted", "diagnosis"]


@pytest.mark.full
def test_the_command_for_many_columns_runs_as_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more level vectors than can be listed, by a method that lists none."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(3)
    names = [f"c{j}" for j in range(70)]
    frame = pl.DataFrame([{name: draw.randrange(3) for name in names} for _ in range(30)])
    frame.write_csv("wide.csv")
    found = km.inspect("wide.csv", names)
    assert any("the method greedy, which proves nothing" in note for note in found.notes)
    solved = run(*shlex.split(found.command)[1:], "--time-limit", "0.5")
    assert solved.returncode == 4, solved.stderr
    assert "method='greedy'" in km.inspect(frame, names).command
    assert "method" not in km.inspect(frame, names[:20]).command


def test_columns_that_the_command_releases_unchanged_are_told() -> None:
    """Where quasi-identifiers are named, others are not guessed."""
    frame = export(60).with_columns(born=pl.date(1950, 1, 1) + pl.duration(days=pl.int_range(60)))
    found = km.inspect(frame, ["plz", "sex"], "diagnosis", keep="weight")
    notes = [note for note in found.notes if "unchanged" in note]
    unnamed = [each.name for each in found.columns if each.role == "none"]
    assert {"born", "admitted"} <= set(unnamed)
    assert [note.split("; ")[:2] for note in notes] == [
        [
            f"the command releases {', '.join(unnamed)} unchanged, as no role is named",
            "almost every row has its own value in birth_date, born",
        ]
    ]
    assert not any(name in found.command for name in unnamed)
    for same in (km.inspect(frame), km.inspect(frame, ["plz", "sex"], keep=[*unnamed, "weight", "diagnosis"])):
        assert not any("unchanged" in note for note in same.notes)


def test_adult_gets_eight_quasi_identifiers_and_no_diversity_that_no_table_has(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.read_csv(data_folder / "adult_raw.csv.gz", n_rows=300, infer_schema=False).write_csv("adult.csv")
    found = km.inspect("adult.csv")
    asked = options_of(found.command)
    assert asked["--sensitive"] == ["salary-class"]
    assert "--l" not in asked
    assert (asked["--t"], asked["--missing-values"]) == (["0.2"], ["?"])
    assert len(asked["--qi"][0].split(",")) == 8
    assert {"age", "sex", "race", "native-country"} <= set(asked["--qi"][0].split(","))
    dropped = [each.name for each in found.columns if each.role == "drop"]
    assert dropped == ["fnlwgt", "education-num", "relationship", "capital-gain", "capital-loss", "hours-per-week"]
    assert dropped == asked["--drop"][0].split(",")
    assert any("drops relationship" in note for note in found.notes)
    assert any("drops fnlwgt, which may hold sampling weights" in note for note in found.notes)
    assert "education-num says the same of each row as education, and is left out" in found.notes
    assert any("more than half of the rows" in note for note in found.notes)
    solved = run(*shlex.split(found.command)[1:], "--time-limit", "2")
    assert solved.returncode in (0, 4), solved.stderr


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("first_name", ["A", "B", "C"] * 20, "identifying"),
        ("ward name", ["A", "B", "C"] * 20, "quasi-identifier"),
        ("E-Mail", ["a@b", "c@d", "e@f"] * 20, "identifying"),
        ("patientId", [str(i // 3) for i in range(60)], "unit"),
        ("patientId", [str(i) for i in range(60)], "identifying"),
        ("ward_id", ["1", "2", "3"] * 20, "quasi-identifier"),
        ("weight", ["1.5", "20.25", "7"] * 20, "drop"),
        ("sampling_weight", [str(100 + i) for i in range(60)], "drop"),
        ("weight", ["light", "heavy", "normal"] * 20, "quasi-identifier"),
        ("birth weight", ["2500", "3000", "3500"] * 20, "quasi-identifier"),
        ("anything", [f"x{i}" for i in range(60)], "identifying"),
        ("zip", [str(10_000 + i) for i in range(60)], "quasi-identifier"),
        ("paid", ["1", "2", "3"] * 20, "quasi-identifier"),
        ("annual income", ["low", "high", "low"] * 20, "sensitive"),
    ],
)
def test_roles_are_guessed_by_names_and_values(name: str, values: list[str], role: str) -> None:
    frame = pl.DataFrame({name: values, "age": ["30", "40", "40"] * 20})
    assert km.inspect(frame).columns[0].role == role


def test_no_second_sensitive_column_is_guessed_and_some_quasi_identifier_is_left() -> None:
    frame = pl.DataFrame({"income": ["low", "high", "low"] * 3, "disease": ["a", "b", "a"] * 3})
    assert [each.role for each in km.inspect(frame).columns] == ["quasi-identifier"] * 2
    assert [each.role for each in km.inspect(frame, sensitive="disease").columns] == ["quasi-identifier", "sensitive"]
    assert "--l" not in proposed(frame, sensitive="disease")  # two thirds have one value
    even = pl.DataFrame({"income": ["low", "high"] * 3, "disease": ["a", None, "b", None, "a", None]})
    assert proposed(even, sensitive="disease")["--l"] == ["2"]  # half of the rows have none


@pytest.mark.parametrize(
    ("name", "values", "option"),
    [
        ("plz", [f"{i:05}" for i in range(1000, 1040)], "--prefix"),
        ("district", [str(i) for i in range(20_000, 20_040)] * 2, "--prefix"),
        ("year", [str(i) for i in range(1950, 1990)] * 2, "--numeric"),
        ("zip", [str(i) for i in range(1950, 1990)] * 2, "--prefix"),
        ("pay", [str(i) for i in range(960, 1040)] * 2, "--numeric"),
        ("born", [f"19{i}-01-01" for i in range(50, 90)], "--dates"),
    ],
)
def test_levels_that_are_proposed(name: str, values: list[str], option: str) -> None:
    frame = pl.DataFrame({name: values, "sex": ["f", "m"] * (len(values) // 2)})
    asked = proposed(frame, [name, "sex"])
    assert [each for each in ("--prefix", "--numeric", "--dates") if each in asked] == [option]


def test_a_large_table_of_many_columns_gets_fewer_levels() -> None:
    draw = random.Random(1)
    names = [f"c{j}" for j in range(8)]
    cells = {name: [str(draw.randint(1, 9)) for _ in range(20_000)] for name in names}
    born = [f"19{draw.randint(20, 99)}-01-{draw.randint(10, 28)}" for _ in range(20_000)]
    frame = pl.DataFrame({"born": born, **cells})
    few = proposed(frame.head(500), frame.columns)
    assert few["--dates"] == ["born=month,quarter,year,decade"]
    assert few["--numeric"] == ["c0=2,4", "c1=2,4", "c2=2,4"]
    many = proposed(frame, frame.columns)
    assert many["--dates"] == ["born=decade"]
    assert "--numeric" not in many


@pytest.mark.parametrize(
    ("first", "last", "levels"),
    [
        ("1922-05-01", "2010-01-31", "month,quarter,year,decade"),
        ("1990-01-01", "2007-12-31", "month,quarter,year,decade"),
        ("1990-01-01", "2006-12-31", "month,quarter,year"),
        ("2024-01-01T08:00", "2024-09-30T22:00", "day,month,quarter,year"),
        ("1950-01-01T08:00", "2024-09-30T22:00", "day,month,quarter,year,decade"),
    ],
)
def test_dates_over_decades_get_decades(first: str, last: str, levels: str) -> None:
    frame = pl.DataFrame({"born": [first, last] * 10, "sex": ["f", "m", "m", "f"] * 5})
    assert proposed(frame)["--dates"] == [f"born={levels}"]


def test_a_birth_date_over_decades_is_not_lost_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a hospital has it; years alone would leave fewer rows each than a group needs."""
    monkeypatch.chdir(tmp_path)
    export(200).select("birth_date", "sex").write_csv("born.csv")
    asked = ["solve", "--data", "born.csv", "--qi", "birth_date,sex", "--k", "5"]
    lost = run(*asked, "--dates", "birth_date=month,quarter")
    assert "birth_date (* in every row); --dates birth_date=year,decade may keep more" in " ".join(lost.stdout.split())
    kept = run(*asked, "--dates", "birth_date=month,quarter,year,decade")
    assert "in every row" not in kept.stdout


@pytest.mark.parametrize(
    ("columns", "chosen", "others"),
    [
        # the contraceptive method choice data: religion is what neighbours know, and nearly all have the same
        ({"wife_religion": "1111111110", "standard": "1234123412", "method": "1123123123"}, "method", True),
        ({"religion": "1122331122", "living": "1231231231", "age": "1231231231"}, "religion", True),  # age is known
        ({"religion": "1122331122", "smokes": "1122112211"}, "religion", True),  # the name decides
        ({"sex": "1122112211", "smokes": "1122112211"}, "smokes", False),
        ({"diagnosis": "1111111112", "method": "1123123123"}, "diagnosis", False),  # few know that of a person
        ({"sex": "1122112211", "age": "1231231231"}, None, False),
    ],
)
def test_what_is_sensitive_is_guessed_and_said(columns: dict[str, str], chosen: str | None, others: bool) -> None:
    frame = pl.DataFrame({name: list(values * 6) for name, values in columns.items()})
    found = km.inspect(frame)
    assert [each.name for each in found.columns if each.role == "sensitive"] == ([] if chosen is None else [chosen])
    said = [note for note in found.notes if "confirm it with --sensitive" in note]
    assert len(said) == (chosen is not None)
    assert all(note.startswith(f"{chosen}: taken as sensitive ") and note.endswith("?)") == others for note in said)


def test_of_columns_that_were_named_none_is_guessed() -> None:
    values = {"sex": "112233", "living": "123123", "method": "121323"}
    frame = pl.DataFrame({name: list(each * 10) for name, each in values.items()})
    assert [each.role for each in km.inspect(frame, "sex").columns] == ["quasi-identifier", "none", "none"]
    roles = [each.role for each in km.inspect(frame, sensitive="living").columns]
    assert roles == ["quasi-identifier", "sensitive", "quasi-identifier"]


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


ODD = st.text(st.sampled_from("ab ,;\"'$`-=*\\\n\t#!~[]^.ü\u202e"), min_size=1, max_size=6)
CELLS = (
    st.integers(0, 99).map(lambda value: f"{value:02d}"),
    st.integers(10, 99).map(str),
    st.integers(-5, 2000).map(str),
    st.integers(10_000, 10_030).map(str),
    st.decimals(-3, 90, places=2).map(str),
    st.dates(date(1930, 1, 1), date(2020, 1, 1)).map(str),
    st.dates(date(1930, 1, 1), date(2020, 1, 1)).map(lambda value: value.strftime("%d.%m.%Y")),
    st.sampled_from(["*", "?", "NA", "-", "", "x,y", '"', "$1", " "]),
    st.sampled_from(["yes", "no"]),
    st.text(st.sampled_from("ab*, "), max_size=3),
)


@st.composite
def odd_tables(draw: st.DrawFn) -> pl.DataFrame:
    names = draw(st.lists(ODD, min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(1, 14))
    kinds = [draw(st.sampled_from(CELLS)) for _ in names]
    mixed = [
        st.one_of(kind, kind, kind, draw(st.sampled_from(CELLS))) if draw(st.booleans()) else kind for kind in kinds
    ]
    return pl.DataFrame(
        [
            pl.Series(name, draw(st.lists(cells, min_size=rows, max_size=rows)), dtype=pl.String)
            for name, cells in zip(names, mixed, strict=True)
        ]
    )


@settings(relaxed, max_examples=examples(40, 6))
@given(frame=odd_tables(), ending=st.sampled_from([".csv", ".parquet"]), named=st.booleans())
def test_the_command_runs_as_printed_whatever_columns_are_called_and_hold(
    frame: pl.DataFrame, ending: str, named: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A shell reads it, and it is no error; of a data frame, Python runs it."""
    folder = tmp_path_factory.mktemp("odd")
    path = folder / f"it's $odd{ending}"
    frame.write_csv(path, quote_style="always") if ending == ".csv" else frame.write_parquet(path)
    shown = run_in(folder, "inspect", path.name, *(["--qi", listing(frame.columns[:1])] if named else []))
    # no problem is stated, or the file is none that can be read without a word
    if any(said in shown.stderr for said in ("divided by", "first line is blank")):
        return
    assert shown.returncode == 0, shown.stderr
    if "no command is proposed" in " ".join(shown.stdout.split()):  # on a screen of few columns it takes two lines
        return
    command = shown.stdout.splitlines()[-1]
    words = subprocess.run(
        ["bash", "-c", f'printf "%s\\0" {command}'], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    solved = run_in(folder, *words[1:-1], "--time-limit", "20")
    assert solved.returncode in (0, 4), (command, solved.stderr)
    found = km.inspect(frame, frame.columns[:1] if named else None)
    if not found.command:  # an empty cell is a value here
        return
    names: dict[str, Any] = {"km": km, "frame": frame}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", km.KanonWarning)
        exec(found.command, names)
    assert names["result"].verified


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
    with pytest.raises(km.InputError, match="at least 2"):
        km.inspect(pandas, k=[1])
    with pytest.raises(km.InputError, match="has no rows"):
        km.inspect(pandas.head(0))
    with pytest.raises(km.InputError, match="no such file"):
        km.inspect(tmp_path / "no.csv")
    wide = pl.DataFrame({f"c{j}": [1, 1, 2] for j in range(24)})
    assert "24 quasi-identifiers have more than" in km.inspect(wide, wide.columns).notes[0]


def test_columns_are_shown_where_none_may_be_a_quasi_identifier(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age;c\n" + "33;x\n" * 5)
    done = run("inspect", path)
    assert done.returncode == 0
    assert "keep?" in done.stdout
    assert "no column is left that may be a quasi-identifier, so no command is proposed" in " ".join(
        done.stdout.split()
    )
    assert "kanon-milp" not in done.stdout
    assert done.stderr.count("are divided by") == 1  # and not in the notes once more
    assert "are divided by" not in done.stdout
    found = json.loads(run("inspect", path, "--json").stdout)
    assert (found["command"], found["quasi_identifiers"], found["rows"]) == ("", [], 5)
    assert "no command is proposed" in str(km.inspect(pl.DataFrame({"a": [1, 1], "b": ["x", "x"]})))


def test_a_file_with_another_delimiter_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name;age\n" + "".join(f"n{i};{i}\n" for i in range(40)))
    with pytest.warns(km.FileWarning, match=r"divided by \";\""):
        assert [each.name for each in km.inspect(path).columns] == ["name", "age"]
    path.write_text("name;age\n" + "".join(f"n{i},{i}\n" for i in range(40)))
    with pytest.raises(km.InputError, match=r"line 2: row 1 has 2 fields.*divided by \";\".*--delimiter"):
        km.inspect(path)
