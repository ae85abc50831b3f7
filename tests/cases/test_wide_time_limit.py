"""Measures of a released table are computed only where somebody reads them, and within the time limit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run

from kanon_milp.studies import output

COLUMNS = [f"c{j}" for j in range(6)]


@pytest.fixture
def asked(tmp_path: Path) -> list[object]:
    lines = [",".join(COLUMNS), *(",".join(f"{i}_{j}" for j in range(6)) for i in range(300))]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    return ["solve", "--data", tmp_path / "wide.csv", "--qi", ",".join(COLUMNS), "--k", 2, "--time-limit", 3]


def slow(seconds: float, called: list[float]) -> Callable[..., None]:
    def measure(*_: object) -> None:
        called.append(time.perf_counter())
        while time.perf_counter() < called[0] + seconds:
            time.sleep(0.001)

    return measure


def test_nobody_waits_for_measures_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch, asked: list[object]) -> None:
    called: list[float] = []
    monkeypatch.setattr(output, "describe_release", slow(0, called))
    assert run(*asked).returncode in (0, 4)
    assert not called
    assert run(*asked, "--json").returncode in (0, 4)
    assert len(called) == 1


@pytest.mark.full
def test_measures_end_with_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: list[object]) -> None:
    called: list[float] = []
    monkeypatch.setattr(output, "describe_release", slow(60, called))
    done = run(*asked, "--out", tmp_path / "out", "--report", tmp_path / "page.html")
    assert time.perf_counter() < called[0] + 30
    assert done.returncode in (0, 4)
    written = json.loads((tmp_path / "out" / "result.json").read_text())
    assert written["measures"] is None
    assert "no time to measure" in written["message"]
    assert (tmp_path / "page.html").is_file()
