"""The command line for tests: in this process, or in one of its own where that is what is tested."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

import typer
from places import ROOT

from kanon_milp.cli import command_line

# that of typer makes all commands and options anew for each run, which takes longer than many a command
_made_once = functools.cache(typer.main.get_command)


def run(*arguments: object) -> CompletedProcess[str]:
    """The command line, in this process; an error that it does not catch is raised here."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["kanon-milp", *map(str, arguments)]),
        patch.object(typer.main, "get_command", _made_once),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = command_line()
    return CompletedProcess([str(each) for each in arguments], code, out.getvalue(), err.getvalue())


def run_in(folder: Path, *arguments: object) -> CompletedProcess[str]:
    """The same in a directory."""
    with contextlib.chdir(folder):
        return run(*arguments)


def python(
    *arguments: object, folder: Path | None = None, code: int | None = 0, environment: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """Python in a process of its own, in a folder whose modules it finds, as it does ours; it ends with this code."""
    path = os.pathsep.join(str(each) for each in (folder, ROOT) if each)
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, timeout=300, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
    )  # fmt: skip
    assert code in (None, done.returncode), done.stderr
    return done


def run_process(*arguments: object, **environment: str) -> CompletedProcess[str]:
    """The command line in a process of its own: also what libraries print, and what is written at exit."""
    return python("-m", "kanon_milp", *arguments, code=None, environment=environment)


def processor_seconds(process: int) -> float:
    """What a process has computed so far, from Linux; where others compute too this says more than the clock."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def with_ctrl_c() -> Iterator[None]:
    """What begins in the block hears Ctrl-C, also where these tests run in the background of a shell, and ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
