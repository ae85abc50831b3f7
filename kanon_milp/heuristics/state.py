"""A table as groups of single rows: what local search looks at and changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kanon_milp.heuristics.grouping import assignment_of, pairs_at
from kanon_milp.kernels.rows import Rows, relink
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Flags, Ints, Ints32

NOWHERE_COST = 1 << 40  # of a row that has no group yet: more than any loss
_KEPT_COPIES = 4  # times the smallest group: copies of a row type that other groups may ever ask for


class State(NamedTuple):
    """Rows r, and the G candidates g that are looked at; number G is nowhere: where rows are that have no group.

    What `kernels.rows.Rows` is made of, so that other processes can make their own. type_of: int32 (rows,), row type.
    options: per row type the candidates that it may have, the cheapest first, int32. covers: per candidate the rows
    that it may have, int32. cost, least: int64 (G+1,), unit cost and smallest size; nowhere can spare every row.
    parked: int64 (G+1,), rows of g that never move, part of its size. group: int32 (rows,), size: int64 (G+1,), both
    change as rows move; a candidate is open if it has rows. random: what the random numbers begin with.
    """

    type_of: Ints32
    options: Ragged[np.int32]
    covers: Ragged[np.int32]
    cost: Ints
    least: Ints
    parked: Ints
    group: Ints32
    size: Ints
    random: int

    def own(self, group: Ints32, random: int) -> State:
        """One that shares what is fixed, with its own copy of what changes."""
        return self._replace(group=group.copy(), size=self.size.copy(), random=random)


@dataclass(frozen=True, eq=False)
class Board:
    """A state, and what it stands for.

    rows: the state's, as kernels see them. candidate: int64 (G,), the state's candidates as those of the instance.
    parked: (row types, candidates, rows) that are not among the state's rows. cell: what a suppressed cell costs on
    average, in units of the loss; the measure of temperatures and reduced costs.
    """

    instance: Instance
    state: State
    rows: Rows
    candidate: Ints
    parked: tuple[Ints, Ints, Ints]
    cell: float

    @property
    def complete(self) -> bool:
        """Whether no row is nowhere."""
        return not self.state.size[-1]

    def empty(self) -> None:
        """Take all rows out of their groups."""
        self.restore(np.full(len(self.state.group), len(self.state.cost) - 1, np.int32))

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
            random=generator(seed),
        )
        used = parked > 0
        parts = (at[0][used], at[1][used], parked[used])
        candidate = looked_at.astype(np.int64)
        return cls(instance, state, Rows(*state), candidate, parts, cell_cost(instance))

    def restore(self, group: Ints32) -> None:
        """Put every row where it was when `state.group` was this."""
        self.state.group[:] = group
        relink(self.rows)

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


def generator(seed: int) -> int:
    """What the kernels' random numbers begin with."""
    return int(np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64)[0]) | 1


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
