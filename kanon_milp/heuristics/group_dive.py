"""Tables from the linear program over groups: a dive. Groups that the program uses most are fixed, groups that the rows
left could be in at its new prices are added, and it is solved again, until all rows are placed.

Each row has a column of its own that costs more than its group is worth, so that the program always has a solution; a
row left with that joins the group that it raises least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from kanon_milp.bounds.group_costs.pricing import GroupPricing
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, PricedCuts
from kanon_milp.heuristics.group_partitions import Pool
from kanon_milp.solvers.highs import new_highs
from kanon_milp.system.arrays import Flags, Floats, Ints32
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import DEFAULT, Parameters, number, parameters

ALL = 1 - 1e-6  # of a group


@parameters("group_dive")
@dataclass(frozen=True)
class DiveParameters:
    """Dives through the linear program over groups. Tuned on Tarragona and Census, k = 3, 4, 5."""

    columns: int = number(20, "of the pool for each row, those with the least reduced cost", least=1)
    fixed: float = number(1 / 60, "groups fixed at a time, for each row that is left", most=1)
    sure: float = number(0.5, "share of a group in the linear program, below which only a few are fixed", most=1)
    few: int = number(3, "groups that are fixed at a time, at most, where their share is smaller", least=1)
    unplaced: float = number(3.0, "times what its multiplier says is what a row in no group costs", least=1)
    priced: int = number(3, "columns of a seed that are added at a time", least=0)
    nodes: int = number(2_000, "of the search for the groups that are priced in a dive", least=1)
    noise: float = number(0.2, "of shares, at random, from the second dive on", most=1)


class Dive:
    """One dive. table: int32 (G, largest), as `Pool.rows`, None before the end. found: columns that were added."""

    def __init__(
        self, pool: Pool, reduced: Floats, multipliers: Floats, priced: GroupPricing, params: Parameters = DEFAULT
    ) -> None:
        """reduced: reduced cost of each group of the pool at these multipliers of rows."""
        self._params, self._priced, n = params.of(DiveParameters), priced, priced.n
        chosen = np.sort(np.argsort(reduced, kind="stable")[: self._params.columns * n])
        self._rows, self._n = pool.rows[chosen], n
        self._free: Flags = np.ones(n, np.bool_)
        self._fixed: Flags = np.zeros(len(chosen), np.bool_)
        self._known = {each.tobytes() for each in self._rows}
        self._pool_size = len(chosen)
        self._highs: Any = new_highs()
        none = np.zeros(0, np.int32)
        self._highs.addRows(n, np.ones(n), np.ones(n), 0, np.zeros(n, np.int32), none, np.zeros(0))
        each = np.arange(n, dtype=np.int32)
        unplaced = self._params.unplaced * (np.maximum(multipliers, 0.0) + 1.0)  # 1 is about what a row loses
        self._highs.addCols(n, unplaced, np.zeros(n), np.ones(n), n, each, each, np.ones(n))
        self._add(self._rows, pool.costs[chosen])

    @property
    def found(self) -> Ints32:
        """Groups that were not in the pool."""
        return self._rows[self._pool_size :]

    def run(self, limit: Limit, noise: np.random.Generator | None = None) -> Ints32 | None:
        """The table at the end, None where the limit comes first. noise: for another table than the last one."""
        while self._free.any():
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + limit.left)  # of all calls together
            self._highs.run()
            if limit.over or self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            solution = self._highs.getSolution()
            share: Floats = np.array(solution.col_value)[self._n :]
            if noise is not None:
                share = np.where(share < ALL, share * (1 - self._params.noise * noise.random(len(share))), share)
            fixed = self._fix(share)
            if not (self._price(np.array(solution.row_dual), limit) or fixed):
                break
        return self._completed()

    def _fix(self, share: Floats) -> bool:
        """Fix the groups that are used most; whether there are any."""
        most = max(int(self._free.sum() * self._params.fixed), 1)
        new, few = [], 0
        for column in np.argsort(-share, kind="stable").tolist():
            if share[column] < 1e-6 or few >= most or (share[column] < self._params.sure and few >= self._params.few):
                break
            rows = self._rows[column]
            rows = rows[rows >= 0]
            if not self._fixed[column] and self._free[rows].all():
                new.append(column)
                self._free[rows] = False
                few += bool(share[column] < ALL)
        self._fixed[new] = True
        columns = np.flatnonzero(self._taken(self._rows)).astype(np.int32)  # those that are fixed are among them
        held = self._fixed[columns].astype(np.float64)
        self._highs.changeColsBounds(len(columns), columns + self._n, held, held)
        return bool(new)

    def _taken(self, rows: Ints32) -> Flags:
        """Whether some of the rows of these groups are placed."""
        taken: Flags = np.asarray(((rows >= 0) & ~self._free[rows]).any(axis=1), np.bool_)
        return taken

    def _price(self, multipliers: Floats, limit: Limit) -> bool:
        """Add groups of rows that are left, at the multipliers of the last linear program; whether there are any."""
        seeds = np.flatnonzero(self._free)
        if not len(seeds) or not self._params.priced:
            return False
        # a row that is placed has a multiplier with which no group wants it
        worst = 10.0 * (1.0 + float(np.abs(multipliers).max())) * self._priced.largest
        asked = np.where(self._free, multipliers, -worst)
        cuts = PricedCuts(*NO_CUTS.by_type(self._n), np.zeros(0))
        found = self._priced(
            asked, cuts, -1e-7, self._params.nodes, self._params.priced, seeds=seeds, share=0.3, limit=limit
        )
        rows = found.rows[~self._taken(found.rows)]
        rows = Pool.of(rows, self._priced.costs).rows
        new = np.array([each.tobytes() not in self._known for each in rows], np.bool_)
        if new.any():
            self._known |= {each.tobytes() for each in rows[new]}
            self._rows = np.concatenate([self._rows, rows[new]])
            self._fixed = np.concatenate([self._fixed, np.zeros(int(new.sum()), np.bool_)])
            self._add(rows[new], self._priced.costs(rows[new]))
        return bool(new.any())

    def _add(self, rows: Ints32, costs: Floats) -> None:
        at, count = np.nonzero(rows >= 0)[0], len(rows)
        starts = np.searchsorted(at, np.arange(count)).astype(np.int32)
        held = rows[rows >= 0]
        self._highs.addCols(count, costs, np.zeros(count), np.ones(count), len(held), starts, held, np.ones(len(held)))

    def _completed(self) -> Ints32 | None:
        """The fixed groups, with the rows that are left."""
        table = self._rows[self._fixed]
        for row in np.flatnonzero(self._free).tolist():
            joined = table[table[:, -1] < 0]
            if not len(joined):
                return None
            longer = joined.copy()
            longer[np.arange(len(joined)), (joined >= 0).sum(axis=1)] = row
            best = int((self._priced.costs(longer) - self._priced.costs(joined)).argmin())
            at = np.flatnonzero(table[:, -1] < 0)[best]
            table[at] = longer[best]
        return table
