"""Runs of solvers: progress, threads, limits, interruptions, logs; and unusable points, which are one clear error, or a
result without a proof, and never a table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import with_ctrl_c
from places import TESTS
from present import present
from solver_cases import among, each_adapter, each_adapter_with, good_start, market_split, needs, random_start

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers import Capability, LinearModel, Progress, SolverOptions, StopReason
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers import cbc as cbc_module
from kanon_milp.solvers.adapter import keep_start
from kanon_milp.solvers.call import RawResult, SolverCall


@each_adapter
def test_good_start_is_never_lost(adapter: Any) -> None:
    needs(adapter, Capability.START)
    start, model = random_start(), market_split()
    first = adapter.solve(model, SolverOptions(time_limit=0), start=start)
    assert first.stop_reason is StopReason.TIME_LIMIT
    assert first.objective <= model.value(start) + 1e-6
    # a start that is better than what the solver finds in that time shows that it is really used
    good = good_start()
    again = adapter.solve(model, SolverOptions(time_limit=0.5), start=good)
    assert again.objective <= model.value(good) + 1e-4


@each_adapter
def test_start_is_the_first_incumbent(adapter: Any) -> None:
    needs(adapter, Capability.START)
    needs(adapter, Capability.TRAJECTORY)
    model = market_split()
    good = good_start()
    result = adapter.solve(model, SolverOptions(time_limit=0.5), start=dict(enumerate(good.tolist())))
    incumbents = [p.incumbent for p in result.trajectory if p.incumbent is not None]
    assert incumbents[0] == pytest.approx(model.value(good), abs=1e-3)


BAD_STARTS = {
    "length": np.ones(3),
    "infeasible": np.full(62, 0.5),
    "nan": np.full(62, np.nan),
    "column": {999: 1.0},
    "infinite": {0: float("inf")},
    "fractional": {0: 0.5},
    "outside": {0: 17.0},
    "negative": {-1: 1.0},
    "empty": {},
}


@each_adapter_with("bad", BAD_STARTS, share=4)
def test_bad_start_is_ignored(adapter: Any, bad: Any) -> None:
    result = adapter.solve(market_split(), SolverOptions(time_limit=0.1), start=bad)
    assert result.stop_reason is StopReason.TIME_LIMIT
    small = birds.knapsack()
    size = {np.ndarray: lambda b: b[:3], dict: dict}[type(bad)](bad)
    assert adapter.solve(small.model, SolverOptions(), start=size).objective == pytest.approx(small.optimum)


@each_adapter
def test_partial_start_is_completed_within_the_limit(adapter: Any) -> None:
    needs(adapter, Capability.PARTIAL_START)
    model = market_split()
    good = good_start()
    began = time.perf_counter()
    # the slacks follow from the choices
    result = adapter.solve(model, SolverOptions(time_limit=1), start={j: good[j] for j in range(50)})
    assert time.perf_counter() - began < 3
    assert result.objective <= model.value(good) + 1e-4


@each_adapter
def test_threads_may_change_between_solves(adapter: Any) -> None:
    needs(adapter, Capability.THREADS)
    canary = birds.knapsack()
    for threads in (1, 2, 1):
        result = adapter.solve(canary.model, SolverOptions(threads=threads, time_limit=20))
        assert result.objective == pytest.approx(canary.optimum)


@each_adapter
def test_two_solves_at_once_with_different_threads(adapter: Any) -> None:
    needs(adapter, Capability.THREADS)
    answers = []

    def work(threads: int) -> None:
        answers.append(adapter.solve(birds.knapsack().model, SolverOptions(threads=threads)).objective)

    workers = [threading.Thread(target=work, args=(threads,)) for threads in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert answers == pytest.approx([89.0, 89.0])


@each_adapter
def test_same_seed_same_answer(adapter: Any) -> None:
    needs(adapter, Capability.SEED)
    # many optimal points: which of them comes out is up to the seed
    model = market_split(rows=2, columns=20)
    first, second = (adapter.solve(model, SolverOptions(seed=7, time_limit=20)) for _ in range(2))
    assert first.stop_reason is second.stop_reason is StopReason.OPTIMAL
    assert np.array_equal(first.x, second.x)


@each_adapter
def test_log_goes_to_the_file_and_not_to_the_terminal(
    adapter: Any, tmp_path: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    needs(adapter, Capability.LOG_FILE)
    log = tmp_path / "solver.log"
    log.write_text("of an earlier solve\n")
    adapter.solve(market_split(), SolverOptions(time_limit=0.5, log_file=log))
    text = log.read_text(encoding="utf-8")
    assert len(text.splitlines()) > 10
    assert "earlier" not in text
    assert capfd.readouterr() == ("", "")
    with pytest.raises(InputError, match="log file"):
        adapter.solve(birds.knapsack().model, SolverOptions(log_file=tmp_path / "none" / "solver.log"))


@each_adapter
def test_progress_comes_regularly_and_its_errors_are_raised(adapter: Any) -> None:
    seen: list[Progress] = []
    adapter.solve(market_split(), SolverOptions(time_limit=1.2), on_progress=seen.append)
    assert 3 <= len(seen) <= 10 * max(1.2, seen[-1].seconds)  # a busy machine ends it late
    assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)
    if Capability.TRAJECTORY in adapter.capabilities:
        assert seen[-1].incumbent is not None
        assert seen[-1].bound is not None

    def fail(_progress: Any) -> None:
        raise RuntimeError("mine")

    began = time.perf_counter()
    with pytest.raises(RuntimeError, match="mine"):
        adapter.solve(market_split(), SolverOptions(time_limit=5), on_progress=fail)
    assert time.perf_counter() - began < 3


@each_adapter
def test_event_stops_the_solver_and_keeps_the_incumbent(adapter: Any) -> None:
    needs(adapter, Capability.INTERRUPT)
    for seconds in (0.5, 2, 10):  # on a busy machine the first incumbent may take longer
        event = threading.Event()
        threading.Timer(seconds, event.set).start()
        result = adapter.solve(market_split(), SolverOptions(time_limit=30), interrupt=event)
        assert result.stop_reason is StopReason.INTERRUPTED
        assert result.seconds < seconds + 3
        if result.x is not None:
            break
    assert market_split().violation(result.x) < 1e-4
    assert result.bound == pytest.approx(1000, abs=1e-2)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@each_adapter_with("whole_group", {"True": True, "False": False}, share=2)
@pytest.mark.processes
def test_ctrl_c_stops_the_solver_and_keeps_the_incumbent(adapter: Any, whole_group: Any) -> None:
    needs(adapter, Capability.INTERRUPT)
    code = f"""
        import sys
        sys.path[:0] = {[str(TESTS)]!r}
        from solver_cases import SolverOptions, market_split, solvers
        adapter = solvers.get({adapter.name!r}, {getattr(adapter, "_given", None)!r})
        print("ready", flush=True)
        result = adapter.solve(market_split(), SolverOptions(time_limit=30))
        print(result.stop_reason.value, result.objective)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with with_ctrl_c():
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert present(child.stdout).readline() == "ready\n"
    time.sleep(1)
    began = time.perf_counter()
    if whole_group:
        os.killpg(child.pid, signal.SIGINT)
    else:
        child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    assert time.perf_counter() - began < 5
    reason, objective = out.split()
    assert reason == "interrupted"
    assert 1000 <= float(objective) < 2000


def stand_in(path: Path, after: str) -> Path:
    """A CBC that solves and then changes what it has written: `after` is shell in the folder of the run."""
    if os.name == "nt":
        pytest.skip("stands in for CBC by a shell script")
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
