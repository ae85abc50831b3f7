"""Code of a user's own that writes into what it is shown, and what a solver is handed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.bounds import BoundTask, ProvenBound, register_bound, unregister_bound
from kanon_milp.methods import registry
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import LinearModel, RawResult, SolverCall
from kanon_milp.solvers.highs import HighsAdapter

FRAME = pl.DataFrame({"a": list("1122334"), "b": list("xyxyxyx")})
PROBLEM = km.Problem(km.Table.from_frame(FRAME, ["a", "b"]), km.KAnonymity(2))


class Told(HighsAdapter):
    """HiGHS, after something has been done to its model."""

    name = "highs"

    def __init__(self, do: Callable[[LinearModel], object]) -> None:
        self.do = do

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        self.do(model)
        return super().run(model, call)


def negate(model: LinearModel) -> None:
    c: Any = model.c
    c *= -1


def empty(model: LinearModel) -> None:
    model.A.data[:] = 0


@pytest.mark.parametrize("do", [negate, empty])
def test_a_solver_cannot_write_into_its_model(do: Callable[[LinearModel], object]) -> None:
    with pytest.raises(km.SolverError, match="failed: ValueError"):
        km.solve(PROBLEM, Told(do))
    with pytest.raises(km.SolverError, match="failed: ValueError"):
        km.solve_model(PROBLEM, km.build_model(PROBLEM), Told(do))


@pytest.mark.parametrize(("version", "integers"), [((1, 15, 1), True), ((1, 16, 0), False), ((2, 0, 0), False)])
def test_an_older_highs_proves_in_integers(
    version: tuple[int, ...], integers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cuts from bounds x ≤ n·y of continuous variables are not to be trusted, nor is its second look then."""
    monkeypatch.setattr(HighsAdapter, "installed", lambda _: ".".join(map(str, version)))
    seen: list[bool] = []
    result = km.solve(PROBLEM, Told(lambda model: seen.append(bool(model.integer.all()))))
    assert result.proof == "optimal"
    assert seen
    assert all(each == integers for each in seen)


def test_a_bound_that_writes_into_the_instance_is_refused() -> None:
    class Writes:
        name = "writes"

        def accepts(self, instance: Instance) -> bool:
            return True

        def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
            instance.candidates.cost[:] = 9
            return ProvenBound(0)

    register_bound(Writes())
    try:
        with pytest.raises(km.InputError, match=r'bound "writes": Writes.compute wrote into the arrays'):
            km.solve(PROBLEM)
    finally:
        unregister_bound("writes")


def test_a_method_that_writes_into_the_instance_is_refused() -> None:
    def run(session: km.Session) -> km.Result:
        result = session.finish(session.first)
        session.instance.types.counts[:] = np.int64(7)
        return result

    km.register_method(km.Method("writes", "", run))
    try:
        with pytest.raises(km.InputError, match=r'method "writes" wrote into the arrays'):
            km.solve(PROBLEM, method="writes")
    finally:
        registry.METHODS.pop("writes")
