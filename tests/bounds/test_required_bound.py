"""The bound with requirements inside the subproblems: what it says of single groups, of tables, of the relaxation.

What makes it fast changes nothing: screens, stars, slices, threads.
"""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from census import census
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from present import present
from reduction_cases import strong_lp
from sensitive_cases import KINDS, SensitiveCase, sensitive_cases
from strategies import covered, reduced
from test_lagrangian_bound import Q8

import kanon_milp as km
from kanon_milp.bounds import evaluation, lagrangian
from kanon_milp.bounds.dual import NEVER, DualPoint, exact_value, proven_bound, required_phi, round_dual
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.relaxations import Cells, relaxations_of
from kanon_milp.kernels.tree_subproblem import (
    FloatSubproblems,
    IntSubproblems,
    ValuedRows,
    cheapest_of_size,
    compose,
    compose_star,
    select,
)
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.system.arrays import Ints
from kanon_milp.system.parameters import Parameters

# requirements that one view says in full; those of t-closeness for few values only
EXACT = ("p", "l frequency", "l distinct", "alpha", "alpha named", "beta", "delta natural violation", "t equal short")
# requirements whose rows in the strong formulation are no stronger than the views
AS_STRONG = (*EXACT, "t ranks short", "t order short", "t numeric short", "t hierarchy short")


def evaluate_required(
    instance: Instance, multipliers: np.ndarray[Any, Any], charges: np.ndarray[Any, Any] | None = None
) -> tuple[float, np.ndarray[Any, Any]]:
    """L(λ, θ) and φ (G,) in floating point."""
    at = RequiredEvaluator(instance, multipliers)
    point = at.start()
    if charges is not None:
        point[len(multipliers) :] = charges
    found = at(point, everything=True)
    return found.value, found.phi


def drawn(data: st.DataObject, instance: Instance, denominator: int) -> tuple[Ints, Ints]:
    """Multipliers of row types and of the work, in whole multiples of 1/denominator."""
    each = st.integers(-2 * denominator, 8 * denominator)
    types, charged = (
        instance.types.count,
        sum(relaxation.closeness is not None for relaxation in relaxations_of(instance)),
    )
    multipliers = data.draw(st.lists(each, min_size=types, max_size=types))
    # one charge for all candidates in turn is as good as any
    few = data.draw(st.lists(st.integers(0, 9 * denominator), min_size=1, max_size=4))
    charges = [few[g % len(few)] for g in range(charged * instance.candidates.count)]
    return np.array(multipliers, np.int64), np.array(charges, np.int64)


def by_enumeration(case: SensitiveCase, instance: Instance, multipliers: Ints, denominator: int) -> list[int]:
    """φ_g times the denominator: every set of rows that a candidate covers, judged row by row."""
    kind = instance.types.type_of_rows(case.table().keys)
    holds, found = case.requirement, []
    for g, cover in enumerate(instance.candidates.cover_lists()):
        w, rows = int(instance.candidates.cost[g]) * denominator, [r for r in range(len(kind)) if kind[r] in cover]
        least = 1 if instance.exempt[g] else case.k
        costs = [
            sum(w - int(multipliers[kind[r]]) for r in group)
            for size in range(least, len(rows) + 1)
            for group in itertools.combinations(rows, size)
            if holds(group)
        ]
        found.append(min(costs, default=NEVER))
    return found


