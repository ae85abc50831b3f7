"""The optimum under requirements about sensitive attributes agrees with brute force, and with what must hold of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
import pytest
from case_judge import value
from census import census
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import optimum
from sensitive_cases import CLOSENESS, SensitiveCase, sensitive_cases
from strategies import cases

import kanon_milp as km
from kanon_milp.formulations import strong

relaxed = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("requirement", [km.LDiversity(2), km.TCloseness("2/5"), km.BetaLikeness(1)], ids=str)
def test_sizes_of_groups_are_sums_where_there_are_few_values(
    requirement: km.Requirement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The optimum is the same; that of many values has variables."""
    columns, optima = ["age", "education", "race", "sex"], []
    frame = census(40)
    few = km.Problem(km.Table.from_frame(frame, columns, "marital-status"), [km.KAnonymity(3), requirement])
    many = km.Problem(km.Table.from_frame(frame, columns, "occupation"), [km.KAnonymity(3), requirement])
    for most, kinds in ((strong.MOST_NONZEROS, (pyo.Expression, pyo.Var)), (0, (pyo.Var, pyo.Var))):
        monkeypatch.setattr(strong, "MOST_NONZEROS", most)
        for problem, kind in zip((few, many), kinds, strict=True):
            assert km.build_model(problem).rows.ctype is kind
        optima.append(km.solve(few, method="milp").require_optimal().objective)
    assert optima[0] == optima[1]


# ------------------------------------------------------------------------------------- requirements that are equal


def both_ways(case: SensitiveCase, first: Sequence[Any], second: Sequence[Any]) -> None:
    """Two lists of requirements with the same optimum."""
    assert value(km.solve(case.problem(first))) == value(km.solve(case.problem(second)))


@pytest.mark.parametrize("kind", [kind for kind in CLOSENESS if kind.endswith("short")])
def test_the_short_rows_and_the_transport_rows_of_t_closeness_agree(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=9))
    @settings(relaxed, max_examples=examples(12, 3))
    def agree(case: SensitiveCase) -> None:
        (short,) = case.demands
        transport = replace(short, kind=kind.replace("short", "transport"))
        both_ways(case, [short.package()], [transport.package()])

    agree()


@given(cases(max_rows=9), st.data())
@settings(relaxed, max_examples=examples(20, 3))
def test_k_anonymity_is_t_closeness_of_distinct_values(case: Any, data: st.DataObject) -> None:
    # Liang and Yuan, Lemma 1: equal distance, t = 1 - k/n; what is exempt from k is not exempt from t
    n = len(case.rows)
    if n < 2:
        return
    k = data.draw(st.integers(1, n))
    secrets = tuple((f"v{i}",) for i in range(n))
    distinct = SensitiveCase(replace(case, suppressed_rows="strict", k=k), secrets, ())
    for form in ("short", "transport"):
        both_ways(distinct, [km.KAnonymity(k)], [km.TCloseness(1 - Fraction(k, n), form=form)])
    assert value(km.solve(distinct.problem([km.KAnonymity(k)]))) == optimum(case.rows, k, **distinct.case.judged())


@pytest.mark.full
@given(sensitive_cases(["p"], max_rows=9))
@settings(relaxed, max_examples=examples(12, 2))
def test_requirements_that_ask_for_nothing_are_1_anonymity(case: SensitiveCase) -> None:
    nothing = [km.KAnonymity(1)]
    for requirement in (
        km.LDiversity(1),
        km.LDiversity(1, "distinct"),
        km.LDiversity(1, "blocki-williams"),
        km.PSensitivity(1),
        km.TCloseness(1),
        km.AlphaKAnonymity(1),
        km.BetaLikeness(len(case.secrets)),
    ):
        both_ways(case, nothing, [requirement])


@given(sensitive_cases(["l distinct"], max_rows=9))
@settings(relaxed, max_examples=examples(20, 3))
def test_distinct_l_diversity_is_p_sensitivity(case: SensitiveCase) -> None:
    (demand,) = case.demands
    distinct = [demand.package(), km.KAnonymity(case.case.k)]
    p = [replace(demand, kind="p").package(), km.KAnonymity(case.case.k)]
    both_ways(case, distinct, p)
    if len(demand.columns) == 1:
        both_ways(case, distinct, [replace(demand, kind="l blocki-williams").package(), km.KAnonymity(case.case.k)])


@given(sensitive_cases(["l frequency"], max_rows=9))
@settings(relaxed, max_examples=examples(20, 3))
def test_frequency_l_diversity_is_a_largest_share_of_1_over_l(case: SensitiveCase) -> None:
    (demand,) = case.demands
    both_ways(case, [demand.package()], [replace(demand, kind="alpha", number=1 / Fraction(demand.number)).package()])


# --------------------------------------------------------------------------------------- stricter costs more


def rising(values: Sequence[Fraction | None]) -> bool:
    """Never cheaper, and never feasible again."""
    as_numbers = [Fraction(10**9) if v is None else v for v in values]
    return as_numbers == sorted(as_numbers)


@pytest.mark.full
@given(sensitive_cases(["p"], max_rows=9, sides=False))
@settings(relaxed, max_examples=examples(12, 3))
def test_the_optimum_rises_with_p_and_l_and_falls_with_t(case: SensitiveCase) -> None:
    held = [row[0] for row in case.secrets]
    k, numbers = km.KAnonymity(case.case.k), range(1, len(set(held)) + 1)

    def optima(requirements: Sequence[Any]) -> list[Fraction | None]:
        return [value(km.solve(case.problem([k, requirement]))) for requirement in requirements]

    by_p = optima([km.PSensitivity(p, "s0") for p in numbers])
    by_l = optima([km.LDiversity(least, sensitive="s0") for least in ("1", "5/4", "3/2", "2", "5/2", "3")])
    by_t = optima([km.TCloseness(t, sensitive="s0") for t in ("1", "3/5", "2/5", "3/10", "1/10", "0")])
    for values in (by_p, by_l, by_t):
        assert rising(values)
    # a group where no value has more than 1/l has at least l values
    whole = optima([km.LDiversity(least, sensitive="s0") for least in numbers])
    assert all(rising(pair) for pair in zip(by_p, whole, strict=True))
