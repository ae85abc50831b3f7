"""A study from the command line: rows as they come, killed and resumed, interrupted, repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import psutil
import pytest
from bench_here import runs_here
from command_line import run, run_in, with_ctrl_c
from places import LIBRARY, ROOT
from polars.testing import assert_frame_equal

from kanon_milp.studies.bench import supervisor
from kanon_milp.studies.bench.running import ROWS, RUNS, SCHEMA, TIMES, read_folder, run_one
from kanon_milp.studies.bench.study import read_study
from kanon_milp.studies.bench.supervisor import session_bytes

pytestmark = pytest.mark.skipif(not hasattr(os, "waitid"), reason="no studies on this system")

SMOKE = ROOT / "benchmarks" / "studies" / "smoke.toml"
LIARS = Path(__file__).parent / "liars.py"
FOUR = f"""
time_limit = 20
solvers = ["highs", "scip"]
permutations = [0, 3]
[[instances]]
model = "{LIBRARY}/hospital.toml"
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "kanon_milp", "bench", *map(str, arguments)]


def rows_in(folder: Path) -> list[Path]:
    return list((folder / ROWS).glob("*.parquet"))


def wait_for(folder: Path, rows: int, process: subprocess.Popen[str]) -> None:
    ends = time.monotonic() + 60
    while len(rows_in(folder)) < rows:
        assert process.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.02)


