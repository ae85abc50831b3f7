"""Whether any table loses less than the best one, in rational numbers: all groups that it could have, one by one.

Multipliers prove that a table of groups c loses at least L + Σ r_c, r_c ≥ 0 their reduced costs, where these are
positive. So a better table than one that loses v has groups with Σ r_c < v - L. It is looked for depth first: some row
that is not yet placed is in one of the groups that are left, and fewest of these are tried. Reduced costs are rounded
down to integers of a 2^-40th of v - L; what a table loses is added up from its groups as fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.bounds.group_costs.bound import CostDual
from kanon_milp.bounds.parameters import GroupProofParameters
from kanon_milp.problem.group_costs import GroupCost
from kanon_milp.system.arrays import Flags, Ints, Ints32
from kanon_milp.system.limit import NO_LIMIT, Limit

FINE = 1 << 40  # parts of the gap


@dataclass(frozen=True, eq=False)
class Groups:
    """All groups of some kind. member: bool (n, groups), whether a row is in a group. costs: of each, exactly. reduced:
    reduced costs, 0 where they are negative. bound: L."""

    member: Flags
    costs: Sequence[Fraction]
    reduced: Sequence[Fraction]
    bound: Fraction

    @classmethod
    def at_relaxation(cls, member: Flags, costs: Sequence[Fraction], most: int) -> Groups | None:
        """At the multipliers of the linear program over them, rounded down; None where that has no solution. most:
        groups of a table."""
        from scipy.optimize import linprog  # takes long to import

        unit = Fraction(1, math.lcm(*(cost.denominator for cost in costs)))
        size = max(costs) or Fraction(1)
        found = linprog(
            np.array([float(cost / size) for cost in costs]), A_eq=member.astype(np.float64),
            b_eq=np.ones(len(member)),
        )  # fmt: skip
        if found.status != 0:
            return None
        worth = np.array([math.floor(Fraction(each) * size / unit) for each in found.eqlin.marginals], dtype=object)
        reduced = [int(cost / unit) - int(worth[rows].sum()) for cost, rows in zip(costs, member.T, strict=True)]
        bound = int(worth.sum()) + most * min(0, *reduced)
        return cls(member, costs, [max(each, 0) * unit for each in reduced], bound * unit)

    @classmethod
    def at_dual(cls, rows: Ints32, cost: GroupCost, dual: CostDual) -> Groups:
        """At multipliers with cuts. rows: int32 (groups, largest), -1 for none."""
        costs = [cost.exact(each[each >= 0].astype(np.int64)) for each in rows]
        member = np.zeros((len(dual.multipliers) + 1, len(rows)), np.bool_)
        member[rows.T, np.arange(len(rows))] = True
        member = member[:-1]
        worth = member.T @ dual.multipliers
        for (held, weights, denominator), price in zip(dual.cuts.each(), dual.cut_multipliers.tolist(), strict=True):
            worth -= price * (np.array(weights, np.int64) @ member[held] // denominator)
        reduced = [lost - int(each) * dual.scale for lost, each in zip(costs, worth, strict=True)]
        return cls(member, costs, [max(each, Fraction(0)) for each in reduced], dual.value * dual.scale)


def better_partition(
    groups: Groups,
    cost: Fraction,
    params: GroupProofParameters,
    limit: Limit = NO_LIMIT,
    on_better: Callable[[Ints], object] = lambda _: None,
) -> tuple[Fraction, bool]:
    """The least cost of a table, or `cost` where none is below that; and whether all of these groups were gone through.

    on_better: is told of the groups of each table that is better than all before, int64.
    """
    gap = cost - groups.bound
    if gap <= 0:
        return cost, True
    fine = np.array([min(int(each * FINE / gap), FINE) for each in groups.reduced], np.int64)
    nodes = 0

    def search(alive: Ints, open_rows: Flags, spent: int, chosen: list[int]) -> bool:
        nonlocal cost, nodes
        if not open_rows.any():
            total = sum((groups.costs[c] for c in chosen), Fraction(0))
            if total < cost:
                cost = total
                on_better(np.array(chosen, np.int64))
            return True
        nodes += 1
        if nodes > params.nodes or limit.over:
            return False
        held = groups.member[:, alive]
        count = np.where(open_rows, held.sum(axis=1), len(alive) + 1)
        row = int(count.argmin())
        some = alive[held[row]]
        for c in some[np.argsort(fine[some], kind="stable")].tolist():
            after = spent + int(fine[c])
            left = ~groups.member[groups.member[:, c]][:, alive].any(axis=0) & (fine[alive] + after < _most())
            if after < _most() and not search(alive[left], open_rows & ~groups.member[:, c], after, [*chosen, c]):
                return False
        return True

    def _most() -> int:
        """What the reduced costs of a better table are below."""
        return -int(-(cost - groups.bound) * FINE // gap)

    alive = np.flatnonzero(fine < FINE)
    complete = search(alive, np.ones(len(groups.member), np.bool_), 0, [])
    return cost, complete
