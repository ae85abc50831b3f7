"""Row types of tables that may be larger than memory: files are read piece by piece, databases count for themselves."""

from __future__ import annotations

from pathlib import Path

from kanon_milp.presolve.row_types import RowTypes, compress
from kanon_milp.problem.csv_files import CsvFormat
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
) -> RowTypes:
    """The row types of a file, or of what a query of a database returns. roles: None for all columns.

    Raises InputError for what cannot be read, and for columns that are not there.
    """
    asked = asked_query(source, query)
    if isinstance(source, Database):
        columns = list(source.columns(asked))
        roles = Roles.of(columns) if roles is None else roles
        roles.check(columns, str(source))
        types, rows = source.row_types(asked, [*roles.quasi_identifiers, *roles.sensitive])
        return compress(types, roles.quasi_identifiers, roles.sensitive, rows)
    frame = scan_frame(source, CsvFormat(delimiter or default_delimiter(source), encoding))
    columns = frame.collect_schema().names()
    roles = Roles.of(columns) if roles is None else roles
    roles.check(columns, str(source))
    return compress(frame, roles.quasi_identifiers, roles.sensitive)
