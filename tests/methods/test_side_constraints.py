"""Side constraints: the problem without them comes first, so that what does not bind costs nothing."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
import pytest
from present import present

import kanon_milp as km
from kanon_milp.methods import side_constraints
from kanon_milp.methods.outcome import Outcome
from kanon_milp.methods.session import Session

BY_SEARCH = {"auto.limited_pairs": 1, "auto.search_pairs": 1, "auto.few_pairs": 0}


def problem(rows: int = 120, **sides: Any) -> km.Problem:
    draw = Random(3)
    frame = pl.DataFrame({f"q{j}": [draw.choice("abc") for _ in range(rows)] for j in range(4)})
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3), **sides)


@pytest.mark.parametrize("name", ["cost_bound", "min_groups", "max_groups"])
def test_what_does_not_bind_costs_nothing(name: str) -> None:
    free = km.solve(problem(), time_limit=60, parameters=BY_SEARCH).require_optimal()
    groups = present(free.report).groups
    most: dict[str, Any] = {"cost_bound": free.exact_objective, "min_groups": groups, "max_groups": groups}
    asked = problem(**{name: most[name]})
    found = km.solve(asked, time_limit=60, parameters=BY_SEARCH).require_optimal()
    assert found.objective == free.objective
    assert found.problem is asked
    assert found.solver.method == "search"
    assert [run.name for run in found.phases][:1] == [run.name for run in free.phases][:1]
    assert km.verify(asked, found.table).ok


def test_the_bound_without_side_constraints_refuses_a_lower_cost_bound() -> None:
    free = km.solve(problem()).require_optimal()
    asked = problem(cost_bound=present(free.exact_objective) - 1)
    found = km.solve(asked, time_limit=60, parameters=BY_SEARCH)
    assert found.proof == "infeasible"
    assert found.table is None
    assert f"each table loses at least {free.objective}" in found.message


def test_one_that_binds_has_a_bound_and_a_table() -> None:
    free = km.solve(problem()).require_optimal()
    groups = present(free.report).groups
    found = km.solve(problem(max_groups=groups // 2), time_limit=10, parameters=BY_SEARCH)
    assert found.verified
    assert present(found.report).groups <= groups // 2
    assert present(free.exact_objective) <= present(found.exact_bound) <= present(found.exact_objective)
    assert all(loss is None or loss >= present(free.objective) for _, loss, _ in found.trajectory)


def test_a_table_of_fewer_groups_is_made_of_the_one_without_side_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(session: Session, known: Outcome | None = None) -> km.Result:
        return session.end_early("time_limit", known=known)

    monkeypatch.setattr(side_constraints, "solve_milp", too_late)
    monkeypatch.setattr(side_constraints, "limits_groups", lambda _: False)  # as where more than sizes is required
    free = km.solve(problem()).require_optimal()
    most = present(free.report).groups // 2
    found = km.solve(problem(max_groups=most), time_limit=60, parameters=BY_SEARCH)
    assert found.verified
    assert present(found.report).groups <= most
    assert present(free.objective) <= present(found.objective) < 0.9 * 120 * 4  # all cells
    assert found.bound == free.objective
