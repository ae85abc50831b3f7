"""The methods that divide the rows themselves and need no candidates: `greedy`, `mondrian`, `mondrian_relaxed`, which
prove nothing, and `m_approximation`, which keeps within a factor of the optimum.

The groups are released as cheaply as the recoding allows, so that their loss compares with that of every other method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.greedy import greedy_partition
from kanon_milp.heuristics.mondrian import mondrian_partition
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.instance import recode
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.hierarchies import ColumnLevels
from kanon_milp.system.arrays import Ints

NO_GREEDY_TABLE = (
    "greedy has found no table: no pattern fits all rows, or not even all rows together satisfy the requirements; "
    "another method may find one"
)
NOTHING_TO_DIVIDE = "not even all rows together satisfy the requirements, so there is nothing to divide"
ONE_GROUP = "the limit was reached before classes of equal rows were found: all rows are one group"


def solve_greedy(session: Session) -> Result:
    """Form groups from the cheapest pattern to the most expensive (Bredereck et al. 2013, Algorithm 1)."""
    with session.clock.step("search"):
        found = greedy_partition(session.prepared.before, session.limit)
    if found is None:
        return session.finish(None, message=NO_GREEDY_TABLE)
    short = "the limit was reached before every pattern was gone through" if session.limit.over else ""
    return session.finish_partition(found, message=short)


def solve_mondrian(session: Session, *, relaxed: bool = False) -> Result:
    """Cut the rows in two at the median of a quasi-identifier as long as both parts satisfy every requirement (LeFevre,
    DeWitt and Ramakrishnan 2006).

    relaxed: rows at the median go to both sides, so that these are equally large; otherwise a value is on one side.
    """
    with session.clock.step("search"):
        found = mondrian_partition(session.prepared.before, session.limit, relaxed=relaxed)
    if found is None:
        return session.finish(None, message=NOTHING_TO_DIVIDE)
    over = session.limit.over
    short = "the limit was reached before every part was divided as far as the requirements allow" if over else ""
    return session.finish_partition(found, message=short)


def solve_m_approximation(session: Session) -> Result:
    """Rows that are alike k times stay as they are; all others are one group, with as many of the former as it needs
    (Liang and Yuan 2013, Theorem 10: k-anonymity within a factor of the number m of quasi-identifiers).

    In any table so many rows lose at least the least that a row can lose, and here none loses more than a fully
    suppressed one: so the bound, and the factor, which is m where each suppressed cell costs the same. Under a mask
    without the pattern that keeps everything no row stays as it is. At the limit all rows are one group, and nothing
    is proven.
    """
    before, limit = session.prepared.before, session.limit
    of_all = np.arange(before.types.count)
    everything = Partition(np.zeros_like(of_all), of_all, before.types.counts)
    if limit.over:
        return session.finish_partition(everything, message=ONE_GROUP)
    types, levels = before.types, recode(session.problem, before.types, _least_general)
    k = before.smallest_size
    alike = mixed_key(list(types.codes.T.astype(np.int64)), [len(d) for d in types.domains[: len(types.names)]])
    _, of_type = np.unique(alike, return_inverse=True)
    size = np.bincount(of_type, weights=types.counts).astype(np.int64)
    if limit.over:  # what follows is quick
        return session.finish_partition(everything, message=ONE_GROUP)
    kept = (levels.vectors == 0).all(axis=1).any()
    order = np.argsort(size, kind="stable")
    small = int((size < k).sum()) if kept else len(size)
    rest = np.where(np.arange(len(size)) < small, size[order], 0)  # rows of each class in the common group
    if 0 < rest.sum() < k:
        spare = size[order] - np.where(rest > 0, size[order], k)
        if rest.sum() + spare.sum() >= k:
            wanted = k - int(rest.sum())
            rest += np.clip(wanted - (np.cumsum(spare) - spare), 0, spare)
        elif small < len(size):  # each row of the next class at least loses something, or one of a larger class does
            rest[small] = size[order][small]
    # fully suppressed rows that are exempt need no partners that lose as well
    losing = int(size[order][:small].sum() if before.exempt_reading else rest.sum())
    taken = np.zeros(len(size), dtype=np.int64)
    taken[order] = rest
    partition = _partition(of_type, types.counts, taken)
    if before.exempt_reading and 0 < rest.sum() < k:  # too few to be released but as suppressed rows
        vector = np.full((len(np.unique(partition.group)), len(levels.top)), -1, np.int16)
        vector[-1] = levels.top
        partition = replace(partition, vector=vector)
    least = levels.costs[(levels.vectors != 0).any(axis=1)].min(initial=levels.costs.max())
    return session.finish_partition(partition, bound=losing * int(least) * levels.unit)


def _least_general(columns: Sequence[ColumnLevels]) -> NDArray[np.int16]:
    """The level vector that keeps everything, and those that generalize one column by one level, int16 (m + 1, m)."""
    return np.vstack([np.zeros((1, len(columns)), np.int16), np.eye(len(columns), dtype=np.int16)])


def _partition(of_type: Ints, counts: Ints, taken: Ints) -> Partition:
    """Each class as a group, but for the rows that are taken out of it, which are the last group.

    of_type: int64 (t,), class of each row type. taken: int64 (classes,).
    """
    order = np.argsort(of_type, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    first = np.searchsorted(of_type[order], np.arange(len(taken)))
    within = before - before[first][of_type[order]]
    out = np.zeros_like(counts)
    out[order] = np.clip(taken[of_type[order]] - within, 0, counts[order])
    group = np.concatenate([of_type, np.full(len(of_type), len(taken))])
    rows = np.concatenate([counts - out, out])
    row_type = np.tile(np.arange(len(of_type)), 2)
    used = rows > 0
    return Partition(group[used].astype(np.int64), row_type[used], rows[used])
