"""What queries and addresses of databases may be, and that no cell and no password is in what is said of them."""

from __future__ import annotations

import datetime as dt
import pickle
import re
import sqlite3
import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import postgres
import pytest
from command_line import run
from database_cases import PEOPLE, everything, is_sqlite, people, statements

import kanon_milp as km
from kanon_milp.presolve.row_types import row_types
from kanon_milp.problem.database_tables import check_new_table
from kanon_milp.problem.databases import Database, location, quoted, shown_query

pytestmark = pytest.mark.filterwarnings("ignore::kanon_milp.RoleWarning")

QUERIES = [
    ("select * from nowhere", "a table that is not there"),
    ('select nope from "other"', "a column that is not there"),
    ("selec * from other", "not one statement of valid SQL"),
    ("select a, a as a from other", "two columns"),
    ("delete from other", "may only read"),
    ("drop table other", "may only read"),
    ("create table third (a int)", "may only read"),
    (" ; ", "name what to read"),
    ("select * from other where a > 5", "no rows"),
]


@pytest.mark.parametrize(("query", "said"), QUERIES)
def test_queries_that_cannot_be_read(address: str, query: str, said: str) -> None:
    done = run("solve", "--data", address, "--query", query, "--qi", "a", "--k", "1")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert Database.at(address).read("select * from other").rows() == [(1,)]


def test_databases_let_nothing_be_changed(address: str) -> None:
    query = "delete from other"
    if address.startswith("postgresql"):
        statements(address, "create sequence if not exists counter")
        query = "select nextval('counter') as a"
    with pytest.raises(km.InputError, match="may only read"):
        Database.at(address).read(query)
    assert Database.at(address).read("select * from other").rows() == [(1,)]


SELECTS = [
    "select * from other;",
    "/* first */ select a from other -- last",
    "-- copy other to 'x'\nselect * from other",
    "with q as (select a from other) select * from q",
    "values (1)",
    "(select a from other) union all (select 2 where false)",
]
WRITES = [
    "select * from other; copy other to 'leak'",
    "select * from other; select 2",
    "select 1) as q; copy other to 'leak'; select * from (select 1",
    "/* */ copy other to 'leak'",
    "-- c\ncopy (select 1) to program 'touch leak'",
    "/* /* */ */ copy other to program 'touch leak'",
    "export database 'leak'",
    "attach 'leak' as x",
    "/**/attach database 'leak' as x",
    "vacuum into 'leak'",
    "select * from read_csv('other.csv')",
    "select * from read_text('other.csv')",
    "select * from 'other.csv'",
    "install httpfs",
    "set enable_external_access = true",
    "pragma user_version = 3",
    "pragma journal_mode = wal",
    "/**/ delete from other",
    "with q as (delete from other returning *) select * from q",
    "select a into third from other",
    "create temp table third as select 1 as a",
    "begin",
    "commit; delete from other",
    "set transaction read write",
    "select set_config('transaction_read_only', 'off', false) as a",
    "prepare x as select 1",
    "call pragma_version()",
    "do $$ begin delete from other; end $$",
    "",
    "--",
]


def test_one_statement_that_selects_is_read(address: str) -> None:
    for query in SELECTS[:-1] if is_sqlite(address) else SELECTS:  # SQLite knows no brackets there
        assert Database.at(address).read(query).rows() == [(1,)], query
        assert len(Database.at(address).columns(query)) == 1, query


