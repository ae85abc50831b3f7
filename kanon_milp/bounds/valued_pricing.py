"""What the pricing of groups under requirements (`kanon_milp.kernels.valued_pricing`) looks at, and how long.

EMD cost, which t-closeness limits, is there exact and in integers; the search has more nodes where more depends on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from kanon_milp.bounds.relaxations import Relaxation
from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Ints

# of the search for one group, one by one and by branch and bound over rows: at prices that are not known to be better,
# where few searches need more, and at others; where EMD cost is limited, the latter bounds it less well
Nodes: TypeAlias = tuple[int, int]
NODES: tuple[Nodes, ...] = (10_000, 0), (50_000, 150_000), (1_500_000, 3_500_000)
NODES_OF_EMD: tuple[Nodes, ...] = (10_000, 0), (200_000, 0), (5_000_000, 1_000_000)
ALL_NODES = 200_000_000  # of one call, of each kind: some seconds
LARGEST = 1 << 62
HIGHEST_CHARGE = 16  # times a row's cost at most, for a unit of EMD cost


class EmdCost(NamedTuple):
    """What a relaxation says of the EMD cost, as integers; no values where it says nothing.

    line: else it is a star. shares: (V,), p times `scale`; on a line up to each value. weights: (V,), times `unit`.
    limit: the most EMD cost of one row, t times scale times unit. whole: scale times unit.
    """

    line: bool
    shares: Ints
    weights: Ints
    scale: int
    limit: int
    whole: int


NO_EMD_COST = EmdCost(False, np.zeros(0, np.int64), np.zeros(0, np.int64), 1, 0, 1)


def nodes_of(emd: EmdCost) -> tuple[Nodes, ...]:
    """Of each pass over the candidates, the last one for proofs."""
    return NODES_OF_EMD if len(emd.weights) else NODES


def emd_cost_of(relaxation: Relaxation, rows: int, charge: int = 1) -> EmdCost:
    """That of a star or of a line.

    rows: of the largest group. charge: the largest integer that EMD cost is multiplied by. Where numbers would be too
    long, weights are rounded so that no group is refused that is allowed. Raises InputError where they are too long
    even so.
    """
    if relaxation.closeness is None:
        return NO_EMD_COST
    nodes = relaxation.nodes if relaxation.line else relaxation.nodes[:-1]
    scale = math.lcm(*(node.share.denominator for node in nodes))
    unit = math.lcm(relaxation.closeness.denominator, *(node.weight.denominator for node in nodes))
    edges = math.ceil(sum(node.weight for node in nodes)) + 1
    unit = min(unit, LARGEST // (edges * scale * max(rows, 1) * max(charge, 1)))
    if unit < 1:
        raise InputError("the multipliers are too large or too fine for exact numbers; use a smaller denominator")
    return EmdCost(
        relaxation.line,
        np.array([int(node.share * scale) for node in nodes], np.int64),
        np.array([int(node.weight * unit) for node in nodes], np.int64),
        scale,
        math.ceil(relaxation.closeness * unit) * scale,
        scale * unit,
    )
