"""Hierarchies, masks, orders and matrices have delimiters of their own; files of ARX are read as they are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.problem.distances import MatrixDistance, OrderedDistance

PATHS = {"31": ("31", "[30,40)", "*"), "38": ("38", "[30,40)", "*"), "45": ("45", "[40,50)", "*")}


@pytest.mark.parametrize(
    "text",
    [
        'level0,level1,level2\n31,"[30,40)",*\n38,"[30,40)",*\n45,"[40,50)",*\n',
        "level0;level1;level2\n31;[30,40);*\n38;[30,40);*\n45;[40,50);*\n",
        "level0\tlevel1\tlevel2\r\n31\t[30,40)\t*\r\n38\t[30,40)\t*\r\n45\t[40,50)\t*\r\n\r\n",
        "level0|level1|level2\n31|[30,40)|*\n38|[30,40)|*\n45|[40,50)|*",
        "31;[30,40);*\n38;[30,40);*\n45;[40,50);*\n",
        "\ufeff31;[30,40);*\r\n38;[30,40);*\r\n45;[40,50);*\r\n",
        "31;[30,40);***\n38;[30,40);***\n45;[40,50);***\n",
    ],
)
def test_a_hierarchy_is_read_whatever_its_delimiter_and_with_or_without_a_header(text: str, tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_bytes(text.encode())
    assert km.Hierarchy.read(path).paths == PATHS


def test_a_line_that_stands_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_bytes(
        '\ufeff"31";"[30,40)";"*"\r\n"38";"[30,40)";"*"\r\n"31";"[30,40)";"*"\r\n"45";"[40,50)";"*"\r\n'.encode()
    )
    assert km.Hierarchy.read(path).paths == PATHS


def test_an_empty_value_is_missing_and_a_quoted_one_is_text(tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_text('31;x;*\n;unknown;*\n"";empty;*\n')
    assert list(km.Hierarchy.read(path).paths) == ["31", None, ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("value;group\n31;30s\n", "the first line is not the header level0,level1,"),
        ("level0;level1;level2\n31;30s\n", "line 2 has 2 columns, the first line 3"),
        ("31\n38\n", "at least two columns"),
        ("", "at least two columns"),
        ("31;30s;a\n38;30s;b\n", "not all rows end in the same label"),
        ("a;x,y;top,all\nb;x,y;top,all\n", '"," and ";" both divide the file evenly'),
        ("level0;level1\n", "the hierarchy has no rows"),
        (";;\na;x;*\n", "not all rows end in the same label"),
        ('a;"x;*\n', "at least two columns"),
        ("a;x;*\n\nb;x;*\n\nc;*\n", "line 5 has 2 columns, the first line 3"),
        (
            "level0,level1,level2\na,x,*\n\nb,x,*\nb,y,*\n",
            "line 4 and line 5 have the same value in level0 and different",
        ),
        ("sep=;\na;x;*\nb;y;*\na;z;*\n", "line 2 and line 4 have the same value"),
        ('a;"x\ny";u;*\nb;"x\ny";v;*\n', "line 3: levels are not nested: .* of level1 lies in .* than in line 1"),
    ],
)
def test_a_file_that_is_no_hierarchy_is_told_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_text(text)
    with pytest.raises(km.InputError, match=message):
        km.Hierarchy.read(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("of_table", [",", ";"])
def test_the_table_s_delimiter_is_not_that_of_other_files(delimiter: str, of_table: str, tmp_path: Path) -> None:
    """The same optimum, whatever the delimiters of table, hierarchies and mask."""
    table, folder, mask = tmp_path / "t.csv", tmp_path / "dgh", tmp_path / "mask.csv"
    folder.mkdir()
    table.write_text("age,sex\n31,f\n38,f\n45,m\n45,m\n".replace(",", of_table))
    rows = [("level0", "level1", "level2"), ("31", "30s", "*"), ("38", "30s", "*"), ("45", "40s", "*")]
    (folder / "age.csv").write_text("\n".join(map(delimiter.join, rows)) + "\n")
    mask.write_text(f"sex{delimiter}age\nkeep{delimiter}1\n*{delimiter}*\n")
    given = ("--qi", "age,sex", "--delimiter", of_table, "--hierarchies", folder, "--mask", mask, "--k", 2)
    out = tmp_path / "out"
    done = run("solve", "--data", table, *given, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "proven optimum 2," in done.stdout
    assert run("verify", out / "anonymized.csv", "--original", table, *given).returncode == 0
    problem = km.Problem(
        km.read_table(table, ["age", "sex"], delimiter=of_table),
        km.KAnonymity(2),
        km.Hierarchies.read(folder, ["age", "sex"], mask=km.PatternMask.read(mask)),
    )
    assert km.solve(problem).require_optimal().objective == 2


def test_a_mask_of_one_column_needs_no_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "mask.csv"
    path.write_text("age\nkeep\n*\n")
    assert km.PatternMask.read(path).patterns == (("keep",), ("*",))


@pytest.mark.parametrize("text", ["keep,keep,*\n", "keep;*\n*;*\n", "keep,keep\n*,*\n", "keep\n", "age,sex\n"])
def test_a_mask_without_a_header_or_without_patterns_is_told_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mask.csv"
    path.write_text(text)
    with pytest.raises(km.InputError, match="must be a header that names the quasi-identifiers, and each following"):
        km.PatternMask.read(path)


def test_quoted_names_and_names_that_are_numbers_are_a_header(tmp_path: Path) -> None:
    path = tmp_path / "mask.csv"
    path.write_text('"age";"sex"\nkeep;*\n')
    assert km.PatternMask.read(path).columns == ("age", "sex")
    path.write_text("0,1\nkeep,*\n")
    assert km.PatternMask.read(path).columns == ("0", "1")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_parquet_or_arrow_file_by_another_name_is_recognized(encoding: str, tmp_path: Path) -> None:
    frame, path = pl.DataFrame({"a": ["x", "x"]}), tmp_path / "x.csv"
    for write, ending in (
        (frame.write_parquet, "a Parquet .* in .parquet"),
        (frame.write_ipc, "an Arrow .* in .arrow"),
    ):
        write(path)
        for read in (lambda: km.read_table(path, "a", encoding=encoding), lambda: km.PatternMask.read(path)):
            with pytest.raises(km.InputError, match=f"looks like {ending}"):
                read()
    path.write_text("PAR1,a\n1,2\n1,2\n")
    assert km.read_table(path, ["PAR1", "a"]).n == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_orders_and_matrices_have_delimiters_of_their_own(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("\n".join(map(delimiter.join, [("d", "a", "b"), ("a", "0", "1"), ("b", "1", "0")])) + "\n")
    assert MatrixDistance.read(path).values == ("a", "b")
    path.write_text(f"value\nhot{delimiter} dry\ncold\n")
    assert OrderedDistance.read(path).order == (f"hot{delimiter} dry", "cold")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("HIGHS", 'did you mean "highs"?'),
        ("Cbc", 'did you mean "cbc"?'),
        ("ortools", 'did you mean "cpsat"?'),
        ("gurobi", 'did you mean "pulp:GUROBI", which needs the Python package gurobipy and a licence'),
        ("glpk", 'did you mean "pulp:GLPK_CMD", which needs the executable glpsol on the PATH?'),
        ("CPLEX", '"pulp:CPLEX_PY", which needs the Python package cplex and a licence'),
        ("pulp:gurobi", 'did you mean "pulp:GUROBI", which'),
        ("hihgs", 'did you mean "highs"?'),
    ],
)
def test_a_solver_by_another_name_is_told_its_name(name: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n1\n")
    done = run("solve", "--data", path, "--qi", "a", "--k", 2, "--solver", name)
    assert done.returncode == 2
    assert message in done.stderr
    with pytest.raises(km.InputError) as caught:
        km.solve(km.Problem(km.read_table(path, "a"), km.KAnonymity(2)), solver=name)
    assert message in str(caught.value)
