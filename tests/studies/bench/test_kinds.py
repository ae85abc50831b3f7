"""Each kind of run, in each of its ways, on something small."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from bench_here import runs_here

from kanon_milp.studies.bench.kinds import KINDS
from kanon_milp.studies.bench.running import run_study
from kanon_milp.studies.bench.statistics import MEASURED
from kanon_milp.studies.bench.study import read_study

K = """
[instances.data]
generator = "random_table"
arguments = { rows = 60, columns = 4, domain = 3, seed = 1 }
quasi_identifiers = ["q1", "q2", "q3", "q4"]
[instances.privacy]
k = 3
"""
L = """
[instances.data]
generator = "random_table"
arguments = { rows = 60, columns = 4, domain = 3, seed = 1 }
quasi_identifiers = ["q1", "q2", "q3"]
sensitive = "q4"
[instances.privacy]
l = 2
"""


def rows_of(tmp_path: Path, kind: str, problem: str, more: str = "") -> pl.DataFrame:
    ways = ", ".join(f'"{way}"' for way in KINDS[kind].ways)
    study = tmp_path / "kind.toml"
    head = f'kind = "{kind}"\nmethods = [{ways}]\ntime_limit = 2\ngrace = 60\n{more}'
    study.write_text(f'{head}\n[[instances]]\nname = "small"\n{problem}')
    with runs_here():
        frame = run_study(read_study(study), tmp_path / "out")
    assert frame["ended"].to_list() == ["finished"] * frame.height, frame["message"].to_list()
    assert frame["defects"].list.len().to_list() == [0] * frame.height
    return frame


def test_handover_makes_the_same_model_in_all_ways(tmp_path: Path) -> None:
    frame = rows_of(tmp_path, "handover", K)
    assert set(frame["stop_reason"]) == {MEASURED}
    plain = frame.filter(pl.col("method") != "ours")
    assert plain.select("variables", "constraints", "nonzeros").n_unique() == 1
    assert (frame["build_seconds"] > 0).all()
    assert (frame["handover_seconds"] > 0).all()


def test_presolve_steps(tmp_path: Path) -> None:
    frame = rows_of(tmp_path, "presolve", K, "parameters = { iterations = 50 }")
    by_step = {row["method"]: row for row in frame.iter_rows(named=True)}
    said = {by_step[step]["message"] for step in ("compress", "group_by", "scan")}
    assert len(said) == 1
    assert by_step["reduce"]["pairs"] < by_step["candidates"]["pairs"]


@pytest.mark.parametrize("kind", ["bound", "anneal"])
def test_bounds_and_tables_under_requirements(tmp_path: Path, kind: str) -> None:
    frame = rows_of(tmp_path, kind, L, "parameters = { bound_seconds = 1 }" if kind == "anneal" else "")
    assert frame["bound"].null_count() == 0
    if kind == "anneal":
        assert frame["verified"].all()
        assert (frame["objective"] >= frame["bound"]).all()


def test_a_solver_begins_from_a_table(tmp_path: Path) -> None:
    frame = rows_of(tmp_path, "started", K, 'parameters = { start_seconds = 1 }\nsolvers = ["highs", "cbc"]')
    assert frame["verified"].to_list() == [True, True]
    assert all(message.startswith("start ") for message in frame["message"])
