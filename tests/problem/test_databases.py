"""Tables in SQLite, DuckDB and PostgreSQL: read, counted there, and written back whole or not at all."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import re
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import polars as pl
import postgres
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.presolve.sources import row_types
from kanon_milp.problem.database_tables import check_new_table, new_table
from kanon_milp.problem.databases import Database, location, quoted, shown_query
from kanon_milp.problem.roles import Roles

PEOPLE = 'peo"ple; drop table other'
HOSTILE = """rel"; drop table other; -- '"""
ALL = f"select * from {quoted(PEOPLE)} order by id;"
PROBLEM = ("--qi", "age,zip,born", "--sensitive", "disease", "--identifying", "id,name", "--keep", "pay,ok,seen,note")
ROWS = 24
pytestmark = pytest.mark.filterwarnings("ignore::kanon_milp.RoleWarning")


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


def test_from_a_database_into_a_table_beside(address: str, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.html"
    done = run(
        "solve", "--data", address, "--query", ALL, *PROBLEM, "--k", "5", "--to-table", HOSTILE, "--out", out,
        "--report", page,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    database = Database.at(address)
    released = database.read(f"select * from {quoted(HOSTILE)}")
    assert database.read("select * from other").rows() == [(1,)]
    original = database.read(ALL)
    assert original.height == ROWS
    assert released.columns == original.columns[2:]
    kept = ["pay", "ok", "seen", "note", "disease"]
    assert released.select(kept).equals(original.select(kept))
    assert released.select(kept).schema == original.select(kept).schema
    assert {"*"} < {cell for name in ("age", "zip", "born") for cell in released[name].cast(pl.String)}
    with_csv = pl.read_csv(out / "anonymized.csv", infer_schema=False)
    assert with_csv["age"].to_list() == released["age"].cast(pl.String).to_list()
    found = json.loads((out / "result.json").read_text())
    assert found["input"]["table"] | {"delimiter": "", "encoding": "", "symbol": ""} == {
        "file": None, "sha256": None, "source": database.shown, "query": ALL, "kind": "SQL",
        "delimiter": "", "encoding": "", "symbol": "",
    }  # fmt: skip
    assert found["written_to"] == {"database": database.shown, "table": HOSTILE}
    assert "--query &#x27;select" in page.read_text()  # the command that verifies
    checked = run("verify", out / "anonymized.csv", "--original", address, "--query", ALL, *PROBLEM, "--k", "5")
    assert checked.returncode == 0, checked.stderr
    for text in (done.stdout, done.stderr, checked.stdout, *(path.read_text() for path in [page, *out.iterdir()])):
        assert postgres.PASSWORD not in text


def test_columns_that_were_not_generalized_keep_their_types(address: str) -> None:
    table = km.read_table(address, ["age", "zip"], query=ALL, identifying=["id", "name"])
    result = km.solve(km.Problem(table, km.KAnonymity(2)))
    assert result.objective == 0
    km.write_table(result.table, address, HOSTILE)
    back = km.read_table(address, ["age", "zip"], query=f"select * from {quoted(HOSTILE)}")
    assert back.frame.to_native().equals(table.frame.to_native().drop("id", "name"))
    assert back.frame.schema == table.frame.drop("id", "name").schema
    schema = table.frame.to_native().schema
    if not is_sqlite(address):  # whose cells are numbers, texts or bytes
        assert {name: str(schema[name].base_type()) for name in ("age", "born", "pay", "ok", "seen")} == {
            "age": "Int16", "born": "Date", "pay": "Decimal", "ok": "Boolean", "seen": "Datetime"
        }  # fmt: skip
        assert table.frame.to_native().equals(people())


def test_databases_count_row_types_as_memory_does(address: str) -> None:
    roles = Roles.of(["age", "born", "note"], ["disease", "ok"])
    counted = row_types(Database.at(address), roles, query=ALL)
    frame = km.read_table(address, roles.quasi_identifiers, roles.sensitive, query=ALL).frame.to_native()
    expected = km.compress(frame, roles.quasi_identifiers, roles.sensitive)
    assert counted.summary() == expected.summary()
    assert counted.domains == expected.domains
    assert (counted.codes == expected.codes).all()
    assert (counted.star_counts == expected.star_counts).all()
    command = ("--qi", "age,born,note", "--json")
    said = run("compress", address, "--query", ALL, *command)
    assert json.loads(said.stdout)["t_in"] == expected.count
    said = run("qid", address, "--query", ALL, *command)
    assert json.loads(said.stdout)["rows"] == ROWS


def test_letters_that_a_collation_takes_for_one_are_two_values(tmp_path: Path, server: str) -> None:
    for address, kind, before in (
        (f"sqlite:///{tmp_path / 'a.db'}", "text collate nocase", "select 1"),
        (f"duckdb:///{tmp_path / 'a.duckdb'}", "varchar collate nocase", "select 1"),
        (
            server,
            "text collate ci",
            "create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        ),
    ):
        if address != server:
            km.write_table(pl.DataFrame({"x": [1]}), address, "x")
        statements(address, before, f"create table letters (a {kind})", "insert into letters values ('a'), ('A')")
        assert Database.at(address).read("select distinct a from letters").height == 1
        assert row_types(Database.at(address), None, query="select * from letters").count == 2


def test_other_commands_take_a_database(tmp_path: Path) -> None:
    file = tmp_path / "people.db"
    km.write_table(people(), str(file), PEOPLE)
    stated = ("--data", file, "--query", ALL, *PROBLEM, "--k", "3")
    assert run("export", *stated, "--to", tmp_path / "model.lp").returncode == 0
    compared = run("compare", *stated, "--methods", "mondrian,milp", "--json")
    assert compared.returncode == 0, compared.stderr
    swept = run("sweep", *stated[:-1], "2,3", "--out", tmp_path / "sweep", "--json")
    assert [row["k"] for row in json.loads(swept.stdout)] == [2, 3]
    resumed = run("sweep", *stated[:-1], "2,3", "--out", tmp_path / "sweep", "--json", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    inspected = run("inspect", file, "--query", ALL, "--json")
    assert "--query" in json.loads(inspected.stdout)["command"]
    made = run("hierarchy", file, "--query", ALL, "--column", "zip", "--prefix", "2", "--out", tmp_path, "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["levels"][0]["labels"] == people()["zip"].n_unique()
    assert pl.read_csv(tmp_path / "zip.csv").columns[0] == "level0"
    refused = run("solve", *stated, "--log-file", file)
    assert refused.returncode == 2
    assert "is a file that is read" in refused.stderr


def test_released_tables_in_databases_are_refused_for_they_have_no_order(tmp_path: Path) -> None:
    table, file = tmp_path / "people.csv", tmp_path / "people.db"
    people().write_csv(table)
    km.write_table(people(), str(file), PEOPLE)
    for address in (file, f"sqlite:///{file}", "postgresql://owner:secret@host/db", "duckdb:///a.duckdb"):
        verified = run("verify", address, "--original", table, *PROBLEM)
        compared = run("compare", "--data", table, *PROBLEM, "--k", "3", "--methods", "greedy", "--released", address)
        for done in (verified, compared):
            assert done.returncode == 2
            assert "has no order of its own" in done.stderr
            assert "secret" not in done.stderr


def test_a_table_of_that_name_is_refused_before_anything_is_done(address: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("solve", "--data", address, "--query", ALL, *PROBLEM, "--k", "3", "--to-table", "other", "--out", out)
    assert (done.returncode, out.exists()) == (2, False)
    assert "there is a table of that name already" in done.stderr
    with pytest.raises(km.InputError, match="of that name already"):
        km.write_table(people(), address, "other")
    assert Database.at(address).read("select * from other").rows() == [(1,)]


def test_a_table_is_there_whole_or_not_at_all(address: str) -> None:
    database = Database.at(address)
    with pytest.raises(ZeroDivisionError), new_table(database, HOSTILE, people()):
        raise ZeroDivisionError
    with pytest.raises(km.InputError, match="not there"):
        database.read(f"select * from {quoted(HOSTILE)}")
    check_new_table(database, HOSTILE, people().columns)
    with pytest.raises(km.InputError, match="not there"):
        database.read(f"select * from {quoted(HOSTILE)}")
    if address.startswith("postgresql"):  # a value that it refuses comes after others
        rows = pl.DataFrame({"a": [*map(str, range(100_000)), "\0"]})
        with pytest.raises(km.InputError, match="cannot compute the query, or hold a value"):
            km.write_table(rows, address, HOSTILE)
        with pytest.raises(km.InputError, match="not there"):
            database.read(f"select * from {quoted(HOSTILE)}")


@pytest.mark.parametrize("ending", ["db", "duckdb"])
def test_a_new_file_is_left_only_with_its_table(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"new.{ending}"
    with pytest.raises(ZeroDivisionError), new_table(Database.in_file(file), "a", people()):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    csv = tmp_path / "people.csv"
    people().drop("note").write_csv(csv)
    done = run("solve", "--data", csv, "--qi", "age,zip", "--k", "2", "--to-table", "new", "--to-database", file)
    assert done.returncode == 0, done.stderr
    assert Database.in_file(file).read("select * from new").height == ROWS


def test_many_kinds_of_columns_are_written(address: str) -> None:
    utc = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    frame = pl.DataFrame(
        {
            "tiny": pl.Series([-1, None], dtype=pl.Int8),
            "huge": pl.Series([2**63, None], dtype=pl.UInt64),
            "unsigned": pl.Series([2**32 - 1, None], dtype=pl.UInt32),
            "real": pl.Series([0.1, None], dtype=pl.Float64),
            "time": [dt.time(10, 1), None],
            "zoned": pl.Series([utc, None], dtype=pl.Datetime("ns", "UTC")),
            "category": pl.Series(["a", None], dtype=pl.Categorical),
            "nothing": pl.Series([None, None]),
            "bytes": [b"\0a", None],
            "select": [1, 2],
        }
    )
    km.write_table(frame, address, HOSTILE)
    back = Database.at(address).read(f"select * from {quoted(HOSTILE)}")
    assert back.columns == frame.columns
    if is_sqlite(address):
        assert back.row(0)[:4] == (-1, "9223372036854775808", 2**32 - 1, 0.1)
        assert back.row(0)[4:6] == ("10:01:00", "2024-01-01 12:00:00.000000+00:00")
    else:
        assert back.row(0)[:6] == (-1, Decimal(2**63), 2**32 - 1, 0.1, dt.time(10, 1), utc)
    assert back.row(0)[6:9] == ("a", None, b"\0a")
    assert back.row(1)[:9] == (None,) * 9


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pl.DataFrame({"a": [[1]]}), "which are not written"),
        (pl.DataFrame({"a": pl.Series([1], dtype=pl.Datetime("ns"))}), "finer than microseconds"),
        (pl.DataFrame({"a": pl.Series([1], dtype=pl.Time)}), "finer than microseconds"),
    ],
)
def test_what_a_database_would_change_is_refused(tmp_path: Path, frame: pl.DataFrame, said: str) -> None:
    with pytest.raises(km.InputError, match=said):
        km.write_table(frame, str(tmp_path / "a.db"), "a")
    assert list(tmp_path.iterdir()) == []


def test_names_that_the_server_would_cut_off_are_refused(server: str) -> None:
    with pytest.raises(km.InputError, match="63 bytes"):
        km.write_table(pl.DataFrame({"a": [1]}), server, "ü" * 32)
    with pytest.raises(km.InputError, match="63 bytes"):
        km.write_table(pl.DataFrame({"ü" * 32: [1]}), server, "a")
    with pytest.raises(km.InputError, match="must have characters"):
        km.write_table(pl.DataFrame({"a": [1]}), server, "")


QUERIES = [
    ("select * from nowhere", "a table that is not there"),
    ('select nope from "other"', "a column that is not there"),
    ("selec * from other", "not valid SQL"),
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


def test_columns_of_sqlite_have_one_kind_of_value(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table a (a, b)")
        connection.execute("insert into a values (1, 'x'), (2.5, 'y'), (null, null)")
    connection.close()
    with pytest.raises(km.InputError, match='column "a" of the query holds values of several kinds; cast it'):
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
