"""Compiled functions and their parts."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from kernels import runnable

from kanon_milp.system.arrays import Floats
from kanon_milp.system.jit import compiled_in_memory, compiled_part, number_compiled


@compiled_part
def squared(x: float) -> float:
    return x * x


@compiled_part
def norm(values: Floats) -> float:
    total = 0.0
    for value in values:
        total += squared(value)
    return total


@compiled_in_memory
def norms(rows: Floats) -> Floats:
    found = np.empty(len(rows))
    for r in range(len(rows)):
        found[r] = norm(rows[r]) + squared(1.0)
    return found


def test_parts_are_called_by_compiled_functions_and_by_no_others() -> None:
    assert norms(np.arange(6.0).reshape(2, 3)).tolist() == [6.0, 51.0]
    for _ in range(2):
        with pytest.raises(TypeError, match="norm can only be called by compiled functions"):
            norm(np.arange(3.0))
    assert runnable(norm)(np.arange(3.0)) == 5.0


def test_garbage_is_looked_for_again_when_something_has_been_compiled() -> None:
    before = number_compiled()
    try:
        for enabled in (False, True):
            (gc.enable if enabled else gc.disable)()
            assert runnable(squared)(3.0) == 9.0
            assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert number_compiled() >= before + 2


def test_a_function_that_cannot_be_compiled_leaves_all_as_it_was() -> None:
    def wrong(x: object) -> object:
        return x.nothing  # type: ignore[attr-defined]

    with pytest.raises(Exception, match="nothing"):
        compiled_in_memory(wrong)(1.0)
    assert gc.isenabled()
    assert norms(np.ones((1, 2))).tolist() == [3.0]
