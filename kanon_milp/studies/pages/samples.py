"""Cells on a page, which are there only where somebody asks for them: the first released rows, and rows before and
after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.methods.result import Result
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.problem.column_values import as_text, text_of, without_text
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import open_frame, read_frame
from kanon_milp.studies.model_files import read_content
from kanon_milp.studies.output import CLAIM, STATEMENT, base_of, groups_from

ROWS = 3  # of a group, in a table of rows before and after
GROUPS_FILE = "groups.csv"


def first_rows(released: pl.DataFrame) -> dict[str, Any]:
    """These rows as they are released: names of the columns, and cells as text."""
    odd = set(without_text(released))  # lists and structures have no text
    columns = [["…"] * released.height if each.name in odd else text_of(each.alias("")).to_list() for each in released]
    rows = zip(range(1, released.height + 1), *columns, strict=True)
    return {"names": released.columns, "rows": [["" if cell is None else cell for cell in row] for row in rows]}


def before_after(problem: Problem, released: Any, placed: RowGroups, groups: int) -> dict[str, Any]:
    """The first rows of the groups that come first in the table: their quasi-identifiers before and after.

    released: a table with the rows of the problem's in their order. placed: the groups of its rows. groups: so many of
    them. Returns the names of the columns, and (size, [(row, [(before, after, fate)])]) for each group, where a fate
    is "kept", "generalized" or "suppressed".
    """
    table, group_of_row = problem.table.divided(placed.row, placed.rows), placed.group
    names, symbol = list(table.quasi_identifiers), table.symbol
    frame, _ = open_frame(released, "released table")
    after = as_text(frame, names, "released table")
    found: list[tuple[int, list[Any]]] = []
    for number in dict.fromkeys(group_of_row.tolist()):
        if len(found) == groups:
            break
        members = np.flatnonzero(group_of_row == number)
        rows = []
        for at in members[:ROWS].tolist():
            pairs = [(table.column(name)[at], after[name][at]) for name in names]
            fates = ["kept" if old == new else "suppressed" if new == symbol else "generalized" for old, new in pairs]
            cells = [(old or "", new or "", fate) for (old, new), fate in zip(pairs, fates, strict=True)]
            rows.append((int(placed.row[at]) + 1, cells))
        found.append((int(placed.rows[members].sum()), rows))
    return {"names": names, "groups": found, "most": ROWS}


def of_result(result: Result, groups: int) -> dict[str, Any] | None:
    """Rows before and after of a result; None where none are asked for, or it has no table."""
    if not groups or result.table is None or result.placed is None:
        return None
    return before_after(result.problem, result.table, result.placed, groups)


def of_folder(found: Mapping[str, Any], folder: Path, anonymized: str | None, groups: int) -> dict[str, Any] | None:
    """The same of a folder that `solve --out` has written: the original table is read again from where it was.

    Raises InputError where it cannot be read as it was.
    """
    if not groups or anonymized is None:
        return None
    content = found.get(STATEMENT)
    if not isinstance(content, Mapping):
        raise InputError(
            f"{folder / CLAIM}: does not say how the original table is read (it, or a hierarchy, came from no "
            "file), so solve again with --report-before-after"
        )
    problem = read_content(content, base_of(found, folder) / CLAIM).problem
    written = found["input"]["table"]
    header = True if written.get("header", True) is True else problem.table.released_columns
    missing = tuple(written.get("missing_values", ()))
    csv = CsvFormat(written["delimiter"], written["encoding"], header=header, missing_values=missing)
    placed = groups_from(folder / GROUPS_FILE)
    return before_after(problem, read_frame(folder / anonymized, csv), placed, groups)
