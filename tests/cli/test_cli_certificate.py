"""Options, readings, methods and certificates on the command line, and how it ends when it is asked to."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import run
from rich.console import Console

import kanon_milp as km
from kanon_milp import bounds
from kanon_milp.bounds import Certificate
from kanon_milp.cli.studies import have_run
from kanon_milp.methods import progress
from kanon_milp.studies import display

TABLE = "zip,age,job\n" + "".join(f"{z},{a},{'x' if a % 2 else 'y'}\n" for z in (101, 102) for a in (31, 32, 33))
QI = "zip,age,job"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


def certified(table: Path, *more: str) -> Path:
    proof = table.parent / "proofs" / "bound.json"
    proof.parent.mkdir(exist_ok=True)
    out = str(table.parent / "out")
    done = run("solve", "--data", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof), "--out", out, *more)
    assert done.returncode == 0, done.stderr
    return proof


@pytest.mark.parametrize("method", ["milp", "search"])
def test_a_certificate_is_written_and_accepted(table: Path, method: str) -> None:
    proof = certified(table, "--method", method)
    result = json.loads((table.parent / "out" / "result.json").read_text())
    assert result["solver"]["method"] == method
    done = run("verify", "--original", str(table), "--certificate", str(proof))
    assert done.returncode == 0
    assert "no 2-anonymous table suppresses fewer than" in done.stdout
    released = str(table.parent / "out" / "anonymized.csv")
    both = run(
        "verify", released, "--original", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof), "--json"
    )
    assert both.returncode == 0
    read = json.loads(both.stdout)
    assert read["certificate"]["valid"] is True
    assert float(read["certificate"]["bound"]) <= result["bound"]
    assert [path.name for path in proof.parent.iterdir()] == ["bound.json"]


def test_a_refusal_is_an_error_that_quiet_does_not_hide(table: Path) -> None:
    proof = certified(table)
    proof.write_text(proof.read_text().replace('"bound": "', '"bound": "9'))
    released = table.parent / "out" / "anonymized.csv"
    released.write_text(TABLE)
    asked = ("verify", str(released), "--original", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof))
    done = run(*asked, "--quiet")
    assert (done.returncode, done.stdout) == (6, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("error: NOT verified: 1 violation")
    assert second.startswith("error: certificate: NOT VALID")
    silent = run("verify", str(table), "--original", str(table), "--qi", QI, "--k", "1", "--quiet")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")


@pytest.mark.parametrize(("rows", "code", "proof"), [(6, 0, "optimal"), (40, 4, "bound")])
def test_a_method_without_a_proof_takes_that_of_its_certificate(table: Path, rows: int, code: int, proof: str) -> None:
    if rows > 6:
        lines = "".join(f"{i * i % 5},{i * 5 % 7},{i * 3 % 4}\n" for i in range(rows))
        table.write_text("zip,age,job\n" + lines)
    path = table.parent / "bound.json"
    common = ("solve", "--data", str(table), "--qi", QI, "--k", "3", "--method", "greedy", "--certificate", str(path))
    done = run(*common, "--json")
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    checked = run("verify", "--original", str(table), "--certificate", str(path), "--json")
    assert checked.returncode == 0
    assert float(json.loads(checked.stdout)["certificate"]["bound"]) == found["bound"] <= found["objective"]
    assert (found["proof"], found["proof_backed_by"]) == (proof, ["certificate"])
    assert "nothing proven" not in run(*common).stdout


def test_a_certificate_of_something_else_is_refused(table: Path) -> None:
    proof = certified(table)
    refused = run("verify", "--original", str(table), "--certificate", str(proof), "--k", "3")
    assert refused.returncode == 6
    assert "NOT VALID" in refused.stdout
    changed = json.loads(proof.read_text())
    changed["multipliers"][0] += 10 * changed["denominator"]
    proof.write_text(json.dumps(changed))
    assert run("verify", "--original", str(table), "--certificate", str(proof)).returncode == 6
    table.write_text(TABLE.replace("103", "104").replace("31,x", "35,x", 1))
    assert run("verify", "--original", str(table), "--certificate", str(proof)).returncode == 6


def test_readings_and_weights_of_a_certificate(table: Path) -> None:
    proof = certified(table, "--suppressed-rows", "exempt", "--weight", "age=3/2")
    accepted = run("verify", "--original", str(table), "--certificate", str(proof), "--weight", "age=3/2")
    assert accepted.returncode == 0, accepted.stdout
    assert run("verify", "--original", str(table), "--certificate", str(proof)).returncode == 6


@pytest.mark.parametrize("recoding", ["boxes", "microaggregation"])
def test_a_model_of_all_groups_gets_multipliers_for_its_certificate(recoding: str, tmp_path: Path) -> None:
    data, path = tmp_path / "t.csv", tmp_path / "proof.json"
    data.write_text("a,b\n" + "".join(f"{i * i % 11},{i * 5 % 7}\n" for i in range(8)))
    asked = ("--data", data, "--qi", "a,b", "--k", "3", "--recoding", recoding)
    found = json.loads(run("solve", *asked, "--certificate", path, "--json").stdout)
    assert (found["solver"]["method"], found["proof"]) == ("milp", "optimal")
    verified = run("verify", "--original", data, "--recoding", recoding, "--certificate", path, "--json")
    checked = json.loads(verified.stdout)["certificate"]
    assert checked["valid"]
    assert found["objective"] * 0.9999 < Fraction(checked["bound"]) <= found["objective"]


def test_a_certificate_beside_another_objective_is_said_to_be_about_the_loss(table: Path) -> None:
    common = ("solve", "--data", table, "--qi", QI, "--k", "2", "--certificate", table.with_name("proof.json"))
    said = "it is about the loss alone, not about the number of groups"
    assert said in " ".join(run(*common, "--objective", "max_groups").stdout.split())
    assert "the loss alone" not in run(*common).stdout


def test_an_infeasible_problem_has_no_certificate(table: Path) -> None:
    proof, mask = table.parent / "bound.json", table.parent / "mask.csv"
    mask.write_text("zip,age,job\nkeep,keep,keep\n")
    arguments = ("solve", "--data", str(table), "--qi", QI, "--k", "2", "--mask", str(mask))
    done = run(*arguments, "--certificate", str(proof))
    assert done.returncode == 3
    assert "no certificate" in done.stderr
    assert not proof.exists()


def test_weights_count_for_the_table_as_for_the_certificate(table: Path) -> None:
    proof = certified(table, "--weight", "age=100")
    released = str(table.parent / "out" / "anonymized.csv")
    common = ("--original", str(table), "--qi", QI, "--k", "2", "--weight", "age=100", "--json")
    done = run("verify", released, *common, "--certificate", str(proof))
    assert done.returncode == 0
    read = json.loads(done.stdout)
    result = json.loads((table.parent / "out" / "result.json").read_text())
    assert float(read["certificate"]["bound"]) <= float(read["cost"]) == result["objective"]


def test_a_node_limit_is_the_reason(table: Path) -> None:
    rows = "".join(f"{z},{a},{(z * a) % 7}\n" for z in range(12) for a in range(9))
    table.write_text("zip,age,job\n" + rows)
    done = run("solve", "--data", str(table), "--qi", QI, "--k", "3", "--node-limit", "0", "--method", "milp", "--json")
    assert json.loads(done.stdout)["stop_reason"] in ("node_limit", "optimal")


def test_bad_usage_is_one_clear_error(table: Path) -> None:
    for arguments, said in (
        (("verify", "--original", str(table)), "--certificate"),
        (("verify", "--original", str(table), "--certificate", str(table)), "certificate"),
        (("verify", "--original", str(table), "--certificate", "nowhere.json"), "nowhere.json"),
        (("solve", "--data", str(table), "--qi", QI, "--k", "2", "--iteration-limit", "0"), "iteration limit"),
        (("solve", "--data", str(table), "--qi", QI, "--k", "2", "--node-limit", "-1"), "node limit"),
        (("solve", "--data", str(table), "--qi", QI, "--k", "2", "--method", "guess"), "--method"),
        (
            ("solve", "--data", str(table), "--qi", QI, "--k", "2", "--min-groups", "2", "--method", "greedy"),
            "side constraints",
        ),
    ):
        done = run(*arguments)
        assert done.returncode == 2, arguments
        assert said in done.stderr
        assert done.stdout == ""


@pytest.mark.full
def test_the_limit_is_one_for_table_and_certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where there is no time for it, there is a word instead, and the table all the same; what is printed has all."""

    def certified_instance(_: object) -> None:
        while True:
            time.sleep(0.001)

    draw = random.Random(1)
    lines = ["a,b,c", *(",".join(draw.choice("xyz") for _ in range(3)) for _ in range(30))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(bounds, "certified_instance", certified_instance)
    asked = ("--data", tmp_path / "data.csv", "--qi", "a,b,c", "--k", 3, "--method", "greedy", "--time-limit", 3)
    began = time.perf_counter()
    done = run("solve", *asked, "--certificate", tmp_path / "bound.json", "--json")
    took = time.perf_counter() - began
    assert done.returncode == 4
    assert "no certificate: the time limit is too short" in done.stderr
    assert not (tmp_path / "bound.json").exists()
    found = json.loads(done.stdout)
    assert found["solver"]["options"]["time_limit"] == 3
    assert found["seconds"]["certify"] > 1
    assert 2 < found["seconds"]["total"] <= took < 60


__all__ = ["table"]  # the fixture


def test_options_of_the_search_are_refused_where_nothing_is_searched(table: Path) -> None:
    base = ("solve", "--data", str(table), "--qi", QI, "--k", "2")
    for option, said in (
        (("--iteration-limit", "5"), "an iteration limit is for the method search"),
        (("--dask", "tcp://127.0.0.1:1"), "a Dask cluster is for the method search"),
    ):
        refused = run(*base, "--method", "milp", *option)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert said in refused.stderr
        assert "milp has no use for it" in refused.stderr
        noted = run(*base, *option, "--json")
        assert noted.returncode == 0
        assert json.loads(noted.stdout)["solver"]["method"] == "milp"
        assert f"so {option[0]} had no effect" in noted.stderr
        assert run(*base, *option, "--quiet").stderr == ""
    searched = run(*base, "--method", "search", "--iteration-limit", "2")
    assert (searched.returncode, searched.stderr) == (0, "")
    model = table.with_name("few.toml")
    model.write_text(
        '[data]\nfile = "people.csv"\nquasi_identifiers = ["zip", "age"]\n[privacy]\nk = 2\n'
        '[solver]\nmethod = "milp"\niteration_limit = 3\n'
    )
    assert run("solve", str(model)).returncode == 2
    assert run("solve", str(model), "--method", "search").returncode == 0


def test_table_and_certificate_are_read_alike(table: Path) -> None:
    proof = certified(table, "--suppressed-rows", "exempt")
    released = str(table.parent / "out" / "anonymized.csv")
    both = ("verify", released, "--original", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof))
    refused = run(*both)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--suppressed-rows exempt" in refused.stderr
    assert run(*both, "--suppressed-rows", "exempt").returncode == 0
    strict = run(*both, "--suppressed-rows", "strict")
    assert strict.returncode == 6
    assert "the reading of fully suppressed rows differs" in strict.stdout
    assert run("verify", "--original", str(table), "--certificate", str(proof)).returncode == 0


