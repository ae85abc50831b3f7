"""The linear program of simplex matching: groups of two and three rows as priced columns, with odd-set cuts.

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i for all row types i,   Σ_c ⌊p_R·a_c / d_R⌋ θ_c ≤ ⌊p_R·n / d_R⌋

Its multipliers are λ_i of the row types and ν_R ≥ 0 of the cuts. Columns are all groups that a candidate covers; those
with a negative reduced cost cost_c - Σ λ_i a_ic + Σ ν_R ⌊p_R·a_c / d_R⌋ are added until there are none. The cuts' terms
are not negative, so all of these are among those whose reduced cost without them is negative, which are enumerated.

What multipliers prove, in exact integers: with λ, ν ≥ 0 integer multiples of 1/D, all groups of two and three rows are
enumerated whose reduced cost is negative. Where there are such ones, as rounding leaves, λ is lowered by as much as the
lowest needs. Then no group has a negative reduced cost, and L = Σ n_i λ_i - Σ ν_R ⌊p_R·n/d_R⌋ is a lower bound: add Σ_R
ν_R (Σ_c ⌊p_R·a_c/d_R⌋ - ⌊p_R·n/d_R⌋) ≤ 0 to the loss of a table; what is left besides L are the reduced costs of its
groups of two and three.

Tables are made from points that are nearly integral. The best points of the program are many, and the simplex method
ends in one with many fractional groups. Among them, one that is cheapest at random costs, which prefer pairs, has only
small odd cycles of pairs; odd-set cuts take these away.

The rank-1 cut Σ ⌊a_c(S)/2⌋ θ_c ≤ ⌊n(S)/2⌋ of a set S of row types with an odd number n(S) of rows says, since each row
is placed once, Σ {θ_c : a_c(S) odd} ≥ 1. Where all groups are pairs, these are the blossom inequalities (Edmonds 1965).
Sets are looked for among the components that the most used groups form, one after the other as a spanning forest grows;
in all components of the fractional groups; and for a few row types by `kanon_milp.bounds.rank_one_cuts`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from kanon_milp.bounds.dual import DualPoint, ExactDual, Proof, right_side
from kanon_milp.bounds.matching.pairs_and_triples import SmallGroups, Space, cut_coefficients
from kanon_milp.bounds.parameters import MatchingParameters
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts, separate
from kanon_milp.kernels.matching import growing_sets
from kanon_milp.kernels.volume import dot
from kanon_milp.solvers.highs import new_highs
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit

LARGE = 1000.0  # unit costs are scaled down to this: tolerances of a linear program are absolute
NEGATIVE = 1e-6  # times the scale: reduced costs below less this are negative
FARTHEST = 1e6  # the same, beyond which groups of two and three cannot place the rows
LEAST_VIOLATION = 0.02
WIDEST = 3_000  # row types of an odd set
RANGE = 1 << 61  # multipliers times denominator times rows stay below


def denominator_for(space: Space, largest: float) -> int:
    """A power of two by which multipliers up to `largest` can be made integers, 1 where there is none."""
    highest = (
        4.0 * (largest + float(space.instance.candidates.cost.max(initial=0)) + 1.0) * max(space.instance.types.n, 1)
    )
    return 1 << min(max(math.frexp(RANGE / highest)[1] - 1, 0), 30)


def run_within(highs: Any, limit: Limit) -> bool:
    """Solve a linear program; whether to optimality, before the limit."""
    if limit.over:
        return False

    def stop(_kind: Any, _message: str, _out: Any, answer: Any, _data: Any) -> None:
        if limit.over:
            answer.user_interrupt = True

    kind = highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt
    highs.setCallback(stop, None)
    highs.startCallback(kind)
    highs.run()
    highs.stopCallback(kind)
    return bool(highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def add_columns(highs: Any, cost: Floats, matrix: sp.csc_array, upper: Floats | None = None) -> None:
    """Append columns with these costs and coefficients."""
    count = len(cost)
    upper = np.full(count, highspy.kHighsInf) if upper is None else upper
    highs.addCols(
        count, cost.astype(np.float64), np.zeros(count), upper, matrix.nnz, matrix.indptr[:-1].astype(np.int32),
        matrix.indices.astype(np.int32), matrix.data.astype(np.float64),
    )  # fmt: skip


def add_cut_rows(highs: Any, coefficients: sp.csr_array, limits: Ints, first: int) -> None:
    """Append rows Σ coefficient · θ ≤ limit over the columns from number `first` on."""
    count = len(limits)
    highs.addRows(
        count, np.full(count, -highspy.kHighsInf), limits.astype(np.float64), coefficients.nnz,
        coefficients.indptr[:-1].astype(np.int32), (coefficients.indices + first).astype(np.int32),
        coefficients.data.astype(np.float64),
    )  # fmt: skip


class MatchingProgram:
    """The linear program over the groups and cuts found so far.

    Each row type has an artificial column before the groups, whose cost keeps λ within reach of the first multipliers
    (boxstep method, Marsten, Hogan, Blankenship 1975); it rises as long as such columns are used. complete: False where
    the groups near the first multipliers are too many, as in large covers of few patterns.
    """

    def __init__(self, space: Space, start: Floats, params: MatchingParameters | None = None) -> None:
        """start: float64 (t,), multipliers near the best ones, in units."""
        self.params = params or MatchingParameters()
        self.space, self.cuts = space, NO_CUTS
        self.groups = SmallGroups.none()
        counts, types = space.counts, space.types
        self.scale = max(float(space.instance.candidates.cost.max(initial=0)) / LARGE, 1.0)
        paid = start > 0
        self.mean = max(dot(start[paid], counts[paid].astype(np.float64)) / max(float(counts[paid].sum()), 1.0), 1e-3)
        self.reach = np.full(types, self.params.reach * self.mean)
        self.start = start
        self.known = np.empty(0, np.int64)
        # no word of threads: HiGHS refuses a number other than that of another model in the calling thread
        self.highs = new_highs()
        self.highs.setOptionValue("presolve", "off")
        right, none = counts.astype(np.float64), np.zeros(0, np.int32)
        self.highs.addRows(types, right, right, 0, np.zeros(types, np.int32), none, np.zeros(0))
        add_columns(self.highs, (start + self.reach) / self.scale, sp.csc_array(sp.identity(types)))
        pairs, triples = self.params.first_pairs * self.mean, self.params.first_triples * self.mean
        first, self.complete = self._enumerated(start, pairs, self.params.most_first, None)
        if self.complete:
            rising = first.cost - space.worth(first, start)
            self._add(first.subset((first.sizes < 3) | (rising <= triples)))

    def _enumerated(self, multipliers: Floats, limit: float, most: int, each: int | None) -> tuple[SmallGroups, bool]:
        """Groups whose reduced cost without cuts is at most about `limit`, in units."""
        denominator = denominator_for(self.space, float(np.abs(multipliers).max(initial=0.0)))
        exact = np.rint(multipliers * denominator).astype(np.int64)
        return self.space.enumerated(exact, denominator, math.floor(limit * denominator), most, each)

    def _add(self, groups: SmallGroups) -> int:
        """Add those that are new; how many."""
        keys = groups.keys(self.space.types)
        new = ~np.isin(keys, self.known)
        groups = groups.subset(new)
        if not groups.count:
            return 0
        self.known = np.union1d(self.known, keys[new])
        matrix = groups.matrix(self.space.types)
        if self.cuts.count:
            matrix = sp.csc_array(sp.vstack([matrix, cut_coefficients(groups, self.cuts, self.space.types)]))
        add_columns(self.highs, groups.cost / self.scale, matrix)
        self.groups = self.groups.joined(groups)
        return groups.count

    def add_cuts(self, cuts: RankOneCuts) -> None:
        """Add cuts, violated or not."""
        if cuts.count:
            coefficients = cut_coefficients(self.groups, cuts, self.space.types)
            add_cut_rows(self.highs, coefficients, cuts.limits(self.space.counts), self.space.types)
            self.cuts = self.cuts.joined(cuts)

    def find_cuts(self) -> RankOneCuts:
        """Cuts that the program's point violates."""
        return find_cuts(self.groups, self.share, self.space.counts, self.cuts, self.params)

    @property
    def share(self) -> Floats:
        """How often each group is used, float64 (C,)."""
        found: Floats = np.array(self.highs.getSolution().col_value)[self.space.types :]
        return found

    @property
    def dual(self) -> DualPoint:
        """The multipliers of the program that was solved last."""
        found = np.array(self.highs.getSolution().row_dual) * self.scale
        types = self.space.types
        value = float(self.highs.getInfo().objective_function_value) * self.scale
        cutting = np.maximum(-found[types:], 0.0)
        return DualPoint(found[:types], value, rank_one_cuts=self.cuts, cut_multipliers=cutting)

    def solve(self, limit: Limit) -> bool:
        """Solve it over all groups, by generating columns; whether it came to its end, with groups alone."""
        while run_within(self.highs, limit):
            if self._price():
                continue
            used = np.array(self.highs.getSolution().col_value)[: self.space.types] > USED
            if not used.any():
                return True
            self.reach[used] *= 4
            if self.reach.max() > FARTHEST * self.mean:
                return False
            types = np.arange(self.space.types, dtype=np.int32)
            self.highs.changeColsCost(len(types), types, (self.start + self.reach) / self.scale)
        return False

    def _price(self) -> int:
        """Add groups with negative reduced costs; how many."""
        dual = self.dual
        found, _ = self._enumerated(dual.multipliers, -NEGATIVE * self.scale, self.params.most_priced, self.params.each)
        reduced = self.space.reduced_costs(found, dual)
        return self._add(found.subset(reduced < -NEGATIVE * self.scale))


