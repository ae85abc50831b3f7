"""Groups as plain lists; prices and the master problem against the linear program over all groups and all tables."""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import Case, cases, reduced

from kanon_milp.bounds import BoundLimit, DualPoint, exact_value, round_dual, type_sets
from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.columns.cut_rounds import Rounds, raise_bound
from kanon_milp.bounds.columns.master import Master, MasterSolution
from kanon_milp.bounds.columns.program import GroupProgram, Pricing, coefficients
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts, separate
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.limit import NO_LIMIT, Limit

Row = tuple[list[int], list[int], int]
Group = tuple[int, tuple[int, ...]]  # candidate, row types in rising order, each as often as it has rows
NEAR = 1e-6
FINE = 1e-5  # reduced costs of this size are not looked at, candidate by candidate

# --------------------------------------------------------------------------------------------- groups as plain lists

groups_of = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.integers(0, 5), min_size=1, max_size=6).map(tuple)),
    max_size=6,
)


def packed(groups: list[Group]) -> Groups:
    return Groups.of_rows(
        np.array([g for g, _ in groups], dtype=np.int64),
        np.array([len(rows) for _, rows in groups], dtype=np.int64),
        np.array([i for _, rows in groups for i in rows], dtype=np.int64),
    )


def read(groups: Groups) -> list[Group]:
    assert all(each.dtype == np.int64 for each in (groups.candidate, *groups.types, groups.copies))
    assert groups.count == len(groups.candidate) == groups.types.lists
    found = []
    indptr = groups.types.indptr
    for g, begin, end in zip(groups.candidate.tolist(), indptr[:-1], indptr[1:], strict=True):
        types, copies = groups.types.values[begin:end].tolist(), groups.copies[begin:end].tolist()
        assert types == sorted(set(types))
        found.append((g, tuple(i for i, a in zip(types, copies, strict=True) for _ in range(a))))
    return found


def ordered(groups: list[Group]) -> list[Group]:
    return [(g, tuple(sorted(rows))) for g, rows in groups]


