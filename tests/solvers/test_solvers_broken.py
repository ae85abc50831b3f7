"""Solvers that end with an unusable point: one clear error, or a result without a proof, and never a table of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from solver_cases import among

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.errors import SolverError
from kanon_milp.solvers import LinearModel, SolverOptions, StopReason
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers import cbc as cbc_module
from kanon_milp.solvers.adapter import keep_start
from kanon_milp.solvers.call import RawResult, SolverCall

pytestmark = pytest.mark.skipif(os.name == "nt", reason="stands in for CBC by a shell script")


def stand_in(path: Path, after: str) -> Path:
    """A CBC that solves and then changes what it has written: `after` is shell in the folder of the run."""
    real = cbc_module._in_cbcbox() or cbc_module._in_pulp()
    path.write_text(f'#!/bin/sh\n"{real}" "$@"\n[ "$1" = -quit ] && exit 0\n{after}\nexit 0\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ("rm m.sol", "wrote no solution"),
        ("rm m.bin", "no file with its point"),
        (": > m.sol", "a status that proves nothing"),
        ("head -c 300 /dev/zero | tr '\\0' '\\377' > m.sol", "a status that proves nothing"),
        (": > m.bin", "too few for a point"),
        ("head -c 6 m.bin > n; mv n m.bin", "too few for a point"),
        ("head -c 20 m.bin > n; mv n m.bin", "too few for a point"),
        ("head -c 84 m.bin > n; mv n m.bin", "too few for a point"),
        ("head -c 400 /dev/zero | tr '\\0' '\\377' > m.bin", "values for 3 variables"),
        ("head -c 400 /dev/zero > m.bin", "0 values for 3 variables"),
        # two counts, the objective and three rows take 64 bytes: not-a-number and infinity as the value of column 3
        (
            "head -c 80 m.bin > n; printf '\\000\\000\\000\\000\\000\\000\\370\\177' >> n; mv n m.bin",
            "not finite",
        ),
        (
            "head -c 80 m.bin > n; printf '\\000\\000\\000\\000\\000\\000\\360\\177' >> n; mv n m.bin",
            "not finite",
        ),
        # 4096 as the value of column 3
        (
            "head -c 80 m.bin > n; printf '\\000\\000\\000\\000\\000\\000\\260\\100' >> n; mv n m.bin",
            "a status that proves noth",
        ),
    ],
)
def test_a_cbc_that_writes_nonsense_is_one_clear_error(tmp_path: Path, after: str, message: str) -> None:
    adapter = solvers.get("cbc", executable=stand_in(tmp_path / "cbc", after))
    with pytest.raises(SolverError, match=message) as error:
        adapter.solve(birds.knapsack().model, SolverOptions())
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 1000


def test_the_stand_in_is_honest_by_itself(tmp_path: Path) -> None:
    adapter = solvers.get("cbc", executable=stand_in(tmp_path / "cbc", ":"))
    assert adapter.solve(birds.knapsack().model, SolverOptions()).objective == pytest.approx(89)


@pytest.mark.parametrize("name", ["cbc", "./cbc", "bin/../cbc"])
def test_cbc_is_found_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "bin").mkdir()
    stand_in(tmp_path / "cbc", ":")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    adapter = solvers.get("cbc", executable=name)
    assert Path(adapter.location()).is_absolute()
    assert adapter.solve(birds.knapsack().model, SolverOptions()).objective == pytest.approx(89)


def nan_at(values: Any) -> Any:
    changed = np.array(values, dtype=float)
    changed[0] = np.nan
    return changed


@among("highs", "scip", "cpsat")
@pytest.mark.parametrize("change", [nan_at, lambda x: x[:-1], lambda x: x + 1000], ids=["nan", "short", "far off"])
def test_a_point_that_is_none_is_one_clear_error(
    adapter: Any, change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = adapter.run

    def broken(model: LinearModel, call: SolverCall) -> RawResult:
        outcome = honest(model, call)
        return RawResult(outcome.reason, change(outcome.x), outcome.bound)

    monkeypatch.setattr(adapter, "run", broken)
    with pytest.raises(SolverError, match="unusable point: "):
        adapter.solve(birds.knapsack().model, SolverOptions())


def test_a_start_refutes_infeasible() -> None:
    point = np.array([1.0, 0.0])
    kept = keep_start(RawResult(StopReason.INFEASIBLE, None, None), point)
    assert kept.reason is StopReason.ERROR
    assert kept.x is point
    assert "its claim is discarded" in kept.message


def test_no_table_comes_of_a_broken_solver(tmp_path: Path) -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": list("xxyz"), "b": list("uvuv")}), ["a", "b"])
    broken = solvers.get("cbc", executable=stand_in(tmp_path / "cbc", "rm m.bin"))
    with pytest.raises(SolverError, match="no file with its point"):
        km.solve(km.Problem(table, [km.KAnonymity(2)]), broken)


def test_a_cbc_that_is_stopped_while_it_starts_has_not_crashed(tmp_path: Path) -> None:
    real = cbc_module._in_cbcbox() or cbc_module._in_pulp()
    path = tmp_path / "cbc"
    path.write_text(f'#!/bin/sh\ncase "$*" in *m.mps*) sleep 9;; esac\nexec "{real}" "$@"\n')
    path.chmod(0o755)
    event = threading.Event()
    threading.Timer(0.5, event.set).start()
    result = solvers.get("cbc", executable=path).solve(birds.knapsack().model, SolverOptions(), interrupt=event)
    assert (result.stop_reason, result.x) == (StopReason.INTERRUPTED, None)
