"""Columns have roles: identifying ones are never released, and those without a role are named in a warning."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from command_line import run
from present import present

import kanon_milp as km

SECRETS = ("Wilhelmina", "Xaver", "123-45", "678-90")
TEXT = """name,ssn,zip,age,disease,ward
Wilhelmina,123-45,10,20,flu,a
Xaver,678-90,10,20,cold,a
Ann,111-11,11,30,flu,b
Bob,222-22,11,30,cold,b
"""
ASKED = ("--qi", "zip,age", "--sensitive", "disease", "--k", 2)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    return path


def header(path: Path) -> list[str]:
    with path.open() as file:
        return next(csv.reader(file))


def test_identifying_columns_are_not_released_and_the_verifier_checks_that(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    roles = ("--identifying", "name,ssn", "--keep", "ward")
    done = run("solve", "--data", people, *ASKED, *roles, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert header(out / "anonymized.csv") == ["zip", "age", "disease", "ward"]
    assert not any(
        secret in (out / name).read_text() for name in ("anonymized.csv", "result.json") for secret in SECRETS
    )
    written = json.loads((out / "result.json").read_text())
    assert written["warnings"] == []
    assert written["problem"]["roles"] == {
        "quasi_identifiers": ["zip", "age"],
        "sensitive": ["disease"],
        "identifying": ["name", "ssn"],
        "insensitive": ["ward"],
        "unit": [],
        "count": [],
        "dropped": [],
        "unclassified": [],
    }
    assert run("verify", out / "anonymized.csv", "--original", people, *ASKED, *roles).returncode == 0
    # without the role, the columns are missing; with it, they must be
    unknown = run("verify", out / "anonymized.csv", "--original", people, *ASKED, "--keep", "name,ssn,ward")
    assert unknown.returncode == 6
    assert 'column "ssn" is missing' in unknown.stdout
    released = run("verify", people, "--original", people, *ASKED, *roles)
    assert released.returncode == 6
    assert 'column "name" is identifying and must not be released' in released.stdout
    # all others stay as they are
    changed = out / "changed.csv"
    changed.write_text((out / "anonymized.csv").read_text().replace(",b\n", ",c\n"))
    assert (
        'column "ward" is not a quasi-identifier and must not change'
        in run("verify", changed, "--original", people, *ASKED, *roles).stdout
    )


def test_columns_without_a_role_are_named_in_one_warning(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("solve", "--data", people, *ASKED, "--out", out, "--json")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"warning: {people}: 3 columns have no role and are released unchanged: name, ssn, ward;")
    assert "LIKELY IDENTIFIERS" in line
    assert "name (100 % distinct values), ssn (100 % distinct values);" in line
    assert not any(secret in line for secret in SECRETS)
    written = json.loads(done.stdout)  # and nothing else
    assert written["warnings"] == [line.removeprefix("warning: ")]
    assert written["problem"]["roles"]["unclassified"] == ["name", "ssn", "ward"]
    assert header(out / "anonymized.csv") == header(people)
    checked = run("verify", out / "anonymized.csv", "--original", people, *ASKED, "--json")
    assert checked.stderr == done.stderr
    assert json.loads(checked.stdout)["ok"]
    assert run("solve", "--data", people, *ASKED, "--quiet").stderr == ""


def test_an_error_is_one_line_without_the_warning(people: Path) -> None:
    done = run("solve", "--data", people, "--qi", "zip,age", "--k", 2, "--l", 2)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_nearly_unique_columns_are_named_with_their_share() -> None:
    values = [f"v{min(row, 95)}" for row in range(100)]
    frame = pl.DataFrame({"zip": ["1"] * 100, "mail": values, "half": [v if v < "v5" else None for v in values]})
    with pytest.warns(km.RoleWarning, match=r"mail \(96 % distinct values\)"):
        km.Table.from_frame(frame, "zip", keep="half")
    # of the values that are there: who has one is identified by it
    with pytest.warns(km.RoleWarning, match=r"half \(100 % distinct values\)"):
        km.Table.from_frame(frame, "zip", keep="mail")
    with pytest.warns(km.RoleWarning) as caught:
        km.Table.from_frame(frame.with_columns(pl.lit("x").alias("mail")), "zip", keep="half")
    assert "IDENTIFIERS" not in str(caught[0].message)
    assert caught[0].filename == __file__


def test_a_table_and_its_inspection_judge_columns_alike(tmp_path: Path) -> None:
    """Names that come again, numbers of persons, texts of rows; not what others know, nor measurements."""
    rows = 60
    frame = pl.DataFrame(
        {
            "age": [str(20 + i % 3) for i in range(rows)],
            "last name": [f"N{i % 12}" for i in range(rows)],
            "patientId": [str(1000 + i // 3) for i in range(rows)],
            "e-mail": [f"m{i % 40}@x" for i in range(rows)],
            "remark": [f"text {i}" for i in range(rows)],
            "born": [f"19{30 + i}-01-01" for i in range(rows)],
            "weight": [f"{50 + i}.5" for i in range(rows)],
            "ward": ["a", "b", "c"] * (rows // 3),
        }
    )
    path = tmp_path / "t.csv"
    frame.write_csv(path)
    found = km.inspect(path, "age")
    marked = {each.name for each in found.columns if each.role == "identifying"}
    assert marked == {"last name", "e-mail", "remark"}
    assert [each.name for each in found.columns if each.role == "unit"] == ["patientId"]
    marked.add("patientId")
    loud = next(note for note in found.notes if note.startswith("LIKELY IDENTIFIERS, "))
    done = run("solve", "--data", path, "--qi", "age", "--k", 2)
    told = done.stderr.partition("LIKELY IDENTIFIERS")[2].partition(": ")[2].split("; ")[0]
    assert {each.rpartition(" (")[0] for each in told.split(", ")} == marked
    assert all(name in loud for name in marked)
    assert "in: born (100 % distinct values), weight (100 % distinct values);" in done.stderr


PERSONS = {
    "patient": [f"P{i // 10}" for i in range(60)],
    "Patientennummer": [str(100 + i // 20) for i in range(60)],
    "Kunden-Nr.": [str(i // 3) for i in range(60)],
    "salarié": [f"{i // 10:03}" for i in range(60)],
    "id_paciente": [f"A-{i // 6}" for i in range(60)],
    "customer": [["Ann", "Bob", "Eve", "Jo", "Max", "Zoe"][i // 10] for i in range(60)],
    "subject": [f"S{i % 6}" for i in range(60)],
    "USUBJID": [f"01-{i // 20}" for i in range(60)],
    "household": [str(i // 2) for i in range(60)],
}
CLASSES = {
    "case": ["case", "control"] * 30,
    "subject": ["maths", "art", "biology", "music", "history", "latin"] * 10,
    "household": [str(1 + i % 5) for i in range(60)],  # its size
    "patient": ["inpatient", "outpatient", "emergency"] * 20,
    "client": ["Windows", "Mac", "Linux"] * 20,
    "member": ["gold", "silver", "none"] * 20,
    "patient age": [str(20 + i % 30) for i in range(60)],
    "customer type": [f"T{i % 9}" for i in range(60)],
}


@pytest.mark.parametrize("name", PERSONS)
def test_who_is_protected_is_told_loudly_whatever_the_column_is_called(name: str, tmp_path: Path) -> None:
    path, page, out = tmp_path / "t.csv", tmp_path / "page.html", tmp_path / "out"
    ages = [str(30 + PERSONS[name].index(each)) for each in PERSONS[name]]  # says the same of each row
    frame = pl.DataFrame({name: PERSONS[name], "age": ages, "sex": ["f", "m", "f"] * 20, "dx": ["flu", "ache"] * 30})
    frame.write_csv(path)
    found = km.inspect(path)
    assert [each.role for each in found.columns] == ["unit", "quasi-identifier", "quasi-identifier", "sensitive"]
    assert any(each.startswith(f"K COUNTS ROWS, NOT PERSONS: {name} has only ") for each in found.notes)
    assert any(each.startswith("LIKELY IDENTIFIERS") and each.endswith(f": {name}") for each in found.notes)
    assert found.unit_risk is not None
    assert "--unit" in found.command
    assert "--qi age,sex " in found.command
    asked = ("--qi", "age,sex", "--sensitive", "dx", "--k", 3)
    solved = run("solve", "--data", path, *asked, "--out", out, "--report", page)
    checked = run("verify", out / "anonymized.csv", "--original", path, *asked)
    for told in (solved.stderr, checked.stderr, page.read_text()):
        assert "LIKELY IDENTIFIERS" in told
        assert f"are in several rows: {name} (60 rows, {frame[name].n_unique()} values, up to " in told
    assert "COUNTS ROWS" not in run("solve", "--data", path, *asked, "--unit", name).stderr


@pytest.mark.parametrize(
    ("household", "person"), [("hhid", "pid"), ("hid", "person"), ("household_id", "person_no"), ("hh", "person")]
)
def test_persons_numbered_within_households_are_rows(household: str, person: str) -> None:
    members = [(str(number // 3), str(number % 3)) for number in range(60)]
    frame = pl.DataFrame(members, schema=[household, person], orient="row").with_columns(age=pl.lit("30"))
    frame = frame.with_columns(sex=pl.Series(["f", "m"] * 30))
    found = km.inspect(frame)
    assert [each.role for each in found.columns[:2]] == ["identifying", "identifying"]
    assert any(each.startswith(f"{person} numbers the persons of each {household}") for each in found.notes)
    assert not any("K COUNTS" in each for each in found.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        km.Table.from_frame(frame, ["age", "sex"], identifying=[household, person])
    # where both together stand in several rows, these may be of one person
    twice = pl.concat([frame, frame])
    with pytest.warns(km.RoleWarning, match="K COUNTS ROWS"):
        km.Table.from_frame(twice, ["age", "sex"], identifying=[household, person])


@pytest.mark.parametrize("name", CLASSES)
def test_words_for_persons_that_mean_something_else(name: str) -> None:
    rows = CLASSES[name] * (3 if name == "household" else 1)
    frame = pl.DataFrame({name: rows, "age": [str(30 + i // 7) for i in range(len(rows))]})
    assert km.inspect(frame).columns[0].role not in ("identifying", "unit")
    with pytest.warns(km.RoleWarning) as caught:
        km.Table.from_frame(frame, "age")
    assert not any("IDENTIFIERS" in str(each.message) or "COUNTS" in str(each.message) for each in caught)


def test_k_counts_rows_is_said_of_persons_and_of_what_somebody_names() -> None:
    times = [f"{8 + i % 10:02}:{(i * 7) % 60:02}" for i in range(58)]
    frame = pl.DataFrame({"t": [*times, times[0], times[1]], "age": ["30", "40", "40"] * 20})
    assert [each.role for each in km.inspect(frame).columns] == ["identifying", "quasi-identifier"]
    assert not any("COUNTS ROWS" in each for each in km.inspect(frame).notes)
    assert any("COUNTS ROWS" in each for each in km.inspect(frame, identifying="t").notes)


@pytest.mark.parametrize("name", ["income", "Einkommen (€)", "annual_salary", "Salaire"])
@pytest.mark.parametrize("way", ["{}", "${:,}", "{},5", "{} EUR", "{:.1f}"])
def test_an_amount_is_sensitive_however_it_is_written(name: str, way: str) -> None:
    frame = pl.DataFrame({name: [way.format(20_000 + 137 * i) for i in range(60)], "age": ["30", "40", "40"] * 20})
    assert km.inspect(frame).columns[0].role == "sensitive"
    with pytest.warns(km.RoleWarning) as caught:
        km.Table.from_frame(frame, "age")
    assert "IDENTIFIERS" not in str(caught[0].message)


def test_an_empty_name_is_seen() -> None:
    frame = pl.DataFrame({"": [str(i) for i in range(20)], "age": ["1", "2"] * 10, " ": ["a", "b"] * 10})
    with pytest.warns(km.RoleWarning, match=r'released unchanged: "", " "; LIKELY IDENTIFIERS, [^:]*: "" \(100 %'):
        km.Table.from_frame(frame, "age")
    assert '""' in [row[0] for row in km.inspect(frame).column_texts()]


def test_a_kept_column_that_tells_rows_apart_is_named(tmp_path: Path) -> None:
    path, page = tmp_path / "t.csv", tmp_path / "page.html"
    pl.DataFrame({"age": [1, 2] * 10, "serial": range(20), "ward": ["a", "b"] * 10}).write_csv(path)
    given = ("--data", path, "--qi", "age", "--keep", "serial,ward", "--k", 2)
    done = run("solve", *given, "--report", page)
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("warning")]
    assert "KEPT, THOUGH ALMOST EVERY ROW HAS ITS OWN VALUE: serial (100 % distinct values);" in line
    assert "KEPT, THOUGH ALMOST EVERY ROW HAS ITS OWN VALUE: serial" in page.read_text()
    inspected = km.inspect(path, "age", keep=["serial", "ward"])
    assert "kept, though almost every row has its own value: serial" in inspected.notes


def test_many_columns_make_a_short_warning() -> None:
    frame = pl.DataFrame({f"c{number}": ["x", "x"] for number in range(500)})
    with pytest.warns(km.RoleWarning, match=r"499 columns .* c10 and 489 more; drop"):
        km.Table.from_frame(frame, "c0")


@pytest.mark.parametrize("asked", ["Ann,12345", "Ann", "Ann,30"])
def test_no_near_match_is_shown_where_the_header_looks_like_data(asked: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Anna,12345,flu\nBob,12345,flu\n")
    done = run("solve", "--data", path, "--qi", asked, "--k", 2)
    assert done.returncode == 2
    assert "Anna" not in done.stderr
    assert "among its 3 columns; the first row looks like data (" in done.stderr
    assert "has the file a header row?" in done.stderr


def test_columns_without_a_role_are_counted_where_the_header_looks_like_data(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Wilhelmina,12345,flu\nBob,12345,flu\nEve,12345,flu\nJo,12345,flu\n")
    done = run("solve", "--data", path, "--qi", "12345", "--k", 2)
    first, line = done.stderr.splitlines()
    assert "the first row looks like data (1 of 3 names is written as data, 1 of 3 names is a value of the" in first
    assert "has the file a header row? If not, say so (header=False, --no-header)" in first
    assert "2 columns have no role and are released unchanged; LIKELY IDENTIFIERS" in line
    assert "by their names, or as almost every row has its own value: 1 of them;" in line
    assert not any(cell in done.stderr for cell in ("Wilhelmina", "flu", "12345"))
    whole = run("solve", "--data", path, "--qi", "12345", "--identifying", "Wilhelmina", "--keep", "flu", "--k", 2)
    assert whole.stderr == f"{first}\n"


def test_numbers_and_blanks_as_names_of_columns_are_no_data() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        km.Table.from_frame(pd.DataFrame([["a", "b"], ["a", "c"]]), [0, 1])  # type: ignore[list-item]
        km.Table.from_frame(pl.DataFrame({"": ["a"], "x": ["b"]}), ["", "x"])


@pytest.mark.parametrize("name", [" a ", "A"])
def test_names_that_differ_in_blanks_or_capitals_are_near(name: str) -> None:
    with pytest.raises(km.InputError) as caught:
        km.Table.from_frame(pl.DataFrame({name: ["1"], "other": ["1"]}), "a")
    assert f'(did you mean "{name}"?)' in str(caught.value)


def test_roles_in_python_keep_the_kind_and_the_index_of_a_data_frame() -> None:
    frame = pd.DataFrame({"name": ["A", "B"], "zip": ["1", "2"], "sick": ["x", "y"], "ward": [1.5, 2.5]}, index=[7, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = km.Table.from_frame(frame, "zip", "sick", identifying=["name"], keep=["ward"])
        result = km.solve(km.Problem(table, km.KAnonymity(2))).require_optimal()
    released = present(result.table)
    assert list(released.columns) == ["zip", "sick", "ward"]
    assert list(released.index) == [7, 3]
    assert released["ward"].tolist() == [1.5, 2.5]
    assert not km.verify(result.problem, frame)  # it still has the names
    assert list(frame.columns) == ["name", "zip", "sick", "ward"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"identifying": "zip"}, 'column "zip" cannot be quasi-identifier and identifying column at once'),
        ({"identifying": "sick"}, 'column "sick" cannot be sensitive attribute and identifying column at once'),
        (
            {"identifying": "name", "keep": "name"},
            'column "name" cannot be identifying column and column to keep at once',
        ),
        ({"keep": ["name", "name"]}, 'column "name" is named twice as column to keep'),
        ({"identifying": "nam"}, r'no column "nam" \(identifying column\) \(did you mean "name"\?\)'),
    ],
)
def test_a_column_has_one_role(arguments: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame({"name": ["A", "B"], "zip": ["1", "2"], "sick": ["x", "y"]})
    with pytest.raises(km.InputError, match=message):
        km.Table.from_frame(frame, "zip", "sick", **arguments)


def test_overlapping_roles_are_an_error_on_the_command_line(people: Path, tmp_path: Path) -> None:
    for command in (("solve", "--data", people), ("verify", people, "--original", people)):
        done = run(*command, *ASKED, "--identifying", "name,zip")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "cannot be quasi-identifier and identifying column at once" in done.stderr
    model = tmp_path / "model.toml"
    model.write_text('[data]\nfile = "people.csv"\nquasi_identifiers = ["zip"]\nkeep = "name"\n[privacy]\nk = 2\n')
    assert "already names the table and the problem" in run("solve", model, "--identifying", "name").stderr


def test_a_model_file_has_roles(people: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.toml"
    model.write_text(
        '[data]\nfile = "people.csv"\nquasi_identifiers = ["zip", "age"]\nsensitive = "disease"\n'
        'identifying = ["name", "ssn"]\nkeep = "ward"\n[privacy]\nk = 2\n'
    )
    done = run("solve", model, "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert header(tmp_path / "out" / "anonymized.csv") == ["zip", "age", "disease", "ward"]


def test_a_certificate_releases_nothing_and_warns_of_nothing(people: Path, tmp_path: Path) -> None:
    file = tmp_path / "bound.json"
    run("solve", "--data", people, *ASKED, "--certificate", file, "--quiet")
    done = run("verify", "--original", people, *ASKED, "--certificate", file)
    assert (done.returncode, done.stderr) == (0, "")


def test_dropped_columns_are_not_released_and_count_as_nobody(people: Path, tmp_path: Path) -> None:
    """A column that identifies nobody may repeat, and nothing is said of persons."""
    out = tmp_path / "out"
    roles = ("--identifying", "name,ssn", "--drop", "ward")
    done = run("solve", "--data", people, *ASKED, *roles, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert header(out / "anonymized.csv") == ["zip", "age", "disease"]
    assert json.loads((out / "result.json").read_text())["problem"]["roles"]["dropped"] == ["ward"]
    assert run("verify", out / "anonymized.csv", "--original", people, *ASKED, *roles).returncode == 0
    kept = ("--identifying", "name,ssn", "--keep", "ward")
    assert run("verify", out / "anonymized.csv", "--original", people, *ASKED, *kept).returncode == 6
