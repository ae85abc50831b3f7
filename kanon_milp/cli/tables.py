"""`kanon-milp compress`, `qid` and `inspect`: what a table is like before anything is done to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kanon_milp import solvers
from kanon_milp.cli import options
from kanon_milp.cli.help import solving_option, table_option
from kanon_milp.methods.quasi_identifiers import Reading, find_quasi_identifiers
from kanon_milp.presolve.row_types import row_types
from kanon_milp.problem.databases import Database
from kanon_milp.problem.roles import Roles
from kanon_milp.studies import display
from kanon_milp.studies.inspection import inspect as inspect_table


@options.grouped
def compress(
    table: options.TableFile,
    file: options.FileOptions,
    qi: options.Qi = None,
    sensitive: options.Sensitive = None,
    json: options.Json = False,
) -> None:
    """Count the row types of a table.

    It may be larger than memory. A database counts them itself.
    """
    roles = Roles.of(options.names(qi, "--qi"), options.names(sensitive, "--sensitive", required=False))
    types = row_types(table, roles, **file.arguments())
    if json:
        display.print_json(types.summary())
    else:
        display.show_row_types(types.summary(), _name(table))


@options.grouped
def qid(
    table: options.TableFile,
    file: options.FileOptions,
    qi: Annotated[
        list[str] | None, table_option(metavar="A,B,C", help="Columns that an attacker may know; default: all.")
    ] = None,
    k: Annotated[int, typer.Option(help="Rows that are alike at least, for a row to be hidden.")] = 2,
    every: Annotated[bool, typer.Option("--all", help="All minimum quasi-identifiers, not one.")] = False,
    reading: Annotated[
        str,
        typer.Option(
            help="identify: a quasi-identifier tells all rows apart; violate: fewer than k rows are like some row."
        ),
    ] = "identify",
    solver: Annotated[str, solving_option(help="Of the minimum cover.")] = solvers.DEFAULT,
    json: options.Json = False,
) -> None:
    """Say which columns are quasi-identifiers.

    The fewest columns that identify, the uniqueness of each column, and whether all together are k-anonymous.
    """
    columns = options.names(qi, "--qi", required=False)
    types = row_types(table, Roles.of(columns) if columns else None, **file.arguments())
    found = find_quasi_identifiers(types, k=k, reading=cast(Reading, reading), every=every, solver=solver)
    if json:
        display.print_json(found.as_dict())
    else:
        display.show_quasi_identifiers(found, _name(table))


@options.grouped
def inspect(
    table: options.TableFile,
    roles: options.RoleOptions,
    file: options.FileOptions,
    k: Annotated[str, typer.Option(metavar="2,5,10", help="For which to count the rows at risk.")] = "2,5,10",
    population: Annotated[
        Path | None, table_option(metavar="FILE", help="All among whom somebody may look; default: the table.")
    ] = None,
    symbol: options.Symbol = "*",
    json: options.Json = False,
) -> None:
    """Say what a table gives away as it is, and what to run next.

    Types of columns, which of them identify, classes of rows that are alike, who is at risk. No cell is printed.
    """
    asked = {**roles.arguments(required=False), **file.arguments()}
    levels = options.integers(options.split(k))
    found = inspect_table(table, **asked, k=levels, population=population, symbol=symbol)
    if json:
        display.print_json(found.as_dict())
    else:
        display.show_inspection(found)


def _name(table: Any) -> str:
    return str(table) if isinstance(table, Database) else str(table.name)
