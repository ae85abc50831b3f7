"""The row-type compressor against polars' own group_by(...).len() on the same synthetic microdata.

python benchmarks/compress.py --rows 1000000 10000000 --repeat 5

Both are timed in turn, in memory and from a Parquet file (each in a process of its own, with its peak memory).
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

import polars as pl

import kanon_milp as km
from kanon_milp.instances.microdata import QUASI_IDENTIFIERS, write_synthetic_microdata


def group_by(frame: pl.LazyFrame) -> int:
    return frame.group_by(QUASI_IDENTIFIERS).len().collect(engine="streaming").height


def compress(frame: pl.LazyFrame) -> int:
    return km.compress(frame, QUASI_IDENTIFIERS).count


JOBS = {"polars": group_by, "compress": compress}


def one(job: str, path: str) -> None:
    """In a process of its own: seconds, row types and peak memory in MB, as JSON."""
    start = time.perf_counter()
    types = JOBS[job](pl.scan_parquet(path))
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, types, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def from_file(job: str, path: Path) -> tuple[float, int, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--one", job, str(path)], capture_output=True, text=True, check=True
    )
    seconds, types, memory = json.loads(done.stdout)
    return seconds, types, memory


def report(what: str, base: list[float], ours: list[float], types: int, memory: str = "") -> None:
    ratios = [b / a for a, b in zip(base, ours, strict=True)]
    print(
        f"{what:<24} polars {statistics.median(base):6.2f} s   compress {statistics.median(ours):6.2f} s   "
        f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})   t_in {types:,}{memory}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--one", nargs=2, metavar=("JOB", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        one(*args.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        for rows in args.rows:
            path = Path(folder) / f"{rows}.parquet"
            write_synthetic_microdata(path, rows)
            runs = [(from_file("polars", path), from_file("compress", path)) for _ in range(args.repeat)]
            memory = f"   peak MB {max(a[2] for a, _ in runs):,.0f} / {max(b[2] for _, b in runs):,.0f}"
            types = runs[0][1][1]
            report(f"{rows:,} rows, Parquet", [a[0] for a, _ in runs], [b[0] for _, b in runs], types, memory)
            frame = pl.read_parquet(path).lazy()
            base, ours = [], []
            for _ in range(args.repeat):
                for job, seconds in (("polars", base), ("compress", ours)):
                    start = time.perf_counter()
                    JOBS[job](frame)
                    seconds.append(time.perf_counter() - start)
            report(f"{rows:,} rows, memory", base, ours, types)
            path.unlink()


if __name__ == "__main__":
    main()
