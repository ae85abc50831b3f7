"""Databases: no password is in a message, a query only selects, and what was not written is not called written."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command_line import python, run_in

import kanon_milp as km
from kanon_milp.errors import InputError, without_passwords

ADDRESSES = [
    "jdbc:postgresql://localhost/db?user=u&password=hunter2",
    "jdbc:sqlserver://h;databaseName=d;user=u;password=hunter2;",
    "jdbc:oracle:thin:u/hunter2@h:1521:x",
    "//u:hunter2@h/db",
    "u:hunter2@h/db",
    "mysql://u:hunter2@h/db",
    "mssql+pyodbc://u:hunter2@h/db?driver=x",
    "postgresql:u:hunter2@h",
    "Driver={SQL Server};Server=h;UID=u;PWD=hunter2;",
    "Driver={SQL Server};PWD={hunter2;x};Server=h",
    "Data Source=h;User ID=u;Password = hunter2;",
    "PGPASSWORD=hunter2 psql",
    "host=h user=u password='hunter2 and more'",
    "passwd=hunter2",
    "redis://:hunter2@h",
    "https://h/x.csv?token=hunter2",
    "sqlite:///x.db?password=hunter2",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_it_is_not_repeated(tmp_path: Path, address: str) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n1\n")
    table = ("solve", "--data", "a.csv", "--qi", "a", "--k", "2")
    for command in (
        ("solve", "--data", address, "--query", "select 1", "--qi", "a", "--k", "2"),
        ("inspect", address),
        ("solve", address),
        ("verify", address, "--original", "a.csv", "--qi", "a"),
        (*table, "--mask", address),
        (*table, "--hierarchies", address),
        (*table, "--out", address),
        (*table, "--certificate", address),
        (*table, "--to-table", "x", "--to-database", address),
    ):
        done = run_in(tmp_path, *command)
        assert done.returncode == 2, (command, done.stderr)
        assert "hunter2" not in done.stdout + done.stderr, command
        assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    "text", ["people.csv: row 3: 10:30 @ noon", "C:/a@b.csv: no such file", "a@b.c", "k = 5", "x:y"]
)
def test_other_texts_stay(text: str) -> None:
    assert without_passwords(text) == text
    assert str(InputError(text)) == text


def test_a_message_is_read_on_after_it() -> None:
    said = str(InputError("passwd=hunter2: no such file (Password = 'a b', see u:x@h)"))
    assert re.sub(r"\*\*\*", "", said) == "passwd=: no such file (Password = , see u@h)"


@pytest.mark.parametrize(
    "query",
    [
        "select * from p; copy p to 'leak1.csv'",
        "/* */ copy p to 'leak2.csv'",
        "export database 'dump'",
    ],
)
def test_nothing_is_written(tmp_path: Path, query: str) -> None:
    frame = pl.DataFrame(
        {"zip": ["1"] * 4, "age": [1] * 4, "sex": ["f"] * 4, "disease": ["a", "b"] * 2, "name": ["x"] * 4}
    )
    km.write_table(frame, str(tmp_path / "p.duckdb"), "p")
    before = (tmp_path / "p.duckdb").read_bytes()
    options = ["--qi", "zip,age,sex", "--sensitive", "disease", "--identifying", "name", "--k", "2"]
    done = run_in(tmp_path, "solve", "--data", "p.duckdb", "--query", query, *options)
    assert done.returncode == 2
    assert "one statement that selects" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["p.duckdb"]
    assert (tmp_path / "p.duckdb").read_bytes() == before


LARGEST = 300_000  # bytes of a file: the folder's files are smaller, that of the database is larger


@pytest.mark.full
@pytest.mark.parametrize("there", [False, True])
def test_all_or_nothing_over_folder_certificate_and_database(tmp_path: Path, there: bool) -> None:
    rows = "".join(f"{i % 7},{i % 11},{i % 2},{i % 3},s{i % 5}\n" for i in range(20_000))
    (tmp_path / "big.csv").write_text("a,b,c,d,s\n" + rows)
    if there:
        python("-c", "import sqlite3; sqlite3.connect('x.db').execute('create table o (a)')", folder=tmp_path)
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
