"""Tables of boxes: moves and exchanges of rows that lower the penalty, where only sizes of groups are required."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.box_pricing import exchange
from kanon_milp.presolve.boxes import BoxCosts
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
