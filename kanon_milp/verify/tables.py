"""What the verifier takes, as plain data: tables and problems; and columns of any data frame as text, row by row."""

# ruff: noqa: D102  (a protocol says what its fields are)

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, among, counted, kind_of
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Ints

SuppressedRows = Literal["strict", "exempt"]
SUPPRESSED_ROWS: tuple[SuppressedRows, ...] = ("strict", "exempt")

Cells = Literal["labels", "intervals"]
CELLS: tuple[Cells, ...] = ("labels", "intervals")

MissingKeys = Literal["own", "match"]
MISSING_KEYS: tuple[MissingKeys, ...] = ("own", "match")


class TableData(Protocol):
    """A table with roles, its rows as they came, and what messages call it.

    identifying: columns that must not be released. symbol: what stands in the place of a suppressed value. It may have
    a `unit`, too: the identifying column whose different values are counted in place of rows.
    """

    @property
    def quasi_identifiers(self) -> Sequence[str]: ...
    @property
    def sensitive(self) -> Sequence[str]: ...
    @property
    def identifying(self) -> Sequence[str]: ...
    @property
    def frame(self) -> nw.DataFrame[Any]: ...
    @property
    def source(self) -> str: ...
    @property
    def symbol(self) -> str: ...


class HierarchyData(Protocol):
    """paths: original value → its labels by level, the value first and the top last."""

    @property
    def paths(self) -> Mapping[Label, Sequence[Label]]: ...
    @property
    def source(self) -> str: ...


class RecodingData(Protocol):
    """Hierarchies, weights and level costs by column. A mask is in `mask`, or it is itself what has `patterns`."""

    @property
    def hierarchies(self) -> Mapping[str, HierarchyData]: ...
    @property
    def weights(self) -> Mapping[str, Any]: ...
    @property
    def level_costs(self) -> Mapping[str, Sequence[Any]]: ...


class AnyProblem(Protocol):
    """What verifier and certificate checker look at."""

    @property
    def table(self) -> TableData: ...
    @property
    def recoding(self) -> RecodingData: ...
    @property
    def suppressed_rows(self) -> SuppressedRows: ...


class ProblemData(AnyProblem, Protocol):
    """What is asked for. privacy: the requirements as the user gave them."""

    @property
    def privacy(self) -> Any: ...
    @property
    def cost_bound(self) -> Any: ...
    @property
    def min_groups(self) -> int | None: ...
    @property
    def max_groups(self) -> int | None: ...


