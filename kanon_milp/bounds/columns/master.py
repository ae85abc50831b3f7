"""The master problem: the linear program over the groups found so far, with rank-1 cuts; columns and rows come and go.

This is the program of `kanon_milp.bounds.columns.program` over these groups c alone:

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i for all row types i,   Σ_c ⌊p_R·a_c / d_R⌋ θ_c ≤ ⌊p_R·n / d_R⌋

Its multipliers are λ_i of the rows of row types and -ν_R of the rank-1 cuts. Where no group is left that has a negative
reduced cost at these, its value is L(λ, ν), what they prove (Dantzig, Wolfe 1960). Prices are taken between the best
point so far and the newest (Wentges 1997): those of the master alone jump about.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, cast

import highspy
import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.columns.program import GroupProgram, Point, Pricing, coefficients
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts
from kanon_milp.presolve.group_lists import Groups

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEGATIVE = -1e-7  # reduced cost of a group that is worth adding
SMOOTH = 0.7  # share of the best point in the prices, at first
PATIENCE = 3  # rounds after which a rank-1 cut goes that has charged nothing in any of them
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
    """The linear program over the groups found so far, the best point and what this proves."""

    def __init__(self, program: GroupProgram, groups: Groups) -> None:
        """groups: the first columns; those of a table, for example.

        Before them stand two artificial columns for each row type, one with 1 and one with -1 in its row: their
        costs keep λ near the best point (boxstep method, Marsten, Hogan, Blankenship 1975); their upper bounds, n_i,
        let it go farther where there is no dual point near (du Merle, Villeneuve, Desrosiers, Hansen 1999).
        """
        self.program, self.pricing = program, Pricing(program)
        self.best = program.start
        self.rows, self.idle = NO_CUTS, np.zeros(0, np.int64)
        self.groups = Groups.none()
        self.known: set[bytes] = set()
        self.highs: Any = cast(Any, highspy).Highs()
        self.highs.setOptionValue("output_flag", False)
        # no word of threads: HiGHS refuses a number other than that of another model in the calling thread
        self.highs.setOptionValue("presolve", "off")
        right, count = program.counts.astype(np.float64), program.types
        none = np.zeros(0, np.int32)
        self.highs.addRows(count, right, right, 0, np.zeros(count, np.int32), none, np.zeros(0))
        each = np.arange(count, dtype=np.int32)
        for sign in (1.0, -1.0):
            self.highs.addCols(
                count, np.zeros(count), np.zeros(count), right, count, each, each,
                np.full(count, sign),
            )  # fmt: skip
        self.reach = REACH * max(float(program.cost.max()), 1.0)
        self.share = np.zeros(0)
        self._append_rows(program.rank_one)
        self.add_groups(groups)
        self.value, found = self.pricing(self.best, below=NEAR_ENOUGH)
        self.add_groups(found)
        self.upper = float("inf")
        self.iterations = 0

    def add_groups(self, groups: Groups) -> int:
        """Add those that are new; how many."""
        keys = groups.keys()
        new = np.zeros(groups.count, dtype=bool)
        for c, key in enumerate(keys):
            if key not in self.known:
                self.known.add(key)
                new[c] = True
        groups = groups.subset(new)
        if not groups.count:
            return 0
        cost = self.program.costs(groups)
        starts, indices, values = self._columns(groups)
        count = groups.count
        self.highs.addCols(
            count, cost, np.zeros(count), np.full(count, highspy.kHighsInf), len(indices), starts, indices, values
        )
        self.groups = self.groups.joined(groups)
        return count

    def _columns(self, groups: Groups) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
        """Matrix columns of groups: rows of row types, then rank-1 cuts."""
        row, column, times = coefficients(groups, self.rows, self.program.types)
        of_column = np.concatenate([groups.of_entry(), column])
        indices = np.concatenate([groups.types, row + self.program.types])
        values = np.concatenate([groups.copies, times]).astype(np.float64)
        order = np.argsort(of_column, kind="stable")
        starts = np.searchsorted(of_column[order], np.arange(groups.count))
        return starts.astype(np.int32), indices[order].astype(np.int32), values[order]

    def add_rows(self, rows: RankOneCuts) -> None:
        """Add rank-1 cuts; they charge nothing at the best point."""
        self._append_rows(rows)
        self.best = Point(self.best.multipliers, np.concatenate([self.best.charges, np.zeros(rows.count)]))

    def _append_rows(self, rows: RankOneCuts) -> None:
        if not rows.count:
            return
        row, column, times = coefficients(self.groups, rows, self.program.types)
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(rows.count)).astype(np.int32)
        limits = rows.limits(self.program.counts).astype(np.float64)
        self.highs.addRows(
            rows.count, np.full(rows.count, -highspy.kHighsInf), limits, len(row), starts,
            (column[order] + 2 * self.program.types).astype(np.int32), times[order].astype(np.float64),
        )  # fmt: skip
        self.rows = self.rows.joined(rows)
        self.idle = np.concatenate([self.idle, np.zeros(rows.count, np.int64)])
        self.pricing.set_rows(self.rows)

    def purge_rows(self) -> int:
        """Take out the rank-1 cuts that neither the newest nor the best point charges; how many."""
        idle = (self.newest.charges < 1e-9) & (self.best.charges < 1e-9)
        self.idle = np.where(idle, self.idle + 1, 0)
        slack = self.idle >= PATIENCE
        gone = np.flatnonzero(slack)
        if len(gone):
            self.highs.deleteRows(len(gone), (gone + self.program.types).astype(np.int32))
            self.rows, self.idle = self.rows.subset(~slack), self.idle[~slack]
            self.pricing.set_rows(self.rows)
            self.best = Point(self.best.multipliers, self.best.charges[~slack])
        return len(gone)

    def solve(self, limits: Limits) -> bool:
        """Generate columns until value and upper bound are near each other, or the time is over.

        False if the linear program was not solved to its end, for want of time or by HiGHS's fault: then `newest`,
        `share` and `upper` are of an earlier one, and nothing more is to be had from this master. False as well if
        there is no table.
        """
        dearest = float(self.program.cost.max())
        farthest = FARTHEST * max(dearest, 1.0)
        # no table costs more than all rows with the dearest candidate and each surcharge once
        most = dearest * float(self.program.counts.sum()) + float(self.program.surcharge.sum())
        while True:
            before = self.value
            if not self._solve_near(limits) or self.value > most + 1e-3:
                return False
            if limits.over or self.artificial < 1e-6 or self.reach > farthest:
                return True
            if self.value < before + limits.near:
                self.reach *= 4  # what is better, or any point without negative reduced costs, is farther away

    def _solve_near(self, limits: Limits) -> bool:
        """The same, with multipliers no farther from the best ones than `reach`."""
        artificial, smooth = 2 * self.program.types, SMOOTH
        self.highs.changeColsCost(
            artificial,
            np.arange(artificial, dtype=np.int32),
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
        paid = self.newest.multipliers[groups.types] * groups.copies
        worth = np.bincount(groups.of_entry(), weights=paid, minlength=groups.count)
        row, column, times = coefficients(groups, self.rows, self.program.types)
        charge = np.bincount(column, weights=self.newest.charges[row] * times, minlength=groups.count)
        return int((self.program.costs(groups) - worth + charge < NEGATIVE).sum())

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
        types, level = self.program.types, np.array(solution.col_value)
        self.newest = Point(dual[:types], np.maximum(-dual[types:], 0.0))
        self.artificial, self.share = float(level[: 2 * types].sum()), level[2 * types :]
        self.upper = float(self.highs.getInfo().objective_function_value)
        return True
