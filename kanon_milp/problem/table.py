"""Microdata and the roles of its columns: readers, validation, and the way back to the user's own kind of data
frame."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
import polars.selectors as cs

from kanon_milp.errors import FileWarning, InputError, RoleWarning, counted, kind_of, printable
from kanon_milp.problem.arguments import exists, instance_of, integer, one_of, text
from kanon_milp.problem.column_values import as_text
from kanon_milp.problem.counts import counted_rows
from kanon_milp.problem.csv_files import CsvFormat, absent_marks, read_csv, read_excel, scan_csv, with_missing
from kanon_milp.problem.databases import Database, asked_query, location, shown_query
from kanon_milp.problem.role_guess import kept_warning, members, persons, warning
from kanon_milp.problem.roles import Names, Roles, header_doubt, missing_warning, repeated_warning
from kanon_milp.system.arrays import Ints
from kanon_milp.system.markup import card
from kanon_milp.system.processes import begin_threads

Missing = Literal["value", "error", "wildcard"]
FileKind = Literal["CSV", "Excel", "parquet", "arrow"]
SourceKind = FileKind | Literal["SQL"]
SYMBOL = "*"
FILL = 'fill it, or let missing values be one value of their own (missing="value", --missing value)'
OF_UNIT = "it says who is protected, so fill it, or leave these rows out"

CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".data", ".dat")
EXCEL_SUFFIXES = (".xlsx", ".xlsm")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
PARQUET_SUFFIXES = (".parquet", ".pq")
BINARY = (  # how such a file begins: no CSV file does, as a control character follows the mark
    (re.compile(rb"PAR1[\x00-\x08\x0e-\x1f]"), "a Parquet", ".parquet"),
    (re.compile(rb"ARROW1\x00"), "an Arrow", ".arrow"),
    (re.compile(rb"PK\x03\x04"), "an Excel", ".xlsx"),
    (re.compile(rb"\x1f\x8b\x08"), "a gzip", ".gz"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Microdata with roles: which columns are quasi-identifiers, which are sensitive, which are dropped; all others
    pass through untouched.

    frame: the rows as they came, an eager narwhals frame over the user's own data frame; never changed.
    keys: polars frame of the quasi-identifiers, then the sensitive attributes and the unit of protection, every value
    as text, null where missing.
    symbol: what stands in the place of a suppressed value. read_seconds: how long reading and checking took.
    own_names: the user's own names of columns that are no text but integers, by what they are called here (pandas).
    warnings: what to say about how a file was read, columns without a role, a header that looks like data, and missing
    sensitive values.
    kind: the kind of file that it came from and is written to, "CSV" where it came from none; "SQL" of a database.
    query: what was read there, without passwords that it hands on; None of a file. is_released: it is a released table,
    which may hold the symbol and is read to be judged alone. counts: int64 (rows of frame and keys,), how many
    rows of the table each stands for; None where each is one. missing: what missing values are taken for.
    """

    frame: nw.DataFrame[Any]
    roles: Roles
    keys: pl.DataFrame
    source: str = "table"
    symbol: str = SYMBOL
    csv: CsvFormat = field(default_factory=CsvFormat)
    read_seconds: float = 0.0
    own_names: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    kind: SourceKind = "CSV"
    query: str | None = None
    is_released: bool = False
    counts: Ints | None = None
    missing: Missing = "value"

    def __post_init__(self) -> None:
        instance_of(self.frame, nw.DataFrame, "frame of a Table", "what Table.from_frame makes of a data frame")

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        quasi_identifiers: Sequence[str] | str,
        sensitive: Names = None,
        *,
        identifying: Names = None,
        keep: Names = None,
        unit: str | None = None,
        drop: Names = None,
        count: str | None = None,
        missing: Missing = "value",
        symbol: str = SYMBOL,
        source: str = "table",
        csv: CsvFormat | None = None,
        released: bool = False,
    ) -> Table:
        """Take a data frame of any kind that narwhals knows (pandas, polars, pyarrow, duckdb, ...).

        The released table is of the same kind. A lazy one is read once, and comes back as what narwhals reads it into:
        a relation of duckdb as a pyarrow table, a lazy frame of polars as a data frame.
        identifying: columns that must not be released; they are dropped. keep: insensitive columns; columns without a
        role are kept too, with a RoleWarning. drop: columns that identify nobody and are dropped, too.
        unit: the unit of protection, a column such as patients with several rows each: k counts its different values,
        and it is dropped like identifying columns.
        count: the column of a frequency table with the number of rows that each row stands for; a row of 0 is left out.
        The released table has it, too: the rows of one row may be in several groups, and then there is a released row
        for each.
        missing: "value" makes missing values one value of their own, "error" refuses them; "wildcard": what is missing
        or suppressed of a quasi-identifier matches any value, as sdcMicro counts (`KAnonymity`). A unit must not be
        missing.
        released: the table is a released one, to be checked alone by `verify`; it may hold the symbol, which may be ""
        for missing cells, and no other function takes it.
        Raises InputError for an empty table, unknown or repeated columns, a column with two roles, values that are not
        scalars, counts that are missing, negative or not integers, and a table that already contains `symbol`.
        """
        text(source, "source")
        if csv is not None:
            instance_of(csv, CsvFormat, "csv", "a CsvFormat")
        roles = Roles.of(quasi_identifiers, sensitive, identifying, keep, unit, drop, count)
        return cls._checked(frame, roles, missing, symbol, source, csv or CsvFormat(), released)

    @classmethod
    def _checked(
        cls,
        frame: Any,
        roles: Roles,
        missing: Missing,
        symbol: str,
        source: str,
        csv_format: CsvFormat,
        released: bool = False,
    ) -> Table:
        text(symbol, "symbol")
        instance_of(released, bool, "released", "True or False")
        if not symbol and not released:
            raise InputError("symbol: the suppression symbol must not be empty")
        if symbol in csv_format.missing_values:
            raise InputError("symbol: the suppression symbol stands for a missing value, too; choose another symbol")
        begin_threads()
        eager, own_names = open_frame(frame, source)
        header = [name for name in eager.columns if name not in own_names]
        doubt = header_doubt(header, eager, source, has_header=csv_format.header is True)
        roles.check(eager.columns, source, doubt)
        if len(eager) == 0:
            raise InputError(f"{source}: the table has no rows")
        eager, counts, uncounted = counted_rows(eager, roles.count, source)
        one_of(missing, ("value", "error", "wildcard"), "missing")
        keys = as_text(eager, (*roles.quasi_identifiers, *roles.sensitive, *roles.unit), source)
        _refuse_missing(keys.select(cs.by_name(*roles.unit)), source, OF_UNIT)
        if missing == "error":
            _refuse_missing(keys, source, FILL)
        missing_of = [keys[name].null_count() for name in roles.sensitive]
        if released:  # nothing is kept or written of it
            if doubt:
                warnings.warn(doubt, FileWarning, stacklevel=3)
            alone = cls(eager, roles, keys, source, symbol, csv_format, own_names=own_names, is_released=True)
            return replace(alone, counts=counts, missing=missing)
        others = [name for name in eager.columns if name not in (*roles.identifying, *roles.dropped)]
        persons_of = members(eager.columns, lambda names: as_text(eager, names, source))
        persons_and_households = {*persons_of, *persons_of.values()}
        repeated = [
            name
            for name in (*roles.identifying, *persons(others, eager, source))
            if not roles.unit and name not in persons_and_households
        ]
        said = {
            doubt: FileWarning,
            warning(roles.unclassified(eager.columns), eager, source, doubt): RoleWarning,
            kept_warning(roles.insensitive, eager, source, doubt): RoleWarning,
            missing_warning(roles.sensitive, missing_of, source): RoleWarning,
            repeated_warning(repeated, as_text(eager, repeated, source), source): RoleWarning,
            uncounted: FileWarning,
        }
        told = tuple(filter(None, said))
        table = cls(eager, roles, keys, source, symbol, csv_format, own_names=own_names, warnings=told, counts=counts)
        table = replace(table, missing=missing)
        table._refuse_symbol()
        for each in told:
            warnings.warn(each, said[each], stacklevel=3)  # to whoever calls this module
        return table

    def __repr__(self) -> str:
        """Shape and names, and no cell."""
        named = "; ".join(f"{role.replace('_', '-')} {', '.join(names)}" for role, names in self.roles.items() if names)
        width = len(self.frame.columns)
        return printable(f"<Table {self.source}: {self.n} rows, {width} columns; {named}>")

    def _repr_html_(self) -> str:
        counted = {name: f"{name} ({self.column(name).n_unique():,})" for name in self.keys.columns}
        roles = [
            (role.replace("_", "-"), ", ".join(counted.get(name, name) for name in names))
            for role, names in self.roles.items()
        ]
        without = ", ".join(self.roles.unclassified(self.frame.columns))
        shape = f"{self.n:,} rows, {len(self.frame.columns)} columns; in brackets: numbers of distinct values"
        title = "Table" if self.source == "table" else f"Table {self.source}"
        return card(title, [*roles, ("without a role", without)], shape)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Columns to generalize."""
        return self.roles.quasi_identifiers

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive attributes."""
        return self.roles.sensitive

    @property
    def identifying(self) -> tuple[str, ...]:
        """Columns that are never released: those that identify, the unit of protection, and those that are dropped."""
        return tuple(dict.fromkeys((*self.roles.identifying, *self.roles.unit, *self.roles.dropped)))

    @property
    def dropped(self) -> tuple[str, ...]:
        """Columns that are not released, though they identify nobody."""
        return self.roles.dropped

    @property
    def unit(self) -> str | None:
        """The column of those who are protected; None where each row is somebody else."""
        return self.roles.unit[0] if self.roles.unit else None

    @property
    def counted_attributes(self) -> tuple[str, ...]:
        """What requirements may be about: the sensitive attributes, then the unit of protection."""
        return (*self.roles.sensitive, *self.roles.unit)

    @property
    def released_columns(self) -> list[str]:
        """All columns but the identifying ones, in their order."""
        return [name for name in self.frame.columns if name not in self.identifying]

    @property
    def count(self) -> str | None:
        """The column that says how many rows each row stands for; None where each is one."""
        return self.roles.count[0] if self.roles.count else None

    @property
    def keys_match(self) -> bool:
        """Whether missing and suppressed quasi-identifiers match any value."""
        return self.missing == "wildcard"

    @property
    def n(self) -> int:
        """Number of rows; of a frequency table the sum of its counts."""
        return self.keys.height if self.counts is None else int(self.counts.sum())

    @cached_property
    def rows_of(self) -> Ints:
        """How many rows of the table each row of `frame` stands for, int64."""
        return np.ones(self.keys.height, dtype=np.int64) if self.counts is None else self.counts

    @property
    def m(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.quasi_identifiers)

    def column(self, name: str) -> pl.Series:
        """A column of `keys` without its name: methods of a series called ^a.*$ would read that as a pattern."""
        return self.keys[name].alias("")

    def divided(self, row: Ints, rows: Ints) -> Table:
        """The table in which a row for each entry stands for so many rows of one of its rows, numbered from 0."""
        if self.counts is None or np.array_equal(rows, self.counts):
            return self
        frame, kind = self.frame[row.tolist()], self.frame.implementation
        for name in self.roles.count:
            of_text = self.frame.schema[name] == nw.String
            amounts, dtype = ([str(each) for each in rows.tolist()], nw.String()) if of_text else (rows, nw.Int64())
            new = nw.new_series(name, amounts, dtype, backend=kind)
            frame = frame.with_columns(
                nw.maybe_set_index(new, index=nw.maybe_get_index(frame)) if kind.is_pandas_like() else new
            )
        return replace(self, frame=frame, keys=self.keys[row], counts=rows)

    def released(self, columns: Mapping[str, pl.Series]) -> Any:
        """Return the user's own kind of data frame with these columns (text or float64) in place of the old ones, and
        without the identifying ones; row order kept. A column in which nothing is generalized stays what it was, with
        its type."""
        replace = [
            nw.new_series(
                name,
                series.to_list(),
                nw.String() if series.dtype == pl.String else nw.Float64(),
                backend=self.frame.implementation,
            )
            for name, series in columns.items()
            if not series.equals(self.keys[name])
        ]
        if self.frame.implementation.is_pandas_like():  # a data frame of pandas may have any index
            index = nw.maybe_get_index(self.frame)
            replace = [nw.maybe_set_index(series, index=index) for series in replace]
        released = self.frame.with_columns(*replace)[self.released_columns]
        if not self.own_names:
            return released.to_native()
        return released.to_native().set_axis([self.own_names.get(name, name) for name in released.columns], axis=1)

    def own_kind(self, frame: pl.DataFrame) -> Any:
        """A data frame of polars as one of the kind that the user has brought; from files, of polars."""
        return in_kind(frame, self.frame.implementation)

    def text_columns(self, released: Any) -> tuple[str, ...]:
        """The quasi-identifiers that were numbers, dates or the like, and are text in a released table, since they hold
        labels now."""
        after, _ = open_frame(released, "released table")
        texts = (nw.String, nw.Categorical, nw.Enum)
        was = {name: kind for name, kind in self.frame.schema.items() if name in self.quasi_identifiers}
        return tuple(name for name, kind in was.items() if kind not in texts and after.schema[name] == nw.String)

    def released_text(self, released: Any, name: str) -> pl.Series | None:
        """A quasi-identifier of a released table that is text there; None for one of another type."""
        after, _ = open_frame(released, "released table")
        is_text = after.schema[name] in (nw.String, nw.Categorical, nw.Enum)
        return after[name].alias("").cast(nw.String).to_polars() if is_text else None

    def suppressed_columns(self, released: Any) -> tuple[str, ...]:
        """The quasi-identifiers that are the suppression symbol in every row of a released table."""
        texts = {name: self.released_text(released, name) for name in self.quasi_identifiers}
        named = {name: text for name, text in texts.items() if text is not None}
        return tuple(name for name, text in named.items() if (text == self.symbol).fill_null(value=False).all())

    def _refuse_symbol(self) -> None:
        if not is_text(self.symbol):
            raise InputError(f"{self.source}: the suppression symbol is not UTF-8 text; choose another symbol")
        for name in self.quasi_identifiers:
            hits = self.column(name) == self.symbol
            if hits.any():
                raise InputError(
                    f'{self.source}: column "{name}", row {_first(hits)}: the suppression symbol is already a '
                    f"value of the table ({counted(int(hits.sum()), 'such cell')}); choose another symbol (symbol=..., "
                    "--symbol)"
                )


