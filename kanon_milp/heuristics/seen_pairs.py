"""What an annealing has seen: the pairs of the tables on its way, from which neighbourhoods put together better ones.

Each of these tables is good somewhere. A model over the pairs of all of them has two to three for each row type, so
that a large part of the table is one neighbourhood which the solver solves to the end (optimal recombination, Aggarwal,
Orlin, Tai 1997; in vehicle routing, set partitioning over the routes that a local search has met).
"""

from __future__ import annotations

import numpy as np

from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.state import Board
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Flags, Ints32

PER_TYPE = 2.5  # pairs that neighbourhoods are made of, at most, for each row type
MOST_ROWS = 300_000  # beyond so many none are kept: moves are too few for tables that differ, and it would take memory


class SeenPairs:
    """Pairs, each with the loss of the cheapest table that had it."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        # row type times candidates + candidate, rising
        self._keys, self._loss = np.empty(0, np.int64), np.empty(0, np.int64)

    @classmethod
    def of(cls, instance: Instance) -> SeenPairs | None:
        """None for a table of too many rows."""
        return cls(instance) if instance.types.n <= MOST_ROWS else None

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, board: Board, group: Ints32, more: int = 0) -> None:
        """The pairs of a table: where the rows of a board's state are when `state.group` is this. None while some rows
        are nowhere. more: what the table costs beside its loss.
        """
        state, width = board.state, self._instance.candidates.count
        if (group == len(board.candidate)).any():
            return
        _, candidates, rows = board.parked
        loss = int(state.cost[group].sum() + self._instance.candidates.cost[candidates] @ rows) + more
        new = np.unique(state.type_of.astype(np.int64) * width + board.candidate[group])
        at = np.searchsorted(self._keys, new)
        fresh = np.append(self._keys, -1)[at] != new
        known = at[~fresh]
        self._loss[known] = np.minimum(self._loss[known], loss)
        self._keys = np.insert(self._keys, at[fresh], new[fresh])
        self._loss = np.insert(self._loss, at[fresh], loss)

    def cheapest(self, most: int | None = None) -> Flags:
        """Those of the cheapest table, and of the next ones while there are no more than `most`, or so many that a
        solver can make something of them. bool (pairs,)."""
        most = int(PER_TYPE * self._instance.types.count) if most is None else most
        found, keys = np.zeros(self._instance.candidates.pairs, np.bool_), self._keys
        if len(keys) > most:
            beyond = np.partition(self._loss, most)[most]
            keys = keys[(self._loss < beyond) | (self._loss == self._loss.min())]
        width = self._instance.candidates.count
        found[pairs_at(self._instance, keys // width, keys % width)] = True
        return found
