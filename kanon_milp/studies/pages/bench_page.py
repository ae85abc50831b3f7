"""The page of a study: what its runs show, as one file that needs no network, with pictures and tables beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kanon_milp.errors import counted
from kanon_milp.studies.bench import statistics
from kanon_milp.studies.pages import Cell, Head, cell, charts, number, page
from kanon_milp.system.files import holding, make_folder, write_file
from kanon_milp.system.text_tables import booktabs

SIZES = {"n": "rows n", "t_in": "distinct rows t_in", "k": "k"}
MACHINE = (*("solver", "solver_version", "package_version", "git", "python"), *("os", "cpu", "cores", "memory", "host"))
MOST_RED = 100  # red rows told in full


def write_bench_page(frame: pl.DataFrame, out: Path, *, title: str | None = None) -> list[Path]:
    """Write the page of a study, and beside it its pictures (`pictures/*.svg`, `*.pdf`) and tables (`tables/*.csv`,
    `*.tex`).

    frame: the table of runs, one row a run. out: the file of the page. Returns what was written, the page first.
    Raises InputError for a frame that is no such table, where altair is missing, and where nothing can be written.
    """
    runs = statistics.with_outcomes(frame)
    found = statistics.summary(runs)
    pictures = _pictures(runs, found["setting"].to_list())
    studies = runs["study"].unique(maintain_order=True).drop_nulls().to_list()
    files = {out: _page(title or f"Study {', '.join(studies)}", runs, found, pictures).encode()}
    for name, (chart, _, _) in pictures.items():
        files |= {out.parent / "pictures" / f"{name}.{end}": data for end, data in charts.files(chart).items()}
    files |= {out.parent / "tables" / name: text.encode() for name, text in _tables(runs, found).items()}
    for path, content in files.items():
        make_folder(path.parent)
        write_file(path, holding(content))
    return list(files)


def _page(title: str, runs: pl.DataFrame, found: pl.DataFrame, pictures: Mapping[str, Picture]) -> str:
    settings, all_ = found["setting"].to_list(), runs.height
    red, failed = int(runs["red"].sum()), int(runs["failed"].sum())
    marks = [("nothing contradicts", "good") if not red else (counted(red, "red row"), "bad")]
    if failed == all_:
        marks = []
    if failed:
        marks.append((f"{counted(failed, 'run')} failed", "warn" if failed < all_ else "bad"))
    shown = {
        "Red rows": True,
        "Summary": True,
        "Performance profiles": True,
        "Gap over time": True,
        "Two settings": "scatter" in pictures,
        "Scaling": any(name.startswith("scaling_") for name in pictures),
        "Failed runs": failed,
        "All runs": True,
        "Machine and versions": True,
    }
    return page(
        "bench.html",
        title=title,
        sections=[section for section, is_there in shown.items() if is_there],
        verdicts=marks,
        runs={
            "all": all_,
            "settings": len(settings),
            "instances": runs["instance"].n_unique(),
            "cases": runs.select(statistics.CASE).n_unique(),
            "solved": int(runs["solved"].sum()),
            "red": red,
            "failed": failed,
        },
        pictures={
            name: {"svg": charts.inline(chart, name, said), "caption": caption}
            for name, (chart, caption, said) in pictures.items()
        },
        plain=_plain,
        red=runs.filter("red").head(MOST_RED).to_dicts(),
        summary={
            "header": [Head(head, "number" if at else "text", digits) for at, (head, _, digits) in enumerate(SUMMARY)],
            "rows": found.select(name for _, name, _ in SUMMARY).rows(),
            "compared": not found["solved_ratio"].is_null().all(),
        },
        scatter=_scatter(runs, settings) if "scatter" in pictures else "",
        failures=_failures(runs),
        all={"header": ALL, "rows": _rows(runs.sort("red", descending=True, maintain_order=True)), "red": range(red)},
        machine=_machine(runs),
    )


Picture = tuple[Any, str, str]  # the chart, its caption, it in words


def _pictures(runs: pl.DataFrame, settings: Sequence[str]) -> dict[str, Picture]:
    best = f"{settings[0]} has the best mean"
    found = {
        "profiles": (
            charts.profiles(runs, settings),
            "Performance profiles (Dolan and Moré 2002): the share of cases that a setting solves in at most so many "
            "times the seconds of the fastest setting on it. Higher is better; at 1, how often it is the fastest.",
            f"Performance profiles of {counted(len(settings), 'setting')}; {best}.",
        ),
        "gap": (
            charts.gap_over_time(runs, settings),
            "Mean gap of a setting's runs over time; without incumbent or bound it counts as 100 %. Lower is better.",
            f"Mean gap over time of {counted(len(settings), 'setting')}.",
        ),
    }
    if len(settings) > 1:
        places, low, high = _places(runs, settings)
        chart = charts.scatter(places, settings[0], settings[1], low, high)
        caption = (
            "Seconds of two settings, a point a case that both were run on, not solved at the time limit; below the "
            "line the one up the side is faster."
        )
        found["scatter"] = (chart, caption, f"Seconds of {settings[0]} and {settings[1]} by case.")
    for by, what in SIZES.items():
        if runs[by].drop_nulls().n_unique() > 1:
            chart = charts.scaling(runs, by, settings, what)
            caption = f"Shifted geometric mean of the seconds over {what}, the time limit where not solved."
            found[f"scaling_{by}"] = (chart, caption, f"Seconds over {what}.")
    return found


def _places(runs: pl.DataFrame, settings: Sequence[str]) -> tuple[dict[str, list[float | None]], float, float]:
    """Seconds by setting and case, the limit where not solved, None where not run, and the ends of an axis for them."""
    cases = statistics.case_seconds(runs)
    columns = [pl.col(name).clip(statistics.LEAST, pl.col("time_limit")) for name in settings]
    seconds = cases.select(columns).cast(pl.Float64)
    least = min(seconds[name].min() for name in settings)  # type: ignore[type-var]
    low, high = float(least), float(runs["time_limit"].max())  # type: ignore[arg-type]
    return {name: seconds[name].to_list() for name in settings}, low / 1.3, max(high, 2 * low) * 1.15


def _failures(runs: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Runs that ended in an error, those together whose messages differ in numbers only."""
    masked = pl.col("message").str.replace_all(r"\d[\d,.]*", "0").alias("masked")
    alike = runs.filter("failed").group_by("setting", "ended", masked, maintain_order=True)
    return alike.agg(pl.len().alias("runs"), pl.col("message", "instance", "repeat").first()).drop("masked").rows()


