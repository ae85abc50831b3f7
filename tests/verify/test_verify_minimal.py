"""Minimal generalizations (Bredereck et al. 2012, section 4.4), against trying every single replacement."""

from __future__ import annotations

import dataclasses
import itertools
import zlib
from collections import Counter
from fractions import Fraction
from typing import Any, ClassVar

import judges
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Value, released_rows
from own_requirement import Own
from present import present
from test_verify import QI, TABLE_2, TABLE_5, liang_yuan, printed
from test_verify_requirements import demands

from kanon_milp.methods.solve import solve
from kanon_milp.methods.verification import verify_files
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.privacy import DeltaDisclosure, KAnonymity, LDiversity, PSensitivity, TCloseness
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Hierarchies, PatternMask, Suppression
from kanon_milp.problem.table import Table
from kanon_milp.verify import verify

PATHS: dict[Value, tuple[Value, ...]] = {
    "a": ("a", "ab", "abcd", "*"),
    "b": ("b", "ab", "abcd", "*"),
    "c": ("c", "c", "abcd", "*"),
    "d": ("d", "d?", "abcd", "*"),
}
KEEP = {value: (value, "*") for value in "abcd"}
TREE = Hierarchy.from_rows(list(PATHS.values()))


def small(rows: Any, released: Any, privacy: Any, recoding: Any = None, **options: Any) -> Any:
    names = [f"c{j}" for j in range(len(rows[0]))]
    table = Table.from_frame(pl.DataFrame(rows, schema=names, orient="row"), names)
    problem = Problem(table, privacy, recoding or Suppression(), **options)
    return verify(problem, pl.DataFrame(released, schema=names, orient="row"))


def test_a_table_of_least_cost_is_minimal() -> None:
    report = small([("a", "x"), ("b", "x"), ("c", "y")], [("*", "x"), ("*", "x"), ("c", "y")], [KAnonymity(1)])
    assert report
    assert report.minimal is False
    best = solve(Problem(Table.from_frame(liang_yuan(), QI, "disease"), [KAnonymity(3)]))
    report = present(best.report)
    assert report.minimal is True
    assert report.not_minimal is None
    # who reads "yes" must not take it for "least cost"
    last = report.summary().splitlines()[-1]
    assert last.startswith("minimal generalization: yes (no single cell")
    assert "nothing about how far the loss is from the least possible" in last


def test_what_could_be_more_specific_is_named() -> None:
    rows = [("a", "x"), ("b", "x"), ("a", "x"), ("c", "y")]
    # the first column of the group of a, a and b cannot be released, but one of the cells of a can where k = 1
    report = small(rows, [("*", "x"), ("*", "x"), ("*", "x"), ("c", "*")], [KAnonymity(1)])
    assert report
    assert report.minimal is False
    assert report.not_minimal == '4 cells could be more specific, the first in column "c0", row 1'
    assert f"minimal generalization: no, {report.not_minimal}" in report.summary()
    assert report.as_dict()["not_minimal"] == report.not_minimal
    # where k = 2, a whole column may still be released
    pair = small([("a", "x"), ("b", "x")], [("*", "*")] * 2, [KAnonymity(2)])
    assert pair.not_minimal == '1 column of entire groups could be more specific, the first in column "c1", rows 1, 2'
    # the third row may join the first two
    joins = small([("a",)] * 2 + [("a",), ("b",), ("c",)], [("a",)] * 2 + [("*",)] * 3, [KAnonymity(2)])
    assert joins.not_minimal == '1 cell could be more specific, the first in column "c0", row 3'


def test_the_published_tables() -> None:
    def minimal(lines: Any, privacy: Any) -> Any:
        return verify(Problem(Table.from_frame(liang_yuan(), QI, "disease"), privacy), printed(lines)).minimal

    assert minimal(TABLE_2, [KAnonymity(3)])
    assert minimal(TABLE_2, [KAnonymity(2)])  # the group of four could be split, but not by one entry
    assert not minimal(TABLE_2, [KAnonymity(1)])
    assert minimal(TABLE_2, [KAnonymity(4)]) is False  # it is not 4-anonymous at all
    assert minimal(TABLE_5, [TCloseness("1/15")])


