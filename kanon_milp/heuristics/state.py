"""A table as groups of single rows, as compiled arrays: what local search looks at and changes.

Each open candidate's rows are a linked list, so a row changes its group in constant time; every change is logged and
can be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.grouping import assignment_of, pairs_at
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Flags, Ints, Ints32
from kanon_milp.system.jit import compiled_in_place, compiled_part_in_place

NOWHERE_COST = 1 << 40  # of a row that has no group yet: more than any loss
FAILED = 1 << 62  # instead of a change of the loss
_KEPT_COPIES = 4  # times the smallest group: copies of a row type that other groups may ever ask for


class State(NamedTuple):
    """Rows r, and the G candidates g that are looked at; number G is nowhere: where rows are that have no group.

    Fixed: type_of: int32 (rows,), row type. options: per row type the candidates that it may have, the cheapest first,
    int32. covers: per candidate the rows that it may have, int32.
    cost, least: int64 (G+1,), unit cost and smallest size; nowhere can spare every row.
    parked: int64 (G+1,), rows of g that never move, part of its size.
    Changing: group: int32 (rows,). size: int64 (G+1,); a candidate is open if it has rows. first: int32 (G+1,), after,
    before: int32 (rows,), the rows of each group as a list, -1 at its ends. log_row, log_group: int32, each row that
    has moved and where it was; logged: int64 (1,), how many. random: uint64 (1,), the generator's state.
    """

    type_of: Ints32
    options: Ragged[np.int32]
    covers: Ragged[np.int32]
    cost: Ints
    least: Ints
    parked: Ints
    group: Ints32
    size: Ints
    first: Ints32
    after: Ints32
    before: Ints32
    log_row: Ints32
    log_group: Ints32
    logged: Ints
    random: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Board:
    """A state, and what it stands for.

    candidate: int64 (G,), the state's candidates as those of the instance. parked: (row types, candidates, rows) that
    are not among the state's rows. cell: what a suppressed cell costs on average, in units of the loss; the measure of
    temperatures and reduced costs.
    """

    instance: Instance
    state: State
    candidate: Ints
    parked: tuple[Ints, Ints, Ints]
    cell: float

    @property
    def complete(self) -> bool:
        """Whether no row is nowhere."""
        return not self.state.size[-1]

    def empty(self) -> None:
        """Take all rows out of their groups."""
        self.state.group[:] = len(self.state.cost) - 1
        relink(self.state)

    @classmethod
    def of(cls, instance: Instance, allowed: Flags, start: Assignment | None, seed: int = 0) -> Board:
        """Put the rows where `start` has them, or nowhere.

        allowed: bool (pairs,), which rows may have which candidate; what `start` does is allowed too. Copies of a row
        type beyond what other groups could ask for stay parked in its cheapest candidate.
        """
        candidates, counts = instance.candidates, instance.types.counts
        of_pair = candidates.candidate_of_pair()
        nobody = np.zeros(0, dtype=np.int64)
        at = (nobody, nobody, nobody) if start is None else (start.row_type, start.candidate, start.rows)
        parked = _surplus(instance, at)
        moving = counts - np.bincount(at[0], weights=parked, minlength=len(counts)).astype(np.int64)
        allowed = allowed.copy()
        allowed[pairs_at(instance, at[0], at[1])] = True

        pair = np.flatnonzero(allowed)
        member = candidates.members[pair]
        looked_at, candidate = np.unique(of_pair[pair], return_inverse=True)
        cost = candidates.cost[looked_at]
        order = np.lexsort((candidate, cost[candidate], member))
        copies = moving[member]
        begin = np.cumsum(moving) - moving
        # the rows of type i are begin[i], begin[i] + 1, ...
        copy = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        covered = np.bincount(candidate, weights=copies, minlength=len(looked_at) + 1).astype(np.int64)
        rows, nowhere = int(moving.sum()), len(looked_at)
        group = np.full(rows, nowhere, dtype=np.int32)
        if start is not None:  # ordered by row type
            group[:] = np.repeat(np.searchsorted(looked_at, at[1]), at[2] - parked)
        fixed = np.bincount(np.searchsorted(looked_at, at[1]), weights=parked, minlength=nowhere + 1).astype(np.int64)
        state = State(
            type_of=np.repeat(np.arange(len(counts), dtype=np.int32), moving),
            options=Ragged(indptr_of(np.bincount(member, minlength=len(counts))), candidate[order].astype(np.int32)),
            covers=Ragged(indptr_of(covered), (np.repeat(begin[member], copies) + copy).astype(np.int32)),
            cost=np.append(cost, NOWHERE_COST),
            least=np.append(instance.least[looked_at], -1),
            parked=fixed,
            group=group,
            size=fixed.copy(),
            first=np.full(nowhere + 1, -1, dtype=np.int32),
            after=np.full(rows, -1, dtype=np.int32),
            before=np.full(rows, -1, dtype=np.int32),
            log_row=np.zeros(4 * rows + 64, dtype=np.int32),
            log_group=np.zeros(4 * rows + 64, dtype=np.int32),
            logged=np.zeros(1, dtype=np.int64),
            random=np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64) | np.uint64(1),
        )
        relink(state)
        used = parked > 0
        parts = (at[0][used], at[1][used], parked[used])
        return cls(instance, state, looked_at.astype(np.int64), parts, cell_cost(instance))

    def restore(self, group: Ints32) -> None:
        """Put every row where it was when `state.group` was this."""
        self.state.group[:] = group
        relink(self.state)

    def assignment(self) -> Assignment | None:
        """Where the rows are; None while some are nowhere."""
        state = self.state
        if state.size[-1]:
            return None
        ones = np.ones(len(state.group), dtype=np.int64)
        row_type, candidate, rows = self.parked
        return assignment_of(
            self.instance,
            np.concatenate([state.type_of, row_type]),
            np.concatenate([self.candidate[state.group], candidate]),
            np.concatenate([ones, rows]),
        )


def mutable_copy(state: State, group: Ints32, random: NDArray[np.uint64]) -> State:
    """A state that shares what is fixed, with its own copy of what changes."""
    changing = ("size", "first", "after", "before", "log_row", "log_group", "logged")
    copies = {name: getattr(state, name).copy() for name in changing}
    s = state._replace(group=group.copy(), random=random.copy(), **copies)
    relink(s)
    return s


def cell_cost(instance: Instance) -> float:
    """Loss of one level of one cell on average: 1 where keep or suppress is all there is and columns weigh the same."""
    levels = sum(column.height for column in instance.levels.columns)
    return max(float(instance.levels.costs.max()) / levels, 1.0) if levels else 1.0


def _surplus(instance: Instance, at: tuple[Ints, Ints, Ints]) -> Ints:
    """Of the rows placed, those that are beyond a few groups' worth and in the cheapest candidate of their type."""
    candidates = instance.candidates
    cheapest = np.full(instance.types.count, NOWHERE_COST, dtype=np.int64)
    np.minimum.at(cheapest, candidates.members, candidates.cost[candidates.candidate_of_pair()])
    settled = candidates.cost[at[1]] == cheapest[at[0]]
    kept = _KEPT_COPIES * int(instance.least.max(initial=1))
    return np.where(settled, np.maximum(at[2] - kept, 0), 0)


