"""Numbers of groups, least, largest and exact, as limits and as the objective: bound, tables and certificates against
brute force."""

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
from oracle import cheapest, optimum
from present import present
from sensitive_cases import KINDS, drawn_sensitive_case
from strategies import drawn_case, reduced

import kanon_milp as km
from kanon_milp.bounds import DualPoint, certify, exact_value, proven_bound, round_dual
from kanon_milp.bounds.certificate import certified_instance, certify_required, required_instance
from kanon_milp.bounds.lagrangian_bound import lagrangian, required_bound
from kanon_milp.bounds.packing_cuts import first_sets
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.errors import InputError, TooManyLevelVectorsError
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.interchange import InterchangeParameters, interchange
from kanon_milp.heuristics.splitting import split_groups
from kanon_milp.methods import direct, group_number
from kanon_milp.methods.session import Session
from kanon_milp.presolve import preparation
from kanon_milp.presolve.infeasibility import numbers_of_groups, refuse_side_constraints
from kanon_milp.presolve.instance import compress_table, prepare, types_of
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import get
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT
from kanon_milp.verify.certificate import check_certificate

BY_SEARCH = {"auto.limited_pairs": 1, "auto.search_pairs": 1, "auto.few_pairs": 0}
Optima = dict[tuple[int | None, int | None], Fraction]


def optima(draw: Random) -> tuple[km.Problem, Optima]:
    """A problem with the least loss of some least and largest numbers of groups; None: any."""
    case = replace(drawn_case(draw, (2, 8), sides=False), sides={})
    least = cheapest(case.rows, case.k, **case.judged())
    found: Optima = {}
    for fewest in (None, *range(1, max(least, default=0) + 1)):
        for most in range(1, len(case.rows) + 1) if fewest is None else (None, fewest, fewest + 1):
            losses = [least[g] for g in least if (fewest or 0) <= g <= (most or len(case.rows))]
            found |= {(fewest, most): min(losses)} if losses else {}
    return case.problem(), found


@pytest.mark.parametrize("seed", range(examples(120, 2)))
def test_any_multipliers_bound_the_loss_of_so_many_groups(seed: int) -> None:
    draw = Random(f"many-{seed}")
    free, least = optima(draw)
    for (fewest, most), best in least.items():
        problem = replace(free, min_groups=fewest, max_groups=most)
        instance = reduced(problem)
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


@pytest.mark.parametrize("seed", range(examples(200, 10)))
def test_so_do_any_multipliers_under_requirements(seed: int) -> None:
    """Values and numbers of groups are in one bound, and in one certificate."""
    draw = Random(f"values-{seed}")
    case = drawn_sensitive_case(draw, [[*KINDS][seed % len(KINDS)]], (3, 7), sides=False)
    sides = ({"max_groups": 1}, {"max_groups": 2}, {"min_groups": 2}, {"min_groups": 2, "max_groups": 2})[seed % 4]
    case = replace(case, case=replace(case.case, sides=sides))
    problem, best = case.problem(), truth(case).best
    instance = required_instance(problem)
    if instance is None or set(instance.candidates.members.tolist()) != set(range(instance.types.count)):
        return
    sets, charged = first_sets(instance), sum(each.closeness is not None for each in relaxations_of(instance))
    drawn = DualPoint(
        np.array([draw.uniform(-1, 6) for _ in range(instance.types.count)]),
        sets=sets,
        packing_multipliers=np.array([draw.uniform(0, 9) for _ in range(sets.lists)]),
        charges=np.array([draw.choice([0.0, 0.0, 1.0, 3.0]) for _ in range(charged * instance.candidates.count)]),
    )
    for point in (drawn, required_bound(instance, iterations=60, small=False, sets=sets)):
        found = certify_required(problem, instance, point)
        report = check_certificate(problem, found)
        assert best is None or (report.bound <= best and found.bound <= best)
        assert report.valid or report.bound < found.bound  # it knows less of some requirements
        claimed = found.as_dict()
        assert not check_certificate(problem, {**claimed, "bound": str(max(found.bound, report.bound) + 1)}).valid
        for key in {*sides} & {*claimed["problem"]}:
            other = {**claimed, "problem": {**claimed["problem"], key: sides[key] + 1}}
            assert not check_certificate(problem, other).valid


@pytest.mark.parametrize("sides", [{"max_groups": 8}, {"min_groups": 12}])
def test_values_and_numbers_of_groups_are_in_one_bound(sides: dict[str, Any]) -> None:
    """Sizes and the number of groups prove less."""
    draw = Random(2)
    rows = [(draw.choice("abc"), draw.choice("abcd"), draw.choice("sssst")) for _ in range(48)]
    table = km.Table.from_frame(pl.DataFrame(rows, ["a", "b", "c"], orient="row"), ["a", "b"], "c")
    problem = km.Problem(table, [km.KAnonymity(2), km.PSensitivity(2)], **sides)
    found = km.solve(problem, time_limit=20, parameters=BY_SEARCH).require_optimal()
    assert "required bound" in {run.name for run in found.phases}
    certificate = found.certify()
    assert certificate.charges is not None
    assert sides.items() <= certificate.problem.items()
    report = check_certificate(problem, certificate)
    assert report.valid
    sizes = certify(problem, lagrangian(certified_instance(problem)))
    assert sizes.bound < report.bound <= present(found.exact_objective)


