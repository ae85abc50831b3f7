"""`kanon-milp hierarchy`."""

from __future__ import annotations

import json as json_files
import os
import tomllib
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kanon_milp.cli import options
from kanon_milp.cli.hierarchy_options import numbers, split, whole
from kanon_milp.errors import InputError, RoleWarning
from kanon_milp.problem.databases import Database
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.table import read_table
from kanon_milp.studies import display, display_data
from kanon_milp.studies.labels import describe_labels
from kanon_milp.system.files import check_folder, refuse_overwriting


def hierarchy(
    file: options.TableFile,
    column: Annotated[str, typer.Option("--column", metavar="NAME", help="The column that it is for.")],
    widths: Annotated[
        str | None,
        typer.Option("--widths", metavar="5,10,20", help="Numbers: intervals of these widths."),
    ] = None,
    origin: Annotated[str, typer.Option("--origin", metavar="X", help="Where an interval of --widths begins.")] = "0",
    quantiles: Annotated[
        str | None, typer.Option("--quantiles", metavar="16,4", help="Numbers: so many classes of about equal rows.")
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option("--dates", metavar="LEVELS", help="Dates: of hour,day,month,quarter,year,decade."),
    ] = None,
    date_format: Annotated[
        str | None, typer.Option("--format", metavar="%d.%m.%Y", help="How --dates are written; default ISO 8601.")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="4,2", help="Codes: so many of their first characters.")
    ] = None,
    order: Annotated[
        str | None, typer.Option("--order", metavar="A,B,C", help="All values, from the lowest to the highest.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option("--sizes", metavar="2,6", help="Neighbours in --order that a label holds.")
    ] = None,
    grouped: Annotated[
        Path | None, typer.Option("--groups", metavar="FILE", help="JSON or TOML: label to values, or to such groups.")
    ] = None,
    missing: Annotated[str, typer.Option("--missing-label", help="Label of missing values.")] = "missing",
    other: Annotated[
        str | None, typer.Option("--other-label", help="Label of values that are no number, no date, in no group.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the file COLUMN.csv, for `solve --hierarchies DIR`.")
    ] = Path("hierarchies"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    query: options.Query = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing_values: options.MarksOfMissing = None,
    no_header: options.NoHeader = False,
    header: options.Header = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the hierarchy file of a column.

    One of --widths, --quantiles, --dates, --prefix, --order with --sizes, and --groups says how.
    """
    named: dict[str, Any] = {} if other is None else {"other": other}
    ways: dict[str, Callable[..., Hierarchy]] = {}
    if widths is not None:
        ways["--widths"] = partial(Hierarchy.intervals, **numbers("widths", split(widths)), origin=origin, **named)
    if quantiles is not None:
        ways["--quantiles"] = partial(Hierarchy.quantiles, **numbers("counts", split(quantiles)), **named)
    if dates is not None:
        ways["--dates"] = partial(Hierarchy.dates, levels=split(dates), format=date_format, **named)
    if prefix is not None:
        ways["--prefix"] = partial(Hierarchy.prefixes, lengths=whole(split(prefix)))
    if order is not None or sizes is not None:
        if order is None or sizes is None:
            raise InputError("--order names the values, --sizes how many of them a label holds; name both")
        ways["--order"] = partial(Hierarchy.ordered, order=split(order), sizes=whole(split(sizes)), **named)
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
    read = file.file if isinstance(file, Database) else file
    refuse_overwriting([("--out", target)], [path for path in (read, grouped) if path is not None])
    check_folder(out, [target.name])
    if target.exists() and not force:
        raise InputError(f"{target}: is there already; --force replaces it")
    with warnings.catch_warnings(action="ignore", category=RoleWarning):  # nothing is released here
        table = read_table(
            file,
            [column],
            query=query,
            delimiter=delimiter,
            encoding=encoding,
            missing_values=options.marks(missing_values),
            header=options.header(no_header, header),
        )
    (make,) = ways.values()
    made = make(table.frame[column], missing=missing, source=f'{file}: column "{column}"')
    out.mkdir(parents=True, exist_ok=True)
    made.write(target)
    found = describe_labels(made, table.column(column))
    if json:
        display.print_json({"column": column, "file": str(target), "levels": [each.as_dict() for each in found]})
    elif not quiet:
        display_data.show_hierarchy(found, str(file) if isinstance(file, Database) else file.name, column, target)


def _read_groups(path: Path) -> Any:
    try:
        content = path.read_text(encoding="utf-8")
        return tomllib.loads(content) if path.suffix.lower() == ".toml" else json_files.loads(content)
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else error.strerror or "cannot be read"
        raise InputError(f"{path}: {why}; --groups names a JSON or TOML file, label to values") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is neither JSON nor, named .toml, TOML") from None
