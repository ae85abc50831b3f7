"""Statistics of a study's runs, as pure functions on a table of runs (one row a run).

A *setting* is what is compared: formulation, method, solver, its options, threads. A *case* is what settings are
compared on: an instance, a seed, a permutation, a time limit. A run is *solved* where it has ended by itself with a
proof (optimal, infeasible or unbounded), or with what it was to measure, and nothing is wrong with it; it has *failed*
where it ended in an error, a crash or for want of memory. Runs of several folders have the folder's name in the column
`results`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Floats

SETTING = ("formulation", "method", "solver", "options", "threads", "results")
CASE = ("instance", "seed", "permutation", "time_limit")  # a run that failed may know no more of its instance
FROM_FILE = "file"  # the formulation of a model that comes as it is
PROGRAM = ("executable", "command", "optimal", "infeasible", "bound")  # keys of a solver of one's own
NEEDED = (
    *("run", "study", "family", "n", "m", "t_in", "k", "memory_limit", *SETTING[:-1], *CASE),
    *("ended", "message", "stop_reason", "proof", "objective", "bound", "gap", "defects", "known", "repeat", "sense"),
    *("seconds", "peak_bytes", "trajectory"),
    *("package_version", "solver_version", "git", "python", "os", "cpu", "cores", "memory", "host", "started"),
)
FAILED = ("error", "crashed", "memory")
MEASURED = "measured"  # stop reason of a run that solves nothing
SHIFT = 10.0  # seconds of the shifted geometric mean
NODE_SHIFT = 100.0  # the same of nodes
PENALTY = 10  # of PAR10
LEAST = 0.01  # seconds: shorter runs count as so long where times are divided, or on a logarithmic axis

Point = tuple[float, float | None, float | None]  # seconds, incumbent, bound
Pair = tuple[float | None, float | None]


def with_outcomes(frame: pl.DataFrame) -> pl.DataFrame:
    """The runs with four columns more: setting (its name), solved, failed, red (whether something is wrong with it).

    Raises InputError for a frame without rows, or without one of the columns of a table of runs.
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise InputError(f"a table of runs has a column {missing[0]}, this one has none")
    if frame.is_empty():
        raise InputError("the table of runs has no rows")
    added = {"nodes": pl.Int64, "root_bound": pl.Float64, "root_seconds": pl.Float64, "results": pl.String}
    frame = frame.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in added.items() if name not in frame.columns
    )
    known = frame.select(SETTING).unique(maintain_order=True).rows()
    names = dict(zip(known, setting_names(known), strict=True))
    red = pl.col("defects").list.len().fill_null(0) > 0
    settled = pl.col("proof").is_in(["optimal", "infeasible", "unbounded"]) | (pl.col("stop_reason") == MEASURED)
    ended = (pl.col("ended") == "finished") & settled
    return frame.with_columns(
        pl.Series("setting", [names[row] for row in frame.select(SETTING).rows()]),
        red.alias("red"),
        (ended & ~red).fill_null(value=False).alias("solved"),
        pl.col("ended").is_in(FAILED).fill_null(value=True).alias("failed"),
    )


def setting_names(settings: Sequence[tuple[Any, ...]]) -> list[str]:
    """A name for each setting, of what the settings differ in; the solver where they differ in nothing.

    Models that come as files have no formulation: beside one formulation they are the same settings.
    """
    formulation = SETTING.index("formulation")
    own = {row[formulation] for row in settings} - {FROM_FILE}
    if len(own) == 1:
        settings = [(*row[:formulation], *own, *row[formulation + 1 :]) for row in settings]
    differ = [len({row[place] for row in settings}) > 1 for place in range(len(SETTING))]
    if not any(differ) or differ[SETTING.index("options")]:  # options are those of a solver
        differ[SETTING.index("solver")] = True
    shown = [
        name
        for name in ("results", "solver", "method", "formulation", "options", "threads")
        if differ[SETTING.index(name)]
    ]
    parts = ((_part(name, row[SETTING.index(name)]) for name in shown) for row in settings)
    return [", ".join(filter(None, each)) for each in parts]


def _part(name: str, value: Any) -> str:
    if name == "threads":
        return f"{value} thread{'' if value == 1 else 's'}"
    if name != "options":
        return "" if value is None else str(value)
    try:
        found = json.loads(value or "{}")
    except ValueError:
        return str(value)
    if not isinstance(found, Mapping):
        return str(value)
    hidden = PROGRAM[1:] if "command" in found else ()  # a command is known by its name
    return " ".join(f"{key}={each}" for key, each in found.items() if key not in hidden)


def shifted_geometric_mean(name: str, shift: float = SHIFT) -> pl.Expr:
    """exp(mean of ln(v + s)) - s of a column."""
    return (pl.col(name) + shift).log().mean().exp() - shift


def charged_seconds(frame: pl.DataFrame, unsolved: int = 1) -> pl.Series:
    """Seconds of each run where it is solved, else so many times its time limit."""
    charged = pl.when("solved").then("seconds").otherwise(unsolved * pl.col("time_limit"))
    return frame.select(charged.cast(pl.Float64).alias("charged")).to_series()


