"""Verification of files: they are read here, and handed over to verifier and certificate checker as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError, RoleWarning, counted
from kanon_milp.problem.arguments import instance_of, wrong
from kanon_milp.problem.csv_files import DELIMITERS, CsvFormat
from kanon_milp.problem.databases import Database, is_named_as_database
from kanon_milp.problem.distances import GroundDistance, HierarchicalDistance
from kanon_milp.problem.exact import Number
from kanon_milp.problem.privacy import Requirement, registry
from kanon_milp.problem.problem import Problem, SuppressedRows
from kanon_milp.problem.recoding import Makers, Recoding, Suppression, made_hierarchies, read_recoding
from kanon_milp.problem.roles import Roles, UnknownColumnError, header_doubt
from kanon_milp.problem.table import SYMBOL, Missing, Table, file_kind, read_frame, read_table
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.certificate import CertificateReport, check_claim, stated
from kanon_milp.verify.check import verify
from kanon_milp.verify.claims import NUMBERS_OF_GROUPS, Claim
from kanon_milp.verify.definitions import REGISTERED, Definition, PopulationRule
from kanon_milp.verify.report import Report
from kanon_milp.verify.tables import Cells, MissingKeys, Original, ProblemData, Question, classes


def register_requirement(kind: type[Requirement], definition: Definition) -> None:
    """Make a requirement of one's own known to model files, the command line, pages, sweeps, certificates and verifier.

    kind: a class that declares `name`, `letter`, `summary` and `parameters`. definition: the verifier's own, which is
    given nothing but the parameters. Raises InputError for what cannot be told from what there is.
    """
    if not (isinstance(kind, type) and issubclass(kind, Requirement)):
        raise wrong("kind", "a class that is a Requirement", kind)
    instance_of(definition, Definition, "definition", "what the verifier checks, a Definition")
    if (definition.kind, definition.name) != (kind.__name__, kind.name):
        raise InputError(f"definition must name the class {kind.__name__} and the requirement {kind.name}")
    registry.add(kind)
    REGISTERED[kind] = definition


def verify_files(
    original: str | Path | Database,
    anonymized: str | Path,
    quasi_identifiers: Sequence[str] | str,
    sensitive: Sequence[str] | str | None = None,
    *,
    query: str | None = None,
    identifying: Sequence[str] | str | None = None,
    keep: Sequence[str] | str | None = None,
    unit: str | None = None,
    drop: Sequence[str] | str | None = None,
    count: str | None = None,
    privacy: Requirement | Sequence[Requirement] = (),
    mask: str | Path | None = None,
    hierarchies: str | Path | None = None,
    makers: Makers | None = None,
    weights: Mapping[str, Number] | None = None,
    costs: Mapping[str, Any] | str | None = None,
    levels: Mapping[str, Any] | None = None,
    of_groups: Mapping[str, Any] | None = None,
    suppressed_rows: SuppressedRows = "strict",
    symbol: str = SYMBOL,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Missing = "value",
    missing_values: Sequence[str] | str = (),
    header: bool | Sequence[str] = True,
    distances: Mapping[str, GroundDistance] | None = None,
    cells: Cells = "labels",
    missing_keys: MissingKeys = "own",
    row_id: str | None = None,
) -> Report:
    """Check an anonymized file, by whatever tool it was made, against the original file.

    query: what to read where the original is in a database (`read_table`). identifying: columns that must not be in the
    released table; all others must be there, and unchanged but for the
    quasi-identifiers. keep: insensitive columns; those without a role are named in a warning. unit: the column of the
    original whose different values k counts, row by row; it must not be in the released table either.
    drop: columns that must not be there as well. count: the column of both that says how many rows a row stands for; a
    row of the original may be released in several that follow each other, and whose counts add up to its own.
    privacy: requirements to check; without any, the report says what holds. mask: CSV file of patterns.
    weights: column → cost of suppressing one of its cells. costs: as of `Hierarchies`. levels: as of `FullDomain`.
    of_groups: as in `read_recoding`.
    hierarchies: folder with COLUMN.csv files; that of a
    sensitive attribute is a ground distance to report, as are distances, sensitive attribute → ground distance.
    makers: column → what makes its hierarchy from the original's values, such as functools.partial(Hierarchy.intervals,
    widths=[5, 10]).
    symbol: what stands in the anonymized file for a suppressed value. delimiter: of both
    tables; an anonymized one may have its own, as in `read_released`. encoding: of all CSV files. missing_values: texts
    that stand for a missing value, in both tables. header: of both, as in `read_table`. cells: "intervals"
    for tables of other tools; missing_keys, row_id: as in `verify`;
    missing="wildcard" is missing_keys="match". Raises InputError for files that cannot be read or do not belong
    together.
    """
    if missing == "wildcard":  # which is how tables are judged, not how they are read
        missing, missing_keys = "value", "match"
    table = read_table(
        original,
        quasi_identifiers,
        sensitive,
        query=query,
        identifying=identifying,
        keep=keep,
        unit=unit,
        drop=drop,
        count=count,
        delimiter=delimiter,
        encoding=encoding,
        missing=missing,
        missing_values=missing_values,
        header=header,
        symbol=symbol,
    )
    path = Path(anonymized)
    fmt = CsvFormat.asked(path, delimiter, encoding, missing_values, header)
    fmt = replace(fmt, encoding=table.csv.encoding if encoding is None else fmt.encoding)
    if delimiter is None and table.kind == "CSV":
        fmt = replace(fmt, delimiter=table.csv.delimiter)
    frame = read_released(path, fmt, table.quasi_identifiers)
    _check_released(table, frame, path)
    recoding = _recoding(table, mask, hierarchies, weights, costs, makers, levels=levels, of_groups=of_groups)
    known = {**_hierarchical(table, hierarchies), **(distances or {})}
    asked: ProblemData = Question(table, recoding, suppressed_rows)
    if privacy:
        asked = Problem(table, privacy, recoding, suppressed_rows=suppressed_rows)
    return verify(asked, frame, distances=known, cells=cells, missing_keys=missing_keys, row_id=row_id)


def verify_released(
    problem: Problem,
    anonymized: str | Path,
    *,
    cells: Cells = "labels",
    missing_keys: MissingKeys = "own",
    row_id: str | None = None,
) -> Report:
    """Check an anonymized file, by whatever tool it was made, against a problem: its table, requirements, recoding and
    side constraints.

    A CSV file is read in the format of the problem's table (its delimiter as in `read_released`). cells,
    missing_keys, row_id: as in `verify`. Raises InputError for a file that cannot be read or does not belong to the
    table.
    """
    path, table = Path(anonymized), problem.table
    frame = read_released(path, table.csv, table.quasi_identifiers)
    _check_released(table, frame, path)
    return verify(problem, frame, cells=cells, missing_keys=missing_keys, row_id=row_id)


def verify_alone(
    table: Table,
    privacy: Sequence[Requirement] = (),
    *,
    suppressed_rows: SuppressedRows = "strict",
    missing_keys: MissingKeys = "own",
) -> Report:
    """Judge a released table without its original. table: of `read_table(..., released=True)`."""
    asked: ProblemData = Question(table, Suppression(), suppressed_rows)
    if privacy:
        asked = Problem(table, privacy, suppressed_rows=suppressed_rows)
    return verify(asked, missing_keys=missing_keys)


def _check_released(table: Table, frame: pl.DataFrame, path: Path) -> None:
    roles = Roles.of(table.quasi_identifiers, table.sensitive)
    there = set(frame.columns).issuperset((*table.quasi_identifiers, *table.sensitive))
    doubt = "" if there else header_doubt(frame.columns, nw.from_native(frame, eager_only=True), str(path))
    roles.check(frame.columns, str(path), doubt)


def read_released(path: Path, fmt: CsvFormat, quasi_identifiers: Sequence[str]) -> pl.DataFrame:
    """Read an anonymized file, by whatever tool it was made.

    Where a CSV file has no columns of these names by the delimiter of fmt, a comma, semicolon, tab or | by which it has
    them is taken; where it is UTF-8, or in another encoding beyond doubt, it is read so. Raises InputError for a file
    that cannot be read, and for a database.
    """
    if is_named_as_database(path):
        raise InputError(
            "a released table is compared with its original row by row, and a table in a database has no order of its "
            "own; name the file that `solve --out` has written, or one that is exported in the order of the original"
        )
    if file_kind(path) != "CSV":
        return read_frame(path, fmt)
    tried: list[pl.DataFrame | InputError] = []
    for delimiter in dict.fromkeys((fmt.delimiter, *DELIMITERS)):
        try:
            # the encoding that was named may be the original's alone
            unnamed = ("encoding", *(fmt.unnamed if delimiter == fmt.delimiter else ()))
            frame = read_frame(path, replace(fmt, delimiter=delimiter, unnamed=unnamed))
        except InputError as error:
            tried.append(error)
            continue
        if set(quasi_identifiers) <= set(frame.columns):
            return frame
        tried.append(frame)
    if isinstance(tried[0], InputError):
        raise tried[0]
    return tried[0]


def read_groups(path: Path, rows: int) -> Ints:
    """Read a file such as groups.csv: column group, whatever its values, and perhaps row, from 1. Returns the group of
    each row, int64 (rows,). Raises InputError for a file that does not have each of so many rows once."""
    frame = read_frame(path)
    if "group" not in frame.columns:
        raise InputError(f'{path}: no column "group"; the columns must be row and group, as in groups.csv')
    if frame.height != rows:
        raise InputError(f"{path}: {counted(frame.height, 'row')} with a group, the table has {rows:,}")
    if "row" in frame.columns:
        order = frame["row"].cast(pl.String).cast(pl.Int64, strict=False)
        if order.null_count() or sorted(order.to_list()) != list(range(1, rows + 1)):
            raise InputError(f'{path}: column "row" must have each number from 1 to {rows:,} once')
        frame = frame[np.argsort(order.to_numpy())]
    if gone := frame["group"].null_count():
        raise InputError(f'{path}: column "group" is empty in {counted(gone, "row")}; each row needs a group')
    return classes(frame[["group"]])[0]


def check_certificate_files(
    original: str | Path | Database,
    certificate: str | Path,
    *,
    query: str | None = None,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: Sequence[str] | str | None = None,
    unit: str | None = None,
    count: str | None = None,
    privacy: Sequence[Requirement] = (),
    suppressed_rows: SuppressedRows | None = None,
    mask: str | Path | None = None,
    hierarchies: str | Path | None = None,
    weights: Mapping[str, Number] | None = None,
    level_costs: Mapping[str, Sequence[Number]] | None = None,
    costs: Mapping[str, Any] | str | None = None,
    makers: Makers | None = None,
    levels: Mapping[str, Any] | None = None,
    of_groups: Mapping[str, Any] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Missing = "value",
    missing_values: Sequence[str] | str = (),
    header: bool | Sequence[str] = True,
    symbol: str = SYMBOL,
) -> CertificateReport:
    """Check a certificate against the file of the original table.

    What is not given of quasi_identifiers, sensitive, unit, privacy and suppressed_rows is taken from the certificate,
    and the report repeats it; what is given must be what the certificate is about. mask: CSV file of patterns.
    hierarchies: folder with COLUMN.csv files; those of sensitive attributes play no part. Mask, hierarchies, weights
    and costs of levels and labels must be named whenever the problem had them, and so must all requirements where one
    of them is about a population. Other parameters as in `read_table`.
    Raises InputError for files that cannot be read.
    """
    claim = Claim.of(certificate)
    names = _same_order(quasi_identifiers, claim.names("quasi_identifiers"))
    others = _same_order(sensitive, claim.names("sensitive"))
    try:
        with warnings.catch_warnings(action="ignore", category=RoleWarning):  # nothing is released here
            table = read_table(
                original,
                names,
                others,
                query=query,
                unit=unit or next((each["unit"] for each in claim.requirements if "unit" in each), None),
                count=count,
                delimiter=delimiter,
                encoding=encoding,
                missing=missing,
                missing_values=missing_values,
                header=header,
                symbol=symbol,
            )
    except UnknownColumnError as error:
        given = [*(names if quasi_identifiers else ()), *(others if sensitive else ()), unit, count]
        if error.column in given:
            raise
        raise InputError(
            f'{certificate}: the certificate is about another table: its column "{error.column}" is not in {original}'
        ) from error
    recoding = _recoding(table, mask, hierarchies, weights, costs, makers, level_costs, levels, of_groups)
    reading = suppressed_rows or claim.reading
    requirements, populations = claim.requirements, list[PopulationRule]()
    if privacy:
        asked = Problem(table, privacy, recoding, suppressed_rows=reading)
        requirements, populations = stated(asked.requirements, Original.of(table))
    elif table.keys_match != (claimed := any("missing_keys" in each for each in requirements)):
        what = "match any value" if claimed else "are values of their own"
        raise InputError(
            f"{certificate}: the certificate is about a table whose missing keys {what}; name that reading: --missing "
            f'{"wildcard" if claimed else "value"} (missing="{"wildcard" if claimed else "value"}")'
        )
    groups = {key: claim.number_of_groups(key) for key in NUMBERS_OF_GROUPS}
    return check_claim(table, recoding, requirements, reading, claim, groups, populations)


def _same_order(given: Sequence[str] | str | None, declared: list[str]) -> list[str]:
    """The columns given; in the order of the certificate if these are the same."""
    if given is None:
        return declared
    names = [given] if isinstance(given, str) else list(given)
    return declared if sorted(names) == sorted(declared) else names


def _recoding(
    table: Table,
    mask: str | Path | None,
    hierarchies: str | Path | None,
    weights: Mapping[str, Number] | None,
    costs: Mapping[str, Any] | str | None,
    makers: Makers | None,
    level_costs: Mapping[str, Sequence[Number]] | None = None,
    levels: Mapping[str, Any] | None = None,
    of_groups: Mapping[str, Any] | None = None,
) -> Recoding:
    """A folder whose hierarchies are all of sensitive attributes holds ground distances, and is no recoding."""
    folder = hierarchies
    if folder is not None and _hierarchy_files(table.sensitive, folder):
        folder = folder if _hierarchy_files(table.quasi_identifiers, folder) else None
    made = made_hierarchies(table, makers or {})
    encoding = table.csv.named_encoding
    return read_recoding(
        table.quasi_identifiers, mask, folder, weights, level_costs, encoding, made, costs, levels, of_groups
    )


def _hierarchical(table: Table, folder: str | Path | None) -> dict[str, GroundDistance]:
    """The hierarchical distance of each sensitive attribute that has a hierarchy in the folder."""
    files = {} if folder is None else _hierarchy_files(table.sensitive, folder)
    return {name: HierarchicalDistance.read(path, table.csv.named_encoding) for name, path in files.items()}


def _hierarchy_files(names: Sequence[str], folder: str | Path) -> dict[str, Path]:
    paths = {name: Path(folder) / f"{name}.csv" for name in names}
    return {name: path for name, path in paths.items() if path.is_file()}
