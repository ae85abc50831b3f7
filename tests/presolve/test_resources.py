"""The network relaxation of a problem is a bound on it."""

from __future__ import annotations

from case_judge import check, judge
from effort import examples
from hypothesis import given, settings
from sensitive_cases import SensitiveCase, sensitive_cases

import kanon_milp as km
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.resources import network_relaxation


@given(sensitive_cases(max_rows=7))
@settings(max_examples=examples(40, 3))
def test_the_relaxation_never_costs_more(case: SensitiveCase) -> None:
    problem = case.problem()
    relaxed = network_relaxation(prepare(problem), smallest=0)
    if relaxed is None:
        assert problem.network or problem.objective != "loss"
        return
    assert relaxed.network
    plain, with_bound = km.solve(relaxed), km.solve(problem)
    check(judge(case), with_bound)
    if with_bound.is_optimal:
        assert plain.exact_objective is not None
        assert with_bound.exact_objective is not None
        assert plain.exact_objective <= with_bound.exact_objective
