"""The report of a result: what it says, what it must not say, and that what it tells to type works."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run, run_in
from places import LIBRARY

import kanon_milp as km
from kanon_milp.report.measures import describe_release
from kanon_milp.report.output import described
from kanon_milp.report.pages.measures_part import binned
from kanon_milp.report.pages.result_page import result_page
from kanon_milp.report.pages.verify_command import verify_command
from kanon_milp.report.pages.wording import marks, proof_sentence

SECRET = "Wilhelmina"
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\u202eb", "</style><b>&amp;'", "line\nend"]


class Read(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text += data


def small(names: list[str], **roles: Any) -> km.Problem:
    """Two columns to change, one sensitive, one that identifies; every cell has the secret in it."""
    first, second, sick, person = names
    frame = pl.DataFrame(
        {
            first: [f"{SECRET}{i // 2}" for i in range(8)],
            second: [f"{SECRET}{i % 3}" for i in range(8)],
            sick: [f"{SECRET}{i % 2}" for i in range(8)],
            person: [f"{SECRET}{i}" for i in range(8)],
        }
    )
    table = km.Table.from_frame(frame, [first, second], sick, identifying=person)
    return km.Problem(table, [km.KAnonymity(2), km.LDiversity(2)], **roles)


def page(result: km.Result, folder: Path, **given: Any) -> str:
    target = folder / "report.html"
    km.write_report(result, target, **given)
    return target.read_text(encoding="utf-8")


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
        **{"unique_rows": 10, "rows_below_k": 10, "rows": 10},
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


@pytest.mark.parametrize(
    "model",
    [
        *(
            "hospital",
            "hospital_hierarchies",
            "hospital_mask",
            "hospital_l_diversity",
            "hospital_beta",
            "hospital_delta",
        ),
        *("hospital_t_matrix", "hospital_t_hierarchical", "hospital_t_numeric", "hospital_l_fraction"),
        *("hospital_p_sensitivity", "hospital_combined", "hospital_t_three_tenths"),
    ],
)
def test_the_command_that_verifies_does(model: str, tmp_path: Path) -> None:
    solved = run("solve", LIBRARY / f"{model}.toml", "--out", tmp_path / "out", "--json")
    assert solved.returncode == 0
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    released = tmp_path / "out" / "anonymized.csv"
    line, _ = verify_command(found, str(released))
    found["input"]["model"] = None  # what options say without the model file
    stated, _ = verify_command(found, str(released))
    assert line is not None
    assert stated is not None
    assert "--model" in line
    assert "--original" in stated
    before = released.read_text()
    for command in (line, stated):
        program, *words = shlex.split(command)
        assert program == "kanon-milp"
        released.write_text(before)
        done = run(*words, "--json")
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["privacy"]) == len(found["problem"]["requirements"])
        released.write_text(before.replace("*", "x", 1))
        assert run(*words, "--quiet").returncode == 6


def test_names_with_commas_and_quotes_are_typed_so_that_they_are_read(tmp_path: Path) -> None:
    names = ["a, b", "it's", 'say "x"', "$HOME"]
    frame = pl.DataFrame({name: ["1", "1", "2"] for name in names})
    frame.write_csv(tmp_path / "my table.tsv", separator="|")
    problem = km.Problem(
        km.read_table(tmp_path / "my table.tsv", names[:2], names[2], keep=names[3], delimiter="|", symbol="?"),
        [km.KAnonymity(2), km.KAnonymity(3)],
        km.Suppression({"a, b": "1/2"}),
        suppressed_rows="exempt",
    )
    result = km.solve(problem)
    pl.DataFrame(result.table).write_csv(tmp_path / "released.csv", separator="|")
    line, _ = verify_command(described(result), str(tmp_path / "released.csv"))
    assert line is not None
    done = run(*shlex.split(line)[1:], "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["suppressed_rows"] == "exempt"


def test_what_the_command_line_cannot_state_is_said(tmp_path: Path) -> None:
    def why(problem: km.Problem) -> str:
        line, reason = verify_command(described(km.solve(problem)), "x.csv")
        assert line is None
        return reason

    assert "not read from a file" in why(small(["a", "b", "c", "d"]))
    path = tmp_path / "t.csv"
    pl.DataFrame({name: ["1", "1", "2", "2"] for name in "abcd"}).write_csv(path)
    table = km.read_table(path, ["a", "b"], ["c", "d"])
    assert "some of the sensitive attributes" in why(km.Problem(table, km.PSensitivity(1, sensitive="c")))
    assert "no option" in why(km.Problem(table, km.KAnonymity(2, ["a"])))
    assert "no option" in why(km.Problem(table, km.DeltaDisclosure(3, log="base2", sensitive="c")))
    assert "no option" in why(km.Problem(table, km.AlphaKAnonymity(1, 2, sensitive="c", values=["1"])))
    both = [km.LDiversity(1, sensitive="c"), km.LDiversity(2, sensitive="d")]
    assert "several values of --l " in why(km.Problem(table, both))
    line, _ = verify_command(described(km.solve(km.Problem(table, km.AlphaKAnonymity("1/2", 2)))), "x.csv")
    assert line is not None
    assert line.endswith("--sensitive c,d --alpha 1/2 --k 2")
    assert "mask was not read" in why(km.Problem(table, km.KAnonymity(1), km.PatternMask([["*", "*"]])))
    tree = {"1": ("1", "*"), "2": ("2", "*")}
    assert "hierarchies were not read" in why(km.Problem(table, km.KAnonymity(1), km.Hierarchies({"a": tree})))
    html = page(km.solve(small(["a", "b", "c", "d"])), tmp_path)
    assert "km.verify(problem, released)" in html


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
    assert "--report-sample is about the page" in done.stderr


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
    missing = replace(result, table=None, groups=None, report=None, exact_objective=None, proof="none", trajectory=())
    assert "No table was found" in page(missing, tmp_path)


def test_report_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert run("solve", LIBRARY / "hospital.toml", "--out", folder, "-q").returncode == 0
    done = run("report", folder)
    assert (done.returncode, done.stdout) == (0, f"written to {folder / 'report.html'}\n")
    html = (folder / "report.html").read_text()
    assert html.count("unchanged") == 4  # model, table, anonymized.csv, groups.csv
    assert "Viral Infection" not in html
    assert run("report", folder, "--to", tmp_path / "other.html", "--sample", 2, "-q").returncode == 0
    assert "The first 2 rows as released" in (tmp_path / "other.html").read_text()
    (folder / "groups.csv").write_text("row,group\n")
    done = run("report", folder, "-q")
    assert done.returncode == 6
    assert "groups.csv is not the file" in done.stderr
    assert "CHANGED" in (folder / "report.html").read_text()
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


def test_a_certificate_that_was_asked_for_is_named_with_its_bound_and_its_check(tmp_path: Path) -> None:
    table, proof, target = tmp_path / "people.csv", tmp_path / "bound.json", tmp_path / "report.html"
    table.write_text("zip,age\n101,31\n101,32\n102,31\n102,32\n")
    asked = ("solve", "--data", table, "--qi", "zip,age", "--k", "2", "--out", tmp_path / "out", "--report", target)
    assert run(*asked).returncode == 0
    assert "The certificate" not in target.read_text()
    assert run(*asked, "--certificate", proof).returncode == 0
    digest = hashlib.sha256(proof.read_bytes()).hexdigest()
    claim = json.loads((tmp_path / "out" / "result.json").read_text())["certificate"]
    assert claim == {"file": str(proof), "sha256": digest, "bound": json.loads(proof.read_text())["bound"]}
    again = tmp_path / "again.html"
    assert run("report", tmp_path / "out", "--to", again).returncode == 0
    for written in (target, again):
        text = Read(written.read_text()).text
        assert f"The certificate {proof} proves that no table" in text
        assert f"has a loss below {claim['bound']}, to whoever" in text
        assert digest in text
        (line,) = [line for line in text.splitlines() if "kanon-milp verify" in line]
        command = line[line.index("kanon-milp verify") :].partition(f"{proof}")
        checked = run_in(tmp_path / "out", *shlex.split(command[0] + command[1])[1:])
        assert checked.returncode == 0, checked.stderr
        assert "verified" in checked.stdout
    assert "unchanged" in Read(again.read_text()).text


def test_without_a_table_the_certificate_is_checked_alone(tmp_path: Path) -> None:
    result = km.solve(small(["age", "job", "sick", "name"]))
    told = {**described(result), "verified": None, "measures": None}
    told["certificate"] = {"file": "bound.json", "sha256": "0" * 64, "bound": "7/2"}
    told["input"]["table"]["file"] = "people.csv"
    line, _ = verify_command(told, None, "bound.json")
    assert line is not None
    assert line.startswith("kanon-milp verify --original people.csv")
    assert line.endswith("--certificate bound.json")
    html = result_page(told, title="t", anonymized=None, files=())
    assert "has a loss below 3.5, to whoever" in html
    assert line in Read(html).text


def test_the_command_names_hierarchies_that_were_made_by_options(tmp_path: Path) -> None:
    table, out = tmp_path / "people.csv", tmp_path / "out"
    lines = [f"0{100 + i},{30 + i % 9},2024-0{1 + i % 4}-11,{i * 7}" for i in range(12)]
    table.write_text("\n".join(["zip,age,born,pay", *lines]) + "\n")
    levels = ("--numeric", "age=2.5,5", "--prefix", "zip=2,1", "--dates", "born=month,year", "--quantiles", "pay=4,2")
    asked = ("solve", "--data", table, "--qi", "zip,age,born,pay", "--k", "3", "--method", "greedy", *levels)
    assert run(*asked, "--out", out).returncode == 4
    told = json.loads((out / "result.json").read_text())
    line, _ = verify_command(told, str(out / "anonymized.csv"))
    assert line is not None
    words = shlex.split(line)
    assert words[words.index("--numeric") : words.index("--numeric") + 2] == ["--numeric", "age=2.5,5"]
    checked = run(*words[1:], "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["cost"] == told["objective"]
    told["input"]["hierarchies"]["age"]["source"] = 'a table: column "age" (widths 2; origin 1)'
    assert verify_command(told, "a.csv")[0] is None
