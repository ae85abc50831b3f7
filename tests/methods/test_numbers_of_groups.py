"""A least number of groups, and exact ones: bound, tables and certificates against brute force."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from oracle import cheapest
from present import present
from strategies import drawn_case

import kanon_milp as km
from kanon_milp.bounds import DualPoint, certify, exact_value, round_dual
from kanon_milp.bounds.lagrangian_bound import lagrangian
from kanon_milp.bounds.packing_cuts import first_sets
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.errors import InputError
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.splitting import split_groups
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.reductions import reduce
from kanon_milp.solvers import get
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.system.limit import NO_LIMIT
from kanon_milp.verify.certificate import check_certificate

BY_SEARCH = {"auto.limited_pairs": 1, "auto.search_pairs": 1, "auto.few_pairs": 0}
Optima = dict[tuple[int, int | None], Fraction]


def optima(draw: Random) -> tuple[km.Problem, Optima]:
    """A problem with the least loss of some least and largest numbers of groups."""
    case = replace(drawn_case(draw, (2, 8), sides=False), sides={})
    least = cheapest(case.rows, case.k, **case.judged())
    found: Optima = {}
    for fewest in range(1, max(least, default=0) + 1):
        for most in (None, fewest, fewest + 1):
            losses = [least[g] for g in least if fewest <= g <= (most or len(case.rows))]
            found |= {(fewest, most): min(losses)} if losses else {}
    return case.problem(), found


@pytest.mark.parametrize("seed", range(examples(120, 5)))
def test_any_multipliers_bound_the_loss_of_so_many_groups(seed: int) -> None:
    draw = Random(f"many-{seed}")
    free, least = optima(draw)
    for (fewest, most), best in least.items():
        problem = replace(free, min_groups=fewest, max_groups=most)
        instance = reduce(prepare(problem))[-1].instance
        if set(instance.candidates.members.tolist()) != set(range(instance.types.count)):
            continue
        sets = first_sets(instance)
        drawn = DualPoint(
            np.array([draw.uniform(0, 6) for _ in range(instance.types.count)]),
            sets=sets,
            packing_multipliers=np.array([draw.uniform(0, 9) for _ in range(sets.lists)]),
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


@pytest.mark.parametrize("seed", range(examples(40, 2)))
def test_the_optimum_of_so_many_groups(seed: int) -> None:
    free, least = optima(Random(f"at-least-{seed}"))
    for (fewest, most), best in least.items():
        found = km.solve(
            replace(free, min_groups=fewest, max_groups=most), time_limit=20, parameters=BY_SEARCH
        ).require_optimal()
        assert found.exact_objective == best
        assert present(found.report).groups >= fewest


def people(rows: int = 120, **sides: Any) -> km.Problem:
    draw = Random(5)
    frame = pl.DataFrame({f"q{j}": [draw.choice("abcdef"[: 3 + j % 3]) for _ in range(rows)] for j in range(4)})
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3), **sides)


def crossed(**sides: Any) -> km.Problem:
    """12 released rows at no loss; each one more costs 3 cells at least, and there are 20 in all."""
    rows = [(a, b) for a in "abc" for b in "abcd" for _ in range(10)]
    table = km.Table.from_frame(pl.DataFrame(rows, ["a", "b"], orient="row"), ["a", "b"])
    return km.Problem(table, km.KAnonymity(3), **sides)


def test_a_least_number_that_binds_is_in_the_bound_and_stated() -> None:
    problem, free = crossed(min_groups=16), crossed()
    instance = reduce(prepare(problem))[-1].instance
    dual, without = lagrangian(instance), lagrangian(reduce(prepare(free))[-1].instance)
    assert without.value <= 0
    certificate = certify(problem, dual)
    assert certificate.problem["min_groups"] == 16
    report = check_certificate(problem, certificate)
    assert report.valid
    assert report.bound == 12 == km.solve(problem, time_limit=20).require_optimal().exact_objective
    assert "at least 16 groups" in report.statement
    # it says nothing of tables of fewer groups, and a claim of more is another one
    for other in (free, crossed(min_groups=15), crossed(min_groups=17)):
        refused = check_certificate(other, certificate)
        assert not refused.valid
        assert "the least number of groups differs" in " ".join(refused.problems)
    # what is proven without it holds with it, and does not state it
    assert "min_groups" not in certify(problem, without).problem
    assert check_certificate(problem, certify(problem, without)).valid
    with pytest.raises(InputError, match="least number of groups"):
        exact_value(reduce(prepare(free))[-1].instance, round_dual(dual))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"min_groups_multiplier": -1}, "is negative"),
        ({"min_groups_multiplier": 10**7}, "its multipliers prove"),
        ({"min_groups_multiplier": 0}, "its multipliers prove"),
        ({"min_groups_multiplier": 1 << 63}, "too large"),
        ({"min_groups": None}, "no such number"),
        ({"min_groups": 17}, "differs"),
        ({"rank_one_rows": [{"rows": [0], "weights": [1], "denominator": 2, "multiplier": 0}]}, "rank-1 cuts"),
    ],
)
def test_forged_ones_are_refused(changed: dict[str, Any], said: str) -> None:
    problem = crossed(min_groups=16)
    forged = certify(problem, lagrangian(reduce(prepare(problem))[-1].instance)).as_dict()
    assert check_certificate(problem, forged).valid
    if "min_groups" in changed:
        number = changed["min_groups"]
        forged["problem"] = {key: each for key, each in forged["problem"].items() if key != "min_groups"}
        forged["problem"] |= {} if number is None else {"min_groups": number}
    else:
        forged |= changed
    report = check_certificate(problem, forged)
    assert not report.valid
    assert said in " ".join(report.problems)


@pytest.mark.parametrize("more", [1, 3])
def test_groups_are_split_until_there_are_enough(more: int) -> None:
    instance = prepare(people(min_groups=2))
    table = present(greedy(instance, NO_LIMIT))
    fewest = len(np.unique(table.candidate)) + more
    found = split_groups(instance, table, fewest, NO_LIMIT)
    sizes = np.bincount(present(found).candidate, weights=present(found).rows)
    assert (sizes > 0).sum() == fewest
    assert (sizes[sizes > 0] >= 3).all()
    assert split_groups(instance, table, 41, NO_LIMIT) is None  # 120 rows are 40 groups at most
