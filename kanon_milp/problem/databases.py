"""Tables in SQL databases: addresses without their passwords, queries that only read, row types counted there.

PostgreSQL and DuckDB are reached through ADBC, which hands columns over in Arrow's layout, SQLite through the standard
library.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import polars as pl

from kanon_milp.errors import InputError, printable, without_passwords
from kanon_milp.problem.arguments import exists, file_path, text
from kanon_milp.system.extras import optional

T = TypeVar("T")
Kind = Literal["postgresql", "sqlite", "duckdb"]

ENDINGS: dict[str, Kind] = {
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
}
KNOWN = "postgresql://user@host/database, sqlite:///file, duckdb:///file"
TIMEOUT = 15  # seconds to wait for a server
# types of PostgreSQL that Arrow has no plain type for, and what they are read as
READ_AS = {
    **dict.fromkeys(("uuid", "time with time zone", "inet", "cidr", "macaddr", "macaddr8", "xml"), "text"),
    "money": "numeric",
}

SQLITE_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
NO_SELECT = "the query must be one statement that selects; it may only read"

_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]+:/|(postgres(ql)?|sqlite|duckdb|jdbc|odbc):|(.*\s)?password\s*=")
_FILE = re.compile(r"(?is)(?P<kind>sqlite|duckdb):///(?P<file>.+)")
_SERVER = re.compile(
    r"(?is)postgres(?:ql)?://(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^@/?#\s]*))?@)?"
    r"(?P<hosts>[^@/?#\s]*)(?:/(?P<name>[^@/?#\s]*))?(?:\?(?P<options>[^#\s]*))?"
)
# passwords that a query hands to functions of the database, such as those that reach another one
_SECRET = re.compile(r"(?i)(\bpassword\s*(?:=|\s)\s*)('[^']*'|[^\s';,)]+)|(://[^\s:/@']*):[^\s@']*@")


# what says at once that it is no query; the databases themselves are asked to let nothing be changed
_CHANGE = re.compile(
    r"(?i)\s*(insert|update|delete|drop|create|alter|truncate|merge|replace|grant|revoke|copy|vacuum)\b"
)
# how statements of SQLite begin that neither select nor change a table, comments aside
_NEITHER = re.compile(
    r"(?is)(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
    r"(pragma|explain|attach|detach|analyze|reindex|begin|end|commit|rollback|savepoint|release)\b"
)


class _Secret:
    """Text that no repr shows."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<secret>"


