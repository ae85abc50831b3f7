"""What the command line says of options, readings and certificates, and how it ends when it is asked to."""

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
from test_cli_certificate import QI, certified, table

import kanon_milp as km
from kanon_milp.bounds import Certificate
from kanon_milp.cli.studies import have_run
from kanon_milp.methods import progress
from kanon_milp.studies import display

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
