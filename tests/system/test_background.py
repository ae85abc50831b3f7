"""Compiling in a second process: it says what is ready, ends with the first one, and nothing depends on it."""

from __future__ import annotations

import os
import signal
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
def test_the_process_ends_with_the_one_that_started_it() -> None:
    # on one core, too, where none would be started; and it would not end by itself while this test waits
    script = (
        "import os; from kanon_milp.system import background\n"
        "background._has_room = lambda: True\n"
        "watches = background._CHILD.partition('from kanon_milp')[0]\n"
        "background._CHILD = watches + 'import time; time.sleep(600)'\n"
        "child = background.Background(['required']); print(child._process.pid, flush=True); os._exit(1)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pid = int(run.stdout)
    ends = time.perf_counter() + 60
    while (left := _runs(pid)) and time.perf_counter() < ends:
        time.sleep(0.05)
    if left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def _runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
            return False
    return subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode == 0
