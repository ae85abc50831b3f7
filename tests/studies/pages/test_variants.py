"""Results side by side on one page, and rows before and after, held against the tables themselves."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from command_line import run
from result_pages import SECRET, Read, page, small

import kanon_milp as km


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and in k2 and k4 what was released of it."""
    here = tmp_path_factory.mktemp("variants")
    lines = [f"{100 + i // 3},{20 + 7 * i % 40},{'xyz'[i % 3]}" for i in range(12)]
    (here / "people.csv").write_text("\n".join(["zip,age,sick", *lines]) + "\n")
    for k in (2, 4):
        table = km.read_table(here / "people.csv", ["zip", "age"], "sick")
        tree = km.Hierarchy.intervals(table.column("age"), ["10", "20"], source='people.csv: column "age"')
        problem = km.Problem(table, km.KAnonymity(k), km.Hierarchies({"age": tree}))
        km.write_result(km.solve(problem), here / f"k{k}")
    return here


def test_two_variants_stand_side_by_side(folders: Path) -> None:
    done = run("report", folders / "k2", folders / "k4", "--author", "The registry")
    assert done.returncode == 0
    text = Read((folders / "k4" / "variants.html").read_text()).text
    assert "asked for by The registry" in text
    differ, alike = text[text.index("Where the variants differ") : text.rindex("Risk and loss")].split("Alike in all")
    assert "at least 1 other" in differ
    assert "at least 3 others" in differ
    assert "quasi-identifiers zip, age" in alike
    measured = text[text.index("Measured on") :]
    for k in (2, 4):
        released = pl.read_csv(folders / f"k{k}" / "anonymized.csv", infer_schema=False)
        smallest = min(released.group_by("zip", "age").len()["len"])
        assert f"at least {smallest} rows that look the same" in text
        stars = sum((released[name] == "*").sum() for name in ("zip", "age"))
        assert f"{100 * stars / 24:.1f} %" in measured
    assert "different tables" not in text


def test_variants_that_can_hardly_be_compared_are_named(tmp_path: Path) -> None:
    first = small(["age", "job", "sick", "name"])
    dearer = small(["age", "job", "sick", "name"], recoding=km.Suppression({"age": 2}))
    told = page({"cheap": km.solve(first), "dear": km.solve(dearer)}, tmp_path)
    text = Read(told).text
    assert "losses are in different units" in text
    other = km.Problem(km.Table.from_frame(pl.DataFrame({"age": ["1", "1"]}), "age"), km.KAnonymity(2))
    both = page({"one": km.solve(first), "other": km.solve(other)}, tmp_path)
    assert "may be about different tables" in both
    assert "The quasi-identifiers differ" in both
    assert SECRET not in told
    with pytest.raises(km.InputError, match="two results or more"):
        page({"cheap": km.solve(first)}, tmp_path)
    with pytest.raises(km.InputError, match="for one result"):
        page({"a": km.solve(first), "b": km.solve(first)}, tmp_path, sample=1)


def test_a_folder_is_not_compared_with_itself(folders: Path, tmp_path: Path) -> None:
    done = run("report", folders / "k2", folders / "k2")
    assert done.returncode == 2
    assert "named twice" in done.stderr
    assert run("report", folders / "k2", folders / "k4", "--sample", "2").returncode == 2
    other = shutil.copytree(folders / "k2", tmp_path / "other")
    (other / "anonymized.csv").write_text("zip,age,sick\n")
    done = run("report", folders / "k4", other)
    assert done.returncode == 6
    assert (other / "variants.html").exists()


def test_rows_before_and_after_are_those_of_the_tables(folders: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("report", folders / "k4", "--before-after", "2", "--to", page).returncode == 0
    before, after = (pl.read_csv(folders / path, infer_schema=False) for path in ("people.csv", "k4/anonymized.csv"))
    groups = pl.read_csv(folders / "k4" / "groups.csv")["group"].to_list()
    first = list(dict.fromkeys(groups))[:2]
    rows = [at for number in first for at in [i for i, each in enumerate(groups) if each == number][:3]]
    html = page.read_text()
    part = html[html.index('<h2 id="before-and-after">') : html.index('<h2 id="how-to-verify">')]
    told = []
    for at in rows:
        for name in ("zip", "age"):
            old, new = before[name][at], after[name][at]
            told.append((old, "") if old == new else (old, new))
    shown = re.findall(r"<td><del>(.*?)</del> <ins class=\"\w+\">(.*?)</ins></td>|<td>([^<]*)</td>", part)
    assert [(kept or old, new) for old, new, kept in shown] == told
    assert any(new == "*" for _, new in told)
    assert "sick" not in Read(part).text


def test_rows_before_are_not_read_from_another_table(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age\n1\n1\n")
    asked = ("solve", "--data", table, "--qi", "age", "--k", "2", "--report-author", "The owner")
    assert "--report-author is for the page of --report" in run(*asked).stderr
    page = ("--report", tmp_path / "page.html", "--report-before-after", "1")
    assert run(*asked, "--out", tmp_path / "out", *page).returncode == 0
    text = Read((tmp_path / "page.html").read_text()).text
    assert "asked for by The owner" in text
    assert "Before and after" in text
    table.write_text("age\n1\n2\n")
    done = run("report", tmp_path / "out", "--before-after", "2")
    assert done.returncode == 2
    assert "people.csv is CHANGED" in done.stderr


def test_no_row_before_is_shown_unless_it_is_asked_for(tmp_path: Path) -> None:
    result = km.solve(small(["age", "job", "sick", "name"]))
    assert SECRET not in page(result, tmp_path)
    html = page(result, tmp_path, before_after=1)
    assert "Rows of the first 1 group" in Read(html).text.replace("\n", " ").replace("  ", " ")
    assert SECRET in html


def test_the_steps_of_the_guidance_tell_what_was_measured(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": ["a"] * 12 + ["b"] * 11, "code": [str(i) for i in range(23)]})
    for k, verdict in ((11, "1/11, is above that"), (12, "1/23, is at most that")):
        table = km.Table.from_frame(frame, ["age"], identifying="code")
        text = Read(page(km.solve(km.Problem(table, km.KAnonymity(k))), tmp_path)).text
        assert verdict in text
        assert "Direct identifiers, removed: code." in text
