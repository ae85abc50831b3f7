"""One process a run, started and watched from outside: whatever happens to it becomes a row."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from kanon_milp import __version__
from kanon_milp.errors import InputError
from kanon_milp.studies.bench.kinds import ANSWER, BEGAN, DONE, ENDED, POINT, READY


@functools.cache
def machine() -> dict[str, Any]:
    """The columns of a row about the machine and its software."""
    return {
        "package_version": __version__,
        "git": _git(),
        "python": platform.python_version(),
        "os": f"{platform.system()} {platform.release()}",
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "memory": psutil.virtual_memory().total,
        "host": socket.gethostname(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git() -> str | None:
    """The commit that the package is of, with + behind it where files differ; None where it is in no repository."""
    folder = Path(__file__).resolve().parents[3]
    try:
        head = _said(folder, "rev-parse", "--short=12", "HEAD")
        changed = _said(folder, "status", "--porcelain", "--untracked-files=no", "--", "kanon_milp")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}{'+' if changed else ''}"


def _said(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def session_bytes(session: int) -> int:
    """Resident bytes of all processes of a session together; shared pages count in each of them. 0 where there are
    none any more."""
    total = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # it has ended
            if os.getsid(process.pid) == session:
                total += process.memory_info().rss
    return total


START_SECONDS = 600.0  # to read the input, before the clock of the run starts
CHECK_SECONDS = 900.0  # to check the answer, after it has ended
POLL = 0.05  # seconds between two looks at memory and clock
END_SECONDS = 5.0  # between the answer and the end of the process
MOST_POINTS = 2000  # of a trajectory; of more, every second one is left out

_lock = threading.Lock()
_running: dict[int, str] = {}  # process → token of the study that it belongs to
_stopped: set[str] = set()


class StoppedError(Exception):
    """The study was stopped, so that there is no row."""


@dataclass
class _Watch:
    """What is seen of a process. held, peak: bytes, just now and at most since it was ready. process: its number, 0
    before it is known. code, usage: once it has ended, its exit code and its processor seconds."""

    process: int = 0
    code: int | None = None
    usage: float = 0.0
    began: float = field(default_factory=time.monotonic)
    ready: float | None = None
    done: float | None = None
    answer: dict[str, Any] | None = None
    points: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    held: int = 0
    peak: int = 0

    def hear(self, line: bytes) -> None:
        """One line that it says, at the time when it is heard."""
        now = time.monotonic()
        try:
            said = json.loads(line)
        except ValueError:  # the process was killed within a line
            return
        what = said.get("what")
        if what == READY:
            self.ready, self.peak = now, self.held
        elif what == DONE:
            self.done = now
        elif what == POINT and self.ready is not None:
            self._add((now - self.ready, said["incumbent"], said["bound"]))
        elif what == ANSWER:
            self.answer = said["row"]
        elif what == BEGAN:
            self.process = said["process"]
        elif what == ENDED:
            self.code, self.usage = said["code"], said["seconds"]

    def _add(self, point: tuple[float, float | None, float | None]) -> None:
        if self.points and self.points[-1][1:] == point[1:]:
            return
        self.points.append(point)
        if len(self.points) > MOST_POINTS:
            del self.points[1:-1:2]

    def seconds(self) -> float:
        """From the moment when the input was read to the end of what is measured."""
        start = self.began if self.ready is None else self.ready
        return (time.monotonic() if self.done is None else self.done) - start

    def late(self, task: Mapping[str, Any]) -> str:
        """Why it has to be killed now, in words; empty while it need not be."""
        now = time.monotonic()
        limit = task["time_limit"] + task["grace"]
        if self.ready is None:
            return f"not ready to start after {START_SECONDS:g} s" if now - self.began > START_SECONDS else ""
        if self.done is None:
            over = now - self.ready > limit
            return f"killed {task['grace']:g} s after its time limit of {task['time_limit']:g} s" if over else ""
        return f"its answer was not checked within {CHECK_SECONDS:g} s" if now - self.done > CHECK_SECONDS else ""


def supervise(task: Mapping[str, Any], token: str = "") -> dict[str, Any]:
    """Start the process of a run, watch it to its end, and return its row.

    task: `plan.Run.as_dict()`. token: of the study, for `stop`. A process that exceeds its time or memory limit is
    killed with all that it has started. Raises StoppedError where the study is stopped.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    watch = _Watch()
    ended, message, code, usage = _watched(task, token, watch)
    row: dict[str, Any] = {
        **row_of(task),
        "ended": ended,
        **(watch.answer or {}),
        "exit_code": code,
        "seconds": watch.seconds(),
        "cpu_seconds": usage,
        "peak_bytes": watch.peak,
        "trajectory": [{"seconds": s, "incumbent": a, "bound": b} for s, a, b in watch.points],
        "started": started,
    }
    row["message"] = message or row.get("message", "")
    return row


COPIED = ("run", "study", "instance", "family", "formulation", "method", "solver", "threads", "seed", "permutation",
          "time_limit", "memory_limit", "known", "repeat")  # fmt: skip


