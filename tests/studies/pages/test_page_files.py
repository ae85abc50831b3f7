"""The page of a result as a file: with `solve`, and of a folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run
from places import LIBRARY
from result_pages import Read, page, small

import kanon_milp as km


def test_solve_writes_the_page_with_hashes(tmp_path: Path) -> None:
    target = tmp_path / "out" / "page.html"
    done = run("solve", LIBRARY / "hospital.toml", "--out", tmp_path / "out", "--report", target, "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    html, found = target.read_text(), json.loads((tmp_path / "out" / "result.json").read_text())
    for digest in (*found["sha256"].values(), found["input"]["table"]["sha256"], found["input"]["model"]["sha256"]):
        assert digest in html
    assert "kanon-milp verify anonymized.csv --model hospital<" in html
    assert "Run it in the folder of this result, out, where result.json is" in html
    assert "What was read" not in html
    assert "Viral Infection" not in html


def test_solve_shows_rows_only_when_asked(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = run("solve", LIBRARY / "hospital.toml", "--report", target, "--report-sample", 4, "-q")
    assert done.returncode == 0
    assert "The first 4 rows as released" in target.read_text()
    assert "Viral Infection" in target.read_text()
    done = run("solve", LIBRARY / "hospital.toml", "--report-sample", 4, "-q")
    assert done.returncode == 2
    assert "--report-sample is for the page" in done.stderr


def test_the_page_takes_the_place_of_no_other_file(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n1\n")
    done = run("solve", "--data", table, "--qi", "a", "--k", 2, "--report", table)
    assert done.returncode == 2
    assert "is a file that is read" in done.stderr
    done = run("solve", "--data", table, "--qi", "a", "--k", 2, "--report", tmp_path / "none" / "page.html")
    assert done.returncode == 2
    assert table.read_text() == "a\n1\n1\n"


def test_infeasible_and_unfinished_have_a_page_too(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = run("solve", LIBRARY / "hospital_infeasible.toml", "--report", target, "--quiet")
    assert done.returncode == 3
    read = Read(target.read_text())
    assert "It is proven that no table meets these requirements" in read.text
    assert "Loss by column" not in read.text
    result = km.solve(small(["a", "b", "c", "d"]))
    missing = replace(result, table=None, placed=None, report=None, exact_objective=None, proof="none", trajectory=())
    assert "No table was found" in page(missing, tmp_path)


def test_report_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert run("solve", LIBRARY / "hospital.toml", "--out", folder, "-q").returncode == 0
    done = run("report", folder)
    assert (done.returncode, done.stdout) == (0, f"written to {folder / 'report.html'}\n")
    html = (folder / "report.html").read_text()
    assert html.count(">unchanged<") == 4  # model, table, anonymized.csv, groups.csv
    assert '<li class="good">verified</li>' in html
    assert "Viral Infection" not in html
    assert run("report", folder, "--to", tmp_path / "other.html", "--sample", 2, "-q").returncode == 0
    assert "The first 2 rows as released" in (tmp_path / "other.html").read_text()
    (folder / "groups.csv").write_text("row,group\n")
    done = run("report", folder, "-q")
    assert done.returncode == 6
    assert "groups.csv is not the file" in done.stderr
    html = (folder / "report.html").read_text()
    assert "CHANGED" in html
    # what was verified is not what is there
    assert '<li class="bad">files have changed</li>' in html
    assert '<li class="good">' not in html
    assert "groups.csv is not as written" in html
    (folder / "groups.csv").unlink()
    assert run("report", folder, "-q").returncode == 6
    assert "not found" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("{", "not JSON"),
        ("{}", "not as solve"),
        ("[]", "not as solve"),
        ('{"input": 1}', "not as"),
    ],
)
def test_a_folder_without_a_result_is_refused(content: str | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    done = run("report", tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_result_of_before_there_were_measures_has_a_page(tmp_path: Path) -> None:
    assert run("solve", LIBRARY / "hospital.toml", "--out", tmp_path, "-q").returncode == 0
    found = json.loads((tmp_path / "result.json").read_text())
    del found["measures"]
    (tmp_path / "result.json").write_text(json.dumps(found))
    assert run("report", tmp_path, "-q").returncode == 0
    assert "How to verify" in (tmp_path / "report.html").read_text()


def test_arguments_are_checked(tmp_path: Path) -> None:
    result = km.solve(small(["a", "b", "c", "d"]))
    with pytest.raises(km.InputError, match="takes a Result"):
        km.write_report(result.problem, tmp_path / "x.html")  # type: ignore[arg-type]
    with pytest.raises(km.InputError, match="sample"):
        km.write_report(result, tmp_path / "x.html", sample=-1)
    with pytest.raises(km.InputError, match="is a folder"):
        km.write_report(result, tmp_path)
