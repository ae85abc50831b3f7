"""`kanon-milp compress` and `doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import NO_TABLE, OPTIMAL
from kanon_milp.methods.warm_up import warm_up
from kanon_milp.presolve.sources import row_types
from kanon_milp.problem.databases import Database
from kanon_milp.problem.roles import Roles
from kanon_milp.solvers.canaries import diagnose
from kanon_milp.studies import display


def compress(
    file: options.TableFile,
    qi: options.Qi = None,
    sensitive: options.Sensitive = None,
    query: options.Query = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing_values: options.MarksOfMissing = None,
    no_header: options.NoHeader = False,
    header: options.Header = None,
    json: options.Json = False,
) -> None:
    """Count the row types of a table.

    It may be larger than memory. A database counts them itself.
    """
    roles = Roles.of(options.names(qi, "--qi"), options.names(sensitive, "--sensitive", required=False))
    types = row_types(
        file,
        roles,
        query=query,
        delimiter=delimiter,
        encoding=encoding,
        missing_values=options.marks(missing_values),
        header=options.header(no_header, header),
    )
    if json:
        display.print_json(types.summary())
    else:
        display.show_row_types(types.summary(), str(file) if isinstance(file, Database) else file.name)


def doctor(
    warm: Annotated[
        bool, typer.Option("--warm-up", help="Compile the search first, which its first use would have to wait for.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Say which solvers are here and work.

    For each: where it was found, its version, and whether it solves the models with known answers.
    """
    if warm:
        functions, seconds = warm_up()
        typer.echo(f"the search is compiled: {functions} functions, {seconds:.0f} s", err=json)
    found = diagnose()
    if json:
        display.print_json([display.diagnosis_dict(d) for d in found])
    else:
        display.show_diagnoses(found)
    usable = any(d.availability and not d.problems for d in found if d.name == "highs")
    raise typer.Exit(OPTIMAL if usable else NO_TABLE)
