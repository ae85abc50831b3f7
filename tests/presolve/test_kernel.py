"""The kernel keeps as many rows of a row type as others can need."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from reduction_cases import PrintedKernel, keeps, table_of

import kanon_milp as km
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.kernel import Kernel


@pytest.mark.parametrize(("copies", "left"), [(4, 4), (5, 3), (6, 3), (100, 3)])
def test_a_row_type_keeps_as_many_rows_as_others_can_need(copies: int, left: int) -> None:
    # k = 2 and P = 2 candidates (keep, suppress): 2·1 + 1 rows stay, once 2 others can be placed beforehand
    problem = km.Problem(table_of(" ".join(["a"] * copies + ["b"])), [km.KAnonymity(2)])
    steps = keeps(problem, Fraction(2), (Kernel(),))
    assert steps[0].instance.types.counts.tolist() == [left, 1]
    assert steps[0].instance.candidates.support.tolist() == [left, 1, left + 1]


def test_the_kernel_is_for_groups_of_size_k_alone() -> None:
    table = table_of("axm byn czm dwn", sensitive=True)
    k = km.KAnonymity(2)
    assert Kernel().accepts(km.Problem(table, [k, km.KAnonymity(3)], cost_bound=3))
    for problem in (
        km.Problem(table, [k, km.PSensitivity(2)]),
        km.Problem(table, [k], min_groups=1),
        km.Problem(table, [k], max_groups=1),
        km.Problem(table, [k], objective="max_groups"),
    ):
        assert not Kernel().accepts(problem)


def test_the_kernel_needs_a_candidate_that_costs_nothing() -> None:
    problem = km.Problem(table_of(" ".join(["ax"] * 9)), [km.KAnonymity(2)], km.PatternMask([("keep", "*")]))
    assert Kernel().apply(prepare(problem)).instance.types.n == 9
    free = replace(problem, recoding=km.PatternMask([("keep", "*")], {"q1": 0}))
    assert Kernel().apply(prepare(free)).instance.types.n == 2


@pytest.mark.parametrize(("copies", "left"), [(16, 16), (17, 15), (18, 16), (100, 16), (101, 15)])
def test_the_printed_kernel_takes_groups_of_k_above_its_threshold(copies: int, left: int) -> None:
    # k = 2, m = 1: of more than 2·2²·2 = 16 rows of a type groups of two are taken
    problem = km.Problem(table_of(" ".join(["a"] * copies + ["b"])), [km.KAnonymity(2)])
    steps = keeps(problem, Fraction(2), (PrintedKernel(),))
    assert steps[0].instance.types.counts.tolist() == [left, 1]


def test_the_printed_kernel_is_for_all_patterns() -> None:
    table = table_of("ax by")
    assert PrintedKernel().accepts(km.Problem(table, [km.KAnonymity(2)]))
    assert not PrintedKernel().accepts(km.Problem(table, [km.KAnonymity(2)], km.PatternMask([("keep", "*")])))