def test_the_report_says_what_the_certificate_proves(table: Path) -> None:
    proof = table.parent / "bound.json"
    weights = ("--weight", "zip=1/3", "--weight", "age=1/3", "--weight", "job=1/3")
    done = run("solve", "--data", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof), *weights)
    bound = Fraction(json.loads(proof.read_text())["bound"])
    said = "".join(done.stdout.split())  # lines may be broken anywhere
    assert f"{proof}:nosuchtablehasalossbelow{bound}" in said
    assert bound > 0


def test_what_is_wrong_with_a_certificate_is_said_in_words(table: Path) -> None:
    proof = certified(table)
    whole = json.loads(proof.read_text())
    without = {key: value for key, value in whole.items() if key != "bound"}
    for text, said in (
        ("{", "not JSON: line 1, column 2"),
        (json.dumps(without), '"bound" is missing'),
        ("[1]", "a value is not of the kind that it should be"),
        (json.dumps({**whole, "counting_rows": [3]}), "a value is not of the kind that it should be"),
        ("[" * 100_000, "too many brackets within brackets"),
        (b"\xff\xfe".decode("latin-1"), "not UTF-8 text"),
    ):
        proof.write_text(text, encoding="latin-1")
        done = run("verify", "--original", str(table), "--certificate", str(proof))
        assert done.returncode == 2
        assert said in done.stderr
        with pytest.raises(km.InputError, match=re.escape(said)):
            Certificate.read(proof)
    assert "No such file" in run("verify", "--original", str(table), "--certificate", "nowhere.json").stderr


