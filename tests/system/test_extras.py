"""What installed packages bring: found at once, also when it comes or goes while a process runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kanon_milp.system.extras import entry_points

GROUP = "kanon_milp.nothing"


def install(folder: Path, name: str) -> Path:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:NAME\n")
    return info


def found() -> set[str]:
    return {point.name for point in entry_points(GROUP)}


def test_what_comes_and_goes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found() == set()
    other = tmp_path / "other"
    other.mkdir()
    install(other, "elsewhere")
    monkeypatch.syspath_prepend(tmp_path)
    assert found() == set()
    first = install(tmp_path, "first")
    assert found() == {"first"}
    install(tmp_path, "second")
    assert found() == found() == {"first", "second"}
    shutil.rmtree(first)
    monkeypatch.syspath_prepend(other)
    assert found() == {"second", "elsewhere"}
    monkeypatch.undo()
    assert found() == set()
