"""The hull of (size, rows with a value) that limits of shares leave to integers."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.problem.privacy.shares import HULL_SIZES, hull_lines

SHARES = st.fractions(min_value=0, max_value=1, max_denominator=3000).filter(lambda share: 0 < share < 1)


@given(SHARES, st.integers(1, 60), st.booleans())
def test_every_integer_point_is_on_the_right_side(share: Fraction, least: int, upper: bool) -> None:
    """Far beyond the sizes that are looked at, too."""
    for line in hull_lines(share, least, upper=upper):
        for size in (*range(least, least + 4 * HULL_SIZES), 10**6, 10**6 + 1):
            limit = line.rise * size + line.constant
            if upper:
                assert line.run * math.floor(share * size) <= limit
            else:
                assert line.run * math.ceil(share * size) >= limit


@given(SHARES, st.integers(1, 60), st.booleans())
def test_the_smallest_group_is_a_vertex(share: Fraction, least: int, upper: bool) -> None:
    """A group of κ rows may have no fraction of a row more than an integer number."""
    lines = hull_lines(share, least, upper=upper)
    if lines and (share * least).denominator > 1:
        at = math.floor(share * least) if upper else math.ceil(share * least)
        assert lines[0].run * at == lines[0].rise * least + lines[0].constant


def test_known_lines() -> None:
    """Two of three rows: of two rows one."""
    (line,) = hull_lines(Fraction(2, 3), 2, upper=True)
    assert (line.run, line.rise, line.constant) == (1, 1, -1)
    assert hull_lines(Fraction(1, 2), 2, upper=True) == []
    (line,) = hull_lines(Fraction(1, 8), 2, upper=False)
    assert (line.run, line.rise, line.constant) == (1, 0, 1)
