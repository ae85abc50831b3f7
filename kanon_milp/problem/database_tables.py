"""New tables in SQL databases: a data frame with its types, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import exists, text
from kanon_milp.problem.column_values import text_of
from kanon_milp.problem.databases import Database, Kind, location, quoted
from kanon_milp.problem.table import open_frame
from kanon_milp.system.files import Fill, check_target, write_together

LONGEST_NAME = 63  # bytes; PostgreSQL cuts longer ones off
PIECE = 10_000  # rows at a time

# type of polars → types of the databases; of SQLite they are a word only, but for what is a number
TYPES: dict[Any, tuple[str, str, str]] = {
    pl.Boolean: ("boolean", "boolean", "boolean"),
    pl.Int8: ("smallint", "integer", "smallint"),
    pl.Int16: ("smallint", "integer", "smallint"),
    pl.UInt8: ("smallint", "integer", "smallint"),
    pl.Int32: ("integer", "integer", "integer"),
    pl.UInt16: ("integer", "integer", "integer"),
    pl.Int64: ("bigint", "integer", "bigint"),
    pl.UInt32: ("bigint", "integer", "bigint"),
    pl.Float32: ("real", "real", "real"),
    pl.Float64: ("double precision", "real", "double"),
    pl.Date: ("date", "date", "date"),
    pl.Time: ("time", "time", "time"),
    pl.String: ("text", "text", "text"),
    pl.Binary: ("bytea", "blob", "blob"),
}
COLUMN_OF: dict[Kind, int] = {"postgresql": 0, "sqlite": 1, "duckdb": 2}
# what the drivers take in place of a type that they do not know
NARROW: dict[Any, type[pl.DataType]] = {pl.Int8: pl.Int16, pl.UInt8: pl.Int16, pl.UInt16: pl.Int32, pl.UInt32: pl.Int64}


def write_table(table: Any, database: str | Database, name: str) -> None:
    """Write a data frame, such as `result.table`, into a database as a new table of this name, completely or not at
    all.

    database: an address (postgresql://user@host/database, sqlite:///file, duckdb:///file) or the path of a database's
    file, which is created if it is missing. Raises InputError if there is such a table already, if a column has a type
    that the database cannot hold, and if the server does not answer or refuses.
    """
    found = expect_database(database)
    with new_table(found, name, table) as made:
        write_together(Path(), made.files, commit=made.commit, undo=made.undo)


def expect_database(value: object) -> Database:
    """A database by its address or its file."""
    found = location(value, "database")
    if not isinstance(found, Database):
        raise InputError(f"{found}: is no database; name one by its address, such as sqlite:///{found.stem}.db")
    return found


def check_new_table(database: Database, name: str, columns: Sequence[str]) -> None:
    """Raise InputError if a table of this name with these columns could not be made; nothing is left behind."""
    _check_names(database, name, columns)
    if database.file is not None and not exists(database.file):
        check_target(database.file)
        return
    columns_sql = ", ".join(f"{quoted(each)} text" for each in columns)

    def work() -> None:
        with database.connected(reading=False) as connection:
            cursor = connection.cursor()
            try:
                if database.kind == "sqlite":
                    cursor.execute("begin")
                cursor.execute(f"create table {quoted(name)} ({columns_sql})")
            finally:
                cursor.close()
                connection.rollback()

    database.attempt(work)


@dataclass(frozen=True)
class NewTable:
    """A table that is about to be, in the words of `write_together`: files where the database is a new file, which then
    takes its place like any other one; else how its transaction ends, and how the table is taken back after that."""

    files: Mapping[str, Fill]
    commit: Callable[[], None]
    undo: Callable[[], None]


@contextmanager
def new_table(database: Database, name: str, table: Any) -> Iterator[NewTable]:
    """Make a table that is there only once it was committed."""
    frame = open_frame(table, "table")[0].to_polars()
    _check_names(database, name, frame.columns)
    held, columns = _columns(database, frame)

    def make(file: IO[bytes]) -> None:
        where = Path(file.name)
        _refuse_existing(database)
        where.unlink()  # the database makes a file of its own
        own = replace(database, file=where)
        with ExitStack() as stack:
            connection = database.attempt(lambda: stack.enter_context(own.connected(reading=False)))
            database.attempt(lambda: _fill(connection, database.kind, name, columns, held))
            database.attempt(connection.commit)
        _refuse_existing(database)

    if database.file is not None and not exists(database.file):
        check_target(database.file)
        yield NewTable({os.path.realpath(database.file): make}, lambda: None, lambda: None)
        return
    with ExitStack() as stack:
        connection = database.attempt(lambda: stack.enter_context(database.connected(reading=False)))
        database.attempt(lambda: _fill(connection, database.kind, name, columns, held))

        def drop() -> None:
            cursor = connection.cursor()
            cursor.execute(f"drop table {quoted(name)}")
            cursor.close()
            connection.commit()

        def undo() -> None:
            try:
                database.attempt(drop)
            except InputError as error:
                raise InputError(f'{error}; table "{name}" was made there, and nothing else; drop it') from None

        try:
            yield NewTable({}, lambda: database.attempt(connection.commit), undo)
        finally:
            with suppress(Exception):  # closing rolls back, too; after a commit there is nothing to roll back
                connection.rollback()


def _refuse_existing(database: Database) -> None:
    if database.file is not None and exists(database.file):
        raise InputError(f"{database.file}: appeared while this command was running; another program has made it")


def _fill(connection: Any, kind: Kind, name: str, columns: str, held: pl.DataFrame) -> None:
    cursor = connection.cursor()
    try:
        if kind == "sqlite":
            cursor.execute("begin immediate")
        cursor.execute(f"create table {quoted(name)} ({columns})")
        if kind != "sqlite":
            cursor.adbc_ingest(name, held, mode="append")
            return
        marks = ", ".join("?" * held.width)
        for piece in held.iter_slices(PIECE):
            cursor.executemany(f"insert into {quoted(name)} values ({marks})", piece.rows())
    finally:
        cursor.close()


def _check_names(database: Database, name: str, columns: Sequence[str]) -> None:
    text(name, "name of the table")
    if not name.strip() or "\0" in name:
        raise InputError("name of the table: it must have characters, and none of them zero")
    if database.kind == "postgresql":
        for what, each in [("the name of the table", name), *((f'column "{each}"', each) for each in columns)]:
            if len(each.encode(errors="replace")) > LONGEST_NAME:
                raise InputError(f"{what} has more than {LONGEST_NAME} bytes, which PostgreSQL would cut off")


def _columns(database: Database, frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """What the driver is given, and the definitions of the columns."""
    held, definitions = [], []
    for series in frame:
        values, kind = _held(series, database.kind)
        held.append(values)
        definitions.append(f"{quoted(series.name)} {kind}")
    return pl.DataFrame(held), ", ".join(definitions)


def _held(series: pl.Series, kind: Kind) -> tuple[pl.Series, str]:
    """Values as a driver takes them, and the type of their column."""
    where, values = COLUMN_OF[kind], series.alias("")
    if values.dtype in (pl.UInt64, pl.Int128, pl.UInt128):
        values = values.cast(pl.Decimal(38, 0))
    elif values.dtype in (pl.Categorical, pl.Enum, pl.Null, pl.Duration):
        values = text_of(values)
    elif values.dtype in (pl.Datetime, pl.Time):
        values = _in_microseconds(values, series.name)
    dtype = values.dtype
    if isinstance(dtype, pl.Decimal):
        written = "text" if kind == "sqlite" else f"numeric({dtype.precision}, {dtype.scale})"
    elif isinstance(dtype, pl.Datetime):
        written = "timestamp with time zone" if dtype.time_zone and kind != "sqlite" else "timestamp"
    elif dtype in TYPES:
        written = TYPES[dtype][where]
    else:
        raise InputError(f'column "{series.name}" holds {dtype} values, which are not written to a database')
    if kind == "sqlite" and (dtype.is_decimal() or dtype.is_temporal()):  # which it has no types for
        values = text_of(values)
    return values.cast(NARROW.get(values.dtype, values.dtype)).alias(series.name), written


def _in_microseconds(values: pl.Series, name: str) -> pl.Series:
    """Times as databases hold them; what is finer would be lost, and is refused."""
    fine = isinstance(values.dtype, pl.Time) or values.dtype == pl.Datetime(
        "ns", getattr(values.dtype, "time_zone", None)
    )
    if fine and (values.to_physical() % 1000 != 0).any():
        raise InputError(f'column "{name}" holds times finer than microseconds, which a database would round')
    return values if isinstance(values.dtype, pl.Time) else values.dt.cast_time_unit("us")
