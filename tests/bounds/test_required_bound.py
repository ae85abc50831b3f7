"""The bound with requirements inside the subproblems: what it says of single groups, of tables, of the relaxation."""

from __future__ import annotations

import itertools
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
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import covered
from test_lagrangian_bound import Q8, reduced, strong_lp

import kanon_milp as km
from kanon_milp.bounds import lagrangian
from kanon_milp.bounds.dual import NEVER, DualPoint, exact_value, proven_bound, required_phi, round_dual
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.system.arrays import Ints

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
