"""No message, and no repr, shows a cell; and nothing from outside steers a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.errors import printable
from kanon_milp.methods import registry
from kanon_milp.problem.distances import MatrixDistance, OrderedDistance

SECRET = "Wilhelmina"
HOSTILE = "\x1b[31mred\r\x9b2J\u202e\n"


def refused(path: Path, text: str, *options: object) -> str:
    """The one line that solving this file's columns age and job ends in, alike on the command line and in Python."""
    path.write_bytes(text.encode())
    done = run("solve", "--data", path, "--qi", "age,job", "--k", 2, *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    with pytest.raises(km.InputError) as caught:
        km.read_table(path, ["age", "job"])
    assert done.stderr == f"error: {caught.value}\n"
    assert SECRET not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"39,{SECRET},77516\n50,x,83311\n", "has the file a header row"),
        (f"{SECRET},clerk,Berlin\nAnn,cook,Berlin\nEve,clerk,Bonn\n", "among its 3 columns"),
        (f"{SECRET},{SECRET},1\na,b,c\n", "columns 1 and 2 of the header have the same name"),
        (
            f'age,"job\n1,{SECRET}\n2,{SECRET}\n',
            "not valid CSV: a quotation mark is opened and never closed",
        ),
        (f'age,job\n1,x\n1,"{SECRET}\n2,y\n', "begins in line 3 .* a quotation mark is opened and never closed"),
        (f'age,job\n1,"x"{SECRET}\n2,y\n', "begins in line 2 .* text follows a closing quotation mark"),
        (f"age;job\n1;{SECRET}\n2\n", 'its columns seem to be divided by ";": name that with --delimiter'),
        (f"age;job\n1;{SECRET},2\n2\n", 'its columns seem to be divided by ";": name that with --delimiter'),
        (f"age\tjob\n1\t{SECRET}\n2\n", "its columns seem to be divided by a tab"),
        (f"{SECRET} clerk\nAnn cook\nage job\n", "among its 1 column; are its columns divided by blanks"),
        (f'age,"jobjob\n1,{SECRET}\n2,"\n1,{SECRET}\n', "may not be closed: the name of column 2 of 2 runs over lines"),
        (f'age,"{SECRET * 30}"\n1,2\n', "the name of column 2 of 2 runs over lines, or is very long"),
        (f"age|job\n1|{SECRET}\n2\n", r'its columns seem to be divided by "\|"'),
    ],
)
def test_bad_files_are_described_without_their_cells(text: str, message: str, tmp_path: Path) -> None:
    assert re.search(message, refused(tmp_path / "t.csv", text))


def test_a_name_near_to_what_was_asked_for_is_told_where_the_first_row_is_a_header(tmp_path: Path) -> None:
    assert 'did you mean "ages"' in refused(tmp_path / "t.csv", "ages,job,other\n1,x,2\n")
    assert "the columns are ages, job, other" in refused(tmp_path / "t.csv", "ages,job,other\n1,x,2\n")


def test_no_way_out_is_named_that_is_none() -> None:
    """Data frames and databases have names of columns; only a text file may lack the row."""
    with pytest.raises(km.InputError, match=r"the columns are age, job$"):
        km.Table.from_frame(pl.DataFrame({"age": [1], "job": ["x"]}), "income")


def test_compress_names_no_cell_either(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"39,{SECRET}\n50,x\n")
    done = run("compress", path, "--qi", "age")
    assert done.returncode == 2
    assert SECRET not in done.stderr


@pytest.mark.parametrize(
    "rows",
    [
        [(SECRET, "a", "*"), (SECRET, "b", "*")],
        [(SECRET, "a", "top")],
        [(SECRET, None, "*")],
        [(SECRET, "a", "u", "*"), ("y", "a", "v", "*")],
    ],
)
def test_faults_of_a_hierarchy_are_named_by_row_and_level(rows: Any) -> None:
    with pytest.raises(km.InputError, match="row ") as caught:
        km.Hierarchy.from_rows(rows)
    assert SECRET not in str(caught.value)


def test_a_table_that_is_taken_for_another_file_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_text(f"{SECRET},39\nAnn,50\n")
    readers: list[Callable[[], Any]] = [
        lambda: km.Hierarchy.read(path),
        lambda: OrderedDistance.read(path),
        lambda: MatrixDistance.read(path),
        lambda: km.Hierarchy.from_frame(pl.DataFrame({SECRET: ["1"], "b": ["*"]})),
        lambda: solve_with(km.PatternMask([[SECRET]])),
        lambda: solve_with(km.PatternMask.read(path)),
    ]
    for read in readers:
        with pytest.raises(km.InputError) as caught:
            read()
        assert SECRET not in str(caught.value)


