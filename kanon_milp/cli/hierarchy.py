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

from kanon_milp.cli import options
from kanon_milp.cli.help import output_option, recoding_option, table_option
from kanon_milp.cli.options import integers, numbers, split
from kanon_milp.errors import InputError, RoleWarning
from kanon_milp.problem.databases import Database
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.table import read_table
from kanon_milp.studies import display
from kanon_milp.studies.columns import describe_labels
from kanon_milp.system.files import check_folder, refuse_overwriting


@options.grouped
def hierarchy(
    table: options.TableFile,
    file: options.FileOptions,
    column: Annotated[str, table_option(metavar="NAME", help="The column that it is for.")],
    widths: Annotated[
        str | None, recoding_option(metavar="5,10,20", help="Numbers: intervals of these widths.")
    ] = None,
    origin: Annotated[str, recoding_option(metavar="X", help="Where an interval of --widths begins.")] = "0",
    quantiles: Annotated[
        str | None, recoding_option(metavar="16,4", help="Numbers: so many classes of about equal rows.")
    ] = None,
    dates: Annotated[
        str | None, recoding_option(metavar="LEVELS", help="Dates: of hour,day,month,quarter,year,decade.")
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
        str | None, recoding_option(metavar="2,6", help="Neighbours in --order that a label holds.")
    ] = None,
    grouped: Annotated[
        Path | None,
        recoding_option("--groups", metavar="FILE", help="JSON or TOML: label to values, or to such groups."),
    ] = None,
    missing: Annotated[str, recoding_option("--missing-label", help="Label of missing values.")] = "missing",
    other: Annotated[
        str | None, recoding_option("--other-label", help="Label of values that are no number, no date, in no group.")
    ] = None,
    out: Annotated[
        Path, output_option(metavar="DIR", help="Folder of the file COLUMN.csv, for `solve --hierarchies DIR`.")
    ] = Path("hierarchies"),
    force: Annotated[bool, output_option("--force", help="Replace the file if it is there.")] = False,
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
        display.show_hierarchy(found, str(table) if isinstance(table, Database) else table.name, column, target)


def _read_groups(path: Path) -> Any:
    try:
        content = path.read_text(encoding="utf-8")
        return tomllib.loads(content) if path.suffix.lower() == ".toml" else json_files.loads(content)
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else error.strerror or "cannot be read"
        raise InputError(f"{path}: {why}; --groups names a JSON or TOML file, label to values") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is neither JSON nor, named .toml, TOML") from None
