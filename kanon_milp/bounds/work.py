"""The work that t-closeness limits, of groups of integer numbers of rows, value by value: exact, in integers; compiled.

Of a group of S rows, X_v of them with value v, and shares p_v of the table:

    star (the equal distance)       Σ_v weight_v·|X_v - p_v·S| ≤ t·S
    line (values one after other)   Σ_v weight_v·|X_1 + ... + X_v - (p_1 + ... + p_v)·S| ≤ t·S,   weight_v from v to v+1

So once the rows of some values are chosen, what they add to the work depends on the next value's rows alone (star), or
on how many rows there are up to this value (line).
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from kanon_milp.bounds.relaxations import Relaxation
from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Ints
from kanon_milp.system.jit import compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64)
LARGEST = 1 << 62
HIGHEST_CHARGE = 16  # times a row's cost at most, for a unit of work


class Work(NamedTuple):
    """What a relaxation says of the work, as integers; no values where it says nothing.

    line: else it is a star. shares: (V,), p times `scale`; on a line up to each value. weights: (V,), times `unit`.
    limit: the most work of one row, t times scale times unit. whole: scale times unit.
    """

    line: bool
    shares: Ints
    weights: Ints
    scale: int
    limit: int
    whole: int


NO_WORK = Work(False, np.zeros(0, np.int64), np.zeros(0, np.int64), 1, 0, 1)


def work_of(relaxation: Relaxation, rows: int, charge: int = 1) -> Work:
    """That of a star or of a line.

    rows: of the largest group. charge: the largest integer that work is multiplied by. Where numbers would be too long,
    weights are rounded so that no group is refused that is allowed. Raises InputError where they are too long even so.
    """
    if relaxation.closeness is None:
        return NO_WORK
    nodes = relaxation.nodes if relaxation.line else relaxation.nodes[:-1]
    scale = math.lcm(*(node.share.denominator for node in nodes))
    unit = math.lcm(relaxation.closeness.denominator, *(node.weight.denominator for node in nodes))
    edges = math.ceil(sum(node.weight for node in nodes)) + 1
    unit = min(unit, LARGEST // (edges * scale * max(rows, 1) * max(charge, 1)))
    if unit < 1:
        raise InputError("the multipliers are too large or too fine for exact numbers; use a smaller denominator")
    return Work(
        relaxation.line,
        np.array([int(node.share * scale) for node in nodes], np.int64),
        np.array([int(node.weight * unit) for node in nodes], np.int64),
        scale,
        math.ceil(relaxation.closeness * unit) * scale,
        scale * unit,
    )


@compiled_part
def far_by_number(size: int, values: Ints, work: Work, far: Ints) -> int:
    """Work of a group of a size by value and number of rows, into `far`, (values, size + 1).

    values: ascending, those that the group can have. The number of rows is that of this value, on a line that of all
    values up to it; the values between this one and the next are part of it. Returns the work of those before the
    first.
    """
    scale, count = work.scale, len(work.weights)
    before = 0
    for u in range(values[0]):
        before += work.weights[u] * work.shares[u] * size
    for cell in range(len(values)):
        v, end = values[cell], values[cell + 1] if cell + 1 < len(values) else count
        for number in range(size + 1):
            total = work.weights[v] * abs(scale * number - work.shares[v] * size)
            for u in range(v + 1, end):
                held = number if work.line else 0
                total += work.weights[u] * abs(scale * held - work.shares[u] * size)
            far[cell, number] = total
    return before
