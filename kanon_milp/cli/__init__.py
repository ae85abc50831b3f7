"""The command line: it reads options, calls the package and prints; no logic of its own."""

from __future__ import annotations

import io
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, TextIO

import click
import typer

from kanon_milp import __version__
from kanon_milp.cli.solve import solve
from kanon_milp.cli.tools import compress, doctor, export
from kanon_milp.cli.verify import verify
from kanon_milp.display import say
from kanon_milp.errors import InputError, KanonWarning, SolverError
from kanon_milp.result import NO_TABLE

BAD_INPUT = 2

app = typer.Typer(
    name="kanon-milp",
    help="Provably optimal anonymization of tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # a usage error is one line, not a box
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (solve, verify, export, compress, doctor):
    app.command()(command)


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
def _terminated_like_ctrl_c() -> Iterator[None]:
    """While the block runs, SIGTERM does what Ctrl-C does there: the best table is kept, verified and written.

    Also where Ctrl-C itself is ignored, as in a background process of a shell script.
    """

    def ask(_number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
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
        context = click.get_current_context(silent=True)
        if not issubclass(category, KanonWarning):
            usual(message, category, filename, lineno, file, line)
        elif not (context is not None and context.params.get("quiet")):
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


def main() -> None:
    """Entry point: one clear line for an error, and the exit code that says what happened."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        with _terminated_like_ctrl_c(), _warnings_as_lines():
            app()
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(BAD_INPUT)
    except SolverError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(NO_TABLE)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before there was a table\n")
        sys.exit(NO_TABLE)
