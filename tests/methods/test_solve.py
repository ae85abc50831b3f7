"""The Python contract: results say why, what and how sure; users can extend the model."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from effort import examples
from lying import Lying, only_highs
from oracle import optimum
from present import present
from strategies import reduced

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.formulations.row_assignment import assign_rows
from kanon_milp.presolve import resources
from kanon_milp.presolve.instance import prepare
from kanon_milp.problem.exact import in_words
from kanon_milp.solvers import Progress, StopReason

FRAME = pl.DataFrame(
    {"zip": ["101", "101", "102", "102", "103"], "age": ["31", "32", "31", "32", "31"], "sick": list("abcde")}
)


def problem(k: int = 2, **options: Any) -> km.Problem:
    return km.Problem(km.Table.from_frame(FRAME, ["zip", "age"], "sick"), [km.KAnonymity(k)], **options)


def random_problem(rows: int = 60, columns: int = 5, values: int = 3, k: int = 3, seed: int = 0) -> km.Problem:
    rng = random.Random(seed)
    names = [f"q{j}" for j in range(columns)]
    data = {name: [str(rng.randrange(values)) for _ in range(rows)] for name in names}
    return km.Problem(km.Table.from_frame(pl.DataFrame(data), names), [km.KAnonymity(k)])


def test_the_example_of_the_contract_works() -> None:
    result = km.solve(problem(), solver="highs", time_limit=60)
    assert result.require_optimal() is result
    assert result.objective == result.bound == 5
    assert present(result.table)["sick"].to_list() == list("abcde")
    assert km.verify(problem(), result.table).ok


def test_input_is_never_changed() -> None:
    before = FRAME.clone()
    km.solve(problem())
    assert before.equals(FRAME)


def test_the_model_has_its_documented_components() -> None:
    model = km.build_model(problem())
    assert isinstance(model, pyo.ConcreteModel)
    for name in ("ROW_TYPES", "CANDIDATES", "assign", "open", "loss", "placed", "linked", "k_anonymity"):
        assert model.component(name) is not None, name
    textbook = km.build_model(problem(), "textbook")
    for name in ("ROW_TYPES", "CANDIDATES", "assign", "open", "loss"):
        assert textbook.component(name) is not None, name


def test_a_user_can_add_rows_and_change_the_objective() -> None:
    p = problem()
    model = km.build_model(p)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 1)
    assert km.solve_model(p, model).require_optimal().objective == 10
    other = km.build_model(p)
    other.loss.deactivate()
    other.count = pyo.Objective(expr=sum(other.open[g] for g in other.CANDIDATES), sense=pyo.maximize)
    result = km.solve_model(p, other).require_optimal()
    assert result.objective == 2
    assert sum(pyo.value(other.open[g]) for g in other.CANDIDATES) == 2


def test_a_users_half_weights_are_proven_without_integral_rounding() -> None:
    p = problem()
    model = km.build_model(p)
    model.loss.deactivate()
    model.half = pyo.Objective(expr=0.3 * sum(model.assign[pair] for pair in model.PAIRS) + 0.25 * model.loss.expr)
    result = km.solve_model(p, model).require_optimal()
    assert result.objective == pytest.approx(0.3 * 5 + 0.25 * 5)


def test_a_user_can_break_privacy_only_against_the_verifier() -> None:
    p = problem()
    model = km.build_model(p, "textbook")
    model.size.deactivate()
    result = km.solve_model(p, model, formulation="textbook")
    assert exit_code(result) == 6
    assert result.table is None
    assert result.proof == "none"
    assert not result.is_optimal
    with pytest.raises(km.NotProvenError):
        result.require_optimal()


def test_a_model_of_another_problem_is_refused() -> None:
    with pytest.raises(km.InputError, match="not built for this problem"):
        km.solve_model(random_problem(), km.build_model(problem()))
    large = random_problem(20)
    with pytest.raises(
        km.InputError, match=r'by the formulation "textbook", not "strong": write formulation="textbook"'
    ):
        km.solve_model(large, km.build_model(large, "textbook"))
    textbook = km.solve_model(large, km.build_model(large, "textbook"), formulation="textbook")
    assert textbook.require_optimal().objective == km.solve(large).objective
    model = km.build_model(problem())
    model.square = pyo.Constraint(expr=model.open[0] * model.open[1] <= 1)
    with pytest.raises(km.InputError, match="cannot be converted"):
        km.solve_model(problem(), model)
    model = km.build_model(problem())
    model.second = pyo.Objective(expr=0)
    with pytest.raises(km.InputError, match="exactly one active objective"):
        km.solve_model(problem(), model)


def test_a_bound_that_the_table_beats_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    only_highs(monkeypatch)
    result = km.solve(problem(), Lying(lambda answer, _: replace(answer, bound=9.0)))
    assert result.stop_reason == "error"
    assert result.proof == "none"
    assert result.bound is None
    assert exit_code(result) == 4
    # where a third solver is at hand, two that agree prove what the first one does not
    monkeypatch.undo()
    result = km.solve(problem(), Lying(lambda answer, _: replace(answer, bound=9.0)))
    assert (result.proof, result.backed_by) == ("optimal", ("second look",))


def test_an_optimal_status_without_a_bound_proves_nothing() -> None:
    result = km.solve(problem(), Lying(lambda answer, _: replace(answer, bound=None)))
    assert result.proof == "none"
    assert exit_code(result) == 4
    low = km.solve(problem(), Lying(lambda answer, _: replace(answer, bound=3.2)))
    assert (low.proof, low.bound, low.stop_reason, exit_code(low)) == ("bound", 4, "gap_limit", 4)


def test_a_solver_that_gives_nothing_leaves_a_constructed_table() -> None:
    late = Lying(
        lambda answer, _: replace(answer, x=None, objective=None, bound=2.0, stop_reason=StopReason.TIME_LIMIT)
    )
    result = km.solve(problem(), late)
    assert (exit_code(result), result.proof, result.bound, result.verified) == (4, "bound", 2, True)
    assert present(result.objective) >= present(km.solve(problem()).objective) > 2
    # of rows that a user has added the constructed table knows nothing
    own = km.solve_model(problem(), km.build_model(problem()), late)
    assert (exit_code(own), own.proof, own.bound, own.table) == (5, "bound", 2, None)
    # nor is there one where the mask has no pattern that all rows fit
    stuck = problem(recoding=km.PatternMask([("keep", "*"), ("*", "keep")]))
    assert exit_code(km.solve(stuck, late)) == 5


def test_one_requirement_needs_no_list() -> None:
    table = km.Table.from_frame(FRAME, ["zip", "age"], "sick")
    alone = km.Problem(table, km.KAnonymity(2))
    assert alone.requirements == (km.KAnonymity(2),)
    assert km.solve(alone).objective == km.solve(problem()).objective
    generator: Any = (each for each in (km.KAnonymity(2), km.PSensitivity(2)))
    several = km.Problem(table, generator)
    assert len(several.requirements) == 2
    for wrong, said in (
        (None, "at least one"),
        ([], "at least one"),
        (5, "found int"),
        ("k", "found text of 1 character"),
        ([km.KAnonymity], "found the class KAnonymity"),
        ([km.KAnonymity(2), 3], "found int"),
    ):
        with pytest.raises(km.InputError, match=said):
            km.Problem(table, wrong)  # type: ignore[arg-type]


def test_a_result_shows_itself_in_one_line_without_cells() -> None:
    result = km.solve(problem(recoding=km.Suppression({"zip": "1/3", "age": "1/2"})))
    text = repr(result)
    assert text.startswith("<Result: optimal, verified, loss ")
    assert len(text.splitlines()) == 1
    assert len(text) < 120
    assert "102" not in text
    assert repr(km.solve(problem(cost_bound=1))).startswith("<Result: infeasible, loss none, bound none, gap none")


def test_numbers_for_people_are_exact() -> None:
    weights = km.Suppression({"zip": "1/3", "age": "1/3"})
    result = km.solve(problem(recoding=weights))
    assert result.exact_objective == Fraction(5, 3)
    assert result.summary() == "proven optimum 5/3 (1.667), verified; backed by solver and second look"
    for value, shown in (
        (Fraction(54), "54"),
        (Fraction(5, 2), "2.5"),
        (Fraction(1, 10), "0.1"),
        (Fraction(20, 3), "20/3 (6.667)"),
        (Fraction(100000, 3), "100,000/3 (33,333.333)"),
        (Fraction(-1, 3), "-1/3 (-0.3333)"),
        (Fraction(2.7182818), "2.7182818"),
        (None, "none"),
    ):
        assert in_words(value) == shown


def test_a_gap_is_where_it_stops_and_is_no_proof() -> None:
    # a solver that stops where the gap is small enough
    early = Lying(
        lambda answer, _: replace(answer, bound=0.7 * present(answer.objective), stop_reason=StopReason.GAP_LIMIT)
    )
    asked = random_problem(rows=80, columns=6, k=4)
    result = km.solve(asked, early, gap=0.5, method="milp", time_limit=20)
    assert (result.stop_reason, result.proof, exit_code(result)) == ("gap_limit", "bound", 4)
    assert 0 < present(result.gap) <= 0.5
    assert result.verified
    with pytest.raises(km.NotProvenError):
        result.require_optimal()


def test_progress_comes_in_the_users_units() -> None:
    points: list[Progress] = []
    p = km.Problem(
        random_problem(rows=40).table,
        [km.KAnonymity(3)],
        km.Suppression(dict.fromkeys(["q0", "q1", "q2", "q3", "q4"], 0.5)),
    )
    result = km.solve(p, on_progress=points.append).require_optimal()
    assert points
    assert points[-1].incumbent == pytest.approx(result.objective)
    many = km.solve(problem(objective="max_groups"), on_progress=points.append)
    assert points[-1].incumbent == many.objective == 2


def test_weights_have_a_unit_of_their_own() -> None:
    weights = (Fraction(1, 3), Fraction(1, 7))
    result = km.solve(problem(recoding=km.Suppression({"zip": "1/3", "age": "1/7"}))).require_optimal()
    assert result.exact_objective == optimum(FRAME.select("zip", "age").rows(), 2, weights=weights)
    assert result.exact_objective == Fraction(5, 3)


def test_row_assignment_is_integral_and_no_dearer_than_the_milp() -> None:
    for seed in range(examples(5, 2)):
        instance = reduced(random_problem(rows=45, seed=seed))
        result = km.solve(instance.problem).require_optimal()
        opened = np.zeros(instance.candidates.count, dtype=bool)
        labels = list(
            zip(
                *instance.candidates.labels(instance.types, instance.levels, np.arange(instance.candidates.count)),
                strict=True,
            )
        )
        released = set(present(result.table).select(instance.problem.table.quasi_identifiers).rows())
        opened[[labels.index(row) for row in released]] = True
        assignment = assign_rows(instance, opened)
        assert assignment.cost == result.objective
        assert assignment.rows.sum() == 45
        assert (np.bincount(assignment.candidate, assignment.rows)[np.flatnonzero(opened)] >= 3).all()


def test_row_assignment_refuses_candidates_that_cannot_hold_all_rows() -> None:
    instance = prepare(problem())
    with pytest.raises(km.SolverError, match="cannot hold all rows"):
        assign_rows(instance, np.zeros(instance.candidates.count, dtype=bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "cost"}, "objective must be one of"),
        ({"suppressed_rows": "free"}, "suppressed_rows must be one of"),
        ({"min_groups": 0}, "at least 1"),
        ({"min_groups": 3, "max_groups": 2}, "larger than max_groups"),
        ({"max_groups": 2.5}, "must be an integer"),
        ({"cost_bound": -1}, "negative"),
    ],
)
def test_bad_problems_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        problem(**options)


@pytest.mark.parametrize("k", [0, -1, "2", 2.0, True])
def test_bad_k_is_refused(k: Any) -> None:
    with pytest.raises(km.InputError, match="k "):
        problem(k=k)


def test_a_model_that_does_not_fit_into_memory_is_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "available_bytes", lambda: 1000)
    table = km.Table.from_frame(pl.DataFrame({"a": list("xyxy"), "s": list("1212")}), ["a"], "s")
    result = km.solve(km.Problem(table, [km.KAnonymity(2), km.PSensitivity(2)]))
    assert (result.stop_reason, exit_code(result), result.objective) == ("error", 4, 4)
    assert "GB" in result.message
    monkeypatch.setattr(resources, "available_bytes", lambda: None)
    monkeypatch.setattr(resources, "PAIR_SECONDS", 1e6)
    assert km.solve(km.Problem(table, [km.KAnonymity(2)], objective="max_groups")).is_optimal
    late = km.solve(km.Problem(table, [km.KAnonymity(2)]), time_limit=20)
    assert late.verified
    assert "to declare" in late.message
    monkeypatch.setattr(resources, "available_bytes", lambda: 1000)
    alike = km.Table.from_frame(pl.DataFrame({"a": ["x"] * 6}), ["a"])  # two groups at most; counts of rows say three
    counted = km.solve(km.Problem(alike, [km.KAnonymity(2)], objective="max_groups"))
    assert (counted.stop_reason, exit_code(counted), counted.proof, counted.verified) == ("error", 4, "bound", True)
    monkeypatch.setattr(resources, "available_bytes", lambda: 100)
    with pytest.raises(km.InputError, match="Not enough memory to examine all 2 patterns"):
        km.build_model(km.Problem(table, [km.KAnonymity(2)]))
