"""Microdata and the roles of its columns: readers, validation, and the way back to the user's own kind of data
frame."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import polars as pl

from kanon_milp.errors import InputError, kind_of, nearest
from kanon_milp.processes import begin_threads

Missing = Literal["value", "error"]
SYMBOL = "*"

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
PARQUET_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written: its delimiter and its text encoding (a Python codec name)."""

    delimiter: str = ","
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if len(self.delimiter.encode()) != 1:
            raise InputError('the delimiter must be one ASCII character, such as "," or ";"')
        try:
            "".encode(self.encoding)
        except LookupError:
            raise InputError(f'unknown encoding "{self.encoding}"; try utf-8, latin-1 or cp1252') from None


@dataclass(frozen=True, eq=False)
class Table:
    """Microdata with roles: which columns are quasi-identifiers, which are sensitive; all others pass through
    untouched.

    frame: the rows as they came, an eager narwhals frame over the user's own data frame; never changed.
    keys: polars frame of the quasi-identifiers, then the sensitive attributes, every value as text, null where missing.
    symbol: what stands in the place of a suppressed value. read_seconds: how long reading and checking took.
    """

    frame: nw.DataFrame[Any]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    keys: pl.DataFrame
    source: str = "table"
    symbol: str = SYMBOL
    csv: CsvFormat = CsvFormat()
    read_seconds: float = 0.0

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        quasi_identifiers: Sequence[str] | str,
        sensitive: Sequence[str] | str | None = None,
        *,
        missing: Missing = "value",
        symbol: str = SYMBOL,
        source: str = "table",
        csv: CsvFormat | None = None,
    ) -> Table:
        """Take a data frame of any kind that narwhals knows (pandas, polars, pyarrow, duckdb, ...).

        The released table is of the same kind; a lazy one is read once, and comes back as what narwhals reads it into:
        a relation of duckdb as a pyarrow table, a lazy frame of polars as a data frame.
        missing: "value" makes missing values one value of their own, "error" refuses them.
        Raises InputError for an empty table, unknown or repeated columns, a column with two roles, values that are no
        scalars, and a table that already contains `symbol`.
        """
        begin_threads()
        eager = _open_frame(frame, source)
        qi, sa = roles(list(eager.columns), quasi_identifiers, sensitive, source)
        if len(eager) == 0:
            raise InputError(f"{source}: the table has no rows")
        if missing not in ("value", "error"):
            raise InputError(
                f'missing must be "value" or "error", not "{missing}"{nearest(str(missing), ["value", "error"])}'
            )
        keys = _as_text(eager, (*qi, *sa), source)
        if missing == "error":
            _refuse_missing(keys, source)
        table = cls(eager, qi, sa, keys, source, symbol, csv or CsvFormat())
        table._refuse_symbol()
        return table

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.keys.height

    @property
    def m(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.quasi_identifiers)

    def released(self, columns: Mapping[str, pl.Series]) -> Any:
        """Return the user's own kind of data frame with these columns (text) in place of the old ones; row order
        kept."""
        replace = [
            nw.new_series(name, series.to_list(), nw.String(), backend=self.frame.implementation)
            for name, series in columns.items()
        ]
        if self.frame.implementation.is_pandas_like():  # a data frame of pandas may have any index
            index = nw.maybe_get_index(self.frame)
            replace = [nw.maybe_set_index(series, index=index) for series in replace]
        return self.frame.with_columns(*replace).to_native()

    def _refuse_symbol(self) -> None:
        for name in self.quasi_identifiers:
            hits = (self.keys[name] == self.symbol).fill_null(value=False)
            if hits.any():
                raise InputError(
                    f'{self.source}: column "{name}", row {_first(hits)}: the suppression symbol is already a '
                    f"value of the table ({hits.sum()} such cells); choose another symbol (symbol=..., --symbol)"
                )


def read_table(
    path: str | Path,
    quasi_identifiers: Sequence[str] | str,
    sensitive: Sequence[str] | str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Missing = "value",
    symbol: str = SYMBOL,
    rows: int | None = None,
) -> Table:
    """Read microdata from CSV (also .gz), Parquet or Arrow; values of a CSV file are text, byte for byte.

    delimiter: default "," and, for .tsv, a tab. rows: only the first so many. Other parameters: `Table.from_frame`.
    Raises InputError for a file that is missing or cannot be read, and whatever `Table.from_frame` refuses.
    """
    path = Path(path)
    began = time.perf_counter()
    fmt = CsvFormat(delimiter or default_delimiter(path), encoding)
    frame = read_frame(path, fmt)
    if rows is not None:
        frame = frame.head(rows)
    table = Table.from_frame(
        frame, quasi_identifiers, sensitive, missing=missing, symbol=symbol, source=str(path), csv=fmt
    )
    return replace(table, read_seconds=time.perf_counter() - began)


