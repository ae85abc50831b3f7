"""Tables of few groups by interchange: one candidate is opened and another one closed, as long as the loss falls.

Where the number of groups is limited, groups have more rows than they must have, and which candidates are open is a
p-median problem: each row goes to the cheapest open candidate that covers it (Teitz and Bart 1968). What an interchange
gains is a sum over the rows that the new candidate covers, from the cheapest and the second cheapest open candidate of
each (Whitaker 1983; Resende and Werneck 2007), so all interchanges are looked at in one pass over the pairs. The
smallest sizes come last, in the row assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kanon_milp.formulations.row_assignment import place_rows
from kanon_milp.heuristics.greedy import candidate_of_all
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("interchange")
@dataclass(frozen=True)
class InterchangeParameters:
    """Tables of few groups. Tuned on Adult, the first 1,000 and 5,000 rows, k = 5."""

    candidates: int = number(3_000, "candidates of the least φ that may be opened, at most", least=1)
    closings: int = number(20, "times that groups with too few rows are closed, at most", least=1)


class _Closest(NamedTuple):
    """Per row type its cheapest open candidate, as a position, and what a row costs in it and in the next one."""

    at: Ints
    cost: Ints
    second: Ints


def interchange(
    instance: Instance, phi: Floats, share: Floats, most: int, limit: Limit, params: InterchangeParameters
) -> Assignment | None:
    """A table of at most so many groups, of sizes alone; None where none is found.

    phi, share: float64 (G,), φ_g and the average of y_g. Begins with the candidates of the largest shares.
    """
    candidates, everything = instance.candidates, candidate_of_all(instance)
    if everything is None:
        return None
    chosen = np.argsort(phi, kind="stable")[: params.candidates]
    chosen = np.unique(np.append(chosen, everything))
    covers = candidates.covers.taken(chosen)
    pairs = _Pairs(
        covers.values.astype(np.int64),
        covers.list_of_value().astype(np.int64),
        candidates.cost[chosen],
        instance.types.counts,
        int(np.searchsorted(chosen, everything)),
    )
    first = np.argsort(-share[chosen], kind="stable")
    first = first[first != pairs.everything][: most - 1]
    opened = pairs.improved(np.append(first, pairs.everything), most, limit)
    return _placed(instance, chosen[opened], params)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Row type and candidate of each pair; cost of each candidate, rows of each row type; and the candidate that covers
    all rows, which stays open."""

    row_type: Ints
    candidate: Ints
    cost: Ints
    counts: Ints
    everything: int

    def closest(self, opened: Ints) -> _Closest:
        """The two cheapest of these candidates for each row type; the one that covers all is always among them."""
        is_open = np.zeros(len(self.cost), dtype=bool)
        is_open[opened] = True
        pair = np.flatnonzero(is_open[self.candidate])
        pair = pair[np.lexsort((self.cost[self.candidate[pair]], self.row_type[pair]))]
        at = np.searchsorted(self.row_type[pair], np.arange(len(self.counts)))
        cost = self.cost[self.candidate[pair]]
        next_one = np.minimum(at + 1, len(pair) - 1)
        has_two = self.row_type[pair[next_one]] == np.arange(len(self.counts))
        return _Closest(self.candidate[pair[at]], cost[at], np.where(has_two, cost[next_one], cost[at]))

    def improved(self, opened: Ints, most: int, limit: Limit) -> Ints:
        """Interchange, or open one more, as long as that lowers the loss."""
        opened = opened.copy()
        while not limit.over:
            at, cost, second = self.closest(opened)
            place = np.full(len(self.cost), -1)
            place[opened] = np.arange(len(opened))
            own, rows = self.cost[self.candidate], self.counts[self.row_type]
            gains = np.bincount(
                self.candidate, rows * np.maximum(cost[self.row_type] - own, 0), minlength=len(self.cost)
            )
            gains[opened] = -np.inf
            if len(opened) < most:
                best = int(gains.argmax())
                if gains[best] <= 0:
                    return opened
                opened = np.append(opened, best)
                continue
            closing = np.bincount(place[at], self.counts * (second - cost), minlength=len(opened))
            closing[place[self.everything]] = np.inf
            # what a row loses when its candidate is closed, it loses less where the new one covers it
            near = np.flatnonzero(own < second[self.row_type])
            kinds = self.row_type[near]
            saved = rows[near] * (second[kinds] - np.maximum(cost[kinds], own[near]))
            key = self.candidate[near] * len(opened) + place[at[kinds]]
            both = np.bincount(key, saved, minlength=len(self.cost) * len(opened)).reshape(len(self.cost), -1)
            both = both + gains[:, None] - closing[None, :]
            g, h = np.unravel_index(both.argmax(), both.shape)
            if both[g, h] <= 0:
                return opened
            opened[h] = g
        return opened


def _placed(instance: Instance, opened: Ints, params: InterchangeParameters) -> Assignment | None:
    """The rows in these candidates, without those that would have too few."""
    is_open: Flags = np.zeros(instance.candidates.count, dtype=bool)
    is_open[opened] = True
    for _ in range(params.closings):
        found = place_rows(instance, is_open)
        if found is None:
            return None
        if not found.short.any():
            return Assignment.from_pairs(instance, found.rows)
        is_open &= ~found.short
    return None
