"""Ground distances are what their definitions say, and refuse what is no metric.

The exact earth mover's distance is compared with its linear program, published examples and another library.
"""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.problem.distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    MatrixDistance,
    NumericDistance,
    OrderedDistance,
    Space,
    ground_distance,
)
from kanon_milp.problem.distances.base import emd, emd_by_flow
from kanon_milp.verify.ground import Line, ground

WHERE = 'people.csv: column "disease"'


def path_length(space: Space, i: int, j: int) -> int:
    """Walk from both values to the root and leave out what they share."""
    assert space.tree is not None
    edges: list[set[int]] = []
    for start in (i, j):
        walked, node = set(), start
        while space.tree.parent[node] >= 0:
            walked.add(node)
            node = space.tree.parent[node]
        edges.append(walked)
    return sum(space.tree.weight[node] for node in edges[0] ^ edges[1])


def table_of(space: Space) -> list[list[Fraction]]:
    everything = range(len(space.values))
    return [[Fraction(space.distance(i, j), space.scale) for j in everything] for i in everything]


def check_tree(space: Space) -> None:
    assert space.tree is not None
    assert sorted(space.tree.order) == list(range(len(space.tree.parent)))
    seen: set[int] = set()
    for node in space.tree.order:
        seen.add(node)
        assert space.tree.parent[node] not in seen
    for i, j in itertools.product(range(len(space.values)), repeat=2):
        assert path_length(space, i, j) == space.distance(i, j)


def test_equal_distance() -> None:
    space = EqualDistance().space(["a", "b", None], WHERE)
    assert table_of(space) == [[int(i != j) for j in range(3)] for i in range(3)]
    check_tree(space)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True))
def test_ordered_distance_counts_ranks(numbers: list[int]) -> None:
    values = sorted(map(str, numbers))
    space = OrderedDistance().space(values, WHERE)
    ranks = [sorted(numbers).index(int(value)) for value in values]
    assert table_of(space) == [[Fraction(abs(a - b), len(numbers) - 1) for b in ranks] for a in ranks]
    check_tree(space)


@given(st.permutations("abcdef"), st.sets(st.sampled_from("abcdef"), min_size=1))
def test_a_given_order_ranks_its_values_also_those_that_the_table_lacks(order: list[str], present: set[str]) -> None:
    values = sorted(present)
    space = OrderedDistance(order).space(values, WHERE)
    ranks = [order.index(value) for value in values]
    assert table_of(space) == [[Fraction(abs(a - b), 5) for b in ranks] for a in ranks]
    check_tree(space)


@given(st.lists(st.decimals(-100, 100, places=2), min_size=2, max_size=6, unique=True))
def test_numeric_distance_is_exact(numbers: list[object]) -> None:
    values = sorted(map(str, numbers))
    exact = [Fraction(value) for value in values]
    space = NumericDistance().space(values, WHERE)
    length = max(exact) - min(exact)
    assert table_of(space) == [[abs(a - b) / length for b in exact] for a in exact]
    check_tree(space)


def test_numbers_that_are_written_differently_are_at_distance_0() -> None:
    space = NumericDistance().space(["1", "1.0", "2"], WHERE)
    assert table_of(space)[0] == [0, 0, 1]
    check_tree(space)
    assert table_of(OrderedDistance().space(["1", "1.0", "2"], WHERE))[0] == [0, 0, 1]


def test_numbers_may_be_written_as_decimals_or_fractions() -> None:
    space = NumericDistance().space(["-1/2", "0.25", "1", "1e0", "5E-1"], WHERE)
    exact = [Fraction(-1, 2), Fraction(1, 4), Fraction(1), Fraction(1), Fraction(1, 2)]
    assert table_of(space) == [[abs(a - b) / Fraction(3, 2) for b in exact] for a in exact]
    check_tree(space)


@pytest.mark.parametrize("text", ["", " ", "nan", "inf", "1/0", "1_000", "1,5,5", "0x1", "1e9999", "9" * 5000])
def test_what_is_no_number(text: str) -> None:
    for distance in (NumericDistance(), OrderedDistance()):
        with pytest.raises(km.InputError, match=r"value number 2 .* is not a number"):
            distance.space(["1", text], WHERE)


