"""Row types of tables that may be larger than memory: files are read piece by piece, databases count for themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kanon_milp.presolve.row_types import RowTypes, compress
from kanon_milp.problem.csv_files import CsvFormat, with_missing
from kanon_milp.problem.databases import Database, asked_query
from kanon_milp.problem.roles import Roles
from kanon_milp.problem.table import default_delimiter, scan_frame


def row_types(
    source: Path | Database,
    roles: Roles | None,
    *,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing_values: Sequence[str] = (),
) -> RowTypes:
    """The row types of a file, or of what a query of a database returns. roles: None for all columns.
    missing_values: texts that stand for a missing value.

    Raises InputError for what cannot be read, and for columns that are not there.
    """
    asked = asked_query(source, query)
    fmt = CsvFormat(delimiter or default_delimiter(source), encoding, missing_values)
    if isinstance(source, Database):
        columns = list(source.columns(asked))
        roles = Roles.of(columns) if roles is None else roles
        roles.check(columns, str(source))
        types, rows = source.row_types(asked, [*roles.quasi_identifiers, *roles.sensitive])
        return compress(with_missing(types, fmt), roles.quasi_identifiers, roles.sensitive, rows)
    frame = scan_frame(source, fmt)
    columns = frame.collect_schema().names()
    roles = Roles.of(columns) if roles is None else roles
    roles.check(columns, str(source))
    return compress(frame, roles.quasi_identifiers, roles.sensitive)
