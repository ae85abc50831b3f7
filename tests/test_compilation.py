"""The build hook: which compiler it takes, and how that is called. CI builds the wheel, also without a compiler."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

pytest.importorskip("hatchling")  # is there where packages are built


def loaded() -> Any:
    """The hook as hatchling loads it: not among the modules that Python knows."""
    found = importlib.util.spec_from_file_location("build_hook", ROOT / "hatch_build.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH, and nothing that names a compiler."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("KANON_MILP_COMPILE", raising=False)
    return tmp_path


def hook() -> Any:
    made = loaded()
    return made.Kernels(str(ROOT), {}, None, None, str(ROOT), "wheel")


@pytest.mark.skipif(sys.platform == "win32", reason="Python has one compiler there, which no PATH leads to")
def test_where_there_is_no_compiler_the_build_asks_for_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each.split(">")[0] for each in hook().dependencies()] == ["ziglang"]
    command = loaded()._compiler()
    assert command.endswith("-m ziglang cc -mcpu=baseline")  # else only for the processor of this machine
    assert command.startswith(sys.executable)
    # none is asked for where nothing is compiled, where there is one, and where CC names one
    monkeypatch.setenv("KANON_MILP_COMPILE", "no")
    assert hook().dependencies() == []
    monkeypatch.delenv("KANON_MILP_COMPILE")
    for name in ("cc", "mine"):
        (path / name).write_text("#!/bin/sh\n")
        (path / name).chmod(0o755)
    assert hook().dependencies() == []
    assert loaded()._compiler() == ""
    monkeypatch.setenv("CC", "mine -m64")
    assert hook().dependencies() == []
    assert loaded()._compiler() == "mine -m64"


def test_no_flag_lets_results_depend_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in ("yes", "debug"):
        monkeypatch.setenv("KANON_MILP_COMPILE", wanted)
        for name in ("_shared", "volume", "rows"):
            flags = loaded()._flags(name)
            assert "-ffp-contract=off" in flags or "/fp:precise" in flags
            assert not [flag for flag in flags if "fast" in flag or "native" in flag or "march" in flag]


def test_what_cannot_be_compiled_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded()
    folder = tmp_path / module.ROOM
    folder.mkdir(parents=True)
    (folder / "broken.py").write_text("def f(x): return x\n")
    (folder / "broken.pxd").write_text("this is no declaration\n")
    monkeypatch.setattr(module, "_compile", lambda _: None)

    def run(command: list[str], folder: Path) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="broken.pxd:1:0: Syntax error")

    monkeypatch.setattr(module, "_run", run)
    monkeypatch.setenv("KANON_MILP_COMPILE", "yes")
    with pytest.raises(SystemExit) as error:
        module.build(tmp_path)
    assert "broken.pxd:1:0: Syntax error" in str(error.value)
    assert "KANON_MILP_COMPILE=no" in str(error.value)
    monkeypatch.setenv("KANON_MILP_COMPILE", "perhaps")
    with pytest.raises(SystemExit, match="yes, no or debug"):
        module.build(tmp_path)
