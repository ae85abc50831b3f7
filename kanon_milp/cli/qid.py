"""`kanon-milp qid`."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from kanon_milp.cli import options
from kanon_milp.methods.quasi_identifiers import Reading, find_quasi_identifiers
from kanon_milp.presolve.sources import row_types
from kanon_milp.problem.databases import Database
from kanon_milp.problem.roles import Roles
from kanon_milp.studies import display


def qid(
    file: options.TableFile,
    qi: Annotated[
        list[str] | None, typer.Option("--qi", metavar="A,B,C", help="Columns that an attacker may know; default: all.")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Rows that are alike at least, for a row to be hidden.")] = 2,
    every: Annotated[bool, typer.Option("--all", help="All minimum quasi-identifiers, not one.")] = False,
    reading: Annotated[
        str,
        typer.Option(
            "--reading",
            help="identify: a quasi-identifier tells all rows apart; violate: fewer than k rows are like some row.",
        ),
    ] = "identify",
    query: options.Query = None,
    solver: Annotated[str, typer.Option("--solver", help="Of the minimum cover.")] = "highs",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing_values: options.MarksOfMissing = None,
    no_header: options.NoHeader = False,
    header: options.Header = None,
    json: options.Json = False,
) -> None:
    """Say which columns are quasi-identifiers.

    The fewest columns that identify, the uniqueness of each column, and whether all together are k-anonymous.
    """
    columns = options.names(qi, "--qi", required=False)
    roles = Roles.of(columns) if columns else None
    types = row_types(
        file,
        roles,
        query=query,
        delimiter=delimiter,
        encoding=encoding,
        missing_values=options.marks(missing_values),
        header=options.header(no_header, header),
    )
    found = find_quasi_identifiers(types, k=k, reading=cast(Reading, reading), every=every, solver=solver)
    if json:
        display.print_json(found.as_dict())
    else:
        display.show_quasi_identifiers(found, str(file) if isinstance(file, Database) else file.name)
