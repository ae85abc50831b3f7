"""The picture of a comparison: the loss of each method as a bar, the best proven bound as a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.studies.pages.charts import COLOURS
from kanon_milp.system.extras import optional

WIDTH, BAR = 460, 26
ROOM = 1.12  # for the number at the end of the longest bar


def chart(names: Sequence[str], losses: Sequence[float | None], bound: float | None) -> Any:
    """An altair chart of methods, in this order, and their losses; those without one have no bar.

    Raises InputError where no method has a table, and where altair is not installed (extra `report`).
    """
    alt = optional("altair", "report", "a picture of a comparison")
    data = pl.DataFrame({"method": list(names), "loss": list(losses)}, schema={"method": pl.String, "loss": pl.Float64})
    if data["loss"].null_count() == data.height:
        raise InputError("there is nothing to draw: no method has a table")
    y = alt.Y("method:N", sort=None, title=None)
    most = max(loss for loss in data["loss"] if loss is not None)
    axis = alt.Axis(format=",.6~r", gridColor="#e8e8e8", tickCount=6)
    x = alt.X(
        "loss:Q", title="information lost", axis=axis, scale=alt.Scale(domain=[0, ROOM * (most or 1)], nice=False)
    )
    base = alt.Chart(data)
    bars = base.mark_bar(color=COLOURS[0]).encode(x, y)
    words = base.mark_text(align="left", dx=4).encode(alt.X("loss:Q"), y, text=alt.Text("loss:Q", format=",.6~r"))
    layers = [bars, words.transform_filter("isValid(datum.loss)")]
    if bound is not None:
        at = pl.DataFrame({"bound": [bound], "what": [f"no table loses less than {bound:,g}"]})
        line = alt.Chart(at).mark_rule(color=COLOURS[1], strokeDash=[4, 3], strokeWidth=2)
        scale = alt.Scale(range=[COLOURS[1]])
        layers.append(
            line.encode(
                x="bound:Q", color=alt.Color("what:N", title="", scale=scale, legend=alt.Legend(orient="bottom"))
            )
        )
    return alt.layer(*layers).properties(width=WIDTH, height=alt.Step(BAR))