@pytest.mark.parametrize("seed", range(examples(40, 1)))
def test_the_optimum_of_so_many_groups(seed: int) -> None:
    free, least = optima(Random(f"at-least-{seed}"))
    for (fewest, most), best in least.items():
        found = km.solve(
            replace(free, min_groups=fewest, max_groups=most), time_limit=20, parameters=BY_SEARCH
        ).require_optimal()
        assert found.exact_objective == best
        assert (fewest or 0) <= present(found.report).groups <= (most or 9)


@pytest.mark.parametrize("seed", range(examples(20, 1)))
def test_the_first_multipliers_of_one_group_are_the_best_ones(seed: int) -> None:
    draw, seen = Random(f"one-{seed}"), 0
    for _ in range(12):
        free, least = optima(draw)
        problem = replace(free, max_groups=1)
        instance = reduced(problem)
        if free.suppressed_rows == "exempt" or (None, 1) not in least:
            continue
        seen += 1
        found = lagrangian(instance, iterations=1)
        assert proven_bound(instance, round_dual(found)) * instance.levels.unit == least[None, 1]
    assert seen > 2


def people(rows: int, columns: int, **sides: Any) -> km.Problem:
    draw = Random(5)
    frame = pl.DataFrame({f"q{j}": [draw.choice("abcdef"[: 3 + j % 3]) for _ in range(rows)] for j in range(columns)})
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3), **sides)


@pytest.mark.full
def test_a_limit_that_binds_is_in_the_bound_the_search_and_the_certificate() -> None:
    problem = people(400, 5, max_groups=12)
    found = km.solve(problem, time_limit=30)
    assert found.verified
    assert present(found.report).groups <= 12
    assert {"limit on groups", "lagrangian", "interchange"} <= {run.name for run in found.phases}
    free = km.solve(people(400, 5), time_limit=10)
    assert present(found.bound) > present(free.objective)
    assert present(found.bound) >= 0.9 * present(found.objective)
    certificate = found.certify()
    assert certificate.problem["max_groups"] == 12
    report = check_certificate(problem, certificate)
    assert report.valid
    assert present(free.exact_objective) < report.bound <= present(found.exact_objective)
    assert "at most 12 groups" in report.statement
    # it says nothing of tables of more groups, and a claim of fewer is another one
    for other in (people(400, 5), people(400, 5, max_groups=13), people(400, 5, max_groups=11)):
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
    free = km.solve(people(60, 5)).require_optimal()
    few = km.solve(people(60, 5, max_groups=3)).require_optimal()
    least = present(few.objective)
    assert present(free.objective) < least - 1
    found = km.solve(people(60, 5, max_groups=3, cost_bound=int(least) - 1), time_limit=20, method="search")
    assert found.proof == "infeasible"
    assert km.solve(people(60, 5, max_groups=3, cost_bound=int(least))).require_optimal().objective == least


def test_a_certificate_without_the_limit_holds_with_it() -> None:
    free = people(400, 5)
    certificate = certify(free, lagrangian(reduced(free)))
    assert "max_groups" not in certificate.problem
    assert check_certificate(people(400, 5, max_groups=12), certificate).valid


def test_interchange_places_all_rows_in_few_groups() -> None:
    for most in (1, 2, 5, 20):
        problem = people(400, 5, max_groups=most)
        instance = reduced(problem)
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


def crossed(**sides: Any) -> km.Problem:
    """12 released rows at no loss; each one more costs 3 cells at least, and there are 20 in all."""
    rows = [(a, b) for a in "abc" for b in "abcd" for _ in range(10)]
    table = km.Table.from_frame(pl.DataFrame(rows, ["a", "b"], orient="row"), ["a", "b"])
    return km.Problem(table, km.KAnonymity(3), **sides)


def test_a_least_number_that_binds_is_in_the_bound_and_stated() -> None:
    problem, free = crossed(min_groups=16), crossed()
    instance = reduced(problem)
    dual, without = lagrangian(instance), lagrangian(reduced(free))
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
        exact_value(reduced(free), round_dual(dual))


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
    forged = certify(problem, lagrangian(reduced(problem))).as_dict()
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
    instance = prepare(people(120, 4, min_groups=2))
    table = present(greedy(instance, NO_LIMIT))
    fewest = len(np.unique(table.candidate)) + more
    found = split_groups(instance, table, fewest, NO_LIMIT)
    sizes = np.bincount(present(found).candidate, weights=present(found).rows)
    assert (sizes > 0).sum() == fewest
    assert (sizes[sizes > 0] >= 3).all()
    assert split_groups(instance, table, 41, NO_LIMIT) is None  # 120 rows are 40 groups at most


def test_a_bound_above_what_any_table_loses_refutes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three groups, where fully suppressed rows alone may be fewer than seven: there are two at most."""
    monkeypatch.setattr(preparation, "FEW_VECTORS", 0)
    monkeypatch.setattr(preparation, "PRICED_PAIRS", 0)
    for labels in (1 << 30, 0):
        monkeypatch.setattr(preparation, "MOST_LABELS", labels)
        frame = pl.DataFrame({"a": list("cbacbcab"), "b": list("uuvvuuvv")})
        problem = km.Problem(
            km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(7), suppressed_rows="exempt", min_groups=3
        )
        found = km.solve(problem, method="search", iteration_limit=2)
        assert found.proof == "infeasible" if labels else found.table is None


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
