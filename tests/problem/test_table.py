"""Tables come in as they are, go out as they came, and bad ones are refused by name."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kanon_milp as km
from kanon_milp.problem.csv_files import csv_text
from kanon_milp.problem.side_files import read_hierarchy_rows
from kanon_milp.problem.table import scan_frame
from kanon_milp.studies.output import as_polars

TEXT = 'a,b,note\n007, x,"one, two"\n1.0,,\n1,"","""quoted"""\n'


def write(folder: Path, text: str, name: str = "t.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_values_of_a_csv_file_come_out_byte_for_byte(tmp_path: Path, name: str) -> None:
    table = km.read_table(write(tmp_path, TEXT, name), ["a", "b"])
    assert table.keys.rows() == [("007", " x"), ("1.0", None), ("1", "")]
    released = table.released({"a": table.keys["a"]})
    assert csv_text(as_polars(released), ",") == TEXT


def test_windows_line_ends_and_a_byte_order_mark_are_no_part_of_values(tmp_path: Path) -> None:
    table = km.read_table(write(tmp_path, "\ufeffa,b\r\n1,x\r\n2,y\r\n"), ["a", "b"])
    assert table.keys.rows() == [("1", "x"), ("2", "y")]


def test_delimiter_and_encoding_are_options(tmp_path: Path) -> None:
    path = write(tmp_path, "name;ort\nJürgen;Köln\n", encoding="latin-1")
    table = km.read_table(path, "ort", delimiter=";", encoding="latin-1")
    assert table.keys.rows() == [("Köln",)]
    with pytest.raises(km.InputError, match="is not utf-8; name its encoding"):
        km.read_table(path, "ort", delimiter=";", encoding="utf-8")
    with pytest.raises(km.InputError, match="unknown encoding"):
        km.read_table(path, "ort", encoding="klingon")


def test_tab_is_the_delimiter_of_tsv(tmp_path: Path) -> None:
    assert km.read_table(write(tmp_path, "a\tb\n1\t2\n", "t.tsv"), ["a", "b"]).keys.rows() == [("1", "2")]


FRAME = pl.DataFrame({"age": [31, 7, 31], "w": [0.5, None, 2.0], "free": [[1], [2], [3]], "d": ["x", None, "y"]})


def as_kind(kind: str, folder: Path) -> Any:
    plain = FRAME.drop("free")
    if kind == "pandas":
        return pd.DataFrame({"age": [31, 7, 31], "w": [0.5, None, 2.0], "d": ["x", None, "y"]}, index=[5, 3, 9])
    if kind == "pyarrow":
        return plain.to_arrow()
    if kind == "duckdb":
        arrow = plain.to_arrow()  # noqa: F841 (duckdb finds it by name)
        return duckdb.sql("select * from arrow")
    return plain.lazy() if kind == "lazy" else plain


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow", "duckdb"])
def test_any_data_frame_is_a_table_and_comes_back_in_kind(kind: str, tmp_path: Path) -> None:
    frame = as_kind(kind, tmp_path)
    table = km.Table.from_frame(frame, ["age", "w"], "d")
    assert table.keys.rows() == [("31", "0.5", "x"), ("7", None, None), ("31", "2.0", "y")]
    result = km.solve(km.Problem(table, [km.KAnonymity(3)])).require_optimal()
    assert as_polars(result.table)["age"].to_list() == ["*"] * 3
    if kind == "pandas":
        assert isinstance(result.table, pd.DataFrame)
        assert list(result.table.index) == [5, 3, 9]
        assert next(iter(result.table["d"])) == "x"
        assert list(frame["age"]) == [31, 7, 31]
    if kind == "pyarrow":
        assert isinstance(result.table, pa.Table)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_columnar_files_are_read_with_their_types(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    (FRAME.write_parquet if suffix == ".parquet" else FRAME.write_ipc)(path)
    table = km.read_table(path, ["age"], "d")
    assert table.keys["age"].to_list() == ["31", "7", "31"]
    with pytest.raises(km.InputError, match=r'column "free" holds List'):
        km.read_table(path, ["free"])


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_a_file_name_is_never_taken_for_a_pattern(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a[1]*{suffix}"
    frame = FRAME.select("age")
    write: Any = {".parquet": frame.write_parquet, ".csv": frame.write_csv, ".arrow": frame.write_ipc}[suffix]
    write(path)
    assert km.read_table(path, "age").n == 3
    assert scan_frame(path).collect().height == 3


def test_missing_values_are_a_value_or_are_refused() -> None:
    assert km.Table.from_frame(FRAME, ["age"], "d").keys["d"].null_count() == 1
    with pytest.raises(km.InputError, match='column "d", row 2: the value is missing'):
        km.Table.from_frame(FRAME, ["age"], "d", missing="error")
    with pytest.raises(km.InputError, match="missing must be"):
        km.Table.from_frame(FRAME, ["age"], "d", missing="errr")  # type: ignore[arg-type]


SECRET = "Wilhelmina"


@pytest.mark.parametrize(
    ("text", "qi", "sensitive", "message"),
    [
        ("a,b\n", ["a"], None, "no rows"),
        ("", ["a"], None, "empty"),
        ("a,b\n1,2\n", ["c"], None, 'no column "c"'),
        ("a,b\n1,2\n", ["a", "a"], None, "twice"),
        ("a,b\n1,2\n", ["a"], "a", "quasi-identifier and sensitive"),
        ("a,b\n1,2\n", [], None, "at least one quasi-identifier"),
        ("a,a\n1,2\n", ["a"], None, "columns 1 and 2 of the header have the same name"),
        (f"a,b\n{SECRET}\n", ["a"], None, "line 2: row 1 has 1 field,"),
        (f'a,b\n"{SECRET},",2\n1,2,3\n', ["a"], None, "line 3: row 2 has 3 fields"),
        ("\n \n", ["a"], None, "the file is blank: a header row"),
        ("a,b\n\n\n", ["a"], None, "no rows"),
        (f"a,b\n{SECRET},2\n*,3\n", ["a", "b"], None, 'column "a", row 2: the suppression symbol'),
    ],
)
def test_bad_tables_are_refused_without_quoting_cells(
    tmp_path: Path, text: str, qi: list[str], sensitive: str | None, message: str
) -> None:
    with pytest.raises(km.InputError, match=message) as caught:
        km.read_table(write(tmp_path, text), qi, sensitive)
    if "line" in message or "fields" in message:
        with pytest.raises(km.InputError, match=message):
            scan_frame(tmp_path / "t.csv")
    assert SECRET not in str(caught.value)


def test_files_that_are_not_there_or_not_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(km.InputError, match="no such file"):
        km.read_table(tmp_path / "none.csv", "a")
    with pytest.raises(km.InputError, match="is a folder"):
        km.read_table(tmp_path, "a")
    with pytest.raises(km.InputError, match="unknown kind of file"):
        km.read_table(write(tmp_path, "a\n1\n", "t.xls"), "a")
    with pytest.raises(km.InputError, match="cannot be read as parquet"):
        km.read_table(write(tmp_path, "a\n1\n", "t.parquet"), "a")
    bad = tmp_path / "bad.csv.gz"
    bad.write_bytes(b"a,b\n1,2\n")
    packed = bytearray(gzip.compress(b"a,b\n" + "".join(f"{i},{i * i}\n" for i in range(500)).encode(), mtime=0))
    for content in (b"a,b\n1,2\n", packed[:-20], packed[:20] + b"\xff\xff\xff\xff" + packed[24:]):
        bad.write_bytes(content)
        with pytest.raises(km.InputError, match=r"cannot be unpacked by gzip"):
            km.read_table(bad, "a")
        with pytest.raises(km.InputError, match=r"cannot be unpacked by gzip"):
            scan_frame(bad).collect()
        with pytest.raises(km.InputError, match=r"cannot be unpacked by gzip"):
            read_hierarchy_rows(bad, "utf-8")
    with pytest.raises(km.InputError, match="not a data frame"):
        km.Table.from_frame({"a": [1]}, "a")


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n", "\r\n\r\n", "\n  \n\t\n", "\n \t"])
def test_blank_lines_at_the_end_hold_no_row(tmp_path: Path, end: str) -> None:
    for name, text in (("t.csv", "a,b\n1,2\n3, 4 "), ("q.csv", 'a,b\n"1","2"\n3," 4 "')):
        table = km.read_table(write(tmp_path, text + end, name), ["a", "b"])
        assert table.keys.rows() == [("1", "2"), ("3", " 4 ")]
        assert scan_frame(tmp_path / name).collect().rows() == table.keys.rows()


def test_what_looks_blank_may_be_a_row(tmp_path: Path) -> None:
    tabs = km.read_table(write(tmp_path, "a\tb\n1\t2\n\t\n", "t.tsv"), ["a", "b"])
    assert tabs.keys.rows() == [("1", "2"), (None, None)]
    for text in ("a\nx\n\ny\n\n", 'a\n"x"\n\ny\n\n'):  # in a file of one column a blank line is a missing value
        one = km.read_table(write(tmp_path, text), ["a"])
        assert one.keys["a"].to_list() == ["x", None, "y", None]


def test_a_relation_of_duckdb_comes_back_as_a_table_of_pyarrow() -> None:
    duckdb, pyarrow = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    relation = duckdb.sql("select * from (values ('x', 1), ('x', 2), ('y', 3)) as t(a, b)")
    result = km.solve(km.Problem(km.Table.from_frame(relation, "a"), km.KAnonymity(2)))
    assert isinstance(result.table, pyarrow.Table)
    assert result.table.column("a").to_pylist() == ["*", "*", "*"]


def test_a_scan_finds_another_encoding_wherever_it_begins(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n" + "1,2\n" * 100_000 + "Köln,2\n", encoding="cp850")
    with pytest.raises(km.InputError, match="is not utf-8; name its encoding"):
        scan_frame(path)
    path = write(tmp_path, "a,b\n" + "1,2\n" * 100_000 + "Köln,2\n", encoding="latin-1")
    with pytest.warns(km.FileWarning, match="read as cp1252 text"):
        assert scan_frame(path).collect()["a"][-1] == "Köln"


def test_another_symbol_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n*\n*\nx\n")
    table = km.read_table(path, "a", symbol="?")
    result = km.solve(km.Problem(table, [km.KAnonymity(3)])).require_optimal()
    assert as_polars(result.table)["a"].to_list() == ["?"] * 3


def test_a_lazy_scan_sees_what_reading_sees(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    assert scan_frame(path).collect().equals(km.read_table(path, "a").frame.to_native())


def test_intervals_and_periods_of_pandas_are_values_as_others() -> None:
    """What `pd.cut` and periods make is quasi-identifying, sensitive or kept, as pandas writes it, and verified so."""
    ages = pd.Series([21, 22, 35, 36, 47, 48, 52, None])
    months = pd.PeriodIndex(
        ["2020-01", "2020-01", "2020-02", "2020-02", "2021-01", "2021-01", "2021-03", None], freq="M"
    )
    frame = pd.DataFrame({"cut": pd.cut(ages, [20, 30, 40, 60]), "month": months, "ill": list("xyxyxyxy")})
    frame["object"] = frame["cut"].astype(object)
    frame["pairs"] = pd.arrays.IntervalArray.from_breaks(range(9))
    for name, first in {"cut": "(20.0, 30.0]", "month": "2020-01", "object": "(20, 30]", "pairs": "(0, 1]"}.items():
        for roles in ([name], "ill"), (["ill"], name):
            table = km.Table.from_frame(frame[[name, "ill"]], *roles)
            assert table.keys[name][0] == first
            assert table.keys[name].null_count() == (0 if name == "pairs" else 1)
            result = km.solve(km.Problem(table, km.KAnonymity(2)))
            assert result.is_optimal
            assert km.verify(result.problem, result.table).ok
            wrong = result.table.copy()  # type: ignore[union-attr]
            wrong[name] = [first, *[str(value) for value in wrong[name][1:-1]], first]
            assert not km.verify(result.problem, wrong).ok
    kept = km.Table.from_frame(frame, ["cut", "month"], "ill", keep=["object", "pairs"])
    tree = km.Hierarchy.dates(frame["month"], ["year"])
    assert tree.paths["2020-02"] == ("2020-02", "2020", "*")
    result = km.solve(km.Problem(kept, km.KAnonymity(2), km.Hierarchies({"month": tree})))
    assert result.is_optimal
    assert list(result.table["cut"])[:1] + list(result.table["month"])[-2:] == ["(20.0, 30.0]", "*", "*"]  # type: ignore[index]
    by_period = frame[["ill"]].set_index(months)
    released = km.solve(km.Problem(km.Table.from_frame(by_period, "ill"), km.KAnonymity(2))).table
    assert released is not None
    assert released.index.equals(by_period.index)
