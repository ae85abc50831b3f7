"""SCIP and CP-SAT: complete tables by brute force, models in integers, and what CP-SAT must refuse."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from command_line import python
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import ADAPTERS, INF, among, market_split, random_start

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.errors import InputError, SolverError
from kanon_milp.problem import distances
from kanon_milp.solvers import Availability, Capability, SolverOptions, StopReason
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers import cpsat as cpsat_module
from kanon_milp.solvers.canaries import small_model
from kanon_milp.solvers.cpsat import integer_model

new_adapters = among("scip", "cpsat")
with_cpsat = among("cpsat")


# --- whole tables ----------------------------------------------------------------------------------


def by_matrix() -> km.Problem:
    """A table under t-closeness by a matrix: its flows are shares of rows."""
    frame = pl.DataFrame({"q": list("aabbccdd"), "s": ["x", "y", "z", "x", "x", "z", "y", "y"]})
    table = km.Table.from_frame(frame, ["q"], sensitive=["s"])
    far = distances.MatrixDistance(["x", "y", "z"], [[0, 1, 1], [1, 0, "1/2"], [1, "1/2", 0]])
    return km.Problem(table, [km.TCloseness("1/4", far)])


@with_cpsat
def test_cpsat_refuses_what_is_not_integers(adapter: Any) -> None:
    with pytest.raises(SolverError, match="integer programs only"):
        km.solve(by_matrix(), adapter)
    problem = km.Problem(by_matrix().table, [km.KAnonymity(2)])
    model = km.build_model(problem)
    # a user's row may break the network: `assign` is integer then, and what the user adds is what it is
    model.extra = pyo.Var(bounds=(0, 1))
    model.row = pyo.Constraint(expr=model.extra <= sum(model.open.values()))
    with pytest.raises(SolverError, match="1 variable of this model may be fractional"):
        km.solve_model(problem, model, adapter)
    model.extra.domain = pyo.Integers
    assert km.solve_model(problem, model, adapter).is_optimal


@among("scip")
def test_scip_solves_what_is_not_integers(adapter: Any) -> None:
    ours, theirs = km.solve(by_matrix(), adapter), km.solve(by_matrix())
    assert ours.is_optimal
    assert theirs.is_optimal
    assert ours.exact_objective == theirs.exact_objective


# --- integers ---------------------------------------------------------------------------------------

COSTS = st.sampled_from([0.0, 1.0, -2.0, 0.1, 0.5, -0.3, 1 / 3, 2.75])
ENTRIES = st.sampled_from([0.0, 1.0, -1.0, 0.2, 0.25, 1 / 3, -1.5])


@st.composite
def fractional_programs(draw: st.DrawFn) -> Any:
    """Two or three variables within -2..2, one to three rows; numbers that are fractions, not all of them doubles."""
    columns, rows = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    written = []
    for _ in range(rows):
        row = tuple(draw(ENTRIES) for _ in range(columns))
        side = draw(st.sampled_from([-0.5, 0.1, 0.3, 0.0, 1.0, 2 / 3]))
        written.append(draw(st.sampled_from([(-INF, row, side), (side, row, INF), (side - 1, row, side)])))
    bounds = [draw(st.sampled_from([(-2, 2), (-1.5, 1), (0, 2)])) for _ in range(columns)]
    c = [draw(COSTS) for _ in range(columns)]
    return small_model("fractions", c, written, bounds, (True,) * columns, offset=draw(COSTS))


def exact(value: float) -> Fraction:
    return Fraction(value).limit_denominator(1000)


def exact_values(model: Any) -> list[Fraction]:
    """Objective values of all feasible points, in fractions."""
    c, rows = [exact(v) for v in model.c], [[exact(v) for v in row] for row in model.A.toarray()]
    sides = list(zip(model.constraint_lower, model.constraint_upper, strict=True))
    found = []
    for point in itertools.product(range(-2, 3), repeat=model.variables):
        if not all(low <= v <= high for v, low, high in zip(point, model.lower, model.upper, strict=True)):
            continue
        sums = [sum(a * v for a, v in zip(row, point, strict=True)) for row in rows]
        if all(
            (low == -INF or s >= exact(low)) and (high == INF or s <= exact(high))
            for s, (low, high) in zip(sums, sides, strict=True)
        ):
            found.append(exact(model.offset) + sum(a * v for a, v in zip(c, point, strict=True)))
    return found


@with_cpsat
@given(fractional_programs())
@settings(max_examples=examples(15, 3))
def test_fractions_are_taken_exactly(adapter: Any, model: Any) -> None:
    values = exact_values(model)
    result = adapter.solve(model, SolverOptions(time_limit=20))
    if not values:
        assert result.stop_reason is StopReason.INFEASIBLE
    else:
        assert result.stop_reason is StopReason.OPTIMAL
        assert result.objective == pytest.approx(float(min(values)))
        assert result.bound == pytest.approx(float(min(values)))


@given(st.integers(-(10**9), 10**9), st.integers(1, 1000), st.floats(-1e6, 1e6))
def test_a_bound_is_rounded_down_and_comes_back(number: Any, unit: Any, offset: Any) -> None:
    base = integer_model(birds.knapsack().model, "it")
    assert base is not None
    integers = dataclasses.replace(base, unit=unit, offset=Fraction(offset))
    value = integers.below(number)
    assert Fraction(value) <= integers.offset + Fraction(number, unit) < Fraction(math.nextafter(value, INF))
    assert integers.read_objective(value) == number
    # as a solver reports it, by way of doubles
    assert integers.read_objective((1 / unit) * (number + offset * unit)) == number


def test_rows_bound_what_is_unbounded() -> None:
    # -7 ≤ 2a - b ≤ 7, a + c = 3, b ≤ 4, a and c ≥ 0: 2a ≤ 7 + 4, c ≤ 3; once a is bounded, b ≥ 2·0 - 7
    rows = [(-7.0, (2.0, -1.0, 0.0), 7.0), (3.0, (1.0, 0.0, 1.0), 3.0)]
    model = small_model("rows", (1, 1, 1), rows, [(0, INF), (-INF, 4), (0, INF)], (True,) * 3)
    integers = integer_model(model, "it")
    assert integers is not None
    assert (integers.lower, integers.upper) == ([0, -7, 0], [5, 4, 3])
    assert integers.least == -7
    halves = small_model("halves", (0.5, 1 / 3), [(0.5, (1 / 3, 0.5), 1.5)], [(0, 3.5), (0.2, 3)], (True, True))
    integers = integer_model(halves, "it")
    assert integers is not None
    assert (integers.coefficients, integers.low, integers.high) == ([2, 3], [3], [9])
    assert (integers.c, integers.unit, integers.lower, integers.upper) == ([3, 2], 6, [0, 1], [3, 3])


def test_what_is_not_integral_is_refused() -> None:
    model = small_model("model", (1, 1), [(1.0, (1.0, 1.0), INF)], [(0, 9), (0, 9)], (True, True))
    with pytest.raises(SolverError, match="integer programs only, and 1 variable"):
        integer_model(dataclasses.replace(model, integer=np.array([True, False])), "it")
    with pytest.raises(SolverError, match="limit 1 of them"):
        integer_model(dataclasses.replace(model, upper=np.array([9.0, INF])), "it")
    with pytest.raises(SolverError, match="objective has coefficients that are not fractions"):
        integer_model(dataclasses.replace(model, c=np.array([1.0, math.pi])), "it")
    with pytest.raises(SolverError, match="constraint 0 has coefficients that are not fractions"):
        integer_model(dataclasses.replace(model, A=model.A * math.pi), "it")
    with pytest.raises(SolverError, match="too large"):
        integer_model(dataclasses.replace(model, c=np.array([1.0, 1e13])), "it")
    with pytest.raises(SolverError, match="too large"):
        integer_model(dataclasses.replace(model, A=model.A * 1e16), "it")
    assert integer_model(dataclasses.replace(model, upper=np.array([0.5, 0.5]), lower=np.full(2, 0.2)), "it") is None


# --- the adapters alone ----------------------------------------------------------------------------


@new_adapters
def test_values_that_an_option_does_not_take_are_refused(adapter: Any) -> None:
    name = {"scip": "limits/nodes", "cpsat": "num_workers"}[adapter.name]
    with pytest.raises(InputError, match=f"does not take the value 'many' for its option '{name}'"):
        adapter.solve(birds.knapsack().model, SolverOptions(extra={name: "many"}))


@new_adapters
def test_options_reach_the_solver(adapter: Any, tmp_path: Any) -> None:
    log = tmp_path / "log"
    options: dict[str, dict[str, object]] = {
        "scip": {"limits/bestsol": 1},
        "cpsat": {"stop_after_first_solution": True},
    }
    extra = options[adapter.name]
    result = adapter.solve(market_split(), SolverOptions(extra=extra, log_file=log, time_limit=30))
    assert result.stop_reason is StopReason.ERROR
    assert adapter.name == result.message.split(":")[0].replace("-", "").lower()
    assert result.x is not None
    assert result.bound <= 1000.01


@with_cpsat
def test_defaults_of_cpsat_give_way_to_options(adapter: Any, tmp_path: Any) -> None:
    log = tmp_path / "log"
    for extra, level in (({}, "2"), ({"linearization_level": 1}, "1")):
        adapter.solve(birds.knapsack().model, SolverOptions(extra=extra, log_file=log))
        assert f"linearization_level: {level}" in log.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="CP-SAT takes no node limit"):
        adapter.solve(birds.knapsack().model, SolverOptions(node_limit=5))


@with_cpsat
def test_several_threads_of_cpsat_give_the_same_answer(adapter: Any) -> None:
    model = market_split(rows=2, columns=24)
    first, second = (adapter.solve(model, SolverOptions(seed=3, threads=2, time_limit=20)) for _ in range(2))
    assert first.stop_reason is second.stop_reason is StopReason.OPTIMAL
    assert np.array_equal(first.x, second.x)


@with_cpsat
def test_a_process_that_fails_or_does_not_stop(adapter: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.py"
    python = tmp_path / "python"  # runs this script, whichever it is asked to run
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    script.write_text("raise ImportError('no ortools today')")
    with pytest.raises(SolverError, match="CP-SAT failed: ImportError: no ortools today"):
        adapter.solve(birds.knapsack().model, SolverOptions())
    monkeypatch.setattr(cpsat_module, "_PATIENCE", 0.3)
    script.write_text("import time; print('{\"bound\": 1000.5}', flush=True); time.sleep(60)")
    began = time.perf_counter()
    result = adapter.solve(market_split(), SolverOptions(time_limit=0.5), start=random_start())
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.objective == pytest.approx(market_split().value(random_start()))
    event = threading.Event()
    threading.Timer(0.3, event.set).start()
    result = adapter.solve(market_split(), SolverOptions(), interrupt=event)
    assert (result.stop_reason, result.x, result.bound) == (StopReason.INTERRUPTED, None, 1000.0)
    assert "did not stop at the interruption" in result.message
    assert time.perf_counter() - began < 8


def test_a_missing_cpsat_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    adapter = solvers.get("cpsat")
    assert adapter.availability() is Availability.NOT_FOUND
    assert (adapter.version(), adapter.location()) == ("", "")
    with pytest.raises(SolverError, match="not found; install ortools"):
        adapter.solve(birds.knapsack().model, SolverOptions())


OLD_SCIP = """
class Model:
    def getMajorVersion(self): return 9
    def getMinorVersion(self): return 2
    def getTechVersion(self): return 0
"""
ASK_SCIP = """
import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.solvers import canaries
adapter = solvers.get("scip")
print(adapter.availability().name, adapter.version() or "-")
try:
    adapter.solve(canaries.knapsack().model, solvers.SolverOptions())
except km.SolverError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "found", "said"),
    [
        ("raise ImportError", "NOT_FOUND -", "not found; install PySCIPOpt"),
        (OLD_SCIP, "TOO_OLD 9.2.0", "too old; install PySCIPOpt"),
    ],
    ids=["missing", "old"],
)
def test_a_missing_or_old_scip_says_so(tmp_path: Path, module: str, found: str, said: str) -> None:
    (tmp_path / "pyscipopt.py").write_text(module)
    first, second = python("-c", ASK_SCIP, folder=tmp_path).stdout.splitlines()
    assert first == found
    assert said in second


def test_what_the_adapters_declare() -> None:
    assert Capability.CONTINUOUS not in ADAPTERS["cpsat"].capabilities
    assert Capability.THREADS not in ADAPTERS["scip"].capabilities
    assert all(Capability.CONTINUOUS in a.capabilities for name, a in ADAPTERS.items() if name != "cpsat")
