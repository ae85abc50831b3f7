"""The conformance suite: what every solver adapter has to do, tested by what it declares to be able to do."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kanon_milp import solvers
from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers import Availability, Capability, LinearModel, SolverAdapter, SolverOptions, StopReason
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers import cbc as cbc_module
from kanon_milp.solvers import highs as highs_module
from kanon_milp.solvers.canaries import small_model
from kanon_milp.solvers.cbc_log import LogReader, printed_range
from kanon_milp.solvers.common import Recorder, Watch, judge

INF = float("inf")


def found_adapters() -> dict[str, SolverAdapter]:
    """Everything in the registry that is available here, and both executables of CBC."""
    found = {name: solvers.get(name) for name in solvers.names()}
    for label, path in (("pulp", cbc_module._in_pulp()), ("cbcbox", cbc_module._in_cbcbox())):
        found[f"cbc of {label}"] = solvers.get("cbc", executable=path or "no such executable")
    # the one that is found without a path is one of these, as a rule
    if found["cbc"].location() in (found["cbc of pulp"].location(), found["cbc of cbcbox"].location()):
        del found["cbc"]
    return {name: adapter for name, adapter in found.items() if adapter.availability()}


ADAPTERS = found_adapters()


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> SolverAdapter:
    return ADAPTERS[request.param]


def needs(adapter: SolverAdapter, capability: Capability) -> None:
    if capability not in adapter.capabilities:
        pytest.skip(f"{adapter.name} does not declare: {capability.value}")


@functools.cache
def market_split(rows: int = 6, columns: int = 50, slack: bool = True) -> LinearModel:
    """Cornuéjols-Dawande market split, hopeless for branch and bound; with slack, points abound."""
    random = np.random.default_rng(0)
    weights = random.integers(0, 100, (rows, columns)).astype(float)
    half = np.floor(weights.sum(axis=1) / 2)
    parts = [weights, np.eye(rows), -np.eye(rows)] if slack else [weights]
    A = sp.csr_array(np.hstack(parts))
    extra = A.shape[1] - columns
    return LinearModel(
        name="market split",
        c=np.r_[np.zeros(columns) if slack else np.ones(columns), np.ones(extra)],
        offset=1000.0,
        A=A,
        row_lower=half,
        row_upper=half,
        lower=np.zeros(A.shape[1]),
        upper=np.r_[np.ones(columns), np.full(extra, INF)],
        integer=np.r_[np.ones(columns, dtype=bool), np.zeros(extra, dtype=bool)],
        variable_names=tuple(f"x{j}" for j in range(A.shape[1])),
        constraint_names=tuple(f"r{i}" for i in range(rows)),
    )


def random_start() -> np.ndarray:
    """A feasible point of the market split: any choice, and the slack that it needs."""
    model = market_split()
    chosen = np.random.default_rng(5).integers(0, 2, 50).astype(float)
    short = model.row_lower - model.A[:, :50] @ chosen
    return np.r_[chosen, np.maximum(short, 0), np.maximum(-short, 0)]


@functools.cache
def good_start() -> np.ndarray:
    """A point that solvers do not find in half a second."""
    return ADAPTERS["highs"].solve(market_split(), SolverOptions(time_limit=3, seed=1)).x


# --- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", birds.CANARIES, ids=lambda make: make.__name__)
def test_canaries_get_their_known_answers(adapter, make):
    canary = make()
    result = adapter.solve(canary.model, SolverOptions(time_limit=20))
    assert result.stop_reason is canary.stop_reason
    if canary.optimum is None:
        assert result.x is None
        assert result.objective is None
    else:
        assert result.objective == pytest.approx(canary.optimum)
        assert result.bound == pytest.approx(canary.optimum, abs=1e-4)
        assert canary.model.violation(result.x) < 1e-6
    assert result.solver == adapter.name
    assert result.version == adapter.version() != ""


def test_doctor_finds_nothing_wrong_here_and_something_with_a_liar():
    diagnoses = {d.name: d for d in birds.diagnose()}
    assert {"highs", "cbc", "pulp:PULP_CBC_CMD"} <= diagnoses.keys()
    assert {d.name: d.problems for d in diagnoses.values() if d.problems} == {}
    assert diagnoses["highs"].location

    class Liar(highs_module.HighsAdapter):
        def solve(self, model, options, start=None, on_progress=None, interrupt=None):
            result = super().solve(model, options)
            return dataclasses.replace(result, objective=15.0)

    assert any("mixed rounding" in problem for problem in birds.check(Liar()))


def test_linear_programs_have_their_objective_as_bound(adapter):
    # min x - 2y + 10 with x + y ≤ 4, x - y ≥ -2, free x: (1, 3)
    rows = [(-INF, (1.0, 1.0), 4.0), (-2.0, (1.0, -1.0), INF)]
    model = small_model("lp", (1, -2), rows, [(-INF, INF), (0, INF)], (False, False), offset=10.0)
    result = adapter.solve(model, SolverOptions())
    assert result.stop_reason is StopReason.OPTIMAL
    assert result.x == pytest.approx([1, 3])
    assert result.objective == result.bound == pytest.approx(5)
    infeasible = dataclasses.replace(model, upper=np.array([-5.0, 1.0]), row_lower=np.array([-INF, 0.0]))
    assert adapter.solve(infeasible, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    endless = dataclasses.replace(model, c=np.array([1.0, 2.0]))
    assert adapter.solve(endless, SolverOptions()).objective is not None
    endless = dataclasses.replace(model, c=np.array([1.0, 0.0]), row_lower=np.array([-INF, -INF]))
    assert adapter.solve(endless, SolverOptions()).stop_reason is StopReason.UNBOUNDED


@pytest.mark.parametrize("integer", [True, False])
def test_negative_free_fixed_equality_range_and_empty_rows(adapter, integer):
    rows = [
        (1.0, (1, 1, 0, 0, 0, 0), INF),
        (-3.5, (0, 1, 1, 0, 1, 0), 4.0),  # a range
        (-INF, (0, 0, 0, 0, 0, 0), 5.0),  # empty
        (-INF, (1, 0, -1, 0, 0, 0), INF),  # says nothing
        (-2.0, (1, 1, 1, 0, 1, 1), 8.0),
        (-8.5, (0, 0, 1, 0, 0, 2), -8.5),
    ]
    bounds = [(-7, INF), (-3, 2.5), (-INF, INF), (0, INF), (-INF, 6), (-5, -1)]
    kinds = (False, False, False, True, True, True) if integer else (False,) * 6
    model = small_model("sides", (1, -2, 3, 0, 0.5, -1), rows, bounds, kinds, offset=7.25)
    result = adapter.solve(model, SolverOptions())
    assert result.stop_reason is StopReason.OPTIMAL
    assert model.violation(result.x) < 1e-6
    # by hand from the reference below: enumerate the integers, solve the rest with scipy
    assert result.objective == pytest.approx(reference(model))


def reference(model: LinearModel) -> float | None:
    """Independent judge: scipy's LP on every assignment of the integer columns within -8..8."""
    from scipy.optimize import linprog

    best = None
    where = np.flatnonzero(model.integer)
    ranges = [range(int(max(-8, model.lower[j])), int(min(8, model.upper[j])) + 1) for j in where]
    dense = model.A.toarray()
    upper, lower = np.isfinite(model.row_upper), np.isfinite(model.row_lower)
    A, b = np.vstack([dense[upper], -dense[lower]]), np.r_[model.row_upper[upper], -model.row_lower[lower]]
    for values in itertools.product(*ranges):
        low, high = model.lower.copy(), model.upper.copy()
        low[where] = high[where] = values
        done = linprog(model.c, A_ub=A if len(b) else None, b_ub=b if len(b) else None, bounds=np.c_[low, high])
        if done.status == 0 and (best is None or done.fun < best):
            best = done.fun
    return None if best is None else best + model.offset


