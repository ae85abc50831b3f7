"""Tables and bounds where candidates are priced, against the optimum by brute force; and how such a session ends."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from random import Random

import numpy as np
import polars as pl
import pytest
from effort import examples
from oracle import optimum
from present import present
from strategies import drawn_case, priceable

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


@pytest.mark.parametrize("seed", range(examples(100, 3)))
def test_table_and_bound_are_on_both_sides_of_the_optimum(seed: int) -> None:
    """Hierarchies, weights, level costs, both readings; without a clock."""
    case = priceable(drawn_case(Random(f"priced-{seed}"), (2, 9), sides=False))
    best = optimum(case.rows, case.k, **case.judged())
    found = km.solve(case.problem(), method="search", iteration_limit=20)
    assert best is not None
    assert found.verified
    assert any(run.name == "pricing" for run in found.phases) or found.exact_bound == best
    assert present(found.exact_bound) <= best <= present(found.exact_objective)
    assert found.is_optimal == (found.exact_bound == found.exact_objective)
    losses = [loss for _, loss, _ in found.trajectory if loss is not None]
    assert losses == sorted(losses, reverse=True)


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
def test_it_is_the_same_each_time_where_work_is_counted() -> None:
    one, other = (km.solve(table(150), method="search", iteration_limit=15, seed=3) for _ in range(2))
    assert (one.exact_objective, one.exact_bound) == (other.exact_objective, other.exact_bound)
    assert present(one.groups).tolist() == present(other.groups).tolist()


@pytest.mark.full
def test_auto_prices_within_a_limit_and_ends_with_it() -> None:
    points: list[float | None] = []
    found = km.solve(table(600), time_limit=4, on_progress=lambda point: points.append(point.bound))
    assert found.solver.method == "search"
    assert found.stop_reason == "time_limit"
    assert found.seconds["total"] < 12
    assert found.verified
    assert found.message == ""
    assert max(each for each in points if each is not None) <= present(found.bound)


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


def test_it_ends_when_asked() -> None:
    stop = threading.Event()
    stop.set()
    found = km.solve(table(300), time_limit=60, interrupt=stop)
    assert found.stop_reason == "interrupted"
    assert found.seconds["total"] < 20


def test_a_gap_that_is_met_ends_it() -> None:
    found = km.solve(table(150), time_limit=60, gap=0.5)
    assert found.stop_reason == "gap_limit"
    assert present(found.gap) <= 0.5


SIDES: tuple[dict[str, int | str], ...] = (
    {"max_groups": 1},
    {"max_groups": 2},
    {"min_groups": 2},
    {"min_groups": 2, "max_groups": 2},
    {"cost_bound": 6},
    {"max_groups": 2, "cost_bound": 6},
)


@pytest.mark.parametrize("seed", range(examples(200, 4)))
def test_side_constraints_are_kept_and_the_bound_is_below_the_optimum(seed: int) -> None:
    """Brute force says what the best table loses, or that there is none; masks and costs of labels as well."""
    case = drawn_case(Random(f"priced-sides-{seed}"), (3, 9), sides=False)
    case = replace(case, sides=dict(SIDES[seed % len(SIDES)]))
    best = optimum(case.rows, case.k, **case.judged())
    problem = case.problem()
    found = km.solve(problem, method="search", iteration_limit=5)
    if best is None:
        assert found.table is None
        assert found.proof != "optimal"
        return
    assert found.proof != "infeasible"
    assert present(found.exact_bound) <= best
    if found.table is not None:
        assert found.verified
        assert best <= present(found.exact_objective)
    if found.dual is not None:
        certificate = certify(problem, found.dual)
        assert certificate.bound <= best
        assert check_certificate(problem, certificate).valid
        assert not check_certificate(problem, replace(certificate, bound=best + 1)).valid


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
