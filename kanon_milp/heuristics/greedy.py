"""Algorithm 1 of the pattern-guided paper for any group requirements: a first table, to start a solver from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.system.limit import NO_LIMIT, Limit

Ints = NDArray[np.int64]


def greedy(instance: Instance, limit: Limit = NO_LIMIT) -> Assignment | None:
    """Go through the level vectors from the cheapest to the most expensive and form every group of still unplaced rows
    that satisfies the requirements (Bredereck et al. 2013, Algorithm 1, there for k-anonymity).

    Where all unplaced rows of a candidate together do not, or what would be left over does not, the rows of its too
    frequent values wait. What is left over goes to the fully suppressed candidate; while that does not satisfy the
    requirements, the group whose rows lose least by it is dissolved into it. At the limit all rows that are not placed
    yet are left over. None where no candidate can take all rows, a requirement is about more than one group, or not
    even all rows together satisfy the requirements.
    """
    if any(isinstance(r, KAnonymity) and not r.merge_closed for r in instance.problem.requirements):
        return None
    candidates, levels = instance.candidates, instance.levels
    last = candidate_of_all(instance)
    if last is None:
        return None
    check = _GroupCheck(instance)
    left = instance.types.counts.copy()
    rows = np.zeros(candidates.pairs, dtype=np.int64)
    # what has too few rows when all are left has too few later
    large = np.flatnonzero(candidates.support >= instance.least)
    order = large[np.lexsort((large, levels.costs[candidates.vector[large]]))]
    for g in order[order != last].tolist():
        if limit.over:
            break
        pairs = _pairs(instance, g)
        members = candidates.members[pairs]
        taken = check.most(g, members, left[members])
        if taken is not None:
            rows[pairs] = taken
            left[members] -= taken
            check.take(members, taken)
    return _place_rest(instance, check, last, left, rows)


def suppress_all(instance: Instance) -> Assignment | None:
    """All rows in one candidate, whatever is required; None where no candidate can take all."""
    last = candidate_of_all(instance)
    if last is None:
        return None
    pairs = _pairs(instance, last)
    rows = np.zeros(instance.candidates.pairs, dtype=np.int64)
    rows[pairs] = instance.types.counts[instance.candidates.members[pairs]]
    return Assignment.from_pairs(instance, rows)


def candidate_of_all(instance: Instance) -> int | None:
    """The candidate that can take any row: fully suppressed, or cheaper where all rows have more in common."""
    candidates = instance.candidates
    found = np.flatnonzero(np.diff(candidates.indptr) == instance.types.count)
    # fully suppressed rows that are exempt can be few
    best = np.lexsort((candidates.cost[found], ~instance.exempt[found]))
    return int(found[best[0]]) if len(found) else None


def _place_rest(instance: Instance, check: _GroupCheck, g: int, left: Ints, rows: Ints) -> Assignment | None:
    """Suppress what is left, and with it the cheapest groups until the requirements are satisfied."""
    candidates, pairs = instance.candidates, _pairs(instance, g)
    members = candidates.members[pairs]
    size = np.bincount(candidates.candidate_of_pair(), weights=rows, minlength=candidates.count).astype(np.int64)
    used = np.flatnonzero(size)
    loss = size * (candidates.cost[g] - candidates.cost)
    dissolved = used[np.argsort(loss[used], kind="stable")].tolist()
    while left.any() and not check.accepts(g, members, left[members]):
        if not dissolved:
            return None
        group = _pairs(instance, dissolved.pop(0))
        left[candidates.members[group]] += rows[group]
        rows[group] = 0
    rows[pairs] = left[members]
    return Assignment.from_pairs(instance, rows)


def _pairs(instance: Instance, g: int) -> slice:
    return slice(int(instance.candidates.indptr[g]), int(instance.candidates.indptr[g + 1]))


class _GroupCheck(GroupCheck):
    """The check of groups of rows that are still unplaced."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._table = np.zeros(0, dtype=np.int64)
        if self.code is not None:
            self._table = np.bincount(self.code, weights=instance.types.counts).astype(np.int64)
        self._left = self._table.copy()

    def take(self, members: NDArray[np.int32], rows: Ints) -> None:
        """Rows that are placed are no longer left over."""
        if self.code is not None:
            self._left -= self.by_value(members, rows)

    def accepts(self, g: int, members: NDArray[np.int32], rows: Ints) -> bool:
        """Whether candidate g may have these numbers of rows of its members."""
        return self.holds(g, self.by_value(members, rows))

    def most(self, g: int, members: NDArray[np.int32], rows: Ints) -> Ints | None:
        """As many of these rows as candidate g may have: all, or those below a cap on each value; None for none."""
        if rows.sum() < self.instance.least[g]:
            return None
        if self.code is None:
            return rows if self.accepts(g, members, rows) else None
        counts = self.by_value(members, rows)
        if self._leaves_enough(g, counts):
            return rows
        # the same cap for each value, or a cap in proportion to the table
        capped = [
            self._largest(g, int(counts.max()), lambda cap: np.minimum(counts, cap)),
            self._largest(g, 64, lambda part: np.minimum(counts, self._share(counts, part))),
        ]
        found = max((c for c in capped if c is not None), key=lambda c: int(c.sum()), default=None)
        return None if found is None else self._take(members, rows, found)

    def _share(self, counts: Ints, part: int) -> Ints:
        """In 64 steps: from no rows to a cap at which the rarest value keeps all of its rows."""
        present = counts > 0
        most = (counts[present] / self._table[present]).max()
        share: Ints = np.ceil(self._table * most * part / 64).astype(np.int64)
        return share

    def _largest(self, g: int, top: int, cap: Callable[[int], Ints]) -> Ints | None:
        """The counts under the largest cap that is accepted, as far as halving finds it."""
        best: Ints | None = None
        low, high = 0, top
        while high - low > 1:
            middle = (low + high) // 2
            counts = cap(middle)
            if self._leaves_enough(g, counts):
                best, low = counts, middle
            else:
                high = middle
        return best

    def _leaves_enough(self, g: int, counts: Ints) -> bool:
        """Whether these counts satisfy the requirements, and what is then left over, as one group, does as well, if it
        did before: where unions can break a requirement, it need not."""
        rest = self._left - counts
        return self.holds(g, counts) and (not rest.any() or self.holds(None, rest) or not self.holds(None, self._left))

    def _take(self, members: NDArray[np.int32], rows: Ints, counts: Ints) -> Ints:
        """The first rows of each value, as many as its count."""
        assert self.code is not None
        code = self.code[members]
        order = np.argsort(code, kind="stable")
        before = np.cumsum(rows[order]) - rows[order]
        first = np.concatenate([[True], code[order][1:] != code[order][:-1]])
        within = before - np.maximum.accumulate(np.where(first, before, 0))
        taken = np.zeros_like(rows)
        taken[order] = np.clip(counts[code[order]] - within, 0, rows[order])
        return taken
