"""A series of models: equal shape, other numbers, each the model of its own problem."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from command_line import run
from places import LIBRARY
from written_solutions import highs_of

import kanon_milp as km

PROBLEM = km.read_model(LIBRARY / "hospital.toml").problem


def listed(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_random_weights_change_the_objective_and_nothing_else(tmp_path: Path) -> None:
    done = run("export", LIBRARY / "hospital.toml", "--to", tmp_path / "m.mps", "--random-weights", 3, "--seed", 1)
    assert done.stdout.startswith("3 models of equal shape"), done.stderr
    rows = listed(tmp_path / "m.series.csv")
    assert [row["model"] for row in rows] == ["m-1.mps", "m-2.mps", "m-3.mps"]
    assert [[row[part] for part in ("matrix", "sides", "bounds")] for row in rows] == [["0"] * 3] * 3
    assert int(rows[0]["objective"]) == 0 < int(rows[1]["objective"])
    matrices = {re.sub(r"(?m)^( \S+ obj .*|\*.*|NAME .*)\n", "", (tmp_path / row["model"]).read_text()) for row in rows}
    assert len(matrices) == 1
    weights = dict(re.findall(r"weight of (\w+)=(\d+)", rows[1]["set"]))
    problem = km.Problem(PROBLEM.table, PROBLEM.privacy, km.Suppression({name: int(w) for name, w in weights.items()}))
    assert highs_of(tmp_path / "m-2.mps").getInfo().objective_function_value == km.solve(problem).objective


def test_limits_of_groups_change_one_side(tmp_path: Path) -> None:
    files = km.export_series(PROBLEM, tmp_path / "m.lp.gz", max_groups=[1, 2, 3])
    assert [file.name for file in files] == ["m-1.lp.gz", "m-2.lp.gz", "m-3.lp.gz"]
    parts = [
        [int(row[part]) for part in ("objective", "matrix", "sides", "bounds")]
        for row in listed(tmp_path / "m.series.csv")
    ]
    assert parts == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]


def test_models_of_different_shapes_are_no_series_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(km.InputError, match="with k=3 the model has another shape than with k=2"):
        km.export_series(PROBLEM, tmp_path / "m.mps", k=[2, 3])
    with pytest.raises(km.InputError, match="not both"):
        km.export_series(PROBLEM, tmp_path / "m.mps", random_weights=3, k=[2, 3])
    assert not list(tmp_path.iterdir())