@given(groups_of, groups_of, st.data())
@settings(max_examples=examples(80, 6))
def test_groups_as_plain_lists(first: list[Group], second: list[Group], data: st.DataObject) -> None:
    groups, expected = packed(first), ordered(first)
    assert read(groups) == expected
    entries = [c for c, (_, rows) in enumerate(expected) for _ in set(rows)]
    assert groups.types.list_of_value().tolist() == entries
    assert read(groups.joined(packed(second))) == expected + ordered(second)
    assert read(Groups.none().joined(groups)) == read(groups.joined(Groups.none())) == expected
    keep = data.draw(st.lists(st.booleans(), min_size=len(first), max_size=len(first)))
    assert read(groups.subset(np.array(keep, dtype=bool))) == [e for e, k in zip(expected, keep, strict=True) if k]
    keys = groups.keys()
    same = [[a == b for b in expected] for a in expected]
    assert [[a == b for b in keys] for a in keys] == same
    (begins, group), copies = groups.by_type(6)
    by_type = [list(zip(group[a:b].tolist(), copies[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(begins)]
    assert by_type == [[(c, rows.count(i)) for c, (_, rows) in enumerate(expected) if i in rows] for i in range(6)]


def test_no_groups() -> None:
    assert read(Groups.none()) == read(packed([])) == []
    assert Groups.none().keys() == []


@given(cases(sides=False))
@settings(max_examples=examples(30, 3))
def test_groups_of_a_table(case: Case) -> None:
    table = greedy(prepare(case.problem()))
    assume(table is not None)
    assert table is not None
    found: dict[int, Counter[int]] = {}
    for i, g, a in zip(table.row_type.tolist(), table.candidate.tolist(), table.rows.tolist(), strict=True):
        found.setdefault(g, Counter())[i] += a
    expected = [(g, tuple(sorted(found[g].elements()))) for g in sorted(found)]
    assert read(Groups.of_assignment(table)) == expected


def rounded(row: Row, rows: tuple[int, ...]) -> int:
    """Its coefficient of a group."""
    return sum(p * rows.count(i) for i, p in zip(row[0], row[1], strict=True)) // row[2]


@st.composite
def rank_one_rows(draw: st.DrawFn, types: int, most: int = 3) -> list[Row]:
    found = []
    chosen = st.lists(st.integers(0, types - 1), min_size=1, max_size=5, unique=True)
    for each in draw(st.lists(chosen, max_size=most)):
        weights = draw(st.lists(st.integers(1, 3), min_size=len(each), max_size=len(each)))
        found.append((each, weights, draw(st.integers(2, 4))))
    return found


@given(groups_of, rank_one_rows(6))
@settings(max_examples=examples(60, 6))
def test_coefficients(groups: list[Group], rows: list[Row]) -> None:
    row, group, times = coefficients(packed(groups), RankOneCuts.of(rows), 6)
    expected = {
        (r, c): rounded(each, members)
        for r, each in enumerate(rows)
        for c, (_, members) in enumerate(groups)
        if rounded(each, members)
    }
    assert dict(zip(zip(row.tolist(), group.tolist(), strict=True), times.tolist(), strict=True)) == expected
    assert group.tolist() == sorted(group.tolist())


# ------------------------------------------------------------------------------------------------------- all groups


@dataclass(frozen=True)
class Small:
    """Candidates over a few row types; those that are drawn end with one that takes any rows."""

    covers: list[list[int]]
    cost: list[int]
    least: list[int]
    surcharge: list[int]
    counts: list[int]
    multipliers: list[float]

    @functools.cached_property
    def groups(self) -> list[Group]:
        return [
            (g, tuple(i for i, a in zip(cover, copies, strict=True) for _ in range(a)))
            for g, cover in enumerate(self.covers)
            for copies in itertools.product(*(range(self.counts[i] + 1) for i in cover))
            if sum(copies) >= self.least[g]
        ]

    def price(self, group: Group) -> int:
        g, rows = group
        return self.cost[g] * len(rows) + self.surcharge[g]

    def limit(self, row: Row) -> int:
        return sum(p * self.counts[i] for i, p in zip(row[0], row[1], strict=True)) // row[2]

    def value(self, multipliers: list[float], rank_one: list[Row], charges: list[float]) -> float:
        """L, from all groups."""
        total = sum(n * each for n, each in zip(self.counts, multipliers, strict=True))
        total -= sum(nu * self.limit(row) for row, nu in zip(rank_one, charges, strict=True))
        phi = [0.0] * len(self.covers)
        for g, rows in self.groups:
            reduced = self.price((g, rows)) - sum(multipliers[i] for i in rows)
            reduced += sum(nu * rounded(row, rows) for row, nu in zip(rank_one, charges, strict=True))
            phi[g] = min(phi[g], reduced)
        return total + sum(phi)

    def linear_program(self, rank_one: list[Row], *, one_each: bool) -> float:
        """The linear program over all groups. one_each: a candidate is used no more than once."""
        limits = [[rounded(row, rows) for _, rows in self.groups] for row in rank_one]
        right = [self.limit(row) for row in rank_one]
        if one_each:
            limits += [[int(g == each) for each, _ in self.groups] for g in range(len(self.covers))]
            right += [1] * len(self.covers)
        found = linprog(
            [self.price(each) for each in self.groups],
            A_ub=limits or None,
            b_ub=right or None,
            A_eq=[[rows.count(i) for _, rows in self.groups] for i in range(len(self.counts))],
            b_eq=self.counts,
        )
        assert found.status == 0
        assert found.fun is not None
        return found.fun

    def optimum(self) -> float:
        """Of all ways to divide the rows into groups. A candidate's surcharge is paid once for each of its groups."""
        least = {(0,) * len(self.counts): 0.0}
        for left in itertools.product(*(range(n + 1) for n in self.counts)):
            for g, rows in self.groups:
                before = tuple(n - rows.count(i) for i, n in enumerate(left))
                if min(before) >= 0 and before in least:
                    cost = least[before] + self.price((g, rows))
                    least[left] = min(cost, least.get(left, cost))
        return least[tuple(self.counts)]

    def program(self, rank_one: list[Row] | None = None) -> GroupProgram:
        numbers = (np.array(each, dtype=np.float64) for each in (self.cost, self.least, self.surcharge))
        return GroupProgram(
            PricedCandidates(*Ragged.of(self.covers, np.int32), *numbers),
            np.array(self.counts, dtype=np.int64),
            DualPoint(
                np.array(self.multipliers, dtype=np.float64),
                rank_one_cuts=RankOneCuts.of(rank_one or []),
                cut_multipliers=np.zeros(len(rank_one or [])),
            ),
        )


@st.composite
def smalls(draw: st.DrawFn) -> Small:
    counts = draw(st.lists(st.sampled_from([1, 1, 1, 2, 3]), min_size=1, max_size=6).filter(lambda n: sum(n) <= 7))
    types = len(counts)
    covers = (
        draw(st.lists(st.lists(st.integers(0, types - 1), min_size=2, unique=True), max_size=5)) if types > 1 else []
    )
    covers = [sorted(cover) for cover in covers] + [list(range(types))]
    size = draw(st.integers(1, min(3, sum(counts))))

    def some(low: int, high: int, number: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=number, max_size=number))

    return Small(
        covers, [*some(0, 4, len(covers) - 1), 5], [size] * len(covers), some(0, 2, len(covers)), counts,
        [each / 2 for each in some(0, 8, types)],
    )  # fmt: skip


@given(smalls(), st.data())
@settings(max_examples=examples(60, 6))
def test_value_and_cheapest_groups(small: Small, data: st.DataObject) -> None:
    types = len(small.counts)
    rank_one = data.draw(rank_one_rows(types))
    quarters = st.integers(0, 20).map(lambda each: each / 4)
    multipliers = data.draw(st.lists(quarters, min_size=types, max_size=types))
    charges = data.draw(st.lists(quarters, min_size=len(rank_one), max_size=len(rank_one)))
    program = small.program()
    pricing = Pricing(program, RankOneCuts.of(rank_one))
    prices = DualPoint(np.array(multipliers), cut_multipliers=np.array(charges))
    value, groups = pricing(prices)
    assert value == pytest.approx(small.value(multipliers, rank_one, charges), abs=FINE)
    assert value <= small.optimum() + NEAR
    assert set(read(groups)) <= set(small.groups)
    assert program.costs(groups).tolist() == [small.price(each) for each in read(groups)]
    # with groups that cost something the value is the same
    more, others = pricing(prices, below=2.0)
    assert more == pytest.approx(value, abs=FINE)
    assert others.count >= groups.count


def solved(master: Master) -> MasterSolution:
    found = master.solve(NO_LIMIT, NEAR)
    assert found is not None
    return found


def check(small: Small, master: Master, found: MasterSolution, rank_one: list[Row]) -> None:
    """After `Master.solve`: the value is that of the linear program over all groups, and true."""
    lower = small.linear_program(rank_one, one_each=False)
    upper = small.linear_program(rank_one, one_each=True)
    assert lower - 1e-4 <= master.value <= upper + NEAR
    if found.artificial < NEAR:
        # else it is the bound near the best multipliers alone
        assert lower - NEAR <= found.upper <= master.value + 1e-4
    check_value(small, master, rank_one)
    assert master.value <= small.optimum() + NEAR
    used = read(master.groups)
    assert set(used) <= set(small.groups)
    for i, count in enumerate(small.counts):
        placed = sum(share * rows.count(i) for share, (_, rows) in zip(found.share, used, strict=True))
        assert placed == pytest.approx(count, abs=1e-6) or found.artificial >= NEAR


def check_value(small: Small, master: Master, rank_one: list[Row]) -> None:
    multipliers, charges = master.best.multipliers.tolist(), master.best.cut_multipliers.tolist()
    assert np.isfinite(multipliers + charges).all()
    assert master.value == pytest.approx(small.value(multipliers, rank_one, charges), abs=FINE)


@given(smalls(), st.data())
@settings(max_examples=examples(70, 6))
def test_master_reaches_the_linear_program_over_all_groups(small: Small, data: st.DataObject) -> None:
    rank_one = data.draw(rank_one_rows(len(small.counts)))
    master = Master(small.program(), Groups.none())
    check(small, master, solved(master), [])
    before = master.value
    master.add_cuts(RankOneCuts.of(rank_one))
    found = solved(master)
    check(small, master, found, rank_one)
    assert master.value >= before
    # rows that charge nothing go after some rounds; the bound stays
    for _ in range(6):
        master.purge_cuts(found.prices)
        found = solved(master)
    left = master.cuts.each()
    assert len(left) <= len(rank_one)
    check(small, master, found, left)
    # with rows and groups from the beginning
    again = Master(small.program(rank_one), packed(read(master.groups)))
    check(small, again, solved(again), rank_one)


@given(cases(max_rows=7, sides=False), st.data())
@settings(max_examples=examples(40, 5))
def test_packing_cuts_are_held(case: Case, data: st.DataObject) -> None:
    instance = reduced(case.problem())
    types = instance.types.count
    assume(types and instance.candidates.count)
    covers = np.split(instance.candidates.members, instance.candidates.indptr[1:-1])
    sets = type_sets(data.draw(st.lists(st.sampled_from(covers), max_size=3)))
    rows = RankOneCuts.of(data.draw(rank_one_rows(types)))
    quarters = st.integers(0, 12).map(lambda each: each / 4)
    multipliers, charges, cuts = (
        np.array(data.draw(st.lists(quarters, min_size=number, max_size=number)))
        for number in (types, sets.lists, rows.count)
    )
    dual = DualPoint(multipliers, 0.0, None, np.zeros(0), 0, sets, charges, rows, cuts)
    program = GroupProgram.of(instance, dual)
    value, _ = Pricing(program, rows)(program.start)
    right = PackingCuts.of(instance, sets).limits @ charges
    # in whole numbers, by the closed form where there are no rank-1 cuts
    assert value - right == pytest.approx(float(exact_value(instance, round_dual(dual))), abs=1e-3)
    raised = raise_bound(instance, dual, None, BoundLimit(rounds=1, ends=time.perf_counter() + 5))
    assert raised.packing_multipliers is dual.packing_multipliers
    if raised is not dual:
        assert raised.value == pytest.approx(float(exact_value(instance, round_dual(raised))), abs=1e-3)


@pytest.mark.parametrize("covers", [[[0, 1], [1, 2]], [[0], [0, 1, 2]], [[0], [1, 2]]])
def test_rows_that_no_groups_place(covers: list[list[int]]) -> None:
    # the linear program is infeasible, L has no upper bound: it ends where L is more than any table could cost
    small = Small(covers, [1, 2], [2, 4], [0, 1], [1, 1, 1], [0.5, 0.0, 3.0])
    master = Master(small.program(), Groups.none())
    ends = time.perf_counter() + 20
    assert master.solve(Limit(ends), NEAR) is None
    assert time.perf_counter() < ends
    assert master.value > 3 * 2 + 1
    check_value(small, master, [])


def a_triple() -> Master:
    return Master(Small([[0, 1, 2]], [1], [2], [0], [1, 1, 1], [0.0] * 3).program(), Groups.none())


def test_no_time_is_left_after_rows_were_added() -> None:
    master = a_triple()
    solved(master)
    before = master.value
    master.add_cuts(RankOneCuts.of([([0, 1, 2], [1, 1, 1], 2)]))
    assert master.solve(Limit(time.perf_counter())) is None
    assert master.value == before
    assert len(master.best.cut_multipliers) == master.cuts.count
    found = solved(master)
    assert len(found.share) == master.groups.count
    assert master.purge_cuts(found.prices) == 0


def test_no_time_is_left_at_all() -> None:
    master = a_triple()
    before = master.value
    assert master.solve(Limit(time.perf_counter())) is None
    assert master.value == before


def test_a_linear_program_that_fails_ends_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    # as where the numbers are too bad for HiGHS
    limit = BoundLimit(rounds=3)
    program = Small([[0, 1, 2]], [1], [2], [0], [1, 1, 1], [0.0] * 3).program()
    before = Master(program, Groups.none()).value
    rounds = Rounds(Master(program, Groups.none()))
    rounds.go_on(limit)
    assert rounds.master.value > before
    monkeypatch.setattr(highspy.Highs, "run", lambda _: None)
    rounds = Rounds(Master(program, Groups.none()))
    rounds.go_on(limit)
    assert rounds.master.value == before


def test_another_model_of_the_thread_has_another_number_of_threads() -> None:
    # HiGHS keeps its threads, one pool for each calling thread, and refuses a model that wants another number
    other = highspy.Highs()
    highspy.Highs.resetGlobalScheduler(True)
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.run()
    try:
        solved(a_triple())
    finally:
        highspy.Highs.resetGlobalScheduler(True)


def test_a_triangle_is_closed_by_one_row() -> None:
    # each two of three rows fit together; half of each pair costs 6, every table 9 with the candidate for all
    covers: list[Any] = [[0, 1], [0, 2], [1, 2], [0, 1, 2]]
    small = Small(covers, [2, 2, 2, 3], [2] * 4, [0] * 4, [1, 1, 1], [0.0] * 3)
    master = Master(small.program(), Groups.none())
    found = solved(master)
    assert master.value == pytest.approx(6)
    cuts = separate(master.groups, found.share, np.ones(3, np.int64), 5, NO_CUTS)
    assert ([0, 1, 2], [1, 1, 1], 2) in cuts.each()
    master.add_cuts(cuts)
    solved(master)
    assert master.value == pytest.approx(9)
