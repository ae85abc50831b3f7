"""Whether any table loses less than the best one, exactly: among all groups that it could have.

Multipliers prove that a table of groups c loses at least L + Σ r_c, r_c ≥ 0 their reduced costs, where these are
positive. So a better table than one that loses v has groups with Σ r_c < v - L. All numbers are integers, of which
`unit` is one.

Few groups are gone through depth first: some row that is not yet placed is in one of the groups that are left, and
fewest of these are tried. More of them are a set-partitioning program for a solver, with the costs of groups less Σ λ
of their rows: of a table the same is left as it costs, but for a constant, while Σ r_c is less where it does not use up
a cut. At first all tables are those of the program, so the bound is about what the best one costs even if it ends here.
Then tables that are known are forbidden. What it finds is compared with the best one exactly, and forbidden in turn. As
the costs are small integers, the solver's bound on all other tables is exact; where it is not below v, the best one is
proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from kanon_milp.bounds.columns.program import coefficients
from kanon_milp.bounds.group_costs.bound import CostDual
from kanon_milp.bounds.group_costs.pricing import groups_of
from kanon_milp.bounds.parameters import GroupProofParameters
from kanon_milp.formulations.arrays import Constraints, set_partitioning
from kanon_milp.formulations.restricted import Answer
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.limit import NO_LIMIT, Limit

FINE = 1 << 40  # parts of the gap
RANGE = 10**6  # of the integers that a solver gets

OnBetter = Callable[[Ints], object]


@dataclass(frozen=True, eq=False)
class Groups:
    """All groups of some kind. rows: int32 (groups, largest), -1 for none. n: rows of a table. reduced: reduced costs
    in `unit`, rounded down, 0 where they are negative. bound: L. shifted: costs of groups less Σ λ of their rows,
    rounded down, in `unit`; shift: Σ λ of all rows. cost: of some groups, exactly. step: costs of tables are multiples
    of it; 0 where that is not known."""

    rows: Ints32
    n: int
    reduced: Sequence[int]
    unit: Fraction
    bound: Fraction
    shifted: Sequence[int]
    shift: Fraction
    cost: Callable[[Ints], Fraction]
    step: Fraction = Fraction(0)

    @classmethod
    def at_relaxation(cls, rows: Ints32, n: int, costs: Sequence[Fraction], most: int) -> Groups | None:
        """At the multipliers of the linear program over them, rounded down; None where that has no solution. most:
        groups of a table."""
        from scipy.optimize import linprog  # takes long to import

        unit = Fraction(1, math.lcm(*(cost.denominator for cost in costs)))
        size = max(costs) or Fraction(1)
        member = _members(rows, n).toarray()
        found = linprog(np.array([float(cost / size) for cost in costs]), A_eq=member, b_eq=np.ones(n))
        if found.status != 0:
            return None
        worth = [math.floor(Fraction(each) * size / unit) for each in found.eqlin.marginals]
        reduced = [
            int(cost / unit) - sum(worth[row] for row in each if row >= 0)
            for cost, each in zip(costs, rows.tolist(), strict=True)
        ]
        bound = sum(worth) + most * min(0, *reduced)
        positive = [max(each, 0) for each in reduced]
        return cls(
            rows, n, positive, unit, bound * unit, reduced, sum(worth) * unit,
            lambda chosen: sum((costs[c] for c in chosen), Fraction(0)),
        )  # fmt: skip

    @classmethod
    def at_dual(
        cls, rows: Ints32, costs: Ints, dual: CostDual, cost: Callable[[Ints], Fraction], step: Fraction
    ) -> Groups:
        """At multipliers with cuts. costs: of each group, in the units of the dual point, rounded down."""
        n = len(dual.multipliers)
        shifted = costs - np.append(dual.multipliers, 0)[rows].sum(axis=1)
        reduced = shifted.copy()
        cut, column, times = coefficients(groups_of(rows), dual.cuts, n)
        np.add.at(reduced, column, dual.cut_multipliers[cut] * times)
        scale, positive, shift = dual.scale, np.maximum(reduced, 0).tolist(), sum(dual.multipliers.tolist())
        return cls(rows, n, positive, scale, dual.value * scale, shifted.tolist(), shift * scale, cost, step)

    def below(self, cost: Fraction) -> int:
        """How many units the reduced costs of a table that loses less than this add up to, at most."""
        if self.step:
            return math.floor((cost - self.step - self.bound) / self.unit)
        return math.ceil((cost - self.bound) / self.unit) - 1

    @cached_property
    def member(self) -> Flags:
        """Whether a row is in a group, bool (n, groups)."""
        found: Flags = _members(self.rows, self.n).toarray() > 0
        return found


def _members(rows: Ints32, n: int) -> sp.csr_array:
    """Which rows each group has, (n, groups)."""
    column, _ = np.nonzero(rows >= 0)
    held = rows[rows >= 0]
    return sp.csr_array((np.ones(len(held)), (held, column)), shape=(n, len(rows)))


def better_partition(
    groups: Groups,
    cost: Fraction,
    params: GroupProofParameters,
    limit: Limit = NO_LIMIT,
    on_better: OnBetter = lambda _: None,
) -> tuple[Fraction, bool]:
    """The least cost of a table, or `cost` where none is below that; and whether all of these groups were gone through.

    on_better: is told of the groups of each table that is better than all before, int64.
    """
    gap = groups.below(cost)
    if gap < 0:
        return cost, True
    fine = np.array([min(each * FINE // (gap + 1), FINE) for each in groups.reduced], np.int64)
    nodes = 0

    def search(alive: Ints, open_rows: Flags, spent: int, chosen: list[int]) -> bool:
        nonlocal cost, nodes
        if not open_rows.any():
            found = np.array(chosen, np.int64)
            total = groups.cost(found)
            if total < cost:
                cost = total
                on_better(found)
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
        return (groups.below(cost) * FINE) // (gap + 1) + 1

    alive = np.flatnonzero(fine < FINE)
    complete = search(alive, np.ones(groups.n, np.bool_), 0, [])
    return cost, complete


def solved_partitions(
    groups: Groups,
    best: Fraction,
    table: Ints,
    params: GroupProofParameters,
    solve: Callable[[LinearModel, Floats], Answer],
    on_better: OnBetter = lambda _: None,
) -> tuple[Fraction, tuple[Backing, ...]]:
    """What no table of these groups costs less than, or `best` where none is below that; and who stands behind it.

    table: the groups of a table that costs `best`, int64, to begin with. on_better: as above.
    """
    least, tables, forbidden = groups.bound, [table], False
    while True:
        most = groups.below(best)
        within = np.array([c for c, each in enumerate(groups.reduced) if each <= most], np.int64)
        if not len(within):
            return best, ("own bound",)
        part = max(abs(groups.shifted[c]) for c in within.tolist()) // RANGE + 1
        costs = np.array([groups.shifted[c] // part for c in within.tolist()], np.int64)
        others = _other_tables(groups, within, costs, tables if forbidden else [])
        answer = solve(others, np.isin(within, tables[-1]).astype(np.float64))
        if answer.infeasible:
            return best, answer.backed_by
        if answer.bound is not None:
            reached = groups.shift + answer.bound * part * groups.unit
            least = max(least, math.ceil(reached / groups.step) * groups.step if groups.step else reached)
        if least >= best or answer.x is None or not answer.optimal or len(tables) > params.tables:
            return min(least, best), answer.backed_by
        found, forbidden = within[answer.x > 0.5], True
        tables.append(found)
        if groups.cost(found) < best:
            best = groups.cost(found)
            on_better(found)


def least_cost(
    groups: Groups,
    best: Fraction,
    table: Ints,
    params: GroupProofParameters,
    limit: Limit,
    solve: Callable[[LinearModel, Floats], Answer],
    on_better: OnBetter,
) -> tuple[Fraction, tuple[Backing, ...]]:
    """What no table of these groups costs less than, or `best`, by one of the two; and who stands behind it."""
    found = [table]

    def keep(chosen: Ints) -> None:
        found.append(chosen)
        on_better(chosen)

    if len(groups.rows) <= params.groups:
        best, complete = better_partition(groups, best, params, limit.share(params.share), keep)
        if complete:
            return best, ("own bound",)
    return solved_partitions(groups, best, found[-1], params, solve, on_better)


def _other_tables(groups: Groups, within: Ints, costs: Ints, tables: Sequence[Ints]) -> LinearModel:
    """The cheapest table of some groups that is none of these, each of which has a group that it does not have. What
    does not place all rows is no table, and forbids none."""
    placed = [np.sort(held[held >= 0]) for held in (groups.rows[table] for table in tables)]
    each_once = [np.array_equal(rows, np.arange(groups.n)) for rows in placed]
    whole = [table for table, once in zip(tables, each_once, strict=True) if once and np.isin(table, within).all()]
    rows = sp.csr_array(np.array([np.isin(within, table) for table in whole]).reshape(len(whole), len(within)) * 1.0)
    others = Constraints(rows, np.full(len(whole), -np.inf), np.array([len(table) - 1.0 for table in whole]))
    return set_partitioning(
        _members(groups.rows[within], groups.n), costs, np.ones(groups.n), np.ones(len(within)), others
    )
