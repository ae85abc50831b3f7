"""The master problem: the linear program over the groups found so far, with rank-1 rows; columns and rows come and go.

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i for free row types i,   Σ_c ⌊p_R·a_c / d_R⌋ θ_c ≤ ⌊p_R·n / d_R⌋

Its value is an upper bound on what the part's multipliers can prove; where no group is left that has a negative
reduced cost, it is what they prove (Dantzig, Wolfe 1960). Prices are taken between the best point so far and the newest
(Wentges 1997): those of the master alone jump about.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, cast

import highspy
import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.rank_one import NO_ROWS, RankOneRows
from kanon_milp.columns.part import Part, Point, Pricing, coefficients
from kanon_milp.groups import Groups

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEGATIVE = -1e-7  # reduced cost of a group that is worth adding
SMOOTH = 0.7  # share of the best point in the prices, at first
PATIENCE = 3  # rounds after which a rank-1 row goes that has charged nothing in any of them
NEAR_ENOUGH = 0.3  # reduced cost, in units, up to which the cheapest groups of all candidates are among the first
REACH = 0.15  # how far multipliers may go from the best ones at a time, in multiples of the dearest candidate's cost
FARTHEST = 100.0  # the same, beyond which it gives up: groups without these columns cannot place the rows


@dataclass(frozen=True)
class Limits:
    """When to stop: a moment of `time.perf_counter`, an event; near: distance of the two bounds that is good enough."""

    ends: float = float("inf")
    near: float = 0.02
    interrupt: threading.Event | None = None

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() > self.ends or (self.interrupt is not None and self.interrupt.is_set())


class Master:
    """A part's linear program, its best point and what this proves."""

    def __init__(self, part: Part, groups: Groups) -> None:
        """groups: the first columns; those of a table, for example.

        Before them stand two artificial columns for each free row type, one with 1 and one with -1 in its row: their
        costs keep λ near the best point (boxstep method, Marsten, Hogan, Blankenship 1975); their upper bounds, n_i,
        let it go farther where there is no dual point near (du Merle, Villeneuve, Desrosiers, Hansen 1999).
        """
        self.part, self.pricing = part, Pricing(part)
        self.best = Point(part.multipliers[: part.free].copy(), part.own_charges)
        self.rows, self.idle = NO_ROWS, np.zeros(0, np.int64)
        self.groups, self.cost = Groups.none(), np.zeros(0)
        self.known: set[bytes] = set()
        self.highs: Any = cast(Any, highspy).Highs()
        self.highs.setOptionValue("output_flag", False)
        # no word of threads: HiGHS refuses a number other than that of another model in the calling thread
        self.highs.setOptionValue("presolve", "off")
        right, count = part.counts[: part.free].astype(np.float64), part.free
        none = np.zeros(0, np.int32)
        self.highs.addRows(count, right, right, 0, np.zeros(count, np.int32), none, np.zeros(0))
        each = np.arange(count, dtype=np.int32)
        for sign in (1.0, -1.0):
            self.highs.addCols(
                count, np.zeros(count), np.zeros(count), right, count, each, each,
                np.full(count, sign),
            )  # fmt: skip
        self.reach = REACH * max(float(part.cost.max()), 1.0)
        self.share = np.zeros(0)
        self._append_rows(part.own)
        self.add_groups(groups)
        self.value, found = self.pricing(self.best, below=NEAR_ENOUGH)
        self.add_groups(found)
        self.upper = float("inf")
        self.iterations = 0

    def add_groups(self, groups: Groups) -> int:
        """Add those that are new and hold a free row; how many."""
        groups = groups.subset(groups.holds(self.part.free))
        keys = groups.keys()
        new = np.zeros(groups.count, dtype=bool)
        for c, key in enumerate(keys):
            if key not in self.known:
                self.known.add(key)
                new[c] = True
        groups = groups.subset(new)
        if not groups.count:
            return 0
        cost = self.pricing.costs(groups)
        starts, indices, values = self._columns(groups)
        count = groups.count
        self.highs.addCols(
            count, cost, np.zeros(count), np.full(count, highspy.kHighsInf), len(indices), starts, indices, values
        )
        self.groups, self.cost = self.groups.joined(groups), np.concatenate([self.cost, cost])
        return count

    def _columns(self, groups: Groups) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
        """Matrix columns of groups: rows of free row types, then rank-1 rows."""
        entry = groups.of_entry()
        free = groups.types < self.part.free
        row, column, times = coefficients(groups, self.rows, len(self.part.counts))
        of_column = np.concatenate([entry[free], column])
        indices = np.concatenate([groups.types[free], row + self.part.free])
        values = np.concatenate([groups.copies[free], times]).astype(np.float64)
        order = np.argsort(of_column, kind="stable")
        starts = np.searchsorted(of_column[order], np.arange(groups.count))
        return starts.astype(np.int32), indices[order].astype(np.int32), values[order]

    def add_rows(self, rows: RankOneRows) -> None:
        """Add rank-1 rows of free row types."""
        self._append_rows(rows)
        self.best = Point(self.best.multipliers, np.concatenate([self.best.charges, np.zeros(rows.count)]))

    def _append_rows(self, rows: RankOneRows) -> None:
        if not rows.count:
            return
        row, column, times = coefficients(self.groups, rows, len(self.part.counts))
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(rows.count)).astype(np.int32)
        limits = rows.limits(self.part.counts).astype(np.float64)
        self.highs.addRows(
            rows.count, np.full(rows.count, -highspy.kHighsInf), limits, len(row), starts,
            (column[order] + 2 * self.part.free).astype(np.int32), times[order].astype(np.float64),
        )  # fmt: skip
        self.rows = self.rows.joined(rows)
        self.idle = np.concatenate([self.idle, np.zeros(rows.count, np.int64)])
        self.pricing.set_rows(self.rows)

    def purge_rows(self) -> int:
        """Take out the rank-1 rows that neither the newest nor the best point charges; how many."""
        idle = (self.newest.charges < 1e-9) & (self.best.charges < 1e-9)
        self.idle = np.where(idle, self.idle + 1, 0)
        slack = self.idle >= PATIENCE
        gone = np.flatnonzero(slack)
        if len(gone):
            self.highs.deleteRows(len(gone), (gone + self.part.free).astype(np.int32))
            self.rows, self.idle = self.rows.subset(~slack), self.idle[~slack]
            self.pricing.set_rows(self.rows)
            self.best = Point(self.best.multipliers, self.best.charges[~slack])
        return len(gone)

    def solve(self, limits: Limits) -> bool:
        """Generate columns until value and upper bound are near each other, or the time is over.

        False if the linear program was not solved to its end, for want of time or by HiGHS's fault: then `newest`,
        `share` and `upper` are of an earlier one, and nothing more is to be had from this master.
        """
        farthest = FARTHEST * max(float(self.part.cost.max()), 1.0)
        while True:
            before = self.value
            if not self._solve_near(limits):
                return False
            if limits.over or self.artificial < 1e-6 or self.reach > farthest:
                return True
            if self.value < before + limits.near:
                self.reach *= 4  # what is better, or any point without negative reduced costs, is farther away

    def _solve_near(self, limits: Limits) -> bool:
        """The same, with multipliers no farther from the best ones than `reach`."""
        free, smooth = self.part.free, SMOOTH
        self.highs.changeColsCost(
            2 * free,
            np.arange(2 * free, dtype=np.int32),
            np.concatenate([self.best.multipliers + self.reach, self.reach - self.best.multipliers]),
        )
        self.upper = float("inf")
        while not limits.over:
            if not self._run(limits):
                return False
            self.iterations += 1
            if self.upper - self.value < limits.near:
                break
            between = self.newest.towards(self.best, smooth)
            value, groups = self.pricing(between, NEGATIVE)
            better = value > self.value
            if better:
                self.value, self.best = value, between
            added = self.add_groups(groups)
            if smooth == 0.0 and not added:
                break
            if not added or self._negative(groups) == 0:
                # nothing that the newest prices object to: nearer to these
                smooth = smooth / 2 if smooth > 0.1 else 0.0
            elif better:
                smooth = min(SMOOTH, smooth + 0.1)
        return self._run(limits)

    def _negative(self, groups: Groups) -> int:
        """How many of the groups have a negative reduced cost at the newest point."""
        entry = groups.of_entry()
        free = groups.types < self.part.free
        worth = np.bincount(
            entry[free],
            weights=self.newest.multipliers[groups.types[free]] * groups.copies[free],
            minlength=groups.count,
        )
        row, column, times = coefficients(groups, self.rows, len(self.part.counts))
        charge = np.bincount(column, weights=self.newest.charges[row] * times, minlength=groups.count)
        return int((self.pricing.costs(groups) - worth + charge < NEGATIVE).sum())

    def _run(self, limits: Limits) -> bool:
        """Solve the linear program over the groups at hand; False if that does not succeed."""
        for _ in range(2):
            left = max(limits.ends - time.perf_counter(), 0.0)
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + left)  # it counts all runs together
            self.highs.run()
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                break
            if limits.over:
                return False
            self.highs.clearSolver()  # once more, without the basis it began with
        else:
            return False
        solution = self.highs.getSolution()
        dual = np.array(solution.row_dual)
        self.newest = Point(dual[: self.part.free], np.maximum(-dual[self.part.free :], 0.0))
        level = np.array(solution.col_value)
        self.artificial, self.share = float(level[: 2 * self.part.free].sum()), level[2 * self.part.free :]
        self.upper = float(self.highs.getInfo().objective_function_value)
        return True
