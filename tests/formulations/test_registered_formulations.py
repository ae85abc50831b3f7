"""Formulations that users register: known everywhere by name, taken on trust by name, and checked for what can be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyomo.environ as pyo
import pytest
from oracle import optimum

import kanon_milp as km
from kanon_milp.formulations import FORMULATIONS
from kanon_milp.formulations.strong import build_strong
from kanon_milp.presolve.instance import Instance

ROWS = [(a, b) for a, b in zip("xxyyzzxy", "uvuvuvuu", strict=True)]
PROBLEM = km.Problem(km.Table.from_frame(pl.DataFrame(ROWS, ["a", "b"], orient="row"), ["a", "b"]), km.KAnonymity(3))


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = dict(FORMULATIONS)
    yield
    FORMULATIONS.clear()
    FORMULATIONS.update(before)


def mine(instance: Instance) -> pyo.ConcreteModel:
    """The strong one, by code that is not of the package."""
    return build_strong(instance)


@pytest.mark.parametrize("reduced", [True, False])
def test_it_is_known_by_its_name(reduced: bool, tmp_path: Path) -> None:
    km.register_formulation(km.Formulation("mine", mine, reduced))
    best = optimum(ROWS, 3)
    result = km.solve(PROBLEM, formulation="mine")
    assert (result.exact_objective, result.proof) == (best, "optimal")
    assert "formulation mine" in result.backed_by
    assert result.solver.formulation == "mine"
    model = km.build_model(PROBLEM, "mine")
    assert km.solve_model(PROBLEM, model, formulation="mine").exact_objective == best
    stated = km.export_model(PROBLEM, tmp_path / "m.mps", formulation="mine")
    assert stated.formulation == "mine"


def test_the_nearest_name_is_suggested() -> None:
    km.register_formulation(km.Formulation("mine", mine), replace=True)
    with pytest.raises(km.InputError, match='unknown formulation "mien" \\(did you mean "mine"\\?\\)'):
        km.solve(PROBLEM, formulation="mien")


def without_open(instance: Instance) -> pyo.ConcreteModel:
    model = build_strong(instance)
    model.del_component(model.linked)
    model.del_component(model.k_anonymity)
    model.del_component(model.open)
    return model


def upside_down(instance: Instance) -> pyo.ConcreteModel:
    model = build_strong(instance)
    model.loss.sense = pyo.maximize
    return model


def fails(_: Instance) -> pyo.ConcreteModel:
    raise ZeroDivisionError


def writes(instance: Instance) -> pyo.ConcreteModel:
    instance.candidates.cost[:] = 0
    return build_strong(instance)


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (fails, r'the formulation "mine" raised ZeroDivisionError \(line \d+ of test_reg'),
        (lambda _: None, r"must return a Pyomo ConcreteModel .*, found None"),
        (lambda _: pyo.ConcreteModel(), r'found no component "assign" of \d+ members'),
        (without_open, r'found no component "open" of \d+ members'),
        (upside_down, 'the formulation "mine" must minimize its objective "loss"'),
        (writes, r'the formulation "mine" wrote into the arrays of the instance'),
    ],
)
def test_what_makes_no_model_is_named(declare: Callable[[Instance], Any], said: str) -> None:
    km.register_formulation(km.Formulation("mine", declare))
    with pytest.raises(km.InputError, match=said):
        km.solve(PROBLEM, formulation="mine", method="milp")
    with pytest.raises(km.InputError, match=said):
        km.build_model(PROBLEM, "mine")


def test_one_that_is_too_weak_has_no_table() -> None:
    def weak(instance: Instance) -> pyo.ConcreteModel:
        model = build_strong(instance)
        model.k_anonymity.deactivate()
        return model

    km.register_formulation(km.Formulation("weak", weak, reduced=False))
    with pytest.raises(km.InputError, match='the formulation "weak" has a solution that is no table'):
        km.solve(PROBLEM, formulation="weak", method="milp")


def test_the_papers_programs_are_for_what_the_papers_have_them_for() -> None:
    frame = pl.DataFrame(
        [(*row, secret) for row, secret in zip(ROWS, "stststuu", strict=True)], ["a", "b", "c"], orient="row"
    )
    table = km.Table.from_frame(frame, ["a", "b"], "c")
    for privacy, formulation in ((km.KAnonymity(2), "liang_yuan"), (km.TCloseness("1/2"), "homogeneity")):
        with pytest.raises(km.InputError, match=f"the formulation {formulation} is defined for"):
            km.build_model(km.Problem(table, privacy), formulation)
    closeness = km.Problem(table, km.TCloseness("1/2"))
    with pytest.raises(km.InputError, match="cannot state their number"):
        km.build_model(km.Problem(table, km.TCloseness("1/2"), max_groups=2), "liang_yuan")
    model = km.build_model(closeness, "liang_yuan")
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    with pytest.raises(km.InputError, match="an expression or a parameter without a value, as `open` is"):
        km.solve_model(closeness, model, formulation="liang_yuan")


def test_theorem_9_has_no_variables_for_groups() -> None:
    frame = pl.DataFrame(
        [(*row, secret) for row, secret in zip(ROWS, "stststuu", strict=True)], ["a", "b", "c"], orient="row"
    )
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"], "c"), km.TCloseness("1/2"))
    model = km.build_model(problem, "liang_yuan")
    integer = [v for v in model.component_data_objects(pyo.Var) if not v.is_continuous()]
    assert len(integer) == len(model.assign)  # only x
    assert {c.parent_component().local_name for c in model.component_data_objects(pyo.Constraint)} == {
        "placed", "leaves", "arrives", "work"
    }  # fmt: skip
    short, printed = (km.solve(problem, formulation=each, method="milp") for each in ("strong", "liang_yuan"))
    assert short.exact_objective == printed.exact_objective


def test_row_assignment_is_stated_as_printed() -> None:
    """(1)-(4): one constraint of each kind for each pair, released row and row type, with n, not n_i, in (1)."""
    model = km.build_model(PROBLEM, "homogeneity")
    assert len(model.guessed) == len(model.PAIRS)
    assert len(model.size) == len(model.open)
    assert len(model.placed) == len(set(ROWS))
    assert str(model.guessed[model.ROWS.first()].expr).endswith(f"{len(ROWS)}*open[{model.ROWS.first()[1]}]")


def test_values_and_reference_distribution_are_in_the_model() -> None:
    secrets = "ssstttuv"
    frame = pl.DataFrame(
        [(*row, secret) for row, secret in zip(ROWS, secrets, strict=True)], ["a", "b", "c"], orient="row"
    )
    table = km.Table.from_frame(frame, ["a", "b"], "c")
    problem = km.Problem(table, [km.KAnonymity(2), km.TCloseness("1/2"), km.PSensitivity(2), km.LDiversity(2)])
    model = km.build_model(problem)
    for block in (model.t_closeness, model.p_sensitivity, model.l_diversity):
        found = {block.value[v]: block.reference[v] for v in block.NUMBERS}
        assert found == {value: secrets.count(value) for value in secrets}
    # the numbers are those of the indices: a row type of the cover has the value
    for g, v in model.p_sensitivity.CELLS:
        assert any(model.sensitive[i] == (model.p_sensitivity.value[v],) for i in model.cover[g])
    assert model.find_component("k_anonymity.value") is None


def test_units_of_protection_stay_numbers() -> None:
    who = pl.Series("who", list("abcdabcd"))
    frame = pl.DataFrame(ROWS, ["a", "b"], orient="row").with_columns(who)
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"], unit="who"), km.KAnonymity(2))
    block = km.build_model(problem).k_anonymity
    assert [block.value[v] for v in block.NUMBERS] == [0, 1, 2, 3]
    assert json.dumps([block.reference[v] for v in block.NUMBERS]) == "[2, 2, 2, 2]"