def test_free_levels_leave_tables_of_least_cost_that_are_not_minimal() -> None:
    recoding = Hierarchies({"c0": TREE}, level_costs={"c0": [0, 0, 1, 2]})
    report = small([("a",), ("a",)], [("ab",), ("ab",)], [KAnonymity(2)], recoding)
    assert report
    assert report.cost == 0
    assert report.not_minimal == '1 column of entire groups could be more specific, the first in column "c0", rows 1, 2'
    # "c" is its own label one level up, and so as specific as can be
    assert small([("c",), ("c",)], [("c",), ("c",)], [KAnonymity(2)], recoding).minimal


def test_a_mask_and_bounds_on_groups_are_kept() -> None:
    rows = [("a", "x"), ("a", "x")]
    mask = PatternMask([("keep", "keep"), ("*", "*")])
    assert small(rows, [("*", "*")] * 2, [KAnonymity(1)], mask).minimal
    assert not small(rows, [("*", "*")] * 2, [KAnonymity(1)]).minimal
    assert small([("a",), ("b",)], [("*",)] * 2, [KAnonymity(1)], max_groups=1).minimal
    assert not small([("a",), ("b",)], [("*",)] * 2, [KAnonymity(1)]).minimal
    apart = [("a",)] * 2, [("a",), ("*",)]
    assert small(*apart, [KAnonymity(1)], min_groups=2).minimal
    assert not small(*apart, [KAnonymity(1)]).minimal


def test_exempt_rows_leave_their_group_only_for_one_that_is_large_enough() -> None:
    rows, released = [("a",), ("a",), ("b",)], [("a",), ("a",), ("*",)]
    assert small(rows, released, [KAnonymity(2)], suppressed_rows="exempt").minimal
    assert not small([("a",)] * 3, released, [KAnonymity(2)], suppressed_rows="exempt").minimal

    # the fourth row may, whatever is left behind
    left = small([("a",)] * 4 + [("b",)], [("a",)] * 3 + [("*",)] * 2, [KAnonymity(3)], suppressed_rows="exempt")
    assert left.not_minimal == '1 cell could be more specific, the first in column "c0", row 4'


def secret(cells: Any, released: Any, values: Any, privacy: Any) -> Any:
    frame = pl.DataFrame({"q": cells, "d": values})
    table = Table.from_frame(frame, "q", "d")
    return verify(Problem(table, privacy), frame.with_columns(q=pl.Series(released)))


def test_a_row_must_leave_enough_behind() -> None:
    # the third row could join the first two, but the last one would be alone
    assert secret(list("aaab"), list("aa**"), list("xyxy"), [PSensitivity(2)]).minimal
    # of rows that are released alike, one has the only y
    report = secret(list("aaaab"), list("aa***"), list("xyyxx"), [PSensitivity(2)])
    assert report.not_minimal == '1 cell could be more specific, the first in column "q", row 4'


def test_groups_join_only_where_the_requirement_allows_it() -> None:
    # y is in neither too rare nor absent; in the union it would be a fifth as frequent as in the table
    cells = ["a"] * 11 + ["b"] * 9
    released = ["a"] * 9 + ["*"] * 2 + ["b"] * 9
    values = ["x"] * 10 + ["y"] * 10
    loose, strict = (DeltaDisclosure(delta, absent="ignored") for delta in (2, 1))
    report = secret(cells, released, values, [KAnonymity(2), loose])
    assert (
        report.not_minimal == '1 column of entire groups could be more specific, the first in column "q", rows 10, 11'
    )
    assert secret(cells, released, values, [KAnonymity(2), strict]).minimal


