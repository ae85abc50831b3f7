"""The notebooks of the documentation run from top to bottom, in an empty folder, and are committed without outputs."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = {"data-owner": "report.html", "researcher": "sweep.pdf", "modeller": "hospital.certificate.json"}
ENDS_AT_ITS_LIMIT = ("data-owner",)  # with a verified table that is not proven to be the best: here sooner


def test_every_notebook_is_known_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NOTEBOOKS)


@pytest.mark.parametrize(("name", "written"), NOTEBOOKS.items())
def test_a_notebook_runs(name: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.reads((FOLDER / f"{name}.ipynb").read_text("utf-8"), as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    if name in ENDS_AT_ITS_LIMIT:
        assert any("time_limit=10" in cell.source for cell in code)
        for cell in code:
            cell.source = cell.source.replace("time_limit=10", "time_limit=1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    work = tmp_path / "work"
    work.mkdir()
    # an error in a cell is raised here
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(work)}}).execute()
    assert (work / written).stat().st_size > 0
    said = [output for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    assert said == []
