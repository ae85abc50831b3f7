"""Bounds under requirements about sensitive attributes: sizes only, requirements inside the subproblems, the linear
relaxation of the strong formulation (HiGHS).

python benchmarks/required_bounds.py cmc
python benchmarks/required_bounds.py adult --rows 1000
python benchmarks/required_bounds.py adult --no-lp
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
from requirements import PATTERNS, STUDIES

import kanon_milp as km
from kanon_milp.bounds import lagrangian, proven_bound, round_dual
from kanon_milp.bounds.required import proven_required, required_bound
from kanon_milp.formulations import get_formulation
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.clock import Clock


def linear_relaxation(instance: Instance, seconds: float) -> float | None:
    """The optimal value of the linear relaxation, None where it takes longer."""
    linear = to_arrays(get_formulation("strong").build(instance)).linear
    relaxed = replace(linear, integer=np.zeros_like(linear.integer))
    answer = get("highs").solve(relaxed, SolverOptions(time_limit=seconds))
    return answer.objective if answer.stop_reason.value == "optimal" else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=STUDIES)
    parser.add_argument("--only", nargs="+", help="some of the studies, by name")
    parser.add_argument("--rows", type=int, help="only so many of the first rows")
    parser.add_argument("--seconds", type=float, default=45, help="limit of each bound")
    parser.add_argument("--no-lp", action="store_true")
    args = parser.parse_args()
    frame = km.datasets.load(args.data)
    if args.rows:
        frame = frame.head(args.rows)
    print("study", "rows", "sizes", "s", "required", "s", "iterations", "LP", "s", sep="\t")
    for name, (columns, sensitive, privacy) in STUDIES[args.data].items():
        if args.only and name not in args.only:
            continue
        quasi = columns or [column for column in frame.columns if column != sensitive]
        table = km.Table.from_frame(frame, quasi, sensitive)
        mask = km.PatternMask.random(quasi, PATTERNS[args.data], 0)
        instance = presolve(km.Problem(table, privacy, mask), Clock(), merge=True).instance
        unit = instance.levels.unit
        began = time.perf_counter()
        dual = lagrangian(instance, seconds=args.seconds)
        sizes, by_sizes = proven_bound(instance, round_dual(dual)) * unit, time.perf_counter() - began
        began = time.perf_counter()
        point = required_bound(instance, dual.multipliers, seconds=args.seconds)
        required, by_required = proven_required(instance, point) * unit, time.perf_counter() - began
        began = time.perf_counter()
        lp = None if args.no_lp else linear_relaxation(instance, args.seconds)
        value = "-" if lp is None else f"{lp * float(unit):.1f}"
        print(
            name, len(frame), sizes, f"{by_sizes:.1f}", f"{required} ({point.value * float(unit):.1f})",
            f"{by_required:.1f}", point.evaluations, value, f"{time.perf_counter() - began:.1f}", sep="\t", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