@dataclass(frozen=True, eq=False, repr=False)
class Database:
    """A database. shown: its address without password and parameters, the only form in which it is shown or kept.
    file: where it is, of SQLite and DuckDB."""

    kind: Kind
    shown: str
    file: Path | None
    _address: _Secret

    @classmethod
    def at(cls, address: str) -> Database:
        """Read an address, such as postgresql://user@host/database; raises InputError, which does not repeat it."""
        found = _FILE.fullmatch(address)
        if found is not None:
            return cls.in_file(Path(found["file"]), "duckdb" if found["kind"].lower() == "duckdb" else "sqlite")
        found = _SERVER.fullmatch(address)
        if found is None:
            kind = re.match(r"(?i)[a-z][a-z0-9+.-]*(?=:)", address)
            if kind is None or kind[0].lower() not in ("postgresql", "postgres", "sqlite", "duckdb"):
                raise InputError(f"the address of a database is one of {KNOWN}")
            raise InputError(
                f"the address of a database is one of {KNOWN}; in user and password, write special characters "
                "as %40 (@), %2F (/), %3A (:), %23 (#), %3F (?), or leave the password to PGPASSWORD or ~/.pgpass"
            )
        shown = "postgresql://" + (f"{found['user']}@" if found["user"] else "") + found["hosts"]
        return cls("postgresql", shown + f"/{found['name'] or ''}", None, _Secret(address))

    @classmethod
    def in_file(cls, file: Path, kind: Kind | None = None) -> Database:
        """The database that a file is, by its first bytes or, where it is not there yet, by its name."""
        file_path(file, "path of a database")
        found: Kind = kind or _by_content(file) or ENDINGS.get(file.suffix.lower(), "sqlite")
        return cls(found, f"{found}:///{file}", file, _Secret(""))

    def __repr__(self) -> str:
        """The address without password and parameters."""
        return printable(f"<Database {self.shown}>")

    def __str__(self) -> str:
        return self.shown

    def read(self, query: str) -> pl.DataFrame:
        """All that a query returns, which may only read.

        Raises InputError for a server that does not answer, a query that is not valid, and columns that cannot be held.
        """
        return self._fetch(self._plainly(query))

    def columns(self, query: str) -> dict[str, pl.DataType]:
        """Names and types of the columns of a query; of SQLite, where each cell has a type, all are text."""
        return dict(self._no_rows(self._plainly(query)).schema)

    def row_types(self, query: str, names: Sequence[str]) -> tuple[pl.DataFrame, pl.Series]:
        """The distinct rows of these columns, and how many rows each stands for: counted by the database, so that only
        they come into memory."""
        statement = self._plainly(query)
        kinds = self._no_rows(statement).schema
        cells = [self._cell(name, kinds[name]) for name in names]
        chosen = ", ".join(f"{cell} as c{j}" for j, cell in enumerate(cells))
        by = ", ".join(str(j) for j in range(1, len(cells) + 1))
        found = self._fetch(f"select {chosen}, count(*) as counted from (\n{statement}\n) as q group by {by}")
        counts = found["counted"].cast(pl.Int64)
        types = found.drop("counted")
        types.columns = list(names)
        return types, counts

    def _no_rows(self, statement: str) -> pl.DataFrame:
        return self._fetch(f"select * from (\n{statement}\n) as q limit 0")

    def _plainly(self, query: str) -> str:
        """The query, with casts around it where its columns have types as in `READ_AS`."""
        statement = _statement(query)
        if self.kind == "duckdb":
            return self.attempt(lambda: self._one_select(statement))
        if self.kind == "sqlite":  # which takes one statement, of which `_only_reads` judges every step
            if _NEITHER.match(statement):
                raise InputError(f"{self.shown}: {NO_SELECT}")
            return statement
        # valid as a part of another one is only a statement that selects
        names = self._no_rows(statement).columns
        typed = ", ".join(f"cast(pg_typeof(q.{quoted(name)}) as text) as c{j}" for j, name in enumerate(names))
        # no row of the query is computed for that
        kinds = self._fetch(f"select {typed} from (select 1) as one left join (\n{statement}\n) as q on false").row(0)
        if not set(kinds) & set(READ_AS):
            return f"{statement}\n"  # the driver writes more behind it, and its last line may be a comment
        cells = [
            f"cast({quoted(name)} as {READ_AS[kind]}) as {quoted(name)}" if kind in READ_AS else quoted(name)
            for name, kind in zip(names, kinds, strict=True)
        ]
        return f"select {', '.join(cells)} from (\n{statement}\n) as q"

    def _one_select(self, statement: str) -> str:
        """The one statement that selects, by the parser of DuckDB, which would run several in a row."""
        found = optional("duckdb", "sql", f"reading {self.shown}").extract_statements(statement)
        if len(found) != 1 or found[0].type.name != "SELECT":
            raise InputError(f"{self.shown}: {NO_SELECT}")
        return _statement(found[0].query)

    def _cell(self, name: str, kind: pl.DataType) -> str:
        """A column whose texts are compared as they are, whatever its collation."""
        if self.kind == "sqlite":
            return f"{quoted(name)} collate binary"
        return f'cast({quoted(name)} as text) collate "C"' if kind == pl.String else quoted(name)

    def _fetch(self, statement: str) -> pl.DataFrame:
        def work() -> pl.DataFrame:
            with self.connected(reading=True) as connection:
                cursor = connection.cursor()
                try:
                    if self.kind == "postgresql":
                        cursor.execute("set transaction read only")
                    cursor.execute(statement)
                    names = [each[0] for each in cursor.description or ()]
                    if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
                        raise InputError(
                            f'{self.shown}: two columns of the query have the same name, "{twice}"; rename one of them '
                            "(as ...)"
                        )
                    if self.kind == "sqlite":
                        return _of_rows(cursor, names, self.shown)
                    return _plain(pl.DataFrame(cursor.fetch_arrow()))
                finally:
                    cursor.close()

        return self.attempt(work)

    @contextmanager
    def connected(self, *, reading: bool) -> Iterator[Any]:
        """An open connection; only `attempt` may surround it, as the errors of drivers tell the address."""
        if reading and self.file is not None and not exists(self.file, Path.is_file):
            raise InputError(f"{self.file}: no such file")
        if self.kind == "sqlite":
            mode = "ro" if reading else "rwc"
            connection: Any = sqlite3.connect(
                f"file:{quote(str(self.file))}?mode={mode}", uri=True, isolation_level=None
            )
            if reading:
                connection.execute("pragma query_only = on")
                connection.set_authorizer(_only_reads)
        else:
            connection = self._over_adbc(reading=reading)
        try:
            yield connection
        finally:
            connection.close()

    def _over_adbc(self, *, reading: bool) -> Any:
        what = f"reading {self.shown}" if reading else f"writing to {self.shown}"
        module = "adbc_driver_postgresql" if self.kind == "postgresql" else "adbc_driver_duckdb"
        low_level = optional("adbc_driver_manager", "sql", what)
        manager = optional("adbc_driver_manager.dbapi", "sql", what)
        driver = optional(module, "sql", what)
        if self.kind == "postgresql":
            address = self._address.value
            if "connect_timeout" not in address:
                address += f"{'&' if '?' in address else '?'}connect_timeout={TIMEOUT}"
            database = driver.connect(address)
        else:
            database = low_level.AdbcDatabase(
                driver=driver.driver_path(),
                entrypoint="duckdb_adbc_init",
                path=str(self.file),
                access_mode="read_only" if reading else "read_write",
                # nor may a query reach files, other databases and extensions, or allow itself to
                **({"enable_external_access": "false", "lock_configuration": "true"} if reading else {}),
            )
        try:
            return manager.Connection(database, low_level.AdbcConnection(database))
        except BaseException:
            database.close()
            raise

    def attempt(self, work: Callable[[], T]) -> T:
        """Do something with the database. What a driver raises becomes an InputError in our own words, to which the
        original is not chained: its text may hold the password, and cells."""
        try:
            return work()
        except InputError:
            raise
        except (Exception, pl.exceptions.PanicException) as error:
            said = reason(error)
        raise InputError(f"{self.shown}: {said}")


