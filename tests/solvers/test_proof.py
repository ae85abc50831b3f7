"""A bound proves what it proves, and not a unit more."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid

INTEGERS, ANYWHERE = Grid(), Grid(steps=0)


@pytest.mark.parametrize("objective", [5, 4563, 73_912, 10_000_000, 2**45])
def test_whole_numbers_meet_within_one_unit_whatever_their_size(objective: int) -> None:
    def proven(bound: float) -> bool:
        return INTEGERS.meets(objective, INTEGERS.safe(bound))

    assert proven(objective)
    assert proven(objective - INTEGRAL_GAP)
    assert not proven(objective - 1)
    assert not proven(objective - 10)
    # a bound that is one unit above by rounding alone does not count as met
    assert not proven(objective - 1 + 1e-7)


def test_a_bound_above_the_table_contradicts_it() -> None:
    assert INTEGERS.contradicts(5, INTEGERS.safe(5.2))
    assert not INTEGERS.contradicts(5, INTEGERS.safe(5.0000001))
    assert ANYWHERE.contradicts(5.0, ANYWHERE.safe(5.001))
    assert not ANYWHERE.contradicts(5.0, ANYWHERE.safe(5.0000001))


def test_no_bound_proves_nothing() -> None:
    for bound in (None, float("inf"), float("-inf"), float("nan")):
        assert INTEGERS.safe(bound) is None
        assert ANYWHERE.safe(bound) is None
    for grid in (INTEGERS, ANYWHERE):
        assert not grid.meets(5, None)
        assert not grid.contradicts(5, None)


def test_other_objectives_are_not_rounded() -> None:
    assert ANYWHERE.safe(3.2) == Fraction(3.2)
    assert ANYWHERE.meets(3.2, ANYWHERE.safe(3.2 - 1e-7))
    assert not ANYWHERE.meets(3.2, ANYWHERE.safe(3.19))
