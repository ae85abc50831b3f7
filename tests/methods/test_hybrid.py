"""Closing in on the optimum: bound, search and a model of the rest agree with brute force, and stop when told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from census import Q8, census, census_problem
from command_line import processor_seconds, with_ctrl_c
from present import present

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.formulations.restricted import Answer, solve_restricted
from kanon_milp.heuristics.search import Search
from kanon_milp.methods import core_problem, model_phases
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.methods.phases import Known
from kanon_milp.methods.registry import (
    Argument,
    AutoParams,
    choose,
)
from kanon_milp.methods.sizes_phases import RankOneCuts
from kanon_milp.methods.verification import verify_files
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverAdapter, SolverOptions, StopReason
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import AlsoSet, Limit
from kanon_milp.system.parameters import Parameters

AUTO = AutoParams()


@pytest.mark.full
def test_small_tables_have_cuts_before_they_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no search where these and the core problem prove the optimum."""
    done: list[str] = []
    raise_bound, search = RankOneCuts.run, Search.run

    def raised(phase: RankOneCuts, known: Known, limit: Limit) -> None:
        done.append("cuts")
        raise_bound(phase, known, limit)

    def searched(each: Search, adapter: SolverAdapter, options: SolverOptions) -> Assignment | None:
        done.append("search")
        return search(each, adapter, options)

    monkeypatch.setattr(RankOneCuts, "run", raised)
    monkeypatch.setattr(Search, "run", searched)
    problem = census_problem(80, 5)
    quick = km.solve(problem, method="search", time_limit=120, parameters={"forecast.easy_pairs": 50})
    assert done == ["cuts"]
    assert quick.require_optimal().objective == km.solve(problem, method="milp").require_optimal().objective
    done.clear()
    counted = km.solve(problem, method="search", iteration_limit=3, parameters={"forecast.easy_pairs": 50})
    assert done[0] == "search"  # no clock, no promise of what comes after
    assert present(counted.bound) <= present(quick.objective) <= present(counted.objective)


def test_a_model_from_below_ends_once_it_has_proven_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cuts and search there are many of them, each for a unit of the bound."""
    ended: list[int] = []
    monkeypatch.setattr(core_problem, "MOMENT", -1)
    monkeypatch.setattr(model_phases, "promising", lambda *_: False)
    monkeypatch.setattr(Search, "run", lambda *_: None)

    def end(call: AlsoSet) -> None:
        ended.append(1)
        threading.Event.set(call)

    monkeypatch.setattr(AlsoSet, "set", end)
    problem = census_problem(80, 5, Q8[:6])
    result = km.solve(problem, method="search", time_limit=60, parameters={"cuts.group_rows": 0})
    assert ended
    assert result.require_optimal().objective == km.solve(problem, method="milp").require_optimal().objective


def test_a_model_that_is_no_longer_needed_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def left_behind(*arguments: Any, **options: Any) -> Answer:
        answer = solve_restricted(*arguments, **options)
        return replace(answer, stop_reason=StopReason.INTERRUPTED, message="did not stop")

    monkeypatch.setattr(core_problem, "solve_restricted", left_behind)
    result = km.solve(census_problem(60, 3), method="search", time_limit=60)
    assert (result.stop_reason, result.message) == ("optimal", "")


def test_what_ends_a_model_from_below_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no time is left for the next one, the run has not ended at a gap, and is not optimal."""
    calls: list[int] = []
    solve_one = CoreProblem.decide

    def only_the_first(self: CoreProblem, *rest: Any) -> Any:
        calls.append(1)
        return solve_one(self, *rest) if len(calls) == 1 else None

    monkeypatch.setattr(CoreProblem, "decide", only_the_first)
    for phase in (model_phases.CondensedModels, model_phases.ModelAtBound, model_phases.EarlyModel):
        monkeypatch.setattr(phase, "applies", lambda *_: False)
    monkeypatch.setattr(Search, "run", lambda *_: None)
    result = km.solve(census_problem(80, 5), method="search", time_limit=60, parameters={"cuts.group_rows": 0})
    assert len(calls) > 1
    assert not result.is_optimal
    assert result.stop_reason not in ("gap_limit", "optimal")


