"""The command that `inspect` proposes for codes of two digits, of which one digit is left."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

from command_line import run_in


def test_the_command_runs_as_it_is_printed(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [f"{draw.randint(1, 15):02d},{draw.choice('fm')},d{draw.randint(0, 2)}" for _ in range(40)]
    (tmp_path / "data.csv").write_text("\n".join(["fips,sex,dx", *rows]) + "\n")
    command = run_in(tmp_path, "inspect", "data.csv", "--qi", "fips,sex", "--sensitive", "dx").stdout.splitlines()[-1]
    assert "--prefix fips=1 " in command
    done = run_in(tmp_path, *shlex.split(command)[1:], "-q")
    assert done.returncode in (0, 4), done.stderr