@pytest.mark.parametrize("kind", EXACT)
def test_groups_are_the_cheapest_that_satisfy_the_requirement(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=7, sides=False), st.data(), st.sampled_from([1, 4096]))
    @settings(max_examples=examples(25, 3))
    def cheapest(case: SensitiveCase, data: st.DataObject, denominator: int) -> None:
        instance = prepare(case.problem())
        multipliers, charges = drawn(data, instance, denominator)
        found = required_phi(instance, DualPoint(multipliers, charges=charges, denominator=denominator)).tolist()
        expected = by_enumeration(case, instance, multipliers, denominator)
        assert all(a <= b for a, b in zip(found, expected, strict=True))
        if all(relaxation.exact and relaxation.closeness is None for relaxation in relaxations_of(instance)):
            assert found == expected
        value, phi = evaluate_required(instance, multipliers / denominator, charges / denominator)
        possible = phi < np.inf
        # in whole numbers charges lose up to one unit at each node
        slack = 1e-3 + 12 * len(charges[:1])
        assert phi[possible] * denominator == pytest.approx(np.array(found)[possible], rel=1e-6, abs=slack)
        assert (possible == (np.array(found) < NEVER)).all()
        point = DualPoint(multipliers / denominator, value, charges=charges / denominator)
        exact = exact_value(instance, round_dual(point, denominator))
        assert value * denominator == pytest.approx(float(exact) * denominator, rel=1e-6, abs=slack * len(found))

    cheapest()


def test_views_that_say_everything_are_known() -> None:
    frame = pl.DataFrame({"q": list("aabbcc"), "s": list("xyzxyz")})
    table = km.Table.from_frame(frame, ["q"], ["s"])
    for requirement in (km.PSensitivity(2), km.LDiversity("1.5"), km.TCloseness("0.3"), km.DeltaDisclosure("0.5")):
        assert [
            relaxation.exact
            for relaxation in relaxations_of(prepare(km.Problem(table, [km.KAnonymity(2), requirement])))
        ] == [True]
    both = [km.PSensitivity(2), km.TCloseness("0.3"), km.LDiversity("1.5")]
    assert [relaxation.exact for relaxation in relaxations_of(prepare(km.Problem(table, both)))] == [True]
    ordered = km.TCloseness("0.3", km.distances.OrderedDistance(["x", "y", "z"]))
    assert [relaxation.exact for relaxation in relaxations_of(prepare(km.Problem(table, [ordered])))] == [True]


@given(sensitive_cases(max_rows=6, sides=False), st.data(), st.sampled_from([1, 7, 4096]))
@settings(max_examples=examples(150, 12))
def test_no_group_is_cheaper_than_its_bound_and_no_table(
    case: SensitiveCase, data: st.DataObject, denominator: int
) -> None:
    instance = prepare(case.problem())
    assume(instance.problem.attributes)
    multipliers, charges = drawn(data, instance, denominator)
    found = required_phi(instance, DualPoint(multipliers, charges=charges, denominator=denominator)).tolist()
    expected = by_enumeration(case, instance, multipliers, denominator)
    assert all(a <= b for a, b in zip(found, expected, strict=True))
    if all(relaxation.exact and relaxation.closeness is None for relaxation in relaxations_of(instance)):
        assert found == expected
    best = optimum(case.case.rows, case.k, **case.judged())
    if best is not None:
        point = DualPoint(multipliers / denominator, 0.0, charges=charges / denominator)
        assert proven_bound(instance, round_dual(point, denominator)) * instance.levels.unit <= best


@pytest.mark.parametrize("kind", AS_STRONG)
def test_it_reaches_the_linear_relaxation_and_stays_below_the_optimum(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=8, sides=False).filter(lambda case: len(case.secrets[0]) == 1))
    @settings(max_examples=examples(8, 2))
    def reaches(case: SensitiveCase) -> None:
        instance = reduced(case.problem())
        assume(covered(instance))
        relaxation, best = strong_lp(instance), optimum(case.case.rows, case.k, **case.judged())
        assume(relaxation is not None and best is not None)
        relaxation, best = present(relaxation), present(best)
        point = required_bound(instance)
        assert point.value >= relaxation - 2e-3 * max(1, relaxation)
        assert point.value * float(instance.levels.unit) <= float(best) + 1e-6
        assert proven_bound(instance, round_dual(point)) * instance.levels.unit <= best

    reaches()


