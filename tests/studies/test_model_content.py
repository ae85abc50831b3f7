"""A problem as a model file: read again it is the same problem, and gives the same table."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.studies.model_content import model_content, toml_text
from kanon_milp.studies.model_files import library_models, parse_toml, read_content

ROWS = [(17 + 7 * i % 80, 13000 + 37 * i % 900, f"{1950 + i}-0{1 + i % 9}-11", 1000 + 13 * i % 700) for i in range(30)]
PEOPLE = "age;zip;born;pay;ill;name\n" + "".join(
    ";".join(map(str, row)) + f";{'abc'[i % 3]};n{i}\n" for i, row in enumerate(ROWS)
)
ASKED = [
    *("--qi", "age,zip,born,pay", "--sensitive", "ill", "--identifying", "name", "--k", "3", "--l", "3/2"),
    *("--numeric", "age=5,<18,>=90", "--prefix", "zip=4,2", "--dates", "born=year,5years", "--quantiles", "pay=4,2"),
    *("--weight", "age=3/2", "--costs", "zip=ncp", "--suppressed-rows", "exempt", "--delimiter", ";"),
]


def test_what_was_asked_is_written_as_a_model_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/people $1.csv").write_text(PEOPLE)
    saved, out = tmp_path / "model.toml", [tmp_path / "one", tmp_path / "two"]
    data = ["--data", str(tmp_path / "data/people $1.csv"), *ASKED]
    first = run("solve", *data, "--method", "greedy", "--out", str(out[0]), "--save-model", str(saved))
    assert first.returncode == 4, first.stderr
    assert f"model file written to {saved}" in first.stdout
    second = run("solve", str(saved), "--out", str(out[1]))
    assert second.returncode == 4, second.stderr  # by the same method
    assert (out[0] / "anonymized.csv").read_bytes() == (out[1] / "anonymized.csv").read_bytes()
    assert run("solve", str(saved), "--save-model", str(tmp_path / "again.toml")).returncode == 2
    assert run("solve", *data, "--save-model", str(tmp_path / "data/people $1.csv")).returncode == 2


def test_a_full_domain_table_has_the_levels_that_options_name(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    data = ["--data", str(tmp_path / "people.csv"), "--qi", "age,zip", "--k", "3", "--keep", "born,pay,ill,name"]
    asked = [*data, "--numeric", "age=10,40", "--prefix", "zip=3,2", "--level", "age=2", "--suppression-limit", "0.2"]
    labels, saved, out = tmp_path / "labels.csv", tmp_path / "model.toml", tmp_path / "out"
    written = ["--labels", str(labels), "--save-model", str(saved), "--out", str(out)]
    done = run("solve", *asked, "--method", "full_domain", *written)
    assert done.returncode == 4, done.stderr
    assert "age 2 of 3" in done.stdout
    result = json.loads((out / "result.json").read_text())
    assert result["levels"]["age"] == 2
    known = pl.read_csv(labels, infer_schema=False).filter(pl.col("column") == "age").rows()
    assert ("age", "17", "2", "0-39") in known
    assert {label for *_, label in known} == {"0-39", "40-79", "80-119"}
    assert "levels = { age = [2] }" in saved.read_text()
    assert run("verify", str(out / "anonymized.csv"), "--model", str(saved)).returncode == 0
    again = run("solve", str(saved), "--json")
    assert json.loads(again.stdout)["levels"] == result["levels"]
    assert run("solve", *asked).returncode == 2  # of another method
    mask = run("solve", *data, "--level", "age=1", "--mask", str(labels))
    assert (mask.returncode, "one of the two" in mask.stderr) == (2, True)


def test_a_table_without_a_file_is_refused(tmp_path: Path) -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": [1, 1]}), "a")
    problem = km.Problem(table, km.KAnonymity(2))
    with pytest.raises(km.InputError, match="file of its table"):
        km.write_model(problem, tmp_path / "model.toml")
    named = km.Problem(table, km.KAnonymity(2), km.Hierarchies({"a": {"1": ("1", "x", "*")}}))
    with pytest.raises(km.InputError, match=r"Hierarchy\.write"):
        model_content(named, tmp_path)
    assert not list(tmp_path.iterdir())


WITH_FILES = [each.name for each in library_models() if "file" in parse_toml(each.path)["data"]]


@pytest.mark.parametrize("model", WITH_FILES)
def test_each_model_of_the_library_is_the_same_problem_again(model: str, tmp_path: Path) -> None:
    one = km.read_model(model).problem
    target = tmp_path / "model.toml"
    km.write_model(one, target)
    two = km.read_model(target).problem
    assert [each.claims for each in two.requirements] == [each.claims for each in one.requirements]
    assert two.table.keys.equals(one.table.keys)
    assert two.table.roles == one.table.roles
    assert two.recoding.hierarchies == one.recoding.hierarchies
    assert (two.exact_cost_bound, two.min_groups, two.max_groups) == (
        one.exact_cost_bound,
        one.min_groups,
        one.max_groups,
    )
    masks = [each.recoding.mask for each in (one, two)]
    assert len({None if mask is None else len(mask.patterns) for mask in masks}) == 1
    again = model_content(two, tmp_path)
    assert model_content(one, tmp_path) == again
    assert read_content(again, target).problem.suppressed_rows == one.suppressed_rows


def test_text_of_a_model_file_is_toml(tmp_path: Path) -> None:
    content = {
        "title": 'quotes " and \\ and \n and é \x7f',
        "data": {"a b": [1, 2.5, True, "x"], "deep": {"ä": {"b": []}}},
        "privacy": {"k": 2, "requirements": [{"kind": "x"}, {"kind": "y"}]},
    }
    (tmp_path / "model.toml").write_text(toml_text(content), encoding="utf-8")
    read = parse_toml(tmp_path / "model.toml")
    assert {**read, "data": {**read["data"], "a b": [1, float(read["data"]["a b"][1]), True, "x"]}} == content
