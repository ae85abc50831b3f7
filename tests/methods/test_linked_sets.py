"""Sets of quasi-identifiers and what links them: bounds hold, tables are valid and good; against every table."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from case_judge import judge
from census import Q8, census
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sensitive_cases import SensitiveCase, drawn_sets_case
from strategies import by_hypothesis, without_label_costs

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.linked import LinkedEvaluator, LinkedExtras, linked_bound, proven_units
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.heuristics.linked_annealing import LinkedBoard, anneal_sets
from kanon_milp.methods import several_sets
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.linked_sets import LinkedSets, linked_sets, sets_of
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverOptions
from kanon_milp.solvers.proof import INTEGRAL_GAP
from kanon_milp.system.clock import Clock


def drawn(rng: random.Random) -> SensitiveCase:
    """Sets are linked by level vectors, whose costs do not depend on labels."""
    found = drawn_sets_case(rng, (2, 3), sides=False, alone=True)
    return replace(found, case=without_label_costs(found.case))


sets_cases = by_hypothesis(drawn)


def reduced(problem: km.Problem) -> Instance:
    return presolve(problem, Clock()).instance


def proven(linked: LinkedSets, iterations: int = 60) -> tuple[DualPoint, int]:
    point = linked_bound(linked, BoundLimit(iterations=iterations))
    return point, proven_units(linked, point)


@given(sets_cases, st.integers(0, 2**32 - 1))
@settings(max_examples=examples(300, 4))
def test_no_table_costs_less_than_the_bound_at_any_multipliers(case: SensitiveCase, seed: int) -> None:
    problem = case.problem()
    assume(len(sets_of(problem)) > 1)
    prepared, best = presolve(problem, Clock()), judge(case)
    linked = None if prepared.obstacle else linked_sets(prepared.instance)
    if linked is None:
        assert best is None
        return
    unit = prepared.instance.levels.unit
    start = suppress_all(prepared.instance)
    point, units = proven(linked)
    if best is not None:
        assert units * unit <= best
        scale = float(prepared.instance.levels.costs.max()) + 1
        drawn = np.random.default_rng(seed).normal(0, scale, linked.parts.types.count)
        for multipliers in (drawn, np.abs(drawn), point.multipliers + 0.1 * drawn):
            assert proven_units(linked, replace(point, multipliers=multipliers)) * unit <= best
    if start is None:
        return
    board = LinkedBoard.of(linked, start, 1.0, seed)
    if board is None:
        return
    assert best is not None
    assert board.loss <= start.cost  # what covers the same rows may cost less
    found = anneal_sets(linked, start, point.phi, Effort(neighbourhoods=2), seed)
    assert found.cost * unit >= best
    result = km.solve(problem, start=_groups(prepared.instance, found))
    assert result.exact_objective == best


@given(sets_cases, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=examples(300, 4))
def test_the_model_of_all_sets_has_the_optimum_whatever_is_fixed(case: SensitiveCase, seed: int, noise: float) -> None:
    problem = case.problem()
    assume(len(sets_of(problem)) > 1)
    prepared, best = presolve(problem, Clock()), judge(case)
    linked = None if prepared.obstacle else linked_sets(prepared.instance)
    start = None if linked is None else suppress_all(prepared.instance)
    if linked is None or start is None or best is None:
        return
    assume(LinkedBoard.of(linked, start, 1.0, seed) is not None)
    units = int(best / prepared.instance.levels.unit)
    point, _ = proven(linked)
    scale = float(prepared.instance.levels.costs.max()) + 1
    drawn = np.random.default_rng(seed).normal(0, noise * scale, linked.parts.types.count)
    extras = LinkedExtras.of(linked, point.multipliers + drawn)
    highs = solvers.get("highs")
    for loss, kept in ((units, None), (units - 1, start), (start.cost, start)):
        left = extras.up_to(loss, kept)
        model = left.model()
        if kept is not None:
            assert model.violation(left.start(kept)) == 0
        answer = highs.solve(model, SolverOptions(absolute_gap=INTEGRAL_GAP))
        if loss >= units:  # all tables up to this loss are there
            assert answer.objective is not None
            assert round(answer.objective) <= units
        found = None if answer.x is None else left.table(answer.x)
        if found is None:  # the mask has no pattern for what is released; then it is a bound and no more
            assert answer.x is None or problem.recoding.mask is not None
            continue
        assert loss < units or round(answer.objective or 0) == units
        _groups(prepared.instance, found)
        assert units <= found.cost <= round(answer.objective or 0)


@pytest.mark.full
def test_sets_are_solved_to_the_end_by_the_model_of_all_of_them() -> None:
    stated = problem(80)
    direct = km.solve(stated, method="milp", node_limit=1)  # the complete model: work is counted
    result = km.solve(stated, time_limit=60).require_optimal()
    assert result.after.variables < direct.after.variables / 2
    assert direct.bound is not None
    assert direct.objective is not None
    assert result.objective is not None
    assert direct.bound <= result.objective <= direct.objective


def _groups(instance: Instance, table: object) -> list[int]:
    from kanon_milp.presolve.assignment import Assignment, expand

    assert isinstance(table, Assignment)
    release = expand(instance, table)
    released = km.verify(instance.problem, release.table(instance.problem.table))
    assert released.ok, released.violations
    assert released.cost == table.cost * instance.levels.unit
    return list(release.groups.group.tolist())


SETS: tuple[tuple[str, ...], ...] = (Q8[:4], Q8[3:6])


def problem(rows: int, sets: tuple[tuple[str, ...], ...] = SETS, k: int = 3) -> km.Problem:
    columns = Q8[:6]
    table = km.Table.from_frame(census(rows).select(columns), columns)
    return km.Problem(table, [km.KAnonymity(k, quasi_identifiers=each) for each in sets])


def test_sets_without_common_columns_are_problems_of_their_own() -> None:
    apart = (Q8[:3], Q8[3:6])
    stated = problem(60, apart)
    linked = linked_sets(reduced(stated))
    assert linked is not None
    assert linked.parts.candidates.count == len(linked.set_of)
    point = linked_bound(linked, BoundLimit())
    alone = 0.0
    for columns in apart:
        table = km.Table.from_frame(census(60).select(columns), columns)
        found = prepare(km.Problem(table, [km.KAnonymity(3)]))
        from kanon_milp.bounds import lagrangian

        found = found.subset(found.candidates.support >= 3)
        alone += lagrangian(found, packing_cuts=False).value
    assert point.value == pytest.approx(alone, rel=2e-3)


def test_the_bound_is_no_less_than_that_of_the_complete_model() -> None:
    import pyomo.environ as pyo

    stated = problem(40)
    model = km.build_model(stated)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    pyo.SolverFactory("appsi_highs").solve(model)
    relaxed = float(pyo.value(model.loss))
    linked = linked_sets(reduced(stated))
    assert linked is not None
    assert linked_bound(linked, BoundLimit()).value >= relaxed * 0.998


def test_the_subgradient_is_one() -> None:
    """L is concave: no point is above the plane through another one."""
    linked = linked_sets(reduced(problem(80, (Q8[:4], Q8[3:6], Q8[1:3]))))
    assert linked is not None
    evaluator, random = LinkedEvaluator(linked), np.random.default_rng(5)
    points = [random.normal(1, 1, linked.parts.types.count) for _ in range(6)]
    found = [evaluator(point) for point in points]
    for (a, at_a), (b, at_b) in itertools.permutations(zip(points, found, strict=True), 2):
        assert at_b.value <= at_a.value + at_a.subgradient @ (b - a) + 1e-6


def test_annealing_is_far_better_than_where_it_begins_and_the_same_each_time() -> None:
    instance = reduced(problem(200))
    linked, start = linked_sets(instance), suppress_all(instance)
    assert linked is not None
    assert start is not None
    point, units = proven(linked, 300)
    first, again = (anneal_sets(linked, start, point.phi, Effort(neighbourhoods=2), 0) for _ in range(2))
    assert units <= first.cost < start.cost / 2
    assert np.array_equal(first.candidate, again.candidate)
    assert np.array_equal(first.rows, again.rows)
    _groups(instance, first)


@pytest.mark.full
def test_it_is_better_than_k_anonymity_of_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = problem(40)
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
    results = [km.solve(problem(40), node_limit=100_000, parameters=values) for _ in range(2)]
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
    assert km.solve(problem(300, k=5), node_limit=1, parameters={"sets.patience": 0}).verified
    ((bound, loss),) = told
    assert bound.backed_by == ("own bound",)
    assert 0.9 * loss <= bound.value <= loss


def test_a_limit_is_kept() -> None:
    result = km.solve(problem(400, k=5), time_limit=2)
    assert result.verified
    assert result.seconds["total"] < 2 + 5.1
    assert [run.name for run in result.phases][:1] == ["linked bound"]  # which all others go by


def test_pairs_of_a_neighbourhood() -> None:
    """Those of the table; others only about few row types, and only where what is held is released as it was."""
    instance = presolve(problem(150, k=5), Clock()).instance
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
