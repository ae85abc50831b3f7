"""The checker's search for what a group costs least with rank-1 cuts: against all groups one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

from certificate_cases import best_loss, certificate, claimed_rows, drawn_cuts
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import Case, cases

from kanon_milp.verify import certificate as checker
from kanon_milp.verify.certificate import check_certificate
from kanon_milp.verify.dual import dual_value
from kanon_milp.verify.rank_one import GroupProblem, Row

Cut = tuple[list[int], list[int], int, int]  # a rank-1 cut: distinct rows, weights, denominator, multiplier


# --------------------------------------------------------------------------------------- one group


def cheapest(
    reduced: Sequence[int], copies: Sequence[int], least: int, cuts: Sequence[Cut], fixed: int = 0
) -> int | None:
    """The least cost of a group, from all groups."""
    costs = []
    for group in itertools.product(*(range(n + 1) for n in copies)):
        if sum(group) >= least:
            charged = sum(each * (sum(p * group[i] for i, p in zip(rows, ps, strict=True)) // d)
                          for rows, ps, d, each in cuts)  # fmt: skip
            costs.append(fixed + charged + sum(c * a for c, a in zip(reduced, group, strict=True)))
    return min(costs, default=None)


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[int], list[int], int, list[Cut], int]:
    copies = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    reduced = sorted(draw(st.lists(st.integers(-9, 6), min_size=len(copies), max_size=len(copies))))
    cuts = draw(st.lists(drawn_cuts(len(copies), 12), max_size=3))
    return reduced, copies, draw(st.integers(1, 6)), cuts, draw(st.integers(0, 3))


def as_problem(reduced: Sequence[int], copies: Sequence[int], least: int, cuts: Sequence[Cut]) -> GroupProblem:
    parts = [[(r, ps[rows.index(i)]) for r, (rows, ps, *_) in enumerate(cuts) if i in rows] for i in range(len(copies))]
    return GroupProblem(
        tuple(Row(c, n, tuple(p)) for c, n, p in zip(reduced, copies, parts, strict=True) if p),
        tuple((c, n) for c, n, p in zip(reduced, copies, parts, strict=True) if not p),
        tuple((each, d) for _, _, d, each in cuts),
        least,
    )


@given(groups())
@example(([-1, 0, 2], [3, 2, 3], 2, [([2], [1], 4, 4), ([2], [3], 3, 1), ([1, 2], [3, 2], 3, 4)], 0))
@settings(max_examples=examples(200, 16))
def test_the_search_finds_the_cheapest_group(drawn: tuple[list[int], list[int], int, list[Cut], int]) -> None:
    reduced, copies, least, cuts, fixed = drawn
    best = cheapest(reduced, copies, least, cuts, fixed)
    expected = min(best or 0, 0)
    asked = as_problem(reduced, copies, least, cuts)
    found, nodes = asked.below_zero(fixed)
    assert found == expected
    for limit in range(nodes):  # what is given up proves less, never more
        less, taken = asked.below_zero(fixed, limit)
        assert taken <= limit
        assert min(cheapest(reduced, copies, least, [], fixed) or 0, 0) <= less <= expected


# --------------------------------------------------------------------------------------- the whole bound


def lagrangian_value(
    case: Case,
    multipliers: Sequence[int],
    denominator: int,
    cuts: Sequence[Cut],
    counts: Sequence[tuple[set[int], int]],
) -> int:
    """L times the denominator, from the definition: all level vectors, all they release, all groups of it."""
    columns = range(len(case.rows[0]))
    kinds = sorted(set(case.rows), key=lambda row: [(value is None, value or "") for value in row])
    copies = [case.rows.count(kind) for kind in kinds]
    paths = [case.hierarchies.get(j, {row[j]: (row[j], "*") for row in kinds}) for j in columns]
    heights = [len(next(iter(paths[j].values()))) - 1 for j in columns]
    vectors = sorted(case.vectors or itertools.product(*(range(h + 1) for h in heights)))

    def cell(j: int, row: int, level: int) -> Fraction:
        given = case.level_costs.get(j, [Fraction(x, heights[j]) for x in range(heights[j] + 1)])
        found = given.get(paths[j][kinds[row][j]][level], 0) if isinstance(given, Mapping) else given[level]
        return Fraction(found) * case.weights[j]

    def cost(v: int, row: int) -> Fraction:
        return sum((cell(j, row, vectors[v][j]) for j in columns), Fraction(0))

    every = range(len(kinds))
    costs = [cost(v, row) for v in range(len(vectors)) for row in every]
    if any(isinstance(given, Mapping) for given in case.level_costs.values()):
        costs = [cell(j, row, level) for j in columns for row in every for level in range(heights[j] + 1)]
    common = math.lcm(*(each.denominator for each in costs))
    unit = math.gcd(*(int(each * common) for each in costs)) or 1
    released = [[tuple(paths[j][row[j]][vector[j]] for j in columns) for row in kinds] for vector in vectors]
    exempt = case.suppressed_rows == "exempt"
    sizes = [1 if exempt and list(vector) == heights else case.k for vector in vectors]
    total = sum(n * each for n, each in zip(copies, multipliers, strict=True))
    total -= sum(each * (sum(p * copies[i] for i, p in zip(rows, ps, strict=True)) // d) for rows, ps, d, each in cuts)

    for inside, each in counts:
        nested = [size for size, vector in zip(sizes, vectors, strict=True)
                  if len(inside) == len(kinds) or list(vector) != heights]  # fmt: skip
        total -= each * (sum(copies[i] for i in inside) // min(nested, default=1))

    def place(v: int, cover: Sequence[int]) -> tuple[Fraction, int, int]:
        size = sum(copies[i] for i in range(len(kinds)) if released[v][i] == released[v][cover[0]])
        return cost(v, cover[0]), -size, v

    for v in range(len(vectors)):
        for label in sorted(set(released[v]), key=str):
            cover = [i for i in range(len(kinds)) if released[v][i] == label]
            if any(
                len({released[u][i] for i in cover}) == 1 and sizes[u] <= sizes[v] and place(u, cover) < place(v, cover)
                for u in range(len(vectors))
            ):
                continue
            at = {i: position for position, i in enumerate(cover)}
            cut = [
                ([at[i] for i in rows if i in at], [p for i, p in zip(rows, ps, strict=True) if i in at], d, each)
                for rows, ps, d, each in cuts
            ]
            fixed = sum(each for inside, each in counts if inside.issuperset(cover))
            reduced = [int(cost(v, i) * common / unit) * denominator - multipliers[i] for i in cover]
            total += min(cheapest(reduced, [copies[i] for i in cover], sizes[v], cut, fixed) or 0, 0)
    return total


@given(cases(max_rows=6, sides=False), st.data())
@settings(max_examples=examples(60, 6))
def test_it_is_what_the_definition_says_and_below_the_optimum(case: Case, data: st.DataObject) -> None:
    asked = case.problem()
    count = len(set(case.rows))
    denominator = data.draw(st.integers(1, 3))
    multipliers = data.draw(st.lists(st.integers(-2, 15), min_size=count, max_size=count))
    cuts = data.draw(st.lists(drawn_cuts(count, 9), min_size=1, max_size=4))
    counts = data.draw(
        st.lists(st.tuples(st.sets(st.integers(0, count - 1), min_size=1), st.integers(1, 9)), max_size=2)
    )
    claim = claimed(asked, multipliers, denominator, cuts)
    claim["counting_rows"] = [{"rows": sorted(rows), "multiplier": each} for rows, each in counts]
    seen: list[int] = []

    def value(*given: Any) -> int:
        seen.append(real(*given))
        return seen[0]

    real = dual_value
    with mock.patch.object(checker, "dual_value", value):
        report = check_certificate(asked, claim)
    assert seen == [lagrangian_value(case, multipliers, denominator, cuts, counts)]
    assert report.valid
    best = best_loss(case)
    assert best is None or report.bound <= best


def claimed(asked: Any, multipliers: Sequence[int], denominator: int, cuts: Sequence[Cut]) -> dict[str, Any]:
    """A certificate by hand, that claims nothing."""
    empty = certificate(asked, multipliers=[0] * len(multipliers)).as_dict()
    return {
        **empty,
        "multipliers": multipliers,
        "denominator": denominator,
        "rank_one_rows": claimed_rows(cuts),
        "bound": "0",
    }
