"""Compiling inner loops in other processes, which keep them on disk: no time limit can end the compiler in this one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from kanon_milp.system.limit import NO_LIMIT, Limit

PROCESSES = 2  # the compiler works on one function at a time

# it has the search path of this process, and is told one part after the other; once its input ends it does so as well,
# but for the function that it is at: a run that is always too short for that would never get beyond it
_CHILD = """
import os, queue, signal, sys, threading
for name in {"SIGINT", "SIGHUP"} & set(dir(signal)):  # of the terminal, which are for the run
    signal.signal(getattr(signal, name), signal.SIG_IGN)
sys.path = sys.argv[1:]
asked, ending = queue.SimpleQueue(), threading.Event()
def read():
    for line in sys.stdin:
        asked.put(line.strip())
    ending.set()
    asked.put(None)
def saved():
    if ending.is_set():
        os._exit(0)
threading.Thread(target=read, daemon=True).start()
from kanon_milp.methods.warm_up import compile_part
from kanon_milp.system.jit import AFTER_SAVING
AFTER_SAVING.append(saved)
while (part := asked.get()) is not None:
    print(compile_part(part), flush=True)
"""


class Background:
    """Processes that compile parts (`kanon_milp.methods.warm_up.PARTS`) in the order in which they will be needed.

    Where none can be started, or one fails, nothing is lost: what is not on disk is compiled where it is used. After
    the `with` block, and after this process, however that ends, they go on until the function that they are at is on
    disk, which takes some seconds. compiled: how many functions they have compiled.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self._ready = {part: threading.Event() for part in parts}
        self._to_do = deque(parts)
        self._lock = threading.Lock()
        self.compiled = 0
        self._processes = [each for _ in range(min(len(parts), _places())) if (each := _started()) is not None]
        self._serving = len(self._processes)
        self._threads = [threading.Thread(target=self._serve, args=[each], daemon=True) for each in self._processes]
        for thread in self._threads:
            thread.start()
        if not self._processes:
            self._give_up()

    def _serve(self, process: subprocess.Popen[str]) -> None:
        """Have one part after the other compiled by this process, and note what is ready."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, ValueError), process, suppress(IndexError):
            line = "0"
            while line:  # until it has ended
                part, line = self._to_do.popleft(), ""
                with suppress(OSError, ValueError):
                    process.stdin.write(f"{part}\n")
                    process.stdin.flush()
                    line = process.stdout.readline()
                with self._lock:
                    self.compiled += int(line or 0)
                self._ready[part].set()
        with self._lock:
            self._serving -= 1
            last = not self._serving
        if last:
            self._give_up()

    def _give_up(self) -> None:
        """Nothing more is to be waited for."""
        for event in self._ready.values():
            event.set()

    def wait(self, part: str, limit: Limit = NO_LIMIT) -> bool:
        """Whether this part is on disk, or has to be compiled here, after a wait; False where the limit ends that."""
        ready = self._ready.get(part)
        if ready is None or ready.is_set():
            return True
        from kanon_milp.system.jit import waiting  # imports the compiler

        with waiting():
            while not ready.wait(0.1):
                if limit.over:
                    return False
        return True

    def close(self) -> None:
        """Ask for nothing more."""
        self._to_do.clear()
        for process in self._processes:
            with suppress(OSError, ValueError):
                if process.stdin is not None:
                    process.stdin.close()

    def __enter__(self) -> Background:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _started() -> subprocess.Popen[str] | None:
    with suppress(OSError):
        return subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    return None


def _places() -> int:
    """How many processes there is room for; none where the program that runs this is not Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    python = bool(sys.executable) and "python" in Path(sys.executable).name.lower()
    return min(cores, PROCESSES) if python and not getattr(sys, "frozen", False) else 0
