"""Help, what a person types first, and standard output that nobody reads or that cannot be written."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import python, run

from kanon_milp.cli.app import app
from kanon_milp.cli.help import OTHERS, SECTIONS

TABLE = "a,b\n1,2\n1,3\n1,2\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    return path


def command(table: Path, *more: str, stdout: str) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-m", "kanon_milp", "solve", "--data", str(table), "--qi", "a,b", "--k", "2", *more]
    with Path(stdout).open("w") as file:
        return subprocess.run(given, stdout=file, stderr=subprocess.PIPE, text=True, check=False, timeout=120)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.processes
def test_a_full_standard_output_is_one_line_and_the_files_are_there(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = command(table, "--out", str(out), stdout="/dev/full")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "the standard output cannot be written" in done.stderr
    assert (out / "anonymized.csv").exists()


def test_lines_of_a_pipe_are_whole(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("solve", "--data", table, "--qi", "a,b", "--k", 2, "--cost-bound", 2, "--max-groups", 1, "--min-groups", 1)
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = run(*given).stdout.splitlines()
    (whole,) = [line for line in lines if "infeasible" in line]
    assert "backed by" in whole
    assert len(whole) > 100
    assert not any(line.endswith(" ") for line in lines)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, run(*given).stdout.splitlines())) <= 60


@pytest.mark.processes
def test_a_closed_pipe_is_no_error(table: Path) -> None:
    given = [sys.executable, "-m", "kanon_milp", "solve", "--data", str(table), "--qi", "a,b", "--k", "2", "--json"]
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(120) == 0


def test_without_a_requirement_nothing_is_called_verified(table: Path) -> None:
    done = run("verify", table, "--original", table, "--qi", "a,b")
    assert done.returncode == 0
    assert done.stdout.startswith("consistent with the original; no requirement was checked")
    assert run("verify", table, "--original", table, "--qi", "a,b", "--k", 1).stdout.startswith("verified")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--k", 2, "--l-form", "distinct"), "name --l too"),
        (("--k", 2, "--distance", "numeric"), "name --t too"),
        (("--k", 2, "--json", "--show"), "choose one of them"),
        (("--k", 2, "--weight", "a=1", "--weight", "a=2"), 'names column "a" twice'),
    ],
)
def test_options_without_effect_are_refused(table: Path, options: tuple[object, ...], said: str) -> None:
    done = run("solve", "--data", table, "--qi", "a,b", *options)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_table_in_the_place_of_a_model_file_is_told(table: Path) -> None:
    for more in ((), ("--qi", "a", "--k", 2)):
        done = run("solve", table, *more)
        assert (done.returncode, f"write --data {table}" in done.stderr) == (2, True), done.stderr


@pytest.mark.processes
def test_a_closed_standard_output_or_error_is_no_error(table: Path, tmp_path: Path) -> None:
    for number, closed in enumerate((">&-", "2>&-", ">&- 2>&-")):
        out = tmp_path / f"out{number}"
        asked = f'"{sys.executable}" -m kanon_milp solve --data "{table}" --qi a,b --k 2 --out "{out}" {closed}'
        done = subprocess.run(asked, shell=True, capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done
        assert (out / "result.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_certificate_that_cannot_be_written_leaves_nothing(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("solve", "--data", table, "--qi", "a,b", "--k", 2, "--out", out, "--certificate", "/dev/full")
    assert done.returncode == 2
    assert not out.exists()


def test_a_certificate_of_an_earlier_run_does_not_stand_beside_an_infeasible_one(table: Path, tmp_path: Path) -> None:
    out, proof = tmp_path / "out", tmp_path / "c.json"
    asked = ("solve", "--data", table, "--qi", "a,b", "--out", out, "--certificate", proof)
    assert run(*asked, "--k", 2).returncode == 0
    assert proof.exists()
    assert run(*asked, "--k", 3, "--min-groups", 3).returncode == 3
    assert not proof.exists()


COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_the_list_of_commands_fits_80_columns_uncut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = run("--help").stdout
    listed = text[text.index("Commands:") :].splitlines()[1:]
    assert len([line for line in listed if line.strip()]) == len(COMMANDS)
    assert all(len(line) <= 80 and not line.endswith("...") for line in listed)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_examples_whose_options_exist(name: str) -> None:
    text = run(name, "--help").stdout
    examples = [line.strip().removeprefix("kanon-milp ") for line in COMMANDS[name].epilog.splitlines()[2:]]
    assert examples
    for example in examples:
        assert f"kanon-milp {example}\n" in text
        first, *words = shlex.split(example)
        assert first == name
        inner = next((word for word in words if word in getattr(COMMANDS[name], "commands", {})), None)
        helped = run(name, *([inner] if inner else ["run"] if name == "bench" else []), "--help").stdout
        assert all(word in helped for word in words if word.startswith("--"))


def test_options_of_a_long_command_are_in_sections() -> None:
    text = run("solve", "--help").stdout
    titles = [line.strip()[:-1] for line in text.splitlines() if re.fullmatch(r" {0,2}[A-Z][a-z ]+:", line)]
    assert titles == ["Arguments", *SECTIONS, OTHERS, "Examples"]
    others = text[text.index(f"{OTHERS}:") : text.index("Examples:")]
    assert re.findall(r"--[a-z-]+", others) == ["--help"]


def test_hierarchy_says_how_in_one_section() -> None:
    """The ways of making a hierarchy stand together, and the example names a folder, as --out does."""
    text = run("hierarchy", "--help").stdout
    ways = text[text.index("Recoding:") : text.index("Output:")]
    for way in ("--widths", "--quantiles", "--dates", "--prefix", "--order", "--sizes", "--groups"):
        assert way in ways
    assert "--out hierarchies" in text


def test_each_option_of_a_long_command_has_a_section() -> None:
    long = [command for command in COMMANDS.values() if len(command.params) > 20]
    assert long
    for command in long:
        assert {each.rich_help_panel for each in command.params if each.param_type_name == "option"} <= set(SECTIONS)


@pytest.mark.processes
def test_the_shell_completes_options() -> None:
    asked = {"_KANON_MILP_COMPLETE": "complete_bash", "COMP_WORDS": "kanon-milp solve --obj", "COMP_CWORD": "2"}
    script = "import sys; sys.argv[0] = 'kanon-milp'; from kanon_milp.cli import main; main()"
    assert python("-c", script, code=None, environment=asked).stdout.split() == ["--objective"]
