"""Ten rows of twenty columns have a million level vectors: full-domain recoding keeps its limit, and hears signals."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import run

NAMES = [f"q{j}" for j in range(20)]
LATE = 10.0  # seconds; it took 200 of 20, whoever else uses the machine


@pytest.fixture
def data(tmp_path: Path) -> Path:
    draw = random.Random(0)
    lines = [",".join(NAMES), *(",".join(str(draw.randrange(3)) for _ in NAMES) for _ in range(10))]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_limit_holds(data: Path) -> None:
    began = time.perf_counter()
    asked = ("--data", data, "--qi", ",".join(NAMES), "--k", 5, "--method", "full_domain", "--time-limit", 1)
    done = run("solve", *asked, "--json")
    took = time.perf_counter() - began
    assert done.returncode == 4
    found = json.loads(done.stdout)
    assert found["verified"] is True
    assert found["stop_reason"] == "time_limit"
    assert "of 1,048,576 level vectors" in found["message"]
    assert took < 1 + LATE
    assert took == pytest.approx(found["seconds"]["total"], abs=LATE / 2)  # Python starts slowly beside other tests


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_it_hears_a_signal(data: Path) -> None:
    command = [sys.executable, "-m", "kanon_milp", "solve", "--data", str(data), "--qi", ",".join(NAMES), "--k", "5"]
    child = subprocess.Popen([*command, "--method", "full_domain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(3)
    child.send_signal(signal.SIGTERM)
    out, errors = child.communicate(timeout=LATE)
    assert child.returncode in (4, 5)
    assert b"interrupted" in errors
    assert child.returncode == 5 or b"verified table" in out
