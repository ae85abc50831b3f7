"""Direct MILP where one model alone would take too long: the hybrid method begins, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from census import census_problem

import kanon_milp as km
from kanon_milp.methods import hybrid, started
from kanon_milp.methods.outcome import Outcome

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