@pytest.mark.parametrize("distance", [NumericDistance(), OrderedDistance()])
def test_numbers_are_read_as_people_write_them(distance: Any) -> None:
    """The same distances as of plain numbers, by the package and by the verifier."""
    plain = table_of(distance.space(["-1200", "0", "950.5", "20000"], WHERE))
    for written in (
        ["-1.200,00", "0", "950,5", "20.000"],
        ["−1,200", "0", "950.5", "20,000.0"],
        ["-$1,200", "$0", "$950.50", "$20,000"],
        ["-1 200 €", "0", "950,50 €", "20 000 €"],
        ["-12e2 %", "0 %", "+950.5%", "20'000 %"],
    ):
        assert table_of(distance.space(written, WHERE)) == plain
        (held,) = [way for way in [ground(distance).over(written, WHERE)] if isinstance(way, Line)]
        places = [Fraction(place, held.scale) for place in held.place]
        assert [[abs(a - b) for b in places] for a in places] == plain


@pytest.mark.parametrize("distance", [NumericDistance(), OrderedDistance()])
def test_thousands_or_decimals_are_asked_for_where_they_make_a_difference(distance: Any) -> None:
    same = distance.space(["1.234", "5.678", "3.456"], WHERE)
    assert table_of(same) == table_of(distance.space(["1234", "5678", "3456"], WHERE))
    assert ground(distance).over(["1.234", "5.678"], WHERE)
    for values, message in (
        (["1,234", "12"], "thousands or decimals"),
        (["27,4", "27.4"], "decimal comma and some a decimal point"),
        (["45 %", "0.45"], "several units"),
        (["$5", "€6"], "several units"),
    ):
        with pytest.raises(km.InputError, match=message):
            distance.space(values, WHERE)
        with pytest.raises(km.InputError, match=r"thousands or decimals|in two ways, or in several units"):
            ground(distance).over(values, WHERE)
    with pytest.raises(km.InputError, match=r"a missing one has no place among numbers; rank it in an order"):
        distance.space(["1", None], WHERE)


PATHS: dict[str | None, tuple[str | None, ...]] = {
    "flu": ("flu", "infection", "*"),
    "cold": ("cold", "infection", "*"),
    "cancer": ("cancer", "chronic", "*"),
    None: (None, "unknown", "*"),
}


def test_hierarchical_distance_is_the_height_of_the_first_common_ancestor() -> None:
    space = HierarchicalDistance(km.Hierarchy(PATHS)).space(["cancer", "cold", "flu", None], WHERE)
    half = Fraction(1, 2)
    assert table_of(space) == [[0, 1, 1, 1], [1, 0, half, 1], [1, half, 0, 1], [1, 1, 1, 0]]
    check_tree(space)


@st.composite
def hierarchies(draw: st.DrawFn) -> km.Hierarchy:
    """Three levels below the top; each label lies in one label of the next level."""
    middle = draw(st.lists(st.integers(0, 2), min_size=5, max_size=5))
    leaves = draw(st.lists(st.integers(0, 4), min_size=2, max_size=9))
    leaves += [middle.index(min(middle)), middle.index(max(middle))]
    paths = [(f"v{i}", f"m{m}", f"u{middle[m]}", "*") for i, m in enumerate(leaves)]
    if len({upper for *_, upper, _ in paths}) == 1:
        paths.append(("other", "m-other", "u-other", "*"))
    return km.Hierarchy.from_rows(paths)


@given(hierarchies(), st.data())
def test_hierarchical_distance_on_any_part_of_any_hierarchy(hierarchy: km.Hierarchy, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from(sorted(map(str, hierarchy.paths))), min_size=1, unique=True))
    space = HierarchicalDistance(hierarchy).space(values, WHERE)

    def definition(a: str, b: str) -> Fraction:
        """Height of the lowest ancestor-or-self that both have, over the height of the hierarchy."""
        common = set(hierarchy.paths[a]) & set(hierarchy.paths[b])
        return Fraction(min(hierarchy.paths[a].index(label) for label in common), 3)

    assert table_of(space) == [[definition(a, b) for b in values] for a in values]
    check_tree(space)


def test_a_hierarchy_of_one_value_is_no_distance() -> None:
    with pytest.raises(km.InputError, match="at least two values"):
        HierarchicalDistance(km.Hierarchy({"a": ("a", "*")}))


