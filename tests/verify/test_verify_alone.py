"""A released table judged alone, rows matched by a column, and what other tools leave in."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.methods.verification import verify_files

RELEASED = """zip,age,disease
130**,20-29,flu
130**,20-29,cold
*,*,flu
148**,30-39,flu
148**,30-39,ache
148**,30-39,flu
"""
KEYS = ("--qi", "zip,age")


@pytest.fixture
def released(tmp_path: Path) -> Path:
    path = tmp_path / "released.csv"
    path.write_text(RELEASED)
    return path


def test_what_is_asked_decides_the_exit_code(released: Path) -> None:
    asked = ("verify", released, *KEYS, "--sensitive", "disease", "--suppressed-rows", "exempt")
    done = run(*asked, "--k", 2)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "verified, the released table alone")
    assert (
        "not judged, as that takes the original table (--original): whether the released cells are true" in done.stdout
    )
    for given in (("--k", 3), ("--p", 2), ("--t", "0.3"), ("--l", 2), ("--k", 2, "--suppressed-rows", "strict")):
        done = run(*asked, *given)
        assert (done.returncode, done.stdout.splitlines()[0]) == (6, "NOT verified: 1 violation"), given
    done = run(*asked)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "no requirement was checked")
    assert "loss" not in done.stdout
    data = json.loads(run(*asked, "--k", 2, "--json").stdout)
    assert (data["alone"], data["ok"], data["cost"], data["minimal"]) == (True, True, None, None)
    assert (data["k_strict"], data["k_exempt"]) == (1, 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--mask", "m.csv"), "--mask says what became of the original table"),
        (("--hierarchies", "."), "--hierarchies says what became of the original table"),
        (("--cells", "intervals"), "--cells says what became of the original table"),
        (("--id", "zip"), "--id says what became of the original table"),
        (("--certificate", "c.json"), "name the original table with --original"),
        (("--sensitive", "nothing"), 'column "nothing"'),
    ],
)
def test_what_takes_an_original_is_refused(released: Path, given: tuple[str, ...], said: str) -> None:
    done = run("verify", released, *KEYS, *given)
    assert done.returncode == 2
    assert said in done.stderr


def test_measures_are_those_of_the_definitions() -> None:
    draw = random.Random(3)
    for _ in range(40):
        n = draw.randint(2, 10)
        rows = [(draw.choice("ab*"), draw.choice("xyz")) for _ in range(n)]
        frame = pl.DataFrame(rows, schema=["u", "s"], orient="row")
        table = km.Table.from_frame(frame, ["u"], "s", released=True)
        report = km.verify(km.Problem(table, km.KAnonymity(1)))
        held, whole = report.released.sensitive["s"], Counter(s for _, s in rows)
        groups = [Counter(s for u, s in rows if u == name) for name in dict.fromkeys(u for u, _ in rows)]
        assert report.k_strict == min(group.total() for group in groups)
        assert held.p == held.l_distinct == min(map(len, groups))
        assert held.l == min(Fraction(group.total(), max(group.values())) for group in groups)
        entropies = [-sum(c / g.total() * math.log(c / g.total()) for c in g.values()) for g in groups]
        assert held.l_entropy.value == pytest.approx(math.exp(min(entropies)), rel=1e-6)
        for l in range(2, held.p + 1):  # noqa: E741
            counts = [sorted(group.values(), reverse=True) for group in groups]
            assert held.recursive[l] == max(Fraction(each[0], sum(each[l - 1 :])) for each in counts)
        distances = [sum(abs(Fraction(g[s], g.total()) - Fraction(whole[s], n)) for s in whole) / 2 for g in groups]
        assert held.t == max(distances)
        seen = km.inspect(frame, ["u"], "s")
        assert seen.protection is not None
        assert seen.protection.released == report.released


def test_inspect_measures_what_is_sensitive(released: Path) -> None:
    done = run("inspect", released, *KEYS, "--sensitive", "disease")
    assert "disease: p = 1, l = 1 (frequency), t = 1/3 (0.3333) (equal distance)" in " ".join(done.stdout.split())
    data = json.loads(run("inspect", released, *KEYS, "--sensitive", "disease", "--json").stdout)
    assert {"p", "l", "l_entropy", "recursive", "t"} <= data["sensitive"]["disease"].keys()
    assert json.loads(run("inspect", released, *KEYS, "--json").stdout)["sensitive"] == {}


def test_an_original_is_not_judged_alone_by_mistake() -> None:
    """A method that found no table has None for it."""
    problem = km.Problem(km.Table.from_frame(pl.DataFrame({"u": ["a", "a"]}), ["u"]), km.KAnonymity(2))
    with pytest.raises(km.InputError, match="NoneType is not a data frame"):
        km.verify(problem, None)


def test_no_other_function_takes_a_released_table() -> None:
    frame = pl.DataFrame({"u": ["*", "a"]})
    problem = km.Problem(km.Table.from_frame(frame, ["u"], released=True), km.KAnonymity(1))
    with pytest.raises(km.InputError, match="takes a problem of an original table"):
        km.solve(problem)
    with pytest.raises(km.InputError, match="already a value"):
        km.Table.from_frame(frame, ["u"])


ORIGINAL = "pid,name,zip,age,income\n7,Ann,13053,21,1234.5\n8,Bob,13068,22,900\n9,Cy,14850,35,10\n4,Di,14853,36,20\n"
ROLES = ("--qi", "zip,age", "--keep", "income", "--k", 2, "--cells", "intervals")


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.csv"
    path.write_text(ORIGINAL)
    return path


def lines(order: str, *, header: str = "pid,zip,age,income") -> str:
    rows = {
        "7": "7,130**,20-29,1234.5",
        "8": "8,130**,20-29,900",
        "9": "9,148**,[30; 40[,10",
        "4": "4,148**,[30; 40[,20",
    }
    return "\n".join([header, *(rows[each] for each in order)]) + "\n"


@pytest.mark.parametrize(("order", "dropped"), [("7894", 0), ("4789", 0), ("87", 2), ("94", 2)])
def test_rows_are_matched_by_a_column(original: Path, tmp_path: Path, order: str, dropped: int) -> None:
    path = tmp_path / "r.csv"
    path.write_text(lines(order))
    asked = ("verify", path, "--original", original, *ROLES, "--identifying", "pid,name", "--id", "pid")
    done = run(*asked)
    assert done.returncode == 0, done.stdout
    assert 'rows are matched by column "pid", which must not be given away' in done.stdout
    assert (f"{dropped} rows of the original are dropped" in done.stdout) == (dropped > 0)
    data = json.loads(run(*asked, "--json").stdout)
    assert (data["dropped_rows"], data["cost"]) == (dropped, 8)  # each cell as a suppressed one
    frame, table = (
        pl.read_csv(path),
        km.read_table(original, ["zip", "age"], identifying=["pid", "name"], keep="income"),
    )
    problem = km.Problem(table, km.KAnonymity(2))
    full = pl.read_csv(original).select("pid", pl.lit("*").alias("zip"), pl.lit("*").alias("age"))
    filled = full.join(frame.drop("income"), on="pid", how="left").select(
        "pid", pl.coalesce("zip_right", "zip").alias("zip"), pl.coalesce("age_right", "age").alias("age")
    )
    found = km.measure(problem, frame, row_id="pid")
    assert found.certainty_penalty == km.measure(problem, filled).certainty_penalty
    assert (found.groups, found.risk_highest) == (len(order) // 2, Fraction(1, 2))
    compared = km.compare(problem, ["greedy"], released={"other": frame}, row_id="pid").rows[1]
    assert compared.objective == (None if dropped else 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lines("7894").replace("8,130", "7,130"), 'column "pid", row 2: the value is that of a row before'),
        (lines("7894").replace("8,130", ",130"), 'column "pid", row 2: the value is missing'),
        (lines("7894").replace("8,130", "99,130"), 'column "pid", row 2: no row of'),
        (lines("7894", header="id,zip,age,income"), 'there is no column "pid" to match rows by'),
    ],
)
def test_rows_that_cannot_be_matched(original: Path, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text)
    done = run("verify", path, "--original", original, *ROLES, "--identifying", "pid,name", "--id", "pid")
    assert done.returncode == 2
    assert said in done.stderr


def test_a_wrong_cell_is_found_in_another_order(original: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(lines("4789").replace("8,130**,20-29", "8,130**,30-39").replace("7,130**,20-29", "7,130**,30-39"))
    done = run("verify", path, "--original", original, *ROLES, "--identifying", "pid,name", "--id", "pid")
    assert done.returncode == 6
    assert 'column "age": the original value does not lie in the released cell: rows 2, 3' in done.stdout


@pytest.mark.parametrize(("cell", "exit_code"), [("*", 0), ("", 0), ("removed", 0), ("Ann", 0), (None, 6)])
def test_identifying_columns_left_in(original: Path, tmp_path: Path, cell: str | None, exit_code: int) -> None:
    path = tmp_path / "r.csv"
    rows = lines("7894").splitlines()
    names = ["name", *(["Ann", "Bob", "Cy", "Di"] if cell is None else [cell] * 4)]
    path.write_text("".join(f"{row.partition(',')[2]},{name}\n" for row, name in zip(rows, names, strict=True)))
    done = run("verify", path, "--original", original, *ROLES, "--identifying", "pid,name")
    assert done.returncode == exit_code, done.stdout
    assert ('column "name" is identifying, and the same in all rows' in done.stdout) == (exit_code == 0)
    assert ('column "name" is identifying and must not be released' in done.stdout) == (exit_code == 6)


def test_a_value_that_all_rows_have_is_that_of_a_person_where_there_is_one_row(tmp_path: Path) -> None:
    for name, ok in (("Ann", False), ("*", True)):
        (tmp_path / "r.csv").write_text(f"name,zip\n{name},1\n")
        (tmp_path / "o.csv").write_text("name,zip\nAnn,1\n")
        assert verify_files(tmp_path / "o.csv", tmp_path / "r.csv", ["zip"], identifying="name").ok == ok


@pytest.mark.parametrize(("cell", "exit_code"), [("1234,50", 0), ("1234.50", 0), ("1234,6", 6)])
def test_other_columns_may_be_written_otherwise(original: Path, tmp_path: Path, cell: str, exit_code: int) -> None:
    """Excel writes numbers with a decimal comma, and semicolons between cells."""
    path = tmp_path / "r.csv"
    path.write_text(lines("7894").replace(",", ";").replace("[30; 40[", '"[30; 40["').replace("1234.5", cell))
    asked = (*ROLES[:2], *ROLES[4:], "--identifying", "name", "--keep", "pid", "--sensitive", "income", "--t", "0.5")
    done = run("verify", path, "--original", original, *asked)
    assert done.returncode == exit_code, done.stdout
    assert ('column "income" has numbers or dates written differently' in done.stdout) == (exit_code == 0)


@pytest.mark.parametrize(("first", "header"), [(1, '""'), (0, ""), (0, "Unnamed: 0")])
def test_row_numbers_that_r_and_pandas_write_are_passed_over(
    original: Path, tmp_path: Path, first: int, header: str
) -> None:
    path = tmp_path / "r.csv"
    names, *rows = lines("7894").splitlines()
    for shift, exit_code in ((0, 0), (1, 6)):  # numbers in another order say which row it was
        numbers = [first + (place + shift) % len(rows) for place in range(len(rows))]
        body = "".join(f"{number},{row}\n" for number, row in zip(numbers, rows, strict=True))
        path.write_text(f"{header},{names}\n{body}")
        done = run("verify", path, "--original", original, *ROLES, "--identifying", "name")
        assert done.returncode == exit_code, done.stdout
        assert ("counts the rows: it tells nothing of anybody" in done.stdout) == (exit_code == 0)


@pytest.mark.parametrize("row", ["*,*,flu", ",,flu"])
def test_rows_that_are_left_out_are_suppressed_where_that_is_the_symbol(released: Path, row: str) -> None:
    released.write_text(RELEASED.replace("*,*,flu", row))
    symbol = ["--symbol", ""] if row.startswith(",") else []
    done = run("verify", released, *KEYS, "--k", 2, "--suppressed-rows", "exempt", *symbol)
    assert done.returncode == 0, done.stdout
    assert "1 row fully" in done.stdout
    assert run("verify", released, *KEYS, "--k", 2, *symbol).returncode == 6
    seen = json.loads(run("inspect", released, *KEYS, *symbol, "--json").stdout)
    assert (seen["classes"]["suppressed_rows"], seen["risk"]["prosecutor_highest"]) == (1, 0.5)


def test_one_sensitive_value_is_judged_as_any(released: Path) -> None:
    released.write_text("zip,disease\n1,flu\n1,flu\n")
    assert run("verify", released, "--qi", "zip", "--sensitive", "disease", "--p", 2).returncode == 6
    assert run("verify", released, "--qi", "zip", "--sensitive", "disease", "--p", 1).returncode == 0


def test_units_are_counted_in_a_table_alone(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("patient,zip\n1,130**\n1,130**\n1,130**\n2,148**\n3,148**\n")
    asked = ("verify", path, "--qi", "zip", "--k", 2)
    assert run(*asked, "--identifying", "patient").returncode == 6  # released, and repeated
    counted = run(*asked, "--unit", "patient")
    assert counted.returncode == 6
    assert '1 of 2 groups has fewer than k = 2 different values of "patient"' in counted.stdout
    assert 'column "patient" tells whose the rows are, and must not be given away' in counted.stdout
    assert run("verify", path, "--qi", "zip", "--k", 1, "--unit", "patient").returncode == 0


@pytest.mark.parametrize("ours", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("theirs", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_another_encoding_and_delimiter(tmp_path: Path, ours: str, theirs: str, delimiter: str) -> None:
    rows = ["stadt,alter", "Zürich,20", "Köln,20", "Köln,31", "Zürich,32"]
    after = [rows[0], "*,20", "*,20", "*,30-39", "*,30-39"]
    (tmp_path / "o.csv").write_bytes("\r\n".join(rows).encode(ours))
    (tmp_path / "r.csv").write_bytes("\n".join(after).replace(",", delimiter).encode(theirs))
    (tmp_path / "k.csv").write_bytes("\n".join(rows).replace(",", delimiter).encode(theirs))
    asked = ("--original", tmp_path / "o.csv", "--qi", "stadt,alter", "--k", 2, "--cells", "intervals")
    for named in ([], ["--encoding", ours]):
        assert run("verify", tmp_path / "r.csv", *asked, *named).returncode == 0
        kept = run("verify", tmp_path / "k.csv", *asked, *named)
        assert "does not lie" not in kept.stdout  # ü is ü in both
        assert kept.returncode == 6
