"""A table to start with, given or found first: the result is no worse, and what is no such table has no effect."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from census import census, census_problem
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from present import present
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.methods import hybrid, started
from kanon_milp.methods.outcome import Outcome
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock

CENSUS = km.Table.from_frame(census(200), ["age", "education", "race"], "disease")


@given(st.one_of(cases(max_rows=8, sides=False), sensitive_cases(max_rows=7, sides=False)))
@settings(max_examples=examples(300, 8))
def test_an_optimal_table_is_found_again_in_the_reduced_instance(case: Case | SensitiveCase) -> None:
    problem = case.problem()
    assume(problem.objective == "loss" and problem.suppressed_rows == "strict")
    best = km.solve(problem, method="milp")
    assume(best.groups is not None)
    again = assignment_of_groups(presolve(problem, Clock(), merge=True), present(best.placed))
    if again is not None:  # the optimum may use a candidate that another one has replaced
        assert again.cost * presolve(problem, Clock()).before.levels.unit >= present(best.exact_objective)


@cache
def at_its_best(
    privacy: km.Requirement | tuple[km.Requirement, ...], *, weighted: bool = False
) -> tuple[km.Problem, km.Result]:
    recoding = km.Suppression({"age": 3, "race": "1/2"} if weighted else {})
    problem = km.Problem(CENSUS, privacy, recoding)
    return problem, km.solve(problem, time_limit=30)


@pytest.mark.parametrize("method", ["milp", "search", "auto"])
@pytest.mark.parametrize("privacy", [km.KAnonymity(4), (km.KAnonymity(4), km.LDiversity("1.5"))], ids=["k", "l"])
def test_what_is_stopped_at_once_is_no_worse_than_its_start(method: str, privacy: km.Requirement) -> None:
    problem, best = at_its_best(privacy)
    stopped = km.solve(problem, method=method, start=best.groups, time_limit=0.5)
    assert stopped.verified
    assert present(stopped.exact_objective) <= present(best.exact_objective)


@pytest.mark.parametrize("method", ["milp", "search", "auto", "greedy", "mondrian", "m_approximation"])
@pytest.mark.parametrize("limit", [None, 0.0001])
def test_no_method_and_no_limit_makes_it_worse(method: str, limit: float | None) -> None:
    """Within the limit there is no time for the candidates, and some methods start with nothing."""
    problem, best = at_its_best(km.KAnonymity(4), weighted=True)
    again = km.solve(problem, method=method, start=best.groups, time_limit=limit or 30)
    assert again.verified
    assert present(again.exact_objective) <= present(best.exact_objective)
    assert again.parts is None


@given(cases(max_rows=8, sides=False))
@settings(max_examples=examples(200, 6))
def test_a_limit_that_is_over_at_once_does_not_lose_it(case: Case) -> None:
    """Neither do masks, hierarchies, weights, and the exempt reading with groups of one row."""
    problem = case.problem()
    best = km.solve(problem, method="milp")
    assume(best.groups is not None)
    again = km.solve(problem, start=best.groups, time_limit=0.0001)
    assert again.exact_objective == best.exact_objective


def test_a_stricter_table_is_a_start() -> None:
    strict = km.solve(km.Problem(CENSUS, km.KAnonymity(10)), method="greedy")
    problem = km.Problem(CENSUS, km.KAnonymity(9))
    found = assignment_of_groups(presolve(problem, Clock(), merge=True), present(strict.placed))
    assert found is not None
    assert present(strict.objective) >= found.cost


@pytest.mark.parametrize("start", [[1, 2], ["a"] * 200, [0.5] * 200, [[1]], [[1], [1, 2]]])
def test_what_is_no_partition_is_refused(start: list[object]) -> None:
    with pytest.raises(km.InputError, match="start: 200 integers are expected"):
        km.solve(km.Problem(CENSUS, km.KAnonymity(2)), start=start)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["milp", "search", "mondrian", "subset_dp"])
def test_a_start_that_is_no_table_of_the_problem_is_told(method: str) -> None:
    frame = census(20)
    problem = km.Problem(km.Table.from_frame(frame, ["age", "race"], "disease"), km.KAnonymity(4))
    alone = km.solve(problem, method=method, time_limit=20)
    result = km.solve(problem, method=method, start=list(range(20)), time_limit=20)
    assert "start was dropped: its groups give no table of this problem (" in result.message
    assert result.message.count("start was dropped") == 1
    assert result.exact_objective == alone.exact_objective
    assert "start" not in alone.message
    valid = km.solve(problem, method=method, start=[0] * 20, time_limit=20)
    assert "start" not in valid.message


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
def test_a_method_that_takes_no_start_does_not_pass_its_loss_off_as_its_own(method: str) -> None:
    problem, best = at_its_best(km.KAnonymity(4), weighted=True)
    alone = km.solve(problem, method=method)
    given = km.solve(problem, method=method, start=best.groups)
    assert present(best.objective) < present(alone.objective)
    assert given.exact_objective == best.exact_objective
    own = f"one with loss {present(alone.objective):g}"
    assert f"the table is the one that was given to start with; {method} itself found {own}" in given.message
    assert given.message.count("itself found") == 1


def test_groups_that_no_pattern_makes_alike_are_told() -> None:
    table = km.Table.from_frame(census(20), ["age", "race"], "disease")
    problem = km.Problem(table, km.KAnonymity(1), km.PatternMask([["keep", "keep"]]))
    result = km.solve(problem, start=[0] * 20)
    assert result.is_optimal
    assert "(no pattern makes the rows of some group alike)" in result.message


SLOW = {"good_table.pairs": 0, "good_table.pair_seconds": 1e9}


def test_the_model_goes_on_where_the_search_has_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hybrid, "solve_hybrid", lambda session: session.end(Outcome().stopped("time_limit")))
    monkeypatch.setattr(started, "too_long", lambda *_: "")
    assert km.solve(census_problem(30, 3), method="milp", time_limit=600, parameters=SLOW).is_optimal


def test_a_model_that_cannot_be_declared_leaves_the_time_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = census_problem(400, 5)
    monkeypatch.setattr(started, "too_long", lambda *_: "it would take too long")
    greedy = km.solve(problem, method="greedy")
    result = km.solve(problem, method="milp", time_limit=20, gap=0.05, parameters=SLOW)
    assert result.verified
    assert result.objective is not None
    assert greedy.objective is not None
    assert result.objective < greedy.objective
    assert result.message.endswith("it would take too long")
    assert result.solver.method == "milp"
    assert result.solver.options == replace(result.solver.options, time_limit=20, gap=0.05)


def test_without_a_time_limit_there_is_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_session: Any) -> km.Result:
        raise AssertionError

    monkeypatch.setattr(hybrid, "solve_hybrid", never)
    assert km.solve(census_problem(30, 3), method="milp", parameters=SLOW).is_optimal
    assert km.solve(
        census_problem(30, 3), method="milp", time_limit=600, node_limit=1_000_000, parameters=SLOW
    ).is_optimal
