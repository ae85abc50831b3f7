"""The picture of a sweep: loss against a parameter, the certified band, and methods beside."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.studies.pages.charts import COLOURS
from kanon_milp.system.extras import optional

WIDTH, HEIGHT = 460, 300
BEST, BOUND = "best found", "bound"
FORMAT = ",.6~r"  # plain numbers, no zeros at the end
LOGARITHMIC, MOST_TICKS = 20, 12  # largest by smallest parameter; parameters that all have a tick


def chart(frame: pl.DataFrame, beside: Sequence[str]) -> Any:
    """An altair chart: best table and bound as lines with the band between them, and a line for each method beside; one
    panel for each combination of the other parameters.

    frame: that of a sweep. beside: names of the methods, columns of the frame.
    """
    alt = optional("altair", "report", "a picture of a sweep")
    if frame.is_empty():
        raise InputError("there is nothing to draw: no setting was run")
    given = [name for name in ("k", "l", "t") if frame[name].null_count() == 0]
    along, *panels = [name for name in given if frame[name].n_unique() > 1] or given[:1]
    # exact parameters are text
    number = [float(Fraction(str(value))) for value in frame[along]]
    title = ", ".join(f"{name} = {{{name}}}" for name in panels)
    panel = [title.format(**row) for row in frame.select("k", "l", "t").iter_rows(named=True)]
    frame = frame.with_columns(pl.Series("along", number), pl.Series("panel", panel))
    order, known = [BEST, BOUND, *beside], {BEST: "objective", BOUND: "bound"}
    series = [
        frame.select(
            "along",
            "panel",
            series=pl.lit(name),
            loss=pl.col(known.get(name, name)).cast(pl.Float64),
            low=(pl.col("bound") if name == BEST else pl.lit(None)).cast(pl.Float64),
        )
        for name in order
    ]
    data = pl.concat(series).drop_nulls("loss")
    values = sorted(set(number))
    wide = values[0] > 0 and values[-1] >= LOGARITHMIC * values[0]
    scale = alt.Scale(type="log" if wide else "linear", zero=False, nice=False, padding=12)
    axis = alt.Axis(values=values if len(values) <= MOST_TICKS else alt.Undefined, format=FORMAT, grid=False)
    x = alt.X("along:Q", title=along, scale=scale, axis=axis)
    y = alt.Y("loss:Q", title="information lost", axis=alt.Axis(format=FORMAT, gridColor="#e8e8e8"))
    colour = alt.Color("series:N", title="", scale=alt.Scale(domain=order, range=_colours(len(beside))))
    dash = alt.StrokeDash("series:N", title="", scale=alt.Scale(domain=order, range=_dashes(len(beside))))
    base = alt.Chart(data)
    band = (
        base.transform_filter("isValid(datum.low)").mark_area(opacity=0.25, color=COLOURS[0]).encode(x, y, y2="low:Q")
    )
    lines = base.mark_line(point=alt.OverlayMarkDef(size=18)).encode(x, y, colour, dash)
    drawn = alt.layer(band, lines, data=data).properties(width=WIDTH, height=HEIGHT)
    return drawn.facet(alt.Facet("panel:N", title=None), columns=2) if panels else drawn


def _colours(beside: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in (0, 0, *range(1, beside + 1))]


def _dashes(beside: int) -> list[list[int]]:
    return [[1, 0], [4, 3], *([1, 0] for _ in range(beside))]
