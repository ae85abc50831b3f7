"""A certificate proves no more than what is true, and the checker believes nothing that it says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from sensitive_cases import KINDS, SensitiveCase, sensitive_cases
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.bounds import Certificate, DualPoint, certified_instance, certify, lagrangian, proven_bound
from kanon_milp.bounds import round_multipliers as rounded
from kanon_milp.errors import InputError
from kanon_milp.instance import prepare
from kanon_milp.reductions import reduce
from kanon_milp.verify.cells import ColumnRule
from kanon_milp.verify.certificate import CertificateReport, check_certificate, check_certificate_files
from kanon_milp.verify.dual import Released
from kanon_milp.verify.sizes import Supply, least_demands

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def point(multipliers: Sequence[float]) -> DualPoint:
    return DualPoint(np.array(multipliers, dtype=float), 0.0, None, np.zeros(0))


def best_loss(case: Case | SensitiveCase) -> Fraction | None:
    """The least loss, side constraints and other objectives aside."""
    plain = case.case if isinstance(case, SensitiveCase) else case
    asked = {key: value for key, value in case.judged().items() if key not in plain.sides}
    return optimum(plain.rows, case.k, **asked)


def drawn_dual(data: st.DataObject, problem: km.Problem) -> DualPoint:
    """Any multipliers, or the best ones."""
    instance = certified_instance(problem)
    if data.draw(st.booleans()) and set(instance.candidates.members.tolist()) == set(range(instance.types.count)):
        return lagrangian(instance)
    count = instance.types.count
    quarters = data.draw(st.lists(st.integers(-12, 48), min_size=count, max_size=count))
    return point([x / 4 for x in quarters])


@given(cases(), st.data())
@settings(relaxed, max_examples=40)
def test_what_is_certified_is_accepted_and_below_the_optimum(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    certificate = certify(problem, drawn_dual(data, problem))
    report = check_certificate(problem, certificate)
    assert report.valid
    assert report.problems == ()
    assert report.bound == report.claimed == certificate.bound
    best = best_loss(case)
    assert best is None or report.bound <= best


@given(sensitive_cases(), st.data())
@settings(relaxed, max_examples=40)
def test_with_other_requirements_too(case: SensitiveCase, data: st.DataObject) -> None:
    problem = case.problem()
    certificate = certify(problem, drawn_dual(data, problem))
    report = check_certificate(problem, certificate.as_dict())
    assert report.valid
    assert report.bound >= certificate.bound
    best = best_loss(case)
    assert best is None or report.bound <= best


WRITTEN = tuple(kind for kind in KINDS if kind not in ("alpha named",) and not kind.startswith(("delta", "t")))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("t") or "equal" in kind])
def test_no_group_needs_less_than_what_is_demanded(kind: str) -> None:
    @given(sensitive_cases([kind], max_rows=6, with_k=False, sides=False))
    @settings(relaxed, max_examples=8)
    def needs(case: SensitiveCase) -> None:
        problem = case.problem()
        described = [{"name": r.name, **r.describe()} for r in problem.requirements]
        demand, same = least_demands(json.loads(json.dumps(described)), problem.table, "exempt")
        assert demand == same
        rows = range(len(case.secrets))
        for group in itertools.chain.from_iterable(itertools.combinations(rows, s) for s in rows[1:]):
            if case.requirement(group):
                assert len(group) >= demand.size
                assert all(supplied(supply, [case.secrets[i] for i in group]) for supply in demand.supplies)
        if kind in WRITTEN:  # of others less is written down than the package knows
            whole = prepare(problem).whole
            assert demand.size == max(requirement.smallest_group(whole) for requirement in problem.requirements)

    needs()


def supplied(supply: Supply, secrets: Sequence[tuple[str | None, ...]]) -> bool:
    held = [row[int(supply.attribute[1:])] for row in secrets]
    total = sum(min(supply.scale * held.count(value), supply.limits[value]) for value in set(held))
    return total >= supply.need


@given(sensitive_cases(["p"], with_k=True))
@settings(relaxed, max_examples=10)
def test_multipliers_of_rows_split_by_sensitive_values_count_too(case: SensitiveCase) -> None:
    problem = case.problem()
    instance = prepare(problem)
    if problem.objective == "loss":
        assert check_certificate(problem, certify(problem, lagrangian(instance, iterations=20))).valid


@given(cases(sides=False))
@settings(relaxed, max_examples=40)
def test_nothing_is_lost_against_the_reduced_instance(case: Case) -> None:
    problem = case.problem()
    instance = reduce(prepare(problem))[-1].instance
    assume(set(instance.candidates.members.tolist()) == set(range(instance.types.count)))
    dual = lagrangian(instance)
    bound = max(proven_bound(instance, rounded(dual.multipliers)), 0) * instance.levels.unit
    assert check_certificate(problem, certify(problem, dual)).bound == bound


@given(cases(), st.data())
@settings(relaxed, max_examples=40)
def test_whoever_forges_multipliers_proves_nothing_false(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    forged = certify(problem, drawn_dual(data, problem)).as_dict()
    at = data.draw(st.integers(0, len(forged["multipliers"]) - 1))
    forged["multipliers"][at] += data.draw(st.integers(-(10**5), 10**5))
    forged["bound"] = "1000000"
    report = check_certificate(problem, forged)
    assert not report.valid
    assert "its multipliers prove" in report.problems[0]
    best = best_loss(case)
    assert best is None or report.bound <= best


# --------------------------------------------------------------------------------------- one table, known numbers

ROWS = [("m", "30"), ("m", "30"), ("m", "31"), ("f", "31"), ("f", "40"), ("f", "41")]


def table(rows: Sequence[tuple[str | None, ...]] = ROWS) -> km.Table:
    return km.Table.from_frame(pl.DataFrame(list(rows), schema=["sex", "age"], orient="row"), ["sex", "age"])


def problem(k: int = 2, rows: Sequence[tuple[str | None, ...]] = ROWS, **more: Any) -> km.Problem:
    return km.Problem(table(rows), [km.KAnonymity(k)], **more)


def certificate(asked: km.Problem | None = None) -> Certificate:
    asked = asked or problem()
    return certify(asked, lagrangian(certified_instance(asked)))


def refused(report: CertificateReport, text: str) -> None:
    assert not report.valid
    assert report.bound == 0
    assert report.statement == "nothing is proven"
    assert any(text in each for each in report.problems), report.problems


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
            assert report.statement == f"no 2-anonymous table suppresses fewer than {report.bound} cells"


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
    refused(check_certificate(problem(3), honest), "it has k_anonymity (k = 2), not k_anonymity (k = 3)")
    refused(check_certificate(problem(1), honest), "requirements differ")
    refused(check_certificate(problem(suppressed_rows="exempt"), honest), "fully suppressed rows differ")
    refused(check_certificate(problem(recoding=km.Suppression({"age": 2})), honest), "weights or level costs differ")
    mask = km.PatternMask([(0, 0), (1, 1)])
    refused(check_certificate(problem(recoding=mask), honest), "pattern mask differ")
    paths = {v: (v, "x", "*") for v in ("30", "31", "40", "41")}
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
    assert "p_sensitivity (p = 2, sensitive = s) and k_anonymity (k = 3)" in report.statement


# --------------------------------------------------------------------------------------- what could go wrong


def test_exempt_rows_count_with_their_own_size() -> None:
    rows = [("m", "30")] * 3 + [("f", "31")]
    for reading, best, proven in (("exempt", 2, 2), ("strict", 8, 6)):
        asked = problem(3, rows, suppressed_rows=reading)
        for dual in (point([9, 9]), point([9, 0]), point([0, 2]), lagrangian(certified_instance(asked))):
            report = check_certificate(asked, certify(asked, dual))
            assert report.valid
            assert report.bound <= best
        assert report.bound == proven
    assert check_certificate(problem(3, rows, suppressed_rows="exempt"), certificate(asked)).bound == 0


def test_exempt_rows_need_not_move_to_where_more_partners_are_needed() -> None:
    rows = [("m", "30")] * 3 + [("m", "31")]  # (m, *) covers all rows and is cheaper than (*, *), but needs three
    asked = problem(3, rows, suppressed_rows="exempt")
    assert optimum(rows, 3, suppressed_rows="exempt") == 2
    bounds = {check_certificate(asked, certify(asked, point([a, b]))).bound for a in range(4) for b in range(8)}
    assert max(bounds) == 2


def test_what_is_exempt_from_k_is_not_from_other_requirements() -> None:
    rows = [("m", "30", "a")] * 3 + [("m", "30", "b"), ("f", "31", "b"), ("f", "41", "b")]
    frame = pl.DataFrame(rows, schema=["sex", "age", "s"], orient="row")
    secret = km.Table.from_frame(frame, ["sex", "age"], "s")
    asked = km.Problem(secret, [km.KAnonymity(4), km.PSensitivity(2)], suppressed_rows="exempt")
    best = optimum(
        [row[:2] for row in rows],
        4,
        suppressed_rows="exempt",
        requirement=lambda group: len({rows[i][2] for i in group}) >= 2,
    )
    report = check_certificate(asked, certificate(asked))
    assert report.valid
    assert best is not None
    assert 0 < report.bound <= best


def test_a_released_cell_that_could_be_read_in_two_ways_is_refused() -> None:
    ages = pl.Series(["30", "31", "40", "41"])

    def rule(paths: dict[str | None, tuple[str | None, ...]]) -> ColumnRule:
        return ColumnRule("age", "?", paths, (Fraction(0), Fraction(1), Fraction(2)))

    same = Released.of(rule({v: (v, v if v == "41" else "x", "?") for v in ages}), ages)
    assert same.of_row.tolist() == [[0, 3, 4, 5], [1, 1, 1, 5], [2, 2, 2, 2]]
    with pytest.raises(InputError, match="names different values at two levels"):
        Released.of(rule({v: (v, "41", "?") for v in ages}), ages)
    with pytest.raises(InputError, match="symbol is a label below the top"):
        Released.of(rule({v: (v, "?", "?") for v in ages}), ages)


def test_negative_weights_are_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        check_certificate(problem(recoding=km.Suppression({"age": -1})), certificate())


def test_large_numbers_are_refused_and_never_wrap() -> None:
    honest = certificate()
    for forged in (
        replace(honest, multipliers=(1 << 62, *honest.multipliers[1:])),
        replace(honest, multipliers=(-(1 << 80), *honest.multipliers[1:])),
        replace(honest, denominator=1 << 62),
    ):
        refused(check_certificate(problem(), forged), "too large or too fine")
    fits = replace(honest, multipliers=((1 << 62) // 6 - 10**5, *honest.multipliers[1:]))
    assert not check_certificate(problem(), fits).valid
    heavy = problem(recoding=km.Suppression({"age": 2**46, "sex": 2**46 - 1}))
    found = certificate(heavy)  # with a smaller denominator
    assert found.denominator < 4096
    assert check_certificate(heavy, found).valid
    best = optimum(ROWS, 2, weights=[2**46 - 1, 2**46])
    assert best is not None
    assert 0 < found.bound <= best
    with pytest.raises(InputError, match="finite"):
        certify(problem(), point([float("inf")] * 5))
    with pytest.raises(InputError, match="too large"):
        certify(problem(), point([1e30] * 5))
    with pytest.raises(InputError, match="4 multipliers; the table has 5"):
        certify(problem(), point([0] * 4))


def test_a_wrong_number_of_multipliers_or_another_unit_is_refused() -> None:
    honest = certificate()
    refused(
        check_certificate(problem(), replace(honest, multipliers=honest.multipliers[1:])), "there are 4 multipliers"
    )
    refused(check_certificate(problem(), replace(honest, unit=Fraction(2))), "another unit")


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "something else"},
        {"version": 2},
        {"denominator": 0},
        {"denominator": 1.0},
        {"multipliers": [1.5] * 5},
        {"multipliers": [True] * 5},
        {"multipliers": "12345"},
        {"bound": "1e999999999"},
        {"bound": 4},
        {"unit": "0/0"},
        {"unit": "-1"},
        {"problem": []},
    ],
    ids=str,
)
def test_what_is_no_certificate_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    data = {**certificate().as_dict(), **changed}
    with pytest.raises(InputError, match="certificate"):
        check_certificate(problem(), data)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"c\.json"):
        check_certificate(problem(), path)


@pytest.mark.parametrize("text", ["", "[]", "nothing", "[" * 10**5, '{"format": 1}', '"text"'], ids=lambda t: t[:9])
def test_what_is_no_json_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    for read in (Certificate.read, lambda p: check_certificate(problem(), p)):
        with pytest.raises(InputError, match=r"c\.json"):
            read(path)
    with pytest.raises(InputError, match=r"none\.json"):
        Certificate.read(tmp_path / "none.json")


# --------------------------------------------------------------------------------------- files


def write_csv(path: Path, header: str, rows: Sequence[Sequence[str | None]]) -> Path:
    path.write_text("\n".join([header, *(",".join(cell or "" for cell in row) for row in rows)]) + "\n")
    return path


def test_a_file_is_written_whole_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    certificate().write(path)
    assert Certificate.read(path) == certificate()
    assert [each.name for each in tmp_path.iterdir()] == ["c.json"]
    assert check_certificate(problem(), path).valid
    with pytest.raises(InputError, match="cannot be written"):
        certificate().write(tmp_path / "nowhere" / "c.json")


def test_a_stranger_checks_with_the_table_alone(tmp_path: Path) -> None:
    original = write_csv(
        tmp_path / "people.csv", "age,other,sex", [(age, str(i), sex) for i, (sex, age) in enumerate(ROWS)]
    )
    found = tmp_path / "c.json"
    certificate().write(found)
    assert check_certificate_files(original, found).statement == "no 2-anonymous table suppresses fewer than 4 cells"
    own = {"quasi_identifiers": ["age", "sex"], "privacy": [km.KAnonymity(2)], "suppressed_rows": "strict"}
    assert check_certificate_files(original, found, **own).bound == 4  # type: ignore[arg-type]
    refused(check_certificate_files(original, found, privacy=[km.KAnonymity(3)]), "requirements differ")
    refused(check_certificate_files(original, found, quasi_identifiers="age"), "quasi-identifiers differ")
    refused(check_certificate_files(original, found, sensitive="other"), "sensitive attributes differ")
    refused(check_certificate_files(original, found, suppressed_rows="exempt"), "fully suppressed rows differ")
    refused(check_certificate_files(original, found, weights={"age": 2}), "weights or level costs differ")
    other = write_csv(tmp_path / "other.csv", "sex,age", [("f", "30"), *ROWS[1:]])
    refused(check_certificate_files(other, found), "another table")


def test_a_stranger_checks_what_is_asked_of_sensitive_values(tmp_path: Path) -> None:
    rows = [(*row, secret) for row, secret in zip(ROWS, ("a", "a", "b", "a", None, "b"), strict=True)]
    original = write_csv(tmp_path / "people.csv", "sex,age,s", rows)
    found = tmp_path / "c.json"
    read = km.read_table(original, ["sex", "age"], "s")
    certificate(km.Problem(read, [km.PSensitivity(2)])).write(found)
    best = optimum(ROWS, 1, requirement=lambda group: len({rows[i][2] for i in group}) >= 2)
    report = check_certificate_files(original, found, sensitive="s", privacy=[km.PSensitivity(2)])
    assert report.valid
    assert best is not None
    assert 4 < report.bound <= best  # more than what 2-anonymity alone asks for
    refused(check_certificate_files(original, found, privacy=[km.PSensitivity(3)]), "requirements differ")
    write_csv(tmp_path / "s.csv", "level0,level1", [("a", "*"), ("b", "*")])  # a ground distance, no recoding
    assert check_certificate_files(original, found, hierarchies=tmp_path).valid
    with pytest.raises(InputError, match="no such folder"):
        check_certificate_files(original, found, hierarchies=tmp_path / "none")


def test_a_stranger_names_mask_and_hierarchies(tmp_path: Path) -> None:
    original = write_csv(tmp_path / "people.csv", "sex,age", ROWS)
    mask = write_csv(tmp_path / "mask.csv", "age,sex", [("1", "keep"), ("*", "*")])
    folder = tmp_path / "trees"
    folder.mkdir()
    write_csv(folder / "age.csv", "level0,level1,level2", [(v, v[0] + "x", "*") for v in ("30", "31", "40", "41")])
    weights = {"sex": "3/2"}
    recoding = km.Hierarchies.read(folder, ["sex", "age"], weights=weights, mask=km.PatternMask.read(mask, weights))
    asked = problem(recoding=recoding)
    found = tmp_path / "c.json"
    certificate(asked).write(found)
    best = optimum(
        ROWS,
        2,
        hierarchies={1: {v: (v, v[0] + "x", "*") for v in ("30", "31", "40", "41")}},
        vectors=[(0, 1), (1, 2)],
        weights=[Fraction(3, 2), 1],
    )
    report = check_certificate_files(original, found, mask=mask, hierarchies=folder, weights=weights)
    assert report.valid
    assert best is not None
    assert 0 < report.bound <= best
    assert report.statement.startswith("no 2-anonymous table of this mask of 2 level vectors has a loss below")
    refused(check_certificate_files(original, found, hierarchies=folder, weights=weights), "pattern mask differ")
    refused(check_certificate_files(original, found, mask=mask, hierarchies=folder), "weights")


def test_a_certificate_that_names_no_problem_is_refused(tmp_path: Path) -> None:
    original = write_csv(tmp_path / "people.csv", "sex,age", ROWS)
    for key in ("quasi_identifiers", "requirements", "suppressed_rows"):
        data = certificate().as_dict()
        data["problem"] = {name: value for name, value in data["problem"].items() if name != key}
        path = tmp_path / "c.json"
        path.write_text(json.dumps(data))
        with pytest.raises(InputError, match="does not name"):
            check_certificate_files(original, path)


@pytest.mark.parametrize(
    "requirement", [{"name": "k_anonymity", "k": 0}, {"name": "k_anonymity"}, {"name": "k_anonymity", "k": "2"}]
)
def test_a_certificate_with_senseless_requirements_is_refused(tmp_path: Path, requirement: dict[str, Any]) -> None:
    original = write_csv(tmp_path / "people.csv", "sex,age", ROWS)
    data = certificate().as_dict()
    data["problem"] = {**data["problem"], "requirements": [requirement]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="cannot be read"):
        check_certificate_files(original, path)


# --------------------------------------------------------------------------------------- real data


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("patterns", [None, 20])
def test_nothing_is_lost_on_adult(data_folder: Path, k: int, patterns: int | None) -> None:
    adult = km.read_table(data_folder / "adult.csv.gz", Q8, rows=500)
    recoding = km.Suppression() if patterns is None else km.PatternMask.random(Q8, patterns, 0)
    asked = km.Problem(adult, [km.KAnonymity(k)], recoding)
    instance = reduce(prepare(asked))[-1].instance
    dual = lagrangian(instance)
    report = check_certificate(asked, certify(asked, dual))
    assert report.valid
    assert report.bound == proven_bound(instance, rounded(dual.multipliers))
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
def test_nothing_is_lost_with_other_requirements_on_adult(data_folder: Path, privacy: list[km.Requirement]) -> None:
    adult = km.read_table(data_folder / "adult.csv.gz", Q8[:4], "salary-class", rows=200)
    asked = km.Problem(adult, privacy)
    instance = reduce(prepare(asked))[-1].instance
    dual = lagrangian(instance, iterations=300)
    report = check_certificate(asked, certify(asked, dual))
    assert report.valid
    assert report.bound >= proven_bound(instance, rounded(dual.multipliers))
