"""The search: moves keep a table valid, neighbourhoods are our formulation, what it returns is never wrong."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import Counter
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
from census import census_problem
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from present import present
from strategies import Case, cases, covered, reduced

import kanon_milp as km
from kanon_milp.bounds import lagrangian
from kanon_milp.formulations.strong import build_strong
from kanon_milp.heuristics import search, size_neighbourhoods
from kanon_milp.heuristics.annealing import AnnealingParameters, Chain, Draw, SeenPairs, anneal, anneal_chains
from kanon_milp.heuristics.construction import construct
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.heuristics.grouping import group_sizes, pairs_at, tighten_groups
from kanon_milp.heuristics.search import Search
from kanon_milp.heuristics.size_neighbourhoods import cut_out, put_back, rebuild_groups, solve_neighbourhood
from kanon_milp.heuristics.state import Board
from kanon_milp.kernels.limits import FAILED
from kanon_milp.kernels.moves import pull, shift
from kanon_milp.kernels.rows import close, commit, total, undo
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.parameters import Parameters
from kanon_milp.system.worker_pool import InlinePool

# none but the pairs of the table are near
NOTHING_NEAR = Parameters(
    {
        "search.near_open": -math.inf,
        "search.near_pair": -math.inf,
        "search.shortest": 60.0,
        "neighbourhoods.seconds": 60.0,
    }
)


def census_instance(rows: int, k: int) -> Instance:
    return reduced(census_problem(rows, k))


def whole_board(instance: Instance, seed: int = 0) -> Board:
    return Board.of(instance, np.ones(instance.candidates.pairs, dtype=bool), None, seed)


def started(instance: Instance, seed: int = 0) -> Board:
    """A board with every pair and a first table on it."""
    board = whole_board(instance, seed)
    construct(board, lagrangian(instance, iterations=200))
    return board


def check_lists(board: Board) -> None:
    """Sizes and lists say what `group` says."""
    s, rows = board.state, board.rows
    for g in range(len(s.size)):
        members, r = [], rows.first[g]
        while r >= 0:
            members.append(int(r))
            r = rows.after[r]
        assert sorted(members) == np.flatnonzero(s.group == g).tolist()
        assert s.size[g] == len(members) + s.parked[g]


@given(cases(max_rows=12, sides=False), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6)), max_size=30))
@settings(max_examples=examples(60, 6))
def test_moves_keep_the_table_valid_and_know_what_they_cost(case: Case, script: list[tuple[int, int]]) -> None:
    instance = reduced(case.problem())
    assume(covered(instance))
    board = started(instance)
    assume(board.complete)
    rows, s = board.rows, board.state
    for kind, number in script:
        before, groups = total(rows), s.group.copy()
        g = number % len(board.candidate)
        if kind == 0:
            change = pull(rows, g, np.inf)
        elif kind == 1:
            change = close(rows, g, -1, np.inf) if s.size[g] else FAILED
        elif kind == 2:
            change = shift(rows, number % len(s.group))
        else:
            change = pull(rows, g, -1.0)
        if change >= FAILED or number % 3 == 0:
            undo(rows)
            assert (s.group == groups).all()
        else:
            commit(rows)
            assert total(rows) - before == change
        check_lists(board)
        found = board.assignment()  # raises if a group is too small or covers a row that it cannot
        assert found is not None


@given(cases(max_rows=9, sides=False))
@settings(max_examples=examples(40, 5))
def test_what_the_search_finds_is_valid_and_never_below_the_optimum(case: Case) -> None:
    instance = reduced(case.problem())
    best = optimum(case.rows, case.k, **case.judged())
    assume(best is not None and covered(instance))
    dual = lagrangian(instance, iterations=300)
    search = Search(instance, dual, None, InlinePool(), Effort(neighbourhoods=3))
    found = search.run(get("highs"), SolverOptions())
    assume(found is not None)
    found = present(found)
    sizes = group_sizes(instance, found)
    assert ((sizes == 0) | (sizes >= instance.least)).all()
    assert found.cost * instance.levels.unit >= present(best)


@given(cases(max_rows=9, sides=False))
@settings(max_examples=examples(40, 5))
def test_tightening_keeps_the_rows_together(case: Case) -> None:
    instance = reduced(case.problem())
    assume(covered(instance))
    board = started(instance)
    assume(board.complete)
    found = board.assignment()
    assert found is not None
    tightened = tighten_groups(instance, found)
    before, after = rows_by_candidate(found), rows_by_candidate(tightened)
    # every group of before has gone to one candidate, as it was
    assert any(
        all(
            sum((before[g] for g, to in zip(before, went, strict=True) if to == h), Counter()) == after[h]
            for h in after
        )
        for went in itertools.product(after, repeat=len(before))
    )
    # and to a cheapest one that covers it
    covers = [set(cover) for cover in instance.candidates.cover_lists()]
    least = [
        rows.total()
        * min(
            int(cost)
            for cover, cost, size in zip(covers, instance.candidates.cost, instance.least, strict=True)
            if cover >= set(rows) and size <= rows.total()
        )
        for rows in before.values()
    ]
    assert tightened.cost == sum(least) <= found.cost


def rows_by_candidate(assignment: Assignment) -> dict[int, Counter[int]]:
    """Candidate → row type → rows."""
    found: dict[int, Counter[int]] = {}
    for g, i, rows in zip(assignment.candidate, assignment.row_type, assignment.rows, strict=True):
        if rows:
            found.setdefault(int(g), Counter())[int(i)] += int(rows)
    return found


def test_annealing_depends_on_the_seed_alone_and_changes_nothing_that_is_handed_in() -> None:
    instance = census_instance(150, 3)
    dual = lagrangian(instance, iterations=300)
    board = whole_board(instance)
    construct(board, dual)
    before = board.state.group.copy()
    draws, chain = Draw.of(board, dual), Chain.of(board, 1)
    params = AnnealingParameters()
    one, two = (anneal(board.state, draws, params, chain, 0.5, 0.1, 20_000) for _ in range(2))
    other = anneal(board.state, draws, params, Chain.of(board, 2), 0.5, 0.1, 20_000)
    assert (board.state.group == before).all()
    assert (one.group == two.group).all()
    assert (one.group != other.group).any()
    assert one.loss <= total(board.rows)
    board.restore(one.best)
    assert total(board.rows) == one.loss
    assert board.assignment() is not None


def test_a_neighbourhood_of_all_rows_is_the_strong_formulation() -> None:
    instance = census_instance(60, 2)
    board = started(instance)
    hood = cut_out(board, 10**9, np.zeros(len(board.state.cost), dtype=bool))
    assert hood is not None
    # groups without a loss stay out, so the comparison is on the rows that are in
    fixed = total(board.rows) - hood.loss
    ours = get("highs").solve(hood.model(), SolverOptions(absolute_gap=0.9))
    model = get("highs").solve(to_arrays(build_strong(instance)).linear, SolverOptions(absolute_gap=0.9))
    assert fixed == 0
    assert ours.objective == pytest.approx(model.objective)


@given(st.integers(0, 1000), st.sampled_from([2, 3, 5]))
@settings(max_examples=examples(15, 3))
def test_neighbourhoods_only_improve_and_stay_valid(small_table: Instance, seed: int, size: int) -> None:
    instance = small_table
    board = started(instance, seed)
    hood = cut_out(board, 40 * size, np.zeros(len(board.state.cost), dtype=bool))
    assert hood is not None
    answer = solve_neighbourhood(hood, get("highs"), SolverOptions(time_limit=10, absolute_gap=0.9))
    assert answer.loss <= hood.loss
    before = total(board.rows)
    if put_back(board, hood, answer.rows):
        assert total(board.rows) <= before - (hood.loss - answer.loss)
    else:
        assert total(board.rows) == before
    check_lists(board)
    assert board.assignment() is not None


@pytest.fixture(scope="module")
def small_table() -> Instance:
    rng = np.random.default_rng(5)
    rows = tuple(tuple("abcd"[v] for v in row) for row in rng.integers(0, 4, (90, 4)).tolist())
    return reduced(Case(rows, 3, None, (Fraction(1),) * 4, {}, {}, "strict", {}).problem())


def test_an_answer_that_came_too_late_is_mended_or_refused(small_table: Instance) -> None:
    """Groups that an answer counts on may be gone by the time it arrives."""
    board = started(small_table)
    rows = board.rows
    hood = cut_out(board, 100, np.zeros(len(board.state.cost), dtype=bool))
    assert hood is not None
    answer = solve_neighbourhood(hood, get("highs"), SolverOptions(time_limit=10, absolute_gap=0.9))
    for outside in hood.candidates[hood.least == 0].tolist():  # close what it may have joined
        change = close(rows, outside, -1, np.inf)
        (undo if change >= FAILED else commit)(rows)
    before = total(rows)
    put_back(board, hood, answer.rows)
    assert total(rows) <= before
    assert board.complete
    assert board.assignment() is not None


def test_it_stops_at_once_when_asked() -> None:
    instance = census_instance(150, 3)
    stop = threading.Event()
    stop.set()
    dual = lagrangian(instance, iterations=100)
    found = Search(instance, dual, None, InlinePool(), Effort(interrupt=stop)).run(get("highs"), SolverOptions())
    assert found is not None


def test_surplus_copies_stay_where_they_are_cheapest() -> None:
    rows = (("a", "x"),) * 40 + (("b", "x"),) * 3 + (("b", "y"),)
    case = Case(rows, 2, None, (Fraction(1),) * 2, {}, {}, "strict", {})
    instance = reduced(case.problem())
    start = Search(instance, lagrangian(instance), None, InlinePool(), Effort(neighbourhoods=1)).run(
        get("highs"), SolverOptions()
    )
    assert start is not None
    board = Board.of(instance, np.ones(instance.candidates.pairs, dtype=bool), start)
    assert len(board.state.group) < len(rows)
    again = board.assignment()
    assert again is not None
    assert again.cost == start.cost
    assert again.rows.sum() == len(rows)
    assert again.cost == 2  # one row of "b" gives up a cell, and so does its partner


def test_neighbourhoods_do_not_grow_without_end() -> None:
    """Weighted ties: every neighbourhood is solved at once, and the next was larger until its size left int64."""
    frame = pl.DataFrame({"a": list("xxyyzz"), "b": list("pqpqpq")})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), [km.KAnonymity(3)], km.Suppression({"b": 2}))
    instance = reduced(problem)
    board = started(instance)
    before = total(board.rows)
    effort = Effort(ends=time.perf_counter() + 3)
    rebuild_groups(board, get("highs"), SolverOptions(), InlinePool(), effort, 0, lambda _: None)
    assert total(board.rows) <= before


@pytest.mark.full
def test_where_nothing_is_left_near_the_multipliers_it_looks_farther(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no pairs but those of the table at first, which is an exhausted neighbourhood at once."""
    instance = census_instance(60, 3)
    start, dual, boards = suppress_all(instance), lagrangian(instance, iterations=200), list[int]()
    assert start is not None

    def rebuilt(board: Board, *others: Any) -> bool:
        boards.append(len(board.state.options.values))
        return rebuild_groups(board, *others)

    monkeypatch.setattr(search, "rebuild_groups", rebuilt)
    monkeypatch.setattr(Search, "_anneal", lambda *_: None)
    effort = Effort(ends=time.perf_counter() + 60, patience=1)
    found = Search(instance, dual, start, InlinePool(), effort, constructed=True, parameters=NOTHING_NEAR)
    table = found.run(get("highs"), SolverOptions())
    assert table is not None
    assert table.cost < start.cost
    assert len(boards) == 3  # in one turn, the last one to the end; annealing has seen nothing
    assert boards[0] == boards[1] < boards[2]
    assert effort.left > 0


