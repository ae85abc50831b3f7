"""`kanon-milp inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.cli.hierarchy_options import split, whole
from kanon_milp.studies import display, display_data
from kanon_milp.studies.inspection import inspect as inspect_table


def inspect(
    file: options.TableFile,
    qi: options.Qi = None,
    sensitive: options.Sensitive = None,
    identifying: options.Identifying = None,
    keep: options.Keep = None,
    unit: options.Unit = None,
    query: options.Query = None,
    k: Annotated[str, typer.Option("--k", metavar="2,5,10", help="For which to count the rows at risk.")] = "2,5,10",
    population: Annotated[
        Path | None,
        typer.Option("--population", metavar="FILE", help="All among whom somebody may look; default: the table."),
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing_values: options.MarksOfMissing = None,
    no_header: options.NoHeader = False,
    header: options.Header = None,
    symbol: options.Symbol = "*",
    json: options.Json = False,
) -> None:
    """Say what a table gives away as it is, and what to run next.

    Types of columns, which of them identify, classes of rows that are alike, who is at risk. No cell is printed.
    """
    found = inspect_table(
        file,
        options.names(qi, "--qi", required=False),
        options.names(sensitive, "--sensitive", required=False),
        identifying=options.names(identifying, "--identifying", required=False),
        keep=options.names(keep, "--keep", required=False),
        unit=options.unit(unit),
        query=query,
        k=whole(split(k)),
        population=population,
        delimiter=delimiter,
        encoding=encoding,
        missing_values=options.marks(missing_values),
        header=options.header(no_header, header),
        symbol=symbol,
    )
    if json:
        display.print_json(found.as_dict())
    else:
        display_data.show_inspection(found)