def read_table(
    path: str | Path | Database,
    quasi_identifiers: Sequence[str] | str,
    sensitive: Names = None,
    *,
    query: str | None = None,
    identifying: Names = None,
    keep: Names = None,
    unit: str | None = None,
    drop: Names = None,
    count: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Missing = "value",
    missing_values: Sequence[str] | str = (),
    symbol: str = SYMBOL,
    header: bool | Sequence[str] = True,
    rows: int | None = None,
    released: bool = False,
) -> Table:
    """Read microdata from CSV (also .gz), an Excel workbook, Parquet or Arrow, or from a database; values of a CSV file
    are text, byte for byte.

    path: of a file; or of a SQLite or DuckDB file, or an address such as postgresql://user@host/database, with a query.
    Order its rows (order by ...), since results number them.
    delimiter: default: detected if unambiguous (with a FileWarning), else "," or, for .tsv, a tab. encoding: default:
    detected if unambiguous (with a FileWarning), else utf-8. header: False for a file without a header row, whose
    columns are then called column_1, column_2, ...; or a list of their names. missing_values: texts that stand for a
    missing value, such as ["NA", "?"], and are released as one. rows: read only so many of the first rows. Other
    parameters: `Table.from_frame`.
    Raises InputError for a file that is missing or cannot be read, and for everything that `Table.from_frame` refuses.
    """
    source = location(path)
    asked_query(source, query)
    if rows is not None:
        rows = integer(rows, "rows")
    began = time.perf_counter()
    fmt = CsvFormat.asked(source, delimiter, encoding, missing_values, header)
    frame, fmt = read_with_format(source, fmt, query)
    if rows is not None:
        frame = frame.head(min(rows, frame.height))
    roles = Roles.of(quasi_identifiers, sensitive, identifying, keep, unit, drop, count)
    table = Table._checked(frame, roles, missing, symbol, str(source), fmt, released)
    table = replace(table, warnings=(*fmt.notes, *table.warnings), read_seconds=time.perf_counter() - began)
    if isinstance(source, Database):
        return replace(table, kind="SQL", query=shown_query(query or ""))
    return replace(table, kind=file_kind(source))


