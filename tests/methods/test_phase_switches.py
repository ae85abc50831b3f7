"""Phases of the hybrid method left out, failing, or condensed: what is said stays true."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from ablation import PARTS, place
from census import Q8, census, census_problem
from present import present
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

import kanon_milp as km
from kanon_milp.bounds.condensed import Condensed, condense
from kanon_milp.errors import InputError, SolverError
from kanon_milp.formulations.row_assignment import place_rows
from kanon_milp.methods.core_problem import _Point, _refined, held, near
from kanon_milp.methods.hybrid import PHASES, switch
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import prepare
from kanon_milp.solvers import SolverOptions, StopReason
from kanon_milp.solvers.checked import tried
from kanon_milp.solvers.highs import HighsAdapter
from kanon_milp.solvers.model import LinearModel

VALUED = ("valued_", "small_groups", "subproblems", "model_trials", "lagrangian.refined")
"""Parameters of what there is only where more than sizes is required."""
WHOLE = ("group_", "vmdav.")
"""The same of costs of whole groups."""
NAMES = list(dict.fromkeys(phase.name for phase in PHASES))


@cache
def solved(rows: int, *, valued: bool = False, whole: bool = False) -> tuple[km.Problem, Fraction]:
    """A problem of so many persons, also about a sensitive value, or of boxes of some of them, and its optimum."""
    problem = census_problem(rows, 3)
    if whole:
        table = km.Table.from_frame(census(12).select(Q8[:5]), Q8[:5])
        problem = km.Problem(table, km.KAnonymity(3), km.Boxes())
    if valued:
        table = km.Table.from_frame(census(rows).select([*Q8[:5], "disease"]), Q8[:5], sensitive="disease")
        problem = km.Problem(table, [km.KAnonymity(3), km.LDiversity(2)])
    return problem, present(km.solve(problem, method="milp").require_optimal().exact_objective)


@pytest.mark.parametrize("name", PARTS)
def test_without_a_part_no_bound_exceeds_the_optimum_and_no_table_is_below_it(name: str) -> None:
    functions, values = PARTS[name]
    assert all(hasattr(*place(each)) for each in functions)
    kinds = {"valued": VALUED, "whole": WHOLE}
    problem, optimum = solved(30, **{k: any(each.startswith(v) for each in values) for k, v in kinds.items()})
    found = km.solve(problem, method="search", time_limit=5, parameters=values)
    assert found.exact_objective is not None
    assert found.report is not None
    assert found.report.ok
    assert (found.exact_bound or 0) <= optimum <= found.exact_objective
    assert found.as_dict()["parameters"] == values


@pytest.mark.parametrize("name", NAMES)
def test_without_a_phase_no_bound_exceeds_the_optimum_and_no_table_is_below_it(name: str) -> None:
    problem, optimum = solved(40)
    found = km.solve(problem, method="search", time_limit=5, parameters={f"phases.{switch(name)}": False})
    assert found.exact_objective is not None
    assert found.report is not None
    assert found.report.ok
    assert (found.exact_bound or 0) <= optimum <= found.exact_objective
    assert name not in {run.name for run in found.phases}
    assert found.as_dict()["parameters"] == {f"phases.{switch(name)}": False}


def test_a_phase_that_there_is_not_cannot_be_left_out() -> None:
    with pytest.raises(InputError, match=r'there is no parameter "phases.cut"; did you mean "phases.cuts"'):
        km.solve(census_problem(40, 3), method="search", parameters={"phases.cut": False})


def test_what_a_thread_of_a_users_code_claims_is_no_proof() -> None:
    tracker = Tracker(Fraction(1), 0.0, None)
    tracker.higher(3, ("own bound",))
    with tracker.users_code("mine"):
        thread = threading.Thread(target=tracker.higher, args=(9, ("own bound",)))
        thread.start()
        thread.join()
    assert (tracker.proven, tracker.registered) == (3, 9)
    tracker.higher(5, ("own bound",))
    assert tracker.proven == 5


@pytest.mark.full
def test_without_the_search_by_sizes_other_phases_take_its_place() -> None:
    people = census(300).with_columns(pl.Series("patient", [str(i % 280) for i in range(300)]))
    table = km.Table.from_frame(people.select([*Q8, "patient"]), Q8, unit="patient")
    ran = []
    for used in (True, False):
        parameters = {"phases.search_by_sizes": used, "by_sizes.failing": 1.0}
        found = km.solve(km.Problem(table, km.KAnonymity(5)), method="search", time_limit=6, parameters=parameters)
        assert found.verified
        ran.append({run.name for run in found.phases})
    assert "search by sizes" in ran[0]
    assert "search" in ran[1]


FAILED: list[str] = []


class Crashing(HighsAdapter):
    """HiGHS, but it fails on every model with integer variables."""

    def solve(self, model: Any, options: Any, **more: Any) -> Any:  # type: ignore[override]
        if model.integer.any():
            FAILED.append(model.name)
            raise SolverError("it crashed")
        return super().solve(model, options, **more)


@pytest.mark.full
@pytest.mark.parametrize("privacy", [[km.KAnonymity(5)], [km.KAnonymity(5), km.LDiversity(2)]], ids=["k", "l"])
def test_the_search_goes_on(privacy: list[Any]) -> None:
    FAILED.clear()
    problem = km.Problem(km.Table.from_frame(census(100), Q8[:6], "disease"), privacy)
    result = km.solve(problem, Crashing(), method="search", iteration_limit=2)
    assert FAILED
    assert result.verified
    assert result.exact_bound is not None
    assert result.exact_objective is not None
    assert 0 < result.exact_bound < result.exact_objective
    assert result.proof == "bound"


def test_a_failure_is_an_error_without_point_and_bound() -> None:
    def crash() -> Any:
        raise SolverError("it crashed")

    answer = tried(Crashing(), SolverOptions(), crash)
    assert (answer.stop_reason, answer.x, answer.bound, answer.message) == (StopReason.ERROR, None, None, "it crashed")


def by_scipy(model: LinearModel) -> OptimizeResult:
    """By SciPy's solver, with every variable integer."""
    rows = LinearConstraint(model.A, model.constraint_lower, model.constraint_upper)
    return milp(
        model.c, constraints=rows, bounds=Bounds(model.lower, model.upper), integrality=np.ones(model.variables, int)
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("rows", "k", "seed", "spare"), [(200, 6, 1, 4), (200, 6, 2, 4), (600, 6, 1, 2), (600, 6, 3, 2)]
)
def test_what_is_open_costs_no_less_in_the_next_model_than_in_the_table(
    rows: int, k: int, seed: int, spare: int
) -> None:
    """Ample groups that are too small for it, and rows that several groups count on to fill them up."""
    table = km.Table.from_frame(census(rows).select(Q8), Q8)
    instance = prepare(km.Problem(table, [km.KAnonymity(k)], km.PatternMask.random(Q8, 10, seed)))
    nothing = np.zeros(instance.types.count, dtype=bool)
    first = condense(instance, instance.candidates.support >= spare * k, nothing)
    answer = by_scipy(first.model())
    opened = first.opened(answer.x)
    placed = place_rows(instance, opened)
    assert placed is not None
    cost = float(instance.candidates.cost[instance.candidates.candidate_of_pair()] @ placed.rows)
    assert cost > first.base + answer.fun + 1  # it is no table

    ample, apart = _refined(first, _Point(opened, placed), nothing)
    assert apart.any()
    following = condense(instance, ample, apart)
    assert np.isin(np.flatnonzero(placed.scarce), following.candidates).all()
    model = held(following, opened, np.zeros(len(following.candidates), dtype=bool))
    again = by_scipy(model)
    assert (again.x is None) if placed.short.any() else (model.offset + again.fun >= cost - 1e-6)