def test_a_hierarchy_whose_values_meet_early_is_no_normalized_distance() -> None:
    with pytest.raises(km.InputError, match="largest distance is below 1"):
        HierarchicalDistance(km.Hierarchy({"a": ("a", "all", "*"), "b": ("b", "all", "*")}))


def test_matrix_distance_takes_any_metric() -> None:
    space = MatrixDistance(["a", "b", "c"], [[0, "1/3", 1], ["1/3", 0, "2/3"], [1, "2/3", 0]]).space(["c", "a"], WHERE)
    assert table_of(space) == [[0, 1], [1, 0]]
    assert space.tree is None


@pytest.mark.parametrize(
    ("values", "matrix", "message"),
    [
        ("ab", [[0, 1]], "2 values need 2 rows, it has 1"),
        ("ab", [[0, 1], [1]], "row 2 has 1 entries"),
        ("aa", [[0, 1], [1, 0]], "entry 2 occurs twice"),
        ("ab", [[1, 1], [1, 0]], "value 1 to itself is 1, not 0"),
        ("ab", [[0, 1], ["1/2", 0]], "of values 1 and 2 differs from that of the reverse pair: 1 and 1/2"),
        ("ab", [[0, -1], [-1, 0]], "of values 1 and 2 is negative: -1"),
        (
            "abc",
            [[0, "1/4", 1], ["1/4", 0, "1/2"], [1, "1/2", 0]],
            r"triangle inequality fails for values 1, 2, 3: 1/4 \+ 1/2 < 1",
        ),
        (
            ["a", None, "b"],
            [[0, "1/4", 1], ["1/4", 0, "1/2"], [1, "1/2", 0]],
            "triangle inequality fails for values 1, 2, 3",
        ),
        (
            "abc",  # numbers of which whole multiples do not fit into 64 bits
            [[0, Fraction(1, 10**30), 1], [Fraction(1, 10**30), 0, "1/2"], [1, "1/2", 0]],
            "triangle inequality fails for values 1, 2, 3",
        ),
        ("ab", [[0, 2], [2, 0]], "largest distance must be 1, it is 2; divide all entries by 2"),
        ("ab", [[0, "2/3"], ["2/3", 0]], "it is 2/3; divide all entries by 2/3"),
        ("ab", [[0, 0], [0, 0]], "largest distance must be 1, it is 0"),
        ("", [], "largest distance must be 1, it is 0"),
        ("ab", [[0, 1 / 3], [1, 0]], "row 1, column 2: a float of more than 12 digits"),
        ("ab", [[0, 0.1], [1, 0]], "differs from that of the reverse pair: 1/10 and 1"),
        ("ab", [[0, 1], ["x", 0]], "row 2, column 1: an exact number"),
        ([1, 2], [[0, 1], [1, 0]], "entry 1 is a number; .* write them as text"),
    ],
)
def test_a_matrix_that_is_no_metric_is_refused(
    values: Sequence[str], matrix: list[list[int | str | Fraction]], message: str
) -> None:
    with pytest.raises(km.InputError, match=message):
        MatrixDistance(list(values), matrix)


@given(st.lists(st.integers(1, 6), min_size=6, max_size=6), st.sampled_from([1, 10**25]))
def test_a_matrix_is_refused_exactly_if_some_triple_breaks_the_triangle_inequality(
    sides: list[int], finer: int
) -> None:
    """finer: makes the whole numbers too large for 64 bits."""
    d = [[Fraction(0)] * 4 for _ in range(4)]
    for (i, j), side in zip(itertools.combinations(range(4), 2), sides, strict=True):
        d[i][j] = d[j][i] = Fraction(side * finer + (i == 0), 6 * finer + 1)
    largest = max(map(max, d))
    d = [[side / largest for side in row] for row in d]
    broken = [(i, j, k) for i, j, k in itertools.product(range(4), repeat=3) if d[i][j] + d[j][k] < d[i][k]]
    if not broken:
        assert table_of(MatrixDistance(list("abcd"), d).space("abcd", WHERE)) == d
        return
    with pytest.raises(km.InputError, match="triangle inequality") as error:
        MatrixDistance(list("abcd"), d)
    assert any("values {}, {}, {}: ".format(*(v + 1 for v in triple)) in str(error.value) for triple in broken)


