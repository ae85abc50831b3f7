"""Bounds by name, and a bound of a user's own, written with the public names alone."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from effort import examples
from hypothesis import assume, given, settings
from oracle import optimum
from strategies import Case, cases, reduced

import kanon_milp as km
from kanon_milp.bounds import (
    BOUNDS,
    BoundLimit,
    BoundTask,
    LowerBound,
    ProvenBound,
    best_registered,
    certify,
    register_bound,
    unregister_bound,
)
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.verify import check_certificate

ROWS = [(a, b) for a in "abc" for b in "xyz"]


@dataclass
class Claims:
    """No table loses less than this, in the user's units."""

    value: Fraction | int
    name: str = "claims"
    asked: list[BoundTask] = field(default_factory=list)

    def accepts(self, instance: Instance) -> bool:
        return not instance.problem.attributes

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        self.asked.append(task)
        return ProvenBound(math.ceil(self.value / instance.levels.unit))


@contextmanager
def registered(bound: LowerBound) -> Iterator[None]:
    register_bound(bound)
    try:
        yield
    finally:
        unregister_bound(bound.name)


def problem(**options: Any) -> km.Problem:
    table = km.Table.from_frame(pl.DataFrame(ROWS, schema=["a", "b"], orient="row"), ["a", "b"])
    return km.Problem(table, [km.KAnonymity(2)], **options)


@pytest.mark.parametrize("method", ["milp", "search"])
def test_a_bound_that_is_right_is_used_by_every_method(method: Any) -> None:
    plain = km.solve(problem(), method=method, iteration_limit=1 if method == "search" else None)
    assert plain.exact_objective == 9
    assert "registered bound" not in plain.backed_by
    own = Claims(9)
    with registered(own):
        result = km.solve(problem(), method=method, iteration_limit=1 if method == "search" else None)
    assert own.asked
    assert result.require_optimal().exact_objective == result.exact_bound == 9
    if method == "milp":  # the solver says the same
        assert "registered bound" in result.backed_by


@pytest.mark.parametrize("method", ["milp", "search"])
@pytest.mark.parametrize("claimed", [10, 1000])
def test_a_bound_above_a_verified_table_is_discarded_and_the_proof_without_it_stays(method: Any, claimed: int) -> None:
    with registered(Claims(claimed)), registered(Claims(3, "right")):
        result = km.solve(problem(), method=method, iteration_limit=1 if method == "search" else None)
    assert "the registered bound is above the loss of a verified table" in result.message
    assert result.require_optimal().exact_objective == result.exact_bound == 9
    assert "registered bound" not in result.backed_by
    assert result.backed_by


@pytest.mark.parametrize(("claimed", "left", "proof"), [(19, None, "none"), (4, 4, "bound"), (18, 18, "optimal")])
def test_where_the_solver_has_no_time_a_bound_that_is_too_high_leaves_none(claimed: int, left: Any, proof: str) -> None:
    """The session is interrupted as soon as the bound has been computed; its table loses 18."""
    stop = threading.Event()

    class AndStop(Claims):
        def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
            stop.set()
            return super().compute(instance, task)

    with registered(AndStop(claimed)):
        result = km.solve(problem(), interrupt=stop)
    assert result.verified
    assert result.exact_objective == 18
    assert (result.proof, result.exact_bound) == (proof, left)
    assert result.backed_by == (() if left is None else ("registered bound",))
    assert ("has been discarded" in result.message) == (left is None)


def test_a_bound_below_the_others_changes_nothing() -> None:
    with registered(Claims(1)):
        result = km.solve(problem())
    assert result.require_optimal().exact_objective == 9
    assert "registered bound" not in result.backed_by


def test_it_is_asked_only_about_what_it_accepts_and_about_the_loss() -> None:
    own = Claims(10)
    with registered(own):
        assert km.solve(problem(objective="max_groups")).require_optimal().exact_objective == 4
        table = km.Table.from_frame(pl.DataFrame({"a": list("xxxx"), "s": list("uvuv")}), ["a"], "s")
        assert km.solve(km.Problem(table, [km.PSensitivity(2)])).require_optimal().exact_objective == 0
    assert not own.asked


def test_what_is_no_bound_is_refused() -> None:
    class Nameless:
        name = ""

    class Idle:
        name = "idle"

        def accepts(self, _: Instance) -> bool:
            return True

    class Rounds(Idle):
        def compute(self, _: Instance, __: BoundTask) -> Any:
            return ProvenBound(8.5)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="needs a name"):
        register_bound(Nameless())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="idle has no method compute"):
        register_bound(Idle())  # type: ignore[arg-type]
    for name in ("lagrangian", "nobody"):
        with pytest.raises(InputError, match="was registered"):
            unregister_bound(name)
    with (
        registered(Rounds()),
        pytest.raises(InputError, match=r'"idle": Rounds.compute must return a ProvenBound.*float as its units'),
    ):
        km.solve(problem())
    assert sorted(BOUNDS) == ["column_generation", "lagrangian", "relax_and_cut", "requirements"]


def test_the_highest_registered_bound_counts() -> None:
    instance = reduced(problem())
    with registered(Claims(4)), registered(Claims(7, "other")):
        best = best_registered(instance, BoundTask())
    assert best.units * instance.levels.unit == 7
    assert best.justified_by == ("registered bound",)
    assert best_registered(instance, BoundTask()).units == 0


@given(cases(max_rows=8, sides=False))
@settings(max_examples=examples(25, 8))
def test_no_bound_of_the_package_is_above_the_optimum(case: Case) -> None:
    instance = reduced(case.problem())
    best = optimum(case.rows, case.k, **case.judged())
    assume(best is not None and instance.types.count)
    assert best is not None
    known = BOUNDS["lagrangian"].compute(instance, BoundTask(BoundLimit(iterations=200)))
    for name in ("lagrangian", "relax_and_cut", "column_generation"):
        bound = BOUNDS[name]
        assert bound.accepts(instance)
        for dual in (None, known.dual):
            found = bound.compute(instance, BoundTask(BoundLimit(iterations=300, rounds=2), dual))
            assert found.units * instance.levels.unit <= best
            assert found.justified_by == ("certificate",)
            assert found.dual is not None
            report = check_certificate(case.problem(), certify(case.problem(), found.dual))
            assert report.valid
            assert report.bound <= best
            if dual is not None:
                assert name == "lagrangian" or found.units >= known.units


def test_the_bound_of_requirements_is_about_sensitive_attributes() -> None:
    assert not BOUNDS["requirements"].accepts(prepare(problem()))
    table = km.Table.from_frame(pl.DataFrame({"a": list("wxyz"), "s": list("uuvv")}), ["a"], "s")
    asked = km.Problem(table, [km.PSensitivity(2)])
    instance = prepare(asked)
    assert BOUNDS["requirements"].accepts(instance)
    found = BOUNDS["requirements"].compute(instance, BoundTask(BoundLimit(iterations=300)))
    best = km.solve(asked).require_optimal().exact_objective
    assert best == 4
    assert 0 < found.units * instance.levels.unit <= best
