"""What `auto` chooses against `milp` and `search`: time to proof, or gap at the limit, one process a run.

python benchmarks/auto.py --list
python benchmarks/auto.py --limits 5 30 --out runs.jsonl            all problems, but for runs that are in the file
python benchmarks/auto.py mask10-0-2 first500-10 --limits 120 --methods auto
python benchmarks/auto.py --only ten --limits 60 --methods auto     the 40 masks of 10 patterns
python benchmarks/auto.py --table --out runs.jsonl                  what the file says, as a table

The last column is the ratio of auto to the better of the other two: of seconds where both have a proof (one second is
added to each), of gaps where none has (0.05 % are added to each); with ">" where the other has a proof and auto has
none, of its time limit to the seconds of the proof.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import Q8
from pattern_guided import COLUMNS
from requirements import STUDIES
from rich.console import Console
from rich.table import Table

import kanon_milp as km

METHODS = ("auto", "milp", "search")
S8 = COLUMNS["adult"]
Q7 = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
Q6 = ["age", "workclass", "education", "marital-status", "race", "sex"]
GRACE = 120.0  # seconds after its limit when a run is given up
Make = Callable[[], km.Problem]


def adult(
    columns: list[str], rows: int, k: int, *others: km.Requirement, patterns: int = 0, seed: int = 0, about: str = ""
) -> Make:
    """The first rows of Adult (0: all), under a random mask of so many patterns (0: all)."""

    def make() -> km.Problem:
        frame = km.datasets.load("adult")
        table = km.Table.from_frame(frame.head(rows) if rows else frame, columns, about or None)
        recoding = km.PatternMask.random(columns, patterns, seed) if patterns else km.Suppression()
        return km.Problem(table, [*([km.KAnonymity(k)] if k else []), *others], recoding)

    return make


def cmc(k: int, patterns: int, study: str = "") -> Make:
    """CMC under a random mask (0: all patterns), k-anonymous, or with a study's requirements on its method."""

    def make() -> km.Problem:
        frame = km.datasets.load("cmc")
        names = [name for name in frame.columns if name != "method"] if study else COLUMNS["cmc"]
        recoding = km.PatternMask.random(names, patterns, 0) if patterns else km.Suppression()
        privacy = STUDIES["cmc"][study][2] if study else [km.KAnonymity(k)]
        return km.Problem(km.Table.from_frame(frame, names, "method" if study else None), privacy, recoding)

    return make


def ten() -> dict[str, Make]:
    """All of Adult, masks of 10 random patterns."""
    return {f"mask10-{seed}-{k}": adult(S8, 0, k, patterns=10, seed=seed) for seed in range(10) for k in (2, 5, 10, 25)}


def mixed() -> dict[str, Make]:
    """Masks and all patterns, few rows and many, small groups and large ones, and requirements beside k."""
    made: dict[str, Make] = {}
    for patterns, rows, k in (
        (6, 0, 2), (6, 0, 25), (10, 0, 5), (10, 0, 100), (20, 0, 5), (20, 0, 25), (40, 0, 2), (40, 0, 10),
        (100, 0, 5), (100, 0, 50), (10, 5_000, 5), (30, 5_000, 2), (30, 5_000, 10), (100, 5_000, 25),
        (20, 1_000, 5), (60, 1_000, 10),
    ):  # fmt: skip
        made[f"patterns{patterns}-{rows or 'all'}-{k}"] = adult(S8, rows, k, patterns=patterns, seed=1)
    for rows, k in (
        (200, 2), (200, 5), (200, 25), (300, 5), (500, 2), (500, 5), (500, 10), (1_000, 2), (1_000, 5), (1_000, 25),
        (2_000, 2), (2_000, 10), (5_000, 5), (5_000, 50), (0, 2), (0, 10), (0, 100),
    ):  # fmt: skip
        made[f"first{rows or 'all'}-{k}"] = adult(Q8, rows, k)
    for k in (5, 7, 11):
        made[f"six1000-{k}"] = adult(Q6, 1_000, k)
    made |= {"cmc12-3": cmc(3, 12), "cmc12-10": cmc(10, 12), "cmc-5": cmc(5, 0)}
    made["l2-200"] = adult(Q7, 200, 5, km.LDiversity(2), about="occupation")
    made["l2-1000"] = adult(Q7, 1_000, 5, km.LDiversity(2), about="occupation")
    made["l1.25-patterns6"] = adult([*Q6, "occupation"], 0, 0, km.LDiversity("1.25"), patterns=6, about="salary-class")
    made["p3-5000"] = adult(Q7, 5_000, 5, km.PSensitivity(3), about="occupation")
    made["t0.3-patterns20"] = adult(Q7, 1_000, 5, km.TCloseness("0.3"), patterns=20, about="occupation")
    made |= {"cmc8-t0.3": cmc(0, 8, "t = 0.3"), "cmc8-l2": cmc(0, 8, "l = 2")}
    return made


def two() -> dict[str, Make]:
    """Pairs on all of Adult, all patterns."""
    return {"firstall-2": adult(Q8, 0, 2)}


