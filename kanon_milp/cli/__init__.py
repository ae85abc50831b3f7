"""The command line: it reads options, calls the package and prints; no logic of its own.

`app` has the commands. This file imports next to nothing, so that signals are heard from the first moment on.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, TextIO

from kanon_milp.cli.exit_codes import BAD_INPUT, INTERRUPTED, NO_TABLE, Interrupted, signals

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


NO_MEMORY = (
    "error: there is not enough memory for this; give a sample of the rows, fewer quasi-identifiers or a pattern mask\n"
)


def command_line() -> int:
    """Do what the arguments say; one clear line for an error, and the exit code that says what happened."""
    from kanon_milp.cli.app import app, warnings_as_lines
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
        sys.stderr.write(f"error: {_with_option(str(error), sys.argv)}\n")
        return BAD_INPUT
    except SolverError as error:
        sys.stderr.write(f"error: {error}\n")
        return NO_TABLE
    except MemoryError:
        sys.stderr.write(NO_MEMORY)
        return BAD_INPUT
    except Interrupted as error:
        sys.stderr.write(str(error) or INTERRUPTED)
        return NO_TABLE
    return 0


def _with_option(message: str, arguments: Sequence[str]) -> str:
    """A message that begins with an argument of Python, such as max_groups, with the option in its place that was given
    for it."""
    found = re.match(r"[a-z]\w*(?=:| must | of )", message)
    if found is None:
        return message
    option = f"--{found[0].replace('_', '-')}"
    given = {each.partition("=")[0] for each in arguments}
    named = next((each for each in (option, option.removesuffix("s")) if each in given), None)
    return message if named is None else f"{named}{message[found.end() :]}"


class _Tolerant(io.BufferedIOBase):
    """Standard output that remembers a fault instead of raising it.

    That nobody reads on, or that a disk is full, changes nothing about a table that is written.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._buffer = stream, stream.buffer  # a stream that nobody holds is closed
        self.fault: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._buffer.fileno()

    def isatty(self) -> bool:
        return self._buffer.isatty()

    def write(self, data: ReadableBuffer) -> int:
        if self.fault is None:
            self._try(lambda: self._buffer.write(data))
        return memoryview(data).nbytes

    def flush(self) -> None:
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