def test_there_must_be_something_to_check_it_against(tmp_path: Any) -> None:
    problem = Problem(Table.from_frame(liang_yuan(), QI, "disease"), [KAnonymity(3)])
    good = printed(TABLE_2)
    assert verify(problem, good[:9]).minimal is None
    assert verify(problem, good.with_columns(z1=pl.lit("7"))).minimal is None
    (tmp_path / "in.csv").write_text("a\n1\n1\n")
    unasked = verify_files(tmp_path / "in.csv", tmp_path / "in.csv", ["a"])
    assert unasked.minimal is None
    assert "minimal" not in unasked.summary()
    assert verify_files(tmp_path / "in.csv", tmp_path / "in.csv", ["a"], privacy=[KAnonymity(2)]).minimal is True


def replacements(rows: Any, released: Any, paths: Any, vectors: Any) -> Any:
    """Every legal table with one more specific cell, or one more specific column of a whole group of several rows."""

    def legal(original: Any, new: Any) -> Any:
        return any(all(paths[j][v][at] == out for j, (v, at, out) in enumerate(zip(original, vector, new, strict=True)))
                   for vector in vectors)  # fmt: skip

    def below(i: Any, j: Any) -> Any:
        path = paths[j][rows[i][j]]
        return dict.fromkeys(path[: path.index(released[i][j])])

    def replaced(group: Any, j: Any, label: Any) -> Any:
        table = [(*row[:j], label, *row[j + 1 :]) if i in group else row for i, row in enumerate(released)]
        return table if all(legal(rows[i], table[i]) for i in group) else None

    groups = [group for group in judges.groups_of(released).values() if len(group) > 1]
    for j in range(len(paths)):
        for group in [*((i,) for i in range(len(rows))), *groups]:
            shared = [label for label in below(group[0], j) if all(label in below(i, j) for i in group)]
            for label in shared:
                if (table := replaced(group, j, label)) is not None:
                    yield group, j, table


@dataclasses.dataclass(frozen=True)
class Arbitrary(Own):
    """Holds for the groups that the table has, and for others by chance."""

    present: frozenset[tuple[tuple[Any, int], ...]]
    seed: int
    name: ClassVar[str] = "arbitrary"

    def holds(self, group: Any) -> Any:
        return self.accepts(group.tuples)

    def accepts(self, counts: Any) -> Any:
        key = tuple(sorted(counts.items()))
        return key in self.present or zlib.crc32(repr((self.seed, key)).encode()) % 3 > 0


@st.composite
def legal_tables(draw: st.DrawFn) -> Any:
    m = draw(st.integers(1, 2))
    secret = st.sampled_from([("1", "x"), ("2", "y"), ("5", "x")])
    n = draw(st.integers(3, 6))
    rows = draw(st.lists(st.tuples(*[st.sampled_from("abcd")] * m), min_size=n, max_size=n))
    secrets = [("1", "x"), ("2", "y"), ("5", "z"), *draw(st.lists(secret, min_size=n - 3, max_size=n - 3))]
    heights = [draw(st.sampled_from([1, 3])) for _ in range(m)]
    everything = list(itertools.product(*(range(h + 1) for h in heights)))
    vectors = draw(st.one_of(st.none(), st.lists(st.sampled_from(everything), min_size=2, max_size=6, unique=True)))
    legal = released_rows(rows, {j: PATHS for j in range(m) if heights[j] == 3}, vectors)
    # tables with few different rows
    menu = draw(st.lists(st.sampled_from(sorted(legal)), min_size=1, max_size=4))
    released = [
        draw(st.sampled_from([out for out in menu if i in legal[out]] or [out for out in legal if i in legal[out]]))
        for i in range(n)
    ]
    return rows, released, secrets, heights, vectors, everything


