"""Solvers by command or executable in a study, known values of a .solu file, and two results side by side."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import polars as pl
import pytest
from bench_here import runs_here
from command_line import run

import kanon_milp as km
from kanon_milp.solvers.canaries import knapsack
from kanon_milp.solvers.mps import write_model
from kanon_milp.studies.bench.plan import plan, read_solu
from kanon_milp.studies.bench.running import read_folders, run_study
from kanon_milp.studies.bench.statistics import with_outcomes
from kanon_milp.studies.bench.study import read_study

SOLVER = """
import sys
import highspy
mode, model, solution, seconds = sys.argv[1:]
highs = highspy.Highs()
highs.silent()
highs.readModel(model)
highs.run()
values = list(highs.getSolution().col_value)
if mode == "worse":
    values = [0.0 for _ in values]
if mode == "silent":
    sys.exit()
if mode == "fails":
    sys.exit(3)
with open(solution, "w") as file:
    if mode == "worth":
        file.write("# Objective value 1000\\n")
    file.writelines(f"{name} {value}\\n" for name, value in zip(highs.allVariableNames(), values))
print("Dual bound:", {"beyond": 1000, "unknown": "much"}.get(mode, -1000))
print("finished, optimal" if mode != "unproven" else "finished")
"""


def study_of(folder: Path, solvers: str, more: str = "") -> Path:
    (folder / "solver.py").write_text(SOLVER)
    write_model(knapsack().model, folder / "knapsack.mps")
    (folder / "known.solu").write_text(f"=opt= knapsack {knapsack().optimum}\n=unkn= other\n")
    study = folder / "own.toml"
    text = f'time_limit = 20\nsolvers = [{solvers}]\n[[instances]]\nmps = "knapsack.mps"\nsolu = "known.solu"\n{more}'
    study.write_text(text)
    return study


def mine(mode: str, more: str = 'optimal = "optimal$"') -> str:
    command = f"'{sys.executable}' solver.py {mode} {{model}} {{solution}} {{seconds}}".replace("solver.py", "SCRIPT")
    return f'{{ name = "{mode}", command = "{command}", {more} }}'


def test_a_solver_by_command_is_checked_as_any_other(tmp_path: Path) -> None:
    bound = "bound = 'Dual bound: (\\S+)'"
    both = f'optimal = "optimal$", {bound}'
    entries = [mine("right"), mine("worse"), mine("silent"), mine("fails"), mine("unproven", bound), mine("worth")]
    entries += [mine(mode, both) for mode in ("far", "beyond", "unknown")]
    solvers = ", ".join(["'highs'", *entries]).replace("SCRIPT", str(tmp_path / "solver.py"))
    with runs_here():
        frame = run_study(read_study(study_of(tmp_path, solvers)), tmp_path / "out")
    rows = {row["solver"]: row for row in frame.iter_rows(named=True)}
    assert {name: row["proof"] for name, row in rows.items()} == {
        **dict.fromkeys(("highs", "right", "worse"), "optimal"),
        **dict.fromkeys(("unproven", "far", "beyond"), "bound"),
        **dict.fromkeys(("silent", "fails", "worth", "unknown"), "none"),
    }  # fmt: skip
    assert {name for name, row in rows.items() if row["defects"]} == {"worse", "worth", "far", "beyond"}
    assert rows["worth"]["defects"][0].startswith("model: its solution says objective 1000, and its values come to")
    assert "do not meet" in rows["far"]["defects"][0]
    assert "is beyond the objective" in rows["beyond"]["defects"][0]
    assert {rows[name]["message"] for name in ("silent", "fails", "unknown")} == {
        "the command wrote no solution", "the command wrote no solution, exit status 3", "its bound is no number",
    }  # fmt: skip
    assert {rows[name]["stop_reason"] for name in ("silent", "fails", "unknown")} == {"error"}
    assert "the known optimum is" in rows["worse"]["defects"][0]
    assert rows["unproven"]["bound"] == -1000
    assert rows["highs"]["nodes"] is not None
    assert set(with_outcomes(frame)["setting"]) == set(rows)


def test_what_is_no_command_is_refused(tmp_path: Path) -> None:
    for entry, said in (
        ('{ name = "a", command = "no_such_program {model} {solution}" }', "there is no program no_such_program"),
        ('{ name = "a", command = "cat {model}" }', "must name {model} and {solution}"),
        ('{ name = "a", command = "cat {model} {solution} {other}" }', "may stand in a command"),
        ('{ name = "a", command = "cat {model} {solution}", bound = "x" }', "a pattern with one group"),
        ('{ name = "highs", optimal = "x" }', "patterns are for what a command prints"),
        ('{ name = "highs", executable = "/bin/true" }', "takes no executable"),
        ('{ name = "highs", command = "cat {model} {solution}" }', "needs a name of its own"),
    ):
        with pytest.raises(km.InputError, match=said.replace("{", r"\{")):
            read_study(study_of(tmp_path, entry))


def test_an_executable_is_another_setting(tmp_path: Path) -> None:
    found = shutil.which("cbc")
    if found is None:
        pytest.skip("cbc is not on PATH")
    study = read_study(study_of(tmp_path, f'"cbc", {{ name = "cbc", executable = "{found}" }}'))
    assert [run.program for run in plan(study)] == [{}, {"executable": found}]
    assert len({run.run for run in plan(study)}) == 2


def test_known_values_of_a_solu_file(tmp_path: Path) -> None:
    file = tmp_path / "known.solu"
    file.write_text("# values\n=opt= a 12.5\n\n=inf= b\n=unbd= c\n=best= d 3\n=unkn= e\n")
    assert read_solu(file) == {"a": "25/2", "b": "infeasible", "c": "unbounded", "d": None, "e": None}
    file.write_text("=opt= a\n")
    with pytest.raises(km.InputError, match="line 1: not a known value"):
        read_solu(file)


def test_results_of_two_folders_stand_side_by_side(tmp_path: Path) -> None:
    study = read_study(study_of(tmp_path, '"highs"'))
    with runs_here():
        for name in ("old", "new"):
            run_study(study, tmp_path / name)
    runs = with_outcomes(read_folders([tmp_path / "old", tmp_path / "new"]))
    assert runs["setting"].to_list() == ["old", "new"]
    assert "results" not in read_folders([tmp_path / "old"]).columns
    done = run("bench", "report", tmp_path / "old", tmp_path / "new", "--out", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    assert set(pl.read_csv(tmp_path / "both" / "tables" / "summary.csv")["setting"]) == {"old", "new"}
    assert "--out DIR" in run("bench", "report", tmp_path / "old", tmp_path / "new").stderr


def test_one_size_and_seed_as_in_the_library(tmp_path: Path) -> None:
    more = '[[instances]]\ngenerate = "planted_k"\nsize = 4\nseed = 3\n'
    assert [run.instance for run in plan(read_study(study_of(tmp_path, '"highs"', more)))] == [
        "knapsack",
        "planted_k-4-3",
    ]


def test_listed_runs_differ_in_what_is_listed(tmp_path: Path) -> None:
    study = study_of(tmp_path, '"highs", { name = "highs", options = { presolve = "off" } }')
    study.write_text("permutations = [0, 7]\n" + study.read_text())
    listed = [line.split("  ", 1)[1] for line in run("bench", study, "--list").stdout.splitlines()]
    assert len(set(listed)) == len(listed) == 4
    assert "knapsack  highs  presolve=off  solver  file  permutation 7" in listed