@pytest.mark.parametrize("count", [1, 3])
def test_no_more_neighbourhoods_than_asked_for(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Also where nothing is left near the multipliers."""
    instance, solved = census_instance(40, 3), Mock(wraps=solve_neighbourhood)
    dual = lagrangian(instance, iterations=200)
    monkeypatch.setattr(size_neighbourhoods, "solve_neighbourhood", solved)
    effort = Effort(neighbourhoods=count)
    found = Search(instance, dual, None, InlinePool(), effort, parameters=NOTHING_NEAR)
    assert found.run(get("highs"), SolverOptions()) is not None
    assert 0 < solved.call_count <= count


def test_a_search_puts_together_what_its_annealing_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, boards = census_instance(60, 3), list[int]()

    def rebuilt(board: Board, *others: Any) -> bool:
        boards.append(len(board.state.options.values))
        return True

    monkeypatch.setattr(search, "rebuild_groups", rebuilt)
    effort = Effort(ends=time.perf_counter() + 60, patience=1)
    found = Search(instance, lagrangian(instance, iterations=200), None, InlinePool(), effort)
    found.run(get("highs"), SolverOptions())
    table = found.incumbent
    assert table is not None
    assert boards[0] > len(table.rows)


def test_large_tables_keep_no_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """All neighbourhoods that are asked for are near the multipliers."""
    instance, counts = census_instance(60, 3), list[int | None]()

    def rebuilt(_board: Board, _adapter: Any, _options: Any, _pool: Any, effort: Effort, *_: Any) -> bool:
        counts.append(effort.neighbourhoods)
        return False

    monkeypatch.setattr(search, "rebuild_groups", rebuilt)
    for rows, expected in ((60, [2, 3]), (59, [5])):
        counts.clear()
        effort, dual = Effort(neighbourhoods=5), lagrangian(instance, iterations=200)
        parameters = Parameters({"annealing.seen_rows": rows})
        found = Search(instance, dual, None, InlinePool(), effort, parameters=parameters)
        found.run(get("highs"), SolverOptions())
        assert counts == expected


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
