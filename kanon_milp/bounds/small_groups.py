"""The cheapest group of a few rows, exactly, for every candidate under a relaxation that charges EMD cost; compiled.

A charge θ_g relaxes the EMD cost that t-closeness limits, and that is weakest for small groups: one row that is far
from the table's values and one that is near are within the limit on an average of two points of the subproblem, though
no group has two thirds of a row. Where single rows are allowed (the ordered distance: a row near the median), nearly
all groups have one, two or three rows, and a bound that knows charges alone is half of the optimum.

So groups of up to `SmallSizes.most` rows are looked at one by one. Which of them are allowed depends on their values
alone: a table with one entry for each multiset of values, in exact integers. The search goes depth first through rows
of rising reduced cost; the rows of one value are taken in this order, too, since one more expensive changes nothing
else. What is still to come costs at least the next rows in order. Where it takes too many steps it gives up, and the
candidate has the charged bound for these sizes as well.

All larger groups keep the charge (`kanon_milp.kernels.valued_groups` with a smallest size of `most` + 1).

Tables are put together from lists of all groups of a few rows whose reduced cost is low.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from kanon_milp.bounds.relaxations import Node, Relaxation
from kanon_milp.kernels.small_groups import SmallSizes, allow
from kanon_milp.system.arrays import Ints

MOST = 4  # rows of a group
STEPS = 100_000_000  # multisets times nodes of a table, at most: a tenth of a second
LARGEST = 1 << 62


def small_sizes(relaxation: Relaxation, least: Ints) -> SmallSizes | None:
    """The sizes that are looked at one by one; None without a charge, where there are too many values, or where no
    group is so small. least: smallest sizes of groups, of all candidates."""
    if relaxation.closeness is None or least.min(initial=MOST + 1) > MOST:
        return None
    found = _small_sizes(relaxation.nodes, relaxation.closeness)
    return found if found.most else None


@lru_cache(maxsize=4)
def _small_sizes(nodes: tuple[Node, ...], closeness: Fraction) -> SmallSizes:
    relaxation = Relaxation("", nodes, closeness=closeness)
    count, most = len(relaxation.ranks), 0
    while most < MOST and math.comb(count + most, most + 1) * len(nodes) <= STEPS:
        most += 1
    ways = np.array([[math.comb(a, b) for b in range(most + 1)] for a in range(count + most)], np.int64)
    each = [0, 1, *(math.comb(count + size - 1, size) for size in range(1, most + 1))]
    begins = np.cumsum(each, dtype=np.int64)
    allowed = np.zeros(int(begins[-1]), np.uint8)
    scale = math.lcm(*(node.share.denominator for node in nodes))
    unit = math.lcm(closeness.denominator, *(node.weight.denominator for node in nodes))
    edges = math.ceil(sum(node.weight for node in nodes)) + 1
    # where numbers would be too long, weights are rounded so that no group is refused that is allowed
    unit = min(unit, LARGEST // (edges * scale * MOST))
    if unit < 1:
        return SmallSizes(0, allowed, begins, ways)
    tree = relaxation.floats()
    weights = np.array([int(node.weight * unit) for node in nodes], np.int64)
    shares = np.array([int(node.share * scale) for node in nodes], np.int64)
    limit = math.ceil(closeness * unit) * scale
    for size in range(1, most + 1):
        allow(
            size, tree.own, tree.children, tree.of_value, shares, weights, scale, limit,
            allowed[begins[size] : begins[size + 1]],
        )  # fmt: skip
    return SmallSizes(most, allowed, begins, ways)
