"""The kind "presolve": one step before a model; all steps before it are done before the clock starts.

compress: row types of the table in memory; group_by: polars' own group_by(...).len() of the same table; scan: row types
from a Parquet file, without holding the table. candidates: their enumeration; reduce: the reductions; bound: the
Lagrangian bound, so many iterations. The peak of memory counts from the start of the step, with what is held then.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.reductions import reduce
from kanon_milp.presolve.row_types import compress
from kanon_milp.problem.problem import Problem
from kanon_milp.studies.bench.measured import Measured, Teller, facts
from kanon_milp.studies.bench.sources import problem_of
from kanon_milp.studies.bench.statistics import MEASURED


def run(task: Mapping[str, Any], tell: Teller) -> Measured:
    """Prepare, time one step, say what it made."""
    problem = problem_of(task["source"])
    with tempfile.TemporaryDirectory() as folder:
        step = _prepared(problem, task["method"], task["parameters"], Path(folder))
        tell.ready()
        made = step()
        tell.done()
    types = compress_table(problem)
    sizes = {}
    if isinstance(made, Instance):
        sizes = {"candidates": made.candidates.count, "pairs": made.candidates.pairs}
    said = f"{made:,} row types" if isinstance(made, int) else f"bound {made:,.1f}" if isinstance(made, float) else ""
    return Measured(MEASURED, message=said, problem=facts(problem, (types.count, types.star_count)), sizes=sizes)


def _prepared(problem: Problem, step: str, parameters: Mapping[str, Any], folder: Path) -> Callable[[], object]:
    """The step, with all that it needs in memory."""
    names, keys = list(problem.table.quasi_identifiers), problem.table.keys
    match step:
        case "compress":
            return lambda: compress_table(problem).count
        case "group_by":
            lazy = keys.lazy()
            return lambda: lazy.group_by(names).len().collect(engine="streaming").height
        case "scan":
            path = folder / "table.parquet"
            keys.write_parquet(path)
            return lambda: compress(pl.scan_parquet(path), names).count
    types = types_of(problem, compress_table(problem))
    levels = recode(problem, types)
    if step == "candidates":
        return lambda: with_candidates(problem, types, levels)
    instance = with_candidates(problem, types, levels)
    if step == "reduce":
        return lambda: _reduced(instance)
    from kanon_milp.bounds import lagrangian

    reduced = _reduced(instance)
    return lambda: float(lagrangian(reduced, iterations=int(parameters["iterations"])).value)


def _reduced(instance: Instance) -> Instance:
    steps = reduce(instance)
    return steps[-1].instance if steps else instance
