"""Microdata and the roles of its columns: readers, validation, and the way back to the user's own kind of data
frame."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import polars as pl

from kanon_milp.csvfile import NoTextError, read_csv, scan_csv, text_of
from kanon_milp.errors import InputError, kind_of, nearest

Missing = Literal["value", "error"]
FileKind = Literal["CSV", "parquet", "arrow"]
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
    kind: the kind of file that it came from and is written to, "CSV" where it came from none.
    """

    frame: nw.DataFrame[Any]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    keys: pl.DataFrame
    source: str = "table"
    symbol: str = SYMBOL
    csv: CsvFormat = CsvFormat()
    read_seconds: float = 0.0
    kind: FileKind = "CSV"

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
        if not is_text(self.symbol):
            raise InputError(f"{self.source}: the suppression symbol is no UTF-8 text; choose another symbol")
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
    return replace(table, kind=file_kind(path), read_seconds=time.perf_counter() - began)


def read_frame(path: Path, fmt: CsvFormat | None = None) -> pl.DataFrame:
    """Read a file whole, values of a CSV file as text."""
    kind = file_kind(path)
    fmt = fmt or CsvFormat(default_delimiter(path))
    try:
        if kind == "CSV":
            return read_csv(path, fmt)
        with path.open("rb") as file:  # opened here, since its name need not be text
            return pl.read_parquet(file) if kind == "parquet" else pl.read_ipc(file.read())
    except (pl.exceptions.PolarsError, OSError, gzip.BadGzipFile, EOFError) as error:
        # the library's own message may quote cells, so only its kind is passed on
        raise InputError(f"{path}: cannot be read as {kind} ({type(error).__name__})") from None


def scan_frame(path: Path, fmt: CsvFormat | None = None) -> pl.LazyFrame:
    """Open a file lazily, for tables larger than memory: it is never held whole. A CSV file is checked line by line."""
    kind = file_kind(path)
    fmt = fmt or CsvFormat(default_delimiter(path))
    if not is_text(str(path)):  # the library takes no such name
        return read_frame(path, fmt).lazy()
    if kind == "parquet":
        return pl.scan_parquet(path, glob=False)
    return pl.scan_ipc(path, glob=False) if kind == "arrow" else scan_csv(path, fmt)


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


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8, unlike a file name in another encoding."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def file_kind(path: Path) -> FileKind:
    """The kind of file that its name tells; raises InputError for another one, and where there is none."""
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
            columns.append(text_of(frame[name].to_polars()).alias(name))
        except NoTextError as error:
            raise InputError(
                f'{source}: column "{name}" holds {error} values; '
                "only text, numbers, dates, times and truth values can be used"
            ) from None
        except Exception as error:  # whatever backend: its own message may quote cells
            raise InputError(
                f'{source}: column "{name}" holds values of several kinds ({type(error).__name__}); make them all text'
            ) from None
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
