"""Golden cases: optima that are known, and how long they took; ends with 1 where one of them is no longer so.

python benchmarks/golden.py                 about ten minutes on one core
python benchmarks/golden.py --only models   the model library alone
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from common import Q8
from pattern_guided import COLUMNS
from requirements import STUDIES
from rich.console import Console
from rich.table import Table

import kanon_milp as km

MODELS = Path(__file__).parent.parent / "models"
SLOW = 3.0  # times the seconds known are worth a look; machines differ


@dataclass(frozen=True)
class Case:
    """A problem, what is known of its optimum (a number, or an interval that the result must lie in and close to),
    and the seconds that it took on two cores."""

    name: str
    problem: km.Problem
    low: float
    high: float
    seconds: float
    time_limit: float
    method: str = "auto"


def models() -> Iterator[Case]:
    """The model library, where an optimum is known."""
    for path in sorted(MODELS.glob("*.toml")):
        read = km.read_model(path)
        if read.known.get("optimum") is not None:
            optimum = float(Fraction(str(read.known["optimum"])))
            yield Case(f"models/{path.name}", read.problem, optimum, optimum, 10.0, 300.0)


def masks() -> Iterator[Case]:
    """All of Adult under ten patterns, and CMC under twelve."""
    adult = km.Table.from_frame(km.datasets.load("adult"), COLUMNS["adult"])
    ten = km.PatternMask.random(COLUMNS["adult"], 10, 0)
    for k, optimum, seconds in ((5, 68_360, 60.0), (10, 73_912, 20.0), (25, 83_485, 30.0)):
        problem = km.Problem(adult, km.KAnonymity(k), ten)
        yield Case(f"Adult, 10 patterns, k = {k}", problem, optimum, optimum, seconds, 300)
    cmc = km.Table.from_frame(km.datasets.load("cmc"), COLUMNS["cmc"])
    twelve = km.PatternMask.random(COLUMNS["cmc"], 12, 0)
    for k, optimum in ((3, 4_563), (5, 5_108), (10, 5_766)):
        yield Case(f"CMC, 12 patterns, k = {k}", km.Problem(cmc, km.KAnonymity(k), twelve), optimum, optimum, 3.0, 100)


def requirements() -> Iterator[Case]:
    """CMC under eight patterns, with its method as sensitive attribute."""
    frame = km.datasets.load("cmc")
    names = [name for name in frame.columns if name != "method"]
    mask = km.PatternMask.random(names, 8, 0)
    known = {"l = 1.5": (4_713, 8), "l = 2": (5_089, 9), "p = 2, k = 5": (5_230, 1), "p = 3, k = 5": (5_731, 1)}
    for what, (optimum, seconds) in known.items():
        privacy = STUDIES["cmc"][what][2]
        problem = km.Problem(km.Table.from_frame(frame, names, "method"), privacy, mask)
        yield Case(f"CMC, {what}", problem, optimum, optimum, seconds, 200)


def search() -> Iterator[Case]:
    """The first rows of Adult, and all of it, under all patterns."""
    frame = km.datasets.load("adult")
    for rows, k, optimum, seconds in ((1_000, 2, 1_387, 10.0), (2_000, 2, 2_399, 25.0), (200, 5, 657, 60.0)):
        problem = km.Problem(km.Table.from_frame(frame.head(rows), Q8), km.KAnonymity(k))
        yield Case(f"Adult, first {rows}, k = {k}", problem, optimum, optimum, seconds, 200, "search")
    for rows, optimum, seconds in ((1_000, 1_387, 1.0), (5_000, 4_840, 4.0), (frame.height, 17_032, 30.0)):
        problem = km.Problem(km.Table.from_frame(frame.head(rows), Q8), km.KAnonymity(2))
        yield Case(f"Adult, first {rows}, k = 2", problem, optimum, optimum, seconds, 180, "matching")
    whole = km.Problem(km.Table.from_frame(frame, Q8), km.KAnonymity(5))
    yield Case("Adult, all, k = 5, two minutes", whole, 30_950, 31_400, 125, 120, "search")


GROUPS = {"models": models, "masks": masks, "requirements": requirements, "search": search}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=GROUPS, nargs="+", default=list(GROUPS))
    args = parser.parse_args()
    warnings.simplefilter("ignore", km.RoleWarning)
    grid = Table("case", "known", "objective", "bound", "proof", "seconds", "then", "")
    wrong = 0
    for case in (case for name in args.only for case in GROUPS[name]()):
        began = time.perf_counter()
        result = km.solve(case.problem, time_limit=case.time_limit, method=case.method)
        seconds = time.perf_counter() - began
        exact = case.low == case.high
        objective, bound = float(result.exact_objective or -1), float(result.exact_bound or 0)
        good = result.is_optimal and objective == case.low if exact else case.low <= bound <= objective <= case.high
        wrong += not good
        said = "" if good else "WRONG"
        slow = " slow" if seconds > SLOW * case.seconds else ""
        known = f"{case.low:g}" if exact else f"{case.low:g}-{case.high:g}"
        grid.add_row(
            case.name, known, str(result.objective), str(result.bound), result.proof, f"{seconds:.1f}",
            f"{case.seconds:g}", said + slow,
        )  # fmt: skip
    Console().print(grid)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
