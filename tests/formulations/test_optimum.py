"""The optimum is the optimum: every way to state and solve a problem agrees with brute force over all partitions."""

from __future__ import annotations

import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from oracle import optimum
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.formulations import FORMULATIONS
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.reductions import REDUCTIONS, reduce

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def judge(case: Case) -> object:
    return optimum(case.rows, case.k, **case.judged())


def check(case: Case, result: km.Result) -> None:
    expected = judge(case)
    if expected is None:
        assert result.proof == "infeasible"
        assert exit_code(result) == 3
        assert result.table is None
    else:
        assert result.exact_objective == expected
        assert result.exact_bound == expected
        assert result.is_optimal
        assert result.gap == 0
        assert exit_code(result) == 0


@given(cases(max_rows=9))
@settings(relaxed, max_examples=examples(200, 30))
def test_strong_agrees_with_brute_force(case: Case) -> None:
    check(case, km.solve(case.problem()))


@given(cases(max_rows=7))
@settings(relaxed, max_examples=examples(30, 15))
def test_textbook_agrees_with_brute_force(case: Case) -> None:
    check(case, km.solve(case.problem(), formulation="textbook"))


@given(cases(max_rows=7))
@settings(relaxed, max_examples=examples(20, 10))
def test_cbc_agrees_with_brute_force(case: Case) -> None:
    check(case, km.solve(case.problem(), "cbc"))


@given(cases(max_rows=7))
@settings(relaxed, max_examples=examples(20, 10))
def test_a_model_solved_as_a_users_model_gives_the_same_optimum(case: Case) -> None:
    problem = case.problem()
    for formulation in FORMULATIONS:
        model = km.build_model(problem, formulation)
        check(case, km.solve_model(problem, model, formulation=formulation))


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda r: r.name)
def test_each_reduction_alone_keeps_the_optimum(reduction: object) -> None:
    @given(cases(max_rows=7))
    @settings(relaxed, max_examples=examples(30, 15))
    def keeps(case: Case) -> None:
        problem = case.problem()
        if not reduction.accepts(problem):  # type: ignore[attr-defined]
            return
        step = reduction.apply(prepare(problem))  # type: ignore[attr-defined]
        expected = judge(case)
        if expected is not None:
            left = step.instance.candidates
            assert set(left.members.tolist()) == set(range(step.instance.types.count))
            assert restricted_optimum(case, problem, step.instance) == expected

    keeps()


def restricted_optimum(case: Case, problem: km.Problem, instance: object) -> object:
    """Solve the strong model declared over just the candidates that are left."""
    from fractions import Fraction

    from kanon_milp.formulations.strong import build_strong
    from kanon_milp.solvers import SolverOptions, get
    from kanon_milp.solvers.pyomo_arrays import to_arrays

    compiled = to_arrays(build_strong(instance))  # type: ignore[arg-type]
    answer = get("highs").solve(compiled.linear, SolverOptions(absolute_gap=0.5))
    assert answer.objective is not None
    unit = instance.levels.unit if problem.objective == "loss" else 1  # type: ignore[attr-defined]
    return Fraction(round(answer.objective) * compiled.sign) * unit


@given(cases(max_rows=8, sides=False))
@settings(relaxed, max_examples=examples(30, 10))
def test_reductions_leave_at_most_what_was_there(case: Case) -> None:
    before = prepare(case.problem())
    sizes = [before.candidates.count] + [s.instance.candidates.count for s in reduce(before)]
    assert sizes == sorted(sizes, reverse=True)
