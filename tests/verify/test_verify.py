"""The verifier against printed tables, hand-made mutations and counting by hand."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from oracle import released_rows
from own_requirement import Own
from present import present

from kanon_milp.errors import InputError
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Hierarchies, PatternMask, Suppression
from kanon_milp.problem.records import Group
from kanon_milp.problem.table import Table
from kanon_milp.verify import verify

# Liang and Yuan, Tables 1-3 and 5: each digit of zip code and age is a column of its own
QI = ["z1", "z2", "z3", "z4", "z5", "a1", "a2", "education"]
TABLE_1 = """98765 38 Bachelor Viral
98654 39 Doctorate Heart
98543 32 Master Heart
97654 65 Bachelor Cancer
96689 45 Bachelor Viral
97427 33 Bachelor Viral
96552 54 Bachelor Heart
97017 69 Doctorate Cancer
97023 55 Master Cancer
97009 62 Bachelor Cancer"""
TABLE_2 = ["98***3**"] * 3 + ["9******Bachelor"] * 4 + ["970*****"] * 3
TABLE_3 = [
    "98***3**",
    "98***3**",
    "9*******",
    "97*****Bachelor",
    "9*******",
    "97*****Bachelor",
    "9******Bachelor",
    "9*******",
    "9*******",
    "9******Bachelor",
]
TABLE_5 = ["9*******"] * 5 + ["9******Bachelor"] * 2 + ["9*******"] * 2 + ["9******Bachelor"]


def liang_yuan() -> Any:
    rows = [line.split() for line in TABLE_1.splitlines()]
    return pl.DataFrame([[*z, *a, e, d] for z, a, e, d in rows], schema=[*QI, "disease"], orient="row")


def printed(lines: Any) -> Any:
    cells = [[*line[:7], line[7:]] for line in lines]
    return pl.DataFrame(cells, schema=QI, orient="row").hstack(liang_yuan().select("disease"))


def liang_yuan_problem(k: Any = 3, **options: Any) -> Any:
    return Problem(Table.from_frame(liang_yuan(), QI, "disease"), [KAnonymity(k)], **options)


def test_table_2_is_3_anonymous_and_costs_54() -> None:
    report = verify(liang_yuan_problem(), printed(TABLE_2))
    assert report
    assert report.violations == ()
    assert (report.n, report.m, report.cost, report.suppressed_cells) == (10, 8, Fraction(54), 54)
    assert (report.groups, report.k_strict, report.k_exempt) == (3, 3, 3)
    assert (report.smallest_group, report.mean_group, report.largest_group) == (3, Fraction(10, 3), 4)
    assert report.fully_suppressed_rows == 0
    facts = report.released.sensitive["disease"]
    # the third group has one disease only: 1/2 (3/10 + 3/10 + 6/10) from the table's (3/10, 3/10, 4/10)
    assert (facts.p, facts.l, facts.t) == (1, Fraction(1), Fraction(3, 5))
    assert not verify(liang_yuan_problem(k=4), printed(TABLE_2))


def test_table_3_is_2_diverse_and_0_4_close() -> None:
    report = verify(liang_yuan_problem(k=2), printed(TABLE_3))
    assert report
    facts = report.released.sensitive["disease"]
    assert (facts.p, facts.l, facts.t) == (2, Fraction(2), Fraction(2, 5))


def test_table_5_as_a_partition_and_as_a_released_table_are_judged_apart() -> None:
    report = verify(liang_yuan_problem(), printed(TABLE_5), [1, 1, 2, 1, 2, 3, 3, 2, 2, 3])
    assert report
    assert report.groups == 2
    assert report.released.sensitive["disease"].t == Fraction(1, 15)
    assert present(report.partition).groups == 3
    assert present(report.partition).sensitive["disease"].t == Fraction(1, 10)


def test_groups_of_a_partition_must_each_meet_the_requirements() -> None:
    # as a released table 3-anonymous, but the partition splits a group of three
    report = verify(liang_yuan_problem(), printed(TABLE_2), [0, 0, 1, 2, 2, 2, 2, 3, 3, 3])
    assert len(report.violations) == 1
    assert "2 of 4 groups of the partition have fewer than k = 3 rows" in report.violations[0]


def test_a_group_of_a_partition_has_one_released_row() -> None:
    report = verify(liang_yuan_problem(), printed(TABLE_2), [0, 0, 0, 0, 0, 0, 0, 1, 1, 1])
    assert report.violations == ("in 1 group of the partition the released rows differ",)
    with pytest.raises(InputError, match="9 rows"):
        verify(liang_yuan_problem(), printed(TABLE_2), [0] * 9)


def put(frame: Any, row: Any, column: Any, value: Any) -> Any:
    cells = frame[column].to_list()
    cells[row] = value
    return frame.with_columns(pl.Series(column, cells, dtype=pl.String))


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("z2", "7", 'column "z2": not the original value, not the symbol: row 2'),
        ("z2", None, 'column "z2": not the original value, not the symbol: row 2'),
        ("z2", "*", "fewer than k = 3 rows"),
        ("z3", "6", "fewer than k = 3 rows"),
        ("disease", "Cancer", 'column "disease" is not a quasi-identifier and must not change: row 2'),
        ("disease", None, 'column "disease" is not a quasi-identifier and must not change: row 2'),
    ],
)
def test_each_changed_cell_is_found(column: Any, value: Any, words: Any) -> None:
    report = verify(liang_yuan_problem(), put(printed(TABLE_2), 1, column, value))
    assert not report.ok
    assert any(words in violation for violation in report.violations), report.violations


def test_swapped_dropped_and_added_rows_are_found() -> None:
    good = printed(TABLE_2)
    swapped = good[[3, 1, 2, 0, *range(4, 10)]]
    report = verify(liang_yuan_problem(), swapped)
    assert {'column "z2": not the original value, not the symbol: row 4'} < set(report.violations)
    assert 'column "disease" is not a quasi-identifier and must not change: rows 1, 4' in report.violations
    assert report.cost is None
    dropped = verify(liang_yuan_problem(), good[:9])
    assert dropped.violations[0] == "there are 9 rows, the original has 10"
    assert (dropped.cost, dropped.k_strict) == (None, 2)
    assert not verify(liang_yuan_problem(), pl.concat([good, good[:1]]))


def test_columns_must_be_the_same() -> None:
    extra = printed(TABLE_2).with_columns(name=pl.lit("x"))
    assert verify(liang_yuan_problem(), extra).violations == ('column "name" is not in the original',)
    table = Table.from_frame(liang_yuan().with_columns(id=pl.int_range(10)), QI, "disease")
    report = verify(Problem(table, [KAnonymity(3)]), printed(TABLE_2))
    assert report.violations == ('column "id" is missing',)
    assert report.cost == 54
    with pytest.raises(InputError, match='no column "education"'):
        verify(liang_yuan_problem(), printed(TABLE_2).drop("education"))
    with pytest.raises(InputError, match="no rows"):
        verify(liang_yuan_problem(), printed(TABLE_2)[:0])
    with pytest.raises(InputError, match="narwhals"):
        verify(liang_yuan_problem(), "a path")


def test_side_constraints_are_checked() -> None:
    good = printed(TABLE_2)
    assert verify(liang_yuan_problem(cost_bound=54, min_groups=3, max_groups=3), good)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"cost_bound": "53.9"}, "loss 54 is larger than the cost bound 53.9"),
        ({"min_groups": 4}, "at least 4"),
        ({"max_groups": 2}, "at most 2"),
    ]
    for options, words in cases:
        report = verify(liang_yuan_problem(**options), good)
        assert len(report.violations) == 1
        assert words in report.violations[0]


def small(recoding: Any, rows: Any, released: Any, k: Any = 2, symbol: Any = "*", **options: Any) -> Any:
    columns = [f"c{i}" for i in range(len(rows[0]))]
    table = Table.from_frame(pl.DataFrame(rows, schema=columns, orient="row"), columns, symbol=symbol)
    problem = Problem(table, [KAnonymity(k)], recoding, **options)
    return verify(problem, pl.DataFrame(released, schema=columns, orient="row"))


def test_weights_count_and_stay_exact() -> None:
    report = small(Suppression({"c0": "1/3", "c1": 0.1}), [("a", "x"), ("b", "x")], [("*", "*")] * 2)
    assert report.cost == 2 * (Fraction(1, 3) + Fraction(1, 10))
    assert report.suppressed_cells == 4


def test_rows_must_match_the_mask() -> None:
    rows = [("a", "x"), ("b", "x"), ("a", "y")]
    mask = PatternMask([{"c1": "*", "c0": "keep"}, ("*", "*")])
    assert small(mask, rows, [("*", "*")] * 3)
    report = small(mask, rows, [("*", "x"), ("*", "x"), ("*", "*")], k=1)
    assert report.violations == ("a released row matches no pattern of the mask: rows 1, 2",)
    assert report.cost == 4
    # header order of the mask is not that of the table
    turned = PatternMask([("*", "keep")], columns=("c1", "c0"))
    assert small(turned, rows[:1], [("a", "*")], k=1)
    assert not small(turned, rows[:1], [("*", "x")], k=1)
    with pytest.raises(InputError, match="neither keep"):
        small(PatternMask([("keep", "2")]), rows, rows, k=1)
    with pytest.raises(InputError, match="pattern 1"):
        small(PatternMask([("keep",)]), rows, rows, k=1)


TREE = Hierarchy.from_rows(
    [("a", "ab", "all", "*"), ("b", "ab", "all", "*"), ("c", "c", "all", "*"), (None, "d", "all", "*")]
)


def test_labels_must_lie_on_the_path_of_the_value() -> None:
    recoding = Hierarchies({"c0": TREE}, weights={"c0": 3})
    report = small(recoding, [("a",), ("b",), ("c",), (None,)], [("ab",), ("ab",), ("all",), ("all",)])
    assert report
    assert report.cost == 1 + 1 + 2 + 2
    wrong = small(recoding, [("a",), ("b",), ("c",)], [("ab",), ("ab",), ("ab",)])
    assert wrong.violations == ('column "c0": not the original value, not a label of its hierarchy: row 3',)
    assert wrong.cost is None
    with pytest.raises(InputError, match="row 2: the value is not covered"):
        small(recoding, [("a",), ("z",)], [("*",)] * 2)


def test_the_top_label_stands_for_the_symbol_of_the_table() -> None:
    recoding = Hierarchies({"c0": TREE})
    assert small(recoding, [("a",), ("c",)], [("#",)] * 2, symbol="#").suppressed_cells == 2
    assert not small(recoding, [("a",), ("c",)], [("*",)] * 2, symbol="#")


def test_a_label_at_two_levels_is_read_at_the_cheaper_one_that_the_mask_allows() -> None:
    # "c" is its own label at level 1
    assert small(Hierarchies({"c0": TREE}), [("c",)], [("c",)], k=1).cost == 0
    mask = PatternMask([("1",), ("*",)])
    report = small(Hierarchies({"c0": TREE}, mask=mask), [("c",)], [("c",)], k=1)
    assert report
    assert report.cost == Fraction(1, 3)
    costs: dict[str, list[int | str]] = {"c0": [0, 2, "5/2", 7]}
    assert small(Hierarchies({"c0": TREE}, level_costs=costs, mask=mask), [("c",)], [("c",)], k=1).cost == 2
    with pytest.raises(InputError, match="need 4 costs"):
        small(Hierarchies({"c0": TREE}, level_costs={"c0": [0, 1]}), [("c",)], [("c",)], k=1)


def test_missing_is_a_value_of_its_own() -> None:
    rows = [(None, "x"), (None, "x"), ("", "x")]
    report = small(Suppression(), rows, rows, k=1)
    assert report
    assert (report.groups, report.k_strict) == (2, 1)
    assert not small(Suppression(), rows, [(None, "x")] * 3, k=1)
    assert not small(Suppression(), rows, [("", "x"), (None, "x"), ("", "x")], k=1)
    assert small(Suppression(), rows, [("*", "x")] * 3, k=3).suppressed_cells == 3


def test_both_readings_of_fully_suppressed_rows() -> None:
    rows = [("a",), ("a",), ("b",)]
    released = [("a",), ("a",), ("*",)]
    strict = small(Suppression(), rows, released)
    exempt = small(Suppression(), rows, released, suppressed_rows="exempt")
    assert not strict
    assert exempt
    for report in (strict, exempt):
        assert (report.k_strict, report.k_exempt, report.fully_suppressed_rows) == (1, 2, 1)
    nothing_left = small(Suppression(), rows[:1], [("*",)], k=1)
    assert (nothing_left.k_strict, nothing_left.k_exempt) == (1, None)
    assert not small(Suppression(), rows, rows, suppressed_rows="exempt")


def test_messages_never_name_cells() -> None:
    report = small(Suppression(), [("secret1",), ("secret2",)], [("secret2",), ("secret9",)])
    assert len(report.violations) == 2
    assert "secret" not in report.summary() + json.dumps(report.as_dict())


@dataclasses.dataclass(frozen=True)
class EveryDisease(Own):
    """A requirement that the verifier has no check of its own for."""

    among: tuple[str, ...]
    name: ClassVar[str] = "every_disease"

    def holds(self, group: Group) -> Any:
        assert sum(group.sensitive["disease"].values()) == group.size
        assert group.names == ("disease",)
        assert present(group.table_group).sensitive == {"disease": {"Viral": 3, "Heart": 3, "Cancer": 4}}
        return set(group.sensitive["disease"]) >= set(self.among)

    def describe(self) -> Any:
        return {"diseases": len(self.among)}


def test_other_requirements_are_asked_group_by_group() -> None:
    table = Table.from_frame(liang_yuan(), QI, "disease")
    two = verify(Problem(table, [EveryDisease(("Heart",))]), printed(TABLE_2))
    assert len(two.violations) == 1
    assert "1 of 3 groups violates every_disease (diseases = 1); the first is rows 8, 9, 10" in two.violations[0]
    assert verify(Problem(table, [EveryDisease(("Heart", "Cancer", "Viral"))]), printed(TABLE_5))


@pytest.mark.parametrize("seed", range(60))
def test_numbers_agree_with_counting_by_hand(seed: Any) -> None:
    draw = random.Random(seed)
    n = draw.randint(1, 9)
    rows = [(draw.choice(["a", "b", "c", None]), draw.choice("xyz")) for _ in range(n)]
    secret = [draw.choice("123") for _ in rows]
    weights = [Fraction(draw.randint(0, 5), 3), Fraction(draw.randint(0, 5), 2)]
    vectors = draw.sample([(i, j) for i in range(4) for j in range(2)], draw.randint(1, 8))
    legal = released_rows(rows, {0: TREE.paths}, vectors, weights)
    released = [draw.choice([out for out, by_row in legal.items() if i in by_row]) for i in range(n)]
    table = Table.from_frame(
        pl.DataFrame({"u": [r[0] for r in rows], "v": [r[1] for r in rows], "s": secret}), ["u", "v"], "s"
    )
    recoding = Hierarchies(
        {"u": TREE}, dict(zip(["u", "v"], weights, strict=True)), mask=PatternMask([list(v) for v in vectors])
    )
    out = pl.DataFrame({"u": [r[0] for r in released], "v": [r[1] for r in released], "s": secret})
    report = verify(Problem(table, [KAnonymity(1)], recoding), out)
    assert report, report.violations
    assert report.cost == sum(legal[released[i]][i] for i in range(n))
    groups = defaultdict(list)
    for row, value in zip(released, secret, strict=True):
        groups[row].append(value)
    sizes = [len(g) for g in groups.values()]
    assert (report.groups, report.k_strict, report.largest_group) == (len(groups), min(sizes), max(sizes))
    assert report.k_exempt == min((len(g) for r, g in groups.items() if r != ("*", "*")), default=None)
    assert report.suppressed_cells == sum(row.count("*") for row in released)
    whole = Counter(secret)
    facts = report.released.sensitive["s"]
    assert facts.p == min(len(set(g)) for g in groups.values())
    assert facts.l == min(Fraction(len(g), max(Counter(g).values())) for g in groups.values())
    assert facts.t == max(
        sum(abs(Fraction(g.count(v), len(g)) - Fraction(whole[v], n)) for v in whole) / 2 for g in groups.values()
    )
    # an illegal cell anywhere is found, and so is a row outside the mask
    bad = draw.randrange(n)
    assert not verify(Problem(table, [KAnonymity(1)], recoding), put(out, bad, "v", "w"))
    outside = [o for o, by in released_rows(rows, {0: TREE.paths}).items() if bad in by and bad not in legal.get(o, {})]
    for u, v in outside:
        wrong = verify(Problem(table, [KAnonymity(1)], recoding), put(put(out, bad, "u", u), bad, "v", v))
        assert wrong.violations == (f"a released row matches no pattern of the mask: row {bad + 1}",)


def test_nothing_given_is_changed() -> None:
    frame, released = liang_yuan(), printed(TABLE_2)
    table = Table.from_frame(frame, QI, "disease")
    verify(Problem(table, [KAnonymity(3)]), released)
    assert frame.equals(liang_yuan())
    assert released.equals(printed(TABLE_2))


@pytest.mark.parametrize("partition", [[0.1, 0.9, 1.2, 1.7], [[1]] * 4, [True] * 4, np.array([0.0, 0.0, 1.0, 1.0])])
def test_a_partition_of_anything_but_integers_is_refused(partition: Any) -> None:
    frame = pl.DataFrame({"a": list("xxyy")})
    problem = Problem(Table.from_frame(frame, "a"), KAnonymity(2))
    with pytest.raises(InputError, match="an integer for each row"):
        verify(problem, frame, partition)


def test_a_partition_may_have_integers_of_any_size() -> None:
    frame = pl.DataFrame({"a": list("xxyy")})
    problem = Problem(Table.from_frame(frame, "a"), KAnonymity(2))
    assert present(verify(problem, frame, [2**70, 2**70, -1, -1]).partition).groups == 2
    numbers: Any = np.array([3, 3, 7, 7], dtype=np.uint8)
    assert present(verify(problem, frame, numbers).partition).groups == 2
