"""Solvers that lie, as a plugin of a study: each changes what an honest one says."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import kanon_milp as km
from kanon_milp.solvers import Availability, LinearModel, SolverAdapter, SolverOptions, SolverResult, StopReason, get
from kanon_milp.solvers.adapter import Capability
from kanon_milp.solvers.call import RawResult, SolverCall

Lie = Callable[[LinearModel, SolverResult], SolverResult]


def wrong_optimum(model: LinearModel, honest: SolverResult) -> SolverResult:
    """A solution that is one, called optimal; there are better ones."""
    worse = get("highs").solve(replace(model, c=-model.c, offset=0.0), SolverOptions(time_limit=20))
    assert worse.x is not None
    value = model.value(worse.x)
    return replace(honest, x=worse.x, objective=value, bound=value)


def infeasible_point(model: LinearModel, honest: SolverResult) -> SolverResult:
    """A point with all variables at their lower bounds, worth what the optimum is worth."""
    return replace(honest, x=model.lower.copy())


def fractional_point(model: LinearModel, honest: SolverResult) -> SolverResult:
    """The optimum of the relaxation, called optimal."""
    relaxed = replace(model, integer=np.zeros_like(model.integer))
    found = get("highs").solve(relaxed, SolverOptions(time_limit=20))
    return replace(honest, x=found.x, objective=found.objective, bound=found.objective)


def wrong_bound(_: LinearModel, honest: SolverResult) -> SolverResult:
    """A bound above the optimum, and no solution that shows it."""
    assert honest.objective is not None
    beyond = honest.objective + 5
    return replace(honest, stop_reason=StopReason.TIME_LIMIT, x=None, objective=None, bound=beyond)


def bound_beyond(_: LinearModel, honest: SolverResult) -> SolverResult:
    """A bound above its own solution."""
    assert honest.objective is not None
    return replace(honest, stop_reason=StopReason.TIME_LIMIT, bound=honest.objective + 5)


def better_than_it_is(_: LinearModel, honest: SolverResult) -> SolverResult:
    """A solution said to be worth less than it is."""
    assert honest.objective is not None
    return replace(honest, objective=honest.objective - 3, bound=honest.objective - 3)


def infeasible(_: LinearModel, honest: SolverResult) -> SolverResult:
    return replace(honest, stop_reason=StopReason.INFEASIBLE, x=None, objective=None, bound=None)


def optimal_without_bound(_: LinearModel, honest: SolverResult) -> SolverResult:
    assert honest.objective is not None
    return replace(honest, bound=honest.objective - 7)


def hangs(_: LinearModel, honest: SolverResult) -> SolverResult:
    time.sleep(600)
    return honest


def eats_memory(_: LinearModel, honest: SolverResult) -> SolverResult:
    eaten = []
    for _number in range(400):
        eaten.append(np.ones(4_000_000))  # 32 MB
        time.sleep(0.005)
    return honest


def crashes(_: LinearModel, honest: SolverResult) -> SolverResult:
    os.kill(os.getpid(), signal.SIGSEGV)
    return honest


def leaves(_: LinearModel, honest: SolverResult) -> SolverResult:
    os._exit(7)


def raises(_: LinearModel, honest: SolverResult) -> SolverResult:
    raise ZeroDivisionError("with a cell of the table in its text")


class Liar(SolverAdapter):
    """An honest solver's answer, changed."""

    capabilities = frozenset({Capability.CONTINUOUS})

    def __init__(self, lie: Lie) -> None:
        self.name, self.lie = lie.__name__, lie

    def availability(self) -> Availability:
        return Availability.AVAILABLE

    def version(self) -> str:
        return "0"

    def location(self) -> str:
        return ""

    def solve(self, model: LinearModel, options: SolverOptions, *args: Any, **more: Any) -> SolverResult:
        honest = get("highs").solve(model, SolverOptions(time_limit=20, absolute_gap=options.absolute_gap))
        return replace(self.lie(model, honest), solver=self.name, said=None)


LIES: dict[str, Lie] = {
    lie.__name__: lie
    for lie in (
        wrong_optimum,
        infeasible_point,
        fractional_point,
        wrong_bound,
        bound_beyond,
        better_than_it_is,
        infeasible,
        optimal_without_bound,
        hangs,
        eats_memory,
        crashes,
        leaves,
        raises,
    )
}
Tale = Callable[[LinearModel, RawResult], RawResult]


def out_of_the_model(model: LinearModel, honest: RawResult) -> RawResult:
    """A point outside of the bounds, called optimal."""
    return replace(honest, x=model.lower - 7.0)


def no_numbers(model: LinearModel, honest: RawResult) -> RawResult:
    return replace(honest, x=np.full(model.variables, np.nan))


def unbounded(_: LinearModel, honest: RawResult) -> RawResult:
    return RawResult(StopReason.UNBOUNDED, None, None)


def unbounded_with_objective(model: LinearModel, honest: RawResult) -> RawResult:
    """Unbounded, and where it is asked again without the objective, any point."""
    return RawResult(StopReason.UNBOUNDED, None, None) if model.c.any() else honest


def optimal_without_a_point(_: LinearModel, honest: RawResult) -> RawResult:
    return replace(honest, x=None)


class Teller(Liar):
    """A solver on the template of all adapters, which checks what it says."""

    solve = SolverAdapter.solve

    def __init__(self, tale: Tale) -> None:
        self.name, self.tale = tale.__name__, tale

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        return self.tale(model, get("highs").run(model, call))


TALES: dict[str, Tale] = {
    tale.__name__: tale
    for tale in (out_of_the_model, no_numbers, unbounded, unbounded_with_objective, optimal_without_a_point)
}
for each in LIES.values():
    km.register_solver(Liar(each))
for told in TALES.values():
    km.register_solver(Teller(told))
