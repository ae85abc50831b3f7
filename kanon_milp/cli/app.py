"""The commands of `kanon-milp`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kanon_milp import __version__
from kanon_milp.cli.bench import bench
from kanon_milp.cli.click import NAMES_THE_NEAREST, UsageError
from kanon_milp.cli.compare import compare
from kanon_milp.cli.exchange import export, import_solution
from kanon_milp.cli.generate import generate
from kanon_milp.cli.help import Command, Group
from kanon_milp.cli.hierarchy import hierarchy
from kanon_milp.cli.inspect import inspect
from kanon_milp.cli.interrupts import Interrupted, signals
from kanon_milp.cli.models import models
from kanon_milp.cli.mps_library import library
from kanon_milp.cli.qid import qid
from kanon_milp.cli.report import report
from kanon_milp.cli.solve import solve
from kanon_milp.cli.sweep import sweep
from kanon_milp.cli.tools import compress, doctor
from kanon_milp.cli.verify import verify
from kanon_milp.errors import without_passwords


class _Commands(typer.core.TyperGroup):
    """From here on a signal is an exception, and this is no exit code of typer's own."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        signals.answer = "raise"
        try:
            return super().invoke(ctx)
        except UsageError as error:
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
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    solve,
    verify,
    report,
    compare,
    sweep,
    inspect,
    hierarchy,
    qid,
    compress,
    models,
    generate,
    export,
    import_solution,
    doctor,
):
    app.command("import" if command is import_solution else None, cls=Command)(command)
app.add_typer(bench, name="bench")
app.add_typer(library, name="library", cls=Group)


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
