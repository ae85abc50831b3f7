"""What is said of the seconds of a time limit that went into compiling: as many as were measured, and only then."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from command_line import run_process

from kanon_milp.system.clock import COMPILE, Clock
from kanon_milp.system.compilations import COMPILATIONS, Compilations, compiled_note

TABLE = "zip,age\n101,31\n101,32\n102,31\n102,32\n"


def test_seconds_within_one_another_count_once() -> None:
    found = Compilations()
    began = time.perf_counter()
    found.begin()
    found.begin(waited_for=True)
    time.sleep(0.05)
    assert 0.05 <= found.seconds <= time.perf_counter() - began
    found.end()
    found.end()
    spent = found.seconds
    assert 0.05 <= spent <= time.perf_counter() - began
    time.sleep(0.02)
    assert found.seconds == spent
    assert (found.begun, found.open) == (1, 0)


def test_a_session_counts_what_is_compiled_in_it() -> None:
    COMPILATIONS.begin(waited_for=True)
    time.sleep(0.02)
    COMPILATIONS.end()
    clock = Clock()
    assert COMPILE not in clock.total()
    COMPILATIONS.begin(waited_for=True)
    time.sleep(0.02)
    COMPILATIONS.end()
    assert 0.02 <= clock.total()[COMPILE] <= clock.total()["total"]


def test_nothing_is_said_without_a_limit_or_where_nothing_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled_note(20.0, None) == compiled_note(20.0, float("inf")) == compiled_note(0.0, 30.0) == ""
    monkeypatch.setattr(COMPILATIONS, "kept", True)
    assert compiled_note(12.34, 30.0).startswith("12.3 s within the time limit (30 s) went into compiling")
    assert "doctor --warm-up" in compiled_note(12.34, 30.0)
    monkeypatch.setattr(COMPILATIONS, "kept", False)
    assert "NUMBA_CACHE_DIR" in compiled_note(12.34, 30.0)
    assert "warm-up" not in compiled_note(12.34, 30.0)


@pytest.mark.processes
def test_a_first_run_says_what_compiling_has_taken_and_a_second_one_has_nothing_to_say(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(TABLE)
    asked = ("solve", "--data", table, "--qi", "zip,age", "--k", 2, "--method", "greedy")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first = run_process(*asked, "--time-limit", 60, **cache)
    said = re.fullmatch(r"note: (\d+\.\d) s within the time limit \(60 s\) went into compiling .*\n", first.stderr)
    assert said is not None
    total = re.search(r"(\d+\.\d\d) s in all", first.stdout)
    assert total is not None
    assert 0.1 <= float(said[1]) <= float(total[1])
    assert run_process(*asked, "--time-limit", 60, **cache).stderr == ""
