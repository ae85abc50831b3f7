"""The campaigns of benchmarks/, shortened; and that each of them sees what it is there to see."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import campaign
import hostile_files
import kills
import odd_jobs
import random_problems
import table1
from case_judge import Truth, truth
from effort import examples
from mutations import changed_csv, changed_model
from routes import ROUTES, Verdict
from strategies import Case

from kanon_milp.studies.metrics import usefulness

SEED = 20


@pytest.fixture(autouse=True)
def temporary_files_go_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("number", range(1, examples(400, 3)))
def test_random_problems_agree_with_brute_force(number: int) -> None:
    assert campaign.one(random_problems.work, SEED, number)["failures"] == []


def test_what_is_wrong_with_a_random_problem_is_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_problems, "agrees", lambda *_: Verdict(("wrong",)))
    row = campaign.one(random_problems.work, SEED, 1)
    assert row["failures"] == ["milp cbc: wrong"]
    assert "Case(" in row["case"]


def test_forged_certificates_are_judged() -> None:
    search = next(route for route in ROUTES if route.name == "search")
    case = Case((("a", "b"), ("a", "c"), ("d", "b"), ("d", "c")), 2, None, (Fraction(1),) * 2, {}, {}, "strict", {})
    result = search.run(case.problem())
    assert random_problems.forged(case.problem(), result, truth(case), Random(1))[0] == []
    low = Truth(Fraction(0), Fraction(0))  # so that even the true bound is too high
    found = [random_problems.forged(case.problem(), result, low, Random(seed)) for seed in range(20)]
    assert any(accepted for _, accepted in found)
    assert all(bool(wrong) == bool(accepted) for wrong, accepted in found)


@pytest.mark.parametrize("number", range(examples(300, 4)))
def test_hostile_files_end_with_one_clear_error_or_a_result(number: int) -> None:
    assert campaign.one(hostile_files.work, SEED, number)["failures"] == []


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", range(examples(30, 1)))
@pytest.mark.processes
def test_who_kills_a_run_finds_no_lie(number: int) -> None:
    assert campaign.one(kills.work, SEED, number)["failures"] == []


# --------------------------------------------------------------------------------------- they can fail


def test_what_must_not_be_printed_or_written_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(code: int, out: str = "", err: str = "", writes: str = "") -> list[str]:
        folder = tmp_path / f"f{time.perf_counter_ns()}"
        folder.mkdir()

        def run(*_: object) -> SimpleNamespace:
            if writes:
                (folder / writes).parent.mkdir(exist_ok=True)
                (folder / writes).write_text("x")
            return SimpleNamespace(returncode=code, stdout=out, stderr=err)

        monkeypatch.setattr(hostile_files, "run", run)
        found: list[str] = hostile_files.judged(folder, ["solve"], ["Qzsecret"], False)["failures"]
        return [text.split(":")[0] for text in found]

    assert ends(2, err="error: x") == []
    assert ends(1) == ["exit code 1"]
    assert ends(2) == ["no word"]
    assert ends(2, err="error: Qzsecret") == ["leak"]
    assert ends(2, err="e" * 5000) == ["long message"]
    assert ends(3, err="\x1b[31m") == ["escape character"]
    assert ends(3, err="Traceback (most recent call last)\nx") == ["traceback"]
    assert ends(2, err="error", writes="out/result.json") == ["written"]
    assert ends(3, writes="out/.result.json.12ab") == ["stray files"]


@pytest.mark.processes
def test_lies_and_strays_are_seen(tmp_path: Path) -> None:
    shutil.copytree(kills.earlier().name, tmp_path / "run")
    folder = tmp_path / "run"
    out = folder / "out"
    (folder / "tmp").mkdir()
    assert kills.wrong_folder(folder, True) == []
    table, claim = (out / "anonymized.csv").read_bytes(), (out / "result.json").read_text()

    def seen(name: str, data: bytes | None) -> str:
        path = folder / name
        before = path.read_bytes() if path.exists() else None
        path.unlink() if data is None else path.write_bytes(data)
        found = kills.wrong_folder(folder, True)
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        return " ".join(found)

    assert "claims a table that is not there" in seen("out/anonymized.csv", None)
    assert "not about this table" in seen("out/anonymized.csv", (folder / "earlier.csv").read_bytes())
    assert "cut off" in seen("out/anonymized.csv", table[:-9])
    assert "cut off" in seen("out/result.json", claim[:-9].encode())
    stricter = json.loads(claim)
    stricter["problem"]["k"] = 50
    assert "not about this table" in seen("out/result.json", json.dumps(stricter).encode())
    assert "claims no table" in seen("out/result.json", json.dumps({**stricter, "verified": None}).encode())
    groups = (out / "groups.csv").read_text().splitlines()
    assert "groups.csv is not about" in seen("out/groups.csv", ("\n".join([groups[0], *groups[:0:-1]]) + "\n").encode())
    assert "stray" in seen("out/.anonymized.csv.12ab", b"x")
    assert "stray" in seen("bound.json.tmp", b"x")
    assert "temporary files of a solver" in seen("tmp/model.mps", b"x")
    proof = json.loads((folder / "bound.json").read_text())
    assert "not valid" in seen("bound.json", json.dumps({**proof, "bound": "100000"}).encode())
    assert seen("out/result.json", None) == ""  # nothing is claimed
    assert kills.wrong_folder(folder, True) == []


@pytest.mark.full
def test_jobs_that_die_or_hang_are_failures_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaign, "FRESH", 8.0)
    out = tmp_path / "rows" / "odd.jsonl"
    assert campaign.run(odd_jobs.work, 9, range(6), out, seconds=1) == 3
    rows = {row["number"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert sorted(rows) == list(range(6))
    assert "died with exit code 7" in rows[1]["failures"][0]
    assert "hangs" in rows[2]["failures"][0]
    assert "ValueError: 9" in rows[3]["traceback"]
    assert "3 FAILED" in capsys.readouterr().out


def test_mutations_are_the_same_for_a_seed_and_are_not_without_effect() -> None:
    table = [["age", "zip"], *([str(i), "x"] for i in range(6))]
    text = 'k = 2\n[data]\nfile = "a.csv"\n'
    changes: list[Callable[[Random], bytes]] = [
        lambda draw: changed_csv(table, draw),
        lambda draw: changed_model(text, draw),
    ]
    for change in changes:
        made = [change(Random(seed)) for seed in range(50)]
        assert made == [change(Random(seed)) for seed in range(50)]
        assert len(set(made)) > 30


@pytest.mark.parametrize("k", [2, 5])
def test_mondrian_of_the_toolbox_divides_the_rows_into_boxes_that_cannot_be_cut(k: int) -> None:
    draw = np.random.default_rng(SEED)
    values = np.column_stack([draw.integers(0, 40, 300), draw.integers(0, 3, 300), draw.integers(0, 9, 300)]).astype(
        float
    )
    table = table1.Table(values, np.array([True, False, False]))
    boxes = list(table1.mondrian(table, k))
    assert sorted(row for box in boxes for row in box.rows.tolist()) == list(range(300))
    for box in boxes:
        inside = values[box.rows]
        assert len(inside) >= k
        assert (box.low <= inside.min(0)).all()
        assert (inside.max(0) <= box.high).all()
        for column in inside.T:
            below = int((column <= sorted(column)[(len(column) + 1) // 2 - 1]).sum())
            assert min(below, len(column) - below) < k
    own, boxed = (table1.usefulness_of(table, boxes, as_boxes=flag) for flag in (False, True))
    assert 0 < own < boxed < 3


def test_the_two_halves_of_the_papers_table_are_of_different_rows() -> None:
    for greedy, mondrian in table1.PAPER.values():
        assert abs(greedy[1] * greedy[2] - 32_561) < greedy[1] * 0.0005 + 1
        assert abs(mondrian[1] * mondrian[2] - 30_162) < mondrian[1] * 0.0005 + 1


def test_usefulness_by_the_groups_values_is_that_of_the_package() -> None:
    draw = np.random.default_rng(SEED)
    values = np.column_stack([draw.integers(0, 40, 200), draw.integers(0, 4, 200)])
    frame = pl.DataFrame({"a": values[:, 0].astype(str), "b": [f"v{each}" for each in values[:, 1]]})
    table = table1.Table(values.astype(float), np.array([True, False]))
    boxes = list(table1.mondrian(table, 5))
    group = np.empty(200, dtype=np.int64)
    for number, box in enumerate(boxes):
        group[box.rows] = number
    released = pl.DataFrame({"a": group.astype(str), "b": ["*"] * 200})
    expected = float(usefulness(frame, released))
    assert table1.usefulness_of(table, boxes, as_boxes=False) == pytest.approx(expected)
