"""Simplex matching: seconds to a proven optimum for k = 2, over some seeds; ends with 1 where one is not proven.

python benchmarks/matching.py                              first 1,000 and 5,000 rows of Adult, and all of it, seeds 0-4
python benchmarks/matching.py --rows 1000 --l              2-diversity of the occupation instead
python benchmarks/matching.py --rows 1000 --methods matching search

8 columns of Adult and all 256 patterns; 7 columns where the occupation is the sensitive attribute. Code is compiled
before.
"""

from __future__ import annotations

import argparse
import sys
import time

from common import Q8
from rich.console import Console
from rich.table import Table

import kanon_milp as km
from kanon_milp.methods.warm_up import warm_up


def problem_of(rows: int, *, diverse: bool) -> km.Problem:
    frame = km.datasets.load("adult").head(rows)
    if diverse:
        names = [name for name in Q8 if name != "occupation"]
        return km.Problem(km.Table.from_frame(frame, names, "occupation"), km.LDiversity(2))
    return km.Problem(km.Table.from_frame(frame, Q8), km.KAnonymity(2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 5_000, 30_162])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--methods", nargs="+", default=["matching"])
    parser.add_argument("--l", action="store_true", help="2-diversity of the occupation instead of k = 2")
    parser.add_argument("--time-limit", type=float, default=600.0)
    args = parser.parse_args()
    warm_up(sensitive=args.l)
    grid = Table("rows", "method", "seed", "loss", "bound", "proof", "backed by", "s", "bound s", "table s")
    proven = True
    for rows in args.rows:
        problem = problem_of(rows, diverse=args.l)
        for method in args.methods:
            for seed in args.seeds:
                began = time.perf_counter()
                result = km.solve(problem, method=method, seed=seed, time_limit=args.time_limit)
                seconds = time.perf_counter() - began
                proven &= result.is_optimal
                parts = (f"{result.seconds.get(step, 0.0):.1f}" for step in ("bound", "search"))
                grid.add_row(
                    f"{rows:,}", method, str(seed), str(result.objective), str(result.bound), result.proof,
                    ", ".join(result.backed_by), f"{seconds:.1f}", *parts,
                )  # fmt: skip
    Console().print(grid)
    sys.exit(not proven)


if __name__ == "__main__":
    main()
