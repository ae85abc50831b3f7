"""What the verifier says of sensitive attributes, against the definitions counted on plain rows."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter, defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import judges
import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kanon_milp.errors import InputError
from kanon_milp.methods.verification import verify_files
from kanon_milp.problem.distances import HierarchicalDistance, MatrixDistance, OrderedDistance
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.privacy import KAnonymity, TCloseness
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.verify import EntropyDiversity, LogRatio, verify
from kanon_milp.verify.numbers import Ratios, in_words, less

NUMBERS = ["1", "2.5", "7", "-3"]


def report_of(groups: Any, columns: Any, privacy: Any = None, **options: Any) -> Any:
    """A table that is released as it is: rows with the same group label are a group."""
    frame = pl.DataFrame({"g": [str(g) for g in groups], **columns}, schema_overrides=dict.fromkeys(columns, pl.String))
    table = Table.from_frame(frame, ["g"], list(columns))
    return verify(Problem(table, privacy or [KAnonymity(1)]), frame, **options)


@st.composite
def tables(draw: st.DrawFn, max_rows: Any = 10) -> Any:
    n = draw(st.integers(1, max_rows))
    groups = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    number = draw(st.lists(st.sampled_from(NUMBERS), min_size=n, max_size=n))
    letter = draw(st.lists(st.sampled_from(["x", "y", None]), min_size=n, max_size=n))
    return groups, number, letter


def members(groups: Any) -> Any:
    found = defaultdict(list)
    for i, g in enumerate(groups):
        found[g].append(i)
    return list(found.values())


@settings(max_examples=examples(80, 6))
@given(tables())
def test_each_fact_is_the_strongest_that_holds_in_every_group(case: Any) -> None:
    groups, number, letter = case
    report = report_of(groups, {"number": number, "letter": letter})
    secrets = list(zip(number, letter, strict=True))
    parts = members(groups)
    assert report.groups == len(parts)
    for column, name in enumerate(["number", "letter"]):
        facts = report.released.sensitive[name]
        counts = [sorted(Counter(secrets[i][column] for i in part).values(), reverse=True) for part in parts]
        assert facts.p == facts.l_distinct == min(map(len, counts))
        assert facts.l == min(Fraction(sum(c), c[0]) for c in counts)
        assert facts.alpha == max(Fraction(c[0], sum(c)) for c in counts)
        assert facts.recursive == {
            number: max(Fraction(c[0], sum(c[number - 1 :])) for c in counts) for number in range(2, facts.p + 1)
        }
        before = judges.shares(range(len(secrets)), secrets, column)
        gains = [[q / before[v] for v, q in judges.shares(part, secrets, column).items()] for part in parts]
        assert facts.beta == max(map(max, gains)) - 1
        assert facts.delta_present.ratio == max(max(g, 1 / g) for part in gains for g in part if g)
        if any(g == 0 for part in gains for g in part):
            assert facts.delta is None
        else:
            assert facts.delta == facts.delta_present
        for asked in (1, 2, 3, Fraction(3, 2), Fraction(2001, 1000)):
            powers = all(asked ** sum(c) * math.prod(x**x for x in c) <= sum(c) ** sum(c) for c in counts)
            assert facts.l_entropy.holds(asked) == powers


@settings(max_examples=examples(40, 5))
@given(tables(max_rows=8))
def test_closeness_for_each_ground_distance(case: Any) -> Any:
    groups, number, letter = case
    report = report_of(groups, {"number": number, "letter": letter})
    secrets = list(zip(number, letter, strict=True))

    def largest(column: Any, distance: Any) -> Any:
        return max(judges.distance_from_table(part, secrets, column, distance) for part in members(groups))

    closeness = report.released.sensitive["number"].closeness
    assert report.released.sensitive["number"].t == closeness["equal"] == largest(0, judges.equal_distance)
    if len(set(number)) > 1:
        assert closeness["ordered"] == largest(0, judges.ordered_numbers(number))
        assert closeness["numeric"] == largest(0, judges.numeric_distance(number))
    assert report.released.sensitive["letter"].closeness == {"equal": largest(1, judges.equal_distance)}


@settings(max_examples=examples(60, 6))
@given(tables(max_rows=8), st.booleans())
def test_rows_that_pairwise_differ(case: Any, three: Any) -> Any:
    groups, number, letter = case
    columns = {"number": number, "letter": letter}
    if three:
        columns["third"] = [str((i * i + 3) % 7 % 3) for i in range(len(groups))]
    secrets = list(zip(*columns.values(), strict=True))
    found = report_of(groups, columns).released.l_pairwise

    def diverse(number: Any) -> Any:
        width = range(len(columns))
        return all(judges.blocki_williams_diverse(part, secrets, width, number) for part in members(groups))

    assert diverse(found)
    assert not diverse(found + 1)


@settings(max_examples=examples(60, 6))
@given(st.lists(st.tuples(*[st.sampled_from("0123")] * 3), min_size=1, max_size=8))
@example(["003", "011", "014", "101", "200", "231", "240", "444"])  # the rarest values are not those to take
def test_rows_that_pairwise_differ_in_three_attributes(secrets: Any) -> None:
    columns = dict(zip("def", map(list, zip(*secrets, strict=True)), strict=True))
    found = report_of([0] * len(secrets), columns).released.l_pairwise
    group = range(len(secrets))
    assert judges.blocki_williams_diverse(group, secrets, range(3), found)
    assert not judges.blocki_williams_diverse(group, secrets, range(3), found + 1)


def test_rows_that_pairwise_differ_need_two_attributes() -> None:
    assert report_of("aab", {"d": list("xyx")}).released.l_pairwise is None
    # three values of each, but the first row's values come with only one other pair
    three = {"d": list("xxyz"), "e": list("uvuu")}
    assert report_of("aaaa", three).released.l_pairwise == 1
    square = [(a, b, str((int(a) + int(b)) % 4)) for a, b in itertools.product("0123", repeat=2)]
    latin = dict(zip("abc", map(list, zip(*square, strict=True)), strict=True))
    # a Latin square of order 4 made from addition has no transversal, but three cells of one go through each cell
    assert report_of([0] * 16, latin).released.l_pairwise == 3


def test_entropy_of_a_group_is_exact() -> None:
    found = EntropyDiversity((3, 2))
    assert found.text == "(3125/108)^(1/5)"
    assert (found.floor, found.holds(2), found.holds(Fraction(19, 10))) == (1, False, True)
    # rounded down: the next float is too large
    assert found.holds(Fraction(found.value))
    assert not found.holds(Fraction(math.nextafter(found.value, 2)))
    assert found.value == pytest.approx(math.exp(-0.6 * math.log(0.6) - 0.4 * math.log(0.4)), rel=1e-14)
    for even in ((1,), (1, 1), (7, 7), (3, 3, 3), (2,) * 11):
        flat = EntropyDiversity(even)
        assert (flat.value, flat.floor, flat.text) == (len(even), len(even), str(len(even)))
    assert EntropyDiversity((2, 1, 1)).text == "8^(1/2)"
    long = EntropyDiversity((1000, 17, 3))
    assert long.text.startswith("(2^")
    assert len(long.text) < 80
    assert long.holds(Fraction(long.value))
    assert not long.holds(Fraction(math.nextafter(long.value, 2)))


def test_the_least_entropy_is_found_where_floats_cannot_tell() -> None:
    m = 10**8
    even, odd, odder = (EntropyDiversity((m + i, m - i)) for i in range(3))
    assert even.value == pytest.approx(odder.value, rel=1e-15)
    assert less(odd, even)
    assert less(odder, odd)
    assert not less(even, odd)
    assert EntropyDiversity((4, 2)).powers == EntropyDiversity((2, 1)).powers
    assert not less(EntropyDiversity((4, 2)), EntropyDiversity((2, 1)))
    assert (odd.floor, even.floor) == (1, 2)
    hair = Fraction(1, 10**70)
    assert even.holds(2 - hair)
    assert not even.holds(2 + hair)
    sizes = [25000, 25000, 25001, 24999]
    values = [value for value, rows in zip("xyxy", sizes, strict=True) for _ in range(rows)]
    report = report_of([0] * 50000 + [1] * 50000, {"d": values})
    assert report.released.sensitive["d"].l_entropy.counts == (25001, 24999)


def test_logarithms_are_rounded_up() -> None:
    for ratio in (Fraction(3, 2), Fraction(10**9 + 1, 10**9), Fraction(30162, 7), Fraction(3)):
        found = LogRatio(ratio)
        assert judges.natural_log_below(ratio, Fraction(found.natural))
        assert not judges.natural_log_below(ratio, Fraction(math.nextafter(found.natural, 0)))
        with localcontext(prec=60):
            exact = (Decimal(ratio.numerator) / ratio.denominator).ln() / Decimal(2).ln()
        assert Decimal(math.nextafter(found.base2, 0)) < exact < Decimal(found.base2)
    assert (LogRatio(Fraction(1)).natural, LogRatio(Fraction(1)).base2, LogRatio(Fraction(8)).base2) == (0, 0, 3)


def test_ratios_that_floats_cannot_tell_apart() -> None:
    m = 3 * 10**9
    above, below = np.array([m, m - 1, m + 1, 5]), np.array([m + 1, m, m + 2, 6])
    ratios = Ratios(above, below)
    assert ratios.largest == Fraction(m + 1, m + 2)
    assert ratios.least == Fraction(5, 6)
    for order in itertools.permutations(range(3)):
        shuffled = ratios.take(np.array([3, *order, 0, 1]))
        assert shuffled.largest_in(np.array([0, 1, 4])).texts() == ["5/6", f"{m + 1}/{m + 2}", f"{m}/{m + 1}"]
    huge = Ratios(np.array([10**400, 3], dtype=object), np.array([10**399, 1], dtype=object))
    assert (huge.largest, huge.least) == (Fraction(10), Fraction(3))


TREE = Hierarchy.from_rows([("x", "xy", "*"), ("y", "xy", "*"), ("z", "z", "*")])
MATRIX = MatrixDistance(["x", "y", "z"], [[0, "1/2", 1], ["1/2", 0, "3/4"], [1, "3/4", 0]])


@pytest.mark.parametrize(
    ("distance", "judge"),
    [
        (HierarchicalDistance(TREE), judges.hierarchical_distance(TREE.paths)),
        (OrderedDistance(["z", "x", "w", "y"]), judges.ordered_distance(["z", "x", "w", "y"])),
        (MATRIX, judges.matrix_distance(MATRIX.values, [[Fraction(d) for d in line] for line in MATRIX.matrix])),
    ],
)
def test_further_ground_distances(distance: Any, judge: Any) -> None:
    groups, values = "aaabbbbc", list("xyzxxyzy")
    secrets = [(v,) for v in values]
    expected = max(judges.distance_from_table(part, secrets, 0, judge) for part in members(groups))
    report = report_of(groups, {"d": values}, distances={"d": distance})
    assert report.released.sensitive["d"].closeness[distance.name] == expected
    assert f"t = {in_words(expected)} ({distance.name})" in report.summary()
    # that of a requirement is reported too
    asked = report_of(groups, {"d": values}, [TCloseness(1, distance)])
    assert asked.released.sensitive["d"].closeness[distance.name] == expected
    assert report.as_dict()["sensitive"]["d"][f"t_{distance.name}_exact"] == str(expected)


def test_two_ground_distances_of_one_kind_are_told_apart() -> None:
    orders = [OrderedDistance(["x", "y", "z"]), OrderedDistance(["y", "x", "z"])]
    report = report_of("aabb", {"d": list("xzyy")}, [TCloseness(1, order) for order in orders])
    assert list(report.released.sensitive["d"].closeness) == ["equal", "ordered", "ordered 2"]


def test_a_ground_distance_that_does_not_fit_is_an_input_error() -> None:
    with pytest.raises(InputError, match='"e" is not a sensitive attribute'):
        report_of("ab", {"d": ["x", "y"]}, distances={"e": MATRIX})
    with pytest.raises(InputError, match='column "d": value number 1'):
        report_of("ab", {"d": ["x", "secret"]}, distances={"d": OrderedDistance(["x", "y"])})


def test_a_hierarchy_of_a_sensitive_attribute_is_its_ground_distance(tmp_path: Any) -> None:
    (tmp_path / "in.csv").write_text("zip,d\n1,x\n1,y\n2,y\n2,z\n")
    (tmp_path / "d.csv").write_text("level0,level1,level2\nx,xy,*\ny,xy,*\nz,z,*\n")
    report = verify_files(tmp_path / "in.csv", tmp_path / "in.csv", ["zip"], "d", hierarchies=tmp_path)
    # half of the first group's y has to go to z, all the way up
    assert report.released.sensitive["d"].closeness == {"equal": Fraction(1, 4), "hierarchical": Fraction(1, 4)}
    (tmp_path / "zip.csv").write_text("level0,level1\n1,*\n2,*\n")
    again = verify_files(
        tmp_path / "in.csv", tmp_path / "in.csv", ["zip"], "d", hierarchies=tmp_path, privacy=[TCloseness("1/4")]
    )
    assert again
    assert "hierarchical" in again.released.sensitive["d"].closeness


def test_the_frame_of_groups() -> None:
    groups, values = list("abacbba"), ["1", "2", "1", None, "3", "2", "5"]
    report = report_of(groups, {"d": values, "e": ["u"] * 6 + ["v"]})
    frame = report.group_frame()
    assert frame["group"].to_list() == [1, 2, 3]
    assert frame["first_row"].to_list() == [1, 2, 4]
    assert frame["rows"].to_list() == [3, 3, 1]
    assert frame["suppressed"].to_list() == [False] * 3
    assert frame["d.p"].to_list() == [2, 2, 1]
    assert frame["d.l_exact"].to_list() == ["3/2", "3/2", "1"]
    assert frame["d.alpha"].to_list() == pytest.approx([2 / 3, 2 / 3, 1])
    assert frame["d.l_entropy_exact"].to_list() == ["(27/4)^(1/3)", "(27/4)^(1/3)", "1"]
    assert frame["d.c_2_exact"].to_list() == ["2", "2", None]
    assert frame["d.beta_exact"].to_list() == ["4/3", "4/3", "6"]
    assert frame["d.delta"].to_list() == [None] * 3
    assert frame["d.delta_present_exact"].to_list() == ["7/3", "7/3", "7"]
    assert frame["e.delta"].null_count() == 2
    secrets = [(v,) for v in values]
    expected = [judges.distance_from_table(part, secrets, 0, judges.equal_distance) for part in members(groups)]
    assert frame["d.t_equal_exact"].to_list() == [str(t) for t in expected]
    assert "d.t_ordered" not in frame.columns  # a missing value is not a number
    with pytest.raises(InputError, match="without a partition"):
        report.group_frame(partition=True)
    parts = report_of("aab", {"d": list("xyx")}, partition=[5, 7, 1])
    assert parts.group_frame(partition=True)["rows"].to_list() == [1, 1, 1]
    assert report_of("ab", {}).group_frame().columns == ["group", "first_row", "rows", "suppressed"]


@settings(max_examples=examples(40, 5))
@given(tables())
def test_the_frame_of_groups_has_the_facts_as_its_extremes(case: Any) -> Any:
    groups, number, letter = case
    report = report_of(groups, {"number": number, "letter": letter})
    frame = report.group_frame()
    for name, facts in report.released.sensitive.items():

        def exact(column: Any, name: Any = name) -> Any:
            return [Fraction(text) for text in frame[f"{name}.{column}_exact"].drop_nulls()]

        assert frame[f"{name}.p"].min() == facts.p
        assert min(exact("l")) == facts.l
        assert max(exact("alpha")) == facts.alpha
        assert max(exact("beta")) == facts.beta
        assert max(exact("delta_present")) == facts.delta_present.ratio
        assert frame[f"{name}.l_entropy"].min() == facts.l_entropy.value
        for distance, t in facts.closeness.items():
            assert max(exact(f"t_{distance}")) == t
        if facts.p > 1:
            assert max(exact("c_2")) == facts.recursive[2]


def test_the_report_with_all_facts_is_plain_data() -> None:
    report = report_of("aaabbb", {"d": list("123112"), "e": list("xyyxxy")})
    data = json.loads(json.dumps(report.as_dict()))
    found = data["sensitive"]["d"]
    assert found["recursive"] == {"2": {"c": 2, "c_exact": "2"}}
    assert found["l_entropy_exact"] == "(27/4)^(1/3)"
    assert found["t_numeric_exact"] == found["t_ordered_exact"]
    assert data["l_pairwise"] == report.released.l_pairwise
    lines = report.summary().splitlines()
    assert lines[4].startswith("d: p = 2, l = 1.5 (frequency), t = ")
    assert "c > 2 (recursive, l = 2)" in lines[6]
    assert lines[-2].startswith("all together: l = 2")


@pytest.mark.parametrize(
    ("released", "said"),
    [
        ("xxyyyy", r"no delta, since a group lacks a value \(of the values that are there: delta > 0\.\d+\)$"),
        ("******", r"beta = 0, delta > 0"),
    ],
)
def test_delta_of_groups_that_lack_a_value_is_told_in_words(released: str, said: str) -> None:
    frame = pl.DataFrame({"a": list("xxyyyy"), "d": list("ppppqq")})
    problem = Problem(Table.from_frame(frame, "a", "d"), KAnonymity(2))
    report = verify(problem, frame.with_columns(pl.Series("a", list(released))))
    assert re.search(said, report.summary(), re.MULTILINE)
