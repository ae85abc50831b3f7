"""Compiling the inner loops before they are needed."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

from kanon_milp.privacy import KAnonymity
from kanon_milp.problem import Problem
from kanon_milp.solve import solve
from kanon_milp.table import Table

ROWS, COLUMNS, VALUES = 300, 4, 4  # of a table for which the search has to do everything that it can


def warm_up() -> tuple[int, float]:
    """Search on a small table, so that all compiled functions are on disk afterwards.

    Returns how many were not there yet, and the seconds it took.
    """
    from kanon_milp.compiled import number_compiled  # imports the compiler

    began, before = time.perf_counter(), number_compiled()
    cells = np.random.default_rng(0).integers(VALUES, size=(ROWS, COLUMNS)).astype(str)
    names = [f"q{j}" for j in range(COLUMNS)]
    table = Table.from_frame(pl.DataFrame(cells, schema=names, orient="row"), names)
    result = solve(Problem(table, KAnonymity(3)), method="search", iteration_limit=2)
    result.certificate  # noqa: B018  (computed when it is asked for)
    return number_compiled() - before, time.perf_counter() - began
