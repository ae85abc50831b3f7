"""The search for good tables: construction from the dual point, then annealing and neighbourhoods by turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.heuristics.annealing import Draw
from kanon_milp.heuristics.annealing_chains import anneal_chains
from kanon_milp.heuristics.construction import construct
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.grouping import tighten_groups
from kanon_milp.heuristics.large_neighbourhoods import rebuild_groups
from kanon_milp.heuristics.seen_pairs import SeenPairs
from kanon_milp.heuristics.state import Board, cell_cost
from kanon_milp.heuristics.worker_pool import Pool
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.system.arrays import Flags

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

# what the heuristics look at, in cells: candidates with φ_g up to the first, pairs with a reduced cost up to the second
OPEN_LIMIT, PAIR_LIMIT = 3.0, 4.0
# the same for neighbourhoods, whose models must stay small, until nothing better is left within them, and after that
NEAR, FARTHER = (0.5, 1.0), (1.5, 3.0)
SEEN_SLICE = 8.0  # seconds that a neighbourhood over the pairs of the tables seen may take
# share of a turn for annealing, where groups have at least so many rows: pairs are a matter for neighbourhoods
ANNEAL_SHARES = ((5, 0.5), (3, 0.3), (0, 0.1))
SHORTEST = 5.0  # seconds of neighbourhoods in a turn, at least
TURN = 25  # neighbourhoods in a turn, where work is counted instead of time
SEEDS = 10_000  # between two turns


class Search:
    """One search on one instance; `incumbent` is the best assignment so far, always valid and complete."""

    def __init__(
        self,
        instance: Instance,
        dual: DualPoint,
        start: Assignment | None,
        pool: Pool,
        effort: Effort,
        seed: int = 0,
        on_better: Callable[[Assignment], None] | None = None,
        possible: Flags | None = None,
        *,
        constructed: bool = False,
    ) -> None:
        """possible: bool (pairs,), what a better table could use, where that is known. constructed: the start comes
        from these multipliers already."""
        self.possible = possible
        self._constructed = constructed or possible is not None
        self.instance, self.dual, self.incumbent = instance, dual, start
        self._pool, self._effort, self._seed, self._on_better = pool, effort, seed, on_better
        self._near, self._seen = NEAR, SeenPairs.of(instance)

    def construct(self) -> Assignment | None:
        """The first step alone: a table by the dual point, None if there is none."""
        board = self._board(OPEN_LIMIT, PAIR_LIMIT, self._seed)
        construct(board, self.dual)
        self._keep(board)
        self._constructed = True
        return self.incumbent

    def anneal(self) -> Assignment | None:
        """One annealing, without the neighbourhoods after it; it ends by itself after some moves a row."""
        self._anneal(self._effort, self._seed)
        return self.incumbent

    def run(self, adapter: SolverAdapter, options: SolverOptions) -> Assignment | None:
        """Construct, then anneal and search neighbourhoods by turns; None if not even a first table is found.

        On a very large table the first turn takes all the time. options: of the solver for each neighbourhood.
        """
        if not self._constructed:
            self.construct()
        turn, idle, left = 0, 0, self._effort.neighbourhoods
        while self.incumbent is not None and idle < self._effort.patience and left != 0:
            before = self.incumbent.cost
            if self._effort.ended(before):
                break
            now = min(TURN, left) if left is not None else None
            exhausted = self._turn(adapter, options, self._seed + SEEDS * turn, now)
            turn, idle = turn + 1, 0 if self.incumbent.cost < before else idle + 1
            left = None if left is None or now is None else left - now
            if exhausted:
                break
        return self.incumbent

    def _turn(self, adapter: SolverAdapter, options: SolverOptions, seed: int, count: int | None) -> bool:
        """One annealing and the neighbourhoods after it; whether these have found that nothing is better."""
        kappa = float(np.median(self.instance.least))
        share = next(share for least, share in ANNEAL_SHARES if kappa >= least)
        began = time.perf_counter()
        part = self._effort if count is not None else self._effort.part(share * self._effort.left)
        self._anneal(part, seed)
        if self.incumbent is None or self._effort.ended(self.incumbent.cost):
            return False
        if count is not None:
            part = replace(self._effort, neighbourhoods=count)
        else:
            part = self._effort.part(max(SHORTEST, (time.perf_counter() - began) * (1 - share) / share))
        if self._seen is not None:
            some = part if count is None else replace(part, neighbourhoods=count // 2)
            exhausted = self._recombine(self._seen, adapter, options, some, seed)
            if self._effort.ended(self.incumbent.cost) or (count is None and not exhausted):
                return False
            part = part if count is None else replace(part, neighbourhoods=count - count // 2)
        near = self._board(*self._near, seed)
        exhausted = rebuild_groups(near, adapter, options, self._pool, part, seed, self._keep)
        if not exhausted or self._near == FARTHER or self.possible is not None:
            return exhausted
        self._near = FARTHER
        if count is not None:  # of neighbourhoods, some of which are used up
            return False
        farther = self._board(*FARTHER, seed)
        return rebuild_groups(farther, adapter, options, self._pool, part, seed, self._keep)

    def _recombine(
        self, seen: SeenPairs, adapter: SolverAdapter, options: SolverOptions, effort: Effort, seed: int
    ) -> bool:
        """Neighbourhoods over the pairs that annealings have seen; whether nothing is better with these."""
        board = Board.of(self.instance, seen.cheapest(), self.incumbent, seed)
        return rebuild_groups(board, adapter, options, self._pool, effort, seed, self._keep, SEEN_SLICE)

    def _anneal(self, effort: Effort, seed: int) -> None:
        board = self._board(OPEN_LIMIT, PAIR_LIMIT, seed)
        anneal_chains(board, Draw.of(board, self.dual), self._pool, effort, seed, self._keep, self._seen)

    def _board(self, open_limit: float, pair_limit: float, seed: int) -> Board:
        """The incumbent on a board of the pairs that are worth a look."""
        instance, dual, cell = self.instance, self.dual, cell_cost(self.instance)
        candidates, of_pair = instance.candidates, instance.candidates.candidate_of_pair()
        allowed = dual.phi[of_pair] <= open_limit * cell
        allowed &= candidates.cost[of_pair] - dual.multipliers[candidates.members] <= pair_limit * cell
        if self.possible is not None:
            allowed = self.possible
        return Board.of(instance, allowed, self.incumbent, seed)

    def _keep(self, board: Board) -> None:
        """Take the table on the board if it is better, each group released as cheaply as its rows allow."""
        found = board.assignment()
        if found is None:
            return
        found = tighten_groups(self.instance, found)
        if self.incumbent is None or found.cost < self.incumbent.cost:
            self.incumbent = found
            if self._on_better is not None:
                self._on_better(found)
