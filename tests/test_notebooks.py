"""The notebooks of the documentation run from top to bottom, in an empty folder, and are committed without outputs."""

from __future__ import annotations

import atexit
import sys
import warnings
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = {"data-owner": "report.html", "researcher": "sweep.pdf", "modeller": "hospital.certificate.json"}
ENDS_AT_ITS_LIMIT = ("data-owner",)  # with a verified table that is not proven to be the best: here sooner


def test_every_notebook_is_known_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NOTEBOOKS)


def read(name: str) -> Any:
    """Of one that ends at its limit, with a sooner limit."""
    notebook = nbformat.reads((FOLDER / f"{name}.ipynb").read_text("utf-8"), as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    if name in ENDS_AT_ITS_LIMIT:
        assert any("time_limit=10" in cell.source for cell in code)
        for cell in code:
            cell.source = cell.source.replace("time_limit=10", "time_limit=1")
    return notebook


@pytest.mark.parametrize(
    ("name", "written"),
    [pytest.param(*each, marks=pytest.mark.full if each[0] == "researcher" else ()) for each in NOTEBOOKS.items()],
)
def test_the_cells_of_a_notebook_run(
    name: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By what runs them in Jupyter, in this process; all that a cell ends with is shown in all of its forms."""
    cells = [cell.source for cell in read(name).cells if cell.cell_type == "code"]
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell puts its own there
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]
    shell.display_formatter.active_types = shell.display_formatter.format_types
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # Jupyter would show it
            for cell in cells:
                shell.run_cell(cell).raise_error()
    finally:
        shell.atexit_operations()
        atexit.unregister(shell.atexit_operations)
    assert Path(written).stat().st_size > 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow  # a process each; the same cells
@pytest.mark.parametrize(("name", "written"), NOTEBOOKS.items())
def test_a_notebook_runs(name: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = read(name)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    work = tmp_path / "work"
    work.mkdir()
    # an error in a cell is raised here
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(work)}}).execute()
    assert (work / written).stat().st_size > 0
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    said = [output for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    assert said == []
