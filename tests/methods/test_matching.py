"""Simplex matching: proven optima for k = 2 and l = 2, the same as brute force and the direct model give."""

from __future__ import annotations

import threading
import time
from fractions import Fraction

import polars as pl
import pytest
from census import Q8, census, census_problem
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import optimum
from present import present
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.methods import matching_phases

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def solved(problem: km.Problem, **options: object) -> km.Result:
    return km.solve(problem, method="matching", **options)  # type: ignore[arg-type]


def agrees(result: km.Result, expected: Fraction | None) -> None:
    if expected is None:
        assert result.proof == "infeasible"
    else:
        assert result.is_optimal
        assert result.verified
        assert result.exact_objective == expected == result.exact_bound


@given(cases(max_rows=9, sides=False).filter(lambda case: len(case.rows) > 1))
@settings(relaxed, max_examples=examples(150, 40))
def test_2_anonymity_agrees_with_brute_force(case: Case) -> None:
    case = Case(**{**vars(case), "k": 2})
    agrees(solved(case.problem()), optimum(case.rows, 2, **case.judged()))


@st.composite
def sensitive_cases(draw: st.DrawFn) -> tuple[Case, list[str | None]]:
    case = draw(cases(max_rows=8, sides=False).filter(lambda drawn: len(drawn.rows) > 1))
    values = st.sampled_from(["s", "t", "u", None][: draw(st.integers(2, 4))])
    rows = len(case.rows)
    return case, draw(st.lists(values, min_size=rows, max_size=rows).filter(lambda drawn: len(set(drawn)) > 1))


@given(sensitive_cases(), st.sampled_from(["l", "l with k", "alpha"]))
@settings(relaxed, max_examples=examples(150, 40))
def test_2_diversity_agrees_with_brute_force(drawn: tuple[Case, list[str | None]], form: str) -> None:
    case, values = drawn
    k = 2 if form == "l with k" else 1
    case = Case(**{**vars(case), "k": k})

    def diverse(group: tuple[int, ...]) -> bool:
        own = [values[i] for i in group]
        return all(2 * own.count(value) <= len(own) for value in own)

    frame = pl.DataFrame(list(case.rows), schema=dict.fromkeys(case.names, pl.String), orient="row")
    frame = frame.with_columns(pl.Series("secret", values, dtype=pl.String))
    plain = case.problem()
    asked: list[km.Requirement] = {
        "l": [km.LDiversity(2)],
        "l with k": [km.LDiversity(2), km.KAnonymity(k)],
        "alpha": [km.AlphaKAnonymity("1/2")],
    }[form]
    problem = km.Problem(
        km.Table.from_frame(frame, case.names, "secret"),
        asked,
        plain.recoding,
        suppressed_rows=case.suppressed_rows,
    )
    agrees(solved(problem), optimum(case.rows, k, requirement=diverse, **case.judged()))
