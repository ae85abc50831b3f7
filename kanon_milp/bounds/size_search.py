"""The groups of one size of a candidate, row by row and depth first, for `kanon_milp.bounds.valued_pricing`; compiled.

The EMD cost that t-closeness limits is exact, in integers, value by value. Of a group of S rows, X_v of them with value
v, and shares p_v of the table:

    star (the equal distance)       Σ_v weight_v·|X_v - p_v·S| ≤ t·S
    line (values one after other)   Σ_v weight_v·|X_1 + ... + X_v - (p_1 + ... + p_v)·S| ≤ t·S,   weight_v from v to v+1

So once the rows of some values are chosen, what they add to the EMD cost depends on the next value's rows alone (star),
or on how many rows there are up to this value (line).

Compositions (X_v) value by value: X_v rows with value v cost at least their X_v cheapest ones, so those of the values
that are still to come are found for all numbers of rows by a dynamic program, and only compositions that can be below
are looked at. For each of these, rows in rising order, value by value: a group grows by one row after another, and what
it can still become costs at least what it costs now plus the next rows in order. Its own terms of rank-1 cuts never
fall when rows are added.
"""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.pricing import give_back, take
from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.relaxations import Relaxation
from kanon_milp.bounds.tree_subproblem import ValuedCover, integral_limits, rounded
from kanon_milp.errors import InputError
from kanon_milp.kernels.tree_subproblem import TreeArrays, ValuedRows
from kanon_milp.system.arrays import Ints
from kanon_milp.system.jit import compiled_part
from kanon_milp.system.kernels import stable_order

Scalar = TypeVar("Scalar", np.float64, np.int64)

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


@compiled_part
def far_by_number(size: int, values: Ints, emd: EmdCost, far: Ints) -> int:
    """EmdCost of a group of a size by value and number of rows, into `far`, (values, size + 1).

    values: ascending, those that the group can have. The number of rows is that of this value, on a line that of all
    values up to it; the values between this one and the next are part of it. Returns the EMD cost of those before the
    first.
    """
    scale, count = emd.scale, len(emd.weights)
    before = 0
    for u in range(values[0]):
        before += emd.weights[u] * emd.shares[u] * size
    for cell in range(len(values)):
        v, end = values[cell], values[cell + 1] if cell + 1 < len(values) else count
        for number in range(size + 1):
            total = emd.weights[v] * abs(scale * number - emd.shares[v] * size)
            for u in range(v + 1, end):
                held = number if emd.line else 0
                total += emd.weights[u] * abs(scale * held - emd.shares[u] * size)
            far[cell, number] = total
    return before


