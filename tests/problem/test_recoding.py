"""Recodings are checked, and cost exactly what they say."""

from __future__ import annotations

import itertools
import os
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run
from oracle import optimum

import kanon_milp as km
from kanon_milp.presolve.instance import compress_table, prepare, recode
from kanon_milp.problem.recoding import Levels, describe_vector

TABLE = km.Table.from_frame(pl.DataFrame({"age": ["31", "38", "64"], "sex": ["f", "m", "f"]}), ["age", "sex"])
AGE = [("31", "30-39", "*"), ("38", "30-39", "*"), ("64", "60-69", "*")]


def levels(recoding: Any, table: km.Table = TABLE) -> Levels:
    problem = km.Problem(table, [km.KAnonymity(1)], recoding)
    return recode(problem, compress_table(problem))


def costs(recoding: Any) -> dict[tuple[int, ...], Fraction]:
    found = levels(recoding)
    return {tuple(v): c * found.unit for v, c in zip(found.vectors.tolist(), found.costs.tolist(), strict=True)}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--numeric", "age=5,12"], 'column "age" (widths 5, 12): widths: 12 is not a multiple of 5'),
        (["--numeric", "age=abc"], 'column "age" (widths abc): widths: an exact number such as'),
        (["--numeric", "zip=2"], 'column "zip" (widths 2): no value is'),
    ],
)
def test_errors_of_hierarchies_that_are_made_name_file_and_column(tmp_path: Path, asked: list[str], said: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,zip\n31,a\n38,b\n")
    done = run("solve", "--data", path, "--qi", "age,zip", "--k", 2, *asked)
    assert done.returncode == 2
    assert f"error: {path}: {said}" in done.stderr


def test_suppression_is_all_patterns_at_their_weights() -> None:
    assert costs(km.Suppression()) == {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 2}
    assert costs(km.Suppression({"age": "1/3", "sex": 0.1})) == {
        (0, 0): 0,
        (0, 1): Fraction(1, 10),
        (1, 0): Fraction(1, 3),
        (1, 1): Fraction(13, 30),
    }


def test_hierarchies_cost_level_over_height_by_default_or_as_given() -> None:
    hierarchy = {"age": km.Hierarchy.from_rows(AGE)}
    assert costs(km.Hierarchies(hierarchy))[1, 1] == Fraction(3, 2)
    assert costs(km.Hierarchies(hierarchy, {"age": 3}, {"age": [0, "0.2", 1]}))[1, 0] == Fraction(3, 5)


def test_a_mask_may_name_levels_in_any_column_order() -> None:
    mask = km.PatternMask([("*", "1"), ("keep", "⋆"), ("□", 0)], columns=["sex", "age"])
    found = levels(km.Hierarchies({"age": km.Hierarchy.from_rows(AGE)}, mask=mask))
    assert found.vectors.tolist() == [[1, 1], [2, 0], [0, 0]]
    as_mapping = km.PatternMask([{"age": "*", "sex": "keep"}])
    assert levels(as_mapping).vectors.tolist() == [[1, 0]]


def test_a_mask_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    mask = km.PatternMask.random(["age", "sex"], 3, seed=4)
    path = tmp_path / "mask.csv"
    known = levels(mask)
    vectors = [describe_vector(vector, known.columns) for vector in known.vectors.tolist()]
    path.write_text("\n".join([",".join(column.name for column in known.columns), *vectors]) + "\n")
    assert levels(km.PatternMask.read(path)).vectors.tolist() == levels(mask).vectors.tolist()


@pytest.mark.parametrize(
    ("patterns", "columns", "message"),
    [
        ([("keep", "*")], ["age", "sx"], 'column 2 of the header is not a quasi-identifier.*did you mean "sex"'),
        ([("keep",)], ["age"], '"sex" occurs 0 times'),
        ([("keep", "*", "*")], ["age", "sex", "sex"], '"sex" occurs 2 times'),
        ([("keep", "hide")], None, 'pattern 1, column "sex": text of 4 characters is neither keep nor'),
        ([("keep", "2")], None, "a level from 0 to 1"),
        ([("keep", "*"), (0, 1)], None, "pattern 2 repeats pattern 1"),
        ([("keep",)], None, "has 1 cell, expected 2"),
        ([{"age": "keep"}], None, "must name each quasi-identifier once"),
        ([], None, "no patterns"),
    ],
)
def test_bad_masks_are_refused(patterns: Any, columns: Any, message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        levels(km.PatternMask(patterns, columns=columns))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("31", "30s", "*"), ("31", "40s", "*")], "row 1 and row 2 have the same value in level0"),
        ([("31", "30s", "*"), ("38", "30s", "x", "*")], "row 2 has 4 levels, expected 3"),
        ([("31", "30s", "*"), ("38", "30s", "top")], "last level"),
        (
            [("a", "x", "u", "*"), ("b", "x", "v", "*")],
            'row 2: levels are not nested: the label "x" of level1 lies in another label of level2 than in row 1',
        ),
        ([("a", None, "*")], "row 1: level1 is empty"),
        ([("a", "*", "*")], "last level only"),
        ([], "no rows"),
    ],
)
def test_bad_hierarchies_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        km.Hierarchy.from_rows(rows)