class BoundProblem(AnyProblem, Protocol):
    """What a certificate is about. requirements: each about the sensitive attributes that it means, which it names."""

    @property
    def requirements(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class Question:
    """A problem without requirements: whether a table is legal, and what holds in it."""

    table: TableData
    recoding: RecodingData
    suppressed_rows: SuppressedRows = "strict"
    privacy: tuple[()] = ()
    cost_bound: None = None
    min_groups: None = None
    max_groups: None = None


FEW = 300  # rows of a table that is gone through one by one: polars takes longer to begin
SHOWN = 5


def open_released(anonymized: Any, table: TableData) -> nw.DataFrame[Any]:
    """Take a released data frame of any kind that narwhals knows; every column with a role must be there."""
    try:
        wrapped = nw.from_native(anonymized)
        eager = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
        if not all(isinstance(name, str) for name in eager.columns):  # pandas may number its columns
            eager = nw.from_native(eager.to_native().set_axis([str(name) for name in eager.columns], axis=1))
        names = list(eager.columns)
    except TypeError:
        kind = type(anonymized).__name__
        raise InputError(f"anonymized table: a {kind} is not a data frame that narwhals knows") from None
    except nw.exceptions.DuplicateError:
        raise InputError("anonymized table: a column name occurs twice") from None
    except Exception as error:  # of a lazy frame: its own message may quote cells
        raise InputError(f"anonymized table: it cannot be read ({type(error).__name__})") from None
    for role, columns in (("quasi-identifier", table.quasi_identifiers), ("sensitive attribute", table.sensitive)):
        for name in columns:
            if name not in names:
                raise InputError(f'anonymized table: there is no column "{name}" ({role}){among(name, names)}')
    if len(eager) == 0:
        raise InputError("anonymized table: it has no rows")
    return eager


def text_columns(frame: nw.DataFrame[Any], names: Sequence[str]) -> pl.DataFrame:
    """These columns as text, null where a value is missing; a value reads as in `Original.keys`."""
    return pl.DataFrame({name: _as_text(_to_polars(frame[name])) for name in names})


def counts_of(frame: nw.DataFrame[Any], count: str | None, source: str) -> Ints:
    """How many rows each row of a frame stands for, int64; 1 where there is no column of counts.

    Raises InputError where the column is missing, or a cell of it is no integer above 0.
    """
    if count is None:
        return np.ones(len(frame), dtype=np.int64)
    if count not in frame.columns:
        raise InputError(f'{source}: there is no column "{count}" of counts{among(count, frame.columns)}')
    cells = _as_text(_to_polars(frame[count])).str.strip_chars()
    wrong = ~cells.str.contains(r"^\+?0*[1-9][0-9]{0,15}(\.0*)?$").fill_null(value=False)
    if wrong.any():
        raise InputError(
            f'{source}: column "{count}", {list_rows(wrong.arg_true().to_numpy())}: a count must be an integer above 0'
        )
    return cells.str.split(".").list.first().cast(pl.Int64).to_numpy().astype(np.int64)


def tally(number: Ints, rows: Ints, numbers: int = 0) -> Ints:
    """Per number the sum of the rows that have it, int64 (at least `numbers`,)."""
    return np.bincount(number, weights=rows, minlength=numbers).astype(np.int64)


def compare_shape(table: Original, released: nw.DataFrame[Any], rewritten: Collection[str] = ()) -> list[str]:
    """What differs in the number of rows, the columns, and row by row outside the quasi-identifiers.

    rewritten: columns that are known to say the same in other words.
    """
    identifying = set(table.identifying)
    before = dict.fromkeys(name for name in table.frame.columns if name not in identifying)
    after = dict.fromkeys(released.columns)
    found = [f'column "{name}" is missing' for name in before if name not in after]
    found += leaking(table, released)
    numbers = row_numbers(table, released)
    for name in _added(table, released):
        if name not in numbers:
            unnamed = not name or name.startswith("Unnamed: ")
            why = "; R and pandas write numbers of rows so: row.names = FALSE and index=False leave them out" * unnamed
            found.append(f'column "{name}" is not in the original{why}')
    if len(released) != len(table.frame):
        found.append(f"{there_are(len(released))}, the original has {len(table.frame)}")
    if table.count is not None and not np.array_equal(counts_of(released, table.count, "released"), table.weights):
        found.append(
            f'column "{table.count}": the counts are not those of the original rows, each whole or divided into rows '
            "that follow each other"
        )
    if len(found) and (len(released) != len(table.frame) or table.count is not None):
        return found
    for name in before:
        if name == table.count or name in table.quasi_identifiers or name not in after or name in rewritten:
            continue
        rows = _differing(table.frame[name], released[name])
        if rows.size:
            found.append(f'column "{name}" is not a quasi-identifier and must not change: {list_rows(rows)}')
    return found


def leaking(table: TableData, released: nw.DataFrame[Any], allowed: Sequence[str] = ()) -> list[str]:
    """The identifying columns that are released, but for those that tell no row from another, and are allowed."""
    empty = emptied(table, released)
    there = (name for name in released.columns if name in table.identifying and name not in (*empty, *allowed))
    return [f'column "{name}" is identifying and must not be released' for name in there]


def emptied(table: TableData, released: nw.DataFrame[Any]) -> list[str]:
    """The identifying columns that another tool has left in with one and the same in all rows: nothing, the suppression
    symbol, or any text, which in a table of one row would be the person's own."""
    found = []
    for name in table.identifying:
        if name in released.columns:
            cells = _as_text(_to_polars(released[name])).unique().to_list()
            if len(cells) == 1 and (len(released) > 1 or cells[0] in (None, "", table.symbol)):
                found.append(name)
    return found


def _added(table: TableData, released: nw.DataFrame[Any]) -> list[str]:
    return [name for name in released.columns if name not in table.frame.columns and name not in table.identifying]


def row_numbers(table: TableData, released: nw.DataFrame[Any]) -> list[str]:
    """The columns that are not in the original and count the rows from 0 or 1 on, as R and pandas write them."""
    found = []
    for name in _added(table, released):
        cells = _as_text(_to_polars(released[name])).to_list()
        if any(cells == [str(row) for row in range(first, first + len(cells))] for first in (0, 1)):
            found.append(name)
    return found


def rows_by_id(table: TableData, released: nw.DataFrame[Any], name: str) -> Ints:
    """int64 (rows of the released table,): which row of the original each is, as a column of both tells.

    Raises InputError where a table has no such column, one of its cells is missing or there twice, or none of the
    original.
    """
    if not isinstance(name, str):
        raise InputError(f"row_id: the name of a column is expected, found {kind_of(name)}")
    if name in (*table.quasi_identifiers, *table.sensitive):
        raise InputError(f'row_id: column "{name}" has a role; rows are matched by an identifying column, or another')
    ids = []
    for frame, source in ((table.frame, table.source), (released, "anonymized table")):
        if name not in frame.columns:
            raise InputError(f'{source}: there is no column "{name}" to match rows by{among(name, frame.columns)}')
        cells = _as_text(_to_polars(frame[name])).str.strip_chars()
        for wrong, what in ((cells.is_null(), "is missing"), (~cells.is_first_distinct(), "is that of a row before")):
            if wrong.any():
                raise InputError(
                    f'{source}: column "{name}", {list_rows(wrong.arg_true().to_numpy())}: the value {what}; rows are '
                    "matched by a column in which each row has a value of its own"
                )
        ids.append(cells)
    place = {cell: row for row, cell in enumerate(ids[0])}
    rows = np.array([place.get(cell, -1) for cell in ids[1]], dtype=np.int64)
    if (rows < 0).any():
        raise InputError(
            f'anonymized table: column "{name}", {list_rows(np.flatnonzero(rows < 0))}: no row of {table.source} has '
            "this value"
        )
    return rows


def classes(frame: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """Number the distinct rows in the order of their first appearance.

    Returns int64 (n,), the number of each row, and the distinct rows in that order. Missing values are one
    value.
    """
    numbers = np.arange(frame.height)
    if frame.height <= FEW and all(kind in (pl.String, pl.Boolean) or kind.is_integer() for kind in frame.dtypes):
        seen: dict[tuple[Any, ...], int] = {}
        first = np.array([seen.setdefault(row, at) for at, row in enumerate(frame.iter_rows())], dtype=np.int64)
    else:
        coded = pl.DataFrame([pl.Series("row", numbers), *(each.alias(f"c{at}") for at, each in enumerate(frame))])
        first = coded.select(pl.col("row").first().over(coded.columns[1:])).to_series().to_numpy()
    new = first == numbers
    return (np.cumsum(new) - 1)[first], frame[np.flatnonzero(new)]


def there_are(rows: int) -> str:
    """How many rows there are."""
    return f"there {'is' if rows == 1 else 'are'} {counted(rows, 'row')}"


def list_rows(rows: NDArray[np.integer[Any]]) -> str:
    """Name rows given by index from 0 as 'row 4' or 'rows 1, 2, 3, 4, 5 and 7 more', counted from 1."""
    shown = ", ".join(str(int(row) + 1) for row in rows[:SHOWN])
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def _differing(before: nw.Series[Any], after: nw.Series[Any]) -> NDArray[np.integer[Any]]:
    old, new = _to_polars(before), _to_polars(after)
    if old.dtype != new.dtype:  # such as numbers in the original, text in a CSV file
        old, new = _as_text(old), _as_text(new)
    if old.equals(new):  # much faster, and there may be thousands of columns
        return np.array([], dtype=np.int64)
    return old.ne_missing(new).arg_true().to_numpy()


def _to_polars(series: nw.Series[Any]) -> pl.Series:
    if series.implementation.is_pandas_like():  # of which polars knows neither intervals nor periods
        some = series.drop_nulls().head(1).to_list()
        if some and type(some[0]).__name__ in ("Interval", "Period"):
            return _each_as_text(series.to_list(), series.is_null().to_list())
    try:
        column = series.to_polars().alias("")
    except pl.exceptions.PanicException:  # no Exception of Python's
        raise InputError(
            f'column "{series.name}" holds values of a kind that cannot be compared; make them text'
        ) from None
    except (TypeError, ValueError, pl.exceptions.PolarsError):  # a pandas column of mixed kinds: numbers and the symbol
        return _each_as_text(series.to_list(), series.is_null().to_list())
    # polars may hold different times of Python's as one, such as one with a time zone and one without
    times = series.dtype == nw.Object and column.dtype.is_temporal()
    if column.dtype == pl.Object or (times and column.drop_nulls().n_unique() < series.drop_nulls().n_unique()):
        return _each_as_text(column.to_list(), series.is_null().to_list())
    return column.fill_nan(None) if column.dtype.is_float() else column


def _as_text(series: pl.Series) -> pl.Series:
    if series.dtype == pl.Duration:  # which has no cast of its own
        return series.dt.to_string("iso")
    if series.dtype == pl.Time:  # whose cast drops fractions of a second
        return series.dt.to_string("%H:%M:%S%.f")
    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:  # nested values have no text form of their own
        return _each_as_text(series.to_list(), series.is_null().to_list())


def _each_as_text(values: list[Any], missing: list[bool]) -> pl.Series:
    text = [None if gone else str(value) for value, gone in zip(values, missing, strict=True)]
    return pl.Series(text, dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Original:
    """Rows, roles, and the columns that have a role as text.

    keys: quasi-identifiers, then sensitive attributes and the unit of protection, every value as text, null where
    missing. identifying: what must not be released. dropped: those among them that identify nobody. count: the column
    that says how many rows each row of the frame stands for. weights: int64 (rows of the frame,), these numbers; 1
    where there is no such column. marks: texts that stood for a missing value in its file.
    """

    frame: nw.DataFrame[Any]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    keys: pl.DataFrame = field(repr=False)
    source: str = "table"
    symbol: str = "*"
    identifying: tuple[str, ...] = ()
    unit: str | None = None
    is_released: bool = False
    dropped: tuple[str, ...] = ()
    count: str | None = None
    weights: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    marks: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: TableData) -> Original:
        """Read the columns that have a role anew from the rows as they came."""
        quasi, sensitive = tuple(table.quasi_identifiers), tuple(table.sensitive)
        unit: str | None = getattr(table, "unit", None)
        keys = text_columns(table.frame, [*quasi, *sensitive, *([] if unit is None else [unit])])
        removed, dropped = tuple(table.identifying), tuple(getattr(table, "dropped", ()))
        count: str | None = getattr(table, "count", None)
        weights = counts_of(table.frame, count, table.source)
        return cls(
            table.frame, quasi, sensitive, keys, table.source, table.symbol, removed, unit, dropped=dropped,
            count=count, weights=weights, marks=tuple(getattr(getattr(table, "csv", None), "missing_values", ())),
        )  # fmt: skip

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of protection where some unit has several rows; else rows are counted."""
        several = self.unit is not None and self.keys[self.unit].alias("").n_unique() < self.n
        return (self.unit,) if several and self.unit is not None else ()

    def taken(self, rows: Ints, row_id: str) -> Original:
        """These of its rows, in this order. row_id: the column that they were found by; it may be released."""
        if self.count is not None:
            raise InputError("row_id: a row of a frequency table may be released in several rows; leave row_id out")
        others = tuple(name for name in self.identifying if name != row_id)
        ones = np.ones(len(rows), dtype=np.int64)
        return replace(self, frame=self.frame[rows.tolist()], keys=self.keys[rows], identifying=others, weights=ones)

    def divided(self, released: nw.DataFrame[Any]) -> Original:
        """The same rows as a released frequency table divides them: with a row for each of its rows. Those of a row
        follow each other, in the order of the original, and their counts add up to that of the row.

        The table itself where the released one divides it in no such way.
        """
        if self.count is None or self.count not in released.columns:
            return self
        parts = counts_of(released, self.count, "anonymized table")
        ends, ends_of_part = np.cumsum(self.weights), np.cumsum(parts)
        if not np.isin(ends, ends_of_part).all() or ends[-1] != ends_of_part[-1]:
            return self
        row = np.searchsorted(ends, ends_of_part)
        return replace(self, frame=self.frame[row.tolist()], keys=self.keys[row], weights=parts)

    @property
    def rows(self) -> int:
        """Number of rows of the frame."""
        return len(self.frame)

    @property
    def n(self) -> int:
        """Number of rows, as they are counted."""
        return int(self.weights.sum())

    @property
    def m(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.quasi_identifiers)
