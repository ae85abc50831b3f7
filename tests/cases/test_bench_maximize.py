"""Studies of model files that maximize: the objective has the sense and sign of the file everywhere."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from bench_here import runs_here
from command_line import run

from kanon_milp.studies.bench.running import run_study
from kanon_milp.studies.bench.statistics import run_steps, with_outcomes
from kanon_milp.studies.bench.study import read_study

MODEL = """NAME          MAXI
{sense}ROWS
 N  OBJ
 L  R1
COLUMNS
    MARKER    'MARKER'  'INTORG'
    X         OBJ       {x}   R1   2
    Y         OBJ       {y}   R1   1
    MARKER    'MARKER'  'INTEND'
RHS
    RHS       R1        {side}
    RHS       OBJ       {offset}
BOUNDS
{bounds}ENDATA
"""
LIMITED = " UP BND       X         3\n UP BND       Y         4\n"
USUAL: dict[str, object] = {"sense": "OBJSENSE\n    MAX\n", "x": 3, "y": 2, "side": 7, "offset": -5, "bounds": LIMITED}
CASES: dict[str, tuple[dict[str, object], str]] = {  # what differs from the case, and what is known
    "max": ({}, "optimum = 17"),
    "one_line": ({"sense": "OBJSENSE MAXIMIZE\n"}, "optimum = 17"),
    "negative": ({"offset": 100}, "optimum = -88"),
    "zero": ({"offset": 12}, "optimum = 0"),
    "half": ({"offset": "-0.5"}, 'optimum = "25/2"'),
    "no_objective": ({"x": 0, "y": 0}, "optimum = 5"),
    "minimum": ({"sense": "", "x": -3, "y": -2, "offset": 5}, "optimum = -17"),
    "free": ({"bounds": LIMITED + " MI BND       X\n"}, "optimum = 17"),
    "infeasible": ({"side": -7}, "infeasible = true"),
    "unbounded": ({"x": -3, "bounds": " FR BND       X\n UP BND       Y         4\n"}, "unbounded = true"),
}
NO_NUMBER = ("infeasible", "unbounded")


def write(folder: Path, solvers: str, cases: dict[str, tuple[dict[str, object], str]]) -> Path:
    text = f"time_limit = 20\nsolvers = [{solvers}]\n"
    for name, (changed, known) in cases.items():
        (folder / f"{name}.mps").write_text(MODEL.format(**{**USUAL, **changed}))
        text += f'[[instances]]\nmps = "{name}.mps"\nknown = {{ {known} }}\n'
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


@pytest.mark.full
def test_bench_maximize(tmp_path: Path) -> None:
    """max 3x + 2y + 5, 2x + y ≤ 7, 0 ≤ x ≤ 3, 0 ≤ y ≤ 4, integer: 17."""
    out = tmp_path / "out"
    done = run("bench", write(tmp_path, '"highs"', {"max": CASES["max"]}), "--out", out)
    assert done.returncode == 0, done.stderr
    assert "1, 0 red" in done.stdout
    (row,) = pl.read_parquet(out / "runs.parquet").iter_rows(named=True)
    assert (row["objective"], row["bound"], row["gap"], row["sense"]) == (17, 17, 0, "max")
    assert (row["objective_exact"], row["proof"], row["defects"]) == ("17", "optimal", [])
    assert [point["incumbent"] for point in row["trajectory"]][-1] == 17
    assert run("bench", "report", out).returncode == 0


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip", "cpsat"])
def test_values_have_the_sense_and_sign_of_the_file(solver: str, tmp_path: Path) -> None:
    cases = {name: case for name, case in CASES.items() if solver != "cpsat" or name not in ("free", "unbounded")}
    with runs_here():
        frame = run_study(read_study(write(tmp_path, f'"{solver}"', cases)), tmp_path / "out")
    for row in frame.iter_rows(named=True):
        name = row["instance"]
        assert (row["ended"], row["defects"]) == ("finished", []), row
        assert row["proof"] == (name if name in NO_NUMBER else "optimal")
        assert row["objective_exact"] == row["bound_exact"] == (None if name in NO_NUMBER else row["known"])
        assert row["sense"] == ("min" if name == "minimum" else "max")
        incumbents = [point["incumbent"] for point in row["trajectory"] if point["incumbent"] is not None]
        assert name in NO_NUMBER or incumbents[-1] == row["objective"]
    outcomes = with_outcomes(frame)
    assert outcomes["solved"].all()
    assert all(0 <= values.min() <= values.max() <= 1 for _, values in run_steps(outcomes))


@pytest.mark.full
def test_a_wrong_known_optimum_is_red_in_the_sense_of_the_file(tmp_path: Path) -> None:
    for known, said in (("16", "better than the known optimum 16"), ("18", "with 17, the known optimum is 18")):
        folder = tmp_path / known
        folder.mkdir()
        done = run("bench", write(folder, '"highs"', {"max": ({}, f"optimum = {known}")}), "--out", folder / "out")
        assert done.returncode == 1
        assert said in done.stderr


def test_what_is_said_while_a_file_is_read_is_in_the_row_and_on_the_screen(tmp_path: Path) -> None:
    study = write(tmp_path, '"highs"', {"max": CASES["max"]})
    model = tmp_path / "max.mps"
    model.write_text(model.read_text().replace("BOUNDS", "    RHS       R9        7\nBOUNDS"))
    done = run("bench", study, "--out", tmp_path / "out")
    assert done.returncode == 0
    assert 'warning: max: while the file was read: Row name "R9"' in done.stderr
    (row,) = pl.read_parquet(tmp_path / "out" / "runs.parquet").iter_rows(named=True)
    assert any("R9" in line for line in row["warnings"])