def read_frame(path: Path | Database, fmt: CsvFormat | None = None, query: str | None = None) -> pl.DataFrame:
    """Read an entire file, values of a CSV file as text; or all that a query of a database returns."""
    fmt = fmt or CsvFormat.asked(path)
    return with_missing(_read(path, fmt, query)[0], fmt)


def read_with_format(path: Path | Database, fmt: CsvFormat, query: str | None = None) -> tuple[pl.DataFrame, CsvFormat]:
    """The same of a table that a user states, with the format that its file turns out to have; texts for a missing
    value that occur in no cell are named."""
    frame, fmt = _read(path, fmt, query)
    return with_missing(frame, fmt), _named(frame, fmt, str(path))


def _named(frame: pl.DataFrame | pl.LazyFrame, fmt: CsvFormat, source: str) -> CsvFormat:
    absent = absent_marks(frame, fmt, source)
    if not absent:
        return fmt
    warnings.warn(absent, FileWarning, stacklevel=4)
    return replace(fmt, notes=(*fmt.notes, absent))


def _read(path: Path | Database, fmt: CsvFormat, query: str | None) -> tuple[pl.DataFrame, CsvFormat]:
    begin_threads()
    kind = "SQL" if isinstance(path, Database) else file_kind(path)
    if fmt.header is not True and kind not in ("CSV", "Excel"):
        raise InputError(f"{path}: its columns have names of their own; header, --no-header and --header are for CSV")
    if isinstance(path, Database):
        return path.read(asked_query(path, query)), fmt
    try:
        if kind == "CSV":
            return read_csv(path, fmt)
        if kind == "Excel":
            return read_excel(path, fmt)
        with path.open("rb") as file:  # opened here, since its name need not be text
            return pl.read_parquet(file) if kind == "parquet" else pl.read_ipc(file.read()), fmt
    except pl.exceptions.PanicException:  # no Exception of Python's
        raise InputError(f"{path}: a column holds values of a kind that cannot be read, such as decimal256") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        # the library's own message may quote cells, so only its kind is passed on
        raise InputError(f"{path}: cannot be read as {kind} ({type(error).__name__})") from None


