"""Who proves an optimum: bound, search, rank-1 cuts and fixing, against the one model on four solvers.

python benchmarks/proofs.py --rows 200 500 --k 3 5                    all methods, 600 s each, first rows of Adult
python benchmarks/proofs.py --rows 500 --k 3 --methods search highs scip --time-limit 3600
                            --out out/proofs.json --picture out/proofs   the runs, and a picture as SVG and HTML
python benchmarks/proofs.py --rows --add out/proofs.json --picture out/proofs    earlier runs drawn again
python benchmarks/proofs.py --random 500                              small random tables against brute force

Tables and options are those of benchmarks/real_tables.py: 8 columns and all 256 patterns unless --table says otherwise.

search                   `method="search"`: Lagrangian bound, search, groups as columns with rank-1 cuts, exact fixing,
                         HiGHS for the model of what is left. From the table alone, everything within its time
matching                 `method="matching"`, for k = 2 alone (`benchmarks/matching.py` has more of it)
highs cbc scip cpsat     the whole strong model on that solver, reduced as in the package. It is handed the best table
                         that a search of --start-seconds finds, as a complete start; this search is on nobody's clock
strong, textbook         `method="milp"` on HiGHS without a start, as a user would call it. From 20,000 pairs on, strong
                         has a Lagrangian bound beside the model

Seconds are wall clock of the whole run with the declaration of the model, up to the verified table. Code is compiled
before (`warm_up`). SCIP runs on one thread, the others on --threads. The picture has the gap, (table - bound) / table,
over time, both axes logarithmic; a line that reaches the floor, "proven", has an exact proof of optimality (a gap of
less than a cell without one counts as one cell).
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from common import add_options, percent, problems
from random_tables import compare
from rich.console import Console
from rich.table import Table

import kanon_milp as km
from kanon_milp.bounds import lagrangian, proven_bound, round_dual
from kanon_milp.errors import InputError, SolverError
from kanon_milp.formulations import get_formulation
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.search import Search
from kanon_milp.heuristics.worker_pool import open_pool
from kanon_milp.methods import direct, hybrid
from kanon_milp.methods.session import Session
from kanon_milp.methods.warm_up import warm_up
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import Prepared, presolve
from kanon_milp.presolve.resources import too_large, too_long
from kanon_milp.problem.exact import plain
from kanon_milp.solvers import Capability, OnProgress, Progress, SolverOptions, get
from kanon_milp.solvers.common import complete_point
from kanon_milp.solvers.proof import INTEGRAL_GAP
from kanon_milp.system.clock import Clock, OnStage

STARTED = ("highs", "cbc", "scip", "cpsat")
OWN = ("search", "matching")
METHODS = (*OWN, *STARTED, "strong", "textbook")
Trajectory = list[tuple[float, float | None, float | None]]
SOONEST = 0.1  # seconds at which the picture begins


def prepared_for(problem: km.Problem, on_stage: OnStage | None = None) -> tuple[Prepared, Clock]:
    clock = Clock(on_stage)
    return presolve(problem, clock, merge=True), clock


def short_search(instance: Instance, seconds: float, threads: int, seed: int) -> Assignment | None:
    """The table that the start of `method="search"` finds in so many seconds; sooner where it is proven optimal."""
    ends = time.perf_counter() + seconds
    first = greedy(instance)
    target = None if first is None else float(first.cost)
    dual = lagrangian(instance, target=target, seconds=hybrid.BOUND_SHARE * seconds)
    effort = Effort(ends, enough=proven_bound(instance, round_dual(dual)), patience=hybrid.PATIENCE)
    with open_pool(threads, None) as pool:
        search = Search(instance, dual, first, pool, effort, seed)
        return search.run(get("highs"), SolverOptions(threads=threads, seed=seed))


def whole_from(
    problem: km.Problem,
    solver: str,
    table: Assignment,
    options: SolverOptions,
    on_progress: OnProgress,
) -> km.Result:
    """The whole strong model on a solver, from a table; no other bound beside it."""
    adapter = get(solver)
    if not (found := adapter.availability()):
        raise SolverError(f"{solver} cannot be used: {found.value}")
    prepared, clock = prepared_for(problem)
    session = Session(prepared, get_formulation("strong"), adapter, options, clock, on_progress=on_progress)
    if obstacle := too_large(prepared.instance) or too_long(prepared.instance, options.time_limit):
        raise SolverError(obstacle)
    with clock.step("build"):
        model = get_formulation("strong").build(prepared.instance)

    def start(_: Session, model: Any, compiled: Any) -> dict[int, float]:
        values = direct.start_of(prepared.instance, model, compiled, table)
        assert complete_point(compiled.linear, values) is not None, "the start is not a solution"
        return values

    with mock.patch.object(direct, "first_table", start):
        return direct.solve_direct(session, model, own=True)


def options_of(method: str, instance: Instance, args: argparse.Namespace) -> SolverOptions:
    """Options of a solver for the whole model: what the package takes for it as well."""
    threads = args.threads if Capability.THREADS in get(method).capabilities else 1
    tuned = get_formulation("strong").tune(instance).get(method, {})
    return SolverOptions(args.time_limit, threads, args.seed, absolute_gap=INTEGRAL_GAP, extra=tuned)


def measure(
    method: str, problem: km.Problem, instance: Instance, start: Assignment | None, args: argparse.Namespace
) -> dict[str, Any]:
    """One run: what came out, and how. start: a table over `instance`, for the solvers that are handed one."""
    options = options_of(method, instance, args) if method in STARTED else None
    points: Trajectory = []
    if options is not None and start is not None:
        points.append((0.0, float(start.cost * instance.levels.unit), None))
    began = time.perf_counter()

    def show(point: Progress) -> None:
        points.append((time.perf_counter() - began, point.incumbent, point.bound))

    try:
        if options is not None:
            if start is None:
                raise SolverError("the search has found no start")
            result = whole_from(problem, method, start, options, show)
        else:
            result = km.solve(
                problem,
                method=method if method in OWN else "milp",
                formulation="textbook" if method == "textbook" else "strong",
                time_limit=args.time_limit,
                threads=args.threads,
                seed=args.seed,
                on_progress=show,
            )
    except (InputError, SolverError, MemoryError) as error:
        seconds = time.perf_counter() - began
        return {"method": method, "seconds": seconds, "proof": "none", "message": str(error) or "out of memory"}
    seconds = time.perf_counter() - began
    points.append((seconds, result.objective, result.bound))
    return {
        "method": method,
        "seconds": seconds,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "proof": result.proof,
        "stop_reason": result.stop_reason,
        "verified": result.verified,
        "solver": f"{result.solver.name} {result.solver.version}",
        "threads": result.solver.options.threads,
        "pairs": result.after.pairs,
        "variables": result.after.variables,
        "constraints": result.after.constraints,
        "message": result.message,
        "trajectory": best_so_far(points),
    }


def finite(value: float) -> float | None:
    """Rounded, or None where nothing is known."""
    return round(value, 6) if math.isfinite(value) else None


def best_so_far(points: Trajectory) -> Trajectory:
    """Seconds, cheapest table and highest bound up to then; only where something is new."""
    known: Trajectory = []
    table, bound = math.inf, -math.inf
    for seconds, loss, lower in points:
        table = min(table, math.inf if loss is None else loss)
        # where what costs as much as the table is left out, a bound may lie above it: then it proves just the table
        bound = min(table, max(bound, -math.inf if lower is None else lower))
        state = (finite(table), finite(bound))
        if not known or known[-1][1:] != state or (seconds, loss, lower) == points[-1]:
            known.append((round(seconds, 3), *state))
    return known


HEAD = ("rows", "k", "start", "method", "s to proof", "objective", "bound", "gap %", "proof", "variables", "s", "")


def cells(run: dict[str, Any]) -> list[str]:
    """One run as a row of the table."""
    proven = f"{run['seconds']:.1f}" if run["proof"] == "optimal" else "-"
    known = (run.get(name) for name in ("objective", "bound"))
    values = (
        run["rows"], run["k"], run.get("start"), run["method"], proven, *known, percent(run.get("gap"), 4),
        run["proof"], run.get("variables"), f"{run['seconds']:.1f}", run["message"],
    )  # fmt: skip
    return ["-" if value is None else f"{value:,}" if isinstance(value, int) else str(value) for value in values]


def lines(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of the picture: the gap in per cent of each run over time, 0 where it is proven."""
    points = []
    for run in runs:
        trajectory = run.get("trajectory", [])
        for number, (seconds, loss, bound) in enumerate(trajectory):
            if loss is None or not loss:
                continue
            last = number == len(trajectory) - 1
            open_cells = max(1, math.floor(loss - (bound or 0) + 1e-6))
            gap = 0.0 if last and run["proof"] == "optimal" else min(100.0, 100 * open_cells / loss)
            where = {"panel": f"{run['table']}, {run['rows']:,} rows, k = {run['k']}", "method": run["method"]}
            points.append({**where, "seconds": max(SOONEST, seconds), "gap": gap, "last": last})
    return points


