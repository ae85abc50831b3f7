"""`kanon-milp compress`, `qid`, `inspect` and `hierarchy`: what a table is like before anything is done to it, and
hierarchies that are made from its columns."""

from __future__ import annotations

import json as json_files
import os
import tomllib
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from kanon_milp import solvers
from kanon_milp.cli import options
from kanon_milp.cli.help import output_option, recoding_option, solving_option, table_option
from kanon_milp.cli.options import integers, intervals, numbers, split
from kanon_milp.errors import InputError, RoleWarning
from kanon_milp.methods.quasi_identifiers import Reading, find_quasi_identifiers
from kanon_milp.presolve.row_types import row_types
from kanon_milp.problem.databases import Database
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.roles import Roles
from kanon_milp.problem.table import read_table
from kanon_milp.studies import display
from kanon_milp.studies.columns import describe_labels
from kanon_milp.studies.inspection import inspect as inspect_table
from kanon_milp.system.files import check_folder, refuse_overwriting


@options.grouped
def compress(
    table: options.TableFile,
    file: options.FileOptions,
    qi: options.Qi = None,
    sensitive: options.Sensitive = None,
    count: options.Count = None,
    json: options.Json = False,
) -> None:
    """Count the row types of a table.

    These are t_in and, with sensitive values, t_in*; of a released table t_out and t_out*. The table may be larger than
    memory. A database counts them itself.
    """
    roles = Roles.of(options.names(qi, "--qi"), options.names(sensitive, "--sensitive", required=False), count=count)
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
    count: options.Count = None,
    k: Annotated[int, typer.Option(help="Rows that must be alike for a row to be hidden.")] = 2,
    every: Annotated[bool, typer.Option("--all", help="List all minimum quasi-identifiers.")] = False,
    reading: Annotated[
        str,
        typer.Option(
            help="identify: a quasi-identifier tells all rows apart; violate: fewer than k rows are like some row."
        ),
    ] = "identify",
    solver: Annotated[str, solving_option(help="Solver of the minimum cover.")] = solvers.DEFAULT,
    json: options.Json = False,
) -> None:
    """Find the columns that are quasi-identifiers.

    The fewest columns that identify, the uniqueness of each column, and whether all together are k-anonymous.
    """
    columns = options.names(qi, "--qi", required=False)
    if count and not columns:
        raise InputError("--count: name the columns that somebody may know with --qi")
    types = row_types(table, Roles.of(columns, count=count) if columns else None, **file.arguments())
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
    k: Annotated[
        str, typer.Option(metavar="2,5,10", help="Values of k for which the rows at risk are counted.")
    ] = "2,5,10",
    population: Annotated[
        Path | None,
        table_option(
            metavar="FILE", help="Table of the population to which the persons belong; default: the table itself."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        table_option(metavar="W", help="Column of sampling weights: their sum in a class estimates its population."),
    ] = None,
    missing: Annotated[
        Literal["value", "wildcard"],
        table_option("--missing", help="value: missing keys are alike; wildcard: they match any value."),
    ] = "value",
    symbol: options.Symbol = "*",
    json: options.Json = False,
) -> None:
    """Show what a table gives away as it is, and what to run next.

    Types of columns, which of them identify, groups of identical rows, who is at risk. No cell is printed.
    """
    asked = {**roles.arguments(required=False), **file.arguments()}
    levels = integers(split(k))
    found = inspect_table(
        table, **asked, k=levels, population=population, weight=weight, missing=missing, symbol=symbol
    )
    if json:
        display.print_json(found.as_dict())
    else:
        display.show_inspection(found)


