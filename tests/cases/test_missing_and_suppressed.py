"""Missing and suppressed cells: as values of their own, as sdcMicro reads them, and in risks."""

from __future__ import annotations

import csv
import itertools
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

ORIGINAL = "land,state,age\nX,single,30-49\nX,wed,30-49\nX,wed,30-49\nX,single,30-49\nX,widow,30-49\n"
ASKED = ("--qi", "land,state,age", "--k", 2)
Row = tuple[str | None, ...]


@pytest.mark.parametrize("missing", ["", "*", "NA"])
def test_each_reading_says_which_it_is(tmp_path: Path, missing: str) -> None:
    original, released, groups = tmp_path / "sm2.csv", tmp_path / "rel.csv", tmp_path / "groups.csv"
    original.write_text(ORIGINAL)
    released.write_text(ORIGINAL.replace("widow", missing))
    marks = ["--missing-values", "NA"] if missing == "NA" else []
    for given in (["--original", original, "--cells", "intervals", *marks], marks):
        own = run("verify", released, *given, *ASKED)
        assert own.returncode == 6
        assert "a missing or suppressed cell is a value of its own here; in sdcMicro it matches any value" in own.stdout
        assert "then k = 3, and all requirements hold" in own.stdout
        match = run("verify", released, *given, *ASKED, "--missing-keys", "match", "--groups", groups)
        assert match.returncode == 0
        assert "was taken to match any value, as sdcMicro counts" in match.stdout
        assert [row["rows"] for row in csv.DictReader(groups.open())] == ["3", "3", "5"]  # fk
        data = json.loads(run("verify", released, *given, *ASKED, "--missing-keys", "match", "--json").stdout)
        assert (data["missing_keys"], data["k_strict"]) == ("match", 3)


def matching(rows: list[Row]) -> list[list[int]]:
    """For each row the rows that match it, pair by pair."""
    open_ = (None, "*")
    return [
        [
            other
            for other, there in enumerate(rows)
            if all(a in open_ or b in open_ or a == b for a, b in zip(row, there, strict=True))
        ]
        for row in rows
    ]


def test_counts_are_those_of_pairs() -> None:
    draw = random.Random(7)
    for _ in range(60):
        n, k = draw.randint(2, 9), draw.randint(1, 4)
        rows: list[Row] = [tuple(draw.choice(["a", "b", "*", None]) for _ in range(3)) for _ in range(n)]
        secrets = ["x", "y", *(draw.choice("xyz") for _ in range(n - 2))]
        draw.shuffle(secrets)
        frame = pl.DataFrame([*map(list, zip(*rows, strict=True)), secrets], schema=["u", "v", "w", "s"])
        original = frame.with_columns(pl.lit("a").alias(name) for name in "uvw")
        problem = km.Problem(km.Table.from_frame(original, list("uvw"), "s"), km.KAnonymity(k))
        found = matching(rows)
        sizes = [len(each) for each in found]
        values = [Counter(secrets[other] for other in each) for each in found]

        alone = km.Table.from_frame(frame, list("uvw"), "s", released=True)
        report = km.verify(km.Problem(alone, [km.KAnonymity(k), km.PSensitivity(2)]), missing_keys="match")
        assert report.k_strict == min(sizes)
        assert report.ok == (min(sizes) >= k and min(map(len, values)) >= 2)
        held = report.released.sensitive["s"]
        assert held.p == min(map(len, values))
        assert held.l == min(Fraction(size, max(each.values())) for size, each in zip(sizes, values, strict=True))
        whole = Counter(secrets)
        assert held.t == max(
            sum(abs(Fraction(each[value], size) - Fraction(whole[value], n)) for value in whole) / 2
            for size, each in zip(sizes, values, strict=True)
        )

        shown = [size for size, row in zip(sizes, rows, strict=True) if not set(row) <= {"*", None}] or sizes
        measured = km.measure(problem, frame, missing_keys="match")
        assert measured.missing_keys == "match"
        # without an original value that was left out, a missing cell is suppressed: here each was
        assert measured.risk_highest == Fraction(1, min(shown))
        assert measured.risk_average == sum(Fraction(1, size) for size in shown) / len(shown)
        assert measured.rows_at_risk == Fraction(sum(size < k for size in shown), len(shown))


