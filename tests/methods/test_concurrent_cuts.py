"""Rank-1 cuts while other processes search: what they prove counts, and neither waits for the other."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from census import census_problem
from present import present
from strategies import reduced

import kanon_milp as km
from kanon_milp.bounds import BoundLimit, DualPoint, lagrangian, proven_bound, round_dual
from kanon_milp.bounds.built_in import certified
from kanon_milp.bounds.columns.relax_and_cut import relax_and_cut
from kanon_milp.bounds.registry import ProvenBound
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.search import Search
from kanon_milp.methods import sizes_phases
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.methods.phases import Known
from kanon_milp.methods.scheduler import Concurrent
from kanon_milp.methods.sizes_phases import ConcurrentCuts
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import Progress, SolverAdapter, SolverOptions
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import Parameters
from kanon_milp.system.worker_pool import InlinePool
from kanon_milp.verify import check_certificate

PROBLEM = census_problem(60, 5)
SECONDS, SHORT = 60.0, 1.2  # long enough for all that ends earlier, and for some cuts


@pytest.fixture(scope="module")
def instance() -> Instance:
    return reduced(PROBLEM)


@pytest.fixture(scope="module")
def dual(instance: Instance) -> DualPoint:
    return lagrangian(instance, iterations=300)


@pytest.fixture
def tracker(instance: Instance) -> Tracker:
    tracker = Tracker(instance.levels.unit, time.perf_counter(), None)
    tracker.better(greedy(instance))
    return tracker


@pytest.fixture
def known(instance: Instance, dual: DualPoint, tracker: Tracker) -> Known:
    return known_of(instance, dual, tracker)


def known_of(
    instance: Instance, dual: DualPoint, tracker: Tracker, seconds: float = SECONDS, gap: float = 0.0, **values: float
) -> Known:
    """What phases know of a table that nobody searches. values: parameters of cuts."""
    parameters = Parameters({f"cuts.{name}": value for name, value in values.items()})
    session: Any = SimpleNamespace(
        instance=instance, problem=instance.problem, options=SolverOptions(gap=gap), clock=Clock(), iterations=None,
        dask=None, parameters=parameters,
    )  # fmt: skip
    return Known(session, tracker, InlinePool(), soon(seconds), dual=dual, plain=dual)


def soon(seconds: float = SECONDS) -> Limit:
    return Limit(time.perf_counter() + seconds, threading.Event())


@pytest.mark.full
def test_cuts_raise_the_bound_and_are_certified_again_and_again(
    instance: Instance, dual: DualPoint, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each round."""
    values: list[float] = []

    def seen(instance: Instance, dual: DualPoint) -> ProvenBound:
        values.append(dual.value)
        return certified(instance, dual)

    monkeypatch.setattr(sizes_phases, "certified", seen)
    plain = proven_bound(instance, round_dual(dual))
    relax_and_cut(instance, dual, BoundLimit(rounds=1))  # compiles
    known = known_of(instance, dual, tracker, 2 * SHORT, first_certificate=0.0)
    with Concurrent(known, ConcurrentCuts()) as cuts:
        cuts.join()
    assert len(set(values)) > 1
    assert values == sorted(values)
    assert tracker.bound > plain
    assert tracker.proven_by == ("certificate",)
    assert proven_bound(instance, round_dual(present(known.dual))) == tracker.bound
    assert tracker.bound <= present(km.solve(PROBLEM, method="milp").require_optimal().objective)


class VolumeAlgorithm:
    """Instead of one with cuts: `maximize` is what is to happen."""

    def __init__(self, dual: DualPoint, maximize: Callable[[VolumeAlgorithm], bool]) -> None:
        self.dual, self._maximize, self.calls, self.limit = dual, maximize, 0, BoundLimit()

    def maximize(self, pause: float) -> bool:
        self.calls += 1
        assert pause > time.perf_counter()
        return self._maximize(self)

    def end(self) -> DualPoint:
        return self.dual


def instead(
    monkeypatch: pytest.MonkeyPatch, dual: DualPoint, maximize: Callable[[VolumeAlgorithm], bool]
) -> VolumeAlgorithm:
    ascent = VolumeAlgorithm(dual, maximize)
    monkeypatch.setattr("kanon_milp.bounds.columns.relax_and_cut.RelaxAndCut", lambda *_, **__: ascent)
    return ascent


