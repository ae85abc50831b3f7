"""Frequency tables: a column of counts, which says how many rows each row stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from kanon_milp.errors import InputError, counted, kind_of, printable
from kanon_milp.problem.column_values import as_text
from kanon_milp.system.arrays import Ints

INTEGER = re.compile(r"\s*[+]?\d+(\.0*)?\s*", re.ASCII)
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
MOST = 1 << 50  # rows in all, so that sums of rows are exact, also as floats


def counted_rows(
    frame: nw.DataFrame[Any], names: Sequence[str], source: str
) -> tuple[nw.DataFrame[Any], Ints | None, str]:
    """The rows of a table with a count above 0, their counts, int64, and what to say of the others; all rows and None
    where names, which has the column of counts, is empty.

    Raises InputError for a count that is missing, negative or no integer, and for more rows than can be counted.
    """
    if not names:
        return frame, None, ""
    cells = as_text(frame, names, source)[names[0]].to_list()
    for row, cell in enumerate(cells, 1):
        if cell is None or not INTEGER.fullmatch(cell):
            raise InputError(
                f'{source}: column "{names[0]}", row {row}: the count of a row must be an integer of at least 0, and '
                f"{_wrong(cell)}; correct it, or leave the row out"
            )
    counts = [int(cell.split(".")[0]) for cell in cells]
    total = sum(counts)
    if total == 0:
        raise InputError(f'{source}: the table has no rows: all counts in column "{names[0]}" are 0')
    if total > MOST:
        raise InputError(f'{source}: the counts in column "{names[0]}" add up to more than {MOST:,} rows')
    found = np.array(counts, dtype=np.int64)
    kept = np.flatnonzero(found)
    if len(kept) == len(found):
        return frame, found, ""
    left = len(found) - len(kept)
    said = "is left out; rows are numbered without it" if left == 1 else "are left out; rows are numbered without them"
    return frame[kept.tolist()], found[kept], printable(f"{source}: {counted(left, 'row')} with the count 0 {said}")


def _wrong(cell: str | None) -> str:
    if cell is None:
        return f"this one is {kind_of(None)}"
    if not NUMBER.fullmatch(cell):
        return "this one is no number"
    return "this one is negative" if cell.lstrip().startswith("-") else "this one is not written as an integer"
