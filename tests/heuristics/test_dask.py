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
from random import Random
from typing import Any

import polars as pl
import pytest
from census import census_problem
from command_line import run
from present import present
from test_pool import check, where

import kanon_milp as km
from kanon_milp.bounds import closure_pricing, pattern_pricing
from kanon_milp.bounds.closure_pricing import ClosurePricing
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.presolve.instance import compress_table, types_of
from kanon_milp.system.limit import NO_LIMIT
from kanon_milp.system.worker_pool import DaskPool

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
            threading.Timer(0.3, act).start()

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


def counted(folder: str, number: int) -> int:
    """Leave a trace in the folder; the first worker to be given number 2 dies of it, which this process waits for."""
    path, ends = Path(folder), time.monotonic() + 60
    here, first = str(os.getpid()) == path.name, not any(path.glob("2-*"))
    while here and time.monotonic() < ends and not any(path.glob("2-*")):
        time.sleep(0.01)
    (path / f"{number}-{time.monotonic_ns()}").touch()
    if number == 2 and first and not here:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return number * number


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_worker_that_dies_in_a_task_costs_that_task(tmp_path: Path) -> None:
    folder = tmp_path / str(os.getpid())  # by which `counted` knows this process
    folder.mkdir()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster,
        DaskPool(cluster.scheduler_address) as pool,
    ):
        assert pool.each(counted, pool.shared(str(folder)), [(n,) for n in range(12)]) == [n * n for n in range(12)]
        again = pool.each(divmod, pool.shared(17), [(n,) for n in (2, 3, 4)])  # by what is left
        assert again == [(8, 1), (5, 2), (4, 1)]
    runs = [sum(each.name.startswith(f"{n}-") for each in folder.iterdir()) for n in range(12)]
    assert runs[2] >= 2, "nobody died"
    assert min(runs) == 1
    # what this process is at when a worker is at it too is done twice, and what the lost one had in its queue may be
    assert sum(runs) <= 12 + 1 + 4


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("kind", [PatternPricing, ClosurePricing])
def test_bounds_are_the_same_to_the_last_bit_though_a_worker_is_lost(
    kind: type[PatternPricing], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pattern_pricing, closure_pricing):
        monkeypatch.setattr(module, "LONG", 0.0)
    problem = problem_of(150)
    types = types_of(problem, compress_table(problem))
    here = PricedAscent(kind(problem, types))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster,
        distributed.Client(cluster.scheduler_address, set_as_default=False) as client,
        DaskPool(cluster.scheduler_address) as pool,
    ):
        client.register_plugin(Counter(), name="counter")
        victim = min(client.run(os.getpid).values())
        there = PricedAscent(kind(problem, types, pool=pool))
        for turn in range(4):
            if turn == 2:
                done = client.run(lambda dask_worker: dask_worker.plugins["counter"].finished)
                assert max(done.values()) > 0, "workers had nothing to do"
                os.kill(victim, signal.SIGKILL)
            for ascent in (here, there):
                ascent.rise(NO_LIMIT)
            assert there.multipliers.tobytes() == here.multipliers.tobytes()
            assert there.value == here.value
            assert there.source.bound(there.best) == here.source.bound(here.best)


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_sweep_goes_on_where_a_worker_is_lost() -> None:
    problem, seen = problem_of(60), list[int]()
    expected = km.sweep(problem, k=range(2, 8), threads=1)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            victim = min(client.run(os.getpid).values())

        def lose(_: object, done: int, __: int) -> None:
            seen.append(done)
            if done == 1:
                os.kill(victim, signal.SIGKILL)

        found = km.sweep(problem, k=range(2, 8), threads=1, dask=cluster.scheduler_address, on_run=lose)
    assert seen == [1, 2, 3, 4, 5, 6], "each setting is there once"
    assert [(row.objective, row.proof) for row in found.rows] == [(row.objective, row.proof) for row in expected.rows]


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_worker_lost_while_candidates_are_priced_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure_pricing, "LONG", 0.0)
    random = Random(5)
    frame = pl.DataFrame({f"c{j}": [int(random.random() < 0.3) for _ in range(300)] for j in range(24)})
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            victim = min(client.run(os.getpid).values())
        stages = list[str]()

        def stage(name: str) -> None:
            stages.append(name)
            if stages.count("bound") == 2 and name == "bound":
                threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()

        address = cluster.scheduler_address
        result = km.solve(problem, method="search", time_limit=LIMIT, dask=address, on_stage=stage)
    assert result.verified
    assert present(result.bound) <= present(result.objective)
    assert next(phase.name for phase in result.phases) == "pricing"
    assert "1 of 2 workers of the Dask cluster were lost" in result.message


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