def scan_frame(path: Path, fmt: CsvFormat | None = None) -> pl.LazyFrame:
    """Open a file lazily, for tables larger than memory. A CSV file is checked line by line."""
    begin_threads()
    kind = file_kind(path)
    fmt = fmt or CsvFormat.asked(path)
    if kind not in ("parquet", "arrow", "CSV") or (fmt.header is not True and kind != "CSV") or not is_text(str(path)):
        frame, fmt = read_with_format(path, fmt)  # the library takes no such name
        return frame.lazy()
    if kind == "CSV":
        scanned, fmt = scan_csv(path, fmt)
    else:
        scanned = (pl.scan_parquet if kind == "parquet" else pl.scan_ipc)(path, glob=False)
    _named(scanned, fmt, str(path))
    return with_missing(scanned, fmt)


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8, unlike a file name in another encoding."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def file_kind(path: Path) -> FileKind:
    """The kind of file that its name tells; raises InputError for another one, and where there is none."""
    if not exists(path):
        raise InputError(f"{path}: no such file")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a file")
    if not path.is_file():  # which would be waited for, or read without an end
        raise InputError(f"{path}: is a pipe or a device, not a file; write into a file what it gives, and name that")
    suffixes = [s.lower() for s in path.suffixes]
    suffix = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else suffixes[-1] if suffixes else ""
    if suffix in PARQUET_SUFFIXES:
        return "parquet"
    if suffix in ARROW_SUFFIXES:
        return "arrow"
    if suffix in EXCEL_SUFFIXES and suffixes[-1] != ".gz":
        return "Excel"
    if suffix in CSV_SUFFIXES:
        _refuse_binary(path)
        return "CSV"
    known = ", ".join((*CSV_SUFFIXES, *EXCEL_SUFFIXES, *PARQUET_SUFFIXES, *ARROW_SUFFIXES))
    raise InputError(f"{path}: unknown kind of file; known endings: {known} (CSV files also with .gz)")


