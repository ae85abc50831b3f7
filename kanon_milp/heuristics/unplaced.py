"""The exact check of groups of rows that are still unplaced: how many of them may be placed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Ints


class UnplacedCheck(GroupCheck):
    """The check of groups of rows that are still unplaced."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._table = np.zeros(0, dtype=np.int64)
        if self.code is not None:
            self._table = np.bincount(self.code, weights=instance.types.counts).astype(np.int64)
        self._left = self._table.copy()

    def take(self, members: NDArray[np.integer[Any]], rows: Ints) -> None:
        """Rows that are placed are no longer left over."""
        if self.code is not None:
            self._left -= self.by_value(members, rows)

    def accepts(self, g: int | None, members: NDArray[np.integer[Any]], rows: Ints) -> bool:
        """Whether candidate g, or (None) any group that is not exempt, may have so many rows of each member."""
        return self.holds(g, self.by_value(members, rows))

    def most(self, g: int | None, members: NDArray[np.integer[Any]], rows: Ints) -> Ints | None:
        """As many of these rows as candidate g, or (None) any group that is not exempt, may have: all, or those below a
        cap on each value; None for none."""
        if g is not None and rows.sum() < self.instance.least[g]:
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

    def _largest(self, g: int | None, top: int, cap: Callable[[int], Ints]) -> Ints | None:
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

    def _leaves_enough(self, g: int | None, counts: Ints) -> bool:
        """Whether these counts satisfy the requirements, and what is then left over, as one group, does as well, if it
        did before: where unions can break a requirement, it need not."""
        rest = self._left - counts
        return self.holds(g, counts) and (not rest.any() or self.holds(None, rest) or not self.holds(None, self._left))

    def _take(self, members: NDArray[np.integer[Any]], rows: Ints, counts: Ints) -> Ints:
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
