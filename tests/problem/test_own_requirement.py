"""Requirements of a user's own in a script: what every part of the package makes of them, judged by brute force."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle import optimum
from places import TESTS
from present import present

SCRIPT = TESTS / "own_requirement.py"
PEOPLE = [
    ("30", "x", "p"), ("30", "x", "p"), ("30", "x", "p"), ("30", "x", "q"), ("30", "x", "r"),
    ("40", "y", "q"), ("40", "y", "r"), ("40", "x", "p"),
]  # fmt: skip
CELLS = [row[:2] for row in PEOPLE]


def at_most_three(rows: tuple[int, ...]) -> bool:
    return len(rows) <= 3


def no_more_than_half(rows: tuple[int, ...]) -> bool:
    return 2 * max(Counter(PEOPLE[row][2] for row in rows).values()) <= len(rows)


def by_script(asked: str, folder: Path) -> dict[str, Any]:
    (folder / "people.csv").write_text("age,city,job\n" + "".join(",".join(row) + "\n" for row in PEOPLE))
    command = [sys.executable, str(SCRIPT), str(folder), asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("asked", "judge"), [("most", at_most_three), ("half", no_more_than_half)])
@pytest.mark.processes
def test_a_requirement_in_a_script(tmp_path: Path, asked: str, judge: Callable[[tuple[int, ...]], bool]) -> None:
    """Two solvers find the optimum, the exported file has it, the verifier asks the requirement itself."""
    expected = optimum(CELLS, 2, requirement=judge)
    assert expected != optimum(CELLS, 2)
    found = by_script(asked, tmp_path)
    assert found["objectives"] == [expected, expected]
    assert found["exported"] == expected
    assert found["verified"] is True
    assert found["refused"] is False or asked == "half"
    # a certificate is about the requirements that it can state, and leaves this one out
    valid, bound, statement = found["certified"]
    assert valid
    assert 0 < Fraction(bound) <= present(optimum(CELLS, 2))
    assert statement.startswith("no 2-anonymous table suppresses fewer than")
    assert found["stated"] == ["k_anonymity"]
    assert found["hybrid"] == expected
    # what bounds may know is what the requirement says of itself
    assert found["known to bounds"] == ([[0.0, 0.5] * 3] if asked == "half" else [])
    assert asked == "half" or found["largest"] <= 3
