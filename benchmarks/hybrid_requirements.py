"""Tables and certified gaps of the hybrid method under requirements, after 1, 2, 5 and 10 minutes of one run.

python benchmarks/hybrid_requirements.py                                   all cases, 10 minutes each
python benchmarks/hybrid_requirements.py adult_l3 cmc_t --time-limit 120   some of them
python benchmarks/hybrid_requirements.py --list

A row for each case and moment: table, bound and gap of what was known then. Columns: QI7 = age, workclass, education,
marital-status, race, sex, native-country. One thread unless `--threads` says otherwise.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence

import kanon_milp as km

QI7 = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
PEOPLE = QI7[:-1]
K5 = km.KAnonymity(5)
MOMENTS = (60, 120, 300, 600)


def adult(
    columns: Sequence[str],
    sensitive: str,
    *privacy: km.Requirement,
    rows: int | None = None,
    patterns: int | None = None,
) -> km.Problem:
    frame = km.datasets.load("adult")
    mask = km.PatternMask.random(list(columns), patterns, 0) if patterns else km.Suppression()
    return km.Problem(km.Table.from_frame(frame.head(rows) if rows else frame, columns, sensitive), privacy, mask)


def cmc(*privacy: km.Requirement) -> km.Problem:
    frame = km.datasets.load("cmc")
    return km.Problem(km.Table.from_frame(frame, [c for c in frame.columns if c != "method"], "method"), privacy)


CASES: dict[str, Callable[[], km.Problem]] = {
    "adult_l3": lambda: adult(QI7, "occupation", K5, km.LDiversity(3)),
    "adult_l1.25": lambda: adult(QI7, "salary-class", km.LDiversity("1.25")),
    "adult_t0.2": lambda: adult(QI7, "occupation", K5, km.TCloseness("0.2")),
    "adult_l1.25_6patterns": lambda: adult([*PEOPLE, "occupation"], "salary-class", km.LDiversity("1.25"), patterns=6),
    "adult_t0.3_6patterns": lambda: adult(
        [*PEOPLE, "salary-class"], "occupation", K5, km.TCloseness("0.3"), patterns=6
    ),
    "adult5000_p3": lambda: adult(QI7, "occupation", K5, km.PSensitivity(3), rows=5_000),
    "cmc_t0.2": lambda: cmc(km.TCloseness("0.2")),
    "cmc_l2": lambda: cmc(km.LDiversity(2)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="all by default")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    parser.add_argument("--method", default="search")
    parser.add_argument("--time-limit", type=float, default=600)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.list:
        print(*CASES, sep="\n")
        return
    warnings.simplefilter("ignore", km.RoleWarning)
    print("case", "seconds", "table", "bound", "gap %", sep="\t", flush=True)
    for name in args.cases or CASES:
        result = km.solve(
            CASES[name](), method=args.method, time_limit=args.time_limit, threads=args.threads, seed=args.seed
        )
        for moment in (*(each for each in MOMENTS if each < args.time_limit), args.time_limit):
            known = [point for point in result.trajectory if point[0] <= moment]
            table = next((point[1] for point in reversed(known) if point[1] is not None), None)
            bound = max((point[2] for point in known if point[2] is not None), default=None)
            gap = "-" if not table or bound is None else f"{100 * (table - bound) / table:.2f}"
            print(name, f"{moment:g}", table, bound, gap, sep="\t", flush=True)
        seconds = result.seconds["total"] - result.seconds["read"]
        spent = {step: round(s, 1) for step, s in result.seconds.items() if s >= 0.5}
        print("", f"{seconds:.1f}", result.objective, result.bound, result.stop_reason, spent, result.message, sep="\t")


if __name__ == "__main__":
    main()
