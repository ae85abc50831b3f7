"""The moves of local search on a state: each returns the change of the loss, FAILED if it fails.

A move that fails or is not wanted is taken back with `undo`; one that is wanted is kept with `commit`.
"""

from __future__ import annotations

import numpy as np

from kanon_milp.heuristics.state import FAILED, State, best_option, close, draw, place, undo
from kanon_milp.system.jit import compiled_in_place, compiled_part_in_place

_SCANNED = 400  # rows of a large cover that one move looks at
_CLOSED = 4  # groups that one move closes at most


@compiled_in_place
def commit(s: State) -> None:
    """Forget the log."""
    s.logged[0] = 0


@compiled_part_in_place
def pull(s: State, g: int, limit: float) -> int:
    """Open g, or let it grow: it takes the rows that gain by it from groups that can spare them, and while it is too
    small, all of a group that cannot, whose other rows go where they are cheapest, or the rows that lose least."""
    begin = s.covers.indptr[g]
    covered = s.covers.indptr[g + 1] - begin
    if covered == 0:
        return FAILED
    scanned = min(covered, _SCANNED)
    offset = draw(s) % covered
    delta = 0
    for q in range(scanned):
        r = s.covers.values[begin + (offset + q) % covered]
        h = s.group[r]
        if s.cost[h] > s.cost[g] and s.size[h] > s.least[h]:
            delta += place(s, r, g)
    closed = 0
    while s.size[g] < s.least[g]:
        if closed < _CLOSED and draw(s) % 4 != 0:
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
            if closed >= _CLOSED:
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


@compiled_part_in_place
def _blocked(s: State, g: int, begin: int, covered: int, offset: int, scanned: int) -> int:
    """A random group that cannot spare the row that g could have of it; -1 if there is none."""
    found, h = 0, -1
    for q in range(scanned):
        r = s.covers.values[begin + (offset + q) % covered]
        other = s.group[r]
        if other != g and s.size[other] <= s.least[other] and s.cost[other] >= s.cost[g]:
            found += 1
            if draw(s) % found == 0:
                h = other
    return h


@compiled_part_in_place
def _fill(s: State, g: int, begin: int, covered: int, offset: int, scanned: int) -> int:
    """Give g the rows that lose least, from groups that can spare them, until it is large enough."""
    delta = 0
    while s.size[g] < s.least[g]:
        highest = -1
        for q in range(scanned):
            h = s.group[s.covers.values[begin + (offset + q) % covered]]
            if h != g and s.size[h] > s.least[h] and s.cost[h] > highest:
                highest = s.cost[h]
        if highest < 0:
            break
        for q in range(scanned):
            r = s.covers.values[begin + (offset + q) % covered]
            h = s.group[r]
            if h != g and s.cost[h] == highest and s.size[h] > s.least[h]:
                delta += place(s, r, g)
                if s.size[g] >= s.least[g]:
                    break
    return delta


@compiled_part_in_place
def mend(s: State, g: int) -> int:
    """Give a group that is too small the rows that lose least, or close it; returns the change."""
    covered = s.covers.indptr[g + 1] - s.covers.indptr[g]
    delta = _fill(s, g, s.covers.indptr[g], covered, 0, covered)
    if s.size[g] >= s.least[g]:
        return delta
    change = close(s, g, -1, np.inf)
    return FAILED if change >= FAILED else delta + change


@compiled_part_in_place
def shift(s: State, r: int) -> int:
    """Move one row to a random open group; if its own is too small then, that one takes the row that loses least."""
    i, h = s.type_of[r], s.group[r]
    count = s.options.indptr[i + 1] - s.options.indptr[i]
    if count < 2:
        return FAILED
    offset = draw(s) % count
    target = -1
    for q in range(count):
        g = s.options.values[s.options.indptr[i] + (offset + q) % count]
        if g != h and s.size[g] > 0:
            target = g
            break
    if target < 0:
        return FAILED
    delta = place(s, r, target)
    if s.size[h] >= s.least[h] or s.size[h] == 0:
        return delta
    begin = s.covers.indptr[h]
    covered = s.covers.indptr[h + 1] - begin
    delta += _fill(s, h, begin, covered, draw(s) % covered, min(covered, _SCANNED))
    return delta if s.size[h] >= s.least[h] else FAILED


@compiled_in_place
def settle(s: State) -> int:
    """Move rows to their cheapest open candidate wherever their group can spare them; returns the change."""
    delta = 0
    for r in range(len(s.group)):
        h = s.group[r]
        if s.size[h] > s.least[h]:
            g = best_option(s, r, -1, -1)
            if g >= 0 and s.cost[g] < s.cost[h]:
                delta += place(s, r, g)
    return delta


@compiled_in_place
def complete(s: State) -> int:
    """Place all rows that are nowhere: at their cheapest open candidate, else in one that is opened for them.

    Returns how many are left.
    """
    commit(s)
    nowhere = len(s.cost) - 1
    for r in range(len(s.group)):
        if s.group[r] == nowhere:
            g = best_option(s, r, -1, -1)
            if g >= 0:
                place(s, r, g)
                commit(s)
            else:
                _open_for(s, r)
    return int(s.size[-1])


@compiled_part_in_place
def _open_for(s: State, r: int) -> bool:
    """Open the candidate of row r that changes the loss least, with rows of other groups."""
    i = s.type_of[r]
    best, chosen = FAILED, -1
    memory = s.random[0]
    for q in range(s.options.indptr[i], s.options.indptr[i + 1]):
        s.random[0] = memory
        g = s.options.values[q]
        change = place(s, r, g)
        pulled = pull(s, g, np.inf)
        undo(s)
        if pulled < FAILED and change + pulled < best:
            best, chosen = change + pulled, g
    if chosen < 0:
        return False
    s.random[0] = memory
    place(s, r, chosen)
    pull(s, chosen, np.inf)
    commit(s)
    return True