USED = 1e-7  # a column that is used less counts as unused


def prove(space: Space, dual: DualPoint, most: int = MatchingParameters.most_priced) -> Proof | None:
    """Round multipliers so that they prove something: no group of two or three rows has a negative reduced cost then.
    None where there are more than `most` groups of negative reduced cost."""
    largest = float(np.abs(dual.multipliers).max(initial=0.0)) + float(dual.cut_multipliers.sum())
    denominator = denominator_for(space, largest)
    used = dual.cut_multipliers * denominator >= 1
    charged = np.ceil(dual.cut_multipliers[used] * denominator).astype(np.int64)
    # a little lower, so that rounding leaves hardly any group below 0
    lower = ExactDual(
        np.floor(dual.multipliers * denominator).astype(np.int64) - 1,
        rank_one_cuts=dual.rank_one_cuts.subset(used),
        cut_multipliers=charged,
        denominator=denominator,
    )
    negative, complete = space.cheaper(lower, -1, most)
    if not complete:
        return None
    lowest = -int(space.reduced_costs(negative, lower).min(initial=0))
    shift = lowest if space.alone.any() else -(-lowest // 2)
    exact, instance = replace(lower, multipliers=lower.multipliers - shift), space.instance
    total = right_side(instance, exact)
    return Proof(
        instance, replace(exact, value=total / denominator), np.zeros(instance.candidates.count, np.int64), total
    )


CERTAIN = 1e-6


def nearly_integral(
    space: Space,
    dual: DualPoint,
    groups: SmallGroups,
    mean: float,
    seed: int,
    limit: Limit,
    params: MatchingParameters | None = None,
) -> Floats | None:
    """How often each group is used, float64 (C,), by a point that costs hardly more than a proof's bound; None where
    it ends before there is one.

    dual: the proof's point. groups: of low reduced costs. mean: loss of a row, in units.
    """
    types, p = space.types, params or MatchingParameters()
    random = np.random.default_rng(seed)
    reduced = space.reduced_costs(groups, dual) / mean
    cost = p.steep * reduced + random.random(groups.count) + p.triple * (groups.sizes == 3)
    highs: Any = new_highs()
    right, none = space.counts.astype(np.float64), np.zeros(0, np.int32)
    highs.addRows(types, right, right, 0, np.zeros(types, np.int32), none, np.zeros(0))
    add_columns(highs, cost, groups.matrix(types))
    cuts = dual.rank_one_cuts
    if cuts.count:
        # with what they lack of equality as a column, at its reduced cost
        add_cut_rows(highs, cut_coefficients(groups, cuts, types), cuts.limits(space.counts), 0)
        rows = np.arange(types, types + cuts.count, dtype=np.int32)
        limits = cuts.limits(space.counts).astype(np.float64)
        highs.changeRowsBounds(cuts.count, rows, limits, limits)
        lacking = p.steep * dual.cut_multipliers / mean
        slack = sp.vstack([sp.csr_array((types, cuts.count)), sp.identity(cuts.count)])
        add_columns(highs, lacking, sp.csc_array(slack))
    share = None
    for _ in range(p.rounds):
        if not run_within(highs, limit):
            break
        highs.setOptionValue("presolve", "off")
        share = np.array(highs.getSolution().col_value)[: groups.count]
        if (np.abs(share - np.rint(share)) < CERTAIN).all():
            break
        found = find_cuts(groups, share, space.counts, cuts, p)
        if found.count < p.few_cuts:
            break
        cuts = cuts.joined(found)
        add_cut_rows(highs, cut_coefficients(groups, found, types), found.limits(space.counts), 0)
    return share


def find_cuts(
    groups: SmallGroups, share: Floats, counts: Ints, known: RankOneCuts, params: MatchingParameters
) -> RankOneCuts:
    """Violated cuts that are not known. share: float64 (C,), how often each group is used. counts: int64 (t,)."""
    used = share > USED
    few, theta = groups.subset(used), share[used]
    matrix = few.matrix(len(counts)).tocsr()
    of_type = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    fractional = np.abs(theta - np.rint(theta)) > USED
    seen = {tuple(types) for types, _, d in known.each() if d == 2}
    touched = np.zeros(len(counts), np.int64)
    sets: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []
    for only in (np.flatnonzero(fractional), np.arange(few.count)):
        order = only[np.argsort(-theta[only], kind="stable")]
        begins, values, violations = growing_sets(few.rows, theta, order, counts, *of_type, LEAST_VIOLATION, WIDEST)
        worst = violations / np.sqrt(np.diff(begins))
        for s in np.argsort(-worst, kind="stable").tolist():
            types = tuple(sorted(values[begins[s] : begins[s + 1]].tolist()))
            if types in seen or (touched[list(types)] >= params.touching).any():
                continue
            seen.add(types)
            touched[list(types)] += 1
            sets.append((types, (1,) * len(types), 2))
    found = RankOneCuts.of(sets)
    return found.joined(separate(few.in_lists(), theta, counts, params.few_types, known.joined(found)))
