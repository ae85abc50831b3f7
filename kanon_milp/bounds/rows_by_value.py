"""One candidate's rows by value, and what groups of one size cost at least, for `kanon_milp.bounds.valued_pricing`."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.composition import TreeArrays, ValuedCover, ValuedRows, rounded
from kanon_milp.bounds.star import integral_limits
from kanon_milp.bounds.work import Work
from kanon_milp.system.arrays import Ints
from kanon_milp.system.jit import compiled_part
from kanon_milp.system.kernels import stable_order

Scalar = TypeVar("Scalar", np.float64, np.int64)


class Lined(NamedTuple, Generic[Scalar]):
    """One candidate's rows one by one, value by value, by rising reduced cost, and room for its groups.

    begins (V + 1,): where each value begins. items: row types. prefix: sums of reduced costs from the left, one more,
    of each value from its own 0, so value v begins at begins[v] + v. bests: of the dynamic program, (V + 1, rows + 1).
    numbers, limits: X and its limits, (V,) and (V, 2). chosen, values: the group so far, as places in `items`, and what
    it costs before each. best: row types of the cheapest group found. filled: Σ p_i a_i of each rank-1 cut, of the
    group so far.
    far, charges: (V, rows + 1), work of a size by number of rows (`kanon_milp.bounds.work`), and what θ charges for it;
    no values without work.
    """

    begins: Ints
    items: Ints
    prefix: NDArray[Scalar]
    bests: NDArray[Scalar]
    numbers: Ints
    limits: Ints
    chosen: Ints
    values: NDArray[Scalar]
    best: Ints
    filled: Ints
    far: Ints
    charges: NDArray[Scalar]


class Size(NamedTuple, Generic[Scalar]):
    """Groups of one size of a candidate. before, charge: work of the values before the first, and what θ charges for it
    less what it allows. presence: different values that they need. w: of a row. never: above all values. tick,
    tolerance: as in `TreeArrays`. limits: (V, 2), the least and most rows of each value. rows: row types value by
    value, copies one after the other."""

    size: int
    work: Work
    before: int
    charge: Scalar
    presence: int
    w: Scalar
    never: Scalar
    tick: Scalar
    tolerance: Scalar
    limits: Ints
    rows: Ints


@compiled_part
def line_up(candidate: ValuedCover[Scalar], rows: ValuedRows[Scalar], cuts: int, limited: bool) -> Lined[Scalar]:
    """The rows of a candidate. cuts: number of rank-1 cuts. limited: whether there is work."""
    cover, begins = candidate.members, candidate.begins
    counts, multipliers, _ = rows
    width, total = len(candidate.values), 0
    for i in cover:
        total += int(counts[i])
    starts, items = np.zeros(width + 1, np.int64), np.empty(total, np.int64)
    kind = multipliers.dtype
    prefix = np.empty(total + width, kind)
    end = 0
    for v in range(width):
        begin, size = begins[v], begins[v + 1] - begins[v]
        keys = np.empty(size, kind)
        for at in range(size):
            keys[at] = candidate.w - multipliers[cover[begin + at]]
        summed = candidate.w * 0
        prefix[end + v] = summed
        for at in stable_order(keys):
            for _ in range(int(counts[cover[begin + at]])):
                items[end] = cover[begin + at]
                summed += keys[at]
                end += 1
                prefix[end + v] = summed
        starts[v + 1] = end
    deep = width if limited else 0
    return Lined(
        starts, items, prefix, np.empty((width + 1, total + 1), kind), np.zeros(width, np.int64),
        np.zeros((width, 2), np.int64), np.empty(total + 1, np.int64), np.empty(total + 1, kind),
        np.empty(total + 1, np.int64), np.zeros(cuts, np.int64),
        np.empty((deep, total + 1), np.int64), np.empty((deep, total + 1), kind),
    )  # fmt: skip


@compiled_part
def limit_numbers(size: int, values: Ints, tree: TreeArrays[Scalar], lined: Lined[Scalar]) -> bool:
    """The least and the most rows of each value in a group of so many; False where there is none."""
    cell = 0
    for v in range(len(tree.own)):
        if tree.own[v] < 0:
            continue
        low, high = integral_limits(tree.of_value[v], size)
        if cell < len(values) and values[cell] == v:
            high = min(high, lined.begins[cell + 1] - lined.begins[cell])
            if low > high:
                return False
            lined.limits[cell, 0], lined.limits[cell, 1] = low, high
            cell += 1
        elif low > 0:
            return False
    return True


@compiled_part
def charge_numbers(size: int, theta: Scalar, before: int, work: Work, tick: Scalar, lined: Lined[Scalar]) -> Scalar:
    """Charges of a size by its work, into `lined`; what θ charges for the work of the values before the first, less
    what it allows."""
    whole = theta * 0 + work.whole
    for cell in range(len(lined.far)):
        for number in range(size + 1):
            lined.charges[cell, number] = rounded(theta * lined.far[cell, number], whole, tick)
    return rounded(theta * (before - work.limit * size), whole, tick)


@compiled_part
def cheapest_rests(size: int, work: Work, lined: Lined[Scalar], never: Scalar) -> None:
    """bests[v, s]: the least that s rows of value v and those after it cost in a group of this size."""
    begins, prefix, bests, limits = lined.begins, lined.prefix, lined.bests, lined.limits
    width, charged = len(limits), len(lined.charges) > 0
    for s in range(size + 1):
        bests[width, s] = never
    bests[width, 0] = 0
    for v in range(width - 1, -1, -1):
        first = begins[v] + v
        for s in range(size + 1):
            least = never
            for x in range(limits[v, 0], min(limits[v, 1], s) + 1):
                if bests[v + 1, s - x] < never:
                    value = prefix[first + x] + bests[v + 1, s - x]
                    if charged:
                        value += lined.charges[v, size - s + x if work.line else x]
                    least = min(least, value)
            bests[v, s] = least
