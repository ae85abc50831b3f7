"""What each phase of the hybrid method buys, and each part of one: the same problems with all, and without one of them.

    python benchmarks/ablation.py --seconds 10             all problems, phases and parts, a line each
    python benchmarks/ablation.py --seconds 60 --every 4   every fourth problem
    python benchmarks/ablation.py --phases cuts,conflicts  these only
    python benchmarks/ablation.py --out rows.jsonl         goes on where an earlier run has stopped

A run ends at a proof or after so many seconds, on one thread. Seconds are those of the processor, also as limits of
phases and of a solver, so that other programs on the machine matter little. A phase or part that did not run changes
nothing where it is left out: such a run is not repeated. The summary has a line for each: on how many problems it ran,
by how many percentage points the mean gap over these grows without it, how many proofs are lost and won, and how many
times as long the proofs take that there are both with it and without it. A gap of nothing proven counts as 100 %. Needs
KANON_MILP_DATA.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    time.perf_counter = time.process_time  # before the package takes it

import polars as pl

import kanon_milp as km
from kanon_milp.kernels import COMPILED
from kanon_milp.methods.hybrid import PHASES, switch
from kanon_milp.solvers.call import SolverCall, Watch

ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
MASKED = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "salary-class"]
SENSITIVE = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
CMC = [
    "wife_age", "wife_education", "husband_education", "n_children", "wife_religion", "wife_working",
    "husband_occupation", "living_standard", "media_exposure",
]  # fmt: skip
ALL = "all"  # phases and parts
WALL = 50.0  # seconds of the wall clock for one of the processor, at most
PARTS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "packing cuts": (("bounds.lagrangian_bound:VolumeAlgorithm.add_cuts",), {"lagrangian.packing_cuts": 0}),
    "small groups": (
        ("bounds.evaluation:cheapest_small_groups", "bounds.dual:cheapest_small_groups"),
        {"subproblems.tried": 0, "subproblems.exact_tried": 0},
    ),
    "search for charges": (("bounds.evaluation:RequiredEvaluator.refined",), {"lagrangian.refined": 0}),
    "relax-and-cut": (("bounds.built_in:RelaxAndCutBound.compute",), {"cuts.relax_share": 0}),
    "column generation": (("bounds.built_in:ColumnGenerationBound.compute",), {"cuts.master_types": 0}),
    "wide rank-1 cuts": (("bounds.rank_one_cuts:enlarged",), {"separation.widest": 3}),
    "cuts in nodes": (("bounds.columns.branching:BranchAndBound._raise",), {"branch_and_bound.rounds": 0}),
    "models of nodes": (
        ("bounds.columns.branching:BranchAndBound._leaf",),
        {"branching.leaf": -1, "branch_and_bound.stalled_pairs": 0},
    ),
    "strong branching": (
        ("bounds.columns.branching:best_pair",),
        {"branch_and_bound.first": 0, "branch_and_bound.second": 0, "branch_and_bound.remembered": 0},
    ),
    "core problem between turns": (("methods.required_phases:ModelTrial.look",), {"model_trials.eager": 0}),
    "neighbourhoods near multipliers": (
        ("heuristics.search:Search._rebuild", "methods.required_search:RequiredSearch._near"),
        {"neighbourhoods.seconds": 0, "neighbourhoods.longest": 0},
    ),
    "neighbourhoods over seen pairs": (
        ("heuristics.annealing:SeenPairs.cheapest",),
        {"annealing.seen_rows": 0},
    ),
    "programs of small groups": (
        ("heuristics.set_partitioning:Partition.improve",),
        {"small_groups.searched": 0},
    ),
    "pulling": (
        ("heuristics.annealing:make_moves", "heuristics.valued_annealing:make_moves"),
        {"annealing.pulls": 0, **{f"valued_annealing.{each}_pulls": 0 for each in ("few", "many", "large")}},
    ),
    "dissolving": (
        ("heuristics.annealing:make_moves", "heuristics.valued_annealing:make_moves"),
        {"annealing.drops": 0, **{f"valued_annealing.{each}_dissolved": 0 for each in ("few", "many")}},
    ),
    "chains of rows": (("heuristics.valued_annealing:reroute",), {"valued_annealing.looks": 0}),
    "relocating": (("heuristics.valued_annealing:make_moves",), {"valued_annealing.many_relocated": 0}),
    # of microaggregation and boxes
    "dives over groups": (("methods.group_search:GroupDives.run",), {"group_search.diving": 0}),
    "neighbourhoods over groups": (
        ("heuristics.group_partitions:Partitions.improve",),
        {"group_partitions.seconds": 0},
    ),
    "program over the pool": (("heuristics.group_partitions:Partitions.solve",), {"group_search.whole": 0}),
    "groups near multipliers": (("bounds.group_costs.bound:CostBound.near",), {"group_search.near": 0}),
    "moves between groups": (("methods.group_search:_moved",), {"vmdav.passes": 0}),
}
"""By name: functions one of which is called where a part runs, and the parameters that leave it out."""

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
    # for parts that hardly run on those above: branching, groups of a few rows, condensed models, dives
    for rows, k in ((300, 3), (300, 5), (400, 3), (400, 2)):
        add("adult", ADULT, f"k = {k}", rows)
    columns = [*SENSITIVE[1:], "occupation"]
    for rows, t in ((200, 0.3), (200, 0.2), (1_000, 0.2), (5_000, 0.2)):
        asked_t = f'requirements = [{{kind = "t_closeness", t = "{t}", distance = "ordered"}}]'
        add("adult", columns, asked_t, rows, "age")
    for seed, k in ((0, 5), (0, 10), (1, 5), (1, 10)):
        add("adult", MASKED, f"k = {k}", mask=f"random_patterns = 5\nrandom_seed = {seed}")
    for each in ("l = 2", "k = 5\nl = 3", "k = 5\np = 3", "k = 3\nl = 2"):
        add("adult", SENSITIVE, each, 500, "occupation")
    for k in (3, 5):
        add("adult", ADULT, f"k = {k}", 2_000)
    # costs of whole groups
    for name in ("tarragona", "census"):
        file = Path(os.environ["KANON_MILP_DATA"]) / "casc" / f"{name}.csv.gz"
        columns = pl.read_csv(file, n_rows=1).columns
        data = f"[data]\nfile = {json.dumps(str(file))}\nquasi_identifiers = {json.dumps(columns)}\n"
        recoding = '[recoding]\nkind = "microaggregation"\nstandardize = true\n'
        found[f"{name}, microaggregation, k=3"] = f"{data}[privacy]\nk = 3\n{recoding}"
    add("adult", ADULT, "k = 5", 500, mask='kind = "boxes"')
    return found


def stop_solvers_by_processor_time() -> None:
    """A solver measures its own limit by the wall clock: from now on it gets a long one, and is stopped from outside,
    as one that does not keep its limit."""
    left, wait = vars(SolverCall)["seconds_left"].fget, Watch.wait

    def longer(call: SolverCall) -> float | None:
        seconds = left(call)
        return None if seconds is None else WALL * seconds

    def waited(watch: Watch, done: threading.Event, patience: float, seconds: float | None = None) -> bool:
        return wait(watch, done, patience, seconds=None if seconds is None else seconds / WALL - 1)

    SolverCall.seconds_left = property(longer)  # type: ignore[assignment,method-assign]
    Watch.wait = waited  # type: ignore[assignment,method-assign]


CALLED: set[str] = set()  # parts that have run since it was emptied


def watch_parts() -> None:
    """From now on each part that runs is noted in `CALLED`."""

    def noting(function: Callable[..., Any], part: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            CALLED.add(part)
            return function(*args, **kwargs)

        return call

    for part, (functions, _) in PARTS.items():
        for each in functions:
            owner, name = place(each)
            setattr(owner, name, noting(getattr(owner, name), part))


def place(function: str) -> tuple[Any, str]:
    """The module or class that has a function, and its name there."""
    module, _, name = function.partition(":")
    *classes, name = name.split(".")
    return functools.reduce(getattr, classes, import_module(f"kanon_milp.{module}")), name


def solved(text: str, seconds: float, off: str, seed: int) -> Row:
    """A problem without one phase or part: gap, proof and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        path.write_text(text)
        problem = km.read_model(path).problem
    left_out = PARTS[off][1] if off in PARTS else {} if off == ALL else {f"phases.{switch(off)}": False}
    CALLED.clear()
    result = km.solve(problem, method="search", time_limit=seconds, parameters=left_out, threads=1, seed=seed)
    gap = 1.0 if result.gap is None else result.gap
    ran = sorted({run.name for run in result.phases} | CALLED)
    losses = {"objective": result.objective, "bound": result.bound}
    return {"gap": gap, "proven": result.proof == "optimal", "seconds": result.seconds["total"], "ran": ran, **losses}


