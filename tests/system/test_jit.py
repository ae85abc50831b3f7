"""Compiled functions and their parts."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from kernels import runnable

from kanon_milp.bounds.evaluation import dot
from kanon_milp.system import jit
from kanon_milp.system.arrays import Floats
from kanon_milp.system.jit import compiled_in_memory, compiled_part, number_compiled, on_disk


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


def test_what_is_on_disk_is_of_these_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part in another file may have changed: numba itself looks at the file of the function alone."""
    dot(np.ones(2), np.ones(2))
    assert on_disk(dot)
    monkeypatch.setattr(jit, "_sources", lambda: "others")
    plain: Any = dot
    assert not jit.on_disk(jit.compiled(plain.py_func))


@pytest.mark.processes
def test_without_compilation_everything_is_python() -> None:
    code = "import kanon_milp.heuristics.state as s, kanon_milp.bounds.evaluation as v; print(type(v.dot).__name__)"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "function\n"
