"""What an annealing has seen: the pairs of the tables on its way, from which neighbourhoods put together better ones.

Each of these tables is good somewhere. A model over the pairs of all of them has two to three for each row type, so
that a large part of the table is one neighbourhood which the solver solves to the end (optimal recombination, Aggarwal,
Orlin, Tai 1997; in vehicle routing, set partitioning over the routes that a local search has met).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.state import Board, Small
from kanon_milp.presolve.instance import Instance

Ints = NDArray[np.int64]


class SeenPairs:
    """Pairs, each with the loss of the cheapest table that had it."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._keys, self._loss = np.empty(0, np.int64), np.empty(0, np.int64)  # row type times candidates + candidate

    def add(self, board: Board, group: Small) -> None:
        """The pairs of a table: where the rows of a board's state are when `state.group` is this. None while some rows
        are nowhere."""
        state, width = board.state, self._instance.candidates.count
        if (group == len(board.candidate)).any():
            return
        _, candidates, rows = board.parked
        loss = int(state.cost[group].sum() + self._instance.candidates.cost[candidates] @ rows)
        new = np.unique(state.type_of.astype(np.int64) * width + board.candidate[group])
        keys = np.concatenate([self._keys, new])
        losses = np.concatenate([self._loss, np.full(len(new), loss)])
        order = np.lexsort((losses, keys))
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        self._keys, self._loss = keys[order][first], losses[order][first]

    def cheapest(self, most: int) -> NDArray[np.bool_]:
        """Those of the cheapest table, and of the next ones while there are no more than `most`. bool (pairs,)."""
        found, keys = np.zeros(self._instance.candidates.pairs, np.bool_), self._keys
        if len(keys) > most:
            beyond = np.partition(self._loss, most)[most]
            keys = keys[(self._loss < beyond) | (self._loss == self._loss.min())]
        width = self._instance.candidates.count
        found[pairs_at(self._instance, keys // width, keys % width)] = True
        return found
