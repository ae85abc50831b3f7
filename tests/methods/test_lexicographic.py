"""Other objectives, alone and one after the other: against all tables of small problems."""

from __future__ import annotations

import itertools
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
def test_other_solvers_for_costs_of_whole_groups(solver: str) -> None:
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