def test_cuts_that_are_of_no_more_use_end_alone(
    instance: Instance, dual: DualPoint, tracker: Tracker, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    ascent = instead(monkeypatch, dual, lambda it: it.calls == 3)
    with Concurrent(known, ConcurrentCuts()) as cuts:
        cuts.join()
        assert not known.limit.over  # the search goes on
        assert not known.concurrent
    assert ascent.calls == 3
    assert tracker.bound == proven_bound(instance, round_dual(dual))


def test_the_target_is_the_best_table_so_far(
    dual: DualPoint, tracker: Tracker, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets: list[float | None] = []

    def maximize(ascent: VolumeAlgorithm) -> bool:
        targets.append(ascent.limit.target)
        best = present(tracker.best)
        tracker.best = replace(best, cost=best.cost - 1)
        return ascent.calls == 2

    cost = present(tracker.best).cost
    instead(monkeypatch, dual, maximize)
    with Concurrent(known, ConcurrentCuts()) as cuts:
        cuts.join()
    assert targets == [cost, cost - 1]


def test_multipliers_count_where_a_higher_bound_was_registered(
    instance: Instance, dual: DualPoint, tracker: Tracker, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may be refuted, and certifies nothing."""
    tracker.higher(present(tracker.best).cost - 1, ("registered bound",))
    better = relax_and_cut(instance, dual, BoundLimit(rounds=2))
    assert better.value > dual.value
    instead(monkeypatch, better, lambda _: True)
    with Concurrent(known, ConcurrentCuts()) as cuts:
        cuts.join()
    assert present(known.dual).value == better.value
    assert tracker.proven == proven_bound(instance, round_dual(present(known.dual)))


def test_a_bound_that_is_enough_ends_both(instance: Instance, dual: DualPoint, tracker: Tracker) -> None:
    """Of what is asked for, a wide gap."""
    known = known_of(instance, dual, tracker, gap=0.9)
    with Concurrent(known, ConcurrentCuts()) as cuts:
        cuts._thread.join()
        assert known.limit.asked
    assert known.limit.left > 0


@pytest.mark.parametrize("failed", [False, True])
def test_a_search_that_is_good_enough_or_fails_ends_them(
    instance: Instance, dual: DualPoint, tracker: Tracker, monkeypatch: pytest.MonkeyPatch, failed: bool
) -> None:
    begun = threading.Event()

    def maximize(ascent: VolumeAlgorithm) -> bool:
        begun.set()
        while not ascent.limit.over:
            time.sleep(0.01)
        return True

    instead(monkeypatch, dual, maximize)
    known = known_of(instance, dual, tracker, gap=0.3)
    cuts = Concurrent(known, ConcurrentCuts())
    with contextlib.suppress(ZeroDivisionError), cuts:
        assert begun.wait(SECONDS)
        if failed:
            raise ZeroDivisionError
        tracker.higher(math.floor(0.8 * present(tracker.best).cost), ("own bound",))
    assert not cuts._thread.is_alive()
    assert not known.whole.asked  # the session goes on
    assert known.whole.left > 0


def test_they_go_on_where_the_search_has_nothing_left_to_do(
    instance: Instance, dual: DualPoint, tracker: Tracker
) -> None:
    plain = proven_bound(instance, round_dual(dual))
    with Concurrent(known_of(instance, dual, tracker, SHORT), ConcurrentCuts()):
        pass
    assert tracker.bound > plain


def test_an_error_in_the_thread_is_raised(dual: DualPoint, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    def maximize(_: VolumeAlgorithm) -> bool:
        raise ZeroDivisionError

    instead(monkeypatch, dual, maximize)
    cuts, asked = Concurrent(known, ConcurrentCuts()), list[bool]()

    def ends() -> None:
        with cuts:
            cuts._thread.join()
            asked.append(known.limit.asked)

    with pytest.raises(ZeroDivisionError):
        ends()
    assert asked == [True]  # so that the search ends at once


@pytest.mark.processes
def test_with_two_threads_the_search_has_the_other_process(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoreProblem, "solve", lambda *_, **__: None)
    parameters = {"restricted_model.pairs": 0, "cuts.iterations": 0}
    workers: list[int] = []
    run = Search.run

    def searched(search: Search, adapter: SolverAdapter, options: SolverOptions) -> object:
        workers.append(search._pool.workers)
        return run(search, adapter, options)

    monkeypatch.setattr(Search, "run", searched)
    problem, points = census_problem(80, 5), list[Progress]()
    result = km.solve(
        problem, method="search", threads=2, time_limit=6, on_progress=points.append, parameters=parameters
    )
    assert workers[0] == 1
    assert result.verified
    assert all(point.bound is None or point.bound <= present(result.objective) + 1e-6 for point in points)
    report = check_certificate(problem, result.certify())
    assert report.valid
    assert report.bound == result.exact_bound
    instance = reduced(problem)
    plain = proven_bound(instance, round_dual(lagrangian(instance)))
    assert result.exact_bound is not None
    assert result.exact_bound > plain
