"""Diving: complete tables, never cheaper than the optimum, and hardly dearer on a small table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from case_judge import judge
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sensitive_cases import CLOSENESS, SensitiveCase, sensitive_cases

import kanon_milp as km
from kanon_milp.bounds.columns.cut_rounds import CutRounds
from kanon_milp.bounds.dual import can_be_priced
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.rounding import dive
from kanon_milp.heuristics.valued_annealing import anneal
from kanon_milp.heuristics.valued_construction import PricedCandidates
from kanon_milp.heuristics.worker_pool import Effort
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit

KINDS = ("p", "l frequency", "alpha", "beta", *(kind for kind in CLOSENESS if kind.endswith("short")))


def dived(instance: Instance, limit: Limit, seed: int = 0, rounds: int = 1) -> Assignment:
    """A table by diving from a few rounds of cuts."""
    start = suppress_all(instance)
    assert start is not None
    point = required_bound(instance, iterations=60)
    cuts = CutRounds(instance, point, None)
    cuts.go_on(BoundLimit(rounds=rounds), lambda _: None)
    return dive(instance, cuts.averages(), cuts.groups, start, limit, seed)


@given(
    sensitive_cases(KINDS, max_rows=9, sides=False, most=2),
    st.integers(0, 3),
    st.sampled_from([NO_LIMIT, Limit(0.0)]),
)
@settings(deadline=None, max_examples=examples(60, 6), suppress_health_check=list(HealthCheck))
def test_every_row_is_placed_and_no_table_beats_the_optimum(case: SensitiveCase, seed: int, limit: Limit) -> None:
    instance = presolve(case.problem(), Clock(), merge=True).instance
    assume(instance.problem.attributes and instance.candidates.count and can_be_priced(instance))
    assume(suppress_all(instance) is not None)
    best = judge(case)
    table = dived(instance, limit, seed)
    placed = np.bincount(table.row_type, weights=table.rows, minlength=instance.types.count)
    assert (placed == instance.types.counts).all()
    if not len(GroupCheck(instance).refused(table)):
        assert best is not None
        assert table.cost * instance.levels.unit >= best


@pytest.mark.parametrize("privacy", [km.TCloseness("0.4"), km.LDiversity("1.5")])
@pytest.mark.full
def test_tables_are_near_the_optimum(privacy: km.Requirement) -> None:
    random = np.random.default_rng(3)
    columns = {f"q{j}": random.integers(3, size=40).astype(str) for j in range(3)}
    frame = pl.DataFrame({**columns, "s": random.integers(4, size=40).astype(str)})
    problem = km.Problem(km.Table.from_frame(frame, list(columns), "s"), privacy)
    instance = presolve(problem, Clock(), merge=True).instance
    optimum = km.solve(problem, method="milp")
    assert optimum.is_optimal
    assert optimum.exact_objective is not None
    start = suppress_all(instance)
    assert start is not None
    point, costs = required_bound(instance, iterations=60), []
    for seed in range(6):
        # what is left over at the end may violate the requirement until it is annealed
        table = dived(instance, NO_LIMIT, seed)
        effort = Effort(neighbourhoods=1)
        costs.append(
            anneal(PricedCandidates.of(instance, point), start, effort, None, seed, lambda _: None, table).cost
        )
    best = min(costs) * instance.levels.unit
    assert optimum.exact_objective <= best <= 1.05 * optimum.exact_objective
    assert best < start.cost * instance.levels.unit
