"""Solvers of tests, and one that lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kanon_milp.solvers import Availability, LinearModel, SolverAdapter, SolverOptions, SolverResult, get

Lie = Callable[[SolverResult, LinearModel], SolverResult]


def only_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no other solver is installed: nobody who could be asked a third time."""
    for name in ("scip", "cbc", "cpsat"):
        monkeypatch.setattr(type(get(name)), "availability", lambda _: Availability.NOT_FOUND)


class Here(SolverAdapter):
    """A solver that is always here."""

    capabilities = frozenset()

    def availability(self) -> Availability:
        return Availability.AVAILABLE

    def version(self) -> str:
        return "1"

    def location(self) -> str:
        return "here"


class Lying(Here):
    """A solver of the contract that changes the answer of an honest one."""

    name = "lying"

    def __init__(self, lie: Lie) -> None:
        self.lie = lie

    def solve(self, model: LinearModel, options: SolverOptions, *args: Any, **more: Any) -> SolverResult:
        return replace(self.lie(get("highs").solve(model, options), model), solver=self.name)
