"""What multipliers prove about sums of squares (microaggregation), recomputed from the original rows, in integers.

A group of s rows loses Σ_{x<y} d(x, y) / s, d the weighted squared distances. A group that is larger than 2k - 1 rows
loses no less than two parts of it of k rows or more, so tables of groups of k to 2k - 1 rows are enough. A group
belongs to its first row in order of falling λ, so a table has at most one group of each row, and for any λ and ν ≥ 0

    loss ≥ Σ_i λ_i - Σ_R ν_R ⌊Σ p_R / d_R⌋ + Σ_rows min(0, least of cost - Σ λ + Σ_R ν_R ⌊p_R·a / d_R⌋ of its groups).

Distances are rounded down to integers, which lowers the right side. Groups are looked for row by row and size by size,
depth first: with rows P placed and q to come, a further row x adds 2 Σ_{y in P} d(x, y) - 2s λ_x and at least the
sum of its q - 1 smallest distances, times 2s / s; that of the q best ones bounds what the group comes to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.verify.rank_one import RankOneCut

LIMIT = 1 << 61  # integers stay below this
EXACT = 1 << 53  # integers up to here are what they are in floating point
MOST_ROWS = 12_000  # a matrix of distances has 8 bytes for each pair
STEPS = 200_000  # of the search for a row; beyond, the bound by single rows is taken, which proves less


def distances(columns: Sequence[Sequence[Fraction]], weights: Sequence[Fraction], factor: Fraction) -> Ints:
    """factor · d of all pairs of rows, rounded down, or a little less, int64 (n, n)."""
    n = len(columns[0])
    found = np.zeros((n, n))
    for column, weight in zip(columns, weights, strict=True):
        scale = math.lcm(*(value.denominator for value in column))
        units = [int(value * scale) for value in column]
        low = min(units)
        if max(units) - low >= EXACT:
            raise InputError("a column has values with too many digits for this certificate")
        points: Floats = np.array([unit - low for unit in units], dtype=np.float64)
        each = float(weight * factor / scale**2)
        for i in range(n):
            found[i] += each * (points - points[i]) ** 2
    # weight, square, product and sum round by at most 2^-53 each; twice that to be safe
    found *= 1 - 2 * (len(columns) + 4) * 2.0**-53
    if not (found < LIMIT).all():
        raise InputError("the denominator of the certificate is too large for exact numbers")
    exact: Ints = np.floor(found).astype(np.int64)
    return exact


class _Search:
    """The least reduced cost of the groups of a row. d: int64 (n, n); multipliers: λ, in the same units."""

    def __init__(self, d: Ints, multipliers: Ints, cuts: Sequence[RankOneCut], k: int) -> None:
        self.d, self.multipliers, self.k, self.cuts = d, multipliers, k, cuts
        n = len(d)
        self.of_row: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for number, cut in enumerate(cuts):
            for row, weight in zip(cut.rows.tolist(), cut.weights.tolist(), strict=True):
                self.of_row[row].append((number, weight))
        most = min(2 * k - 2, n - 1)
        smallest = np.empty((n, most), np.int64)
        for i in range(n):
            others = np.delete(d[i], i)
            smallest[i] = np.sort(np.partition(others, most - 1)[:most]) if most else others[:0]
        self.sums = np.concatenate([np.zeros((n, 1), np.int64), np.cumsum(smallest, axis=1)], axis=1)
        self.order = np.argsort(-multipliers, kind="stable")
        self.best = self.steps = 0

    def least(self, place: int) -> int:
        """Of the groups whose first row is at this place of the order; 0 where none is negative."""
        n, self.best, self.steps = len(self.d), 0, 0
        row, after = int(self.order[place]), self.order[place + 1 :]
        weakest = 0
        for size in range(self.k, min(2 * self.k - 1, n) + 1):
            q, twice = size - 1, 2 * size
            if q > len(after):
                break
            start = twice * (self._charge([row]) - int(self.multipliers[row]))
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

    def _charge(self, rows: Sequence[int]) -> int:
        """What a group of these rows pays for cuts."""
        held: dict[int, int] = {}
        for row in rows:
            for number, weight in self.of_row[row]:
                held[number] = held.get(number, 0) + weight
        return sum(
            self.cuts[number].multiplier * (sum_of // self.cuts[number].denominator) for number, sum_of in held.items()
        )

    def _grow(self, rows: list[int], others: Ints, crossed: Ints, base: int, size: int) -> None:
        """base: 2s times the reduced cost of the rows so far; crossed: of the others, their distances to them."""
        q, twice = size - len(rows), 2 * size
        value = 2 * crossed - twice * self.multipliers[others] + self.sums[others, q - 1]
        order = np.argsort(value, kind="stable")
        value, others, crossed = value[order], others[order], crossed[order]
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(value)])
        paid = self._charge(rows)
        for j in range(len(others) - q + 1):
            if base + int(sums[j + q] - sums[j]) >= twice * self.best or self.steps > STEPS:
                return
            self.steps += 1
            chosen = [*rows, int(others[j])]
            here = base + 2 * int(crossed[j]) - twice * int(self.multipliers[others[j]])
            here += twice * (self._charge(chosen) - paid)
            if q == 1:
                self.best = min(self.best, here // twice)
                continue
            # this one, the cheapest q - 2 after it, and one more
            left = twice * self.best - base - int(value[j]) - int(sums[j + q - 1] - sums[j + 1])
            keep = value[j + 1 :] < left
            keep[: q - 1] = True
            some = others[j + 1 :][keep]
            self._grow(chosen, some, crossed[j + 1 :][keep] + self.d[others[j], some], here, size)


def square_bound(d: Ints, multipliers: Ints, cuts: Sequence[RankOneCut], k: int) -> int:
    """What is proven about tables with groups of k rows or more, in the units of d and of the multipliers."""
    n = len(d)
    largest = int(np.abs(multipliers).max(initial=0)) + sum(cut.multiplier * int(cut.weights.sum()) for cut in cuts)
    if 8 * k * (2 * k * int(d.max(initial=0)) + largest) * max(k, 1) >= LIMIT:
        raise InputError("the numbers of the certificate are too large for exact ones")
    search = _Search(d, multipliers, cuts, k)
    total = sum(multipliers.tolist())
    ones = np.ones(n, np.int64)
    total -= sum(cut.multiplier * cut.limit(ones) for cut in cuts)
    return int(total + sum(search.least(place) for place in range(n)))