@pytest.mark.full
def test_what_costs_no_more_than_the_bound_is_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one model; only without a proof, the search begins."""
    searched: list[int] = []
    monkeypatch.setattr(Search, "run", lambda *_: searched.append(1))
    monkeypatch.setattr(model_phases, "core_is_promising", lambda _: False)  # whatever is known of it
    result = km.solve(census_problem(150, 2), method="search", time_limit=60)
    model = km.solve(census_problem(150, 2), method="milp")
    optimal = present(model.require_optimal().objective)
    assert present(result.bound) <= optimal <= present(result.objective)
    assert present(result.after.variables) > 0  # there was a model
    assert not (result.is_optimal and searched)


def test_within_a_time_limit_smaller_tables_are_searched_too() -> None:
    prepared = presolve(census_problem(200, 3), Clock())
    assert AUTO.limited_pairs <= prepared.instance.candidates.pairs < AUTO.search_pairs
    assert choose(prepared, frozenset(), None).name == "milp"
    assert choose(prepared, frozenset(), 5.0).name == "search"
    assert choose(prepared, frozenset({"formulation"}), 5.0).name == "milp"
    assert choose(presolve(census_problem(20, 3), Clock()), frozenset(), 5.0).name == "milp"


def test_under_requirements_few_candidates_a_row_type_are_for_the_solver() -> None:
    """Which has formulations that prove them in seconds; within a limit others are searched, or matched for l = 2."""
    frame = census(200)
    for diversity, patterns, name in (("5/3", 0, "search"), (2, 0, "matching"), (2, 12, "milp")):
        recoding = km.PatternMask.random(Q8, patterns, 0) if patterns else km.Suppression()
        table = km.Table.from_frame(frame, Q8, "disease")
        prepared = presolve(km.Problem(table, [km.LDiversity(diversity)], recoding), Clock())
        assert prepared.instance.candidates.pairs < AUTO.search_pairs
        assert choose(prepared, frozenset(), 5.0).name == name
        assert choose(prepared, frozenset(), None).name == "milp"


def test_under_requirements_a_limit_that_is_too_short_for_the_solver_is_for_the_search() -> None:
    """It has poor tables until it has nearly done."""
    table = km.Table.from_frame(census(600), Q8, "disease")
    for requirement, seconds in (
        (km.LDiversity("5/3"), AUTO.slow_pair_seconds),
        (km.TCloseness("0.4"), AUTO.emd_pair_seconds),
    ):
        problem = km.Problem(table, [requirement], km.PatternMask.random(Q8, 12, 0))
        prepared = presolve(problem, Clock())
        pairs = prepared.instance.candidates.pairs
        assert AUTO.limited_pairs <= pairs < AUTO.search_pairs
        assert choose(prepared, frozenset(), 2.0 * pairs * seconds).name == "milp"
        assert choose(prepared, frozenset(), 0.5 * pairs * seconds).name == "search"


def test_pairs_under_a_mask_are_matched() -> None:
    """Within a limit; not larger groups, nor under all patterns, nor where that method has no use for an argument."""
    frame = census(600)
    nothing: frozenset[Argument] = frozenset()
    nodes: frozenset[Argument] = frozenset({"node_limit"})
    iterations: frozenset[Argument] = frozenset({"iteration_limit"})
    for k, mask, limit, options, name in (
        (2, True, 5.0, nodes, "matching"),
        (3, True, 5.0, nothing, "search"),
        (2, False, 5.0, nothing, "search"),
        (2, True, 5.0, iterations, "search"),
        (2, True, None, nothing, "milp"),
    ):
        recoding = km.PatternMask.random(Q8, 12, 0) if mask else km.Suppression()
        problem = km.Problem(km.Table.from_frame(frame, Q8), [km.KAnonymity(k)], recoding)
        assert choose(presolve(problem, Clock()), options, limit).name == name, (k, mask)


def test_pairs_of_many_rows_are_matched_under_all_patterns_too() -> None:
    """Where the core problem would not be one model, and the time is enough."""
    prepared, nothing = presolve(census_problem(600, 2), Clock()), frozenset[Argument]()
    pairs = prepared.instance.candidates.pairs
    assert choose(prepared, nothing, 60.0).name == "search"
    small, seconds = {"restricted_model.pairs": pairs - 1}, pairs * AUTO.matching_pair_seconds
    for limit, name in ((seconds, "matching"), (0.9 * seconds, "search"), (None, "matching")):
        assert choose(prepared, nothing, limit, parameters=Parameters(small)).name == name
    fewer = Parameters({**small, "auto.matching_pairs": pairs - 1})
    assert choose(prepared, nothing, 60.0, parameters=fewer).name == "search"
    assert choose(presolve(census_problem(600, 3), Clock()), nothing, 60.0).name == "search"


@pytest.mark.full
def test_cpsat_counts_its_work_without_nodes() -> None:
    problem = census_problem(40, 4, Q8[:6])
    runs = [km.solve(problem, "cpsat", method="search", iteration_limit=2) for _ in range(2)]
    assert runs[0].verified
    assert runs[0].groups is not None
    assert (runs[0].groups == runs[1].groups).all()
    with pytest.raises(km.InputError, match="CP-SAT takes no node limit"):
        km.solve(problem, "cpsat", method="search", iteration_limit=2, node_limit=20)


@pytest.mark.full
def test_large_tables_are_searched_and_small_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert km.solve(census_problem(60, 3)).solver.method == "milp"
    large = km.solve(census_problem(600, 3), time_limit=0.5)
    assert large.solver.method == "search"
    assert km.solve(census_problem(600, 3), method="milp", time_limit=0.5).solver.method == "milp"


@pytest.mark.parametrize(
    ("privacy", "more", "said"),
    [
        ([km.KAnonymity(2), km.KAnonymity(2, ["a"]), km.KAnonymity(3, ["b"])], {}, "several groups together"),
        ([km.KAnonymity(2)], {"objective": "max_groups"}, "max_groups"),
        ([km.KAnonymity(2)], {"objective": "min_groups", "cost_bound": 2}, "min_groups"),
    ],
)
def test_other_problems_are_refused(privacy: list[km.Requirement], more: dict[str, object], said: str) -> None:
    frame = pl.DataFrame({"a": ["x", "y", "x", "y"], "b": ["u", "u", "u", "v"], "s": ["1", "2", "2", "1"]})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), privacy, **more)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=said):
        km.solve(problem, method="search")
    assert km.solve(problem).is_optimal
    with pytest.raises(InputError, match="method"):
        km.solve(problem, method="guess")


def test_without_a_model_of_the_rest_there_is_still_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = {"restricted_model.pairs": 0}
    result = km.solve(census_problem(90, 5, Q8[:6]), method="search", iteration_limit=2, parameters=parameters)
    assert result.verified
    assert result.stop_reason == "iteration_limit"
    assert result.bound < result.objective  # type: ignore[operator]


def table(out: Path) -> Path:
    return out.with_name("first.csv")


def begin(out: Path, *more: str) -> subprocess.Popen[bytes]:
    """A search on the command line that would take long."""
    census(1_000).select(Q8).write_csv(table(out))
    command = [
        sys.executable,
        "-m",
        "kanon_milp",
        "solve",
        "--data",
        str(table(out)),
        "--qi",
        ",".join(Q8),
    ]
    command += ["--k", "5", "--method", "search", "--time-limit", "60", "--out", str(out), *more]
    with with_ctrl_c():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def workers(process: int) -> list[int]:
    """Processes that a process has begun, but for helpers of Python's own."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            spawned = b"spawn_main" in (path / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent == process and spawned:
            found.append(int(path.name))
    return found


