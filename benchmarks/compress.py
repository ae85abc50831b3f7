"""The row-type compressor against polars' own group_by(...).len() on the same synthetic microdata.

python benchmarks/compress.py --rows 1000000 10000000 --repeat 5 --json compress.json

Both run in turn, from a Parquet file and on the table in memory, each run in a process of its own with its peak memory
(in memory this includes the table).
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import kanon_milp as km
from kanon_milp.instances.microdata import QUASI_IDENTIFIERS, write_synthetic_microdata


class Run(NamedTuple):
    seconds: float
    types: int
    peak_mb: float


def group_by(frame: pl.LazyFrame) -> int:
    return frame.group_by(QUASI_IDENTIFIERS).len().collect(engine="streaming").height


def compress(frame: pl.LazyFrame) -> int:
    return km.compress(frame, QUASI_IDENTIFIERS).count


JOBS = {"polars": group_by, "compress": compress}
SOURCES = {"parquet": pl.scan_parquet, "memory": lambda path: pl.read_parquet(path).lazy()}


def run_here(job: str, source: str, path: str) -> Run:
    frame = SOURCES[source](path)
    start = time.perf_counter()
    types = JOBS[job](frame)
    seconds = time.perf_counter() - start
    # ru_maxrss is in kB on Linux, in bytes on macOS
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Run(seconds, types, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def run_apart(job: str, source: str, path: Path) -> Run:
    command = [sys.executable, __file__, "--one", job, source, str(path)]
    return Run(*json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))


def compare(rows: int, source: str, path: Path, repeat: int) -> dict[str, object]:
    runs: dict[str, list[Run]] = {job: [] for job in JOBS}
    for turn in range(repeat):
        # who goes first changes, so that neither always finds the other's file cache
        for job in sorted(JOBS, reverse=turn % 2 == 0):
            runs[job].append(run_apart(job, source, path))
    types = {run.types for both in runs.values() for run in both}
    if len(types) != 1:
        raise SystemExit(f"the number of row types differs: {sorted(types)}")
    ratios = [ours.seconds / base.seconds for ours, base in zip(runs["compress"], runs["polars"], strict=True)]
    return {
        "rows": rows,
        "source": source,
        "row_types": types.pop(),
        "seconds": {job: statistics.median(run.seconds for run in done) for job, done in runs.items()},
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "peak_mb": {job: max(run.peak_mb for run in done) for job, done in runs.items()},
        "runs": {job: [run._asdict() for run in done] for job, done in runs.items()},
    }


def line(result: dict[str, Any]) -> str:
    seconds, peak, (low, high) = result["seconds"], result["peak_mb"], result["ratio_range"]
    return (
        f"{result['rows']:>11,} {result['source']:<8} {result['row_types']:>9,} {seconds['polars']:>8.2f} "
        f"{seconds['compress']:>10.2f} {result['ratio']:>6.2f} ({low:.2f}-{high:.2f}) "
        f"{peak['polars']:>8,.0f} {peak['compress']:>8,.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all runs to this file")
    parser.add_argument("--one", nargs=3, metavar=("JOB", "SOURCE", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run_here(*args.one)))
        return
    results = []
    print("       rows source        t_in polars s compress s  ratio (range)     peak MB of polars, compress")
    with tempfile.TemporaryDirectory() as folder:
        for rows in args.rows:
            path = Path(folder) / f"{rows}.parquet"
            write_synthetic_microdata(path, rows)
            for source in SOURCES:
                results.append(compare(rows, source, path, args.repeat))
                print(line(results[-1]), flush=True)
            path.unlink()
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