def without_times(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop(*TIMES, "git")  # somebody may commit meanwhile


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """A study of four runs, and what it gives where it runs through."""
    folder = tmp_path_factory.mktemp("four")
    study = folder / "four.toml"
    study.write_text(FOUR)
    done = run("bench", study, "--out", folder / "through")
    assert done.returncode == 0, done.stderr
    return study, pl.read_parquet(folder / "through" / RUNS)


@pytest.mark.processes
def test_all_rows_are_there(four: tuple[Path, pl.DataFrame]) -> None:
    _, frame = four
    assert frame.schema == pl.Schema(SCHEMA)
    assert frame["objective_exact"].to_list() == ["54"] * 4
    assert frame["verified"].to_list() == [True] * 4
    assert frame["permutation"].to_list() == [0, 3] * 2
    assert frame["proof"].to_list() == ["optimal"] * 4
    assert (frame["seconds"] > 0).all()
    assert (frame["peak_bytes"] > 5e7).all()
    assert frame["known"].to_list() == ["54"] * 4


@pytest.mark.processes
def test_nothing_is_left_beside_the_folder_of_a_study(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(f"time_limit = 20\n{FOUR[FOUR.index('[[') :]}")
    done = run_in(tmp_path, "bench", "one.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.toml", "out"]


@pytest.mark.processes
def test_killed_and_resumed_it_gives_the_same_rows(four: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    study, through = four
    out = tmp_path / "out"
    process = subprocess.Popen(command(study, "--out", out, "--quiet"), text=True)
    wait_for(out, 1, process)
    process.kill()
    process.wait()
    early = read_folder(out)  # readable all the same
    assert 1 <= early.height < 4
    assert run("bench", study, "--out", out).returncode == 2  # there are results already
    with runs_here():
        done = run("bench", study, "--out", out, "--resume")
    assert done.returncode == 0, done.stderr
    resumed = pl.read_parquet(out / RUNS)
    assert_frame_equal(without_times(resumed), without_times(through))
    kept = resumed.join(early.select("run", "started"), on=["run", "started"], how="inner")
    assert kept.height == early.height  # what was there was not run again


@pytest.mark.processes
def test_an_answer_is_heard_whenever_it_comes(four: tuple[Path, pl.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where whoever watches was busy while the process answered and ended."""
    study, frame = four
    ends = time.monotonic() + 60

    def slow(session: int) -> int:
        while Path(f"/proc/{session}").exists() and time.monotonic() < ends:
            time.sleep(0.05)
        return session_bytes(session)

    monkeypatch.setattr(supervisor, "session_bytes", slow)
    row = run_one(read_study(study), frame["run"][0])
    assert time.monotonic() < ends
    assert (row["ended"], row["objective_exact"]) == ("finished", "54")


@pytest.mark.processes
def test_nobody_writes_into_the_folder_of_a_study_and_no_process_outlives_it(tmp_path: Path) -> None:
    study = tmp_path / "hangs.toml"
    study.write_text(f'time_limit = 60\nplugins = ["{LIARS}"]\nsolvers = ["hangs"]\n{FOUR[FOUR.index("[[") :]}')
    process = subprocess.Popen(command(study, "--out", tmp_path / "out", "--quiet"), text=True)

    def below() -> list[psutil.Process]:
        found: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
        return found

    ends = time.monotonic() + 60
    try:
        while not (len(below()) > 2 and (tmp_path / "out" / "plan.json").exists()) and time.monotonic() < ends:
            time.sleep(0.05)
        done = run("bench", study, "--out", tmp_path / "out", "--resume")
        assert done.returncode == 2
        assert "another study is at work" in done.stderr
        time.sleep(1)
        started = below()  # what has loaded all, what waits for the run, and the run
        assert len(started) == 3
    finally:
        process.kill()
        process.wait()
    while any(each.is_running() for each in started) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not any(each.is_running() for each in started)


@pytest.mark.processes
def test_ctrl_c_leaves_a_folder_to_go_on_with(four: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    study, through = four
    out = tmp_path / "out"
    with with_ctrl_c():
        process = subprocess.Popen(command(study, "--out", out), text=True, stderr=subprocess.PIPE)
    wait_for(out, 1, process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 5
    assert said.startswith("interrupted: ")
    assert "of 4 runs are done; the same command with --resume goes on" in said
    assert "Traceback" not in said
    with runs_here():
        assert run("bench", study, "--out", out, "--resume", "--quiet").returncode == 0
    assert_frame_equal(without_times(pl.read_parquet(out / RUNS)), without_times(through))


def test_a_red_row_says_how_to_repeat_it(tmp_path: Path) -> None:
    study = tmp_path / "red.toml"
    study.write_text(f'time_limit = 20\nplugins = ["{LIARS}"]\nsolvers = ["bound_beyond"]\n{FOUR[FOUR.index("[[") :]}')
    with runs_here():
        done = run("bench", study, "--out", tmp_path / "out")
        assert done.returncode == 1
        red, repeat = done.stderr.splitlines()
        assert red.startswith("RED hospital: bound_beyond solver: bound 59 is beyond")
        again = run(*repeat.split()[1:])
    assert again.returncode == 1
    row = json.loads(again.stdout)
    assert row["defects"] == pl.read_parquet(tmp_path / "out" / RUNS)["defects"][0].to_list()
    assert run("bench", study, "--only", "zz").returncode == 2


def test_a_study_of_which_every_run_fails_says_why(tmp_path: Path) -> None:
    study = tmp_path / "wrong.toml"
    data = '[instances.data]\nfile = "t.csv"\nquasi_identifiers = ["agee"]\n[instances.privacy]\nk = 2\n'
    study.write_text(f'time_limit = 20\nmethods = ["milp", "greedy"]\n[[instances]]\nname = "t"\n{data}')
    (tmp_path / "t.csv").write_text("age\n1\n1\n")
    with runs_here():
        done = run("bench", study, "--out", tmp_path / "out")
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith("error: 2 of 2 runs, such as t, run ")
    assert 'there is no column "agee"' in said
    done = run("bench", "report", tmp_path / "out", "-q")
    assert done.returncode == 1
    html = (tmp_path / "out" / "report.html").read_text()
    assert '<li class="bad">2 runs failed</li>' in html
    assert "nothing contradicts" not in html


@pytest.mark.processes
def test_the_summary_is_written(four: tuple[Path, pl.DataFrame]) -> None:
    study, _ = four
    folder = study.parent / "through"
    done = run("bench", "report", folder)
    assert done.returncode == 0
    assert "<table" in (folder / "report.html").read_text()
    table = pl.read_csv(folder / "tables" / "summary.csv")
    assert table["solved"].to_list() == [2, 2]
    assert r"\begin{tabular}" in (folder / "tables" / "summary.tex").read_text()
    assert pl.read_csv(folder / "tables" / "runs.csv").height == 4
    assert run("bench", "report", study.parent).returncode == 2


@pytest.mark.parametrize("runs", ["here", pytest.param("processes", marks=pytest.mark.slow)])
@pytest.mark.processes
def test_the_smoke_study_runs(tmp_path: Path, runs: str) -> None:
    """As the README has it, on two cores under two minutes; that each run has a process other tests show quickly."""
    began = time.monotonic()
    with runs_here() if runs == "here" else nullcontext():
        done = run("bench", SMOKE, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    frame = pl.read_parquet(tmp_path / "out" / RUNS)
    assert set(frame["ended"]) == {"finished"}
    assert set(frame["proof"]) == {"optimal", "infeasible"}
    assert time.monotonic() - began < 120 * max(1.0, os.getloadavg()[0] / 2)
