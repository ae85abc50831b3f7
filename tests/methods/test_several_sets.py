"""Several sets of quasi-identifiers, each k-anonymous: the table to start with is valid and good; nothing is lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from census import Q8, census

import kanon_milp as km
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.methods import several_sets
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock

SETS = (Q8[:4], Q8[3:6])


def problem(rows: int, k: int = 5) -> km.Problem:
    columns = Q8[:6]
    table = km.Table.from_frame(census(rows).select(columns), columns)
    return km.Problem(table, [km.KAnonymity(k, quasi_identifiers=each) for each in SETS])


@pytest.mark.full
def test_it_is_better_than_k_anonymity_of_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = problem(40, 3)
    known: list[int] = []

    def spied(session: Any, **_rest: Any) -> Any:
        known.append(session.known.cost)
        return session.finish(session.known)

    monkeypatch.setattr(several_sets, "solve_milp", spied)
    values = {"sets.fewest_pairs": 0, "sets.near_pairs": 300, "sets.counted": 3}
    result = km.solve(stated, node_limit=1_000, parameters=values)
    assert isinstance(result.table, pl.DataFrame)
    for each in SETS:
        assert min(Counter(result.table.select(each).iter_rows()).values()) >= 3
    together = km.solve(
        several_sets.stricter(stated), method="search", iteration_limit=several_sets.SetsParams().joint_rounds
    )
    assert together.objective is not None
    assert result.objective is not None
    assert result.objective < together.objective
    again = km.solve(stated, node_limit=1_000, parameters=values)
    assert again.objective == result.objective
    assert known == [result.exact_objective] * 2


@pytest.mark.full
def test_counted_work_is_limited_before_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes: list[int | None] = []

    def spied(linear: Any, solver: Any, options: Any, *rest: Any, **more: Any) -> Any:
        nodes.append(options.node_limit)
        return solve_restricted(linear, solver, options, *rest, **more)

    monkeypatch.setattr(several_sets, "solve_restricted", spied)
    monkeypatch.setattr(several_sets, "solve_milp", lambda session, **_rest: session.finish(session.known))
    values = {"sets.fewest_pairs": 0, "sets.near_pairs": 100, "sets.counted": 1}
    results = [km.solve(problem(40, 3), node_limit=100_000, parameters=values) for _ in range(2)]
    assert nodes
    assert set(nodes) == {several_sets.SetsParams().nodes}
    assert len(nodes) <= 2 * (len(SETS) + 1)
    assert results[0].table is not None
    assert results[0].table.equals(results[1].table)


@pytest.mark.full
def test_the_model_is_told_a_bound_near_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, int]] = []

    def spied(session: Any, known: Any) -> Any:
        told.append((known.bound, session.known.cost))
        return session.finish(session.known)

    monkeypatch.setattr(several_sets, "solve_milp", spied)
    assert km.solve(problem(300), node_limit=1, parameters={"sets.patience": 0}).verified
    ((bound, loss),) = told
    assert bound.backed_by == ("own bound",)
    assert 0.9 * loss <= bound.value <= loss


def test_a_limit_is_kept() -> None:
    result = km.solve(problem(400), time_limit=2)
    assert result.verified
    assert result.seconds["total"] < 2 + 5.1
    assert [run.name for run in result.phases][:1] == ["linked bound"]  # which all others go by


def test_pairs_of_a_neighbourhood() -> None:
    """Those of the table; others only about few row types, and only where what is held is released as it was."""
    instance = presolve(problem(150), Clock()).instance
    table = suppress_all(instance)
    assert table is not None
    random = np.random.default_rng(3)
    candidates = instance.candidates
    of_pair = candidates.candidate_of_pair()
    held = [name for name in Q8[:6] if name not in SETS[0]]
    for names in (held, []):
        pairs = several_sets.neighbourhood(instance, table, names, 60, random)
        own = {(i, g) for i, g in zip(table.row_type.tolist(), table.candidate.tolist(), strict=True)}
        chosen = set(zip(candidates.members[pairs].tolist(), of_pair[pairs].tolist(), strict=True))
        assert own < chosen
        assert len(chosen - own) <= 60
        labels = candidates.labels(instance.types, instance.levels, np.arange(candidates.count))
        at = [instance.types.names.index(name) for name in names]
        current = dict(own)
        for i, g in chosen - own:
            assert [labels[j][g] for j in at] == [labels[j][current[i]] for j in at]
