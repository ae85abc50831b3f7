"""The exact check of a point, permutations and MPS files, against arithmetic done another way."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kanon_milp.bench.point import check_point, read_number
from kanon_milp.bench.recording import Permutation, Recording
from kanon_milp.bench.sources import read_mps
from kanon_milp.errors import InputError
from kanon_milp.solvers import LinearModel, SolverOptions, get
from kanon_milp.solvers.canaries import CANARIES, small_model
from kanon_milp.solvers.mps import write_model

INF = float("inf")
COEFFICIENTS = (-3.0, -1.0, 0.0, 0.1, 0.3, 1.0, 1 / 3, 2.0, 1e15)


def drawn(seed: int) -> LinearModel:
    """A small model of integer variables with coefficients that are not all doubles."""
    rng = random.Random(seed)
    n = rng.randint(1, 5)
    rows = []
    for _ in range(rng.randint(1, 4)):
        low, high = sorted((rng.choice((-INF, -1.0, 0.3, 1.0)), rng.choice((0.9, 1.3, 5.0, INF))))
        rows.append((low, [rng.choice(COEFFICIENTS) for _ in range(n)], high))
    return small_model(
        "drawn", [rng.choice(COEFFICIENTS) for _ in range(n)], rows, [(0, 3)] * n, [True] * n, offset=0.1
    )


@pytest.mark.parametrize("seed", range(200))
def test_integer_points_are_judged_as_fractions_judge_them(seed: int) -> None:
    model, rng = drawn(seed), random.Random(seed)
    x = [rng.randint(-1 if seed % 5 == 0 else 0, 3) for _ in range(model.variables)]
    good = all(0 <= value <= 3 for value in x)
    for r, row in enumerate(model.A.todense().tolist()):
        value = sum((read_number(a) * v for a, v in zip(row, x, strict=True)), Fraction(0))
        low, high = float(model.constraint_lower[r]), float(model.constraint_upper[r])
        good &= low == -INF or value >= read_number(low)
        good &= high == INF or value <= read_number(high)
    found = check_point(model, np.array(x, dtype=float) + 1e-9)
    assert (not found.defects) == good
    costs = zip(model.c.tolist(), x, strict=True)
    assert found.objective == Fraction(1, 10) + sum((read_number(c) * v for c, v in costs), Fraction(0))


def test_a_violation_of_one_in_a_large_sum_is_seen() -> None:
    """Doubles would not tell it."""
    model = small_model("large", (1, 1), [(2.0**53, (2.0**52, 1.0), 2.0**53)], [(0, 9)] * 2, (True, True))
    assert not check_point(model, np.array([2.0, 0.0])).defects
    assert check_point(model, np.array([2.0, 1.0])).defects == ("1 constraint violated, by up to 1",)


def test_a_side_beyond_the_integers_of_a_machine_is_no_infinity() -> None:
    model = small_model("huge", (1,), [(1e19, (1.0,), INF)], [(0, 9)], (True,))
    assert check_point(model, np.array([2.0])).defects == ("1 constraint violated, by up to 1e+19",)


def test_what_is_no_point_is_said() -> None:
    model = small_model("three", (1, 1), [(1.0, (1.0, 1.0), INF)], [(0, 9)] * 2, (True, False))
    assert "1 values for 2" in check_point(model, np.array([1.0])).defects[0]
    assert "not finite" in check_point(model, np.array([1.0, np.nan])).defects[0]
    assert "misses an integer by 0.5" in check_point(model, np.array([0.5, 0.5])).defects[0]
    assert "outside the bounds" in check_point(model, np.array([0.0, 9.1])).defects[0]
    assert check_point(model, None).objective is None


def test_continuous_variables_may_be_off_by_tolerances() -> None:
    """A point whose integer variable is 1e-7 short of 1; the continuous one goes with it."""
    model = small_model(
        "link", (1, 1), [(-INF, (-100.0, 1.0), 0.0), (0.5, (0.0, 1.0), INF)], [(0, 1), (0, 100)], (True, False)
    )
    assert not check_point(model, np.array([1 - 1e-7, 0.5 + 1e-8])).defects
    found = check_point(model, np.array([4.9e-6, 4.9e-4]))  # half a row through a closed door
    assert found.defects


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_permuted_models_have_the_same_optima(solver: str) -> None:
    for make in CANARIES:
        canary = make()
        if canary.optimum is None:
            continue
        for seed in (1, 2):
            adapter = Recording(get(solver), seed)
            answer = adapter.solve(canary.model, SolverOptions(time_limit=20))
            assert adapter.model is canary.model
            assert not check_point(canary.model, answer.x).defects
            assert answer.objective == pytest.approx(canary.optimum)


def test_a_permutation_is_a_permutation() -> None:
    model = drawn(7)
    order = Permutation.drawn(model, 3)
    permuted = order.of_model(model)
    x = np.arange(model.variables, dtype=float)
    assert permuted.value(x) == pytest.approx(model.value(order.back(x)))
    assert sorted((permuted.A @ x).tolist()) == pytest.approx(sorted((model.A @ order.back(x)).tolist()))
    start = order.of_start(order.back(x))
    assert isinstance(start, np.ndarray)
    assert start.tolist() == x.tolist()
    assert order.of_start(dict(enumerate(order.back(x).tolist()))) == dict(enumerate(x.tolist()))


@pytest.mark.parametrize("name", ["model.mps", "model.mps.gz"])
def test_models_come_back_from_files(tmp_path: Path, name: str) -> None:
    for make in CANARIES:
        model = make().model
        write_model(model, tmp_path / name)
        back = read_mps(tmp_path / name)
        assert np.array_equal(back.A.todense(), model.A.todense()[_stated(model)])
        assert np.array_equal(back.c, model.c)
        assert back.offset == model.offset
        assert np.array_equal(back.integer, model.integer)
        assert np.array_equal(back.upper, model.upper)


def _stated(model: LinearModel) -> NDArray[np.bool_]:
    """Constraints with a finite side."""
    return np.isfinite(model.constraint_lower) | np.isfinite(model.constraint_upper)


def test_what_is_no_model_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.mps").write_text("no model")
    (tmp_path / "a.mps.gz").write_text("no archive")
    for name in ("a.mps", "a.mps.gz"):
        with pytest.raises(InputError):
            read_mps(tmp_path / name)


def test_a_maximization_is_negated(tmp_path: Path) -> None:
    text = "NAME a\nOBJSENSE\n MAX\nROWS\n N obj\n L r\nCOLUMNS\n x obj 2\n x r 1\nRHS\n rhs r 4\nENDATA\n"
    (tmp_path / "a.mps").write_text(text)
    model = read_mps(tmp_path / "a.mps")
    assert model.c.tolist() == [-2.0]
    assert replace(model).constraint_upper.tolist() == [4.0]
