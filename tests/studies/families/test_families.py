"""Generated instances: the optimum that is stated is the one that is found, and its groups solve the source problem."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import run
from oracle import optimum

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.studies.families import FAMILIES, Answer, Generated, generate
from kanon_milp.studies.families.generated_files import released_groups, write_generated

SMALL = {
    "bisection": 6,
    "bisection_share": 4,
    "triangles_3_diversity": 3,
    "triangles_2_diversity": 3,
    "edge_partition": 3,
}  # to refute the default size takes seconds


def groups_of(result: km.Result) -> list[list[int]]:
    assert result.groups is not None
    return [np.flatnonzero(result.groups == number).tolist() for number in np.unique(result.groups)]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])  # more of the same
def test_the_stated_optimum_is_the_one_that_is_found(name: str, seed: int) -> None:
    found = generate(name, seed=seed)
    problem = found.problem()
    result = km.solve(problem)
    assert result.is_optimal
    assert result.exact_objective == found.optimum
    assert found.groups is not None
    released_groups(found)  # verified, at the loss that is stated
    if found.read_back is not None:
        assert found.read_back(found.groups)
        assert found.read_back(groups_of(result))


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


def without_bound(found: Generated) -> km.Problem:
    """The problem that the decision instance is of."""
    return replace(found, sides={key: value for key, value in found.sides.items() if key != "cost_bound"}).problem()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.full
def test_the_answer_no_is_infeasible_for_its_bound_alone(name: str, seed: int) -> None:
    found = generate(name, SMALL.get(name), seed, "no")
    assert (found.optimum, found.groups, found.answer) == (None, None, "no")
    assert km.solve(found.problem()).proof == "infeasible"
    best = km.solve(without_bound(found))
    assert best.is_optimal
    assert best.exact_objective is not None
    assert best.exact_objective > found.sides["cost_bound"]


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.imperfect])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_imperfect_solution_has_the_optimum_that_is_stated(name: str, seed: int) -> None:
    found = generate(name, seed=seed, answer="imperfect")
    result = km.solve(found.problem())
    assert result.is_optimal
    assert result.exact_objective == found.optimum
    assert found.groups is not None
    assert found.read_back is not None
    released_groups(found)
    assert found.read_back(found.groups) == found.read_back(groups_of(result))
    assert "perfect" not in found.read_back(found.groups)


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if not family.imperfect])
def test_other_families_have_no_imperfect_instances(name: str) -> None:
    with pytest.raises(InputError, match="the answer is yes or no"):
        generate(name, answer="imperfect")


def diverse(found: Generated) -> Callable[[tuple[int, ...]], bool] | None:
    """What the families ask of the sensitive values of a group, by counting."""
    secret = [found.frame[name].to_list() for name in found.sensitive]
    whole = [Counter(values) for values in secret]

    def fits(block: tuple[int, ...]) -> bool:
        for values, all_of_them in zip(secret, whole, strict=True):
            here, n = Counter(values[row] for row in block), len(values)
            for each in found.privacy:
                if isinstance(each, km.PSensitivity) and len(here) < each.p:
                    return False
                if isinstance(each, km.LDiversity):
                    most = max(here.values())
                    if (
                        (len(here) < Fraction(each.l))
                        if each.form == "distinct"
                        else (Fraction(each.l) * most > len(block))
                    ):
                        return False
                if isinstance(each, km.TCloseness):  # of values at equal distances
                    gaps = (Fraction(here[v], len(block)) - Fraction(all_of_them[v], n) for v in all_of_them)
                    if sum(abs(gap) for gap in gaps) / 2 > Fraction(each.t):
                        return False
        return True

    return fits if secret else None


BRUTE: list[tuple[str, int]] = [
    ("planted_k", 1), ("planted_p", 1), ("planted_l", 1), ("planted_t", 1), ("closeness_of_k", 1), ("greedy_tight", 3),
    ("three_set_cover", 1), ("matching_27", 2), ("matching_27", 3), ("matching_t_low", 2), ("matching_t_low", 3),
    ("bisection", 4), ("bisection", 6), ("bisection_share", 4), ("half_clique", 3), ("edge_partition", 2),
    ("edge_partition", 3), ("triangles_2_diversity", 3), ("triangles_3_diversity", 3), ("bipartite", 2),
]  # fmt: skip
MOST_ROWS = 9


@pytest.mark.parametrize(("name", "size"), BRUTE)
@pytest.mark.parametrize("answer", ["yes", "no", "imperfect"])
@pytest.mark.parametrize("seed", range(2))
def test_brute_force_over_all_partitions_finds_it_too(name: str, size: int, answer: Answer, seed: int) -> None:
    if answer == "imperfect" and not FAMILIES[name].imperfect:
        return
    if (name, answer) in (("three_set_cover", "no"), ("three_set_cover", "imperfect")):
        return  # 19 rows at least; by the source problem below
    found = generate(name, size, seed, answer)
    rows = found.frame.select(found.quasi_identifiers).rows()
    if len(rows) > MOST_ROWS:
        pytest.skip(f"{len(rows)} rows")
    k = max([each.k for each in found.privacy if isinstance(each, km.KAnonymity)], default=1)
    vectors = None if found.patterns is None else [tuple(int(c == "*") for c in each) for each in found.patterns]
    sides = dict(found.sides)
    if "groups" in sides:
        sides["min_groups"] = sides["max_groups"] = sides.pop("groups")
    assert optimum(rows, k, vectors=vectors, requirement=diverse(found), **sides) == found.optimum


def test_a_seed_is_an_instance() -> None:
    first, again, other = (generate("planted_l", seed=seed).frame for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("planted_t", 400),
        ("bisection", 16),
        ("edge_partition", 12),
        ("matching_27", 30),
        ("matching_t_low", 20),
        ("three_set_cover", 60),
    ],
)
def test_large_ones_are_known_too(name: str, size: int) -> None:
    found = generate(name, size=size)
    assert found.groups is not None
    released_groups(found)


def test_a_claim_that_is_wrong_is_not_written(tmp_path: Path) -> None:
    found = generate("planted_k")
    assert found.optimum is not None
    with pytest.raises(km.SolverError, match="not what was said"):
        write_generated(replace(found, optimum=found.optimum + 1), tmp_path / "x", exported=False)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["planted_t", "matching_t_high", "three_set_cover", "bipartite"])
@pytest.mark.parametrize("answer", ["yes", "no", "imperfect"])
def test_the_files_say_what_was_generated(name: str, answer: str, tmp_path: Path) -> None:
    done = run("generate", name, "--answer", answer, "--out", str(tmp_path), "--no-mps")
    if answer == "imperfect" and not FAMILIES[name].imperfect:
        assert done.returncode == 2
        return
    assert done.returncode == 0, done.stderr
    model = km.read_model(tmp_path / "model.toml")
    result = km.solve(model.problem)
    said = json.loads((tmp_path / "source.json").read_text())
    if answer == "no":
        assert result.proof == "infeasible"
        assert not (tmp_path / "solution.csv").exists()
        return
    assert result.exact_objective == Fraction(said["optimum"])
    assert said["answer"] == answer
    solution = pl.read_csv(tmp_path / "solution.csv", infer_schema=False)
    report = km.verify(model.problem, solution)
    assert report.ok
    assert report.cost == result.exact_objective


def test_an_earlier_instance_is_replaced_and_that_is_said(tmp_path: Path) -> None:
    first = run("generate", "planted_t", "--size", "2", "--out", tmp_path)
    assert first.returncode == 0
    assert "in place of" not in first.stdout
    again = run("generate", "planted_k", "--size", "2", "--no-mps", "--out", tmp_path)
    assert again.returncode == 0
    assert f"written to {tmp_path}, in place of an earlier instance: model.toml" in again.stdout
    files = ["model.toml", "solution.csv", "source.json", "table.csv"]  # no model of the earlier one
    assert sorted(path.name for path in tmp_path.iterdir()) == files


@pytest.mark.parametrize("name", ["table.csv", "model.toml", "model.mps.gz", "source.json"])
def test_files_that_are_of_no_instance_are_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    done = run("generate", "planted_k", "--size", "2", "--out", tmp_path)
    assert done.returncode == 2
    assert f"holds {name}, and no source.json that says" in done.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_the_model_is_exported_and_the_families_listed(tmp_path: Path) -> None:
    assert run("generate", "planted_k", "--size", "2", "--out", str(tmp_path)).returncode == 0
    assert (tmp_path / "model.mps.gz").exists()
    listed = run("generate", "--list")
    assert all(name in listed.stdout for name in FAMILIES)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("nothing",), "unknown family"),
        (("planted_k", "--size", "0"), "size must be at least 1"),
        (("bisection", "--size", "40"), "size must be at most 16"),
        (("planted_k", "--size", "100000000000"), "choose a smaller size"),
        (("edge_partition", "--size", "100000000000"), "choose a smaller size"),
        (("matching_27", "--size", "100000000000"), "choose a smaller size"),
        (("three_set_cover", "--size", "100000000000"), "choose a smaller size"),
        (("planted_k", "--answer", "perhaps"), "yes, no or imperfect"),
        (("planted_k", "--set", "t=1"), "there is no parameter t"),
        (("matching_t_low", "--set", "t=1/3"), "t must be at least 0 and below 1/3"),
        (("matching_t_low", "--set", "t"), "takes NAME=VALUE"),
        (("matching_t_high", "--set", "t=2/7"), "t must be at least 1/3"),
        (("matching_t_high", "--set", "t=7/19"), "must be a whole number"),
        (("bisection_share", "--set", "c=2/5"), "c must be above 0 and at most 1/3"),
        (("half_clique", "--set", "c=1/3"), "c must be above 1/3"),
        (("bipartite_sensitive", "--set", "p=5/2"), "an integer of at least 2"),
        (("matching_27", "--size", "1", "--answer", "no"), "choose a larger size"),
        (("three_set_cover", "--size", "1", "--answer", "imperfect"), "choose a larger size"),
        (("planted_k", "--source", "x.json"), "takes no source problem"),
        (("matching_27", "--source", "x.json", "--size", "3"), "not both"),
        (("one_in_three", "--source", "nowhere"), "no such file"),
        ((), "name a family"),
    ],
)
def test_bad_input_is_one_line(asked: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run("generate", *asked, "--out", str(tmp_path / "o"))
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "o").exists()
