"""A model is solved for the problem that it was built for, and for no other one of the same size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.formulations import get_formulation
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock

ROWS = {"a": list("xxyyz"), "b": list("uvuvu"), "s": list("ppqqp")}


def problem(k: int = 2, rows: dict[str, list[str]] = ROWS, **options: Any) -> km.Problem:
    return km.Problem(km.Table.from_frame(pl.DataFrame(rows), ["a", "b"], "s"), [km.KAnonymity(k)], **options)


@pytest.mark.parametrize("formulation", ["strong", "textbook", "groups"])
@pytest.mark.parametrize(
    "other",
    [
        problem(3),
        problem(rows={**ROWS, "b": list("uvuvv")}),
        problem(rows={**ROWS, "b": list("uwuwu")}),
        problem(recoding=km.Suppression({"a": 2})),
        problem(objective="min_groups"),
        problem(cost_bound=5),
        problem(suppressed_rows="exempt"),
    ],
    ids=["k", "rows", "values", "weights", "objective", "side", "reading"],
)
def test_a_model_of_another_problem_is_refused(other: km.Problem, formulation: str, tmp_path: Any) -> None:
    model = km.build_model(other, formulation)
    for call in (
        lambda: km.solve_model(problem(), model, formulation=formulation),
        lambda: km.export_model(problem(), tmp_path / "m.mps", formulation=formulation, model=model),
    ):
        with pytest.raises(
            km.InputError, match=r"the model was (built for another problem|not built for this problem)"
        ):
            call()


def test_of_equal_sizes_it_is_told_that_the_problem_is_another() -> None:
    with pytest.raises(km.InputError, match=r"built for another problem: .*build it anew by build_model\(problem\)"):
        km.solve_model(problem(), km.build_model(problem(recoding=km.Suppression({"a": 2}))))


@pytest.mark.parametrize("formulation", ["strong", "textbook"])
def test_the_same_problem_stated_again_and_a_copy_of_the_model_are_taken(formulation: str) -> None:
    model = km.build_model(problem(), formulation)
    best = km.solve(problem()).require_optimal().objective
    renamed = replace(problem(), name="again")
    turned = problem(rows={name: column[::-1] for name, column in ROWS.items()})
    for asked in (renamed, turned):
        for given in (model, model.clone()):
            assert km.solve_model(asked, given, formulation=formulation).require_optimal().objective == best
    with pytest.raises(km.InputError, match="another problem"):
        km.solve_model(problem(recoding=km.Suppression({"b": 3})), model.clone(), formulation=formulation)


def test_what_makes_answers_trustworthy_is_set_for_extended_models_too() -> None:
    near = km.Problem(problem().table, [km.KAnonymity(2), km.TCloseness("1/2", form="transport")])
    result = km.solve_model(near, km.build_model(near))
    assert result.solver.options.extra == {"presolve": "off"}
    asked = km.solve_model(near, km.build_model(near), solver_options={"presolve": "on"})
    assert asked.solver.options.extra == {"presolve": "on"}
    assert asked.objective == result.objective == km.solve(near).objective
    # the heuristics that a continuous assignment makes superfluous stay on: `assign` is integer there
    tuned = get_formulation("strong").tune(presolve(problem(), Clock()).instance)["highs"]
    assert "mip_heuristic_run_rins" in tuned
    assert km.solve_model(problem(), km.build_model(problem())).solver.options.extra == {}
