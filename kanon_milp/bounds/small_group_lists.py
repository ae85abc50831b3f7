"""All groups of a few rows whose reduced cost is low, for tables that are put together from them; compiled."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.composition import ValuedCover, ValuedRows
from kanon_milp.bounds.sizes import ValuedCandidates, candidate_of
from kanon_milp.bounds.small_sizes import Lined, SmallSizes, is_allowed
from kanon_milp.system.arrays import Ints
from kanon_milp.system.jit import compiled, compiled_part
from kanon_milp.system.kernels import stable_order

Scalar = TypeVar("Scalar", np.float64, np.int64)


@compiled_part
def _list_rows(
    below: Scalar, candidate: ValuedCover[Scalar], rows: ValuedRows[Scalar], most: int
) -> tuple[NDArray[Scalar], Ints, Ints]:
    """All rows that can be in a group that costs less than `below`, by rising reduced cost: reduced costs, row types,
    ranks of values. A row type is there as often as it can have rows in it."""
    length = 0
    for i in candidate.members:
        length += min(int(rows.counts[i]), most)
    keys, items = np.empty(length, rows.multipliers.dtype), np.empty(length, np.int64)
    at = 0
    for i in candidate.members:
        for _ in range(min(int(rows.counts[i]), most)):
            keys[at], items[at] = candidate.w - rows.multipliers[i], i
            at += 1
    order = stable_order(keys)
    highest = below
    for d in range(min(length, most - 1)):
        highest -= min(keys[order[d]], below * 0)
    kept = 0
    while kept < length and keys[order[kept]] < highest:
        kept += 1
    chosen = order[:kept]
    return keys[chosen], items[chosen], rows.value[items[chosen]]


@compiled
def list_small_groups(
    candidates: ValuedCandidates[Scalar],
    rows: ValuedRows[Scalar],
    small: SmallSizes,
    below: Scalar,
    limit: int,
) -> tuple[bool, Ints, Ints]:
    """All allowed groups of up to `small.most` rows with a reduced cost under `below` that do not fall into two allowed
    ones: (whether there are no more than `limit`, and they were found within a thousand times as many steps,
    candidates, row types (C, most), -1 for no row)."""
    most, groups, steps = small.most, 0, 1000 * limit
    found, types = np.empty(limit, np.int64), np.full((limit, most), -1, np.int64)
    chosen, spent = np.empty(most, np.int64), np.empty(most + 1, rows.multipliers.dtype)
    for g in range(len(candidates.cost)):
        candidate = candidate_of(candidates, g)
        # of a group that costs less than something positive one row does so, too
        one = below < 0
        for i in candidate.members:
            one = one or candidate.w - rows.multipliers[i] < below
        if not one:
            continue
        keys, items, values = _list_rows(below, candidate, rows, most)
        length = len(keys)
        lined = Lined(keys, keys, items, values, items, np.zeros(0, np.bool_), chosen, spent, items, keys, keys, items)
        prefix = np.empty(length + 1, keys.dtype)
        prefix[0] = below * 0
        for at in range(length):
            prefix[at + 1] = prefix[at] + keys[at]
        for size in range(max(candidate.least, 1), min(most, candidate.support) + 1):
            depth, at = 0, 0
            spent[0] = below * 0
            while True:
                need = size - depth
                if at + need <= length and spent[depth] + (prefix[at + need] - prefix[at]) < below:
                    steps -= 1
                    if steps < 0:
                        return False, found[:groups], types[:groups]
                    # rows of one type are taken one after the other
                    if at == 0 or items[at - 1] != items[at] or (depth > 0 and chosen[depth - 1] == at - 1):
                        chosen[depth] = at
                        if need > 1:
                            spent[depth + 1] = spent[depth] + keys[at]
                            depth += 1
                        elif is_allowed((1 << size) - 1, size, small, lined) and not _falls_apart(
                            size, candidate.least, small, lined
                        ):
                            if groups == limit:
                                return False, found, types
                            found[groups] = g
                            for d in range(size):
                                types[groups, d] = items[chosen[d]]
                            groups += 1
                    at += 1
                    continue
                if depth == 0:
                    break
                depth -= 1
                at = chosen[depth] + 1
    return True, found[:groups], types[:groups]


@compiled_part
def _falls_apart(size: int, least: int, small: SmallSizes, lined: Lined[Scalar]) -> bool:
    """Whether the group that is chosen is two allowed ones together."""
    every = (1 << size) - 1
    for some in range(1, every, 2):  # the part with the first row
        rows = 0
        for d in range(size):
            rows += some >> d & 1
        if rows < least or size - rows < least:
            continue
        if is_allowed(some, size, small, lined) and is_allowed(every - some, size, small, lined):
            return True
    return False
