"""How `--help` looks: options in sections where there are many, and examples at the end; and what of click is needed,
on which typer rests: the installed package, or the copy that typer brings since 0.26."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import typer.core

from kanon_milp.errors import printable

_exceptions: Any = import_module(typer.BadParameter.__module__)
_globals: Any = import_module(f"{_exceptions.__package__}.globals")

UsageError: Any = _exceptions.UsageError
NAMES_THE_NEAREST = hasattr(_exceptions, "NoSuchCommand")  # of an unknown command, without typer's help
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}  # settings of a group of commands
FEW = 10  # options that need no sections
OTHERS = "Options"
SECTIONS = ("Table", "Privacy", "Recoding", "Objective and side constraints", "Solving", "Output")

# an option with its section
table_option, privacy_option, recoding_option, objective_option, solving_option, output_option = (
    partial(typer.Option, rich_help_panel=title) for title in SECTIONS
)


def examples(*commands: str) -> str:
    """The end of a help text: each example in one line, however long."""
    lines = (f"  kanon-milp {each}" for each in commands)
    return "\n".join(["\b", "Examples:" if len(commands) > 1 else "Example:", *lines])


class Command(typer.core.TyperCommand):
    """A command of this program."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options by section: typer itself has no sections without boxes around them."""
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *SECTIONS, OTHERS)}
        many = len(self.params) > FEW
        for each in self.get_params(ctx):
            title = getattr(each, "rich_help_panel", None) if many else None
            if (record := each.get_help_record(ctx)) is not None:
                found["Arguments" if each.param_type_name == "argument" else title or OTHERS].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


EXPECTED = {  # in place of what pydantic, by which typer reads options, says of a value
    "int_parsing": "an integer such as 5 is expected",
    "int_from_float": "an integer such as 5 is expected",
    "int_parsing_size": "an integer of fewer digits is expected",
    "float_parsing": "a number such as 0.5 is expected",
    "greater_than_equal": "a number of at least {ge} is expected",
    "value_error": "{error}",
}


def wrong_value(error: Any) -> str:
    """One line for an option with a value that it does not take; empty for other errors."""
    details: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    option = next(iter(reversed(getattr(getattr(error, "param", None), "opts", []))), "")
    if not details or details[0]["type"] not in EXPECTED or not option.startswith("--"):
        return ""
    kind, context = details[0]["type"], details[0].get("ctx", {})
    found = "" if kind == "value_error" else f", found {printable(str(details[0]['input'])[:40])!r}"
    return printable(f"{option}: {EXPECTED[kind].format(**context).rstrip('.')}{found}")


def option_of_the_command(name: str) -> Any:
    """What the command that runs was given; None where it has no such option, or where no command runs."""
    context = _globals.get_current_context(silent=True)
    return None if context is None else context.params.get(name)
