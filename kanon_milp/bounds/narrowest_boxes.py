"""A bound on boxes from each row alone: it loses at least what the narrowest box with enough rows in it costs.

Whatever is required beside, a group has κ rows or more, so that the bound holds under every requirement. It looks at
one row after the other, so that it is there for as many rows as a table may have.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from kanon_milp.kernels.box_pricing import cheapest_of_seed
from kanon_milp.presolve.boxes import BoxCosts
from kanon_milp.problem.group_costs.base import rows_of
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import Limit

AT_ONCE = 16  # rows between two looks at the limit
NODES = 2_000  # of the search for one row


def narrowest_bound(boxes: BoxCosts, least: int, group: Ints, limit: Limit) -> Fraction:
    """No table loses less. least: κ. group: int64 (n,), of each row in some table; no row needs a wider box than its
    group's. A row that the limit comes before is taken to lose nothing."""
    known = np.zeros(boxes.n, np.int64)
    for rows in rows_of(group):
        known[rows] = boxes.penalties(rows[None].astype(np.int32))[0]
    total = int(narrowest_penalties(boxes, least, known, limit).sum())
    return max(Fraction(total - boxes.n * boxes.slack, boxes.scale), Fraction(0))


def narrowest_penalties(boxes: BoxCosts, least: int, known: Ints | None, limit: Limit) -> Ints:
    """Of each row, units that the narrowest box with κ rows and it costs one of them, or less; int64 (n,).

    known: int64 (n,), units of some such box.
    """
    _, first, of_row = np.unique(boxes.codes, axis=0, return_index=True, return_inverse=True)
    order, highest = np.arange(boxes.n), boxes.highest
    search = boxes.plain(least, least, order)
    rank = np.asarray(search.rank)
    search.share = 1.0
    found = np.zeros(len(first), np.int64)
    for at, row in enumerate(first.tolist()):
        if at % AT_ONCE == 0 and limit.over:
            break
        # a group belongs to its first row in this order
        before, place = int(order[0]), int(rank[row])
        order[0], order[place], rank[before], rank[row] = row, before, place, 0
        search.below = 0 if known is None else least * (int(known[row]) - highest) + 1
        cheapest_of_seed(search, row, NODES)
        found[at] = search.lowest // least + highest
    return found[of_row.reshape(-1)]
