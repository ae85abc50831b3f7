"""How solvers are found, what CBC alone needs, and the waiting that all adapters share."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import highspy
import pytest
from solver_cases import among, market_split, random_start

from kanon_milp import solvers
from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers import Availability, Progress, SolverOptions, StopReason
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers import cbc as cbc_module
from kanon_milp.solvers.call import Recorder, Watch
from kanon_milp.solvers.cbc import LogReader, printed_range


def test_registry_knows_its_names_and_suggests_the_nearest() -> None:
    assert solvers.names()[:4] == ["highs", "cbc", "scip", "cpsat"]
    assert "pulp:PULP_CBC_CMD" in solvers.names()
    with pytest.raises(InputError, match=r'did you mean "highs"\?.*cbc'):
        solvers.get("higs")
    with pytest.raises(InputError, match="pulp:GLPK_CMD"):
        solvers.get("pulp:GLPK")
    with pytest.raises(InputError, match="executable"):
        solvers.get("highs", executable="/bin/true")


def test_cbc_is_found_by_path_then_cbcbox_then_pulp(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    elsewhere = solvers.get("cbc").location()
    assert elsewhere in (cbc_module._in_cbcbox(), cbc_module._in_pulp())
    monkeypatch.setitem(sys.modules, "cbcbox", None)
    assert solvers.get("cbc").location() == cbc_module._in_pulp() != ""
    own = tmp_path / "cbc"
    own.write_text("#!/bin/sh\necho nothing\n")
    own.chmod(0o755)
    assert solvers.get("cbc").location() == str(own)
    assert solvers.get("cbc").availability() is Availability.BROKEN
    assert solvers.get("cbc", executable=tmp_path / "none").availability() is Availability.NOT_FOUND
    with pytest.raises(SolverError, match="does not run"):
        solvers.get("cbc").solve(birds.knapsack().model, SolverOptions())


def test_old_or_missing_highs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highspy.Highs, "version", lambda _: "1.14.0")  # which returns wrong optima
    adapter = solvers.get("highs")
    assert adapter.availability() is Availability.TOO_OLD
    with pytest.raises(SolverError, match="too old"):
        adapter.solve(birds.knapsack().model, SolverOptions())
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert adapter.availability() is Availability.NOT_FOUND
    assert (adapter.version(), adapter.location()) == ("", "")


def test_unavailable_solver_of_pulp_says_so() -> None:
    missing = (solvers.get(name) for name in solvers.names() if name.startswith("pulp:"))
    adapter = next(candidate for candidate in missing if not candidate.availability())
    assert adapter.availability() is Availability.NOT_FOUND
    with pytest.raises(SolverError, match="cannot be used: not found; PuLP finds it only with"):
        adapter.solve(birds.knapsack().model, SolverOptions())


@pytest.mark.parametrize(
    ("text", "low"),
    [
        ("9", 8.9995),
        ("30952.949", 30952.9485),
        ("30952.9", 30952.85),
        ("1.23457e+06", 1234565),
        ("0.000", -0.0005),
    ],
)
def test_printed_bounds_are_rounded_down(text: Any, low: Any) -> None:
    assert printed_range(text)[0] == pytest.approx(low, abs=1e-9)
    assert sum(printed_range(text)) / 2 == pytest.approx(float(text))


def test_log_of_both_generations_of_cbc_is_read() -> None:
    seen: list[Progress] = []
    recorder = Recorder(seen.append)
    log = LogReader(100.0, recorder.note, None)
    for line in (
        "Cbc0012I Integer solution of 36 found by a dive after 0 iterations and 0 nodes (0.02 seconds)",
        "Cbc0010I After 1000 nodes, 590 on tree, 27 best solution, best possible 4.25 (0.31 seconds)",
        "Cbc0010I After 0 nodes, 1 on tree, 1e+50 best solution, best possible 4.25 (0.31 seconds)",
        " ★    7471     1785     20              25 strong branching                5.5   78.00%     0.220",
        "     72144    11503     23              24                         5.5   76.0%     0.850",
        "Lower bound:                    7.125",
    ):
        log.feed(line.encode() + b"\r\n")
    log.close()
    recorder.report(now=True)
    assert seen[-1].incumbent == 124.0
    assert seen[-1].bound == pytest.approx(107.1245)
    assert log.final_range == pytest.approx((107.1245, 107.1255))


def test_a_solver_that_overruns_its_time_limit_is_stopped() -> None:
    watch = Watch(Recorder(None), None)
    began = time.perf_counter()
    assert not watch.wait(threading.Event(), 0.2, seconds=0.1)
    assert watch.late
    assert 0.4 <= time.perf_counter() - began < 5


@among("cbc of pulp", "cbc of cbcbox")
def test_seed_reaches_cbc_and_zero_is_a_seed(adapter: Any, tmp_path: Any) -> None:
    for seed in (0, 2**31 - 1):
        log = tmp_path / f"{seed}.log"
        adapter.solve(birds.knapsack().model, SolverOptions(seed=seed, log_file=log))
        # CBC draws a seed of its own when it is given 0
        assert "-randomCbcSeed 1 " in log.read_text(encoding="utf-8")


def test_no_executable_of_cbc_is_left_running_or_folder_left_behind(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    event = threading.Event()
    threading.Timer(0.5, event.set).start()
    solvers.get("cbc").solve(market_split(), SolverOptions(time_limit=30), interrupt=event)
    solvers.get("cbc").solve(birds.infeasible_integers().model, SolverOptions())
    assert list(tmp_path.iterdir()) == []


def test_cbc_that_does_not_react_is_killed_and_the_start_survives(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = tmp_path / "cbc"
    stubborn.write_text("#!/bin/sh\ntrap '' INT\necho 'Version: 9.9'\n[ $1 = -quit ] || exec sleep 60\n")
    stubborn.chmod(0o755)
    monkeypatch.setattr(cbc_module, "_PATIENCE", 0.5)
    monkeypatch.setattr(cbc_module, "_OVERTIME", 0.5)
    adapter = solvers.get("cbc", executable=stubborn)
    began = time.perf_counter()
    result = adapter.solve(market_split(), SolverOptions(time_limit=0.2), start=random_start())
    assert time.perf_counter() - began < 5
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.objective == pytest.approx(market_split().value(random_start()))
