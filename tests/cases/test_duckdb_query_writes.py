"""A query of DuckDB is one statement that selects, by its own parser, on a connection that can change nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from command_line import run_in

import kanon_milp as km


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
