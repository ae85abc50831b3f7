"""The hybrid method under every requirement: it agrees with brute force, stops when told, and always has a table."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from case_judge import judge
from census import census
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from own_requirement import AtMost, NoMoreThanHalf
from sensitive_cases import FAMILIES, SensitiveCase, sensitive_cases

import kanon_milp as km
from kanon_milp.methods import core_problem, required_guide
from kanon_milp.methods.registry import search_refuses

relaxed = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
Q5 = ["age", "education", "marital-status", "race", "sex"]


def agrees(case: SensitiveCase, *, proven: bool = True) -> None:
    """No bound above the optimum, no table below it, and "optimal" only where they meet."""
    problem = case.problem()
    assume(not search_refuses(problem))
    expected = judge(case)
    result = km.solve(problem, method="search", iteration_limit=2)
    if expected is None:
        assert result.table is None
        assert result.proof == "infeasible" if proven else result.proof != "optimal"
        return
    assert result.verified
    assert result.exact_objective is not None
    assert result.exact_bound is not None
    assert result.exact_bound <= expected <= result.exact_objective
    assert result.is_optimal == (result.exact_bound == expected == result.exact_objective)
    assert result.is_optimal or not proven


@pytest.mark.parametrize("kind", [kind for family in FAMILIES for kind in family])
def test_it_agrees_with_brute_force(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=7, sides=False))
    @settings(relaxed, max_examples=examples(40, 4))
    def proven(case: SensitiveCase) -> None:
        agrees(case)

    proven()


@given(sensitive_cases(max_rows=7, sides=False))
@settings(relaxed, max_examples=examples(100, 12))
def test_conjunctions_agree_with_brute_force(case: SensitiveCase) -> None:
    agrees(case)


@given(sensitive_cases(max_rows=8, sides=False))
@settings(relaxed, max_examples=examples(100, 12))
def test_without_a_core_problem_nothing_is_claimed_that_is_not_so(case: SensitiveCase) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_problem, "MODEL_PAIRS", 0)
        agrees(case, proven=False)