def read_frame(path: Path, fmt: CsvFormat | None = None) -> pl.DataFrame:
    """Read a file whole, values of a CSV file as text."""
    begin_threads()
    kind = _kind(path)
    fmt = fmt or CsvFormat(default_delimiter(path))
    try:
        if kind == "parquet":
            return pl.read_parquet(path, glob=False)
        if kind == "arrow":
            return pl.read_ipc(path.read_bytes())
        return _read_csv(path, fmt)
    except (pl.exceptions.PolarsError, OSError, gzip.BadGzipFile, EOFError) as error:
        # the library's own message may quote cells, so only its kind is passed on
        raise InputError(f"{path}: cannot be read as {kind} ({type(error).__name__})") from None


def scan_frame(path: Path, fmt: CsvFormat | None = None) -> pl.LazyFrame:
    """Open a file lazily, for tables larger than memory: it is never held whole. A CSV file is checked line by line."""
    begin_threads()
    kind = _kind(path)
    fmt = fmt or CsvFormat(default_delimiter(path))
    if kind == "parquet":
        return pl.scan_parquet(path, glob=False)
    if kind == "arrow":
        return pl.scan_ipc(path, glob=False)
    if fmt.encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "ascii"):
        return read_frame(path, fmt).lazy()
    names = _header(path, fmt)
    try:
        with _open_text(path, "utf-8", newline="\n") as file:
            rows = _rows_before_blank_end(file, len(names), path, fmt)
    except UnicodeDecodeError:
        raise _wrong_encoding(path, fmt) from None
    frame = pl.scan_csv(path, separator=fmt.delimiter, infer_schema=False, glob=False)
    return frame if rows is None else frame.head(rows)


