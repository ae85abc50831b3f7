"""Rank-1 cuts beside a search in other processes: what they prove counts, and neither waits for the other."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from census import census_problem
from present import present

import kanon_milp as km
from kanon_milp.bounds import BoundLimit, DualPoint, lagrangian, proven_bound, round_dual
from kanon_milp.bounds.built_in import certified
from kanon_milp.bounds.columns.relax_and_cut import RelaxAndCut, relax_and_cut
from kanon_milp.bounds.registry import ProvenBound
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.search import Search
from kanon_milp.methods import cuts_beside, guide, sizes_guide
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.methods.cuts_beside import CutsBeside
from kanon_milp.methods.guide import Guide
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import reduce
from kanon_milp.solvers import Progress, SolverAdapter, SolverOptions
from kanon_milp.system.limit import Limit
from kanon_milp.verify import check_certificate

PROBLEM = census_problem(60, 5)
SECONDS, SHORT = 60.0, 1.2  # long enough for all that ends earlier, and for some cuts


def reduced(problem: km.Problem) -> Instance:
    before = prepare(problem)
    steps = reduce(before)
    return steps[-1].instance if steps else before


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


def soon(seconds: float = SECONDS) -> Limit:
    return Limit(time.perf_counter() + seconds, threading.Event())


def test_cuts_raise_the_bound_and_are_certified_again_and_again(
    instance: Instance, dual: DualPoint, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each round."""
    values: list[float] = []

    def seen(instance: Instance, dual: DualPoint) -> ProvenBound:
        values.append(dual.value)
        return certified(instance, dual)

    monkeypatch.setattr(cuts_beside, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(cuts_beside, "certified", seen)
    plain = proven_bound(instance, round_dual(dual))
    relax_and_cut(instance, dual, BoundLimit(rounds=1))  # compiles
    with CutsBeside(instance, tracker, dual, 0.0, soon(2 * SHORT), Mock()) as beside:
        beside._thread.join()
    assert len(set(values)) > 1
    assert values == sorted(values)
    assert tracker.bound > plain
    assert tracker.proven_by == ("certificate",)
    assert proven_bound(instance, round_dual(beside.dual)) == tracker.bound
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
    monkeypatch.setattr(RelaxAndCut, "of", lambda *_, **__: ascent)
    return ascent


def test_cuts_that_are_of_no_more_use_end_alone(
    instance: Instance, dual: DualPoint, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Mock()
    ascent = instead(monkeypatch, dual, lambda it: it.calls == 3)
    with CutsBeside(instance, tracker, dual, 0.0, soon(), done) as beside:
        beside._thread.join()
        assert not beside.limit.over  # the search goes on
        assert done.called
    assert ascent.calls == 3
    assert tracker.bound == proven_bound(instance, round_dual(dual))


def test_the_target_is_the_best_table_so_far(
    instance: Instance, dual: DualPoint, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets: list[float | None] = []

    def maximize(ascent: VolumeAlgorithm) -> bool:
        targets.append(ascent.limit.target)
        best = present(tracker.best)
        tracker.best = replace(best, cost=best.cost - 1)
        return ascent.calls == 2

    cost = present(tracker.best).cost
    instead(monkeypatch, dual, maximize)
    with CutsBeside(instance, tracker, dual, 0.0, soon(), Mock()) as beside:
        beside._thread.join()
    assert targets == [cost, cost - 1]


def test_multipliers_count_beside_a_higher_bound_that_was_registered(
    instance: Instance, dual: DualPoint, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may be refuted, and certifies nothing."""
    tracker.higher(present(tracker.best).cost - 1, ("registered bound",))
    better = relax_and_cut(instance, dual, BoundLimit(rounds=2))
    assert better.value > dual.value
    instead(monkeypatch, better, lambda _: True)
    with CutsBeside(instance, tracker, dual, 0.0, soon(), Mock()) as beside:
        beside._thread.join()
    assert beside.dual.value == better.value
    assert tracker.proven == proven_bound(instance, round_dual(beside.dual))


def test_a_bound_that_is_enough_ends_both(instance: Instance, dual: DualPoint, tracker: Tracker) -> None:
    """Of what is asked for, a wide gap."""
    with CutsBeside(instance, tracker, dual, 0.9, soon(), Mock()) as beside:
        beside._thread.join()
        assert beside.limit.asked
    assert beside.limit.left > 0


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
    limit = soon()
    beside = CutsBeside(instance, tracker, dual, 0.3, limit, Mock())
    with contextlib.suppress(ZeroDivisionError), beside:
        assert begun.wait(SECONDS)
        if failed:
            raise ZeroDivisionError
        tracker.higher(math.floor(0.8 * present(tracker.best).cost), ("own bound",))
    assert not beside._thread.is_alive()
    assert not limit.asked  # the session goes on
    assert limit.left > 0


def test_they_go_on_where_the_search_has_nothing_left_to_do(
    instance: Instance, dual: DualPoint, tracker: Tracker
) -> None:
    plain = proven_bound(instance, round_dual(dual))
    with CutsBeside(instance, tracker, dual, 0.0, soon(SHORT), Mock()):
        pass
    assert tracker.bound > plain


@pytest.mark.parametrize(("cost", "bound", "gap"), [(60_200, 33_712, 0.44), (100, 90, 0.1), (100, 89, 0.1)])
def test_both_agree_on_what_is_near_enough(
    instance: Instance, dual: DualPoint, tracker: Tracker, cost: int, bound: int, gap: float
) -> None:
    """Rounding is all that decides the first one."""
    tracker.best = replace(present(tracker.best), cost=cost)
    tracker.proven = bound
    session = SimpleNamespace(options=SolverOptions(gap=gap))
    enough = Guide.enough.fget(SimpleNamespace(tracker=tracker, session=session))  # type: ignore[attr-defined]
    assert CutsBeside(instance, tracker, dual, gap, soon(), Mock())._met == (cost <= enough)


def test_an_error_in_the_thread_is_raised(
    instance: Instance, dual: DualPoint, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def maximize(_: VolumeAlgorithm) -> bool:
        raise ZeroDivisionError

    instead(monkeypatch, dual, maximize)
    done = Mock()
    beside = CutsBeside(instance, tracker, dual, 0.0, soon(), done)
    with pytest.raises(ZeroDivisionError), beside:
        beside._thread.join()
    assert done.called
    assert beside.limit.asked  # so that the search ends at once


@pytest.mark.processes
def test_with_two_threads_the_search_has_the_other_process(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "MODEL_PAIRS", 0)
    monkeypatch.setattr(sizes_guide, "CUT_ITERATIONS", 0)
    for step in ("begin", "solve"):
        monkeypatch.setattr(CoreProblem, step, lambda *_, **__: None)
    workers: list[int] = []
    run = Search.run

    def searched(search: Search, adapter: SolverAdapter, options: SolverOptions) -> object:
        workers.append(search._pool.workers)
        return run(search, adapter, options)

    monkeypatch.setattr(Search, "run", searched)
    problem, points = census_problem(80, 5), list[Progress]()
    result = km.solve(problem, method="search", threads=2, time_limit=6, on_progress=points.append)
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
