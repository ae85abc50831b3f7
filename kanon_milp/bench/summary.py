"""Tables of a study for papers: one row a setting, with the formulas that benchmarks of MILP solvers use."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kanon_milp.bench.kinds import MEASURED
from kanon_milp.errors import printable
from kanon_milp.system.files import write_together

SHIFT = 10.0
PENALTY = 10.0
SETTING = ("formulation", "method", "solver", "options", "threads")


@dataclass(frozen=True)
class Summary:
    """One setting over all of its runs.

    solved: runs that ended with a proof and no defect. shifted: shifted geometric mean of the seconds, time limit where
    not solved. par10: mean of the seconds, ten time limits where not solved. Each relative to the best setting, too.
    """

    setting: str
    runs: int
    solved: int
    red: int
    shifted: float
    shifted_relative: float
    par10: float
    par10_relative: float
    gap: float | None


def solved(frame: pl.DataFrame) -> pl.Series:
    """Of each row whether it ended with a proof of optimality or infeasibility, or with what it was to measure, and
    nothing is wrong with it."""
    return frame.select(
        (pl.col("ended") == "finished")
        & (pl.col("proof").is_in(["optimal", "infeasible"]) | (pl.col("stop_reason") == MEASURED))
        & (pl.col("defects").list.len() == 0)
    ).to_series()


def shifted_mean(seconds: Sequence[float], shift: float = SHIFT) -> float:
    """(Π (t + s))^(1/n) - s."""
    return math.exp(math.fsum(math.log(each + shift) for each in seconds) / len(seconds)) - shift


def summarize(frame: pl.DataFrame) -> list[Summary]:
    """The settings of a study, the best first: by shifted geometric mean."""
    found = []
    frame = frame.with_columns(solved(frame).alias("solved"))
    for names, rows in frame.group_by(SETTING, maintain_order=True):
        done, limit = rows["solved"].to_list(), rows["time_limit"].to_list()
        seconds = rows["seconds"].to_list()
        times = [t if ok and t is not None else most for t, ok, most in zip(seconds, done, limit, strict=True)]
        penalized = [
            t if ok and t is not None else PENALTY * most for t, ok, most in zip(seconds, done, limit, strict=True)
        ]
        gaps = [1.0 if gap is None else gap for gap, ok in zip(rows["gap"].to_list(), done, strict=True) if not ok]
        red = rows.select((pl.col("defects").list.len() > 0).sum()).item()
        mean = math.fsum(penalized) / len(penalized)
        name = setting_name(dict(zip(SETTING, names, strict=True)))
        found.append((name, rows.height, sum(done), red, shifted_mean(times), mean, _mean(gaps)))
    best = min((each[4] for each in found), default=1.0), min((each[5] for each in found), default=1.0)
    made = [
        Summary(name, runs, count, red, mean, _ratio(mean, best[0]), par10, _ratio(par10, best[1]), gap)
        for name, runs, count, red, mean, par10, gap in found
    ]
    return sorted(made, key=lambda each: each.shifted)


def setting_name(setting: dict[str, object]) -> str:
    """A setting in a few words."""
    options = json.loads(str(setting["options"] or "{}"))
    words = [str(setting[key]) for key in ("solver", "method", "formulation") if setting[key] not in ("", "none", None)]
    words += [f"{name}={value}" for name, value in options.items()]
    if setting["threads"] != 1:
        words.append(f"{setting['threads']} threads")
    return printable(", ".join(words))


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _ratio(value: float, best: float) -> float:
    return value / best if best else 1.0


HEAD = ("setting", "runs", "solved", "red", "mean s", "/best", "PAR10 s", "/best", "gap")


def cells(summary: Summary) -> list[str]:
    """A summary as a row of a table."""
    gap = "" if summary.gap is None else f"{100 * summary.gap:.2f} %"
    return [
        summary.setting, str(summary.runs), str(summary.solved), str(summary.red), f"{summary.shifted:.2f}",
        f"{summary.shifted_relative:.3g}", f"{summary.par10:.2f}", f"{summary.par10_relative:.3g}", gap,
    ]  # fmt: skip


def write_tables(frame: pl.DataFrame, folder: Path) -> list[Path]:
    """Write summary.csv, summary.tex and runs.csv; returns the files."""
    found = [cells(each) for each in summarize(frame)]
    head = ("setting", "runs", "solved", "red", "shifted_mean_s", "shifted_mean_relative", "par10_s", "par10_relative",
            "mean_gap_of_the_rest")  # fmt: skip
    table = pl.DataFrame(found, schema=list(head), orient="row")
    plain = frame.drop("trajectory").with_columns(pl.col("defects").list.join("; "))
    texts = {"summary.csv": table.write_csv(), "summary.tex": _latex(found), "runs.csv": plain.write_csv()}
    fills = {name: (lambda file, text=text: file.write(text.encode())) for name, text in texts.items()}
    write_together(folder, fills)
    return [folder / name for name in texts]


def _latex(rows: Sequence[Sequence[str]]) -> str:
    lines = [
        "% shifted geometric mean, shift 10 s, time limit where not solved; PAR10: 10 time limits where not solved",
        r"\begin{tabular}{lrrrrrrrr}",
        r"\hline",
        " & ".join(HEAD) + r" \\",
        r"\hline",
        *(" & ".join(_escaped(cell) for cell in row) + r" \\" for row in rows),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(each, f"\\{each}" if each in "&%$#_{}" else each) for each in text)
