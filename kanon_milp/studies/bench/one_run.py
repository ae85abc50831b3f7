"""The process of one run: `python -m kanon_milp.studies.bench.one_run PIPE`, the run as a line of JSON on its input.

What it has to say goes to the pipe (`kinds.Teller`). It ends with whoever has started it: at once where the system
can see to that, and when its standard input ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Measure, answer, leave."""
    _end_with_parent()
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    warnings.simplefilter("ignore")
    from kanon_milp.studies.bench.kinds import ANSWER, Teller

    tell = Teller(int(sys.argv[1]))
    answer = _measured(task, tell)
    tell.say(ANSWER, row=answer)
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
    main()
