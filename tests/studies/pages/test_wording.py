"""The command that checks a result again, where a model file states the problem."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from command_line import run, run_in

import kanon_milp as km
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.wording import verify_command


@pytest.mark.parametrize(
    "model",
    [
        *("hospital_hierarchies", "hospital_mask", "hospital_t_matrix", "hospital_t_hierarchical", "hospital_groups"),
        *("hospital_doctors", "hospital_qi_sets_mask", "hospital_delta_base2", "tight_example", "full_product"),
    ],
)
def test_the_command_on_the_page_checks_table_and_certificate(model: str, tmp_path: Path) -> None:
    """Level costs, several requirements of one kind, and tables that are made, which no option states."""
    out, proof, target = tmp_path / "out", tmp_path / "proof.json", tmp_path / "report.html"
    done = run("solve", model, "--certificate", proof, "--out", out, "--report", target, "-q")
    assert done.returncode == 0, done.stderr
    (command,) = re.findall("kanon-milp verify [^<]*", unescape(target.read_text()))
    assert f"verify anonymized.csv --model {model} " in command
    checked = run_in(out, *shlex.split(command)[1:], "--json")
    assert checked.returncode == 0, checked.stderr
    said, told = json.loads(checked.stdout), json.loads((out / "result.json").read_text())
    assert said["certificate"]["valid"] is True
    assert len(said["privacy"]) == len(told["problem"]["requirements"])
    if told["problem"]["objective"] == "loss":
        assert said["cost"] == told["objective"]


def test_a_model_file_with_weights_states_the_problem(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b;s\n" + "".join(f"{i % 4};{i % 3};{i % 2}\n" for i in range(12)))
    model, out, proof = tmp_path / "m.toml", tmp_path / "out", tmp_path / "proof.json"
    model.write_text(
        '[data]\nfile = "t.csv"\nquasi_identifiers = ["a", "b"]\nsensitive = "s"\nsymbol = "?"\ndelimiter = ";"\n'
        '[privacy]\nk = 2\n[recoding]\nweights = { a = "1/3", b = 2 }\n[problem]\nsuppressed_rows = "exempt"\n'
    )
    assert run("solve", model, "--out", out, "--certificate", proof, "-q").returncode == 0
    line, word = verify_command(json.loads((out / "result.json").read_text()), str(out / "anonymized.csv"), str(proof))
    assert line == f"kanon-milp verify {out / 'anonymized.csv'} --model {model} --certificate {proof}"
    assert word == ""
    assert run(*shlex.split(line)[1:]).returncode == 0
    groups = tmp_path / "groups.csv"
    assert run(*shlex.split(line)[1:], "--groups", groups).returncode == 0
    assert groups.is_file()
    assert run(*shlex.split(line)[1:], "--groups", model).returncode == 2
    assert run("verify", "--model", model, "--certificate", proof).returncode == 0
    model.write_text(model.read_text().replace("b = 2", "b = 3"))
    other = run(*shlex.split(line)[1:])
    assert other.returncode == 6
    assert "certificate: NOT VALID" in other.stdout


@pytest.mark.parametrize(
    "more", [["--original", "t.csv"], ["--k", "3"], ["--symbol", "*"], ["--suppressed-rows", "strict"], ["--qi", "a"]]
)
def test_nothing_states_the_problem_beside_its_model_file(more: list[str], tmp_path: Path) -> None:
    done = run("verify", tmp_path / "released.csv", "--model", "hospital", *more)
    assert done.returncode == 2
    assert f"so {more[0]} cannot be named beside it" in done.stderr


def test_costs_of_levels_and_labels_are_stated_by_options_where_there_are_such() -> None:
    problem = km.read_model("hospital_hierarchies").problem
    assert isinstance(problem.recoding, km.Hierarchies)
    told = described(km.solve(problem))
    assert told["input"]["model"] is None
    line, _ = verify_command(told, "a.csv", "proof.json")
    assert line is not None
    assert "--costs age=0,0.25,0.5,1" in line
    for costs, said in (("ncp", "--costs ncp"), ({"age": "ncp"}, "--costs age=ncp")):
        other = replace(problem, recoding=replace(problem.recoding, level_costs={}, costs=costs))
        line, _ = verify_command(described(km.solve(other)), "a.csv")
        assert line is not None
        assert said in line
    paths = problem.recoding.hierarchies["age"].paths
    labels = {label: 1 for path in paths.values() for label in path[1:] if label not in paths}
    other = replace(problem, recoding=replace(problem.recoding, level_costs={}, costs={"age": labels}))
    line, why = verify_command(described(km.solve(other)), "a.csv")
    assert line is None
    assert "costs of labels is not known" in why


def command_on(page: Path) -> list[str]:
    (command,) = re.findall("kanon-milp verify [^<]*", unescape(page.read_text()))
    return shlex.split(command)[1:]


@pytest.mark.parametrize("stated", ["options", "model", "database"])
@pytest.mark.parametrize("place", ["out", "deep/er/out", "."])
def test_the_command_works_from_the_folder_of_the_result(
    stated: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With paths that were relative where it was solved; also after `report` ran elsewhere, and all was moved."""
    work = tmp_path / "work"
    (work / "given" / "trees").mkdir(parents=True)
    frame = pl.DataFrame({"a": ["11", "11", "21", "22"] * 3, "b": ["x", "y"] * 6})
    frame.write_csv(work / "given" / "t.csv")
    with sqlite3.connect(work / "given" / "t.db") as connection:
        connection.execute("create table t (a text, b text)")
        connection.executemany("insert into t values (?, ?)", frame.rows())
    connection.close()
    km.Hierarchy.prefixes(frame["a"], [1]).write(work / "given" / "trees" / "a.csv")
    (work / "m.toml").write_text('[data]\nfile = "given/t.csv"\nquasi_identifiers = ["a", "b"]\n[privacy]\nk = 2\n')
    given = {
        "options": ["--data", "given/t.csv", "--qi", "a,b", "--k", "2", "--hierarchies", "given/trees"],
        "model": ["m.toml"],
        "database": ["--data", "given/t.db", "--query", "select * from t order by rowid", "--qi", "a,b", "--k", "2"],
    }[stated]
    page = Path(place) / "report.html"
    Path(work, place).mkdir(parents=True, exist_ok=True)
    proof = ["--certificate", str(Path(place) / "proof.json")]
    done = run_in(work, "solve", *given, "--out", place, "--report", page, *proof, "-q")
    assert done.returncode == 0, done.stderr

    def check(folder: Path) -> None:
        words = command_on(folder / "report.html")
        assert words[:2] == ["verify", "anonymized.csv"]
        checked = run_in(folder, *words, "--json")
        assert checked.returncode == 0, checked.stderr
        assert json.loads(checked.stdout)["certificate"]["valid"] is True
        text = unescape((folder / "report.html").read_text())
        assert f"Run it in the folder of this result, {folder.resolve().name}, where result.json is" in text
        assert ("What was read is not part of it: " in text) == (stated != "database")

    check(work / place)
    assert run_in(tmp_path, "report", work / place, "-q").returncode == 0
    assert "not found" not in (work / place / "report.html").read_text()
    check(work / place)
    work.rename(tmp_path / "moved")
    assert run_in(tmp_path / "moved" / place, "report", ".", "-q").returncode == 0
    check(tmp_path / "moved" / place)


def test_without_a_folder_paths_are_as_they_were_given(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 4)
    done = run_in(tmp_path, "solve", "--data", "t.csv", "--qi", "a,b", "--k", "2", "--report", "page.html", "-q")
    assert done.returncode == 0
    assert command_on(tmp_path / "page.html")[:4] == ["verify", "anonymized.csv", "--original", "t.csv"]
    assert "run it in the directory in which the problem was solved" in (tmp_path / "page.html").read_text()


def test_a_result_that_does_not_say_where_it_ran_is_seen_from_here(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 4)
    assert run_in(tmp_path, "solve", "--data", "t.csv", "--qi", "a,b", "--k", "2", "--out", "out", "-q").returncode == 0
    told = json.loads((tmp_path / "out" / "result.json").read_text())
    assert told.pop("ran_in") == ".."
    (tmp_path / "out" / "result.json").write_text(json.dumps(told))
    assert run_in(tmp_path, "report", "out", "-q").returncode == 0
    words = command_on(tmp_path / "out" / "report.html")
    assert words[words.index("--original") + 1] == "../t.csv"
