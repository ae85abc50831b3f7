"""Moves of rows between groups where sizes are all that is required: single moves, annealing, construction, and what
neighbourhoods take out of a table and put back.

A move returns the change of the loss, FAILED if it fails. One that fails or is not wanted is taken back with `undo`;
one that is wanted is kept with `commit`.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.elementary import log
from kanon_milp.kernels.limits import FAILED, INFINITE
from kanon_milp.kernels.rows import Rows, best_option, close, commit, draw, place, undo, uniform
from kanon_milp.system.arrays import Floats, Ints

SCANNED = 400  # rows of a large cover that one move looks at
CLOSED = 4  # groups that one move closes at most


def pull(s: Rows, g: int, limit: float) -> int:
    """Open g, or let it grow: it takes the rows that gain by it from groups that can spare them, and while it is too
    small, all of a group that cannot, whose other rows go where they are cheapest, or the rows that lose least."""
    begin = s.covers_at[g]
    covered = s.covers_at[g + 1] - begin
    if covered == 0:
        return FAILED
    scanned = min(covered, SCANNED)
    offset = draw(s) % covered
    delta = 0
    for q in range(scanned):
        r = s.covers[begin + (offset + q) % covered]
        h = s.group[r]
        if s.cost[h] > s.cost[g] and s.size[h] > s.least[h]:
            delta += place(s, r, g)
    closed = 0
    while s.size[g] < s.least[g]:
        if closed < CLOSED and draw(s) % 4 != 0:
            h = _blocked(s, g, begin, covered, offset, scanned)
            if h >= 0:
                closed += 1
                change = close(s, h, g, limit - delta)
                if change == FAILED:
                    return FAILED
                delta += change
                continue
        delta += _fill(s, g, begin, covered, offset, scanned)
        if delta > limit:
            return FAILED
        if s.size[g] < s.least[g]:
            if closed >= CLOSED:
                return FAILED
            h = _blocked(s, g, begin, covered, offset, scanned)
            if h < 0:
                return FAILED
            closed += 1
            change = close(s, h, g, limit - delta)
            if change == FAILED:
                return FAILED
            delta += change
    return delta


def _blocked(s: Rows, g: int, begin: int, covered: int, offset: int, scanned: int) -> int:
    """A random group that cannot spare the row that g could have of it; -1 if there is none."""
    found, h = 0, -1
    for q in range(scanned):
        r = s.covers[begin + (offset + q) % covered]
        other = s.group[r]
        if other != g and s.size[other] <= s.least[other] and s.cost[other] >= s.cost[g]:
            found += 1
            if draw(s) % found == 0:
                h = other
    return h


def _fill(s: Rows, g: int, begin: int, covered: int, offset: int, scanned: int) -> int:
    """Give g the rows that lose least, from groups that can spare them, until it is large enough."""
    delta = 0
    while s.size[g] < s.least[g]:
        highest = -1
        for q in range(scanned):
            h = s.group[s.covers[begin + (offset + q) % covered]]
            if h != g and s.size[h] > s.least[h] and s.cost[h] > highest:
                highest = s.cost[h]
        if highest < 0:
            break
        for q in range(scanned):
            r = s.covers[begin + (offset + q) % covered]
            h = s.group[r]
            if h != g and s.cost[h] == highest and s.size[h] > s.least[h]:
                delta += place(s, r, g)
                if s.size[g] >= s.least[g]:
                    break
    return delta


def mend(s: Rows, g: int) -> int:
    """Give a group that is too small the rows that lose least, or close it; returns the change."""
    covered = s.covers_at[g + 1] - s.covers_at[g]
    delta = _fill(s, g, s.covers_at[g], covered, 0, covered)
    if s.size[g] >= s.least[g]:
        return delta
    change = close(s, g, -1, INFINITE)
    return FAILED if change >= FAILED else delta + change


def shift(s: Rows, r: int) -> int:
    """Move one row to a random open group; if its own is too small then, that one takes the row that loses least."""
    i, h = s.type_of[r], s.group[r]
    count = s.options_at[i + 1] - s.options_at[i]
    if count < 2:
        return FAILED
    offset = draw(s) % count
    target = -1
    for q in range(count):
        g = s.options[s.options_at[i] + (offset + q) % count]
        if g != h and s.size[g] > 0:
            target = g
            break
    if target < 0:
        return FAILED
    delta = place(s, r, target)
    if s.size[h] >= s.least[h] or s.size[h] == 0:
        return delta
    begin = s.covers_at[h]
    covered = s.covers_at[h + 1] - begin
    delta += _fill(s, h, begin, covered, draw(s) % covered, min(covered, SCANNED))
    return delta if s.size[h] >= s.least[h] else FAILED


def settle(s: Rows) -> int:
    """Move rows to their cheapest open candidate wherever their group can spare them; returns the change."""
    delta = 0
    for r in range(len(s.group)):
        h = s.group[r]
        if s.size[h] > s.least[h]:
            g = best_option(s, r, -1, -1)
            if g >= 0 and s.cost[g] < s.cost[h]:
                delta += place(s, r, g)
    return delta


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


def grow(s: Rows, busy: NDArray[np.uint8], size: int) -> Ints:
    """Groups up to this loss in total: all that have a row of some candidate, then of another one that shares a row
    with them, and so on; small candidates first. busy: (G+1,), those that stay out."""
    chosen = np.array(busy, np.uint8)
    rows, groups = np.empty(len(s.group), np.int32), np.empty(len(s.cost), np.int64)
    held, grown, loss = 0, 0, 0
    with cython.nogil:
        r = draw(s) % len(s.group)
        for _ in range(200 * len(s.group)):
            i = s.type_of[r]
            f = s.options[s.options_at[i] + draw(s) % (s.options_at[i + 1] - s.options_at[i])]
            covered = s.covers_at[f + 1] - s.covers_at[f]
            if uniform(s) * covered * covered <= 400.0:
                for q in range(s.covers_at[f], s.covers_at[f + 1]):
                    g = s.group[s.covers[q]]
                    if loss < size and chosen[g] == 0 and s.cost[g] > 0 and s.parked[g] == 0:
                        chosen[g] = 1
                        groups[grown] = g
                        grown += 1
                        loss += s.cost[g] * s.size[g]
                        member = s.first[g]
                        while member >= 0:
                            rows[held] = member
                            held += 1
                            member = s.after[member]
            if loss >= size:
                break
            r = rows[draw(s) % held] if held > 0 else draw(s) % len(s.group)
    return np.asarray(groups)[:grown]


def exchange(s: Rows, row_type: Ints, candidate: Ints, before: Ints, after: Ints) -> int:
    """Have `after` rows of these types in these candidates instead of `before`; groups that are too small then are
    filled or closed. Returns the change of the loss, FAILED where a row is no longer there or a group cannot be mended.
    """
    nowhere = len(s.cost) - 1
    delta = 0
    for q in range(len(row_type)):
        for _ in range(before[q] - after[q]):
            r = _row_of(s, candidate[q], row_type[q])
            if r < 0:
                return FAILED
            delta += place(s, r, nowhere)
    for q in range(len(row_type)):
        for _ in range(after[q] - before[q]):
            r = _row_of(s, nowhere, row_type[q])
            if r < 0:
                return FAILED
            delta += place(s, r, candidate[q])
    for q in range(len(row_type)):
        g = candidate[q]
        if s.size[g] > 0 and s.size[g] < s.least[g]:
            change = mend(s, g)
            if change >= FAILED:
                return FAILED
            delta += change
    return delta


def _row_of(s: Rows, g: int, i: int) -> int:
    """The first row of type i in g, -1 if it has none."""
    r = s.first[g]
    while r >= 0 and s.type_of[r] != i:
        r = s.after[r]
    return int(r)