def gap_of(incumbent: float | None, bound: float | None) -> float:
    """|incumbent - bound| / max(|incumbent|, |bound|), at most 1; 1 while one is missing, 0 where both are 0."""
    if incumbent is None or bound is None or not np.isfinite([incumbent, bound]).all():
        return 1.0
    largest = max(abs(incumbent), abs(bound))
    return min(1.0, abs(incumbent - bound) / largest) if largest else 0.0


def gap_steps(trajectory: Sequence[Point], seconds: float, last: float | None) -> tuple[Floats, Floats]:
    """The gap over time as a step function: float64 (s,) seconds from 0 on, float64 (s,) the gap from there on.

    trajectory: as a solver told it. seconds: when the process ended, from when on the gap is `last` if that is known.
    """
    told = sorted(((max(0.0, at), gap_of(upper, lower)) for at, upper, lower in trajectory if at < seconds))
    ending = [] if last is None else [(seconds, last)]
    times, gaps = zip((0.0, 1.0), *told, *ending, strict=True)
    return np.array(times, dtype=np.float64), np.array(gaps, dtype=np.float64)


def gap_at(steps: tuple[Floats, Floats], times: Floats) -> Floats:
    """The value of a step function at each of the times, which are at least 0."""
    starts, values = steps
    return values[np.searchsorted(starts, times, side="right") - 1]


def primal_dual_integral(steps: tuple[Floats, Floats], limit: float) -> float:
    """∫ gap(τ) dτ from 0 to the time limit, in seconds (Berthold 2013, with both bounds)."""
    starts, values = steps
    edges = np.minimum(np.append(starts, limit), limit)
    return float((np.diff(edges) * values).sum())


def best_values(frame: pl.DataFrame) -> list[float | None]:
    """Of each run what is known of its instance's optimum: the optimum that the study states, else the best objective
    of all runs on it with which nothing is wrong; None without one."""
    best: dict[str, float] = {}
    rows = frame.select("instance", "known", "objective", "sense", "red").rows(named=True)
    for row in rows:
        if row["objective"] is not None and not row["red"]:
            better = max if row["sense"] == "max" else min
            best[row["instance"]] = better(best.get(row["instance"], row["objective"]), row["objective"])
    return [_number(row["known"], best.get(row["instance"])) for row in rows]


def _number(known: str | None, default: float | None) -> float | None:
    try:
        return default if known is None else float(Fraction(known))
    except ValueError:  # infeasible, unbounded
        return default


def run_steps(frame: pl.DataFrame, side: str = "both") -> list[tuple[Floats, Floats]]:
    """The gap over time of each run; from its end on it is 0 where the run is solved.

    side: both, between incumbent and bound; primal, between incumbent and best value; dual, between best value and
    bound.
    """
    found = []
    columns = ("trajectory", "seconds", "solved", "objective", "bound")
    for row, best in zip(frame.select(columns).iter_rows(named=True), best_values(frame), strict=True):

        def seen(upper: float | None, lower: float | None, best: float | None = best) -> Pair:
            return (best if side == "dual" else upper), (best if side == "primal" else lower)

        points = [(each["seconds"], *seen(each["incumbent"], each["bound"])) for each in row["trajectory"] or ()]
        last = seen(row["objective"], row["bound"])
        gap = 0.0 if row["solved"] else None if None in last else gap_of(*last)
        found.append(gap_steps(points, float(row["seconds"] or 0.0), gap))
    return found


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """A row a setting, best shifted geometric mean first: runs, solved, failed, red, mean, par10, integral; how many
    times the best setting's each of the last three is (solved: the share of the best's), null where the settings were
    not run on the same cases; and primal, dual, nodes, root_gap, root_seconds.

    frame: of `with_outcomes`. mean: shifted geometric mean of the seconds with the time limit where not solved. par10:
    mean of the seconds with ten times the limit where not solved. integral, primal, dual: mean integrals of the gap
    between incumbent and bound, incumbent and best value, best value and bound, in seconds. nodes: shifted geometric
    mean over the runs whose log says them; root_gap, root_seconds: means over those whose log says them.
    """
    limits = frame["time_limit"].to_list()
    sides = {"integral": "both", "primal": "primal", "dual": "dual"}
    integrals = {
        name: [primal_dual_integral(steps, limit) for steps, limit in zip(run_steps(frame, side), limits, strict=True)]
        for name, side in sides.items()
    }
    roots = zip(best_values(frame), frame["root_bound"].to_list(), strict=True)
    root_gaps = [None if None in pair else gap_of(*pair) for pair in roots]
    charged = frame.with_columns(
        charged_seconds(frame).alias("charged"),
        charged_seconds(frame, PENALTY).alias("penalized"),
        pl.Series("root_gap", root_gaps, dtype=pl.Float64),
        *(pl.Series(name, values, dtype=pl.Float64) for name, values in integrals.items()),
    )
    found = charged.group_by("setting", maintain_order=True).agg(
        pl.len().alias("runs"),
        pl.col("solved").sum(),
        pl.col("failed").sum(),
        pl.col("red").sum(),
        shifted_geometric_mean("charged").alias("mean"),
        pl.col("penalized").mean().alias("par10"),
        pl.col("integral", "primal", "dual").mean(),
        shifted_geometric_mean("nodes", NODE_SHIFT).alias("nodes"),
        pl.col("root_gap", "root_seconds").mean(),
    )
    ratios = [_ratio(pl.col(name), pl.col(name).min()).alias(f"{name}_ratio") for name in ("mean", "par10", "integral")]
    share = _ratio(pl.col("solved"), pl.col("solved").max()).alias("solved_ratio")
    found = found.with_columns(share, *ratios).sort("mean", maintain_order=True)
    if same_cases(frame):
        return found
    return found.with_columns(pl.lit(None, pl.Float64).alias(name) for name in found.columns if name.endswith("_ratio"))


