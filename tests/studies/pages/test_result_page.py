"""The report of a result: what it says, what it must not say, and as a file beside others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run
from places import LIBRARY
from result_pages import HOSTILE, SECRET, Read, page, small

import kanon_milp as km
from kanon_milp.studies.metrics import describe_release
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.result_page import binned
from kanon_milp.studies.pages.wording import marks, proof_sentence


def test_no_cell_is_shown_unless_a_sample_is_asked_for(tmp_path: Path) -> None:
    tree = {f"{SECRET}{i}": (f"{SECRET}{i}", f"{SECRET}-{i // 2}", "*") for i in range(4)}
    for recoding in (km.Suppression(), km.Hierarchies({"age": tree}), km.PatternMask([["*", "keep"], ["*", "*"]])):
        result = km.solve(small(["age", "job", "sick", "name"], recoding=recoding))
        assert SECRET not in page(result, tmp_path)
        assert SECRET not in json.dumps(described(result))
        html = page(result, tmp_path, sample=3)
        assert "The first 3 rows as released" in html
        assert html.count("<td>" + SECRET) >= 3
        assert f"{SECRET}7" not in html  # the identifying column is not released


def test_what_no_requirement_is_about_is_not_called_protected(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": list("aabb"), "sick": list("xyxy"), "paid": list("pqqp")})
    table = km.Table.from_frame(frame, ["age"], ["sick", "paid"])
    bare = Read(page(km.solve(km.Problem(table, km.KAnonymity(2))), tmp_path)).text
    assert "sensitive sick, paid: no requirement is about it" in bare
    both = [km.KAnonymity(2), km.PSensitivity(2, sensitive="sick")]
    shown = Read(page(km.solve(km.Problem(table, both)), tmp_path)).text
    assert "sensitive paid: no requirement is about it" in shown
    assert "sensitive sick: no" not in shown


def test_whatever_columns_are_called_is_text(tmp_path: Path) -> None:
    for name in HOSTILE:
        result = km.solve(small([name, "job", f"{name}2", f"{name}3"]))
        read = Read(page(result, tmp_path, sample=2, title=name))
        assert read.elements.count("script") == 1
        assert {"img", "b"}.isdisjoint(read.elements)
        assert not any(key.startswith("on") for key, _ in read.attributes)
        assert "\u202e" not in read.text
    assert HOSTILE[0] in Read(page(km.solve(small([HOSTILE[0], "b", "c", "d"])), tmp_path)).text


def test_a_page_asks_for_nothing_and_runs_only_its_own_script(tmp_path: Path) -> None:
    html = page(km.solve(small(["a", "b", "c", "d"])), tmp_path)
    read = Read(html)
    links = [value or "" for key, value in read.attributes if key in ("href", "src", "action", "srcset", "data")]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "url(" not in html.replace("url(#", "")
    policy = next(value for key, value in read.attributes if key == "content" and "default-src" in (value or ""))
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_headings_captions_and_names_for_who_cannot_see(tmp_path: Path) -> None:
    html = page(km.solve(small(["a", "b", "c", "d"])), tmp_path)
    read = Read(html)
    assert read.elements.count("h1") == 1
    assert read.elements.count("table") == read.elements.count("caption")
    pictures = [part.split(">")[0] for part in html.split("<svg")[1:]]
    assert len(pictures) > 10
    assert all("aria-label=" in each or "aria-hidden" in each for each in pictures)
    assert 'lang="en"' in html
    ids = [value for key, value in read.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    assert {f"#{each}" for each in ids} >= {value for key, value in read.attributes if key == "href"}


def test_measures_agree_with_what_was_released() -> None:
    problem = km.read_model(LIBRARY / "hospital_hierarchies.toml").problem
    result = km.solve(problem)
    found = describe_release(problem, result.table, result.report)
    measured = km.measure(problem, result.table)
    assert found["quality"] == measured.as_dict()
    assert found["risk"]["after"]["highest"] == pytest.approx(float(measured.risk_highest))
    assert found["risk"]["after"]["average"] == pytest.approx(float(measured.risk_average))
    assert found["risk"]["before"] == {
        **{"highest": 1.0, "average": 1.0, "journalist": 1.0, "marketer": 1.0},
        **{"unique_rows": 10, "rows_below_k": 10, "suppressed_rows": 0, "rows": 10},
        **{"groups": 10, "smallest": 1},
    }
    assert result.report is not None
    assert sum(each["suppressed"] for each in found["columns"]) == result.report.suppressed_cells
    assert any(each["generalized"] for each in found["columns"])
    for each in found["columns"]:
        assert each["kept"] + each["generalized"] + each["suppressed"] == 10
        counted = [*each["largest_values"], each["other_values"]]
        assert sum(rows for rows, _ in counted) == 10
        assert sum(kept for _, kept in counted) == each["kept"]
    assert sum(size * groups for size, groups in found["group_sizes"]) == 10
    assert found["sensitive"][0]["name"] == "disease"


def test_rare_values_are_counted_together() -> None:
    frame = pl.DataFrame({"a": [str(i) for i in range(60)] * 2})
    problem = km.Problem(km.Table.from_frame(frame, "a"), km.KAnonymity(2))
    column = describe_release(problem, frame, None)["columns"][0]
    assert len(column["largest_values"]) == 24
    assert column["other_values"] == [72, 72]
    assert column["values_before"] == 60


def test_group_sizes_in_ranges() -> None:
    assert binned([(3, 5), (5, 1)]) == [("3", 5), ("4", 0), ("5", 1)]
    sizes = [(2, 100), (3, 10), (900, 2), (1000, 1)]
    bars = binned(sizes)
    assert len(bars) < 30
    assert sum(groups for _, groups in bars) == 113
    assert bars[0] == ("2", 100)


PROVEN = {
    "problem": {"objective": "loss"},
    **{"verified": True, "proof": "optimal", "proof_backed_by": ["solver", "second look"], "message": ""},
    **{"objective": 54, "bound": 54, "gap": 0.0, "stop_reason": "optimal"},
}


@pytest.mark.parametrize(
    ("change", "part", "words"),
    [
        ({}, "54 is proven to be the best possible", ["verified", "proven optimal"]),
        (
            {"proof": "bound", "bound": 27, "gap": 0.5},
            "below 27, so at most 50.00 % of it",
            ["verified", "bound proven"],
        ),
        ({"proof": "none", "bound": None, "gap": None}, "nothing is proven", ["verified", "nothing proven"]),
        ({"proof": "infeasible", "verified": None}, "no table meets these requirements", ["proven infeasible"]),
        ({"proof": "bound", "verified": None}, "No table was found (optimal); it is proven", ["bound proven"]),
        ({"verified": ["row 3"]}, "must not be released", ["refused by the verifier"]),
        ({"problem": {"objective": "max_groups"}}, "has a larger one", ["verified", "proven optimal"]),
    ],
)
def test_the_proof_in_one_sentence(change: dict[str, Any], part: str, words: list[str]) -> None:
    assert part in proof_sentence({**PROVEN, **change})
    assert [word for word, _ in marks({**PROVEN, **change})] == words


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
