"""What to branch on: the row and the candidate that raise the linear program most on both sides (strong branching).

One side has the row in this candidate, the other elsewhere. Either is the instance without some pairs, so whatever
bounds an instance bounds a side, and each table is on one side exactly. For that the row type has to be one row: of
several alike some may be here and some elsewhere.

How much a side raises the linear program is found out with the groups at hand, by some iterations of the dual simplex
method: without new columns the rise is too high, but it ranks well. On the first 500 rows of Adult, k = 5, shares near
1/2 say next to nothing about it: of 650 pairs these rose by 0.05 on either side, the best ones by 1.05 and 0.10, or
0.35 and 0.24.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import highspy
import numpy as np

from kanon_milp.bounds.columns.master import DUAL, Master
from kanon_milp.bounds.parameters import BranchParameters
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Limit


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of an instance, by position in `Candidates.members`, and which ones groups have.

    candidate, member: int64 (pairs,). single: bool (pairs,), whether the row type is one row.
    """

    candidate: Ints
    member: Ints
    single: Flags
    types: int
    keys: Ints = field(repr=False)

    @classmethod
    def of(cls, instance: Instance) -> Pairs:
        """Those of an instance."""
        candidate = instance.candidates.candidate_of_pair().astype(np.int64)
        member = instance.candidates.members.astype(np.int64)
        types = instance.types.count
        return cls(candidate, member, instance.types.counts[member] == 1, types, candidate * types + member)

    def place(self, groups: Groups) -> tuple[Ints, Flags]:
        """Of each entry of `groups.types` the pair, and whether there is one."""
        keys = groups.candidate[groups.types.list_of_value()] * self.types + groups.types.values
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return place, self.keys[place] == keys

    def within(self, groups: Groups, pairs: Flags) -> Flags:
        """Which groups have only these pairs, bool (C,)."""
        if not groups.count:
            return np.zeros(0, dtype=bool)
        place, known = self.place(groups)
        found: Flags = np.logical_and.reduceat(known & pairs[place], groups.types.indptr[:-1])
        return found

    def sides(self, pairs: Flags, pair: int) -> tuple[Flags, Flags]:
        """Of these pairs, those left where the row of one is in its candidate, and where it is elsewhere."""
        same = self.member == self.member[pair]
        inside, outside = pairs & ~same, pairs.copy()
        inside[pair], outside[pair] = True, False
        return inside, outside

    def shares(self, groups: Groups, share: Floats) -> Floats:
        """Rows of each pair in a point, float64 (pairs,). share: how often each group is used; all of them have
        pairs."""
        place, _ = self.place(groups)
        weights = share[groups.types.list_of_value()] * groups.copies
        found: Floats = np.bincount(place, weights=weights, minlength=len(self.keys)).astype(np.float64)
        return found


def best_pair(
    master: Master,
    pairs: Pairs,
    left: Flags,
    slack: float,
    scores: dict[int, float],
    limit: Limit,
    params: BranchParameters,
) -> int | None:
    """The pair to branch on; None where no share of a single row is fractional.

    left: bool (pairs,), the pairs that there are. slack: by how much a side has to rise to be closed. scores: of pairs
    that were tried before, by position; gets those that are tried now.
    """
    highs, artificial = master.highs, 2 * pairs.types
    highs.setOptionValue("time_limit", highspy.kHighsInf)
    highs.run()
    solution = np.array(highs.getSolution().col_value)[artificial:]
    share = pairs.shares(master.groups, solution)
    fractional = np.flatnonzero(left & pairs.single & (share > params.integral) & (share < 1 - params.integral))
    if not len(fractional):
        return None
    trial = _Trial(master, pairs, left, slack, params)
    known = sorted((p for p in fractional.tolist() if scores.get(p, 0.0) > 0), key=lambda p: -scores[p])[
        : params.remembered
    ]
    new = _diverse(fractional[[p not in scores for p in fractional.tolist()]], share, pairs)
    ranked = []
    for p in new[: params.first if known else 2 * params.first].tolist():
        if limit.over:
            break
        ranked.append((-trial(p, params.first_iterations), p))
    tried = [p for _, p in sorted(ranked)[: params.second]] + known
    now: dict[int, float] = {}
    for p in tried:
        if now and limit.over:
            break
        now[p] = trial(p, params.second_iterations)
    scores.update(now)
    trial.end()
    return max(now, key=lambda p: (now[p], -p)) if now else int(fractional[0])


def _diverse(fractional: Ints, share: Floats, pairs: Pairs) -> Ints:
    """One of those that are alike, of one candidate and one share; then those near 1/2 first, a candidate each."""
    if not len(fractional):
        return fractional
    alike = np.stack([pairs.candidate[fractional], np.rint(100 * share[fractional]).astype(np.int64)])
    fractional = fractional[np.sort(np.unique(alike, axis=1, return_index=True)[1])]
    fractional = fractional[np.argsort(np.abs(share[fractional] - 0.5), kind="stable")]
    first = np.zeros(len(fractional), dtype=bool)
    first[np.unique(pairs.candidate[fractional], return_index=True)[1]] = True
    return np.concatenate([fractional[first], fractional[~first]])


class _Trial:
    """The rise on both sides of a pair, from one basis of the master problem; `end` leaves it as it was."""

    def __init__(self, master: Master, pairs: Pairs, left: Flags, slack: float, params: BranchParameters) -> None:
        self.params = params
        self.highs, self.groups, self.artificial = master.highs, master.groups, 2 * pairs.types
        self.pairs, self.left, self.most = pairs, left, slack + params.clear
        self.value, self.basis = self.highs.getInfo().objective_function_value, self.highs.getBasis()
        self.highs.setOptionValue("simplex_strategy", DUAL)

    def __call__(self, pair: int, iterations: int) -> float:
        """The product of the two rises."""
        self.highs.setOptionValue("simplex_iteration_limit", iterations)
        score = 1.0
        for side in self.pairs.sides(self.left, pair):
            gone = np.flatnonzero(~self.pairs.within(self.groups, side)).astype(np.int32) + self.artificial
            nothing = np.zeros(len(gone))
            self.highs.changeColsBounds(len(gone), gone, nothing, nothing)
            self.highs.setBasis(self.basis)
            self.highs.run()
            rise = float(self.highs.getInfo().objective_function_value) - self.value
            score *= max(min(rise, self.most), self.params.least_rise)
            self.highs.changeColsBounds(len(gone), gone, nothing, np.full(len(gone), highspy.kHighsInf))
        return score

    def end(self) -> None:
        """As many iterations as it takes again, from the basis before."""
        self.highs.setOptionValue("simplex_iteration_limit", np.iinfo(np.int32).max)
        self.highs.setBasis(self.basis)
