"""Annealing on the set of open candidates: chains side by side, in segments between which progress is kept.

How chains run, and what they have seen, is the same whatever is required; the moves here are those where sizes are all
that is, `valued_annealing` has those under requirements.
"""

from __future__ import annotations

import concurrent.futures as cf
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.state import Board, State, generator
from kanon_milp.kernels.elementary import exponentials, power
from kanon_milp.kernels.moves import alias_tables, make_moves, settle
from kanon_milp.kernels.rows import Rows, commit, total
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.parameters import number, parameters
from kanon_milp.system.worker_pool import Pool

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint


_POLL = 0.2  # seconds between two looks at the clock


@parameters("annealing")
@dataclass(frozen=True)
class AnnealingParameters:
    """Where sizes are all that is required. Tuned on Adult, all of it and its first rows, k = 2, 5, 10, 25 and 100."""

    pulls: float = number(0.8, "of the moves open a candidate or let it grow", most=1)
    drops: float = number(0.1, "of the moves close one; the others shift one row", most=1)
    hot: float = number(0.15, "cells, the temperature at the beginning where groups are pairs", least=1e-9)
    cold: float = number(0.05, "cells, the same at the end", least=1e-9)
    hotter: float = number(
        1.5, "times as hot at the beginning with larger groups and many moves, which spoil at first", least=1e-9
    )
    warmer: float = number(3.0, "times as hot at the end with these", least=1e-9)
    many: int = number(1000, "moves for each row that are many", least=1)
    small_cover: int = number(300, "rows; candidates that cover more are drawn less often", least=1)
    parts: int = number(4, "of a segment, after which the best table is looked for", least=1)
    first: int = number(50_000, "moves of the first segment, while their rate is not known", least=1)
    each: int = number(6000, "moves for each row at most: more found nothing better", least=1)
    counted: int = number(1000, "moves for each row where work is counted instead of time", least=1)
    turn_each: int = number(1000, "moves for each row between two turns of neighbourhoods, at least", least=1)
    turn_in_all: int = number(6_000_000, "moves between two turns, where that is more", least=1)
    seen_per_type: float = number(2.5, "pairs that annealing has seen for each row type, for neighbourhoods over them")
    seen_rows: int = number(300_000, "rows of a table; of larger ones no pairs are kept: tables differ too little")


DEFAULT = AnnealingParameters()
SEGMENTS = 40  # parts of an annealing, between which progress is kept


@dataclass(frozen=True)
class Schedule:
    """Temperatures at the beginning and the end, in units of the loss; in between they fall geometrically."""

    hot: float
    cold: float

    @classmethod
    def of(cls, board: Board, params: AnnealingParameters, moves: float) -> Schedule:
        """What was found best on Adult, all of it and its first rows, for k = 2, 5, 10, 25 and 100.

        From 0.15 cells down to 0.05 for k = 2; for k = 10 from 0.8 to 0.33, so hot at the end that tables still change:
        what makes the best of them is left to neighbourhoods over the pairs that it has seen. With more moves hotter,
        but for pairs, which annealing only tears apart.
        """
        kappa = max(2.0, float(np.median(board.state.least[:-1])))
        if kappa == 2:
            return cls(params.hot * board.cell, params.cold * board.cell)
        each = moves / len(board.state.group)
        more, some = power(min(max(each / 2000, 1.0), 8.0), 0.6), min(each / params.many, 1.0)
        hot = power(params.hotter, some) * params.hot * power(kappa / 2, 0.8)
        cold = power(params.warmer, some) * params.cold * math.sqrt(kappa / 2)
        return cls(hot * more * board.cell, cold * math.sqrt(more) * board.cell)

    def at(self, done: float) -> float:
        """Temperature when this share of the work is done."""
        return self.hot * power(self.cold / self.hot, min(done, 1.0))


