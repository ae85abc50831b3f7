"""Bugs in what requirements say of themselves: none of them may end as proven infeasible where a table is at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import kanon_milp as km

REQUIREMENTS = {
    "k": km.KAnonymity(2),
    "p": km.PSensitivity(2),
    "l": km.LDiversity("3/2"),
    "alpha": km.AlphaKAnonymity("2/3", 2),
    "beta": km.BetaLikeness(2),
    "delta": km.DeltaDisclosure(3),
    "t": km.TCloseness("1/2"),
}
BUGS: dict[str, tuple[str, Callable[..., Any]]] = {
    "holds": ("holds", lambda _self, _group: False),
    "viable": ("viable", lambda _self, instance: np.zeros(instance.candidates.count, dtype=bool)),
    "smallest_group": ("smallest_group", lambda _self, _whole: 99),
}


def problem(name: str) -> km.Problem:
    frame = pl.DataFrame({"a": list("aabbccdd"), "b": list("xyxyxyxy"), "s": list("uvuvuvuv")})
    return km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), REQUIREMENTS[name])


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("name", REQUIREMENTS)
@pytest.mark.parametrize("method", ["milp", "auto"])
def test_a_table_that_is_verified_refutes_that_there_is_none(
    name: str, bug: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = km.solve(problem(name))
    assert right.is_optimal
    monkeypatch.setattr(type(REQUIREMENTS[name]), *BUGS[bug])
    result = km.solve(problem(name), method=method)
    if result.stop_reason == "error":
        assert result.proof == "none"
        assert result.verified
        assert result.table is not None
        assert "but this verified table does" in result.message
    else:
        assert result.is_optimal
        assert result.objective == right.objective


def test_where_there_is_none_it_stays_proven() -> None:
    frame = pl.DataFrame({"a": list("aab"), "s": list("uuv")})
    hopeless = km.Problem(km.Table.from_frame(frame, "a", "s"), km.LDiversity(2))
    assert km.solve(hopeless).proof == "infeasible"
