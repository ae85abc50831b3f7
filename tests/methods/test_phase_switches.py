"""Each phase of the hybrid method, and each part of it, can be left out: what is said stays true, and less is found."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import cache

import polars as pl
import pytest
from ablation import PARTS, place
from census import Q8, census, census_problem
from present import present

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.methods.hybrid import PHASES, switch
from kanon_milp.methods.tracker import Tracker

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
