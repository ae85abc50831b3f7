"""The command on the page of a result that verifies it, where options state the problem."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from command_line import run, run_in
from places import LIBRARY
from result_pages import Read, page, small

import kanon_milp as km
from kanon_milp.problem.exact import in_words
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.result_page import result_page
from kanon_milp.studies.pages.wording import verify_command


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
    line, _ = verify_command(described(km.solve(km.Problem(table, km.KAnonymity(2, ["a"])))), "x.csv")
    assert line is not None
    assert line.endswith("--k-of a=2")
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
    html = result_page(told, None, (), title="t")
    assert "has a loss below 3.5, to whoever" in html
    assert "says nothing" not in html
    told["certificate"]["bound"] = "0"
    assert "A bound of 0 is true of every table and says nothing." in result_page(told, None, (), title="t")
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


@pytest.mark.parametrize(
    ("options", "how"),
    [
        (["--recoding", "microaggregation", "--standardize", "--cost", "l1"], "of standardized columns"),
        (["--recoding", "boxes", "--weight", "age=1/2"], "the interval or the set"),
        (["--risk", "1/3"], "k = 3 is the fewest for a risk of at most 1/3 (0.3333)"),
        (["--risk", "ema"], "k = 12 is the fewest for a risk of at most 0.09"),
        *(
            pytest.param(["--recoding", *options], how, marks=pytest.mark.full)
            for options, how in (
                (["microaggregation", "--center", "median"], "the median of their group; the cost is the sum"),
                (["microaggregation", "--center", "member", "--weight", "age=3"], "not standardized"),
                (["boxes", "--hierarchies", "trees"], "the lowest label of a hierarchy"),
            )
        ),
    ],
)
def test_the_printed_command_states_recodings_of_groups_and_risks(options: list[str], how: str, tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "age.csv").write_text("".join(f"{30 + i},{'<33' if i < 3 else '>=33'},*\n" for i in range(7)))
    lines = [f"{30 + i % 7},{i * i % 11}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["age,pay", *lines]) + "\n")
    asked = ["--data", "t.csv", "--qi", "age,pay", "--k", "2", *options]
    files = ["--out", "out", "--report", "page.html", "--certificate", "bound.json"]
    assert run_in(tmp_path, "solve", *asked, *files).returncode == 0
    _expect_verified(tmp_path, how)


def test_the_printed_command_and_the_files_name_the_population(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "30\n31\n31\n")
    (tmp_path / "all.csv").write_text("age\n" + "30\n31\n" * 3)
    asked = ["--data", "t.csv", "--qi", "age", "--journalist-risk", "1/3", "--population", "all.csv"]
    assert run_in(tmp_path, "solve", *asked, "--out", "out", "--report", "page.html").returncode == 0
    digest = hashlib.sha256((tmp_path / "all.csv").read_bytes()).hexdigest()
    _expect_verified(tmp_path, digest, "../t.csv, ../all.csv", "the journalist's, at most 1/3, is above that")


def _expect_verified(folder: Path, *said: str) -> None:
    """The command on the page says "verified" of the table in its folder, and the page says all of this."""
    text = Read((folder / "page.html").read_text()).text
    assert [each for each in said if each not in text] == []
    command = text[text.index("kanon-milp verify") : text.index("Run it in the folder")]
    checked = run_in(folder / "out", *shlex.split(command)[1:])
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_command_verifies_several_values_of_k_with_their_certificate(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": list("aabbccab"), "b": list("xyxyxyxx"), "c": list("uuuuvvvv")})
    frame.write_csv(tmp_path / "t.csv")
    table = km.read_table(tmp_path / "t.csv", quasi_identifiers=["a", "b", "c"])
    known = ["a", "b"]
    requirements = [km.KAnonymity(3), km.KAnonymity(2), km.KAnonymity(4, known), km.KAnonymity(3, known)]
    problem = km.Problem(table, requirements)
    result = km.solve(problem)
    assert isinstance(result.table, pl.DataFrame)
    result.table.write_csv(tmp_path / "a.csv")
    certificate = result.certify()
    (tmp_path / "c.json").write_text(json.dumps(certificate.as_dict()))
    line, _ = verify_command(described(result), str(tmp_path / "a.csv"), str(tmp_path / "c.json"))
    assert line is not None
    done = run(*shlex.split(line)[1:], "--json")
    assert done.returncode == 0, done.stderr
    for other, accepted in ([3, 1], True), ([2], False), ([4, 3], False):
        asked = [*map(km.KAnonymity, other), km.KAnonymity(4, known)]
        assert km.check_certificate(km.Problem(table, asked), certificate).valid is accepted


def test_a_refused_claim_is_said_as_other_numbers_are() -> None:
    frame = pl.DataFrame({"a": list("aabbb"), "b": list("xyxyx")})
    recoding = km.Suppression(weights={"a": "3/2", "b": "1/3"})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2), recoding)
    certificate = km.solve(problem).certify()
    raised = {**certificate.as_dict(), "bound": "7/2"}
    (said,) = km.check_certificate(problem, raised).problems
    assert said == f"the certificate claims 3.5; its multipliers prove {in_words(certificate.bound)}"
    assert in_words(certificate.bound) == "5/3 (1.667)"
