"""Generated instances: the optimum that is stated is the one that is found, and its groups solve the source problem."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import run
from oracle import optimum

import kanon_milp as km
from kanon_milp.instances.families import ANSWERS, FAMILIES, generate
from kanon_milp.instances.generated_files import released_groups, write_generated

SMALL = {"bisection": 6, "bisection_share": 6, "triangles_3_diversity": 3}  # to refute the default size takes seconds


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
    released_groups(problem, found.groups, found.optimum)  # verified, at the loss that is stated
    if found.read_back is not None:
        assert found.read_back(found.groups)
        assert found.read_back(groups_of(result))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_answer_no_is_infeasible(name: str) -> None:
    found = generate(name, SMALL.get(name), answer="no")
    assert found.optimum is None
    assert found.groups is None
    assert km.solve(found.problem()).proof == "infeasible"


@pytest.mark.parametrize("name", ["planted_k", "edge_partition", "three_set_cover"])
def test_brute_force_finds_it_too(name: str) -> None:
    found = generate(name, size=2 if name != "three_set_cover" else 1)
    rows = found.frame.select(found.quasi_identifiers).rows()
    (k,) = (each.k for each in found.privacy if isinstance(each, km.KAnonymity))
    vectors = None if found.patterns is None else [tuple(int(c == "*") for c in each) for each in found.patterns]
    if len(rows) <= 9:
        assert optimum(rows, k, vectors=vectors) == found.optimum


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
    released_groups(found.problem(), found.groups, found.optimum)


def test_a_claim_that_is_wrong_is_not_written(tmp_path: Path) -> None:
    from dataclasses import replace

    found = generate("planted_k")
    assert found.optimum is not None
    with pytest.raises(km.SolverError, match="not what was said"):
        write_generated(replace(found, optimum=found.optimum + 1), tmp_path / "x", exported=False)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["planted_t", "matching_t_high", "three_set_cover", "bipartite"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_the_files_say_what_was_generated(name: str, answer: str, tmp_path: Path) -> None:
    done = run("generate", name, "--answer", answer, "--out", str(tmp_path), "--no-mps")
    assert done.returncode == 0, done.stderr
    model = km.read_model(tmp_path / "model.toml")
    result = km.solve(model.problem)
    said = json.loads((tmp_path / "source.json").read_text())
    if answer == "no":
        assert result.proof == "infeasible"
        assert not (tmp_path / "solution.csv").exists()
        return
    assert result.exact_objective == Fraction(said["optimum"])
    assert said["answer"] == "yes"
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
        (("planted_k", "--answer", "perhaps"), "yes or no"),
        ((), "name a family"),
    ],
)
def test_bad_input_is_one_line(asked: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run("generate", *asked, "--out", str(tmp_path / "o"))
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "o").exists()