def test_obvious_models_need_no_solver(adapter):
    box = small_model("box", (1, 1), [(0, (1, 1), INF)], [(0, 1), (0, 1)], (True, False))
    crossed = dataclasses.replace(box, lower=np.array([2.0, 0.0]))
    assert adapter.solve(crossed, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    crossed = dataclasses.replace(box, row_lower=np.array([3.0]), row_upper=np.array([1.0]))
    assert adapter.solve(crossed, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    empty_row = small_model("empty row", (1,), [(1, (0,), INF)], [(0, 1)], (True,))
    assert adapter.solve(empty_row, SolverOptions()).stop_reason is StopReason.INFEASIBLE
    nothing = small_model("nothing", (), [(-1, (), INF)], [], (), offset=3.0)
    result = adapter.solve(nothing, SolverOptions())
    assert (result.stop_reason, result.objective, result.bound) == (StopReason.OPTIMAL, 3.0, 3.0)
    no_rows = small_model("no rows", (1, -1), [], [(0, 1), (0, 1)], (True, False))
    assert adapter.solve(no_rows, SolverOptions()).x == pytest.approx([0, 1])


@st.composite
def small_programs(draw: st.DrawFn) -> LinearModel:
    """Two to four integer columns within -3..3 and one to four rows of any kind, sometimes infeasible."""
    columns, rows = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    number = st.integers(-4, 4).map(float)
    bounds = [tuple(sorted(draw(st.tuples(*[st.integers(-3, 3)] * 2)))) for _ in range(columns)]
    written = []
    for _ in range(rows):
        low, high = sorted(draw(st.tuples(*[st.integers(-6, 6)] * 2)))
        low, high = draw(st.sampled_from([(low, high), (low, INF), (-INF, high), (low, low)]))
        written.append((low, tuple(draw(number) for _ in range(columns)), high))
    c = [draw(number) for _ in range(columns)]
    return small_model("random", c, written, bounds, (True,) * columns, offset=draw(number))


@pytest.mark.parametrize("name", ADAPTERS)
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(model=small_programs())
def test_random_integer_programs_agree_with_enumeration(name, model):
    points = itertools.product(
        *(range(int(low), int(high) + 1) for low, high in zip(model.lower, model.upper, strict=True))
    )
    feasible = [model.value(np.array(p, float)) for p in points if model.violation(np.array(p, float)) <= 0]
    result = ADAPTERS[name].solve(model, SolverOptions(time_limit=20))
    if feasible:
        assert result.stop_reason is StopReason.OPTIMAL
        assert result.objective == pytest.approx(min(feasible))
        assert result.bound == pytest.approx(min(feasible), abs=1e-4)
    else:
        assert result.stop_reason is StopReason.INFEASIBLE


def test_values_go_to_the_columns_they_belong_to_whatever_the_names(adapter):
    names = ("e12", "x 1", "Σ[1,2]", "free", "x0")
    c = (1, 2, 3, 4, 5)
    rows = [(float(j + 1), tuple(float(i == j) for i in range(5)), INF) for j in range(5)]
    model = small_model("names", c, rows, [(0, 9)] * 5, (True, False, True, False, True))
    order = np.array([3, 0, 4, 1, 2])
    permuted = dataclasses.replace(
        model,
        c=model.c[order],
        A=sp.csr_array(model.A[:, order]),
        integer=model.integer[order],
        variable_names=tuple(names[j] for j in order),
    )
    x = adapter.solve(permuted, SolverOptions()).x
    assert dict(zip(permuted.variable_names, x, strict=True)) == pytest.approx(
        dict(zip(names, range(1, 6), strict=True))
    )


def test_large_values_keep_all_their_digits(adapter):
    if adapter.name.startswith("pulp:PULP_CBC"):
        pytest.skip("PuLP reads a text file with eight digits")
    rows = [(123456789.0, (1.0, 1.0), INF)]
    model = small_model("digits", (1, 1.5), rows, [(0, 123456000), (0, INF)], (True, True))
    result = adapter.solve(model, SolverOptions())
    assert result.x == pytest.approx([123456000, 789], abs=1e-3)
    assert result.stop_reason is StopReason.OPTIMAL


# --- limits, gaps and proofs -----------------------------------------------------------------------


def test_time_limit_with_incumbent_is_no_proof(adapter):
    began = time.perf_counter()
    result = adapter.solve(market_split(), SolverOptions(time_limit=1))
    assert time.perf_counter() - began < 4
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert market_split().violation(result.x) < 1e-4
    assert result.objective == pytest.approx(market_split().value(result.x))
    if Capability.BOUND in adapter.capabilities:
        assert 999 < result.bound <= 1000.001
    else:
        assert result.bound is None
    if Capability.TRAJECTORY in adapter.capabilities:
        incumbents = [p.incumbent for p in result.trajectory if p.incumbent is not None]
        bounds = [p.bound for p in result.trajectory if p.bound is not None]
        assert incumbents == sorted(incumbents, reverse=True)
        assert bounds == sorted(bounds)
        assert (incumbents[-1], bounds[-1]) == pytest.approx((result.objective, result.bound), abs=1e-3)
        assert [p.seconds for p in result.trajectory] == sorted(p.seconds for p in result.trajectory)


def test_time_limit_without_incumbent_has_no_point(adapter):
    result = adapter.solve(market_split(slack=False), SolverOptions(time_limit=1))
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.x is None
    assert result.objective is None


def test_a_gap_that_was_asked_for_is_not_called_optimal(adapter):
    random = np.random.default_rng(1)
    # maximize over a strong correlation of weight and value: good points at once, proofs late
    weights = random.integers(100, 1000, (3, 60)).astype(float)
    rows = [(-INF, tuple(row), row.sum() / 2) for row in weights]
    model = small_model("gap", tuple(-weights.sum(axis=0)), rows, [(0, 1)] * 60, (True,) * 60)
    result = adapter.solve(model, SolverOptions(time_limit=10, gap=0.2))
    assert result.stop_reason is StopReason.GAP_LIMIT
    assert result.objective * 1.2 - 1 <= result.bound <= result.objective


def test_absolute_gap_below_one_proves_integral_objectives(adapter):
    canary = birds.knapsack()
    result = adapter.solve(canary.model, SolverOptions(absolute_gap=0.999))
    assert result.stop_reason is StopReason.OPTIMAL
    assert result.objective == pytest.approx(canary.optimum)
    assert result.objective - result.bound <= 0.999 + 1e-3


def test_judge_wants_incumbent_and_bound_to_meet():
    exact, integral = SolverOptions(), SolverOptions(absolute_gap=0.999)
    assert judge(100.0, 100.0, exact) == (StopReason.OPTIMAL, 100.0)
    assert judge(100.0, 99.99, exact) == (StopReason.GAP_LIMIT, 99.99)
    assert judge(100.0, 99.01, integral)[0] is StopReason.OPTIMAL
    assert judge(100.0, 98.9, integral)[0] is StopReason.GAP_LIMIT
    assert judge(100.0, None, exact) == (StopReason.GAP_LIMIT, None)
    assert judge(100.0, -INF, exact) == (StopReason.GAP_LIMIT, None)


def test_numbers_that_are_none_are_refused(adapter):
    model = birds.knapsack().model
    broken = dataclasses.replace(model, c=np.array([1.0, np.nan, 1.0]))
    with pytest.raises(InputError, match="NaN"):
        adapter.solve(broken, SolverOptions())
    for options in (
        SolverOptions(threads=0),
        SolverOptions(time_limit=-1.0),
        SolverOptions(gap=-0.1),
        SolverOptions(seed=-1),
    ):
        with pytest.raises(InputError):
            adapter.solve(model, options)


def test_unknown_option_is_named(adapter):
    with pytest.raises(InputError, match="nosuchoption"):
        adapter.solve(birds.knapsack().model, SolverOptions(extra={"nosuchoption": 3}))


def test_neither_model_nor_options_nor_start_are_changed(adapter):
    model = market_split()
    arrays = (model.c, model.row_lower, model.row_upper, model.lower, model.upper, model.integer)
    before = [array.copy() for array in (*arrays, model.A.data, model.A.indices, model.A.indptr)]
    start, extra = {0: 1.0, 1: 0.0}, {}
    options = SolverOptions(time_limit=0.5, extra=extra)
    result = adapter.solve(model, options, start=start)
    after = (*arrays, model.A.data, model.A.indices, model.A.indptr)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert (start, extra) == ({0: 1.0, 1: 0.0}, {})
    assert result.options is options


# --- starts ----------------------------------------------------------------------------------------


def test_good_start_is_never_lost(adapter):
    needs(adapter, Capability.START)
    start, model = random_start(), market_split()
    first = adapter.solve(model, SolverOptions(time_limit=0), start=start)
    assert first.stop_reason is StopReason.TIME_LIMIT
    assert first.objective <= model.value(start) + 1e-6
    # a start that is better than what the solver finds in that time shows that it is really used
    good = good_start()
    again = adapter.solve(model, SolverOptions(time_limit=0.5), start=good)
    assert again.objective <= model.value(good) + 1e-4


def test_start_is_the_first_incumbent(adapter):
    needs(adapter, Capability.START)
    needs(adapter, Capability.TRAJECTORY)
    model = market_split()
    good = good_start()
    result = adapter.solve(model, SolverOptions(time_limit=0.5), start=dict(enumerate(good.tolist())))
    incumbents = [p.incumbent for p in result.trajectory if p.incumbent is not None]
    assert incumbents[0] == pytest.approx(model.value(good), abs=1e-3)


@pytest.mark.parametrize(
    "bad",
    [
        np.ones(3),
        np.full(62, 0.5),
        np.full(62, np.nan),
        {999: 1.0},
        {0: float("inf")},
        {0: 0.5},
        {0: 17.0},
        {-1: 1.0},
        {},
    ],
    ids=["length", "infeasible", "nan", "column", "infinite", "fractional", "outside", "negative", "empty"],
)
def test_bad_start_is_ignored(adapter, bad):
    result = adapter.solve(market_split(), SolverOptions(time_limit=0.3), start=bad)
    assert result.stop_reason is StopReason.TIME_LIMIT
    small = birds.knapsack()
    size = {np.ndarray: lambda b: b[:3], dict: dict}[type(bad)](bad)
    assert adapter.solve(small.model, SolverOptions(), start=size).objective == pytest.approx(small.optimum)


def test_partial_start_is_completed_within_the_limit(adapter):
    needs(adapter, Capability.PARTIAL_START)
    model = market_split()
    good = good_start()
    began = time.perf_counter()
    # the slacks follow from the choices
    result = adapter.solve(model, SolverOptions(time_limit=1), start={j: good[j] for j in range(50)})
    assert time.perf_counter() - began < 3
    assert result.objective <= model.value(good) + 1e-4


# --- threads, seeds, logs, progress ----------------------------------------------------------------


def test_threads_may_change_between_solves(adapter):
    needs(adapter, Capability.THREADS)
    canary = birds.knapsack()
    for threads in (1, 2, 1):
        result = adapter.solve(canary.model, SolverOptions(threads=threads, time_limit=20))
        assert result.objective == pytest.approx(canary.optimum)


def test_two_solves_at_once_with_different_threads(adapter):
    needs(adapter, Capability.THREADS)
    answers = []

    def work(threads: int) -> None:
        answers.append(adapter.solve(birds.knapsack().model, SolverOptions(threads=threads)).objective)

    workers = [threading.Thread(target=work, args=(threads,)) for threads in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert answers == pytest.approx([89.0, 89.0])


def test_same_seed_same_answer(adapter):
    needs(adapter, Capability.SEED)
    # many optimal points: which of them comes out is up to the seed
    model = market_split(rows=2, columns=24)
    first, second = (adapter.solve(model, SolverOptions(seed=7, time_limit=20)) for _ in range(2))
    assert first.stop_reason is second.stop_reason is StopReason.OPTIMAL
    assert np.array_equal(first.x, second.x)


@pytest.mark.parametrize("label", ["cbc of pulp", "cbc of cbcbox"])
def test_seed_reaches_cbc_and_zero_is_a_seed(label, tmp_path):
    if label not in ADAPTERS:
        pytest.skip("not installed")
    for seed in (0, 2**31 - 1):
        log = tmp_path / f"{seed}.log"
        ADAPTERS[label].solve(birds.knapsack().model, SolverOptions(seed=seed, log_file=log))
        # CBC draws a seed of its own when it is given 0
        assert "-randomCbcSeed 1 " in log.read_text(encoding="utf-8")


def test_log_goes_to_the_file_and_not_to_the_terminal(adapter, tmp_path, capfd):
    needs(adapter, Capability.LOG_FILE)
    log = tmp_path / "solver.log"
    log.write_text("of an earlier solve\n")
    adapter.solve(market_split(), SolverOptions(time_limit=0.5, log_file=log))
    text = log.read_text(encoding="utf-8")
    assert len(text.splitlines()) > 10
    assert "earlier" not in text
    assert capfd.readouterr() == ("", "")
    with pytest.raises(InputError, match="log file"):
        adapter.solve(birds.knapsack().model, SolverOptions(log_file=tmp_path / "none" / "solver.log"))


def test_progress_comes_regularly_and_its_errors_are_raised(adapter):
    seen = []
    adapter.solve(market_split(), SolverOptions(time_limit=1.2), on_progress=seen.append)
    assert 3 <= len(seen) <= 12
    assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)
    if Capability.TRAJECTORY in adapter.capabilities:
        assert seen[-1].incumbent is not None
        assert seen[-1].bound is not None

    def fail(_progress) -> None:
        raise RuntimeError("mine")

    began = time.perf_counter()
    with pytest.raises(RuntimeError, match="mine"):
        adapter.solve(market_split(), SolverOptions(time_limit=5), on_progress=fail)
    assert time.perf_counter() - began < 3


# --- interruption ----------------------------------------------------------------------------------


def test_event_stops_the_solver_and_keeps_the_incumbent(adapter):
    needs(adapter, Capability.INTERRUPT)
    event = threading.Event()
    timer = threading.Timer(1, event.set)
    timer.start()
    result = adapter.solve(market_split(), SolverOptions(time_limit=30), interrupt=event)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.seconds < 4
    assert market_split().violation(result.x) < 1e-4
    assert result.bound == pytest.approx(1000, abs=1e-2)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("whole_group", [True, False])
def test_ctrl_c_stops_the_solver_and_keeps_the_incumbent(adapter, whole_group):
    needs(adapter, Capability.INTERRUPT)
    code = f"""
        import sys
        sys.path[:0] = {[os.path.dirname(__file__)]!r}
        from test_solvers import SolverOptions, market_split, solvers
        adapter = solvers.get({adapter.name!r}, {getattr(adapter, "_given", None)!r})
        print("ready", flush=True)
        result = adapter.solve(market_split(), SolverOptions(time_limit=30))
        print(result.stop_reason.value, result.objective)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(1)
    began = time.perf_counter()
    if whole_group:
        os.killpg(child.pid, signal.SIGINT)
    else:
        child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    assert time.perf_counter() - began < 5
    reason, objective = out.split()
    assert reason == "interrupted"
    assert 1000 <= float(objective) < 2000


def test_no_executable_of_cbc_is_left_running_or_folder_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    event = threading.Event()
    threading.Timer(0.5, event.set).start()
    solvers.get("cbc").solve(market_split(), SolverOptions(time_limit=30), interrupt=event)
    solvers.get("cbc").solve(birds.infeasible_integers().model, SolverOptions())
    assert list(tmp_path.iterdir()) == []


def test_cbc_that_does_not_react_is_killed_and_the_start_survives(tmp_path, monkeypatch):
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


# --- finding solvers -------------------------------------------------------------------------------


def test_registry_knows_its_names_and_suggests_the_nearest():
    assert solvers.names()[:2] == ["highs", "cbc"]
    assert "pulp:PULP_CBC_CMD" in solvers.names()
    with pytest.raises(InputError, match=r'did you mean "highs"\?.*cbc'):
        solvers.get("higs")
    with pytest.raises(InputError, match="pulp:GLPK_CMD"):
        solvers.get("pulp:GLPK")
    with pytest.raises(InputError, match="executable"):
        solvers.get("highs", executable="/bin/true")


def test_cbc_is_found_by_path_then_cbcbox_then_pulp(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    elsewhere = solvers.get("cbc").location()
    assert elsewhere in (cbc_module._in_cbcbox(), cbc_module._in_pulp())
    monkeypatch.setattr(cbc_module, "_in_cbcbox", lambda: "")
    assert solvers.get("cbc").location() == cbc_module._in_pulp() != ""
    own = tmp_path / "cbc"
    own.write_text("#!/bin/sh\necho nothing\n")
    own.chmod(0o755)
    assert solvers.get("cbc").location() == str(own)
    assert solvers.get("cbc").availability() is Availability.BROKEN
    assert solvers.get("cbc", executable=tmp_path / "none").availability() is Availability.NOT_FOUND
    with pytest.raises(SolverError, match="does not run"):
        solvers.get("cbc").solve(birds.knapsack().model, SolverOptions())


def test_old_or_missing_highs_is_refused(monkeypatch):
    monkeypatch.setattr(highs_module, "_OLDEST", (99, 0, 0))
    adapter = solvers.get("highs")
    assert adapter.availability() is Availability.TOO_OLD
    with pytest.raises(SolverError, match="too old"):
        adapter.solve(birds.knapsack().model, SolverOptions())
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert adapter.availability() is Availability.NOT_FOUND
    assert (adapter.version(), adapter.location()) == ("", "")


def test_unavailable_solver_of_pulp_says_so():
    missing = (solvers.get(name) for name in solvers.names() if name.startswith("pulp:"))
    adapter = next(candidate for candidate in missing if not candidate.availability())
    assert adapter.availability() is Availability.NOT_FOUND
    with pytest.raises(SolverError, match="does not find"):
        adapter.solve(birds.knapsack().model, SolverOptions())


# --- CBC's log -------------------------------------------------------------------------------------


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
def test_printed_bounds_are_rounded_down(text, low):
    assert printed_range(text)[0] == pytest.approx(low, abs=1e-9)
    assert sum(printed_range(text)) / 2 == pytest.approx(float(text))


def test_log_of_both_generations_of_cbc_is_read():
    seen = []
    recorder = Recorder(seen.append)
    log = LogReader(100.0, recorder, None)
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
