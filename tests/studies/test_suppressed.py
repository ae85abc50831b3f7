"""What `solve` says of columns of which nothing is kept."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.studies.proposal import suppressed_everywhere

AGES = [str(20 + i) for i in range(12)]
BORN = [f"19{20 + 6 * i}-0{i % 9 + 1}-11" for i in range(12)]


def solved(
    columns: dict[str, list[str]], recoding: km.Hierarchies | km.PatternMask | None = None, k: int = 6
) -> km.Result:
    table = km.Table.from_frame(pl.DataFrame(columns), list(columns))
    return km.solve(km.Problem(table, km.KAnonymity(k), km.Suppression() if recoding is None else recoding))


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"age": AGES}, "--numeric age=4"),
        ({"born": BORN}, "--dates born=year,decade"),
        ({"zip": [f"{i:05}" for i in range(12)]}, "--prefix zip=2"),
        ({"job": [f"job {i}" for i in range(12)]}, "--hierarchies"),
        ({"age": AGES, "born": BORN}, "--numeric age=4 or --dates born=year,decade"),
    ],
)
def test_columns_that_keep_nothing_are_named_with_the_way_out(columns: dict[str, list[str]], options: str) -> None:
    result = solved({**columns, "sex": ["f", "m"] * 6})
    assert result.suppressed_columns == tuple(columns)
    said = suppressed_everywhere(result)
    assert said == (f"{', '.join(columns)} (* in every row); {options} may keep more")
    assert not any(cell in said for cells in columns.values() for cell in cells)


def test_levels_that_are_there_are_not_proposed_again() -> None:
    sex = ["f", "m"] * 6
    table = {"born": BORN, "sex": sex}
    assert "--dates born=year,decade" in suppressed_everywhere(
        solved(table, km.Hierarchies({"born": km.Hierarchy.dates(BORN)}))
    )
    far = [f"{1700 + 25 * i}-01-01" for i in range(12)]
    lost = solved({"born": far, "sex": sex}, km.Hierarchies({"born": km.Hierarchy.dates(far, ["year", "decade"])}))
    assert "; a higher --weight may keep more" in suppressed_everywhere(lost)
    near = [f"2{i:03}-01-01" for i in range(12)]
    for level, said in (("month", "--dates born=year may"), ("year", "; a higher --weight may keep more")):
        few = solved({"born": near, "sex": sex}, km.Hierarchies({"born": km.Hierarchy.dates(near, [level])}))
        assert said in suppressed_everywhere(few)
    ages = km.Hierarchies({"age": km.Hierarchy.intervals(AGES, [2])})
    assert "; a higher --weight may keep more" in suppressed_everywhere(solved({"age": AGES, "sex": sex}, ages))


def test_patterns_and_limits_have_their_own_way_out() -> None:
    mask = km.PatternMask([["*", "keep"], ["*", "*"]])
    said = suppressed_everywhere(solved({"age": AGES, "sex": ["f", "m"] * 6}, mask))
    assert said.startswith("age (* in every row); other patterns may")
    table = km.Table.from_frame(pl.DataFrame({"a": list("aabb"), "b": list("xxyy")}), ["a", "b"])
    short = km.solve(km.Problem(table, km.KAnonymity(2)), method="m_approximation", time_limit=1e-6)
    assert short.suppressed_columns == ("a", "b")
    assert "; more time or --hierarchies may keep more" in suppressed_everywhere(short)


def test_nothing_is_said_where_something_is_kept(tmp_path: Path) -> None:
    kept = solved({"sex": ["f", "m"] * 6})
    assert kept.suppressed_columns == ()
    assert suppressed_everywhere(kept) == ""
    none = solved({"sex": ["f"] * 12}, k=13)
    assert none.table is None
    assert none.suppressed_columns == ()
    pl.DataFrame({"age": AGES}).write_csv(tmp_path / "ages.csv")
    shown = run("solve", "--data", tmp_path / "ages.csv", "--qi", "age", "--k", "6").stdout
    assert "lost        age (* in every row); --numeric age=4" in shown


@pytest.mark.parametrize("kind", ["pandas", "categorical"])
def test_of_any_data_frame(kind: str) -> None:
    frame = pl.DataFrame({"age": range(12), "sex": ["f", "m"] * 6})
    given = frame.to_pandas() if kind == "pandas" else frame.with_columns(pl.col("sex").cast(pl.Categorical))
    result = km.solve(km.Problem(km.Table.from_frame(given, ["age", "sex"]), km.KAnonymity(6)))
    assert result.suppressed_columns == ("age",)
