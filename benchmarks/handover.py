"""Build and hand-over of a model to HiGHS, against Pyomo's build plus its standard-form compiler.

python benchmarks/handover.py --repeat 5

The model is the strong formulation of Adult under a mask of 10 patterns: some 130,000 variables and 520,000 nonzeros.
Baseline and package are timed in turn in one process; what counts is the ratio. The package declares the same formulas,
and beside them what is known of row types and candidates; it hands arrays to the solver.
"""

from __future__ import annotations

import argparse
import statistics
import time

import highspy
import pyomo.environ as pyo
from pattern_guided import COLUMNS
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

import kanon_milp as km
from kanon_milp.formulations import get_formulation
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import reduce
from kanon_milp.solvers.highs import _as_highs_lp
from kanon_milp.solvers.pyomo_arrays import to_arrays

K = 10


def plain_pyomo(instance: Instance) -> object:
    """The same model as one writes it in Pyomo, expressions by `sum`, compiled by Pyomo."""
    c = instance.candidates
    n, covers = instance.types.counts.tolist(), c.cover_lists()
    costs, k = c.cost.tolist(), K
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
    return LinearStandardFormCompiler().write(m, mixed_form=True)


def ours(instance: Instance) -> dict[str, float]:
    """The package's way, up to a model inside HiGHS."""
    start = time.perf_counter()
    model = get_formulation("strong").build(instance)
    built = time.perf_counter()
    linear = to_arrays(model).linear
    compiled = time.perf_counter()
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(_as_highs_lp(highspy, linear))
    end = time.perf_counter()
    return {"build": built - start, "compile": compiled - built, "pass": end - compiled, "total": end - start,
            "variables": linear.variables, "nonzeros": linear.A.nnz}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    table = km.Table.from_frame(km.datasets.load("adult"), COLUMNS["adult"])
    problem = km.Problem(table, [km.KAnonymity(K)], km.PatternMask.random(COLUMNS["adult"], 10))
    instance = reduce(prepare(problem))[-1].instance
    ratios, base, runs = [], [], []
    for _ in range(args.repeat):
        start = time.perf_counter()
        plain_pyomo(instance)
        base.append(time.perf_counter() - start)
        runs.append(ours(instance))
        ratios.append(runs[-1]["total"] / base[-1])
    print(f"{runs[0]['variables']:,.0f} variables, {runs[0]['nonzeros']:,.0f} nonzeros, median of {args.repeat}")
    print(f"Pyomo's build + standard form   {statistics.median(base):6.2f} s")
    for part in ("build", "compile", "pass", "total"):
        print(f"kanon_milp {part:<20} {statistics.median(r[part] for r in runs):6.2f} s")
    print(f"ratio {statistics.median(ratios):.2f} (min {min(ratios):.2f}, max {max(ratios):.2f})")


if __name__ == "__main__":
    main()
