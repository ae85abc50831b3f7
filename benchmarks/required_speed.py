"""The bound under requirements on all of Adult, all patterns: evaluations per second, and the bound as time goes on.

python benchmarks/required_speed.py                                three cases, 120 seconds each
python benchmarks/required_speed.py --only "l = 3" --seconds 60
"""

from __future__ import annotations

import argparse
import time

import kanon_milp as km
from kanon_milp.bounds import lagrangian
from kanon_milp.bounds.required import proven_required, required_bound
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers.base import Progress
from kanon_milp.system.clock import Clock

QI7 = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
K5 = km.KAnonymity(5)
CASES: dict[str, tuple[str, list[km.Requirement]]] = {
    "l = 3": ("occupation", [K5, km.LDiversity(3)]),
    "l = 1.25": ("salary-class", [km.LDiversity("1.25")]),
    "t = 0.2": ("occupation", [K5, km.TCloseness("0.2")]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rows", type=int, help="only so many of the first rows")
    args = parser.parse_args()
    frame = km.datasets.load("adult")
    frame = frame.head(args.rows) if args.rows else frame
    print("case", "seconds", "evaluations", "a second", "bound", "proven", "CPU s", sep="\t", flush=True)
    for name in args.only or CASES:
        sensitive, privacy = CASES[name]
        table = km.Table.from_frame(frame.select([*QI7, sensitive]), QI7, sensitive)
        instance = presolve(km.Problem(table, privacy), Clock(), merge=True).instance
        start = lagrangian(instance, seconds=20).multipliers
        required_bound(instance, start, iterations=2)  # compiled
        began, cpu = time.perf_counter(), time.process_time()

        def show(progress: Progress, name: str = name, began: float = began) -> None:
            print(name, f"{time.perf_counter() - began:.0f}", "", "", f"{progress.bound:.0f}", sep="\t", flush=True)

        point = required_bound(instance, start, seconds=args.seconds, on_progress=show)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(
            name, f"{seconds:.0f}", point.evaluations, f"{point.evaluations / seconds:.1f}", f"{point.value:.0f}",
            proven_required(instance, point), f"{cpu:.0f}", sep="\t", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
