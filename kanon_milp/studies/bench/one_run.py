"""The process of one run, as a copy of one that has loaded all that runs need: loading it takes a second.

`python -m kanon_milp.studies.bench.one_run SOCKET` waits for runs. Each comes as two pipes: the run as a line of JSON
on what becomes its standard input, and where it has to say something (`kinds.Teller`). A run ends with whoever asks for
it: at once where the system can see to that, and when its standard input ends. A process between the two waits for the
run, and says when it has ended and what it took.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1


def serve(control: socket.socket) -> None:
    """Have every run that is asked for measured by a copy of this process; end when nobody can ask any more."""
    if sys.platform == "linux":  # elsewhere what was loaded may not work in a copy
        _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        asked, pipes, _, _ = socket.recv_fds(control, 1, 2)
        if not asked:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            _watch(*pipes)
        for pipe in pipes:
            os.close(pipe)


def _load() -> None:
    import kanon_milp.system.modeling  # noqa: F401  # before anything that needs SciPy
    from kanon_milp.studies.bench.kinds import KINDS

    for module in sorted({kind.run.partition(".")[0] for kind in KINDS.values()}):
        importlib.import_module(f"kanon_milp.studies.bench.kinds.{module}")
    for module in ("highspy", "pyomo.core"):
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # the copies share what is not touched


def _watch(given: int, pipe: int) -> None:
    """Start a run, wait for it, end with what it has started, and say how it ended."""
    from kanon_milp.studies.bench.kinds import BEGAN, ENDED, Teller

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _end_with_parent()
    run = os.fork()
    if run == 0:
        os.setsid()
        os.dup2(given, 0)
        os.close(given)
        _run(pipe)
    os.close(given)
    tell = Teller(pipe)
    tell.say(BEGAN, process=run)
    os.waitid(os.P_PID, run, os.WEXITED | os.WNOWAIT)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # while its number is still its own
        os.killpg(run, signal.SIGKILL)
    _, status, usage = os.wait4(run, 0)
    tell.say(ENDED, code=os.waitstatus_to_exitcode(status), seconds=usage.ru_utime + usage.ru_stime)
    os._exit(0)


def _run(pipe: int) -> None:
    """Measure, answer, leave."""
    try:
        _end_with_parent()
        with open(0, closefd=False) as given:
            task = json.loads(given.readline())
        threading.Thread(target=_end_with_input, daemon=True).start()
        warnings.simplefilter("ignore")
        from kanon_milp.studies.bench.kinds import ANSWER, Teller

        tell = Teller(pipe)
        answer = _measured(task, tell)
        tell.say(ANSWER, row=answer)
    except BaseException:
        os._exit(1)
    os._exit(0)  # a solver that was left behind may be at work in a thread


def _measured(task: dict[str, Any], tell: Any) -> dict[str, Any]:
    """The columns that the run itself knows; of an error its kind and, where it is one of ours, what it says."""
    import kanon_milp.system.modeling  # noqa: F401  # before anything that needs SciPy
    from kanon_milp.errors import KanonError, UnusablePointError
    from kanon_milp.studies.bench.kinds import KINDS
    from kanon_milp.studies.bench.study import load_plugin

    try:
        for plugin in task["plugins"]:
            load_plugin(Path(plugin))
        module, _, name = KINDS[task["kind"]].run.partition(".")
        run = getattr(importlib.import_module(f"kanon_milp.studies.bench.kinds.{module}"), name)
        row: dict[str, Any] = run(task, tell).as_row()
    except UnusablePointError as error:  # the answer is wrong: a red row
        said = str(error)
        return {"ended": "finished", "stop_reason": "error", "proof": "none", "message": said,
                "defects": [f"model: {said}"]}  # fmt: skip
    except KanonError as error:
        return {"ended": "error", "message": str(error), "stop_reason": "error", "proof": "none"}
    except MemoryError:
        return {"ended": "memory", "message": "out of memory", "stop_reason": "error", "proof": "none"}
    except Exception as error:  # its text may hold a cell of a table
        place, line = error.__traceback__, 0
        while place is not None:
            line, file = place.tb_lineno, Path(place.tb_frame.f_code.co_filename).name
            place = place.tb_next
        said = f"{type(error).__name__} in line {line} of {file}"
        return {"ended": "error", "message": said, "stop_reason": "error", "proof": "none"}
    return {"ended": "finished", **row}


def _end_with_parent() -> None:
    """Have Linux kill this process when the one that started it dies, also where that was just now."""
    if sys.platform == "linux":
        parent = os.getppid()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _end_with_input() -> None:
    """Nobody holds the other end any more: end this process and all that it has started."""
    with contextlib.suppress(OSError, ValueError):
        while os.read(0, 4096):
            pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
