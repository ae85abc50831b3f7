"""Constraints that are stated while a model is solved give what the same constraints give from the beginning."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from effort import examples
from present import present

import kanon_milp as km
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.canaries import small_model
from kanon_milp.solvers.lazy import Lazy, Row

pytest.importorskip("pyscipopt")


def problem_of(draw: random.Random) -> km.Problem:
    rows = [(draw.choice("abc"), draw.choice("abc"), draw.choice("ab")) for _ in range(draw.randint(5, 12))]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), ["a", "b", "c"])
    return km.Problem(table, km.KAnonymity(2), km.Suppression({"a": draw.choice(["1", "2", "3/2"])}))


def rivals(model: pyo.ConcreteModel) -> list[Any]:
    """Some pairs of candidates that share a row type: of each at most one may be open."""
    pairs = itertools.combinations(model.CANDIDATES, 2)
    return [(g, h) for g, h in pairs if (g + h) % 3 and set(model.cover[g]) & set(model.cover[h])]


@pytest.mark.parametrize("seed", range(examples(60, 8)))
def test_lazily_stated_is_as_declared(seed: int) -> None:
    problem = problem_of(random.Random(seed))
    eager = km.build_model(problem)
    eager.rivals = pyo.ConstraintList()
    for g, h in rivals(eager):
        eager.rivals.add(eager.open[g] + eager.open[h] <= 1)
    expected = km.solve_model(problem, eager)

    model = km.build_model(problem)
    pairs, asked = rivals(model), list[bool]()

    def violated(model: pyo.ConcreteModel) -> Iterator[Any]:
        asked.append(all(abs(v.value - round(v.value)) == 0 for v in model.open.values() if v.value is not None))
        for g, h in pairs:
            if (model.open[g].value or 0) + (model.open[h].value or 0) > 1.1:
                yield model.open[g] + model.open[h] <= 1

    found = km.solve_model(problem, model, "scip", lazy=violated, cuts=violated if seed % 2 else None)
    assert (found.proof, found.exact_objective, found.exact_bound) == (
        expected.proof,
        expected.exact_objective,
        expected.exact_bound,
    )
    assert seed % 2 or all(asked)
    if found.proof == "optimal":
        assert asked
        assert not [pair for pair in pairs if sum(round(model.open[g].value or 0) for g in pair) > 1]
        assert present(found.extension).lazy is not None
    assert "stated" in found.summary()


def test_a_family_may_be_returned_as_it_is_and_what_is_not_violated_is_not_stated() -> None:
    problem = problem_of(random.Random(3))
    model = km.build_model(problem)
    most = [sum(model.assign[i, g] for i in model.cover[g]) <= 100 for g in model.CANDIDATES]
    result = km.solve_model(problem, model, "scip", lazy=lambda model: most).require_optimal()
    assert present(result.extension).lazy == 0
    assert result.loss == km.solve(problem).loss
    assert result.as_dict()["extended"]["lazy"] == 0


def test_a_family_that_leaves_nothing_is_infeasible() -> None:
    problem = problem_of(random.Random(3))
    result = km.solve_model(
        problem, km.build_model(problem), "scip", lazy=lambda m: [sum(m.open[g] for g in m.CANDIDATES) <= 0]
    )
    assert result.proof == "infeasible"
    assert "1 lazy constraint took part" in result.message


@pytest.mark.parametrize("solver", ["highs", "cbc", "cpsat"])
def test_solvers_without_callbacks_are_refused_by_name(solver: str) -> None:
    problem = problem_of(random.Random(3))
    with pytest.raises(km.InputError, match='takes no lazy constraints or cuts; solve with "scip"'):
        km.solve_model(problem, km.build_model(problem), solver, lazy=lambda model: None)


def _apart(model: pyo.ConcreteModel) -> list[Any]:
    model.later = pyo.Var()
    return [model.later <= 1]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda m: 1 / 0, "raised ZeroDivisionError"),
        (lambda m: True, "must return linear constraints of the model in a list, found true/false"),
        (lambda m: sum(m.open.values()) <= 1, "must return linear constraints of the model in a list, found"),
        (lambda m: [m.open[0] * m.open[1] <= 0], "is not linear"),
        (lambda m: [3], "cannot be used"),
        (_apart, "the variable later is in no constraint"),
    ],
)
def test_a_function_that_cannot_be_used_ends_the_search_with_a_message(
    function: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    problem = problem_of(random.Random(3))
    with pytest.raises(km.InputError, match=said):
        km.solve_model(problem, km.build_model(problem), "scip", lazy=function)
    assert all(record.levelname != "ERROR" for record in caplog.records)  # the message says it all
    with pytest.raises(km.InputError, match="lazy: a function of the model"):
        km.solve_model(problem, km.build_model(problem), "scip", lazy=3)  # type: ignore[arg-type]


def test_a_start_that_violates_a_lazy_constraint_is_not_kept() -> None:
    problem = problem_of(random.Random(3))
    best = km.solve(problem).require_optimal()
    model = km.build_model(problem)
    dearer = lambda m: [m.unit * m.loss.expr >= present(best.loss) + 1]  # noqa: E731
    result = km.solve_model(problem, model, "scip", lazy=dearer, start=present(best.groups))
    assert present(result.loss) > present(best.loss)


@pytest.mark.parametrize("seed", range(examples(150, 15)))
def test_scip_with_rows_that_come_later_finds_what_highs_finds_with_all_of_them(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.randint(3, 8)
    costs, bounds = [draw.randint(-5, 5) for _ in range(n)], [(0, draw.randint(1, 3)) for _ in range(n)]
    integer = [draw.random() < 0.7 for _ in range(n)]
    first, later = (
        [(-np.inf, [draw.randint(-2, 4) for _ in range(n)], draw.randint(0, 9)) for _ in range(draw.randint(1, 8))]
        for _ in range(2)
    )
    rows = [Row(np.arange(n), np.array(values, dtype=float), low, high) for low, values, high in later]
    lazy = Lazy(lambda x: rows, (lambda x: rows) if draw.random() < 0.4 else None)
    found = get("scip").solve(small_model("few", costs, first, bounds, integer), SolverOptions(), lazy=lazy)
    both = get("highs").solve(small_model("all", costs, first + later, bounds, integer), SolverOptions())
    assert found.stop_reason is both.stop_reason
    assert found.objective == pytest.approx(both.objective, abs=1e-5)
    model = lazy.stated(small_model("few", costs, first, bounds, integer))
    assert model.constraints == len(first) + len(lazy.rows)
