"""The cheapest table of given groups: against all subsets of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from census import census_problem
from present import present

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.heuristics.best_of_groups import best_of_groups
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.solvers import SolverOptions
from kanon_milp.system.limit import NO_LIMIT, Limit

OPTIONS = SolverOptions()


def drawn(instance: km.Instance, seed: int) -> Groups:
    """The groups of a table, and some others that share rows with these."""
    random = np.random.default_rng(seed)
    known = Groups.of_assignment(present(greedy(instance)))
    lists = []
    for _ in range(7):
        g = int(random.integers(instance.candidates.count))
        cover = instance.candidates.cover_lists()[g]
        lists.append((g, sorted(random.choice(cover, min(3, len(cover)), replace=False).tolist())))
    for g, members, _ in known.each():
        half = len(members) // 2
        lists += [(g, part) for part in (members[:half], members[half:]) if part]
    candidate = np.array([g for g, _ in lists], np.int64)
    types = Ragged(
        indptr_of(np.array([len(members) for _, members in lists])),
        np.array([i for _, members in lists for i in members], np.int64),
    )
    others = Groups(candidate, types, np.ones(len(types.values), np.int64))
    return known.joined(others)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_cheapest_of_all_subsets(seed: int) -> None:
    instance = prepare(census_problem(8, 2))
    assert (instance.types.counts == 1).all()
    groups = drawn(instance, seed)
    listed = groups.each()
    costs = [int(instance.candidates.cost[g]) * len(members) for g, members, _ in listed]
    best = min(
        sum(costs[c] for c in some)
        for size in range(1, 9)
        for some in itertools.combinations(range(len(listed)), size)
        if sorted(i for c in some for i in listed[c][1]) == list(range(instance.types.count))
    )
    adapter = solvers.get("highs")
    found = present(best_of_groups(instance, groups, best, adapter, OPTIONS, NO_LIMIT))
    assert found.cost == best
    assert best_of_groups(instance, groups, best - 1, adapter, OPTIONS, NO_LIMIT) is None


def test_there_may_be_none() -> None:
    instance, adapter = prepare(census_problem(8, 2)), solvers.get("highs")
    assert best_of_groups(instance, Groups.none(), 100, adapter, OPTIONS, NO_LIMIT) is None
    groups = Groups.of_assignment(present(greedy(instance)))
    assert best_of_groups(instance, groups, 10**6, adapter, OPTIONS, Limit(ends=0.0)) is None
    one = np.arange(groups.count) == 0
    if groups.count > 1:
        assert best_of_groups(instance, groups.subset(one), 10**6, adapter, OPTIONS, NO_LIMIT) is None
