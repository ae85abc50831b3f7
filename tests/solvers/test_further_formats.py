"""OPB and OMMX: what is written states the same model, by readers of our own, and by the tools that these are for."""

from __future__ import annotations

import dataclasses
import itertools
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from places import LIBRARY

import kanon_milp as km
from kanon_milp.solvers import LinearModel
from kanon_milp.solvers.canaries import small_model
from kanon_milp.solvers.mps import names_in_file, write_model
from kanon_milp.solvers.opb import opb_lines

INF = float("inf")
SIDES = [-INF, -2.0, -0.5, 0.0, 1.0, 1.25, INF]


@st.composite
def models(draw: st.DrawFn) -> LinearModel:
    """Up to five variables that are 0 or 1, some fixed; fractions, one-sided and two-sided constraints, a constant."""
    n = draw(st.integers(1, 5))
    number = st.sampled_from([-3.0, -1.0, -0.1, 0.0, 0.5, 1 / 3, 1.0, 2.0])
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        low, high = sorted(draw(st.tuples(st.sampled_from(SIDES), st.sampled_from(SIDES))))
        if low < INF and high > -INF:
            rows.append((low, tuple(draw(number) for _ in range(n)), high))
    bounds = [draw(st.sampled_from([(0, 1), (0, 1), (0, 0), (1, 1)])) for _ in range(n)]
    costs = tuple(draw(number) for _ in range(n))
    return small_model("random", costs, rows, bounds, [True] * n, offset=draw(st.sampled_from([0.0, 2.5])))


def read_opb(text: str) -> tuple[list[tuple[dict[str, int], str, int]], dict[str, int]]:
    """Constraints and objective of a file."""
    sizes = re.match(r"\* #variable= (\d+) #constraint= (\d+)\n", text)
    assert sizes is not None
    statements = [each.split() for each in re.sub(r"(?m)^\*.*$", "", text).split(";")[:-1]]

    def terms(words: list[str]) -> dict[str, int]:
        return {name: int(value) for value, name in zip(words[::2], words[1::2], strict=True)}

    assert statements[0][0] == "min:"
    constraints = [(terms(words[:-2]), words[-2], int(words[-1])) for words in statements[1:]]
    assert len(constraints) == int(sizes[2])
    return constraints, terms(statements[0][1:])


def exact(value: float) -> Fraction:
    return Fraction(value).limit_denominator(1000)


@given(models())
@settings(max_examples=examples(60, 60))
def test_an_opb_file_has_the_same_points_and_the_same_order_of_them(model: LinearModel) -> None:
    names = [f"x{j + 1}" for j in range(model.variables)]
    text = "".join(opb_lines(model, names, names_in_file(model)[1]))
    constraints, costs = read_opb(text)
    scale, offset = re.findall(r"objective of the model = (\S+) \* objective of this file \+ (\S+)", text)[0]
    A = model.A.toarray()
    for point in itertools.product((0, 1), repeat=model.variables):
        holds = all(low <= x <= high for low, x, high in zip(model.lower, point, model.upper, strict=True))
        for row, low, high in zip(A, model.constraint_lower, model.constraint_upper, strict=True):
            activity = sum((exact(a) * x for a, x in zip(row, point, strict=True)), Fraction(0))
            holds &= low <= activity <= high
        values = dict(zip(names, point, strict=True))
        sums = [(sum(a * values[name] for name, a in left.items()), sign, right) for left, sign, right in constraints]
        assert holds == all(left == right if sign == "=" else left >= right for left, sign, right in sums)
        worth = sum((exact(c) * x for c, x in zip(model.c, point, strict=True)), Fraction(model.offset))
        assert Fraction(scale) * sum(c * values[name] for name, c in costs.items()) + Fraction(offset) == worth


