"""`kanon-milp hierarchy`, and hierarchies that options of other commands make."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km

COLUMN = ["hierarchy", "people.csv", "--column"]
SOLVE = ["solve", "--data", "people.csv", "--qi", "age", "--k", "2"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(
        {
            "age": [str(20 + i % 17) for i in range(29)] + ["?"],
            "zip": [["13053", "13068", "14850"][i % 3] for i in range(30)],
            "born": [f"199{i % 4}-0{1 + i % 9}-17" for i in range(30)],
        }
    )
    frame.write_csv("people.csv")
    return tmp_path / "people.csv"


def test_the_file_that_is_written_is_the_one_that_solve_reads(people: Path) -> None:
    done = run("hierarchy", people.name, "--column", "age", "--widths", "5,10", "--json")
    assert done.returncode == 0, done.stderr
    assert "1 value in 1 row is not a number" in done.stderr
    assert [each["labels"] for each in json.loads(done.stdout)["levels"]] == [18, 5, 3, 1]
    asked = ["--data", people.name, "--qi", "age", "--k", "3", "--json"]
    by_file = run("solve", *asked, "--hierarchies", "hierarchies")
    by_option = run("solve", *asked, "--numeric", "age=5,10")
    assert by_file.returncode == by_option.returncode == 0
    assert json.loads(by_file.stdout)["objective"] == json.loads(by_option.stdout)["objective"]


def test_all_options_together_and_verified(people: Path) -> None:
    asked = [
        "--qi",
        "age,zip,born",
        "--k",
        "2",
        "--quantiles",
        "age=8,2",
        "--prefix",
        "zip=4,2",
        "--dates",
        "born=month,year",
    ]
    done = run("solve", "--data", people.name, *asked, "--out", "out")
    assert done.returncode == 0, done.stderr
    checked = run("verify", "out/anonymized.csv", "--original", people.name, *asked)
    assert checked.returncode == 0, checked.stdout
    assert (
        run("verify", "out/anonymized.csv", "--original", people.name, "--qi", "age,zip,born", "--k", "2").returncode
        == 6
    )


@pytest.mark.parametrize(
    ("way", "label"),
    [
        (["--column", "age", "--widths", "2.5,5", "--origin", "20"], "[20, 22.5["),
        (["--column", "age", "--quantiles", "4,2"], "<"),
        (["--column", "born", "--dates", "month,decade"], "1990-01"),
        (["--column", "zip", "--prefix", "3"], "130**"),
        (["--column", "zip", "--order", "13053,13068,14850", "--sizes", "2"], "13053 to 13068"),
        (["--column", "zip", "--groups", "groups.json"], "south"),
        (["--column", "zip", "--groups", "groups.toml"], "south"),
    ],
)
def test_each_way_writes_a_file_and_shows_its_labels(people: Path, way: list[str], label: str) -> None:
    Path("groups.json").write_text('{"south": ["13053", "13068"], "north": ["14850"]}')
    Path("groups.toml").write_text('south = ["13053", "13068"]\nnorth = ["14850"]\n')
    done = run("hierarchy", people.name, *way)
    assert done.returncode == 0, done.stderr
    assert label in done.stdout
    made = km.Hierarchy.read(Path("hierarchies") / f"{way[1]}.csv")
    assert any(label in str(path[1]) for path in made.paths.values())
    again = run("hierarchy", people.name, *way)
    assert again.returncode == 2
    assert "--force replaces it" in again.stderr
    assert run("hierarchy", people.name, *way, "--force", "--quiet").returncode == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([*COLUMN, "age"], "say in one way"),
        (
            [*COLUMN, "age", "--widths", "5", "--prefix", "1"],
            "found --widths and --prefix",
        ),
        ([*COLUMN, "ag", "--widths", "5"], 'did you mean "age"?'),
        ([*COLUMN, "age", "--widths", "5,12"], "12 is not a multiple of 5"),
        ([*COLUMN, "age", "--widths", "x"], "an exact number"),
        ([*COLUMN, "age", "--order", "a"], "name both"),
        ([*COLUMN, "age", "--groups", "people.csv"], "is neither JSON nor"),
        ([*COLUMN, "zip", "--prefix", "x"], "must be an integer"),
        (
            [*SOLVE, "--numeric", "zip=5"],
            "is no quasi-identifier, so it takes no hierarchy",
        ),
        (
            [*SOLVE, "--numeric", "age"],
            "as in --numeric age=5,10,20",
        ),
        (
            [*SOLVE, "--numeric", "age=5", "--quantiles", "age=4"],
            "has a hierarchy already",
        ),
        (["solve", "people.toml", "--numeric", "age=5"], "already names the table and the problem"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(people: Path, options: list[str], said: str) -> None:
    done = run(*options)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not Path("hierarchies").exists()


def test_two_hierarchies_of_one_column_are_refused(people: Path) -> None:
    assert run("hierarchy", people.name, "--column", "age", "--widths", "5").returncode == 0
    both = ["--hierarchies", "hierarchies", "--numeric", "age=5"]
    done = run("solve", "--data", people.name, "--qi", "age,zip", "--k", "2", *both)
    assert done.returncode == 2
    assert "has a hierarchy in hierarchies" in done.stderr
    done = run("solve", "--data", people.name, "--qi", "age,zip", "--k", "2", *both[:2], "--prefix", "zip=2", "--json")
    assert done.returncode == 0
    described = json.loads(done.stdout)["input"]["hierarchies"]
    assert described["age"]["file"] == "hierarchies/age.csv"
    assert described["zip"]["source"] == 'people.csv: column "zip" (lengths 2)'