def test_a_matrix_does_not_change_with_the_lists_that_it_was_made_of() -> None:
    values: list[str | None] = ["a", "b"]
    matrix: list[list[int]] = [[0, 1], [1, 0]]
    distance = MatrixDistance(values, matrix)
    values[0], matrix[0][1] = "c", 7
    assert distance == MatrixDistance(["a", "b"], [[0, 1], [1, 0]])
    assert hash(distance) == hash(MatrixDistance(("a", "b"), ((0, 1), (1, 0))))


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (OrderedDistance(), "number 1 of the sorted distinct values .text of 6 characters. is not a number"),
        (OrderedDistance(["x", "y"]), "has no rank in the order"),
        (NumericDistance(), "is not a number"),
        (HierarchicalDistance(km.Hierarchy(PATHS)), "is not covered"),
        (MatrixDistance(["x", "y"], [[0, 1], [1, 0]]), "is not in the distance matrix"),
    ],
)
def test_a_value_without_a_place_is_refused_without_printing_it(distance: GroundDistance, message: str) -> None:
    with pytest.raises(km.InputError, match=message) as error:
        distance.space(["secret", "x"], WHERE)
    assert "secret" not in str(error.value)
    assert str(error.value).startswith(WHERE)


def test_a_value_has_one_rank() -> None:
    with pytest.raises(km.InputError, match="entry 3 occurs twice"):
        OrderedDistance(["a", "b", "a"])
    with pytest.raises(km.InputError, match="entry 2 occurs twice"):
        OrderedDistance([None, None])


def test_an_order_is_a_list_of_texts() -> None:
    with pytest.raises(km.InputError, match="a list of values is expected, found text of 8 characters"):
        OrderedDistance("low,high")
    with pytest.raises(km.InputError, match=r"entry 1 is a number; .* write them as text"):
        OrderedDistance([1, 2])  # type: ignore[list-item]


ALL = [
    EqualDistance(),
    OrderedDistance(),
    OrderedDistance(["2", "1", "3"]),
    NumericDistance(),
    HierarchicalDistance(km.Hierarchy({"1": ("1", "*"), "2": ("2", "*")})),
    MatrixDistance(["1", "2"], [[0, 1], [1, 0]]),
]


@pytest.mark.parametrize("distance", ALL)
def test_one_value_is_at_distance_0_from_itself(distance: GroundDistance) -> None:
    space = distance.space(["1"], WHERE)
    assert space.distance(0, 0) == 0
    assert space.values == ("1",)
    assert space.scale >= 1
    if space.tree is not None:
        check_tree(space)


@pytest.mark.parametrize("distance", ALL)
def test_a_space_can_be_pickled(distance: GroundDistance) -> None:
    space = distance.space(["1", "2"], WHERE)
    assert table_of(pickle.loads(pickle.dumps(space))) == table_of(space)


@pytest.mark.parametrize(
    "distance",
    [
        EqualDistance(),
        OrderedDistance(),
        OrderedDistance([str(i) for i in range(20_000)]),
        NumericDistance(),
        HierarchicalDistance(km.Hierarchy({str(i): (str(i), f"{i % 2}?", "*") for i in range(20_000)})),
    ],
)
def test_long_lists_of_values_need_no_matrix(distance: GroundDistance) -> None:
    """A matrix of 20000 x 20000 distances would not be there in time, nor fit into memory."""
    space = distance.space([str(i) for i in range(20_000)], WHERE)
    assert Fraction(space.distance(0, 19_999), space.scale) == 1
    assert space.tree is not None
    assert len(space.tree.parent) <= 20_003


def test_files(tmp_path: Path) -> None:
    (tmp_path / "order.csv").write_text("value\nlow\nmid\nhigh\n")
    (tmp_path / "matrix.csv").write_text("d,low,mid,high\nlow,0,1/2,1\nmid,0.5,0,1\nhigh,1,1,0\n")
    (tmp_path / "hierarchy.csv").write_text("level0,level1,level2\nlow,ok,*\nmid,ok,*\nhigh,bad,*\n")
    values, half = ["high", "low", "mid"], Fraction(1, 2)
    found = {
        kind: table_of(ground_distance(f"{kind}:{kind}.csv", tmp_path).space(values, WHERE))
        for kind in ("order", "matrix", "hierarchy")
    }
    assert found["order"] == [[0, 1, half], [1, 0, half], [half, half, 0]]
    assert found["matrix"] == found["hierarchy"] == [[0, 1, 1], [1, 0, half], [1, half, 0]]


