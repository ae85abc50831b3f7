"""What is solved comes back as it came: from its files every type and text, and data frames of their own kind."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import io
import json
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command_line import run
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from present import present

import kanon_milp as km

Values = st.SearchStrategy[list[object]]
ROWS = 4
ODD = st.text(
    st.sampled_from(["a", "0", "e", " ", ",", ";", '"', "'", "\r", "\n", "\t", "\x00", "#", "ß", "😀", "="]), max_size=4
)
TEXT = ODD | st.sampled_from(
    ["007", "1e5", "NA", "null", "None", "nan", "true", "1.0", "-0", "\r", "x\r", "\r\n", '""']
)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu"])
WHEN = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))


def column(kind: pl.DataType | type[pl.DataType], values: st.SearchStrategy[object]) -> st.SearchStrategy[pl.Series]:
    # few values, so that groups of some differ from groups of others, and missing ones
    few = st.lists(values | st.none(), min_size=1, max_size=2).flatmap(
        lambda known: st.lists(st.sampled_from(known), min_size=ROWS, max_size=ROWS)
    )
    return few.map(lambda found: pl.Series("c", found, dtype=kind))


SCALARS: dict[str, st.SearchStrategy[pl.Series]] = {
    **{str(kind): column(kind, st.integers(-128, 127)) for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128)},
    **{str(kind): column(kind, st.integers(0, 255)) for kind in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)},
    "large": column(pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "Float32": column(pl.Float32, st.floats(width=32)),
    "Float64": column(pl.Float64, st.floats()),
    "Boolean": column(pl.Boolean, st.booleans()),
    "String": column(pl.String, TEXT),
    "Date": column(pl.Date, st.dates(dt.date(1, 1, 1))),
    **{f"Datetime {unit}": column(pl.Datetime(unit), WHEN) for unit in ("ms", "us", "ns")},
    "with zone": ZONES.flatmap(
        lambda zone: column(pl.Datetime("us"), WHEN).map(
            lambda series: series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        )
    ),
    "Time": column(pl.Time, st.times()),
    **{
        f"Duration {unit}": column(pl.Duration(unit), st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999)))
        for unit in ("ms", "us", "ns")
    },
    "Categorical": column(pl.Categorical(), TEXT),
    "Enum": column(pl.Enum(["x", '"', "a,b", ""]), st.sampled_from(["x", '"', "a,b", ""])),
    "Decimal": column(pl.Decimal(20, 3), st.integers(-(10**9), 10**9).map(lambda n: decimal.Decimal(n) / 1000)),
    "Null": column(pl.Null, st.none()),
}
OTHERS: dict[str, st.SearchStrategy[pl.Series]] = {
    "Binary": column(pl.Binary, st.binary(max_size=3)),
    "List": column(pl.List(pl.Int64), st.lists(st.integers(0, 3), max_size=2)),
    "Array": column(pl.Array(pl.Int64, 2), st.lists(st.integers(0, 3), min_size=2, max_size=2)),
    "Struct": column(pl.Struct({"a": pl.Int64}), st.integers(0, 3).map(lambda n: {"a": n})),
}
NAMES = st.lists(ODD.filter(lambda name: name.strip() != ""), min_size=3, max_size=3, unique=True)


def quoted(names: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow(names)
    return out.getvalue()


def solve_and_verify(path: Path, roles: tuple[str, ...]) -> Path:
    """The folder, once each released file in it has been verified."""
    out = path.parent / "out"
    done = run("solve", "--data", path, *roles, "--k", 2, "--out", out, "--symbol", "★")
    assert done.returncode == 0, done.stderr
    released = sorted(out.glob("anonymized.*"))
    assert released
    for each in released:
        checked = run("verify", each, "--original", path, *roles, "--k", 2, "--symbol", "★")
        assert checked.returncode == 0, (each.name, checked.stdout, checked.stderr)
    return out


@pytest.mark.parametrize("role", ["quasi-identifier", pytest.param("sensitive", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SCALARS)
def test_every_type_comes_back_from_columnar_files(kind: str, role: str) -> None:
    """In that role, and in a column that nothing is asked of."""

    @settings(max_examples=examples(4, 1), derandomize=True)
    @given(series=SCALARS[kind], suffix=st.sampled_from(["parquet", "arrow"]))
    def check(series: pl.Series, suffix: str) -> None:
        frame = pl.DataFrame({"q": [1, 1, 2, 3], "c": series, "other": series})
        roles = {"quasi-identifier": ("--qi", "q,c"), "sensitive": ("--qi", "q", "--sensitive", "c")}[role]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"t.{suffix}"
            (frame.write_parquet if suffix == "parquet" else frame.write_ipc)(path)
            out = solve_and_verify(path, roles)
            assert (out / "anonymized.csv").exists()
            read = pl.read_parquet if suffix == "parquet" else pl.read_ipc
            for column in ("other",) if role == "quasi-identifier" else ("c", "other"):
                came, went = read(path)[column], read(out / f"anonymized.{suffix}")[column]
                assert went.dtype == came.dtype
                assert went.equals(came, null_equal=True)

    check()


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_scalar_passes_through_parquet(kind: str) -> None:
    @settings(max_examples=examples(4, 2), derandomize=True)
    @given(series=OTHERS[kind])
    def check(series: pl.Series) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.parquet"
            pl.DataFrame({"q": [1, 1, 2, 3], "c": series}).write_parquet(path)
            out = solve_and_verify(path, ("--qi", "q"))
            assert pl.read_parquet(out / "anonymized.parquet")["c"].equals(pl.read_parquet(path)["c"], null_equal=True)

    check()


@settings(max_examples=examples(60, 5), derandomize=True)
@given(
    names=NAMES,
    rows=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=2, max_size=5),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", ";", "\t"]),
)
def test_every_text_comes_back_from_csv(
    names: list[str], rows: list[tuple[str, ...]], quoting: Literal[0, 1], end: str, delimiter: str
) -> None:
    # an unquoted carriage return before a line feed cannot be told from a line end of two characters
    assume(quoting == csv.QUOTE_ALL or not any(row[-1].endswith("\r") for row in [names, *rows]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=quoting, lineterminator=end, delimiter=delimiter)
            writer.writerows([names, *rows])
        out = solve_and_verify(path, ("--qi", quoted(names[:2]), "--delimiter", delimiter))
        found = read_csv(out / "anonymized.csv", delimiter)
        assert found[0] == names
        assert [row[2] for row in found[1:]] == [row[2] for row in rows]
        for released, original in zip(found[1:], rows, strict=True):
            assert all(now in (before, "★") for now, before in zip(released, original, strict=True))


def read_csv(path: Path, delimiter: str) -> list[list[str]]:
    """Another reader than the package's."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("q,c\n1,x\r\n1,y\r\r\n", ["x", "y\r"]),
        ("q,c,d\n1,x\r,\n1,\r,y\n", ["x\r", "\r"]),
        ("q,c\n1,x\ry\n1,\r\rz\n", ["x\ry", "\r\rz"]),
        ('q,c\r\n1,"x\r"\r\n1,"a\r\nb"\r\n', ["x\r", "a\r\nb"]),
        ("\ufeffq,c\n1,007\n1,1e5\n", ["007", "1e5"]),
        ('q,c\n1," x "\n1,""\n', [" x ", ""]),
        ('"q","c"\n1,"""x"""\n1, "y"\n', ['"x"', ' "y"']),
    ],
)
def test_cells_are_kept_byte_for_byte(tmp_path: Path, text: str, cells: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    out = solve_and_verify(path, ("--qi", "q"))
    found = read_csv(out / "anonymized.csv", ",")
    assert [row[found[0].index("c")] for row in found[1:]] == cells


@pytest.mark.parametrize("header", ['a"b,c', '"a""b",c', '"a\n""b""",c', '"a,""b",c', '"a\r",c'])
def test_headers_with_quotes_are_column_names(tmp_path: Path, header: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f"{header}\n1,2\n1,3\n".encode())
    name = read_csv(path, ",")[0][0]
    assert km.read_table(path, [name]).n == 2
    solve_and_verify(path, ("--qi", quoted([name])))
    assert run("compress", path, "--qi", quoted([name]), "--json").returncode == 0


def test_a_quote_that_is_not_quoted_is_an_error_and_no_row_is_lost(tmp_path: Path) -> None:
    for text in ('a,b\nx"y,2\nz"w,3\n', 'a,b\n1,"x" \n2,"z"\n'):
        path = tmp_path / "t.csv"
        path.write_text(text)
        with pytest.raises(
            km.InputError, match=r"cannot be read as CSV|is not valid CSV: text follows a closing quotation mark"
        ):
            km.read_table(path, "a")


PANDAS: dict[str, Callable[[], object]] = {
    "int": lambda: [3, 1, 3, 1],
    "float": lambda: [1.5, None, 1.5, float("inf")],
    "bool": lambda: [True, False, True, True],
    "Int64": lambda: pd.array([1, None, 1, 2], dtype="Int64"),
    "string": lambda: pd.array(["x", None, "", '"'], dtype="string"),
    "object": lambda: ["x", None, "y\r", "x"],
    "category": lambda: pd.Categorical(["x", None, "y", "x"]),
    "numbers as categories": lambda: pd.Categorical([1, 2, 1, 1]),
    "datetime": lambda: pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-02", "2020-01-01"])),
    "zoned": lambda: pd.to_datetime(["2020-01-01"] * 4).tz_localize("Europe/Berlin"),
    "timedelta": lambda: pd.to_timedelta([1, None, 2, 1], unit="h"),
    "date": lambda: [dt.date(2020, 1, 1)] * 3 + [None],
    "time": lambda: [dt.time(1, 2)] * 3 + [None],
    "decimal": lambda: [decimal.Decimal("1.50")] * 3 + [None],
}


@pytest.mark.parametrize("role", ["quasi-identifier", "sensitive", "other"])
@pytest.mark.parametrize("kind", PANDAS)
def test_every_type_of_pandas_is_solved_and_verified(kind: str, role: str) -> None:
    frame = pd.DataFrame({"q": [1, 1, 2, 3], "c": PANDAS[kind]()}, index=[7, 7, 1, 0])
    quasi = ["q", "c"] if role == "quasi-identifier" else ["q"]
    table = km.Table.from_frame(frame, quasi, "c" if role == "sensitive" else None)
    problem = km.Problem(table, km.KAnonymity(2))
    result = km.solve(problem).require_optimal()
    assert km.verify(problem, result.table).ok
    if role != "quasi-identifier":
        pd.testing.assert_series_equal(present(result.table)["c"], frame["c"])


FRAME = pl.DataFrame({"age": [1, 2, 2, 3, 3, 4], "sex": list("ffmmff")})
KINDS = {"pandas": (pd.DataFrame, FRAME.to_pandas()), "pyarrow": (pa.Table, FRAME.to_arrow())}


def found(table: Any) -> dict[str, Any]:
    """All frames that the package gives of a table, by what they are of."""
    problem = km.Problem(km.Table.from_frame(table, ["age", "sex"]), km.KAnonymity(2))
    result = km.solve(problem)
    tree = {str(age): (str(age), f"{age // 3}", "*") for age in range(1, 5)}
    full = km.solve_full_domain(problem.table, km.KAnonymity(2), km.FullDomain({"age": tree}))
    metrics = km.measure(problem, result.table)
    attack = km.attack(problem, result.table)
    ages = km.Hierarchy.intervals(table["age"], [2])
    return {
        "table": result.table,
        "result": result.to_frame(),
        "labels": full.labels,
        "comparison": km.compare(problem, ["greedy"]).to_frame(),
        "sweep": km.sweep(problem, k=[2, 3]).to_frame(),
        "inspection": km.inspect(table).to_frame(),
        "metrics": metrics.to_frame(),
        "applied": km.apply(result, table).table,
        "breaking": km.apply(result, table[:1]).breaking,
        "groups of an attack": attack.groups,
        "cells of an attack": attack.cells,
        "groups of the verifier": km.verify(problem, result.table).group_frame(),
        "quasi-identifiers": km.find_quasi_identifiers(table).to_frame(),
        "quasi-identifiers of a Table": km.find_quasi_identifiers(problem.table).to_frame(),
        "row types": km.compress(table).to_frame(),
        "hierarchy": ages.to_frame(),
        "the same of another column": ages.extended(table["age"]).to_frame(),
        "hierarchy of a frame": km.Hierarchy.from_frame(ages.to_frame()).to_frame(),
        "hierarchy of an order": km.Hierarchy.ordered(table["age"], [1, 2, 3, 4], [2]).to_frame(),
        "hierarchy of groups": km.Hierarchy.groups(table["age"], {"a": [1, 2], "b": [3, 4]}).to_frame(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_out_is_of_the_kind_that_came_in(kind: str) -> None:
    of, table = KINDS[kind]
    others = found(FRAME)
    for what, frame in found(table).items():
        assert isinstance(frame, of), what
        assert isinstance(others[what], pl.DataFrame)
        same = pl.from_pandas(frame) if kind == "pandas" else pl.DataFrame(frame)
        assert same.columns == others[what].columns
        for name in same.columns:
            if name.startswith("seconds"):
                continue
            values = [others[what][name].to_list(), same[name].to_list()]
            assert json.dumps(values[0]) == json.dumps(values[1]), (what, name)


def test_measures_are_numbers_with_the_exact_ones_beside() -> None:
    problem = km.Problem(km.Table.from_frame(FRAME.to_pandas(), ["age", "sex"]), km.KAnonymity(2))
    result = km.solve(problem)
    metrics = km.measure(problem, result.table)
    frame = metrics.to_frame()
    exact = {name: value for name, value in vars(metrics).items() if isinstance(value, Fraction)}
    assert len(exact) > 5
    for name, value in exact.items():
        assert frame[name][0] == float(value)
        assert Fraction(frame[f"{name}_exact"][0]) == value
    assert result.to_frame()["class_size"][0] == float(metrics.class_size or 0)


def test_a_chart_brings_its_picture() -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    problem = km.Problem(km.Table.from_frame(FRAME, ["age", "sex"]), km.KAnonymity(2))
    for chart in (km.solve(problem).plot(), km.compare(problem, ["greedy"]).plot(), km.sweep(problem, k=[2]).plot()):
        bundle = chart.properties(title="mine")._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg")
        assert any(name.startswith("application/vnd.vegalite.") for name in bundle)
