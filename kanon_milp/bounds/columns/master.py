"""The master problem: the linear program over the groups found so far, with rank-1 cuts; columns and cuts come and go.

This is the program of `kanon_milp.bounds.columns.program` over these groups c alone:

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i for all row types i,   Σ_c ⌊p_R·a_c / d_R⌋ θ_c ≤ ⌊p_R·n / d_R⌋

Its multipliers are λ_i of the constraints of row types and -ν_R of the rank-1 cuts. Where no group is left that has a
negative reduced cost at these, its value is L(λ, ν), what they prove (Dantzig, Wolfe 1960). Prices are taken between
the best point so far and the newest (Wentges 1997): those of the master alone jump about.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.columns.program import PricedProgram, coefficients
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts
from kanon_milp.presolve.assignment import Groups
from kanon_milp.solvers.highs import new_highs
from kanon_milp.system.arrays import Flags, Floats, Ints32
from kanon_milp.system.limit import Limit

NEGATIVE = -1e-7  # reduced cost of a group that is worth adding
# of the simplex method: new columns leave a basis primal feasible, all else that changes dual feasible or neither;
# after new columns the dual method takes twice as long (first 500 rows of Adult)
DUAL, PRIMAL = 1, 4


@dataclass(frozen=True, eq=False)
class Basis:
    """Of a master problem: the status of its artificial columns and those of groups, and of its constraints, int8, as
    numbers of `highspy.HighsBasisStatus`."""

    columns: NDArray[np.int8]
    constraints: NDArray[np.int8]

    def without(self, artificial: int, kept: Flags) -> Basis:
        """With only some of the groups. artificial: number of artificial columns; kept: bool (C,)."""
        some = np.concatenate([self.columns[:artificial], self.columns[artificial:][kept]])
        return Basis(some, self.constraints)


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """The linear program over the groups at hand, solved: its multipliers, how often each group is used, what the
    artificial columns are used together, and its value, an upper bound on that over all groups."""

    prices: DualPoint
    share: Floats
    artificial: float
    upper: float


class Master:
    """The linear program over the groups found so far, the best point and what this proves.

    enough: value at which `solve` may end. share, upper: how often the last linear program used each of its groups, and
    its value.
    """

    def __init__(self, program: PricedProgram, groups: Groups, basis: Basis | None = None) -> None:
        """groups: the first columns; those of a table, for example. basis: of a master problem with these groups, none
        twice, and the cuts of the program, to start with.

        Before them stand two artificial columns for each row type, one with 1 and one with -1 in its constraint: their
        costs keep λ near the best point (boxstep method, Marsten, Hogan, Blankenship 1975); their upper bounds, n_i,
        let it go farther where there is no dual point near (du Merle, Villeneuve, Desrosiers, Hansen 1999).
        """
        self.program, self.params = program, program.params
        self.best, self.enough = program.start, math.inf
        self.cuts, self.idle = NO_CUTS, np.zeros(0, np.int64)
        self.groups, self.share, self.upper = Groups.none(), np.zeros(0), math.inf
        self.known: set[bytes] = set()
        self.highs: Any = new_highs()
        # no word of threads: HiGHS refuses a number other than that of another model in the calling thread
        self.highs.setOptionValue("presolve", "off")
        if self.params.interior:
            self.highs.setOptionValue("solver", "ipm")
            self.highs.setOptionValue("run_crossover", "off")
            self.highs.setOptionValue("ipm_optimality_tolerance", self.params.tolerance)
        right, count = program.counts.astype(np.float64), program.types
        none = np.zeros(0, np.int32)
        self.highs.addRows(count, right, right, 0, np.zeros(count, np.int32), none, np.zeros(0))
        each = np.arange(count, dtype=np.int32)
        for sign in (1.0, -1.0):
            self.highs.addCols(
                count, np.zeros(count), np.zeros(count), right, count, each, each,
                np.full(count, sign),
            )  # fmt: skip
        self.reach = self.params.reach * max(program.highest, 1.0)
        self._append_cuts(program.start.rank_one_cuts)
        self.add_groups(groups)
        self.value, found = self.pricing(self.best, program.near_enough)
        self.add_groups(found)
        self.iterations = 0
        if basis is not None:
            self._begin_with(basis)

    @property
    def basis(self) -> Basis:
        """That of the last linear program."""
        found = self.highs.getBasis()
        return Basis(_numbers(found.col_status), _numbers(found.row_status))

    def _begin_with(self, basis: Basis) -> None:
        """Columns and constraints that it does not have are not basic and basic."""
        status = highspy.HighsBasisStatus
        new = self.highs.getNumCol() - len(basis.columns), self.highs.getNumRow() - len(basis.constraints)
        found = highspy.HighsBasis()
        found.col_status = [*map(status, basis.columns.tolist()), *[status.kLower] * new[0]]
        found.row_status = [*map(status, basis.constraints.tolist()), *[status.kBasic] * new[1]]
        found.valid = found.alien = True  # HiGHS completes one that lacks columns
        self.highs.setBasis(found)

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

    def _columns(self, groups: Groups) -> tuple[Ints32, Ints32, Floats]:
        """Matrix columns of groups: constraints of row types, then rank-1 cuts."""
        cut, column, times = coefficients(groups, self.cuts, self.program.types)
        of_column = np.concatenate([groups.types.list_of_value(), column])
        indices = np.concatenate([groups.types.values, cut + self.program.types])
        values = np.concatenate([groups.copies, times]).astype(np.float64)
        order = np.argsort(of_column, kind="stable")
        starts = np.searchsorted(of_column[order], np.arange(groups.count))
        return starts.astype(np.int32), indices[order].astype(np.int32), values[order]

    def add_cuts(self, cuts: RankOneCuts) -> None:
        """Add rank-1 cuts, with multipliers 0 at the best point."""
        self._append_cuts(cuts)
        self._priced_at(self.best, np.concatenate([self.best.cut_multipliers, np.zeros(cuts.count)]))

    def _append_cuts(self, cuts: RankOneCuts) -> None:
        if cuts.count:
            cut, column, times = coefficients(self.groups, cuts, self.program.types)
            order = np.argsort(cut, kind="stable")
            starts = np.searchsorted(cut[order], np.arange(cuts.count)).astype(np.int32)
            limits = cuts.limits(self.program.counts).astype(np.float64)
            self.highs.addRows(
                cuts.count, np.full(cuts.count, -highspy.kHighsInf), limits, len(cut), starts,
                (column[order] + 2 * self.program.types).astype(np.int32), times[order].astype(np.float64),
            )  # fmt: skip
            self.cuts = self.cuts.joined(cuts)
            self.idle = np.concatenate([self.idle, np.zeros(cuts.count, np.int64)])
        self.pricing = self.program.pricing(self.cuts)

    def _priced_at(self, point: DualPoint, cut_multipliers: Floats) -> None:
        """Make the best point one with the cuts at hand and these multipliers of theirs."""
        self.best = replace(point, rank_one_cuts=self.cuts, cut_multipliers=cut_multipliers)

    def purge_cuts(self, newest: DualPoint) -> int:
        """Take out the rank-1 cuts whose multiplier is 0 at the newest and at the best point; how many."""
        idle = (newest.cut_multipliers < 1e-9) & (self.best.cut_multipliers < 1e-9)
        self.idle = np.where(idle, self.idle + 1, 0)
        return self._drop_cuts(self.idle >= self.params.patience)

    def drop_idle_cuts(self) -> int:
        """Take out the rank-1 cuts whose multiplier is 0 at the best point; how many."""
        return self._drop_cuts(self.best.cut_multipliers < 1e-9)

    def _drop_cuts(self, slack: Flags) -> int:
        gone = np.flatnonzero(slack)
        if len(gone):
            self.highs.deleteRows(len(gone), (gone + self.program.types).astype(np.int32))
            self.cuts, self.idle = self.cuts.subset(~slack), self.idle[~slack]
            self.pricing = self.program.pricing(self.cuts)
            self._priced_at(self.best, self.best.cut_multipliers[~slack])
        return len(gone)

    def solve(self, limit: Limit, near: float | None = None) -> MasterSolution | None:
        """Generate columns until value and upper bound are `near` each other, or the time is over.

        None if the linear program was not solved to its end, for want of time or by HiGHS's fault: nothing more is to
        be had from this master then. None as well if there is no table.
        """
        near = self.params.near if near is None else near
        farthest, most = self.params.farthest * max(self.program.highest, 1.0), self.program.most
        while True:
            before = self.value
            found = self._solve_near(limit, near)
            if found is None or self.value > most + 1e-3:
                return None
            done = limit.over or self.value > self.enough
            if done or found.artificial < 1e-6 or self.reach > farthest:
                return found
            if self.value < before + near:
                self.reach *= 4  # what is better, or any point without negative reduced costs, is farther away

    def _solve_near(self, limit: Limit, near: float) -> MasterSolution | None:
        """The same, with multipliers no farther from the best ones than `reach`."""
        artificial, smooth = 2 * self.program.types, self.params.smooth
        center = self.best.multipliers
        reach = self.reach * self.program.spans(center)
        self.highs.changeColsCost(
            artificial, np.arange(artificial, dtype=np.int32), np.concatenate([center + reach, reach - center])
        )
        self.highs.setOptionValue("simplex_strategy", DUAL)
        while not limit.over:
            found = self.solve_restricted(limit)
            if found is None:
                return None
            self.iterations += 1
            if found.upper - self.value < near or self.value > self.enough:
                return found
            self.highs.setOptionValue("simplex_strategy", PRIMAL)
            between = _between(found.prices, self.best, smooth)
            value, groups = self.pricing(between, NEGATIVE, self.value)
            better = value > self.value
            if better:
                self.value, self.best = value, between
            added = self.add_groups(groups)
            if smooth == 0.0 and not added:
                break
            if not added or self._negative(groups, found.prices) == 0:
                # nothing that the newest prices object to: nearer to these
                smooth = smooth / 2 if smooth > 0.1 else 0.0
            elif better:
                smooth = min(self.params.smooth, smooth + 0.1)
        return self.solve_restricted(limit)

    def _negative(self, groups: Groups, prices: DualPoint) -> int:
        """How many of the groups have a negative reduced cost at these prices."""
        paid = prices.multipliers[groups.types.values] * groups.copies
        worth = np.bincount(groups.types.list_of_value(), weights=paid, minlength=groups.count)
        cut, column, times = coefficients(groups, self.cuts, self.program.types)
        charge = np.bincount(column, weights=prices.cut_multipliers[cut] * times, minlength=groups.count)
        return int((self.program.costs(groups) - worth + charge < NEGATIVE).sum())

    def solve_restricted(self, limit: Limit) -> MasterSolution | None:
        """Solve the linear program over the groups at hand; None if that does not succeed."""
        for _ in range(2):
            left = max(limit.ends - time.perf_counter(), 0.0)
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + left)  # it counts all calls together
            self.highs.run()
            status = self.highs.getModelStatus()
            # what an interior point is worth is seen when it is priced
            near = self.params.interior and status == highspy.HighsModelStatus.kUnknown
            if near or status == highspy.HighsModelStatus.kOptimal:
                break
            if limit.over:
                return None
            self.highs.clearSolver()  # once more, without the basis it began with
        else:
            return None
        solution = self.highs.getSolution()
        dual = np.array(solution.row_dual)
        types, level = self.program.types, np.array(solution.col_value)
        prices = DualPoint(dual[:types], rank_one_cuts=self.cuts, cut_multipliers=np.maximum(-dual[types:], 0.0))
        upper = float(self.highs.getInfo().objective_function_value)
        self.share, self.upper = level[2 * types :], upper
        return MasterSolution(prices, self.share, float(level[: 2 * types].sum()), upper)


def _numbers(statuses: list[Any]) -> NDArray[np.int8]:
    return np.fromiter((int(each) for each in statuses), np.int8, len(statuses))


def _between(a: DualPoint, b: DualPoint, share: float) -> DualPoint:
    """So much of the way from one point to another with the same cuts. share: 0 to 1."""
    return replace(
        a,
        multipliers=(1 - share) * a.multipliers + share * b.multipliers,
        cut_multipliers=(1 - share) * a.cut_multipliers + share * b.cut_multipliers,
    )
