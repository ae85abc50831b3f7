"""What multipliers prove about costs of whole groups, whatever the cost: groups by their first rows, in integers.

A group belongs to its first row in order of falling λ, so a table has at most one group of each row, and for any λ and
ν ≥ 0

    loss ≥ Σ_i λ_i - Σ_R ν_R ⌊Σ p_R / d_R⌋ + Σ_rows min(0, least of cost - Σ λ + Σ_R ν_R ⌊p_R·a / d_R⌋ of its groups).

The least is looked for by each kind of cost in its own file. Where a search takes too many steps, what single rows say
of it is taken, which proves less. Groups have k to 2k - 1 rows: a larger one costs no less than parts of it do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.rank_one import RankOneCut

LIMIT = 1 << 61  # integers stay below this
STEPS = 200_000  # of the search for a row


class SeedSearch(ABC):
    """The least reduced cost of the groups of a row. multipliers: λ, int64 (n,), in the units of costs."""

    def __init__(self, multipliers: Ints, cuts: Sequence[RankOneCut], k: int) -> None:
        self.multipliers, self.k, self.cuts = multipliers, k, cuts
        self.n = len(multipliers)
        self.of_row: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]
        for number, cut in enumerate(cuts):
            for row, weight in zip(cut.rows.tolist(), cut.weights.tolist(), strict=True):
                self.of_row[row].append((number, weight))
        self.order = np.argsort(-multipliers, kind="stable")
        self.best = self.steps = 0

    @abstractmethod
    def least(self, place: int) -> int:
        """Of the groups whose first row is at this place of the order; 0 where none is negative."""

    def charge(self, rows: Sequence[int]) -> int:
        """What a group of these rows pays for cuts."""
        held: dict[int, int] = {}
        for row in rows:
            for number, weight in self.of_row[row]:
                held[number] = held.get(number, 0) + weight
        return sum(
            self.cuts[number].multiplier * (sum_of // self.cuts[number].denominator) for number, sum_of in held.items()
        )

    def proven(self) -> int:
        """The right side, in the units of costs and multipliers."""
        total = sum(self.multipliers.tolist())
        ones = np.ones(self.n, np.int64)
        total -= sum(cut.multiplier * cut.limit(ones) for cut in self.cuts)
        return int(total + sum(self.least(place) for place in range(self.n)))


def check_size(cost: int, multipliers: Ints, cuts: Sequence[RankOneCut], k: int) -> None:
    """Raise InputError where numbers within a search may be too large. cost: of a row of a group, at most."""
    largest = int(np.abs(multipliers).max(initial=0)) + sum(cut.multiplier * int(cut.weights.sum()) for cut in cuts)
    if 8 * k * (2 * k * cost + largest) * max(k, 1) >= LIMIT:
        raise InputError("the numbers of the certificate are too large for exact ones")
