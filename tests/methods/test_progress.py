"""The live line, on a terminal and in a notebook, and that it is gone at the end."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import kanon_milp as km
from kanon_milp.methods import progress
from kanon_milp.methods.progress import Line
from kanon_milp.solvers import Progress

FRAME = pl.DataFrame({"age": ["1", "2", "2", "3", "4", "4"], "sex": list("fmmffm")})
PROBLEM = km.Problem(km.Table.from_frame(FRAME, ["age", "sex"]), km.KAnonymity(2))


class Shown:
    """The display of IPython, which keeps what it is given."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []

    def display(self, data: dict[str, str], **options: Any) -> Shown:
        assert options == {"raw": True, "display_id": True}
        self.seen.append(data)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.seen.append(data)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown, module = Shown(), ModuleType("IPython.display")
    module.display = shown.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(progress, "Console", lambda **options: Console(force_jupyter=True, **options))
    monkeypatch.setattr(progress, "A_SECOND", 200)
    return shown


def test_the_line_says_what_is_known() -> None:
    line = Line("highs")
    line.stage("solve")
    line.progress(Progress(1.0, 1250.0, 1000.0))
    assert line.__rich__().plain.endswith(" s  solving (highs)  incumbent 1,250  bound 1,000  gap 20.00 %")


def test_a_notebook_has_a_line_that_is_gone_at_the_end(notebook: Shown) -> None:
    stages: list[str] = []
    result = km.solve(PROBLEM, progress=True, on_stage=stages.append)
    assert result.is_optimal
    assert "verify" in stages
    assert " s  " in notebook.seen[0]["text/plain"]
    assert notebook.seen[0]["text/html"].startswith("<pre")
    assert notebook.seen[-1] == {"text/plain": "", "text/html": ""}


def test_models_and_sweeps_have_one_too(notebook: Shown) -> None:
    assert km.solve_model(PROBLEM, km.build_model(PROBLEM), progress=True).is_optimal
    assert len(notebook.seen) >= 2
    notebook.seen.clear()
    asked: list[str] = []
    km.sweep(PROBLEM, k=[2, 3], progress=True, on_run=lambda *_: asked.append(notebook.seen[-1]["text/plain"]))
    assert len(asked) == 2
    assert notebook.seen[-1]["text/plain"] == ""


def test_an_error_ends_the_line(notebook: Shown) -> None:
    with pytest.raises(ZeroDivisionError), progress.live(True):
        raise ZeroDivisionError
    assert notebook.seen[-1]["text/plain"] == ""


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert km.solve(PROBLEM, progress=True).is_optimal
    assert capsys.readouterr() == ("", "")
    with progress.live(True) as line:
        assert line is None


def test_progress_is_true_or_false() -> None:
    with pytest.raises(km.InputError, match="progress"):
        km.solve(PROBLEM, progress=lambda *_: None)  # type: ignore[arg-type]
