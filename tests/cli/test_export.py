"""Model files: read again by two independent readers they have the same optimum, whatever the names."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import subprocess
import time
from typing import Any

import highspy
import numpy as np
import pytest
import scipy.sparse as sp
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from kanon_milp import solvers
from kanon_milp.errors import InputError
from kanon_milp.solvers import LinearModel, SolverOptions
from kanon_milp.solvers.canaries import knapsack, small_model
from kanon_milp.solvers.cbc import _in_cbcbox, _in_pulp
from kanon_milp.solvers.mps import file_names, write_model

INF = float("inf")
SUFFIXES = (".mps", ".mps.gz", ".lp", ".lp.gz")
EXECUTABLES = [path for path in (_in_pulp(), _in_cbcbox()) if path]


def sides() -> LinearModel:
    """Every kind of row and bound, a column in no row, an empty row, a constant, long numbers."""
    rows = [
        (1.0, (1, 1, 0, 0, 0, 0), INF),
        (-3.5, (0, 1, 1, 0, 0.1, 0), 4.0),
        (-INF, (0, 0, 0, 0, 0, 0), 5.0),
        (-INF, (1, 0, -1, 0, 0, 0), INF),
        (-2.0, (1, 1, 1, 0, 1, 1), 8.0),
        (-8.5, (0, 0, 1, 0, 0, 2), -8.5),
    ]
    bounds = [(-7, INF), (-3, 2.5), (-INF, INF), (0, INF), (-INF, 6), (-5, -1)]
    kinds = (False, False, False, True, True, True)
    return small_model("sides", (1, -2, 3, 0, 1 / 3, -1), rows, bounds, kinds, offset=7.25)


def by_highs(path: Any) -> float:
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value


def by_cbc(executable: str, path: Any) -> float:
    solution = path.parent / "solution.txt"
    command = [executable, "-import", path.name, "-solve", "-solution", solution.name]
    subprocess.run(command, cwd=path.parent, check=True, capture_output=True, timeout=60)
    first = solution.read_text().splitlines()[0]
    assert first.startswith("Optimal"), first
    return float(first.split()[-1])


@pytest.mark.parametrize("suffix", [".mps", ".mps.gz", ".lp"])
@pytest.mark.parametrize("make", [sides, lambda: knapsack().model], ids=["sides", "knapsack"])
def test_both_readers_find_the_same_optimum(tmp_path: Any, make: Any, suffix: Any) -> None:
    model = make()
    optimum = solvers.get("highs").solve(model, SolverOptions()).objective
    path = tmp_path / f"model{suffix}"
    write_model(model, path)
    if suffix.endswith(".gz"):
        path = tmp_path / "unpacked.mps"
        path.write_bytes(gzip.decompress((tmp_path / "model.mps.gz").read_bytes()))
    assert by_highs(path) == pytest.approx(optimum)
    for executable in EXECUTABLES:
        # CBC's readers disagree about the constant of the objective in MPS files, never about the rest
        assert by_cbc(executable, path) in (pytest.approx(optimum), pytest.approx(optimum - model.offset))
        if suffix == ".lp":
            assert by_cbc(executable, path) == pytest.approx(optimum)


@settings(max_examples=examples(40, 5), derandomize=True)
@given(
    data=st.lists(
        st.tuples(st.integers(-5, 5), st.booleans(), st.integers(-4, 4), st.integers(0, 4)),
        min_size=1,
        max_size=4,
    ),
    offset=st.integers(-3, 3),
    suffix=st.sampled_from([".mps", ".lp"]),
    low=st.integers(-9, 0),
)
def test_random_models_keep_their_optimum(tmp_path_factory: Any, data: Any, offset: Any, suffix: Any, low: Any) -> None:
    c, kinds, lowest, widths = zip(*data, strict=True)
    bounds = [(a, a + w) for a, w in zip(lowest, widths, strict=True)]
    model = small_model("r", c, [(low, (1,) * len(c), 40)], bounds, kinds, offset=offset)
    result = solvers.get("highs").solve(model, SolverOptions())
    if result.x is None:
        return
    path = tmp_path_factory.mktemp("export") / f"m{suffix}"
    write_model(model, path)
    assert by_highs(path) == pytest.approx(result.objective)
    assert by_cbc(EXECUTABLES[0], path) == pytest.approx(result.objective)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_same_bytes_on_every_run_and_nothing_else_in_the_folder(tmp_path: Any, suffix: Any) -> None:
    contents = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / f"{folder}{suffix}"
        names = write_model(sides(), path)
        assert sorted(p.name for p in path.parent.iterdir()) == sorted([path.name, names.name])
        contents.append((path.read_bytes(), names.read_bytes()))
        time.sleep(1.1 if suffix.endswith("gz") and folder == "a" else 0)  # a gzip header counts seconds
    assert contents[0] == contents[1]
    before = contents[0][0]
    path = tmp_path / "a" / f"a{suffix}"
    write_model(sides(), path)
    assert path.read_bytes() == before


def test_names_map_leads_back_to_the_model(tmp_path: Any) -> None:
    model = dataclasses.replace(
        sides(),
        variable_names=("assign[1,2]", "assign(1,2)", "e1", "Σ", "free", "x" * 300),
        constraint_names=("obj", 'size, "big"', "R1", "r1", "st", "7"),
    )
    names = write_model(model, tmp_path / "m.lp")
    with names.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    variables = [row for row in table if row["kind"] == "variable"]
    assert [row["name_in_model"] for row in variables] == list(model.variable_names)
    assert variables[0]["name_in_file"] == "assign_1_2"
    in_file = [row["name_in_file"] for row in table]
    assert len({name.lower() for name in in_file}) == len(in_file)
    assert all(name.isascii() and len(name) <= 255 and name[0] not in "eE0123456789" for name in in_file)
    # the row without a finite side is not in the file
    assert [row["name_in_model"] for row in table if row["kind"] == "constraint"] == [
        name for i, name in enumerate(model.constraint_names) if i != 3
    ]
    # and the solution of the file is the solution of the model
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(tmp_path / "m.lp"))
    highs.run()
    values = dict(zip(highs.allVariableNames(), highs.getSolution().col_value, strict=True))
    x = np.array([values[row["name_in_file"]] for row in variables])
    assert model.violation(x) < 1e-6
    assert model.value(x) == pytest.approx(by_highs(tmp_path / "m.lp"))


def test_generated_names_evade_given_ones() -> None:
    assert file_names(["x2", "Ü", "x3", "é!"], "x", set()) == ["x2", "x2_", "x3", "x4"]


def test_numbers_are_exact(tmp_path: Any) -> None:
    values = (0.1, 1 / 3, 1e-9, 123456789.125, 1e15, 2.5e20)
    rows = [(0.0, values, INF)]
    model = small_model("numbers", values, rows, [(0, 1)] * 6, (False,) * 6)
    for suffix in (".mps", ".lp"):
        write_model(model, tmp_path / f"n{suffix}")
        words = (tmp_path / f"n{suffix}").read_text().split()
        assert all(words.count(text) >= 2 for text in map(str, (0.1, 1 / 3, 1e-09, 123456789.125, 2.5e20)))
        assert "1.0" not in words


def test_what_cannot_be_written_is_an_input_error(tmp_path: Any) -> None:
    model = sides()
    with pytest.raises(InputError, match=r"\.mps, \.mps\.gz, \.lp, \.lp\.gz, \.opb, \.opb\.gz or \.ommx"):
        write_model(model, tmp_path / "model.txt")
    with pytest.raises(InputError, match="cannot write"):
        write_model(model, tmp_path / "none" / "model.mps")
    crossed = dataclasses.replace(model, lower=model.upper + 1)
    with pytest.raises(InputError, match="contradicting bounds"):
        write_model(crossed, tmp_path / "model.mps")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_half_a_million_nonzeros_take_seconds(tmp_path: Any) -> None:
    columns, rows = 100_000, 50_000
    A = sp.csr_array(sp.random_array((rows, columns), density=1e-4, rng=np.random.default_rng(0)))
    model = LinearModel(
        name="large",
        c=np.ones(columns),
        offset=0.0,
        A=A,
        constraint_lower=np.zeros(rows),
        constraint_upper=np.full(rows, 9.0),
        lower=np.zeros(columns),
        upper=np.ones(columns),
        integer=np.ones(columns, dtype=bool),
        variable_names=tuple(f"assign[{j},{j % 7}]" for j in range(columns)),
        constraint_names=tuple(f"linked[{i}]" for i in range(rows)),
    )
    began = time.perf_counter()
    write_model(model, tmp_path / "large.mps.gz")
    assert time.perf_counter() - began < 15  # about 2 s on an idle core