@pytest.mark.slow  # tests/methods/test_interruptions.py has such a moment in the default run
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_sigterm_keeps_the_incumbent_like_ctrl_c(tmp_path: Path) -> None:
    """Also in a background process of a shell script, where Ctrl-C is ignored."""
    draw = random.Random(5)
    names = ",".join(f"q{j}" for j in range(6))
    rows = (",".join(draw.choice("abc") for _ in range(6)) for _ in range(120))  # for a minute and more
    (tmp_path / "hard.csv").write_text("\n".join([names, *rows]) + "\n")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "kanon_milp", "solve", "--data", str(tmp_path / "hard.csv"), "--qi", names]
    command += ["--k", "5", "--method", "milp", "--out", str(out), "--log-file", str(tmp_path / "log")]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    ends = time.perf_counter() + 40
    while not (tmp_path / "log").exists() or "Nodes" not in (tmp_path / "log").read_text():
        assert child.poll() is None
        assert time.perf_counter() < ends
        time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    stdout, stderr = child.communicate(timeout=60)
    assert child.returncode in (4, 5), (stdout, stderr)
    assert "Traceback" not in stderr
    result = json.loads((out / "result.json").read_text())
    assert result["stop_reason"] == "interrupted"
    assert (out / "anonymized.csv").exists() == (child.returncode == 4)