def summary(rows: Iterable[Row]) -> str:
    """A Markdown table, a line for each phase and part."""
    by: dict[str, dict[str, Row]] = {}
    for row in rows:
        by.setdefault(row["without"], {})[f"{row['problem']} {row['seed']}"] = row
    whole = by.pop(ALL, {})
    lines = [
        "| without | problems | mean gap, % | more, points | proofs lost | won | times as long |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for phase, found in by.items():
        pairs = [(whole[name], row) for name, row in found.items() if name in whole and phase in whole[name]["ran"]]
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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="problems whose names have this in them")
    parser.add_argument("--phases", default=",".join(names), help="which to leave out, one after the other")
    parser.add_argument("--out", type=Path, help="lines of JSON, gone on with where they stop")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", km.RoleWarning)
    if not COMPILED:
        parser.error("the kernels are not compiled: python hatch_build.py")
    stop_solvers_by_processor_time()
    watch_parts()
    rows: list[Row] = []
    if asked.out is not None and asked.out.exists():
        rows = [json.loads(line) for line in asked.out.read_text().splitlines()]
    done = {(row["problem"], row["without"], row["limit"], row["seed"]): row for row in rows}
    for name, text in list(problems().items())[:: asked.every]:
        if asked.only not in name:
            continue
        whole: Row = {}
        for phase in (ALL, *asked.phases.split(",")):
            known = done.get((name, phase, asked.seconds, asked.seed))
            if known is None and (phase == ALL or phase in whole["ran"]):
                measured = solved(text, asked.seconds, phase, asked.seed)
                known = {"problem": name, "without": phase, "limit": asked.seconds, "seed": asked.seed, **measured}
                rows.append(known)
                print(f"{name:60} {phase:32} {100 * known['gap']:8.3f} % {known['seconds']:7.1f} s", flush=True)
                if asked.out is not None:
                    with asked.out.open("a") as file:
                        file.write(json.dumps(known) + "\n")
            whole = known if phase == ALL and known is not None else whole
    print(summary(row for row in rows if row["limit"] == asked.seconds))


if __name__ == "__main__":
    main()
