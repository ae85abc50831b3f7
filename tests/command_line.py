"""The command line for tests: in this process, or in one of its own where that is what is tested."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from subprocess import CompletedProcess
from unittest.mock import patch

import pytest

from kanon_milp.cli import main


def run(*arguments: object) -> CompletedProcess[str]:
    """The command line, in this process; an error that it does not catch is raised here."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["kanon-milp", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), err.getvalue())


def run_process(*arguments: object, **environment: str) -> CompletedProcess[str]:
    """The command line in a process of its own: also what libraries print, and what is written at exit."""
    command = [sys.executable, "-m", "kanon_milp", *map(str, arguments)]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)
