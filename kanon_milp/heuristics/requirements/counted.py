"""A table as groups of single rows with their numbers of rows by sensitive value, and what each group violates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.requirements.violation import Rules, count_in, rules_of, violation_of
from kanon_milp.heuristics.state import Board, State, draw, mutable_copy, place, relink
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.jit import compiled_in_place, compiled_part_in_place

SAMPLE = 300  # rows of a large cover that one move looks at


class Room(NamedTuple):
    """Where one move is worked out. Rows that a candidate could have, -1 for those that it has taken: row, code: int64
    (SAMPLE,), the row and its value, price: float64 (SAMPLE,), checked: bool (SAMPLE,), whether their groups were
    looked at. change: float64 (J,), of the violation by a row of each value; known: int64 (J,), at which stamp. stamp:
    int64 (1,)."""

    row: Ints
    code: Ints
    price: Floats
    checked: Flags
    change: Floats
    known: Ints
    stamp: Ints


class Counted(NamedTuple):
    """A state in which the rows of each cover stand in the order of their values, and what requirements ask for.

    value: int64 (rows,), joint value of a row. counts: int32 (G+1, columns), parked rows among them. violation:
    float64 (G+1,). total: float64 (2,), the sum of the violations, and how many groups have one. price: float64 (2,),
    what a unit of violation and what a cell costs, in units of the loss. parked: int32 (G+1, columns).
    """

    state: State
    rules: Rules
    value: Ints
    counts: Ints32
    violation: Floats
    total: Floats
    price: Floats
    parked: Ints32
    room: Room


@dataclass(frozen=True, eq=False)
class CountedBoard:
    """A board whose groups are counted by value."""

    board: Board
    counted: Counted

    @classmethod
    def of(cls, instance: Instance, allowed: Flags, start: Assignment, seed: int = 0) -> CountedBoard:
        """As `Board.of`; the start may violate requirements."""
        board = Board.of(instance, allowed, start, seed)
        rules, value = rules_of(instance)
        s = board.state
        of_row = value[s.type_of]
        order = np.lexsort((of_row[s.covers.values], s.covers.list_of_value()))
        s = s._replace(covers=Ragged(s.covers.indptr, s.covers.values[order]))
        width = int(rules.columns.max(initial=-1)) + 1
        parked = np.zeros((len(s.cost), width), np.int32)
        row_type, candidate, rows = board.parked
        at = np.searchsorted(board.candidate, candidate)
        for attribute in range(rules.columns.shape[1]):
            np.add.at(parked, (at, rules.columns[value[row_type], attribute]), rows.astype(np.int32))
        counted = Counted(
            s, rules, of_row, parked.copy(), np.zeros(len(s.cost)), np.zeros(2), np.array([0.0, board.cell]), parked,
            _room(len(rules.columns)),
        )  # fmt: skip
        recount(counted)
        return cls(Board(instance, s, board.candidate, board.parked, board.cell), counted)

    def placed(self) -> Assignment:
        """The table on the board, whatever its groups violate; no row is nowhere."""
        board, state = self.board, self.counted.state
        row_type, candidate, parked = board.parked
        pair = pairs_at(
            board.instance,
            np.concatenate([state.type_of, row_type]).astype(np.int64),
            np.concatenate([board.candidate[state.group], candidate]),
        )
        rows = np.concatenate([np.ones(len(state.group), np.int64), parked])
        found = np.bincount(pair, weights=rows, minlength=board.instance.candidates.pairs)
        return Assignment.from_pairs(board.instance, found.astype(np.int64))

    def restore(self, group: Ints32) -> None:
        """Put every row where it was when `state.group` was this."""
        self.counted.state.group[:] = group
        recount(self.counted)


def own_copy(counted: Counted, group: Ints32, random: NDArray[np.uint64]) -> Counted:
    """One that shares what is fixed, with its own copy of what changes."""
    c = counted._replace(
        state=mutable_copy(counted.state, group, random),
        rules=counted.rules._replace(below=counted.rules.below.copy()),
        counts=counted.counts.copy(),
        violation=counted.violation.copy(),
        total=counted.total.copy(),
        price=counted.price.copy(),
        room=_room(len(counted.rules.columns)),
    )
    recount(c)
    return c


def _room(values: int) -> Room:
    return Room(
        np.zeros(SAMPLE, np.int64), np.zeros(SAMPLE, np.int64), np.zeros(SAMPLE),
        np.zeros(SAMPLE, np.bool_), np.zeros(values),
        np.zeros(values, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


@compiled_part_in_place
def wide(number: int) -> int:
    """The same as an int64: functions are compiled anew for each type."""
    return number + 0


@compiled_in_place
def recount(c: Counted) -> None:
    """Rebuild everything from `group`."""
    s = c.state
    relink(s)
    # cell by cell: to compile the assignment of arrays takes seconds
    for g in range(len(s.cost)):
        for column in range(c.counts.shape[1]):
            c.counts[g, column] = c.parked[g, column]
    for r in range(len(s.group)):
        count_in(c.rules, c.counts, wide(s.group[r]), c.value[r], 1)
    c.total[0] = c.total[1] = 0.0
    for g in range(len(s.cost)):
        c.violation[g] = violation_of(c.rules, c.counts, g, s.size[g], s.least[g])
        c.total[0] += c.violation[g]
        if c.violation[g] > 0:
            c.total[1] += 1


@compiled_part_in_place
def put(c: Counted, r: int, g: int) -> int:
    """Move row r to candidate g; returns the change of the loss, that of the violation is in `total`."""
    s = c.state
    h = wide(s.group[r])
    change = place(s, r, g)
    count_in(c.rules, c.counts, h, c.value[r], -1)
    count_in(c.rules, c.counts, g, c.value[r], 1)
    _judge(c, h)
    _judge(c, g)
    return change


@compiled_part_in_place
def _judge(c: Counted, g: int) -> None:
    s = c.state
    before = c.violation[g]
    now = violation_of(c.rules, c.counts, g, s.size[g], s.least[g])
    c.violation[g] = now
    c.total[0] += now - before
    c.total[1] += int(now > 0) - int(before > 0)


@compiled_part_in_place
def take_back(c: Counted) -> None:
    """Take back all moves in the log."""
    s = c.state
    while s.logged[0] > 0:
        last = s.logged[0] - 1
        put(c, wide(s.log_row[last]), wide(s.log_group[last]))
        s.logged[0] = last


@compiled_part_in_place
def with_one(c: Counted, g: int, u: int, by: int) -> float:
    """By how much the violation of g changes with one more row of value u, or one less."""
    s = c.state
    count_in(c.rules, c.counts, g, u, by)
    found = violation_of(c.rules, c.counts, g, s.size[g] + by, s.least[g])
    count_in(c.rules, c.counts, g, u, -by)
    return float(found - c.violation[g])


@compiled_part_in_place
def exchanged(c: Counted, g: int, u: int, v: int) -> float:
    """By how much the violation of g changes with a row of value u instead of one of v."""
    s = c.state
    count_in(c.rules, c.counts, g, u, 1)
    count_in(c.rules, c.counts, g, v, -1)
    found = violation_of(c.rules, c.counts, g, s.size[g], s.least[g])
    count_in(c.rules, c.counts, g, u, -1)
    count_in(c.rules, c.counts, g, v, 1)
    return float(found - c.violation[g])


@compiled_part_in_place
def may_have(s: State, r: int, g: int) -> bool:
    """Whether candidate g is an option of row r, by bisection (options are sorted by cost, then number)."""
    i = s.type_of[r]
    low, high = s.options.indptr[i], s.options.indptr[i + 1]
    while low < high:
        middle = (low + high) // 2
        other = s.options.values[middle]
        if s.cost[other] < s.cost[g] or (s.cost[other] == s.cost[g] and other < g):
            low = middle + 1
        else:
            high = middle
    return bool(low < s.options.indptr[i + 1] and s.options.values[low] == g)


@compiled_part_in_place
def of_value(c: Counted, g: int, u: int) -> tuple[int, int]:
    """Where the rows of value u begin and end in the cover of g."""
    s = c.state
    begin, end = s.covers.indptr[g], s.covers.indptr[g + 1]
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if c.value[s.covers.values[middle]] < u:
            low = middle + 1
        else:
            high = middle
    first, high = low, end
    while low < high:
        middle = (low + high) // 2
        if c.value[s.covers.values[middle]] <= u:
            low = middle + 1
        else:
            high = middle
    return first, low


@compiled_part_in_place
def best_target(c: Counted, r: int, closing: int) -> tuple[int, float]:
    """The open candidate at which row r costs least, violations included, and what that changes; -1 if there is none.

    closing: a candidate that is taken for closed.
    """
    s = c.state
    i, h = s.type_of[r], wide(s.group[r])
    u = c.value[r]
    best, chosen = np.inf, -1
    for q in range(s.options.indptr[i], s.options.indptr[i + 1]):
        g = wide(s.options.values[q])
        loss = float(s.cost[g] - s.cost[h])
        if loss >= best:
            break
        if g in (h, closing) or s.size[g] == 0:
            continue
        change = loss + c.price[0] * with_one(c, g, u, 1)
        if change < best:
            best, chosen = change, g
    return chosen, best


@compiled_part_in_place
def of_group(c: Counted, h: int) -> int:
    """A row of group h, at random as far as a few tries on its cover find one; -1 where it has none that moves."""
    s = c.state
    begin = s.covers.indptr[h]
    covered = s.covers.indptr[h + 1] - begin
    for _ in range(8):
        r = wide(s.covers.values[begin + draw(s) % covered])
        if s.group[r] == h:
            return r
    return wide(s.first[h])
