"""Candidates are all released rows that could be; closed ones are what dominance leaves of them, and enough."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import oracle
import polars as pl
import pytest
from hypothesis import given
from oracle import released_rows
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import Case, by_hypothesis, cases, drawn_case, reduced

import kanon_milp as km
from kanon_milp.presolve import closures, preparation
from kanon_milp.presolve.closures import closed_instance, closures_suffice, instance_of_small_sets
from kanon_milp.presolve.instance import Instance, compress_table, prepare, types_of
from kanon_milp.presolve.reductions import OPEN, REDUCTIONS, Dropped, reduce


def closed(problem: km.Problem, most: float = math.inf) -> Instance | None:
    return closed_instance(problem, types_of(problem, compress_table(problem)), most)


def covers(instance: Instance) -> dict[tuple[int, ...], int]:
    """The cover of each candidate, and its cost."""
    c = instance.candidates
    found = {tuple(each): int(cost) for each, cost in zip(c.cover_lists(), c.cost, strict=True)}
    assert len(found) == c.count - int(instance.exempt.any() and instance.exempt_reading and c.count > len(found))
    return found


def viable(instance: Instance) -> Instance:
    """Where only some labels of a level cost what those above them do, closed candidates may be dominated."""
    return reduce(instance, OPEN if instance.levels.cells is None else REDUCTIONS)[-1].instance


free = by_hypothesis(partial(drawn_case, rows=(1, 9), sides=False)).map(lambda case: replace(case, vectors=None))


@given(free)
def test_closed_candidates_are_those_that_no_other_dominates(case: Case) -> None:
    problem = case.problem()
    found = closed(problem)
    assert found is not None
    assert covers(viable(found)) == covers(reduced(problem))
    c = found.candidates
    assert c.support.tolist() == [int(found.types.counts[list(cover)].sum()) for cover in c.cover_lists()]
    assert (found.levels.row_costs(c.vector, found.types.codes[c.representative]) == c.cost).all()
    assert len(set(map(tuple, found.levels.vectors.tolist()))) == found.levels.count


@given(free)
def test_closures_of_small_sets_are_the_smallest_covers_around_them(case: Case) -> None:
    problem = case.problem()
    types = types_of(problem, compress_table(problem))
    every = [frozenset(cover) for cover in prepare(problem).candidates.cover_lists()]
    small = itertools.chain.from_iterable(itertools.combinations(range(types.count), size) for size in (1, 2, 3))
    sets = [*map(frozenset, small), frozenset(range(types.count))]
    expected = {min((cover for cover in every if some <= cover), key=len) for some in sets}
    found = instance_of_small_sets(problem, types)
    assert found is not None
    assert {frozenset(cover) for cover in found.candidates.cover_lists()} == expected
    assert found.candidates.count <= len(expected) + 1  # each once, and perhaps that of exempt rows
    pairs = sum(map(len, expected))
    assert instance_of_small_sets(problem, types, pairs) is not None
    assert instance_of_small_sets(problem, types, pairs - 1) is None


@pytest.mark.parametrize("at_once", [1, 50])
def test_sets_that_occur_again_go_wherever_the_work_is_divided(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Random(1)
    frame = pl.DataFrame({f"q{j}": [draw.choice("abc") for _ in range(70)] for j in range(6)})
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(2))
    types = types_of(problem, compress_table(problem))
    assert types.count > 64  # more than one word of bits
    whole = instance_of_small_sets(problem, types)
    monkeypatch.setattr(closures, "AT_ONCE", at_once)
    divided = instance_of_small_sets(problem, types)
    assert whole is not None
    assert divided is not None
    assert covers(divided) == covers(whole)


@given(sensitive_cases())
def test_they_are_so_under_requirements_about_sensitive_values(case: SensitiveCase) -> None:
    problem = replace(case, case=replace(case.case, vectors=None, sides={})).problem()
    if closures_suffice(problem):
        found = closed(problem)
        assert found is not None
        assert covers(viable(found)) == covers(reduced(problem))


@given(by_hypothesis(partial(drawn_case, rows=(1, 8), sides=True)))
def test_a_best_table_needs_no_others(case: Case) -> None:
    """Hierarchies, weights, level costs, masks, exempt rows and side constraints against brute force."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "FEW_VECTORS", 0)
        result = km.solve(case.problem(), method="milp")
    expected = oracle.optimum(case.rows, case.k, **case.judged())
    assert result.exact_objective == expected
    assert result.proof == ("infeasible" if expected is None else "optimal")


