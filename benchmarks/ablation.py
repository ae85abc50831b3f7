"""What each phase of the hybrid method buys: the same problems with all phases, and with one of them left out.

    python benchmarks/ablation.py --seconds 10             all problems and phases, a line each
    python benchmarks/ablation.py --seconds 60 --every 4   every fourth problem
    python benchmarks/ablation.py --phases cuts,search     these phases only
    python benchmarks/ablation.py --out rows.jsonl         goes on where an earlier run has stopped

A run ends at a proof or after so many seconds. The summary has a line for each phase: by how many percentage points
the mean gap grows without it, how many proofs are lost and won, and how many times as long the proofs take that there
are both with it and without it. A gap of nothing proven counts as 100 %. Needs KANON_MILP_DATA, and a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kanon_milp as km
from kanon_milp.methods.hybrid import PHASES, switch

ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
MASKED = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "salary-class"]
SENSITIVE = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
CMC = [
    "wife_age", "wife_education", "husband_education", "n_children", "wife_religion", "wife_working",
    "husband_occupation", "living_standard", "media_exposure",
]  # fmt: skip
ALL = "all"  # phases

Row = dict[str, Any]


def problems() -> dict[str, str]:
    """By name: model files."""
    found: dict[str, str] = {}

    def add(dataset: str, columns: list[str], privacy: str, rows: int = 0, sensitive: str = "", mask: str = "") -> None:
        words = [dataset, f"rows={rows}" if rows else "", *privacy.splitlines(), *mask.splitlines()]
        data = f'dataset = "{dataset}"\nquasi_identifiers = {json.dumps(columns)}\n'
        data += (f"rows = {rows}\n" if rows else "") + (f'sensitive = "{sensitive}"\n' if sensitive else "")
        text = f"[data]\n{data}[privacy]\n{privacy}\n" + (f"[recoding]\n{mask}\n" if mask else "")
        found[", ".join(each.replace(" ", "").replace('"', "") for each in words if each)] = text

    for rows in (200, 500, 1_000, 5_000, 30_162):
        for k in (2, 3, 5, 10, 25):
            add("adult", ADULT, f"k = {k}", rows)
    for seed in range(4):
        for k in (2, 5, 10):
            add("adult", MASKED, f"k = {k}", mask=f"random_patterns = 10\nrandom_seed = {seed}")
    asked = ("k = 5\nl = 3", "k = 5\np = 3", 'k = 5\nt = "0.2"', 'k = 5\nalpha = "0.5"', "k = 5\nbeta = 2", "l = 2")
    for rows in (150, 1_000, 5_000):
        for each in asked:
            add("adult", SENSITIVE, each, rows, "occupation")
    for each in ("k = 5", 'l = "1.5"', "l = 2", "k = 5\np = 2", 't = "0.2"'):
        add("cmc", CMC, each, sensitive="method", mask="random_patterns = 8")
    return found


def solved(text: str, seconds: float, off: str) -> Row:
    """A problem without one phase: gap, proof and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        path.write_text(text)
        problem = km.read_model(path).problem
    left_out = {} if off == ALL else {f"phases.{switch(off)}": False}
    result = km.solve(problem, method="search", time_limit=seconds, parameters=left_out)
    gap = 1.0 if result.gap is None else result.gap
    return {"gap": gap, "proven": result.proof == "optimal", "seconds": result.seconds["total"]}


def summary(rows: Iterable[Row]) -> str:
    """A Markdown table, a line for each phase."""
    by: dict[str, dict[str, Row]] = {}
    for row in rows:
        by.setdefault(row["without"], {})[row["problem"]] = row
    whole = by.pop(ALL, {})
    lines = [
        "| without | problems | mean gap, % | more, points | proofs lost | won | times as long |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for phase, found in by.items():
        pairs = [(whole[name], row) for name, row in found.items() if name in whole]
        if not pairs:
            continue
        gap = 100 * statistics.mean(b["gap"] for _, b in pairs)
        more = gap - 100 * statistics.mean(a["gap"] for a, _ in pairs)
        lost = sum(a["proven"] and not b["proven"] for a, b in pairs)
        won = sum(b["proven"] and not a["proven"] for a, b in pairs)
        ratios = [b["seconds"] / a["seconds"] for a, b in pairs if a["proven"] and b["proven"]]
        longer = f"{statistics.geometric_mean(ratios):.2f}" if ratios else ""
        lines.append(f"| {phase} | {len(pairs)} | {gap:.3f} | {more:+.3f} | {lost} | {won} | {longer} |")
    return "\n".join(lines)


def main() -> None:
    names = list(dict.fromkeys(phase.name for phase in PHASES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run")
    parser.add_argument("--every", type=int, default=1, help="take one of so many problems")
    parser.add_argument("--phases", default=",".join(names), help="which to leave out, one after the other")
    parser.add_argument("--out", type=Path, help="lines of JSON, gone on with where they stop")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", km.RoleWarning)
    rows: list[Row] = []
    if asked.out is not None and asked.out.exists():
        rows = [json.loads(line) for line in asked.out.read_text().splitlines()]
    done = {(row["problem"], row["without"], row["limit"]) for row in rows}
    for name, text in list(problems().items())[:: asked.every]:
        for phase in (ALL, *asked.phases.split(",")):
            if (name, phase, asked.seconds) in done:
                continue
            row = {"problem": name, "without": phase, "limit": asked.seconds, **solved(text, asked.seconds, phase)}
            rows.append(row)
            print(f"{name:60} {phase:20} {100 * row['gap']:8.3f} % {row['seconds']:7.1f} s", flush=True)
            if asked.out is not None:
                with asked.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(summary(row for row in rows if row["limit"] == asked.seconds))


if __name__ == "__main__":
    main()
