"""The model library by name: listed, shown, solved and copied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.studies import model_files


def test_every_model_is_listed_with_its_optimum() -> None:
    found = {each.name: each for each in model_files.library_models()}
    assert found["hospital"].optimum == "54"
    assert found["hospital_infeasible"].optimum == "infeasible"
    assert all(each.title for each in found.values())
    listed = run("models", "--json")
    assert [each["name"] for each in json.loads(listed.stdout)] == sorted(found)
    assert "3-anonymity of the hospital table" in run("models").stdout
    one = json.loads(run("models", "hospital", "--json").stdout)
    assert (one["name"], one["optimum"], one["model"]["privacy"]) == ("hospital", "54", {"k": 3})


def test_a_model_is_solved_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("solve", "hospital", "--json")
    assert found.returncode == 0
    assert json.loads(found.stdout)["objective"] == 54
    assert km.read_model("hospital").known["optimum"] == 54


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hospital").write_text("data = 1")
    with pytest.raises(km.InputError, match="hospital: "):
        km.read_model("hospital")


def test_an_unknown_name_has_a_nearest_one() -> None:
    found = run("solve", "hospitol")
    assert found.returncode == 2
    assert 'did you mean "hospital"' in found.stderr
    assert run("models", "hospitol").returncode == 2


def test_it_is_shown() -> None:
    assert "[data]" in run("models", "hospital_t_matrix").stdout


@pytest.mark.parametrize("name", ["hospital_t_matrix", "hospital_hierarchies", "triangles_3_diversity", "full_product"])
def test_a_copy_is_the_same_problem(tmp_path: Path, name: str) -> None:
    done = run("models", name, "--copy", str(tmp_path / "here"))
    assert done.returncode == 0
    assert str(tmp_path / "here" / f"{name}.toml") in done.stdout
    here, there = km.read_model(tmp_path / "here" / f"{name}.toml"), km.read_model(name)
    assert here.problem.table.n == there.problem.table.n
    assert km.solve(here.problem, time_limit=20).objective == km.solve(there.problem, time_limit=20).objective


def test_a_copy_holds_what_the_model_reads_and_nothing_else(tmp_path: Path) -> None:
    model_files.copy_model("hospital_mask", tmp_path)
    read = {"hospital_mask.toml", "hospital/table1.csv", "hospital/digits_mask.csv"}
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == read


def test_a_copy_needs_a_name(tmp_path: Path) -> None:
    assert run("models", "--copy", str(tmp_path)).returncode == 2


def test_a_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "t.csv").write_text("a,b\n1,x\n1,y\n")
    model = tmp_path / "m.toml"
    model.write_text('[data]\nfile = "$PLACE/t.csv"\nquasi_identifiers = ["a", "b"]\n[privacy]\nk = 2\n')
    monkeypatch.setenv("PLACE", str(tmp_path / "elsewhere"))
    assert km.solve(km.read_model(model).problem).objective == 2  # column b is suppressed twice
    monkeypatch.delenv("PLACE")
    with pytest.raises(km.InputError, match="environment variable PLACE, which is not set"):
        km.read_model(model)
    model.write_text(model.read_text().replace("$PLACE", "$"))
    with pytest.raises(km.InputError, match=r"write \$\$ for the sign itself"):
        km.read_model(model)


PEOPLE = "age,zip,born,pay\n" + "\n".join(
    f"{17 + 7 * i % 80},{13000 + 37 * i % 900},{1950 + i}-0{1 + i % 9}-11,{1000 + 13 * i % 700}" for i in range(30)
)
RULES = """
[data]
file = "people.csv"
quasi_identifiers = ["age", "zip", "born", "pay"]
[privacy]
k = 3
[recoding]
numeric = { age = { widths = [5, 10], below = 18, above = 90 } }
prefix = { zip = [4, 2] }
dates = { born = ["year", "5years"] }
quantiles = { pay = [4, 2] }
"""


def test_a_model_file_makes_hierarchies_of_the_columns(tmp_path: Path) -> None:
    """The same as by the options of the command line."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "model.toml").write_text(RULES)
    rules = ["--numeric", "age=5,10,<18,>=90", "--prefix", "zip=4,2", "--dates", "born=year,5years"]
    common = ["--qi", "age,zip,born,pay", *rules, "--quantiles", "pay=4,2", "--k", "3"]
    one = run("solve", "--data", str(tmp_path / "people.csv"), *common, "--json", "--out", str(tmp_path / "one"))
    two = run("solve", str(tmp_path / "model.toml"), "--json", "--out", str(tmp_path / "two"))
    assert (one.returncode, two.returncode) == (0, 0), (one.stderr, two.stderr)
    assert (tmp_path / "one/anonymized.csv").read_text() == (tmp_path / "two/anonymized.csv").read_text()
    checked = run("verify", str(tmp_path / "one/anonymized.csv"), "--model", str(tmp_path / "model.toml"))
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("numeric = { age = { width = [5] } }", 'did you mean "widths"'),
        ("numeric = { age = { below = 18 } }", "widths is missing"),
        ("numeric = { age = [5] }\nprefix = { age = [1] }", "already"),
        ("numeric = { year = [5] }", "is no quasi-identifier, so it takes no hierarchy"),
        ("numeric = 5", "must be a table"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    text = RULES[: RULES.index("numeric")] + line
    (tmp_path / "model.toml").write_text(text)
    with pytest.raises(km.InputError, match=said):
        km.read_model(tmp_path / "model.toml")
