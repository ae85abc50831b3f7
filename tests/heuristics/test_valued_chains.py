"""Chains of rows: they lower the loss where no single move does, and never leave more violations behind."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sensitive_cases import SensitiveCase, sensitive_cases

from kanon_milp.heuristics.valued_state import ValuedBoard
from kanon_milp.kernels.rows import total
from kanon_milp.kernels.valued_chains import reroute
from kanon_milp.kernels.valued_moves import settle
from kanon_milp.kernels.valued_state import recount
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import prepare
from kanon_milp.problem.privacy import LDiversity
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table

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
