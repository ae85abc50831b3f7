"""At most so many groups: bound, tables and certificates against brute force."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from oracle import cheapest, optimum
from present import present
from strategies import drawn_case

import kanon_milp as km
from kanon_milp.bounds import DualPoint, certify, exact_value, proven_bound, round_dual
from kanon_milp.bounds.lagrangian_bound import lagrangian
from kanon_milp.bounds.packing_cuts import first_sets
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.heuristics.interchange import InterchangeParameters, interchange
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.reductions import reduce
from kanon_milp.solvers import get
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.system.limit import NO_LIMIT
from kanon_milp.verify.certificate import check_certificate

BY_SEARCH = {"auto.limited_pairs": 1, "auto.search_pairs": 1, "auto.few_pairs": 0}


def optima(draw: Random) -> tuple[km.Problem, dict[int, Fraction]]:
    """A problem with the least loss of each largest number of groups."""
    case = replace(drawn_case(draw, (2, 8), sides=False), sides={})
    least = cheapest(case.rows, case.k, **case.judged())
    up_to = {most: min(least[g] for g in least if g <= most) for most in range(1, 9) if min(least, default=9) <= most}
    return case.problem(), up_to


@pytest.mark.full
@pytest.mark.parametrize("seed", range(examples(60, 2)))
def test_any_multiplier_bounds_the_loss_of_few_groups(seed: int) -> None:
    draw = Random(f"few-{seed}")
    for _ in range(4):
        free, up_to = optima(draw)
        for most, best in up_to.items():
            problem = replace(free, max_groups=most)
            instance = reduce(prepare(problem))[-1].instance
            if set(instance.candidates.members.tolist()) != set(range(instance.types.count)):
                continue
            sets = first_sets(instance)
            drawn = DualPoint(
                np.array([draw.uniform(0, 6) for _ in range(instance.types.count)]),
                sets=sets,
                packing_multipliers=np.array([draw.uniform(0, 9)]),
            )
            for dual in (drawn, lagrangian(instance, iterations=60)):
                assert exact_value(instance, round_dual(dual)) * instance.levels.unit <= best
                found = certify(problem, dual)
                assert found.bound <= best
                report = check_certificate(problem, found)
                assert report.valid, report
                assert report.bound == found.bound
                # fixing keeps a best table
                units = int(best / instance.levels.unit)
                left = ReducedCosts(round_dual(dual), units + 1).apply(instance).instance
                model = RestrictedModel.of(left, get_formulation("strong")).linear
                assert solve_restricted(model, get("highs"), SolverOptions()).bound == units


@pytest.mark.full
@pytest.mark.parametrize("seed", range(examples(30, 1)))
def test_the_optimum_of_few_groups(seed: int) -> None:
    draw = Random(f"most-{seed}")
    for _ in range(3):
        free, up_to = optima(draw)
        for most, best in up_to.items():
            found = km.solve(replace(free, max_groups=most), time_limit=20, parameters=BY_SEARCH)
            assert found.require_optimal().exact_objective == best


@pytest.mark.parametrize("seed", range(examples(20, 1)))
def test_the_first_multipliers_of_one_group_are_the_best_ones(seed: int) -> None:
    draw, seen = Random(f"one-{seed}"), 0
    for _ in range(12):
        free, up_to = optima(draw)
        problem = replace(free, max_groups=1)
        instance = reduce(prepare(problem))[-1].instance
        if free.suppressed_rows == "exempt" or 1 not in up_to:
            continue
        seen += 1
        found = lagrangian(instance, iterations=1)
        assert proven_bound(instance, round_dual(found)) * instance.levels.unit == up_to[1]
    assert seen > 2


def people(rows: int = 400, **sides: Any) -> km.Problem:
    draw = Random(5)
    frame = pl.DataFrame({f"q{j}": [draw.choice("abcdef"[: 3 + j % 3]) for _ in range(rows)] for j in range(5)})
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3), **sides)


@pytest.mark.full
def test_a_limit_that_binds_is_in_the_bound_the_search_and_the_certificate() -> None:
    problem = people(max_groups=12)
    found = km.solve(problem, time_limit=30)
    assert found.verified
    assert present(found.report).groups <= 12
    assert {"limit on groups", "lagrangian", "interchange"} <= {run.name for run in found.phases}
    free = km.solve(people(), time_limit=10)
    assert present(found.bound) > present(free.objective)
    assert present(found.bound) >= 0.9 * present(found.objective)
    certificate = found.certify()
    assert certificate.problem["max_groups"] == 12
    report = check_certificate(problem, certificate)
    assert report.valid
    assert present(free.exact_objective) < report.bound <= present(found.exact_objective)
    assert "at most 12 groups" in report.statement
    # it says nothing of tables of more groups, and a claim of fewer is another one
    for other in (people(), people(max_groups=13), people(max_groups=11)):
        refused = check_certificate(other, certificate)
        assert not refused.valid
        assert "the largest number of groups differs" in " ".join(refused.problems)
    forged = certificate.as_dict()
    forged["problem"] = {**forged["problem"], "max_groups": 3}
    assert not check_certificate(problem, forged).valid
    del forged["problem"]["max_groups"]
    assert not check_certificate(problem, forged).valid  # nothing limits the groups that multipliers count on


@pytest.mark.full
def test_what_loses_more_in_few_groups_than_the_cost_bound_is_infeasible() -> None:
    free = km.solve(people(60)).require_optimal()
    few = km.solve(people(60, max_groups=3)).require_optimal()
    least = present(few.objective)
    assert present(free.objective) < least - 1
    found = km.solve(people(60, max_groups=3, cost_bound=int(least) - 1), time_limit=20, method="search")
    assert found.proof == "infeasible"
    assert km.solve(people(60, max_groups=3, cost_bound=int(least))).require_optimal().objective == least


def test_a_certificate_without_the_limit_holds_with_it() -> None:
    free = people()
    certificate = certify(free, lagrangian(reduce(prepare(free))[-1].instance))
    assert "max_groups" not in certificate.problem
    assert check_certificate(people(max_groups=12), certificate).valid


def test_interchange_places_all_rows_in_few_groups() -> None:
    for most in (1, 2, 5, 20):
        problem = people(max_groups=most)
        instance = reduce(prepare(problem))[-1].instance
        dual = lagrangian(instance, iterations=200)
        share = np.zeros(len(dual.phi)) if most == 1 else present(dual.open_share)  # one is known without iterations
        table = interchange(instance, dual.phi, share, most, NO_LIMIT, InterchangeParameters(candidates=500))
        assert present(table).within(problem, instance.levels.unit)
        assert present(table).cost <= 400 * 5
        sizes = np.bincount(present(table).candidate, weights=present(table).rows)
        assert (sizes[sizes > 0] >= 3).all()


@pytest.mark.parametrize("sides", [{"max_groups": 1}, {"min_groups": 2}, {"min_groups": 1, "max_groups": 2}])
def test_fully_suppressed_rows_that_need_no_partners_are_no_group_to_split(sides: dict[str, Any]) -> None:
    rows = [("a", "a")] * 6 + [("a", "b")]
    table = km.Table.from_frame(pl.DataFrame(rows, ["x", "y"], orient="row"), ["x", "y"])
    found = km.solve(km.Problem(table, km.KAnonymity(3), suppressed_rows="exempt", **sides))
    assert found.proof == "optimal"
    assert found.objective == optimum(rows, 3, suppressed_rows="exempt", **sides)
