"""Rows of which nothing is released are told apart in risks: those of a release, and of a table that is inspected."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km

ORIGINAL = "age,gender,zipcode\n34,female,81667\n34,female,81667\n45,male,81925\n45,male,81925\n70,female,90210\n"
RELEASED = """age,gender,zipcode
<50,female,81***
<50,male,81***
>=50,male,81***
*,*,*
<50,female,81***
>=50,male,81***
<50,male,81***
"""
KEYS = ("--qi", "age,gender,zipcode")


def test_a_release_leaves_the_suppressed_row_out(tmp_path: Path) -> None:
    table = tmp_path / "ex.csv"
    table.write_text(ORIGINAL)
    out = tmp_path / "out"
    done = run("solve", "--data", table, *KEYS, "--k", 2, "--suppressed-rows", "exempt", "--json", "--out", out)
    risk = json.loads(done.stdout)["measures"]["risk"]["after"]
    assert {"highest": 0.5, "average": 0.5, "rows_below_k": 0, "unique_rows": 0}.items() <= risk.items()
    assert (risk["suppressed_rows"], risk["rows"], risk["groups"]) == (1, 4, 2)
    assert run("report", out).returncode == 0
    page = (out / "report.html").read_text()
    assert re.search(r"at most 50(\.0)?\s*%", page)
    assert "leave out 1 row of which nothing is released" in page


@pytest.mark.parametrize("symbol", ["*", "NULL", "?"])
def test_inspect_leaves_it_out(tmp_path: Path, symbol: str) -> None:
    table = tmp_path / "rel259.csv"
    table.write_text(RELEASED.replace("*,*,*", ",".join([symbol] * 3)))
    given = [] if symbol == "*" else ["--symbol", symbol]
    found = json.loads(run("inspect", table, *KEYS, *given, "--json").stdout)
    assert found["classes"] | {"sizes": None} == {
        **{"count": 3, "smallest": 2, "mean": 2.0, "largest": 2, "unique_rows": 0, "suppressed_rows": 1},
        "sizes": None,
    }
    assert found["risk"]["prosecutor_highest"] == found["risk"]["marketer"] == 0.5
    assert [each["rows"] for each in found["touched"]] == [0, 6, 6]
    said = run("inspect", table, *KEYS, *given).stdout
    assert "1 row (14.3 %) is suppressed in all of these columns" in said
    assert "prosecutor 50.0 % at most" in said


def test_figures_are_those_of_the_table_without_these_rows() -> None:
    draw = random.Random(5)
    for _ in range(50):
        rows = [tuple(draw.choice("ab*") for _ in range(2)) for _ in range(9)]
        original = pl.DataFrame({"u": list("abcdefghi"), "v": list("abcdefghi")})
        frame = pl.DataFrame({"u": [row[0] for row in rows], "v": [row[1] for row in rows]})
        held = Counter(row for row in rows if row != ("*", "*")) or Counter(rows)
        problem = km.Problem(km.Table.from_frame(original, ["u", "v"]), km.KAnonymity(3))
        found = km.measure(problem, frame)
        assert found.suppressed_rows == rows.count(("*", "*"))
        assert found.risk_highest == Fraction(1, min(held.values()))
        assert found.risk_average == Fraction(len(held), sum(held.values()))
        assert found.rows_at_risk == Fraction(sum(size for size in held.values() if size < 3), sum(held.values()))
        seen = km.inspect(frame, ["u", "v"])
        assert seen.risk.prosecutor_highest == found.risk_highest
        assert (seen.classes, seen.suppressed) == (len(held), found.suppressed_rows)
