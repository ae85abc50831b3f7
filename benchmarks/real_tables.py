"""Whole tables from both sides: cost, certified bound and gap of k-anonymity by suppression, over time.

python benchmarks/real_tables.py                                   all of Adult, 8 columns, all 256 patterns
python benchmarks/real_tables.py --k 2 5 10 25 100 --time-limit 600 --threads 2
python benchmarks/real_tables.py --table adult9                    9 columns, 512 patterns
python benchmarks/real_tables.py --table adult14                   14 columns of adult_raw (all but fnlwgt), a mask of
                                                                   100 random patterns
python benchmarks/real_tables.py --rows 500 1000 2000 --k 2 --time-limit 120
python benchmarks/real_tables.py --rows 200 500 --k 5 --method milp --formulation textbook   the baseline

A row is printed as soon as a run has ended, all of them once more as a table at the end. "certified" is the bound that
the certificate of the run proves by itself. For methods side by side: benchmarks/proofs.py.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path

from common import add_options, gap_at, percent, problems
from rich.console import Console
from rich.table import Table

import kanon_milp as km

SOON = (60.0, 120.0, 300.0)  # seconds at which the gap is shown as well
HEAD = ("rows", "k", "objective", "bound", "certified", "gap %", *(f"at {s:.0f} s" for s in SOON), "proof", "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, rows=[0], k=[2, 5, 10, 25], time_limit=600)
    parser.add_argument("--method", default="auto", choices=["auto", "milp", "search"])
    parser.add_argument("--formulation", default="strong")
    parser.add_argument("--certificates", type=Path, help="folder for the certificates")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the runs there")
    args = parser.parse_args()
    grid = Table(*HEAD)
    runs = []
    print(*HEAD, sep="\t", flush=True)
    for rows, k, problem in problems(args):
        result = km.solve(
            problem,
            method=args.method,
            formulation=args.formulation,
            time_limit=args.time_limit,
            threads=args.threads,
            seed=args.seed,
        )
        certified = result.certify()
        if args.certificates:
            args.certificates.mkdir(parents=True, exist_ok=True)
            certified.write(args.certificates / f"{args.table}_{rows}_{k}.json")
        runs.append({**result.as_dict(), "certified": str(certified.bound)})
        if args.json:  # after each run: the next one may take hours
            args.json.write_text(json.dumps(runs, indent=1) + "\n")
        soon = [gap_at(result, seconds) for seconds in SOON]
        seconds = f"{result.seconds['total']:.1f}"
        known = (result.objective, result.bound, certified.bound, percent(result.gap))
        row = [str(cell) for cell in (rows, k, *known, *soon, result.proof, seconds)]
        print(*row, sep="\t", flush=True)
        grid.add_row(*row)
    Console(width=130).print(grid)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"peak memory of this process and its largest worker: {peak / 2**20:.2f} GB")


if __name__ == "__main__":  # processes of the search begin by reading this file
    main()
