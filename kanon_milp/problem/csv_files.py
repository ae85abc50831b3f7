"""CSV files: reading them cell by cell as they are, and writing values so that they are read as the same text."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import polars.selectors as cs

from kanon_milp.errors import InputError, counted
from kanon_milp.problem.arguments import listed, text
from kanon_milp.problem.roles import another_delimiter

UTF8 = ("utf-8", "utf8")
F = TypeVar("F", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True)
class CsvFormat:
    """How a table is written: the delimiter of a CSV file, its text encoding (a Python codec name), and texts that
    stand for a missing value, such as NA, blanks around them aside (in other files, too)."""

    delimiter: str = ","
    encoding: str = "utf-8"
    missing_values: Sequence[str] | str = ()

    def __post_init__(self) -> None:
        given = self.missing_values
        texts = [given] if isinstance(given, str) else listed(given, "missing_values", "a text, or a list of texts,")
        object.__setattr__(self, "missing_values", tuple(text(each, "missing_values") for each in texts))
        if len(text(self.delimiter, "delimiter").encode(errors="replace")) != 1 or self.delimiter in '"\r\n\0':
            raise InputError('the delimiter must be one ASCII character, such as "," or ";"')
        try:
            "".encode(text(self.encoding, "encoding"))
        except (LookupError, ValueError):
            raise InputError(f'unknown encoding "{self.encoding}"; try utf-8, latin-1 or cp1252') from None


def with_missing(frame: F, fmt: CsvFormat) -> F:
    """A frame of polars, lazy or not, in which the texts that stand for a missing value are null."""
    if not fmt.missing_values:
        return frame
    shown = cs.string().str.strip_chars().is_in(list(fmt.missing_values))
    return frame.with_columns(pl.when(~shown).then(cs.string()))


class NoTextError(ValueError):
    """Values of this kind have no text of their own; the message names the kind."""


DAMAGED = EOFError, zlib.error, gzip.BadGzipFile  # what reading a damaged file compressed by gzip raises


class _BareReturnError(Exception):
    """A carriage return that ends no line."""


def text_of(series: pl.Series) -> pl.Series:
    """Values as text, null where one is missing: what a CSV file holds, and what values are compared by.

    Raises NoTextError for lists, structures, bytes and objects.
    """
    if _has_no_text(series.dtype):
        raise NoTextError(str(series.dtype))
    if series.dtype in (pl.Duration, pl.Time):  # which have no cast of their own, or one that drops nanoseconds
        return series.dt.to_string("iso")
    if series.dtype.is_float():
        series = series.fill_nan(None)
    return series.cast(pl.String)


def without_text(frame: pl.DataFrame) -> list[str]:
    """The columns whose values have no text, so that no CSV file can hold them."""
    return [name for name, kind in frame.schema.items() if _has_no_text(kind)]


def csv_text(frame: pl.DataFrame, delimiter: str) -> str:
    """A frame as CSV: missing values as nothing, empty text as \"\", quotes only where needed."""
    # without its name: methods of a series called ^a.*$ would read that as a pattern
    columns = {series.name: text_of(series.alias("")) for series in frame}
    return pl.DataFrame(columns).write_csv(separator=delimiter)


def unpacked(path: Path) -> bytes:
    """The bytes of a file; of one whose name ends in .gz those that it packs. Raises InputError for a damaged one."""
    raw = path.read_bytes()
    try:
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except DAMAGED:
        raise _damaged(path) from None


def read_csv(path: Path, fmt: CsvFormat) -> pl.DataFrame:
    """Read an entire file, every cell as text; a cell is missing where it is empty and not quoted."""
    raw = unpacked(path)
    try:
        if fmt.encoding.lower() in UTF8:
            raw.decode("utf-8")  # the CSV reader would pass some faults on
        else:
            # incrementally, as then UTF-16 and UTF-32 without a mark of their byte order are refused, not guessed
            raw = codecs.getincrementaldecoder(fmt.encoding)().decode(raw, final=True).encode("utf-8")
    except UnicodeError:
        raise _wrong_encoding(path, fmt) from None
    raw, stand_in = _without_bare_returns(raw)
    shape = _shape(io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", newline="\n"), path, fmt)
    if shape.rows == 0:
        raise InputError(f"{path}: the table has no rows")
    frame = pl.read_csv(io.BytesIO(raw), separator=fmt.delimiter, **shape.options).head(shape.rows)
    if frame.height != shape.rows:
        raise InputError(f"{path}: cannot be read as CSV: a cell with a quotation mark in it must be quoted")
    if stand_in:
        frame = frame.with_columns(pl.all().str.replace_all(stand_in, "\r", literal=True))
        frame.columns = [name.replace(stand_in, "\r") for name in frame.columns]
    return frame


def scan_csv(path: Path, fmt: CsvFormat) -> pl.LazyFrame:
    """Open a file lazily; it is checked line by line."""
    if fmt.encoding.lower().replace("_", "-") not in (*UTF8, "ascii"):
        return read_csv(path, fmt).lazy()
    try:
        with _open_text(path) as file:
            shape = _shape(_refuse_bare_returns(file), path, fmt)
    except UnicodeError:
        raise _wrong_encoding(path, fmt) from None
    except _BareReturnError:
        return read_csv(path, fmt).lazy()
    except DAMAGED:
        raise _damaged(path) from None
    return pl.scan_csv(path, separator=fmt.delimiter, glob=False, **shape.options).head(shape.rows)


def _has_no_text(kind: pl.DataType) -> bool:
    return kind.is_nested() or kind in (pl.Object, pl.Binary)


def _open_text(path: Path) -> io.TextIOBase:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="\n")
    return path.open(encoding="utf-8-sig", newline="\n")


