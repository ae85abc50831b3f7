"""Tables of many groups: candidates are opened one by one, with rows that other groups can spare.

A group is one released row, so more groups than the cheapest table has need rows that are released in another way, and
lose more. What it costs to open a candidate only rises while others are opened, since they take spare rows away; so a
heap with costs that may be out of date gives the cheapest one each time (lazy greedy, Minoux 1978).
"""

from __future__ import annotations

import heapq

import numpy as np

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import Limit


def split_groups(instance: Instance, table: Assignment, least: int, limit: Limit) -> Assignment | None:
    """A table of at least so many groups, of sizes alone, from one of fewer; None where none is found.

    limit: until which candidates are opened.
    """
    spare = _Spare(instance, table)
    heap = spare.first_costs()
    groups = len(np.unique(table.candidate))
    while groups < least and heap and not limit.over:
        _, g = heapq.heappop(heap)
        found = spare.cheapest(g)
        if found is None:
            continue
        cost, places, rows = found
        if heap and cost > heap[0][0]:
            heapq.heappush(heap, (cost, g))
            continue
        spare.open(g, places, rows)
        groups += 1
    return None if groups < least else Assignment.from_pairs(instance, spare.rows)


class _Spare:
    """The rows that groups of a table can do without. rows: int64 (pairs,), of the table as it is now."""

    def __init__(self, instance: Instance, table: Assignment) -> None:
        candidates = instance.candidates
        self.instance, self.rows = instance, table.rows_of_pairs(instance)
        self._keys = candidates.pair_keys(instance.types.count)
        # by row type, then candidate
        self._type, self._group, self._left = table.row_type, table.candidate, table.rows.copy()
        self._begin = np.searchsorted(self._type, np.arange(instance.types.count + 1))
        size = np.bincount(table.candidate, weights=table.rows, minlength=candidates.count).astype(np.int64)
        self._spare = np.where(size > 0, size - instance.least, 0)
        self._closed = size == 0

    def first_costs(self) -> list[tuple[int, int]]:
        """What it costs at least to open each closed candidate, as a heap."""
        candidates, least, cost = self.instance.candidates, self.instance.least, self.instance.candidates.cost
        types = self.instance.types.count
        can_go = np.minimum(self._left, self._spare[self._group])
        amount = np.bincount(self._type, weights=can_go, minlength=types).astype(np.int64)
        dearest = np.full(types, -1, np.int64)
        np.maximum.at(dearest, self._type[can_go > 0], cost[self._group[can_go > 0]])
        of_pair = candidates.candidate_of_pair()
        pairs = np.flatnonzero(self._closed[of_pair] & (amount[candidates.members] > 0))
        pairs = pairs[np.lexsort((-dearest[candidates.members[pairs]], of_pair[pairs]))]
        of, kinds = of_pair[pairs], candidates.members[pairs]
        before = np.cumsum(amount[kinds]) - amount[kinds]
        first = np.searchsorted(of, np.arange(candidates.count))
        begin = np.append(before, 0)[first]
        taken = np.clip(least[of] - (before - begin[of]), 0, amount[kinds])
        enough = np.bincount(of, weights=taken, minlength=candidates.count) >= least
        more = np.bincount(of, weights=taken * (cost[of] - dearest[kinds]), minlength=candidates.count)
        opened = np.flatnonzero(enough & self._closed)
        heap = list(zip(np.rint(more[opened]).astype(np.int64).tolist(), opened.tolist(), strict=True))
        heapq.heapify(heap)
        return heap

    def cheapest(self, g: int) -> tuple[int, Ints, Ints] | None:
        """What it costs to open a candidate, and the places and numbers of its rows; None where too few can go."""
        candidates, cost = self.instance.candidates, self.instance.candidates.cost
        kinds = candidates.members[candidates.indptr[g] : candidates.indptr[g + 1]]
        lengths = self._begin[kinds + 1] - self._begin[kinds]
        places = np.repeat(self._begin[kinds] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        places = places[(self._left[places] > 0) & (self._spare[self._group[places]] > 0)]
        places = places[np.argsort(-cost[self._group[places]], kind="stable")]
        need, more, taken = int(self.instance.least[g]), 0, dict[int, int]()
        found: list[tuple[int, int]] = []
        for place in places.tolist():
            h = int(self._group[place])
            number = min(need, int(self._left[place]), int(self._spare[h]) - taken.get(h, 0))
            if number > 0:
                found.append((place, number))
                taken[h] = taken.get(h, 0) + number
                more += number * int(cost[g] - cost[h])
                need -= number
            if not need:
                where, rows = zip(*found, strict=True)
                return more, np.array(where, np.int64), np.array(rows, np.int64)
        return None

    def open(self, g: int, places: Ints, rows: Ints) -> None:
        """Move these rows to a closed candidate."""
        kinds, groups, types = self._type[places], self._group[places], self.instance.types.count
        self._left[places] -= rows
        np.subtract.at(self._spare, groups, rows)
        np.subtract.at(self.rows, np.searchsorted(self._keys, groups * types + kinds), rows)
        np.add.at(self.rows, np.searchsorted(self._keys, g * types + kinds), rows)
