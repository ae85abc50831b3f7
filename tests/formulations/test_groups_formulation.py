"""The set-partitioning formulation has the optimum of brute force, the groups that there are, and the strong LP."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from effort import examples
from hypothesis import assume, given, settings
from oracle import SYMBOL
from own_requirement import Own
from reduction_cases import lp_value
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import Case, cases, reduced

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.formulations import groups as formulation
from kanon_milp.formulations.groups import GroupVectors, build_groups, enumerate_groups
from kanon_milp.formulations.strong import build_strong
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import MERGING, REDUCTIONS, reduce
from kanon_milp.problem.privacy.diversity import unsplittable

# ---------------------------------------------------------------------------------------------------- the optimum


def test_it_solves_problems_of_the_library(models: object) -> None:
    from kanon_milp.studies.model_files import read_model

    for name in ("hospital", "hospital_combined"):
        read = read_model(models / f"{name}.toml")  # type: ignore[operator]
        found = km.solve(read.problem, formulation="groups").require_optimal()
        assert found.exact_objective == Fraction(str(read.known["optimum"]))
        assert found.verified is True


# ----------------------------------------------------------------------------------------------- the list of groups


def listed(groups: Groups) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
    return [(g, tuple(zip(types, copies, strict=True))) for g, types, copies in groups.each()]


def all_groups(instance: Instance, case: Case | SensitiveCase) -> dict[int, set[tuple[int, ...]]]:
    """Per candidate all numbers of rows of its cover that make up a group, each judged by tests/judges.py."""
    plain, k, holds = (
        (case, case.k, lambda _: True) if isinstance(case, Case) else (case.case, case.k, case.requirement)
    )
    rows_of: dict[int, list[int]] = {i: [] for i in range(instance.types.count)}
    for row, i in enumerate(instance.types.type_of_rows(case.table().frame.to_native()).tolist()):
        rows_of[i].append(row)
    everywhere = np.arange(instance.candidates.count)
    labels = zip(*instance.candidates.labels(instance.types, instance.levels, everywhere), strict=True)
    found: dict[int, set[tuple[int, ...]]] = {}
    for (g, cover), label in zip(enumerate(instance.candidates.cover_lists()), labels, strict=True):
        found[g] = set()
        least = 1 if plain.suppressed_rows == "exempt" and set(label) == {SYMBOL} else k
        for numbers in itertools.product(*(range(len(rows_of[i]) + 1) for i in cover)):
            # rows of a type have the same values
            group = [row for i, rows in zip(cover, numbers, strict=True) for row in rows_of[i][:rows]]
            if len(group) >= least and holds(group):
                found[g].add(numbers)
    return found


def check_list(case: Case | SensitiveCase) -> None:
    """What is listed is all groups, or those that are no sum of two; in the order of candidates, none twice."""
    instance = prepare(case.problem())
    groups, covers = enumerate_groups(instance), instance.candidates.cover_lists()
    found = listed(groups)
    assert len(set(found)) == len(found) == groups.count
    assert [g for g, _ in found] == sorted(g for g, _ in found)
    by_candidate: dict[int, set[tuple[int, ...]]] = {g: set() for g in range(len(covers))}
    for g, group in found:
        assert [i for i, _ in group] == sorted({i for i, _ in group})
        assert all(rows > 0 for _, rows in group)
        by_candidate[g].add(tuple(dict(group).get(i, 0) for i in covers[g]))
    for g, everything in all_groups(instance, case).items():
        expected = everything
        if instance.problem.merge_closed:
            sums = {tuple(map(sum, zip(a, b, strict=True))) for a in everything for b in everything}
            expected = everything - sums
        assert by_candidate[g] == expected
    most = groups.most(instance.types.counts).tolist()
    counts = instance.types.counts.tolist()
    assert most == [min(counts[i] // rows for i, rows in group) for _, group in found]


@given(cases(max_rows=6, sides=False))
@settings(max_examples=examples(25, 3))
def test_the_list_for_k_anonymity_is_what_cannot_be_split(case: Case) -> None:
    check_list(case)


@given(sensitive_cases(max_rows=5, sides=False))
@settings(max_examples=examples(40, 5))
def test_the_list_for_other_requirements_is_what_cannot_be_split(case: SensitiveCase) -> None:
    check_list(case)


@given(cases(max_rows=6, sides=False))
@settings(max_examples=examples(25, 3))
def test_k_anonymity_by_judging_is_k_anonymity_by_size(case: Case) -> None:
    # 1-sensitivity asks for nothing, but it makes the list go the other way
    secrets = tuple((str(i % 2),) for i in range(len(case.rows)))
    assume(len(secrets) > 1)
    both = SensitiveCase(case, secrets, (), with_k=True)
    judged = both.problem([km.KAnonymity(case.k), km.PSensitivity(1)])
    instance = prepare(judged)
    sizes = enumerate_groups(replace(instance, problem=both.problem([km.KAnonymity(case.k)])))
    assert set(listed(enumerate_groups(instance))) == set(listed(sizes))


def test_vectors_that_are_sums_of_two_are_left_out() -> None:
    holds = np.zeros((4, 4), dtype=bool)
    for vector in itertools.product(range(4), repeat=2):
        holds[vector] = sum(vector) >= 2
    assert unsplittable(holds) == [(0, 2), (1, 1), (2, 0), (0, 3), (1, 2), (2, 1), (3, 0)]
    # closed under sums, but not under more rows
    holds = np.zeros((7, 7), dtype=bool)
    for a in range(1, 7):
        holds[a, a] = True
    assert unsplittable(holds) == [(1, 1)]
    assert unsplittable(np.zeros((3, 2), dtype=bool)) == []


def test_it_is_judged_once_what_candidates_have_in_common() -> None:
    rows = [(a, b, s) for a in "ab" for b in "xy" for s in "12"]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["a", "b", "s"], orient="row"), ["a", "b"], ["s"])
    instance = prepare(km.Problem(table, [km.LDiversity(2)]))
    judged = GroupVectors(instance)
    first = judged.numbers(((0, 2), (1, 2)), exempt=False)
    assert first == [(1, 1)]
    assert judged.numbers(((0, 2), (1, 2)), exempt=False) is first


# ------------------------------------------------------------------------------------------------ linear relaxation


@given(cases(max_rows=9))
@settings(max_examples=examples(30, 3))
def test_its_linear_relaxation_is_worth_the_strong_one_for_k_anonymity(case: Case) -> None:
    # also with side constraints and other objectives: `linked` is the same row
    instance = prepare(case.problem())
    for reductions in (REDUCTIONS, (*REDUCTIONS, *MERGING)):
        smaller = reduce(instance, reductions)[-1].instance
        if set(smaller.candidates.members.tolist()) != set(range(smaller.types.count)):
            return
        strong, groups = lp_value(build_strong(smaller)), lp_value(build_groups(smaller))
        if strong is None:
            assert groups is None
        else:
            assert groups == pytest.approx(strong, abs=1e-6)


# ---------------------------------------------------------------------------------------- components and refusals


def triangle() -> km.Problem:
    rows = [("a", "x", "-"), ("a", "-", "y"), ("-", "x", "y")]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["p", "q", "r"], orient="row"), ["p", "q", "r"])
    return km.Problem(table, [km.KAnonymity(2)])


def test_the_model_has_the_components_that_the_documentation_names() -> None:
    model = km.build_model(triangle(), "groups")
    names = ("ROW_TYPES", "CANDIDATES", "PAIRS", "GROUPS", "assign", "open", "use", "placed", "received", "linked")
    for name in (*names, "formed", "loss"):
        assert model.component(name) is not None, name
    assert len(model.use) == len(model.GROUPS) == enumerate_groups(reduced(triangle())).count


def test_a_user_can_bound_the_open_candidates() -> None:
    rows = [(a,) for a in "aabbcc"]
    problem = km.Problem(km.Table.from_frame(pl.DataFrame(rows, schema=["q"], orient="row"), ["q"]), [km.KAnonymity(2)])
    model = km.build_model(problem, "groups")
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    assert km.solve_model(problem, model, formulation="groups").require_optimal().objective == 4
    model.most = pyo.Constraint(expr=sum(model.use[c] for c in model.GROUPS) <= 1)
    assert km.solve_model(problem, model, formulation="groups").proof == "infeasible"  # 2 to 3 rows a group


def distinct(rows: int, columns: int, privacy: list[km.Requirement], secret: bool = False) -> km.Problem:
    data = {f"q{j}": [f"{(i + 1) * (j + 7) % 31}" for i in range(rows)] for j in range(columns)}
    data["s"] = [f"{i % rows if secret else i % 2}" for i in range(rows)]
    return km.Problem(km.Table.from_frame(pl.DataFrame(data), [f"q{j}" for j in range(columns)], ["s"]), privacy)


def test_too_many_groups_are_refused_before_they_are_listed() -> None:
    with pytest.raises(km.InputError, match=r"1 candidates already have more than 200,000 \(31 row types, 31 rows\)"):
        km.build_model(distinct(31, 1, [km.KAnonymity(5)]), "groups")
    # far too many to be counted one by one
    with pytest.raises(km.InputError, match="more than 200,000"):
        km.build_model(distinct(3000, 1, [km.KAnonymity(300)]), "groups")
    with pytest.raises(km.InputError, match="numbers of rows by sensitive value, and these are more than 200,000"):
        km.build_model(distinct(31, 1, [km.TCloseness("1/2")], secret=True), "groups")
    with pytest.raises(km.InputError, match="more than 200,000"):
        km.build_model(distinct(62, 1, [km.PSensitivity(2), km.KAnonymity(6)]), "groups")


def test_the_number_of_groups_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = prepare(triangle())
    count = enumerate_groups(instance).count
    monkeypatch.setattr(formulation, "LARGEST", count)
    assert enumerate_groups(instance).count == count
    monkeypatch.setattr(formulation, "LARGEST", count - 1)
    with pytest.raises(km.InputError, match=f"more than {count - 1} "):
        enumerate_groups(instance)
    monkeypatch.setattr(formulation, "LARGEST", 1)
    with pytest.raises(km.InputError, match=r"more than 1 \(3 row types, 3 rows\).* use the strong formulation"):
        km.solve(triangle(), formulation="groups")


@given(sensitive_cases(max_rows=6, sides=False))
@settings(max_examples=examples(20, 3))
def test_groups_are_as_many_as_counted(case: SensitiveCase) -> None:
    instance = prepare(case.problem())
    counts = instance.types.counts.tolist()
    counted = [shape.count(counts) for shape in formulation.shapes_of(instance)]
    assert counted == np.bincount(enumerate_groups(instance).candidate, minlength=instance.candidates.count).tolist()


def test_an_infeasible_problem_is_a_result_though_its_parts_have_too_many_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # with k = 3 there is one group; without it, which is asked to say what is in conflict, there are more
    problem = km.Problem(triangle().table, [km.KAnonymity(3)], cost_bound=3)
    monkeypatch.setattr(formulation, "LARGEST", 1)
    found = km.solve(problem, formulation="groups", method="milp")
    assert found.proof == "infeasible"
    assert exit_code(found) == 3
    assert "a loss of at most 3" in found.message


def test_k_anonymity_of_some_columns_is_refused() -> None:
    problem = triangle()
    some = km.Problem(problem.table, [km.KAnonymity(2), km.KAnonymity(3, ["p"])])
    with pytest.raises(km.InputError, match=r"each group meets on its own.*use the strong formulation"):
        km.build_model(some, "groups")
    with pytest.raises(km.InputError, match="on its own"):
        km.solve(some, formulation="groups")


@dataclass(frozen=True)
class AtMostTwo(Own):
    """A requirement of the user's that is about no sensitive attribute."""

    name: ClassVar[str] = "at_most_two"

    @property
    def merge_closed(self) -> bool:
        return False

    def holds(self, group: Any) -> bool:
        return bool(group.size <= 2)

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, _instance: Any) -> None:
        block.small = pyo.Constraint(model.CANDIDATES, rule=lambda _, g: model.rows[g] <= 2 * model.open[g])


def test_a_requirement_about_no_sensitive_attribute() -> None:
    frame = pl.DataFrame({"a": list("xxyyz"), "b": list("ppppq")})
    table = km.Table.from_frame(frame, ["a", "b"])
    problem = km.Problem(table, [km.KAnonymity(1), AtMostTwo()])
    result = km.solve(problem, formulation="groups")
    assert result.is_optimal
    assert result.objective == km.solve(problem).objective == 0
