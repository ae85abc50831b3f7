"""Frequency tables: a row of n stands for n rows, in everything that is solved, said and written."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import polars as pl
import pytest
from command_line import run
from effort import examples
from present import present

import kanon_milp as km
from kanon_milp.errors import FileWarning, InputError
from kanon_milp.methods import registry
from kanon_milp.presolve.row_types import row_types
from kanon_milp.problem.roles import Roles
from kanon_milp.studies.metrics import describe_release
from kanon_milp.verify import check_certificate

COLUMNS = ["a", "b", "ill", "n"]
LINES = [
    ("30", "f", "flu", 3),
    ("30", "m", "hiv", 1),
    ("31", "f", "flu", 4),
    ("45", "m", "hiv", 7),
    ("45", "f", "flu", 2),
]


def frame_of(lines: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(lines, schema=COLUMNS, orient="row")


def expanded(frame: pl.DataFrame) -> pl.DataFrame:
    """The table that a frequency table stands for."""
    return frame_of([row for row in frame.rows() for _ in range(row[3])]).drop("n")


def both(rng: Random) -> tuple[km.Problem, km.Problem]:
    """A random problem of a frequency table, and the same of the table with all rows."""
    while True:
        lines = [(*map(rng.choice, ("pq", "xyz", "st")), rng.randint(1, 4)) for _ in range(rng.randint(2, 5))]
        if len({line[2] for line in lines}) > 1:
            break
    frame = frame_of(lines)
    others: list[list[km.Requirement]] = [[], [km.LDiversity(2)], [km.TCloseness("0.3")], [km.MarketerRisk("0.5")]]
    privacy = [km.KAnonymity(rng.randint(1, 4)), *rng.choice(others)]
    sides: dict[str, Any] = rng.choice([{}, {"max_groups": 2}, {"min_groups": 2}])
    reading: Any = rng.choice(["strict", "exempt"])
    tables = (
        km.Table.from_frame(frame, ["a", "b"], "ill", count="n"),
        km.Table.from_frame(expanded(frame), ["a", "b"], "ill"),
    )
    counted, every = (km.Problem(table, privacy, suppressed_rows=reading, **sides) for table in tables)
    return counted, every


def test_all_that_is_solved_and_said_is_that_of_the_table_with_all_rows() -> None:
    for seed in range(examples(60, 3)):
        counted, every = both(Random(f"counts {seed}"))
        one, other = km.solve(counted), km.solve(every)
        assert (one.exact_objective, one.proof) == (other.exact_objective, other.proof)
        if one.table is None:
            continue
        rows = expanded(one.table)
        assert rows.drop("a", "b").equals(every.table.frame.to_native().drop("a", "b"))  # in their order
        reports = km.verify(counted, one.table, partition=present(one.groups).tolist()), km.verify(every, rows)
        mine, theirs = (report.as_dict() for report in reports)
        for name in mine.keys() - {"partition", "not_minimal"}:
            assert mine[name] == theirs[name], name
        assert km.measure(counted, one.table).as_dict() == pytest.approx(km.measure(every, rows).as_dict())
        told, known = describe_release(counted, one.table, reports[0]), describe_release(every, rows, reports[1])
        assert all(told[name] == known[name] for name in ("risk", "columns", "group_sizes", "sensitive"))
        if one.proof == "optimal" and counted.objective == "loss":
            claim = one.certify().as_dict()
            assert check_certificate(counted, claim).valid
            assert check_certificate(every, claim).valid


@pytest.mark.full
def test_every_method_takes_counts_or_refuses_as_for_all_rows() -> None:
    for seed in range(examples(20, 3)):
        counted, every = both(Random(f"methods {seed}"))
        for method in registry.METHODS:
            found = []
            for problem in (counted, every):
                try:
                    result = km.solve(problem, method=method, time_limit=10)
                except InputError as error:
                    found.append(str(error))
                    continue
                assert result.table is None or km.verify(problem, result.table).ok
                exact = result.proof in ("optimal", "infeasible")
                found.append(f"{result.proof} {result.exact_objective}" if exact else result.proof)
            assert found[0] == found[1], method


def test_a_million_rows_in_a_row_are_not_laid_out() -> None:
    lines = [("x", "p", "s", 10**9), ("x", "q", "t", 10**9), ("y", "q", "t", 2)]
    table = km.Table.from_frame(frame_of(lines), ["a", "b"], "ill", count="n")
    result = km.solve(km.Problem(table, [km.KAnonymity(3)])).require_optimal()
    assert result.objective == 3
    assert table.n == 2 * 10**9 + 2
    assert sorted(present(result.table)["n"].to_list()) == [1, 2, 10**9 - 1, 10**9]  # one row joins the two of y
    with pytest.raises(InputError, match="one by one"):
        km.solve(km.Problem(table, [km.LDiversity(2)]), method="search")


def test_the_verifier_takes_rows_whole_or_divided_in_their_order_and_nothing_else() -> None:
    table = km.Table.from_frame(frame_of(LINES), ["a", "b"], "ill", count="n")
    problem = km.Problem(table, km.KAnonymity(2))
    stars = [("*", "*", ill, n) for _, _, ill, n in LINES]
    assert km.verify(problem, frame_of(stars)).ok
    divided = [*stars[:2], ("*", "*", "flu", 1), ("*", "*", "flu", 3), *stars[3:]]
    assert km.verify(problem, frame_of(divided)).ok
    for wrong in (
        [*stars[:1], stars[2], stars[1], *stars[3:]],  # another order
        [*stars[:4]],  # a row is missing
        [*stars[:4], ("*", "*", "flu", 3)],  # one too many
        [("*", "*", "flu", 2), ("*", "*", "hiv", 2), *stars[2:]],  # one row less of one, one more of another
    ):
        assert any('column "n"' in each for each in km.verify(problem, frame_of(wrong)).violations)
    assert any(
        'column "ill"' in each for each in km.verify(problem, frame_of([("*", "*", "hiv", 3), *stars[1:]])).violations
    )
    for text in ("0", "-1", "x", "1.5", None):
        bad = pl.DataFrame([(*row[:3], text) for row in stars], schema=COLUMNS, orient="row")
        with pytest.raises(InputError, match='column "n"'):
            km.verify(problem, bad)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("-1", "negative"),
        ("1.5", "not written as an integer"),
        ("1e3", "not written as an integer"),
        ("", "empty|no number|missing"),
        (None, "missing"),
        ("x", "no number"),
    ],
)
def test_counts_that_are_none_are_refused_and_never_shown(cell: str | None, said: str) -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "n": ["3", cell]})
    with pytest.raises(InputError, match=f'column "n", row 2: .*({said})'):
        km.Table.from_frame(frame, ["a"], count="n")


def test_rows_of_0_are_left_out_and_that_is_said() -> None:
    frame = pl.DataFrame({"a": ["w", "x", "y"], "n": [0, 2, 3]})
    with pytest.warns(FileWarning, match="1 row with the count 0 is left out"):
        table = km.Table.from_frame(frame, ["a"], count="n")
    assert table.n == 5
    assert table.frame["a"].to_list() == ["x", "y"]
    with pytest.raises(InputError, match="all counts"):
        km.Table.from_frame(frame.with_columns(n=0), ["a"], count="n")
    with pytest.raises(InputError, match="unit and count"):
        km.Table.from_frame(frame.with_columns(who=pl.lit("p")), ["a"], unit="who", count="n")


def test_a_table_of_pandas_stays_one_with_its_types() -> None:
    frame = pd.DataFrame({"a": [30, 30, 31], "n": [2, 3, 1]}, index=[7, 8, 9])
    problem = km.Problem(km.Table.from_frame(frame, ["a"], count="n"), km.KAnonymity(3))
    result = km.solve(problem).require_optimal()
    assert isinstance(result.table, pd.DataFrame)
    assert result.table["n"].sum() == 6
    assert km.verify(problem, result.table).ok
    assert set(result.table.index) <= {7, 8, 9}


def test_the_command_line_takes_counts_everywhere(tmp_path: Path) -> None:
    file, out = tmp_path / "f.csv", tmp_path / "o"
    frame_of(LINES).write_csv(file)
    asked = ["--qi", "a,b", "--sensitive", "ill", "--count", "n"]
    assert (
        run(
            "solve",
            "--data",
            file,
            *asked,
            "--k",
            3,
            "--l",
            "1.2",
            "--out",
            out,
            "--save-model",
            tmp_path / "asked.toml",
        ).returncode
        == 0
    )
    groups, released = pl.read_csv(out / "groups.csv"), pl.read_csv(out / "anonymized.csv")
    assert groups["count"].to_list() == released["n"].to_list()
    assert groups["row"].max() == len(LINES)
    assert run("verify", out / "anonymized.csv", "--original", file, *asked, "--k", 3).returncode == 0
    assert run("verify", out / "anonymized.csv", *asked, "--k", 3).returncode == 0
    assert run("verify", out / "anonymized.csv", "--model", tmp_path / "asked.toml").returncode == 0
    assert "17 rows" in run("inspect", file, *asked).stdout
    assert "17 rows" in run("compress", file, "--qi", "a,b", "--count", "n").stdout
    assert row_types(file, Roles.of(["a"], count="n")).counts.tolist() == [4, 4, 9]
