"""Moves and chains under requirements: what they say that they change is what a recount says."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_rows import Table, random_table

from kanon_milp.kernels.rows import commit, total
from kanon_milp.kernels.valued_chains import reroute
from kanon_milp.kernels.valued_moves import (
    absorb,
    descend,
    dissolve,
    make_moves,
    mend,
    mend_all,
    pull,
    relocate,
    settle,
    shift,
    swap,
)
from kanon_milp.kernels.valued_state import (
    ValuedState,
    best_target,
    exchanged,
    may_have,
    of_group,
    of_value,
    put,
    recount,
    take_back,
    with_one,
)
from kanon_milp.system.arrays import Ints

VALUES, ROWS = 3, 30
relaxed = settings(max_examples=40)


def seeds(test: Any) -> Any:
    """Many cases, which take a while where kernels are not compiled."""
    return relaxed(given(st.integers(0, 10_000))(test))


class Case(NamedTuple):
    table: Table
    value: Ints
    parts: tuple[Any, ...]

    def state(self, seed: int = 1) -> ValuedState:
        c = ValuedState((*self.table, seed), *self.parts)
        c.price = 20.0
        return c


def case_of(seed: int) -> Case:
    """No value has more than half of the rows of a group, and two are in each."""
    table, random = random_table(seed, rows=ROWS, types=8, candidates=9), np.random.default_rng(seed)
    value = random.integers(VALUES, size=ROWS)
    by_value = [sorted(cover, key=lambda r: int(value[r])) for cover in table.covers.each()]
    table = table._replace(covers=type(table.covers).of(by_value, np.int32))
    parked = np.zeros((len(table.size), VALUES), np.int32)
    parked[:, 0] = table.parked
    nothing = np.zeros(0, np.int64)
    rules = (
        np.arange(VALUES, dtype=np.int32)[:, None].copy(),
        np.array([(v, 0, 1, 1, 2) for v in range(VALUES)], np.int64),
        np.array([(0, VALUES, 2)], np.int64),
        nothing, nothing, nothing, nothing,
        nothing.reshape(0, 5),
    )  # fmt: skip
    return Case(table, value, (rules, value, parked, 1.0))


def check(c: ValuedState, case: Case) -> None:
    """What is kept up is what a recount says."""
    kept = np.array(c.violation), np.array(c.rules.counts), np.array(c.size), c.violated, c.failing
    commit(c)
    recount(c)
    assert np.asarray(c.violation) == pytest.approx(kept[0])
    assert (np.asarray(c.rules.counts) == kept[1]).all()
    assert (np.asarray(c.size) == kept[2]).all()
    assert c.violated == pytest.approx(kept[3])
    assert c.failing == kept[4]
    assert total(c) == case.table.cost[case.table.group].sum()
    options = case.table.options.each()
    assert all(g in options[i] for i, g in zip(case.table.type_of, case.table.group, strict=True))


@pytest.mark.parametrize("move", [pull, dissolve, mend, relocate, shift, swap])
@seeds
def test_a_move_says_what_it_changes_and_is_taken_back(move: Any, seed: int) -> None:
    case = case_of(seed)
    c, random = case.state(), np.random.default_rng(seed)
    for _ in range(5):
        before, loss, violated = case.table.group.copy(), total(c), c.violated
        at = int(random.integers(ROWS if move in (relocate, shift, swap) else len(before) and len(case.table.size) - 1))
        change = move(c, at, 12, 6) if move is mend else move(c, at, np.inf)
        if change < np.inf:
            assert total(c) == loss + change
        if random.random() < 0.5:
            take_back(c)
            assert (case.table.group == before).all()
            assert c.violated == pytest.approx(violated)
        else:
            commit(c)
    check(c, case)


@seeds
def test_what_one_row_changes(seed: int) -> None:
    case = case_of(seed)
    c, options = case.state(), case.table.options.each()
    for r in range(0, ROWS, 3):
        h, i, u = int(case.table.group[r]), int(case.table.type_of[r]), int(case.value[r])
        energies = {}
        for g in range(len(case.table.size) - 1):
            assert may_have(c, r, g) == (g in options[i])
            rows = case.table.covers.each()[g]
            first, last = of_value(c, g, u)
            assert sorted(rows[first - c.covers_at[g] : last - c.covers_at[g]]) == [
                other for other in sorted(rows) if case.value[other] == u
            ]
            if g in options[i] and g != h:
                before, open_ = np.array(c.violation), case.table.size[g] > 0
                more, less, loss = with_one(c, g, u, 1), with_one(c, h, u, -1), put(c, r, g)
                assert c.violation[g] - before[g] == pytest.approx(more)
                assert c.violation[h] - before[h] == pytest.approx(less)
                take_back(c)
                if open_:
                    energies[g] = loss + c.price * more, loss
        g, energy = best_target(c, r, -1)
        assert (g in energies and energy == pytest.approx(energies[g][0])) if energies else g < 0
        # what loses more is not looked at, even if it mended more
        assert all(other >= energy - 1e-6 for other, loss in energies.values() if loss < energy)
        other = of_group(c, h)
        assert case.table.group[other] == h
        v, violation = int(case.value[other]), float(c.violation[h])
        change = exchanged(c, h, u, v)
        c.rules.counts[h, u] += 1
        c.rules.counts[h, v] -= 1
        assert with_one(c, h, u, 0) + violation == pytest.approx(violation + change)
        c.rules.counts[h, u] -= 1
        c.rules.counts[h, v] += 1
    check(c, case)


@seeds
def test_what_mends_a_table_lowers_energy(seed: int) -> None:
    case = case_of(seed)
    c = case.state()
    order = np.arange(len(case.table.size) - 1)

    def energy() -> float:
        return total(c) + c.price * c.violated

    loss, before = total(c), energy()
    assert settle(c) == total(c) - loss
    assert energy() <= before + 1e-6
    before = energy()
    mend_all(c, order, 6)
    assert energy() <= before + 1e-6
    check(c, case)
    for g in order:
        violation, failing = float(c.violation[g]), c.failing
        open_, rows = {int(h) for h in case.table.group}, np.bincount(case.table.group)
        if violation and absorb(c, int(g)):
            (gone,) = open_ - {int(h) for h in case.table.group}
            assert rows[gone] + rows[g] == (case.table.group == g).sum()
            assert c.failing <= failing
    check(c, case)
    loss, violated = total(c), c.violated
    descend(c, order)
    assert total(c) <= loss
    assert c.violated <= violated + 1e-6
    check(c, case)
    loss, before = total(c), energy()
    assert reroute(c, 10_000) == total(c) - loss
    assert energy() <= before + 1e-6
    check(c, case)


@seeds
def test_annealing_returns_the_cheapest_table_without_violations(seed: int) -> None:
    found = []
    for _ in range(2):
        case = case_of(seed)
        c, candidates = case.state(), len(case.table.size) - 1
        best, shares = np.full(ROWS, -1, np.int32), np.array([0.2, 0.3, 0.5, 0.8])
        chance, alias = np.ones(candidates), np.arange(candidates)
        lowest = make_moves(c, 1_200, np.array([2.0, 0.1, 20.0]), shares, chance, alias, best, 1 << 40)
        check(c, case)
        found.append((lowest, case.table.group.tolist(), best.tolist()))
        if lowest < 1 << 40:
            assert case.table.cost[best].sum() == lowest
            case.table.group[:] = best
            recount(c)
            assert c.failing == 0
        else:
            assert (best == -1).all()
    assert found[0] == found[1]
