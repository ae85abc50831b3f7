"""Tables of boxes: cuts at medians (Mondrian), and moves and exchanges of rows where only sizes are required."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kanon_milp.kernels.box_pricing import exchange
from kanon_milp.presolve.boxes import INTERVAL, SET, BoxCosts
from kanon_milp.problem.group_costs.base import rows_of
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import Limit

AT_ONCE = 256  # rows between two looks at the limit


def improved_boxes(boxes: BoxCosts, group: Ints, least: int, passes: int, limit: Limit) -> Ints:
    """A partition that costs no more: rows move to another group, and change places, as long as that helps.

    group: int64 (n,), group of each row. least: rows of a group at least. passes: over all rows, at most.
    """
    parts = []
    for rows in rows_of(group):  # parts of a group cost no more than it does
        parts += np.array_split(rows, max(len(rows) // least, 1))
    found, largest = np.empty(len(group), np.int64), 2 * least - 1
    members, sizes = np.full((len(parts), largest + 1), -1, np.int64), np.array([len(part) for part in parts], np.int64)
    for g, part in enumerate(parts):
        found[part], members[g, : len(part)] = g, part
    penalties = boxes.penalties(members[:, :largest].astype(np.int32))
    search = boxes.plain(least, largest)
    for _ in range(passes):
        changed = 0
        for begin in range(0, boxes.n, AT_ONCE):
            if limit.over:
                return found
            end = min(begin + AT_ONCE, boxes.n)
            changed += exchange(search, found, members, sizes, penalties, begin, end)
        if not changed:
            break
    return found


def cut_boxes(boxes: BoxCosts, least: int, holds: Callable[[Ints], bool], limit: Limit) -> Ints:
    """A partition, int64 (n,), of all rows cut in two at the median of the column in which they cost most, again and
    again (LeFevre, DeWitt, Ramakrishnan 2006); values that are no numbers are in the order of the table.

    holds: whether rows are a group. At the limit, the parts that there are then.
    """
    group, number, left = np.empty(boxes.n, np.int64), 0, [np.arange(boxes.n)]
    while left:
        rows = left.pop()
        sides = None if limit.over or len(rows) < 2 * least else _cut(boxes, rows, least, holds)
        if sides is None:
            group[rows] = number
            number += 1
        else:
            left.extend(sides)
    return group


def _cut(boxes: BoxCosts, rows: Ints, least: int, holds: Callable[[Ints], bool]) -> tuple[Ints, Ints] | None:
    columns = []
    for c, kind in enumerate(boxes.kind.tolist()):
        keys = boxes.codes[rows, c].astype(np.int64)
        if kind == INTERVAL:
            keys = boxes.place[boxes.begin[c] + keys]
            columns.append((float(keys.max() - keys.min()), keys))
            continue
        values = int(boxes.begin[c + 1] - boxes.begin[c])
        unit = float(boxes.further[c]) if kind == SET else boxes.scale / max(values - 1, 1)
        columns.append(((len(np.unique(keys)) - 1) * unit, keys))
    for width, keys in sorted(columns, key=lambda column: -column[0]):
        if width <= 0:
            break
        order = np.argsort(keys, kind="stable")
        ordered, half = keys[order], len(rows) // 2
        places = [int(np.searchsorted(ordered, ordered[half], side)) for side in ("left", "right")]
        for at in sorted(places, key=lambda place: abs(place - half)):
            sides = rows[order[:at]], rows[order[at:]]
            if min(at, len(rows) - at) >= least and all(map(holds, sides)):
                return sides
    return None