def wait_for(condition: object, seconds: float = 60) -> None:
    ends = time.perf_counter() + seconds
    while not condition():  # type: ignore[operator]
        assert time.perf_counter() < ends, "it took too long"
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
# Ctrl-C alone is one of the moments of tests/methods/test_interruptions.py too: no worker holds on to the output
@pytest.mark.parametrize("killed", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.processes
def test_ctrl_c_and_lost_workers_leave_a_whole_verified_table(tmp_path: Path, killed: bool) -> None:
    out = tmp_path / "out"
    running = begin(out, "--threads", "2")
    try:
        # seconds of work, of which each needs about one to begin
        wait_for(
            lambda: len(worked := [processor_seconds(it) for it in workers(running.pid)]) == 2 and min(worked) > 1.2
        )
        found = workers(running.pid)
        if killed:
            os.kill(found[0], signal.SIGKILL)
            time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 4, errors.decode()
    written = json.loads((out / "result.json").read_text())
    assert written["stop_reason"] == "interrupted"
    assert written["verified"] is True
    assert written["bound"] <= written["objective"] == written["suppressed_cells"]
    assert sorted(path.name for path in out.iterdir()) == ["anonymized.csv", "groups.csv", "result.json"]
    report = verify_files(table(out), out / "anonymized.csv", Q8, privacy=[km.KAnonymity(5)])
    assert report.ok
    assert report.cost == written["objective"]
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in found), 10)


@pytest.mark.full
def test_where_work_is_counted_no_model_goes_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core problem has a number of nodes where no limit is given."""
    asked: list[int | None] = []
    solve = solve_restricted

    def watched(model: Any, adapter: Any, options: SolverOptions, *rest: Any, **more: Any) -> Any:
        asked.append(options.node_limit)
        return solve(model, adapter, options, *rest, **more)

    monkeypatch.setattr(core_problem, "solve_restricted", watched)
    problem = census_problem(60, 5)
    parameters = {"core_problem.node_pairs": 1, "cuts.group_rows": 0, "first_bound.evaluations": 5}
    result = km.solve(problem, method="search", iteration_limit=1, parameters=parameters)
    assert asked[0] == 1
    assert present(result.bound) <= present(km.solve(problem, method="milp").objective) <= present(result.objective)
    asked.clear()
    km.solve(problem, method="search", iteration_limit=1, node_limit=7, parameters=parameters)
    assert set(asked) == {7}
    asked.clear()
    km.solve(problem, method="search", iteration_limit=1, time_limit=60, parameters=parameters)
    assert set(asked) == {None}


def test_a_search_without_a_limit_says_that_its_own_has_ended_it() -> None:
    draw = Random(3)
    frame = pl.DataFrame({f"q{j}": [draw.choice("abcde") for _ in range(200)] for j in range(5)})
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3))
    found = km.solve(problem, method="search", parameters={"hybrid.seconds": 0.01})
    assert (found.stop_reason, found.solver.options.time_limit) == ("time_limit", None)
    assert "no time limit was given, so the search ended after 0.01 s" in found.message
