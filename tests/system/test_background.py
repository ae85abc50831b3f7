"""Compiling in a second process: it says what is ready, ends with the first one, and nothing depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kanon_milp.methods.warm_up import PARTS, compile_part, missing
from kanon_milp.system.background import Background
from kanon_milp.system.compilations import COMPILATIONS
from kanon_milp.system.limit import Limit


def test_what_is_on_disk_is_not_compiled_again() -> None:
    assert compile_part("search") >= 0
    assert compile_part("search") == 0
    assert "search" not in missing(PARTS)
    with Background(["search"]) as process:
        process.wait("search")
        assert process.compiled == 0
    assert not COMPILATIONS.open


def test_a_process_that_fails_is_not_waited_for() -> None:
    with Background(["no such part"]) as process:
        process.wait("no such part")
        process.wait("nor this one")
        assert process.compiled == 0


def test_waiting_ends_with_the_limit() -> None:
    with Background(["search"]) as process:
        asked = threading.Event()
        asked.set()
        began = time.perf_counter()
        process.wait("search", Limit(interrupt=asked))
        assert time.perf_counter() - began < 1


def test_without_a_second_core_or_python_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/server")
    with Background(["search"]) as process:
        assert process._process is None
        process.wait("search")


@pytest.mark.skipif(sys.platform == "win32", reason="asks for processes by number")
def test_the_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    script = (
        "import os; from kanon_milp.system.background import Background\n"
        "child = Background(['required']); print(child._process.pid, flush=True); os._exit(1)"
    )
    # nothing on disk: it would compile for many seconds
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    pid = int(run.stdout)
    ends = time.perf_counter() + 30
    while _runs(pid):
        assert time.perf_counter() < ends
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    state = Path(f"/proc/{pid}/stat")
    if state.parent.parent.joinpath("self").exists():
        return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"
    return subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode == 0