@dataclass(frozen=True, eq=False)
class Draw:
    """How candidates are drawn: g with weight exp(-φ_g) · min(1, 300 / |C(g)|), by the alias method (Walker 1977).

    chance: float64 (G,), alias: int64 (G,).
    """

    chance: Floats
    alias: Ints

    @classmethod
    def of(cls, board: Board, dual: DualPoint, params: AnnealingParameters = DEFAULT) -> Draw:
        """Weights of the candidates of a board."""
        return cls.by_phi(board, dual.phi, params.small_cover)

    @classmethod
    def by_phi(cls, board: Board, phi: Floats, small_cover: int = DEFAULT.small_cover) -> Draw:
        """The same. phi: float64 (candidates of the instance,)."""
        phi = np.maximum(phi[board.candidate], 0) / board.cell
        cover = board.state.covers.lengths[: len(phi)]
        weight = exponentials(-phi) * np.minimum(1.0, small_cover / np.maximum(cover, 1))
        chance, alias = alias_tables(weight if weight.any() else np.ones(len(weight)))
        return cls(chance, alias)


@dataclass(frozen=True, eq=False)
class Chain:
    """Where an annealing stands. group: int32 (rows,), random: as in `State`; best: the cheapest group seen, loss: what
    it costs. made: moves so far, rate: moves a second."""

    group: Ints32
    random: int
    best: Ints32
    loss: int
    made: int = 0
    rate: float = 0.0

    @classmethod
    def of(cls, board: Board, seed: int) -> Chain:
        """The table on the board."""
        group = board.state.group
        return cls(group.copy(), generator(seed), group.copy(), total(board.rows))


def anneal(
    state: State, draws: Draw, params: AnnealingParameters, chain: Chain, hot: float, cold: float, moves: int
) -> Chain:
    """Go on with a chain for so many moves, while the temperature falls from `hot` to `cold`.

    Nothing that is handed in is changed, so it may run in any process. The cheapest table is looked for after each of
    a few parts.
    """
    s = state.own(chain.group, chain.random)
    rows = Rows(*s)
    began = time.perf_counter()
    best, loss = chain.best, chain.loss
    for part in range(params.parts):
        begin, end = part * moves // params.parts, (part + 1) * moves // params.parts
        first, last = (hot * power(cold / hot, made / moves) for made in (begin, end))
        make_moves(rows, end - begin, first, last, params.pulls, params.drops, draws.chance, draws.alias)
        if total(rows) < loss:
            best, loss = s.group.copy(), total(rows)
    rate = moves / max(time.perf_counter() - began, 1e-6)
    return Chain(s.group, rows.random, best, loss, chain.made + moves, rate)


@dataclass(frozen=True)
class Moves:
    """How many moves an annealing has. first: in its first segment, while their rate is not known. each: for each row,
    at most; counted: the same where work is counted instead of time."""

    first: int = DEFAULT.first
    each: int = DEFAULT.each
    counted: int = DEFAULT.counted


