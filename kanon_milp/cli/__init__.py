"""The command line: it reads options, calls the package and prints; no logic of its own.

`app` has the commands. This file imports next to nothing, so that signals are heard from the first moment on.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Literal, NoReturn, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

BAD_INPUT, NO_TABLE = 2, 5
INTERRUPTED = "interrupted before there was a result\n"


class _Signals:
    """What Ctrl-C and SIGTERM do as long as no command has taken them over, as `solve` does.

    leave: end the process where it stands. So it is while modules are imported: nothing has begun that has to be put
    away, and an exception may be lost there or break a compiled library. raise: the first signal is a
    KeyboardInterrupt; another one, in case the first was lost, ends the process. ignore: the command has done its work.
    """

    answer: Literal["leave", "raise", "ignore"] = "leave"

    def install(self) -> None:
        """Listen. Where Ctrl-C is ignored, as in a background process of a shell script, it still is."""
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self.end)
        signal.signal(signal.SIGTERM, self.forward)

    def end(self, _number: int, _frame: FrameType | None) -> None:
        """Somebody wants it to end."""
        if self.answer == "raise":
            self.answer = "leave"
            raise KeyboardInterrupt
        if self.answer == "leave":
            os.write(2, INTERRUPTED.encode())
            os._exit(NO_TABLE)

    def forward(self, _number: int, frame: FrameType | None) -> None:
        """SIGTERM does what Ctrl-C does now: where a table is being made, the best one is kept, verified, written."""
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else self.end)(signal.SIGINT, frame)


signals = _Signals()


def command_line() -> int:
    """Do what the arguments say; one clear line for an error, and the exit code that says what happened."""
    from kanon_milp.cli.app import app
    from kanon_milp.cli.warned import warnings_as_lines
    from kanon_milp.errors import InputError, SolverError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is no reason to fail
            stream.reconfigure(errors="backslashreplace")

    try:
        with warnings_as_lines():
            app()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT
    except SolverError as error:
        sys.stderr.write(f"error: {error}\n")
        return NO_TABLE
    except Interrupted as error:
        sys.stderr.write(str(error) or INTERRUPTED)
        return NO_TABLE
    return 0


class Interrupted(BaseException):
    """A command was interrupted; typer would make an exit code of its own of a KeyboardInterrupt."""


class _Tolerant(io.BufferedIOBase):
    """Standard output that remembers a fault instead of raising it.

    That nobody reads on, or that a disk is full, changes nothing about a table that is written.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._buffer = stream, stream.buffer  # a stream that nobody holds is closed
        self.fault: OSError | None = None

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The number of what is written to."""
        return self._buffer.fileno()

    def isatty(self) -> bool:
        """Whether a person reads."""
        return self._buffer.isatty()

    def write(self, data: ReadableBuffer) -> int:
        """Write as long as it goes."""
        if self.fault is None:
            self._try(lambda: self._buffer.write(data))
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Flush as long as it goes."""
        if self.fault is None:
            self._try(self._buffer.flush)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            self.fault = error


def main() -> NoReturn:
    """Entry point. It leaves without what Python does at its end: a solver that was left behind may be at work in a
    thread, and would bring the process down, and a signal would be taken for one that kills."""
    signals.install()
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (closed by whoever began the process)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    output = _Tolerant(sys.stdout)
    sys.stdout = io.TextIOWrapper(output, encoding=sys.stdout.encoding, line_buffering=output.isatty())
    code = command_line()
    sys.stdout.flush()
    if output.fault is not None and not isinstance(output.fault, BrokenPipeError):  # else whoever reads has enough
        what = output.fault.strerror or output.fault
        sys.stderr.write(
            f"error: the standard output cannot be written ({what}); all files that were asked for are there\n"
        )
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    finalizers = sys.modules.get("multiprocessing.util")
    if finalizers is not None:  # semaphores of processes that were ended
        with contextlib.suppress(Exception):
            finalizers._run_finalizers()
    os._exit(code)
