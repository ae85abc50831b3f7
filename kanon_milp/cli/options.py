"""Options that several commands have, and what they mean."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

import typer

from kanon_milp.errors import InputError
from kanon_milp.problem.databases import location
from kanon_milp.problem.privacy import REQUIREMENTS, Requirement
from kanon_milp.problem.problem import SuppressedRows
from kanon_milp.problem.recoding import Recoding
from kanon_milp.problem.recoding_files import Makers, made_hierarchies, read_recoding
from kanon_milp.problem.table import Missing, Table
from kanon_milp.verify.tables import MissingKeys

MOST_VALUES = 10_000  # in a range; more are a slip of the pen

ModelPath = Annotated[
    Path | None, typer.Argument(metavar="MODEL.toml", help="Model file; or name a table with --data.")
]

Data = Annotated[
    Any,  # a path or a database, which typer would not take as a union
    typer.Option(
        "--data",
        metavar="FILE",
        parser=location,
        help="Table: CSV (also .gz), Excel, Parquet or Arrow; SQLite or DuckDB, or postgresql://..., with --query.",
    ),
]
TableFile = Annotated[
    Any,
    typer.Argument(
        metavar="FILE",
        parser=location,
        help="Table: CSV (also .gz), Excel, Parquet, Arrow; a database with --query.",
    ),
]
Query = Annotated[str | None, typer.Option("--query", metavar="SQL", help="What to read of a database, in order.")]
Qi = Annotated[list[str] | None, typer.Option("--qi", metavar="A,B,C", help="Quasi-identifiers, separated by commas.")]
Sensitive = Annotated[list[str] | None, typer.Option("--sensitive", metavar="D", help="Sensitive attributes.")]
Identifying = Annotated[
    list[str] | None, typer.Option("--identifying", metavar="E,F", help="Columns that must not be released: dropped.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="G,H", help="Insensitive columns: kept as they are, without a warning."),
]
Unit = Annotated[
    str | None,
    typer.Option("--unit", metavar="U", help="The column of who is protected, such as patient: k counts its values."),
]
K = Annotated[int | None, typer.Option("--k", help="k-anonymity: each group has at least k rows (or units).")]
P = Annotated[int | None, typer.Option("--p", help="p-sensitivity: each group has at least p sensitive values.")]
L = Annotated[
    str | None, typer.Option("--l", metavar="L", help="l-diversity, a rational: no value has more than 1/l of a group.")
]
LForm = Annotated[str, typer.Option("--l-form", help="frequency, distinct or blocki-williams.")]
T = Annotated[
    str | None,
    typer.Option("--t", metavar="T", help="t-closeness, a rational such as 0.15 or 3/20: distance to the table."),
]
SWEPT = {  # in place of the options of the same names
    "k": Annotated[str | None, typer.Option("--k", metavar="A..B,C", help="Values of k, such as 2..10,25.")],
    "l": Annotated[str | None, typer.Option("--l", metavar="A,B", help="Values of l, such as 1.5,2,3.")],
    "t": Annotated[str | None, typer.Option("--t", metavar="A,B", help="Values of t, such as 0.1,0.2.")],
}
Distance = Annotated[
    str,
    typer.Option(
        "--distance",
        metavar="D",
        help="Ground distance of t-closeness: equal, ordered, numeric, order:FILE, hierarchy:FILE or matrix:FILE.",
    ),
]
Alpha = Annotated[
    str | None, typer.Option("--alpha", metavar="A", help="(alpha,k)-anonymity: no value has more than A of a group.")
]
Beta = Annotated[str | None, typer.Option("--beta", metavar="B", help="Basic beta-likeness.")]
Delta = Annotated[str | None, typer.Option("--delta", metavar="D", help="delta-disclosure privacy, natural logarithm.")]
Mask = Annotated[
    Path | None,
    typer.Option("--mask", metavar="FILE", help="Pattern mask: CSV with keep, * or a level in the cells."),
]
HierarchyFolder = Annotated[
    Path | None, typer.Option("--hierarchies", metavar="DIR", help="Folder with a hierarchy COLUMN.csv.")
]
Weights = Annotated[
    list[str] | None, typer.Option("--weight", metavar="A=2", help="Cost of suppressing a cell of a column.")
]
Symbol = Annotated[str, typer.Option("--symbol", help="Suppression symbol.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="Of the table (hierarchies and masks have their own), such as ; or tab; default , or what divides it "
        "beyond doubt.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Of CSV files; default utf-8, or what a file is beyond doubt.")
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="No row names the columns: they are called column_1, column_2, ...")
]
Header = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="A,B,C", help="The names of the columns, where no row of the table names them."),
]
MissingValues = Annotated[
    Missing, typer.Option("--missing", help="value: missing values are a value of their own; error: refuse them.")
]
MarksOfMissing = Annotated[
    list[str] | None,
    typer.Option("--missing-values", metavar="NA,?", help="Texts in the table that stand for a missing value."),
]
Reading = Annotated[
    SuppressedRows,
    typer.Option("--suppressed-rows", help="strict: fully suppressed rows are a group; exempt: they need no partners."),
]
ReadingAsked = Annotated[
    SuppressedRows | None,
    typer.Option("--suppressed-rows", help="strict (default), or exempt: fully suppressed rows need no partners."),
]
MissingAsKeys = Annotated[
    MissingKeys,
    typer.Option("--missing-keys", help="own: missing and suppressed cells are values; match: any value (sdcMicro)."),
]
RowId = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Tells which released row is whose, in another order or with gaps."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
FormulationName = Annotated[str | None, typer.Option("--formulation", help="strong (default), textbook or groups.")]


def names(values: list[str] | None, option: str, *, required: bool = True) -> list[str]:
    """Split a,b,c; a name with a comma in it goes in double quotes."""
    names = [name for value in values or [] for name in next(csv.reader([value]), [])]
    if required and not names:
        raise InputError(f"name the quasi-identifiers: {option} a,b,c")
    return names


def unit(value: str | None) -> str | None:
    """The one column that --unit names."""
    found = names(None if value is None else [value], "--unit", required=False)
    if len(found) > 1:
        raise InputError("--unit: one column says who is protected; join several into one before")
    return found[0] if found else None


def header(no_header: bool, values: list[str] | None) -> bool | list[str]:
    """What --no-header and --header say of the first row."""
    if no_header and values:
        raise InputError("--header names the columns of a table without a header row; leave --no-header out")
    return names(values, "--header") if values else not no_header


def marks(values: list[str] | None) -> list[str]:
    """What --missing-values names."""
    return names(values, "--missing-values", required=False)


def privacy(
    k: int | None,
    p: int | None,
    l: str | None,  # noqa: E741
    l_form: str,
    t: str | None,
    distance: str,
    alpha: str | None,
    beta: str | None,
    delta: str | None,
    *,
    required: bool = True,
) -> list[Requirement]:
    """The requirements that --k, --p, ... ask for."""
    arguments: dict[str, dict[str, Any]] = {
        "k": {"k": k},
        "p": {"p": p},
        "l": {"l": l, "form": l_form},
        "t": {"t": t, "distance": distance},
        "alpha": {"alpha": alpha},
        "beta": {"beta": beta},
        "delta": {"delta": delta},
    }
    if l is None and l_form != "frequency":
        raise InputError("--l-form says how --l is meant; name --l too")
    if t is None and distance != "equal":
        raise InputError("--distance says how --t is meant; name --t too")
    found = [REQUIREMENTS[name](**given) for name, given in arguments.items() if given[name] is not None]
    if required and not found:
        raise InputError("name what each group must have: --k 5")
    return found


def recoding(
    table: Table, mask: Path | None, folder: Path | None, weight: list[str] | None, encoding: str | None, makers: Makers
) -> Recoding:
    """The recoding that --mask, --hierarchies, --numeric and its like, and --weight ask for."""
    made = made_hierarchies(table, makers)
    return read_recoding(table.quasi_identifiers, mask, folder, weights(weight), encoding=encoding, made=made)


def weights(entries: list[str] | None) -> dict[str, str]:
    """Column → weight, as written."""
    found = {}
    for entry in entries or []:
        name, equals, value = entry.rpartition("=")
        if not equals:
            raise InputError("a weight is COLUMN=NUMBER, once for each column, as in --weight age=2 --weight sex=1/2")
        if name in found:
            raise InputError(f'--weight names column "{name}" twice')
        found[name] = value
    return found


def values(text: str, option: str) -> list[str]:
    """Split 2..5,10 into 2, 3, 4, 5, 10; other numbers stay as they are written."""
    found: list[str] = []
    for part in text.split(","):
        first, dots, last = (piece.strip() for piece in part.partition(".."))
        if not first or (dots and not last):
            raise InputError(f"{option}: values separated by commas are expected, or a range such as 2..10")
        if not dots:
            found.append(first)
            continue
        low, high = integer(first, option), integer(last, option)
        if high < low or high - low >= MOST_VALUES:
            raise InputError(f"{option}: the range must rise, by less than {MOST_VALUES:,}")
        found += map(str, range(low, high + 1))
    return found


def integer(text: str, option: str) -> int:
    """An integer as written."""
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{option}: an integer is expected in place of {text!r}") from None