@pytest.mark.parametrize(
    ("requirements", "sensitive"),
    [
        ([km.LDiversity("1.5")], "occupation"),
        ([km.KAnonymity(3), km.TCloseness("0.4")], "workclass"),
        ([km.KAnonymity(3), km.PSensitivity(2)], "workclass"),
        ([km.TCloseness("0.2", "numeric")], "age"),
    ],
    ids=str,
)
@pytest.mark.full
def test_a_census(requirements: list[km.privacy.Requirement], sensitive: str) -> None:
    quasi = [name for name in Q8 if name != sensitive][:4]
    table = km.Table.from_frame(census(60 if sensitive == "age" else 150), quasi, sensitive)
    instance = reduced(km.Problem(table, requirements))
    point = required_bound(instance, lagrangian(instance).multipliers, iterations=600)
    if sensitive == "occupation":
        again = required_bound(instance, lagrangian(instance).multipliers, iterations=600)
        assert (point.multipliers == again.multipliers).all()
    assert float(exact_value(instance, round_dual(point))) >= present(strong_lp(instance)) * (1 - 2e-3)


def test_limits_are_kept_and_bad_problems_refused() -> None:
    frame = pl.DataFrame({"q": list("aabbcc"), "s": list("xyzxyz")})
    table = km.Table.from_frame(frame, ["q"], ["s"])
    instance = reduced(km.Problem(table, [km.LDiversity(2)]))
    assert required_bound(instance, iterations=3).evaluations <= 3
    assert required_bound(instance, seconds=0.0).evaluations == 1
    with pytest.raises(km.InputError, match="no requirement is about a sensitive attribute"):
        required_bound(reduced(km.Problem(table, [km.KAnonymity(2)])))
    with pytest.raises(km.InputError, match="use a smaller denominator"):
        required_phi(
            instance, DualPoint(np.full(instance.types.count, 1 << 58), charges=np.zeros(0, np.int64), denominator=1)
        )
    point = required_bound(instance)
    assert proven_bound(instance, round_dual(point)) * instance.levels.unit <= Fraction(6)


def test_a_direction_that_cancels_is_not_the_end() -> None:
    # the average of the slopes came to nothing at 1.93, and the ascent took that for the optimum
    frame = pl.DataFrame({"q": list("aaaababb"), "s": ["-3", "0", "-3", "-3", "-3", "0", "0", "0"]})
    instance = reduced(km.Problem(km.Table.from_frame(frame, ["q"], "s"), [km.TCloseness(0)]))
    point = required_bound(instance)
    assert point.value > 1.99
    assert proven_bound(instance, round_dual(point)) == 2


EVERY_SIZE = SubproblemParameters(tries=10**6)


def points(rng: np.random.Generator, at: RequiredEvaluator, number: int) -> list[np.ndarray[Any, Any]]:
    """A walk with large and small steps, in quarters, so that there are ties."""
    found = [at.start()]
    for step in range(number):
        change = rng.integers(-4, 5, len(found[-1])) / (1 if step % 3 == 0 else 8)
        point = found[-1] + change
        point[at.types :] = np.maximum(point[at.types :], 0) * rng.integers(0, 2, len(point) - at.types)
        found.append(point)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_screened_and_unscreened_values_are_the_same(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=8, sides=False), st.integers(0, 1 << 30))
    @settings(max_examples=examples(40, 2))
    def same(case: SensitiveCase, seed: int) -> None:
        instance = prepare(case.problem())
        assume(covered(instance))
        at, best = RequiredEvaluator(instance, params=EVERY_SIZE), optimum(case.case.rows, case.k, **case.judged())
        for point in points(np.random.default_rng(seed), at, 5):
            found = at(point)
            # one that remembers nothing, and solves everything
            whole = RequiredEvaluator(instance, params=EVERY_SIZE)(point, everything=True)
            assert np.minimum(found.phi, 0.0) == pytest.approx(np.minimum(whole.phi, 0.0), abs=1e-6)
            assert found.value == pytest.approx(whole.value, abs=1e-6)
            charges = point[at.types :]
            rounded = DualPoint(point[: at.types], found.value, charges=charges)
            assert best is None or proven_bound(instance, round_dual(rounded)) * instance.levels.unit <= best

    same()


