"""Reductions that users register: applied where they are valid, taken on trust by name, and checked for their kind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from oracle import optimum

import kanon_milp as km
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.own_reductions import OWN
from kanon_milp.system.arrays import Flags

ROWS = [(a, b) for a, b in zip("xxyyzzxy", "uvuvuvuu", strict=True)]
PROBLEM = km.Problem(km.Table.from_frame(pl.DataFrame(ROWS, ["a", "b"], orient="row"), ["a", "b"]), km.KAnonymity(3))


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    yield
    OWN.clear()


def everything(instance: Instance) -> Flags:
    return np.ones(instance.candidates.count, dtype=np.bool_)


def widest(instance: Instance) -> Flags:
    return np.asarray(instance.candidates.support == instance.candidates.support.max())


def nothing(instance: Instance) -> Flags:
    return np.zeros(instance.candidates.count, dtype=np.bool_)


@pytest.mark.parametrize("method", ["milp", "search"])
def test_what_stays_decides_and_is_named(method: str) -> None:
    km.register_reduction(km.CandidateReduction("mine", everything))
    result = km.solve(PROBLEM, method=method)
    assert result.exact_objective == optimum(ROWS, 3)
    km.register_reduction(km.CandidateReduction("mine", widest), replace=True)
    result = km.solve(PROBLEM, method=method)
    assert result.exact_objective == 2 * len(ROWS)  # all rows in one group
    assert "reduction mine" in result.backed_by
    assert "certificate" not in result.backed_by  # what a checker of the multipliers would see is less
    assert km.solve_model(PROBLEM, km.build_model(PROBLEM)).exact_objective == optimum(ROWS, 3)
    km.register_reduction(km.CandidateReduction("mine", nothing), replace=True)
    with pytest.raises(km.InputError, match='keep of the reduction "mine" leaves 6 row types without any candidate'):
        km.solve(PROBLEM, method=method)


def test_it_is_left_out_where_it_is_not_valid() -> None:
    km.register_reduction(km.CandidateReduction("mine", nothing, valid=lambda problem: problem.max_groups is not None))
    result = km.solve(PROBLEM)
    assert result.exact_objective == optimum(ROWS, 3)
    assert "reduction mine" not in result.backed_by


def test_what_is_no_reduction_is_refused() -> None:
    with pytest.raises(km.InputError, match="CandidateReduction"):
        km.register_reduction(everything)  # type: ignore[arg-type]
    with pytest.raises(km.InputError, match="built in"):
        km.register_reduction(km.CandidateReduction("dominance", everything))
    km.register_reduction(km.CandidateReduction("mine", lambda instance: np.zeros(3, dtype=np.bool_)))
    with pytest.raises(km.InputError, match='keep of the reduction "mine" must return an array of bool'):
        km.solve(PROBLEM)
    km.register_reduction(km.CandidateReduction("mine", lambda instance: 1 / 0), replace=True)  # type: ignore[arg-type, return-value]
    with pytest.raises(km.InputError, match="raised ZeroDivisionError"):
        km.solve(PROBLEM)
