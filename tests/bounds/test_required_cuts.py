"""Rank-1 cuts under requirements: groups that brute force finds, and bounds between those without cuts and optima."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import polars as pl
import pytest
from case_judge import judge
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sensitive_cases import CLOSENESS, SensitiveCase, sensitive_cases
from test_rank_one_cuts import Row, drawn_rows

import kanon_milp as km
from kanon_milp.bounds import valued_pricing
from kanon_milp.bounds.columns.cut_rounds import CutRounds
from kanon_milp.bounds.columns.program import RequiredProgram
from kanon_milp.bounds.dual import FINE, DualPoint, Proof, can_be_priced, exact_value, prove, round_dual
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.parameters import RoundParameters
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.arrays import Floats
from kanon_milp.system.clock import Clock
from kanon_milp.system.parameters import Parameters

LIMITED = ("p", "l frequency", "l distinct", "alpha", "alpha named", "beta", "delta natural violation", "t equal short")
# nodes one by one alone, and those of branch and bound alone
WHOLE = (10**9, 0), (0, 10**9)
WORKED = tuple(kind for kind in CLOSENESS if kind.endswith("short"))


def problem(
    rows: int, privacy: km.Requirement | Sequence[km.Requirement], values: int = 3, seed: int = 0
) -> km.Problem:
    """A table of four columns, and one of so many sensitive values."""
    random = np.random.default_rng(seed)
    columns = {f"q{j}": random.integers(3, size=rows).astype(str) for j in range(4)}
    frame = pl.DataFrame({**columns, "s": random.integers(values, size=rows).astype(str)})
    return km.Problem(km.Table.from_frame(frame, list(columns), "s"), privacy)


def priced(
    instance: Instance,
    multipliers: Floats,
    cuts: RankOneCuts,
    cut_multipliers: Floats,
    denominator: int = FINE,
    charges: Floats | None = None,
) -> Proof:
    """What a point with cuts proves with all groups priced one by one."""
    charged = np.zeros(0) if charges is None or not RequiredEvaluator(instance).charged else charges
    point = DualPoint(multipliers, rank_one_cuts=cuts, cut_multipliers=cut_multipliers, charges=charged)
    return prove(instance, round_dual(point, denominator), priced=True)


@contextmanager
def searching(nodes: tuple[int, int]) -> Iterator[None]:
    """With so many nodes one by one, and of branch and bound over rows, for each group."""
    with mock.patch.multiple(valued_pricing, NODES=(nodes,), NODES_OF_EMD=(nodes,)):
        yield


def by_enumeration(
    case: SensitiveCase, instance: Instance, cuts: list[Row], prices: tuple[list[int], list[int]], denominator: int
) -> Fraction:
    """L by looking at every set of rows that a candidate covers, judged row by row."""
    multipliers, charges = prices
    kind = instance.types.type_of_rows(case.table().keys)
    counts = instance.types.counts.tolist()
    total = sum(n * m for n, m in zip(counts, multipliers, strict=True))
    total -= sum(
        v * (sum(p * counts[i] for i, p in zip(types, weights, strict=True)) // d)
        for v, (types, weights, d) in zip(charges, cuts, strict=True)
    )
    for g, cover in enumerate(instance.candidates.cover_lists()):
        w = int(instance.candidates.cost[g]) * denominator
        rows = [r for r in range(len(kind)) if kind[r] in cover]
        best = 0
        for size in range(1 if instance.exempt[g] else case.k, len(rows) + 1):
            for group in itertools.combinations(rows, size):
                if not case.requirement(group):
                    continue
                value = sum(w - multipliers[kind[r]] for r in group)
                for v, (types, weights, d) in zip(charges, cuts, strict=True):
                    weight = dict(zip(types, weights, strict=True))
                    value += v * (sum(weight.get(int(kind[r]), 0) for r in group) // d)
                best = min(best, value)
        total += best
    return Fraction(total, denominator)


@given(
    sensitive_cases((*LIMITED, *WORKED), max_rows=7, sides=False, most=2),
    st.data(),
    st.sampled_from([1, 7, 4096]),
    st.sampled_from([*WHOLE, (3, 0), (3, 300)]),
)
@settings(max_examples=examples(400, 21))
def test_the_value_is_that_of_all_groups(
    case: SensitiveCase, data: st.DataObject, denominator: int, nodes: tuple[int, int]
) -> None:
    instance = prepare(case.problem())
    assume(instance.problem.attributes and can_be_priced(instance))
    types = instance.types.count
    cuts = data.draw(drawn_rows(types))
    each = st.integers(-2 * denominator, 8 * denominator)
    multipliers = data.draw(st.lists(each, min_size=types, max_size=types))
    charges = data.draw(st.lists(st.integers(0, 4 * denominator), min_size=len(cuts), max_size=len(cuts)))
    thetas = data.draw(st.none() | st.sampled_from([0.0, 0.3, 1.0, 50.0]))
    with searching(nodes):
        found = priced(
            instance,
            np.array(multipliers) / denominator,
            RankOneCuts.of(cuts),
            np.array(charges) / denominator,
            denominator,
            None if thetas is None else np.full(instance.candidates.count, thetas),
        ).value
    expected = by_enumeration(case, instance, cuts, (multipliers, charges), denominator)
    assert found <= expected
    if nodes in WHOLE and relaxations_of(instance)[0].exact:
        assert found == expected
    best = judge(case)
    if best is not None:
        assert math.ceil(found) * instance.levels.unit <= best


# nodes that end at the root of branch and bound, or after some more
ROOT_AND_SOME = 8_000, 18_000, 23_000
REQUIREMENTS: dict[str, list[km.Requirement]] = {
    "p": [km.PSensitivity(3), km.KAnonymity(4)],
    "l": [km.LDiversity("5/2"), km.KAnonymity(4)],
    "t": [km.TCloseness("3/10"), km.KAnonymity(4)],
    "t ordered": [km.TCloseness("1/4", "ordered"), km.KAnonymity(3)],
}


@pytest.mark.parametrize("kind", REQUIREMENTS)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
@pytest.mark.full
def test_branch_and_bound_over_rows_finds_what_going_through_all_groups_does(kind: str, seed: int) -> None:
    """Many cuts that overlap, some of them about row types with several rows."""
    random = np.random.default_rng(seed)
    instance = prepare(problem(26, REQUIREMENTS[kind], values=4, seed=seed))
    types, denominator = instance.types.count, 64
    rows = []
    for _ in range(40):
        chosen = sorted(random.choice(types, size=random.integers(3, 6), replace=False).tolist())
        rows.append((chosen, random.integers(1, 3, size=len(chosen)).tolist(), int(random.integers(2, 4))))
    multipliers = random.integers(3 * denominator, 8 * denominator, size=types) / denominator
    charges = random.integers(0, 3 * denominator, size=len(rows)) / denominator
    found = []
    for nodes in (*WHOLE, (500, 2_000), *((0, some) for some in ROOT_AND_SOME)):
        with searching(nodes):
            found.append(priced(instance, multipliers, RankOneCuts.of(rows), charges, denominator))
    one_by_one, branched, *given_up = found
    assert (one_by_one.phi < 0).sum() > 3  # there is something to find
    assert branched.phi.tolist() == one_by_one.phi.tolist()
    assert all((less.phi <= one_by_one.phi).all() for less in given_up)
    assert any(not np.array_equal(less.phi, one_by_one.phi) for less in given_up)


@given(sensitive_cases((*LIMITED, *WORKED), max_rows=9, sides=False, most=2))
@settings(max_examples=examples(80, 5))
def test_rounds_of_cuts_stay_below_the_optimum(case: SensitiveCase) -> None:
    instance = presolve(case.problem(), Clock(), merge=True).instance
    assume(instance.problem.attributes and instance.candidates.count and can_be_priced(instance))
    best = judge(case)
    assume(best is not None)
    point = required_bound(instance, iterations=60)
    cuts = CutRounds(instance, point, None)
    cuts.go_on(BoundLimit(rounds=3), lambda _: None)
    assert best is not None
    assert cuts.proof().bound * instance.levels.unit <= best
    assert cuts.proof().bound >= math.floor(exact_value(instance, round_dual(point)))


def test_cuts_raise_the_bound() -> None:
    asked = problem(60, km.TCloseness("0.3"))
    instance = presolve(asked, Clock(), merge=True).instance
    point = required_bound(instance, iterations=400)
    cuts = CutRounds(instance, replace(point, charges=np.zeros(0)), None)
    before = cuts.value
    cuts.go_on(BoundLimit(rounds=4), lambda _: None)
    assert cuts.value > max(before, point.value) + 0.5
    result = km.solve(asked, method="milp")
    assert result.is_optimal
    assert result.exact_objective is not None
    assert cuts.proof().bound * instance.levels.unit <= result.exact_objective


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_rounds_have_more_cuts_unless_they_are_cut_short(seconds: float) -> None:
    instance = presolve(problem(60, km.TCloseness("0.3")), Clock(), merge=True).instance
    point = required_bound(instance, iterations=400)
    params = Parameters({"cut_rounds.shortest": seconds})
    cuts = CutRounds(instance, replace(point, charges=np.zeros(0)), None, params)
    before, first = cuts.value, RoundParameters.first
    cuts.go_on(BoundLimit(rounds=2), lambda _: None)
    assert cuts.value >= before
    assert (cuts.at.cut_multipliers > 0).all()
    assert cuts.at.rank_one_cuts.count == len(cuts.at.cut_multipliers)
    if seconds:
        assert cuts._rounds._most == 4 * first
        assert cuts.at.rank_one_cuts.count
    else:
        assert cuts._rounds._most == max(first // 4, RoundParameters.fewest_carefully)


def test_without_cuts_it_is_the_required_bound() -> None:
    instance = prepare(problem(60, km.LDiversity("1.5")))
    point = required_bound(instance, iterations=100)
    point = DualPoint(point.multipliers, charges=np.zeros(0))
    exact = priced(instance, point.multipliers, NO_CUTS, np.zeros(0), 4096).value
    assert exact == exact_value(instance, round_dual(point, 4096))


def test_a_tree_with_inner_nodes_is_refused() -> None:
    tree = km.Hierarchy.from_rows([["0", "0-1", "*"], ["1", "0-1", "*"], ["2", "2-3", "*"], ["3", "2-3", "*"]])
    instance = prepare(problem(40, km.TCloseness("0.3", km.distances.HierarchicalDistance(tree)), values=4))
    assert not can_be_priced(instance)
    with pytest.raises(InputError, match="limits of the values"):
        CutRounds(instance, DualPoint(np.zeros(instance.types.count), charges=np.zeros(0)), None)


@pytest.mark.parametrize("kind", REQUIREMENTS)
def test_prices_that_are_no_better_are_looked_at_less_closely(kind: str) -> None:
    """Never above L, which is exact where it is above what is known; groups are cheaper than asked for all the same."""
    random = np.random.default_rng(1)
    instance = prepare(problem(24, REQUIREMENTS[kind], values=4))
    types = instance.types.count
    cuts = RankOneCuts.of([(sorted(random.choice(types, 3, replace=False).tolist()), [1, 1, 1], 2) for _ in range(30)])
    multipliers, below = random.uniform(3, 8, size=types), -1e-7
    prices = DualPoint(multipliers, cut_multipliers=random.uniform(0, 1, size=cuts.count))
    pricing = RequiredProgram.of(instance, DualPoint(multipliers, charges=np.zeros(0))).pricing(cuts)
    value, groups = pricing(prices, below)
    assert groups.count
    with mock.patch.multiple(valued_pricing, NODES=((5, 0), (10**9, 0)), NODES_OF_EMD=((5, 0), (10**9, 0))):
        for known in (value + 1, value - 1):
            less, some = pricing(prices, below, known)
            assert less <= value + 1e-9
            assert pricing.program.costs(some).sum() < (multipliers[some.types.values] * some.copies).sum()
        exact, _ = pricing(prices, below)
    assert exact == pytest.approx(value)


@pytest.mark.parametrize("nodes", WHOLE)
def test_weights_may_be_far_above_the_denominator(nodes: tuple[int, int]) -> None:
    instance = prepare(problem(9, km.PSensitivity(2)))
    types, denominator = instance.types.count, 1 << 20
    cuts, price = RankOneCuts.of([([0, 1], [10**9, 1], 3)]), np.array([1 / denominator])
    multipliers = np.full(types, 1000.0)
    with searching(nodes):
        found = priced(instance, multipliers, cuts, price, denominator)
    without = priced(instance, multipliers, NO_CUTS, np.zeros(0), denominator)
    # groups can do without the first row, or it is worth what it costs
    assert (found.phi >= without.phi).all()
    assert found.phi.min() < 0
    worth = int(instance.types.counts.sum()) * 1000 * denominator
    assert worth - found.total + int(found.phi.sum()) == (10**9 + 1) // 3


def test_no_price_may_be_negative() -> None:
    instance = prepare(problem(40, km.LDiversity("1.5")))
    cut = RankOneCuts.of([([0, 1, 2], [1, 1, 1], 2)])
    with pytest.raises(InputError, match="negative"):
        DualPoint(np.ones(instance.types.count, np.int64), rank_one_cuts=cut, cut_multipliers=np.array([-1]))
