"""Exact repair: what relaxations do not see, by what the requirements themselves say of groups."""

from __future__ import annotations

import itertools

import numpy as np

from kanon_milp.heuristics.greedy import candidate_of_all
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import NO_LIMIT, Limit

CHECKED = 300  # changes of one group by a row or two that are tried, before it is merged with another one


def repair(
    instance: Instance, assignment: Assignment, limit: Limit = NO_LIMIT, check: GroupCheck | None = None
) -> Assignment | None:
    """The assignment, changed until all groups satisfy every requirement; None if that cannot be.

    A group that does not exchanges a row or two with the candidate that can take all; else it is put into the cheapest
    group that then satisfies them, or loses rows of its most frequent values, and at last, or when the time is over, it
    is put into the candidate that can take all. While
    that one does not satisfy them, the group whose rows lose least by it is dissolved into it.
    """
    check = check or GroupCheck(instance)
    wrong = check.refused(assignment).tolist()
    if not wrong:
        return assignment
    root = candidate_of_all(instance)
    if root is None:
        return None
    table = _Table(instance, assignment, check, root)
    for g in wrong:
        if g != root and (limit.over or not (table.exchange(g) or table.merge(g) or table.trim(g))):
            table.put(g, root)
    return table.with_root()


class _Table:
    """Rows of every pair, and which groups are open. Numbers of rows by value are counted when they are asked for, as
    there may be thousands of values."""

    def __init__(self, instance: Instance, assignment: Assignment, check: GroupCheck, root: int) -> None:
        self._instance, self._check, self._root = instance, check, root
        self._rows = assignment.rows_of_pairs(instance)
        size = np.bincount(assignment.candidate, weights=assignment.rows, minlength=instance.candidates.count)
        self._size = size.astype(np.int64)
        self._groups = dict.fromkeys([*np.flatnonzero(self._size).tolist(), root])

    def _pairs(self, g: int) -> slice:
        indptr = self._instance.candidates.indptr
        return slice(int(indptr[g]), int(indptr[g + 1]))

    def _counts(self, g: int) -> Ints:
        pairs = self._pairs(g)
        return self._check.by_value(self._instance.candidates.members[pairs], self._rows[pairs])

    def exchange(self, g: int) -> bool:
        """Move one or two rows between a group and the root so that the group satisfies the requirements."""
        root_values, values = self._counts(self._root), self._counts(g)
        entering = [(u, 1) for u in np.flatnonzero(root_values).tolist() if self._row(u, self._root, g) is not None]
        leaving = [(u, -1) for u in np.flatnonzero(values).tolist()]
        single = [(change,) for change in entering + leaving]
        double = itertools.combinations_with_replacement(entering + leaving, 2)
        for changes in itertools.islice(itertools.chain(single, double), CHECKED):
            counts = values.copy()
            for u, by in changes:
                counts[u] += by
            if counts.min() >= 0 and counts.sum() > 0 and self._check.holds(g, counts):
                moved = [self._move(u, self._root, g) if by > 0 else self._move(u, g, self._root) for u, by in changes]
                if all(moved):
                    return True
                values = self._counts(g)
        return False

    def _row(self, u: int, g: int, h: int) -> tuple[int, int] | None:
        """The pairs at which a row of value u is in group g, and would be in h; None if there is none."""
        mine, other = self._pairs(g), self._pairs(h)
        members, code = self._instance.candidates.members, self._check.code
        types = members[mine]
        fits = (self._rows[mine] > 0) & np.isin(types, members[other])
        if code is not None:
            fits &= code[types] == u
        found = np.flatnonzero(fits)
        if not len(found):
            return None
        return mine.start + int(found[0]), other.start + int(np.searchsorted(members[other], types[found[0]]))

    def _move(self, u: int, g: int, h: int) -> bool:
        """Move a row of value u from group g to h, if there is one."""
        pairs = self._row(u, g, h)
        if pairs is None:
            return False
        self._rows[pairs[0]] -= 1
        self._rows[pairs[1]] += 1
        self._size[g] -= 1
        self._size[h] += 1
        return True

    def merge(self, g: int) -> bool:
        """Put a group into the cheapest open one that may have its rows and then satisfies the requirements."""
        candidates = self._instance.candidates
        types = candidates.members[self._pairs(g)][self._rows[self._pairs(g)] > 0]
        cost, indptr = candidates.cost, candidates.indptr
        covering = np.searchsorted(indptr, np.flatnonzero(candidates.members == types[0]), side="right") - 1
        others = [h for h in covering.tolist() if h not in (g, self._root) and self._size[h]]
        for h in sorted(others, key=lambda h: (int(cost[h]), h)):
            loss = (cost[h] - cost[g]) * self._size[g]
            if loss > (cost[self._root] - cost[g]) * self._size[g]:
                break
            cover = candidates.members[self._pairs(h)]
            if np.isin(types, cover).all() and self._check.holds(h, self._counts(g) + self._counts(h)):
                self.put(g, h)
                return True
        return False

    def trim(self, g: int) -> bool:
        """Move as few rows of its most frequent values to the root as have the group satisfy the requirements."""
        values = self._counts(g)
        for most in range(int(values.max()) - 1, 0, -1):
            kept = np.minimum(values, most)
            if self._check.holds(g, kept):
                for u in np.flatnonzero(values > most).tolist():
                    for _ in range(int(values[u]) - most):
                        self._move(u, g, self._root)
                return True
        return False

    def put(self, g: int, h: int) -> None:
        """Put all rows of group g into h, which covers them."""
        mine, other = self._pairs(g), self._pairs(h)
        members = self._instance.candidates.members
        at = other.start + np.searchsorted(members[other], members[mine])
        held = self._rows[mine] > 0
        self._rows[at[held]] += self._rows[mine][held]
        self._rows[mine] = 0
        del self._groups[g]
        self._groups.setdefault(h)
        self._size[h], self._size[g] = self._size[h] + self._size[g], 0

    def with_root(self) -> Assignment | None:
        """Dissolve the groups whose rows lose least into the root until it satisfies the requirements; first those
        without its most frequent value."""
        root, cost = self._root, self._instance.candidates.cost
        loss = self._size * (cost[root] - cost)
        used = [g for g in self._groups if g != root]
        used.sort(key=lambda g: (int(loss[g]), g))
        later = list[int]()
        while self._size[root]:
            values = self._counts(root)
            if self._check.holds(root, values):
                break
            frequent = int(values.argmax())
            while used and self._counts(used[0])[frequent]:
                later.append(used.pop(0))
            if not (used or later):
                return None
            self.put((used or later).pop(0), root)
        return Assignment.from_pairs(self._instance, self._rows)
