"""Conflicts are the pairs of candidates that have too few rows for two groups, counted row by row."""

from __future__ import annotations

import itertools

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from reduction_cases import relaxed
from strategies import Case, cases

from kanon_milp.bounds.packing_cuts import cliques, conflicts
from kanon_milp.presolve.instance import Instance, prepare


def rows_of(instance: Instance, g: int) -> set[tuple[int, int]]:
    """The rows of a cover, each for itself: row type and number."""
    cover = instance.candidates.members[instance.candidates.indptr[g] : instance.candidates.indptr[g + 1]]
    return {(i, n) for i in cover.tolist() for n in range(int(instance.types.counts[i]))}


@given(cases(max_rows=9, sides=False), st.data())
@settings(relaxed, max_examples=examples(100, 20))
def test_conflicts_have_too_few_rows_for_two_groups(case: Case, data: st.DataObject) -> None:
    instance = prepare(case.problem())
    count = instance.candidates.count
    chosen = np.array(sorted(data.draw(st.sets(st.integers(0, count - 1)) if count else st.just(set()))), np.int64)
    found = set(zip(*(side.tolist() for side in conflicts(instance, chosen)), strict=True))
    rows = [rows_of(instance, g) for g in chosen.tolist()]
    least = instance.least[chosen].tolist()
    expected = {
        (a, b)
        for a, b in itertools.combinations(range(len(chosen)), 2)
        if rows[a] & rows[b] and len(rows[a] | rows[b]) < least[a] + least[b]
    }
    assert found == expected


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1])))
def test_cliques_say_every_conflict_and_no_other(edges: set[tuple[int, int]]) -> None:
    first, second = (np.array([pair[side] for pair in sorted(edges)], np.int64) for side in (0, 1))
    said = [set(itertools.combinations(each.tolist(), 2)) for each in cliques(first, second).each()]
    assert set().union(*said) == edges
