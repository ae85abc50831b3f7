"""In a file in which all cells are in quotation marks, "" is a missing value, as an empty cell without them is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.problem.distances import MatrixDistance, OrderedDistance
from kanon_milp.problem.table import read_frame, scan_frame

TEXT = '"age","dx"\n"21","flu"\n"24","gout"\n"","flu"\n"33",""\n"38",""\n"31","flu"\n'
ASKED = ("--qi", "age", "--sensitive", "dx", "--k", 3, "--numeric", "age=10")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(TEXT)
    return path


def test_inspect_counts_missing_values_and_sees_integers(people: Path) -> None:
    columns = json.loads(run("inspect", people, "--json").stdout)["columns"]
    assert [(each["name"], each["kind"], each["missing"]) for each in columns] == [
        ("age", "integer", 1),
        ("dx", "text", 2),
    ]


def test_solve_warns_labels_and_refuses(people: Path) -> None:
    done = run("solve", "--data", people, *ASKED, "--json")
    assert done.returncode == 0
    assert "values of dx (2 values) are missing" in done.stderr
    assert "not a number" not in done.stderr
    levels = run("hierarchy", people, "--column", "age", "--widths", "10", "--out", people.parent / "h")
    assert levels.returncode == 0
    assert ",missing,*" in (people.parent / "h" / "age.csv").read_text()
    refused = run("solve", "--data", people, *ASKED, "--missing", "error")
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


def test_a_released_table_keeps_the_missing_values(people: Path) -> None:
    out = people.parent / "out"
    assert run("solve", "--data", people, *ASKED, "--out", out).returncode == 0
    assert [row[1] for row in read_frame(out / "anonymized.csv").rows()] == ["flu", "gout", "flu", None, None, "flu"]
    assert run("verify", out / "anonymized.csv", "--original", people, *ASKED).returncode == 0
