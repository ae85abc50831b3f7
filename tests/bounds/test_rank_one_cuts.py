"""Rank-1 cuts hold for every way to divide the rows into groups, and do what plain dictionaries do.

Rank-1 cuts that are found are violated, and none with two or three row types is missed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import optimum
from scipy.optimize import linprog
from strategies import Case, cases, reduced

import kanon_milp as km
from kanon_milp.bounds.parameters import SeparationParameters
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts, separate
from kanon_milp.errors import InputError
from kanon_milp.formulations.groups import build_groups, enumerate_groups
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit

Row = tuple[list[int], list[int], int]

# weights and denominator of |R| = 3, 4 and 5
FAMILIES: tuple[tuple[tuple[int, ...], int], ...] = (
    ((1, 1, 1), 2),
    ((2, 1, 1, 1), 3),
    ((1, 1, 1, 1, 1), 3),
    ((2, 2, 1, 1, 1), 5),
    ((1, 1, 1, 1, 1), 2),
    ((2, 2, 1, 1, 1), 3),
    ((3, 1, 1, 1, 1), 4),
    ((3, 2, 2, 1, 1), 5),
)


def partitions(counts: Sequence[int]) -> Iterator[list[Counter[int]]]:
    """Every way to divide copies of row types into groups: each copy joins a group that is there, or begins one.

    All of them, whatever is asked of groups; some come several times.
    """
    rows = [i for i, n in enumerate(counts) for _ in range(n)]

    def place(at: int, groups: list[Counter[int]]) -> Iterator[list[Counter[int]]]:
        if at == len(rows):
            yield groups
            return
        for group in groups:
            group[rows[at]] += 1
            yield from place(at + 1, groups)
            group[rows[at]] -= 1
        yield from place(at + 1, [*groups, Counter([rows[at]])])

    return place(0, [])


def sides(row: Row, counts: Sequence[int]) -> tuple[set[int], int]:
    """The values that the left side has over all partitions, and the right side, in fractions of 1/d."""
    types, weights, denominator = row
    p = {i: Fraction(weight, denominator) for i, weight in zip(types, weights, strict=True)}
    left = {
        sum(int(sum((p[i] * group[i] for i in p), Fraction(0)) // 1) for group in groups)
        for groups in partitions(counts)
    }
    return left, int(sum(p[i] * counts[i] for i in p) // 1)


@pytest.mark.parametrize(("weights", "denominator"), FAMILIES, ids=str)
@pytest.mark.parametrize("others", [0, 2])
def test_each_family_holds_for_every_partition(weights: tuple[int, ...], denominator: int, others: int) -> None:
    size = len(weights)
    counts = [1] * (size + others)
    types = list(range(others, size + others))
    rows = RankOneCuts.of([(types, weights, denominator)])
    left, right = sides((types, list(weights), denominator), counts)
    assert rows.limits(np.array(counts)).tolist() == [right]
    assert max(left) == right  # so the right side cannot be smaller
    for groups in itertools.islice(partitions(counts), 0, None, 7):
        assert sum(coefficient(rows, group) for group in groups) <= right


@pytest.mark.parametrize(("weights", "denominator"), FAMILIES, ids=str)
@pytest.mark.parametrize("extra", [(0,), (1,), (0, 1), (0, 0), (-1, 0)])
def test_each_family_holds_where_row_types_have_several_rows(
    weights: tuple[int, ...], denominator: int, extra: tuple[int, ...]
) -> None:
    counts = [1] * len(weights)
    for i in extra:
        counts[i] += 1
    left, right = sides((list(range(len(weights))), list(weights), denominator), counts)
    rows = RankOneCuts.of([(range(len(weights)), weights, denominator)])
    assert rows.limits(np.array(counts)).tolist() == [right]
    assert max(left) <= right


@st.composite
def drawn_rows(draw: st.DrawFn, types: int, most: int = 4) -> list[Row]:
    """Up to so many rows over some of the row types, families and others, row types in any order."""
    found: list[Row] = []
    fitting = [family for family in FAMILIES if len(family[0]) <= types]
    for _ in range(draw(st.integers(0, most))):
        chosen: Sequence[int]
        if draw(st.booleans()) and fitting:
            weights, denominator = draw(st.sampled_from(fitting))
            chosen = draw(st.permutations(range(types)))[: len(weights)]
        else:
            chosen = draw(st.lists(st.integers(0, types - 1), min_size=1, max_size=types, unique=True))
            weights = tuple(draw(st.lists(st.integers(1, 6), min_size=len(chosen), max_size=len(chosen))))
            denominator = draw(st.integers(1, 7))
        found.append((list(chosen), list(weights), denominator))
    return found


@given(st.data(), st.lists(st.integers(1, 3), min_size=1, max_size=5).filter(lambda counts: sum(counts) <= 7))
@settings(max_examples=examples(40, 5))
def test_any_rows_hold_for_every_partition(data: st.DataObject, counts: list[int]) -> None:
    given_rows = data.draw(drawn_rows(len(counts)))
    limits = RankOneCuts.of(given_rows).limits(np.array(counts, dtype=np.int64)).tolist()
    for row, limit in zip(given_rows, limits, strict=True):
        left, right = sides(row, counts)
        assert limit == right
        assert max(left) <= right


# -------------------------------------------------------------------------------- arrays as plain dictionaries do it


def dumb(given_rows: list[Row]) -> list[tuple[dict[int, int], int]]:
    return [(dict(zip(types, weights, strict=True)), denominator) for types, weights, denominator in given_rows]


def read(rows: RankOneCuts) -> list[tuple[dict[int, int], int]]:
    for types, _, _ in rows.each():
        assert types == sorted(types)
    assert rows.types.indptr.dtype == rows.weights.dtype == rows.denominators.dtype == np.int64
    assert rows.types.values.dtype == np.int32
    assert rows.count == len(rows.each())
    return dumb(rows.each())


def coefficient(rows: RankOneCuts, group: Counter[int]) -> int:
    """Of a group in the only row."""
    types = sorted(i for i in group if group[i])
    (found,) = coefficients(rows, types, [group[i] for i in types])
    return found


def coefficients(rows: RankOneCuts, types: Sequence[int], copies: Sequence[int]) -> list[int]:
    """Of a group in every row."""
    inside = dict(zip(types, copies, strict=True))
    return [sum(p[i] * inside.get(i, 0) for i in p) // d for p, d in dumb(rows.each())]


@given(st.data(), st.integers(1, 6))
@settings(max_examples=examples(60, 6))
def test_rows_read_back_and_by_type(data: st.DataObject, types: int) -> None:
    given_rows = data.draw(drawn_rows(types))
    rows = RankOneCuts.of(given_rows)
    assert read(rows) == dumb(given_rows)
    begins, row, weight, _ = rows.by_type(types)
    assert len(begins) == types + 1
    found = [
        dict(zip(row[a:b].tolist(), weight[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(begins.tolist())
    ]
    assert found == [{r: p[i] for r, (p, _) in enumerate(dumb(given_rows)) if i in p} for i in range(types)]


@given(st.data(), st.integers(1, 6))
@settings(max_examples=examples(60, 6))
def test_some_of_the_rows_and_more_rows(data: st.DataObject, types: int) -> None:
    first, second = data.draw(drawn_rows(types)), data.draw(drawn_rows(types))
    rows = RankOneCuts.of(first)
    keep = data.draw(st.lists(st.booleans(), min_size=len(first), max_size=len(first)))
    kept = [row for row, wanted in zip(first, keep, strict=True) if wanted]
    assert read(rows.subset(np.array(keep, dtype=bool))) == dumb(kept)
    joined = rows.joined(RankOneCuts.of(second))
    assert read(joined) == dumb(first + second)
    assert read(rows.subset(np.array(keep, dtype=bool)).joined(NO_CUTS)) == dumb(kept)
    assert read(NO_CUTS.joined(rows)) == dumb(first)
    assert read(joined.subset(np.arange(joined.count) >= len(first))) == dumb(second)


@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=6))
@settings(max_examples=examples(60, 6))
def test_limits(data: st.DataObject, counts: list[int]) -> None:
    given_rows = data.draw(drawn_rows(len(counts)))
    rows = RankOneCuts.of(given_rows)
    limits = [sum(p[i] * counts[i] for i in p) // d for p, d in dumb(given_rows)]
    assert rows.limits(np.array(counts, dtype=np.int64)).tolist() == limits


def test_there_may_be_no_rows() -> None:
    assert NO_CUTS.count == 0
    assert NO_CUTS.each() == []
    assert NO_CUTS.limits(np.array([2, 3])).tolist() == []
    assert NO_CUTS.by_type(2)[0].tolist() == [0, 0, 0]
    assert NO_CUTS.mapped(2, lambda values: values).count == 0


def test_weights_and_denominators_are_positive() -> None:
    for bad in (([0], [0], 1), ([0], [-1], 2), ([0], [1], 0)):
        with pytest.raises(InputError, match="must be positive"):
            RankOneCuts.of([bad])


@given(cases(sides=False), st.data())
@settings(max_examples=examples(50, 5))
def test_over_row_types_that_were_merged_they_say_the_same(case: Case, data: st.DataObject) -> None:
    prepared = presolve(case.problem(), Clock(), merge=True)
    merged, before = prepared.instance.types, prepared.before.types
    given_rows = data.draw(drawn_rows(merged.count))
    rows = RankOneCuts.of(given_rows)
    split = rows.mapped(merged.count, prepared.restore_values)
    # number of the merged type of each row type, by what restores values
    merged_type = prepared.restore_values(np.arange(merged.count)).tolist()
    assert read(split) == [
        ({i: p[into] for i, into in enumerate(merged_type) if into in p}, d) for p, d in dumb(given_rows)
    ]
    assert split.limits(before.counts).tolist() == rows.limits(merged.counts).tolist()
    copies = [data.draw(st.integers(0, n)) for n in before.counts.tolist()]
    together: Counter[int] = Counter()
    for into, taken in zip(merged_type, copies, strict=True):
        together[into] += taken
    expected = coefficients(rows, list(together), list(together.values()))
    assert coefficients(split, range(len(copies)), copies) == expected


# --------------------------------------------------------------------------- with the set-partitioning formulation


def with_rows(instance: Instance, groups: Groups, rows: RankOneCuts) -> pyo.ConcreteModel:
    """The set-partitioning model with these rows over its groups."""
    model = build_groups(instance)
    model.rank_one = pyo.ConstraintList()
    each = [coefficients(rows, types, copies) for _, types, copies in groups.each()]
    for r, limit in enumerate(rows.limits(instance.types.counts).tolist()):
        terms = [of_group[r] * model.use[c] for c, of_group in enumerate(each) if of_group[r]]
        if terms:
            model.rank_one.add(sum(terms) <= limit)
    return model


def least(model: pyo.ConcreteModel, *, whole: bool) -> float | None:
    linear = to_arrays(model).linear
    integer = linear.integer if whole else np.zeros_like(linear.integer)
    return get("highs").solve(replace(linear, integer=integer), SolverOptions(absolute_gap=0.5)).objective


@given(cases(max_rows=7, sides=False), st.data())
@settings(max_examples=examples(40, 5))
def test_they_keep_the_optimum_and_never_lower_the_bound(case: Case, data: st.DataObject) -> None:
    instance = reduced(case.problem())
    best = optimum(case.rows, case.k, **case.judged())
    if best is None or set(instance.candidates.members.tolist()) != set(range(instance.types.count)):
        return
    groups = enumerate_groups(instance)
    rows = RankOneCuts.of(data.draw(drawn_rows(instance.types.count)))
    model = with_rows(instance, groups, rows)
    found, bound, plain = (
        least(model, whole=True),
        least(model, whole=False),
        least(build_groups(instance), whole=False),
    )
    assert found is not None
    assert Fraction(round(found)) * instance.levels.unit == best
    assert bound is not None
    assert plain is not None
    assert plain - 1e-6 <= bound <= found + 1e-6


def test_three_rows_with_one_half_each_close_the_gap_of_a_triangle() -> None:
    # any two rows agree in one column; half of each pair is a fractional solution of loss 6, each table loses 9
    rows = [("a", "x", "-"), ("a", "?", "y"), ("!", "x", "y")]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["p", "q", "r"], orient="row"), ["p", "q", "r"])
    instance = reduced(km.Problem(table, [km.KAnonymity(2)]))
    groups = enumerate_groups(instance)
    assert least(build_groups(instance), whole=False) == pytest.approx(6)
    triple = RankOneCuts.of([([0, 1, 2], [1, 1, 1], 2)])
    assert least(with_rows(instance, groups, triple), whole=False) == pytest.approx(9)
    assert least(with_rows(instance, groups, triple), whole=True) == pytest.approx(9)


Solution = tuple[list[int], list[dict[int, int]], list[float]]  # rows of row types, groups, how often each is used
MANY = 10**6


def packed(groups: list[dict[int, int]]) -> Groups:
    rows = [[i for i, a in group.items() for _ in range(a)] for group in groups]
    return Groups.of_rows(
        np.arange(len(rows)),
        np.array([len(each) for each in rows], dtype=np.int64),
        np.array([i for each in rows for i in each], dtype=np.int64),
    )


def violation(row: tuple[Any, Any, int], solution: Solution) -> float:
    """Left side less right side, group by group."""
    counts, groups, share = solution
    types, weights, d = row
    p = {i: Fraction(weight, d) for i, weight in zip(types, weights, strict=True)}
    left = 0.0
    for group, each in zip(groups, share, strict=True):
        left += math.floor(sum((p[i] * group.get(i, 0) for i in p), Fraction(0))) * each
    return left - math.floor(sum((p[i] * counts[i] for i in p), Fraction(0)))


def found_in(
    solution: Solution, most: int, touching: int = SeparationParameters.touching, known: RankOneCuts = NO_CUTS
) -> list[tuple[list[int], list[int], int]]:
    (counts, groups, share), params = solution, SeparationParameters(touching=touching)
    rows = np.array(counts, dtype=np.int64)
    return separate(packed(groups), np.array(share), rows, most, known, params=params).each()


def vertex(counts: list[int], groups: list[dict[int, int]], cost: list[int]) -> Solution:
    """Groups that hold each row once, at least cost; single rows are dear."""
    alone = [{i: 1} for i in range(len(counts))]
    every = groups + alone
    matrix = [[group.get(i, 0) for group in every] for i in range(len(counts))]
    found = linprog([*cost, *[50] * len(alone)], A_eq=matrix, b_eq=counts)
    assert found.status == 0
    assert found.x is not None
    return counts, every, found.x.tolist()


@st.composite
def solutions(draw: st.DrawFn, most_types: int = 8, most_copies: int = 3) -> Solution:
    """Vertices of the linear program over groups of two to four rows."""
    sometimes = st.sampled_from([1, 1, 1, *range(2, most_copies + 1)])
    counts = draw(st.lists(sometimes, min_size=3, max_size=most_types))
    rows = [i for i, n in enumerate(counts) for _ in range(n)]
    places = st.lists(st.integers(0, len(rows) - 1), min_size=2, max_size=4, unique=True)
    groups = []
    for each in draw(st.lists(places, min_size=3, max_size=20)):
        inside = [rows[place] for place in each]
        groups.append({i: inside.count(i) for i in inside})
    cost = draw(st.lists(st.integers(1, 9), min_size=len(groups), max_size=len(groups)))
    return vertex(counts, groups, [c + 5 * sum(g.values()) for c, g in zip(cost, groups, strict=True)])


# of two or three row types groups for each pair: half of each is the cheapest
PAIRS: list[dict[int, int]] = [{0: 1, 1: 1}, {0: 1, 2: 1}, {1: 1, 2: 1}]
TRIANGLE = ([1, 1, 1], PAIRS, [0.5, 0.5, 0.5])


@given(solutions(), st.integers(1, 30))
@settings(max_examples=examples(60, 6))
def test_what_is_found_is_violated_and_new(solution: Solution, most: int) -> None:
    rows = found_in(solution, most)
    assert len(rows) <= most
    keys = [(tuple(types), tuple(weights), d) for types, weights, d in rows]
    assert len(set(keys)) == len(keys)
    for types, weights, d in rows:
        assert violation((types, weights, d), solution) > SeparationParameters.least_violation - 1e-6
        assert 0 < min(weights) <= max(weights) < d
        assert math.gcd(d, *weights) == 1
    for i in range(len(solution[0])):
        assert sum(i in types for types, _, _ in rows) <= SeparationParameters.touching
    # known ones are not found again
    again = found_in(solution, most, known=RankOneCuts.of(rows))
    assert not {(tuple(types), tuple(weights), d) for types, weights, d in again} & set(keys)


@given(solutions())
@settings(max_examples=examples(60, 6))
def test_all_violated_rows_of_up_to_three_row_types_with_one_half_each(solution: Solution) -> None:
    found = {tuple(types) for types, weights, d in found_in(solution, MANY, MANY) if d == 2 and set(weights) == {1}}
    by = {
        chosen: violation((chosen, [1] * size, 2), solution)
        for size in (1, 2, 3)
        for chosen in itertools.combinations(range(len(solution[0])), size)
    }
    for chosen, over in by.items():
        if over > SeparationParameters.least_violation + 1e-6 and chosen not in found:
            # it may follow from a single row type and the others
            splits = [((i,), tuple(j for j in chosen if j != i)) for i in chosen]
            assert any(over <= max(by[one], 0) + max(by[rest], 0) + 1e-6 for one, rest in splits if rest)
    for chosen in found:
        if len(chosen) <= 3:
            assert by[chosen] > SeparationParameters.least_violation - 1e-6


@given(solutions(most_copies=1))
@settings(max_examples=examples(60, 6))
def test_of_single_rows_all_violated_triples(solution: Solution) -> None:
    rows = found_in(solution, MANY, MANY)
    triples = itertools.combinations(range(len(solution[0])), 3)
    violated = {
        each
        for each in triples
        if violation((each, (1, 1, 1), 2), solution) > SeparationParameters.least_violation + 1e-6
    }
    assert violated <= {tuple(types) for types, weights, d in rows if d == 2}


@given(solutions())
@settings(max_examples=examples(60, 6))
def test_steps_of_the_search_change_nothing(solution: Solution) -> None:
    (counts, groups, share), step = solution, SeparationParameters(at_once=1)
    task = packed(groups), np.array(share), np.array(counts, dtype=np.int64), MANY, NO_CUTS, None
    assert separate(*task, step).each() == separate(*task).each()


def test_a_limit_leaves_out_what_comes_after_it() -> None:
    counts, groups = (
        [1] * 6,
        [{i: 1, j: 1} for first in (0, 3) for i, j in itertools.combinations(range(first, first + 3), 2)],
    )
    task = (
        packed(groups),
        np.full(6, 0.5),
        np.array(counts, dtype=np.int64),
        10,
        NO_CUTS,
        None,
        SeparationParameters(at_once=1),
    )
    assert {tuple(types) for types, _, _ in separate(*task).each()} >= {(0, 1, 2), (3, 4, 5)}
    assert {tuple(types) for types, _, _ in separate(*task, Limit(ends=0.0)).each()} == {(0, 1, 2)}


def test_a_triangle() -> None:
    assert ([0, 1, 2], [1, 1, 1], 2) in found_in(TRIANGLE, 10)


def test_a_row_type_of_three_rows_in_pairs() -> None:
    # one and a half groups of two of three like rows, where there is room for one
    assert ([0], [1], 2) in found_in(([3], [{0: 2}], [1.5]), 10)
    # two of one row type, one of another: half of the groups {0, 0} and one of {0, 1}
    assert ([0, 1], [1, 1], 2) in found_in(([2, 1], [{0: 2}, {0: 1, 1: 1}], [0.5, 1.0]), 10)


def test_whole_solutions_and_none_violate_nothing() -> None:
    assert not found_in(([1, 1, 1], PAIRS, [0.0, 0.0, 0.0]), 10)
    assert not found_in(([1, 2, 1], [{0: 1, 1: 1}, {1: 1, 2: 1}], [1.0, 1.0]), 10)
    assert separate(Groups.none(), np.zeros(0), np.ones(3, dtype=np.int64), 10, NO_CUTS).count == 0


def test_larger_families() -> None:
    # a quarter of each four of five rows: (1, 1, 1, 1, 1)/3 says that there is one with three or more
    fours: list[dict[int, int]] = [dict.fromkeys(each, 1) for each in itertools.combinations(range(5), 4)]
    found = found_in(([1] * 5, fours, [0.25] * 5), MANY)
    assert any(violation(row, ([1] * 5, fours, [0.25] * 5)) == pytest.approx(0.25) for row in found)
    # a cycle of seven in pairs has no violated triple, but one of 7 that is grown from one that is nearly violated
    cycle: list[dict[int, int]] = [{i: 1, (i + 1) % 7: 1} for i in range(7)]
    odd = (list(range(7)), [1] * 7, 2)
    assert violation(odd, ([1] * 7, cycle, [0.5] * 7)) == pytest.approx(0.5)
    assert odd in found_in(([1] * 7, cycle, [0.5] * 7), MANY)


def test_rows_are_the_same_each_time() -> None:
    rng = np.random.default_rng(3)
    groups = [dict.fromkeys(rng.choice(30, 4, replace=False).tolist(), 1) for _ in range(150)]
    solution = vertex([1] * 30, groups, rng.integers(4, 12, 150).tolist())
    first = found_in(solution, 40)
    assert first == found_in(solution, 40)
    assert first
    assert all(violation(row, solution) > SeparationParameters.least_violation - 1e-6 for row in first)
    assert max(len(types) for types, _, _ in first) > 5
