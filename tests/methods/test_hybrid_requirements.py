"""The hybrid method under every requirement: it agrees with brute force, stops when told, and always has a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from census import census
from own_requirement import AtMost, NoMoreThanHalf, Own

import kanon_milp as km
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.valued_neighbourhoods import Landscape
from kanon_milp.methods import required_search
from kanon_milp.methods.required_cuts import RequiredCuts
from kanon_milp.presolve.assignment import Assignment

Q4 = ["age", "education", "marital-status", "race"]


WITHOUT_MODEL = {"restricted_model.pairs": 0}


def census_with(rows: int, *requirements: km.Requirement, sensitive: str = "occupation") -> km.Problem:
    other = "workclass" if sensitive == "sex" else "sex"
    return km.Problem(km.Table.from_frame(census(rows), [*Q4, other], sensitive), requirements)


def test_the_search_is_better_than_where_it_begins_and_agrees_with_one_model() -> None:
    problem = census_with(100, km.KAnonymity(2), km.LDiversity("3/2"), sensitive="sex")
    one, other = km.solve(problem, method="milp"), km.solve(problem, method="search", time_limit=120)
    assert one.require_optimal().objective == other.require_optimal().objective
    assert other.solver.method == "search"
    assert km.solve(problem, method="greedy").objective > other.objective  # type: ignore[operator]


def test_large_tables_under_requirements_are_searched_and_small_ones_are_not() -> None:
    assert km.solve(census_with(60, km.LDiversity(2))).solver.method == "milp"
    large = km.solve(census_with(1_500, km.KAnonymity(3), km.LDiversity(2)), time_limit=0.5)
    assert large.solver.method == "search"
    assert large.verified


@dataclass(frozen=True)
class FewBigGroups(Own):
    """At least so many rows, and an even number of them: not merge-closed for what the package knows, no facts."""

    least: int
    name: ClassVar[str] = "few_big_groups"

    def smallest_group(self, whole: Any) -> int:
        return self.least

    def holds(self, group: Any) -> bool:
        return bool(group.size >= self.least and group.size % 2 == 0)

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        import pyomo.environ as pyo

        block.half = pyo.Var(model.CANDIDATES, domain=pyo.NonNegativeIntegers, doc="half of the rows")

        @block.Constraint(model.CANDIDATES, doc="the number of rows is even")  # type: ignore[untyped-decorator]
        def even(block: Any, g: int) -> object:
            return model.rows[g] == 2 * block.half[g]

        @block.Constraint(model.CANDIDATES, doc="an open group has so many rows")  # type: ignore[untyped-decorator]
        def large(block: Any, g: int) -> object:
            return model.rows[g] >= self.least * model.open[g]

    def describe(self) -> dict[str, object]:
        return {"least": self.least}


@pytest.mark.parametrize("own", [FewBigGroups(4), AtMost(50), NoMoreThanHalf("disease")], ids=lambda e: e.name)
def test_a_requirement_of_ones_own_is_searched_by_what_it_says_of_itself(own: km.Requirement) -> None:
    problem = census_with(60, km.KAnonymity(2), own, sensitive="disease")
    # so that all that is found the search has found
    result = km.solve(problem, method="search", iteration_limit=3, parameters={**WITHOUT_MODEL, "turns.counted": 0})
    first = km.solve(problem, method="greedy")
    assert result.verified
    assert result.bound <= result.objective < first.objective  # type: ignore[operator]
    assert result.groups is not None
    groups = np.unique(result.groups, return_counts=True)[1]
    assert not isinstance(own, FewBigGroups) or (groups % 2 == 0).all()


@pytest.mark.full
def test_cuts_raise_its_bound_and_lead_it_to_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no core problem: what proves more than the required bound are cuts."""
    random = np.random.default_rng(0)
    columns = {f"q{j}": random.integers(3, size=60).astype(str) for j in range(4)}
    frame = pl.DataFrame({**columns, "s": random.integers(3, size=60).astype(str)})
    problem = km.Problem(km.Table.from_frame(frame, list(columns), "s"), km.TCloseness("0.3"))
    optimum = km.solve(problem, method="milp").require_optimal().exact_objective
    proven: list[int] = []
    rise = RequiredCuts.rise

    def spied(self: RequiredCuts, *rest: Any) -> None:
        before = self.tracker.proven
        rise(self, *rest)
        proven.append(self.tracker.proven - before)

    monkeypatch.setattr(RequiredCuts, "rise", spied)
    # nor is the search given up for a model
    parameters = {**WITHOUT_MODEL, "turns.easy_pairs": 0, "turns.shortest": 0.2, "turns.declared_share": 0.0}
    result = km.solve(problem, method="search", time_limit=60, parameters=parameters)
    assert sum(proven) > 0
    assert result.backed_by == ("own bound",)
    assert result.exact_bound is not None
    assert optimum is not None
    assert result.exact_bound <= optimum
    assert result.exact_objective == optimum


def test_neighbourhoods_over_the_pairs_that_annealings_have_seen_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of those that are asked for; the others are near the multipliers."""
    seen: list[tuple[int, int | None]] = []

    def rebuilt(landscape: Landscape, table: Assignment, *others: Any) -> tuple[Assignment, bool]:
        effort = next(each for each in others if isinstance(each, Effort))
        seen.append((len(landscape.options.values) - len(table.rows), effort.neighbourhoods))
        return table, False

    monkeypatch.setattr(required_search, "rebuild", rebuilt)
    parameters = {**WITHOUT_MODEL, "turns.easy_pairs": 0}
    problem = census_with(60, km.KAnonymity(2), km.LDiversity(2), sensitive="disease")
    for rows, expected in ((60, [2, 3]), (59, [5])):
        seen.clear()
        km.solve(problem, method="search", iteration_limit=5, parameters={**parameters, "annealing.seen_rows": rows})
        assert [count for _, count in seen] == expected * (len(seen) // len(expected))
        assert all(more > 0 for more, _ in seen)