def census_instance(requirements: list[km.privacy.Requirement], rows: int = 300) -> Instance:
    quasi = [name for name in Q8 if name != "occupation"][:4]
    return reduced(km.Problem(km.Table.from_frame(census(rows), quasi, "occupation"), requirements))


CENSUS: dict[str, list[Any]] = {
    "shares": [km.KAnonymity(3), km.LDiversity(2)],
    "presence": [km.KAnonymity(3), km.PSensitivity(3)],
    "shares and presence": [km.LDiversity("1.5"), km.PSensitivity(3)],
    "work": [km.KAnonymity(3), km.TCloseness("0.35")],
    "work and presence": [km.PSensitivity(2), km.TCloseness("0.4"), km.LDiversity("1.5")],
}


@pytest.mark.parametrize("name", CENSUS)
def test_a_walk_over_a_census_is_screened_without_a_wrong_skip(name: str) -> None:
    instance = census_instance(CENSUS[name])
    at, rng = RequiredEvaluator(instance, params=EVERY_SIZE), np.random.default_rng(1)
    point, skipped = at.start(), 0
    for _ in range(25):
        found = at(point)
        whole = RequiredEvaluator(instance, params=EVERY_SIZE)(point, everything=True)
        assert np.minimum(found.phi, 0.0) == pytest.approx(np.minimum(whole.phi, 0.0), abs=1e-6)
        skipped += int((found.phi == 0).sum())
        point = point + 0.02 * found.subgradient + 0.01 * rng.standard_normal(len(point))
        point[at.types :] = np.maximum(point[at.types :], 0)
    assert skipped > 0


@pytest.mark.parametrize("name", CENSUS)
@pytest.mark.parametrize("integral", [True, False])
@pytest.mark.parametrize("grain", [None, 1 << 12])
@pytest.mark.parametrize("some_placed", [False, True])
def test_stars_are_composed_as_any_tree(name: str, integral: bool, grain: int | None, some_placed: bool) -> None:
    """Also where all rows of some row types have a group already, as in a construction."""
    instance, rng = census_instance(CENSUS[name]), np.random.default_rng(2)
    types, candidates = instance.types, instance.candidates
    seen = 0
    for relaxation in relaxations_of(instance):
        tree: Any = relaxation.floats() if grain is None else relaxation.integers(grain)
        assert tree.star
        multipliers: Any = rng.integers(0, 96, types.count)
        thetas: Any = rng.integers(0, 48, candidates.count)
        cost: Any = candidates.cost * 16
        counts: Any = types.counts * rng.integers(0, 2, types.count) if some_placed else types.counts
        if grain is None:
            multipliers, thetas, cost, counts = multipliers / 16, thetas / 16, cost / 16, counts.astype(np.float64)
        cells = Cells.of(instance, relaxation)
        given_ = cells.candidates(instance, cells.covers(instance, multipliers), cost, thetas)
        rows = ValuedRows(counts, multipliers, cells.rank)
        s: Any = (FloatSubproblems if grain is None else IntSubproblems)(tree, given_, rows)
        for g in rng.choice(candidates.count, 30).tolist():
            select(s, g)
            for size in range(1, min(s.most, 14) + 1):
                possible = compose(s, size, integral)
                value = s.value
                assert compose_star(s, size, integral) == possible
                if possible:
                    seen += 1
                    assert s.value == (pytest.approx(value, abs=1e-9) if grain is None else value)
                    amounts = np.asarray(s.chosen_amounts)[: s.entries]
                    assert amounts.sum() == pytest.approx(size * float(tree.grain))
                    assert cheapest_of_size(s, size, integral)
                    assert s.value == pytest.approx(value)
    assert seen > 20


