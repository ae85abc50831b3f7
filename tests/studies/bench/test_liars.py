"""A solver that lies, hangs, eats memory or crashes is caught in every case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench_here import runs_here
from command_line import run
from places import LIBRARY

from kanon_milp.studies.bench.running import run_study
from kanon_milp.studies.bench.study import read_study

LIARS = Path(__file__).parent / "liars.py"
OWN = {  # what the run itself shows, without any other
    "infeasible_point": "model:",
    "fractional_point": "model:",
    "bound_beyond": "is beyond the objective",
    "better_than_it_is": "says its point is worth",
    "optimal_without_bound": "do not meet",
}
BY_OTHERS = {"wrong_optimum": "says optimal with", "wrong_bound": "bound", "infeasible": "says infeasible"}
ENDS = {"eats_memory": "memory", "crashes": "crashed", "leaves": "crashed", "raises": "error"}

STUDY = """
time_limit = {limit}
grace = 1
memory_limit = "600 MB"
plugins = ["{liars}"]
solvers = [{solvers}]
parallel = 2
[[instances]]
{instance}
"""


def rows_of(tmp_path: Path, solvers: list[str], instance: str, limit: float = 5) -> dict[str, dict[str, Any]]:
    names = ", ".join(f'"{name}"' for name in solvers)
    study = tmp_path / "lies.toml"
    study.write_text(STUDY.format(liars=LIARS, solvers=names, instance=instance, limit=limit))
    frame = run_study(read_study(study), tmp_path / "out")
    return {row["solver"]: row for row in frame.iter_rows(named=True)}


def test_lies_show_beside_an_honest_solver(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text((LIBRARY / "hospital" / "table1.csv").read_text())
    instance = """
name = "hospital"
[instances.data]
file = "table.csv"
quasi_identifiers = ["zip1", "zip2", "zip3", "zip4", "zip5", "age1", "age2", "education"]
[instances.privacy]
k = 3
"""
    with runs_here():
        rows = rows_of(tmp_path, ["highs", *OWN, *BY_OTHERS], instance, limit=30)
    honest = rows.pop("highs")
    assert (honest["ended"], honest["proof"], honest["objective_exact"], honest["defects"]) == (
        "finished", "optimal", "54", [],
    )  # fmt: skip
    assert honest["verified"] is True
    for solver, row in rows.items():
        assert any({**OWN, **BY_OTHERS}[solver] in defect for defect in row["defects"]), (solver, row["defects"])


def test_lies_show_beside_a_planted_optimum(tmp_path: Path) -> None:
    with runs_here():
        rows = rows_of(tmp_path, [*BY_OTHERS], 'generate = "edge_partition"\nsizes = [3]', limit=30)
    for solver, row in rows.items():
        assert any("known optimum" in defect for defect in row["defects"]), (solver, row["defects"])


@pytest.mark.processes
def test_what_does_not_end_well_is_a_row(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [*ENDS, "highs"], f'model = "{LIBRARY}/hospital.toml"', limit=60)
    assert {name: row["ended"] for name, row in rows.items()} == {**ENDS, "highs": "finished"}
    assert rows["highs"]["proof"] == "optimal"
    assert all(row["proof"] == "none" for name, row in rows.items() if name in ENDS)
    assert rows["leaves"]["exit_code"] == 7
    assert "SIGSEGV" in rows["crashes"]["message"]
    assert rows["eats_memory"]["peak_bytes"] > 6e8
    assert "ZeroDivisionError" in rows["raises"]["message"]
    assert "cell" not in rows["raises"]["message"]


@pytest.mark.processes
def test_what_hangs_is_killed(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path, ["hangs"], f'model = "{LIBRARY}/hospital.toml"', limit=2).values()
    assert (row["ended"], row["proof"]) == ("time", "none")
    assert 3 <= row["seconds"] < 30
    assert "killed 1 s after its time limit" in row["message"]


def test_a_lie_shows_in_a_model_without_a_table(tmp_path: Path) -> None:
    import kanon_milp as km

    problem = km.read_model(LIBRARY / "hospital.toml").problem
    km.export_model(problem, tmp_path / "hospital.mps.gz", reduced=True)
    instance = 'mps = "hospital.mps.gz"\nknown = { optimum = 54 }'
    with runs_here():
        rows = rows_of(tmp_path, ["highs", "cbc", *OWN, *BY_OTHERS], instance, limit=30)
    for solver in ("highs", "cbc"):
        row = rows.pop(solver)
        assert (row["proof"], row["objective_exact"], row["defects"], row["n"]) == ("optimal", "54", [], None)
    assert all(row["defects"] for row in rows.values())


TALES = {
    "out_of_the_model": "unusable point: its point does not satisfy the model",
    "no_numbers": "not finite",
    "unbounded": "unbounded",
    "unbounded_with_objective": "unbounded",
    "optimal_without_a_point": "says optimal",
}


@pytest.mark.parametrize("method", ["solver", "milp", "search"])
def test_what_the_template_of_adapters_refuses_is_red(method: str, tmp_path: Path) -> None:
    """Alone, without another run or a known optimum beside it."""
    instance = f'methods = ["{method}"]\ngenerate = "planted_k"\nsizes = [2]'
    if method == "search":  # presolve leaves nothing of planted groups
        instance = f'methods = ["search"]\nmodel = "{LIBRARY}/hospital.toml"'
    with runs_here():
        rows = rows_of(tmp_path, [*TALES], instance, limit=20)
    for solver, row in rows.items():
        if method == "search" and not row["defects"]:
            assert row["proof"] == "optimal"  # proven without the solver
            continue
        assert any(TALES[solver] in defect for defect in row["defects"]), (solver, row)


@pytest.mark.processes
def test_a_study_of_what_the_template_refuses_ends_red(tmp_path: Path) -> None:
    (tmp_path / "m.mps").write_text(
        "NAME m\nROWS\n N obj\n G r\nCOLUMNS\n x obj 1\n x r 2\nRHS\n rhs r 3\nBOUNDS\n UP b x 9\nENDATA\n"
    )
    (tmp_path / "s.toml").write_text(STUDY.format(liars=LIARS, solvers='"highs"', instance='mps = "m.mps"', limit=5))
    assert run("bench", tmp_path / "s.toml", "--out", tmp_path / "honest").returncode == 0
    names = ", ".join(f'"{solver}"' for solver in TALES)
    (tmp_path / "s.toml").write_text(STUDY.format(liars=LIARS, solvers=names, instance='mps = "m.mps"', limit=5))
    done = run("bench", tmp_path / "s.toml", "--out", tmp_path / "lies")
    assert (done.returncode, done.stderr.count("RED m:")) == (1, len(TALES))
    assert all(said in done.stderr for said in TALES.values())