def one(make: Make, method: str, limit: float, seed: int) -> dict[str, Any]:
    """Solve, and say how it ended."""
    warnings.simplefilter("ignore", km.RoleWarning)
    problem = make()
    began = time.process_time()
    result = km.solve(problem, method=method, time_limit=limit, seed=seed)
    return {
        "ran": result.solver.method,
        "proof": result.proof,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "seconds": round(result.seconds["total"], 2),
        "cpu": round(time.process_time() - began, 2),
        "steps": {step: round(seconds, 1) for step, seconds in result.seconds.items()},
        "stop": result.stop_reason,
    }


def spawned(name: str, method: str, limit: float, seed: int) -> dict[str, Any]:
    """The same, in a process of its own."""
    command = [sys.executable, __file__, name, "--run", method, "--limits", str(limit), "--seed", str(seed)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=limit + GRACE)
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
        failure = "" if told else done.stderr.strip().splitlines()[-1]
    except subprocess.TimeoutExpired:
        told, failure = {}, f"no end {GRACE:g} s after its limit"
    key = {"name": name, "method": method, "limit": limit, "seed": seed}
    return key | (told or {"proof": "none", "gap": None, "seconds": limit, "failure": failure})


def ratio(auto: dict[str, Any], others: list[dict[str, Any]], limit: float) -> tuple[float, str]:
    """Of auto to the better of the others; infinite where it has no table."""
    proofs = [run["seconds"] for run in others if run["proof"] == "optimal"]
    if auto["proof"] == "optimal":
        found = (auto["seconds"] + 1) / (min(proofs) + 1) if proofs else 0.0
        return found, f"{found:.2f}"
    if proofs:
        found = (limit + 1) / (min(proofs) + 1)
        return found, f"> {found:.2f}"
    gaps = [run["gap"] for run in others if run["gap"] is not None]
    if auto["gap"] is None or not gaps:
        found = 1.0 if not gaps else float("inf")
    else:
        found = (auto["gap"] + 5e-4) / (min(gaps) + 5e-4)
    return found, f"{found:.2f}"


def show(runs: list[dict[str, Any]], limits: list[float]) -> None:
    """A table: seconds to the proof, or objective, bound and gap."""
    for limit in limits:
        grid = Table("problem", *METHODS, "ratio", title=f"limit {limit:g} s")
        ratios = []
        for name in dict.fromkeys(run["name"] for run in runs if run["limit"] == limit):
            for seed in dict.fromkeys(run["seed"] for run in runs if run["name"] == name):
                found = {
                    run["method"]: run
                    for run in runs
                    if (run["name"], run["limit"], run["seed"]) == (name, limit, seed)
                }
                if not found:
                    continue
                said = ""
                if len(found) == len(METHODS):
                    value, said = ratio(found["auto"], [found["milp"], found["search"]], limit)
                    ratios.append(value)
                row = [in_words(found[method]) if method in found else "" for method in METHODS]
                grid.add_row(f"{name}{f' ({seed})' if seed else ''}", *row, said)
        Console(width=170).print(grid)
        if ratios:
            within = sum(value <= 1.3 for value in ratios)
            worst = max(ratios)
            print(
                f"within 1.3: {within} of {len(ratios)}; worse than 2: {sum(v > 2 for v in ratios)}; worst {worst:.2f}"
            )


def in_words(run: dict[str, Any]) -> str:
    """A run in one cell of the table."""
    if "failure" in run:
        return str(run["failure"])
    ran = f" {run['ran']}" if run["method"] == "auto" else ""
    if run["proof"] == "optimal":
        return f"{run['objective']:g} in {run['seconds']:.1f} s{ran}"
    if run["gap"] is None:
        return f"no table, {run['seconds']:.0f} s{ran}"
    return f"{run['objective']:g}-{run['bound']:g}, {100 * run['gap']:.2f} %, {run['seconds']:.0f} s{ran}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="problems; all of --only without one")
    parser.add_argument("--only", choices=("mixed", "ten", "two"), default="mixed")
    parser.add_argument("--limits", type=float, nargs="+", default=[5.0, 30.0], metavar="SECONDS")
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, help="a file of runs, one JSON object a line, to go on with")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true", help="run nothing, show what the file holds")
    parser.add_argument("--run", choices=METHODS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    groups = {"mixed": mixed(), "ten": ten(), "two": two()}
    makes = groups["mixed"] | groups["ten"] | groups["two"]
    if args.list:
        print(*makes, sep="\n")
        return
    if args.run:
        print(json.dumps(one(makes[args.names[0]], args.run, args.limits[0], args.seed[0])))
        return
    runs: list[dict[str, Any]] = []
    if args.out is not None and args.out.exists():
        runs = [json.loads(line) for line in args.out.read_text().splitlines()]
    known = {(run["name"], run["method"], run["limit"], run["seed"]) for run in runs}
    for limit in [] if args.table else args.limits:
        for name in args.names or groups[args.only]:
            for method in args.methods:
                for seed in args.seed:
                    if (name, method, limit, seed) in known:
                        continue
                    runs.append(spawned(name, method, limit, seed))
                    print(f"{name} {limit:g} s, {method}: {in_words(runs[-1])}", flush=True)
                    if args.out is not None:
                        with args.out.open("a") as file:
                            file.write(json.dumps(runs[-1]) + "\n")
    show(runs, args.limits)


if __name__ == "__main__":
    main()