def roles(
    columns: list[str],
    quasi_identifiers: Sequence[str] | str,
    sensitive: Sequence[str] | str | None,
    source: str,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check the roles of columns and return (quasi-identifiers, sensitive attributes)."""
    qi = (quasi_identifiers,) if isinstance(quasi_identifiers, str) else tuple(quasi_identifiers)
    sa = () if sensitive is None else (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    if not qi:
        raise InputError(f"{source}: name at least one quasi-identifier")
    for role, names in (("quasi-identifier", qi), ("sensitive attribute", sa)):
        for name in names:
            if name not in columns:
                known = [str(c) for c in columns]
                raise InputError(
                    f'{source}: there is no column "{name}" ({role}){nearest(str(name), known)}; '
                    f"columns: {', '.join(known)}"
                )
            if names.count(name) > 1:
                raise InputError(f'{source}: column "{name}" is named twice as {role}')
    for name in qi:
        if name in sa:
            raise InputError(f'{source}: column "{name}" cannot be quasi-identifier and sensitive attribute at once')
    return qi, sa


def default_delimiter(path: Path) -> str:
    """A tab for .tsv, else a comma."""
    return "\t" if ".tsv" in path.suffixes else ","


def _kind(path: Path) -> str:
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a file")
    suffixes = [s.lower() for s in path.suffixes]
    suffix = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else suffixes[-1] if suffixes else ""
    if suffix in PARQUET_SUFFIXES:
        return "parquet"
    if suffix in ARROW_SUFFIXES:
        return "arrow"
    if suffix in CSV_SUFFIXES:
        return "CSV"
    known = ", ".join((*CSV_SUFFIXES, *PARQUET_SUFFIXES, *ARROW_SUFFIXES))
    raise InputError(f"{path}: unknown kind of file; known endings: {known} (CSV files also with .gz)")


def _open_text(path: Path, encoding: str, newline: str = "") -> io.TextIOBase:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline=newline)
    return path.open(encoding=encoding, newline=newline)


def _header(path: Path, fmt: CsvFormat) -> list[str]:
    """Column names of a CSV file, checked: the CSV reader itself would rename a repeated column silently."""
    encoding = "utf-8-sig" if fmt.encoding.lower() in ("utf-8", "utf8") else fmt.encoding
    try:
        with _open_text(path, encoding) as file:
            names = next(csv.reader(file, delimiter=fmt.delimiter), None)
    except UnicodeDecodeError:
        raise _wrong_encoding(path, fmt) from None
    if not names:
        what = "the file is empty" if names is None else "the first line is blank"
        raise InputError(f"{path}: {what}: a header row with the column names is expected")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f'{path}: the header names column "{name}" {names.count(name)} times')
    return names


def _wrong_encoding(path: Path, fmt: CsvFormat) -> InputError:
    return InputError(f"{path}: is not {fmt.encoding}; name its encoding (encoding=..., --encoding)")


def _read_csv(path: Path, fmt: CsvFormat) -> pl.DataFrame:
    names = _header(path, fmt)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        if fmt.encoding.lower() in ("utf-8", "utf8"):
            raw.decode("utf-8")  # the CSV reader would pass some faults on
        else:
            raw = raw.decode(fmt.encoding).encode("utf-8")
    except UnicodeDecodeError:
        raise _wrong_encoding(path, fmt) from None
    rows = _rows_before_blank_end(io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="\n"), len(names), path, fmt)
    if raw.count(b"\n") <= 1 and not raw.partition(b"\n")[2].strip():
        raise InputError(f"{path}: the table has no rows")
    frame = pl.read_csv(io.BytesIO(raw), separator=fmt.delimiter, infer_schema=False)
    return frame if rows is None else frame.head(rows)


def _rows_before_blank_end(lines: Iterator[str], width: int, path: Path, fmt: CsvFormat) -> int | None:
    """The number of rows, where nothing but blank lines comes after them; None where no such line is there.

    Every row must have as many fields as the header: the CSV reader would fill short rows up, and blank lines, with
    missing values. Only in a file of one column a blank line is a row, with a missing value.
    """
    blank = None
    for row, (fields, line) in enumerate(_fields(lines, fmt.delimiter, path)):
        if fields == 0 and width > 1:
            blank = blank or (row, line)
        elif blank is not None:
            raise InputError(f"{path}: line {blank[1]}, after row {blank[0] - 1}, is blank; remove it")
        elif fields != width and fields > 0:
            raise InputError(
                f"{path}: row {row} has {fields} fields, the header has {width}; is the delimiter "
                f'"{fmt.delimiter}" right (delimiter=..., --delimiter)?'
            )
    return None if blank is None else blank[0] - 1


def _fields(lines: Iterator[str], delimiter: str, path: Path) -> Iterator[tuple[int, int]]:
    """For each row, the header first, its number of fields (0 for a blank line) and the number of its last line."""
    for number, line in enumerate(lines, 1):
        if '"' not in line:  # counting delimiters is exact, and fast
            yield (line.count(delimiter) or bool(line.strip()) - 1) + 1, number
            continue
        reader = csv.reader(itertools.chain([line], lines), delimiter=delimiter)
        try:
            for row in reader:
                blank = not row or (len(row) == 1 and not row[0].strip())
                yield 0 if blank else len(row), number - 1 + reader.line_num
        except csv.Error as error:
            raise InputError(f"{path}: line {number - 1 + reader.line_num} is no CSV: {error}") from None


def _open_frame(frame: Any, source: str) -> nw.DataFrame[Any]:
    try:
        wrapped = nw.from_native(frame)
        eager: nw.DataFrame[Any] = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
        names = list(eager.columns)
    except TypeError:
        kinds = "pandas, polars, pyarrow, duckdb, ..."
        raise InputError(f"{source}: a {type(frame).__name__} is no data frame that narwhals knows ({kinds})") from None
    except nw.exceptions.DuplicateError:
        raise InputError(f"{source}: a column name occurs twice; rename one of the columns") from None
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{source}: column names must be text")
    return eager


def _as_text(frame: nw.DataFrame[Any], names: Sequence[str], source: str) -> pl.DataFrame:
    columns = []
    for name in names:
        try:
            series = frame[name].to_polars()
        except Exception as error:  # whatever backend: its own message may quote cells
            raise InputError(
                f'{source}: column "{name}" holds values of several kinds ({type(error).__name__}); make them all text'
            ) from None
        if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary):
            raise InputError(
                f'{source}: column "{name}" holds {series.dtype} values; '
                "only text, numbers, dates and truth values can be used"
            )
        if series.dtype.is_float():
            series = series.fill_nan(None)
        columns.append(series.cast(pl.String).alias(name))
    return pl.DataFrame(columns)


def _refuse_missing(keys: pl.DataFrame, source: str) -> None:
    for name in keys.columns:
        hits = keys[name].is_null()
        if hits.any():
            raise InputError(
                f'{source}: column "{name}", row {_first(hits)}: the value is {kind_of(None)} '
                f"({hits.sum()} such cells); "
                'fill it, or let missing values be one value of their own (missing="value")'
            )


def _first(hits: pl.Series) -> int:
    """Row number (from 1, header not counted) of the first true entry."""
    first = hits.arg_max()
    assert first is not None
    return int(first) + 1
