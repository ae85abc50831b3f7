"""Pictures of a study's runs, as charts of altair: profiles, gap over time, scatter of two settings, scaling."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup, escape

from kanon_milp.errors import printable
from kanon_milp.studies.bench import statistics
from kanon_milp.system.charts import altair as _altair

COLOURS = ("#2a7fa5", "#cf6a2f", "#3d9a6c", "#a866b4", "#a38212", "#7d8790", "#c85f74", "#5569c9")
INK, QUIET = "#1b2126", "#59646d"  # on paper; a page puts its own in their place
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
WIDTH, HEIGHT = 560, 300
SIDE = 420  # of the scatter
FONT = "DejaVu Sans, system-ui, sans-serif"


def altair(module: str = "altair") -> Any:
    """The module, or the one that makes SVG and PDF of charts."""
    return _altair("a picture of runs", module)


def styled(chart: Any) -> dict[str, Any]:
    """A chart with the style of the pages, as a specification of Vega-Lite."""
    axis = {
        **dict.fromkeys(("labelColor", "titleColor", "tickColor", "domainColor", "gridColor"), QUIET),
        **dict.fromkeys(("labelFont", "titleFont"), FONT),
        **dict.fromkeys(("labelFontSize", "titleFontSize"), 12),
        "gridOpacity": 0.18,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    }
    legend = {"labelColor": INK, "titleColor": QUIET, "labelFont": FONT, "labelFontSize": 12, "labelLimit": 520}
    place = {"columns": 1, "orient": "bottom", "direction": "vertical", "symbolType": "stroke", "title": None}
    config = {
        "axis": axis,
        "legend": {**legend, **place},
        "view": {"stroke": None},
        "background": "transparent",
        "font": FONT,
    }
    specification: dict[str, Any] = chart.configure(**config).to_dict()
    return specification


def _colour(settings: Sequence[str]) -> tuple[Any, Any]:
    alt = altair()
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(settings))]
    dashes = [DASHES[place // len(COLOURS) % len(DASHES)] for place in range(len(settings))]
    scale = alt.Scale(domain=list(settings), range=colours)
    return (
        alt.Color("setting:N", scale=scale, sort=list(settings), title=None),
        alt.StrokeDash("setting:N", scale=alt.Scale(domain=list(settings), range=dashes), title=None),
    )


def _lines(rows: list[dict[str, Any]], across: Any, up: Any, settings: Sequence[str], step: bool) -> Any:
    alt = altair()
    colour, dash = _colour(settings)
    mark = {"interpolate": "step-after"} if step else {"point": {"size": 36, "filled": True}}
    chart = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2, clip=step, **mark)
    return chart.encode(across, up, colour, dash).properties(width=WIDTH, height=HEIGHT)


def _logarithmic(channel: Any, low: float, high: float, title: str) -> Any:
    """A logarithmic axis whose labels are powers of ten, or 1, 2 and 5 times one where it is short."""
    alt = altair()
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    digits = (1, 2, 5) if high / low < 300 else (1,)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    return (
        channel.scale(type="log", domain=[low, high], nice=False)
        .title(title)
        .axis(alt.Axis(values=ticks, format=",~r"))
    )


def profiles(frame: pl.DataFrame, settings: Sequence[str]) -> Any:
    """Performance profiles of Dolan and Moré."""
    alt = altair()
    seconds = statistics.case_seconds(frame).select(settings).cast(pl.Float64).fill_null(np.nan).to_numpy()
    found = statistics.performance_profile(seconds)
    largest = max(2.0, *(float(ratios[-1]) for ratios, _ in found))
    rows = [
        {"setting": setting, "ratio": float(ratio), "share": float(value)}
        for setting, (ratios, shares) in zip(settings, found, strict=True)
        for ratio, value in zip([*ratios, 1.1 * largest], [*shares, shares[-1]], strict=True)
    ]
    across = _logarithmic(alt.X("ratio:Q"), 1.0, 1.1 * largest, "seconds, as a multiple of the fastest setting's")
    up = alt.Y("share:Q").scale(domain=[0, 1]).axis(alt.Axis(format="%", tickCount=5)).title("share of cases")
    return _lines(rows, across, up, settings, True)


def gap_over_time(frame: pl.DataFrame, settings: Sequence[str]) -> Any:
    """Mean gap over time."""
    alt = altair()
    rows = statistics.mean_gap(frame)
    low, high = float(rows["seconds"][0]), float(rows["seconds"][-1])
    across = _logarithmic(alt.X("seconds:Q"), low, high, "seconds")
    up = alt.Y("gap:Q").scale(domain=[0, 1]).axis(alt.Axis(format="%", tickCount=5)).title("mean gap")
    return _lines(rows.to_dicts(), across, up, settings, True)


def scaling(frame: pl.DataFrame, by: str, settings: Sequence[str], title: str) -> Any:
    """Mean seconds over one of the sizes of a problem."""
    alt = altair()
    rows = statistics.scaling(frame, by).with_columns(pl.col("mean").clip(statistics.LEAST))
    low, high = float(rows["mean"].min()), float(rows["mean"].max())  # type: ignore[arg-type]
    least, most = float(rows[by].min()), float(rows[by].max())  # type: ignore[arg-type]
    if least > 0 and most / least > 20:
        across = _logarithmic(alt.X(f"{by}:Q"), least / 1.1, most * 1.1, title)
    else:
        across = alt.X(f"{by}:Q").title(title).axis(alt.Axis(format=",~r", tickMinStep=1)).scale(zero=False, padding=12)
    up = _logarithmic(alt.Y("mean:Q"), low / 1.5, high * 1.5, "seconds, shifted geometric mean")
    return _lines(rows.to_dicts(), across, up, settings, False)


def scatter(places: Mapping[str, Sequence[float | None]], first: str, second: str, low: float, high: float) -> Any:
    """Seconds of two settings, a point a case, unseen where one of them was not run. places: seconds of each setting by
    case, at most `high`, None where it was not run."""
    alt = altair()
    pairs = zip(places[first], places[second], strict=True)
    rows = [
        {"first": across or low, "second": up or low, "seen": 0.0 if across is None or up is None else 0.8}
        for across, up in pairs
    ]
    across = _logarithmic(alt.X("first:Q"), low, high, first)
    up = _logarithmic(alt.Y("second:Q"), low, high, second)
    seen = alt.Opacity("seen:Q").scale(None).legend(None)
    points = alt.Chart(alt.Data(values=rows)).mark_circle(size=42, color=COLOURS[0]).encode(across, up, seen)
    ends = [{"first": low, "second": low}, {"first": high, "second": high}]
    same = alt.Chart(alt.Data(values=ends)).mark_line(color=QUIET, strokeDash=[4, 4], strokeWidth=1).encode(across, up)
    return alt.layer(same, points).properties(width=SIDE, height=SIDE)


def inline(chart: Any, name: str, said: str) -> Markup:
    """A chart as SVG within a page, in its colours. name: no other chart of the page has it. said: it in words."""
    svg = altair("vl_convert").vegalite_to_svg(styled(chart))
    for colour, own in ((INK, "var(--ink)"), (QUIET, "var(--quiet)")):
        svg = svg.replace(f'"{colour}"', f'"{own}"')
    svg = re.sub(r'(id="|url\(#)', rf"\g<1>{name}-", svg)  # each chart has a clip of the same name
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(printable(said))}" ', 1))


def files(chart: Any) -> dict[str, bytes]:
    """A chart as files: ending and content."""
    found, specification = altair("vl_convert"), styled(chart)
    svg = found.vegalite_to_svg(specification)
    return {"svg": svg.encode(), "pdf": found.vegalite_to_pdf(specification)}
