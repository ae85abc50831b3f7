"""Tables in SQLite, DuckDB and PostgreSQL: read, counted there, and written back whole or not at all."""

from __future__ import annotations

import datetime as dt
import html
import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import postgres
import pytest
from command_line import run
from database_cases import ALL, HOSTILE, PEOPLE, PROBLEM, ROWS, is_sqlite, people, statements
from failing_disk import failing_at, fill, succeeds

import kanon_milp as km
from kanon_milp.presolve.row_types import row_types
from kanon_milp.problem.database_tables import check_new_table, new_table
from kanon_milp.problem.databases import Database, quoted
from kanon_milp.problem.roles import Roles
from kanon_milp.system.files import write_together

pytestmark = pytest.mark.filterwarnings("ignore::kanon_milp.RoleWarning")


@pytest.mark.processes
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
    assert "--query 'select" in html.unescape(page.read_text())  # the command that verifies
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
        for refused in (verified, compared):
            assert refused.returncode == 2
            assert "has no order of its own" in refused.stderr
            assert "secret" not in refused.stderr


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
    solved = run("solve", "--data", csv, "--qi", "age,zip", "--k", "2", "--to-table", "new", "--to-database", file)
    assert solved.returncode == 0, solved.stderr
    assert Database.in_file(file).read("select * from new").height == ROWS


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(("ending", "there"), [("db", False), ("db", True), ("duckdb", True)])
def test_no_file_claims_what_the_database_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, there: bool, killed: bool
) -> None:
    """Whatever step fails, and whenever the process ends: a folder, a certificate elsewhere and a table."""
    frame = pl.DataFrame({"a": [1, 2]})
    claims = []
    for index in range(int(killed), 100, 2):
        folder, beside = tmp_path / str(index), tmp_path / f"beside {index}"
        folder.mkdir()
        beside.mkdir()
        database = Database.in_file(beside / f"data.{ending}")
        if there:
            km.write_table(frame, database, "other")
        write_together(folder, {str(beside / "certificate"): fill("old"), "claim": fill("old")})

        def work(folder: Path = folder, beside: Path = beside, database: Database = database) -> None:
            with new_table(database, "new", frame) as made:
                files = {"table": fill("new"), str(beside / "certificate"): fill("new"), **made.files}
                write_together(folder, {**files, "claim": fill("new")}, commit=made.commit, undo=made.undo)

        with failing_at(index, monkeypatch, killed=killed) as calls:
            failed = not succeeds(work)
        claim = (folder / "claim").read_text() if (folder / "claim").exists() else ""
        claims.append(claim)
        is_made = (beside / f"data.{ending}").exists() and is_there(database, "new")
        if claim == "new":
            assert is_made
            assert (beside / "certificate").read_text() == (folder / "table").read_text() == "new"
        if not killed:
            assert is_made != failed
            assert (claim, (beside / "certificate").read_text()) == (("old", "old") if failed else ("new", "new"))
        if claim == "old":
            assert not (folder / "table").exists()
            assert (beside / "certificate").read_text() == "old"
        if len(calls) <= index:
            break
        write_together(folder, {str(beside / "certificate"): fill("next"), "claim": fill("next")})
        left = [path.name for each in (folder, beside) for path in each.iterdir() if path.name.startswith(".")]
        assert left == []
    assert claims[-1] == "new"
    assert len(claims) > 8


def is_there(database: Database, name: str) -> bool:
    tables = {"sqlite": "sqlite_master", "duckdb": "(select table_name as name from information_schema.tables)"}
    return name in database.read(f"select name from {tables[database.kind]} as t")["name"].to_list()


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
