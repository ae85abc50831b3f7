"""Help: every command in one line of 80 characters, with an example that it takes; options in sections."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer
from command_line import python, run

from kanon_milp.cli.app import app
from kanon_milp.cli.help import OTHERS, SECTIONS

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
