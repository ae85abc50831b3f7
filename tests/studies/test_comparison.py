"""Methods and released tables side by side, and groups as boxes."""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import polars as pl
import pytest
from census import census
from command_line import run, with_ctrl_c
from effort import examples
from hypothesis import given, settings
from present import present

import kanon_milp as km
from kanon_milp.methods.verification import read_groups

COLUMNS = ["age", "education", "race"]


def problem(*privacy: km.Requirement) -> km.Problem:
    return km.Problem(km.Table.from_frame(census(60), COLUMNS, "disease"), privacy)


def test_each_method_is_held_against_the_best_bound() -> None:
    asked = problem(km.KAnonymity(3))
    given = km.solve(asked, method="mondrian").table
    found = km.compare(asked, ("m_approximation", "greedy", "milp"), released={"other": given})
    optimum = km.solve(asked).exact_objective
    assert found.bound == optimum
    losses = {row.name: row.objective for row in found.rows}
    assert losses["milp"] == optimum
    assert losses["other"] == km.solve(asked, method="mondrian").exact_objective
    for row in found.rows:
        assert row.objective is not None
        assert optimum is not None
        assert row.objective >= optimum
        assert found.gap(row) == (row.objective - optimum) / row.objective
        assert row.metrics is not None
        assert row.metrics.suppressions == row.objective
    assert [row.proof for row in found.rows] == ["bound", "none", "optimal", "given"]


def test_a_method_that_is_not_for_the_problem_says_why() -> None:
    found = km.compare(problem(km.KAnonymity(2), km.LDiversity("1.5")), ("m_approximation", "greedy"))
    refused, greedy = found.rows
    assert refused.objective is None
    assert "not for this problem" in refused.message
    assert greedy.objective is not None
    assert found.bound is None
    assert found.gap(greedy) is None


def test_a_released_table_that_does_not_hold_has_no_loss() -> None:
    asked = problem(km.KAnonymity(3))
    (row,) = km.compare(asked, (), released={"raw": census(60)}).rows
    assert row.objective is None
    assert "not verified" in row.message
    assert row.metrics is not None
    assert row.metrics.rows_at_risk > 0


def test_a_released_table_that_cannot_be_measured_costs_no_method_its_time() -> None:
    asked, ran = problem(km.KAnonymity(3)), list[str]()
    with pytest.raises(km.InputError, match="no column"):
        km.compare(asked, ("greedy",), released={"other": pl.DataFrame({"x": ["1"]})}, on_method=ran.append)
    assert not ran


def test_a_loss_of_nothing_is_at_its_bound() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": ["x"] * 4}), ["a"])
    found = km.compare(km.Problem(table, km.KAnonymity(2)), ("milp",))
    assert found.gap(found.rows[0]) == Fraction(0)


def test_other_objectives_and_unknown_methods_are_refused() -> None:
    with pytest.raises(km.InputError, match="compare measures losses"):
        km.compare(km.Problem(problem(km.KAnonymity(2)).table, km.KAnonymity(2), objective="max_groups"))
    with pytest.raises(km.InputError, match="unknown method"):
        km.compare(problem(km.KAnonymity(2)), ("gredy",))


def test_the_command_writes_what_it_shows(tmp_path: Path) -> None:
    data, other = tmp_path / "people.csv", tmp_path / "other.csv"
    census(60).write_csv(data)
    km.solve(problem(km.KAnonymity(3)), method="mondrian").table.write_csv(other)  # type: ignore[union-attr]
    asked = ["compare", "--data", str(data), "--qi", ",".join(COLUMNS), "--sensitive", "disease", "--k", "3"]
    asked += ["--keep", ",".join(c for c in census(60).columns if c not in (*COLUMNS, "disease"))]
    targets = [tmp_path / f"c.{kind}" for kind in ("csv", "md", "tex")]
    to = [word for path in targets for word in ("--to", str(path))]
    done = run(*asked, "--methods", "greedy,milp", "--released", str(other), *to)
    assert done.returncode == 0, done.stderr
    assert "best bound" in done.stdout
    frame = pl.read_csv(targets[0])
    assert frame["method"].to_list() == ["greedy", "milp", str(other)]
    assert frame["objective"][1] <= min(frame["objective"])
    assert targets[1].read_text().startswith("| method | loss |")
    tex = targets[2].read_text()
    assert "\\toprule" in tex
    assert all(name in tex for name in ("AECS", "suppressed cells", "largest group"))
    said = json.loads(run(*asked, "--methods", "milp", "--json").stdout)
    assert said["methods"][0]["objective"] == said["bound"]


