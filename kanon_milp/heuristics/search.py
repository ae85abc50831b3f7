"""The search for good tables: construction from the dual point, then annealing and neighbourhoods by turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.heuristics.annealing import AnnealingParameters, Draw, SeenPairs, anneal_chains
from kanon_milp.heuristics.construction import ConstructionParameters, construct
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.grouping import tighten_groups
from kanon_milp.heuristics.neighbourhoods import NeighbourhoodParameters
from kanon_milp.heuristics.size_neighbourhoods import rebuild_groups
from kanon_milp.heuristics.state import Board, cell_cost
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.system.arrays import Flags
from kanon_milp.system.parameters import DEFAULT, Parameters, number, parameters
from kanon_milp.system.worker_pool import Pool

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

SEEDS = 10_000  # between two turns


@parameters("search")
@dataclass(frozen=True)
class SearchParameters:
    """Turns of annealing and neighbourhoods, where sizes are all that is required. Tuned on Adult, k = 2 to 100.

    Pairs are a matter for neighbourhoods, whose models must stay small.
    """

    open_limit: float = number(3.0, "cells, φ of the candidates that annealing looks at")
    pair_limit: float = number(4.0, "cells, reduced cost of the pairs that it looks at")
    near_open: float = number(
        0.5, "cells, φ of candidates, for neighbourhoods until nothing is better", least=-math.inf
    )
    near_pair: float = number(1.0, "cells, reduced cost of pairs, for these", least=-math.inf)
    far_open: float = number(1.5, "cells, φ of candidates, for neighbourhoods after that")
    far_pair: float = number(3.0, "cells, reduced cost of pairs, for these")
    anneal_large: float = number(0.5, "of a turn is annealing where groups have 5 rows or more", most=0.99)
    anneal_small: float = number(0.3, "of a turn is annealing where groups have 3 or 4 rows", most=0.99)
    anneal_pairs: float = number(0.1, "of a turn is annealing where groups are pairs", least=0.01, most=0.99)
    shortest: float = number(5.0, "seconds of neighbourhoods in a turn, at least")
    turn: int = number(25, "neighbourhoods in a turn, where work is counted instead of time", least=1)

    def anneal_share(self, kappa: float) -> float:
        """Of a turn, where groups have about so many rows."""
        return self.anneal_large if kappa >= 5 else self.anneal_small if kappa >= 3 else self.anneal_pairs


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
        parameters: Parameters = DEFAULT,
    ) -> None:
        """possible: bool (pairs,), what a better table could use, where that is known. constructed: the start comes
        from these multipliers already."""
        self.possible = possible
        self._constructed = constructed or possible is not None
        self.instance, self.dual, self.incumbent = instance, dual, start
        self._pool, self._effort, self._seed, self._on_better = pool, effort, seed, on_better
        self._params, self._parameters = parameters.of(SearchParameters), parameters
        self._annealing = parameters.of(AnnealingParameters)
        self._neighbourhoods = parameters.of(NeighbourhoodParameters)
        self._far, self._seen = False, SeenPairs.of(instance, self._annealing)

    def construct(self) -> Assignment | None:
        """The first step alone: a table by the dual point, None if there is none."""
        board = self._board(self._params.open_limit, self._params.pair_limit, self._seed)
        construct(board, self.dual, self._parameters.of(ConstructionParameters))
        self._keep(board)
        self._constructed = True
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
            now = min(self._params.turn, left) if left is not None else None
            exhausted = self._turn(adapter, options, self._seed + SEEDS * turn, now)
            turn, idle = turn + 1, 0 if self.incumbent.cost < before else idle + 1
            left = None if left is None or now is None else left - now
            if exhausted:
                break
        return self.incumbent

    def _turn(self, adapter: SolverAdapter, options: SolverOptions, seed: int, count: int | None) -> bool:
        """One annealing and the neighbourhoods after it; whether these have found that nothing is better."""
        share = self._params.anneal_share(float(np.median(self.instance.least)))
        began = time.perf_counter()
        part = self._effort if count is not None else self._effort.part(share * self._effort.left)
        self._anneal(part, seed)
        if self.incumbent is None or self._effort.ended(self.incumbent.cost):
            return False
        if count is not None:
            part = replace(self._effort, neighbourhoods=count)
        else:
            part = self._effort.part(max(self._params.shortest, (time.perf_counter() - began) * (1 - share) / share))
        if self._seen is not None and self._neighbourhoods.seen_seconds > 0:
            some = part if count is None else replace(part, neighbourhoods=count // 2)
            exhausted = self._recombine(self._seen, adapter, options, some, seed)
            if self._effort.ended(self.incumbent.cost) or (count is None and not exhausted):
                return False
            part = part if count is None else replace(part, neighbourhoods=count - count // 2)
        exhausted = self._rebuild(adapter, options, part, seed)
        if not exhausted or self._far or self.possible is not None:
            return exhausted
        self._far = True
        if count is not None:  # of neighbourhoods, some of which are used up
            return False
        return self._rebuild(adapter, options, part, seed)

    def _rebuild(self, adapter: SolverAdapter, options: SolverOptions, effort: Effort, seed: int) -> bool:
        """Neighbourhoods near the multipliers, or farther away; whether nothing is better there."""
        p = self._params
        limits = (p.far_open, p.far_pair) if self._far else (p.near_open, p.near_pair)
        board, params = self._board(*limits, seed), self._neighbourhoods
        if not params.seconds:
            return False
        return rebuild_groups(board, adapter, options, self._pool, effort, seed, self._keep, params.seconds, params)

    def _recombine(
        self, seen: SeenPairs, adapter: SolverAdapter, options: SolverOptions, effort: Effort, seed: int
    ) -> bool:
        """Neighbourhoods over the pairs that annealings have seen; whether nothing is better with these."""
        board = Board.of(self.instance, seen.cheapest(), self.incumbent, seed)
        params = self._neighbourhoods
        return rebuild_groups(
            board, adapter, options, self._pool, effort, seed, self._keep, params.seen_seconds, params
        )

    def _anneal(self, effort: Effort, seed: int) -> None:
        board = self._board(self._params.open_limit, self._params.pair_limit, seed)
        draws = Draw.of(board, self.dual, self._annealing)
        anneal_chains(board, draws, self._pool, effort, seed, self._keep, self._seen, self._annealing)

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
