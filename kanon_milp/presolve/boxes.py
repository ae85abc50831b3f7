"""Boxes as arrays: the values of the rows, and what the box of some of them costs each of its rows, in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.kernels.box_pricing import BoxSearch, penalty_of
from kanon_milp.problem.group_costs.boxes import BoxColumn, BoxPenalty
from kanon_milp.system.arrays import Ints, Ints32

INTERVAL, SET, TREE = 0, 1, 2  # kinds of columns, as the kernel has them
FINE = 1 << 34  # units that a cost of 1 has at least, so that multipliers can be rounded to them
LARGEST = 1 << 58  # the costs of a group stay below this, in units


@dataclass(frozen=True, eq=False)
class BoxCosts:
    """What the boxes of groups cost, in units of 1/`scale`.

    codes: int32 (n, m), value of each row in each column. The other arrays are those that `BoxSearch` takes: kind,
    begin, place, further, height, tree, label, cost. scale: an integer. slack: units by which the cost of a row may be
    below what is computed; 0 where all costs are multiples of the unit, else 1 for each column of intervals. grid: the
    costs of all tables are multiples of 1/`grid`; 0 where that is not known.
    """

    codes: Ints32
    kind: Ints
    begin: Ints
    place: Ints
    further: Ints
    height: Ints
    tree: Ints
    label: Ints
    cost: Ints
    scale: int
    slack: int
    grid: int

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.codes)

    @classmethod
    def of(cls, cost: BoxPenalty, largest: int) -> BoxCosts:
        """The boxes of groups of at most `largest` rows."""
        columns = cost.columns
        per_row = sum((column.weight for column in columns), Fraction(0)) or Fraction(1)
        denominator = math.lcm(*(each.denominator for column in columns for each in _units(column)))
        finest = int(LARGEST / (largest * per_row))
        scale = denominator * max(-(-FINE // denominator), 1)
        exact = scale <= finest
        if not exact:
            scale = max(min(FINE, finest), 1)
        kinds = [_kind(column) for column in columns]
        begin = np.cumsum([0, *(len(column.domain) for column in columns)]).astype(np.int64)
        place, further = np.zeros(int(begin[-1]), np.int64), np.zeros(len(columns), np.int64)
        height, tree = np.zeros((2, len(columns)), np.int64)
        labels: list[int] = []
        costs: list[int] = []
        for c, column in enumerate(columns):
            unit = column.weight * scale
            if kinds[c] == INTERVAL:
                assert column.numbers is not None
                low = min(column.numbers)
                place[begin[c] : begin[c + 1]] = [int(unit * (x - low) / column.extent) for x in column.numbers]
            elif kinds[c] == SET:
                further[c] = int(unit / max(len(column.domain) - 1, 1))
            else:
                assert column.levels is not None
                assert column.levels.cell_costs is not None
                height[c], tree[c] = len(column.levels.label_of), len(labels)
                labels += column.levels.label_of.T.reshape(-1).tolist()
                costs += [int(unit * each) for value in zip(*column.levels.cell_costs, strict=True) for each in value]
        return cls(
            np.ascontiguousarray(np.column_stack([column.codes for column in columns]), np.int32),
            np.array(kinds, np.int64), begin, place, further, height, tree,
            np.array(labels, np.int64), np.array(costs, np.int64),
            scale, 0 if exact else kinds.count(INTERVAL), denominator if exact else 0,
        )  # fmt: skip

    def search(
        self, multipliers: Ints, cuts: tuple[Ints, ...], order: Ints, smallest: int, largest: int, columns: int
    ) -> BoxSearch:
        """What prices groups. multipliers: int64 (n,), in units. cuts: the fields of `PricedCuts`, multipliers int64.
        order: int64 (n,), the rows by falling multipliers."""
        return BoxSearch(self, multipliers, cuts, order, smallest, largest, columns)

    def plain(self, smallest: int, largest: int, order: Ints | None = None) -> BoxSearch:
        """The same without cuts, and all multipliers above the penalty of any box, so that each group is worth
        something: the cheapest one is that of the smallest penalty."""
        nothing = np.zeros(0, np.int64)
        cuts = (np.zeros(self.n + 1, np.int64), nothing, nothing, nothing, nothing)
        rows = np.arange(self.n) if order is None else order
        return self.search(np.full(self.n, self.highest), cuts, rows, smallest, largest, 1)

    @property
    def highest(self) -> int:
        """More units than any box costs a row."""
        return int(self.place.sum() + (self.further * np.diff(self.begin)).sum() + self.cost.sum()) + 1

    def penalties(self, rows: Ints32) -> Ints:
        """Units that the box of each group costs each of its rows, int64 (C,). rows: int32 (C, largest), -1 for
        none."""
        search = self.plain(1, 1)
        sizes = (rows >= 0).sum(axis=1)
        wide = rows.astype(np.int64)
        return np.array([penalty_of(search, group, size) for group, size in zip(wide, sizes.tolist(), strict=True)])


def _kind(column: BoxColumn) -> int:
    return TREE if column.levels is not None else INTERVAL if column.numbers is not None else SET


def _units(column: BoxColumn) -> list[Fraction]:
    """Of which the costs of a column are multiples."""
    if column.levels is not None:
        return [column.weight * each for level in column.levels.cell_costs or () for each in level]
    if column.numbers is not None:
        low = min(column.numbers)
        return [column.weight * (x - low) / column.extent for x in column.numbers]
    return [column.weight / max(len(column.domain) - 1, 1)]
