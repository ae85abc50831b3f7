"""Compiling in other processes: they say what is ready, end with the first one, and nothing depends on them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kanon_milp.methods.warm_up import PARTS, SECONDS, compile_part, longest_first, missing
from kanon_milp.system.background import Background
from kanon_milp.system.compilations import COMPILATIONS
from kanon_milp.system.limit import Limit


def test_what_is_on_disk_is_not_compiled_again() -> None:
    assert compile_part("search") >= 0
    assert compile_part("search") == 0
    assert "search" not in missing(PARTS)
    with Background(["search"]) as process:
        assert process.wait("search")
        assert process.compiled == 0
    assert not COMPILATIONS.open


def test_the_parts_that_take_longest_come_first_where_all_are_compiled() -> None:
    assert set(SECONDS) == set(PARTS)
    order = longest_first(PARTS)
    assert sorted(order) == sorted(PARTS)
    assert [SECONDS[part] for part in order] == sorted(SECONDS.values(), reverse=True)


@pytest.mark.processes
def test_a_process_that_fails_is_not_waited_for() -> None:
    with Background(["no such part"]) as process:
        assert process.wait("no such part")
        assert process.wait("nor this one")
        assert process.compiled == 0


@pytest.mark.processes
def test_a_process_that_fails_leaves_the_other_parts_to_the_next_one() -> None:
    with Background(["no such part", "bound", "search"]) as processes:
        assert all(processes.wait(part) for part in ("no such part", "bound", "search"))
    assert not COMPILATIONS.open


def test_waiting_ends_with_the_limit() -> None:
    with Background(["search"]) as process:
        asked = threading.Event()
        asked.set()
        began = time.perf_counter()
        assert not process.wait("search", Limit(interrupt=asked))
        assert time.perf_counter() - began < 1
        # what is ready does not depend on a limit
        assert process.wait("search")
        assert process.wait("search", Limit(interrupt=asked))


def test_where_the_program_is_not_python_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/server")
    with Background(["search"]) as process:
        assert not process._processes
        assert process.wait("search")


@pytest.mark.skipif(sys.platform == "win32", reason="asks for processes by number")
def test_the_process_ends_with_the_one_that_started_it() -> None:
    # on one core, too, where none would be started; and it would not end by itself while this test waits
    script = (
        "import os; from kanon_milp.system import background\n"
        "background._places = lambda: 1\n"
        "watches = background._CHILD.partition('from kanon_milp')[0]\n"
        "background._CHILD = watches + 'import time\\nwhile True:\\n    time.sleep(0.1)\\n    saved()'\n"
        "child = background.Background(['required']); print(child._processes[0].pid, flush=True); os._exit(1)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pid = int(run.stdout)
    ends = time.perf_counter() + 60
    while (left := _runs(pid)) and time.perf_counter() < ends:
        time.sleep(0.05)
    if left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.mark.processes
def test_what_it_is_at_is_kept_when_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    """Else runs that are always too short would never get beyond it, nor those that are ended by Ctrl-C, which goes to
    every process of a terminal."""
    script = (
        "from kanon_milp.system.background import Background; from kanon_milp.system.limit import Limit; import time\n"
        "with Background(['bound']) as processes:\n"
        "    print(processes.wait('bound', Limit(time.perf_counter() + 1)))\n"
        "    processes._processes[0].send_signal(2)\n"
        "print(*(process.pid for process in processes._processes), flush=True)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    ready, pid = run.stdout.split()
    assert ready == "False"
    ends = time.perf_counter() + 120
    while _runs(int(pid)):
        assert time.perf_counter() < ends
        time.sleep(0.1)
    assert list(tmp_path.rglob("*.nbi"))


@pytest.mark.processes
def test_a_time_limit_holds_where_nothing_is_compiled_yet(tmp_path: Path) -> None:
    """The compiler needs more than these limits; the table constructed first is what they end with."""
    script = """
import numpy as np, polars as pl
import kanon_milp as km
from kanon_milp.system import background
background.PROCESSES = 1  # they go on for some seconds after each limit
cells = np.random.default_rng(0).integers(8, size=(1500, 6)).astype(str)
table = km.Table.from_frame(pl.DataFrame(cells, schema=list("abcdef"), orient="row"), list("abcde"), "f")
for method, requirement in [("search", km.KAnonymity(3)), ("search", km.LDiversity(3)), ("matching", km.KAnonymity(2)),
                            ("milp", km.LDiversity(3))]:
    result = km.solve(km.Problem(table, requirement), method=method, time_limit=1)
    print(method, result.verified is True, result.bound > 0, result.bound < result.objective, result.seconds["total"])
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    lines = [line.split() for line in run.stdout.splitlines()]
    assert [line[:4] for line in lines] == [
        [method, *["True"] * 3] for method in ("search", "search", "matching", "milp")
    ]
    assert all(float(line[4]) < 1 * 1.05 + 5 for line in lines)


def _runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
            return False
    return subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode == 0
