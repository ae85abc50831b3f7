"""Construction and annealing under requirements: table, bound and gap over time, without neighbourhoods and solvers.

python benchmarks/search_requirements.py
python benchmarks/search_requirements.py "l = 1.25" "t = 0.2" --bound-seconds 100 --seconds 60 --threads 2
"""

from __future__ import annotations

import argparse
import time

import kanon_milp as km
from kanon_milp.bounds import lagrangian
from kanon_milp.bounds.required import proven_required, required_bound
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.requirements.annealing import anneal
from kanon_milp.heuristics.requirements.construction import construct
from kanon_milp.heuristics.requirements.repair import failing
from kanon_milp.heuristics.worker_pool import open_pool
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit

PEOPLE = ["age", "workclass", "education", "marital-status", "race", "sex"]
QI7 = [*PEOPLE, "native-country"]
K5 = km.KAnonymity(5)
# what → (data set, first rows, quasi-identifiers, None for all others, sensitive attribute, requirements, patterns)
CASES: dict[str, tuple[str, int | None, list[str] | None, str, list[km.Requirement], int | None]] = {
    "l = 1.25": ("adult", None, QI7, "salary-class", [km.LDiversity("1.25")], None),
    "l = 3": ("adult", None, QI7, "occupation", [K5, km.LDiversity(3)], None),
    "t = 0.2": ("adult", None, QI7, "occupation", [K5, km.TCloseness("0.2")], None),
    "6 patterns, l = 1.25": ("adult", None, [*PEOPLE, "occupation"], "salary-class", [km.LDiversity("1.25")], 6),
    "6 patterns, t = 0.3": ("adult", None, [*PEOPLE, "salary-class"], "occupation", [K5, km.TCloseness("0.3")], 6),
    "5,000 rows, p = 3": ("adult", 5000, QI7, "occupation", [K5, km.PSensitivity(3)], None),
    "CMC, t = 0.2": ("cmc", None, None, "method", [km.TCloseness("0.2")], None),
    "CMC, l = 2": ("cmc", None, None, "method", [km.LDiversity(2)], None),
}


def instance_of(name: str) -> Instance:
    """The instance of a case, as the hybrid method works on it."""
    data, rows, quasi, sensitive, privacy, patterns = CASES[name]
    frame = km.datasets.load(data)
    frame = frame if rows is None else frame.head(rows)
    quasi = quasi or [column for column in frame.columns if column != sensitive]
    recoding = km.PatternMask.random(quasi, patterns, 0) if patterns else km.Suppression()
    problem = km.Problem(km.Table.from_frame(frame, quasi, sensitive), privacy, recoding)
    return presolve(problem, Clock(), merge=True).instance


def run(name: str, args: argparse.Namespace) -> None:
    """Bound, construction and annealing of a case, a line for what each has found."""
    began = time.perf_counter()
    instance = instance_of(name)
    dual = lagrangian(instance, seconds=args.bound_seconds / 6)
    point = required_bound(instance, dual.multipliers, seconds=args.bound_seconds)
    unit, proven = float(instance.levels.unit), proven_required(instance, point)

    def show(what: str, loss: int | None) -> None:
        gap = "-" if loss is None else f"{100 * (loss - proven) / max(loss, 1):.2f}"
        table = "-" if loss is None else f"{loss * unit:g}"
        seconds = f"{time.perf_counter() - began:.1f}"
        print(name, what, seconds, table, f"{proven * unit:g}", gap, sep="\t", flush=True)

    show(f"bound, {point.evaluations} iterations", None)
    start = construct(instance, point, Limit(), args.seed)
    if start is None:
        print(name, "no table", sep="\t")
        return
    show("construction", start.cost)
    shown = time.perf_counter()

    def better(found: Assignment) -> None:
        nonlocal shown
        if time.perf_counter() - shown >= args.every:
            shown = time.perf_counter()
            show("annealing", found.cost)

    with open_pool(args.threads) as pool:
        effort = Effort(time.perf_counter() + args.seconds)
        found = anneal(instance, point, start, effort, pool, args.seed, better)
    show("annealing, end", found.cost)
    wrong = failing(found, GroupCheck(instance))
    assert not wrong, f"{len(wrong)} groups do not satisfy the requirements"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--bound-seconds", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=60, help="of annealing")
    parser.add_argument("--every", type=float, default=15, help="seconds between two lines")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("case", "what", "seconds", "table", "bound", "gap %", sep="\t")
    for name in args.cases or CASES:
        run(name, args)


if __name__ == "__main__":
    main()
