"""Groups that are close to each other, and rows that an answer for them moves."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.limits import FAILED
from kanon_milp.kernels.moves import mend
from kanon_milp.kernels.rows import Rows, draw, place, uniform
from kanon_milp.system.arrays import Ints


def grow(s: Rows, busy: NDArray[np.uint8], size: int) -> Ints:
    """Groups up to this loss in total: all that have a row of some candidate, then of another one that shares a row
    with them, and so on; small candidates first. busy: (G+1,), those that stay out."""
    chosen = np.array(busy, np.uint8)
    rows, groups = np.empty(len(s.group), np.int32), np.empty(len(s.cost), np.int64)
    held, grown, loss = 0, 0, 0
    with cython.nogil:
        r = draw(s) % len(s.group)
        for _ in range(200 * len(s.group)):
            i = s.type_of[r]
            f = s.options[s.options_at[i] + draw(s) % (s.options_at[i + 1] - s.options_at[i])]
            covered = s.covers_at[f + 1] - s.covers_at[f]
            if uniform(s) * covered * covered <= 400.0:
                for q in range(s.covers_at[f], s.covers_at[f + 1]):
                    g = s.group[s.covers[q]]
                    if loss < size and chosen[g] == 0 and s.cost[g] > 0 and s.parked[g] == 0:
                        chosen[g] = 1
                        groups[grown] = g
                        grown += 1
                        loss += s.cost[g] * s.size[g]
                        member = s.first[g]
                        while member >= 0:
                            rows[held] = member
                            held += 1
                            member = s.after[member]
            if loss >= size:
                break
            r = rows[draw(s) % held] if held > 0 else draw(s) % len(s.group)
    return np.asarray(groups)[:grown]


def exchange(s: Rows, row_type: Ints, candidate: Ints, before: Ints, after: Ints) -> int:
    """Have `after` rows of these types in these candidates instead of `before`; groups that are too small then are
    filled or closed. Returns the change of the loss, FAILED where a row is no longer there or a group cannot be mended.
    """
    nowhere = len(s.cost) - 1
    delta = 0
    for q in range(len(row_type)):
        for _ in range(before[q] - after[q]):
            r = _row_of(s, candidate[q], row_type[q])
            if r < 0:
                return FAILED
            delta += place(s, r, nowhere)
    for q in range(len(row_type)):
        for _ in range(after[q] - before[q]):
            r = _row_of(s, nowhere, row_type[q])
            if r < 0:
                return FAILED
            delta += place(s, r, candidate[q])
    for q in range(len(row_type)):
        g = candidate[q]
        if s.size[g] > 0 and s.size[g] < s.least[g]:
            change = mend(s, g)
            if change >= FAILED:
                return FAILED
            delta += change
    return delta


def _row_of(s: Rows, g: int, i: int) -> int:
    """The first row of type i in g, -1 if it has none."""
    r = s.first[g]
    while r >= 0 and s.type_of[r] != i:
        r = s.after[r]
    return int(r)
