"""The compiled violation of a group against the requirements' own judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from own_requirement import AtMost, NoMoreThanHalf
from sensitive_cases import KINDS, SensitiveCase, sensitive_cases
from test_valued_construction import point_of

import kanon_milp as km
from kanon_milp.bounds.relaxations import WIDEST
from kanon_milp.heuristics import valued_annealing
from kanon_milp.heuristics.annealing import Chain, SeenPairs
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.repair import repair
from kanon_milp.heuristics.valued_annealing import DEFAULT, ValuedAnnealingParameters, anneal
from kanon_milp.heuristics.valued_construction import PricedCandidates, construct
from kanon_milp.heuristics.valued_state import ValuedBoard, rules_of
from kanon_milp.kernels.rows import total
from kanon_milp.kernels.rules import Rules, count_in, violation_of
from kanon_milp.kernels.valued_moves import relocate, shift, swap
from kanon_milp.kernels.valued_state import ValuedState, put, take_back
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.problem.privacy.base import facts_of, is_size_only
from kanon_milp.problem.records import Group
from kanon_milp.system.limit import Limit
from kanon_milp.system.worker_pool import ProcessPool


@pytest.mark.parametrize("kind", [*KINDS, None])
def test_no_violation_means_that_the_group_satisfies_all(kind: str | None) -> None:
    """And a group that does has none: relaxations are necessary."""

    @given(sensitive_cases(None if kind is None else [kind], sides=False), st.data())
    @settings(max_examples=examples(200, 3))
    def judged(case: SensitiveCase, data: st.DataObject) -> None:
        instance = prepare(case.problem())
        arrays, value = rules_of(instance)
        check = GroupCheck(instance)
        g = data.draw(st.integers(0, instance.candidates.count - 1))
        members = instance.candidates.members[slice(*instance.candidates.indptr[g : g + 2])]
        rows = np.array([data.draw(st.integers(0, n)) for n in instance.types.counts[members]], np.int64)
        if not rows.sum():
            return
        rules = Rules(np.zeros((1, int(arrays.columns.max(initial=-1)) + 1), np.int32), *arrays)
        for i, amount in zip(members, rows, strict=True):
            count_in(rules, 0, int(value[i]), int(amount))
        violated = violation_of(rules, 0, int(rows.sum()), int(instance.least[g]))
        holds = check.holds(g, check.by_value(members, rows))
        if holds:
            assert violated == 0
        if says_all(instance):
            assert holds == (violated == 0)

    judged()


def says_all(instance: Instance) -> bool:
    """Whether a group without a violation satisfies every requirement."""
    for requirement in instance.problem.requirements:
        facts = facts_of(requirement, instance.table_group)
        if is_size_only(requirement):
            continue
        if not facts or not all(fact.complete for fact in facts):
            return False
        for limit in (fact.emd for fact in facts if fact.emd is not None):
            # for other metrics there is a star that is nowhere longer
            tree = limit.space.tree
            if len(limit.space.values) > 2 and (tree is None or len(tree.parent) > WIDEST):
                return False
    return True


def test_requirements_of_one_attribute_are_said_in_full() -> None:
    table = people(40)
    said = [
        km.LDiversity(2),
        km.TCloseness("0.3"),
        km.PSensitivity(2),
        km.BetaLikeness(1),
        km.AlphaKAnonymity("0.5", 2),
    ]
    for requirement in said:
        assert says_all(prepare(km.Problem(table, [km.KAnonymity(2), requirement])))
    assert not says_all(prepare(km.Problem(table, [km.DeltaDisclosure(1, absent="ignored")])))


def people(rows: int) -> km.Table:
    """A few columns of few values and a sensitive one of four."""
    random = np.random.default_rng(rows)
    columns = {f"q{j}": random.integers(3 + j, size=rows).astype(str) for j in range(3)}
    return km.Table.from_frame(
        pl.DataFrame({**columns, "s": random.integers(4, size=rows).astype(str)}), [*columns], "s"
    )


def instance_of(rows: int, *privacy: km.Requirement) -> Instance:
    return prepare(km.Problem(people(rows), list(privacy)))


def groups_fail(instance: Instance, found: Assignment) -> list[int]:
    failing: list[int] = GroupCheck(instance).refused(found).tolist()
    return failing


@pytest.mark.processes
def test_processes_find_what_one_process_finds_or_better() -> None:
    instance = instance_of(120, km.KAnonymity(3), km.LDiversity(2))
    point = point_of(instance)
    start = construct(instance, point, Limit())
    assert start is not None
    reported: list[Assignment] = []
    with ProcessPool(2) as pool:
        found = anneal(PricedCandidates.of(instance, point), start, Effort(neighbourhoods=1), pool, 1, reported.append)
    alone = anneal(PricedCandidates.of(instance, point), start, Effort(neighbourhoods=1), None, 1, lambda _: None)
    assert found.cost <= alone.cost < start.cost
    assert reported[-1].cost == found.cost
    assert not groups_fail(instance, found)


def test_a_limit_that_is_over_still_gives_a_table() -> None:
    instance = instance_of(80, km.KAnonymity(3), km.LDiversity(2))
    start = construct(instance, point_of(instance), Limit(ends=0.0))
    assert start is not None
    assert not groups_fail(instance, start)


def test_a_requirement_of_a_users_own_is_constructed_and_annealed() -> None:
    instance = instance_of(80, km.KAnonymity(2), NoMoreThanHalf("s"))
    point = point_of(instance)
    start = construct(instance, point, Limit())
    assert start is not None
    found = anneal(PricedCandidates.of(instance, point), start, Effort(neighbourhoods=1), None, 0, lambda _: None)
    assert not groups_fail(instance, found)
    assert found.cost <= start.cost


class Silent(NoMoreThanHalf):
    """The same, of which nothing is known but `holds`."""

    def holds(self, group: Group) -> bool:
        return NoMoreThanHalf.holds(self, group)


def test_of_a_requirement_that_tells_nothing_there_is_a_table_all_the_same() -> None:
    for privacy in ([Silent("s")], [km.KAnonymity(3), Silent("s")], [km.KAnonymity(2), AtMost(30)]):
        instance = instance_of(80, *privacy)
        point = point_of(instance)
        start = construct(instance, point, Limit())
        assert start is not None
        assert not groups_fail(instance, start)
        assert (
            anneal(PricedCandidates.of(instance, point), start, Effort(neighbourhoods=1), None, 0, lambda _: None)
            is start
        )
    both = instance_of(80, km.KAnonymity(2), Silent("s"), km.TCloseness("0.5"))
    start = construct(both, point_of(both), Limit())
    assert start is not None
    found = anneal(PricedCandidates.of(both, point_of(both)), start, Effort(neighbourhoods=1), None, 0, lambda _: None)
    assert not groups_fail(both, found)
    assert found.cost <= start.cost


def test_repair_ends_with_groups_that_satisfy_all() -> None:
    """From a table that only has groups of equal rows."""
    instance = instance_of(60, km.KAnonymity(3), km.LDiversity(2))
    candidates = instance.candidates
    of_pair = candidates.candidate_of_pair()
    cheapest = np.lexsort((candidates.cost[of_pair], candidates.members))
    first = np.searchsorted(candidates.members[cheapest], np.arange(instance.types.count))
    rows = np.zeros(candidates.pairs, np.int64)
    rows[cheapest[first]] = instance.types.counts
    start = Assignment.from_pairs(instance, rows)
    assert groups_fail(instance, start)
    for limit in (Limit(), Limit(ends=0.0)):
        found = repair(instance, start, limit)
        assert found is not None
        assert not groups_fail(instance, found)


def test_repair_suppresses_only_the_rows_that_a_group_has_too_many_of() -> None:
    """Four rows of x, not all ten; and the group z, which has none of their value, not y, which is as large."""
    values = {"x": "aaaaaaabbb", "y": "aabb", "z": "bbcc"}
    rows = [(group, value) for group, held in values.items() for value in held]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["q", "s"], orient="row"), ["q"], "s")
    instance = prepare(km.Problem(table, [km.LDiversity(2)]))
    cheapest = np.flatnonzero(instance.candidates.cost[instance.candidates.candidate_of_pair()] == 0)
    start = np.zeros(instance.candidates.pairs, np.int64)
    start[cheapest] = instance.types.counts[instance.candidates.members[cheapest]]
    found = repair(instance, Assignment.from_pairs(instance, start))
    assert found is not None
    assert not groups_fail(instance, found)
    assert found.cost * instance.levels.unit == 8


def board_with(instance: Instance, start: Assignment) -> ValuedBoard:
    """All pairs are allowed, and violations cost more than anything."""
    board = ValuedBoard.of(instance, np.ones(instance.candidates.pairs, np.bool_), start)
    board.rows.price = 60.0 * board.rows.cell
    return board


def anew(board: ValuedBoard) -> ValuedState:
    """What is on the board, counted anew."""
    state = board.board.state
    return board.arrays.own(state.group, state.random).rows()


@pytest.mark.parametrize("move", [shift, swap, relocate])
def test_a_move_of_one_row_is_made_if_its_energy_is_within_the_limit(move: Callable[..., float]) -> None:
    """The same draws with three limits; the energy is that of the groups counted anew."""
    instance = instance_of(90, km.KAnonymity(3), km.LDiversity(2), km.TCloseness("0.5"))
    start = construct(instance, point_of(instance), Limit())
    assert start is not None
    board = board_with(instance, start)
    c, s, worse, same = board.rows, board.board.state, 0, 0
    for r in [*range(len(s.group))] * 3:
        random, loss, before = c.random, total(c), anew(board).violated
        free = move(c, r, np.inf)
        if free == np.inf:
            continue
        after = c.random
        assert free == total(c) - loss
        energy, there = free + c.price * (anew(board).violated - before), s.group.copy()
        take_back(c)
        for limit, made in ((energy - 0.5, False), (energy + 0.5, True)):
            c.random = random
            change = move(c, r, limit)
            assert (change == free) if made else (change == np.inf)
            assert c.random == after
            assert (s.group == there).all() if made else not c.logged
            take_back(c)
        c.random = after
        worse, same = worse + (energy > 0), same + (energy <= 0)
    assert same
    assert worse or move is relocate


@pytest.mark.parametrize("t", ["0.1", "0.35"])
def test_work_of_a_star_is_the_total_variation(t: str) -> None:
    """The leaves are gone through at once; against fractions, and against the walk that takes any tree."""
    labels = "aaabbcddddeeeeef" * 4
    frame = pl.DataFrame({"q": ["x", "y"] * 32, "s": list(labels)})
    arrays, _ = rules_of(prepare(km.Problem(km.Table.from_frame(frame, ["q"], "s"), [km.TCloseness(t)])))
    walked = arrays.roots.copy()
    walked[:, 4:] = -1
    assert arrays.roots[:, 4].tolist() == [0]
    share, random, held = [Fraction(labels.count(each), len(labels)) for each in "abcdef"], np.random.default_rng(0), 0
    for _ in range(300):
        size = int(random.integers(1, 150))
        counts = random.multinomial(size, [float(p) for p in share]).astype(np.int32)
        found = violation_of(Rules(counts[None], *arrays), 0, size, 1)
        assert found == violation_of(Rules(counts[None], *arrays._replace(roots=walked)), 0, size, 1)
        apart = sum(abs(Fraction(int(c), size) - p) for c, p in zip(counts, share, strict=True)) / 2
        assert (found == 0) == (apart <= Fraction(t))
        held += found == 0
    assert 0 < held < 300


def test_a_row_goes_where_it_costs_least_if_its_group_can_spare_it() -> None:
    """Every row is tried against all open groups that may have it."""
    instance = instance_of(90, km.KAnonymity(3), km.LDiversity(2), km.TCloseness("0.5"))
    start = construct(instance, point_of(instance), Limit())
    assert start is not None
    board = board_with(instance, start)
    c, s, moved = board.rows, board.board.state, 0
    for r in range(len(s.group)):
        h, i, before = int(s.group[r]), int(s.type_of[r]), c.violated
        loss = total(c)
        energies = {}
        for g in s.options.values[s.options.indptr[i] : s.options.indptr[i + 1]].tolist():
            if g != h and s.size[g] > 0:
                put(c, r, g)
                left = c.violation[h]
                energies[g] = total(c) - loss + c.price * (c.violated - before - left)
                take_back(c)
                spared = s.size[h] > s.least[h] and left == 0
        change = relocate(c, r, np.inf)
        if not energies or not spared:
            assert change == np.inf
        else:
            moved += 1
            assert change == total(c) - loss
            assert energies[int(s.group[r])] == pytest.approx(min(energies.values()))
        take_back(c)
        assert s.group[r] == h
    assert moved


def test_pairs_of_tables_with_violations_are_kept_by_what_their_repair_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of the cheapest candidates lose next to nothing, but are not 2-diverse."""
    instance = instance_of(8, km.KAnonymity(2), km.LDiversity(2))
    start = construct(instance, point_of(instance), Limit())
    assert start is not None
    board = ValuedBoard.of(instance, np.ones(instance.candidates.pairs, np.bool_), start)
    valid, state = Chain.of(board.board, 0), board.board.state
    cheapest = state.options.values[state.options.indptr[state.type_of]].astype(valid.group.dtype)
    violating = replace(valid, group=cheapest)
    assert state.cost[cheapest].sum() < start.cost
    assert groups_fail(instance, board_of(board, cheapest))
    seen = SeenPairs(instance)
    valued_annealing._look(seen, board, DEFAULT, [violating])
    alone = len(seen)
    assert alone
    valued_annealing._look(seen, board, DEFAULT, [valid])
    of_start = pairs_at(instance, start.row_type, start.candidate)
    assert set(np.flatnonzero(seen.cheapest(1))) == set(of_start)
    assert set(np.flatnonzero(seen.cheapest())) >= set(of_start)
    strict = SeenPairs(instance)
    valued_annealing._look(strict, board, ValuedAnnealingParameters(repaired=0), [violating, valid])
    assert set(np.flatnonzero(strict.cheapest(instance.candidates.pairs))) == set(of_start)


def board_of(board: ValuedBoard, group: Any) -> Assignment:
    board.restore(group)
    return board.placed()


def test_annealing_keeps_the_pairs_of_what_it_returns() -> None:
    instance = instance_of(60, km.KAnonymity(2), km.TCloseness("0.4"))
    start, seen = construct(instance, point_of(instance), Limit()), SeenPairs(instance)
    assert start is not None
    found = anneal(
        PricedCandidates.of(instance, point_of(instance)),
        start,
        Effort(neighbourhoods=1),
        None,
        3,
        lambda _: None,
        None,
        seen,
    )
    alone = anneal(
        PricedCandidates.of(instance, point_of(instance)), start, Effort(neighbourhoods=1), None, 3, lambda _: None
    )
    assert found.cost == alone.cost < start.cost
    assert len(seen) > len(found.rows)