def location(value: object, what: str = "path of a table") -> Path | Database:
    """The file or the database that is named: an address, the path of a database's file, or that of another file."""
    if isinstance(value, Database):
        return value
    if isinstance(value, str | Path) and is_address(value):
        return Database.at(str(value))
    path = file_path(value, what)
    return Database.in_file(path) if path.suffix.lower() in ENDINGS else path


def is_address(value: str | Path) -> bool:
    """Whether it looks like the address of a database, also of an unknown kind, and not like a path."""
    address = str(value)
    holds_password = without_passwords(address) != address and not exists(Path(address))
    return holds_password or _ADDRESS.match(address) is not None


def is_named_as_database(path: Path) -> bool:
    """Whether a path ends as the files of databases do, or was made of the address of one."""
    return path.suffix.lower() in ENDINGS or re.match(r"(?i)(postgres(ql)?|sqlite|duckdb):", str(path)) is not None


def asked_query(source: Path | Database, query: str | None) -> str:
    """The query, which a database needs and a file does not take; "" of a file."""
    if isinstance(source, Path):
        if query is not None:
            raise InputError(f"{source}: is a file, and a query is for a database; leave it out (query=..., --query)")
        return ""
    if query is None or not _statement(text(query, "query")):
        raise InputError(
            f'{source}: name what to read (query=..., --query), such as --query "select * from people order by id"'
        )
    if _CHANGE.match(query):
        raise InputError(f"{source}: {STATES['25006']}")
    return query


def shown_query(query: str) -> str:
    """A query as results show it: without passwords that it hands on."""
    return _SECRET.sub(lambda found: f"{found[1]}***" if found[1] else f"{found[3]}@", query)


def as_files(sources: Iterable[str | Path]) -> list[str | Path]:
    """Sources with the files that databases are in place of their addresses."""
    found = ((each, _FILE.fullmatch(str(each))) for each in sources)
    return [each if address is None else address["file"] for each, address in found]


def quoted(name: str) -> str:
    """A name of a table or column as SQL takes any name."""
    return '"' + name.replace('"', '""') + '"'


def _only_reads(action: int, first: str | None, *_: str | None) -> int:
    """What SQLite asks of each step of a statement before it runs; `attach` makes a file, on whatever connection."""
    # full-text search asks for these, which change nothing on a connection that only reads
    of_search = (action, first) in ((sqlite3.SQLITE_PRAGMA, "data_version"), (sqlite3.SQLITE_UPDATE, "sqlite_master"))
    return sqlite3.SQLITE_OK if of_search or action in SQLITE_READS else sqlite3.SQLITE_DENY


def _statement(query: str) -> str:
    return query.strip().rstrip("; \t\r\n")


def _by_content(file: Path) -> Kind | None:
    try:
        with file.open("rb") as opened:
            head = opened.read(16)
    except (OSError, ValueError):
        return None
    if head.startswith(b"SQLite format 3"):
        return "sqlite"
    return "duckdb" if head[8:12] == b"DUCK" else None


