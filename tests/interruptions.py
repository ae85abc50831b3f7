"""Runs of the command line that are sent a signal at some moment, and what must be true of each."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from command_line import with_ctrl_c

DOCUMENTED = (0, 2, 3, 4, 5, 6)
REACTION = 15.0  # seconds from a signal to the end, on a busy machine


def write_table(folder: Path, rows: int, columns: int, values: int) -> list[str]:
    """A random table as a file; the command that solves it."""
    draw = random.Random(rows)
    names = [f"q{j}" for j in range(columns)]
    lines = (",".join(str(draw.randrange(values)) for _ in range(columns + 1)) for _ in range(rows))
    (folder / "data.csv").write_text("\n".join([",".join([*names, "s"]), *lines]) + "\n")
    command = [sys.executable, "-m", "kanon_milp", "solve", "--data", str(folder / "data.csv")]
    return [*command, "--qi", ",".join(names), "--sensitive", "s", "--k", "5"]


def hears(process: int) -> bool:
    """Whether the handler of SIGTERM is there, from Linux: before that nothing of this package runs."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True
    caught = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def interrupt(command: list[str], out: Path, number: int, seconds: float, again: float | None = None) -> int:
    """Send a signal so many seconds after the first import, and perhaps another one; the exit code.

    Whatever the moment: an exit code of the documented ones, a word on the standard error and no traceback, and a
    folder that is empty or complete and true.
    """
    with with_ctrl_c():
        child = subprocess.Popen(
            [*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    while not hears(child.pid):
        time.sleep(0.001)
    time.sleep(seconds)
    late = child.poll() is not None
    began = time.perf_counter()
    child.send_signal(number)
    if again is not None:
        time.sleep(again)
        child.send_signal(number)
    try:
        _, errors = child.communicate(timeout=REACTION)
    except subprocess.TimeoutExpired as error:
        child.kill()
        raise AssertionError(f"{seconds} s: it does not end: {child.communicate()}") from error
    where = f"{signal.Signals(number).name} after {seconds:.3f} s, {time.perf_counter() - began:.2f} s to end: {errors}"
    assert child.returncode in DOCUMENTED, (child.returncode, where)
    assert "Traceback" not in errors, where
    assert "terminate" not in errors, where
    assert "Exception ignored" not in errors, where
    if not late and child.returncode != 0:
        assert "interrupted" in errors, where
    names = sorted(path.name for path in out.iterdir()) if out.exists() else []
    if names:
        written = json.loads((out / "result.json").read_text())
        assert child.returncode == (0 if written["proof"] == "optimal" else 4 if written["verified"] else 5), where
        if written["verified"]:
            assert names == ["anonymized.csv", "groups.csv", "result.json"], where
            check_table(Path(command[command.index("--data") + 1]), out / "anonymized.csv", written)
    else:
        assert child.returncode == 5, (child.returncode, where)
    return child.returncode


def check_table(original: Path, released: Path, written: dict[str, Any]) -> None:
    """Cells are kept or suppressed, groups have k rows, and as many cells are suppressed as is said: counted anew."""
    before, after = (list(csv.reader(path.open())) for path in (original, released))
    assert before[0] == after[0]
    assert len(before) == len(after)
    columns = [before[0].index(name) for name in written["problem"]["quasi_identifiers"]]
    groups: Counter[tuple[str, ...]] = Counter()
    stars = 0
    for old, new in zip(before[1:], after[1:], strict=True):
        assert all(new[j] in ((old[j], "*") if j in columns else (old[j],)) for j in range(len(old)))
        groups[tuple(new[j] for j in columns)] += 1
        stars += sum(new[j] == "*" for j in columns)
    assert min(groups.values()) >= written["problem"]["k"]
    assert stars == written["objective"] == written["suppressed_cells"]