@pytest.mark.full
def test_a_query_writes_nothing_and_reads_nothing_else(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.csv").write_text("a\n7\n")
    before = sorted(tmp_path.iterdir())
    for query in WRITES:
        for act in (Database.read, lambda database, query: database.row_types(query, ["a"])):
            with pytest.raises(km.InputError) as caught:
                act(Database.at(address), query)
            assert "\n" not in str(caught.value), query
        assert sorted(tmp_path.iterdir()) == before, query
    assert Database.at(address).read("select * from other").rows() == [(1,)]


def test_full_text_search_of_sqlite_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as connection:
        connection.execute("create virtual table notes using fts5(body)")
        connection.execute("insert into notes values ('hello there')")
    connection.close()
    assert Database.in_file(file).read("select body from notes where notes match 'hello'").height == 1


def test_cells_are_not_in_messages(address: str) -> None:
    cast = f"select cast(note as integer) as a from {quoted(PEOPLE)} where note like 'it%'"
    if is_sqlite(address):  # which casts whatever it is given
        cast = f"select case when id > 3 then note else id end as a from {quoted(PEOPLE)}"
    with pytest.raises(km.InputError) as caught:
        km.read_table(address, ["a"], query=cast)
    assert "it's" not in everything(caught.value).replace(cast, "")


def test_columns_of_postgresql_that_have_no_type_here(server: str) -> None:
    query = (
        "select numeric '1.5' as a, numeric 'NaN' as b, json '{}' as c, timestamptz '2024-01-01 10:00+02' as d, "
        "numeric '2.25' as e, uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' as f, money '12.5' as \"G\", "
        "inet '10.0.0.1' as h, 'x'::varchar(9) as i"
    )
    frame = Database.at(server).read(query)
    assert frame.row(0) == (
        Decimal("1.5"), "nan", "{}", dt.datetime(2024, 1, 1, 8, tzinfo=dt.UTC), Decimal("2.25"),
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", Decimal("12.50"), "10.0.0.1/32", "x",
    )  # fmt: skip
    assert list(Database.at(server).columns(query)) == frame.columns == [*"abcdef", "G", *"hi"]
    assert row_types(Database.at(server), None, query=query).count == 1
    mixed = Database.at(server).read("select a from (values (1.5), (12.25), (null), (-3)) as t(a)")
    assert mixed["a"].to_list() == [Decimal("1.50"), Decimal("12.25"), None, Decimal("-3.00")]
    with pytest.raises(km.InputError, match="intervals; cast it"):
        Database.at(server).read("select interval '1 month' as a")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda each: each.replace(postgres.PASSWORD, "wr0ng-Pa55"), "the user or the password is refused"),
        (lambda each: each.replace("owner:", "nobody:"), "the user or the password is refused"),
        (lambda each: each.replace(f":{postgres.PASSWORD}", ""), "the user or the password is refused"),
        (lambda each: each.replace("/postgres", "/nodatabase"), "there is no such database"),
        (lambda each: each.replace("@/", "@no.host.invalid/").partition("?")[0], "there is no such host"),
        (lambda each: each.replace("@/", "@localhost:1/").partition("?")[0], "no server answers there"),
        (lambda each: each.replace("host=", "hist="), "the address is wrong"),
        (lambda each: each.replace("-Pa55", "/Pa@55"), "%2F"),
        (lambda each: each.replace("postgresql", "mysql"), "the address of a database is one of"),
        (lambda each: each.replace("postgresql://", "postgresql:/"), "the address of a database is one of"),
        (lambda each: f"host=localhost password={postgres.PASSWORD}", "the address of a database is one of"),
    ],
)
def test_no_password_is_ever_shown(
    server: str, tmp_path: Path, change: Callable[[str], str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    address = change(server)
    secrets = re.compile("Pa55|wr0ng|s3cret")
    done = run("solve", "--data", address, "--query", "select 1 as a", "--qi", "a", "--k", "1", "--out", tmp_path / "o")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not secrets.search(done.stdout + done.stderr)
    for act in (
        lambda: location(address) and Database.at(address).read("select 1"),
        lambda: km.write_table(people(), address, "new"),
        lambda: check_new_table(Database.at(address), "new", ["a"]),
    ):
        with pytest.raises(km.InputError) as caught:
            act()
        chained = [caught.value, caught.value.__cause__, caught.value.__context__]
        assert not secrets.search("".join(map(repr, chained)) + "".join(traceback.format_exception(caught.value)))


def test_passwords_in_places_where_no_address_belongs(server: str, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("a\n1\n1\n")
    for command in (
        ("solve", server),
        ("solve", "hospital", server),
        ("solve", "--data", table, "--qi", "a", "--k", "2", "--out", server),
        ("solve", "--data", table, "--qi", "a", "--k", "2", "--mask", server),
        ("verify", server, "--original", table, "--qi", "a"),
        ("hierarchy", server, "--column", "a", "--widths", "2"),
        ("sweep", "--data", server, "--qi", "a", "--k", "2"),
    ):
        done = run(*command)
        assert done.returncode == 2, command
        assert done.stderr
        assert postgres.PASSWORD not in done.stdout + done.stderr, command


def test_objects_show_addresses_without_passwords(server: str) -> None:
    database = Database.at(server)
    for shown in (repr(database), str(database), f"{vars(database)}"):
        assert postgres.PASSWORD not in shown
    table = km.read_table(server, ["a"], query="select 1 as a, 2 as b")
    problem = km.Problem(table, km.KAnonymity(1))
    result = km.solve(problem)
    for each in (table, problem, result):
        assert postgres.PASSWORD.encode() not in pickle.dumps(table)
        assert postgres.PASSWORD not in repr(each) + each._repr_html_()
    assert table.source == "postgresql://owner@/postgres"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://a:b@h:5/d?password=c&sslmode=require", "postgresql://a@h:5/d"),
        ("postgres://h", "postgresql://h/"),
        ("postgresql://a@h1:1,h2/d", "postgresql://a@h1:1,h2/d"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("DuckDB:///a b", "duckdb:///a b"),
    ],
)
def test_addresses(address: str, shown: str) -> None:
    found = location(address)
    assert isinstance(found, Database)
    assert str(found) == shown


def test_queries_are_shown_without_the_passwords_that_they_hand_on() -> None:
    query = "select * from dblink('host=x password=abc user=y', 'select a from t where b = 1') as t(a int)"
    assert shown_query(query) == query.replace("abc", "***")
    assert shown_query("select postgres_scan('postgresql://u:abc@h/d')") == "select postgres_scan('postgresql://u@h/d')"
    assert shown_query("select email from t where a = 'x:y' order by b") == (
        "select email from t where a = 'x:y' order by b"
    )


def test_files_are_told_by_what_they_hold(tmp_path: Path) -> None:
    sqlite, duck = tmp_path / "a.duckdb", tmp_path / "b.db"
    km.write_table(people(), f"sqlite:///{sqlite}", "people")
    km.write_table(people(), f"duckdb:///{duck}", "people")
    assert [Database.in_file(path).kind for path in (sqlite, duck)] == ["sqlite", "duckdb"]
    text = tmp_path / "c.db"
    text.write_text("a,b\n1,2\n" * 1000)
    for address in (text, f"duckdb:///{text}"):
        with pytest.raises(km.InputError, match="no database of that kind"):
            km.read_table(address, ["a"], query="select a from people")
    with pytest.raises(km.InputError, match="no such file"):
        km.read_table(tmp_path / "none.db", ["a"], query="select 1 as a")
    assert not (tmp_path / "none.db").exists()


def test_a_query_belongs_to_a_database(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n")
    with pytest.raises(km.InputError, match="a query is for a database"):
        km.read_table(file, ["a"], query="select 1")
    km.write_table(people(), str(tmp_path / "a.db"), "people")
    for command in ("compress", "qid", "inspect"):
        done = run(command, tmp_path / "a.db", "--qi", "age")
        assert done.returncode == 2
        assert "name what to read (query=..., --query)" in done.stderr
    done = run("solve", "--data", file, "--qi", "a", "--k", "1", "--to-table", "x")
    assert "--to-table needs a database" in done.stderr
    done = run("solve", "--data", file, "--qi", "a", "--k", "1", "--to-database", tmp_path / "b.db")
    assert "name the table too" in done.stderr
    done = run("solve", "--data", file, "--qi", "a", "--k", "1", "--to-table", "x", "--to-database", file)
    assert "is no database" in done.stderr


def test_what_is_wrong_with_a_query_is_told_with_the_database(address: str) -> None:
    database = Database.at(address)
    twice = 'two columns of the query have the same name, "a"; rename one of them (as ...)'
    for query in ("select a, a from other", "select * from other, other as o", "select 1 as b, 2 as a, 3 as a"):
        with pytest.raises(km.InputError, match=re.escape(f"{database.shown}: {twice}")):
            database.read(query)
    done = run("solve", "--data", address, "--query", "select a as zip from other", "--qi", "age", "--k", "1")
    assert done.stderr == f'error: {database.shown}: there is no column "age" (quasi-identifier); the column is zip\n'
    if not address.startswith("postgresql"):
        for query in ("pragma table_info(other)", "explain select 1", "-- select\nattach 'leak' as x"):
            with pytest.raises(
                km.InputError, match=re.escape(f"{database.shown}: the query must be one statement that")
            ):
                database.read(query)


def test_columns_of_sqlite_have_one_kind_of_value(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table a (a, b)")
        connection.execute("insert into a values (1, 'x'), (2.5, 'y'), (null, null)")
    connection.close()
    with pytest.raises(km.InputError, match=r'a\.db: column "a" of the query holds values of several kinds; cast it'):
        km.read_table(tmp_path / "a.db", ["b"], query="select * from a")
    table = km.read_table(tmp_path / "a.db", ["a"], query="select cast(a as real) as a from a")
    assert table.frame["a"].to_list() == [1.0, 2.5, None]


@pytest.mark.parametrize(
    ("address", "module"),
    [("postgresql://h/d", "adbc_driver_postgresql"), ("duckdb:///{}", "adbc_driver_duckdb")],
)
def test_a_missing_driver_is_named_with_its_extra(
    address: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(km.InputError, match=rf"needs {module}.*pip install 'kanon-milp\[sql\]'"):
        km.read_table(address.format(tmp_path / "a"), ["a"], query="select 1 as a")
