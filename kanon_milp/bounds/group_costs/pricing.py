"""Pricing of groups by their first rows, and the linear program over all of them, for costs of whole groups.

A group belongs to its seed, its first row in order of falling multipliers. A table has at most one group of each seed,
so multipliers λ of the rows and ν ≥ 0 of rank-1 cuts prove

    L(λ, ν) = Σ_i λ_i - Σ_R ν_R ⌊Σ p_R / d_R⌋ + Σ over seeds min(0, least reduced cost of a group of the seed),

also where the search for that was cut short and what is known is less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.parameters import ColumnParameters, GroupPricingParameters
from kanon_milp.bounds.rank_one_cuts import PricedCuts, RankOneCuts
from kanon_milp.kernels.square_pricing import FloatSquareSearch, IntSquareSearch, cheapest_of_seed
from kanon_milp.kernels.volume import dot
from kanon_milp.presolve.assignment import Groups
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.limit import NO_LIMIT, Limit


@dataclass(frozen=True, eq=False)
class Priced:
    """What pricing has found, seed by seed.

    least: (n,), what the reduced cost of a group of each seed is at least, 0 where that is not negative, for the seeds
    that were asked about; else 0. complete: bool (n,), whether that is exact, and no group below is missing in `rows`
    but more than so many of a seed. rows: int32 (C, largest), rows of each group, -1 for none. reduced: (C,). seeds:
    int64 (C,), seed of each group.
    """

    least: NDArray[Any]
    complete: Flags
    rows: Ints32
    reduced: NDArray[Any]
    seeds: Ints


class GroupPricing(Protocol):
    """Prices groups of one kind of cost.

    n: rows. largest: rows of a group. unit: of the problem's loss, one here; about what a row loses. units: into how
    many parts this is divided for integers. slack: of these, by how much less all groups of a table may cost where
    they are rounded otherwise. start: multipliers at which all reduced costs are at least 0 (or nearly).
    """

    n: int
    largest: int
    unit: Fraction
    units: int
    slack: int
    start: Floats

    def __call__(
        self, multipliers: Floats, cuts: PricedCuts[np.float64], below: float, nodes: int, columns: int,
        *, share: float = 0.0, seeds: Ints | None = None, limit: Limit = NO_LIMIT,
    ) -> Priced:  # fmt: skip
        """Groups with a reduced cost below `below`, up to so many of each seed, the cheapest of those found.

        nodes: of the search for one seed, at most. share: where positive, only groups with a reduced cost below this
        times the least one of their seed so far are looked for further; where negative, a seed with more groups than
        `columns` is given up. seeds: those that are asked about; None: all.
        Once the limit is over, seeds are as if the search had given up at once.
        """
        ...

    def first(self) -> Ints32:
        """Some groups to begin with, (C, largest), -1 for no row."""
        ...

    def costs(self, rows: Ints32) -> Floats:
        """Of groups, or less, in floating point. rows: (C, largest), -1 for none."""
        ...

    def exact_costs(self, rows: Ints32) -> Ints:
        """Of groups, in 1 / `units`, rounded down. rows: as above."""
        ...

    def proven(self, multipliers: Ints, cuts: PricedCuts[np.int64], nodes: int, limit: Limit = NO_LIMIT) -> int:
        """Σ over seeds min(0, reduced cost), or less, of exact costs in 1 / `units`, rounded down."""
        ...


class SquarePricing:
    """By the sum of squares, or by absolute deviations: Σ over the pairs of rows of D / e, e = s or s - 1 for s rows.

    Around the mean, squares come to that. Of the deviations around the median D / (s - 1) is what groups of up to three
    rows cost, and no more than what larger ones do: of s values in order, the i-th from either end are a_i apart, and
    these have Σ a_i of deviations, and Σ (s + 1 - 2i) a_i between all pairs.

    distances: of all rows, weights included, float64 (n, n), symmetric. exact: the same in 1 / `units`, rounded down,
    int64. For n rows that is 16 n² bytes. twice: 2e for each number of rows, int64 (largest + 1,).
    """

    def __init__(
        self, distances: Floats, smallest: int, largest: int, unit: Fraction = Fraction(1), power: int = 2,
        value_of: Ints | None = None, near: int = 300,
    ) -> None:  # fmt: skip
        """distances: not above the true ones, of which they are nearest in floating point; in `unit`. power: of them,
        2 for squares, 1 for absolute deviations. value_of: int64 (n,), must differ in the rows of a group."""
        self.distances, self.smallest, self.largest = distances, smallest, largest
        self.value_of = np.arange(len(distances)) if value_of is None else value_of
        self.twice = 2 * np.maximum(np.arange(largest + 1) - (power == 1), 1)
        self.n, self.unit = len(distances), unit
        most = float(distances.max(initial=0.0))
        self.units = 1 << max(min(60 - math.frexp(4.0 * max(most, 1.0) * largest * largest)[1], 30), 0)
        self.slack = self.n * (2 * largest + int(most * self.units * 2.0**-46))
        self.exact = np.floor(distances * self.units).astype(np.int64)
        others = max(min(max(near, largest), self.n - 1), 0)
        self.near = np.empty((self.n, others), np.int32)
        self.sums, self.exact_sums = np.zeros((self.n, largest)), np.zeros((self.n, largest), np.int64)
        most_others = min(largest - 1, others)
        for i in range(self.n):
            row = distances[i].copy()
            row[i] = -1.0
            chosen = np.argpartition(row, others)[: others + 1] if others < self.n - 1 else np.arange(self.n)
            order = chosen[np.argsort(row[chosen], kind="stable")][1:]
            self.near[i] = order
            self.sums[i, 1 : most_others + 1] = np.cumsum(distances[i, order[:most_others]])
            self.exact_sums[i, 1 : most_others + 1] = np.cumsum(self.exact[i, order[:most_others]])
        # a row of a group of s rows has at least its s - 1 smallest D, half of each of them
        sizes = np.arange(smallest, min(largest, self.n) + 1)
        self.start = (self.sums[:, sizes - 1] / self.twice[sizes]).min(axis=1) if len(sizes) else np.zeros(self.n)

    def first(self) -> Ints32:
        """Each row with its nearest ones."""
        found = []
        for size in sorted({self.smallest, min(self.smallest + 1, self.largest), self.largest}):
            if size <= min(self.n, self.near.shape[1] + 1):
                rows = np.full((self.n, self.largest), -1, np.int32)
                rows[:, 0], rows[:, 1:size] = np.arange(self.n), self.near[:, : size - 1]
                found.append(rows)
        return np.concatenate(found)

    def costs(self, rows: Ints32) -> Floats:
        """As `GroupPricing` says."""
        each: Floats = _sum_of_pairs(self.distances, rows) / (self.twice[(rows >= 0).sum(axis=1)] // 2)
        return each

    def exact_costs(self, rows: Ints32) -> Ints:
        """As `GroupPricing` says."""
        each: Ints = _sum_of_pairs(self.exact, rows) // (self.twice[(rows >= 0).sum(axis=1)] // 2)
        return each

    def __call__(
        self, multipliers: Floats, cuts: PricedCuts[np.float64], below: float, nodes: int, columns: int,
        *, share: float = 0.0, seeds: Ints | None = None, limit: Limit = NO_LIMIT,
    ) -> Priced:  # fmt: skip
        """As `GroupPricing` says."""
        order = np.argsort(-multipliers, kind="stable")
        rank = np.empty(self.n, np.int64)
        rank[order] = np.arange(self.n)
        search = FloatSquareSearch(
            self.distances, self.sums, self.near, self.smallest, self.twice, self.value_of, multipliers, cuts, rank,
            columns,
        )  # fmt: skip
        search.share = share
        asked = order if seeds is None else seeds
        return _of_seeds(search, asked, self.n, below, nodes, limit)

    def proven(self, multipliers: Ints, cuts: PricedCuts[np.int64], nodes: int, limit: Limit = NO_LIMIT) -> int:
        """As `GroupPricing` says."""
        order = np.argsort(-multipliers, kind="stable")
        rank = np.empty(self.n, np.int64)
        rank[order] = np.arange(self.n)
        search = IntSquareSearch(
            self.exact, self.exact_sums, self.near, self.smallest, self.twice, self.value_of, multipliers, cuts, rank, 1
        )
        search.share = 1
        return int(_of_seeds(search, order, self.n, 0, nodes, limit).least.sum())


def _sum_of_pairs(of_pair: NDArray[Any], rows: Ints32) -> NDArray[Any]:
    """Over the pairs of rows of each group, (C,)."""
    found = np.zeros(len(rows), of_pair.dtype)
    for a in range(1, rows.shape[1]):
        for b in range(a):
            found += np.where(rows[:, a] >= 0, of_pair[rows[:, a], rows[:, b]], of_pair.dtype.type(0))
    return found


def _of_seeds(search: Any, seeds: Ints, n: int, below: Any, nodes: int, limit: Limit) -> Priced:
    """As `SquarePricing`, by a search in floating point or in integers."""
    kind = np.asarray(search.multipliers).dtype
    least, complete = np.zeros(n, kind), np.ones(n, np.bool_)
    rows, reduced = [np.empty((0, search.largest), np.int32)], [np.empty(0, kind)]
    found = np.zeros(n, np.int64)
    for seed in seeds.tolist():
        if limit.over:
            nodes, below = 0, min(below, 0)  # no search, and no columns but those that are worth something
        search.below = below
        complete[seed] = cheapest_of_seed(search, seed, nodes)
        least[seed] = search.lowest
        found[seed] = search.count
        if search.count:
            rows.append(np.array(search.rows[: search.count]))
            reduced.append(np.array(search.reduced[: search.count]))
    of = np.repeat(seeds, found[seeds])
    return Priced(least, complete, np.concatenate(rows), np.concatenate(reduced), of)


def groups_of(rows: Ints32) -> Groups:
    """Groups of rows that are row types each, one candidate for all. rows: (C, largest), -1 for none."""
    there = rows >= 0
    sizes = there.sum(axis=1)
    return Groups.of_rows(np.zeros(len(rows), np.int64), sizes, rows[there].astype(np.int64))


def rows_of(groups: Groups, largest: int) -> Ints32:
    """The inverse of `groups_of`."""
    found = np.full((groups.count, largest), -1, np.int32)
    of = groups.types.list_of_value()
    found[of, np.arange(len(of)) - groups.types.indptr[of]] = groups.types.values
    return found


@dataclass(frozen=True, eq=False)
class CostProgram:
    """The linear program over all groups, as `kanon_milp.bounds.columns.program.GroupProgram` is that of an instance:
    each row is a row type, and all groups are of one candidate.

    start: the first multipliers, and the rank-1 cuts that it begins with. limit: until when groups are priced.
    """

    priced: GroupPricing
    start: DualPoint
    params: ColumnParameters
    effort: GroupPricingParameters = field(default=GroupPricingParameters())
    limit: Callable[[], Limit] = field(default=lambda: NO_LIMIT)

    @property
    def counts(self) -> Ints:
        """Each row once."""
        return np.ones(self.priced.n, np.int64)

    @property
    def types(self) -> int:
        """Number of rows."""
        return self.priced.n

    @property
    def near_enough(self) -> float:
        """The first columns are those of the caller, and what has a negative reduced cost."""
        return 0.0

    @property
    def highest(self) -> float:
        """What a row costs, about: multipliers are of this size."""
        return max(float(np.abs(self.start.multipliers).mean()), 1e-9)

    def spans(self, multipliers: Floats) -> Floats:
        """Those of rows far from all others are many times as large."""
        return np.maximum(np.abs(multipliers) / self.highest, 1.0)

    @property
    def most(self) -> float:
        """Nothing is known of infeasible problems here."""
        return math.inf

    def costs(self, groups: Groups) -> Floats:
        """Of groups."""
        return self.priced.costs(rows_of(groups, self.priced.largest))

    def pricing(self, cuts: RankOneCuts) -> CostPricing:
        """What computes L and the cheapest groups with some rank-1 cuts."""
        return CostPricing(self, cuts)


class CostPricing:
    """L and the cheapest groups at any prices, with some rank-1 cuts."""

    def __init__(self, program: CostProgram, cuts: RankOneCuts) -> None:
        self.program, self.by_type = program, cuts.by_type(program.types)
        self.limits = cuts.limits(program.counts).astype(np.float64)

    def priced_cuts(self, prices: Floats) -> PricedCuts[np.float64]:
        """The cuts with these multipliers."""
        return PricedCuts(*self.by_type, prices.astype(np.float64))

    def __call__(self, prices: DualPoint, below: float = -1e-9, known: float = -math.inf) -> tuple[float, Groups]:
        """L, or less where there are enough groups; some of the cheapest groups of each seed
        with a reduced cost below this."""
        del known
        effort, price, limit = self.program.effort, self.program.priced, self.program.limit()
        constant = float(prices.multipliers.sum()) - dot(self.limits, prices.cut_multipliers.astype(np.float64))
        cuts = self.priced_cuts(prices.cut_multipliers)
        least = np.zeros(price.n)
        seeds: Ints | None = None
        rows, nodes = [], effort.few_nodes
        while True:
            found = price(
                prices.multipliers, cuts, min(below, 0.0), nodes, effort.columns, share=effort.share,
                seeds=seeds, limit=limit,
            )  # fmt: skip
            asked = np.arange(price.n) if seeds is None else seeds
            least[asked] = found.least[asked]
            rows.append(found.rows)
            seeds = np.flatnonzero(~found.complete)
            value = constant + float(least.sum())
            enough = sum(map(len, rows)) > effort.enough * price.n
            if not len(seeds) or nodes >= effort.nodes or enough or limit.over:
                return value, groups_of(np.concatenate(rows))
            nodes = min(effort.more * nodes, effort.nodes)
