"""Groups of a few rows, looked at one by one: which are allowed, what they cost, and that nothing is lost."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import covered
from test_required_bound import by_enumeration, drawn

import kanon_milp as km
from kanon_milp.bounds import small_groups
from kanon_milp.bounds.dual import NEVER, DualPoint, proven_bound, required_phi, round_dual
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.relaxations import Cells, Relaxation, relaxations_of
from kanon_milp.kernels.small_groups import FloatSmallGroups, list_small_groups
from kanon_milp.kernels.tree_subproblem import FloatSubproblems, ValuedRows
from kanon_milp.presolve.instance import Instance, prepare

CHARGED = ("t equal short", "t ranks short", "t order short", "t numeric short", "t hierarchy short")


def charged(instance: Instance) -> Relaxation:
    """The only relaxation, which charges the work of the metric itself."""
    relaxations = relaxations_of(instance)
    assume(len(relaxations) == 1 and relaxations[0].closeness is not None)
    return relaxations[0]


@pytest.mark.parametrize("kind", CHARGED)
def test_small_groups_are_the_cheapest_that_are_allowed(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=7, sides=False), st.data(), st.sampled_from([1, 4096]))
    @settings(max_examples=examples(40, 3))
    def cheapest(case: SensitiveCase, data: st.DataObject, denominator: int) -> None:
        instance = prepare(case.problem())
        relaxation = charged(instance)
        small = small_groups.small_sizes(relaxation, np.ones(1, np.int64))
        assert small is not None
        multipliers, charges = drawn(data, instance, denominator)
        found = required_phi(instance, DualPoint(multipliers, charges=charges, denominator=denominator))
        expected = np.array(by_enumeration(case, instance, multipliers, denominator))
        assert (found <= expected).all()
        few = instance.candidates.support <= small.most
        assert (found[few] == expected[few]).all()

    cheapest()


@pytest.mark.parametrize("tried", [0, 3])
def test_a_search_that_gives_up_proves_less(tried: int) -> None:
    @given(sensitive_cases(["t ranks short"], max_rows=7, sides=False), st.data())
    @settings(max_examples=examples(30, 3))
    def less(case: SensitiveCase, data: st.DataObject) -> None:
        instance = prepare(case.problem())
        charged(instance)
        multipliers, charges = drawn(data, instance, 16)
        all_ = required_phi(instance, DualPoint(multipliers, charges=charges, denominator=16))
        few = SubproblemParameters(exact_tried=tried)
        found = required_phi(instance, DualPoint(multipliers, charges=charges, denominator=16), params=few)
        assert (found <= all_).all()
        assert ((found < NEVER) >= (all_ < NEVER)).all()

    less()


@pytest.mark.parametrize("kind", CHARGED)
@given(data=st.data())
@settings(max_examples=examples(30, 3))
def test_the_list_has_each_group_that_does_not_fall_apart(kind: str, data: st.DataObject) -> None:
    case = data.draw(sensitive_cases([kind], max_rows=7, sides=False))
    instance = prepare(case.problem())
    assume(covered(instance))
    relaxation = charged(instance)
    small = small_groups.small_sizes(relaxation, np.ones(1, np.int64))
    assert small is not None
    multipliers = drawn(data, instance, 2)[0] / 2
    below = data.draw(st.integers(-2, 6)) + 0.25
    cells = Cells.of(instance, relaxation)
    cost = instance.candidates.cost.astype(np.float64)
    some = cells.candidates(instance, cells.covers(instance, multipliers), cost, np.zeros(len(cost)))
    rows = ValuedRows(instance.types.counts.astype(np.float64), multipliers, cells.rank)
    few = FloatSmallGroups(FloatSubproblems(relaxation.floats(), some, rows), small, np.zeros(len(cost)))
    complete, of, types = list_small_groups(few, below, 100_000)
    assert complete
    found = {
        (g, tuple(sorted(i for i in group if i >= 0))) for g, group in zip(of.tolist(), types.tolist(), strict=True)
    }
    assert len(found) == len(of)
    of_row = instance.types.type_of_rows(case.table().keys)
    expected: set[Any] = set()
    for g, cover in enumerate(instance.candidates.cover_lists()):
        members = [r for r in range(len(of_row)) if of_row[r] in cover]
        least = 1 if instance.exempt[g] else case.k
        good = {
            group
            for size in range(least, small.most + 1)
            for group in itertools.combinations(members, size)
            if case.requirement(group)
        }
        for group in good:
            parts = (
                part
                for size in range(1, len(group))
                for part in itertools.combinations(group, size)
                if part in good and tuple(r for r in group if r not in part) in good
            )
            value = sum(cost[g] - multipliers[of_row[r]] for r in group)
            if value < below and next(parts, None) is None:
                expected.add((g, tuple(sorted(int(of_row[r]) for r in group))))
    assert found == expected


def test_a_far_row_takes_a_whole_row_beside_it() -> None:
    # alone 0 and 9 are too far from the others, and half of another row is none: a charge alone proves less
    ages = [0, 9, 3, 4, 5, 4, 5, 4]
    frame = pl.DataFrame({"a": list("xxxxyyyy"), "b": list("uvuvuvuv"), "s": [str(age) for age in ages]})
    table = km.Table.from_frame(frame, ["a", "b"], "s")
    instance = prepare(km.Problem(table, [km.TCloseness("0.3", "ordered")]))
    point = required_bound(instance)
    charged_alone = required_bound(instance, small=False).value
    result = km.solve(km.Problem(table, [km.TCloseness("0.3", "ordered")]), method="milp")
    assert result.exact_objective is not None
    assert charged_alone < 2.5 < 2.99 < point.value
    assert proven_bound(instance, round_dual(point)) <= result.exact_objective / Fraction(instance.levels.unit)


def test_candidates_of_few_rows_have_their_values_where_all_are_asked_for() -> None:
    # an infinite value is where these begin: times zero it was no number, and every group was dearer
    frame = pl.DataFrame({"a": ["x"] * 4, "b": ["y"] * 4, "s": ["-3", "-3", "0", "1.5"]})
    instance = prepare(km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), [km.TCloseness("3/8", "ordered")]))
    at = RequiredEvaluator(instance)
    point = np.zeros(len(at.start()))
    point[: at.types] = [3.0, 1.0, 0.0]
    some, every = at(point), at(point, everything=True)
    assert np.isfinite(every.phi).all()
    assert every.value == some.value
    assert (np.minimum(every.phi, 0) == np.minimum(some.phi, 0)).all()


def test_a_search_where_no_candidate_covers_more_than_few_rows() -> None:
    """It ended in a division by zero: no candidate was likely to be drawn."""
    rows = [("b0", *"xzyu"), ("b0", *"xxzw"), ("b0", *"xyzv"), ("b0", *"xxzz")]
    rows += [("b1", *"yxxw"), ("b1", *"yzxw"), ("b1", *"xxzv"), ("b1", *"zyyu")]
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abcds", pl.String), orient="row")
    table = km.Table.from_frame(frame, list("abcd"), "s")
    mask = km.PatternMask(tuple((0, *rest) for rest in itertools.product((0, 1), repeat=3)))
    result = km.solve(km.Problem(table, [km.TCloseness("0.5")], mask), method="search", iteration_limit=1)
    assert result.exact_objective == 14  # by the direct model, and by brute force
    assert result.exact_bound is not None
    assert result.exact_bound <= 14
