"""Rows of one person: k counts rows unless a unit of protection is named, and it says so loudly."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from command_line import run_in

import kanon_milp as km

DATA = """patient,sex,born,ward,dx
P1,f,1960,A,flu
P1,f,1960,A,gout
P1,f,1960,A,cold
P2,m,1975,B,flu
P2,m,1975,B,cold
P2,m,1975,B,gout
P3,m,1981,B,flu
P3,m,1981,B,cold
P3,m,1981,B,gout
"""
ROLES = ("--qi", "sex,born,ward", "--sensitive", "dx", "--k", "3", "--l", "3")
TABLE = ("--data", "data.csv", *ROLES)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(DATA)
    return tmp_path


def test_a_loud_warning_with_the_numbers(folder: Path) -> None:
    done = run_in(folder, "solve", *TABLE, "--identifying", "patient", "--out", "out", "--report", "out/report.html")
    assert done.returncode == 0
    assert "K COUNTS ROWS, NOT PERSONS" in done.stderr
    assert "patient (9 rows, 3 values, up to 3 rows of one)" in done.stderr
    told = " ".join(done.stdout.split())
    assert '3 of 3 groups have fewer than 3 different values of the identifying column "patient"' in told
    warnings = json.loads((folder / "out" / "result.json").read_text())["warnings"]
    assert len([each for each in warnings if "K COUNTS ROWS" in each]) == 2
    page = (folder / "out" / "report.html").read_text()
    assert page.count("K COUNTS ROWS, NOT PERSONS") == 2
    assert not any(f"P{i}" in page + done.stdout + done.stderr for i in (1, 2, 3))
    done = run_in(folder, "verify", "out/anonymized.csv", "--original", "data.csv", *ROLES, "--identifying", "patient")
    assert done.returncode == 0
    assert "warning: K COUNTS ROWS, NOT PERSONS: 3 of 3 groups have fewer than 3" in done.stdout
    done = run_in(folder, "inspect", "data.csv", "--qi", "sex,born,ward", "--identifying", "patient")
    assert "K COUNTS ROWS, NOT PERSONS: patient has only 3 different values in 9 rows" in " ".join(done.stdout.split())


def test_three_persons_in_each_group(folder: Path) -> None:
    done = run_in(folder, "solve", *TABLE, "--unit", "patient", "--out", "out", "--report", "out/report.html")
    assert done.returncode == 0
    assert "COUNTS ROWS" not in done.stdout + done.stderr
    found = json.loads((folder / "out" / "result.json").read_text())
    assert (found["proof"], found["objective"], found["verified"]) == ("optimal", 27, True)
    assert found["problem"]["roles"]["unit"] == ["patient"]
    assert found["problem"]["requirements"][0] == {"name": "k_anonymity", "k": 3, "unit": "patient"}
    risk = found["measures"]["unit_risk"]
    assert (risk["before"]["highest"], risk["before"]["alone"]) == (1, 3)
    assert risk["after"]["highest"] == pytest.approx(1 / 3)
    assert (folder / "out" / "anonymized.csv").read_text().startswith("sex,born,ward,dx\n")
    page = (folder / "out" / "report.html").read_text()
    assert "The unit of protection is patient" in page
    assert "--unit patient" in page
    command = ("verify", "out/anonymized.csv", "--original", "data.csv", *ROLES)
    done = run_in(folder, *command, "--unit", "patient")
    assert done.returncode == 0
    assert 'k = 3 different values of "patient"' in done.stdout
    done = run_in(folder, "inspect", "data.csv", "--qi", "sex,born,ward", "--unit", "patient")
    told = " ".join(done.stdout.split())
    assert "3 different values of patient; 3 of them (100.0 %) have a row like nobody else's" in told
    assert "--unit patient" in told
    assert "COUNTS ROWS" not in told


def test_the_command_of_inspect_counts_persons(folder: Path) -> None:
    (folder / "data.csv").write_text(
        "patient,age,sex,dx\n" + "".join(f"P{i // 10},{30 + i // 10},f,{'ab'[i % 2]}\n" for i in range(60))
    )
    command = run_in(folder, "inspect", "data.csv").stdout.splitlines()[-1]
    assert "--unit patient" in command
    assert run_in(folder, *shlex.split(command)[1:]).returncode == 0
    assert "P0" not in (folder / "released" / "anonymized.csv").read_text()
    found = json.loads((folder / "released" / "result.json").read_text())
    assert found["problem"]["requirements"][0] == {"name": "k_anonymity", "k": 5, "unit": "patient"}


def test_a_table_of_rows_is_refused_for_units(folder: Path) -> None:
    run_in(folder, "solve", *TABLE, "--identifying", "patient", "--out", "out")
    done = run_in(folder, "verify", "out/anonymized.csv", "--original", "data.csv", *ROLES, "--unit", "patient")
    assert done.returncode == 6
    assert '3 of 3 groups have fewer than k = 3 different values of "patient"; the first is rows 1, 2, 3' in done.stdout


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("patiant", 'there is no column "patiant" (unit of protection)'),
        ("sex", "cannot be quasi-identifier and unit of protection at once"),
        ("dx,ward", "--unit takes one column"),
    ],
)
def test_a_unit_that_is_none(folder: Path, unit: str, said: str) -> None:
    done = run_in(folder, "solve", *TABLE, "--unit", unit, "--out", "out")
    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "out").exists()


def test_a_unit_that_is_missing(folder: Path) -> None:
    (folder / "data.csv").write_text(DATA.replace("P2,m,1975,B,cold", ",m,1975,B,cold"))
    done = run_in(folder, "solve", *TABLE, "--unit", "patient", "--out", "out")
    assert done.returncode == 2
    assert 'column "patient", row 5' in done.stderr
    assert "leave these rows out" in done.stderr


def test_model_file_sweep_and_certificate(folder: Path) -> None:
    (folder / "m.toml").write_text(
        '[data]\nfile = "data.csv"\nquasi_identifiers = ["sex", "born", "ward"]\nsensitive = "dx"\nunit = "patient"\n'
        "[privacy]\nk = 2\n"
    )
    done = run_in(folder, "solve", "m.toml", "--out", "out", "--certificate", "c.json")
    assert done.returncode == 0
    assert json.loads((folder / "out" / "result.json").read_text())["objective"] == 17
    done = run_in(folder, "verify", "out/anonymized.csv", "--model", "m.toml", "--certificate", "c.json")
    assert done.returncode == 0
    done = run_in(folder, "verify", "--original", "data.csv", "--certificate", "c.json")
    assert "certificate: valid" in done.stdout
    done = run_in(folder, "sweep", *TABLE[:-4], "--k", "1,2,3", "--unit", "patient", "--out", "study", "--json")
    assert [each["objective"] for each in json.loads(done.stdout)] == [0, 17, 27]
    done = run_in(folder, "compare", *TABLE[:-4], "--k", "2", "--unit", "patient", "--methods", "greedy,milp", "--json")
    assert done.returncode == 0


def test_one_group_has_few_persons() -> None:
    frame = pl.DataFrame({"patient": ["a", "a", "b", "c"], "sex": ["f", "f", "m", "m"]})
    table = km.Table.from_frame(frame, "sex", identifying="patient")
    (said,) = km.verify(km.Problem(table, km.KAnonymity(2)), frame.select("sex")).warnings
    assert "1 of 2 groups has fewer than 2 different values" in said
