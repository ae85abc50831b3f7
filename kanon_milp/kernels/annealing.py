"""The moves of an annealing, and the tables by which their candidates are drawn."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
import numpy as np

from kanon_milp.kernels.elementary import log
from kanon_milp.kernels.limits import FAILED
from kanon_milp.kernels.moves import pull, shift
from kanon_milp.kernels.rows import Rows, close, commit, draw, undo, uniform
from kanon_milp.system.arrays import Floats, Ints


def make_moves(
    s: Rows, count: int, hot: float, cold: float, pulls: float, drops: float, chance: Floats, alias: Ints
) -> None:
    """Make so many moves while the temperature falls; a move that costs more than -T·log(u) is taken back.

    pulls, drops: shares of the moves that open a candidate or let it grow, and that close one; the others shift a row.
    chance, alias: as of `alias_tables`.
    """
    rows = len(s.group)
    with cython.nogil:
        for step in range(count):
            temperature = hot + (cold - hot) * step / count
            limit = -temperature * log(uniform(s))
            kind = uniform(s)
            if kind < pulls:
                g = draw(s) % len(alias)
                if uniform(s) > chance[g]:
                    g = alias[g]
                change = pull(s, g, limit)
            elif kind < pulls + drops:
                change = close(s, s.group[draw(s) % rows], -1, limit)
            else:
                change = shift(s, draw(s) % rows)
            if change < FAILED and change <= limit:
                commit(s)
            else:
                undo(s)


def alias_tables(weight: Floats) -> tuple[Floats, Ints]:
    """How to draw j with this weight (Walker 1977): j at random, with `chance` itself, else `alias`.

    weight: float64 (n,), not all 0. chance: float64 (n,), alias: int64 (n,).
    """
    n = len(weight)
    chance, alias = np.ones(n), np.arange(n, dtype=np.int64)
    p, small, large = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    whole, smalls, larges = 0.0, 0, 0
    with cython.nogil:
        for j in range(n):
            whole += weight[j]
        for j in range(n):
            p[j] = weight[j] * (n / whole)
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
    return np.asarray(chance), np.asarray(alias)