def test_a_lazy_frame_that_fails_is_not_quoted() -> None:
    lazy = pl.LazyFrame({"age": ["1", SECRET]}).with_columns(pl.col("age").cast(pl.Int64))
    problem = km.Problem(km.Table.from_frame(pl.DataFrame({"age": ["1", "2"]}), "age"), km.KAnonymity(2))
    for read in (lambda: km.Table.from_frame(lazy, "age"), lambda: km.verify(problem, lazy)):
        with pytest.raises(km.InputError, match="cannot be read") as caught:
            read()
        assert SECRET not in str(caught.value)


def solve_with(recoding: Any = None) -> km.Result:
    frame = pl.DataFrame({"age": [SECRET, SECRET, "x", "y"], "sick": [SECRET, "cold", SECRET, "cold"]})
    table = km.Table.from_frame(frame, "age", "sick")
    privacy = [km.KAnonymity(2), km.AlphaKAnonymity("1/2", 2, values=[SECRET])]
    return km.solve(km.Problem(table, privacy, recoding or km.Suppression()))


def test_a_repr_shows_shape_and_names_and_no_cell(tmp_path: Path) -> None:
    hierarchy = km.Hierarchy.from_rows([(SECRET, "p", "*"), ("x", "p", "*"), ("y", "q", "*")])
    mask = km.PatternMask([["keep"], ["*"]])
    result = solve_with(km.Hierarchies({"age": hierarchy}))
    assert result.verified
    problem = result.problem
    model = tmp_path / "m.toml"
    (tmp_path / "t.csv").write_text(f"age\n{SECRET}\n{SECRET}\n")
    model.write_text('[data]\nfile = "t.csv"\nquasi_identifiers = ["age"]\n[privacy]\nk = 2\n')
    shown = {
        repr(problem.table): "4 rows, 2 columns; quasi-identifiers age; sensitive sick",
        repr(problem): "k_anonymity, alpha_k_anonymity; hierarchies; loss",
        repr(problem.recoding): "3 values, levels 0 to 2",
        repr(hierarchy): "3 values, levels 0 to 2",
        repr(mask): "2 patterns",
        repr(result): "optimal",
        repr(km.compress(problem.table.keys, ["age"], ["sick"])): "3 row types of age",
        repr(OrderedDistance([SECRET, "cold"])): "2 values",
        repr(MatrixDistance([SECRET, "cold"], [[0, 1], [1, 0]])): "2 values",
        repr(km.read_model(model)): "2 rows",
        repr(problem.privacy): "AlphaKAnonymity",
        repr(result.report.released if result.report else None): "groups",
        repr(km.export_model(problem, tmp_path / "m.lp")): "<DeclaredModel: strong model of",
    }
    for text, part in shown.items():
        assert part in text
        assert SECRET not in text
        assert len(text) < 1000


def everything_within(value: Any, seen: dict[int, Any]) -> None:
    """All objects of the package that can be reached from one of them, by number."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            everything_within(each, seen)
    elif type(value).__module__.startswith("kanon_milp."):
        for name in (each for each in dir(value) if not each.startswith("__")):
            try:
                held = getattr(value, name)
            except Exception:  # a property that is not for this object
                continue
            everything_within(held, seen)


def test_no_object_of_the_package_shows_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a user gets, and whatever can be reached from there."""
    frame = {"age": [f"{SECRET}1"] * 3 + [f"{SECRET}2"] * 3, "sick": [f"{SECRET}{i}" for i in "pqr"] * 2}
    table = km.Table.from_frame(pl.DataFrame(frame), "age", "sick")
    values = tuple(sorted(set(frame["sick"])))
    tree = km.Hierarchy({value: (value, f"{SECRET}{value == values[0]}", "*") for value in values})
    metric = MatrixDistance(values, [[0, "1/2", 1], ["1/2", 0, "1/2"], [1, "1/2", 0]])
    recoding = km.Hierarchies({"age": {age: (age, f"{SECRET}12", "*") for age in set(frame["age"])}})
    sessions: list[km.Session] = []

    def remembering(session: km.Session) -> km.Result:
        sessions.append(session)
        return session.finish(session.first)

    monkeypatch.setitem(registry.METHODS, "remembering", km.Method("remembering", "keeps its session", remembering))
    seen: dict[int, Any] = {}
    for privacy in (
        [km.TCloseness("1/2", distance) for distance in (OrderedDistance(values), metric)],
        [km.TCloseness("1/2", km.distances.HierarchicalDistance(tree))],
        [km.KAnonymity(2), km.AlphaKAnonymity("2/3", 2, "sick", values[:1]), km.LDiversity(2), km.BetaLikeness(3)],
    ):
        problem = km.Problem(table, privacy, recoding)
        result = km.solve(problem, method="remembering")
        whole = sessions[-1].instance.table_group
        told = [(each.relaxations(whole), each.shortfall(whole)) for each in problem.requirements]
        everything_within([problem, result, km.export_model(problem, tmp_path / "m.lp"), told], seen)
        everything_within([km.verify(problem, result.table), result.certify()], seen)
    everything_within(sessions, seen)
    ours = [each for each in seen.values() if type(each).__module__.startswith("kanon_milp.")]
    assert {"Session", "Instance", "Group", "DeclaredModel", "ValueLimits", "Report"} <= {
        type(each).__name__ for each in ours
    }
    for each in ours:
        assert SECRET not in repr(each) + str(each), type(each)


