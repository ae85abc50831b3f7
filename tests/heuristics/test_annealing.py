"""The pairs of the tables that an annealing has seen."""

from __future__ import annotations

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from test_search import census_instance, started, whole_board

from kanon_milp.bounds.lagrangian_bound import lagrangian
from kanon_milp.heuristics.annealing import Draw, SeenPairs, anneal_chains
from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.worker_pool import Effort, InlinePool


def test_pairs_that_annealing_has_seen_are_put_together() -> None:
    """The cheapest table's pairs first, then those of others while there is room."""
    instance = census_instance(60, 3)
    dual, seen = lagrangian(instance, iterations=200), SeenPairs(instance)
    empty = whole_board(instance)
    seen.add(empty, empty.state.group)  # all rows are nowhere
    assert not seen.cheapest(10).any()
    tables = []
    for seed in range(3):
        board = started(instance, seed)
        anneal_chains(board, Draw.of(board, dual), InlinePool(), Effort(neighbourhoods=1), seed, lambda _: None)
        seen.add(board, board.state.group)
        table = board.assignment()
        assert table is not None
        tables.append(table)
    pairs = [pairs_at(instance, table.row_type, table.candidate) for table in tables]
    every = seen.cheapest(instance.candidates.pairs)
    assert set(np.flatnonzero(every)) == set(np.concatenate(pairs))
    least = min(table.cost for table in tables)
    cheapest = {p for table, each in zip(tables, pairs, strict=True) if table.cost == least for p in each.tolist()}
    assert set(np.flatnonzero(seen.cheapest(1))) == cheapest
    seen.add(board, board.state.group)  # once more changes nothing
    assert (seen.cheapest(instance.candidates.pairs) == every).all()


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(-5, 50)), max_size=6), st.integers(0, 80))
@settings(max_examples=examples(30, 10))
def test_they_are_what_a_dictionary_would_have(tables: list[tuple[int, int]], most: int) -> None:
    """Rows at random, all over their options; what a table costs beside its loss counts."""
    instance = census_instance(20, 2)
    seen, board, expected = SeenPairs(instance), whole_board(instance), dict[int, int]()
    state, options = board.state, board.state.options
    for seed, more in tables:
        places = options.indptr[state.type_of]
        lengths = options.indptr[state.type_of + 1] - places
        group = options.values[places + np.random.default_rng(seed).integers(lengths)].astype(state.group.dtype)
        seen.add(board, group, more)
        pairs = pairs_at(instance, state.type_of.astype(np.int64), board.candidate[group])
        _, candidates, rows = board.parked
        loss = more + int(state.cost[group].sum()) + int(instance.candidates.cost[candidates] @ rows)
        for pair in pairs.tolist():
            expected[pair] = min(loss, expected.get(pair, loss))
    assert len(seen) == len(expected)
    losses = sorted(expected.values())
    beyond = losses[most] if most < len(losses) else 10**9
    kept = {pair for pair, loss in expected.items() if loss < beyond or loss == losses[0]}
    assert set(np.flatnonzero(seen.cheapest(most))) == kept