def test_an_empty_cell_of_a_file_stands_for_missing_values(tmp_path: Path) -> None:
    (tmp_path / "order.csv").write_text("value\nlow\n\nhigh\n")
    (tmp_path / "matrix.csv").write_text("d,low,,high\nlow,0,1/2,1\n,0.5,0,1\nhigh,1,1,0\n")
    (tmp_path / "hierarchy.csv").write_text("level0,level1,level2\nlow,ok,*\n,ok,*\nhigh,bad,*\n")
    values, half = ["high", "low", None], Fraction(1, 2)
    found = {
        kind: table_of(ground_distance(f"{kind}:{kind}.csv", tmp_path).space(values, WHERE))
        for kind in ("order", "matrix", "hierarchy")
    }
    assert found["order"] == [[0, 1, half], [1, 0, half], [half, half, 0]]
    assert found["matrix"] == found["hierarchy"] == [[0, 1, 1], [1, 0, half], [1, half, 0]]


def test_files_have_the_encoding_of_the_table_and_a_delimiter_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "matrix.csv").write_bytes("d;süß;x\nsüß;0;1\nx;1;0\n".encode("latin-1"))
    distance = ground_distance("matrix:matrix.csv", tmp_path, "latin-1")
    assert table_of(distance.space(["süß", "x"], WHERE)) == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        ("order", "value,more\nlow,1\n", 'one column with the header "value".*has 2 columns and is another'),
        ("order", "low\nmid\nhigh\n", "has 1 column and is another"),
        ("order", "value\nlow\nlow\n", "order.csv: entry 2 occurs twice"),
        ("matrix", "d,low,mid\nlow,0,1\nhigh,1,0\n", "first column must name the same values in the same order"),
        ("matrix", "d,low,mid\nlow,0,1\n", "first column must name the same values in the same order"),
        ("matrix", "low\nlow\n", "first column must name the same values in the same order"),
        ("matrix", "d,low,mid\nlow,0,\nmid,1,0\n", "matrix.csv: row 1, column 2: .* found empty text"),
        ("matrix", "d,low,mid\nlow,0,3\nmid,3,0\n", "matrix.csv: the largest distance must be 1, it is 3"),
        ("hierarchy", "level0,level1\nlow,all\n", "the last level"),
        ("hierarchy", "level0,level1,level2\nlow,all,*\nhigh,all,*\n", "hierarchy.csv: .* largest distance is below 1"),
    ],
)
def test_files_that_cannot_be_used(spec: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / f"{spec}.csv").write_text(text)
    with pytest.raises(km.InputError, match=message):
        ground_distance(f"{spec}:{spec}.csv", tmp_path)
    with pytest.raises(km.InputError, match="no such file"):
        ground_distance(f"{spec}:none.csv", tmp_path)