def _refuse_bare_returns(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if "\r" in line and "\r" in line.rstrip("\n").removesuffix("\r"):
            raise _BareReturnError
        yield line


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: cannot be unpacked by gzip: the file is damaged, ends too early, or is not packed")


def _wrong_encoding(path: Path, fmt: CsvFormat) -> InputError:
    return InputError(f"{path}: is not {fmt.encoding}; name its encoding, such as cp1252 (encoding=..., --encoding)")


def _without_bare_returns(raw: bytes) -> tuple[bytes, str]:
    """Put a character that does not occur in the place of each carriage return that ends no line.

    The CSV reader drops one at the end of a cell. Returns the character too, or an empty text where there was none.
    """
    if b"\r" not in raw:
        return raw, ""
    unused = next(character for character in map(chr, range(0xE000, 0xF900)) if character.encode() not in raw)
    changed, count = re.subn(rb"\r(?!\n|\Z)", unused.encode(), raw)
    return changed, unused if count else ""


@dataclass(frozen=True)
class _Shape:
    """Column names, lines of the header, and rows before blank lines at the end."""

    names: tuple[str, ...]
    header_lines: int
    rows: int

    @property
    def options(self) -> dict[str, Any]:
        """What the CSV reader is told. It is not shown the header: it would misread names with quotation marks."""
        schema = dict.fromkeys(self.names, pl.String)
        return {"has_header": False, "skip_lines": self.header_lines, "schema": schema}


def _shape(lines: Iterable[str], path: Path, fmt: CsvFormat) -> _Shape:
    """Read the header, and count the rows that follow.

    Every row must have as many fields as the header: the CSV reader would fill short rows up, and blank lines, with
    missing values. Only in a file of one column a blank line is a row, with a missing value.
    """
    lines = iter(lines)
    names, header_lines = _header(lines, path, fmt)
    blank = None
    row = 0
    for row, (fields, line) in enumerate(_fields(lines, fmt.delimiter, path, header_lines), 1):
        if fields == 0 and len(names) > 1:
            blank = blank or (row, line)
        elif blank is not None:
            raise InputError(f"{path}: line {blank[1]}, after row {blank[0] - 1}, is blank; remove it")
        elif fields != len(names) and fields > 0:
            doubt = another_delimiter(names) or f'; is the delimiter "{fmt.delimiter}" right (delimiter=, --delimiter)?'
            raise InputError(f"{path}: row {row} has {counted(fields, 'field')}, the header has {len(names)}{doubt}")
    return _Shape(names, header_lines, row if blank is None else blank[0] - 1)


def _header(lines: Iterator[str], path: Path, fmt: CsvFormat) -> tuple[tuple[str, ...], int]:
    """Column names, and the number of lines that they take: the CSV reader would rename a repeated column silently."""
    reader = csv.reader(lines, delimiter=fmt.delimiter, strict=True)
    try:
        names = next(reader, None)
    except csv.Error as error:
        raise InputError(f"{path}: the header is not valid CSV: {_fault(error)}") from None
    if not names or (len(names) == 1 and not names[0].strip()):
        what = "the file is empty" if names is None else "the first line is blank"
        raise InputError(f"{path}: {what}: a header row with the column names is expected")
    first: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if first.setdefault(name, position) != position:  # unnamed: without a header row, the name would be a cell
            raise InputError(
                f"{path}: columns {first[name]} and {position} of the header have the same name; rename one of them, "
                "or add a header row if the file has none"
            )
    return tuple(names), reader.line_num


def _fields(lines: Iterator[str], delimiter: str, path: Path, before: int) -> Iterator[tuple[int, int]]:
    """For each row its number of fields (0 for a blank line) and the number of its last line; before: lines read."""
    end = before  # line at which the row before ends
    while (line := next(lines, None)) is not None:
        if '"' not in line:  # counting delimiters is exact, and fast
            end += 1
            yield (line.count(delimiter) or bool(line.strip()) - 1) + 1, end
            continue
        reader = csv.reader(itertools.chain([line], lines), delimiter=delimiter, strict=True)
        try:
            row = next(reader)
        except csv.Error as error:
            raise InputError(
                f"{path}: the row that begins in line {end + 1} is not valid CSV: {_fault(error)}"
            ) from None
        end += reader.line_num
        yield 0 if not row or (len(row) == 1 and not row[0].strip()) else len(row), end


def _fault(error: csv.Error) -> str:
    """What is wrong with a row, in words."""
    kinds = {
        "unexpected end of data": "a quotation mark is opened and never closed",
        "expected after": "text follows a closing quotation mark; a quotation mark within a value is written twice",
        "field limit": "a value is longer than 131,072 characters",
    }
    return next((said for mark, said in kinds.items() if mark in str(error)), "it cannot be divided into fields")
