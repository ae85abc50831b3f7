"""`kanon-milp qid`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from kanon_milp.cli import options
from kanon_milp.methods.quasi_identifiers import Reading, find_quasi_identifiers
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.roles import Roles
from kanon_milp.problem.table import default_delimiter, scan_frame
from kanon_milp.report import display


def qid(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
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
    solver: Annotated[str, typer.Option("--solver", help="Of the minimum cover.")] = "highs",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    json: options.Json = False,
) -> None:
    """Say which columns are quasi-identifiers.

    The fewest columns that identify, the uniqueness of each column, and whether all together are k-anonymous.
    """
    frame = scan_frame(file, CsvFormat(delimiter or default_delimiter(file), encoding))
    known = frame.collect_schema().names()
    columns = list(options.names(qi, "--qi", required=False)) or known
    Roles.of(columns, ()).check(known, str(file))
    found = find_quasi_identifiers(frame, columns, k=k, reading=cast(Reading, reading), every=every, solver=solver)
    if json:
        display.print_json(found.as_dict())
    else:
        display.show_quasi_identifiers(found, file.name)
