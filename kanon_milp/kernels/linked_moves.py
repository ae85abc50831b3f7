"""Moves of rows that are in one group of each of several sets of columns, and annealing by them.

What a move leaves too small is filled up again or closed, until every candidate has no row or enough of them; a move
that costs more than its limit is taken back.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
import numpy as np

from kanon_milp.kernels.elementary import log
from kanon_milp.kernels.limits import FAILED
from kanon_milp.kernels.rows import Lists, commit, draw, place, undo
from kanon_milp.system.arrays import Floats, Ints, Ints32

WINDOW = 48  # options that are looked at for a candidate, of those whose part it covers
COPIES = 3  # rows of each of their types
LONGEST = 200  # rows that one move may move
PULLS, DROPS = 0.65, 0.1  # shares of the moves; the others give one row another place
SPAN = 1 << 50  # different random numbers in (0, 1]


class LinkedRows(Lists):
    """Rows r, options o, sets k and candidates g of all sets; the lists are those of r · sets + k, row r in set k.

    type_of: int32 (rows,). begins: int64 (t+1,), the rows of type i are begins[i], ... options: int64 (t+1,), the same
    for its options. option_cost: int64 (o,). option_type: int32 (o,). part: int32 (o, sets). choices: (indptr, int32),
    per part its candidates, the cheapest first. wanting: (indptr, int32), per candidate the options with a part that it
    covers. set_of: int32 (G,). cost, least, size: int64 (G,). option: int32 (rows,) and group: int32 (rows · sets,),
    where each row is; these and `size` change in place. cell: what a cell costs.

    opening: a candidate that may be taken though it has no rows, -1 for none. trial: candidates of a row in each set.
    barred: uint8 (G,), takes no row in this move. queue: candidates that may be too small or barred, so many are
    `queued`. log_option: options of rows that have moved, log_mover, so many have `moved`. seen, picks: rows that a
    candidate may take, and their options.
    """

    def __init__(
        self,
        type_of: Ints32,
        begins: Ints,
        options: Ints,
        option_cost: Ints,
        option_type: Ints32,
        part: Ints32,
        choices: tuple[Ints, Ints32],
        wanting: tuple[Ints, Ints32],
        set_of: Ints32,
        cost: Ints,
        least: Ints,
        option: Ints32,
        group: Ints32,
        size: Ints,
        cell: int,
        random: int,
    ) -> None:
        self.sets = part.shape[1]
        Lists.__init__(self, cost, least, np.zeros(len(size), np.int64), group, size, LONGEST * self.sets, random)
        self.type_of, self.begins, self.options, self.option_cost = type_of, begins, options, option_cost
        self.option_type, self.part, self.set_of, self.option, self.cell = option_type, part, set_of, option, cell
        self.choices_at, self.choices = choices
        self.wanting_at, self.wanting = wanting
        self.opening, self.moved, self.queued = -1, 0, 0
        self.trial, self.barred = np.zeros(self.sets, np.int32), np.zeros(len(size), np.uint8)
        self.queue = np.zeros(2 * LONGEST, np.int32)
        self.log_mover, self.log_option = np.zeros(LONGEST, np.int32), np.zeros(LONGEST, np.int32)
        self.seen, self.picks = np.zeros(WINDOW * COPIES, np.int32), np.zeros(WINDOW * COPIES, np.int32)


def _below(s: LinkedRows, end: int) -> int:
    """A random number from 0 to below."""
    return (draw(s) >> 9) % end


def _fraction(s: LinkedRows) -> float:
    """A random number above 0 and at most 1."""
    return (_below(s, SPAN) + 1.0) / SPAN


def _price(s: LinkedRows, r: int, o: int, g: int) -> int:
    """What it changes to give row r option o and candidate g of its set (-1: none in particular), the cheapest open
    ones in the other sets; these are in `trial`. FAILED where there are none."""
    now = s.option[r]
    change: int = s.option_cost[o] - s.option_cost[now]
    for k in range(s.sets):
        current = s.group[r * s.sets + k]
        if g >= 0 and s.set_of[g] == k:
            found = g
        else:
            part = s.part[o, k]
            stays = part == s.part[now, k] and s.barred[current] == 0
            if stays and s.size[current] <= s.least[current]:
                found = current
            else:
                found = -1
                for at in range(s.choices_at[part], s.choices_at[part + 1]):
                    c = s.choices[at]
                    if (s.size[c] > 0 or c == s.opening) and s.barred[c] == 0:
                        found = c
                        break
                if found < 0:
                    return FAILED
                if stays and s.cost[found] == s.cost[current]:
                    found = current
        s.trial[k] = found
        change += s.cost[found] - s.cost[current]
    return change


def _note(s: LinkedRows, g: int) -> bool:
    """That candidate g may be too small or barred; False where the move has become too long."""
    if s.queued == len(s.queue):
        return False
    s.queue[s.queued] = g
    s.queued += 1
    return True


def _apply(s: LinkedRows, r: int, o: int) -> bool:
    """Give row r option o and the candidates in `trial`; False where the move has become too long."""
    if s.moved == LONGEST:
        return False
    s.log_mover[s.moved], s.log_option[s.moved] = r, s.option[r]
    s.moved += 1
    s.option[r] = o
    for k in range(s.sets):
        current, into = s.group[r * s.sets + k], s.trial[k]
        if into != current:
            place(s, r * s.sets + k, into)
            if s.size[current] < s.least[current] and s.barred[current] == 0 and not _note(s, current):
                return False
            if s.size[into] == 1 and not _note(s, into):
                return False
    return True


def _take_back(s: LinkedRows) -> None:
    """Undo all that is in the log."""
    undo(s)
    while s.moved > 0:
        s.moved -= 1
        s.option[s.log_mover[s.moved]] = s.log_option[s.moved]


def _relocate(s: LinkedRows, r: int) -> int:
    """Give row r the cheapest place that is open; the change, FAILED where there is none."""
    i = s.type_of[r]
    best, option = FAILED, -1
    for o in range(s.options[i], s.options[i + 1]):
        change = _price(s, r, o, -1)
        if change < best:
            best, option = change, o
    if option < 0:
        return FAILED
    _price(s, r, option, -1)
    return best if _apply(s, r, option) else FAILED


def _close(s: LinkedRows, g: int, limit: int) -> int:
    """Move all rows of candidate g elsewhere; no row comes back in this move."""
    s.barred[g] = 1
    change = 0
    if not _note(s, g):  # to be allowed again afterwards
        return FAILED
    while s.first[g] >= 0:
        at = s.first[g]
        each = _relocate(s, at // s.sets)
        change += each
        if each >= FAILED or change > limit or s.group[at] == g:
            return FAILED
    return change


def _harm(s: LinkedRows, r: int, sparing: bool) -> int:
    """What it may cost, in eighths of a cell, that row r leaves its candidates for those in `trial`: others of one that
    is just large enough have to go, too; one that is too small already should lose all. FAILED where only rows that can
    be spared are asked for."""
    harm = 0
    for k in range(s.sets):
        current = s.group[r * s.sets + k]
        if s.trial[k] == current or s.barred[current] > 0:
            continue
        if s.size[current] < s.least[current]:
            harm -= _below(s, 8)
        elif s.size[current] == s.least[current] and s.least[current] > 1:
            if sparing:
                return FAILED
            harm += _below(s, 8 * min(s.least[current], 4))
    return harm


def _fill(s: LinkedRows, g: int, need: int, sparing: bool) -> int:
    """Move this many rows into candidate g, one after the other the cheapest of some that are looked at; the change.

    sparing: only rows that can be spared where they are.
    """
    begin, k = s.wanting_at[g], s.set_of[g]
    count, found = s.wanting_at[g + 1] - begin, 0
    start = _below(s, count)
    for step in range(min(count, WINDOW)):
        o = s.wanting[begin + (start + step) % count]
        i = s.option_type[o]
        rows = s.begins[i + 1] - s.begins[i]
        shift = _below(s, rows) if rows > COPIES else 0
        for copy in range(min(rows, COPIES)):
            s.seen[found], s.picks[found] = s.begins[i] + (shift + copy) % rows, o
            found += 1
    total = 0
    for _ in range(need):
        best, least = -1, FAILED
        for e in range(found):
            r = s.seen[e]
            if s.group[r * s.sets + k] == g:
                continue
            change = _price(s, r, s.picks[e], g)
            if change < FAILED:
                harm = _harm(s, r, sparing)
                if harm < FAILED and 8 * change + harm * s.cell < least:
                    best, least = e, 8 * change + harm * s.cell
        if best < 0:
            return FAILED
        change = _price(s, s.seen[best], s.picks[best], g)
        if change >= FAILED or not _apply(s, s.seen[best], s.picks[best]):
            return FAILED
        total += change
    return total


def _partner(s: LinkedRows, g: int) -> int:
    """A candidate of another set that rows of g could have, open or not: one at random, or the most general one."""
    o = s.wanting[s.wanting_at[g] + _below(s, s.wanting_at[g + 1] - s.wanting_at[g])]
    part = s.part[o, _below(s, s.sets)]
    begin, end = s.choices_at[part], s.choices_at[part + 1]
    found: int = s.choices[end - 1 if _below(s, 2) == 0 else begin + _below(s, end - begin)]
    return found


def _repair(s: LinkedRows, change: int, limit: int) -> int:
    """Fill up or close what has become too small; the change with that of the move before."""
    at = 0
    while at < s.queued:
        g = s.queue[at]
        at += 1
        if s.size[g] == 0 or s.size[g] >= s.least[g] or s.barred[g] > 0:
            continue
        if change > limit:
            return FAILED
        need = s.least[g] - s.size[g]
        if need <= 2 and _below(s, 2) == 0:
            moved, queued = s.moved, s.queued
            added = _fill(s, g, need, True)
            if added < FAILED:
                change += added
                continue
            if s.moved > moved or s.queued > queued:
                return FAILED
        added = _close(s, g, limit - change)
        if added >= FAILED:
            return FAILED
        change += added
    return change


def make_moves(s: LinkedRows, count: int, hot: float, cold: float, chance: Floats, alias: Ints) -> None:
    """Make so many moves while the temperature falls. chance, alias: how candidates are drawn, as of
    `kernels.moves.alias_tables`."""
    rows = len(s.option)
    with cython.nogil:
        for step in range(count):
            temperature = hot + (cold - hot) * step / count
            limit = int(-temperature * log(_fraction(s)))
            commit(s)
            s.moved = s.queued = 0
            kind = _fraction(s)
            if kind < PULLS:
                g = _below(s, len(alias))
                if _fraction(s) > chance[g]:
                    g = alias[g]
                change = _pull(s, g)
            elif kind < PULLS + DROPS:
                r = _below(s, rows)
                change = _close(s, s.group[r * s.sets + _below(s, s.sets)], limit)
            else:
                change = _shift(s, _below(s, rows))
            if change < FAILED:
                change = _repair(s, change, limit)
            if change > limit:
                _take_back(s)
            for at in range(s.queued):
                s.barred[s.queue[at]] = 0


def _pull(s: LinkedRows, g: int) -> int:
    """Open g, or let it grow by one row."""
    need, change = 1 if s.size[g] > 0 else s.least[g], FAILED
    if s.wanting_at[g] < s.wanting_at[g + 1]:
        s.opening = _partner(s, g)
        change = _fill(s, g, need, False)
        s.opening = -1
    return FAILED if s.size[g] < s.least[g] else change


def _shift(s: LinkedRows, r: int) -> int:
    """Give row r one of its options, and a candidate of one of its parts."""
    i = s.type_of[r]
    o = s.options[i] + _below(s, s.options[i + 1] - s.options[i])
    part = s.part[o, _below(s, s.sets)]
    begin = s.choices_at[part]
    g = s.choices[begin + _below(s, s.choices_at[part + 1] - begin)]
    change = _price(s, r, o, g if s.size[g] > 0 else -1)
    if change < FAILED and not _apply(s, r, o):
        return FAILED
    return change
