"""Annealing of tables in which several sets of quasi-identifiers are k-anonymous.

Each row has an option, and in each set a candidate of the part that comes with it (`presolve.linked_sets`). A move
opens a candidate, closes one, or gives one row another option. What it leaves too small is filled up again or closed,
until every candidate has no row or enough of them; a move that costs more than its limit is taken back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.annealing import alias_tables
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.worker_pool import Effort
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.linked_sets import LinkedSets
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.jit import compiled_in_place, compiled_part_in_place
from kanon_milp.system.parameters import number, parameters

FAILED = 1 << 60  # instead of a change of the loss
WINDOW = 48  # options that are looked at for a candidate, of those whose part it covers
COPIES = 3  # rows of each of their types
LONGEST = 200  # rows that one move may move
PULLS, DROPS = 0.65, 0.1  # shares of the moves; the others give one row another place
CHUNK = 20_000  # moves between two looks at the clock


@parameters("linked_annealing")
@dataclass(frozen=True)
class LinkedAnnealingParameters:
    """Annealing of several sets of quasi-identifiers. Tuned on Adult with two and three sets."""

    hot: float = number(1.0, "cells, the temperature at the beginning")
    cold: float = number(0.15, "cells, the temperature at the end", least=1e-9)
    moves: int = number(1_000, "moves for each row in an annealing", least=1)
    first_moves: int = number(40, "the same in the descent before the first one", least=1)
    patience: int = number(3, "annealings that find nothing, until it ends", least=1)
    parts: int = number(10, "of an annealing, after which the best table is looked for", least=1)
    small_cover: int = number(300, "rows; candidates that cover more are drawn less often", least=1)


DEFAULT = LinkedAnnealingParameters()


def anneal_sets(
    linked: LinkedSets,
    start: Assignment,
    phi: Floats,
    effort: Effort,
    seed: int,
    params: LinkedAnnealingParameters = DEFAULT,
) -> Assignment:
    """The best table after a descent and annealings, each from the best one so far; the start where there is no better
    one.

    start: valid. phi: float64 (G,), φ of the bound, by which candidates are drawn. effort: when it ends; its number of
    neighbourhoods is one of annealings, without which some that find nothing end it, too.
    """
    cell = cell_cost(linked.instance)
    chance, alias = draw_by(linked, phi, cell, params.small_cover)
    state = linked_state(linked, start, cell, seed)
    if state is None:
        return start
    rows = len(state.option)
    best, loss = (state.option.copy(), state.group.copy()), start.cost
    turn, fruitless = 0, 0
    while not effort.over and fruitless < params.patience and turn != effort.neighbourhoods:
        before = loss
        moves = (params.first_moves if turn == 0 else params.moves) * rows
        hot, cold = (params.cold / 10, params.cold / 10) if turn == 0 else (params.hot, params.cold)
        for part in range(params.parts):
            first, last = (cell * hot * (cold / hot) ** (at / params.parts) for at in (part, part + 1))
            for _ in range(max(moves // params.parts // CHUNK, 1)):
                if not effort.over:
                    make_moves(state, min(moves // params.parts + 1, CHUNK), first, last, chance, alias)
            if loss_of(state) < loss:
                best, loss = (state.option.copy(), state.group.copy()), loss_of(state)
        turn, fruitless = turn + 1, 0 if loss < before else fruitless + 1
        state.option[:], state.group[:] = best
        relink(state)
    found = table_of(linked, state)
    return start if found is None or found.cost > start.cost else found


def linked_state(linked: LinkedSets, table: Assignment, cell: float, seed: int) -> LinkedState | None:
    """The rows where a table has them; None where it has rows in classes that are too small."""
    option, group = linked.places(table)
    if (option < 0).any() or (group < 0).any():
        return None
    parts, types = linked.parts, linked.instance.types
    candidates, rows = parts.candidates, types.n
    of_pair = candidates.candidate_of_pair()
    order = np.lexsort((of_pair, candidates.cost[of_pair], candidates.members))
    choices = Ragged(indptr_of(np.bincount(candidates.members, minlength=parts.types.count)), of_pair[order])
    with_part, _ = Ragged(
        np.arange(0, linked.option_parts.size + 1, linked.sets), linked.option_parts.reshape(-1)
    ).transposed(parts.types.count)
    lengths = with_part.lengths[candidates.members]
    begins = np.repeat(with_part.indptr[:-1][candidates.members], lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    wanting = with_part.values[begins + within].astype(np.int32)
    of_wanting = np.repeat(of_pair, lengths)
    random = np.random.default_rng(seed)
    shuffled = np.lexsort((random.random(len(wanting)), of_wanting))
    state = LinkedState(
        type_of=np.repeat(np.arange(types.count, dtype=np.int32), types.counts),
        begins=indptr_of(types.counts),
        options=linked.options.indptr,
        option_cost=linked.option_cost,
        option_type=linked.option_type.astype(np.int32),
        part=linked.option_parts,
        choices=choices,
        wanting=Ragged(indptr_of(np.bincount(of_wanting, minlength=candidates.count)), wanting[shuffled]),
        set_of=linked.set_of,
        cost=candidates.cost,
        least=parts.sizes,
        option=np.repeat(option, table.rows).astype(np.int32),
        group=np.ascontiguousarray(np.repeat(group, table.rows, axis=0).astype(np.int32)),
        size=np.zeros(candidates.count, dtype=np.int64),
        first=np.full(candidates.count, -1, dtype=np.int32),
        after=np.full((rows, linked.sets), -1, dtype=np.int32),
        before=np.full((rows, linked.sets), -1, dtype=np.int32),
        barred=np.zeros(candidates.count, dtype=np.uint8),
        trial=np.zeros(linked.sets, dtype=np.int32),
        log_row=np.zeros(LONGEST, dtype=np.int32),
        log_option=np.zeros(LONGEST, dtype=np.int32),
        log_group=np.zeros((LONGEST, linked.sets), dtype=np.int32),
        queue=np.zeros(2 * LONGEST, dtype=np.int32),
        numbers=np.array([0, 0, -1], dtype=np.int64),
        rows=np.zeros(WINDOW * COPIES, dtype=np.int64),
        picks=np.zeros(WINDOW * COPIES, dtype=np.int64),
        cell=np.array([max(1, round(cell))], dtype=np.int64),
        random=random.integers(1, 1 << 62, size=1, dtype=np.uint64),
    )
    relink(state)
    return state if ((state.size == 0) | (state.size >= state.least)).all() else None


def relink(state: LinkedState) -> None:
    """Make lists and sizes anew from `group`."""
    state.size[:] = np.bincount(state.group.reshape(-1), minlength=len(state.size))
    state.first[:] = -1
    for k in range(state.group.shape[1]):
        order = np.argsort(state.group[:, k], kind="stable").astype(np.int32)
        group = state.group[order, k]
        same = group[1:] == group[:-1]
        state.after[:, k] = state.before[:, k] = -1
        state.after[order[:-1][same], k] = order[1:][same]
        state.before[order[1:][same], k] = order[:-1][same]
        begins = np.concatenate([[True], ~same])
        state.first[group[begins]] = order[begins]


def loss_of(state: LinkedState) -> int:
    """What the rows lose where they are, in units."""
    return int(state.option_cost[state.option].sum() + state.cost[state.group].sum())


def table_of(linked: LinkedSets, state: LinkedState) -> Assignment | None:
    """The table where the rows are now."""
    places = np.column_stack([state.option, state.group]).astype(np.int64)
    distinct, rows = np.unique(places, axis=0, return_counts=True)
    return linked.table(distinct[:, 0], distinct[:, 1:], rows.astype(np.int64))


def draw_by(linked: LinkedSets, phi: Floats, cell: float, small_cover: int) -> tuple[Floats, Ints]:
    """Tables of the alias method: g with weight exp(-φ_g) · min(1, 300 / N_g)."""
    small = np.minimum(1.0, small_cover / linked.parts.candidates.support)
    weight = np.exp(-np.maximum(phi, 0) / cell) * small
    return alias_tables(weight)


class LinkedState(NamedTuple):
    """Rows r, options o, sets s and candidates g of all sets.

    Fixed: type_of: int32 (rows,). begins: int64 (t+1,), the rows of type i are begins[i], ... options: int64 (t+1,),
    the same for its options. option_cost: int64 (o,). option_type: int32 (o,). part: int32 (o, sets).
    choices: per part its candidates, the cheapest first. wanting: per candidate the options with a part that it
    covers. set_of: int32 (G,). cost, least: int64 (G,).
    Changing: option: int32 (rows,). group: int32 (rows, sets). size: int64 (G,). first: int32 (G,), after, before:
    int32 (rows, sets), the rows of each candidate as a list, -1 at its ends. barred: uint8 (G,), takes no row in this
    move. trial: int32 (sets,). log_row, log_option: int32, log_group: int32 (., sets), rows that have moved and where
    they were. queue: int32, candidates that may be too small. numbers: int64 (3,), lengths of log and queue, and a
    candidate that may be taken though it has no rows, -1 for none. rows, picks: scratch space for rows that a
    candidate may take, and their options. cell: int64 (1,), what a cell costs. random: uint64 (1,).
    """

    type_of: Ints32
    begins: Ints
    options: Ints
    option_cost: Ints
    option_type: Ints32
    part: Ints32
    choices: Ragged[np.int32]
    wanting: Ragged[np.int32]
    set_of: Ints32
    cost: Ints
    least: Ints
    option: Ints32
    group: Ints32
    size: Ints
    first: Ints32
    after: Ints32
    before: Ints32
    barred: NDArray[np.uint8]
    trial: Ints32
    log_row: Ints32
    log_option: Ints32
    log_group: Ints32
    queue: Ints32
    numbers: Ints
    rows: Ints
    picks: Ints
    cell: Ints
    random: NDArray[np.uint64]


@compiled_part_in_place
def _draw(s: LinkedState, below: int) -> int:
    """A number from 0 to below."""
    x = s.random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    s.random[0] = x
    return int((x * np.uint64(2685821657736338717)) >> np.uint64(11)) % below


@compiled_part_in_place
def _uniform(s: LinkedState) -> float:
    """A number above 0 and at most 1."""
    return (_draw(s, 1 << 50) + 1) / (1 << 50)


@compiled_part_in_place
def _link(s: LinkedState, r: int, k: int, g: int) -> None:
    """Put row r into candidate g of set k."""
    s.group[r, k] = g
    head = s.first[g]
    s.after[r, k], s.before[r, k] = head, -1
    if head >= 0:
        s.before[head, k] = r
    s.first[g] = r
    s.size[g] += 1


@compiled_part_in_place
def _unlink(s: LinkedState, r: int, k: int) -> None:
    """Take row r out of its candidate of set k."""
    g = s.group[r, k]
    after, before = s.after[r, k], s.before[r, k]
    if before >= 0:
        s.after[before, k] = after
    else:
        s.first[g] = after
    if after >= 0:
        s.before[after, k] = before
    s.size[g] -= 1


@compiled_part_in_place
def _price(s: LinkedState, r: int, o: int, g: int) -> int:
    """What it changes to give row r option o and candidate g of its set (-1: none in particular), the cheapest open
    ones in the other sets; these are in `trial`. FAILED where there are none."""
    sets, now = s.group.shape[1], s.option[r]
    change: int = s.option_cost[o] - s.option_cost[now]
    for k in range(sets):
        current = s.group[r, k]
        if g >= 0 and s.set_of[g] == k:
            found = g
        else:
            part = s.part[o, k]
            stays = part == s.part[now, k] and s.barred[current] == 0
            if stays and s.size[current] <= s.least[current]:
                found = current
            else:
                found = -1
                for at in range(s.choices.indptr[part], s.choices.indptr[part + 1]):
                    c = s.choices.values[at]
                    if (s.size[c] > 0 or c == s.numbers[2]) and s.barred[c] == 0:
                        found = c
                        break
                if found < 0:
                    return FAILED
                if stays and s.cost[found] == s.cost[current]:
                    found = current
        s.trial[k] = found
        change += s.cost[found] - s.cost[current]
    return change


@compiled_part_in_place
def _note(s: LinkedState, g: int) -> bool:
    """That candidate g may be too small or barred; False where the move has become too long."""
    at = s.numbers[1]
    if at < len(s.queue):
        s.queue[at] = g
        s.numbers[1] = at + 1
    fits: bool = at < len(s.queue)
    return fits


@compiled_part_in_place
def _apply(s: LinkedState, r: int, o: int) -> bool:
    """Give row r option o and the candidates in `trial`; False where the move has become too long."""
    at = s.numbers[0]
    if at >= len(s.log_row):
        return False
    s.log_row[at], s.log_option[at] = r, s.option[r]
    s.numbers[0] = at + 1
    for k in range(s.group.shape[1]):
        current = s.group[r, k]
        s.log_group[at, k] = current
        if s.trial[k] != current:
            _unlink(s, r, k)
            _link(s, r, k, s.trial[k])
            if s.size[current] < s.least[current] and s.barred[current] == 0 and not _note(s, current):
                return False
            if s.size[s.trial[k]] == 1 and not _note(s, s.trial[k]):
                return False
    s.option[r] = o
    return True


@compiled_part_in_place
def _undo(s: LinkedState) -> None:
    """Take all back that is in the log."""
    for at in range(s.numbers[0] - 1, -1, -1):
        r = s.log_row[at]
        s.option[r] = s.log_option[at]
        for k in range(s.group.shape[1]):
            if s.group[r, k] != s.log_group[at, k]:
                _unlink(s, r, k)
                _link(s, r, k, s.log_group[at, k])


@compiled_part_in_place
def _relocate(s: LinkedState, r: int) -> int:
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


@compiled_part_in_place
def _close(s: LinkedState, g: int, limit: int) -> int:
    """Move all rows of candidate g elsewhere; no row comes back in this move."""
    s.barred[g] = 1
    k, change = s.set_of[g], 0
    if not _note(s, g):  # to be allowed again afterwards
        return FAILED
    while s.first[g] >= 0:
        r = s.first[g]
        each = _relocate(s, r)
        change += each
        if each >= FAILED or change > limit or s.group[r, k] == g:
            return FAILED
    return change


@compiled_part_in_place
def _harm(s: LinkedState, r: int, sparing: bool) -> int:
    """What it may cost, in eighths of a cell, that row r leaves its candidates for those in `trial`: others of one that
    is just large enough have to go, too; one that is too small already should lose all. FAILED where only rows that can
    be spared are asked for."""
    harm = 0
    for k in range(s.group.shape[1]):
        current = s.group[r, k]
        if s.trial[k] == current or s.barred[current] > 0:
            continue
        if s.size[current] < s.least[current]:
            harm -= _draw(s, 8)
        elif s.size[current] == s.least[current] and s.least[current] > 1:
            if sparing:
                return FAILED
            harm += _draw(s, 8 * min(s.least[current], 4))
    return harm


@compiled_part_in_place
def _fill(s: LinkedState, g: int, need: int, sparing: bool) -> int:
    """Move this many rows into candidate g, one after the other the cheapest of some that are looked at; the change.

    sparing: only rows that can be spared where they are.
    """
    begin, end = s.wanting.indptr[g], s.wanting.indptr[g + 1]
    count, found = end - begin, 0
    start, k = _draw(s, count), s.set_of[g]
    for step in range(min(count, WINDOW)):
        o = s.wanting.values[begin + (start + step) % count]
        i = s.option_type[o]
        rows = s.begins[i + 1] - s.begins[i]
        shift = _draw(s, rows) if rows > COPIES else 0
        for copy in range(min(rows, COPIES)):
            s.rows[found], s.picks[found] = s.begins[i] + (shift + copy) % rows, o
            found += 1
    total = 0
    for _ in range(need):
        best, least = -1, FAILED
        for e in range(found):
            r = s.rows[e]
            if s.group[r, k] == g:
                continue
            change = _price(s, r, s.picks[e], g)
            if change < FAILED:
                harm = _harm(s, r, sparing)
                if harm < FAILED and 8 * change + harm * s.cell[0] < least:
                    best, least = e, 8 * change + harm * s.cell[0]
        if best < 0:
            return FAILED
        change = _price(s, s.rows[best], s.picks[best], g)
        if change >= FAILED or not _apply(s, s.rows[best], s.picks[best]):
            return FAILED
        total += change
    return total


@compiled_part_in_place
def _partner(s: LinkedState, g: int) -> int:
    """A candidate of another set that rows of g could have, open or not: one at random, or the most general one."""
    o = s.wanting.values[s.wanting.indptr[g] + _draw(s, s.wanting.indptr[g + 1] - s.wanting.indptr[g])]
    k = _draw(s, s.group.shape[1])
    begin, end = s.choices.indptr[s.part[o, k]], s.choices.indptr[s.part[o, k] + 1]
    found: int = s.choices.values[end - 1 if _draw(s, 2) == 0 else begin + _draw(s, end - begin)]
    return found


@compiled_part_in_place
def _repair(s: LinkedState, change: int, limit: int) -> int:
    """Fill up or close what has become too small; the change with that of the move before."""
    at = 0
    while at < s.numbers[1]:
        g = s.queue[at]
        at += 1
        if s.size[g] == 0 or s.size[g] >= s.least[g] or s.barred[g] > 0:
            continue
        if change > limit:
            return FAILED
        need = s.least[g] - s.size[g]
        if need <= 2 and _draw(s, 2) == 0:
            logged, queued = s.numbers[0], s.numbers[1]
            added = _fill(s, g, need, True)
            if added < FAILED:
                change += added
                continue
            if s.numbers[0] > logged or s.numbers[1] > queued:
                return FAILED
        added = _close(s, g, limit - change)
        if added >= FAILED:
            return FAILED
        change += added
    return change


@compiled_in_place
def make_moves(s: LinkedState, count: int, hot: float, cold: float, chance: Floats, alias: Ints) -> int:
    """Make so many moves while the temperature falls; how the loss has changed.

    chance, alias: how candidates are drawn, as in `kanon_milp.heuristics.annealing.Draw`.
    """
    total = 0
    rows, sets = s.group.shape
    for step in range(count):
        temperature = hot + (cold - hot) * step / count
        limit = int(-temperature * math.log(_uniform(s)))
        s.numbers[0] = s.numbers[1] = 0
        kind = _uniform(s)
        if kind < PULLS:
            g = _draw(s, len(alias))
            if _uniform(s) > chance[g]:
                g = alias[g]
            need, change = 1 if s.size[g] > 0 else s.least[g], FAILED
            if s.wanting.indptr[g] < s.wanting.indptr[g + 1]:
                s.numbers[2] = _partner(s, g)
                change = _fill(s, g, need, False)
                s.numbers[2] = -1
            if change < FAILED and s.size[g] < s.least[g]:
                change = FAILED
        elif kind < PULLS + DROPS:
            change = _close(s, s.group[_draw(s, rows), _draw(s, sets)], limit)
        else:
            r = _draw(s, rows)
            i = s.type_of[r]
            o = s.options[i] + _draw(s, s.options[i + 1] - s.options[i])
            part = s.part[o, _draw(s, sets)]
            begin, end = s.choices.indptr[part], s.choices.indptr[part + 1]
            g = s.choices.values[begin + _draw(s, end - begin)]
            change = _price(s, r, o, g if s.size[g] > 0 else -1)
            if change < FAILED and not _apply(s, r, o):
                change = FAILED
        if change < FAILED:
            change = _repair(s, change, limit)
        if change <= limit:
            total += change
        else:
            _undo(s)
        for at in range(s.numbers[1]):
            s.barred[s.queue[at]] = 0
    return total