def test_distances_by_name() -> None:
    assert isinstance(ground_distance("equal"), EqualDistance)
    assert isinstance(ground_distance("ordered"), OrderedDistance)
    assert isinstance(ground_distance("numeric"), NumericDistance)
    distance = MatrixDistance(["a", "b"], [[0, 1], [1, 0]])
    assert ground_distance(distance) is distance


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("orderd", r'unknown ground distance "orderd" \(did you mean "ordered"\?\)'),
        ("matrx:d.csv", r'\(did you mean "matrix:FILE"\?\)'),
        ("equal:d.csv", 'unknown ground distance "equal:d.csv"'),
        ("matrix", r'\(did you mean "matrix:FILE"\?\)'),
        (3, "found number"),
    ],
)
def test_unknown_distances(spec: str, message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        ground_distance(spec)


NESTED: dict[str | None, tuple[str | None, ...]] = {
    "a": ("a", "ab", "left", "*"),
    "b": ("b", "ab", "left", "*"),
    "c": ("c", "c+", "left", "*"),
    "d": ("d", "d+", "right", "*"),
    "e": ("e", "d+", "right", "*"),
}


def random_metric(count: int, seed: int) -> MatrixDistance:
    """Shortest paths over random lengths, scaled to a maximum of 1."""
    draw = random.Random(seed)
    d = [[Fraction(draw.randint(1, 12)) for _ in range(count)] for _ in range(count)]
    for i, j in itertools.product(range(count), repeat=2):
        d[i][j] = Fraction(0) if i == j else d[min(i, j)][max(i, j)]
    for k, i, j in itertools.product(range(count), repeat=3):
        d[i][j] = min(d[i][j], d[i][k] + d[k][j])
    largest = max(map(max, d))
    return MatrixDistance([chr(97 + i) for i in range(count)], [[cell / largest for cell in row] for row in d])


def by_linear_program(space: Space, p: list[int], q: list[int]) -> float:
    count = len(p)
    cost = [space.distance(i, j) / space.scale for i in range(count) for j in range(count)]
    rows = [np.kron(np.eye(count)[i], np.ones(count)) for i in range(count)]
    columns = [np.kron(np.ones(count), np.eye(count)[j]) for j in range(count)]
    masses = [x / sum(p) for x in p] + [x / sum(q) for x in q]
    solved = scipy.optimize.linprog(cost, A_eq=np.array(rows + columns), b_eq=masses)
    assert solved.fun is not None
    return float(solved.fun)


@pytest.fixture
def pycanon() -> Any:
    """Another library, which pins old releases of numpy and typer: it is no dependency."""
    return pytest.importorskip("pycanon.anonymity", reason="needs pip install --no-deps pycanon")


COUNTS = st.lists(st.integers(0, 6), min_size=5, max_size=5).filter(any)


@given(COUNTS, COUNTS, st.integers(0, 10**6), st.permutations(["-3", "0.5", "1", "2", "10/3"]))
@settings(max_examples=examples(30, 3))
def test_all_ways_agree(p: list[int], q: list[int], seed: int, numbers: list[str]) -> None:
    spaces = [
        distance.space(list("abcde"), "test")
        for distance in (
            EqualDistance(),
            OrderedDistance(list("xeadcby")),
            HierarchicalDistance(km.Hierarchy(NESTED)),
            random_metric(5, seed),
        )
    ]
    for space in (*spaces, NumericDistance().space(numbers, "test"), OrderedDistance().space(numbers, "test")):
        found = emd(space, p, q)
        assert found == emd_by_flow(space, p, q) == emd(space, q, p)
        assert float(found) == pytest.approx(by_linear_program(space, p, q), abs=1e-9)
        assert 0 <= found <= 1
        assert (found == 0) == ([x * sum(q) for x in p] == [x * sum(p) for x in q])


@given(COUNTS, COUNTS, COUNTS, st.integers(0, 10**6))
@settings(max_examples=examples(30, 3))
def test_it_is_a_metric_and_convex(p: list[int], q: list[int], r: list[int], seed: int) -> None:
    """Convexity is why t-closeness survives the union of two groups."""
    space = random_metric(5, seed).space(list("abcde"), "test")
    assert emd(space, p, r) <= emd(space, p, q) + emd(space, q, r)
    union = [a + b for a, b in zip(p, q, strict=True)]
    assert emd(space, union, r) <= max(emd(space, p, r), emd(space, q, r))


def test_single_values_are_at_their_ground_distance() -> None:
    metric = random_metric(6, 3)
    space = metric.space(list("abcdef"), "test")
    unit = [[int(i == j) for j in range(6)] for i in range(6)]
    for i, j in itertools.product(range(6), repeat=2):
        assert emd(space, unit[i], unit[j]) == Fraction(metric.matrix[i][j])


def test_numbers_of_any_size_stay_exact() -> None:
    """Counts from arrays of 64 bits, whose products would overflow, and distances beyond them."""
    tiny = Fraction(1, 3 * 10**30)
    p, q = (np.array([2**40, 2**40 + more], dtype=np.int64) for more in (1, 3))
    expected = Fraction(2**40, 2**41 + 1) - Fraction(2**40, 2**41 + 3)
    for distance in (EqualDistance(), MatrixDistance(["a", "b"], [[0, 1], [1, 0]])):
        space = distance.space(["a", "b"], "test")
        assert emd(space, p, q) == expected  # type: ignore[arg-type]
    metric = MatrixDistance(["a", "b", "c"], [[0, tiny, 1], [tiny, 0, 1], [1, 1, 0]]).space(["a", "b", "c"], "test")
    assert emd(metric, [2, 1, 0], [1, 2, 0]) == tiny / 3


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([1], "2 values need as many counts, found 1"),
        ([1, 1, 1], "2 values need as many counts, found 3"),
        ([0, 0], "some must be positive"),
        ([2, -1], "must not be negative"),
    ],
)
def test_counts_that_are_no_distribution(p: list[int], message: str) -> None:
    for distance in (EqualDistance(), MatrixDistance(["a", "b"], [[0, 1], [1, 0]])):
        space = distance.space(["a", "b"], "test")
        for first, second in ((p, [1, 1]), ([1, 1], p), (p, p)):
            for judge in (emd, emd_by_flow):
                with pytest.raises(ValueError, match=message):
                    judge(space, first, second)