def test_the_line_says_when_something_is_compiled(tmp_path: Path) -> None:
    line = progress.Line("highs")
    line.stage("search")
    assert "searching" in line.__rich__().plain


def test_a_note_stands_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    problem = km.Problem(km.Table.from_frame(pl.DataFrame({"a": ["x", "x"]}), "a"), km.KAnonymity(2))
    result = km.solve(problem)
    object.__setattr__(result, "message", "2 worker processes were lost")
    text = io.StringIO()
    monkeypatch.setattr(display, "screen", lambda: Console(file=text, width=100))
    display.show_result(result, "t", None)
    assert "note" in text.getvalue()
    assert "2 worker processes were lost" in text.getvalue()


def test_the_command_that_was_meant_is_named_once() -> None:
    assert run("slove").stderr.count("Did you mean 'solve'?") == 1


def test_one_is_singular_and_the_title_names_hierarchies_and_mask(tmp_path: Path) -> None:
    path, mask = tmp_path / "t.csv", tmp_path / "mask.csv"
    path.write_text("age\n31\n38\n")
    (tmp_path / "age.csv").write_text("level0,level1,level2\n31,30s,*\n38,30s,*\n")
    mask.write_text("age\n1\n")
    given = ("--data", path, "--qi", "age", "--k", 2, "--hierarchies", tmp_path, "--mask", mask)

    def said(*arguments: object) -> str:
        return " ".join(run(*arguments).stdout.split())  # wherever a narrow terminal breaks the lines

    assert "hierarchies with a pattern mask" in said("solve", *given)
    assert "2 rows, 1 quasi-identifier, 2 row types" in said("solve", *given)
    assert "NOT verified: 2 violations" in said("verify", path, "--original", path, *given[2:])
    mask.write_text("age\nkeep\n")
    assert "2 row types with 2 rows cannot" in said("solve", *given)
    assert "under the only pattern (rows 1, 2)" in said("solve", *given)
    assert re.search(r"NOT verified: 1 violation\b", said("verify", path, "--original", path, *given[2:]))