@pytest.mark.parametrize(("ours", "theirs"), [(";", ";"), (",", ";"), (";", ","), (",", "\t")])
def test_a_released_table_may_have_a_delimiter_of_its_own(tmp_path: Path, ours: str, theirs: str) -> None:
    data, other = tmp_path / "people.csv", tmp_path / "other.csv"
    census(60).write_csv(data, separator=ours)
    km.solve(problem(km.KAnonymity(3)), method="mondrian").table.write_csv(other, separator=theirs)  # type: ignore[union-attr]
    asked = ["--qi", ",".join(COLUMNS), "--sensitive", "disease", "--k", "3", "--delimiter", ours]
    asked += ["--keep", ",".join(c for c in census(60).columns if c not in (*COLUMNS, "disease"))]
    to = tmp_path / "c.csv"
    compared = run("compare", "--data", data, *asked, "--methods", "mondrian", "--released", other, "--to", to)
    assert compared.returncode == 0, compared.stderr
    assert f"written to {to}" in compared.stdout
    losses = pl.read_csv(to)["objective"].to_list()
    assert losses[0] == losses[1]
    assert run("verify", other, "--original", data, *asked).returncode == 0


def test_what_a_released_table_lacks_is_said_of_its_own_reading() -> None:
    ages = [20, 20, 30, 30]
    asked = km.Problem(
        km.Table.from_frame(pl.DataFrame({"age": ages, "sex": list("ffmm")}), ["age", "sex"]), km.KAnonymity(3)
    )
    (row,) = km.compare(asked, (), released={"arx": pl.DataFrame({"age": ["20-39"] * 4, "sex": list("ffmm")})}).rows
    assert "2 of 2 groups have fewer than k = 3 rows" in row.message
    with pytest.raises(km.InputError, match=r"arx\.csv: .*no column"):
        km.compare(asked, (), released={"arx.csv": pl.DataFrame({"x": ["1"]})})


def test_a_target_of_another_kind_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    census(20).write_csv(data)
    asked = ("compare", "--data", str(data), "--qi", "age", "--k", "2")
    done = run(*asked, "--to", str(tmp_path / "c.doc"))
    assert done.returncode == 2
    assert ".csv, .md, .tex" in done.stderr
    assert run(*asked, "--to", str(data)).returncode == 2


