"""Discernibility and average class size as objectives: against all tables of small problems."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Literal

import highspy
import polars as pl
import pytest
from command_line import run
from effort import examples
from every_table import Released, drawn, every_table
from present import present

import kanon_milp as km

DM: Literal["discernibility"] = "discernibility"


def least(tables: list[Released]) -> Fraction:
    return min(table.value(DM, []) for table in tables)


@pytest.mark.parametrize("seed", range(examples(100, 3)))
def test_the_least_of_all_tables(seed: int) -> None:
    draw = Random(f"discernibility-{seed}")
    problem, tables = drawn(draw)
    problem = replace(problem, objective=DM)
    formulation = draw.choice(["strong", "strong", "textbook", "groups"])
    found = km.solve(problem, method="milp", formulation=formulation).require_optimal()
    assert found.exact_objective == found.exact_bound == least(tables)
    measured = km.measure(problem, found.table)
    assert measured.discernibility == found.exact_objective


@pytest.mark.parametrize("seed", range(examples(40, 2)))
def test_with_a_cost_bound_and_with_the_loss_after_it(seed: int) -> None:
    draw = Random(f"bounded-{seed}")
    problem, tables = drawn(draw)
    most = min(table.loss for table in tables) * draw.choice([Fraction(1), Fraction(6, 5), Fraction(3, 2)])
    bounded = replace(problem, objective=DM, cost_bound=most)
    assert km.solve(bounded).require_optimal().exact_objective == least([t for t in tables if t.loss <= most])
    found = km.solve(replace(problem, objective=DM), then="loss").require_optimal()
    best = min((table.value(DM, []), table.loss) for table in tables)
    assert tuple(stage.value for stage in found.stages) == best


@pytest.mark.parametrize("seed", range(examples(20, 2)))
def test_under_requirements_about_values(seed: int) -> None:
    draw = Random(f"valued-{seed}")
    rows = [(draw.choice("ab"), draw.choice("xy")) for _ in range(5)]
    illness = [draw.choice("uv") for _ in rows]
    holds = lambda group: len({illness[i] for i in group}) > 1  # noqa: E731
    tables = list(every_table(rows, 2, [Fraction(1)] * 2, holds=holds))
    frame = pl.DataFrame(rows, ["q0", "q1"], orient="row").with_columns(illness=pl.Series(illness))
    table = km.Table.from_frame(frame, ["q0", "q1"], sensitive="illness")
    found = km.solve(km.Problem(table, [km.KAnonymity(2), km.PSensitivity(2)], objective=DM))
    if tables:
        assert found.require_optimal().exact_objective == least(tables)
    else:
        assert found.proof == "infeasible"


@pytest.mark.parametrize("solver", ["cbc", "cpsat"])
def test_other_solvers(solver: str) -> None:
    problem, tables = drawn(Random(3))
    assert km.solve(replace(problem, objective=DM), solver).require_optimal().exact_objective == least(tables)


def test_average_class_size_is_the_largest_number_of_groups() -> None:
    problem, tables = drawn(Random(4))
    asked = replace(problem, objective="class_size")
    assert asked.objective == "max_groups"
    assert km.solve(asked).require_optimal().exact_objective == max(-table.value("groups", []) for table in tables)


def test_what_is_bounded_without_a_model() -> None:
    """Each row adds the size of its group, which is k at least."""
    draw = Random(5)
    frame = pl.DataFrame({name: [draw.choice("abcdef") for _ in range(60)] for name in "abcdefgh"})
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(7), objective=DM)
    found = km.solve(problem, time_limit=0.5)
    assert found.verified
    assert found.exact_bound is not None
    assert 60 * 7 <= found.exact_bound <= present(found.exact_objective)


@pytest.mark.parametrize(
    ("changed", "arguments", "said"),
    [
        ({}, {"method": "search"}, "the objective is discernibility"),
        ({}, {"method": "greedy"}, "the objective is discernibility"),
        ({}, {"then": DM}, "is an objective already"),
        ({"recoding": km.Boxes()}, {}, "is not supported with the recoding boxes"),
        ({"objective": "discern"}, {}, "objective"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], arguments: dict[str, Any], said: str) -> None:
    problem, _ = drawn(Random(6))
    with pytest.raises(km.InputError, match=said):
        km.solve(replace(problem, **{"objective": DM, **changed}), **arguments)


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n1,x\n1,y\n2,x\n2,x\n1,x\n")
    asked = ["--data", tmp_path / "people.csv", "--qi", "a,b", "--k", "2", "--objective", DM]
    done = run("solve", *asked, "--save-model", tmp_path / "model.toml", "--json")
    found = json.loads(done.stdout)
    assert (found["objective"], found["bound"], found["proof"]) == (13, 13, "optimal")
    assert found["optimized"] == {"what": DM, "component": DM, "sense": "minimize", "unit": "1"}
    assert found["problem"]["objective"] == DM
    assert run("export", tmp_path / "model.toml", "--to", tmp_path / "model.mps").returncode == 0
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(tmp_path / "model.mps"))
    solver.run()
    assert round(solver.getObjectiveValue()) == 13
    solver.writeSolution(str(tmp_path / "model.sol"), 0)
    imported = run("import", tmp_path / "model.sol", "--model", tmp_path / "model.toml", "--json")
    assert json.loads(imported.stdout)["objective"] == 13
