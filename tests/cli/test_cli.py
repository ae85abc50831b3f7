"""The command line keeps its contracts: files, JSON fields, exit codes, and one clear error for bad input."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import processor_seconds, run, run_process, with_ctrl_c

import kanon_milp as km

SECRET = "Wilhelmina"
TABLE = f"name,zip,age,sick\nanna,101,31,flu\nbert,101,32,cold\n{SECRET},102,31,flu\ndora,102,32,ache\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


def test_solve_writes_all_files_and_says_optimal(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    done = run("solve", "--data", people, "--qi", "zip,age", "--sensitive", "sick", "--k", 2, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "proven optimum 4, verified" in done.stdout
    rows = list(csv.DictReader((out / "anonymized.csv").open()))
    assert [row["name"] for row in rows] == ["anna", "bert", SECRET, "dora"]
    assert sorted({(row["zip"], row["age"]) for row in rows}) in (
        [("*", "31"), ("*", "32")],
        [("101", "*"), ("102", "*")],
    )
    groups = list(csv.DictReader((out / "groups.csv").open()))
    assert [row["row"] for row in groups] == ["1", "2", "3", "4"]
    assert len({row["group"] for row in groups}) == 2
    result = json.loads((out / "result.json").read_text())
    assert result["stop_reason"] == "optimal"
    assert result["proof"] == "optimal"
    assert result["objective"] == result["bound"] == result["suppressed_cells"] == 4
    assert result["gap"] == 0
    assert result["verified"] is True
    assert result["groups"] == {"count": 2, "mean": 2.0, "max": 2}
    problem = result["problem"]
    assert {key: problem[key] for key in ("n", "m", "t_in", "t_in_star", "k", "p", "l", "t", "recoding")} == {
        "n": 4,
        "m": 2,
        "t_in": 4,
        "t_in_star": 4,
        "k": 2,
        "p": None,
        "l": None,
        "t": None,
        "recoding": "suppression",
    }
    assert set(result["seconds"]) == {
        "read",
        "compress",
        "candidates",
        "reduce",
        "search",
        "build",
        "handover",
        "solve",
        "assign",
        "verify",
        "total",
    }
    for when in ("before", "after"):
        assert set(result["sizes"][when]) >= {"row_types", "candidates", "variables", "constraints"}
    assert set(result["solver"]) >= {"name", "version", "options", "seed", "threads"}
    assert sorted(p.name for p in out.iterdir()) == ["anonymized.csv", "groups.csv", "result.json"]

    verified = run("verify", out / "anonymized.csv", "--original", people, "--qi", "zip,age", "--k", 2)
    assert verified.returncode == 0
    less = run("verify", out / "anonymized.csv", "--original", people, "--qi", "zip,age", "--k", 3)
    assert less.returncode == 6


def test_json_is_all_that_goes_to_standard_output(people: Path, capfd: pytest.CaptureFixture[str]) -> None:
    roles = ("--qi", "zip", "--qi", "age", "--identifying", "name", "--keep", "sick")
    done = run("solve", "--data", people, *roles, "--k", 2, "--json")
    assert json.loads(done.stdout)["objective"] == 4
    assert done.stderr == ""
    assert capfd.readouterr() == ("", "")  # from libraries that do not ask Python


def test_quiet_means_quiet(people: Path) -> None:
    done = run_process("solve", "--data", people, "--qi", "zip,age", "--k", 2, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("solver", ["highs", "cbc", "pulp:PULP_CBC_CMD"])
@pytest.mark.parametrize("formulation", ["strong", "textbook"])
def test_every_solver_and_formulation_is_at_hand(
    people: Path, solver: str, formulation: str, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(
        "solve",
        "--data",
        people,
        "--qi",
        "zip,age",
        "--k",
        2,
        "--solver",
        solver,
        "--formulation",
        formulation,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert capfd.readouterr() == ("", "")  # nothing by a solver's library either
    result = json.loads(done.stdout)
    assert result["objective"] == 4
    assert result["solver"]["name"] == solver


def test_infeasible_is_a_result_that_names_who_cannot_be_served(people: Path, tmp_path: Path) -> None:
    mask = tmp_path / "mask.csv"
    mask.write_text("age,zip\nkeep,keep\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "anonymized.csv").write_text("of an earlier run")
    done = run("solve", "--data", people, "--qi", "zip,age", "--k", 2, "--mask", mask, "--out", out)
    assert done.returncode == 3
    (solver,) = [line for line in done.stdout.splitlines() if line.startswith("solver ")]
    assert re.fullmatch(r"solver +none was needed, \d+\.\d\d s in all", solver.rstrip())
    result = json.loads((out / "result.json").read_text())
    assert (result["stop_reason"], result["proof"], result["objective"]) == ("infeasible", "infeasible", None)
    assert "4 row types with 4 rows" in result["message"]
    assert [p.name for p in out.iterdir()] == ["result.json"]


def test_a_decision_problem_can_be_a_proven_no(people: Path) -> None:
    base = ("solve", "--data", people, "--qi", "zip,age", "--k", 2, "--json", "--cost-bound")
    assert run(*base, 4).returncode == 0
    done = run(*base, 3)
    assert done.returncode == 3
    assert json.loads(done.stdout)["proof"] == "infeasible"


def test_weights_groups_and_readings_are_options(people: Path) -> None:
    base = ("solve", "--data", people, "--qi", "zip,age", "--k", 2, "--json")
    assert json.loads(run(*base, "--weight", "zip=0.5").stdout)["objective"] == 2
    assert json.loads(run(*base, "--max-groups", 1).stdout)["objective"] == 8
    assert json.loads(run(*base, "--objective", "max_groups").stdout)["objective"] == 2
    few = people.with_name("few.csv")
    few.write_text("zip\n101\n101\n102\n")
    reading = ("solve", "--data", few, "--qi", "zip", "--k", 2, "--json", "--suppressed-rows")
    assert json.loads(run(*reading, "strict").stdout)["objective"] == 3
    assert json.loads(run(*reading, "exempt").stdout)["objective"] == 1


def bad(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_bad_input_is_one_clear_line_with_code_2_and_nothing_is_written(people: Path, tmp_path: Path) -> None:
    empty = bad(tmp_path, "empty.csv", "zip,age\n")
    star = bad(tmp_path, "star.csv", TABLE + "eve,*,31,flu\n")
    folder = tmp_path / "h"
    folder.mkdir()
    (folder / "zip.csv").write_text("level0,level1\n101,*\n")
    unnested = tmp_path / "u"
    unnested.mkdir()
    (unnested / "zip.csv").write_text("level0,level1,level2,level3\n101,1,1a,*\n102,1,1b,*\n")
    cases: list[tuple[list[object], str]] = [
        (["--data", tmp_path / "none.csv", "--qi", "zip", "--k", 2], "no such file"),
        (["--data", empty, "--qi", "zip", "--k", 2], "no rows"),
        (["--data", people, "--qi", "zipp", "--k", 2], 'did you mean "zip"'),
        (["--data", people, "--qi", "zip,zip", "--k", 2], "twice"),
        (
            ["--data", people, "--qi", "zip", "--sensitive", "zip", "--k", 2],
            "cannot be quasi-identifier and sensitive",
        ),
        (["--data", people, "--qi", "zip", "--k", 0], "k must be at least 1"),
        (["--data", people, "--qi", "zip", "--k", "two"], "--k"),
        (["--data", people, "--qi", "zip"], "--k 5"),
        (["--data", people, "--k", 2], "name the quasi-identifiers"),
        (["--data", star, "--qi", "zip", "--k", 2], "row 5: the suppression symbol"),
        (
            [
                "--data",
                people,
                "--qi",
                "zip,age",
                "--k",
                2,
                "--mask",
                bad(tmp_path, "m1.csv", "zip,agee\nkeep,*\n"),
            ],
            'did you mean "age"',
        ),
        (
            [
                "--data",
                people,
                "--qi",
                "zip,age",
                "--k",
                2,
                "--mask",
                bad(tmp_path, "m2.csv", "zip,age\nkeep,9\n"),
            ],
            "neither keep nor",
        ),
        (
            [
                "--data",
                people,
                "--qi",
                "zip,age",
                "--k",
                2,
                "--mask",
                bad(tmp_path, "m3.csv", "zip,age\n*,*\n*,*\n"),
            ],
            "repeats pattern",
        ),
        (["--data", people, "--qi", "zip", "--k", 2, "--hierarchies", folder], "is not covered"),
        (["--data", people, "--qi", "zip", "--k", 2, "--hierarchies", unnested], "not nested"),
        (["--data", people, "--qi", "zip", "--k", 2, "--solver", "hihgs"], 'did you mean "highs"'),
        (["--data", people, "--qi", "zip", "--k", 2, "--formulation", "week"], "unknown formulation"),
        (["--data", people, "--qi", "zip", "--k", 2, "--weight", "zip=-1"], "negative"),
        (["--data", people, "--qi", "zip", "--k", 2, "--time-limit", "-1"], "time limit"),
        (["--data", people, "--qi", "zip", "--k", 2, "--encoding", "utf-9"], "unknown encoding"),
        (
            [bad(tmp_path, "typo.toml", '[data]\nfile = "people.csv"\nquasi_identifers = ["zip"]\n')],
            "quasi_identifiers",
        ),
        (
            [
                bad(
                    tmp_path,
                    "kind.toml",
                    '[data]\nfile = "people.csv"\nquasi_identifiers = ["zip"]\n[privacy]\nk = "2"\n',
                )
            ],
            "must be an integer",
        ),
        ([bad(tmp_path, "toml.toml", "[data\n")], "not a TOML file"),
        ([tmp_path / "none.toml"], "no such model file"),
    ]
    for number, (args, message) in enumerate(cases):
        out = tmp_path / "out"
        done = (run if number else run_process)("solve", *args, "--out", out)  # what is not caught, run raises
        assert done.returncode == 2, (args, done.stdout, done.stderr)
        assert message in done.stderr.replace("\n", " "), (args, done.stderr)
        assert done.stdout == ""
        assert SECRET not in done.stderr
        assert "Traceback" not in done.stderr
        assert not out.exists()


def test_an_output_folder_that_cannot_be_written_is_found_before_solving(people: Path, tmp_path: Path) -> None:
    done = run("solve", "--data", people, "--qi", "zip", "--k", 2, "--out", people / "out")
    assert done.returncode == 2
    assert "is a file" in done.stderr


def test_compress_counts_row_types(people: Path) -> None:
    found = json.loads(run("compress", people, "--qi", "zip", "--sensitive", "sick", "--json").stdout)
    assert (found["n"], found["m"], found["t_in"], found["t_in_star"]) == (4, 1, 2, 4)
    assert found["class_sizes"] == {"min": 2, "mean": 2.0, "max": 2, "unique": 0}
    shown = " ".join(run("compress", people, "--qi", "zip").stdout.split())
    assert "t_in = 2" in shown
    assert "of a released table these are t_out and t_out*" in shown


@pytest.mark.full
def test_export_is_the_same_every_time_and_solves_to_the_optimum(models: Path, tmp_path: Path) -> None:
    import highspy

    for name in ("m.mps", "m.mps.gz", "m.lp"):
        contents = []
        for attempt in ("a", "b"):
            (tmp_path / attempt).mkdir(exist_ok=True)
            arguments = ("export", models / "hospital.toml", "--to", tmp_path / attempt / name)
            # sets of strings have another order in another process
            again = attempt == "b" and name != "m.mps"  # m.mps.gz is that
            done = run_process(*arguments, PYTHONHASHSEED="random") if again else run(*arguments)
            assert done.returncode == 0
            contents.append((tmp_path / attempt / name).read_bytes())
        assert contents[0] == contents[1]
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.readModel(str(tmp_path / "a" / name))
        highs.run()
        assert highs.getInfo().objective_function_value == pytest.approx(54)
    assert run("export", models / "hospital.toml", "--to", tmp_path / "m.xls").returncode == 2


def test_doctor_finds_working_solvers() -> None:
    done = run("doctor", "--json")
    assert done.returncode == 0
    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert found["highs"]["problems"] == []
    assert found["cbc"]["availability"] == "available"


def test_a_time_limit_ends_with_a_verified_table_or_none(tmp_path: Path) -> None:
    done = run("solve", hard(tmp_path), "--time-limit", 2, "--json")
    assert done.returncode in (0, 4, 5)
    result = json.loads(done.stdout)
    if done.returncode == 4:
        assert result["verified"] is True
        assert result["proof"] in ("bound", "none")
        assert result["objective"] >= result["bound"]
    assert result["seconds"]["total"] < 30


def hard(folder: Path) -> Path:
    """A problem that no solver here finishes in a few seconds."""
    import random

    rng = random.Random(5)
    names = [f"q{j}" for j in range(8)]
    rows = "\n".join(",".join(str(rng.randrange(3)) for _ in names) for _ in range(300))
    (folder / "hard.csv").write_text(",".join(names) + "\n" + rows + "\n")
    path = folder / "hard.toml"
    path.write_text(f'[data]\nfile = "hard.csv"\nquasi_identifiers = {json.dumps(names)}\n[privacy]\nk = 6\n')
    return path


@pytest.mark.slow  # tests/methods/test_interruptions.py has such a moment in the default run
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="signals, and reads /proc")
def test_ctrl_c_keeps_the_incumbent(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "kanon_milp", "solve", str(hard(tmp_path)), "--out", str(out)]
    with with_ctrl_c():
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ends = time.perf_counter() + 60
    while processor_seconds(child.pid) < 3:  # of these, one or two to begin
        assert child.poll() is None
        assert time.perf_counter() < ends
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=60)
    assert child.returncode in (4, 5), (stdout, stderr)
    assert "Traceback" not in stderr
    result = json.loads((out / "result.json").read_text())
    assert result["stop_reason"] == "interrupted"
    assert (out / "anonymized.csv").exists() == (child.returncode == 4)
    assert not [p for p in out.iterdir() if p.name.startswith(".")]


def test_columns_may_be_called_anything(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text('len,"a,b",rows ,row,group,level0,row type \n1,x,1,1,q,a,b\n1,y,1,2,q,a,b\n2,x,2,1,q,a,b\n')
    out = tmp_path / "out"
    qi = 'len,"a,b",rows ,row,group,level0,row type '
    assert run("solve", "--data", path, "--qi", qi, "--k", 3, "--out", out, "--show").returncode == 0
    assert (out / "anonymized.csv").read_text().splitlines()[1] == "*,*,*,*,q,a,b"
    assert run("verify", out / "anonymized.csv", "--original", path, "--qi", qi, "--k", 3).returncode == 0
    assert run("compress", path, "--qi", qi).returncode == 0


def test_version() -> None:
    assert km.__version__ in run("--version").stdout


@pytest.mark.parametrize(
    "named", ["--max-groups=2", "--suppressed-rows=exempt", "--objective=min_groups", "--symbol=?", "--data=x.csv"]
)
def test_a_model_file_says_all_that_is_asked(named: str) -> None:
    done = run("solve", "hospital", named)
    assert done.returncode == 2
    assert "already names the table and the problem" in done.stderr
    assert named.partition("=")[0] in done.stderr
