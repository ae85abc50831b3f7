"""CSV files beside the table (hierarchies, masks, orders, distances): each has a delimiter of its own, found from what
such a file looks like."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.csv_files import DELIMITERS, SEP, CsvFormat, decoded, read_text, unpacked
from kanon_milp.problem.roles import spoken
from kanon_milp.problem.table import file_kind, read_frame

Rows = list[list[str]]
Label = str | None


def read_side_frame(path: Path, encoding: str | None, looks_right: Callable[[Rows], bool]) -> pl.DataFrame:
    """Read a file with a header row. looks_right: whether rows, the header first, are those of such a file.

    Where none of the delimiters makes it so, the file is divided into as many columns as possible, so that whoever
    checks it says what is wrong. encoding: None finds it. Raises InputError for a file that cannot be read, or that
    several delimiters fit.
    """
    if file_kind(path) != "CSV":
        return read_frame(path)
    raw, fmt = _content(path, encoding)
    return _read(path, raw, replace(fmt, delimiter=_delimiter(path, raw, looks_right)))


def read_label_costs(path: Path, encoding: str | None = None) -> dict[str, str]:
    """The costs of labels, as text, from a file with the header label,cost and a row for each label."""

    def fits(rows: Rows) -> bool:
        return rows[0] == ["label", "cost"]

    frame = read_side_frame(path, encoding, fits)
    if list(frame.columns) != ["label", "cost"]:
        raise InputError(f"{path}: a file with costs of labels begins with the line label,cost")
    rows = frame.cast(pl.String).rows()
    if any(cell is None for row in rows for cell in row) or len(dict(rows)) < len(rows):
        raise InputError(f"{path}: a label has no cost, or stands in two rows")
    return dict(rows)


def read_hierarchy_rows(path: Path, encoding: str | None = None) -> list[tuple[str, tuple[Label, ...]]]:
    """The rows of a hierarchy, each with its place in messages, such as "line 3": value, label at level 1, ..., `*`; a
    missing value is None, as in a table.

    The header level0,level1,... may be missing, as in the files of ARX; then all rows must end in one label, which is
    the top whatever its name. Raises InputError for a file that cannot be read as a hierarchy.
    """
    if file_kind(path) != "CSV":
        frame = read_frame(path)
        below = _below_header([tuple(frame.columns), *frame.cast(pl.String).rows()], path)
        return [(f"row {number}", row) for number, row in enumerate(below, 1)]
    raw, fmt = _content(path, encoding)

    def has_stars(rows: Rows) -> bool:
        return all(len(row) > 1 and row[-1] == "*" for row in rows)

    delimiter = _delimiter(path, raw, lambda rows: _is_header(rows[0]), has_stars, _has_one_top)
    rows = _divided(raw, delimiter)
    places = _places(raw, delimiter)
    for place, row in zip(places, rows, strict=False):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{path}: {place} has {len(row)} columns, the first line {len(rows[0])}; each row of a hierarchy "
                "has one label for each level"
            )
    if len(rows[0]) < 2:
        raise InputError(f"{path}: a hierarchy has at least two columns, separated by a comma, semicolon, tab or |")
    header = _is_header(rows[0])
    if header and len(rows) == 1:
        return []
    found = _read(path, raw, replace(fmt, delimiter=delimiter, header=header)).rows()
    found = found if header else _below_header(found, path)
    if len(places) - header != len(found):  # such as lines of separators alone
        return [(f"row {number}", row) for number, row in enumerate(found, 1)]
    return list(zip(places[header:], found, strict=True))


def _read(path: Path, raw: bytes, fmt: CsvFormat) -> pl.DataFrame:
    try:
        return read_text(path, raw, fmt)[0]
    except pl.exceptions.PolarsError as error:  # whose message may quote cells
        raise InputError(f"{path}: cannot be read as CSV ({type(error).__name__})") from None


def _places(raw: bytes, delimiter: str) -> list[str]:
    text = raw.decode()
    begins, read, before = [], [], 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        begins.append(before)
        read.append(row)
        before = reader.line_num + 1
    several = any(len(row) > 1 for row in read)
    held = [line for line, row in zip(begins, read, strict=True) if len(row) > 1 or "".join(row).strip() or not several]
    return [f"line {line}" for line in (held[1:] if SEP.match(text) and held[:1] == [1] else held)]


def _content(path: Path, encoding: str | None) -> tuple[bytes, CsvFormat]:
    """A file as UTF-8, and its format, of which the delimiter is yet to be named."""
    try:
        raw, fmt = decoded(path, unpacked(path), CsvFormat.asked(path, ",", encoding))
    except OSError as error:
        raise InputError(f"{path}: cannot be read as CSV ({type(error).__name__})") from None
    return raw, fmt


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


def _has_one_top(rows: Rows) -> bool:
    return all(len(row) > 1 for row in rows) and len({row[-1] for row in rows}) == 1


def _delimiter(path: Path, raw: bytes, *marks: Callable[[Rows], bool]) -> str:
    """The one delimiter with which the rows have the first of the marks that any delimiter gives them."""
    sep = SEP.match(raw.decode())
    if sep:
        return sep[1]
    divided = {delimiter: _divided(raw, delimiter) for delimiter in DELIMITERS}
    for mark in marks:
        fitting = [delimiter for delimiter, rows in divided.items() if len(set(map(len, rows))) == 1 and mark(rows)]
        if any(divided[each] != divided[fitting[0]] for each in fitting):
            said = " and ".join(map(spoken, fitting))
            raise InputError(f"{path}: {said} both divide the file evenly; put cells that hold one of them in quotes")
        if fitting:
            return fitting[0]
    return max(DELIMITERS, key=lambda delimiter: len(divided[delimiter][0]))


def _divided(raw: bytes, delimiter: str) -> Rows:
    """The rows of a CSV text, without a line sep=; before them, and blank lines at the end and, where there are several
    columns, between them; a text that is no CSV is one empty cell."""
    text = SEP.sub("", raw.decode(), count=1) if SEP.match(raw.decode()) else raw.decode()
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return [[""]]
    while rows and not "".join(rows[-1]).strip():
        rows.pop()
    if any(len(row) > 1 for row in rows):
        rows = [row for row in rows if len(row) > 1 or "".join(row).strip()]
    return [row or [""] for row in rows] or [[""]]
