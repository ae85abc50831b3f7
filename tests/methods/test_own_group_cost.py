"""A registered cost of whole groups of the user's making, against all partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from group_cases import least
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.problem.group_costs import GROUP_COSTS


@dataclass(frozen=True, eq=False)
class Ranges(km.GroupCost):
    """The sum of the ranges of groups; they are released as their smallest and largest values."""

    table: km.Table
    columns: tuple[str, ...]
    weights: Mapping[str, Fraction]

    name = "ranges"

    def exact(self, rows: Any) -> Fraction:
        found = Fraction(0)
        for name in self.columns:
            values = [int(self.table.keys[name][int(row)]) for row in rows]
            found += self.weights[name] * (max(values) - min(values))
        return found

    def lower_bound(self, rows: Any) -> Fraction:
        return self.exact(rows)

    def release(self, group: Any) -> dict[str, pl.Series]:
        frame = self.table.keys.select(pl.col(self.columns).cast(pl.Int64), g=pl.Series(group))
        return {
            name: frame.select(
                pl.format("{}..{}", pl.col(name).min().over("g"), pl.col(name).max().over("g"))
            ).to_series()
            for name in self.columns
        }


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    km.register_group_cost(Ranges)
    yield
    del GROUP_COSTS["ranges"]


def problem_of(cells: Sequence[Sequence[int]], k: int = 2) -> km.Problem:
    frame = pl.DataFrame({"a": [a for a, _ in cells], "b": [b for _, b in cells]})
    recoding = km.Microaggregation(cost="ranges", weights={"b": "1/3"})
    return km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(k), recoding)


@given(st.lists(st.tuples(st.integers(-3, 9), st.integers(0, 4)), min_size=2, max_size=6), st.integers(2, 3))
@settings(max_examples=examples(200, 3))
def test_methods_agree_with_all_partitions(cells: list[tuple[int, int]], k: int) -> None:
    def cost(rows: Sequence[int]) -> Fraction:
        a, b = ([cells[i][j] for i in rows] for j in (0, 1))
        return max(a) - min(a) + Fraction(max(b) - min(b), 3)

    best, problem = least(len(cells), cost, lambda rows: len(rows) >= k), problem_of(cells, k)
    for method in ("milp", "k_member", "auto"):
        result = km.solve(problem, method=method)
        if best is None:
            assert result.proof == "infeasible"
            continue
        assert result.verified, (result.message, result.report)
        assert result.exact_objective is not None
        assert result.exact_objective >= best
        assert result.exact_bound is None or result.exact_bound <= best
        if method == "milp":
            assert result.require_optimal().exact_objective == best
            assert "group cost ranges" in result.backed_by
        assert km.verify(problem, result.table).cost == result.exact_objective
        assert result.as_dict()["judged_by_their_own_code"] == ['group cost "ranges"']


def test_many_rows_have_a_table_and_a_bound_in_time() -> None:
    rng = np.random.default_rng(5)
    result = km.solve(problem_of(rng.integers(0, 50, (60, 2)).tolist(), 3), time_limit=1)
    assert (result.solver.method, result.verified) == ("k_member", True)
    assert result.exact_bound is None or 0 < result.exact_bound < result.exact_objective  # type: ignore[operator]


def test_verifier_refuses_other_cells() -> None:
    problem = problem_of([(1, 1), (2, 1), (7, 3), (9, 3)])
    right = pl.DataFrame({"a": ["1..2", "1..2", "7..9", "7..9"], "b": ["1..1", "1..1", "3..3", "3..3"]})
    assert km.verify(problem, right).cost == 3
    wrong = right.with_columns(a=pl.Series(["1..2", "1..2", "7..8", "7..8"]))
    assert "rows 3, 4" in km.verify(problem, wrong).violations[0]


def test_what_is_no_cost_is_refused_by_name() -> None:
    class Half(Ranges):
        name = "half"

        def exact(self, rows: Any) -> Any:
            return 0.5

    with pytest.raises(km.InputError, match="is built in"):
        km.register_group_cost(type("Sse", (Ranges,), {"name": "sse"}))
    with pytest.raises(km.InputError, match="does not say exact, release"):
        km.register_group_cost(type("No", (km.GroupCost,), {"name": "no"}))
    km.register_group_cost(Half)
    table = problem_of([(1, 1), (2, 1)]).table
    half = km.Problem(table, km.KAnonymity(2), km.Microaggregation(cost="half"))
    with pytest.raises(km.InputError, match='group cost "half": exact must return an int or a Fraction'):
        km.solve(half)
    del GROUP_COSTS["half"]
    with pytest.raises(km.InputError, match="standardize and center are not for the group cost ranges"):
        km.Problem(table, km.KAnonymity(2), km.Microaggregation(cost="ranges", standardize=True))
    with pytest.raises(km.InputError, match="the group cost ranges nothing is known"):
        km.solve(problem_of([(1, 1), (2, 1)]), method="mdav")
