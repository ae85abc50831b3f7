"""CSV files beside the table (hierarchies, masks, orders, distances): each has a delimiter of its own, found from what
such a file looks like."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.csv_files import CsvFormat, unpacked
from kanon_milp.problem.table import file_kind, read_frame

DELIMITERS = (",", ";", "\t", "|")
Rows = list[list[str]]
Label = str | None


def read_side_frame(path: Path, encoding: str, looks_right: Callable[[Rows], bool]) -> pl.DataFrame:
    """Read a file with a header row. looks_right: whether rows, the header first, are those of such a file.

    Where none of the delimiters makes it so, the file is divided into as many columns as possible, so that whoever
    checks it says what is wrong. Raises InputError for a file that cannot be read, or that several delimiters fit.
    """
    if file_kind(path) != "CSV":
        return read_frame(path)
    text = _text(path, encoding)
    return read_frame(path, CsvFormat(_delimiter(path, text, looks_right), encoding))


def read_hierarchy_rows(path: Path, encoding: str) -> list[tuple[Label, ...]]:
    """The rows of a hierarchy: value, label at level 1, ..., `*`; an empty value, not quoted, is None.

    The header level0,level1,... may be missing, as in the files of ARX; then all rows must end in one label, which is
    the top whatever its name. Raises InputError for a file that cannot be read as a hierarchy.
    """
    if file_kind(path) != "CSV":
        frame = read_frame(path)
        return _below_header([tuple(frame.columns), *frame.cast(pl.String).rows()], path)
    text = _text(path, encoding)
    delimiter = _delimiter(path, text, _has_levels, _has_stars, _has_one_top)
    rows = _divided(text, delimiter)
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{path}: line {number} has {len(row)} columns, the first line {len(rows[0])}; each row of a hierarchy "
                "has one label for each level"
            )
    if len(rows[0]) < 2:
        raise InputError(f"{path}: a hierarchy has at least two columns, separated by a comma, semicolon, tab or |")
    # a reader that tells an empty cell (missing) from a quoted empty text
    lines = text.rstrip("\r\n").encode()
    frame = pl.read_csv(io.BytesIO(lines), separator=delimiter, has_header=False, infer_schema=False)
    return _below_header(frame.rows(), path)


def _below_header(rows: Sequence[tuple[Label, ...]], path: Path) -> list[tuple[Label, ...]]:
    """The rows without the header; if there is none, with `*` as their common top."""
    first, *others = rows
    if _is_header(first):
        return others
    if not _has_one_top([["" if label is None else label for label in row] for row in rows]):
        raise InputError(
            f"{path}: the first line is not the header level0,level1,..., and not all rows end in the same label, as "
            "in a hierarchy without a header; the columns are the levels, from the value itself to *"
        )
    return [(*row[:-1], "*") for row in rows]


def _is_header(row: Sequence[Label]) -> bool:
    return len(row) > 1 and list(row) == [f"level{level}" for level in range(len(row))]


def _has_levels(rows: Rows) -> bool:
    return _is_header(rows[0])


def _has_stars(rows: Rows) -> bool:
    return all(len(row) > 1 and row[-1] == "*" for row in rows)


def _has_one_top(rows: Rows) -> bool:
    return all(len(row) > 1 for row in rows) and len({row[-1] for row in rows}) == 1


def _delimiter(path: Path, text: str, *marks: Callable[[Rows], bool]) -> str:
    """The one delimiter with which the rows have the first of the marks that any delimiter gives them."""
    divided = {delimiter: _divided(text, delimiter) for delimiter in DELIMITERS}
    for mark in marks:
        fitting = [delimiter for delimiter, rows in divided.items() if _is_even(rows) and mark(rows)]
        if any(divided[each] != divided[fitting[0]] for each in fitting):
            said = " and ".join("a tab" if each == "\t" else f'"{each}"' for each in fitting)
            raise InputError(f"{path}: {said} both divide the file evenly; put cells that hold one of them in quotes")
        if fitting:
            return fitting[0]
    return max(DELIMITERS, key=lambda delimiter: len(divided[delimiter][0]))


def _is_even(rows: Rows) -> bool:
    return len({len(row) for row in rows}) == 1


def _divided(text: str, delimiter: str) -> Rows:
    """The rows of a CSV text, without blank lines at its end; a text that is no CSV is one empty cell."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return [[""]]
    while rows and not "".join(rows[-1]).strip():
        rows.pop()
    return [row or [""] for row in rows] or [[""]]


def _text(path: Path, encoding: str) -> str:
    encoding = CsvFormat(encoding=encoding).encoding  # a name that Python knows
    try:
        return unpacked(path).decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: is not {encoding}; name its encoding, such as cp1252 (encoding=..., --encoding)"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read as CSV ({type(error).__name__})") from None