def same_cases(frame: pl.DataFrame) -> bool:
    """Whether all settings were run on the same cases. frame: of `with_outcomes`."""
    cases = frame.select("setting", *CASE).unique()
    return len(cases) == frame["setting"].n_unique() * len(cases.select(CASE).unique())


def grouped_sizes(values: NDArray[Any], most: int) -> NDArray[Any]:
    """The values themselves where no more than `most` are different; else of each the middle of its range: ranges
    between the smallest and the largest, which grow by one factor, `most` in number; the middle is their geometric
    mean."""
    if len(np.unique(values)) <= most or values.min() <= 0:
        return values
    edges = np.geomspace(values.min(), values.max(), most + 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, most - 1)
    middles: NDArray[Any] = np.sqrt(edges[:-1] * edges[1:])[place].round(1)
    return middles


def _ratio(value: pl.Expr, best: pl.Expr) -> pl.Expr:
    return pl.when(best > 0).then(value / best).when(value == best).then(1.0).otherwise(None)


def case_seconds(frame: pl.DataFrame) -> pl.DataFrame:
    """A row a case that some run is about, and a column a setting: seconds where it is solved, infinite where not, null
    where the setting was not run on it.

    Of several runs of a setting on a case the last one counts. frame: of `with_outcomes`.
    """
    last = frame.unique([*CASE, "setting"], keep="last", maintain_order=True)
    solved = last.with_columns(pl.when("solved").then("seconds").otherwise(math.inf).alias("seconds"))
    return solved.pivot("setting", index=list(CASE), values="seconds", maintain_order=True)


def performance_profile(times: Floats) -> list[tuple[Floats, Floats]]:
    """Dolan and Moré (2002): for each setting the ratios at which its share of cases rises, and the share from there.

    times: float64 (cases, settings), seconds, infinite where not solved, NaN where not run: shares are those of the
    cases that a setting was run on, and the fastest is the one of those that were. The ratio of a case is the seconds
    of the setting divided by those of the fastest on that case. Each profile begins at ratio 1.
    """
    floored = np.maximum(np.where(np.isnan(times), np.inf, times), LEAST)
    best = floored.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isfinite(floored), floored / best, np.inf)
    found = []
    for column, run in zip(ratios.T, (~np.isnan(times)).sum(axis=0), strict=True):
        reached = np.sort(column[np.isfinite(column)])
        steps = np.unique(np.append(1.0, reached))
        found.append((steps, np.searchsorted(reached, steps, side="right") / max(run, 1)))
    return found


def mean_gap(frame: pl.DataFrame, points: int = 160) -> pl.DataFrame:
    """Columns setting, seconds, gap: the mean gap of a setting's runs at times from `LEAST` to the longest limit."""
    longest = max(frame["time_limit"].max() or LEAST, 2 * LEAST)
    times = np.geomspace(LEAST, float(longest), points)  # type: ignore[arg-type]
    found = []
    for (setting,), runs in frame.group_by("setting", maintain_order=True):
        gaps = np.mean([gap_at(steps, times) for steps in run_steps(runs)], axis=0)
        found.append(pl.DataFrame({"setting": [setting] * points, "seconds": times, "gap": gaps}))
    return pl.concat(found)


def scaling(frame: pl.DataFrame, by: str, most: int = 8) -> pl.DataFrame:
    """Columns setting, `by`, mean (shifted geometric mean of the seconds, the limit where not solved), solved (share),
    runs; in the order of `by`. Where that has more different values than `most`, which are then positive, ranges whose
    ends grow by one factor are taken together, at their geometric mean. A run that does not know the size of its
    instance has that of the other runs on it."""
    size = pl.col(by).fill_null(pl.col(by).max().over("instance"))
    known = frame.with_columns(charged_seconds(frame).alias("charged"), size).filter(pl.col(by).is_not_null())
    known = known.with_columns(pl.Series(by, grouped_sizes(known[by].to_numpy(), most)))
    mean = shifted_geometric_mean("charged").alias("mean")
    grouped = known.group_by("setting", by, maintain_order=True)
    return grouped.agg(mean, pl.col("solved").mean(), pl.len().alias("runs")).sort("setting", by)