def test_compare_says_by_which_reading(tmp_path: Path) -> None:
    original, released = tmp_path / "sm2.csv", tmp_path / "rel.csv"
    original.write_text(ORIGINAL)
    released.write_text(ORIGINAL.replace("widow", ""))
    given = ["compare", "--data", original, *ASKED, "--methods", "greedy", "--released", released, "--json"]
    rows = json.loads(run(*given, "--missing-keys", "match").stdout)["methods"]
    assert [row["missing_keys"] for row in rows] == ["match", "match"]
    assert rows[1]["objective"] is None
    assert rows[1]["message"].startswith(
        "verified with missing keys that match any value; the bound is not for that reading"
    )
    assert rows[1]["risk_highest"] == pytest.approx(1 / 3)
    own = json.loads(run(*given).stdout)["methods"]
    assert own[1]["message"].startswith("not verified")
    assert (own[1]["missing_keys"], own[1]["risk_highest"]) == ("own", 1)


def test_a_row_that_was_missing_is_none_that_was_suppressed() -> None:
    """Exempt: rows of which each key is the symbol need no partners. One in which each key was missing before is read
    as any other; it is alike with those where missing keys match any value."""
    draw, told_apart = random.Random(11), 0
    for _ in range(80):
        n, k = draw.randint(3, 8), draw.randint(2, 4)
        before: list[Row] = [tuple(draw.choice(["a", "b", None]) for _ in range(2)) for _ in range(n)]
        before[0] = (None, None)
        rows: list[Row] = [tuple("*" if draw.random() < 0.5 else cell for cell in row) for row in before]
        rows[0], rows[1] = (None, None), ("*", "*")
        units = [f"u{draw.randrange(4)}" for _ in range(n)]
        schema = {"u": pl.String, "v": pl.String}
        original = pl.DataFrame(before, schema=schema, orient="row").with_columns(pl.Series("who", units))
        released = pl.DataFrame(rows, schema=schema, orient="row")
        table = km.Table.from_frame(original, ["u", "v"], unit="who")
        report = km.verify(
            km.Problem(table, km.KAnonymity(k), suppressed_rows="exempt"), released, missing_keys="match"
        )
        found = [len({units[other] for other in each}) for each in matching(rows)]
        held = [count for count, row in zip(found, rows, strict=True) if row != ("*", "*")]
        facts = report.released
        assert (facts.k_exempt if facts.units_exempt is None else facts.units_exempt) == min(held)
        assert report.ok == (min(held) >= k)
        told_apart += not report.ok and all(
            count >= k for count, row in zip(found, rows, strict=True) if not set(row) <= {"*", None}
        )
    assert told_apart


@pytest.mark.full
def test_the_note_says_what_the_other_reading_says() -> None:
    """Where a cell was changed, there are too few groups, or a group of the partition is small, that is refused in the
    reading of sdcMicro, too."""
    draw, told = random.Random(5), Counter[str]()
    said = ["all requirements hold", "not all requirements hold", "the requirements hold, the other"]
    for _ in range(200):
        n = draw.randint(3, 8)
        before = [tuple(draw.choice("ab") for _ in range(2)) for _ in range(n)]
        rows = [tuple("*" if draw.random() < 0.4 else cell for cell in row) for row in before]
        if draw.random() < 0.3:
            rows[0] = ("c", rows[0][1])
        original, released = (pl.DataFrame(each, schema=["u", "v"], orient="row") for each in (before, rows))
        table = km.Table.from_frame(original, ["u", "v"])
        fewest, exempt = draw.choice([None, 2, 4]), draw.random() < 0.5
        problem = km.Problem(
            table, km.KAnonymity(2), min_groups=fewest, suppressed_rows="exempt" if exempt else "strict"
        )
        partition = draw.choice([None, [0] * n, [rows.index(row) for row in rows]])
        notes = km.verify(problem, released, partition).notes
        match = km.verify(problem, released, partition, missing_keys="match")
        for note in (each for each in notes if "sdcMicro" in each):
            assert f"then k = {match.k_strict}, and" in note
            found = next(text for text in said if f", and {text}" in note)
            told[found] += 1
            assert (found == said[0]) == match.ok
            if found == said[2]:
                assert all('column "u"' in each for each in match.violations)
    assert set(told) == set(said)


FOREIGN = "zip,age\n1,20\n2,21\n3,30\n3,30\n"


@pytest.mark.parametrize(("second", "exit_code"), [("", 6), ("*", 0), ("**", 6)])
def test_two_groups_of_one_row(tmp_path: Path, second: str, exit_code: int) -> None:
    original, released = tmp_path / "o.csv", tmp_path / "r.csv"
    original.write_text(FOREIGN)
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


SUPPRESSED = "age,gender,zipcode\n34,female,81667\n34,female,81667\n45,male,81925\n45,male,81925\n70,female,90210\n"
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
    table.write_text(SUPPRESSED)
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
