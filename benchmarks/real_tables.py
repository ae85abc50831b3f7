"""Whole tables from both sides: cost, certified bound and gap of k-anonymity by suppression, over time.

python benchmarks/real_tables.py                                   all of Adult, 8 columns, all 256 patterns
python benchmarks/real_tables.py --k 2 5 10 25 100 --time-limit 600 --threads 2
python benchmarks/real_tables.py --table adult9                    9 columns, 512 patterns
python benchmarks/real_tables.py --table adult14                   14 columns of adult_raw, a mask of 100 patterns
python benchmarks/real_tables.py --rows 500 1000 2000 --k 2 --time-limit 120
python benchmarks/real_tables.py --rows 200 500 --k 5 --method milp --formulation textbook   the baseline
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path

from rich.console import Console
from rich.table import Table

import kanon_milp as km

Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
# name → data set, quasi-identifiers (None: all columns), patterns of a random mask (None: all patterns)
TABLES = {
    "adult8": ("adult", Q8, None),
    "adult9": ("adult", None, None),
    "adult14": ("adult_raw", None, 100),
}
SOON = (60.0, 120.0, 300.0)  # seconds at which the gap is shown as well


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=TABLES, default="adult8")
    parser.add_argument("--rows", type=int, nargs="+", default=[0], help="the first so many rows; 0 for all")
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5, 10, 25])
    parser.add_argument("--method", default="auto", choices=["auto", "milp", "search"])
    parser.add_argument("--formulation", default="strong")
    parser.add_argument("--time-limit", type=float, default=600)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mask-seed", type=int, default=0)
    parser.add_argument("--certificates", type=Path, help="folder for the certificates")
    parser.add_argument("--json", type=Path, help="write the runs there")
    args = parser.parse_args()
    data, columns, patterns = TABLES[args.table]
    frame = km.datasets.load(data)
    names = columns or list(frame.columns)
    grid = Table(
        "rows", "k", "objective", "bound", "certified", "gap %", *(f"at {s:.0f} s" for s in SOON), "proof", "s"
    )
    runs = []
    for rows in args.rows:
        table = km.Table.from_frame(frame.head(rows) if rows else frame, names)
        recoding = km.PatternMask.random(names, patterns, args.mask_seed) if patterns else km.Suppression()
        for k in args.k:
            problem = km.Problem(table, [km.KAnonymity(k)], recoding, name=f"{args.table}, k = {k}")
            result = km.solve(
                problem,
                method=args.method,
                formulation=args.formulation,
                time_limit=args.time_limit,
                threads=args.threads,
                seed=args.seed,
            )
            certified = result.certificate
            if args.certificates:
                args.certificates.mkdir(parents=True, exist_ok=True)
                certified.write(args.certificates / f"{args.table}_{rows or table.n}_{k}.json")
            runs.append({**result.as_dict(), "certified": str(certified.bound)})
            soon = [gap_at(result, seconds) for seconds in SOON]
            gap = "-" if result.gap is None else f"{100 * result.gap:.3f}"
            seconds = f"{result.seconds['total']:.1f}"
            row = (table.n, k, result.objective, result.bound, certified.bound, gap, *soon, result.proof, seconds)
            grid.add_row(*map(str, row))
            print(
                json.dumps({"rows": table.n, "k": k, "summary": result.summary(), "soon": soon, "s": seconds}),
                flush=True,
            )
    Console().print(grid)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Console().print(f"peak memory of this process and its largest worker: {peak / 2**20:.2f} GB")
    if args.json:
        args.json.write_text(json.dumps(runs, indent=1))


def gap_at(result: km.Result, seconds: float) -> str:
    """The gap in per cent that was reached by that time."""
    known = [point for point in result.trajectory if point[0] <= seconds and point[1] and point[2] is not None]
    if not known:
        return "-"
    loss, bound = known[-1][1], known[-1][2]
    return f"{100 * (loss - bound) / loss:.2f}" if loss and bound is not None else "-"


if __name__ == "__main__":  # processes of the search begin by reading this file
    main()