@pytest.fixture(scope="module")
def condensed() -> Condensed:
    """Nothing but complete suppression is ample."""
    instance = prepare(census_problem(60, 3, Q8[1:6]))
    ample = instance.candidates.support == instance.types.counts.sum()
    return condense(instance, ample, np.zeros(instance.types.count, dtype=bool))


def test_the_candidates_that_share_row_types_are_decided_anew(condensed: Condensed) -> None:
    scarce = np.zeros(condensed.instance.candidates.count, dtype=bool)
    scarce[condensed.candidates[0]] = True
    types = set(condensed.row_type[condensed.candidate == 0].tolist())
    competing = {
        g for i, g in zip(condensed.row_type.tolist(), condensed.candidate.tolist(), strict=True) if i in types
    }
    found = near(condensed, scarce, len(competing))
    assert found is not None
    assert set(np.flatnonzero(found).tolist()) == competing
    assert near(condensed, scarce, len(competing) - 1) is None


def test_the_others_are_as_they_were(condensed: Condensed) -> None:
    draw = np.random.default_rng(0)
    opened = draw.random(condensed.instance.candidates.count) < 0.5
    free = draw.random(len(condensed.candidates)) < 0.3
    model, before = held(condensed, opened, free), condensed.model()
    first = len(condensed.pair) + len(condensed.supply)
    fixed = opened[condensed.candidates]
    assert model.lower[first:].tolist() == np.where(free, 0.0, fixed).tolist()
    assert model.upper[first:].tolist() == np.where(free, 1.0, fixed).tolist()
    assert (model.upper[:first] == before.upper[:first]).all()
