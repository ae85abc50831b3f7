"""Pattern-guided k-anonymity on real tables: seconds to a proven optimum by solver and formulation.

python benchmarks/pattern_guided.py adult --k 2 5 10 25                     strong formulation, HiGHS
python benchmarks/pattern_guided.py adult --k 10 25 --formulation strong textbook --time-limit 700
python benchmarks/pattern_guided.py cmc --patterns 12 --k 3 5 10 --solver highs cbc
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics

from rich.console import Console
from rich.table import Table

import kanon_milp as km

COLUMNS = {
    "adult": ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "salary-class"],
    "cmc": [
        "wife_age", "wife_education", "husband_education", "n_children", "wife_religion", "wife_working",
        "husband_occupation", "living_standard", "media_exposure",
    ],
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=COLUMNS)
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5, 10, 25])
    parser.add_argument("--patterns", type=int, default=10)
    parser.add_argument("--mask-seed", type=int, nargs="+", default=[0])
    parser.add_argument("--solver", nargs="+", default=["highs"])
    parser.add_argument("--formulation", nargs="+", default=["strong"])
    parser.add_argument("--time-limit", type=float, default=700)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", help="write the runs there")
    args = parser.parse_args()
    table = km.Table.from_frame(km.datasets.load(args.data), COLUMNS[args.data])
    grid = Table("k", "mask", "solver", "formulation", "variables", "objective", "bound", "proof", "solve s", "total s")
    runs = []
    for k, seed, solver, formulation in itertools.product(args.k, args.mask_seed, args.solver, args.formulation):
        mask = km.PatternMask.random(COLUMNS[args.data], args.patterns, seed)
        problem = km.Problem(table, [km.KAnonymity(k)], mask)
        results = [
            km.solve(problem, solver, formulation=formulation, time_limit=args.time_limit) for _ in range(args.repeat)
        ]
        result = results[-1]
        seconds = {name: statistics.median(r.seconds[name] for r in results) for name in result.seconds}
        runs.append({"mask_seed": seed, **result.as_dict(), "median_seconds": seconds, "runs": args.repeat})
        grid.add_row(
            str(k), f"{args.patterns} (seed {seed})", solver, formulation, f"{result.after.variables:,}",
            str(result.objective), str(result.bound), result.proof,
            f"{seconds['solve']:.1f}", f"{seconds['total']:.1f}",
        )  # fmt: skip
    Console().print(grid)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