def draw(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """The gap over time, one line a method, one panel a problem."""
    import altair as alt

    points = lines(runs)
    if not points:
        return
    floor = 10.0 ** math.floor(math.log10(min([point["gap"] for point in points if point["gap"]], default=1.0) / 2))
    for point in points:
        point["gap"] = max(point["gap"], floor)
    powers = [10.0**e for e in range(round(math.log10(floor)), 3)]
    slowest = max(point["seconds"] for point in points)
    word = f"datum.value < {1.5 * floor} ? 'proven' : format(datum.value, '~g')"
    y = (
        alt.Y("gap:Q", title="gap, %")
        .scale(type="log", domain=[floor, 100], nice=False)
        .axis(alt.Axis(values=powers, labelExpr=word))
    )
    ticks = [
        digit * 10.0**e
        for e in range(round(math.log10(SOONEST)), math.ceil(math.log10(slowest)) + 1)
        for digit in (1, 2, 5)
    ]
    x = (
        alt.X("seconds:Q", title="seconds")
        .scale(type="log", domain=[SOONEST, slowest], nice=False)
        .axis(alt.Axis(values=ticks, format="~g"))
    )
    present = [method for method in METHODS if any(point["method"] == method for point in points)]
    color = alt.Color("method:N", sort=present, title="method").scale(domain=present, scheme="dark2")
    tips = [
        alt.Tooltip("method:N"),
        alt.Tooltip("seconds:Q", format=",.1f"),
        alt.Tooltip("gap:Q", format=".4~g", title="gap, %"),
    ]
    base = alt.Chart().encode(x, y, color, tooltip=tips).properties(width=360, height=280)
    line = base.mark_line(interpolate="step-after", clip=True)
    ends = base.mark_point(filled=True, size=60, opacity=1).transform_filter("datum.last")
    panels = list(dict.fromkeys(point["panel"] for point in points))
    chart = alt.layer(line, ends, data=alt.Data(values=points)).facet(
        facet=alt.Facet("panel:N", sort=panels, title=None), columns=min(2, len(panels))
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.save(path.with_suffix(".svg"))
    chart.save(path.with_suffix(".html"), inline=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, rows=[200, 500], k=[3], time_limit=600)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--start-seconds", type=float, default=10, help="of the search for the start")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the runs there, as JSON")
    parser.add_argument(
        "--add", type=Path, nargs="*", default=[], metavar="FILE", help="earlier runs, to go with these"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="FILE.svg and FILE.html (extra `bench`)")
    parser.add_argument("--random", type=int, metavar="N", help="N random small tables against brute force instead")
    args = parser.parse_args()
    if args.random is not None:
        raise SystemExit(min(compare(args.random, args.seed), 1))
    runs = [run for path in args.add for run in json.loads(path.read_text())["results"]]
    if args.rows:
        warm_up(sensitive=False)
        print(*HEAD, sep="\t", flush=True)
    for rows, k, problem in problems(args):
        instance, start, found = prepared_for(problem)[0].instance, None, {}
        if set(args.methods) & set(STARTED):
            began = time.perf_counter()
            start = short_search(instance, args.start_seconds, args.threads, args.seed)
            cost = None if start is None else plain(start.cost * instance.levels.unit)
            found = {"start": cost, "start_seconds": time.perf_counter() - began}
        for method in args.methods:
            began_from = found if method in STARTED else {}
            gc.collect()  # the models before
            run = measure(method, problem, instance, start, args)
            limits = {"time_limit": args.time_limit, "seed": args.seed}
            runs.append({"table": args.table, "rows": rows, "k": k, **limits, **began_from, **run})
            print(*cells(runs[-1]), sep="\t", flush=True)
            if args.out:  # after each run: the next one may take hours
                args.out.parent.mkdir(parents=True, exist_ok=True)
                args.out.write_text(json.dumps({"cores": os.cpu_count(), "results": runs}, indent=1) + "\n")
    grid = Table(*HEAD)
    for run in runs:
        grid.add_row(*cells(run))
    Console(width=160).print(grid)
    if args.picture:
        draw(runs, args.picture)


if __name__ == "__main__":  # processes of the search begin by reading this file
    main()
