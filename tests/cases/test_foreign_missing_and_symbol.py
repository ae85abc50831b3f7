"""A column that holds the suppression symbol and missing cells tells rows apart by them."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km

ORIGINAL = "zip,age\n1,20\n2,21\n3,30\n3,30\n"


@pytest.mark.parametrize(("second", "exit_code"), [("", 6), ("*", 0), ("**", 6)])
def test_two_groups_of_one_row(tmp_path: Path, second: str, exit_code: int) -> None:
    original, released = tmp_path / "o.csv", tmp_path / "r.csv"
    original.write_text(ORIGINAL)
    released.write_text(f"zip,age\n*,20-29\n{second},20-29\n3,30\n3,30\n")
    done = run("verify", released, "--original", original, "--qi", "zip,age", "--k", 2, "--cells", "intervals")
    assert done.returncode == exit_code, done.stdout
    assert ("2 of 3 groups have fewer than k = 2 rows" in done.stdout) == (exit_code == 6)


def test_groups_are_those_of_the_cells_as_they_are() -> None:
    """For tables of three rows, and cells that are the value, the symbol, or missing."""
    original = pl.DataFrame({"u": ["1", "1", "2"], "v": ["x", "y", "y"]})
    problem = km.Problem(km.Table.from_frame(original, ["u", "v"]), km.KAnonymity(2))
    for kept in itertools.islice(itertools.product([0, 1, 2], repeat=6), 0, None, 4):
        cells = iter(kept)
        frame = original.select(
            pl.Series(name, [(value, "*", None)[next(cells)] for value in original[name]], dtype=pl.String)
            for name in ("u", "v")
        )
        sizes = Counter(frame.rows()).values()
        report = km.verify(problem, frame, cells="intervals")
        assert (report.ok, report.k_strict, report.groups) == (min(sizes) >= 2, min(sizes), len(sizes)), kept
        assert report.cost == report.suppressed_cells == 6 - kept.count(0)
        assert km.measure(problem, frame).h_max == max(sizes)
