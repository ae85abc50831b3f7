"""Objectives of the user's own, of any size: what is called optimal is so, and numbers that are none are refused."""

from __future__ import annotations

import math
import os

import polars as pl
import pytest

import kanon_milp as km


def problem() -> km.Problem:
    frame = pl.DataFrame({"q": list("aabbc"), "r": list("xyxyx")})
    return km.Problem(km.Table.from_frame(frame, ["q", "r"]), km.KAnonymity(2))


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize(("value", "said"), [(math.nan, "NaN"), (math.inf, "infinite coefficient")])
@pytest.mark.parametrize("constant", [False, True])
def test_a_coefficient_that_is_no_number_is_refused_by_a_message(
    solver: str, value: float, said: str, constant: bool
) -> None:
    model = km.build_model(problem())
    model.loss.set_value(model.loss.expr + (value if constant else value * model.open[0]))
    with pytest.raises(km.InputError, match=said):
        km.solve_model(problem(), model, solver)


def test_no_more_threads_are_used_than_there_are_processors_and_the_result_says_how_many(monkeypatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    result = km.solve(problem(), threads=1000)
    assert result.as_dict()["solver"]["threads"] == 2
    with pytest.raises(km.InputError, match="threads must be at most 1024"):
        km.solve(problem(), threads=1025)