def test_messages_name_what_is_known_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,y\n2,x\n")
    asked = ("solve", "--data", str(tmp_path / "t.csv"), "--qi", "a,b", "--k", "2")
    for more, said in (
        (("--solver", "nothing"), "there are highs, cbc, scip, cpsat"),
        (("--solver", "gurobi"), '(did you mean "pulp:GUROBI"'),
        (("--weight", "a"), "once for each column, as in --weight age=2 --weight sex=1/2"),
        (("--weight", "c=2"), '--weight: "c" is not a quasi-identifier; the quasi-identifiers are a, b'),
    ):
        done = run(*asked, *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr) < 400
    assert "`kanon-milp doctor` lists all" in run(*asked, "--solver", "nothing").stderr
    infeasible = " ".join(run(*asked, "--cost-bound", "1").stdout.split())
    assert "infeasible: at least 3 rows must lose" in infeasible
    assert "proven:" not in infeasible


def test_how_many_settings_have_run() -> None:
    assert have_run(1) == "1 setting has run, perhaps in part"
    assert have_run(2) == "2 settings have run, the last perhaps in part"
    assert have_run(0) == "no settings have run"


def test_a_map_of_names_that_is_not_there_is_named_with_a_way_out(tmp_path: Path) -> None:
    solution = tmp_path / "h.sol"
    solution.write_text("x 1\n")
    done = run("import", solution, "--model", "hospital", "--names", tmp_path / "no.csv")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "no.csv: no such map of names; `export` writes it next to the model" in said
    assert said.endswith("leave out names (--names)")


def test_groups_that_are_not_there_are_named_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    done = run("hierarchy", tmp_path / "t.csv", "--column", "a", "--groups", tmp_path / "no.json")
    assert "no.json: no such file; --groups names a JSON or TOML file" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--k", "2.5", "error: --k: an integer such as 5 is expected, found '2.5'"),
        ("--time-limit", "soon", "error: --time-limit: a number such as 0.5 is expected, found 'soon'"),
        ("--report-sample", "-1", "error: --report-sample: a number of at least 0 is expected, found '-1'"),
        ("--missing", "foo", "error: --missing: 'foo' is not one of 'value', 'error'"),
        ("--suppression-limit", "5", "error: --suppression-limit: a share of the rows from 0 to 1"),
        ("--level", "a=5", 'error: --level: column "a": 5 is neither keep nor * nor a level from 0 to 1'),
    ],
)
def test_a_wrong_value_of_an_option_is_one_line_that_names_it(
    option: str, value: str, said: str, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n1,2\n")
    done = run("solve", "--data", table, "--qi", "a,b", "--k", 2, "--method", "full_domain", option, value)
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--max-groups", "0", "error: --max-groups must be at least 1, found 0"),
        ("--then", "beauty", "error: --then: loss, groups"),
        ("--pool", "0", "error: --pool must be at least 1, found 0"),
        ("--pool-loss", "3", "error: --pool-loss: only a pool has it"),
        ("--threads", "0", "error: --threads must be at least 1, found 0"),
    ],
)
def test_an_error_names_the_option_that_was_given(tmp_path: Path, option: str, value: str, said: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2\n")
    refused = run("solve", "--data", tmp_path / "t.csv", "--qi", "a,b", "--k", 2, option, value)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith(said)
