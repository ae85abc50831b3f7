"""Tables put together from small groups: valid, no worse than the start, never below the optimum."""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl
import pytest
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from present import present
from sensitive_cases import sensitive_cases
from strategies import covered
from test_requirements_search import is_valid

import kanon_milp as km
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.heuristics.requirements.construction import construct
from kanon_milp.heuristics.requirements.partition import Columns, Partition
from kanon_milp.presolve.instance import prepare
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.system.limit import Limit

relaxed = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
CHARGED = ["t equal short", "t ranks short", "t order short", "t numeric short", "t hierarchy short"]


@pytest.mark.parametrize("kind", CHARGED)
@given(data=st.data(), seed=st.integers(0, 3), rows=st.sampled_from([3.0, math.inf]))
@settings(relaxed, max_examples=examples(25, 5))
def test_tables_are_valid_and_no_worse(kind: str, data: st.DataObject, seed: int, rows: float) -> None:
    case = data.draw(sensitive_cases([kind], max_rows=8, sides=False))
    instance = prepare(case.problem())
    assume(covered(instance) and instance.problem.attributes)
    point = required_bound(instance, iterations=20)
    columns, start = Columns.near(instance, point), construct(instance, point, Limit(), seed)
    assume(columns is not None and start is not None)
    columns, start = present(columns), present(start)
    seen: list[int] = []
    found, _ = Partition(instance, columns, rows).improve(
        start, get("highs"), SolverOptions(), Effort(neighbourhoods=3), seed, lambda table: seen.append(table.cost)
    )
    assert is_valid(case, instance, found)
    assert found.cost == min([start.cost, *seen])
    assert seen == sorted(seen, reverse=True)
    best = optimum(case.case.rows, case.k, **case.judged())
    assert best is not None
    assert found.cost * instance.levels.unit >= best


def test_everything_suppressed_becomes_the_optimum() -> None:
    ages = [0, 9, 3, 4, 5, 4, 5, 4]
    frame = pl.DataFrame({"a": list("xxxxyyyy"), "b": list("uvuvuvuv"), "s": [str(age) for age in ages]})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), [km.TCloseness("0.3", "ordered")])
    instance = prepare(problem)
    columns = present(Columns.near(instance, required_bound(instance)))
    start = present(suppress_all(instance))
    found, done = Partition(instance, columns).improve(
        start, get("highs"), SolverOptions(), Effort(neighbourhoods=1), 0, lambda _: None
    )
    assert done
    exact = present(km.solve(problem, method="milp").exact_objective)
    assert Fraction(found.cost) * instance.levels.unit == exact < start.cost * instance.levels.unit
