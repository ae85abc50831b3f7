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
    _, first, of_row = np.unique(boxes.codes, axis=0, return_index=True, return_inverse=True)
    same = np.bincount(of_row.reshape(-1))
    order = np.arange(boxes.n)
    search, highest = boxes.plain(least, least, order), boxes.highest
    rank = np.asarray(search.rank)
    search.share = 1.0
    total = 0
    for at, (row, rows) in enumerate(zip(first.tolist(), same.tolist(), strict=True)):
        if at % AT_ONCE == 0 and limit.over:
            break
        # a group belongs to its first row in this order
        before, place = int(order[0]), int(rank[row])
        order[0], order[place], rank[before], rank[row] = row, before, place, 0
        search.below = least * (int(known[row]) - highest) + 1
        cheapest_of_seed(search, row, NODES)
        total += rows * (search.lowest + least * highest)
    slack = boxes.n * boxes.slack * least
    return max(Fraction(total - slack, least * boxes.scale), Fraction(0))
