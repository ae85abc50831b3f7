"""What modellers ask of a model: its size before it is built, its linear relaxation, a start, why it is infeasible."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from places import LIBRARY

import kanon_milp as km
from kanon_milp.solvers.pyomo_arrays import to_arrays


def hospital(name: str) -> km.Problem:
    return km.read_model(LIBRARY / f"{name}.toml").problem


def small() -> km.Problem:
    frame = pl.DataFrame({"a": list("xxyyxy"), "b": list("uvuvuv"), "c": list("pqpqqp")})
    return km.Problem(km.Table.from_frame(frame, ["a", "b", "c"]), km.KAnonymity(2))


def test_the_size_is_that_of_the_model() -> None:
    for problem in (small(), hospital("hospital_mask"), hospital("hospital_hierarchies")):
        size, linear = km.model_size(problem), to_arrays(km.build_model(problem)).linear
        assert (size.variables, size.constraints) == (linear.variables, linear.constraints)
        assert size.variables == size.pairs + size.candidates


@pytest.mark.parametrize("name", ["hospital_mask", "hospital_hierarchies"])
def test_the_relaxation_is_what_pyomo_and_another_interface_say(name: str) -> None:
    problem = hospital(name)
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    relaxed = km.relax(model)
    judge = pyo.TransformationFactory("core.relax_integer_vars").create_using(model)
    judge.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    pyo.SolverFactory("appsi_highs").solve(judge)
    assert relaxed.objective == pytest.approx(pyo.value(judge.loss))
    assert all(
        relaxed.values[v.name] >= -1e-9 for v in judge.component_data_objects(pyo.Var) if v.name in relaxed.values
    )
    # duals and reduced costs prove the value: the Lagrangian at these multipliers
    linear = to_arrays(model, names=True).linear
    duals = np.array([relaxed.duals[each] for each in linear.constraint_names])
    reduced = np.array([relaxed.reduced_costs[each] for each in linear.variable_names])
    assert np.allclose(linear.c - linear.A.T @ duals, reduced, atol=1e-7)
    sides = np.where(duals > 0, linear.constraint_lower, linear.constraint_upper)
    bounds = np.where(reduced > 0, linear.lower, linear.upper)
    value = sum(float(a * b) for a, b in zip(duals, sides, strict=True) if a)
    value += sum(float(a * b) for a, b in zip(reduced, bounds, strict=True) if abs(a) > 1e-9)
    assert value + linear.offset == pytest.approx(relaxed.objective)
    assert model.open[0].is_binary()  # the model stays as it was


def test_a_maximization_has_the_signs_of_its_objective() -> None:
    model = km.build_model(small())
    model.loss.deactivate()
    model.most = pyo.Objective(expr=sum(model.open[g] for g in model.CANDIDATES), sense=pyo.maximize)
    model.limit = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    relaxed = km.relax(model)
    assert relaxed.objective == pytest.approx(2)
    assert relaxed.duals["limit"] == pytest.approx(1)  # one more group is allowed, one more there is


def test_a_relaxation_that_has_no_value_is_an_error() -> None:
    model = km.build_model(small())
    model.none = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 0)
    with pytest.raises(km.InputError, match="the linear relaxation was not solved: infeasible"):
        km.relax(model)
    with pytest.raises(km.InputError, match="a Pyomo model"):
        km.relax("model")


def conflict_of(problem: km.Problem, model: Any) -> set[str]:
    """The names in the message of a model that is infeasible."""
    result = km.solve_model(problem, model)
    assert result.proof == "infeasible"
    said = result.message.partition("In the model, no point satisfies all of these together (without any one of them ")
    assert said[2], result.message
    return {part.partition(" (")[0] for part in said[2].partition("there is a solution): ")[2].split("), ")}


def test_an_infeasible_extension_names_its_conflict() -> None:
    problem = small()
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 1)
    model.cheap = pyo.Constraint(expr=model.unit * model.loss.expr <= km.solve(problem).require_optimal().loss)
    model.harmless = pyo.Constraint(expr=model.open[0] <= 1)
    named = conflict_of(problem, model)
    assert {"few", "cheap"} <= named
    assert "harmless" not in named
    # irreducible, by a judge of its own: without any of the parts there is a point, with all of them none
    components = [model.find_component(name) for name in named]
    others = [c for c in model.component_objects(pyo.Constraint, active=True) if c not in components]
    for each in others:
        each.deactivate()
    solver = pyo.SolverFactory("appsi_highs")
    outcomes = {}
    for left_out in (None, *components):
        if left_out is not None:
            left_out.deactivate()
        found = solver.solve(model, load_solutions=False)
        outcomes[None if left_out is None else left_out.name] = str(found.solver.termination_condition)
        if left_out is not None:
            left_out.activate()
    assert outcomes.pop(None) == "infeasible"
    assert set(outcomes.values()) == {"optimal"}


def test_members_and_fixed_variables_are_named() -> None:
    problem = small()
    model = km.build_model(problem)
    model.most = pyo.Constraint(
        model.ROW_TYPES,
        rule=lambda m, i: sum(m.assign[i, g] for g in m.CANDIDATES if (i, g) in m.PAIRS) <= (0 if i == 1 else 1),
    )
    named = conflict_of(problem, model)
    assert named == {"placed", "most[1]"}
    del model.most
    for g in model.CANDIDATES:
        model.open[g].fix(0)
    named = conflict_of(problem, model)
    assert {"placed", "linked"} <= named
    assert any(name.startswith("open") for name in named)
    assert all(model.open[g].fixed for g in model.CANDIDATES)


def test_a_start_is_taken_where_it_satisfies_the_model() -> None:
    problem = small()
    best = km.solve(problem).require_optimal()
    model = km.build_model(problem)
    found = km.solve_model(problem, model, start=best.groups, node_limit=100)
    assert found.objective == best.objective
    assert "start was dropped" not in found.message
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 1)
    found = km.solve_model(problem, model, start=best.groups)
    assert "start was dropped: its table does not satisfy the model" in found.message
    assert found.report is not None
    assert found.report.groups == 1
    # with a variable of the user's the solver completes it
    model = km.build_model(problem)
    model.spare = pyo.Var(within=pyo.NonNegativeReals)
    model.spared = pyo.Constraint(expr=model.spare >= sum(model.open[g] for g in model.CANDIDATES) - 1)
    found = km.solve_model(problem, model, start=best.groups)
    assert found.objective == best.objective
    with pytest.raises(km.InputError, match="start"):
        km.solve_model(problem, model, start=[0])


def test_rows_that_were_made_continuous_are_integer_again_and_it_is_said() -> None:
    ages = ["a", "b", "c", "d", "e", "f"]
    frame = pl.DataFrame({"age": ages, "sex": list("mfmfmf"), "ill": list("uvwuvw")})
    problem = km.Problem(km.Table.from_frame(frame, ["age", "sex"], "ill"), [km.KAnonymity(2), km.LDiversity(2)])
    model = km.build_model(problem)
    for pair in itertools.islice(model.PAIRS, 3):
        model.assign[pair].domain = pyo.NonNegativeReals
    found = km.solve_model(problem, model)
    assert found.extension is not None
    assert "assign solved as integer all the same" in found.extension.words
    assert found.verified
