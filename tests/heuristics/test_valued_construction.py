"""Construction, chains and annealing under requirements: tables satisfy all, none is below the optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import optimum
from sensitive_cases import KINDS, SensitiveCase, sensitive_cases

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import candidate_of_all
from kanon_milp.heuristics.valued_annealing import anneal
from kanon_milp.heuristics.valued_construction import PricedCandidates, construct, rounded
from kanon_milp.heuristics.valued_state import ValuedBoard
from kanon_milp.kernels.rows import total
from kanon_milp.kernels.valued_chains import reroute
from kanon_milp.kernels.valued_moves import settle
from kanon_milp.kernels.valued_state import recount
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.problem.privacy import LDiversity
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import PatternMask
from kanon_milp.problem.table import Table
from kanon_milp.system.limit import Limit


def rows_of_groups(case: SensitiveCase, instance: Instance, assignment: Assignment) -> dict[int, list[int]]:
    """Input rows by candidate."""
    kind = instance.types.type_of_rows(case.table().keys)
    rows = {i: np.flatnonzero(kind == i).tolist() for i in range(instance.types.count)}
    groups: dict[int, list[int]] = {}
    for i, g, count in zip(assignment.row_type, assignment.candidate, assignment.rows, strict=True):
        groups.setdefault(int(g), []).extend(rows[int(i)].pop() for _ in range(count))
    assert not any(rows.values())
    return groups


def is_valid(case: SensitiveCase, instance: Instance, assignment: Assignment) -> bool:
    """Whether each group has what the judges of the tests ask for."""
    return all(
        len(group) >= (1 if instance.exempt[g] else case.k) and case.requirement(tuple(group))
        for g, group in rows_of_groups(case, instance, assignment).items()
    )


def point_of(instance: Instance) -> DualPoint:
    if not relaxations_of(instance):
        return DualPoint(np.zeros(instance.types.count), 0.0, charges=np.zeros(0))
    return required_bound(instance, iterations=10)


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_every_table_satisfies_all_requirements(kind: str | None) -> None:
    @given(sensitive_cases(None if kind is None else [kind], max_rows=8, sides=False), st.integers(0, 3))
    @settings(max_examples=examples(300 if kind is None else 60, 10 if kind is None else 3))
    def search(case: SensitiveCase, seed: int) -> None:
        instance = prepare(case.problem())
        best: Any = optimum(case.case.rows, case.k, **case.judged())
        point = point_of(instance)
        start = construct(instance, point, Limit(), seed)
        if best is None:
            assert start is None
            return
        if start is None:  # only where there is no way to put all rows into one group, or that is no solution
            of_all = candidate_of_all(instance) is not None
            assert not (of_all and all(r.merge_closed for r in instance.problem.requirements))
            return
        assert is_valid(case, instance, start)
        assert start.cost * instance.levels.unit >= best
        reported: list[Assignment] = []
        effort = Effort(neighbourhoods=1, enough=int(best / instance.levels.unit))
        found = anneal(PricedCandidates.of(instance, point), start, effort, None, seed, reported.append)
        costs = [start.cost, *(each.cost for each in reported)]
        assert costs == sorted(set(costs), reverse=True)
        assert found.cost == costs[-1]
        assert all(is_valid(case, instance, each) for each in reported)
        assert found.cost * instance.levels.unit >= best
        first = rounded(instance, point)
        assert (first is None) == (not relaxations_of(instance))
        if first is not None:  # any groups, but every row is in one
            assert first.rows.min() > 0
            rows_of_groups(case, instance, first)
            again = anneal(PricedCandidates.of(instance, point), start, effort, None, seed, reported.append, first)
            assert again.cost <= start.cost
            assert is_valid(case, instance, again)
            assert all(is_valid(case, instance, each) for each in reported)
            assert again.cost * instance.levels.unit >= best

    search()


def test_rows_that_never_move_do_not_end_annealing_early() -> None:
    """Their loss is none that a chain knows, but one that the bound counts."""
    names = ["a", "b", "c"]
    rows = [("0", "0", "0", value) for value in "xy" * 20] + [("1", "1", "1", "x"), ("1", "1", "2", "y")]
    frame = pl.DataFrame(rows, schema=[*names, "disease"], orient="row")
    mask = PatternMask([["keep", "keep", "*"], ["*", "*", "*"]])
    instance = prepare(Problem(Table.from_frame(frame, names, "disease"), LDiversity(2), mask))
    candidates = instance.candidates
    general = (candidates.cost == candidates.cost.max())[candidates.candidate_of_pair()]
    rows_of_type = instance.types.counts[candidates.members]
    # the two rows that could be a group of their own are where all columns are suppressed
    start = Assignment.from_pairs(instance, np.where(general == (rows_of_type == 1), rows_of_type, 0))
    least = len(rows)
    assert start.cost * instance.levels.unit == least + 4
    effort = Effort(neighbourhoods=1, enough=round(least / instance.levels.unit))
    found = anneal(PricedCandidates.of(instance, point_of(instance)), start, effort, None, 0, lambda _: None)
    assert found.cost * instance.levels.unit == least


def test_averages_of_few_rows_round_to_the_optimum() -> None:
    """Two pairs that differ in one column, and a third one far away: the averages say which belong together."""
    names = ["a", "b", "c"]
    rows = [("0", "0", "0", "x"), ("0", "0", "1", "y"), ("1", "1", "0", "x"), ("1", "1", "1", "y")] * 3
    frame = pl.DataFrame(rows, schema=[*names, "disease"], orient="row")
    instance = prepare(Problem(Table.from_frame(frame, names, "disease"), LDiversity(2)))
    point = required_bound(instance, iterations=300)
    assert point.rows is not None
    placed = np.bincount(instance.candidates.members, weights=point.rows, minlength=instance.types.count)
    assert placed == pytest.approx(instance.types.counts, abs=0.1)
    found = rounded(instance, point)
    assert found is not None
    assert found.cost * instance.levels.unit == len(rows)


def test_averages_go_on_where_they_were() -> None:
    """They are those of one long ascent, on any number of threads."""
    names = ["a", "b"]
    rows = [(str(i % 4), str(i % 3), "xyz"[i % 5 % 3]) for i in range(40)]
    frame = pl.DataFrame(rows, schema=[*names, "disease"], orient="row")
    instance = prepare(Problem(Table.from_frame(frame, names, "disease"), LDiversity(2)))
    long = required_bound(instance, iterations=30, threads=2)
    short = required_bound(instance, iterations=10)
    short = required_bound(instance, iterations=long.evaluations - short.evaluations, point=short)
    assert long.rows is not None
    assert short.rows is not None
    assert short.rows == pytest.approx(long.rows)


PRICE = 60.0


@given(sensitive_cases(None, max_rows=9, sides=False), st.integers(0, 10**6))
@settings(max_examples=examples(300, 6))
def test_energy_falls_and_is_what_a_recount_says(case: SensitiveCase, seed: int) -> None:
    instance = prepare(case.problem())
    candidates, random = instance.candidates, np.random.default_rng(seed)
    rows = np.zeros(candidates.pairs, np.int64)
    for i, count in enumerate(instance.types.counts.tolist()):
        pairs = np.flatnonzero(candidates.members == i)
        if not len(pairs):  # no candidate is viable
            return
        np.add.at(rows, random.choice(pairs, count), 1)
    start = Assignment.from_pairs(instance, rows)
    board = ValuedBoard.of(instance, np.ones(candidates.pairs, np.bool_), start, 0)
    c = board.rows
    c.price = PRICE * c.cell
    loss, energy = total(c), total(c) + c.price * c.violated
    change = reroute(c, 10**6)
    assert total(c) == loss + change
    assert total(c) + c.price * c.violated <= energy + 1e-6
    violation, size = np.array(c.violation), np.array(c.size)
    recount(c)
    assert np.asarray(c.violation) == pytest.approx(violation)
    assert np.asarray(c.size).tolist() == size.tolist()
    assert board.board.complete
    # where nothing is left to gain, nothing moves
    assert reroute(c, 10**6) == 0 or c.failing > 0


def test_a_row_makes_room_for_another_one() -> None:
    """The first row could keep its a, but there is no room for an x; the x that is there could as well keep its b."""
    rows = [
        ("0", "1", "x", "**"), ("3", "3", "x", "**"), ("3", "4", "y", "**"), ("5", "5", "z", "**"),
        ("0", "0", "x", "a*"), ("0", "2", "y", "a*"),
        ("1", "0", "y", "*b"), ("2", "0", "z", "*b"),
    ]  # fmt: skip
    frame = pl.DataFrame([row[:3] for row in rows], schema=["a", "b", "disease"], orient="row")
    instance = prepare(Problem(Table.from_frame(frame, ["a", "b"], "disease"), LDiversity(2)))
    candidates, kind = instance.candidates, instance.types.type_of_rows(frame)
    of_pair = candidates.candidate_of_pair()
    # the candidates are told apart by what they cover
    cover = {
        "**": set(range(8)), "a*": {0, 4, 5}, "*b": {4, 6, 7},
    }  # fmt: skip
    placed = np.zeros(candidates.pairs, np.int64)
    for r, (_, _, _, pattern) in enumerate(rows):
        wanted = {int(kind[other]) for other in cover[pattern]}
        (g,) = (g for g in range(candidates.count) if set(candidates.members[of_pair == g].tolist()) == wanted)
        placed[np.flatnonzero((of_pair == g) & (candidates.members == kind[r]))] += 1
    board = ValuedBoard.of(instance, np.ones(candidates.pairs, np.bool_), Assignment.from_pairs(instance, placed), 0)
    c = board.rows
    c.price = PRICE * c.cell
    assert c.failing == 0
    assert settle(c) == 0  # no single row moves
    assert reroute(c, 0) == 0
    assert reroute(c, 10**6) * instance.levels.unit == -1
    assert c.failing == 0
