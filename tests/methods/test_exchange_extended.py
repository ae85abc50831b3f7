"""Models that a user has extended or changed go out and come back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyomo.environ as pyo
import pytest
from places import LIBRARY
from present import present
from written_solutions import highs_solutions

import kanon_milp as km
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.wording import proof_sentence
from kanon_milp.system.text_tables import amount


def test_an_extended_model_goes_out_and_its_solution_comes_back(tmp_path: Path) -> None:
    """At most two groups; without that constraint, the table of least loss has three."""
    problem = km.read_model(LIBRARY / "hospital.toml").problem
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    km.export_model(problem, tmp_path / "m.lp", model=model)
    assert "extended by its user" in (tmp_path / "m.lp").read_text()
    (solution, *_) = highs_solutions(tmp_path / "m.lp", tmp_path)
    result = km.import_solution(problem, solution, model=model)
    assert result.verified
    assert result.report is not None
    assert result.report.groups <= 2
    assert result.objective == result.loss == km.solve_model(problem, model).require_optimal().objective
    assert result.as_dict()["extended"]["added"] == ["few"]
    assert "of the extended model (few added)" in result.summary()
    said = proof_sentence(described(result))
    assert "no solution of the model as it was extended (few added) has a loss below" in said
    assert "Tables outside of that model may lose less." in said
    assert present(result.objective) > present(km.solve(problem).require_optimal().objective)
    assert result.proof != "optimal"
    with pytest.raises(km.InputError, match=r"another model of this table: extended \(pass it as model="):
        km.import_solution(problem, solution)
    with pytest.raises(km.InputError, match="not reduced"):
        km.export_model(problem, tmp_path / "n.lp", model=model, reduced=True)
    # another objective: the most groups
    model.loss.deactivate()
    model.most = pyo.Objective(expr=sum(model.open[g] for g in model.CANDIDATES), sense=pyo.maximize)
    km.export_model(problem, tmp_path / "m.lp", model=model)
    (solution, *_) = highs_solutions(tmp_path / "m.lp", tmp_path)
    result = km.import_solution(problem, solution, model=model)
    assert (result.objective, result.verified, result.proof) == (2, True, "none")
    assert result.optimized == "objective most of the model (maximized)"
    assert present(result.report).cost == result.loss != result.objective
    assert f"The table loses {amount(result.loss)};" in proof_sentence(described(result))
    # with a requirement switched off, a bound for all tables says nothing of the model's solutions
    loose = km.build_model(problem)
    loose.k_anonymity.deactivate()
    km.export_model(problem, tmp_path / "loose.mps", model=loose)
    assert "extended: k_anonymity.size deactivated" in (tmp_path / "loose.mps").read_text()
    (solution, *_) = highs_solutions(tmp_path / "loose.mps", tmp_path)
    result = km.import_solution(problem, solution, model=loose, names=tmp_path / "loose.mps.names.csv")
    assert not result.verified
    assert (result.proof, result.bound, result.table) == ("none", None, None)
    assert "k_anonymity.size deactivated" in result.summary()


def test_what_breaks_an_added_constraint_is_no_solution_of_the_extended_model(tmp_path: Path) -> None:
    """The table of least loss has three groups, and would be taken for the optimum of a model that allows two."""
    problem = km.read_model(LIBRARY / "hospital.toml").problem
    plain = km.build_model(problem)
    km.export_model(problem, tmp_path / "m.lp", model=plain)
    (solution, *_) = highs_solutions(tmp_path / "m.lp", tmp_path)
    kept = tmp_path / "plain.sol"
    kept.write_text(solution.read_text())
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    km.export_model(problem, tmp_path / "few.lp", model=model)
    with pytest.raises(km.InputError, match="not a solution of the model: constraint few is violated by 1"):
        km.import_solution(problem, kept, model=model, names=tmp_path / "few.lp.names.csv")


@pytest.mark.parametrize("changed", ["sense", "expression"])
def test_a_changed_loss_is_an_objective_of_its_own(changed: str, tmp_path: Path) -> None:
    rows = [("a", "u"), ("a", "u"), ("a", "v"), ("b", "v"), ("b", "u"), ("b", "v")]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["p", "q"], orient="row"), ["p", "q"])
    problem = km.Problem(table, km.KAnonymity(2))
    model = km.build_model(problem)
    if changed == "sense":
        model.loss.sense = pyo.maximize
    else:
        model.loss.expr += 100 * sum(model.open.values())
    km.export_model(problem, tmp_path / "m.mps", model=model)
    assert "loss = " not in (tmp_path / "m.mps").read_text()
    (solution, *_) = highs_solutions(tmp_path / "m.mps", tmp_path)
    result = km.import_solution(problem, solution, model=model)
    assert (result.objective, result.proof) == ({"sense": 12, "expression": 112}[changed], "none")