SUMMARY = (
    ("setting", "setting", 0),
    ("runs", "runs", 0),
    ("solved", "solved", 0),
    ("× best", "solved_ratio", 2),
    ("mean, s", "mean", 2),
    ("× best", "mean_ratio", 2),
    ("PAR10, s", "par10", 2),
    ("× best", "par10_ratio", 2),
    ("integral, s", "integral", 2),
    ("× best", "integral_ratio", 2),
    ("primal, s", "primal", 2),
    ("dual, s", "dual", 2),
    ("nodes", "nodes", 1),
    ("root gap", "root_gap", 4),
    ("root, s", "root_seconds", 2),
    ("failed", "failed", 0),
    ("red", "red", 0),
)


def _scatter(runs: pl.DataFrame, settings: Sequence[str]) -> str:
    """What the script needs to show the seconds of two other settings, as JSON."""
    places, low, high = _places(runs, settings)
    names = [
        " ".join(
            f"{key} {value}" if at else str(value) for at, (key, value) in enumerate(row.items()) if value is not None
        )
        for row in statistics.case_seconds(runs).select(statistics.CASE[:-1]).iter_rows(named=True)
    ]
    seconds = [[None if value is None else round(value, 4) for value in places[name]] for name in settings]
    data = {"settings": list(settings), "names": names, "seconds": seconds, "low": low, "high": high}
    return json.dumps({**data, "side": charts.SIDE})


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:,.10g}"


ALL = (
    Head("instance"),
    Head("family", choose=True),
    Head("setting", choose=True),
    Head("n", "number"),
    Head("k", "number"),
    Head("seed", "number"),
    Head("perm.", "number"),
    Head("ended", choose=True),
    Head("proof", choose=True),
    Head("objective", "number"),
    Head("bound", "number"),
    Head("gap %", "number", 2),
    Head("seconds", "number", 2),
    Head("limit", "number"),
    Head("MB", "number"),
    Head("nodes", "number"),
    Head("root bound", "number"),
    Head("root, s", "number", 2),
)


def _rows(runs: pl.DataFrame) -> Iterable[list[Any]]:
    for row in runs.iter_rows(named=True):
        gap, peak = row["gap"], row["peak_bytes"]
        yield [
            *(
                row[name]
                for name in ("instance", "family", "setting", "n", "k", "seed", "permutation", "ended", "proof")
            ),
            *(Cell(_plain(row[name]), row[name]) for name in ("objective", "bound")),
            None if gap is None else 100 * gap,
            row["seconds"],
            row["time_limit"],
            None if peak is None else peak / 1e6,
            row["nodes"],
            Cell(_plain(row["root_bound"]), row["root_bound"]),
            row["root_seconds"],
        ]


def _machine(runs: pl.DataFrame) -> dict[str, Any]:
    counts = runs.group_by(MACHINE, maintain_order=True).len("runs")
    times = runs["started"].drop_nulls().sort()
    return {
        "header": [*(Head(name.replace("_", " ")) for name in MACHINE), Head("runs", "number")],
        "rows": [
            [number(each / 2**30, 1) + " GiB" if name == "memory" and each else each for name, each in row.items()]
            for row in counts.iter_rows(named=True)
        ],
        "started": [each[:19].replace("T", " ") for each in (times[0], times[-1])] if times.len() else [],
    }


def _tables(runs: pl.DataFrame, found: pl.DataFrame) -> dict[str, str]:
    nested = [name for name, kind in runs.schema.items() if kind == pl.List(pl.String)]
    flat = runs.drop("trajectory").with_columns(pl.col(nested).list.join("; "))
    header = [head for head, _, _ in SUMMARY]
    lines = [
        [row[0], *(number(value, digits) for value, (_, _, digits) in zip(row[1:], SUMMARY[1:], strict=True))]
        for row in found.select(name for _, name, _ in SUMMARY).rows()
    ]
    cells = [[str(cell(each, head).shown or "–") for head, each in zip(ALL, row, strict=True)] for row in _rows(runs)]
    align = "".join("r" if head.kind == "number" else "l" for head in ALL)
    return {
        "summary.csv": found.write_csv(),
        "summary.tex": booktabs(header, lines),
        "runs.csv": flat.write_csv(),
        "runs.tex": booktabs([head.title for head in ALL], cells, align),
    }
