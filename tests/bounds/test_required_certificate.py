"""Certificates of the bound under requirements: what the checker makes of them is true, and as much as was proven."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from census import census
from certificate_cases import best_loss, required_certificate
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sensitive_cases import KINDS, SensitiveCase, sensitive_cases
from strategies import covered
from test_lagrangian_bound import Q8

import kanon_milp as km
from kanon_milp.bounds import Certificate
from kanon_milp.bounds.certificate import certify_required, required_instance
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.presolve.instance import Instance
from kanon_milp.verify.certificate import check_certificate

# what the checker knows as much of as the package
KNOWN = ("p", "l frequency", "l distinct", "alpha", "beta")


def drawn_point(data: st.DataObject, instance: Instance) -> DualPoint:
    """Any multipliers, any charges."""
    each, types = st.integers(-8, 40), instance.types.count
    multipliers = np.array(data.draw(st.lists(each, min_size=types, max_size=types))) / 4
    charged = sum(relaxation.closeness is not None for relaxation in relaxations_of(instance))
    few = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=4))
    charges = np.array([few[g % len(few)] / 4 for g in range(charged * instance.candidates.count)])
    return DualPoint(multipliers, 0.0, charges=charges)


@pytest.mark.parametrize("kind", ["several", *KINDS])
def test_no_multipliers_prove_something_false(kind: str) -> None:
    drawn = sensitive_cases(max_rows=7) if kind == "several" else sensitive_cases([kind], max_rows=7)

    @given(drawn, st.data())
    @settings(max_examples=examples(60, 5 if kind == "several" else 2))
    def true(case: SensitiveCase, data: st.DataObject) -> None:
        problem = case.problem()
        instance = required_instance(problem)
        assume(instance is not None)
        assert instance is not None
        certificate = certify_required(problem, instance, drawn_point(data, instance))
        report = check_certificate(problem, json.loads(json.dumps(certificate.as_dict())))
        best = best_loss(case)
        assert best is None or report.bound <= best
        if kind in KNOWN:
            assert report.valid
            assert report.bound >= certificate.bound

    true()


@given(sensitive_cases(["t equal short", "t equal transport"], max_rows=7), st.data())
@settings(max_examples=examples(100, 6))
def test_whoever_forges_charges_proves_nothing_false(case: SensitiveCase, data: st.DataObject) -> None:
    problem = case.problem()
    instance = required_instance(problem)
    assert instance is not None
    certificate = certify_required(problem, instance, drawn_point(data, instance)).as_dict()
    vectors = instance.levels.vectors.tolist()
    names = sorted({relaxation.attribute for relaxation in relaxations_of(instance)})
    certificate["charges"] = [
        {
            "sensitive": data.draw(st.sampled_from(names)),
            "levels": data.draw(st.sampled_from(vectors)),
            "row": data.draw(st.integers(0, len(certificate["multipliers"]) - 1)),
            "charge": data.draw(st.sampled_from([0, 1, 5000, 10**5, 10**12, 1 << 60])),
        }
        for _ in range(data.draw(st.integers(0, 6)))
    ]
    certificate["bound"] = "1000000"
    report = check_certificate(problem, certificate)
    assert not report.valid
    best = best_loss(case)
    assert best is None or report.bound <= best


@pytest.mark.full
@pytest.mark.parametrize(
    "requirements",
    [
        [km.KAnonymity(3), km.LDiversity(2)],
        [km.LDiversity("1.25")],
        [km.KAnonymity(4), km.PSensitivity(3)],
        [km.PSensitivity(2), km.LDiversity("1.5")],
        [km.AlphaKAnonymity("0.5", 3), km.PSensitivity(2)],
        [km.BetaLikeness(2)],
        [km.KAnonymity(3), km.TCloseness("0.35")],
    ],
    ids=str,
)
def test_the_checker_proves_as_much_of_a_census(requirements: list[km.privacy.Requirement]) -> None:
    quasi = [name for name in Q8 if name != "occupation"][:5]
    problem = km.Problem(km.Table.from_frame(census(200), quasi, "occupation"), requirements)
    found = required_certificate(problem, iterations=150)
    report = check_certificate(problem, found)
    assert report.valid, report.problems
    assert report.bound >= found.bound > 0


def people(secrets: str = "xyxyxyxxyz") -> km.Table:
    frame = pl.DataFrame({"q": list("aabbccddee"), "r": list("abababcccc"), "s": list(secrets)})
    return km.Table.from_frame(frame, ["q", "r"], "s")


def test_a_file_is_read_as_it_was_written(tmp_path: Any) -> None:
    problem = km.Problem(people(), [km.KAnonymity(2), km.TCloseness("0.3")])
    found = required_certificate(problem)
    found.write(tmp_path / "c.json")
    assert Certificate.read(tmp_path / "c.json") == found
    assert json.loads((tmp_path / "c.json").read_text())["version"] == 5
    assert check_certificate(problem, tmp_path / "c.json").valid


def test_results_certify_what_proves_most() -> None:
    quasi = [name for name in Q8 if name != "occupation"][:4]
    table = km.Table.from_frame(census(80), quasi, "occupation")
    result = km.solve(km.Problem(table, [km.KAnonymity(2), km.LDiversity("5/2")]), time_limit=60)
    found = result.certify()
    assert found.as_dict()["version"] == 5
    report = check_certificate(result.problem, found)
    assert report.valid
    assert result.exact_objective is not None
    assert report.bound == found.bound <= result.exact_objective
    assert "l-diversity (l = 2.5, form = frequency, sensitive = occupation)" in report.statement
    # where sizes alone are asked for, the shorter form
    assert km.solve(km.Problem(people(), km.KAnonymity(2))).certify().as_dict()["version"] == 4


def test_charges_must_make_sense() -> None:
    problem = km.Problem(people(), [km.KAnonymity(2), km.TCloseness("0.3")])
    honest = required_certificate(problem)
    charge = ("s", (0, 0), 0, 5)
    for wrong, said in (
        (("q", (0, 0), 0, 5), "an attribute without a requirement"),
        (("s", (0, 0), 99, 5), "names a row"),
        (charge, "stated twice"),
        (("s", (0, 0), 1, -5), "negative"),
    ):
        report = check_certificate(problem, replace(honest, charges=(charge, wrong)))
        assert not report.valid
        assert said in report.problems[0]
    data = honest.as_dict()
    for older in (2, 3, 4):
        with pytest.raises(km.InputError, match="no such entries"):
            check_certificate(problem, {**data, "version": older})
    for entry in ({"row": "0"}, {"levels": 3}, {"sensitive": None}, {"charge": 0.5}):
        wrong_entry = {"sensitive": "s", "levels": [0, 0], "row": 0, "charge": 1} | entry
        with pytest.raises(km.InputError, match="cannot be read"):
            check_certificate(problem, {**data, "charges": [wrong_entry]})


def test_an_instance_without_cover_is_left_to_the_sizes() -> None:
    # all values are needed in each group, so that no row has a place in a group of few rows
    problem = km.Problem(people("xxxxxxxxxy"), [km.PSensitivity(2)], km.PatternMask([(0, 0)]))
    instance = required_instance(problem)
    assert instance is not None
    assert not covered(instance)