def _refuse_binary(path: Path) -> None:
    """Raise InputError for a Parquet or Arrow file that is called a CSV file."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError:  # whoever reads it says so
        return
    for mark, kind, ending in BINARY:
        if mark.match(head) and path.suffix.lower() != ending:
            raise InputError(f"{path}: looks like {kind} file; the name of such a file must end in {ending}")


def in_kind(frame: pl.DataFrame, implementation: Any) -> Any:
    """A data frame of polars as one of another library, named as narwhals does."""
    if implementation.is_polars():
        return frame
    return nw.from_dict(frame.to_dict(as_series=False), backend=implementation).to_native()


def open_frame(frame: Any, source: str) -> tuple[nw.DataFrame[Any], dict[str, Any]]:
    """A data frame of any kind with text as names of its columns, and the integers that it has instead."""
    try:
        wrapped = nw.from_native(frame)
        eager: nw.DataFrame[Any] = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
        names = list(eager.columns)
    except TypeError:
        kinds = "pandas, polars, pyarrow, duckdb, ..."
        raise InputError(
            f"{source}: a {type(frame).__name__} is not a data frame that narwhals knows ({kinds})"
        ) from None
    except nw.exceptions.DuplicateError:
        raise InputError(f"{source}: a column name occurs twice; rename one of the columns") from None
    except Exception as error:  # of a lazy frame: whatever its rows are made by, and its own message may quote cells
        raise InputError(f"{source}: the data frame cannot be read ({type(error).__name__})") from None
    own_names = {str(name): name for name in names if not isinstance(name, str)}
    if not own_names:
        return eager, {}
    if any(isinstance(name, bool) or not isinstance(name, int | np.integer) for name in own_names.values()):
        raise InputError(f"{source}: column names must be text, or integers")
    named = [str(name) for name in names]
    if len(set(named)) < len(named):
        raise InputError(f"{source}: a column name occurs twice, as text and as a number; rename one of the columns")
    renamed: nw.DataFrame[Any] = nw.from_native(eager.to_native().set_axis(named, axis=1), eager_only=True)
    return renamed, own_names


def _refuse_missing(keys: pl.DataFrame, source: str, way_out: str) -> None:
    for name in keys.columns:
        hits = keys[name].alias("").is_null()
        if hits.any():
            raise InputError(
                f'{source}: column "{name}", row {_first(hits)}: the value is {kind_of(None)} '
                f"({counted(int(hits.sum()), 'such cell')}); {way_out}"
            )


def _first(hits: pl.Series) -> int:
    """Row number (from 1, header not counted) of the first true entry."""
    return int(hits.arg_true()[0]) + 1
