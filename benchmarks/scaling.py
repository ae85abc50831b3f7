"""How each step before a model grows with the table: seconds and peak memory from 10^4 to 10^7 rows.

python benchmarks/scaling.py                                             10^4, 10^5, 10^6 rows, 40 patterns, k = 5
python benchmarks/scaling.py --rows 10000000 --patterns 40 256           a large one, also with all patterns
python benchmarks/scaling.py --rows 10000000 --add out/scaling/scaling.json --memory-limit 20
                                                    beside earlier runs; what needs more than 20 GB is stopped
python benchmarks/scaling.py --rows --add out/scaling/scaling.json       earlier runs drawn again

Synthetic microdata with 8 columns whose row types grow as those of a census (`kanon_milp.instances.microdata`). Every
step runs in a process of its own: what it needs is loaded, the peak is set back (Linux), the clock starts. The peak is
that of the whole process: interpreter and libraries, what the step begins with ("held"), and its own work. "scan" is
compressing from the Parquet file without holding the table. The picture (extra `bench`) and all runs go to --out.

Memory ends with the pairs (row type, candidate), not with the rows: the dearest step, the reduction, takes some 30
bytes a pair. All patterns on 10^7 rows are 204 million pairs and 6.4 GB; 24 GB would end near 800 million.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from rich.console import Console
from rich.table import Table as Grid

import kanon_milp as km
from kanon_milp.bounds import lagrangian
from kanon_milp.instances.microdata import QUASI_IDENTIFIERS, synthetic_microdata, write_synthetic_microdata
from kanon_milp.presolve.instance import Instance, recode, with_candidates
from kanon_milp.presolve.reductions import reduce
from kanon_milp.presolve.row_types import RowTypes

OF_PATTERNS = ("candidates", "reduce", "bound")
STEPS = ("read csv", "read parquet", "scan", "compress", *OF_PATTERNS)


class Study(NamedTuple):
    seed: int
    k: int
    patterns: int
    mask_seed: int
    iterations: int

    def candidates(self, types: RowTypes) -> Callable[[], Instance]:
        # a problem knows its table; a thousand row types stand for it here, so that only the arrays count
        table = km.Table.from_frame(types.frame().head(1000), QUASI_IDENTIFIERS)
        mask = km.PatternMask.random(QUASI_IDENTIFIERS, self.patterns, self.mask_seed)
        problem = km.Problem(table, [km.KAnonymity(self.k)], mask)
        return lambda: with_candidates(problem, types, recode(problem, types))


def prepared(step: str, folder: Path, study: Study) -> Callable[[], Any]:
    """The step, with all it needs in memory."""
    parquet = folder / "table.parquet"
    match step:
        case "read csv":
            return partial(km.read_table, folder / "table.csv", QUASI_IDENTIFIERS)
        case "read parquet":
            return partial(km.read_table, parquet, QUASI_IDENTIFIERS)
        case "scan":
            return partial(km.compress, pl.scan_parquet(parquet), QUASI_IDENTIFIERS)
        case "compress":
            return partial(km.compress, km.read_table(parquet, QUASI_IDENTIFIERS).keys, QUASI_IDENTIFIERS)
        case "candidates":
            return study.candidates(pickle.loads((folder / "compress").read_bytes()))
        case "reduce":
            instance = pickle.loads((folder / "candidates").read_bytes())
            return lambda: reduce(instance)[-1].instance
    small = synthetic_microdata(1000, columns=QUASI_IDENTIFIERS)
    lagrangian(study.candidates(km.compress(small, QUASI_IDENTIFIERS))(), iterations=60)  # compiles
    return partial(lagrangian, pickle.loads((folder / "reduce").read_bytes()), iterations=study.iterations)


def sizes(done: Any) -> dict[str, float]:
    if isinstance(done, RowTypes):
        return {"row_types": done.count, "unique": int((done.counts == 1).sum())}
    if isinstance(done, Instance):
        return {"candidates": done.candidates.count, "pairs": done.candidates.pairs}
    return {"rows": done.n} if isinstance(done, km.Table) else {"value": done.value, "evaluations": done.evaluations}


def run_here(step: str, folder: Path, study: Study, memory: float) -> dict[str, float]:
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)
    work = prepared(step, folder, study)
    gc.collect()
    held = _memory("VmRSS")
    _forget_peak()
    start = time.perf_counter()
    done = work()
    seconds = time.perf_counter() - start
    peak = _memory("VmHWM")
    if step in ("compress", "candidates", "reduce"):
        (folder / step).write_bytes(pickle.dumps(done, protocol=5))
    return {"seconds": seconds, "held_mb": held, "peak_mb": peak, **sizes(done)}


def _forget_peak() -> None:
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> float:
    """Resident memory (VmRSS) or its peak (VmHWM) in MB; where there is no /proc, the peak since the beginning."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def run_apart(step: str, folder: Path, study: Study, memory: float) -> dict[str, float] | None:
    """One run in a process of its own; None if it ends without a result, as it does out of memory."""
    command = [sys.executable, __file__, "--one", step, str(folder), json.dumps(study), "--memory-limit", str(memory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(f"{step}: {(done.stderr.strip().splitlines() or ['killed'])[-1]}\n")
        return None
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(rows: int, studies: list[Study], args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    for name in ("table.parquet", "table.csv"):
        if name == "table.parquet" or "read csv" in args.steps:
            write_synthetic_microdata(folder / name, rows, args.seed, QUASI_IDENTIFIERS)
    results = run_all(rows, [step for step in args.steps if step not in OF_PATTERNS], studies[0], args, folder)
    for study in studies if (folder / "compress").exists() else ():
        results += run_all(rows, [step for step in args.steps if step in OF_PATTERNS], study, args, folder)
    return results


def run_all(rows: int, steps: list[str], study: Study, args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    results = []
    for step in steps:
        runs = [run_apart(step, folder, study, args.memory_limit) for _ in range(args.repeat)]
        good = [run for run in runs if run is not None]
        if not good:
            results.append({"rows": rows, "step": step, **study._asdict(), "stopped": True})
            break
        median = {"seconds": statistics.median(run["seconds"] for run in good)}
        peak = {name: max(run[name] for run in good) for name in ("held_mb", "peak_mb")}
        results.append({"rows": rows, "step": step, **study._asdict(), **good[0], **median, **peak})
    return results


def show(results: list[dict[str, Any]]) -> None:
    grid = Grid("rows", "step", "patterns", "seconds", "held MB", "peak MB", "growth of seconds", "")
    before: dict[str, dict[str, Any]] = {}
    for result in results:
        kind = f"{result['step']}, {result['patterns']}"
        last = before.get(kind)
        grid.add_row(
            f"{result['rows']:,}", result["step"], _pattern_count(result), *_numbers(result),
            _growth(last, result, "seconds"), _words(result, last), end_section=result["step"] == STEPS[-1],
        )  # fmt: skip
        before[kind] = result
    Console(width=150).print(grid)


def _pattern_count(result: dict[str, Any]) -> str:
    return str(result["patterns"]) if result["step"] in OF_PATTERNS else ""


def _numbers(result: dict[str, Any]) -> list[str]:
    if "seconds" not in result:
        return ["stopped", "", ""]
    return [f"{result['seconds']:.2f}", f"{result['held_mb']:,.0f}", f"{result['peak_mb']:,.0f}"]


def _words(result: dict[str, Any], last: dict[str, Any] | None) -> str:
    if "row_types" in result:
        slope = _growth(last, result, "row_types")
        new = result["unique"] / result["row_types"]
        return f"{result['row_types']:,} row types{slope and f', exponent {slope}'}, at its end {new:.2f}"
    if "pairs" in result:
        return f"{result['candidates']:,} candidates, {result['pairs']:,} pairs"
    return f"bound {result['value']:,.1f}, {result['evaluations']} evaluations" if "value" in result else ""


def _growth(last: dict[str, Any] | None, result: dict[str, Any], what: str) -> str:
    """The exponent e of rows^e since the last number of rows."""
    if last is None or not (last.get(what) and result.get(what)) or last["rows"] == result["rows"]:
        return ""
    return f"{math.log(result[what] / last[what]) / math.log(result['rows'] / last['rows']):.2f}"


def draw(results: list[dict[str, Any]], folder: Path) -> None:
    """Seconds, peak memory and numbers of things against the number of rows, all axes logarithmic."""
    import altair as alt

    def axis(channel: Any, title: str, digits: tuple[int, ...]) -> Any:
        ticks = alt.Axis(values=[digit * 10**e for e in range(-3, 11) for digit in digits], format=",~r")
        return channel.scale(type="log", nice=False).title(title).axis(ticks)

    def panel(values: list[dict[str, Any]], field: str, title: str, color: Any) -> Any:
        marks = alt.Chart(alt.Data(values=values)).mark_line(point=True).properties(width=300, height=320)
        dash = alt.StrokeDash("patterns:N", title="patterns", legend=alt.Legend(symbolType="stroke"))
        tips = [alt.Tooltip("rows:Q", format=","), alt.Tooltip(f"{field}:Q", format=",.2f")]
        x, y = axis(alt.X("rows:Q"), "rows", (1,)), axis(alt.Y(f"{field}:Q"), title, (1, 2, 5))
        return marks.encode(x, y, color, dash, tooltip=tips)

    done = [result for result in results if "seconds" in result]
    things = [
        {"rows": r["rows"], "patterns": r["patterns"], "number": r[name]}
        | {"what": name.replace("_", " ") + (", reduced" if r["step"] == "reduce" else "")}
        for r in done
        for name in ("row_types", "candidates", "pairs")
        if name in r and r["step"] != "scan"
    ]
    step = alt.Color("step:N", sort=list(STEPS), title="step")
    costs = (panel(done, "seconds", "seconds", step) | panel(done, "peak_mb", "peak memory, MB", step)).resolve_scale(
        color="shared"
    )
    what = alt.Color("what:N", title="number of", scale=alt.Scale(scheme="dark2"))
    chart = (costs | panel(things, "number", "number", what)).resolve_scale(color="independent")
    chart.save(folder / "scaling.svg")
    chart.save(folder / "scaling.html", inline=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS), help="each needs those before it")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--patterns", type=int, nargs="+", default=[40], help="of the mask, 1 to 256")
    parser.add_argument("--mask-seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=200, help="evaluations of the Lagrangian bound")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--memory-limit", type=float, default=0, metavar="GB", help="address space of a step")
    parser.add_argument("--add", type=Path, nargs="*", default=[], metavar="FILE", help="earlier runs (scaling.json)")
    parser.add_argument("--out", type=Path, default=Path("out/scaling"), help="folder of the picture and the runs")
    parser.add_argument("--one", nargs=3, metavar=("STEP", "FOLDER", "STUDY"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        step, folder, study = args.one
        print(json.dumps(run_here(step, Path(folder), Study(*json.loads(study)), args.memory_limit)))
        return
    studies = [Study(args.seed, args.k, patterns, args.mask_seed, args.iterations) for patterns in args.patterns]
    results = [result for path in args.add for result in json.loads(path.read_text())["results"]]
    for rows in args.rows:
        with tempfile.TemporaryDirectory() as folder:
            results += measure(rows, studies, args, Path(folder))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "scaling.json").write_text(json.dumps({"cores": os.cpu_count(), "results": results}, indent=1) + "\n")
    show(results)
    draw(results, args.out)


if __name__ == "__main__":
    main()
