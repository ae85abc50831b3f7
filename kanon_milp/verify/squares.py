"""What multipliers prove about microaggregation, recomputed from the original rows, in integers.

A group of s rows loses Σ_{x<y} d(x, y) / e: of squares around the mean with e = s and the weighted squared distances d.
Of absolute deviations around the median it loses no less than that with e = s - 1: in a column, of s values in order,
Σ a_i where the i-th ones from either end are a_i apart, and d adds up to Σ (s + 1 - 2i) a_i. A group of more than
2k - 1 rows loses no less than two parts of it of k rows or more, so groups of k to 2k - 1 rows are enough.

Distances are rounded down to integers, which lowers what is proven (`kanon_milp.verify.seeds`). Groups are looked for
row by row and size by size, depth first: with rows P placed and q to come, a further row x adds 2 Σ_{y in P} d(x, y) -
2e λ_x and at least the sum of its q - 1 smallest distances, times 2e / e; that of the q best ones bounds what the group
comes to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.verify.rank_one import RankOneCut
from kanon_milp.verify.seeds import LIMIT, STEPS, SeedSearch, check_size

EXACT = 1 << 53  # integers up to here are what they are in floating point
MOST_ROWS = 12_000  # a matrix of distances has 8 bytes for each pair


def distances(columns: Sequence[Sequence[Fraction]], weights: Sequence[Fraction], factor: Fraction, power: int) -> Ints:
    """factor · d of all pairs of rows, rounded down, or a little less, int64 (n, n). power: of distances, 2 or 1."""
    n = len(columns[0])
    found = np.zeros((n, n))
    for column, weight in zip(columns, weights, strict=True):
        scale = math.lcm(*(value.denominator for value in column))
        units = [int(value * scale) for value in column]
        low = min(units)
        if max(units) - low >= EXACT:
            raise InputError("a column has values with too many digits for this certificate")
        points: Floats = np.array([unit - low for unit in units], dtype=np.float64)
        try:
            each = float(weight * factor / scale**power)
        except OverflowError:
            raise InputError("the denominator of the certificate is too large for exact numbers") from None
        for i in range(n):
            found[i] += each * np.abs(points - points[i]) ** power
    # weight, square, product and sum round by at most 2^-53 each; twice that to be safe
    found *= 1 - 2 * (len(columns) + 4) * 2.0**-53
    if not (found < LIMIT).all():
        raise InputError("the denominator of the certificate is too large for exact numbers")
    exact: Ints = np.floor(found).astype(np.int64)
    return exact


class SquareSearch(SeedSearch):
    """By sums over pairs. d: int64 (n, n), in the units of the multipliers. power: as of `distances`."""

    def __init__(self, d: Ints, multipliers: Ints, cuts: Sequence[RankOneCut], k: int, power: int) -> None:
        check_size(int(d.max(initial=0)), multipliers, cuts, k)
        super().__init__(multipliers, cuts, k)
        self.d, self.power, n = d, power, len(d)
        most = min(2 * k - 2, n - 1)
        smallest = np.empty((n, most), np.int64)
        for i in range(n):
            others = np.delete(d[i], i)
            smallest[i] = np.sort(np.partition(others, most - 1)[:most]) if most else others[:0]
        self.sums = np.concatenate([np.zeros((n, 1), np.int64), np.cumsum(smallest, axis=1)], axis=1)

    def _twice(self, size: int) -> int:
        """2e."""
        return 2 * max(size if self.power == 2 else size - 1, 1)

    def least(self, place: int) -> int:
        """As `SeedSearch` says."""
        n, self.best, self.steps = self.n, 0, 0
        row, after = int(self.order[place]), self.order[place + 1 :]
        weakest = 0
        for size in range(self.k, min(2 * self.k - 1, n) + 1):
            q, twice = size - 1, self._twice(size)
            if q > len(after):
                break
            start = twice * (self.charge([row]) - int(self.multipliers[row]))
            if q == 0:
                self.best = min(self.best, start // twice)
                continue
            crossed = self.d[row, after]
            value = 2 * crossed - twice * self.multipliers[after] + self.sums[after, q - 1]
            lowest = np.partition(value, q - 1)[:q]
            bound = start + int(lowest.sum())
            if bound >= twice * self.best:
                continue
            keep = value <= int(lowest.max()) - bound + twice * self.best
            self._grow([row], after[keep], crossed[keep], start, size)
            if self.steps > STEPS:
                weakest = min(weakest, bound // twice)
        return min(self.best, weakest)

    def _grow(self, rows: list[int], others: Ints, crossed: Ints, base: int, size: int) -> None:
        """base: 2e times the reduced cost of the rows so far; crossed: of the others, their distances to them."""
        q, twice = size - len(rows), self._twice(size)
        value = 2 * crossed - twice * self.multipliers[others] + self.sums[others, q - 1]
        order = np.argsort(value, kind="stable")
        value, others, crossed = value[order], others[order], crossed[order]
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(value)])
        paid = self.charge(rows)
        for j in range(len(others) - q + 1):
            if base + int(sums[j + q] - sums[j]) >= twice * self.best or self.steps > STEPS:
                return
            self.steps += 1
            chosen = [*rows, int(others[j])]
            here = base + 2 * int(crossed[j]) - twice * int(self.multipliers[others[j]])
            here += twice * (self.charge(chosen) - paid)
            if q == 1:
                self.best = min(self.best, here // twice)
                continue
            # this one, the cheapest q - 2 after it, and one more
            left = twice * self.best - base - int(value[j]) - int(sums[j + q - 1] - sums[j + 1])
            keep = value[j + 1 :] < left
            keep[: q - 1] = True
            some = others[j + 1 :][keep]
            self._grow(chosen, some, crossed[j + 1 :][keep] + self.d[others[j], some], here, size)