@compiled_in_place
def relink(s: State) -> None:
    """Rebuild the lists and sizes from `group`."""
    for g in range(len(s.size)):
        s.size[g] = s.parked[g]
        s.first[g] = -1
    for r in range(len(s.group) - 1, -1, -1):
        _enter(s, r, s.group[r])
    s.logged[0] = 0


@compiled_part_in_place
def _enter(s: State, r: int, g: int) -> None:
    s.group[r] = g
    s.before[r] = -1
    s.after[r] = s.first[g]
    if s.first[g] >= 0:
        s.before[s.first[g]] = r
    s.first[g] = r
    s.size[g] += 1


@compiled_part_in_place
def _leave(s: State, r: int) -> None:
    g = s.group[r]
    if s.before[r] >= 0:
        s.after[s.before[r]] = s.after[r]
    else:
        s.first[g] = s.after[r]
    if s.after[r] >= 0:
        s.before[s.after[r]] = s.before[r]
    s.size[g] -= 1


@compiled_part_in_place
def place(s: State, r: int, g: int) -> int:
    """Move row r to candidate g; returns the change of the loss."""
    h = s.group[r]
    s.log_row[s.logged[0]] = r
    s.log_group[s.logged[0]] = h
    s.logged[0] += 1
    _leave(s, r)
    _enter(s, r, g)
    return int(s.cost[g] - s.cost[h])


@compiled_in_place
def undo(s: State) -> None:
    """Take back all moves in the log."""
    while s.logged[0] > 0:
        s.logged[0] -= 1
        r = s.log_row[s.logged[0]]
        _leave(s, r)
        _enter(s, r, s.log_group[s.logged[0]])


@compiled_in_place
def total(s: State) -> int:
    """Loss of all rows that can move."""
    loss = 0
    for r in range(len(s.group)):
        loss += s.cost[s.group[r]]
    return loss


@compiled_part_in_place
def draw(s: State) -> int:
    """The next 62 random bits (xorshift64*, Vigna 2016)."""
    x = s.random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    s.random[0] = x
    return int((x * np.uint64(2685821657736338717)) >> np.uint64(2))


@compiled_part_in_place
def uniform(s: State) -> float:
    """A random number in (0, 1]."""
    return (draw(s) + 1.0) / 4611686018427387904.0


@compiled_part_in_place
def best_option(s: State, r: int, closing: int, opening: int) -> int:
    """The cheapest open candidate of row r, with `opening` taken for open and `closing` for closed; -1 if none."""
    i = s.type_of[r]
    for q in range(s.options.indptr[i], s.options.indptr[i + 1]):
        g = s.options.values[q]
        if g != closing and (s.size[g] > 0 or g == opening):
            return int(g)
    return -1


@compiled_part_in_place
def close(s: State, h: int, opening: int, limit: float) -> int:
    """Move all rows of h to their cheapest other candidates; FAILED if a row has none or the loss grows by more than
    the limit."""
    delta = 0
    if s.parked[h] > 0:
        return FAILED
    r = s.first[h]
    while r >= 0:
        following = s.after[r]
        g = best_option(s, r, h, opening)
        if g < 0:
            return FAILED
        delta += place(s, r, g)
        if delta > limit:
            return FAILED
        r = following
    return delta
