"""A bound for a cost of one's own: what a row costs at least, if a group's cost is shared equally by its rows.

    Σ_G c(G) = Σ_i c(G_i)/|G_i| ≥ Σ_i min_{G ∋ i} c(G)/|G|

The least share of each row is found by branch and bound over its groups, best first, with the lower bound that the cost
has for all groups that hold some rows.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from heapq import heappop, heappush

import numpy as np

from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.system.limit import Limit


def share_bound(instance: GroupInstance, limit: Limit, calls: int) -> Fraction:
    """A lower bound on the cost of every table; what calls and limit leave out counts as the bound that it has then.

    calls: of a group's lower bound, for all rows together.
    """
    n = len(instance.of_row)
    return sum((_share(instance, row, limit, calls // n) for row in range(n)), Fraction(0))


def _share(instance: GroupInstance, row: int, limit: Limit, calls: int) -> Fraction:
    """The least share of this row in a group that has what is required, or a bound on it."""
    n, cost = len(instance.of_row), instance.cost
    most = min(instance.most or n, n)
    order, best, made = itertools.count(), None, 0
    heap: list[tuple[Fraction, int, tuple[int, ...], int]] = [(Fraction(0), next(order), (row,), 0)]
    while heap:
        low, _, rows, begin = heappop(heap)
        if best is not None and low >= best:
            return best
        if limit.over or made >= calls:
            return low
        group = np.array(rows)
        if len(rows) >= instance.least and instance.holds(group):
            found = cost.exact(group) / len(rows)
            best = found if best is None else min(best, found)
        if len(rows) == most:
            continue
        for other in range(begin, n):
            if other != row:
                made += 1
                here = max(low, cost.lower_bound(np.array([*rows, other])) / most)
                if best is None or here < best:
                    heappush(heap, (here, next(order), (*rows, other), other + 1))
    return Fraction(0) if best is None else best
