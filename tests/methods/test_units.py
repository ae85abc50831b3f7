"""k counts units of protection: cheapest groups, certificates, the verifier."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from case_judge import judge, valid_table
from effort import examples
from present import present
from routes import ROUTES, features
from sensitive_cases import SensitiveCase, drawn_sensitive_case, drawn_units
from strategies import Case

import kanon_milp as km
from kanon_milp.bounds import relaxations
from kanon_milp.bounds.dual import DualPoint, required_phi
from kanon_milp.errors import InputError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.presolve.instance import prepare
from kanon_milp.problem.records import Group
from kanon_milp.verify import check_certificate

SEARCH = next(route for route in ROUTES if route.name == "search")


def drawn(seed: int, kinds: Sequence[str] | None = (), plain: bool = False) -> SensitiveCase:
    """A random table with units, and any other requirements if asked for; plain: all patterns, nothing missing."""
    rng = Random(seed)
    case = drawn_sensitive_case(rng, kinds, (4, 9), sides=False, with_k=True)
    if plain:
        rows = tuple(tuple(value or "a" for value in row) for row in case.case.rows)
        ones = (Fraction(1),) * len(rows[0])
        base = Case(rows, case.case.k, None, ones, {}, {}, case.case.suppressed_rows, {})
        case = replace(case, case=base)
    return drawn_units(rng, case)


def test_the_exact_cheapest_groups_for_very_many_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """The closed form finds what the general search for groups finds."""
    compared = 0
    for seed in range(examples(60, 6)):
        instance = prepare(drawn(seed).problem())
        if not instance.problem.attributes:
            continue
        multipliers = np.random.default_rng(seed).integers(-2000, 6000, size=instance.types.count).astype(np.int64)
        charges, found = np.zeros(0, np.int64), []
        for many in (10**6, 0):
            monkeypatch.setattr(relaxations, "MANY", many)
            found.append(required_phi(instance, DualPoint(multipliers, charges=charges, denominator=1000)))
        assert found[0].tolist() == found[1].tolist()
        compared += 1
    assert compared


@pytest.mark.parametrize("reading", ["strict", "exempt"])
def test_groups_are_checked_by_different_values_as_their_requirements_have_it(reading: Any) -> None:
    frame = pl.DataFrame({"a": list("xxyyzz"), "ill": ["r", None, "None", "s", "s", "r"], "who": list("ppqqrs")})
    table = km.Table.from_frame(frame, ["a"], "ill", unit="who")
    asked = [km.KAnonymity(2), km.PSensitivity(2), km.LDiversity("3/2")]
    for some in (asked[:1], asked[:2], asked[1:], asked):
        instance = prepare(km.Problem(table, some, suppressed_rows=reading))
        check, exempt = GroupCheck(instance), np.flatnonzero(instance.exempt)
        codes, values = instance.sensitive_codes(instance.problem.attributes)
        rows = np.bincount(codes, weights=instance.types.counts).astype(int).tolist()
        for counts in itertools.product(*(range(n + 1) for n in rows)):
            tuples = {value: n for value, n in zip(values, counts, strict=True) if n}
            group = Group.of(instance.problem.attributes, tuples, instance.table_group)
            for g in [None, *exempt.tolist()]:
                asked_here = [r for r in instance.problem.requirements if g is None or not isinstance(r, km.KAnonymity)]
                holds = all(r.holds(group) for r in asked_here)
                holds = holds and (g is None or sum(counts) >= instance.least[g])
                assert sum(counts) == 0 or check.holds(g, np.array(counts)) == holds


@pytest.mark.full
def test_many_units_have_a_table_close_to_the_bound() -> None:
    """What greedy finds is found at once, and made better."""
    rng = np.random.default_rng(5)
    rows = 1500
    frame = pl.DataFrame({f"q{j}": rng.integers(4, size=rows).astype(str) for j in range(4)})
    frame = frame.with_columns(who=pl.Series(rng.integers(600, size=rows).astype(str)))
    problem = km.Problem(km.Table.from_frame(frame, list(frame.columns[:-1]), unit="who"), km.KAnonymity(4))
    first, found = (km.solve(problem, method=method, time_limit=12) for method in ("greedy", "search"))
    assert found.verified
    assert first.exact_objective is not None
    assert found.exact_objective is not None
    assert found.exact_objective <= first.exact_objective
    assert found.exact_bound is not None
    assert found.exact_bound >= found.exact_objective * Fraction(4, 5)


def test_the_textbook_formulation_and_matching_refuse_units() -> None:
    problem = drawn(0, plain=True).problem()
    assert problem.attributes
    with pytest.raises(InputError, match="of rows alone"):
        km.build_model(problem, formulation="textbook")
    with pytest.raises(InputError, match="different values of"):
        km.solve(problem, method="matching")
    with pytest.raises(InputError, match="counts rows"):
        km.Problem(problem.table, km.KAnonymity(2, quasi_identifiers=["q0"]))


def test_a_table_with_one_row_a_unit_is_plain_k_anonymity() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"], "who": ["1", "2", "3"]})
    (requirement,) = km.Problem(km.Table.from_frame(frame, "a", unit="who"), km.KAnonymity(2)).requirements
    assert requirement.size_only
    assert requirement.attributes == ()
    assert requirement.describe() == {"k": 2}


def test_the_unit_is_not_released_nor_named_in_a_model(tmp_path: Any) -> None:
    case = drawn(5, ["p"])
    result = km.solve(case.problem())
    assert result.table is not None
    assert "who" not in result.table.columns
    model = km.build_model(case.problem())
    out = tmp_path / "model.lp"
    km.export_model(case.problem(), out)
    told = [out.read_text(), str(result.as_dict()), str(result.certify().as_dict()), repr(result), repr(case.problem())]
    told.append("\n".join(str(value) for value in model.sensitive.values()))
    assert not any("person" in each for each in told)


def test_units_must_not_be_missing() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"], "who": ["1", None, "3"]})
    with pytest.raises(InputError, match=r'column "who", row 2: the value is .*leave these rows out'):
        km.Table.from_frame(frame, "a", unit="who")
    with pytest.raises(InputError, match="cannot be quasi-identifier and unit of protection at once"):
        km.Table.from_frame(frame, ["a", "who"], unit="who")
    whole = frame.drop_nulls()
    assert km.Table.from_frame(whole, "a", identifying="who", unit="who").identifying == ("who",)


# --------------------------------------------------------------------------------------------------- the verifier


def test_the_verifier_counts_units_itself() -> None:
    seen = set()
    for seed in range(examples(150, 20)):
        case, rng = drawn(seed, plain=True), np.random.default_rng(seed)
        names = case.case.names
        keep = rng.random((len(case.case.rows), len(names))) < rng.choice([0.1, 0.3, 0.5])
        columns = np.where(rng.random(len(names)) < 0.5, keep[:1], keep)  # often whole columns
        cells = np.where(columns, np.array(case.case.rows), "*")
        released = (
            case.table()
            .frame.to_native()
            .drop("who")
            .with_columns(pl.Series(name, column) for name, column in zip(names, cells.T, strict=True))
        )
        report = km.verify(case.problem(), released)
        assert report.ok == valid_table(case, [tuple(row) for row in cells.tolist()])
        seen.add(report.ok)
    assert seen == {True, False}


def test_two_groups_that_differ_only_in_units() -> None:
    """The same released table is right for one assignment of units and wrong for another."""
    frame = pl.DataFrame({"a": ["x"] * 4 + ["y"] * 4, "b": ["1"] * 8})
    released = frame
    for units, holds in (("abababab", True), ("aaaabbbb", False), ("aaabcccd", True), ("abcddddd", False)):
        table = km.Table.from_frame(frame.with_columns(who=pl.Series(list(units))), ["a", "b"], unit="who")
        report = km.verify(km.Problem(table, km.KAnonymity(2)), released)
        assert report.ok is holds
        assert report.released.units_strict == min(len(set(units[:4])), len(set(units[4:])))
        assert ("different values of" in "".join(report.violations)) is not holds


def test_minimality_with_units() -> None:
    """A table is minimal exactly if no other legal table with one more specific cell has what is asked for."""
    checked = 0
    for seed in range(examples(120, 13)):
        case = drawn(seed, plain=True)
        rows, columns = case.case.rows, range(len(case.case.names))
        result = km.solve(case.problem(), method="greedy")
        report = result.report
        if result.table is None or report is None or report.minimal is None:
            continue
        cells = result.table.select(case.case.names).rows()
        better = False
        for i, j in itertools.product(range(len(cells)), columns):
            if cells[i][j] == "*":
                changed = [list(row) for row in cells]
                changed[i][j] = rows[i][j]
                better |= valid_table(case, [tuple(row) for row in changed])
        for row, j in itertools.product(set(cells), columns):
            inside = [i for i, each in enumerate(cells) if each == row]
            if row[j] == "*" and len({rows[i][j] for i in inside}) == 1 and len(inside) > 1:
                changed = [list(each) for each in cells]
                for i in inside:
                    changed[i][j] = rows[i][j]
                better |= valid_table(case, [tuple(row) for row in changed])
        assert report.minimal is not better
        checked += 1
    assert checked


# --------------------------------------------------------------------------------------------------- certificates


def test_certificates_with_units_are_checked_and_forged_ones_refused() -> None:
    accepted = 0
    for seed in range(examples(30, 3)):
        case = drawn(seed, None)
        if features(case) & SEARCH.refuses:
            continue
        result, best = SEARCH.run(case.problem()), judge(case)
        if result.proof == "infeasible":
            continue
        true = result.certify().as_dict()
        report = check_certificate(case.problem(), true)
        assert report.valid, report.problems
        assert best is None or report.bound <= best
        accepted += report.bound > 0
        assert any("unit" in each for each in true["problem"]["requirements"]) == (
            len(set(present(case.units))) < len(present(case.units)) and case.case.k > 1
        )
        forged = []
        for change in (1, 1000, -1000):
            false = copy.deepcopy(true)
            false["multipliers"][seed % len(false["multipliers"])] += change * true["denominator"] // 1000 + change
            forged.append(false)
        false = copy.deepcopy(true)
        false["bound"] = str(Fraction(true["bound"]) + 1)
        forged.append(false)
        for false in forged:
            said = check_certificate(case.problem(), false)
            assert not said.valid or best is None or said.bound <= best
        false = copy.deepcopy(true)
        for each in false["problem"]["requirements"]:
            each.pop("unit", None)
        if false != true:
            assert not check_certificate(case.problem(), false).valid
    assert accepted


def test_a_certificate_of_other_units_is_refused() -> None:
    frame = pl.DataFrame({"a": list("xxyyzz"), "b": list("121212")})
    problems = [
        km.Problem(
            km.Table.from_frame(frame.with_columns(who=pl.Series(list(units))), ["a", "b"], unit="who"),
            km.KAnonymity(2),
        )
        for units in ("ppqqrr", "pqqrrp")
    ]
    certificate = km.solve(problems[0], method="search", iteration_limit=1).certify()
    assert check_certificate(problems[0], certificate).valid
    assert not check_certificate(problems[1], certificate).valid
