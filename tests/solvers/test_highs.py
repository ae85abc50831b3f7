"""What HiGHS gets wrong, and what is done about it: presolve that drops what matters, and starts that mislead."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.solvers import SolverOptions, StopReason, highs
from kanon_milp.solvers.adapter import Capability
from kanon_milp.solvers.call import RawResult, SolverCall
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.pulp_any import PulpAdapter
from kanon_milp.system.arrays import Floats

# groups of a set-partitioning problem: cost, and rows of each type
GROUPS = [
    (11, {}), (5, {2: 2}), (6, {}), (7, {0: 2}), (10, {2: 1, 5: 1}), (8, {0: 2, 3: 1}), (9, {}), (5, {1: 1, 4: 1}),
    (6, {2: 2, 3: 1}), (10, {5: 1}), (6, {2: 3, 3: 1}),
    # the start
    (11, {}), (6, {0: 1, 1: 1}), (6, {0: 1}), (5, {2: 3, 3: 1}), (10, {4: 1, 5: 1}), (5, {}),
]  # fmt: skip
ROWS = [2, 1, 3, 1, 1, 1]


def partition() -> tuple[LinearModel, Floats]:
    """The problem, and its start."""
    columns = [np.array([rows.get(i, 0) for i in range(len(ROWS))], dtype=float) for _, rows in GROUPS]
    count, rows = len(GROUPS), np.array(ROWS, dtype=float)
    model = LinearModel(
        name="partition",
        c=np.array([cost for cost, _ in GROUPS], dtype=float),
        offset=0.0,
        A=sp.csr_array(np.column_stack(columns)),
        constraint_lower=rows,
        constraint_upper=rows,
        lower=np.zeros(count),
        upper=np.ones(count),
        integer=np.ones(count, dtype=bool),
        variable_names=tuple(f"z{c}" for c in range(count)),
        constraint_names=tuple(f"rows{i}" for i in range(len(ROWS))),
    )
    return model, np.concatenate([np.zeros(11), np.ones(6)])


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_the_point_is_as_good_as_its_value(solver: str) -> None:
    model, start = partition()
    assert model.violation(start) == 0
    result = solvers.get(solver).solve(model, SolverOptions(), start=start)
    assert (result.stop_reason, result.objective, result.bound) == (StopReason.OPTIMAL, 27, 27)
    assert result.x is not None
    assert model.value(result.x) == 27
    incumbents = [point.incumbent for point in result.trajectory if point.incumbent is not None]
    assert incumbents[-1] == min(incumbents) == 27


def test_no_time_is_left_without_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Point and bound of the first answer stay."""
    monkeypatch.setattr(SolverCall, "seconds_left", property(lambda call: None if call.point is not None else 0.0))
    model, start = partition()
    result = solvers.get("highs").solve(model, SolverOptions(time_limit=60), start=start)
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert (result.objective, result.bound) == (43, 27)


def test_infeasible_without_the_start_is_refuted_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = highs._run

    def infeasible(model: LinearModel, call: SolverCall) -> tuple[RawResult, float | None]:
        return run(model, call) if call.point is not None else (RawResult(StopReason.INFEASIBLE, None, None), None)

    monkeypatch.setattr(highs, "_run", infeasible)
    model, start = partition()
    result = solvers.get("highs").solve(model, SolverOptions(), start=start)
    assert (result.stop_reason, result.objective, result.bound) == (StopReason.ERROR, 43, None)
    assert "its claim is discarded" in result.message


def test_the_command_line_of_highs_gets_no_start() -> None:
    """PuLP reports no bound: nothing would tell that its point is not optimal."""
    assert Capability.START not in PulpAdapter("HiGHS_CMD").capabilities
    assert Capability.START in PulpAdapter("PULP_CBC_CMD").capabilities


@pytest.mark.parametrize(
    ("columns", "secret", "privacy", "optimum"),
    [
        (["accccc", "bacbab"], "114224", [km.TCloseness("1/2")], 4),
        (["abbbbaab"], "33333000", [km.PSensitivity(2), km.BetaLikeness("3/5")], 2),
    ],
)
@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_the_optimum_is_found(
    columns: list[str], secret: str, privacy: list[km.Requirement], optimum: int, solver: str
) -> None:
    frame = pl.DataFrame({f"q{j}": list(values) for j, values in enumerate(columns)} | {"s": list(secret)})
    problem = km.Problem(km.Table.from_frame(frame, [f"q{j}" for j in range(len(columns))], "s"), privacy)
    result = km.solve(problem, solver).require_optimal()
    assert result.objective == optimum
