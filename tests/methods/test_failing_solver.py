"""A solver that crashes on the models of a search does not end it: there is a verified table, and no false proof."""

from __future__ import annotations

from typing import Any

import pytest
from census import Q8, census

import kanon_milp as km
from kanon_milp.errors import SolverError
from kanon_milp.solvers import SolverOptions, StopReason
from kanon_milp.solvers.checked import tried
from kanon_milp.solvers.highs import HighsAdapter

FAILED: list[str] = []


class Crashing(HighsAdapter):
    """HiGHS, but it fails on every model with integer variables."""

    def solve(self, model: Any, options: Any, **more: Any) -> Any:  # type: ignore[override]
        if model.integer.any():
            FAILED.append(model.name)
            raise SolverError("it crashed")
        return super().solve(model, options, **more)


@pytest.mark.full
@pytest.mark.parametrize("privacy", [[km.KAnonymity(5)], [km.KAnonymity(5), km.LDiversity(2)]], ids=["k", "l"])
def test_the_search_goes_on(privacy: list[Any]) -> None:
    FAILED.clear()
    problem = km.Problem(km.Table.from_frame(census(100), Q8[:6], "disease"), privacy)
    result = km.solve(problem, Crashing(), method="search", iteration_limit=2)
    assert FAILED
    assert result.verified
    assert result.exact_bound is not None
    assert result.exact_objective is not None
    assert 0 < result.exact_bound < result.exact_objective
    assert result.proof == "bound"


def test_a_failure_is_an_error_without_point_and_bound() -> None:
    def crash() -> Any:
        raise SolverError("it crashed")

    answer = tried(Crashing(), SolverOptions(), crash)
    assert (answer.stop_reason, answer.x, answer.bound, answer.message) == (StopReason.ERROR, None, None, "it crashed")
