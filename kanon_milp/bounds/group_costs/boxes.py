"""Pricing of groups by the penalties of their boxes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from kanon_milp.bounds.group_costs.pricing import Priced
from kanon_milp.bounds.narrowest_boxes import narrowest_penalties
from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.kernels.box_pricing import cheapest_of_seed
from kanon_milp.presolve.boxes import BoxCosts
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.limit import NO_LIMIT, Limit


class BoxPricing:
    """As `GroupPricing` says; all is computed in integers.

    smallest, largest: rows of a group. A group of more costs no less than its parts, so these are enough.
    """

    def __init__(self, boxes: BoxCosts, smallest: int, largest: int, limit: Limit = NO_LIMIT) -> None:
        self.boxes, self.n, self.smallest, self.largest = boxes, boxes.n, smallest, largest
        self.unit, self.units, self.slack = Fraction(1), boxes.scale, boxes.n * boxes.slack
        self.start: Floats = narrowest_penalties(boxes, smallest, None, limit) / self.units

    def first(self) -> Ints32:
        """None but those of a table."""
        return np.empty((0, self.largest), np.int32)

    def rounded_up(self, bound: Fraction) -> Fraction:
        """To what a table may cost."""
        grid = self.boxes.grid
        return Fraction(math.ceil(bound * grid), grid) if grid else bound

    def costs(self, rows: Ints32) -> Floats:
        """Of groups, in floating point. rows: (C, largest), -1 for none."""
        return self.exact_costs(rows) / self.units

    def exact_costs(self, rows: Ints32) -> Ints:
        """As `GroupPricing` says."""
        found: Ints = self.boxes.penalties(rows) * (rows >= 0).sum(axis=1)
        return found

    def __call__(
        self, multipliers: Floats, cuts: PricedCuts[np.float64], below: float, nodes: int, columns: int,
        *, share: float = 0.0, seeds: Ints | None = None, limit: Limit = NO_LIMIT,
    ) -> Priced:  # fmt: skip
        """As `GroupPricing` says."""
        rounded = PricedCuts(*cuts[:4], np.rint(cuts.multipliers * self.units).astype(np.int64))
        lambdas = np.rint(multipliers * self.units).astype(np.int64)
        found = self._of_seeds(lambdas, rounded, round(below * self.units), nodes, columns, share, seeds, limit)
        # of the groups of a box only the cheapest is listed
        complete = found.complete & (below <= 0)
        return Priced(found.least / self.units, complete, found.rows, found.reduced / self.units, found.seeds)

    def proven(self, multipliers: Ints, cuts: PricedCuts[np.int64], nodes: int, limit: Limit = NO_LIMIT) -> int:
        """As `GroupPricing` says."""
        found = self._of_seeds(multipliers, cuts, 0, nodes, 1, 1.0, None, limit)
        return int(found.least.sum()) - self.slack

    def _of_seeds(
        self, multipliers: Ints, cuts: PricedCuts[np.int64], below: int, nodes: int, columns: int, share: float,
        seeds: Ints | None, limit: Limit,
    ) -> Priced:  # fmt: skip
        order = np.argsort(-multipliers, kind="stable")
        search = self.boxes.search(multipliers, tuple(cuts), order, self.smallest, self.largest, columns)
        search.share = share
        asked = order if seeds is None else seeds
        least, complete = np.zeros(self.n, np.int64), np.ones(self.n, np.bool_)
        rows, reduced = [np.empty((0, self.largest), np.int32)], [np.empty(0, np.int64)]
        counts = []
        for seed in asked.tolist():
            if limit.over:
                nodes = 0
            search.below = below
            complete[seed] = cheapest_of_seed(search, seed, nodes)
            least[seed] = search.lowest
            counts.append(search.count)
            rows.append(np.array(search.rows[: search.count]))
            reduced.append(np.array(search.reduced[: search.count]))
        return Priced(least, complete, np.concatenate(rows), np.concatenate(reduced), np.repeat(asked, counts))