def anneal_chains(
    board: Board,
    draws: Draw,
    pool: Pool,
    effort: Effort,
    seed: int,
    on_better: Callable[[Board], None],
    seen: SeenPairs | None = None,
    params: AnnealingParameters = DEFAULT,
) -> None:
    """As many annealings from the table on the board as there are workers, each with a seed of its own; the cheapest
    table that any of them meets is put on the board, and `on_better` is called. The pairs of the tables between
    segments are added to `seen`.

    If it is asked to stop, or a worker is lost, what the segments before have found is kept.
    """

    def better(chain: Chain) -> None:
        board.restore(chain.best)
        settle(board.rows)
        commit(board.rows)
        on_better(board)

    chains = [Chain.of(board, seed + each) for each in range(max(1, pool.workers))]
    look = None if seen is None else partial(_look, seen, board)
    run = partial(anneal, board.state, draws, params)
    turn = max(params.turn_each, params.turn_in_all // max(len(chains[0].group), 1))
    moves = Moves(params.first, min(turn, params.each), params.counted)
    run_chains(chains, run, partial(Schedule.of, board, params), pool, effort, better, moves, look)


def _look(seen: SeenPairs, board: Board, chains: list[Chain]) -> None:
    for chain in chains:
        seen.add(board, chain.group)


def run_chains(
    chains: list[Chain],
    run: Callable[[Chain, float, float, int], Chain],
    schedule_of: Callable[[float], Schedule],
    pool: Pool,
    effort: Effort,
    on_better: Callable[[Chain], None],
    moves: Moves,
    on_segment: Callable[[list[Chain]], None] | None = None,
) -> None:
    """Go on with all chains, segment by segment, and say which one has found a cheaper table.

    run: goes on with a chain between two temperatures, for so many moves; picklable. schedule_of: temperatures for so
    many moves. on_segment: called after each segment.
    """
    clock, sent = _Pace(len(chains[0].group), effort, moves), pool.shared(run)
    shown = chains[0].loss
    while clock.done < 1 and not effort.ended(shown):
        schedule = schedule_of(clock.expected)
        heat = schedule.at(clock.done), schedule.at(clock.ahead), clock.moves
        tasks = [pool.submit(_go_on, sent, chain, *heat) for chain in chains]
        for at, task in enumerate(tasks):
            if not _finished(task, effort, clock.done > 0):
                return
            chains[at] = run(chains[at], *heat) if pool.lost(task) else task.result()
        best = min(chains, key=lambda chain: chain.loss)
        if best.loss < shown:
            shown = best.loss
            on_better(best)
        if on_segment is not None:
            on_segment(chains)
        clock.step(chains[0])


def _go_on(
    run: Callable[[Chain, float, float, int], Chain], chain: Chain, hot: float, cold: float, moves: int
) -> Chain:
    return run(chain, hot, cold, moves)


class _Pace:
    """How far an annealing is, and how many moves the next segment has."""

    def __init__(self, rows: int, effort: Effort, moves: Moves) -> None:
        self._most = rows * (moves.counted if effort.counted else moves.each)
        self._timed = not effort.counted and not math.isinf(effort.ends)
        self._began, self._seconds = time.perf_counter(), effort.left
        self.done = 0.0
        # while the rate is not known, few moves are expected: too hot a beginning spoils a good first table
        self.expected = float(min(self._most, rows)) if self._timed else float(self._most)
        self.moves = min(moves.first, self._most) if self._timed else -(-self._most // SEGMENTS)

    @property
    def ahead(self) -> float:
        """Share of the work that is done after the next segment."""
        return min(self.done + self.moves / max(self.expected, SEGMENTS * self.moves), 1.0)

    def step(self, chain: Chain) -> None:
        """A segment is done."""
        self.done = chain.made / self._most
        if self._timed:
            self.done = max(self.done, (time.perf_counter() - self._began) / max(self._seconds, 1e-6))
            self.expected = max(1.0, min(float(self._most), chain.rate * self._seconds))
            self.moves = max(1000, int(self.expected) // SEGMENTS)


def _finished(task: cf.Future[Chain], effort: Effort, running: bool) -> bool:
    """Wait for a segment; False if it is time to stop before it is done.

    running: workers have done a segment before, so the last one, the coldest, is soon done and worth waiting for.
    """
    while not task.done():
        cf.wait([task], timeout=_POLL)
        if (effort.asked or (effort.left == 0 and not running)) and not task.done():
            return False
    return True


class SeenPairs:
    """What an annealing has seen: the pairs of the tables on its way, each with the loss of the cheapest one.

    Each of these tables is good somewhere. A model over the pairs of all of them has two to three for each row type, so
    that a large part of the table is one neighbourhood which the solver solves to the end (optimal recombination,
    Aggarwal, Orlin, Tai 1997; in vehicle routing, set partitioning over the routes that a local search has met).
    """

    def __init__(self, instance: Instance, per_type: float = DEFAULT.seen_per_type) -> None:
        self._instance, self._per_type = instance, per_type
        # row type times candidates + candidate, rising
        self._keys, self._loss = np.empty(0, np.int64), np.empty(0, np.int64)

    @classmethod
    def of(cls, instance: Instance, params: AnnealingParameters = DEFAULT) -> SeenPairs | None:
        """None for a table of too many rows."""
        return cls(instance, params.seen_per_type) if instance.types.n <= params.seen_rows else None

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
        most = int(self._per_type * self._instance.types.count) if most is None else most
        found, keys = np.zeros(self._instance.candidates.pairs, np.bool_), self._keys
        if len(keys) > most:
            beyond = np.partition(self._loss, most)[most]
            keys = keys[(self._loss < beyond) | (self._loss == self._loss.min())]
        width = self._instance.candidates.count
        found[pairs_at(self._instance, keys // width, keys % width)] = True
        return found
