"""A database that has no room: no file claims that the released table was written there."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

LARGEST = 300_000  # bytes of a file: the folder's files are smaller, that of the database is larger


@pytest.mark.full
@pytest.mark.parametrize("there", [False, True])
def test_all_or_nothing_over_folder_certificate_and_database(tmp_path: Path, there: bool) -> None:
    rows = "".join(f"{i % 7},{i % 11},{i % 2},{i % 3},s{i % 5}\n" for i in range(20_000))
    (tmp_path / "big.csv").write_text("a,b,c,d,s\n" + rows)
    if there:
        subprocess.run(
            [sys.executable, "-c", "import sqlite3; sqlite3.connect('x.db').execute('create table o (a)')"],
            cwd=tmp_path,
            check=True,
        )
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    command = (
        "solve --data big.csv --qi a,b,c,d --sensitive s --k 3 --method m_approximation --out o2 --to-table T "
        "--to-database x.db --report page.html -q"
    )
    done = subprocess.run(
        [sys.executable, "-m", "kanon_milp", *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST)),
    )
    assert done.returncode == 2, done.stderr
    assert "x.db" in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
