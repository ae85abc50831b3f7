"""The password of an address, also of one that is none of ours, is in no message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import run_in

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