@settings(max_examples=examples(200, 20))
@given(legal_tables(), st.lists(demands(), max_size=1), st.integers(1, 2), st.data())
def test_minimality_is_what_trying_every_replacement_finds(case: Any, asked: Any, k: Any, data: st.DataObject) -> Any:
    rows, released, secrets, heights, vectors, everything = case
    m = len(heights)
    exempt = data.draw(st.booleans())
    bounds: dict[str, Any] = data.draw(st.sampled_from([{}, {}, {"max_groups": 2}, {"min_groups": 2}]))
    subsets = data.draw(st.sampled_from([[], [], [(0,)], [(m - 1,)]]))
    if data.draw(st.integers(0, 2)):  # mostly something that the table has
        counts = [Counter(secrets[i] for i in group) for group in judges.groups_of(released).values()]
        present = frozenset(tuple(sorted(count.items())) for count in counts)
        chance = Arbitrary(present, data.draw(st.integers(0, 99)))
        asked = [(chance, lambda group, secrets: chance.accepts(Counter(secrets[i] for i in group)))]

    def holds(table: Any) -> Any:
        groups = judges.groups_of(table)
        sides = bounds.get("min_groups", 0) <= len(groups) <= bounds.get("max_groups", 9)
        sizes = judges.k_anonymous_in(table, range(m), k, exempt) and all(
            judges.k_anonymous_in(table, subset, 3, exempt) for subset in subsets
        )
        return sides and sizes and all(judge(group, secrets) for _, judge in asked for group in groups.values())

    names = [f"q{j}" for j in range(m)]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        u=pl.Series([u for u, _ in secrets]), v=pl.Series([v for _, v in secrets])
    )
    privacy = [KAnonymity(k), *(requirement for requirement, _ in asked)]
    privacy += [KAnonymity(3, [names[j] for j in subset]) for subset in subsets]
    mask = None if vectors is None else PatternMask(vectors)
    tall = {names[j]: TREE for j in range(m) if heights[j] == 3}
    recoding = Hierarchies(tall, mask=mask) if tall else mask or Suppression()
    problem = Problem(
        Table.from_frame(frame, names, ["u", "v"]),
        privacy,
        recoding,
        suppressed_rows="exempt" if exempt else "strict",
        **bounds,
    )
    out = frame.with_columns(pl.DataFrame(released, schema=names, orient="row"))
    report = verify(problem, out)
    if not holds(released):
        assert not report
        assert (report.minimal, report.not_minimal) == (False, "it does not satisfy the requirements")
        return
    assert report, report.violations
    paths = [PATHS if height == 3 else KEEP for height in heights]
    better = {
        (group, j) for group, j, table in replacements(rows, released, paths, vectors or everything) if holds(table)
    }
    assert report.minimal == (not better)
    cells = sorted((i, j) for (i, *rest), j in better if not rest)
    columns = sorted((group, j) for group, j in better if len(group) > 1)
    found = (report.not_minimal or "").split("; ")
    if cells:
        first = f'the first in column "q{cells[0][1]}", row {cells[0][0] + 1}'
        assert found.pop(0) == f"{len(cells)} cell{'s' * (len(cells) > 1)} could be more specific, {first}"
    if columns:
        group, j = columns[0]
        first = f'the first in column "q{j}", rows {", ".join(str(i + 1) for i in group[:5])}'
        assert found.pop(0).startswith(
            f"{len(columns)} column{'s' * (len(columns) > 1)} of entire groups could be more specific, {first}"
        )
    assert found in ([], [""])


@pytest.mark.parametrize("requirement", [LDiversity(2), PSensitivity(2), TCloseness(Fraction(1, 4))])
def test_requirements_beside_k_decide(requirement: Any) -> None:
    frame = pl.DataFrame({"q": list("abab"), "d": list("xxyy")})
    table = Table.from_frame(frame, "q", "d")
    apart = verify(Problem(table, [requirement]), frame)
    assert apart
    assert apart.minimal
    together = verify(Problem(table, [requirement]), frame.with_columns(q=pl.lit("*")))
    # each cell of it joins no one, and alone a row has one value only
    assert together.minimal
    assert not verify(Problem(table, [KAnonymity(1)]), frame.with_columns(q=pl.lit("*"))).minimal