@pytest.mark.parametrize("name", CENSUS)
def test_few_sizes_give_a_bound_below(name: str) -> None:
    instance = census_instance(CENSUS[name])
    at = RequiredEvaluator(instance)
    point, found = at.start(), []
    for tries in (2, 4, 10**6):
        where = RequiredEvaluator(instance, params=SubproblemParameters(tries=tries))
        walk = point
        for _ in range(8):
            found.append(np.minimum(where(walk).phi, 0.0))
            walk = walk + 0.15
    few, some, all_ = np.array(found).reshape(3, 8, -1)
    assert (few <= all_ + 1e-9).all()
    assert (some <= all_ + 1e-9).all()
    assert (all_ < 0).any()


def test_slices_go_on_where_the_last_one_ended() -> None:
    instance = census_instance(CENSUS["shares"])
    at_once = required_bound(instance, iterations=90)
    first = required_bound(instance, iterations=60)
    then = required_bound(instance, iterations=30, point=first)
    assert then.evaluations == at_once.evaluations
    assert (then.multipliers == at_once.multipliers).all()
    assert then.value == at_once.value
    assert then.value >= first.value
    # from another process only multipliers and charges come
    copy = pickle.loads(pickle.dumps(first))
    assert copy.ascent is None
    assert required_bound(instance, iterations=1, point=copy).value == pytest.approx(first.value)


def test_charges_are_gone_on_from() -> None:
    instance = census_instance(CENSUS["work"], 150)
    first = required_bound(instance, iterations=120)
    assert (present(first.charges) > 0).any()
    copy = pickle.loads(pickle.dumps(first))
    # which of many sizes of a group are tried depends on the last point
    assert required_bound(instance, iterations=1, point=copy).value == pytest.approx(first.value, rel=1e-3)
    assert required_bound(instance, iterations=60, point=first).value >= first.value


def test_a_point_of_multipliers_alone_charges_nothing() -> None:
    instance = census_instance(CENSUS["work"])
    at = RequiredEvaluator(instance)
    multipliers = at.start()[: at.types] + 0.5
    for v in range(len(at.relaxed)):
        none = at.thetas(multipliers, v)
        assert none.shape == (instance.candidates.count,)
        assert not none.any()
    assert at(multipliers).value == at(np.concatenate([multipliers, np.zeros(len(at.right) - at.types)])).value


def test_guides_for_a_construction_come_with_the_point() -> None:
    instance = census_instance(CENSUS["shares"])
    point = required_bound(instance, iterations=60)
    assert point.open_share is not None
    assert ((point.open_share >= 0) & (point.open_share <= 1)).all()
    assert point.charges is not None
    phi = point.ascent.at(np.concatenate([point.multipliers, point.charges]), everything=True).phi
    value = float(phi[phi < 0].sum() + instance.types.counts @ point.multipliers)
    assert value == pytest.approx(point.value)


def test_threads_change_nothing() -> None:
    divided = Parameters({"subproblems.divided": 1})
    instance = census_instance(CENSUS["shares and presence"])
    one = required_bound(instance, iterations=40, params=divided)
    two = required_bound(instance, iterations=40, threads=2, params=divided)
    assert (one.multipliers == two.multipliers).all()
    assert one.value == two.value


@pytest.mark.parametrize(
    ("requirements", "iterations"),
    [([km.LDiversity(4)], 40), ([km.KAnonymity(10), km.TCloseness("0.2")], 60)],
    ids=["l", "t"],
)
def test_steps_by_number_of_rows_lead_further(
    requirements: list[km.privacy.Requirement], iterations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some row types stand for 31 times as many rows as others."""
    quasi = [name for name in Q8 if name != "occupation"][:4]
    frame = pl.concat([census(300), *[census(75)] * 30]).select([*quasi, "occupation"])
    instance = reduced(km.Problem(km.Table.from_frame(frame, quasi, "occupation"), requirements))
    start = lagrangian(instance, iterations=300).multipliers
    scaled = required_bound(instance, start, iterations=iterations).value
    monkeypatch.setattr(evaluation.Evaluator, "scale", property(lambda self: np.ones(len(self.right))))
    assert scaled > 1.005 * required_bound(instance, start, iterations=iterations).value
