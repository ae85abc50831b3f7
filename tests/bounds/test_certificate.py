"""A certificate proves no more than what is true, and the checker believes nothing that it says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from census import census, census_problem
from certificate_cases import Q8, ROWS, best_loss, certificate, drawn_dual, point, problem, refused
from effort import examples
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from oracle import optimum
from sensitive_cases import KINDS, SensitiveCase, sensitive_cases
from strategies import PATHS, Case, cases, reduced

import kanon_milp as km
from kanon_milp.bounds import certified_instance, certify, lagrangian, proven_bound, round_dual
from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import prepare
from kanon_milp.verify.certificate import check_certificate
from kanon_milp.verify.claims import claimed
from kanon_milp.verify.definitions import Supply, group_needs
from kanon_milp.verify.tables import Original


def test_a_certificate_of_more_groups_than_rows_says_that_there_is_no_table() -> None:
    case = Case((("a",),), 1, None, (Fraction(1),), {}, {}, "strict", {"min_groups": 2, "objective": "loss"})
    asked = case.problem()
    report = check_certificate(asked, certify(asked, lagrangian(certified_instance(asked))))
    assert report.valid
    assert report.vacuous
    assert report.statement.startswith("there is no ")
    assert best_loss(case) is None


WRITTEN = tuple(
    kind for kind in KINDS if kind not in ("alpha named", "l recursive") and not kind.startswith(("delta", "t"))
)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("t") or "equal" in kind])
def test_no_group_needs_less_than_what_is_demanded(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=6, with_k=False, sides=False))
    @settings(max_examples=8)
    def needs(case: SensitiveCase) -> None:
        problem = case.problem()
        asked = group_needs(claimed(problem.requirements), Original.of(problem.table), "exempt")
        demand = asked.exempt
        assert demand == asked.strict
        rows = range(len(case.secrets))
        for group in itertools.chain.from_iterable(itertools.combinations(rows, s) for s in rows[1:]):
            if case.requirement(group):
                assert len(group) >= demand.size
                assert all(supplied(supply, [case.secrets[i] for i in group]) for supply in demand.supplies)
        if kind in WRITTEN:  # of others less is written down than the package knows
            whole = prepare(problem).table_group
            assert demand.size == max(requirement.smallest_group(whole) for requirement in problem.requirements)

    needs()


def supplied(supply: Supply, secrets: Sequence[tuple[str | None, ...]]) -> bool:
    held = [row[int(supply.attribute[1:])] for row in secrets]
    total = sum(min(supply.scale * held.count(value), supply.limits[value]) for value in set(held))
    return total >= supply.need


@given(sensitive_cases(["p"], with_k=True))
@settings(max_examples=examples(10, 3))
def test_multipliers_of_rows_split_by_sensitive_values_count_too(case: SensitiveCase) -> None:
    problem = case.problem()
    instance = prepare(problem)
    if problem.objective == "loss":
        assert check_certificate(problem, certify(problem, lagrangian(instance, iterations=20))).valid


# no row may be suppressed fully, so that fully suppressed rows are exempt changes nothing
NONE_EXEMPT = Case((("a", "a"),) * 3 + (("a", "b"),), 3, ((0, 0), (0, 1)), (Fraction(1),) * 2, {}, {}, "exempt", {})
IN_THIRDS = tuple(Fraction(each, 3) for each in range(4))


@example(NONE_EXEMPT)
@example(replace(NONE_EXEMPT, hierarchies={1: PATHS}, level_costs={1: IN_THIRDS}))
@given(cases(sides=False))
@settings(max_examples=examples(40, 5))
def test_nothing_is_lost_against_the_reduced_instance(case: Case) -> None:
    problem = case.problem()
    instance = reduced(problem)
    assume(set(instance.candidates.members.tolist()) == set(range(instance.types.count)))
    dual = lagrangian(instance)
    bound = max(proven_bound(instance, round_dual(dual)), 0) * instance.levels.unit
    assert check_certificate(problem, certify(problem, dual)).bound == bound


@given(cases(), st.data())
@settings(max_examples=examples(40, 5))
def test_whoever_forges_multipliers_proves_nothing_false(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    forged = certify(problem, drawn_dual(data, problem)).as_dict()
    at = data.draw(st.integers(0, len(forged["multipliers"]) - 1))
    forged["multipliers"][at] += data.draw(st.integers(-(10**5), 10**5))
    for row in forged["counting_rows"]:
        row["rows"] = sorted(data.draw(st.sets(st.integers(0, len(forged["multipliers"]) - 1), min_size=1)))
        row["multiplier"] = data.draw(st.integers(0, 10**5))
    forged["bound"] = "1000000"
    report = check_certificate(problem, forged)
    assert not report.valid
    assert "its multipliers prove" in report.problems[0]
    best = best_loss(case)
    assert best is None or report.bound <= best


# --------------------------------------------------------------------------------------- one table, known numbers


def test_a_certificate_says_what_it_proves() -> None:
    report = check_certificate(problem(), certificate())
    assert report.valid
    assert report.bound == 4  # two rows stay; of the other four each loses at least one cell
    assert report.statement == "no 2-anonymous table suppresses fewer than 4 cells"
    assert report.summary().splitlines()[0] == "certificate: valid"
    assert json.loads(json.dumps(report.as_dict()))["bound"] == "4"


def test_the_bound_is_rounded_up_to_whole_units() -> None:
    found = certify(problem(), point([0, 1 / 3, 0.5, 0, 0]))
    assert found.bound == 1
    assert check_certificate(problem(), found).valid


def test_a_changed_multiplier_proves_less() -> None:
    honest = certificate()
    multipliers = list(honest.multipliers)
    for at in range(len(multipliers)):
        for change in (-5 * honest.denominator, 10 * honest.denominator):
            changed = [x + change * (i == at) for i, x in enumerate(multipliers)]
            report = check_certificate(problem(), replace(honest, multipliers=tuple(changed)))
            assert not report.valid
            assert report.bound < 4
            assert report.problems == (f"the certificate claims 4; its multipliers prove {report.bound}",)
            assert report.statement.startswith(f"no 2-anonymous table suppresses fewer than {report.bound} cells")
            assert report.vacuous == (report.bound == 0)


def test_it_is_about_one_table() -> None:
    honest = certificate()
    for at in range(len(ROWS)):
        other = list(ROWS)
        other[at] = ("m", "99")
        refused(check_certificate(problem(rows=other), honest), "another table")
    refused(check_certificate(problem(rows=[*ROWS, ROWS[0]]), honest), "another table")
    assert check_certificate(problem(rows=ROWS[::-1]), honest).valid  # the order of the rows does not matter


def test_sensitive_values_are_part_of_the_table() -> None:
    def asked(values: Sequence[str]) -> km.Problem:
        frame = pl.DataFrame(
            [(*row, v) for row, v in zip(ROWS, values, strict=True)], ["sex", "age", "s"], orient="row"
        )
        return km.Problem(km.Table.from_frame(frame, ["sex", "age"], "s"), [km.PSensitivity(2)])

    honest = certificate(asked("abcabc"))
    assert check_certificate(asked("abcabc"), honest).bound == 4
    refused(check_certificate(asked("abcabb"), honest), "another table")


def test_it_is_about_one_problem() -> None:
    honest = certificate()
    refused(check_certificate(problem(3), honest), "it has k-anonymity (k = 2), not k-anonymity (k = 3)")
    refused(check_certificate(problem(1), honest), "requirements differ")
    refused(check_certificate(problem(suppressed_rows="exempt"), honest), "fully suppressed rows differ")
    refused(check_certificate(problem(recoding=km.Suppression({"age": 2})), honest), "weights or level costs differ")
    mask = km.PatternMask([(0, 0), (1, 1)])
    refused(check_certificate(problem(recoding=mask), honest), "pattern mask differ")
    paths: dict[str | None, tuple[str | None, ...]] = {v: (v, "x", "*") for v in ("30", "31", "40", "41")}
    tree = km.Hierarchies({"age": km.Hierarchy(paths)}, level_costs={"age": [0, 0, 1]})
    refused(check_certificate(problem(recoding=tree), honest), "hierarchies, weights or level costs differ")
    moved = {**paths, "41": ("41", "y", "*")}
    other = km.Hierarchies({"age": km.Hierarchy(moved)}, level_costs={"age": [0, 0, 1]})
    refused(check_certificate(problem(recoding=other), certificate(problem(recoding=tree))), "hierarchies")


def test_objective_and_side_constraints_play_no_part() -> None:
    honest = certificate()
    assert check_certificate(problem(objective="max_groups", min_groups=2, cost_bound=3), honest).bound == 4
    assert certificate(problem(objective="min_groups", max_groups=1)).bound == 4


def test_one_certificate_for_requirements_in_any_order() -> None:
    frame = pl.DataFrame([(*row, v) for row, v in zip(ROWS, "abcabc", strict=True)], ["sex", "age", "s"], orient="row")
    secret = km.Table.from_frame(frame, ["sex", "age"], "s")
    here, there = [km.KAnonymity(3), km.PSensitivity(2)], [km.PSensitivity(2), km.KAnonymity(3)]
    report = check_certificate(km.Problem(secret, there), certificate(km.Problem(secret, here)))
    assert report.valid
    assert "p-sensitivity (p = 2, sensitive = s) and k-anonymity (k = 3)" in report.statement


# --------------------------------------------------------------------------------------- packing cuts

THREE = [("a", "b", "x"), ("a", "y", "c"), ("z", "b", "c")]  # each two agree in one column


def three(**more: Any) -> km.Problem:
    frame = pl.DataFrame(THREE, schema=["p", "q", "r"], orient="row")
    return km.Problem(km.Table.from_frame(frame, ["p", "q", "r"]), [km.KAnonymity(2)], **more)


def test_a_counting_row_closes_a_gap_that_the_relaxation_leaves() -> None:
    instance = certified_instance(three())
    assert certify(three(), lagrangian(instance, packing_cuts=False)).bound == 6
    found = certify(three(), lagrangian(instance))
    assert found.bound == optimum(THREE, 2) == 9
    assert [rows for rows, _ in found.counting_rows] == [(0, 1, 2)]
    report = check_certificate(three(), found)
    assert report.valid
    assert report.bound == 9
    refused(check_certificate(three(), replace(found, counting_rows=(((0, 1, 2), -1),))), "negative")
    refused(check_certificate(three(), replace(found, counting_rows=(((0, 1, 3), 1),))), "does not have")
    without = check_certificate(three(), replace(found, counting_rows=()))
    assert not without.valid
    assert without.bound < 9
    with pytest.raises(InputError, match="finite"):
        certify(three(), point([2, 2, 2], [[0, 1, 2]], [float("nan")]))


def test_the_size_of_the_groups_in_a_set_is_that_of_the_smallest_that_is_allowed() -> None:
    # (*, *, *) alone is exempt: of all rows there may be more groups than of others
    asked = three(suppressed_rows="exempt")
    best = optimum(THREE, 2, suppressed_rows="exempt")
    for charge in range(8):
        for sets in ([[0, 1, 2]], [[0, 1]], [[0, 1], [0, 2], [1, 2]]):
            report = check_certificate(asked, certify(asked, point([3, 3, 3], sets, [charge] * len(sets))))
            assert report.valid
            assert best is not None
            assert report.bound <= best
    claim = {**certify(asked, point([5, 5, 5])).as_dict(), "bound": "10"}
    claim["counting_rows"] = [{"rows": [0, 1, 2], "multiplier": 6 * claim["denominator"]}]
    report = check_certificate(asked, claim)
    assert not report.valid
    assert best is not None
    assert report.bound <= best


# --------------------------------------------------------------------------------------- a census


@pytest.mark.full
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("patterns", [None, 20])
def test_nothing_is_lost_on_a_census(k: int, patterns: int | None) -> None:
    recoding = km.Suppression() if patterns is None else km.PatternMask.random(Q8, patterns, 0)
    asked = km.Problem(census_problem(400, k).table, [km.KAnonymity(k)], recoding)
    instance = reduced(asked)
    dual = lagrangian(instance)
    report = check_certificate(asked, certify(asked, dual))
    assert report.valid
    assert report.bound == proven_bound(instance, round_dual(dual))
    assert dual.value - 0.1 <= report.bound <= dual.value + 1


@pytest.mark.parametrize(
    "privacy",
    [
        [km.KAnonymity(5), km.PSensitivity(2)],
        [km.LDiversity("3/2")],
        [km.AlphaKAnonymity("0.8", 3)],
        [km.BetaLikeness("0.5")],
        [km.TCloseness("0.1")],
    ],
    ids=lambda privacy: privacy[-1].name,
)
def test_nothing_is_lost_with_other_requirements_on_a_census(privacy: list[km.Requirement]) -> None:
    asked = km.Problem(km.Table.from_frame(census(200), Q8[:4], "disease"), privacy)
    instance = reduced(asked)
    dual = lagrangian(instance, iterations=300)
    report = check_certificate(asked, certify(asked, dual))
    assert report.valid
    assert report.bound >= proven_bound(instance, round_dual(dual))