def _of_rows(cursor: sqlite3.Cursor, names: Sequence[str], shown: str) -> pl.DataFrame:
    """The rest of a result of SQLite, where each cell has a type of its own; a column must have one."""
    if not names:
        raise InputError(f"{shown}: {NO_SELECT}")
    columns = zip(*cursor, strict=True)
    found = {name: list(values) for name, values in zip(names, columns, strict=False)} or {name: [] for name in names}
    series = []
    for name, values in found.items():
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1:
            raise InputError(f'{shown}: column "{name}" of the query holds values of several kinds{MORE}')
        kind = {int: pl.Int64, float: pl.Float64, bytes: pl.Binary}.get(next(iter(kinds), str), pl.String)
        series.append(pl.Series(name, values, dtype=kind))
    return pl.DataFrame(series)


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Types that only PostgreSQL has as plain ones: numeric as decimals where they fit, other texts as text."""
    return frame.with_columns(
        _numeric(storage, str(series.dtype)).alias(series.name)
        for series in frame
        if isinstance(series.dtype, pl.BaseExtension)
        for storage in [series.ext.storage()]
    )


def _numeric(storage: pl.Series, kind: str) -> pl.Series:
    """Texts of numeric columns as decimals, of the digits that the longest has; infinities and NaN stay text."""
    if '"numeric"' not in kind or storage.dtype != pl.String:
        return storage
    parts = storage.str.extract_groups(r"^-?(?<whole>\d+)(?:\.(?<rest>\d*))?$").struct.unnest()
    if parts["whole"].null_count() > storage.null_count():
        return storage
    whole, rest = (int(parts[name].str.len_chars().max() or 0) for name in ("whole", "rest"))  # type: ignore[arg-type]
    return storage if whole + rest > 38 else storage.cast(pl.Decimal(38, rest))


MORE = "; cast it in the query"

# SQLSTATE, or how it begins → what to say
STATES = {
    "28": "the user or the password is refused",
    "3D": "there is no such database on the server",
    "42P01": "the query names a table that is not there",
    "42P07": "there is a table of that name already; choose another name",
    "42703": "the query names a column that is not there",
    "42601": "the query is not one statement of valid SQL",
    "42702": "two columns of the query have the same name; rename one of them (as ...)",
    "42701": "two columns have the same name; rename one of them",
    "42501": "the user has no permission to do that",
    "42": "the query is not valid",
    "25006": "the query would change the database; it may only read",
    "22": "the database cannot compute the query, or hold a value",
    "08": "the connection broke off",
    "57014": "the query was cancelled",
    "53": "the server has no room, memory or connections left",
}
# what a text holds → what to say; libpq and the drivers have no codes for these
TEXTS = (
    (r"password authentication failed|no password supplied|authentication failed", STATES["28"]),
    (r"could not translate host name|name or service not known|nodename nor servname", "there is no such host"),
    (r"connection refused|is the server running|could not connect", "no server answers there"),
    (r"timeout expired|timed out", "no server answers there in time"),
    (r"invalid uri|invalid percent|missing \"=\" after|invalid port|invalid connection option", "the address is wrong"),
    (r"no pg_hba\.conf entry", STATES["28"]),
    (r"database \"[^\"]*\" does not exist", STATES["3D"]),
    (r"role \"[^\"]*\" does not exist", STATES["28"]),
    (r"ssl", "the server and this machine do not agree on encryption (sslmode)"),
    (r"already exists", STATES["42P07"]),
    (r"no such table|table with name .* does not exist", STATES["42P01"]),
    (r"no such column|referenced column|referenced table", STATES["42703"]),
    (r"duplicate column", STATES["42701"]),
    (r"syntax error|parser error|incomplete input|one statement at a time|unrecognized token", STATES["42601"]),
    (r"not authorized|authorization denied|prohibited|readonly database|read-only|read only", STATES["25006"]),
    (r"not a database|not a valid duckdb database|file is encrypted", "the file is no database of that kind"),
    (
        r"permission error.*configuration|cannot change configuration|external access",
        "the query reaches beyond the database (files, other databases, extensions, settings); it may only read tables",
    ),
    (r"unable to open database file|cannot open|no such file", "the file cannot be opened"),
    (r"database is locked|could not set lock|conflicting lock", "another program holds the database; wait for its end"),
    (r"binder error|catalog error", STATES["42"]),
    (r"conversion error|out of range", STATES["22"]),
    (r"disk is full|no space left", "there is no room left"),
    (r"decode to utf-8", f"a text is not UTF-8{MORE}"),
    (r"month_day_nano_interval", f"a column holds intervals{MORE}"),
    (r"duplicate", STATES["42701"]),
)


def reason(error: BaseException) -> str:
    """What an error of a driver means; its own text is looked at, and never shown."""
    state = str(getattr(error, "sqlstate", None) or "")
    for length in (5, 2):
        if state and state[:length] in STATES:
            return STATES[state[:length]]
    said = f"{type(error).__name__} {error}".lower()
    known = next((words for pattern, words in TEXTS if re.search(pattern, said)), None)
    kind = type(error).__name__ + (f", SQLSTATE {state}" if re.fullmatch(r"[0-9A-Z]{5}", state) else "")
    return known or f"the database answers with an error ({kind})"