def test_a_value_without_a_place_in_the_hierarchy_is_named_by_its_row() -> None:
    with pytest.raises(
        km.InputError, match=r'column "age", row 3: the value .text of 2 characters. is not covered'
    ) as caught:
        levels(km.Hierarchies({"age": km.Hierarchy.from_rows(AGE[:2])}))
    assert "64" not in str(caught.value)


def test_of_several_values_without_a_place_the_first_row_is_named() -> None:
    table = km.Table.from_frame(pl.DataFrame({"age": ["31", "38", "SECRET", None, "33"]}), ["age"])
    with pytest.raises(km.InputError, match=r"row 3: the value .text of 6 .*level0 .3 values are not covered"):
        levels(km.Hierarchies({"age": km.Hierarchy.from_rows(AGE[:2])}), table)
    with pytest.raises(km.InputError, match=r"row 3: .* .1 value is not covered"):
        levels(
            km.Hierarchies({"age": km.Hierarchy.from_rows(AGE[:2])}),
            km.Table.from_frame(table.frame.head(3).to_native(), ["age"]),
        )


def test_a_missing_value_needs_a_place_of_its_own() -> None:
    table = km.Table.from_frame(pl.DataFrame({"age": ["31", None]}), ["age"])
    with pytest.raises(km.InputError, match=r"row 2: the value .missing. is not covered.*empty level0"):
        levels(km.Hierarchies({"age": km.Hierarchy.from_rows(AGE)}), table)
    covered = km.Hierarchies({"age": km.Hierarchy.from_rows([*AGE, (None, "unknown", "*")])})
    assert levels(covered, table).columns[0].labels == ("31", None, "30-39", "*", "unknown")


@pytest.mark.parametrize(
    ("recoding", "message"),
    [
        (lambda: km.Suppression({"agee": 2}), 'weights: "agee" is not a quasi-identifier.*"age"'),
        (lambda: km.Suppression({"age": -1}), 'weights of column "age": must not be negative'),
        (lambda: km.Suppression({"age": float("nan")}), "has no exact value"),
        (
            lambda: km.Suppression({"age": 0.1 + 0.2}),
            'has no exact value; round it, or write it as text, such as "0.15"',
        ),
        (lambda: km.Suppression({"age": "much"}), "an exact number .* is expected, found text of 4 characters"),
        (lambda: km.Suppression({"age": "1e-40"}), "too fine"),
        (lambda: km.Suppression({"age": "1e99999999"}), "an exact number"),
        (lambda: km.Hierarchies({"height": km.Hierarchy.from_rows(AGE)}), "not a quasi-identifier"),
        (lambda: km.Hierarchies({"age": km.Hierarchy.from_rows(AGE)}, level_costs={"age": [0, 1]}), "3 are needed"),
        (lambda: km.Hierarchies({"age": km.Hierarchy.from_rows(AGE)}, level_costs={"age": [0, 2, 1]}), "never fall"),
    ],
)
def test_bad_weights_and_costs_are_refused(recoding: Any, message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        levels(recoding())


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ({"31": ("30-39", "*")}, "row 1: the labels of a value begin with the value itself"),
        ({"31": ("31", "30-39"), "38": ("38", "30-39")}, 'row 1: the last level must be "\\*"'),
        (
            {"31": ("31", "30s", "young", "*"), "38": ("38", "30s", "old", "*")},
            'row 2: levels are not nested: the label "30s" of level1 lies in another label of level2 than in row 1',
        ),
        ({"31": ("31", "30s", "*"), "38": ("38", "*")}, "row 2 has 2 levels, expected 3"),
        ({"31": ("31",)}, "row 1 has 1 levels, expected 2"),
        ({"31": ()}, "row 1 has 0 levels, expected 2"),
        ({"31": ("31", None, "*")}, "level1 is empty"),
        ({31: (31, "30s", "*")}, "row 1: a label is a number; values are compared as text, so write it as text"),
        ({31: ("31", "30s", "*")}, "row 1: a label is a number"),
        ({"31": "*"}, "row 1: a list of labels"),
        ({"31": 5}, "row 1: a list of labels"),
        ({}, "no rows"),
    ],
)
def test_a_hierarchy_given_as_a_dict_is_checked_like_rows(paths: Any, message: str) -> None:
    with pytest.raises(km.InputError, match=f"ages: .*{message}"):
        km.Hierarchy(paths, "ages")
    with pytest.raises(km.InputError, match=f'hierarchies of column "age": .*{message}'):
        km.Hierarchies({"age": paths})


