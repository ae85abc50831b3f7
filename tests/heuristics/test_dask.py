"""The search on a Dask cluster: it does run there, and goes on when workers, or all of the cluster, are gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from census import census_problem
from command_line import run
from present import present
from test_pool import check, where

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.heuristics.worker_pool import DaskPool

distributed: Any = pytest.importorskip("distributed")

QUIET = {"dashboard_address": None, "silence_logs": 50}
GRACE = 5.0
LIMIT = 20.0


class Counter(distributed.WorkerPlugin):  # type: ignore[misc]
    """How many tasks a worker has finished, told by the worker itself."""

    def setup(self, worker: Any) -> None:
        self.finished = 0

    def transition(self, key: str, start: str, finish: str, **_: object) -> None:
        self.finished += start == "executing" and finish == "memory"


def problem_of(rows: int, k: int = 4) -> km.Problem:
    return census_problem(rows, k, ["sex", "age", "race", "education", "workclass"])


def while_searching(act: Callable[[], object]) -> Callable[[str], None]:
    """For on_stage: act once, a moment after the search that follows the bound has begun."""
    seen: list[str] = []

    def stage(name: str) -> None:
        seen.append(name)
        if seen[-2:] == ["bound", "search"] and seen.count("bound") == 1:
            threading.Timer(3.0, act).start()

    return stage


def solve_until(problem: km.Problem, address: str, act: Callable[[], object]) -> km.Result:
    """Search on the cluster, and let something happen to it meanwhile; what must be true whatever happens."""
    result = km.solve(problem, method="search", time_limit=LIMIT, dask=address, on_stage=while_searching(act))
    assert result.verified
    assert exit_code(result) in (0, 4)
    assert result.seconds["total"] - result.seconds["read"] <= LIMIT * 1.05 + GRACE
    assert result.bound is not None
    assert result.bound <= present(result.objective)
    return result


@pytest.mark.processes
def test_a_cluster_searches_like_this_machine() -> None:
    problem = problem_of(120)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster:
        with DaskPool(cluster.scheduler_address) as pool:
            assert pool.workers == 2
            check(pool)
            ran_in = where(pool)
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            client.register_plugin(Counter(), name="counter")
            there = km.solve(problem, method="search", iteration_limit=3, dask=cluster.scheduler_address)
            counted = client.run(lambda dask_worker: (os.getpid(), dask_worker.plugins["counter"].finished))
    processes, finished = zip(*counted.values(), strict=True)
    assert ran_in <= set(processes), "tasks of the pool have run elsewhere"
    assert len(set(processes) - {os.getpid()}) == 2
    assert min(finished) > 0, "a worker had nothing to do"
    here = km.solve(problem, method="search", iteration_limit=3)
    assert there.require_optimal().objective == here.require_optimal().objective


@pytest.mark.slow
def test_a_lost_worker_is_made_up_for() -> None:
    problem = problem_of(2_000)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            victim = min(client.run(os.getpid).values())
        result = solve_until(problem, cluster.scheduler_address, lambda: os.kill(victim, signal.SIGKILL))
    assert "1 of 2 workers of the Dask cluster were lost" in result.message


@pytest.mark.skipif(os.name == "nt", reason="process groups")
@pytest.mark.slow
def test_a_dead_scheduler_leaves_the_search_to_this_process(tmp_path: Path) -> None:
    script = tmp_path / "cluster.py"
    script.write_text(
        "import time\n"
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        time.sleep(600)\n"
    )
    cluster = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        result = solve_until(problem_of(2_000), address, lambda: os.killpg(cluster.pid, signal.SIGKILL))
    finally:
        if cluster.poll() is None:
            os.killpg(cluster.pid, signal.SIGKILL)
        cluster.wait()
    assert "the Dask cluster was lost; the rest was done in one process" in result.message


@pytest.mark.slow
def test_a_cluster_that_cannot_be_reached_is_one_clear_error(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "\n".join(f"{i % 3},{i % 5}" for i in range(60)) + "\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
        for address in ("tcp://127.0.0.1:1", "nonsense", f"tcp://127.0.0.1:{silent.getsockname()[1]}"):
            began = time.perf_counter()
            done = run("solve", "--data", table, "--qi", "a,b", "--k", 3, "--method", "search", "--dask", address)
            assert done.returncode == 2
            assert done.stderr == f"error: no Dask scheduler answers at {address}\n"
            assert time.perf_counter() - began < 30
