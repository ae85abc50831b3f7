"""A table of people in databases, and what tests of databases ask of them."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import polars as pl
import postgres
import pytest

import kanon_milp as km
from kanon_milp.problem.databases import Database, quoted

PEOPLE = 'peo"ple; drop table other'
HOSTILE = """rel"; drop table other; -- '"""
ALL = f"select * from {quoted(PEOPLE)} order by id;"
PROBLEM = ("--qi", "age,zip,born", "--sensitive", "disease", "--identifying", "id,name", "--keep", "pay,ok,seen,note")
ROWS = 24


def people() -> pl.DataFrame:
    number = pl.int_range(ROWS, dtype=pl.Int64)
    texts = ["it's", 'say "x"', "ü漢, 😀", None, "a;b--"]
    return pl.select(
        id=number,
        name=pl.concat_str(pl.lit("person "), number),
        age=(20 + number % 3 * 5).cast(pl.Int16),
        zip=pl.concat_str(pl.lit("0123"), number % 2),
        born=pl.date(2000, 1, 1) + pl.duration(days=number % 2),
        pay=(number * Decimal("0.50")).cast(pl.Decimal(8, 2)),
        ok=pl.when(number % 3 != 0).then(number % 2 == 0),
        seen=pl.datetime(2024, 2, 29, 10, 0, 0, 123456) + pl.duration(hours=number),
        note=pl.Series([texts[j % len(texts)] for j in range(ROWS)]),
        disease=pl.when(number % 5 != 0).then(pl.lit("flu")),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as address:
        yield address


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database with the table `PEOPLE` and one called other."""
    kind = request.param
    found = request.getfixturevalue("server") if kind == "postgresql" else f"{kind}:///{tmp_path / 'data'}.{kind}"
    km.write_table(people(), found, PEOPLE)
    km.write_table(pl.DataFrame({"a": [1]}), found, "other")
    yield found
    if kind == "postgresql":
        statements(found, f"drop table {quoted(PEOPLE)}, other", f"drop table if exists {quoted(HOSTILE)}")


def statements(address: str, *texts: str) -> None:
    database = Database.at(address)
    with database.connected(reading=False) as connection:
        cursor = connection.cursor()
        for each in texts:
            cursor.execute(each)
        cursor.close()
        connection.commit()


def everything(error: BaseException | None) -> str:
    """Whatever a traceback of an error and those it is chained to could show, with locals of the package's frames."""
    if error is None:
        return ""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [frame for frame in shown.stack if "kanon_milp" in frame.filename]
    inner = [repr(value) for frame in ours for value in (frame.locals or {}).values()]
    return "\n".join([str(error), repr(error), *inner, everything(error.__cause__), everything(error.__context__)])


def is_sqlite(address: str) -> bool:
    return address.startswith("sqlite")