def row_of(task: Mapping[str, Any]) -> dict[str, Any]:
    """What the row of a run says before the run has said anything."""
    return {
        **{key: task[key] for key in COPIED},
        "options": json.dumps({**task["options"], **task.get("program", {})}, sort_keys=True),
        "stop_reason": "error",
        "proof": "none",
        "defects": [],
        "trajectory": [],
        **machine(),
    }


def is_stopped(token: str) -> bool:
    """Whether the study was stopped on this host."""
    return token in _stopped


def stop(token: str) -> None:
    """Kill all processes of a study on this host, and start no more."""
    with _lock:
        _stopped.add(token)
        processes = [process for process, owner in _running.items() if owner == token]
    for process in processes:
        _kill(process)


def _watched(task: Mapping[str, Any], token: str, watch: _Watch) -> tuple[str, str, int | None, float]:
    """How it ended, in one word and in a sentence, its exit code and its processor seconds."""
    hear, say = os.pipe()
    given, give = os.pipe()
    os.set_blocking(hear, False)
    try:
        try:
            _ask(task, token, given, say)
        finally:
            os.close(given)
            os.close(say)
        with contextlib.suppress(OSError), open(give, "wb", closefd=False) as line:
            line.write(json.dumps(dict(task)).encode() + b"\n")
        killed = _to_the_end(task, token, hear, watch)
    finally:
        with _lock:
            _running.pop(watch.process, None)
        os.close(give)
        os.close(hear)
    if token in _stopped:
        raise StoppedError
    seconds, code = watch.usage, watch.code
    if killed:
        kind, _, why = killed.partition(":")
        return kind, why, code, seconds
    if watch.answer is not None:
        return str(watch.answer.get("ended", "finished")), "", code, seconds
    if code is None:
        return "crashed", "its end was not seen", None, 0.0
    if code < 0:
        return "crashed", f"ended by {signal.Signals(-code).name}", code, seconds
    return "crashed", f"ended with exit code {code} and no answer", code, seconds


def check_system() -> None:
    """Raise InputError where runs cannot be watched from outside: on Windows, and by Python before 3.13 on macOS."""
    if not hasattr(os, "waitid"):
        raise InputError("studies run on Linux, and on macOS with Python 3.13 or later; `kanon-milp solve` runs here")


@dataclass(frozen=True, eq=False)
class _Nursery:
    """A process that has loaded what runs need, and copies itself for each (`one_run`)."""

    process: subprocess.Popen[bytes]
    control: socket.socket

    @classmethod
    def started(cls, environment: Mapping[str, str]) -> _Nursery:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "kanon_milp.studies.bench.one_run", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=dict(environment),
                start_new_session=True,
            )
        return cls(process, ours)


_nurseries: dict[tuple[Any, ...], _Nursery] = {}  # by environment and working folder


def _ask(task: Mapping[str, Any], token: str, given: int, pipe: int) -> None:
    """Have a run started that reads from one pipe and writes to the other."""
    threads = str(task["threads"])
    pools = ("OMP", "OPENBLAS", "MKL", "RAYON", "POLARS_MAX", "NUMEXPR")
    names = [f"{name}_THREADS" if name == "POLARS_MAX" else f"{name}_NUM_THREADS" for name in pools]
    environment = {**os.environ, **dict.fromkeys(names, threads), "PYTHONHASHSEED": "0"}
    with _lock:  # between this and `stop` nothing starts
        if token in _stopped:
            raise StoppedError
        key = (*sorted(environment.items()), os.getcwd())
        if key not in _nurseries or _nurseries[key].process.poll() is not None:
            _nurseries[key] = _Nursery.started(environment)
        socket.send_fds(_nurseries[key].control, [b"."], [given, pipe])


def _to_the_end(task: Mapping[str, Any], token: str, hear: int, watch: _Watch) -> str:
    """Wait until the process has ended; why it was killed, as "kind:why", empty if it was not."""
    rest, limit, killed, answered = b"", task["memory_limit"], "", math.inf
    while True:
        if select.select([hear], [], [], POLL)[0]:
            chunk = b""
            with contextlib.suppress(BlockingIOError):
                while piece := os.read(hear, 1 << 16):
                    chunk += piece
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                watch.hear(line)
            if not chunk:  # nobody is there any more who could say anything
                return killed
        if watch.code is not None:
            return killed
        with _lock:
            if watch.process:
                _running[watch.process] = token
            if token in _stopped:
                killed = "stopped:"
        now = time.monotonic()
        if watch.answer is not None:
            answered = min(answered, now)  # it ends by itself
        elif not killed:
            used = watch.held = session_bytes(watch.process) if watch.process else 0
            watch.peak = max(watch.peak, used)
            if limit is not None and used > limit and watch.done is None:
                killed = f"memory:killed at {used / 1e6:,.0f} MB, its memory limit is {limit / 1e6:,.0f} MB"
            elif why := watch.late(task):
                killed = f"time:{why}"
        if watch.process and (killed or now > answered + END_SECONDS):
            _kill(watch.process)


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
