"""Row types of tables that may be larger than memory: files are read piece by piece, databases count for themselves."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import narwhals as nw

from kanon_milp.errors import FileWarning
from kanon_milp.presolve.row_types import RowTypes, compress
from kanon_milp.problem.csv_files import CsvFormat, with_missing
from kanon_milp.problem.databases import Database, asked_query
from kanon_milp.problem.roles import LOOKED_AT, Roles, header_doubt
from kanon_milp.problem.table import scan_frame


def row_types(
    source: Path | Database,
    roles: Roles | None,
    *,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing_values: Sequence[str] = (),
    header: bool | Sequence[str] = True,
) -> RowTypes:
    """The row types of a file, or of what a query of a database returns. roles: None for all columns.
    Other parameters as in `read_table`.

    Raises InputError for what cannot be read, and for columns that are not there.
    """
    asked = asked_query(source, query)
    fmt = CsvFormat.asked(source, delimiter, encoding, missing_values, header)
    if isinstance(source, Database):
        columns = list(source.columns(asked))
        roles = Roles.of(columns) if roles is None else roles
        roles.check(columns, str(source))
        types, rows = source.row_types(asked, [*roles.quasi_identifiers, *roles.sensitive])
        return compress(with_missing(types, fmt), roles.quasi_identifiers, roles.sensitive, rows)
    frame = scan_frame(source, fmt)
    columns = frame.collect_schema().names()
    head = nw.from_native(frame.head(LOOKED_AT).collect(), eager_only=True)
    doubt = header_doubt(columns, head, str(source), has_header=header is True)
    if doubt:
        warnings.warn(doubt, FileWarning, stacklevel=2)
    roles = Roles.of(columns) if roles is None else roles
    roles.check(columns, str(source), doubt)
    return compress(frame, roles.quasi_identifiers, roles.sensitive)