def test_salaries_of_the_t_closeness_paper() -> None:
    """Li, Li, Venkatasubramanian 2007: 3k to 11k in the table; 0.375 and 0.167."""
    space = OrderedDistance().space([str(1000 * x) for x in range(3, 12)], "salary")
    table = [1] * 9
    assert emd(space, [1, 1, 1, 0, 0, 0, 0, 0, 0], table) == Fraction(3, 8)
    assert emd(space, [0, 0, 0, 1, 0, 1, 0, 0, 1], table) == Fraction(1, 6)


def test_classes_of_table_5() -> None:
    """Liang, Yuan 2013: the partition of Table 5 is 0.1-close."""
    space = EqualDistance().space(["Cancer", "Heart Disease", "Viral Infection"], "disease")
    table = [4, 3, 3]
    groups = [[1, 1, 1], [2, 1, 1], [1, 1, 1]]
    assert [emd(space, group, table) for group in groups] == [Fraction(1, 15), Fraction(1, 10), Fraction(1, 15)]


def random_frame(draw: random.Random, secrets: Sequence[object]) -> pd.DataFrame:
    """Twelve rows with at least two different secrets: with one the other library divides by 0."""
    drawn = [*secrets[:2], *draw.choices(secrets, k=10)]
    return pd.DataFrame({"q": draw.choices("xyz", k=12), "r": draw.choices("uv", k=12), "s": drawn})


def worst(frame: pd.DataFrame, distance: GroundDistance) -> Fraction:
    values = sorted(set(frame["s"]))
    space = distance.space([str(value) for value in values], "s")
    table = Counter(frame["s"])
    groups = [Counter(group["s"]) for _, group in frame.groupby(["q", "r"])]
    return max(emd(space, [group[v] for v in values], [table[v] for v in values]) for group in groups)


def test_the_other_library_agrees_on_equal_distance(pycanon: Any) -> None:
    """For text it takes half the sum of the differences, which is Fact 1 of Liang, Yuan 2013."""
    draw = random.Random(7)
    for _ in range(8):
        frame = random_frame(draw, "abcd")
        theirs = pycanon.t_closeness(frame, ["q", "r"], ["s"])
        assert float(worst(frame, EqualDistance())) == pytest.approx(theirs, abs=1e-12)


def test_the_other_library_agrees_on_ordered_distance(pycanon: Any) -> None:
    """For numbers it sums cumulative differences over the values of the whole table and divides by V - 1.

    That counts ranks, whatever the numbers are: it is ordered distance without an order, not numeric distance, and not
    an order with values that the table lacks.
    """
    draw = random.Random(8)
    for _ in range(8):
        frame = random_frame(draw, [-1, 2, 3, 50])
        theirs = pycanon.t_closeness(frame, ["q", "r"], ["s"])
        assert float(worst(frame, OrderedDistance())) == pytest.approx(theirs, abs=1e-12)
    skewed = pd.DataFrame({"q": list("xxy"), "r": list("uuu"), "s": [0, 1, 10]})
    assert worst(skewed, OrderedDistance()) == Fraction(1, 2)
    assert pycanon.t_closeness(skewed, ["q", "r"], ["s"]) == pytest.approx(1 / 2)
    assert worst(skewed, NumericDistance()) == Fraction(19, 30)