def test_what_steers_a_terminal_is_shown_as_text() -> None:
    assert printable(HOSTILE) == r"\x1b[31mred\r\x9b2J\u202e\n"
    assert printable("\ud800 \u2028 \x7f \t") == r"\ud800 \u2028 \x7f \t"
    assert printable("größer als 3 √2, 漢字\u3000😀") == "größer als 3 √2, 漢字\u3000😀"
    assert str(km.InputError(HOSTILE)) == printable(HOSTILE)


def test_nothing_from_outside_reaches_the_terminal_raw(tmp_path: Path) -> None:
    name = "\x1b[31mred\x9b2J\u202e"
    path = tmp_path / "\x1b[2Jt.csv"
    path.write_text(f"{name},b,{name}2\n1,{name},x\n1,{name},x\n")
    model = tmp_path / "m.toml"
    title = r"\u001b]0;owned\u0007[/ref]"
    model.write_text(
        f'title = "{title}"\n[data]\nfile = "{path.name[1:]}"\nquasi_identifiers = ["b"]\n[privacy]\nk = 2\n'.replace(
            "[2Jt.csv", r"\u001b[2Jt.csv"
        )
    )
    changed = tmp_path / "changed.csv"
    changed.write_text(path.read_text().replace("x", "y"))
    runs = [
        run("solve", "--data", path, "--qi", "b", "--k", 2, "--show", "--out", tmp_path / "\x1b[31mout"),
        run("solve", "--data", path, "--qi", "b", "--k", 2, "--json"),
        run("solve", "--data", path, "--qi", "b\x1b[2J", "--k", 2),
        run("solve", model, "--show"),
        run("compress", path, "--qi", "b"),
        run("export", model, "--to", tmp_path / "\x1b[31mm.lp"),
        run("verify", changed, "--original", path, "--qi", "b", "--k", 2),
        run("solve", "--data", tmp_path / "\x1bnone.csv", "--qi", "b", "--k", 2),
    ]
    assert [each.returncode for each in runs] == [0, 0, 2, 0, 0, 0, 6, 2]
    for each in runs:
        printed = (each.stdout + each.stderr).replace("\n", "")
        assert printed.isprintable(), each.args
        assert "\\x1b" in printed or "\\u001b" in printed


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, 2, 1], [2, 0, 1], [1, 1, 0]],
        [[1, 1, 1], [1, 0, 1], [1, 1, 0]],
        [[0, -1, 1], [-1, 0, 1], [1, 1, 0]],
        [[0, "1/2", 1], [1, 0, 1], [1, 1, 0]],
        [[0, "1/4", 1], ["1/4", 0, "1/2"], [1, "1/2", 0]],
        [[0, "x", 1], [1, 0, 1], [1, 1, 0]],
        [[0, 1], [1, 0]],
    ],
)
def test_no_message_about_a_ground_distance_shows_a_value(matrix: list[list[object]]) -> None:
    """Its values are those of the sensitive attribute."""
    values = [SECRET, f"{SECRET}2", f"{SECRET}3"]
    for given in (values, [SECRET, SECRET, values[2]]):
        with pytest.raises(km.InputError) as caught:
            MatrixDistance(given, matrix)  # type: ignore[arg-type]
        assert SECRET not in str(caught.value)
    with pytest.raises(km.InputError) as twice:
        OrderedDistance([SECRET, SECRET])
    assert SECRET not in str(twice.value)
