"""By how much runs exceed their time limits, and whether each ends with a verified table: one process a case.

python benchmarks/time_limits.py                      all cases
python benchmarks/time_limits.py columns20 adult_l    some of them
python benchmarks/time_limits.py --list

A row is printed as soon as a case has ended: seconds after reading, the overrun in seconds, how the run ended. A case
is late where the overrun is more than 5 s and 5 % of the limit together; then, and where a case that can have a table
ends without one, the exit code of this command is 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from common import Q8

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code

GRACE_SECONDS, GRACE_SHARE = 5.0, 0.05
HEAD = ("case", "limit", "seconds", "overrun", "stop_reason", "proof", "objective", "bound", "exit", "late")


@dataclass(frozen=True)
class Case:
    """A problem and what `solve` is asked for."""

    problem: Callable[[], km.Problem]
    time_limit: float
    method: str = "auto"
    formulation: str = "strong"
    solver: str = "highs"


def random_table(rows: int, columns: int, values: int, *requirements: km.Requirement) -> km.Problem:
    cells = np.random.default_rng(0).integers(values, size=(rows, columns + 1)).astype(str)
    names = [f"q{j}" for j in range(columns)]
    frame = pl.DataFrame(cells, schema=[*names, "s"], orient="row")
    return km.Problem(km.Table.from_frame(frame, names, "s"), requirements)


def adult(rows: int | None, columns: list[str] | None, *requirements: km.Requirement) -> km.Problem:
    """UCI Adult; columns None: all nine, with native-country as the sensitive one where there are requirements about
    one."""
    frame = km.datasets.load("adult")
    names = columns or [name for name in frame.columns if name != "occupation"]
    sensitive = next(name for name in ("occupation", "salary-class") if name not in names)
    return km.Problem(km.Table.from_frame(frame.head(rows) if rows else frame, names, sensitive), requirements)


K5, L2 = km.KAnonymity(5), km.LDiversity(2)
Q7 = [name for name in Q8 if name != "occupation"]
CASES = {
    "columns20": Case(lambda: random_table(1_000, 20, 3, K5), 15),
    "columns20_wide": Case(lambda: random_table(20_000, 20, 3, K5), 15),
    "columns16_l": Case(lambda: random_table(2_000, 16, 3, K5, L2), 20),
    "rows2000_l": Case(lambda: adult(2_000, Q7, K5, L2), 8),
    "rows2000_milp": Case(lambda: adult(2_000, Q8, K5), 8, "milp"),
    "rows2000_textbook": Case(lambda: adult(2_000, Q8, K5), 8, "milp", "textbook"),
    "rows2000_search": Case(lambda: adult(2_000, Q8, K5), 8),
    "rows2000_scip": Case(lambda: adult(2_000, Q7, K5, L2), 20, solver="scip"),
    "rows2000_cbc": Case(lambda: adult(2_000, Q7, K5, L2), 20, solver="cbc"),
    "rows2000_cpsat": Case(lambda: adult(2_000, Q7, K5, L2), 20, solver="cpsat"),
    "adult_l": Case(lambda: adult(None, Q7, K5, L2), 80),
    "adult_l_short": Case(lambda: adult(None, Q7, K5, L2), 10),
    "adult_t": Case(lambda: adult(None, Q7, K5, km.TCloseness("1/2")), 40),
    "adult9_l": Case(lambda: adult(None, [*Q7, "salary-class"], K5, L2), 60),
    "adult_search": Case(lambda: adult(None, Q8, K5), 30),
    "moment": Case(lambda: adult(None, Q7, K5, L2), 0.001),
}


def run_case(name: str) -> None:
    """In a process of its own: solve, and say how it went."""
    case = CASES[name]
    result = km.solve(
        case.problem(), case.solver, method=case.method, formulation=case.formulation, time_limit=case.time_limit
    )
    print(json.dumps({**result.as_dict(), "exit_code": exit_code(result)}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="all by default")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.list:
        print(*CASES, sep="\n")
        return 0
    if args.here:
        run_case(args.cases[0])
        return 0
    failed = False
    print(*HEAD, sep="\t", flush=True)
    for name in args.cases or CASES:
        limit = CASES[name].time_limit
        command = [sys.executable, __file__, name, "--here"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(name, limit, f"ended with exit code {done.returncode}", sep="\t", flush=True)
            failed = True
            continue
        *noise, answer = done.stdout.splitlines()  # compiled solvers may print something themselves
        if noise:
            print(name, f"printed {noise}", sep="\t", flush=True)
        result = json.loads(answer)
        seconds = result["seconds"]["total"] - result["seconds"]["read"]
        overrun = seconds - limit
        late = overrun > GRACE_SECONDS + GRACE_SHARE * limit
        failed |= late or result["exit_code"] not in (0, 4)
        told = [result[key] for key in ("stop_reason", "proof", "objective", "bound", "exit_code")]
        print(name, limit, f"{seconds:.1f}", f"{overrun:+.1f}", *told, "late" if late else "", sep="\t", flush=True)
        spent = {step: s for step, s in result["seconds"].items() if s >= 0.5 and step != "total"}
        print(f"\t{result['message']}\t{spent}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
