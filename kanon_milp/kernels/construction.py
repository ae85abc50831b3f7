"""A first table: candidates that are opened in some order, and rows that are put where they are cheapest."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
import numpy as np

from kanon_milp.kernels.limits import FAILED, INFINITE
from kanon_milp.kernels.moves import pull, settle
from kanon_milp.kernels.rows import Rows, best_option, close, commit, place, undo
from kanon_milp.system.arrays import Floats, Ints


def open_by_price(s: Rows, order: Ints, price: Floats, slack: float) -> None:
    """Open candidates in this order wherever enough rows without a group pay for it, up to some slack.

    price: float64 (row types,), what a row pays.
    """
    reduced, rows = np.empty(len(s.group)), np.empty(len(s.group), np.int64)
    nowhere = len(s.cost) - 1
    with cython.nogil:
        for a in range(len(order)):
            g = order[a]
            if s.size[g] > 0:
                continue
            found, least = 0, max(s.least[g], 1)
            for q in range(s.covers_at[g], s.covers_at[g + 1]):
                r = s.covers[q]
                left = s.cost[g] - price[s.type_of[r]]
                if s.group[r] == nowhere and left <= slack:
                    found += 1
                    if found <= least or left < reduced[least - 1]:
                        # the cheapest stand first; beyond κ the last one falls out
                        e = min(found, least) - 1
                        while e > 0 and reduced[e - 1] > left:
                            reduced[e], rows[e] = reduced[e - 1], rows[e - 1]
                            e -= 1
                        reduced[e], rows[e] = left, r
            if found >= least:
                for e in range(least):
                    place(s, rows[e], g)
                commit(s)


def complete(s: Rows) -> int:
    """Place all rows that are nowhere: at their cheapest open candidate, else in one that is opened for them.

    Returns how many are left.
    """
    nowhere = len(s.cost) - 1
    with cython.nogil:
        commit(s)
        for r in range(len(s.group)):
            if s.group[r] == nowhere:
                g = best_option(s, r, -1, -1)
                if g >= 0:
                    place(s, r, g)
                    commit(s)
                else:
                    _open_for(s, r)
    left: int = s.size[nowhere]
    return left


def _open_for(s: Rows, r: int) -> None:
    """Open the candidate of row r that changes the loss least, with rows of other groups, if there is one."""
    i = s.type_of[r]
    best, chosen = FAILED, -1
    memory = s.random
    for q in range(s.options_at[i], s.options_at[i + 1]):
        s.random = memory
        g = s.options[q]
        change = place(s, r, g)
        pulled = pull(s, g, INFINITE)
        undo(s)
        if pulled < FAILED and change + pulled < best:
            best, chosen = change + pulled, g
    if chosen >= 0:
        s.random = memory
        place(s, r, chosen)
        pull(s, chosen, INFINITE)
        commit(s)


def descend(s: Rows, order: Ints) -> None:
    """Open candidates in this order, and close those that are open, wherever that lowers the loss."""
    with cython.nogil:
        settle(s)
        commit(s)
        for a in range(len(order)):
            g = order[a]
            change = pull(s, g, 0.0) if s.size[g] == 0 else close(s, g, -1, 0.0)
            if change < 0:
                commit(s)
            else:
                undo(s)
