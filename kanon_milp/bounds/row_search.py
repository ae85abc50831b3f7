"""The groups of one size of a candidate, row by row: depth first, for `kanon_milp.bounds.valued_pricing`; compiled.

Compositions (X_v) value by value: X_v rows with value v cost at least their X_v cheapest ones, so those of the values
that are still to come are found for all numbers of rows by a dynamic program, and only compositions that can be below
are looked at. For each of these, rows in rising order, value by value: a group grows by one row after another, and what
it can still become costs at least what it costs now plus the next rows in order. Its own terms of rank-1 cuts never
fall when rows are added.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from kanon_milp.bounds.pricing import give_back, take
from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.rows_by_value import Lined, Size
from kanon_milp.system.jit import compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64)

PASSES = 4  # over the compositions of a size, each with four times the distance to the bound, the last without one


@compiled_part
def _grow(size: int, cuts: PricedCuts[Scalar], below: Scalar, nodes: int, lined: Lined[Scalar]) -> tuple[Scalar, int]:
    """Search the groups with the numbers of rows in `lined` for one below `below`; (the least or `below`, nodes left).

    What is found is in `best`. Nodes left is -1 where it gave up.
    """
    begins, items, prefix, _, numbers, _, chosen, values, best_group, filled, _, _ = lined
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
    at: Size[Scalar], cuts: PricedCuts[Scalar], below: Scalar, nodes: int, lined: Lined[Scalar]
) -> tuple[Scalar, int]:
    """As `_grow`, over all compositions of a size."""
    begins, prefix, bests, numbers, limits = lined.begins, lined.prefix, lined.bests, lined.numbers, lined.limits
    width, charged = len(numbers), len(lined.charges) > 0
    best, most = below, at.work.limit * at.size
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
            number = at.size - left[v + 1] if at.work.line else x
            spent[v + 1] += lined.charges[v, number]
            far[v + 1] = far[v] + lined.far[v, number]
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
        best, nodes = _grow(at.size, cuts, best, nodes, lined)
        if nodes < 0:
            break
    return best, nodes


@compiled_part
def search_passes(
    at: Size[Scalar],
    cuts: PricedCuts[Scalar],
    bounds: tuple[Scalar, Scalar, Scalar],
    nodes: int,
    lined: Lined[Scalar],
) -> tuple[Scalar, int]:
    """As `search_size`. bounds: what groups of this size cost at least, how far from that the first pass goes, and what
    it is to be below."""
    start, above, below = bounds
    limited = len(lined.charges) > 0
    for number in range(PASSES):
        last = not limited or number == PASSES - 1 or start + above >= below
        enough = below if last else start + above
        found, nodes = search_size(at, cuts, enough, nodes, lined)
        if found < enough:
            return found, nodes
        if last or nodes < 0:
            break
        above *= 4
    return below, nodes