def test_a_plain_dict_is_a_hierarchy() -> None:
    paths = {row[0]: list(row) for row in AGE}
    recoding = km.Hierarchies({"age": paths})
    assert costs(recoding) == costs(km.Hierarchies({"age": km.Hierarchy.from_rows(AGE)}))
    paths["31"][1] = "60-69"  # what is changed afterwards does not change what was checked
    assert recoding.hierarchies["age"].paths["31"] == ("31", "30-39", "*")


def test_the_same_random_patterns_are_drawn_as_from_a_list_of_all() -> None:
    """Known optima of the model library belong to them."""
    everything = list(itertools.product(("keep", "*"), repeat=4))
    drawn = [*random.Random(3).sample(everything[:-1], 5), everything[-1]]
    assert [tuple(pattern) for pattern in km.PatternMask.random(list("abcd"), 6, seed=3).patterns] == drawn
    assert len(km.PatternMask.random([f"q{j}" for j in range(40)], 5).patterns) == 5
    for count in (0, -3, 17):
        with pytest.raises(km.InputError, match="patterns"):
            km.PatternMask.random(list("abcd"), count)


def test_hierarchy_files_are_checked(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("value,group\n31,30s\n")
    with pytest.raises(km.InputError, match="the first line is not the header level0,level1"):
        km.Hierarchies.read(tmp_path, ["age"])
    with pytest.raises(km.InputError, match="no hierarchy of any"):
        km.Hierarchies.read(tmp_path, ["sex"])
    with pytest.raises(km.InputError, match="no such folder"):
        km.Hierarchies.read(tmp_path / "none", ["age"])


def test_the_real_hierarchies_cover_the_real_tables(data_folder: Path) -> None:
    for name in ("adult", "cmc"):
        frame = km.datasets.load(name)
        names = [p.stem for p in (data_folder / "hierarchies" / name).glob("*.csv")]
        table = km.Table.from_frame(frame, names)
        mask = km.PatternMask.random(names, 3)
        problem = km.Problem(
            table,
            [km.KAnonymity(5)],
            km.Hierarchies.read(data_folder / "hierarchies" / name, names, mask=mask),
        )
        assert prepare(problem).candidates.count > 0


def _clashing(random_: random.Random, values: list[str]) -> dict[str | None, tuple[str | None, ...]]:
    """A nested hierarchy of three levels below the top, the labels of which are drawn from few texts."""
    words = [*values, "x", "a (level 1)", "b (level 1)", "a (level 1) (level 1)"]
    paths: dict[str | None, list[str | None]] = {value: [value] for value in values}
    blocks = [[value] for value in values]
    for _ in range(random_.choice((1, 2))):
        random_.shuffle(blocks)
        cut = random_.randint(1, len(blocks))
        blocks = [[value for block in blocks[at::cut] for value in block] for at in range(cut)]
        for block, label in zip(blocks, random_.sample(words, cut), strict=True):
            for value in block:
                paths[value].append(label)
    return {value: (*path, "*") for value, path in paths.items()}


def _by_meaning(paths: dict[str | None, tuple[str | None, ...]]) -> dict[str | None, tuple[str | None, ...]]:
    """The same with a text of its own for each label and set of values, by another way than the package's."""

    def meaning(level: int, label: str | None) -> str:
        return f"{label}={sorted(str(value) for value in paths if paths[value][level] == label)}"

    return {value: (*map(meaning, range(len(path) - 1), path), "*") for value, path in paths.items()}


@pytest.mark.parametrize("seed", range(20))
def test_labels_that_clash_change_no_optimum_and_each_wrong_cell_is_refused(seed: int) -> None:
    draw = random.Random(seed)
    paths = _clashing(draw, ["a", "b", "c", "d"])
    rows: list[tuple[str | None, ...]] = [(draw.choice("abcd"), draw.choice("uv")) for _ in range(7)]
    frame = pl.DataFrame(rows, schema=["city", "sex"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["city", "sex"]), km.KAnonymity(2), km.Hierarchies({"city": paths}))
    result = km.solve(problem).require_optimal()
    assert result.table is not None
    expected = optimum(rows, 2, hierarchies={0: _by_meaning(paths)})
    assert result.exact_objective == expected

    hierarchy = km.Hierarchy(paths)
    values: dict[str | None, set[str | None]] = {}
    for level in range(hierarchy.height):
        here: dict[str | None, set[str | None]] = {}
        for value, path in hierarchy.released.items():
            here.setdefault(path[level], set()).add(value)
        for label, under in here.items():  # each label stands for one set of values
            assert values.setdefault(label, under) == under
    shuffled = dict(draw.sample(list(paths.items()), len(paths)))
    assert km.Hierarchy(shuffled).released == hierarchy.released

    released = result.table["city"].to_list()
    for row, (value, _) in enumerate(rows):
        for wrong, under in values.items():
            if value in under:
                continue
            changed = [wrong if at == row else label for at, label in enumerate(released)]
            report = km.verify(problem, result.table.with_columns(city=pl.Series(changed)))
            as_one_level = any(
                all(label in ("*", paths[str(before)][level]) for (before, _), label in zip(rows, changed, strict=True))
                for level in range(hierarchy.height)
            )
            assert not report.ok or as_one_level
    full = km.solve_full_domain(problem.table, km.KAnonymity(2), km.FullDomain({"city": paths}))
    assert full.verified
    assert full.report is not None
    assert full.objective is not None
    assert full.report.cost is not None
    assert expected is not None
    assert expected <= full.report.cost <= full.objective


def test_equal_rows_of_a_hierarchy_count_once_and_others_of_a_value_are_named() -> None:
    row = ("31", "30s", "*")
    assert km.Hierarchy.from_rows([row, ("38", "30s", "*"), row]).paths == {"31": row, "38": ("38", "30s", "*")}
    with pytest.raises(
        km.InputError, match="row 2 and row 3 have the same value in level0 and different labels"
    ) as caught:
        km.Hierarchy.from_rows([row, ("38", "30s", "*"), ("38", "40s", "*")])
    assert "38" not in str(caught.value)
    with pytest.raises(km.InputError, match=r'row 3: levels are not nested: the label "30s" of level1 .* in row 1'):
        km.Hierarchy.from_rows([("31", "30s", "u", "*")] * 2 + [("38", "30s", "v", "*")])


@pytest.mark.parametrize("name", ["latitude", "longitude", "median_income"])
def test_published_hierarchies_with_a_line_twice_are_read(name: str) -> None:
    folder = os.environ.get("KANON_MILP_DATA")
    path = Path(folder or "") / "kanonml" / "hierarchies" / "cahousing" / f"{name}.csv"
    if not path.is_file():
        pytest.skip("the data set is not here")
    found = km.Hierarchy.read(path)
    assert len(found.paths) == len(set(path.read_text().split()))
    assert bool(found.renamed) == (name != "median_income")
