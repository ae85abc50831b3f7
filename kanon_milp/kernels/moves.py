"""The moves of local search: each returns the change of the loss, FAILED if it fails.

A move that fails or is not wanted is taken back with `undo`; one that is wanted is kept with `commit`.
"""

from __future__ import annotations

from kanon_milp.kernels.limits import FAILED, INFINITE
from kanon_milp.kernels.rows import Rows, best_option, close, draw, place

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
