"""What the page says of protection, held against the two tables, counted in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pyomo.environ as pyo
import pytest
from places import LIBRARY
from result_pages import HOSTILE, Read, page, small

import kanon_milp as km
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.protection import answers, identifying, levels, promises
from kanon_milp.studies.pages.wording import proof_sentence
from kanon_milp.system.text_tables import amount


def test_the_page_begins_with_who_is_protected_against_what(tmp_path: Path) -> None:
    result = km.solve(small(["age", "job", "sick", "name"]))
    groups: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in pl.DataFrame(result.table).iter_rows(named=True):
        groups[row["age"], row["job"]][row["sick"]] += 1
    least = min(each.total() for each in groups.values())
    found, half = promises(described(result))
    assert f"finds at least {least} rows that look the same" in found
    assert found.endswith(f"at most 1 in {least}.")
    assert half == "In each group, no value of sick makes up more than half of the rows."
    assert all(2 * max(each.values()) <= each.total() for each in groups.values())
    text = Read(page(result, tmp_path, author="The registry")).text
    assert text.index(found) < text.index("Of the 16 cells") < text.index("is proven to be the best possible")
    assert "asked for by The registry" in text


def test_what_nobody_asked_for_is_not_promised() -> None:
    frame = pl.DataFrame({"age": list("aabb"), "sick": list("xxyz")})
    told = described(km.solve(km.Problem(km.Table.from_frame(frame, ["age"], ["sick"]), km.KAnonymity(2))))
    assert "No requirement is about sick: in some group all rows have the same value of sick." in promises(told)
    inferred = answers(told)[2].said[0]
    assert inferred.startswith("In some group all rows have the same value of sick")
    bare = described(km.solve(km.Problem(km.Table.from_frame(frame, ["age"], keep="sick"), km.KAnonymity(2))))
    assert "k-anonymity does not prevent inference" in answers(bare)[2].said[0]


def test_a_refused_table_promises_nothing() -> None:
    told = {**described(km.solve(small(["a", "b", "c", "d"]))), "verified": ["row 3"]}
    assert promises(told) == []
    assert answers(told) == []


def test_columns_that_are_kept_and_identify_are_named() -> None:
    frame = pl.DataFrame({"age": list("aabb"), "code": list("wxyz"), "town": list("ppqr")})
    table = km.Table.from_frame(frame, ["age"], keep=["code", "town"])
    said = identifying(described(km.solve(km.Problem(table, km.KAnonymity(2)))))
    assert "code (4 of 4 rows), town (2 of 4 rows)" in said[0]
    assert "could tell 4 of 4 rows from all others" in said[1]


def test_each_cell_is_on_one_level() -> None:
    problem = km.read_model(LIBRARY / "hospital_hierarchies.toml").problem
    result = km.solve(problem)
    told = described(result)
    after = pl.DataFrame(result.table)
    for name, counts in levels(told):
        tree, seen = problem.recoding.hierarchies[name], Counter[int]()
        for value, label in zip(problem.table.column(name), after[name].cast(pl.String), strict=True):
            path = (*tree.paths[value][:-1], problem.table.symbol)
            seen[path.index(label)] += 1
        assert [rows for _, rows in counts] == [seen[level] for level in range(tree.height + 1)]


def test_an_author_is_text(tmp_path: Path) -> None:
    read = Read(page(km.solve(small(["a", "b", "c", "d"])), tmp_path, author=HOSTILE[0]))
    assert read.elements.count("script") == 1
    assert HOSTILE[0] in read.text


@pytest.mark.parametrize(
    ("value", "said"),
    [(1234567, "1,234,567"), (1234567.5, "1,234,567.5"), (183.25, "183.25"), (1 / 3, "0.333333"), (2e-7, "0.0000002")],
)
def test_no_number_has_an_exponent(value: float, said: str) -> None:
    assert amount(value) == said


def test_what_could_be_saved_is_rounded_up() -> None:
    told = {
        **{"problem": {"objective": "loss"}, "verified": True, "proof": "bound", "proof_backed_by": [], "message": ""},
        **{"objective": 183.5, "bound": 182.25, "gap": 1.25 / 183.5, "stop_reason": "time_limit"},
    }
    assert proof_sentence(told).startswith("The table is within 0.69 % of the best possible: the loss is 183.5, and")
    assert "within 0.01 %" in proof_sentence({**told, "gap": 1e-6})


def test_a_page_of_matching_rows_counts_them(tmp_path: Path) -> None:
    rows: list[tuple[str | None, ...]] = [
        ("a", "1", "x"),
        ("a", None, "x"),
        (None, "2", "y"),
        ("b", "2", "y"),
        ("b", "3", "x"),
        ("c", "4", "y"),
    ]
    frame = pl.DataFrame(rows, schema=["zip", "age", "sick"], orient="row")
    table = km.Table.from_frame(frame, ["zip", "age"], ["sick"], missing="wildcard")
    result = km.solve(km.Problem(table, km.KAnonymity(2)))
    told, released = described(result), pl.DataFrame(result.table).rows()

    def matching(rows: list[tuple[str | None, ...]]) -> list[list[tuple[str | None, ...]]]:
        def match(one: tuple[str | None, ...], other: tuple[str | None, ...]) -> bool:
            pairs = zip(one[:2], other[:2], strict=True)
            return all(x == y or {x, y} & {None, "*"} for x, y in pairs)

        return [[other for other in rows if match(one, other)] for one in rows]

    for when, found in (("before", matching(rows)), ("after", matching(released))):
        sizes, risk = [len(each) for each in found], told["measures"]["risk"][when]
        assert risk["smallest"] == min(sizes)
        assert risk["unique_rows"] == sizes.count(1)
        assert risk["average"] == pytest.approx(sum(1 / size for size in sizes) / 6)
    least, alike = min(len(each) for each in matching(released)), Counter(released)
    largest = max(Counter(row[2] for row in each).most_common(1)[0][1] / len(each) for each in matching(released))
    assert least >= 2 > min(alike.values())  # the readings differ
    text = Read(page(result, tmp_path)).text
    assert f"matches at least {least} rows by zip and age, itself included" in text
    assert f"among the rows that match some row {'all' if largest == 1 else 'one value'}" in text
    assert "what is missing or suppressed matches any value" in text
    assert [each for each in ("told from all others by", "look the same", "picks the right one") if each in text] == []


def test_the_best_of_an_extended_model_is_not_called_the_best_table(tmp_path: Path) -> None:
    problem = small(["age", "job", "sick", "name"])
    said = "This table is proven to be the best possible"
    assert said in Read(page(km.solve(problem), tmp_path)).text
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open[group] for group in model.CANDIDATES) <= 1)
    found = km.solve_model(problem, model).require_optimal()
    assert said not in Read(page(found, tmp_path)).text
