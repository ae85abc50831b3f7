"""The picture of a result, as a chart of altair: for notebooks, and to build upon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.methods.tracker import PhaseRun, Trajectory
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.system.charts import altair, shown

ACCENT, QUIET = "#0b6a88", "#7d8790"
WIDTH, HEIGHT = 360, 200
LINE = 16  # of the picture's height for a phase
FEW = 40  # sizes that each have a column of their own


def plot(
    trajectory: Trajectory,
    seconds: float,
    groups: RowGroups | None,
    goal: str = "objective",
    phases: Sequence[PhaseRun] = (),
) -> Any:
    """Incumbent and bound over time, above the phases that ran, next to the sizes of groups; whichever there is.

    seconds: until when the last values hold. groups: of the released rows. goal: what the objective is, in a word.
    Raises InputError where altair is missing, and where there is nothing to draw.
    """
    alt = altair("a picture of a result")
    panels = []
    last = [next((each for each in values if each is not None), None) for values in zip(*trajectory[::-1], strict=True)]
    told = (*trajectory, (seconds, *(last[1:] or (None, None))))
    if told[-1][2]:  # then a bound of 0 was said before anything was known, and would flatten the picture
        told = tuple((at, incumbent, bound or None) for at, incumbent, bound in told)
    rows = [
        {"seconds": at, "objective": value, "what": what}
        for point in told
        for at, what, value in ((point[0], "incumbent", point[1]), (point[0], "bound", point[2]))
        if value is not None
    ]
    if rows:
        scale = alt.Scale(domain=["incumbent", "bound"], range=[ACCENT, QUIET])
        dash = alt.Scale(domain=["incumbent", "bound"], range=[[1, 0], [5, 3]])
        lines = alt.Chart(alt.Data(values=rows), title="gap over time").mark_line(interpolate="step-after")
        panels.append(
            lines.encode(
                alt.X("seconds:Q").axis(tickCount=6),
                alt.Y("objective:Q", title=goal).scale(zero=False),
                alt.Color("what:N", scale=scale, title=None, legend=alt.Legend(orient="bottom")),
                alt.StrokeDash("what:N", scale=dash, title=None),
            )
        )
        if phases:
            both = alt.vconcat(panels[-1].properties(width=WIDTH, height=HEIGHT), _gantt(alt, phases))
            panels[-1] = both.resolve_scale(x="shared")
    if groups is not None:
        rows_of = np.bincount(groups.group, weights=groups.rows).astype(np.int64)
        sizes, counts = np.unique(rows_of[rows_of > 0], return_counts=True)
        bars = [{"rows": size, "groups": count} for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)]
        columns = alt.Chart(alt.Data(values=bars), title="group sizes")
        few = len(bars) <= FEW
        columns = columns.mark_bar(color=ACCENT) if few else columns.mark_bar(color=ACCENT, width=3)
        across = alt.X("rows:O" if few else "rows:Q", title="rows in a group").axis(labelAngle=0, labelOverlap=True)
        integers = alt.Axis(format="d", tickCount=min(6, int(counts.max())))
        panels.append(columns.encode(across, alt.Y("groups:Q", axis=integers)))
    if not panels:
        raise InputError("there is nothing to draw: no table, and no progress was reported")
    sized = [
        each if isinstance(each, alt.VConcatChart) else each.properties(width=WIDTH, height=HEIGHT) for each in panels
    ]
    return shown(alt.hconcat(*sized))


def _gantt(alt: Any, phases: Sequence[PhaseRun]) -> Any:
    bars = [
        {"phase": each.name, "from": each.began, "seconds": each.began + each.seconds, "bound": each.bound}
        | ({} if each.incumbent is None else {"incumbent": each.incumbent})
        for each in phases
    ]
    lines = alt.Chart(alt.Data(values=bars), title="phases").mark_bar(color=ACCENT, height=LINE // 2)
    return lines.encode(
        alt.X("from:Q", title="seconds"),
        alt.X2("seconds:Q"),
        alt.Y("phase:N", sort=None, title=None),
        tooltip=["phase:N", "from:Q", "seconds:Q", "incumbent:Q", "bound:Q"],
    ).properties(width=WIDTH, height=alt.Step(LINE))
