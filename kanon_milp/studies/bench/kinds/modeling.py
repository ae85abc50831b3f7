"""Kinds that measure the way to a model: steps of presolve, and handing over."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import polars as pl
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from kanon_milp.errors import InputError
from kanon_milp.formulations import get_formulation
from kanon_milp.presolve.instance import Instance, compress_table, recode, types_of, with_candidates
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.reductions import reduce
from kanon_milp.presolve.row_types import compress
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import LinearModel, get
from kanon_milp.solvers.highs import as_highs_lp, new_highs
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.studies.bench.kinds import Measured, Teller, facts
from kanon_milp.studies.bench.sources import problem_of
from kanon_milp.studies.bench.statistics import MEASURED
from kanon_milp.system.clock import Clock

Sizes = tuple[int, int, int]


def presolving(task: Mapping[str, Any], tell: Teller) -> Measured:
    """The kind "presolve": one step before a model; all steps before it are done before the clock starts.

    compress: row types of the table in memory; group_by: polars' own group_by(...).len() of the same table; scan: row
    types from a Parquet file, without holding the table. candidates: their enumeration; reduce: the reductions; bound:
    the Lagrangian bound, so many iterations. The peak of memory counts from the start of the step, with what is held
    then.
    """
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


def handover(task: Mapping[str, Any], tell: Teller) -> Measured:
    """The kind "handover": from a presolved k-anonymity instance to a model inside HiGHS, in different ways; presolve
    is done before the clock starts. Raises InputError for other requirements.

    ours: the strong formulation as the package declares it in Pyomo, and its hand-over as arrays. pyomo: the same model
    as one writes it in Pyomo, by Pyomo's standard-form compiler. pyomo_appsi: the same, by Pyomo's own interface to
    HiGHS. pyomo_lp: the same, as an LP file. arrays: written down as arrays, without any modeling language.
    """
    problem = problem_of(task["source"])
    asked = problem.requirements[0]
    if len(problem.requirements) != 1 or not isinstance(asked, KAnonymity) or asked.unit is not None:
        raise InputError("the kind handover is for k-anonymity of rows alone")
    prepared = presolve(problem, Clock(), merge=True)
    instance, k = prepared.instance, asked.k
    tell.ready()
    began = time.perf_counter()
    finish = WAYS[task["method"]](instance, k)
    built = time.perf_counter()
    variables, constraints, nonzeros = finish()
    end = time.perf_counter()
    tell.done()
    return Measured(
        MEASURED,
        problem=facts(problem, prepared.row_types),
        solver_version=get().version(),
        sizes={
            "candidates": instance.candidates.count,
            "pairs": instance.candidates.pairs,
            "variables": variables,
            "constraints": constraints,
            "nonzeros": nonzeros,
        },
        seconds={"build": built - began, "handover": end - built, "solve": 0.0},
    )


def _ours(instance: Instance, k: int) -> Callable[[], Sizes]:
    model = get_formulation("strong").build(instance)
    return lambda: _passed(to_arrays(model).linear)


def plain_model(instance: Instance, k: int) -> pyo.ConcreteModel:
    """The strong formulation as one writes it in Pyomo, expressions by `sum`."""
    c = instance.candidates
    n, covers, costs = instance.types.counts.tolist(), c.cover_lists(), c.cost.tolist()
    of_type: list[list[int]] = [[] for _ in n]
    for g, cover in enumerate(covers):
        for i in cover:
            of_type[i].append(g)
    m = pyo.ConcreteModel()
    m.I, m.G = pyo.RangeSet(0, len(n) - 1), pyo.RangeSet(0, c.count - 1)
    m.P = pyo.Set(dimen=2, initialize=[(i, g) for g, cover in enumerate(covers) for i in cover])
    m.x = pyo.Var(m.P, domain=pyo.NonNegativeReals, bounds=lambda _, i, g: (0, n[i]))
    m.y = pyo.Var(m.G, domain=pyo.Binary)
    m.loss = pyo.Objective(expr=sum(costs[g] * m.x[i, g] for i, g in m.P))
    m.placed = pyo.Constraint(m.I, rule=lambda m, i: sum(m.x[i, g] for g in of_type[i]) == n[i])
    m.linked = pyo.Constraint(m.P, rule=lambda m, i, g: m.x[i, g] <= n[i] * m.y[g])
    m.size = pyo.Constraint(m.G, rule=lambda m, g: sum(m.x[i, g] for i in covers[g]) >= k * m.y[g])
    return m


def _pyomo(instance: Instance, k: int) -> Callable[[], Sizes]:
    model = plain_model(instance, k)

    def finish() -> Sizes:
        form = LinearStandardFormCompiler().write(model, mixed_form=True)
        kinds = np.array([row.bound_type for row in form.rows])
        rhs, A = np.asarray(form.rhs, dtype=float), sp.csr_array(form.A)
        linear = _model(
            np.asarray(form.c.todense()).ravel(), A, np.where(kinds <= 0, rhs, -np.inf),
            np.where(kinds >= 0, rhs, np.inf), np.array([v.bounds[1] for v in form.columns], dtype=float),
            np.array([not v.is_continuous() for v in form.columns]),
        )  # fmt: skip
        return _passed(linear)

    return finish


def _pyomo_appsi(instance: Instance, k: int) -> Callable[[], Sizes]:
    from pyomo.contrib.appsi.solvers import Highs

    model = plain_model(instance, k)

    def finish() -> Sizes:
        interface = Highs()
        interface.set_instance(model)
        inside = interface._solver_model
        return inside.getNumCol(), inside.getNumRow(), inside.getNumNz()

    return finish


def _pyomo_lp(instance: Instance, k: int) -> Callable[[], Sizes]:
    model = plain_model(instance, k)

    def finish() -> Sizes:
        highs = new_highs()
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.lp")
            model.write(path)
            highs.readModel(path)
        return highs.getNumCol(), highs.getNumRow(), highs.getNumNz()

    return finish


def _arrays(instance: Instance, k: int) -> Callable[[], Sizes]:
    """Columns: pairs, then candidates. Rows: row types, links, sizes."""
    c, n = instance.candidates, instance.types.counts.astype(float)
    pairs, groups, types = c.pairs, c.count, len(n)
    pair, i, g = np.arange(pairs), c.members.astype(np.int64), c.candidate_of_pair().astype(np.int64)
    rows = np.concatenate([i, types + pair, types + pair, types + pairs + g, types + pairs + np.arange(groups)])
    columns = np.concatenate([pair, pair, pairs + g, pair, pairs + np.arange(groups)])
    ones = np.ones(pairs)
    data = np.concatenate([ones, ones, -n[i], ones, np.full(groups, -float(k))])
    A = sp.csr_array((data, (rows, columns)), shape=(types + pairs + groups, pairs + groups))
    low = np.concatenate([n, np.full(pairs, -np.inf), np.zeros(groups)])
    high = np.concatenate([n, np.zeros(pairs), np.full(groups, np.inf)])
    costs = np.concatenate([c.cost[g].astype(float), np.zeros(groups)])
    upper = np.concatenate([n[i], np.ones(groups)])
    linear = _model(costs, A, low, high, upper, np.repeat([False, True], [pairs, groups]))
    return lambda: _passed(linear)


def _model(c: Any, A: sp.csr_array, low: Any, high: Any, upper: Any, integer: Any) -> LinearModel:
    return LinearModel("handover", c, 0.0, A, low, high, np.zeros(len(c)), upper, integer, (), ())


def _passed(linear: LinearModel) -> Sizes:
    highs = new_highs()
    highs.passModel(as_highs_lp(highspy, linear))
    return highs.getNumCol(), highs.getNumRow(), highs.getNumNz()


WAYS: dict[str, Callable[[Instance, int], Callable[[], Sizes]]] = {
    "ours": _ours,
    "pyomo": _pyomo,
    "pyomo_appsi": _pyomo_appsi,
    "pyomo_lp": _pyomo_lp,
    "arrays": _arrays,
}
