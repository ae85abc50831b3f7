"""Several objectives, one after the other: against all tables of small problems."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from command_line import run
from effort import examples
from every_table import Released, drawn, every_table
from present import present

import kanon_milp as km
from kanon_milp.methods.further import Stage, judged

GOALS = ["groups", "fewer groups", "discernibility", "keep q0", "keep q1"]
BY_WEIGHTS = {"open_model.pairs": 1}


def best_of(tables: list[Released], goals: list[str]) -> list[Fraction]:
    """The lexicographic optimum; numbers of groups are positive again."""
    names = ["q0", "q1"]
    return [abs(value) for value in min([table.value(goal, names) for goal in goals] for table in tables)]


@pytest.mark.parametrize("seed", range(examples(40, 3)))
def test_each_stage_is_the_best_of_those_that_are_left(seed: int) -> None:
    draw = Random(f"stages-{seed}")
    problem, tables = drawn(draw)
    goals = draw.sample(GOALS, draw.randint(1, 3))
    found = km.solve(problem, then=goals).require_optimal()
    assert [stage.value for stage in found.stages] == best_of(tables, ["loss", *goals]), goals
    assert all(stage.proof == "optimal" for stage in found.stages)
    assert found.exact_objective == found.stages[0].value
    assert km.verify(problem, found.table).ok


@pytest.mark.parametrize("seed", range(examples(20, 2)))
def test_columns_as_weights_of_one_problem(seed: int) -> None:
    """What is done for large tables."""
    draw = Random(f"weights-{seed}")
    problem, tables = drawn(draw)
    goals = draw.sample(["keep q0", "keep q1"], draw.randint(1, 2))
    found = km.solve(problem, then=goals, parameters=BY_WEIGHTS)
    best = best_of(tables, ["loss", *goals])
    for stage, value in zip(found.stages, best, strict=True):
        assert stage.value == value
        assert stage.bound == value
    assert found.is_optimal


@pytest.mark.parametrize(("objective", "first"), [("max_groups", "groups"), ("min_groups", "fewer groups")])
def test_the_loss_after_the_number_of_groups(objective: Any, first: str) -> None:
    problem, tables = drawn(Random(5))
    found = km.solve(replace(problem, objective=objective), then=["loss", "keep q0"]).require_optimal()
    assert [stage.value for stage in found.stages] == best_of(tables, [first, "loss", "keep q0"])


def test_requirements_and_bounds_stay() -> None:
    rows = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "x")]
    illness = "uvuvv"
    frame = pl.DataFrame(rows, ["q0", "q1"], orient="row").with_columns(illness=pl.Series(list(illness)))
    table = km.Table.from_frame(frame, ["q0", "q1"], sensitive="illness")
    problem = km.Problem(table, [km.KAnonymity(2), km.PSensitivity(2)], max_groups=2)
    ones = [Fraction(1)] * 2
    tables = [
        each
        for each in every_table(rows, 2, ones, holds=lambda group: len({illness[i] for i in group}) > 1)
        if len(set(each.rows)) <= 2
    ]
    for goals in itertools.permutations(["discernibility", "keep q1"]):
        found = km.solve(problem, then=goals).require_optimal()
        assert [stage.value for stage in found.stages] == best_of(tables, ["loss", *goals])


@pytest.mark.parametrize("solver", ["cbc", "cpsat"])
def test_other_solvers(solver: str) -> None:
    problem, tables = drawn(Random(7))
    found = km.solve(problem, solver, then=["discernibility", "keep q1"]).require_optimal()
    assert [stage.value for stage in found.stages] == best_of(tables, ["loss", "discernibility", "keep q1"])


def test_nothing_is_proven_after_what_is_not() -> None:
    one = Fraction(1)
    first, second = Stage("loss", 3 * one, 2 * one), Stage("groups", one, one)
    assert [stage.proof for stage in judged([first, second])] == ["bound", "bound"]
    assert [stage.proof for stage in judged([replace(first, bound=3 * one), second])] == ["optimal", "optimal"]
    problem, _ = drawn(Random(1))
    greedy = km.solve(problem, method="greedy", then="groups")
    assert greedy.stages[0].proof == greedy.proof == "none"
    assert greedy.stages[1].proof != "optimal"
    assert not greedy.is_optimal
    assert "then groups" in greedy.summary()


def test_goals_of_large_tables_are_told_apart() -> None:
    """Where the model is too large, the table stays, and nothing is said to be proven."""
    problem, _ = drawn(Random(2))
    plain = km.solve(problem).require_optimal()
    found = km.solve(problem, then="discernibility", parameters=BY_WEIGHTS)
    assert found.exact_objective == plain.exact_objective
    assert found.stages[1].proof == "none"
    assert "open_model.pairs" in found.stages[1].message
    assert not found.is_optimal
    sizes = present(found.groups).tolist()
    assert found.stages[1].value == sum(sizes.count(group) for group in sizes)


@pytest.mark.parametrize("seed", range(examples(20, 2)))
def test_columns_before_such_a_goal_are_optimized(seed: int) -> None:
    problem, tables = drawn(Random(f"before-{seed}"))
    found = km.solve(problem, then=["keep q1", "groups", "keep q0"], parameters=BY_WEIGHTS)
    assert [stage.value for stage in found.stages[:2]] == best_of(tables, ["loss", "keep q1"])
    assert [stage.proof for stage in found.stages] == ["optimal", "optimal", "none", "none"]
    assert "open_model.pairs" in found.stages[2].message


def test_infeasible_is_infeasible() -> None:
    problem, _ = drawn(Random(2))
    found = km.solve(replace(problem, cost_bound=0, privacy=km.KAnonymity(5)), then="groups")
    assert found.proof == "infeasible"
    assert found.stages == ()


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("keep q7", '"q7" is not a quasi-identifier'),
        ("beauty", "loss, groups, fewer groups, discernibility, or keep COLUMN is expected"),
        (["groups", "groups"], '"groups" is an objective already'),
        ("loss", '"loss" is an objective already'),
        (3, "then"),
    ],
)
def test_what_is_no_goal(then: Any, said: str) -> None:
    with pytest.raises(km.InputError, match=said):
        km.solve(drawn(Random(1))[0], then=then)


def test_tables_with_a_level_for_each_column_have_no_further_objective() -> None:
    with pytest.raises(km.InputError, match="method full_domain gives each column one level"):
        km.solve(drawn(Random(1))[0], method="full_domain", then="groups")


def test_the_command_line_names_each_stage(tmp_path: Path) -> None:
    problem, _ = drawn(Random(7))
    frame = pl.DataFrame(problem.table.frame.to_native())
    frame.write_csv(tmp_path / "people.csv")
    asked = (
        "solve",
        "--data",
        tmp_path / "people.csv",
        "--qi",
        "q0,q1",
        "--k",
        2,
        "--then",
        "keep q1",
        "--then",
        "groups",
    )
    done = run(*asked, "--json")
    assert done.returncode == 0
    stages = json.loads(done.stdout)["stages"]
    assert [stage["goal"] for stage in stages] == ["loss", "keep q1", "groups"]
    assert all(stage["proof"] == "optimal" for stage in stages)
    saved = run(*asked, "--save-model", tmp_path / "model.toml", "--quiet")
    assert saved.returncode == 0
    again = run("solve", tmp_path / "model.toml", "--json")
    assert json.loads(again.stdout)["stages"] == stages
