"""Tables of models that Pyomo's own solvers have solved: verified, and nothing is proven by what is in a model."""

from __future__ import annotations

import math
from random import Random

import polars as pl
import pyomo.environ as pyo
import pytest
from present import present
from sensitive_cases import drawn_sensitive_case
from strategies import drawn_case

import kanon_milp as km

ROWS = [(a, b, s) for a, b, s in zip("xxyyzzxyxz", "uvuvuvuuvv", "ststststuu", strict=True)]
TABLE = km.Table.from_frame(pl.DataFrame(ROWS, ["a", "b", "c"], orient="row"), ["a", "b"], "c")
PROBLEM = km.Problem(TABLE, [km.KAnonymity(2), km.PSensitivity(2)])


def solved(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    pyo.SolverFactory("appsi_highs").solve(model)
    return model


@pytest.mark.parametrize("formulation", ["strong", "homogeneity", "groups"])
def test_the_table_is_the_optimum_and_is_verified(formulation: str) -> None:
    best = km.solve(PROBLEM).require_optimal()
    found = km.solved_table(PROBLEM, solved(km.build_model(PROBLEM, formulation)))
    assert found.verified
    assert found.exact_objective == best.exact_objective
    assert present(found.table).height == len(ROWS)
    assert found.solver.formulation == formulation
    assert found.solver.name == "import:pyomo"
    assert found.proof == "none" or found.exact_bound is not None


@pytest.mark.parametrize("seed", range(20))
def test_on_random_problems_it_is_what_solve_finds(seed: int) -> None:
    draw = Random(seed)
    case = drawn_case(draw) if draw.randrange(2) else drawn_sensitive_case(draw)
    problem = case.problem()
    best = km.solve(problem, method="milp")
    if best.proof != "optimal":
        return
    model = solved(km.build_model(problem))
    found = km.solved_table(problem, model, bound_seconds=1)
    assert found.verified
    assert found.exact_objective == best.exact_objective


def test_a_model_without_variables_for_groups_has_a_table() -> None:
    problem = km.Problem(TABLE, km.TCloseness("1/2"))
    found = km.solved_table(problem, solved(km.build_model(problem, "liang_yuan")))
    assert found.exact_objective == km.solve(problem).require_optimal().exact_objective


def test_what_was_added_holds_of_the_table() -> None:
    model = km.build_model(PROBLEM)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    found = km.solved_table(PROBLEM, solved(model))
    assert found.verified
    assert present(found.extension).added == ("few",)
    assert len(set(present(found.groups).tolist())) <= 2
    assert found.exact_objective == km.solve_model(PROBLEM, model).exact_objective
    # a point that the addition refuses
    free = solved(km.build_model(PROBLEM))
    if sum(pyo.value(free.open[g]) for g in free.CANDIDATES) > 2:
        free.few = pyo.Constraint(expr=sum(free.open[g] for g in free.CANDIDATES) <= 2)
        with pytest.raises(km.InputError, match="the model: this is not a solution of the model: constraint few"):
            km.solved_table(PROBLEM, free)


def test_values_that_are_no_table_are_refused() -> None:
    model = km.build_model(PROBLEM)
    with pytest.raises(km.InputError, match=r"the variable \S+ has no value that is a number; solve the model first"):
        km.solved_table(PROBLEM, model)
    solved(model)
    pair = next(pair for pair in model.PAIRS if model.assign[pair].value)
    before = model.assign[pair].value
    for value, said in (
        (before - 1, r"constraint placed\S+ is violated by 1"),
        (99.0, r"variable assign\S+ is violated by"),
    ):
        model.assign[pair].set_value(value, skip_validation=True)
        with pytest.raises(km.InputError, match=said):
            km.solved_table(PROBLEM, model)
    model.assign[pair].set_value(before)
    for shift, said in ((0.5, "must be an integer"), (1.0, "is violated by 1")):  # all values are too large
        for variable in (free := model.clone()).component_data_objects(pyo.Var):
            variable.set_value(pyo.value(variable) + shift, skip_validation=True)
        with pytest.raises(km.InputError, match=f"this is not a solution of the model: variable .*{said}"):
            km.solved_table(PROBLEM, free)
    model.assign[pair].set_value(math.nan, skip_validation=True)
    with pytest.raises(km.InputError, match="no value that is a number"):
        km.solved_table(PROBLEM, model)
    with pytest.raises(km.InputError, match=r"built for another problem|not built for this problem"):
        km.solved_table(km.Problem(TABLE, km.KAnonymity(2)), solved(km.build_model(PROBLEM)))


def test_a_table_that_breaks_a_requirement_is_no_result() -> None:
    """Whatever the values are said to be: the verifier judges the table."""
    model = km.build_model(PROBLEM)
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(0, skip_validation=True)
    root = max(model.CANDIDATES, key=lambda g: model.N[g])
    alone = next(g for i, g in model.PAIRS if i == 0 and g != root)
    for i in model.ROW_TYPES:  # all rows suppressed but those of one type, which have one value
        model.assign[i, root if i else alone].set_value(model.n[i])
    for g in (root, alone):
        model.open[g].set_value(1)
    found = km.solved_table(PROBLEM, model)
    assert not found.verified
    assert found.table is None
    assert found.proof == "none"
