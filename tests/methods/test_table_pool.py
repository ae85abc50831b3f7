"""Pools: against all tables of small problems."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from command_line import run
from effort import examples
from every_table import Released, Row, drawn, every_table
from present import present

import kanon_milp as km
from kanon_milp.methods.further import Pool
from kanon_milp.studies.display import show_result

NAMES = ["q0", "q1"]
AS_LARGE = {"open_model.pairs": 1, "pool.searches": 1}


def cells(table: Any) -> list[Row]:
    return list(pl.DataFrame(table).select(NAMES).iter_rows())


def originals(problem: km.Problem) -> list[Row]:
    return cells(problem.table.frame.to_native())


def placed(problem: km.Problem, table: Any) -> frozenset[tuple[tuple[Row, Row], int]]:
    return frozenset(Counter(zip(originals(problem), cells(table), strict=True)).items())


def losses_of(problem: km.Problem, tables: list[Released], differ: str) -> list[Fraction]:
    """Of all different tables, ascending; by columns of the best with each set of level vectors."""
    rows, best = originals(problem), dict[Any, Fraction]()
    for table in tables:
        key = table.placed(rows) if differ == "rows" else table.vectors
        best[key] = min(table.loss, best.get(key, table.loss))
    return sorted(best.values())


def check(problem: km.Problem, pool: Pool) -> None:
    """Each table is verified, and differs from the others."""
    for each in pool:
        report = km.verify(problem, each.table)
        assert report.ok
        assert report.cost == each.report.cost
        differing = Counter(zip(originals(problem), cells(each.table), strict=True))
        first = Counter(zip(originals(problem), cells(pool[0].table), strict=True))
        assert each.rows_that_differ == (first - differing).total()
        before = zip(*originals(problem), strict=True)
        after = zip(*cells(each.table), strict=True)
        kept = [sum(a == b for a, b in zip(*pair, strict=True)) for pair in zip(before, after, strict=True)]
        assert list(each.kept.values()) == kept
    assert len({placed(problem, each.table) for each in pool}) == len(pool)


@pytest.mark.parametrize("differ", ["rows", "columns"])
@pytest.mark.parametrize("seed", range(examples(40, 3)))
def test_a_pool_has_the_best_tables_and_says_when_these_are_all(seed: int, differ: str) -> None:
    draw = Random(f"pool-{differ}-{seed}")
    problem, tables = drawn(draw, 4)
    every = losses_of(problem, tables, differ)
    loss: Any = draw.choice([None, Fraction(0), Fraction(1), Fraction(3, 2), "50%"])
    most = every[-1] if loss is None else every[0] * Fraction(3, 2) if isinstance(loss, str) else every[0] + loss
    within, asked = [each for each in every if each <= most], draw.choice([1, 4, 8])
    found = km.solve(problem, pool=asked, pool_loss=loss, pool_differ=differ).require_optimal()
    pool = present(found.pool)
    check(problem, pool)
    assert [each.exact_objective for each in pool] == within[:asked]
    assert pool.complete == (len(within) <= asked)
    assert pool.proof == ("all" if pool.complete else "best")
    if pool.bound is not None:
        assert pool.bound == within[asked]
    assert placed(problem, found.table) == placed(problem, pool[0].table)
    if pool.complete and differ == "rows":
        expected = {table.placed(originals(problem)) for table in tables if table.loss <= most}
        assert {placed(problem, each.table) for each in pool} == expected


@pytest.mark.parametrize("differ", ["rows", "columns"])
@pytest.mark.parametrize("seed", range(examples(20, 2)))
def test_a_sample_of_a_large_table_claims_nothing_of_other_tables(seed: int, differ: str) -> None:
    draw = Random(f"sample-{seed}")
    problem, tables = drawn(draw, 4)
    every = losses_of(problem, tables, differ)
    found = km.solve(problem, pool=3, pool_loss=4, pool_differ=differ, parameters=AS_LARGE).require_optimal()
    pool = present(found.pool)
    check(problem, pool)
    assert pool.proof == "none"
    assert not pool.complete
    assert "sample" in pool.message
    assert pool[0].exact_objective == every[0]
    assert all(each.exact_objective <= every[0] + 4 for each in pool)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(examples(20, 3)))
def test_a_sample_has_tables_of_other_columns_wherever_there_are_some(seed: int) -> None:
    """Against all tables that lack a level vector of the best one."""
    problem, tables = drawn(Random(f"columns-{seed}"), 4)
    pool = present(km.solve(problem, pool=3, pool_differ="columns", parameters=AS_LARGE).pool)
    check(problem, pool)
    (used,) = {each.vectors for each in tables if each.placed(originals(problem)) == placed(problem, pool[0].table)}
    others = sorted(each.loss for each in tables if not used <= each.vectors)
    assert len(pool) > bool(others)
    assert all(each.exact_objective >= others[0] for each in pool[1:])


@pytest.mark.parametrize(("objective", "goal"), [("max_groups", "groups"), ("min_groups", "fewer groups")])
def test_numbers_of_groups(objective: Any, goal: str) -> None:
    problem, tables = drawn(Random(5), 4)
    problem = replace(problem, objective=objective)
    rows = originals(problem)
    every = sorted({t.placed(rows): t.value(goal, NAMES) for t in tables}.values())
    pool = present(km.solve(problem, pool=6, pool_loss=1).pool)
    check(problem, pool)
    within = [abs(each) for each in every if each <= every[0] + 1]
    assert [each.exact_objective for each in pool] == within[:6]
    assert pool.proof == ("all" if len(within) <= 6 else "best")


def test_requirements_and_bounds_hold_for_each_table() -> None:
    rows, illness = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "x")], "uvuvv"
    frame = pl.DataFrame(rows, NAMES, orient="row").with_columns(illness=pl.Series(list(illness)))
    table = km.Table.from_frame(frame, NAMES, sensitive="illness")
    problem = km.Problem(table, [km.KAnonymity(2), km.PSensitivity(2)], max_groups=2)
    valid = [
        each
        for each in every_table(rows, 2, [Fraction(1)] * 2, holds=lambda group: len({illness[i] for i in group}) > 1)
        if len(set(each.rows)) <= 2
    ]
    # rows are alike that are so in the sensitive attribute as well
    labelled = [(*row, value) for row, value in zip(rows, illness, strict=True)]
    every = sorted({each.placed(labelled): each.loss for each in valid}.values())
    pool = present(km.solve(problem, pool=100).pool)
    assert pool.proof == "all"
    assert [each.exact_objective for each in pool] == every
    assert all(km.verify(problem, each.table).ok for each in pool)


def test_nothing_is_said_of_tables_for_which_there_was_no_time() -> None:
    problem, _ = drawn(Random(2))
    greedy = km.solve(problem, method="greedy", pool=3, parameters=AS_LARGE)
    pool = present(greedy.pool)
    check(problem, pool)
    assert pool.proof == "none"
    assert "nothing is proven of others" in greedy.summary()
    assert not greedy.is_optimal


def test_where_there_is_no_table_there_is_no_pool() -> None:
    problem, _ = drawn(Random(2))
    found = km.solve(replace(problem, cost_bound=0, privacy=km.KAnonymity(5)), pool=3)
    assert found.proof == "infeasible"
    assert found.pool is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"pool": 0}, "pool must be at least 1"),
        ({"pool": "many"}, "pool must be an integer"),
        ({"pool": 2, "pool_loss": -1}, "pool_loss"),
        ({"pool": 2, "pool_loss": "a few"}, "pool_loss"),
        ({"pool": 2, "pool_differ": "cells"}, "pool_differ must be one of rows, columns"),
        ({"pool_loss": 1}, "pool_loss: only a pool has it"),
        ({"pool_differ": "columns"}, "pool_differ: only a pool has it"),
        ({"pool": 2, "then": "groups"}, "leave out pool or then"),
        ({"pool": 2, "method": "full_domain"}, "pool: method full_domain"),
    ],
)
def test_what_no_pool_can_be(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(km.InputError, match=said):
        km.solve(drawn(Random(1))[0], **asked)


def test_the_command_line_writes_each_table_and_removes_those_of_an_earlier_pool(tmp_path: Path) -> None:
    problem, _ = drawn(Random(7))
    pl.DataFrame(problem.table.frame.to_native()).write_csv(tmp_path / "people.csv")
    model, out = tmp_path / "model.toml", tmp_path / "out"
    named = ("--data", tmp_path / "people.csv", "--qi", "q0,q1", "--k", 2, "--out", out)
    done = run("solve", *named, "--pool", 4, "--pool-loss", "200%", "--save-model", model, "--json")
    assert done.returncode == 0
    described = json.loads(done.stdout)
    pool = described["pool"]
    assert pool["proof"] in ("all", "best")
    folders = [each["folder"] for each in pool["tables"]]
    assert folders == [f"pool/{number:02d}" for number in range(1, len(folders) + 1)]
    assert len(folders) > 2
    written = [(out / folder / "anonymized.csv").read_bytes() for folder in folders]
    assert len(set(written)) == len(written)
    assert written[0] == (out / "anonymized.csv").read_bytes()
    checked = run("verify", out / folders[1] / "anonymized.csv", "--original", *named[1:6], "--json")
    assert checked.returncode == 0
    assert json.loads(checked.stdout)["suppressed_cells"] == pool["tables"][1]["suppressed_cells"]
    for folder, content in zip(folders, written, strict=True):
        assert described["sha256"][f"{folder}/anonymized.csv"] == hashlib.sha256(content).hexdigest()
    again = run("solve", model, "--json")  # which holds what was asked for
    assert [each["objective"] for each in json.loads(again.stdout)["pool"]["tables"]] == [
        each["objective"] for each in pool["tables"]
    ]
    own = out / "pool" / "mine.txt"
    own.write_text("stays")
    assert run("solve", *named, "--pool", 2, "--quiet").returncode == 0
    assert sorted(each.name for each in (out / "pool").iterdir()) == ["01", "02", "mine.txt"]
    own.unlink()
    assert run("solve", *named, "--quiet").returncode == 0
    assert not (out / "pool").exists()
    assert json.loads((out / "result.json").read_text())["pool"] is None


def test_a_table_of_an_earlier_pool_is_not_overwritten_where_it_is_read(tmp_path: Path) -> None:
    read = tmp_path / "out" / "pool" / "03" / "anonymized.csv"
    read.parent.mkdir(parents=True)
    read.write_text("q0,q1\n" + "a,b\n" * 4)
    named = ("--data", read, "--qi", "q0,q1", "--k", 2, "--out", tmp_path / "out")
    for pool in (("--pool", 2), ()):
        refused = run("solve", *named, *pool)
        assert refused.returncode == 2
        assert "is a file that is read" in refused.stderr
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pool").write_text("a file")
    refused = run("solve", *named[:-1], tmp_path / "other", "--pool", 2)
    assert refused.returncode == 2
    assert "is a file" in refused.stderr


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("pool = 0", "[solve] pool must be at least 1"),
        ("pool_loss = 1", "[solve] pool_loss: only a pool has it"),
        ('then = "keep q7"', '[solve] then: "q7" is not a quasi-identifier'),
        ('pool = 2\npool_differ = "cells"', "[solve] pool_differ"),
        ('pool = 2\nthen = "groups"', "leave out pool or then"),
    ],
)
def test_a_model_file_says_what_is_wrong_with_its_pool(tmp_path: Path, entry: str, said: str) -> None:
    (tmp_path / "t.csv").write_text("q0,q1\na,b\na,b\n")
    model = tmp_path / "m.toml"
    model.write_text(f'[data]\nfile = "t.csv"\nquasi_identifiers = ["q0", "q1"]\n[privacy]\nk = 2\n[solve]\n{entry}\n')
    refused = run("solve", model)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_what_proves_a_pool_of_a_method_without_proof_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"a": ["1", "1", "2", "2"], "b": ["x", "y", "x", "y"]})
    result = km.solve(km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2)), method="greedy", pool=2)
    show_result(result, "people", None)
    said = " ".join(capsys.readouterr().out.split())
    assert result.proof == "optimal"
    assert "the pool has a model of its own" in said
    assert "none for the first table (method greedy), one for the pool" in said
    assert "no model was needed" not in said
