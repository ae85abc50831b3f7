"""Entropy and recursive (c,l)-diversity, decided exactly; and the hull that limits of shares leave to integers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.problem.privacy.diversity import (
    _simplest,
    enough_entropy,
    entropy_share,
    recursive_holds,
    recursive_share,
    recursive_values,
)
from kanon_milp.problem.privacy.shares import HULL_SIZES, hull_lines
from kanon_milp.verify.definitions import l_diversity

SMALL = [counts for counts in itertools.product(range(6), repeat=4) if 0 < sum(counts) <= 10]


def present(counts: tuple[int, ...]) -> list[int]:
    return [count for count in counts if count]


@pytest.mark.parametrize("l", ["1", "3/2", "2", "19/10", "5/2", "3"])
def test_entropy_is_decided_exactly_and_its_limits_hold(l: str) -> None:  # noqa: E741
    exact = Fraction(l)
    shares = {values: entropy_share(exact, values, 10) for values in (2, 3, 4)}
    certified = l_diversity.entropy_share(exact, 4)
    assert certified == shares[4]
    for counts in SMALL:
        held = present(counts)
        has = enough_entropy(held, exact)
        assert has == (math.prod(Fraction(sum(held), each) ** each for each in held) >= exact ** sum(held))
        if has:
            assert len(held) >= exact
            assert Fraction(max(held), sum(held)) <= shares[4]
            if not counts[2] and not counts[3]:
                assert Fraction(max(held), sum(held)) <= shares[2]
        elif len(held) == 2 and exact <= 2:  # with two values the share says all
            assert Fraction(max(held), sum(held)) > shares[2]


def test_groups_at_the_border_of_any_size() -> None:
    assert enough_entropy([10**6] * 3, Fraction(3))
    assert not enough_entropy([10**6, 10**6, 10**6 - 1], Fraction(3))
    assert enough_entropy([2 * 10**5, 10**5, 10**5 + 1], Fraction(14, 5))


@pytest.mark.parametrize("c", ["1/3", "1/2", "1", "3/2", "2", "5"])
@pytest.mark.parametrize("l", [1, 2, 3])
def test_limits_of_recursive_diversity_hold(c: str, l: int) -> None:  # noqa: E741
    exact = Fraction(c)
    share, different = recursive_share(exact, l, 10), recursive_values(exact, l)
    for held in map(present, SMALL):
        has = recursive_holds(held, exact, l)
        assert has == all(
            max(held) < exact * (sum(held) - sum(some)) for some in itertools.combinations([*held, 0, 0], l - 1)
        )
        if has:
            assert len(held) >= different
            assert Fraction(max(held), sum(held)) <= share
        elif l == 2:  # then the share says all
            assert Fraction(max(held), sum(held)) > share


@pytest.mark.parametrize("c", ["1/3", "7/5", "12/11", "100000000001/100000000000", "1/1000000000000", "12", "1e30"])
def test_no_group_tells_a_c_from_the_one_that_models_state(c: str) -> None:
    exact, simple = Fraction(c), _simplest(Fraction(c), 12)
    assert max(simple.numerator, simple.denominator) <= 12 * 12 * 12
    for counts in itertools.product(range(13), repeat=2):
        for l in (1, 2):  # noqa: E741
            assert recursive_holds(counts, exact, l) == recursive_holds(counts, simple, l)


@pytest.mark.parametrize(("l", "c"), [(1, "2/3"), (2, "1e30"), (2, "1000000000000000000001/1000000000000000000000")])
@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_every_c_and_l_is_solved_to_the_optimum(l: int, c: str, solver: str) -> None:  # noqa: E741
    rows = [("a", "u", "1"), ("a", "u", "2"), ("a", "v", "1"), ("b", "v", "3"), ("b", "v", "1"), ("b", "u", "2")]
    table = km.Table.from_frame(pl.DataFrame(rows, ["x", "y", "s"], orient="row"), ["x", "y"], sensitive="s")
    problem = km.Problem(table, [km.KAnonymity(2), km.LDiversity(l, "recursive", c=Fraction(c))])
    found = km.solve(problem, solver, method="milp")
    other = km.solve(problem, method="subset_dp")
    assert found.require_optimal().objective == other.require_optimal().objective


@pytest.mark.parametrize("form", ["entropy", "recursive"])
def test_unions_of_groups_that_have_it_have_it(form: str) -> None:
    def has(counts: tuple[int, ...]) -> bool:
        held = present(counts)
        return enough_entropy(held, Fraction(2)) if form == "entropy" else recursive_holds(held, Fraction(3, 2), 2)

    some = [counts for counts in itertools.product(range(4), repeat=3) if any(counts) and has(counts)]
    assert all(has(tuple(np.add(a, b).tolist())) for a in some for b in some)


def test_counts_whose_entropy_is_known_exactly() -> None:
    """Groups with the counts 2, 1, 1 are 2√2-diverse, computed here: exp(½ ln 2 + 2·¼ ln 4) = 2^(3/2) = 2.828..."""
    diseases = [
        "heart",
        "viral",
        "cancer",
        "cancer",
        "cancer",
        "heart",
        "viral",
        "viral",
        "heart",
        "viral",
        "cancer",
        "cancer",
    ]
    frame = pl.DataFrame({"zip": ["1305*"] * 4 + ["1485*"] * 4 + ["1306*"] * 4, "disease": diseases})
    table = km.Table.from_frame(frame, ["zip"], "disease")
    found = {
        number: km.verify(km.Problem(table, km.LDiversity(number, "entropy")), frame).ok
        for number in ("2.8", "2.82", "2.83", "3")
    }
    assert found == {"2.8": True, "2.82": True, "2.83": False, "3": False}
    # r_1 = 2 is below c (r_2 + r_3) = 2 c from any c above 1 on
    for c, holds in (("1", False), ("1.01", True)):
        assert km.verify(km.Problem(table, km.LDiversity(2, "recursive", c=c)), frame).ok == holds


def test_a_candidate_with_too_many_counts_keeps_a_bound_and_a_table() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "a": rng.choice(list("abc"), 60, p=[0.6, 0.3, 0.1]),
            "s": rng.choice(list("uvwxy"), 60, p=[0.5, 0.2, 0.1, 0.1, 0.1]),
        }
    )
    problem = km.Problem(km.Table.from_frame(frame, ["a"], "s"), km.LDiversity("3.5", "entropy"))
    result = km.solve(problem, method="milp")
    assert result.verified is True or result.proof == "infeasible"
    if result.table is not None:
        assert km.verify(problem, result.table).ok
        assert result.exact_bound is not None
        assert result.exact_objective is not None
        assert result.exact_bound <= result.exact_objective


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: km.LDiversity(2, "recursive"), "that form needs it"),
        (lambda: km.LDiversity(2, "entropy", c=2), "is for the recursive form alone"),
        (lambda: km.LDiversity(2, "recursive", c=0), "c must be above 0"),
        (lambda: km.LDiversity("3/2", "recursive", c=2), "l must be an integer for the recursive form"),
    ],
)
def test_what_makes_no_sense_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(km.InputError, match=message):
        make()


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
