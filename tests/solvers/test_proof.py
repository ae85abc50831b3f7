"""A bound proves what it proves, and not a unit more."""

from __future__ import annotations

import pytest

from kanon_milp.solvers.proof import INTEGRAL_GAP, contradicts, meets, safe_bound


@pytest.mark.parametrize("objective", [5, 4563, 73_912, 10_000_000, 2**45])
def test_whole_numbers_meet_within_one_unit_whatever_their_size(objective: int) -> None:
    def proven(bound: float) -> bool:
        return meets(objective, safe_bound(bound, integral=True), integral=True)

    assert proven(objective)
    assert proven(objective - INTEGRAL_GAP)
    assert not proven(objective - 1)
    assert not proven(objective - 10)
    # a bound that is one unit above by rounding alone does not count as met
    assert not proven(objective - 1 + 1e-7)


def test_a_bound_above_the_table_contradicts_it() -> None:
    assert contradicts(5, safe_bound(5.2, integral=True), integral=True)
    assert not contradicts(5, safe_bound(5.0000001, integral=True), integral=True)
    assert contradicts(5.0, 5.001, integral=False)
    assert not contradicts(5.0, 5.0000001, integral=False)


def test_no_bound_proves_nothing() -> None:
    for bound in (None, float("inf"), float("-inf"), float("nan")):
        assert safe_bound(bound, integral=True) is None
    assert not meets(5, None, integral=True)
    assert not contradicts(5, None, integral=True)


def test_other_objectives_are_not_rounded() -> None:
    assert safe_bound(3.2, integral=False) == 3.2
    assert meets(3.2, 3.2 - 1e-7, integral=False)
    assert not meets(3.2, 3.19, integral=False)
