"""The method `subset_dp`: dynamic programming over all sets of rows (Blocki and Williams 2010, Theorem 1.3; Liang and
Yuan 2013, Theorem 8), exact in 2^O(n) steps for any requirement that judges each group alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.kernels.subset_dp import divide_some
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.kernel import Kernel
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.limit import Limit, Over
from kanon_milp.system.parameters import number, parameters

NEVER = 1 << 60


@parameters("subset_dp")
@dataclass(frozen=True)
class SubsetParams:
    """Dynamic programming over all sets of rows, those of a type being alike: 22 rows of which no two are, or
    after the kernel six types of any number of rows."""

    sets: int = number(1 << 22, "sets of rows, at most")
    steps: float = number(4e10, "(set, part of it) pairs, at most: about a minute")
    counts: int = number(1 << 18, "different counts by sensitive value that the requirements are asked about, at most")
    slice: int = number(1 << 25, "steps between two looks at the clock", least=1)


def solve_subset_dp(session: Session) -> Result:
    """The cheapest way to part every set of rows into a group and the best partition of the rest.

    Under k-anonymity alone the kernel comes first (Blocki and Williams 2010, Theorem 1.4): then the number of row types
    decides, not that of rows.
    """
    limit, params = session.limit, session.parameters.of(SubsetParams)
    kernel = Kernel().apply(session.instance) if Kernel().accepts(session.problem) else None
    instance = session.instance if kernel is None else kernel.instance
    sets = RowSets.of(instance, params)
    with session.clock.step("search"):
        try:
            cost, candidate = cheapest_groups(instance, sets, params, limit)
            total, group = divide(sets, cost, limit, params)
        except Over:
            return session.end_early(limit.reason)
    if total >= NEVER:
        return session.end_infeasible()
    rows = np.zeros(instance.candidates.pairs, dtype=np.int64)
    left = sets.count - 1
    while left:
        g, counts = int(candidate[group[left]]), sets.rows(int(group[left]))
        pairs = slice(int(instance.candidates.indptr[g]), int(instance.candidates.indptr[g + 1]))
        rows[pairs] += counts[instance.candidates.members[pairs]]
        left -= int(group[left])
    found = Assignment.from_pairs(instance, rows)
    found = found if kernel is None else kernel.invert(found)
    return session.finish(found, bound=Fraction(total) * instance.levels.unit)


@dataclass(frozen=True)
class RowSets:
    """Sets of rows as numbers: rows of a type are alike, so a set is how many of each type it has, in mixed radix.

    copies: int64 (t,), rows of each type. place: int64 (t,), what one row of each type adds to the number. count: of
    sets; the last one is the table.
    """

    copies: Ints
    place: Ints
    count: int

    @classmethod
    def of(cls, instance: Instance, params: SubsetParams) -> RowSets:
        """Raises InputError where there are too many sets."""
        copies = instance.types.counts
        count, steps = (
            math.prod(n + 1 for n in copies.tolist()),
            math.prod(math.comb(n + 2, 2) for n in copies.tolist()),
        )
        if count > params.sets or steps > params.steps:
            raise InputError(
                f"the method subset_dp is for about 22 different rows: it would go through {Decimal(count):.2g} sets "
                f"of rows and {Decimal(steps):.2g} parts of them; use another method, such as milp"
            )
        place = np.concatenate([[1], np.cumprod(copies + 1)[:-1]]).astype(np.int64)
        return cls(copies, place, count)

    def rows(self, number: int) -> Ints:
        """How many rows of each type a set has, int64 (t,)."""
        return number // self.place % (self.copies + 1)

    def sums(self, weights: Ints) -> Ints:
        """Of every set, the sum of a weight of its rows, int64 (count,). weights: int64 (t,), of a row of each type."""
        found = np.zeros(1, dtype=np.int64)
        for copies, weight in zip(self.copies.tolist(), weights.tolist(), strict=True):
            found = (np.arange(copies + 1)[:, None] * weight + found[None, :]).reshape(-1)
        return found


def cheapest_groups(instance: Instance, sets: RowSets, params: SubsetParams, limit: Limit) -> tuple[Ints, Ints]:
    """For every set of rows, the least loss as one group, and the candidate of it: both int64 (count,); `NEVER` and -1
    where it cannot be one.

    Raises InputError where the sets differ in too many ways in their sensitive values, and `Over` at the limit.
    """
    size = sets.sums(np.ones(instance.types.count, dtype=np.int64))
    support = np.zeros(1, dtype=np.int64)  # the types of a set as bits
    for i, copies in enumerate(sets.copies.tolist()):
        has = np.minimum(np.arange(copies + 1), 1) << i
        support = (has[:, None] | support[None, :]).reshape(-1)
    cost, candidate = np.full(sets.count, NEVER), np.full(sets.count, -1)
    allowed = _allowed(instance, sets, params.counts, limit)
    exempt, least = instance.exempt, instance.least
    for kind in (False, True):
        among = np.flatnonzero(exempt == kind)
        if not len(among):
            continue
        best = _cheapest_cover(instance, among)[support]
        fits = (best >= 0) & (size >= least[among[0]]) & allowed[int(kind)]
        loss = np.where(fits, size * instance.candidates.cost[best], NEVER)
        better = loss < cost
        cost[better], candidate[better] = loss[better], best[better]
    return cost, candidate


def _cheapest_cover(instance: Instance, among: Ints) -> Ints:
    """The cheapest of these candidates that covers the row types of each set of them (bits), int64 (2^t,), or -1."""
    candidates, types = instance.candidates, instance.types.count
    best = np.full(1 << types, -1, dtype=np.int64)
    price = np.append(candidates.cost, NEVER)  # of "none", the last
    for g in among[np.argsort(-candidates.cost[among], kind="stable")].tolist():  # the cheapest is written last
        members = candidates.members[candidates.indptr[g] : candidates.indptr[g + 1]].astype(np.int64)
        best[int((1 << members).sum())] = g
    for i in range(types):  # what covers more covers this as well
        pairs = best.reshape(-1, 2, 1 << i)
        pairs[:, 0] = np.where(price[pairs[:, 1]] < price[pairs[:, 0]], pairs[:, 1], pairs[:, 0])
    return best


def _allowed(instance: Instance, sets: RowSets, most: int, limit: Limit) -> tuple[Flags, Flags]:
    """Whether every set, as a group, satisfies the requirements: with k-anonymity, and where it is exempt from it."""
    check = GroupCheck(instance)
    if check.code is None:  # sizes are all
        every = np.ones(sets.count, dtype=bool)
        return every, every
    values = int(check.code.max()) + 1
    table = np.bincount(check.code, weights=instance.types.counts, minlength=values).astype(np.int64)
    ways = math.prod(n + 1 for n in table.tolist())
    if ways > most:
        raise InputError(
            f"the method subset_dp would have to ask the requirements about {ways:.2g} different counts of sensitive "
            f"values, more than {most:,}; use another method, such as milp"
        )
    place = np.concatenate([[1], np.cumprod(table + 1)[:-1]]).astype(np.int64)
    of_set = sets.sums(place[check.code])
    found = []
    for exempt in (False, True):
        g = np.flatnonzero(instance.exempt == exempt)[:1]
        holds = np.zeros(ways, dtype=bool)
        if len(g):
            for at in np.unique(of_set[1:]).tolist():
                if limit.over:
                    raise Over
                counts = at // place % (table + 1)
                holds[at] = check.holds(int(g[0]), counts)
        found.append(holds[of_set])
    return found[0], found[1]


def divide(sets: RowSets, cost: Ints, limit: Limit, params: SubsetParams) -> tuple[int, Ints]:
    """The least loss of the table, and for every set of rows the first group of its best partition, int64 (count,).

    cost: of every set as one group. Raises `Over` at the limit.
    """
    total, group = np.full(sets.count, NEVER), np.zeros(sets.count, dtype=np.int64)
    total[0] = 0
    done = 1
    while done < sets.count:
        if limit.over:
            raise Over
        done = divide_some(sets.copies, sets.place, cost, total, group, done, params.slice)
    return int(total[-1]), group
