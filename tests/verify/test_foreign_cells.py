"""Cells of other tools: a cell is legal if the original value lies in it, and is charged as the least label over it."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from command_line import run
from effort import examples
from hypothesis import assume, given, settings

import kanon_milp as km
from kanon_milp.verify.check import recoded
from kanon_milp.verify.foreign import Domain

relaxed = settings(max_examples=examples(60, 6))
AGES = [str(age) for age in range(18, 60)]
ZIPS = ["13053", "13068", "14850", "14853", "148"]
GERMAN = ["24.12.1994", "03.11.1994", "05.06.1994", "31.1.1995", "17.02.2024"]
AMERICAN = ["12/24/1994", "11/3/1994", "5/6/1994", "1/31/1995"]
COMMAS = ["1,5", "2,25", "1.234,5", "0,75"]
DATES = ["2024-01-31", "2024-03-17", "2024-04-01 10:30:00", "1999-12-31", "unknown"]


@pytest.mark.parametrize(
    ("cell", "values", "held"),
    [
        ("20-22", AGES, {"20", "21", "22"}),
        ("20 - 22", AGES, {"20", "21", "22"}),
        ("20–22", AGES, {"20", "21", "22"}),
        ("20..22", AGES, {"20", "21", "22"}),
        ("20 to 22", AGES, {"20", "21", "22"}),
        ("[20, 22]", AGES, {"20", "21", "22"}),
        ("[20, 22[", AGES, {"20", "21"}),
        ("[20,22)", AGES, {"20", "21"}),
        ("(20,22]", AGES, {"21", "22"}),
        ("]20;22[", AGES, {"21"}),
        ("(-Inf,19]", AGES, {"18", "19"}),
        ("[58, inf)", AGES, {"58", "59"}),
        (">=58", AGES, {"58", "59"}),
        (">58", AGES, {"59"}),
        ("≤ 19", AGES, {"18", "19"}),
        ("<19", AGES, {"18"}),
        ("58+", AGES, {"58", "59"}),
        ("{20, 30}", AGES, {"20", "30"}),
        ("20,30", AGES, {"20", "30"}),
        ("20|30|40", AGES, {"20", "30", "40"}),
        ("[20, 30, 40]", AGES, {"20", "30", "40"}),
        ("-5--1", ["-7", "-5", "-3", "-1", "0"], {"-5", "-3", "-1"}),
        ("[1.5, 2.25[", ["1.5", "2", "2.25", "1e0"], {"1.5", "2"}),
        ("20.0", AGES, {"20"}),
        ("1305*", ZIPS, {"13053"}),
        ("130**", ZIPS, {"13053", "13068"}),
        ("148*", ZIPS, {"148", "14850", "14853"}),
        ("***50", ZIPS, {"14850"}),
        ("1**53", ZIPS, {"13053", "14853"}),
        ("*****", ZIPS, set(ZIPS)),
        ("2024", DATES, set(DATES[:3])),
        ("2024-03", DATES, {DATES[1]}),
        ("2024-Q1", DATES, set(DATES[:2])),
        ("2020s", DATES, set(DATES[:3])),
        ("2024-04-01", DATES, {DATES[2]}),
        ("2024-01-01 - 2024-04-01", DATES, set(DATES[:3])),
        ("[2024-01-31, 2024-04-01[", DATES, set(DATES[:2])),
        ("<2024-01-01", DATES, {"1999-12-31"}),
        ("2024 - 2024", DATES, set(DATES[:3])),
        ("[2024-01, 2024-04[", DATES, set(DATES[:2])),
        ("Jan 2024", DATES, {DATES[0]}),
        ("31.1.2024", DATES, {DATES[0]}),
        ("24.12.1994", GERMAN, {"24.12.1994"}),
        ("1994-12-24", GERMAN, {"24.12.1994"}),
        ("24. Dez 1994", GERMAN, {"24.12.1994"}),
        ("12.1994", GERMAN, {"24.12.1994"}),
        ("12/1994", GERMAN, {"24.12.1994"}),
        ("Dezember 1994", GERMAN, {"24.12.1994"}),
        ("1994-Q4", GERMAN, set(GERMAN[:2])),
        ("Q4 1994", GERMAN, set(GERMAN[:2])),
        ("1994", GERMAN, set(GERMAN[:3])),
        ("1990s", GERMAN, set(GERMAN[:4])),
        ("[1994, 1995[", GERMAN, set(GERMAN[:3])),
        ("]1994;1995]", GERMAN, {"31.1.1995"}),
        ("11/1994 - 01/1995", GERMAN, {"24.12.1994", "03.11.1994", "31.1.1995"}),
        ("[01.01.1994, 24.12.1994[", GERMAN, {"03.11.1994", "05.06.1994"}),
        ("01.01.1994-24.12.1994", GERMAN, set(GERMAN[:3])),
        ("< 01.12.1994", GERMAN, {"03.11.1994", "05.06.1994"}),
        ("{24.12.1994, 31.01.1995}", GERMAN, {"24.12.1994", "31.1.1995"}),
        ("**.**.1994", GERMAN, set(GERMAN[:3])),
        ("12/1994", AMERICAN, {"12/24/1994"}),
        ("[11/01/1994, 12/31/1994]", AMERICAN, {"12/24/1994", "11/3/1994"}),
        ("{1994, 1995}", AMERICAN, set(AMERICAN)),
        ("{11/1994; 01/1995}", AMERICAN, {"11/3/1994", "1/31/1995"}),
        ("1994-11-03", AMERICAN, {"11/3/1994"}),
        ("1994", ["11/1994", "02/1995"], {"11/1994"}),
        ("11/1994", ["1994-11", "1995-02"], {"1994-11"}),
        ("11/1994-12/1994", ["11/1994", "02/1995"], {"11/1994"}),
        ("[1990, 2000[", ["1989", "1990", "1999", "2000"], {"1990", "1999"}),
        ("1990s", ["1989", "1990", "1999", "2000"], {"1990", "1999"}),
        ("1,5", COMMAS, {"1,5"}),
        ("1.5", COMMAS, {"1,5"}),
        ("1,0-2,25", COMMAS, {"1,5", "2,25"}),
        ("[1,5; 2,25[", COMMAS, {"1,5"}),
        ("[1,5,2,25[", COMMAS, {"1,5"}),
        ("(1,5, 2,25]", COMMAS, {"2,25"}),
        ("]1.5, 1300]", COMMAS, {"2,25", "1.234,5"}),
        (">= 2,25", COMMAS, {"2,25", "1.234,5"}),
        ("{1,5; 2,25}", COMMAS, {"1,5", "2,25"}),
        ("1,5-2,25", ["1.5", "2", "3"], {"1.5", "2"}),
        ("(20.0, 22.0]", AGES, {"21", "22"}),
        ("[ 20, 22)", AGES, {"20", "21"}),
        ("20 bis 22", AGES, {"20", "21", "22"}),
        ('{"a, b", c}', ["a, b", "c", "a", "b"], {"a, b", "c"}),
        ("Private", [" Private", "Public"], {" Private"}),
    ],
)
def test_what_a_cell_stands_for(cell: str, values: list[str], held: set[str]) -> None:
    domain = Domain(values)
    found = domain.stands_for(cell, held)
    assert found is not None
    assert set(found.values) == held
    for value in set(values) - held:  # the cell of a row whose value does not lie in it
        other = domain.stands_for(cell, {value})
        assert other is None or value in other.values
        if cell not in ("20,30",):  # which is an interval, too
            assert other is None or set(other.values) != held


def test_a_cell_is_read_in_one_way_in_all_its_rows() -> None:
    """As a label it has `unknown`, as an interval the 2: together they would cost less than any table."""
    rows = [("1", "1-3", "*"), ("unknown", "1-3", "*"), ("2", "4-6", "*"), ("3", "4-6", "*")]
    table = km.Table.from_frame(pl.DataFrame({"a": ["unknown", "2"]}), ["a"])
    problem = km.Problem(table, km.KAnonymity(2), km.Hierarchies({"a": km.Hierarchy.from_rows(rows)}))
    released = pl.DataFrame({"a": ["1-3", "1-3"]})
    report = km.verify(problem, released, cells="intervals")
    (said,) = report.violations
    assert said.startswith('column "a": the original value does not lie in the released cell: row 2; it is an interval')
    assert report.cost is None
    assert km.measure(problem, released).certainty_penalty is None


@pytest.mark.parametrize("cell", ["1", "01", "1.00"])
def test_values_that_become_one_cell_are_generalized(cell: str) -> None:
    """1, 01 and 1.0 are three values: a table that writes them alike is charged for it, as the optimum is."""
    table = km.Table.from_frame(pl.DataFrame({"a": ["1", "01", "1.0", "2", "2"]}), ["a"])
    problem = km.Problem(table, km.KAnonymity(2))
    released = pl.DataFrame({"a": [cell, cell, cell, "2", "2"]})
    report = km.verify(problem, released, cells="intervals")
    assert report.ok
    assert report.cost == 3
    assert km.solve(problem).exact_objective == 3
    assert report.generalized_cells == 3
    assert report.certainty_penalty == 0
    assert km.measure(problem, released).precision == Fraction(2, 5)


@pytest.mark.parametrize("cell", ["", "x", "20-", "[20", "22-20", "{}", "[]", "nan", "9" * 400, "(,)", "a-b", None])
def test_what_is_no_cell_of_a_number(cell: str | None) -> None:
    found = Domain(AGES).stands_for(cell, {"30"})
    assert found is None or cell == "(,)"  # an interval without ends


def tree(height: int) -> km.Hierarchy:
    return km.Hierarchy.intervals(AGES, [[5], [5, 10], [5, 10, 20]][height - 1])


BOXES = st.lists(
    st.tuples(st.integers(18, 59), st.integers(18, 59), st.sampled_from(["-", "[[", "[]", "{", "keep", "*"])),
    min_size=1,
    max_size=6,
)


def written(low: int, high: int, form: str) -> tuple[str, list[int]]:
    """A cell, and the numbers in it."""
    low, high = min(low, high), max(low, high)
    if form == "keep":
        return str(low), [low]
    if form == "*":
        return "*", list(range(18, 60))
    inside = list(range(low, high + 1))
    cell = {"-": f"{low}-{high}", "[[": f"[{low}, {high + 1}[", "[]": f"({low - 1},{high}]"}.get(form)
    return cell or "{" + ", ".join(map(str, inside)) + "}", inside


@relaxed
@given(boxes=BOXES, height=st.integers(0, 3), data=st.data())
def test_a_table_of_boxes_is_scored_as_counting_gives(
    boxes: list[tuple[int, int, str]], height: int, data: st.DataObject
) -> None:
    ages: list[int] = []
    cells: list[str] = []
    held: list[list[int]] = []
    for low, high, form in boxes:
        cell, inside = written(low, high, form)
        assume(cell.count(",") != 1 or form != "{")
        for _ in range(data.draw(st.integers(1, 3))):
            ages.append(data.draw(st.sampled_from(inside)))
            cells.append(cell)
            held.append(inside)
    table = km.Table.from_frame(pl.DataFrame({"age": ages}), "age")
    recoding: Any = km.Hierarchies({"age": tree(height)}) if height else km.Suppression()
    problem = km.Problem(table, km.KAnonymity(1), recoding)
    frame = pl.DataFrame({"age": cells})
    report = km.verify(problem, frame, cells="intervals")
    assert report.ok, report.violations

    paths = tree(height).paths if height else {value: (value, "*") for value in AGES}
    cost, penalty, generalized = Fraction(0), Fraction(0), 0
    span = max(ages) - min(ages)
    for age, cell, inside in zip(ages, cells, held, strict=True):
        there = [each for each in inside if each in ages]
        if cell == str(age):
            continue
        top = len(paths[str(age)]) - 1
        level = next(
            level for level in range(1, top + 1) if len({paths[str(each)][level] for each in (*there, age)}) == 1
        )
        level = next((at for at in range(top + 1) if paths[str(age)][at] == cell), level)
        cost += Fraction(level, top)
        penalty += Fraction(max(there) - min(there), span) if span else Fraction(len(there) > 1)
        generalized += cell != "*"
    assert report.cost == cost
    assert report.generalized_cells == generalized
    assert report.suppressed_cells == cells.count("*")
    if span:
        assert report.certainty_penalty == penalty / len(ages)
        assert km.measure(problem, frame).certainty_penalty == report.certainty_penalty
    ours = km.verify(problem, recoded(problem, frame))
    assert ours.ok
    assert ours.cost == cost


@relaxed
@given(
    st.lists(st.tuples(st.sampled_from(["1", "2", "3", "4"]), st.sampled_from("ab")), min_size=4, max_size=8),
    st.integers(2, 3),
)
def test_the_charge_is_at_least_the_bound(rows: list[tuple[str, str]], k: int) -> None:
    """Whoever released it: a k-anonymous table of boxes costs at least the optimum."""
    frame = pl.DataFrame(rows, schema=["n", "s"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["n", "s"]), km.KAnonymity(k))
    best = km.solve(problem)
    for cut in itertools.product(["1-2", "1-4"], ["3-4", "1-4"], ["a,b", "keep"]):
        low, high, letters = cut
        cells = [(low if n in "12" else high, s if letters == "keep" else letters) for n, s in rows]
        report = km.verify(problem, pl.DataFrame(cells, schema=["n", "s"], orient="row"), cells="intervals")
        if report.ok:
            assert best.exact_objective is not None
            assert report.cost is not None
            assert report.cost >= best.exact_objective


def small() -> tuple[km.Problem, pl.DataFrame]:
    frame = pl.DataFrame({"age": [21, 24, 33, 38, 50], "zip": ["13053", "13068", "14850", "14853", "14850"]})
    table = km.Table.from_frame(frame, ["age", "zip"])
    return km.Problem(table, km.KAnonymity(2)), frame


def test_labels_are_read_strictly_unless_asked_otherwise() -> None:
    problem, frame = small()
    boxes = frame.with_columns(
        age=pl.Series(["20-29"] * 2 + ["[30,60)"] * 3), zip=pl.Series(["130**"] * 2 + ["148*"] * 3)
    )
    assert len(km.verify(problem, boxes).violations) == 2
    report = km.verify(problem, boxes, cells="intervals")
    assert report.ok
    assert report.cost == 10
    assert (report.generalized_cells, report.suppressed_cells) == (10, 0)
    assert report.minimal is None
    assert "10 generalized cells" in report.summary()
    assert report.as_dict()["cells"] == "intervals"
    assert "cells" not in km.verify(problem, frame).as_dict()
    with pytest.raises(km.InputError, match="cells must be one of labels, intervals"):
        km.verify(problem, boxes, cells="ranges")  # type: ignore[arg-type]


def test_a_value_outside_its_cell_and_small_groups_are_found() -> None:
    problem, frame = small()
    wrong = frame.with_columns(age=pl.Series(["20-29"] * 3 + ["30-60"] * 2), zip=pl.Series(["*"] * 5))
    report = km.verify(problem, wrong, cells="intervals")
    (said,) = report.violations
    assert said.startswith(
        'column "age": the original value does not lie in the released cell: row 3; it is an interval'
    )
    assert report.cost is None
    alone = frame.with_columns(age=pl.Series(["20-29"] * 2 + ["30-39"] * 2 + ["50"]), zip=pl.Series(["*"] * 5))
    assert "fewer than k = 2 rows" in km.verify(problem, alone, cells="intervals").violations[0]
    with pytest.raises(km.InputError, match="does not lie"):
        recoded(problem, wrong)
    masked = km.Problem(problem.table, km.KAnonymity(2), km.PatternMask([["*", "*"]]))
    with pytest.raises(km.InputError, match="leave the mask out"):
        km.verify(masked, wrong, cells="intervals")


def test_values_that_were_left_out_are_suppressed() -> None:
    """As sdcMicro does: NA, in a column that may have missing values of its own."""
    frame = pl.DataFrame({"age": ["21", "22", None, "40", "40"]})
    problem = km.Problem(km.Table.from_frame(frame, "age"), km.KAnonymity(2))
    report = km.verify(problem, pl.DataFrame({"age": [None, None, None, "40", "40"]}), cells="intervals")
    assert report.ok
    assert report.cost == report.suppressed_cells == 3
    assert km.measure(problem, pl.DataFrame({"age": [None, None, None, "40", "40"]})).suppressions == 3


def test_a_cell_that_is_a_value_and_a_prefix_is_read_in_one_way() -> None:
    frame = pl.DataFrame({"zip": ["130**", "13053"]})
    problem = km.Problem(km.Table.from_frame(frame, "zip"), km.KAnonymity(2))
    released = pl.DataFrame({"zip": ["130**", "130**"]})
    report = km.verify(problem, released, cells="intervals")
    assert report.ok
    assert report.cost == 2
    assert km.verify(problem, recoded(problem, released)).ok


def test_the_command_line_and_compare(tmp_path: Path) -> None:
    _, frame = small()
    boxes = frame.with_columns(age=pl.Series(["20-29"] * 2 + ["[30,60)"] * 3), zip=pl.Series(["*"] * 5))
    frame.write_csv(tmp_path / "people.csv")
    boxes.write_csv(tmp_path / "boxes.csv")
    asked = ["--qi", "age,zip", "--k", "2"]
    original = ["--original", tmp_path / "people.csv", *asked]
    done = run("verify", tmp_path / "boxes.csv", *original)
    assert done.returncode == 6
    assert "--cells intervals" in done.stderr
    done = run("verify", tmp_path / "boxes.csv", *original, "--cells", "intervals", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["cost"], found["suppressed_cells"], found["generalized_cells"]) == (10, 5, 5)
    given = [
        "--data",
        tmp_path / "people.csv",
        *asked,
        "--methods",
        "milp",
        "--released",
        tmp_path / "boxes.csv",
        "--json",
    ]
    done = run("compare", *given)
    assert done.returncode == 0, done.stderr
    ours, theirs = json.loads(done.stdout)["methods"]
    assert theirs["objective"] == 10
    assert theirs["objective_exact"] == "10"
    assert theirs["gap"] == pytest.approx(1 - ours["bound"] / 10)
    assert 0 < theirs["certainty_penalty"] < 1
    assert theirs["message"].startswith("cells are intervals")
