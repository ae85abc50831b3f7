"""Candidates are all the released rows that could be, and reductions drop only what is not needed."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from oracle import released_rows
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import Dropped, reduce

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
