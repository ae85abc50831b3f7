"""What column generation works on: the rows of some row types, priced against everything else.

Any multipliers give a bound (`kanon_milp.bounds.lagrangian`), so they can be improved a part at a time: those of some
row types, the free ones, and of rank-1 rows among these, with all others held. What is left of L is the linear program
over the groups that hold a free row; the rows of other types stand in its groups at their price.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.pricing import cheapest_groups
from kanon_milp.bounds.rank_one import NO_ROWS, RankOneRows
from kanon_milp.compiled import compiled
from kanon_milp.groups import Groups

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

NODES = 200_000  # of the search for one group


@dataclass(frozen=True, eq=False)
class Part:
    """Candidates and row types of a part; the first `free` row types are free.

    indptr, members, cost, least, surcharge: as in an instance, σ included. counts: int64 (t,). multipliers: float64
    (t,), of all row types, the free ones as they are at the beginning. held: rank-1 rows that keep their multipliers
    charges (float64). own, own_charges: rank-1 rows of free row types alone, which are free as well, and where their
    multipliers begin.
    """

    indptr: Ints
    members: Codes
    cost: Floats
    least: Floats
    surcharge: Floats
    counts: Ints
    multipliers: Floats
    free: int
    held: RankOneRows = NO_ROWS
    charges: Floats = field(default_factory=lambda: np.zeros(0))
    own: RankOneRows = NO_ROWS
    own_charges: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Point:
    """Multipliers of the free row types and of the part's own rank-1 rows, float64."""

    multipliers: Floats
    charges: Floats

    def towards(self, other: Point, share: float) -> Point:
        """So much of the way to the other point. share: 0 to 1."""
        return Point(
            (1 - share) * self.multipliers + share * other.multipliers,
            (1 - share) * self.charges + share * other.charges,
        )


class Pricing:
    """The cheapest groups of a part, at any point."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.rows = part.counts.astype(np.float64)
        self.every = np.arange(len(part.cost))
        self.set_rows(part.own)

    def set_rows(self, own: RankOneRows) -> None:
        """Take these rank-1 rows of free row types beside those that are held."""
        both = self.part.held.joined(own)
        self.begins, self.row_of, self.weight_of = both.by_type(len(self.part.counts))
        self.denominators = both.denominators
        self.limits = own.limits(self.part.counts).astype(np.float64)

    def all_multipliers(self, point: Point) -> Floats:
        """λ of all row types of the part."""
        found = self.part.multipliers.copy()
        found[: self.part.free] = point.multipliers
        return found

    def __call__(self, point: Point, below: float = -1e-9) -> tuple[float, Groups]:
        """What the part adds to L, and the cheapest group of each candidate, if its reduced cost is `below`.

        With below > 0 the value is still that of L: groups that cost something are not taken.
        """
        part = self.part
        phi, complete = np.empty(len(self.every)), np.empty(len(self.every), np.bool_)
        found = cheapest_groups(
            part.indptr, part.members, part.cost, part.least, self.rows, self.all_multipliers(point), part.surcharge,
            self.begins, self.row_of, self.weight_of, self.denominators,
            np.concatenate([part.charges, point.charges]), self.every, below, NODES, phi, complete,
        )  # fmt: skip
        value = float(np.minimum(phi, 0.0).sum())
        value += float(self.rows[: part.free] @ point.multipliers) - float(self.limits @ point.charges)
        return value, Groups.of_rows(*found)

    def costs(self, groups: Groups) -> Floats:
        """What each group costs in the part's linear program: its loss, less what its held rows are worth."""
        part = self.part
        entry = groups.of_entry()
        price = np.where(groups.types < part.free, 0.0, part.multipliers[groups.types])
        each = (part.cost[groups.candidate][entry] - price) * groups.copies
        found = np.bincount(entry, weights=each, minlength=groups.count) + part.surcharge[groups.candidate]
        if part.held.count:
            row, column, times = coefficients(groups, part.held, len(part.counts))
            found += np.bincount(column, weights=part.charges[row] * times, minlength=groups.count)
        return np.asarray(found, dtype=np.float64)


def coefficients(groups: Groups, rows: RankOneRows, types: int) -> tuple[Ints, Ints, Ints]:
    """The coefficients of groups in rank-1 rows that are not 0: (row, group, coefficient), ordered by group."""
    return _coefficients(groups.indptr, groups.types, groups.copies, *rows.by_type(types), rows.denominators)


@compiled
def _coefficients(
    indptr: Ints, types: Ints, copies: Ints, begins: Ints, row_of: Codes, weight_of: Ints, denominators: Ints
) -> tuple[Ints, Ints, Ints]:
    row, column, times = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    filled = np.zeros(len(denominators), np.int64)
    end = 0
    for c in range(len(indptr) - 1):
        for e in range(indptr[c], indptr[c + 1]):
            for f in range(begins[types[e]], begins[types[e] + 1]):
                filled[row_of[f]] += weight_of[f] * copies[e]
        for e in range(indptr[c], indptr[c + 1]):
            for f in range(begins[types[e]], begins[types[e] + 1]):
                r = row_of[f]
                if filled[r] >= denominators[r]:
                    if end == len(row):
                        row = np.concatenate((row, np.empty_like(row)))
                        column = np.concatenate((column, np.empty_like(column)))
                        times = np.concatenate((times, np.empty_like(times)))
                    row[end], column[end], times[end] = r, c, filled[r] // denominators[r]
                    end += 1
                filled[r] = 0
    return row[:end].copy(), column[:end].copy(), times[:end].copy()
