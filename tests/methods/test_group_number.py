"""As few or as many groups as a cost bound allows, against brute force."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from case_judge import truth
from effort import examples
from oracle import optimum
from present import present
from strategies import drawn_case

import kanon_milp as km
from kanon_milp.errors import TooManyLevelVectorsError
from kanon_milp.formulations import get_formulation
from kanon_milp.methods import direct, group_number
from kanon_milp.methods.session import Session
from kanon_milp.presolve import preparation
from kanon_milp.presolve.infeasibility import numbers_of_groups, refuse_side_constraints
from kanon_milp.presolve.instance import compress_table, types_of
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import get
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT


@pytest.mark.parametrize("seed", range(examples(200, 5)))
def test_bound_and_optimum_are_those_of_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the cost bound allows no table at all."""
    monkeypatch.setattr(direct, "LARGE", 0)
    bounds: list[tuple[int, int | None]] = []
    made = group_number.group_number

    def seen(*given: object) -> object:
        number, table = made(*given)  # type: ignore[arg-type]
        bounds.append((number, None if table is None else len(np.unique(table.candidate))))
        return number, table

    monkeypatch.setattr(group_number, "group_number", seen)
    draw = Random(f"fewest-{seed}")
    case = drawn_case(draw, (3, 9), sides=False)
    least = optimum(case.rows, case.k, **case.judged())
    if least is None:
        return
    most = least + Fraction(draw.randint(-1, 6))
    if most < 0:
        return
    fewest = seed % 2 == 0
    case = replace(case, sides={"objective": "min_groups" if fewest else "max_groups", "cost_bound": most})
    best = optimum(case.rows, case.k, **case.judged())
    found = km.solve(case.problem(), method="milp")
    for number, groups in bounds[:1]:  # others are of smaller problems, to say what is in conflict
        if best is None:
            assert groups is None
        else:
            between = (number, best, best if groups is None else groups)
            assert list(between) == sorted(between, reverse=not fewest)
    assert found.proof == ("infeasible" if best is None else "optimal")
    assert best is None or present(found.exact_objective) == best


WIDE = [tuple(Random(f"wide-{i}").choice("ab") for _ in range(24)) for i in range(30)]


@pytest.mark.parametrize(("objective", "number", "cost_bound"), [("min_groups", 1, None), ("max_groups", 10, 24 * 30)])
def test_counts_of_rows_say_how_many_groups_of_a_wide_table(
    objective: Any, number: int, cost_bound: int | None
) -> None:
    """A single group needs no list of candidates; of groups of three rows there are ten at most."""
    table = km.Table.from_frame(
        pl.DataFrame(WIDE, [f"q{j}" for j in range(24)], orient="row"), [f"q{j}" for j in range(24)]
    )
    found = km.solve(km.Problem(table, km.KAnonymity(3), objective=objective, cost_bound=cost_bound), time_limit=10)
    assert found.verified
    assert found.exact_bound == number
    if number == 1:
        assert found.is_optimal


@pytest.mark.parametrize("seed", range(examples(120, 12)))
def test_what_counts_of_rows_prove_is_true(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where candidates are too many to be listed, and are priced, and the table is that of the least loss."""
    draw, objective = Random(f"objectives-{seed}"), ("min_groups", "max_groups")[seed % 2]
    sides = ({}, {"min_groups": 2}, {"max_groups": 2}, {"cost_bound": 5}, {"cost_bound": 8, "max_groups": 3})[seed % 5]
    case = replace(drawn_case(draw, (3, 8), sides=False), sides={**sides, "objective": objective})
    best, problem = truth(case).best, case.problem()
    if refuse_side_constraints(problem, types_of(problem, compress_table(problem))) is not None:
        assert best is None
        return

    def refusing(problem: km.Problem, *given: Any, **more: Any) -> Any:
        if problem.objective != "loss" and more["enumerated"]:
            raise TooManyLevelVectorsError("too many")
        return presolve(problem, *given, **more)

    monkeypatch.setattr("kanon_milp.methods.solve.presolve", refusing)
    monkeypatch.setattr(preparation, "FEW_VECTORS", 0)
    monkeypatch.setattr(preparation, "PRICED_PAIRS", 0)
    monkeypatch.setattr(preparation, "MOST_LABELS", 0 if seed % 3 == 0 else 1 << 30)
    found, sign = km.solve(problem), 1 if problem.objective == "min_groups" else -1
    if best is None:
        assert found.table is None
        return
    assert found.proof != "infeasible"
    assert found.exact_bound is None or sign * found.exact_bound <= sign * best
    assert found.exact_objective is None or sign * found.exact_objective >= sign * best
    assert found.proof != "optimal" or found.exact_objective == best


@pytest.mark.full
@pytest.mark.parametrize(("objective", "cost_bound"), [("min_groups", 100), ("max_groups", 31)])
def test_priced_candidates_say_as_much_as_listed_ones(
    objective: Any, cost_bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly; and more than counts of rows."""
    draw = Random(5)
    rows = [tuple(draw.choice("abc") for _ in range(4)) for _ in range(60)]
    frame = pl.DataFrame(rows, [f"q{j}" for j in range(4)], orient="row")
    problem = km.Problem(
        km.Table.from_frame(frame, frame.columns), km.KAnonymity(2), objective=objective, cost_bound=cost_bound
    )
    prepared = presolve(problem, Clock())
    session = Session(get(), SolverOptions(), Clock(), prepared=prepared, formulation=get_formulation("strong"))
    counted = numbers_of_groups(problem, prepared.before.types)[objective == "max_groups"]
    listed, _ = group_number.group_number(session, NO_LIMIT)
    monkeypatch.setattr(preparation, "FEW_VECTORS", 0)
    monkeypatch.setattr(preparation, "PRICED_PAIRS", 0)
    priced = group_number.priced_number(session, counted, NO_LIMIT)
    assert abs(priced - listed) <= 1
    assert priced != counted
