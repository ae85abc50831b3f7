"""What each phase of the hybrid method buys, and each part of one: the same problems with all, and without one of them.

    python benchmarks/ablation.py --seconds 10             all problems, phases and parts, a line each
    python benchmarks/ablation.py --seconds 60 --every 4   every fourth problem
    python benchmarks/ablation.py --phases cuts,conflicts  these only
    python benchmarks/ablation.py --out rows.jsonl         goes on where an earlier run has stopped

A run ends at a proof or after so many seconds, on one thread. A phase that did not run changes nothing where it is
left out, nor does a part of it: such a run is not repeated. The summary has a line for each: by how many percentage
points the mean gap grows without it, how many proofs are lost and won, and how many times as long the proofs take that
there are both with it and without it. A gap of nothing proven counts as 100 %. Needs KANON_MILP_DATA, and a quiet
machine.
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
ALL = "all"  # phases and parts
PARTS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "packing cuts": (("lagrangian",), {"lagrangian.packing_cuts": 0}),
    "small groups": (("required bound",), {"subproblems.tried": 0, "subproblems.exact_tried": 0}),
    "search for charges": (("required bound",), {"lagrangian.refined": 0}),
    "relax-and-cut": (("cuts",), {"cuts.relax_share": 0}),
    "column generation": (("cuts",), {"cuts.master_types": 0}),
    "wide rank-1 cuts": (("cuts", "concurrent cuts", "branching"), {"separation.widest": 3}),
    "cuts in nodes": (("branching",), {"branch_and_bound.rounds": 0}),
    "models of nodes": (("branching",), {"branching.leaf": -1, "branch_and_bound.stalled_pairs": 0}),
    "strong branching": (
        ("branching",),
        {"branch_and_bound.first": 0, "branch_and_bound.second": 0, "branch_and_bound.remembered": 0},
    ),
    "conflicts": (("condensed models",), {"condensed.conflicts": False}),
    "core problem between turns": (("required bound",), {"model_trials.eager": 0}),
    "neighbourhoods near multipliers": (("search",), {"neighbourhoods.seconds": 0, "neighbourhoods.longest": 0}),
    "neighbourhoods over seen pairs": (("search",), {"annealing.seen_rows": 0}),
    "models of few pairs": (("search",), {"valued_search.narrow_share": 0}),
    "diving": (("search",), {"valued_cuts.dives": 0}),
    "programs of small groups": (("search",), {"small_groups.searched": 0}),
    "pulling": (
        ("search",),
        {"annealing.pulls": 0, **{f"valued_annealing.{each}_pulls": 0 for each in ("few", "many", "large")}},
    ),
    "dissolving": (
        ("search",),
        {"annealing.drops": 0, **{f"valued_annealing.{each}_dissolved": 0 for each in ("few", "many")}},
    ),
    "relocating": (("search",), {"valued_annealing.many_relocated": 0}),
}
"""By name: the phases that a part belongs to, and the parameters that leave it out."""

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
    """A problem without one phase or part: gap, proof and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        path.write_text(text)
        problem = km.read_model(path).problem
    left_out = PARTS[off][1] if off in PARTS else {} if off == ALL else {f"phases.{switch(off)}": False}
    result = km.solve(problem, method="search", time_limit=seconds, parameters=left_out, threads=1)
    gap = 1.0 if result.gap is None else result.gap
    ran = sorted({run.name for run in result.phases})
    return {"gap": gap, "proven": result.proof == "optimal", "seconds": result.seconds["total"], "ran": ran}


def summary(rows: Iterable[Row]) -> str:
    """A Markdown table, a line for each phase and part."""
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
    names = [*dict.fromkeys(phase.name for phase in PHASES), *PARTS]
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
    done = {(row["problem"], row["without"], row["limit"]): row for row in rows}
    for name, text in list(problems().items())[:: asked.every]:
        whole: Row = {}
        for phase in (ALL, *asked.phases.split(",")):
            if (name, phase, asked.seconds) in done:
                whole = done[name, phase, asked.seconds] if phase == ALL else whole
                continue
            belongs = PARTS[phase][0] if phase in PARTS else (phase,)
            idle = phase != ALL and not set(belongs) & set(whole["ran"])
            found = whole if idle else solved(text, asked.seconds, phase)
            whole = found if phase == ALL else whole
            row = {"problem": name, "without": phase, "limit": asked.seconds, **found}
            rows.append(row)
            print(f"{name:60} {phase:32} {100 * row['gap']:8.3f} % {row['seconds']:7.1f} s", flush=True)
            if asked.out is not None:
                with asked.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(summary(row for row in rows if row["limit"] == asked.seconds))


if __name__ == "__main__":
    main()
