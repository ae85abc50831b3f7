"""What makes the bound under requirements fast changes nothing: screens, the composition of stars, slices, threads."""

from __future__ import annotations

import pickle
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
from sensitive_cases import KINDS, SensitiveCase, sensitive_cases
from strategies import covered
from test_lagrangian_bound import Q8, reduced

import kanon_milp as km
from kanon_milp.bounds import evaluation, lagrangian
from kanon_milp.bounds.dual import DualPoint, proven_bound, round_dual
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
from kanon_milp.system.parameters import Parameters

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
