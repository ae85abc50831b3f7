"""What stands for a missing value wherever a table is read: texts, and "" where all cells are in quotation marks."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from command_line import run, run_in

import kanon_milp as km
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.distances import MatrixDistance, OrderedDistance
from kanon_milp.problem.table import read_frame, scan_frame

ROWS = "a,b,s\nNA,x,1\nNA ,y,2\n1,x,1\n1,y,NA\n,x,2\nNAN,y,1\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    return path


def test_they_are_missing_in_every_column_and_others_stay_as_they_are(people: Path) -> None:
    table = km.read_table(people, ["a", "b"], "s", missing_values=["NA"])
    assert table.column("a").to_list() == [None, None, "1", "1", None, "NAN"]
    assert table.column("s").to_list()[3] is None
    assert km.read_table(people, ["a", "b"], "s").column("a").to_list()[:2] == ["NA", "NA "]
    with pytest.raises(km.InputError, match='column "a", row 1: the value is missing'):
        km.read_table(people, ["a", "b"], "s", missing_values="NA", missing="error")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_other_kinds_of_files_have_them_too(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["NA", "1"], "^b$": ["x", "NA"], "n": [1, 2]})
    path = tmp_path / name
    frame.write_parquet(path) if name.endswith("parquet") else frame.write_ipc(path)
    read = read_frame(path, CsvFormat(missing_values=("NA",)))
    assert read.rows() == [(None, "x", 1), ("1", None, 2)]


def test_the_symbol_is_none_of_them(people: Path) -> None:
    with pytest.raises(km.InputError, match="stands for a missing value, too; choose another symbol"):
        km.read_table(people, ["a", "b"], missing_values=["NA", "*"])
    with pytest.raises(km.InputError, match="missing_values: text is expected, found int"):
        km.read_table(people, ["a", "b"], missing_values=[9])  # type: ignore[list-item]


def test_commands_count_them_as_missing(people: Path) -> None:
    said = json.loads(run("compress", people, "--qi", "a", "--missing-values", "NA", "--json").stdout)
    assert said["t_in"] == 3
    assert json.loads(run("compress", people, "--qi", "a", "--json").stdout)["t_in"] == 5
    found = json.loads(run("qid", people, "--qi", "a", "--missing-values", "NA", "--json").stdout)
    assert found["uniqueness"][0]["classes"] == 3
    out = people.parent / "h"
    made = run("hierarchy", people, "--column", "a", "--widths", "5", "--missing-values", "NA,NAN", "--out", out, "-q")
    assert made.returncode == 0, made.stderr
    assert pl.read_csv(out / "a.csv", infer_schema=False)["level1"].to_list() == ["0-4", "missing"]


def test_a_released_table_and_the_command_that_verifies_it_have_them(people: Path) -> None:
    out = people.parent / "out"
    asked = ["--qi", "a,b", "--sensitive", "s", "--k", 2, "--missing-values", "NA"]
    done = run("solve", "--data", people, *asked, "--out", out, "--report", out / "r.html", "-q")
    assert done.returncode == 0, done.stderr
    assert "NA," not in (out / "anonymized.csv").read_text()
    described = json.loads((out / "result.json").read_text())
    assert described["input"]["table"]["missing_values"] == ["NA"]
    assert (
        described["objective"]
        == km.solve(km.Problem(km.read_table(people, ["a", "b"], "s", missing_values="NA"), km.KAnonymity(2))).objective
    )
    page = (out / "r.html").read_text()
    command = page[page.index("kanon-milp verify anonymized.csv") :].partition("<")[0]
    assert "--missing-values NA" in command
    assert run_in(out, *shlex.split(command)[1:]).returncode == 0
    assert run("verify", out / "anonymized.csv", "--original", people, *asked).returncode == 0
    assert run("verify", out / "anonymized.csv", "--original", people, *asked[:-2]).returncode == 6


def test_a_model_file_names_them(people: Path) -> None:
    model = people.parent / "m.toml"
    model.write_text(
        '[data]\nfile = "people.csv"\nquasi_identifiers = ["a", "b"]\nmissing_values = ["NA"]\n[privacy]\nk = 2\n'
    )
    assert km.read_model(model).problem.table.column("a").null_count() == 3
    refused = run("solve", model, "--missing-values", "NA")
    assert refused.returncode == 2
    assert "so --missing-values cannot be used with it" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(("rows", "said"), [(1, "1 such cell"), (2, "2 such cells")])
def test_errors_count_cells(rows: int, said: str) -> None:
    frame = pl.DataFrame({"a": ["x", *["*"] * rows], "b": ["x", *[None] * rows]}, schema_overrides={"b": pl.String})
    with pytest.raises(km.InputError, match=rf"already a value of the table \({said}\)"):
        km.Table.from_frame(frame, "a")
    with pytest.raises(km.InputError, match=rf"the value is missing \({said}\)"):
        km.Table.from_frame(frame, "b", missing="error")


TEXT = '"age","dx"\n"21","flu"\n"24","gout"\n"","flu"\n"33",""\n"38",""\n"31","flu"\n'
ASKED = ("--qi", "age", "--sensitive", "dx", "--k", 3, "--numeric", "age=10")


@pytest.fixture
def quoted(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(TEXT)
    return path


def test_inspect_counts_missing_values_and_sees_integers(quoted: Path) -> None:
    columns = json.loads(run("inspect", quoted, "--json").stdout)["columns"]
    assert [(each["name"], each["kind"], each["missing"]) for each in columns] == [
        ("age", "integer", 1),
        ("dx", "text", 2),
    ]


def test_solve_warns_labels_and_refuses(quoted: Path) -> None:
    done = run("solve", "--data", quoted, *ASKED, "--json")
    assert done.returncode == 0
    assert "values of dx (2 values) are missing" in done.stderr
    assert "not a number" not in done.stderr
    levels = run("hierarchy", quoted, "--column", "age", "--widths", "10", "--out", quoted.parent / "h")
    assert levels.returncode == 0
    assert ",missing,*" in (quoted.parent / "h" / "age.csv").read_text()
    refused = run("solve", "--data", quoted, *ASKED, "--missing", "error")
    assert refused.returncode == 2
    assert 'column "age", row 3: the value is missing' in refused.stderr


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (TEXT.replace('"age","dx"', "age,dx"), [("21", "flu"), ("24", "gout"), (None, "flu"), ("33", None)]),
        (TEXT.replace(",", ";").replace("\n", "\r\n"), [("21", "flu"), ("24", "gout"), (None, "flu"), ("33", None)]),
        ('"a","b"\n"x\n""y""",""\n', [('x\n"y"', None)]),
        # of mixed cells it stays an empty text
        (TEXT.replace('"21"', "21"), [("21", "flu"), ("24", "gout"), ("", "flu"), ("33", "")]),
        (TEXT + '"40",\n', [("21", "flu"), ("24", "gout"), ("", "flu"), ("33", "")]),
        ('"a"\n"x"\n""\n\n', [("x",), (None,)]),
        ('"="\n","\n', [(",",)]),
        ('"a","b"\n",",","\n"","x,"\n', [(",", ","), (None, "x,")]),
        ('a\nx\n""\n\n', [("x",), ("",), (None,)]),
    ],
)
def test_only_where_all_cells_are_quoted(text: str, rows: list[tuple[str | None, ...]], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    found = read_frame(path).rows()
    assert found[: len(rows)] == rows
    assert scan_frame(path).collect().rows() == found


def test_hierarchies_masks_and_distances_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    for header in ('"level0","level1","level2"\n', "level0,level1,level2\n", ""):
        path.write_text(header + '"1","low","*"\n"","none","*"\n')
        assert list(km.Hierarchy.read(path).paths) == ["1", None]
    path.write_text('"1","low","*"\n"","none",*\n')
    assert list(km.Hierarchy.read(path).paths) == ["1", ""]
    path.write_text('"value"\n"a"\n""\n"b"\n')
    assert OrderedDistance.read(path).order == ("a", None, "b")
    path.write_text('"d","a",""\n"a","0","1"\n"","1","0"\n')
    assert MatrixDistance.read(path).values == ("a", None)
    path.write_text('"age","dx"\n"keep","*"\n\n"*","*"\n')
    assert km.PatternMask.read(path).patterns == (("keep", "*"), ("*", "*"))


def test_a_released_table_keeps_the_missing_values(quoted: Path) -> None:
    out = quoted.parent / "out"
    assert run("solve", "--data", quoted, *ASKED, "--out", out).returncode == 0
    assert [row[1] for row in read_frame(out / "anonymized.csv").rows()] == ["flu", "gout", "flu", None, None, "flu"]
    assert run("verify", out / "anonymized.csv", "--original", quoted, *ASKED).returncode == 0
