"""Candidates of all of Adult under all 256 patterns: seconds and peak memory of enumeration and reductions.

python benchmarks/candidates.py
"""

from __future__ import annotations

import resource
import time

import kanon_milp as km
from kanon_milp.presolve.instance import compress_table, recode, with_candidates
from kanon_milp.presolve.reductions import REDUCTIONS

Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def main() -> None:
    problem = km.Problem(km.Table.from_frame(km.datasets.load("adult"), Q8), [km.KAnonymity(5)])
    start = time.perf_counter()
    types = compress_table(problem)
    print(f"compress    {time.perf_counter() - start:6.2f} s  {types.count:,} row types")
    start = time.perf_counter()
    instance = with_candidates(problem, types, recode(problem, types))
    c = instance.candidates
    print(f"enumerate   {time.perf_counter() - start:6.2f} s  {c.count:,} candidates, {c.pairs:,} pairs")
    for reduction in REDUCTIONS:
        start = time.perf_counter()
        instance = reduction.apply(instance).instance
        c = instance.candidates
        print(f"{reduction.name:<11} {time.perf_counter() - start:6.2f} s  {c.count:,} candidates, {c.pairs:,} pairs")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