def least_loss(
    rows: Sequence[tuple[str, ...]], k: int, paths: Mapping[str | None, tuple[str | None, ...]] | None = None
) -> Fraction:
    """The least loss, by trying every partition of the rows: each group is released at the lowest common labels.

    paths: labels of each value by level, for every column; without them a cell is kept or suppressed.
    """

    def cost(column: tuple[str, ...]) -> Fraction:
        alike = [
            len(set(labels)) == 1 for labels in zip(*((paths or {}).get(v, (v, "*")) for v in column), strict=True)
        ]
        return Fraction(alike.index(True), len(alike) - 1)

    of_group: dict[int, Fraction] = {0: Fraction(0)}
    for group in range(1, 1 << len(rows)):
        chosen = [row for i, row in enumerate(rows) if group >> i & 1]
        if len(chosen) >= k:
            of_group[group] = len(chosen) * sum(map(cost, zip(*chosen, strict=True)), Fraction(0))
    best = {0: Fraction(0)}
    for left in range(1, 1 << len(rows)):
        first, rest = left & -left, left & (left - 1)
        parts = ((first | part, rest & ~part) for part in oracle.submasks(rest))
        sums = [of_group[part] + best[others] for part, others in parts if part in of_group and others in best]
        if sums:
            best[left] = min(sums)
    return best[(1 << len(rows)) - 1]


def wide(n: int, m: int, values: int, seed: int) -> list[tuple[str, ...]]:
    draw = Random(seed)
    return [tuple(str(draw.randrange(values)) for _ in range(m)) for _ in range(n)]


def problem_of(rows: Sequence[tuple[str, ...]], k: int) -> km.Problem:
    frame = pl.DataFrame(rows, schema=[f"q{j}" for j in range(len(rows[0]))], orient="row")
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(k))


@pytest.mark.parametrize(("m", "values", "k"), [(18, 2, 2), (60, 4, 3), (21, 3, 2), (30, 2, 3), (20, 2, 3), (60, 2, 2)])
def test_many_columns_have_few_closed_candidates(m: int, values: int, k: int) -> None:
    rows = wide(10, m, values, m)
    result = km.solve(problem_of(rows, k))
    assert result.proof == "optimal"
    assert result.exact_objective == least_loss(rows, k)
    assert result.before.candidates < 1 << 10


@pytest.mark.parametrize(("m", "height"), [(11, 3), (8, 5), (8, 4)])
def test_many_levels_have_few_closed_candidates(m: int, height: int) -> None:
    """11 columns of four levels, or 8 of five or six, have more level vectors than are listed, or nearly so."""
    levels = range(1, height)
    paths: dict[str | None, tuple[str | None, ...]] = {
        str(v): (str(v), *(f"{v >> level}/{level}" for level in levels), "*") for v in range(1 << height)
    }
    rows = wide(8, m, 1 << height, m)
    recoding = km.Hierarchies({f"q{j}": km.Hierarchy(paths) for j in range(m)})
    result = km.solve(replace(problem_of(rows, 2), recoding=recoding))
    assert (result.proof, result.exact_objective) == ("optimal", least_loss(rows, 2, paths))


def test_too_many_of_them_are_given_up() -> None:
    problem = problem_of(wide(12, 24, 2, 1), 2)
    found = closed(problem)
    assert found is not None
    pairs = found.candidates.pairs
    again = closed(problem, pairs)
    assert again is not None
    assert again.candidates.pairs == pairs
    assert closed(problem, pairs - 1) is None


@pytest.mark.parametrize(
    "asked", [{"min_groups": 1}, {"objective": "max_groups"}, {"recoding": km.PatternMask([["*"] * 24])}]
)
def test_what_needs_others_does_not_get_closed_ones_alone(asked: dict[str, Any]) -> None:
    problem = replace(problem_of(wide(12, 24, 2, 1), 2), **asked)
    assert not closures_suffice(problem)
    with pytest.raises(ValueError, match="closed candidates are not enough"):
        closed(problem)
    if "objective" in asked:
        assert km.solve(problem).exact_objective == 6  # by another way: 12 rows, k = 2


