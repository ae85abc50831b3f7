"""Compiling inner loops in a second process, which keeps them on disk: the compiler works on one function at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from kanon_milp.system.limit import Limit

# it has the search path of this process, and ends with it: nothing is ever written to its input
_CHILD = """
import os, sys, threading
parts, sys.path = sys.argv[1].split(), sys.argv[2:]
def watch():
    sys.stdin.buffer.read()
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
from kanon_milp.methods.warm_up import compile_part
for part in parts:
    print(part, compile_part(part), flush=True)
"""


class Background:
    """A process that compiles some parts (`kanon_milp.methods.warm_up.PARTS`) one after the other.

    Where none can be started, or it fails, nothing is lost: what is not on disk is compiled where it is used. It ends
    with the `with` block, and with this process, however that ends.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self._ready = {part: threading.Event() for part in parts}
        self._process: subprocess.Popen[str] | None = None
        self.compiled = 0
        if parts and _has_room():
            with suppress(OSError):
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CHILD, " ".join(parts), *sys.path],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Note what is ready, and at its end that no more is to be waited for."""
        if self._process is not None and self._process.stdout is not None:
            with suppress(OSError, ValueError):
                for line in self._process.stdout:
                    part, number = line.split()
                    self.compiled += int(number)
                    self._ready[part].set()
        for event in self._ready.values():
            event.set()

    def wait(self, part: str, limit: Limit | None = None) -> None:
        """Until this part is on disk, or will not be, or the limit is over."""
        ready = self._ready.get(part)
        if ready is None or ready.is_set():
            return
        from kanon_milp.system.jit import waiting  # imports the compiler

        with waiting():
            while not ready.wait(0.1) and not (limit is not None and limit.over):
                pass

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def __enter__(self) -> Background:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _has_room() -> bool:
    """Whether there is a second core, and the program that runs this is Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    python = bool(sys.executable) and "python" in Path(sys.executable).name.lower()
    return cores > 1 and python and not getattr(sys, "frozen", False)
