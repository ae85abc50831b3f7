"""The commands of `kanon-milp`, and what is the same for all of them: signals, warnings, passwords in errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TextIO

import typer

from kanon_milp import __version__
from kanon_milp.cli.exit_codes import Interrupted, signals
from kanon_milp.cli.help import (
    HELP,
    NAMES_THE_NEAREST,
    Command,
    UsageError,
    examples,
    option_of_the_command,
    wrong_value,
)
from kanon_milp.cli.instances import generate, library, models
from kanon_milp.cli.notebook import notebook
from kanon_milp.cli.solve import apply, doctor, export, import_solution, report, solve
from kanon_milp.cli.studies import attack, bench, compare, sweep
from kanon_milp.cli.tables import compress, hierarchy, inspect, qid
from kanon_milp.cli.verify import verify
from kanon_milp.errors import InputError, KanonWarning, without_passwords
from kanon_milp.studies.display import say

TABLE = "--data people.csv --qi zip,age,sex"
COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {  # with examples
    "solve": (
        solve,
        (f"solve {TABLE} --sensitive disease --k 5 --l 2 --time-limit 60 --out out", "solve hospital --show"),
    ),
    "verify": (
        verify,
        (
            "verify out/anonymized.csv --original people.csv --qi zip,age,sex --k 5",
            "verify out/anonymized.csv --model hospital --certificate bound.json",
            "verify arx.csv --qi zip,age,sex --sensitive disease --k 5 --l 2",
        ),
    ),
    "apply": (apply, ("apply out people-july.csv --out july", "apply out people-july.csv --suppress --out july")),
    "report": (report, ("report out", "report k5 k12 --to variants.html")),
    "compare": (compare, (f"compare {TABLE} --k 5 --released arx.csv --to table.tex",)),
    "attack": (attack, (f"attack {TABLE} --k 5 --released out/anonymized.csv",)),
    "sweep": (sweep, (f"sweep {TABLE} --k 2..10,25 --time-limit 60 --out study",)),
    "inspect": (inspect, ("inspect people.csv",)),
    "hierarchy": (hierarchy, ("hierarchy people.csv --column age --widths 5,10,20 --out hierarchies",)),
    "qid": (qid, ("qid people.csv --k 5",)),
    "compress": (compress, ("compress people.csv --qi zip,age,sex",)),
    "models": (models, ("models hospital", "models hospital --copy mine")),
    "generate": (generate, ("generate planted_k --size 1000 --out instance",)),
    "export": (export, ("export hospital --to hospital.mps.gz",)),
    "import": (import_solution, ("import hospital.sol --model hospital --out out",)),
    "app": (notebook, ("app people.csv", "app --edit mine.py")),
    "doctor": (doctor, ("doctor",)),
}


class _Commands(typer.core.TyperGroup):
    """From here on a signal is an exception, and this is no exit code of typer's own."""

    def invoke(self, ctx: Any) -> Any:
        signals.answer = "raise"
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if wrong := wrong_value(error):
                raise InputError(wrong) from None
            if without_passwords(error.message) == error.message:
                raise
            raise UsageError(without_passwords(error.message), error.ctx) from None
        except KeyboardInterrupt as error:
            raise Interrupted(*error.args) from None
        finally:
            signals.answer = "ignore"


app = typer.Typer(
    name="kanon-milp",
    cls=_Commands,
    help="Provably optimal anonymization of tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    suggest_commands=not NAMES_THE_NEAREST,
    rich_markup_mode=None,  # a usage error is one line, not a box
    context_settings=HELP,
)
for name, (command, shown) in COMMANDS.items():
    app.command(name, cls=Command, epilog=examples(*shown))(command)
app.add_typer(bench, name="bench")
app.add_typer(library, name="library")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"kanon-milp {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Provably optimal anonymization of tables."""


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Each warning of the package that comes in the block is one line on standard error at its end, once.

    None with --quiet, and none where the block ends in an error, of which there is one line already.
    """
    lines: list[str] = []
    usual = warnings.showwarning

    def keep(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, KanonWarning):
            usual(message, category, filename, lineno, file, line)
        elif not option_of_the_command("quiet"):
            lines.append(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", KanonWarning)
        warnings.showwarning = keep
        try:
            yield
        except SystemExit:  # how a command ends
            for each in dict.fromkeys(lines):
                say(each, err=True)
            raise