@options.grouped
def hierarchy(
    table: options.TableFile,
    file: options.FileOptions,
    column: Annotated[str, table_option(metavar="NAME", help="The column of the hierarchy.")],
    widths: Annotated[
        str | None,
        recoding_option(metavar="5,10,20", help="Numbers: intervals of these widths; '5,<18,>=90': with these ends."),
    ] = None,
    origin: Annotated[str, recoding_option(metavar="X", help="Where an interval of --widths begins.")] = "0",
    quantiles: Annotated[
        str | None, recoding_option(metavar="16,4", help="Numbers: so many classes of about equally many rows.")
    ] = None,
    dates: Annotated[
        str | None, recoding_option(metavar="LEVELS", help="Dates: some of hour,day,month,quarter,year,5years,decade.")
    ] = None,
    date_format: Annotated[
        str | None, recoding_option("--format", metavar="%d.%m.%Y", help="How --dates are written; default ISO 8601.")
    ] = None,
    prefix: Annotated[
        str | None, recoding_option(metavar="4,2", help="Codes: so many of their first characters.")
    ] = None,
    order: Annotated[
        str | None, recoding_option(metavar="A,B,C", help="All values, from the lowest to the highest.")
    ] = None,
    sizes: Annotated[
        str | None, recoding_option(metavar="2,6", help="How many neighbours in --order share a label, by level.")
    ] = None,
    grouped: Annotated[
        Path | None,
        recoding_option(
            "--groups", metavar="FILE", help="JSON or TOML file: each label with its values, or with further groups."
        ),
    ] = None,
    missing: Annotated[str, recoding_option("--missing-label", help="Label of missing values.")] = "missing",
    other: Annotated[
        str | None,
        recoding_option("--other-label", help="Label of values that are no number, no date, or in no group."),
    ] = None,
    out: Annotated[
        Path, output_option(metavar="DIR", help="Folder for the file COLUMN.csv, for `solve --hierarchies DIR`.")
    ] = Path("hierarchies"),
    force: Annotated[bool, output_option("--force", help="Replace an existing file.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the hierarchy file of a column.

    Name one of --widths, --quantiles, --dates, --prefix, --order with --sizes, and --groups.
    """
    named: dict[str, Any] = {} if other is None else {"other": other}
    ways: dict[str, Callable[..., Hierarchy]] = {}
    if widths is not None:
        ways["--widths"] = partial(Hierarchy.intervals, **intervals(split(widths)), origin=origin, **named)
    if quantiles is not None:
        ways["--quantiles"] = partial(Hierarchy.quantiles, **numbers("counts", split(quantiles)), **named)
    if dates is not None:
        ways["--dates"] = partial(Hierarchy.dates, levels=split(dates), format=date_format, **named)
    if prefix is not None:
        ways["--prefix"] = partial(Hierarchy.prefixes, lengths=integers(split(prefix)))
    if order is not None or sizes is not None:
        if order is None or sizes is None:
            raise InputError("--order names the values, --sizes how many of them a label holds; name both")
        ways["--order"] = partial(Hierarchy.ordered, order=split(order), sizes=integers(split(sizes)), **named)
    if grouped is not None:
        ways["--groups"] = partial(Hierarchy.groups, groups=_read_groups(grouped), **named)
    if len(ways) != 1:
        raise InputError(
            "say in one way how values are generalized: --widths, --quantiles, --dates, --prefix, --order or --groups"
            + (f" (found {' and '.join(ways)})" if ways else "")
        )
    if {os.sep, os.altsep, "\0"} & set(column):
        raise InputError(f'column "{column}": no file can have this name; rename the column')
    target = out / f"{column}.csv"
    source = table.file if isinstance(table, Database) else table
    refuse_overwriting([("--out", target)], [path for path in (source, grouped) if path is not None])
    check_folder(out, [target.name])
    if target.exists() and not force:
        raise InputError(f"{target}: is there already; --force replaces it")
    with warnings.catch_warnings(action="ignore", category=RoleWarning):  # nothing is released here
        read = read_table(table, [column], **file.arguments())
    (make,) = ways.values()
    made = make(read.frame[column], missing=missing, source=f'{table}: column "{column}"')
    out.mkdir(parents=True, exist_ok=True)
    made.write(target)
    found = describe_labels(made, read.column(column))
    if json:
        display.print_json({"column": column, "file": str(target), "levels": [each.as_dict() for each in found]})
    elif not quiet:
        display.show_hierarchy(found, _name(table), column, target)


def _read_groups(path: Path) -> Any:
    try:
        content = path.read_text(encoding="utf-8")
        return tomllib.loads(content) if path.suffix.lower() == ".toml" else json_files.loads(content)
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else error.strerror or "cannot be read"
        raise InputError(f"{path}: {why}; --groups names a JSON or TOML file, label to values") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is neither JSON nor, named .toml, TOML") from None


def _name(table: Any) -> str:
    return str(table) if isinstance(table, Database) else str(table.name)
