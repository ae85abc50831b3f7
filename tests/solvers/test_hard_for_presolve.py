"""Small tables for which presolve of HiGHS 1.15.1 made a dear point look optimal, found by random tests."""

from __future__ import annotations

import polars as pl
import pytest

import kanon_milp as km


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
