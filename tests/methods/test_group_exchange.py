"""Models of whole groups out, and solutions back; models that a user has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import highspy
import polars as pl
import pyomo.environ as pyo
import pytest
from command_line import run
from present import present

import kanon_milp as km
from kanon_milp.solvers.pyomo_arrays import to_arrays

FRAME = pl.DataFrame({"a": [1, 1, 2, 5, 5, 6, 9], "b": [3, 4, 3, 3, 9, 8, 8]})
TABLE = km.Table.from_frame(FRAME, ["a", "b"])


@pytest.mark.parametrize(
    ("recoding", "formulation"),
    [(km.Microaggregation(), "strong"), (km.Microaggregation(), "compact"), (km.Boxes(), "strong")],
)
def test_another_solver_finds_the_same(recoding: Any, formulation: str, tmp_path: Path) -> None:
    problem = km.Problem(TABLE, km.KAnonymity(3), recoding)
    best = km.solve(problem, method="milp").require_optimal()
    km.export_model(problem, tmp_path / "m.mps", formulation=formulation)
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(tmp_path / "m.mps"))
    solver.run()
    assert solver.getObjectiveValue() == pytest.approx(best.objective)
    solver.writeSolution(str(tmp_path / "m.sol"), 0)
    found = km.import_solution(problem, tmp_path / "m.sol")
    assert (found.exact_objective, found.proof, found.verified) == (best.exact_objective, "none", True)
    model = km.build_model(problem, formulation)
    with pytest.raises(km.InputError, match="has no value that is a number"):
        km.solved_table(problem, model)
    pyo.SolverFactory("appsi_highs").solve(model)
    loaded = km.solved_table(problem, model)
    assert (loaded.exact_objective, loaded.proof, loaded.verified) == (best.exact_objective, "none", True)
    size, linear = km.model_size(problem, formulation), to_arrays(model).linear
    assert (size.variables, size.constraints) == (linear.variables, linear.constraints)
    pairs = len(model.assign) if formulation == "compact" else sum(len(model.members[g]) for g in model.GROUPS)
    assert size.pairs == pairs
    with pytest.raises(km.InputError, match=r"map of names is of another"):
        km.import_solution(
            km.Problem(TABLE, km.KAnonymity(2), recoding), tmp_path / "m.sol", names=tmp_path / "m.mps.names.csv"
        )
    with pytest.raises(km.InputError, match="no reductions"):
        km.export_model(problem, tmp_path / "m.mps", reduced=True)


def test_a_changed_model_proves_nothing_of_the_problem() -> None:
    problem = km.Problem(TABLE, km.KAnonymity(2), km.Microaggregation())
    best = km.solve(problem, method="milp").require_optimal()
    model = km.build_model(problem)
    found = km.solve_model(problem, model)
    assert found.exact_objective == best.exact_objective
    assert found.is_optimal
    assert sum(pyo.value(model.choose[g]) for g in model.GROUPS) == 3
    with_more = km.build_model(problem)
    with_more.apart = pyo.Constraint(
        expr=sum(with_more.choose[g] for g in with_more.GROUPS if {1, 2} <= set(with_more.members[g])) == 0
    )
    changed = km.solve_model(problem, with_more)
    assert changed.verified
    assert changed.proof == "none"
    assert "the model was changed" in changed.message
    assert changed.exact_objective is not None
    assert best.exact_objective is not None
    assert changed.exact_objective >= best.exact_objective
    assert present(changed.groups)[0] != present(changed.groups)[1]
    with pytest.raises(km.InputError, match="its groups differ"):
        km.solve_model(km.Problem(TABLE, km.KAnonymity(3), km.Microaggregation()), model)


def test_from_the_command_line(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    asked = ["--data", tmp_path / "t.csv", "--qi", "a,b", "--k", "3", "--recoding", "boxes"]
    assert run("export", *asked, "--to", tmp_path / "m.mps").returncode == 0
    assert "rows 1 2 3 of the table are a group" in (tmp_path / "m.mps.names.csv").read_text()
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(tmp_path / "m.mps"))
    solver.run()
    solver.writeSolution(str(tmp_path / "m.sol"), 0)
    done = run("import", tmp_path / "m.sol", *asked, "--out", tmp_path / "out", "--json")
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout)["verified"] is True
