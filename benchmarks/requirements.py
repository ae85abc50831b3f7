"""p-sensitivity, l-diversity and t-closeness on real tables: proven optimum, or the gap when the time is over.

python benchmarks/requirements.py cmc --solver highs cbc               QIs all but method, 8 random patterns
python benchmarks/requirements.py adult                                6 random patterns
python benchmarks/requirements.py cmc --only "t = 0.1" --time-limit 300
"""

from __future__ import annotations

import argparse
import json

from rich.console import Console
from rich.table import Table

import kanon_milp as km

PEOPLE = ["age", "workclass", "education", "marital-status", "race", "sex"]
K5 = km.KAnonymity(5)
# what → (quasi-identifiers, None for all others, sensitive attribute, requirements)
STUDIES: dict[str, dict[str, tuple[list[str] | None, str, list[km.Requirement]]]] = {
    "cmc": {
        "l = 1.5": (None, "method", [km.LDiversity("1.5")]),
        "l = 2": (None, "method", [km.LDiversity(2)]),
        "p = 2, k = 5": (None, "method", [K5, km.PSensitivity(2)]),
        "p = 3, k = 5": (None, "method", [K5, km.PSensitivity(3)]),
        "t = 0.3": (None, "method", [km.TCloseness("0.3")]),
        "t = 0.2": (None, "method", [km.TCloseness("0.2")]),
        "t = 0.1": (None, "method", [km.TCloseness("0.1")]),
    },
    "adult": {
        "p = 2, k = 5": ([*PEOPLE, "occupation"], "salary-class", [K5, km.PSensitivity(2)]),
        "l = 1.25": ([*PEOPLE, "occupation"], "salary-class", [km.LDiversity("1.25")]),
        "t = 0.3, k = 5": ([*PEOPLE, "salary-class"], "occupation", [K5, km.TCloseness("0.3")]),
    },
}
PATTERNS = {"cmc": 8, "adult": 6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=STUDIES)
    parser.add_argument("--only", nargs="+", help="some of the studies, by name")
    parser.add_argument("--solver", nargs="+", default=["highs"])
    parser.add_argument("--mask-seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=300)
    parser.add_argument("--json", help="write the runs there")
    args = parser.parse_args()
    frame = km.datasets.load(args.data)
    grid = Table("study", "solver", "variables", "objective", "bound", "gap %", "proof", "solve s", "total s")
    runs = []
    for name, (columns, sensitive, privacy) in STUDIES[args.data].items():
        if args.only and name not in args.only:
            continue
        quasi = columns or [column for column in frame.columns if column != sensitive]
        table = km.Table.from_frame(frame, quasi, sensitive)
        mask = km.PatternMask.random(quasi, PATTERNS[args.data], args.mask_seed)
        for solver in args.solver:
            result = km.solve(km.Problem(table, privacy, mask, name=name), solver, time_limit=args.time_limit)
            runs.append(result.as_dict())
            gap = "-" if result.gap is None else f"{100 * result.gap:.2f}"
            cells = (
                name, solver, f"{result.after.variables:,}", str(result.objective), str(result.bound), gap,
                result.proof, f"{result.seconds['solve']:.1f}", f"{result.seconds['total']:.1f}",
            )  # fmt: skip
            print(*cells, sep="\t", flush=True)
            grid.add_row(*cells)
    Console().print(grid)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