def test_a_model_that_is_not_pure_0_1_is_refused_by_name(tmp_path: Path) -> None:
    problem = km.read_model(LIBRARY / "hospital_t_transport.toml").problem
    with pytest.raises(
        km.InputError, match=r"0 or 1, and t_closeness\.flow\[0,0,0\] and 53 others may have other values"
    ):
        km.export_model(problem, tmp_path / "m.opb")
    fractional = small_model("f", (1.0,), [(0.5, (1.0,), INF)], [(0, 1)], [False])
    with pytest.raises(km.InputError, match="may have fractional values"):
        write_model(fractional, tmp_path / "m.opb")
    assert not list(tmp_path.iterdir())


PROBLEM = km.read_model(LIBRARY / "hospital.toml").problem


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tmp_path_factory.mktemp("opb") / "model.opb"
    km.export_model(PROBLEM, model)
    return model


def test_scip_solves_the_opb_file_and_its_solution_comes_back(hospital: Path) -> None:
    scip = pytest.importorskip("pyscipopt").Model()
    scip.hideOutput()
    scip.readProblem(str(hospital))
    scip.optimize()
    solution = hospital.with_name("model.sol")
    scip.writeBestSol(str(solution))
    assert km.import_solution(PROBLEM, solution, bound_seconds=0).objective == 54
    # the same point, as a pseudo-Boolean solver states it
    point = {v.name: round(scip.getVal(v)) for v in scip.getVars()}
    literals = [name if value else f"-{name}" for name, value in point.items()]
    lines = "".join(f"v {' '.join(literals[at : at + 10])}\n" for at in range(0, len(literals), 10))
    solution.write_text(f"c solved\no 54\ns OPTIMUM FOUND\n{lines}")
    assert km.import_solution(PROBLEM, solution, bound_seconds=0).objective == 54


def test_a_pseudo_boolean_solver_takes_the_opb_file(hospital: Path) -> None:
    solver = shutil.which("minisat+")
    if solver is None:
        pytest.skip("minisat+ is not installed")
    done = subprocess.run([solver, "-v0", hospital], capture_output=True, check=False, timeout=60)
    solution = hospital.with_name("model.answer")
    solution.write_bytes(done.stdout)
    assert km.import_solution(PROBLEM, solution, bound_seconds=0).objective == 54


def test_ommx_reads_the_instance_that_is_written_and_evaluates_it_as_we_do(tmp_path: Path) -> None:
    artifact = pytest.importorskip("ommx.artifact")
    problem = km.read_model(LIBRARY / "hospital_t_transport.toml").problem
    linear = km.export_model(problem, tmp_path / "m.ommx").arrays.linear
    sided = np.where(np.isfinite(linear.constraint_lower), linear.constraint_lower, linear.constraint_upper - 5)
    ranged = dataclasses.replace(linear, offset=2.5, constraint_lower=sided)
    write_model(ranged, tmp_path / "ranged.ommx")
    rng = np.random.default_rng(0)
    for path, model in ((tmp_path / "m.ommx", linear), (tmp_path / "ranged.ommx", ranged)):
        instance = artifact.Artifact.load_archive(path).instance
        variables = instance.decision_variables
        assert tuple(v.name for v in variables) == tuple(names_in_file(model)[0])
        assert [v.kind != v.CONTINUOUS for v in variables] == model.integer.tolist()
        assert [(v.bound.lower, v.bound.upper) for v in variables] == [
            *zip(model.lower.tolist(), model.upper.tolist(), strict=True)
        ]
        for point in (np.zeros(model.variables), *rng.integers(0, 2, (5, model.variables)).astype(float)):
            found = instance.evaluate(dict(enumerate(point.tolist())))
            assert found.objective == pytest.approx(model.value(point))
            activity = model.A @ point
            inside = (model.constraint_lower <= activity) & (activity <= model.constraint_upper)
            assert found.feasible == bool(inside.all() and (point <= model.upper).all())
    about = artifact.Artifact.load_archive(tmp_path / "m.ommx").instance
    assert about.annotations["org.kanon-milp.formulation"] == "strong"
    assert about.title == "hospital_t_transport"


def test_without_ommx_the_way_to_get_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ommx.v1", None)
    problem = km.read_model(LIBRARY / "hospital.toml").problem
    with pytest.raises(km.InputError, match=r"kanon-milp\[ommx\]"):
        km.export_model(problem, tmp_path / "m.ommx")