def test_ctrl_c_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method that runs ends with what it has, those after it are not run."""
    seen: list[str] = []

    def on_method(name: str) -> None:
        seen.append(name)
        os.kill(os.getpid(), signal.SIGINT)

    with with_ctrl_c():
        found = km.compare(problem(km.KAnonymity(3)), ("greedy", "milp", "mondrian"), on_method=on_method)
    assert seen == ["greedy"]
    assert [row.message for row in found.rows[1:]] == ["not run: interrupted"] * 2


def cut_in(number: int) -> Any:
    """In place of `solve`: somebody interrupts in the call of this number, from 1."""
    begun: list[str] = []

    def solve(problem: km.Problem, *, interrupt: threading.Event, **options: Any) -> km.Result:
        begun.append(options["method"])
        if len(begun) == number:
            interrupt.set()
        return km.solve(problem, interrupt=interrupt, **options)

    return patch("kanon_milp.studies.comparison.solve", solve)


def test_an_interrupted_comparison_is_no_finished_one(tmp_path: Path) -> None:
    """The table with all rows alike is not what the method gives that was ended before it had found one."""
    data, out = tmp_path / "people.csv", [tmp_path / f"c{ending}" for ending in (".csv", ".tex", ".md")]
    census(60).write_csv(data)
    asked = ["compare", "--data", data, "--qi", ",".join(COLUMNS), "--k", "3", "--methods", "mondrian,greedy,milp"]
    with cut_in(2):
        ended = run(*asked, *(each for path in out for each in ("--to", path)), "-q")
    assert ended.returncode == 5
    assert "interrupted: greedy (interrupted), milp (not run)" in ended.stderr
    mondrian, greedy, milp = pl.read_csv(out[0]).to_dicts()
    assert mondrian["objective"] == km.solve(problem(km.KAnonymity(3)), method="mondrian").objective
    assert (mondrian["interrupted"], mondrian["message"]) == (False, "")
    for row, message in ((greedy, "interrupted before it had found a table"), (milp, "not run: interrupted")):
        assert (row["objective"], row["bound"], row["suppressions"], row["proof"]) == (None, None, None, "none")
        assert (row["interrupted"], row["message"]) == (True, message)
    for path in out[1:]:
        lines = [line.rstrip("|\\ \n").split()[-1] for line in path.read_text().splitlines() if "greedy" in line]
        assert lines == ["interrupted"]
        assert "best bound" not in path.read_text()
        assert "not run" in path.read_text()
    with cut_in(2):
        said = run(*asked, "--json")
    assert said.returncode == 5
    assert json.loads(said.stdout)["interrupted"] is True
    whole = run(*asked, "--json")
    assert (whole.returncode, json.loads(whole.stdout)["interrupted"]) == (0, False)


def test_a_method_that_was_ended_keeps_the_table_that_it_had() -> None:
    asked = problem(km.KAnonymity(3))
    whole = km.solve(asked, method="mondrian")
    ended = replace(whole, stop_reason="interrupted", exact_bound=Fraction(0), proof="bound")
    with patch("kanon_milp.studies.comparison.solve", lambda *_, **__: ended):
        found = km.compare(asked, ("mondrian",), boxes=True)
    for row in found.rows:
        assert row.objective == whole.exact_objective
        assert row.note == "interrupted"
        assert row.message.startswith("interrupted: the table is the best so far")
        assert row.bound is None
    assert [line[-1] for line in found.texts()] == ["note", "interrupted", "interrupted"]


def test_an_interruption_before_any_table_leaves_nothing_to_draw(tmp_path: Path) -> None:
    data, picture, table = tmp_path / "people.csv", tmp_path / "c.svg", tmp_path / "c.csv"
    asked = ("compare", "--data", data, "--qi", "age,race", "--k", "3")
    census(60).write_csv(data)
    with cut_in(1):
        ended = run(*asked, "--methods", "greedy,milp", "--to", picture, "--to", table)
    assert ended.returncode == 5
    assert f"not written, as there is no table to draw: {picture}" in ended.stderr
    assert f"written to {table}" in ended.stdout
    assert table.exists()
    assert not picture.exists()


def test_the_picture_has_a_bar_for_each_table_and_the_bound() -> None:
    pytest.importorskip("altair", reason="pictures need the extra report")
    found = km.compare(problem(km.KAnonymity(3)), ("greedy", "subset_dp", "matching", "milp"))
    spec = json.dumps(found.plot().to_dict())
    assert all(f'"{row.name}"' in spec for row in found.rows)
    assert f"no table loses less than {float(present(found.bound)):,g}" in spec
    assert found.to_svg().startswith("<svg")


def test_there_is_no_picture_of_nothing() -> None:
    pytest.importorskip("altair", reason="pictures need the extra report")
    with pytest.raises(km.InputError, match="no method has a table"):
        km.compare(problem(km.KAnonymity(3)), ()).plot()


REST = (
    "a set such as {a, b}, a prefix such as 130**, or suppress it; what stands for a missing value is named by "
    "--missing-values"
)


def test_one_bad_cell_of_another_tool_is_the_only_one_that_is_blamed() -> None:
    """All other cells of its column were blamed, as they are no labels."""
    frame = pl.DataFrame({"age": [str(20 + i) for i in range(10)], "sex": ["f", "m"] * 5})
    asked = km.Problem(km.Table.from_frame(frame, ["age", "sex"]), km.KAnonymity(2))
    for bad, said in (
        ("thirty", "row 4; it is text of 6 characters; write a value, an interval such as 20-39"),
        ("[50, 60[", "row 4; it is an interval; mend the cell, or suppress it"),
    ):
        cells = ["20-29"] * 10
        cells[3] = bad
        other = pl.DataFrame({"age": cells, "sex": ["*"] * 10})
        (row,) = km.compare(asked, (), released={"other": other}).rows
        assert row.objective is None
        assert row.message.startswith('not verified: column "age": the original value does not lie')
        assert said in row.message
        assert bad not in row.message
    turned = pl.DataFrame({"age": list(reversed(frame["age"].to_list())), "sex": ["*"] * 10})
    (row,) = km.compare(asked, (), released={"other": turned}).rows
    assert "are the rows in the order of the original? (--id names" in row.message
    unnamed = pl.DataFrame({"age": ["NA"] * 10, "sex": ["*"] * 10})
    (row,) = km.compare(asked, (), released={"other": unnamed}).rows
    assert row.message.endswith("the first is text of 2 characters; write a value, an interval such as 20-39, " + REST)


def test_the_methods_of_a_comparison_are_those_for_the_problem() -> None:
    names = [row.name for row in km.compare(problem(km.KAnonymity(3)), time_limit=20).rows]
    assert names == ["m_approximation", "mondrian", "mondrian_relaxed", "full_domain", "greedy", "auto"]
    found = km.compare(problem(km.KAnonymity(3), km.LDiversity("1.5")), time_limit=20)
    assert [row.name for row in found.rows] == ["mondrian", "mondrian_relaxed", "full_domain", "greedy", "auto"]
    assert not any("not for this problem" in row.message for row in found.rows)


relaxed = settings(max_examples=examples(25, 8))
TEXTS = ["a", "b", "c,d", 'e"f', "{x}", " g", None]
ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["-1.5", "2", "2.25"]), st.sampled_from(TEXTS)),
    min_size=3,
    max_size=12,
)


@relaxed
@given(rows=ROWS, k=st.integers(2, 3), method=st.sampled_from(["mondrian", "milp", "greedy"]))
def test_boxes_hold_their_values_and_what_is_required(
    rows: list[tuple[int, str, str | None]], k: int, method: str
) -> None:
    frame = pl.DataFrame(rows, schema={"n": pl.Int64, "x": pl.String, "s": pl.String}, orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["n", "x", "s"]), km.KAnonymity(k))
    result = km.solve(problem, method=method)
    assert result.verified
    released = km.boxes(result)
    report = km.verify(problem, released, cells="intervals")
    assert report.ok, report.violations
    assert report.cost is not None
    assert result.exact_objective is not None
    assert report.cost <= result.exact_objective  # the boxes' groups may be narrower than what was released together
    mine, theirs = km.measure(problem, released).certainty_penalty, km.measure(problem, result.table).certainty_penalty
    assert mine is not None
    assert theirs is not None
    assert mine <= theirs


def test_cells_of_a_box() -> None:
    frame = pl.DataFrame({"n": [20, 39, 25], "x": [0.5, 1.5, 1.0], "s": ["b", "a, c", "b"], "t": ["m", "m", "m"]})
    table = km.Table.from_frame(frame, ["n", "x", "s", "t"])
    result = km.solve(km.Problem(table, km.KAnonymity(3)), method="mondrian")
    assert set(km.boxes(result).rows()) == {("20-39", "[0.5, 1.5]", '{"a, c", b}', "m")}


def test_compare_has_a_row_of_boxes() -> None:
    frame = pl.DataFrame({"n": [*range(20)]})
    problem = km.Problem(km.Table.from_frame(frame, "n"), km.KAnonymity(4))
    found = km.compare(problem, ["mondrian"], boxes=True)
    plain, boxes = found.rows
    assert boxes.name == "mondrian as boxes"
    assert plain.metrics is not None
    assert boxes.metrics is not None
    assert plain.metrics.certainty_penalty == 1
    assert boxes.metrics.certainty_penalty is not None
    assert boxes.metrics.certainty_penalty < 1
    assert boxes.message.startswith("cells are intervals")
    with pytest.raises(km.InputError, match="the result of solve"):
        km.boxes(frame)  # type: ignore[arg-type]


def test_the_option(tmp_path: pytest.TempPathFactory) -> None:
    path = f"{tmp_path}/t.csv"
    pl.DataFrame({"n": [*range(20)]}).write_csv(path)
    done = run("compare", "--data", path, "--qi", "n", "--k", "4", "--methods", "mondrian", "--boxes")
    assert done.returncode == 0, done.stderr
    assert "mondrian as boxes" in done.stdout


def test_groups_alone_are_measured_as_boxes(tmp_path: Path) -> None:
    table, file = tmp_path / "t.csv", tmp_path / "groups.csv"
    pl.DataFrame({"n": [*range(6)]}).write_csv(table)
    pl.DataFrame({"row": [6, 5, 4, 3, 2, 1], "group": ["b", "b", "b", "a", "a", "a"]}).write_csv(file)
    done = run(
        "compare", "--data", table, "--qi", "n", "--k", "3", "--methods", "mondrian", "--partition", file, "--json"
    )
    _, row = json.loads(done.stdout)["methods"]
    assert (row["method"], row["groups"], row["discernibility"], row["objective"]) == (str(file), 2, 18, 6.0)
    assert row["box_penalty"] == 2 / 5
    for column, values, said in (
        ("group", ["a", "b"], "2 rows with a group, the table has 6"),
        ("row", [1, 1, 2, 3, 4, 5], 'column "row" must have each number from 1 to 6 once'),
        ("other", [1, 1, 2, 3, 4, 5], 'no column "group"'),
        ("group", ["a", None, "a", "a", "a", "a"], 'column "group" is empty in 1 row'),
    ):
        columns = {"group": ["a"] * 6, column: values} if column == "row" else {column: values}
        pl.DataFrame(columns).write_csv(file)
        with pytest.raises(km.InputError, match=said):
            read_groups(file, 6)


def test_tables_of_boxes_are_held_against_the_bound_on_boxes() -> None:
    frame = pl.DataFrame({"n": [1, 2, 3, 7, 8, 9], "s": ["a", "a", "b", "b", "c", "c"]})
    table = km.Table.from_frame(frame, ["n", "s"])
    asked = km.Problem(table, km.KAnonymity(3), km.Boxes())
    other = pl.DataFrame({"n": ["1-3"] * 3 + ["[7,9]"] * 3, "s": ["{a, b}"] * 3 + ["{b, c}"] * 3})
    found = km.compare(asked, ["milp", "k_member"], released={"other": other}, partitions={"bad": [0, 1] * 3})
    least = 6 * (Fraction(1, 4) + Fraction(1, 2))
    assert found.bound is not None
    assert found.bound <= least
    assert [row.objective for row in found.rows[:3]] == [least] * 3
    # rows 1, 3 and 5, and the others: intervals of 7 and 7, of 8 units, and sets of three values
    assert found.rows[3].objective == 6 * (Fraction(7, 8) + 1)
