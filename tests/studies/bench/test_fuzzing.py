"""The fuzzer finds a solver that lies, makes the model small, and blames no solver that is right."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from effort import examples

from kanon_milp import solvers
from kanon_milp.solvers import LinearModel, SolverResult
from kanon_milp.solvers.canaries import small_model
from kanon_milp.solvers.highs import HighsAdapter
from kanon_milp.solvers.registry import SOLVERS
from kanon_milp.studies.bench.checks import check_point
from kanon_milp.studies.bench.fuzzing import FuzzingParams, Refuted, _Bench, drawn, fuzz
from kanon_milp.studies.bench.sources import read_solver_model
from kanon_milp.studies.mps_library.exact_mps import read_mps, read_solution_lines


class Liar(HighsAdapter):
    """Does not see the largest cost, and calls its point optimal."""

    name, title = "liar", "Liar"

    def solve(self, model: LinearModel, *arguments: Any, **others: Any) -> SolverResult:
        blind = dataclasses.replace(model, c=np.where(model.c == model.c.max(initial=0), 0, model.c))
        found = super().solve(blind, *arguments, **others)
        value = None if found.x is None else model.value(found.x)
        return dataclasses.replace(found, objective=value, bound=value)


@pytest.fixture
def liar() -> Iterator[Liar]:
    adapter = Liar()
    solvers.register_solver(adapter)
    yield adapter
    SOLVERS.pop("liar")


def bench_of(tested: solvers.SolverAdapter, out: Path) -> _Bench:
    return _Bench(tested, [solvers.get("scip")], {}, FuzzingParams(), out)


def test_what_a_lie_needs_is_left(tmp_path: Path) -> None:
    pytest.importorskip("pyscipopt")
    # the cheapest of two must be taken, three times; the liar takes any one at the first place
    rows = [(1.0, tuple(float(j // 2 == place) for j in range(6)), math.inf) for place in range(3)]
    model = small_model("six", (9, 1, 2, 1, 2, 1), rows, [(0, 1)] * 6, [True] * 6)
    bench, right = bench_of(Liar(), tmp_path), np.array([0.0, 1, 0, 1, 0, 1])
    assert bench.claims(model, [np.zeros(6)])[1] is None  # no point of the model refutes nothing
    _, refuted = bench.claims(model, [right])
    assert refuted is not None
    assert refuted.said.startswith("says ")
    small, left = bench.reduced(model, refuted, math.inf)
    assert (small.variables, small.constraints) == (2, 1)
    assert left.x is not None
    assert not check_point(small, left.x).defects
    assert bench_of(solvers.get("highs"), tmp_path).claims(model, [right])[1] is None


def test_a_smaller_model_that_is_solved_right_is_no_find(tmp_path: Path) -> None:
    pytest.importorskip("pyscipopt")
    model = small_model("one", (1.0, 2.0), [(1.0, (1.0, 1.0), math.inf)], [(0, 1)] * 2, [True] * 2)
    assert bench_of(solvers.get("highs"), tmp_path).refuted(model, Refuted("says 2 is optimal")) is None


@pytest.mark.full
def test_the_files_of_a_find_show_it(liar: Liar, tmp_path: Path) -> None:
    found = fuzz("liar", 5, tmp_path, seed=1, most=2, params=FuzzingParams(rows=7, reduce_seconds=3))
    assert found.finds
    for find in found.finds:
        model = read_mps((find.folder / "model.mps").read_text())
        value, point = read_solution_lines((find.folder / "reference.sol").read_text())
        assert not model.violations(point)
        assert model.value(point) == value
        linear = read_solver_model(find.folder / "model.mps").linear
        answer = liar.solve(linear, solvers.SolverOptions(10))
        assert answer.objective is not None
        assert Fraction(answer.objective) > value
        assert find.model.variables <= find.before.variables
        assert "Liar" in (find.folder / "reproduce.py").read_text()
    assert not (tmp_path / "current.mps").exists()


@pytest.mark.full
def test_solvers_that_are_right_are_not_blamed(tmp_path: Path) -> None:
    found = fuzz("highs", 5, tmp_path, seed=2, most=8, params=FuzzingParams(rows=8))
    assert (found.models, found.finds) == (8, ())


def test_the_same_seed_draws_the_same_models() -> None:
    first, second = (drawn(Random("3"), FuzzingParams()) for _ in range(2))
    assert first[0] == second[0]
    assert first[1] is not None
    assert second[1] is not None
    assert (first[1].A.toarray() == second[1].A.toarray()).all()


def test_every_draw_is_a_model_or_none() -> None:
    """Tables that a requirement refuses are drawn, too: a sensitive attribute with one value hides nothing."""
    drawn_models = [drawn(Random(f"0-{i}"), FuzzingParams(rows=6, planted=0.0))[1] for i in range(examples(200, 40))]
    assert None in drawn_models
    assert any(model is not None for model in drawn_models)


CORPUS = Path(__file__).parents[3] / "benchmarks" / "studies" / "wrong_answers"


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.mps")), ids=lambda path: str(path.stem))
def test_each_model_of_the_corpus_has_its_reference_solution_and_settings(path: Path) -> None:
    model = read_mps(path.read_text())
    value, point = read_solution_lines(path.with_suffix(".sol").read_text())
    assert not model.violations(point)
    assert model.value(point) == value
    assert f"known = {{ optimum = {value}," in (CORPUS.with_suffix(".toml")).read_text()
    best = solvers.get("highs").solve(read_solver_model(path).linear, solvers.SolverOptions(extra={"presolve": "off"}))
    assert best.objective == pytest.approx(float(value))
    assert path.with_suffix(".set").read_text().startswith(("# HiGHS 1.", "# SCIP 10."))