def test_columns_that_divide_rows_alike_are_one() -> None:
    """Thousands of columns, of which rows have few different ones; more of those are given up."""
    rows = wide(6, 2_000, 2, 1)
    problem = problem_of(rows, 2)
    found = closed(problem)
    assert found is not None
    assert found.candidates.count <= 1 << 6
    types = found.types.frame().rows()
    for cover, cost in covers(found).items():
        assert cost == sum(len(set(column)) > 1 for column in zip(*(types[i] for i in cover), strict=True))
    assert closed(problem_of(wide(40, 400, 2, 1), 20)) is None


def test_closed_candidates_of_adult_are_those_that_were_counted(data_folder: Path) -> None:
    assert data_folder.is_dir()
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    adult = km.datasets.load("adult").select(names)
    found = closed(km.Problem(km.Table.from_frame(adult, names), km.KAnonymity(5)))
    assert found is not None
    assert (found.candidates.count, found.candidates.pairs) == (98_626, 3_186_376)


Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def by_definition(case: Case, instance: Instance) -> dict[tuple[str | None, ...], tuple[set[int], int]]:
    """Released row → (row types that can become it, cheapest cost), straight from the definition."""
    found: dict[tuple[str | None, ...], tuple[set[int], int]] = {}
    covers: dict[tuple[str | None, ...], set[int]] = defaultdict(set)
    for t, row in enumerate(instance.types.frame().rows()):
        for vector in instance.levels.vectors.tolist():
            released = tuple(
                (case.hierarchies[j][value][level] if j in case.hierarchies else (value, "*")[level])
                for j, (value, level) in enumerate(zip(row, vector, strict=True))
            )
            loss = released_rows([row], case.hierarchies, [vector], case.weights, case.level_costs)[released][0]
            cost = int(loss / instance.levels.unit)
            assert cost * instance.levels.unit == loss
            covers[released].add(t)
            found[released] = (covers[released], min(cost, found.get(released, (set(), cost))[1]))
    return found


@given(cases(max_rows=9, sides=False))
def test_candidates_are_those_of_the_definition(case: Case) -> None:
    instance = prepare(case.problem())
    c = instance.candidates
    labels = c.labels(instance.types, instance.levels, np.arange(c.count))
    found = {
        row: (set(c.members[c.indptr[g] : c.indptr[g + 1]].tolist()), int(c.cost[g]))
        for g, row in enumerate(zip(*labels, strict=True))
    }
    assert len(found) == c.count
    assert found == by_definition(case, instance)
    assert c.support.tolist() == [sum(instance.types.counts[list(cover)]) for cover, _ in found.values()]


@given(cases(max_rows=9, sides=False))
def test_dominance_leaves_exactly_the_undominated(case: Case) -> None:
    problem = case.problem()
    steps = reduce(prepare(problem))
    before, after = steps[0].instance, steps[1].instance
    c = before.candidates
    covers = [frozenset(c.members[c.indptr[g] : c.indptr[g + 1]].tolist()) for g in range(c.count)]
    step = steps[1]
    assert isinstance(step, Dropped)
    keep = set(step.origin.tolist())
    assert after.candidates.count == len(keep)
    for g in range(c.count):
        dominators = [
            h
            for h in range(c.count)
            if h != g
            and covers[g] <= covers[h]
            and (c.cost[h], -len(covers[h]), h) < (c.cost[g], -len(covers[g]), g)
            and c.cost[h] <= c.cost[g]
        ]
        assert (g in keep) == (not dominators or bool(before.exempt[g]))


@pytest.mark.full
def test_adult_has_its_measured_numbers_of_candidates(data_folder: Path) -> None:
    table = km.Table.from_frame(km.datasets.load("adult"), Q8)
    instance = prepare(km.Problem(table, [km.KAnonymity(5)]))
    viable, closed = (step.instance.candidates for step in reduce(instance))
    assert instance.candidates.count == 947_611
    assert viable.count == 166_965
    assert (closed.count, closed.pairs) == (98_626, 3_186_376)
