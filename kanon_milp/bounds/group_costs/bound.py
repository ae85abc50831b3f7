"""The bound on costs of whole groups: column generation, rank-1 cuts, and what the multipliers prove in integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kanon_milp.bounds.columns.cut_rounds import Rounds
from kanon_milp.bounds.columns.master import Master
from kanon_milp.bounds.columns.program import coefficients
from kanon_milp.bounds.dual import DualPoint, round_multipliers
from kanon_milp.bounds.group_costs.pricing import CostProgram, GroupPricing, groups_of, rows_of
from kanon_milp.bounds.parameters import ColumnParameters, GroupBoundParameters, GroupPricingParameters, RoundParameters
from kanon_milp.bounds.rank_one_cuts import PricedCuts, RankOneCuts
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import DEFAULT, Parameters

SEEDS = 25  # priced between two looks whether all of their groups are found


@dataclass(frozen=True, eq=False)
class CostDual:
    """Multipliers as integers, in units of `scale`, and what they prove.

    multipliers: int64 (n,), λ of each row. cuts, cut_multipliers: rank-1 cuts over rows, with ν > 0, int64. value:
    Σ λ - Σ ν ⌊Σ p / d⌋ + Σ over seeds min(0, reduced cost), in the same units. scale: of the problem's loss. slack: by
    how much less it may be where distances are rounded otherwise.
    """

    multipliers: Ints
    cuts: RankOneCuts
    cut_multipliers: Ints
    value: int
    scale: Fraction
    slack: int

    @property
    def bound(self) -> Fraction:
        """No table loses less, in the problem's units; 0 where that says nothing."""
        return max(self.value * self.scale, Fraction(0))


class CostBound:
    """Where the bound stands; goes on where it has stopped. The first groups must hold a table.

    dual: what is proven, None before anything is. best, cuts: multipliers in floating point.
    """

    def __init__(self, priced: GroupPricing, first: Ints32, limit: Limit, params: Parameters = DEFAULT) -> None:
        """first: int32 (C, largest), the first groups, -1 for no row."""
        self.priced, self._limit, self._params = priced, limit, params.of(GroupBoundParameters)
        numbers = replace(
            params.of(ColumnParameters), interior=True, smooth=0.0, reach=self._params.reach,
            near=self._params.near * priced.n, tolerance=self._params.tolerance,
        )  # fmt: skip
        program = CostProgram(
            priced, DualPoint(priced.start), numbers, params.of(GroupPricingParameters), lambda: self._limit
        )
        self.dual: CostDual | None = None
        self.prove(limit, priced.start)
        self._master = Master(program, groups_of(first))
        self._rounds = Rounds(self._master, params=replace(params.of(RoundParameters), added=self._params.added))
        self.converged = False

    @property
    def rows(self) -> Ints32:
        """The columns so far, -1 for no row."""
        return rows_of(self._master.groups, self.priced.largest)

    @property
    def point(self) -> DualPoint:
        """The best multipliers, in floating point."""
        return self._master.best

    @property
    def value(self) -> float:
        """L at them."""
        return self._master.value

    def converge(self, limit: Limit) -> None:
        """Column generation without new cuts."""
        self._limit = limit
        solved = self._master.solve(limit)
        near = self._params.near * self.priced.n
        self.converged = solved is not None and self._master.upper - self._master.value <= 2 * near
        self.prove(limit)

    def cut(self, limit: Limit, on_value: Callable[[float], None], target: float, rounds: int) -> bool:
        """Rounds of cuts; whether there may be more to gain. target: what a table costs."""
        self._limit, before = limit, self._master.value
        self._rounds.go_on(BoundLimit(limit.ends, limit.interrupt, None, rounds=rounds), on_value=on_value)
        self.prove(limit)
        gap = max(target - before, 1e-12)
        return self._master.value - before > self._params.stalled * gap

    def worth(self, rows: Ints32) -> Floats:
        """What the rows of groups are worth at the best point, less what cuts charge for them."""
        best = self._master.best
        groups = groups_of(rows)
        found: Floats = np.where(rows >= 0, best.multipliers[rows], 0.0).sum(axis=1)
        cut, column, times = coefficients(groups, self._master.cuts, self.priced.n)
        return found - np.bincount(column, weights=best.cut_multipliers[cut] * times, minlength=len(rows))

    def near(
        self, below: float, columns: int, nodes: int, limit: Limit, *, every: bool = False
    ) -> tuple[Ints32, Floats, bool]:
        """Groups with a reduced cost below this at the best point, these, and whether these are all.

        every: some are of no use, so it ends at the first seeds whose groups are not all found.
        """
        best = self._master.best
        cuts = PricedCuts(*best.rank_one_cuts.by_type(self.priced.n), best.cut_multipliers.astype(np.float64))
        rows, reduced, complete = [], [], True
        for seeds in np.array_split(np.arange(self.priced.n), math.ceil(self.priced.n / SEEDS) if every else 1):
            found = self.priced(
                best.multipliers, cuts, below, nodes, columns, share=-1.0 if every else 0.0, seeds=seeds, limit=limit
            )
            rows.append(found.rows)
            reduced.append(found.reduced)
            most = int(np.unique(found.seeds, return_counts=True)[1].max(initial=0))
            complete = bool(found.complete[seeds].all()) and most < columns and not limit.over
            if every and not complete:
                break
        return np.concatenate(rows), np.concatenate(reduced), complete

    def prove(self, limit: Limit, multipliers: Floats | None = None) -> None:
        """What the best multipliers, or these without cuts, prove; kept if that is more."""
        point = DualPoint(multipliers) if multipliers is not None else self._master.best
        used = point.cut_multipliers * self.priced.units >= 1
        cuts = point.rank_one_cuts.subset(used)
        lambdas = round_multipliers(point.multipliers, self.priced.units)
        prices = round_multipliers(point.cut_multipliers[used], self.priced.units)
        counts = np.ones(self.priced.n, np.int64)
        constant = int(lambdas.sum()) - int((cuts.limits(counts) * prices).sum())
        priced = PricedCuts(*cuts.by_type(self.priced.n), prices)
        value = constant + self.priced.proven(lambdas, priced, self._params.nodes, limit)
        if self.dual is None or value > self.dual.value:
            scale = self.priced.unit / self.priced.units
            self.dual = CostDual(lambdas, cuts, prices, value, scale, self.priced.slack)