class SortedRows(NamedTuple, Generic[Scalar]):
    """One candidate's rows one by one, value by value, by rising reduced cost, and scratch space for its groups.

    begins (V + 1,): where each value begins. items: row types. prefix: sums of reduced costs from the left, one more,
    of each value from its own 0, so value v begins at begins[v] + v. bests: of the dynamic program, (V + 1, rows + 1).
    numbers, limits: X and its limits, (V,) and (V, 2). chosen, values: the group so far, as places in `items`, and what
    it costs before each. best: row types of the cheapest group found. filled: Σ p_i a_i of each rank-1 cut, of the
    group so far. far, charges: (V, rows + 1), EMD cost of a size by number of rows,
    and what θ charges for it; no values without EMD cost.
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
    """Groups of one size of a candidate. before, charge: EMD cost of the values before the first, and what θ charges
    for it less what it allows. presence: different values that they need. w: of a row. never: above all values. tick,
    tolerance: as in `TreeArrays`. limits: (V, 2), the least and most rows of each value. rows: row types value by
    value, copies one after the other."""

    size: int
    emd: EmdCost
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
def sort_rows(candidate: ValuedCover[Scalar], rows: ValuedRows[Scalar], cuts: int, limited: bool) -> SortedRows[Scalar]:
    """The rows of a candidate. cuts: number of rank-1 cuts. limited: whether there is EMD cost."""
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
    return SortedRows(
        starts, items, prefix, np.empty((width + 1, total + 1), kind), np.zeros(width, np.int64),
        np.zeros((width, 2), np.int64), np.empty(total + 1, np.int64), np.empty(total + 1, kind),
        np.empty(total + 1, np.int64), np.zeros(cuts, np.int64),
        np.empty((deep, total + 1), np.int64), np.empty((deep, total + 1), kind),
    )  # fmt: skip


@compiled_part
def limit_numbers(size: int, values: Ints, tree: TreeArrays[Scalar], sorted_rows: SortedRows[Scalar]) -> bool:
    """The least and the most rows of each value in a group of so many; False where there is none."""
    cell = 0
    for v in range(len(tree.own)):
        if tree.own[v] < 0:
            continue
        low, high = integral_limits(tree.of_value[v], size)
        if cell < len(values) and values[cell] == v:
            high = min(high, sorted_rows.begins[cell + 1] - sorted_rows.begins[cell])
            if low > high:
                return False
            sorted_rows.limits[cell, 0], sorted_rows.limits[cell, 1] = low, high
            cell += 1
        elif low > 0:
            return False
    return True


@compiled_part
def charge_numbers(
    size: int, theta: Scalar, before: int, emd: EmdCost, tick: Scalar, sorted_rows: SortedRows[Scalar]
) -> Scalar:
    """Charges of a size by its EMD cost, into `sorted_rows`; what θ charges for the EMD cost of the values before the
    first, less
    what it allows."""
    whole = theta * 0 + emd.whole
    for cell in range(len(sorted_rows.far)):
        for number in range(size + 1):
            sorted_rows.charges[cell, number] = rounded(theta * sorted_rows.far[cell, number], whole, tick)
    return rounded(theta * (before - emd.limit * size), whole, tick)


@compiled_part
def cheapest_rests(size: int, emd: EmdCost, sorted_rows: SortedRows[Scalar], never: Scalar) -> None:
    """bests[v, s]: the least that s rows of value v and those after it cost in a group of this size."""
    begins, prefix, bests, limits = sorted_rows.begins, sorted_rows.prefix, sorted_rows.bests, sorted_rows.limits
    width, charged = len(limits), len(sorted_rows.charges) > 0
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
                        value += sorted_rows.charges[v, size - s + x if emd.line else x]
                    least = min(least, value)
            bests[v, s] = least


PASSES = 4  # over the compositions of a size, each with four times the distance to the bound, the last without one


@compiled_part
def _grow(
    size: int, cuts: PricedCuts[Scalar], below: Scalar, nodes: int, sorted_rows: SortedRows[Scalar]
) -> tuple[Scalar, int]:
    """Search the groups with the numbers of rows in `sorted_rows` for one below `below`; (the least or `below`, nodes
    left).

    What is found is in `best`. Nodes left is -1 where it gave up.
    """
    begins, items, prefix, _, numbers, _, chosen, values, best_group, filled, _, _ = sorted_rows
    zero = below * 0
    best, value, rest = below, zero, zero
    for v in range(len(numbers)):
        rest += prefix[begins[v] + v + numbers[v]]
    v, fence = -1, 0  # value of the next row, and the number of rows with which this value is complete
    depth, at = 0, 0
    deeper = True
    while True:
        if deeper:
            while depth == fence and depth < size:
                v += 1
                fence += numbers[v]
                at = begins[v]
                rest -= prefix[begins[v] + v + numbers[v]]
        need = fence - depth
        deeper = at + need <= begins[v + 1] and value + (prefix[at + v + need] - prefix[at + v]) + rest < best
        if deeper:
            nodes -= 1
            if nodes < 0:
                break
            values[depth], chosen[depth] = value, at
            value += prefix[at + v + 1] - prefix[at + v] + take(items[at], cuts, filled, zero)
            depth += 1
            at += 1
            if depth < size:
                continue
            if value < best:
                best = value
                for d in range(size):
                    best_group[d] = items[chosen[d]]
            deeper = False
        if depth == 0:
            break
        depth -= 1
        while depth < fence - numbers[v]:
            rest += prefix[begins[v] + v + numbers[v]]
            fence -= numbers[v]
            v -= 1
        at, value = chosen[depth], values[depth]
        give_back(items[at], cuts, filled)
        at += 1
        while at < begins[v + 1] and items[at] == items[at - 1]:
            at += 1
    for d in range(depth):
        give_back(items[chosen[d]], cuts, filled)
    return best, nodes


@compiled_part
def search_size(
    at: Size[Scalar], cuts: PricedCuts[Scalar], below: Scalar, nodes: int, sorted_rows: SortedRows[Scalar]
) -> tuple[Scalar, int]:
    """As `_grow`, over all compositions of a size."""
    begins, prefix, bests, numbers, limits = (
        sorted_rows.begins,
        sorted_rows.prefix,
        sorted_rows.bests,
        sorted_rows.numbers,
        sorted_rows.limits,
    )
    width, charged = len(numbers), len(sorted_rows.charges) > 0
    best, most = below, at.emd.limit * at.size
    left, spent = np.empty(width + 1, np.int64), np.zeros(width + 1, prefix.dtype)
    far = np.zeros(width + 1, np.int64)
    left[0] = at.size
    far[0], spent[0] = at.before, at.charge
    v = 0
    numbers[0] = limits[0, 0] - 1
    while v >= 0:
        numbers[v] += 1
        x, first = numbers[v], begins[v] + v
        if x > min(limits[v, 1], left[v]):
            v -= 1
            continue
        left[v + 1] = left[v] - x
        spent[v + 1] = spent[v] + prefix[first + x]
        if charged:
            number = at.size - left[v + 1] if at.emd.line else x
            spent[v + 1] += sorted_rows.charges[v, number]
            far[v + 1] = far[v] + sorted_rows.far[v, number]
        # `never` is so large that nothing that is below can have it
        if spent[v + 1] + bests[v + 1, left[v + 1]] >= best or far[v + 1] > most:
            continue
        if v + 1 < width:
            nodes -= 1
            if nodes < 0:
                break
            v += 1
            numbers[v] = limits[v, 0] - 1
            continue
        different = 0
        for u in range(width):
            different += int(numbers[u] > 0)
        if different < at.presence:
            continue
        best, nodes = _grow(at.size, cuts, best, nodes, sorted_rows)
        if nodes < 0:
            break
    return best, nodes


@compiled_part
def search_passes(
    at: Size[Scalar],
    cuts: PricedCuts[Scalar],
    bounds: tuple[Scalar, Scalar, Scalar],
    nodes: int,
    sorted_rows: SortedRows[Scalar],
) -> tuple[Scalar, int]:
    """As `search_size`. bounds: what groups of this size cost at least, how far from that the first pass goes, and what
    it is to be below."""
    start, above, below = bounds
    limited = len(sorted_rows.charges) > 0
    for number in range(PASSES):
        last = not limited or number == PASSES - 1 or start + above >= below
        enough = below if last else start + above
        found, nodes = search_size(at, cuts, enough, nodes, sorted_rows)
        if found < enough:
            return found, nodes
        if last or nodes < 0:
            break
        above *= 4
    return below, nodes
