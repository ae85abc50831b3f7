"""Ten rows of thirty columns have a thousand million level vectors, and a thousand sets of rows to release."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run

import kanon_milp as km

ROWS, K = 10, 5


def drawn(columns: int, seed: int) -> list[tuple[str, ...]]:
    draw = random.Random(seed)
    return [tuple(str(draw.randrange(3)) for _ in range(columns)) for _ in range(ROWS)]


def least_loss(
    rows: Sequence[tuple[str, ...]], paths: Mapping[str | None, Sequence[str | None]] | None = None
) -> Fraction:
    """By trying all partitions: with k = 5 of ten rows one group, or two of five."""
    plain: Mapping[str | None, Sequence[str | None]] = {value: (value, "*") for row in rows for value in row}
    tree = paths or plain
    height = len(next(iter(tree.values()))) - 1

    def loss(group: Sequence[int]) -> Fraction:
        lost = 0
        for column in zip(*(rows[i] for i in group), strict=True):
            lost += next(level for level in range(height + 1) if len({tree[value][level] for value in column}) == 1)
        return Fraction(lost * len(group), height)

    everything = range(ROWS)
    halves = (set(half) for half in itertools.combinations(everything, K))
    divided = min(loss(sorted(half)) + loss([i for i in everything if i not in half]) for half in halves)
    return min(divided, loss(everything))


def problem_of(rows: Sequence[tuple[str, ...]], recoding: km.Recoding) -> km.Problem:
    names = [f"q{j}" for j in range(len(rows[0]))]
    return km.Problem(km.Table.from_frame(pl.DataFrame(rows, names, orient="row"), names), km.KAnonymity(K), recoding)


@pytest.mark.parametrize("columns", [18, 21, 30, 60])
@pytest.mark.parametrize("method", ["subset_dp", "milp", "auto"])
def test_the_optimum_is_proven(columns: int, method: str) -> None:
    rows = drawn(columns, columns)
    result = km.solve(problem_of(rows, km.Suppression()), method=method, time_limit=60).require_optimal()
    assert result.exact_objective == least_loss(rows)


@pytest.mark.parametrize("seed", range(3))
def test_so_it_is_with_hierarchies(seed: int) -> None:
    rows = drawn(24, seed)
    paths: dict[str | None, tuple[str | None, ...]] = {
        "0": ("0", "low", "any", "*"),
        "1": ("1", "low", "any", "*"),
        "2": ("2", "2", "any", "*"),
    }
    trees = km.Hierarchies({f"q{j}": km.Hierarchy(paths) for j in range(24)})
    result = km.solve(problem_of(rows, trees), method="milp", time_limit=60).require_optimal()
    assert result.exact_objective == least_loss(rows, paths)


@pytest.mark.parametrize("columns", [30, 60])
@pytest.mark.parametrize("method", ["mondrian", "mondrian_relaxed", "m_approximation"])
def test_methods_that_enumerate_nothing_take_any_number_of_columns(columns: int, method: str) -> None:
    rows = drawn(columns, 7)
    result = km.solve(problem_of(rows, km.Suppression()), method=method)
    assert result.report is not None
    assert result.report.ok
    assert result.exact_objective is not None
    optimum = least_loss(rows)
    assert optimum <= result.exact_objective <= ROWS * columns
    assert result.exact_bound is None or result.exact_bound <= optimum


def test_what_no_closure_answers_is_refused(tmp_path: Path) -> None:
    path, names = tmp_path / "data.csv", [f"q{j}" for j in range(30)]
    path.write_text("\n".join([",".join(names), *map(",".join, drawn(30, 1))]) + "\n")
    asked = ("solve", "--data", path, "--qi", ",".join(names), "--k", K)
    done = run(*asked, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["proof"] == "optimal"
    assert run(*asked, "--min-groups", 2).returncode == 0  # which the best table has anyway
    for more in (("--min-groups", 2, "--method", "milp"), ("--method", "full_domain"), ("--formulation", "textbook")):
        done = run(*asked, *more)
        assert done.returncode == 2
        assert "more than 1,048,576 level vectors are possible" in done.stderr


def test_the_certificate_of_a_wide_table_is_checked(tmp_path: Path) -> None:
    path, names = tmp_path / "data.csv", [f"q{j}" for j in range(30)]
    path.write_text("\n".join([",".join(names), *map(",".join, drawn(30, 1))]) + "\n")
    asked = ("--data", path, "--qi", ",".join(names), "--k", K, "--out", tmp_path / "out")
    proof = tmp_path / "proof.json"
    done = run("solve", *asked, "--certificate", proof)
    assert done.returncode == 0
    checked = ("verify", tmp_path / "out" / "anonymized.csv", "--original", path, "--qi", ",".join(names), "--k", K)
    done = run(*checked, "--certificate", proof)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "certificate: valid" in done.stdout
    stated = json.loads(proof.read_text())
    proof.write_text(json.dumps(stated | {"bound": str(Fraction(stated["bound"]) + 1)}))
    assert run(*checked, "--certificate", proof).returncode == 6


@pytest.mark.parametrize("suppressed_rows", ["strict", "exempt"])
@pytest.mark.parametrize("method", ["auto", "search", "mondrian"])
def test_a_table_to_start_with_is_taken(method: str, suppressed_rows: Any) -> None:
    problem = replace(problem_of(drawn(30, 5), km.Suppression()), suppressed_rows=suppressed_rows)
    best = km.solve(problem, method="milp").require_optimal()
    assert best.groups is not None
    again = km.solve(problem, method=method, start=best.groups)
    assert again.exact_objective == best.exact_objective
