"""What a process must be to use the package: not forked after threads began, and guarded if it begins others; and how
much memory it may still take."""

from __future__ import annotations

import ast
import multiprocessing
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TypeGuard

import psutil

from kanon_milp.errors import InputError

FORKED = (
    "this process was forked from one that had used kanon_milp already, and the threads of data frames and solvers do "
    'not survive that; begin processes by multiprocessing.get_context("spawn") (or "forkserver")'
)
UNGUARDED = (
    "threads above 1 begin processes that import this script again; put what it does below "
    '`if __name__ == "__main__":`, or use threads=1'
)
FROM_INPUT = (
    "threads above 1 begin processes that import this script again, and one that is read from the input cannot be; "
    "write it into a file, or use threads=1"
)
CONTROL_GROUP = Path("/sys/fs/cgroup")
_state = {"threads": False, "lost": False}


def begin_threads() -> None:
    """Called by whatever makes use of threads. Raises InputError in a process that would wait for lost ones for
    ever."""
    if _state["lost"]:
        raise InputError(FORKED)
    _state["threads"] = True


def _after_fork() -> None:
    _state["lost"] = _state["threads"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def refuse_unguarded_script() -> None:
    """Raise InputError in a script whose processes would all begin by running it from the top, or could not."""
    if _is_read_from_input():
        raise InputError(FROM_INPUT)
    if getattr(multiprocessing.current_process(), "_inheriting", False) or _runs_unguarded():
        raise InputError(UNGUARDED)


def _is_read_from_input() -> bool:
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return file is not None and str(file).startswith("<")  # "<stdin>", which nobody can read again


def _runs_unguarded() -> bool:
    """Whether nothing up to the statement of the main script that is being run asks for its `__name__`."""
    main = sys.modules.get("__main__")
    file, line = getattr(main, "__file__", None), None
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals is vars(main):
            line = frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    if file is None or line is None:
        return False
    try:
        script = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):  # compiled, or gone
        return False
    return not any(_asks_for_name(node) and node.lineno <= line for node in ast.walk(script))


def _asks_for_name(node: ast.AST) -> TypeGuard[ast.Compare | ast.If | ast.Match]:
    """Whether it compares `__name__`, or something with "__main__"; to use the name otherwise is no question."""
    asked: ast.AST | None = None
    if isinstance(node, ast.Compare):
        asked = node
    elif isinstance(node, ast.If):
        asked = node.test
    elif isinstance(node, ast.Match):
        asked = node.subject
    return asked is not None and any(
        (isinstance(each, ast.Name) and each.id == "__name__")
        or (isinstance(each, ast.Constant) and each.value == "__main__")
        for each in ast.walk(asked)
    )


def available_bytes() -> int | None:
    """Memory that is free for this process: of the machine, and within the limits that were set for it by `ulimit -v`
    and by a container. None where the system does not say."""
    free = []
    with suppress(OSError, psutil.Error):
        free.append(psutil.virtual_memory().available)
    with suppress(OSError, psutil.Error, AttributeError):  # systems without such a limit
        most, _ = psutil.Process().rlimit(psutil.RLIMIT_AS)
        if most != psutil.RLIM_INFINITY:
            free.append(most - psutil.Process().memory_info().vms)
    with suppress(OSError, ValueError):  # "max", where there is no limit
        most = int((CONTROL_GROUP / "memory.max").read_text())
        free.append(most - int((CONTROL_GROUP / "memory.current").read_text()))
    return max(min(free), 0) if free else None
