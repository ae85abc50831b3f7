"""Rounds of the hybrid method: shorter ones first, and what one has left unsaid the next one says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import polars as pl
import pytest
from census import census, census_problem
from oracle import optimum

import kanon_milp as km
from kanon_milp.heuristics.search import Search
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.methods.phases import Known
from kanon_milp.methods.required_phases import ModelTrial, RequiredBound, TrialParams, valued_of
from kanon_milp.methods.required_search import RequiredSearch
from kanon_milp.solvers import StopReason
from kanon_milp.system.limit import Limit


def in_rounds(shortest: float) -> dict[str, float]:
    """Parameters by which nothing is solved or raised before the first of them."""
    return {
        "restricted_model.few_options": 0,
        "cuts.first_types": 0,
        "forecast.easy_pairs": -1,
        "rounds.shortest": shortest,
    }


WITHOUT_CUTS = {**in_rounds(0.9), "cuts.group_rows": 0}


def test_a_long_limit_is_divided_into_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what needs little does not wait for shares of all of it; the last one has the whole."""
    left: list[float] = []

    def ends(core: CoreProblem) -> StopReason:
        left.append(core.limit.ends)
        return StopReason.TIME_LIMIT

    monkeypatch.setattr(Search, "run", lambda *_: None)
    monkeypatch.setattr(CoreProblem, "solve", ends)
    result = km.solve(census_problem(80, 5), method="search", time_limit=9, parameters=WITHOUT_CUTS)
    assert result.stop_reason == "time_limit"
    assert len(left) == 3
    assert left[0] < left[1] - 1 < left[2] - 2
    left.clear()
    km.solve(census_problem(80, 5), method="search", time_limit=9, parameters={**WITHOUT_CUTS, "rounds.shortest": 60.0})
    assert len(left) == 1


def test_a_round_may_end_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here there is none, which the model of a later round proves."""
    rows = (("b", "a", "a"), ("b", "b", "a"), ("c", "a", "b"), ("c", "c", "c"), ("a", "a", "b"))
    vectors = ((1, 0, 0), (0, 1, 1), (0, 1, 0), (0, 0, 0))
    frame = pl.DataFrame(list(rows), schema=["q0", "q1", "q2"], orient="row")
    table = km.Table.from_frame(frame, ["q0", "q1", "q2"])
    problem = km.Problem(table, km.KAnonymity(2), km.PatternMask(vectors), suppressed_rows="exempt")
    known: list[bool] = []
    solve = CoreProblem.solve

    def third(core: CoreProblem) -> StopReason | None:
        known.append(core.tracker.best is not None)
        return solve(core) if len(known) == 3 else StopReason.TIME_LIMIT

    monkeypatch.setattr(CoreProblem, "solve", third)
    result = km.solve(problem, method="search", time_limit=60, parameters=in_rounds(0.1))
    assert known[:2] == [False, False]
    assert result.proof == "infeasible"
    assert optimum(rows, 2, vectors=vectors, suppressed_rows="exempt") is None


def test_an_interrupt_in_a_later_round_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was the time limit of the first round's model that was said."""
    asked, searched = threading.Event(), list[Search]()

    def search(each: Search, *_: object) -> None:
        searched.append(each)
        if len(searched) == 2:
            asked.set()

    monkeypatch.setattr(Search, "run", search)
    monkeypatch.setattr(CoreProblem, "solve", lambda _: StopReason.TIME_LIMIT)
    problem = census_problem(60, 5)
    result = km.solve(problem, method="search", time_limit=9, interrupt=asked, parameters=WITHOUT_CUTS)
    assert len(searched) == 2
    assert result.stop_reason == "interrupted"
    assert result.verified


def test_a_gap_that_a_model_has_closed_at_the_limit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(core: CoreProblem) -> StopReason:
        assert core.tracker.best is not None
        core.tracker.higher(core.tracker.best.cost - 1, ("own bound",))
        core.last.message = "of a model that is no longer needed" if len(messages) == 0 else core.last.message
        messages.append(core.last.message)
        return StopReason.TIME_LIMIT

    messages: list[str] = []
    monkeypatch.setattr(Search, "run", lambda *_: None)
    monkeypatch.setattr(CoreProblem, "solve", solve)
    near = km.solve(census_problem(60, 5), method="search", time_limit=9, gap=0.005, parameters=WITHOUT_CUTS)
    assert near.stop_reason == "gap_limit"
    assert len(messages) == 1
    messages.clear()
    exact = km.solve(census_problem(60, 5), method="search", time_limit=9, parameters=WITHOUT_CUTS)
    assert exact.stop_reason == "time_limit"
    assert messages == ["of a model that is no longer needed", "", ""]
    assert not exact.message


TRIALS_AT_ONCE = {"turns.easy_pairs": -1, "model_trials.seconds": 1e-9}


def test_models_of_few_candidates_a_row_type_are_tried_sooner() -> None:
    """And where less time is left, up to some size."""
    began, params = time.perf_counter() - 2.0, TrialParams()
    usual, few = ModelTrial(began), ModelTrial(began, params.few_pair_seconds)
    pairs, long = 7_000, Limit(time.perf_counter() + 1_000)
    assert not usual.look(pairs, long)
    assert few.look(pairs, long)
    assert few.limit(long).left < 30
    likely = pairs * params.few_pair_seconds
    assert ModelTrial(began, params.few_pair_seconds).look(pairs, long.part(likely))
    assert not ModelTrial(began, params.few_pair_seconds).look(pairs, long.part(0.5 * likely))
    assert not ModelTrial(began, 1e-6).look(params.most_few + 1, long)


def agrees_with_one_model(patch: pytest.MonkeyPatch, solve: Callable[[CoreProblem], StopReason | None]) -> None:
    """With nothing but a trial of the core problem, which is solved like this, and its last model."""
    patch.setattr(RequiredBound, "run", lambda _phase, known, _limit: known.valued.turns.next(known))
    patch.setattr(RequiredSearch, "improve", lambda *_, **__: None)
    patch.setattr(CoreProblem, "solve", solve)
    table = km.Table.from_frame(census(40), ["age", "education", "race", "sex"], "occupation")
    problem = km.Problem(table, [km.KAnonymity(3), km.LDiversity(2)])
    result = km.solve(problem, method="search", time_limit=5, parameters={**TRIALS_AT_ONCE, "model_trials.harder": 1e9})
    assert result.require_optimal().objective == km.solve(problem, method="milp").require_optimal().objective


@pytest.mark.full
def test_after_a_trial_that_has_not_ended_the_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is later, and the last model has all the time."""
    limits, turns = list[Limit](), list[int]()
    solve = CoreProblem.solve

    def ends(core: CoreProblem) -> StopReason | None:
        limits.append(core.limit)
        assert isinstance(core.known, Known)
        turns.append(valued_of(core.known).turns.number)
        return solve(core) if len(limits) == 2 else StopReason.TIME_LIMIT

    agrees_with_one_model(monkeypatch, ends)
    assert turns[0] == 0 < turns[1]
    assert limits[0].ends + 2 < limits[1].ends


@pytest.mark.full
@pytest.mark.parametrize("reason", [StopReason.ERROR, StopReason.NODE_LIMIT])
def test_a_trial_that_fails_does_not_end_the_run(reason: StopReason, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended with the error of the solver, most of the time left and nothing proven."""
    trying: list[bool] = []
    solve = CoreProblem.solve

    def fails(core: CoreProblem) -> StopReason | None:
        trying.append(core.once)
        return reason if len(trying) == 1 else solve(core)

    agrees_with_one_model(monkeypatch, fails)
    assert trying[0]
    assert len(trying) > 1
