"""Solvers that lie, hang or crash are caught by the fuzzer and by studies, and none that is right is blamed."""

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
from bench_here import runs_here
from command_line import run
from effort import examples
from places import LIBRARY

from kanon_milp import solvers
from kanon_milp.solvers import LinearModel, SolverResult
from kanon_milp.solvers.canaries import small_model
from kanon_milp.solvers.highs import HighsAdapter
from kanon_milp.solvers.registry import SOLVERS
from kanon_milp.studies.bench.checks import check_point
from kanon_milp.studies.bench.fuzzing import FuzzingParams, Refuted, _Bench, drawn, fuzz
from kanon_milp.studies.bench.running import run_study
from kanon_milp.studies.bench.sources import read_solver_model
from kanon_milp.studies.bench.study import read_study
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


LIARS = Path(__file__).parent / "liars.py"
OWN = {  # what the run itself shows, without any other
    "infeasible_point": "model:",
    "fractional_point": "model:",
    "bound_beyond": "is beyond the objective",
    "better_than_it_is": "says its point is worth",
    "optimal_without_bound": "do not meet",
}
BY_OTHERS = {"wrong_optimum": "says optimal with", "wrong_bound": "bound", "infeasible": "says infeasible"}
ENDS = {"eats_memory": "memory", "crashes": "crashed", "leaves": "crashed", "raises": "error"}

STUDY = """
time_limit = {limit}
grace = 1
memory_limit = "600 MB"
plugins = ["{liars}"]
solvers = [{solvers}]
parallel = 2
[[instances]]
{instance}
"""


def rows_of(tmp_path: Path, solvers: list[str], instance: str, limit: float = 5) -> dict[str, dict[str, Any]]:
    names = ", ".join(f'"{name}"' for name in solvers)
    study = tmp_path / "lies.toml"
    study.write_text(STUDY.format(liars=LIARS, solvers=names, instance=instance, limit=limit))
    frame = run_study(read_study(study), tmp_path / "out")
    return {row["solver"]: row for row in frame.iter_rows(named=True)}


def test_lies_show_beside_an_honest_solver(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text((LIBRARY / "hospital" / "table1.csv").read_text())
    instance = """
name = "hospital"
[instances.data]
file = "table.csv"
quasi_identifiers = ["zip1", "zip2", "zip3", "zip4", "zip5", "age1", "age2", "education"]
[instances.privacy]
k = 3
"""
    with runs_here():
        rows = rows_of(tmp_path, ["highs", *OWN, *BY_OTHERS], instance, limit=30)
    honest = rows.pop("highs")
    assert (honest["ended"], honest["proof"], honest["objective_exact"], honest["defects"]) == (
        "finished", "optimal", "54", [],
    )  # fmt: skip
    assert honest["verified"] is True
    for solver, row in rows.items():
        assert any({**OWN, **BY_OTHERS}[solver] in defect for defect in row["defects"]), (solver, row["defects"])


def test_lies_show_beside_a_planted_optimum(tmp_path: Path) -> None:
    with runs_here():
        rows = rows_of(tmp_path, [*BY_OTHERS], 'generate = "edge_partition"\nsizes = [3]', limit=30)
    for solver, row in rows.items():
        assert any("known optimum" in defect for defect in row["defects"]), (solver, row["defects"])


@pytest.mark.processes
def test_what_does_not_end_well_is_a_row(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [*ENDS, "highs"], f'model = "{LIBRARY}/hospital.toml"', limit=60)
    assert {name: row["ended"] for name, row in rows.items()} == {**ENDS, "highs": "finished"}
    assert rows["highs"]["proof"] == "optimal"
    assert all(row["proof"] == "none" for name, row in rows.items() if name in ENDS)
    assert rows["leaves"]["exit_code"] == 7
    assert "SIGSEGV" in rows["crashes"]["message"]
    assert rows["eats_memory"]["peak_bytes"] > 6e8
    assert "ZeroDivisionError" in rows["raises"]["message"]
    assert "cell" not in rows["raises"]["message"]


@pytest.mark.processes
def test_what_hangs_is_killed(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path, ["hangs"], f'model = "{LIBRARY}/hospital.toml"', limit=2).values()
    assert (row["ended"], row["proof"]) == ("time", "none")
    assert 3 <= row["seconds"] < 30
    assert "killed 1 s after its time limit" in row["message"]


def test_a_lie_shows_in_a_model_without_a_table(tmp_path: Path) -> None:
    import kanon_milp as km

    problem = km.read_model(LIBRARY / "hospital.toml").problem
    km.export_model(problem, tmp_path / "hospital.mps.gz", reduced=True)
    instance = 'mps = "hospital.mps.gz"\nknown = { optimum = 54 }'
    with runs_here():
        rows = rows_of(tmp_path, ["highs", "cbc", *OWN, *BY_OTHERS], instance, limit=30)
    for solver in ("highs", "cbc"):
        row = rows.pop(solver)
        assert (row["proof"], row["objective_exact"], row["defects"], row["n"]) == ("optimal", "54", [], None)
    assert all(row["defects"] for row in rows.values())


TALES = {
    "out_of_the_model": "unusable point: its point does not satisfy the model",
    "no_numbers": "not finite",
    "unbounded": "unbounded",
    "unbounded_with_objective": "unbounded",
    "optimal_without_a_point": "says optimal",
}


@pytest.mark.parametrize("method", ["solver", "milp", "search"])
def test_what_the_template_of_adapters_refuses_is_red(method: str, tmp_path: Path) -> None:
    """Alone, without another run or a known optimum beside it."""
    instance = f'methods = ["{method}"]\ngenerate = "planted_k"\nsizes = [2]'
    if method == "search":  # presolve leaves nothing of planted groups
        instance = f'methods = ["search"]\nmodel = "{LIBRARY}/hospital.toml"'
    with runs_here():
        rows = rows_of(tmp_path, [*TALES], instance, limit=20)
    for solver, row in rows.items():
        if method == "search" and not row["defects"]:
            assert row["proof"] == "optimal"  # proven without the solver
            continue
        assert any(TALES[solver] in defect for defect in row["defects"]), (solver, row)


@pytest.mark.processes
def test_a_study_of_what_the_template_refuses_ends_red(tmp_path: Path) -> None:
    (tmp_path / "m.mps").write_text(
        "NAME m\nROWS\n N obj\n G r\nCOLUMNS\n x obj 1\n x r 2\nRHS\n rhs r 3\nBOUNDS\n UP b x 9\nENDATA\n"
    )
    (tmp_path / "s.toml").write_text(STUDY.format(liars=LIARS, solvers='"highs"', instance='mps = "m.mps"', limit=5))
    assert run("bench", tmp_path / "s.toml", "--out", tmp_path / "honest").returncode == 0
    names = ", ".join(f'"{solver}"' for solver in TALES)
    (tmp_path / "s.toml").write_text(STUDY.format(liars=LIARS, solvers=names, instance='mps = "m.mps"', limit=5))
    done = run("bench", tmp_path / "s.toml", "--out", tmp_path / "lies")
    assert (done.returncode, done.stderr.count("RED m:")) == (1, len(TALES))
    assert all(said in done.stderr for said in TALES.values())
