"""Requirements by themselves: what they refuse, what holds for a group, the smallest size they imply."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.problem.distances import MatrixDistance, NumericDistance, OrderedDistance
from kanon_milp.problem.exact import largest_below, smallest_above
from kanon_milp.problem.privacy.delta_disclosure import Base, below_power
from kanon_milp.problem.records import Group


def table(sensitive: str = "abcabd", second: str | None = None) -> km.Table:
    columns = {"q": list("xxyyzz")[: len(sensitive)], "s": list(sensitive)}
    if second is not None:
        columns["s2"] = list(second)
    return km.Table.from_frame(pl.DataFrame(columns), "q", [name for name in columns if name != "q"], source="t.csv")


def group(values: str, whole: str) -> Group:
    reference = Group.of(["s"], Counter((value,) for value in whole))
    return Group.of(["s"], Counter((value,) for value in values), reference)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: km.PSensitivity(0), "p must be at least 1, found 0"),
        (lambda: km.PSensitivity("2"), "p must be an integer"),  # type: ignore[arg-type]
        (lambda: km.LDiversity("0.9"), "l must be at least 1, found 9/10"),
        (lambda: km.LDiversity(1 + 1 / 3), "l: a float of more than 12 digits"),
        (lambda: km.LDiversity("two"), "l: an exact number"),
        (lambda: km.LDiversity("3/2", "distinct"), "l must be an integer for the distinct form"),
        (lambda: km.LDiversity(2, "entropic"), "the form of l-diversity must be one of"),  # type: ignore[arg-type]
        (lambda: km.LDiversity(2, sensitive=("a", "b")), "one sensitive attribute at a time"),
        (lambda: km.TCloseness(0.1 + 0.2), 't: a float of .*; round it, or write it as text, such as "0.15"'),
        (lambda: km.TCloseness("1.01"), "t must lie between 0 and 1, found 101/100"),
        (lambda: km.TCloseness("-1/10"), "t must lie between 0 and 1"),
        (lambda: km.TCloseness("0.2", "equl"), r'unknown ground distance "equl" \(did you mean "equal"'),
        (lambda: km.TCloseness("0.2", form="long"), "the form of t-closeness must be one of"),  # type: ignore[arg-type]
        (lambda: km.AlphaKAnonymity("0"), "alpha must be above 0"),
        (lambda: km.AlphaKAnonymity("3/2"), "alpha must be above 0 and at most 1"),
        (lambda: km.AlphaKAnonymity("1/2", 0), "k must be at least 1"),
        (lambda: km.BetaLikeness("-1"), "beta must not be negative"),
        (lambda: km.DeltaDisclosure(0), "delta must be above 0"),
        (lambda: km.DeltaDisclosure(1, "base10"), "log must be one of"),  # type: ignore[arg-type]
        (lambda: km.DeltaDisclosure(1, absent="fine"), "absent must be one of"),  # type: ignore[arg-type]
    ],
)
def test_parameters_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        make()


def test_a_float_stands_for_its_shortest_decimal_form() -> None:
    for value in (
        0.5,
        0.3,
        0.1,
        1.0,
        0.0,
        1e-5,
        0.123456789012,
        np.float64(0.3),
        np.float32(0.125),
        *np.arange(0, 1, 0.25),
    ):
        assert km.TCloseness(value).exact == Fraction(repr(float(value)))
    assert km.TCloseness(0.3).exact == km.TCloseness("3/10").exact == km.TCloseness(Decimal("0.3")).exact
    assert km.LDiversity(1.1).exact == Fraction(11, 10)
    whole: Any = np.int64(3)
    assert km.BetaLikeness(whole).exact == 3
    assert km.DeltaDisclosure(1e20).exact == 10**20
    refused: tuple[Any, ...] = (
        0.1 + 0.2,
        1 / 3,
        0.1234567890123,
        np.float32(0.1),
        float("nan"),
        float("inf"),
        np.arange(0, 0.5, 0.1)[3],
    )
    for wrong in refused:
        with pytest.raises(km.InputError, match="t: a float of more than 12 digits"):
            km.TCloseness(wrong)
    assert km.TCloseness(np.round(np.arange(0, 0.5, 0.1), 1)[3]).exact == Fraction(3, 10)


@pytest.mark.parametrize(
    "value",
    [
        *("1e99999999", "1e-99999999", "9" * 5000, "1/" + "9" * 5000, "1/0", "1_0", "nan", "inf", "", "0x1"),
        *(10**101, 1e200, Decimal("1e99999999"), Decimal("nan"), Fraction(1, 10**101)),
        *(True, None, [1], {}, b"1", np.array([0.5])),
    ],
)
def test_numbers_that_nobody_means_are_refused_at_once(value: Any) -> None:
    began = time.perf_counter()
    for make in (km.LDiversity, km.TCloseness, km.AlphaKAnonymity, km.BetaLikeness, km.DeltaDisclosure):
        with pytest.raises(km.InputError, match=r"number|float"):
            make(value)
    with pytest.raises(km.InputError, match=r"number|float"):
        km.Suppression({"a": value})
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (km.LDiversity(2, sensitive="t"), '"t" is not a sensitive attribute of the table'),
        (km.TCloseness("0.2", "ordered"), 'column "s": value number 1 .* is not a number'),
        (km.TCloseness("0.2", OrderedDistance(["a", "b"])), "has no rank"),
        (km.TCloseness("0.2", MatrixDistance(["a", "b"], [[0, 1], [1, 0]])), "is not in the distance matrix"),
        (km.AlphaKAnonymity("1/2", values=["q"]), "has no such value as number 1 of values"),
        (km.KAnonymity(2, ["s"]), '"s" is not a quasi-identifier; the table has'),
        (km.KAnonymity(2, ["q", "q"]), "names each column once"),
    ],
)
def test_requirements_that_do_not_fit_the_table_are_refused(requirement: km.Requirement, message: str) -> None:
    with pytest.raises(km.InputError, match=message) as error:
        km.Problem(table(), [requirement])
    assert "t.csv" in str(error.value)


def test_a_sensitive_attribute_is_needed_and_must_vary() -> None:
    none = km.Table.from_frame(pl.DataFrame({"q": ["x", "y"]}), "q")
    with pytest.raises(km.InputError, match="needs a sensitive attribute; name it"):
        km.Problem(none, [km.LDiversity(2)])
    with pytest.raises(km.InputError, match='column "s": a sensitive attribute with one value only'):
        km.Problem(table("aaaaaa"), [km.TCloseness("0.2")])


def test_without_a_name_every_sensitive_attribute_is_meant() -> None:
    both = table("abcabd", "uvuvuv")
    assert [r.attributes for r in km.Problem(both, [km.PSensitivity(2)]).requirements] == [("s",), ("s2",)]
    (joint,) = km.Problem(both, [km.LDiversity(2, "blocki-williams")]).requirements
    assert joint.attributes == ("s", "s2")
    (one,) = km.Problem(both, [km.TCloseness("1/2", sensitive="s2")]).requirements
    assert one.attributes == ("s2",)


def bound(requirement: km.Requirement, whole: str) -> km.Requirement:
    frame = pl.DataFrame({"q": ["x"] * len(whole), "s": list(whole)})
    return requirement.bind(km.Table.from_frame(frame, "q", "s"))[0]


@pytest.mark.parametrize(
    ("requirement", "whole", "holds", "fails"),
    [
        (km.PSensitivity(2), "abc", ["ab", "aab"], ["a", "aa"]),
        (km.LDiversity("3/2"), "abc", ["aab", "ab", "aabb"], ["aaab", "a"]),
        (km.LDiversity(2, "distinct"), "abc", ["aaaab"], ["aaa"]),
        (km.LDiversity(2, "blocki-williams"), "abc", ["aaaab"], ["aaa"]),
        (km.TCloseness("1/6"), "aabb", ["ab", "aab", "aabb"], ["aaab", "a"]),
        (km.AlphaKAnonymity("1/2", 2), "abc", ["ab"], ["aab", "a"]),
        (km.AlphaKAnonymity("1/2", 2, values=["b"]), "abc", ["ab", "aaa"], ["abb", "b"]),
        (km.BetaLikeness("1/2"), "aabb", ["ab", "aaab"], ["aaaab", "b"]),
        (km.DeltaDisclosure(1, "base2"), "aaaabb", ["aab", "aaab", "aaaab"], ["aaaaab", "a", "bba"]),
        (km.DeltaDisclosure(1, "base2", absent="ignored"), "aaaabb", ["aab", "a"], ["aaaaab", "bba"]),
        (km.DeltaDisclosure("0.693"), "aabb", ["ab", "aab"], ["aaab", "a"]),
        (km.DeltaDisclosure("0.694", absent="ignored"), "aabb", ["aaab", "a"], ["aaaab"]),
    ],
)
def test_what_holds_for_a_group(requirement: km.Requirement, whole: str, holds: list[str], fails: list[str]) -> None:
    requirement = bound(requirement, whole)
    for rows in holds:
        assert requirement.holds(group(rows, whole)), rows
    for rows in fails:
        assert not requirement.holds(group(rows, whole)), rows


def test_blocki_williams_asks_for_partners_of_every_row() -> None:
    frame = pl.DataFrame({"q": ["x"] * 4, "s": list("abab"), "s2": list("uvvu")})
    (requirement,) = km.LDiversity(2, "blocki-williams").bind(km.Table.from_frame(frame, "q", ["s", "s2"]))
    pairs = {"au": 1, "bv": 1}
    assert requirement.holds(Group.of(["s", "s2"], {tuple(key): n for key, n in pairs.items()}))
    # (a, v) differs from nobody in both attributes, although two rows do differ in both
    assert not requirement.holds(Group.of(["s", "s2"], {("a", "u"): 1, ("b", "v"): 1, ("a", "v"): 1}))


REQUIREMENTS = [
    km.PSensitivity(2),
    km.LDiversity("3/2"),
    km.LDiversity("5/2"),
    km.LDiversity(2, "distinct"),
    km.TCloseness("1/5"),
    km.TCloseness("1/3"),
    km.TCloseness("1/10", "ordered"),
    km.TCloseness("1/4", "numeric"),
    km.AlphaKAnonymity("2/3", 2),
    km.BetaLikeness("1/2"),
    km.DeltaDisclosure(1),
    km.DeltaDisclosure(1, "base2", "ignored"),
]


@given(st.text("1239", min_size=3, max_size=7).filter(lambda text: len(set(text)) > 1), st.sampled_from(REQUIREMENTS))
def test_no_group_is_smaller_than_the_implied_size(whole: str, requirement: km.Requirement) -> None:
    try:
        requirement = bound(requirement, whole)
    except km.InputError:
        return
    reference = Group.of(["s"], Counter((value,) for value in whole))
    least = requirement.smallest_group(reference)
    for size in range(1, min(least, len(whole) + 1)):
        for rows in itertools.combinations(whole, size):
            assert not requirement.holds(group("".join(rows), whole))


@given(st.text("123", min_size=4, max_size=7).filter(lambda text: len(set(text)) > 1), st.sampled_from(REQUIREMENTS))
def test_requirements_that_say_so_are_merge_closed(whole: str, requirement: km.Requirement) -> None:
    requirement = bound(requirement, whole)
    if not requirement.merge_closed:
        return
    rows = range(len(whole))
    good = [
        set(chosen)
        for size in rows
        for chosen in itertools.combinations(rows, size + 1)
        if requirement.holds(group("".join(whole[i] for i in chosen), whole))
    ]
    for left, right in itertools.combinations(good, 2):
        if not left & right:
            assert requirement.holds(group("".join(whole[i] for i in left | right), whole))


@given(st.fractions(1, 20, max_denominator=50), st.fractions(Fraction(1, 50), 3, max_denominator=50))
def test_comparison_with_powers_is_exact(value: Fraction, exponent: Fraction) -> None:
    for base, log in (("natural", math.log), ("base2", math.log2)):
        if abs(log(value) - exponent) > 1e-9:
            assert below_power(value, exponent, base) == (log(value) < exponent)  # type: ignore[arg-type]


def test_no_exponent_is_too_large_or_too_fine_for_the_comparison() -> None:
    tiny = Fraction(1, 10**99)
    for base in get_args(Base):
        assert below_power(Fraction(10**6), Fraction(10**99), base)
        assert not below_power(Fraction(10**6 + 1, 10**6), tiny, base)
    assert not below_power(Fraction(8), Fraction(3), "base2")
    assert below_power(Fraction(8), 3 + tiny, "base2")
    assert not below_power(Fraction(8), 3 - tiny, "base2")


@pytest.mark.parametrize("delta", [1e9, "1e99", "0.000000001", "1e-99"])
@pytest.mark.parametrize("log", ["natural", "base2"])
def test_delta_disclosure_takes_numbers_of_any_size(delta: Any, log: Any) -> None:
    began = time.perf_counter()
    result = km.solve(km.Problem(table("abaaba"), km.DeltaDisclosure(delta, log)))
    assert time.perf_counter() - began < 10
    # a large delta asks for both values in every group, a small one for the shares of the table, 2 to 1
    assert result.require_optimal().objective == (4 if Fraction(str(delta)) > 1 else 6)


def test_a_rational_power_is_not_below_itself() -> None:
    assert not below_power(Fraction(8), Fraction(3), "base2")
    assert below_power(Fraction(8) - Fraction(1, 10**40), Fraction(3), "base2")
    # ln 2 to forty digits, and one more in the last place
    digits = "0.6931471805599453094172321214581765680755"
    assert not below_power(Fraction(2), Fraction(digits), "natural")
    assert below_power(Fraction(2), Fraction(digits) + Fraction(1, 10**40), "natural")


@given(st.floats(0.01, 5).map(Fraction), st.integers(1, 30))
def test_best_fractions_beside_a_number(number: Fraction, limit: int) -> None:
    fractions = {Fraction(a, b) for b in range(1, limit + 1) for a in range(6 * b)}
    below = largest_below(lambda x: x < number, limit)
    above = smallest_above(lambda x: x < number, limit)
    assert below == max(x for x in fractions if x < number)
    assert above == min(x for x in fractions if x >= number)


@pytest.mark.parametrize("over", ["1.0001", "1.0000001", "1.000000000001"])
@pytest.mark.parametrize("method", ["milp", "search"])
def test_a_share_just_below_one_asks_for_another_value(over: str, method: str) -> None:
    """Its numbers are beyond the tolerances of solvers."""
    rows = [(a, b) for a, b in zip("144400231303552", "404442035303433", strict=True)]
    frame = pl.DataFrame({"a": [a for a, _ in rows], "b": [b for _, b in rows], "s": list("010101010011000")})
    table = km.Table.from_frame(frame, ["a", "b"], "s")
    expected = km.solve(km.Problem(table, km.PSensitivity(2)), method="subset_dp").require_optimal().objective
    for privacy in (km.LDiversity(over), km.AlphaKAnonymity(1 / Fraction(over), 1)):
        problem = km.Problem(table, privacy)
        assert km.solve(problem, method=method).require_optimal().objective == expected


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_coefficients_beyond_floating_point_prove_nothing(solver: str) -> None:
    """CBC called such a model infeasible, which has a table of loss 6."""
    rows, values = ["00", "11", "12", "10", "22"], ["1000000000", *["479862.568539"] * 4]
    values[2] = "1"
    frame = pl.DataFrame({"a": [row[0] for row in rows], "b": [row[1] for row in rows], "s": values})
    problem = km.Problem(
        km.Table.from_frame(frame, ["a", "b"], "s"),
        km.TCloseness("0.998999999", distance=NumericDistance()),
        km.Suppression({"a": 2, "b": 2}),
        max_groups=3,
        min_groups=2,
        cost_bound=12,
    )
    found = km.solve(problem, solver, method="milp")
    assert (found.stop_reason, found.proof) == ("error", "none")
    assert "which floating point does not hold exactly" in found.message
    assert km.solve(problem, method="milp", formulation="groups").require_optimal().objective == 6


def test_auto_takes_a_method_that_proves_what_no_solver_may_have() -> None:
    rows, values = ["00", "11", "12", "10", "22"], ["1000000000", *["479862.568539"] * 4]
    values[2] = "1"
    frame = pl.DataFrame({"a": [row[0] for row in rows], "b": [row[1] for row in rows], "s": values})
    table = km.Table.from_frame(frame, ["a", "b"], "s")
    problem = km.Problem(table, km.TCloseness("0.998999999", distance=NumericDistance()))
    found = km.solve(problem, time_limit=20).require_optimal()
    assert found.objective == km.solve(problem, method="subset_dp").require_optimal().objective
