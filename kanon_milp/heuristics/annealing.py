"""Annealing on the set of open candidates."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.moves import commit, pull, shift
from kanon_milp.heuristics.state import FAILED, Board, State, close, draw, mutable_copy, total, undo, uniform
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.jit import compiled, compiled_in_place

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint


PULLS, DROPS = 0.8, 0.1  # shares of the moves; the others shift one row
HOT, COLD = 0.15, 0.05  # temperatures for pairs, in cells
# times these, at the beginning and at the end, for larger groups, where there are so many moves for each row: fewer do
# not make up for what they spoil at first
HOTTER, WARMER, MANY = 1.5, 3.0, 1000
SMALL_COVER = 300  # rows; candidates that cover more are drawn less often
PARTS = 4  # of a call of `anneal`, after which the best table is looked for


@dataclass(frozen=True)
class Schedule:
    """Temperatures at the beginning and the end, in units of the loss; in between they fall geometrically."""

    hot: float
    cold: float

    @classmethod
    def of(cls, board: Board, moves: float) -> Schedule:
        """What was found best on Adult, all of it and its first rows, for k = 2, 5, 10, 25 and 100.

        From 0.15 cells down to 0.05 for k = 2; for k = 10 from 0.8 to 0.33, so hot at the end that tables still change:
        what makes the best of them is left to neighbourhoods over the pairs that it has seen. With more moves hotter,
        but for pairs, which annealing only tears apart.
        """
        kappa = max(2.0, float(np.median(board.state.least[:-1])))
        if kappa == 2:
            return cls(HOT * board.cell, COLD * board.cell)
        each = moves / len(board.state.group)
        more, some = min(max(each / 2000, 1.0), 8.0) ** 0.6, min(each / MANY, 1.0)
        hot, cold = HOTTER**some * HOT * (kappa / 2) ** 0.8, WARMER**some * COLD * (kappa / 2) ** 0.5
        return cls(hot * more * board.cell, cold * more**0.5 * board.cell)

    def at(self, done: float) -> float:
        """Temperature when this share of the work is done."""
        return self.hot * float((self.cold / self.hot) ** min(done, 1.0))


@dataclass(frozen=True, eq=False)
class Draw:
    """How candidates are drawn: g with weight exp(-φ_g) · min(1, 300 / |C(g)|), by the alias method (Walker 1977).

    chance: float64 (G,), alias: int64 (G,).
    """

    chance: Floats
    alias: Ints

    @classmethod
    def of(cls, board: Board, dual: DualPoint) -> Draw:
        """Weights of the candidates of a board."""
        return cls.by_phi(board, dual.phi)

    @classmethod
    def by_phi(cls, board: Board, phi: Floats) -> Draw:
        """The same. phi: float64 (candidates of the instance,)."""
        phi = np.maximum(phi[board.candidate], 0) / board.cell
        cover = board.state.covers.lengths[: len(phi)]
        weight = np.exp(-phi) * np.minimum(1.0, SMALL_COVER / np.maximum(cover, 1))
        chance, alias = alias_tables(weight if weight.any() else np.ones(len(weight)))
        return cls(chance, alias)


@dataclass(frozen=True, eq=False)
class Chain:
    """Where an annealing stands. group: int32 (rows,), random: uint64 (1,), as in `State`; best: the cheapest group
    seen, loss: what it costs. made: moves so far, rate: moves a second."""

    group: Ints32
    random: NDArray[np.uint64]
    best: Ints32
    loss: int
    made: int = 0
    rate: float = 0.0

    @classmethod
    def of(cls, board: Board, seed: int) -> Chain:
        """The table on the board."""
        random = np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64) | np.uint64(1)
        return cls(board.state.group.copy(), random, board.state.group.copy(), total(board.state))


def anneal(state: State, draws: Draw, chain: Chain, hot: float, cold: float, moves: int) -> Chain:
    """Go on with a chain for so many moves, while the temperature falls from `hot` to `cold`.

    Nothing that is handed in is changed, so it may run in any process. The cheapest table is looked for after each of
    a few parts.
    """
    s = mutable_copy(state, chain.group, chain.random)
    began = time.perf_counter()
    best, loss = chain.best, chain.loss
    for part in range(PARTS):
        begin, end = part * moves // PARTS, (part + 1) * moves // PARTS
        first, last = (hot * (cold / hot) ** (made / moves) for made in (begin, end))
        _moves(s, end - begin, first, last, draws.chance, draws.alias)
        if total(s) < loss:
            best, loss = s.group.copy(), total(s)
    rate = moves / max(time.perf_counter() - began, 1e-6)
    return Chain(s.group, s.random, best, loss, chain.made + moves, rate)


@compiled_in_place
def _moves(s: State, count: int, hot: float, cold: float, chance: Floats, alias: Ints) -> None:
    """Make so many moves while the temperature falls; a move that costs more than -T·log(u) is taken back."""
    rows = len(s.group)
    for step in range(count):
        temperature = hot + (cold - hot) * step / count
        limit = -temperature * math.log(uniform(s))
        kind = uniform(s)
        if kind < PULLS:
            g = draw(s) % len(alias)
            if uniform(s) > chance[g]:
                g = alias[g]
            change = pull(s, g, limit)
        elif kind < PULLS + DROPS:
            change = close(s, s.group[draw(s) % rows], -1, limit)
        else:
            change = shift(s, draw(s) % rows)
        if change < FAILED and change <= limit:
            commit(s)
        else:
            undo(s)


@compiled
def alias_tables(weight: Floats) -> tuple[Floats, Ints]:
    """The tables of the alias method."""
    n = len(weight)
    p = weight * (n / weight.sum())
    chance, alias = np.ones(n), np.arange(n)
    small, large = np.empty(n, np.int64), np.empty(n, np.int64)
    smalls, larges = 0, 0
    for j in range(n):
        if p[j] < 1:
            small[smalls] = j
            smalls += 1
        else:
            large[larges] = j
            larges += 1
    while smalls > 0 and larges > 0:
        a, b = small[smalls - 1], large[larges - 1]
        smalls -= 1
        chance[a], alias[a] = p[a], b
        p[b] -= 1 - p[a]
        if p[b] < 1:
            larges -= 1
            small[smalls] = b
            smalls += 1
    return chance, alias
