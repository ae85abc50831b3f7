"""Tables and bounds where candidates are priced, against the optimum by brute force; and how such a session ends."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

import numpy as np
import polars as pl
import pytest
from present import present

import kanon_milp as km
from kanon_milp.bounds.certificate import certify
from kanon_milp.presolve import preparation
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.reductions import Dominance, Viability
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit
from kanon_milp.verify import check_certificate


@pytest.fixture(autouse=True)
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few candidates there are."""
    monkeypatch.setattr(preparation, "FEW_VECTORS", 0)
    monkeypatch.setattr(preparation, "PRICED_PAIRS", 0)


def table(rows: int, seed: int = 0) -> km.Problem:
    draw = Random(seed)
    cells = [[str(int(draw.betavariate(2, 3) * size)) for size in (40, 6, 5, 3)] for _ in range(rows)]
    frame = pl.DataFrame(cells, schema=["age", "edu", "job", "sex"], orient="row")
    hierarchies = {"age": km.Hierarchy.intervals([str(i) for i in range(40)], [5, 10, 20])}
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3), km.Hierarchies(hierarchies))


def test_the_bound_is_that_of_all_candidates_and_its_certificate_is_checked() -> None:
    problem = table(120)
    found = km.solve(problem, method="search", iteration_limit=10)
    assert 0.85 < present(found.bound) / present(found.objective) <= 1
    certificate = certify(problem, present(found.dual))
    assert certificate.bound == found.exact_bound
    assert check_certificate(problem, certificate).valid


def test_what_a_longer_limit_would_price_is_short_of_time_and_not_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "LOOKS", 1 << 40)
    monkeypatch.setattr(preparation, "vectors_in_memory", lambda *_, **__: 0)
    limit = Limit(time.perf_counter() + 100)
    reasons = [
        present(presolve(table(20), Clock(), priced=allowed, limit=limit).shortage).reason for allowed in (True, False)
    ]
    assert reasons == ["time_limit", "error"]


@pytest.mark.full
def test_a_table_to_start_with_is_not_made_worse() -> None:
    problem = table(150)
    good = km.solve(problem, method="search", iteration_limit=15)
    again = km.solve(problem, time_limit=2, start=present(good.groups))
    assert present(again.exact_objective) <= present(good.exact_objective)


def test_where_there_was_no_time_for_a_table_greedy_makes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kanon_milp.methods.priced_rounds._PricedSearch._search", lambda *_: None)
    problem = table(150)
    greedy = km.solve(problem, method="greedy")
    result = km.solve(problem, method="search", time_limit=1)
    assert result.verified
    assert result.objective is not None
    assert greedy.objective is not None
    assert result.objective <= greedy.objective < 4 * 150


def test_few_groups_have_a_table_and_a_bound() -> None:
    problem = table(40)
    free = km.solve(problem, method="search", iteration_limit=1)
    few = km.solve(replace(problem, max_groups=5), method="search", iteration_limit=1)
    assert len(set(present(few.groups).tolist())) <= 5
    assert present(free.exact_bound) < 0.8 * present(few.exact_bound)
    assert 0.7 < present(few.bound) / present(few.objective) <= 1
    certificate = certify(few.problem, present(few.dual))
    assert certificate.problem["max_groups"] == 5
    assert certificate.bound == few.exact_bound
    assert check_certificate(few.problem, certificate).valid
    assert not check_certificate(replace(problem, max_groups=6), certificate).valid


@pytest.mark.full
def test_dominated_candidates_are_not_counted_twice() -> None:
    """The bound is no lower than that of the instance that dominance leaves."""
    from kanon_milp.bounds import lagrangian

    problem = table(100)
    instance = prepare(problem)
    instance = Dominance().apply(instance.subset(Viability().keep(instance))).instance
    listed = lagrangian(instance, packing_cuts=False)
    found = km.solve(problem, method="search", iteration_limit=5)
    assert present(found.bound) >= 0.98 * listed.value * float(instance.levels.unit)
    assert np.isclose(present(found.dual).value, listed.value, rtol=0.03)


def test_a_table_that_loses_nothing_is_proven_at_once() -> None:
    frame = pl.DataFrame({"a": ["1"] * 4 + ["2"] * 3, "b": ["x"] * 7})
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3))
    found = km.solve(problem, method="search", iteration_limit=5)
    assert found.exact_objective == 0
    assert found.proof == "optimal"


def test_the_first_table_is_that_of_greedy() -> None:
    problem = table(60)
    found, greedy = km.solve(problem, method="search", iteration_limit=1), km.solve(problem, method="greedy")
    assert found.trajectory[0][1] == pytest.approx(present(greedy.objective))
    assert present(found.exact_objective) <= present(greedy.exact_objective)


@pytest.mark.parametrize("limit", [None, 300.0])
def test_rounds_that_would_all_be_the_same_end(limit: float | None) -> None:
    """Bound and best table do not meet here, however long it goes on."""
    columns = {"a": "abaac", "b": "cbaba", "c": "bbbcb", "d": "bcaba", "s": "xzyzz"}
    frame = pl.DataFrame({name: list(values) for name, values in columns.items()})
    paths: dict[str | None, tuple[str | None, ...]] = {"a": ("a", "X", "*"), "b": ("b", "Y", "*"), "c": ("c", "Y", "*")}
    recoding = km.Hierarchies({name: km.Hierarchy(paths) for name in "ad"})
    requirements = [km.KAnonymity(2), km.LDiversity("4/3")]
    problem = km.Problem(km.Table.from_frame(frame, list("abcd"), "s"), requirements, recoding)
    found = km.solve(problem, method="search", time_limit=limit, threads=1)
    assert (found.stop_reason, found.proof) == ("finished", "bound")
    assert [run.name for run in found.phases].count("pricing") <= 3
    assert present(found.exact_bound) < present(found.exact_objective)
