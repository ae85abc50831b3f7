"""The recoding of an earlier result for another table: against all groups tried one by one, and from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from command_line import run
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km

TREE = {
    "1": ("1", "1-2", "1-4", "*"),
    "2": ("2", "1-2", "1-4", "*"),
    "3": ("3", "3-4", "1-4", "*"),
    "4": ("4", "3-4", "1-4", "*"),
}
Rows = list[tuple[str, str, str]]
old_rows = st.lists(st.tuples(*map(st.sampled_from, ("1234", "xy", "st"))), min_size=4, max_size=12)
new_rows = st.lists(st.tuples(*map(st.sampled_from, ("12345", "xyz", "st"))), min_size=1, max_size=12)


def table(rows: Rows) -> km.Table:
    return km.Table.from_frame(pl.DataFrame(rows, schema=["age", "zip", "ill"], orient="row"), ["age", "zip"], "ill")


def holds(released: tuple[str, str], row: tuple[str, str, str]) -> bool:
    """Whether a released row stands for this one; the fully suppressed one stands for nobody in another table."""
    of_age = released[0] in TREE.get(row[0], ())
    return released != ("*", "*") and of_age and released[1] in (row[1], "*")


@given(old_rows, new_rows, st.booleans(), st.booleans(), st.sampled_from(["strict", "exempt"]))
@settings(max_examples=examples(150, 4))
def test_rows_that_would_break_are_told_and_suppressed(
    old: Rows, new: Rows, diverse: bool, full_domain: bool, reading: Any
) -> None:
    privacy: list[km.Requirement] = [km.KAnonymity(2), *([km.PSensitivity(2)] if diverse else [])]
    if diverse and min(len({row[2] for row in each}) for each in (old, new)) < 2:
        return
    problem = km.Problem(table(old), privacy, km.Hierarchies({"age": TREE}), suppressed_rows=reading)
    result = km.solve(problem, method="full_domain" if full_domain else "auto")
    if result.table is None:
        return
    frame = pl.DataFrame(new, schema=["age", "zip", "ill"], orient="row")
    told = km.apply(result, frame)
    done = km.apply(result, frame, suppress=True)
    reasons = {row - 1: reason for row, reason in told.breaking.rows()}
    assert done.breaking.equals(told.breaking)
    released = set(pl.DataFrame(result.table).select("age", "zip").rows())
    for i, row in enumerate(new):
        if row[0] == "5":
            assert reasons[i] == "no label"
        elif not full_domain:
            assert (reasons.get(i) == "no group") == (not any(holds(each, row) for each in released))
    if reasons:
        assert (told.table, told.verified) == (None, False)
    if done.table is None:
        assert len(new) < 2
        return
    assert done.verified
    found = pl.DataFrame(done.table)
    gone = [i for i, row in enumerate(found.select("age", "zip").rows()) if row == ("*", "*")]
    assert set(reasons) <= set(gone)
    assert done.suppressed >= len(reasons)
    groups: dict[Any, list[str]] = {}
    for after, before in zip(found.select("age", "zip").rows(), new, strict=True):
        groups.setdefault(after, []).append(before[2])
        if after != ("*", "*"):
            assert holds(after, before)
            assert full_domain or after in released
    for after, values in groups.items():
        exempt = reading == "exempt" and after == ("*", "*")
        assert exempt or len(values) >= 2
        assert not diverse or len(set(values)) > 1


def test_the_same_table_needs_no_suppression() -> None:
    """Its rows fit the groups again, though a row may go to another one."""
    rows = [(str(1 + i % 4), "xy"[i // 2 % 2], "st"[i // 3 % 2]) for i in range(24)]
    result = km.solve(km.Problem(table(rows), km.KAnonymity(4), km.Hierarchies({"age": TREE}))).require_optimal()
    again = km.apply(result, pd.DataFrame(rows, columns=["age", "zip", "ill"]))
    assert again.verified
    assert not len(again.breaking)
    assert isinstance(again.table, pd.DataFrame)


JUNE = "age;zip;job;ill;name\n" + "".join(
    f"{20 + 7 * i % 60};{13000 + 10 * (i % 5)};{('nurse', 'cook')[i % 2]};{'abc'[i % 3]};n{i}\n" for i in range(40)
)
JULY = "age;zip;job;ill;name\n" + "".join(
    f"{18 + 5 * i % 70};{13000 + 10 * (i % 5)};{('nurse', 'cook', 'pilot')[i % 13 // 6]};{'abc'[i % 3]};m{i}\n"
    for i in range(30)
)


@pytest.mark.parametrize("method", ["greedy", "full_domain"])
def test_next_month_from_the_folder_of_a_result(tmp_path: Path, method: str) -> None:
    june, july, out = tmp_path / "june.csv", tmp_path / "july.csv", tmp_path / "out"
    june.write_text(JUNE)
    july.write_text(JULY)
    (tmp_path / "h").mkdir()
    (tmp_path / "h/job.csv").write_text("level0,level1\nnurse,*\ncook,*\n")
    asked = ["--data", str(june), "--qi", "age,zip,job", "--sensitive", "ill", "--identifying", "name", "--k", "3"]
    rules = ["--quantiles", "age=8,2", "--prefix", "zip=3", "--hierarchies", str(tmp_path / "h")]
    assert run("solve", *asked, *rules, "--method", method, "--out", str(out)).returncode == 4
    told = run("apply", str(out), str(july), "--out", str(tmp_path / "told"))
    assert told.returncode == 6, told.stderr
    assert "no table was released" in told.stdout
    assert sorted(path.name for path in (tmp_path / "told").iterdir()) == ["applied.json", "breaking.csv"]
    reasons = pl.read_csv(tmp_path / "told/breaking.csv")
    pilots = [i for i in range(30) if i % 13 == 12]
    assert reasons.filter(pl.col("reason") == "no label")["row"].to_list() == [i + 1 for i in pilots]
    done = run("apply", str(out), str(july), "--suppress", "--json", "--out", str(tmp_path / "new"))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == json.loads((tmp_path / "new/applied.json").read_text())
    assert said["verified"] is True
    released = pl.read_csv(tmp_path / "new/anonymized.csv", separator=";")
    assert (released.height, "name" in released.columns) == (30, False)
    alone = run("verify", str(tmp_path / "new/anonymized.csv"), "--qi", "age,zip,job", "--sensitive", "ill", "--k", "3")
    assert alone.returncode == 0, alone.stdout
    labels = set(pl.read_csv(out / "anonymized.csv", separator=";")["age"]) | {"*"}
    assert method != "greedy" or set(released["age"]) <= labels  # cuts of June, not of July


def test_what_cannot_be_applied_is_told(tmp_path: Path) -> None:
    june, out = tmp_path / "june.csv", tmp_path / "out"
    june.write_text(JUNE)
    asked = ["--data", str(june), "--qi", "age,zip", "--sensitive", "ill", "--keep", "job,name", "--k", "3"]
    assert run("solve", *asked, "--method", "greedy", "--out", str(out)).returncode == 4
    assert run("apply", str(out), str(june), "--out", str(out)).returncode == 2  # another result is there
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("age;job\n1;x\n")
    assert 'no column "zip"' in run("apply", str(out), str(lacking)).stderr
    assert run("apply", str(tmp_path), str(june)).returncode == 2
    (out / "anonymized.csv").write_text("age;zip;job;ill;name\n")
    changed = run("apply", str(out), str(june))
    assert (changed.returncode, "not the one" in changed.stderr) == (2, True)


def test_what_a_mask_forbids_is_no_table() -> None:
    """Rows that would have to be suppressed, under a mask that does not allow it."""
    table = km.Table.from_frame(pl.DataFrame({"a": list("1122"), "b": list("xxyy")}), ["a", "b"])
    earlier = km.solve(km.Problem(table, km.KAnonymity(2), km.PatternMask([(0, 0), (0, 1)])))
    found = km.apply(earlier, pl.DataFrame({"a": ["1", "3"], "b": ["x", "z"]}), suppress=True)
    assert found.table is None
    assert not found.verified
    assert found.lines[-1].startswith("no table was released: ")
