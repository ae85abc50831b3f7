"""The live line: seconds, step, incumbent, bound and gap, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from rich.console import Console
from rich.live import Live
from rich.text import Text

from kanon_milp.errors import gap_in_words, printable
from kanon_milp.problem.arguments import instance_of
from kanon_milp.solvers.call import OnProgress, Progress
from kanon_milp.system.clock import OnStage
from kanon_milp.system.markup import preformatted
from kanon_milp.system.text_tables import amount

STAGES = {
    "compress": "compressing rows",
    "candidates": "enumerating candidates",
    "reduce": "reducing",
    "bound": "bounding",
    "search": "searching",
    "build": "building the model",
    "handover": "handing the model over",
    "solve": "solving",
    "assign": "assigning rows",
    "verify": "verifying",
}
A_SECOND = 4  # looks of the line in a second

Told = TypeVar("Told")


class Line:
    """What is going on, in one line. solver: name of the one that solves."""

    def __init__(self, solver: str = "") -> None:
        self._solver, self._began = solver, time.perf_counter()
        self._step, self._point = "", Progress(0.0, None, None)

    def stage(self, name: str) -> None:
        """A new step begins: a key of `STAGES`, or words."""
        self._step = STAGES.get(name, name)

    def progress(self, point: Progress) -> None:
        """The solver knows more."""
        self._point = point

    def __rich__(self) -> Text:
        text = Text(f"{time.perf_counter() - self._began:7.1f} s  ", style="cyan")
        text.append(printable(self._doing()))
        incumbent, bound = self._point.incumbent, self._point.bound
        if incumbent is not None:
            text.append(f"  incumbent {amount(incumbent)}", style="green")
        if bound is not None:
            text.append(f"  bound {amount(bound)}", style="yellow")
        if incumbent and bound is not None:
            text.append(f"  gap {gap_in_words(abs(incumbent - bound) / abs(incumbent))}")
        return text

    def _doing(self) -> str:
        return f"{self._step} ({self._solver})" if self._step == STAGES["solve"] else self._step


@contextmanager
def live(progress: bool, solver: str = "") -> Iterator[Line | None]:
    """Show a line while the block runs: on standard error where that is a terminal, or below the cell of a notebook.

    None where there is neither, or no progress is asked for. The line is gone at the end. Raises InputError where
    progress is neither True nor False.
    """
    instance_of(progress, bool, "progress", "True or False")
    console = Console(stderr=True) if progress else None
    if console is None or not (console.is_jupyter or sys.stderr.isatty()):
        yield None
        return
    line = Line(solver)
    terminal = Live(line, console=console, refresh_per_second=A_SECOND, transient=True)
    with _in_notebook(line) if console.is_jupyter else terminal:
        yield line


@contextmanager
def _in_notebook(line: Line) -> Iterator[None]:
    """As an output that is shown anew, with what IPython has; rich itself would ask for widgets."""
    handle: Any = import_module("IPython.display").display(_shown(line), raw=True, display_id=True)
    ended = threading.Event()

    def refresh() -> None:
        while not ended.wait(1 / A_SECOND):
            handle.update(_shown(line), raw=True)

    thread = threading.Thread(target=refresh, name="kanon_milp progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _shown(line: Line) -> dict[str, str]:
    text = line.__rich__().plain
    return {"text/plain": text, "text/html": preformatted(text)}


def telling(
    line: Line | None, on_stage: OnStage | None, on_progress: OnProgress | None
) -> tuple[OnStage | None, OnProgress | None]:
    """The functions that a caller has given, and the line, if there is one, is told as well."""
    if line is None:
        return on_stage, on_progress
    return _both(line.stage, on_stage), _both(line.progress, on_progress)


def _both(shown: Callable[[Told], None], given: Callable[[Told], None] | None) -> Callable[[Told], None]:
    def tell(what: Told) -> None:
        shown(what)
        if given is not None:
            given(what)

    return tell
