"""A partition of the table's rows, such as that of an earlier solution, over the row types of an instance."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition
from kanon_milp.presolve.preparation import Prepared
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.presolve.reductions.signature import Merged
from kanon_milp.system.arrays import Ints

BLOCK = 1_000  # groups that are held against all candidates at once


def assignment_of_groups(prepared: Prepared, groups: Ints) -> Assignment | None:
    """Give each group the cheapest candidate of `prepared.instance` that covers all its rows.

    groups: int64 (n,), group of each row, any numbers. Whether what comes out satisfies the problem is for the verifier
    to say. None where some group has no candidate.
    """
    instance = prepared.instance
    row_type = prepared.before.types.type_of_rows(prepared.problem.table.keys).astype(np.int64)
    for step in prepared.steps if instance is not prepared.before else []:
        if isinstance(step, Merged):
            row_type = step.row_type[row_type]
    numbers = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    types = instance.types.count
    entries, rows = np.unique(numbers * types + row_type, return_counts=True)
    group, row_type = np.divmod(entries, types)
    candidate = _cheapest_covering(instance, group, row_type)
    if candidate is None:
        return None
    candidate = candidate[group]
    return Assignment(row_type, candidate, rows.astype(np.int64), 0).checked(instance)


def partition_of_groups(instance: Instance, groups: Ints) -> Partition:
    """The same groups without candidates, each to be released as cheaply as the recoding allows.

    Under the exempt reading groups of fewer than k rows (or units) are suppressed, since nothing else can be meant.
    """
    problem, types = instance.problem, instance.types
    row_type = types.type_of_rows(problem.table.keys).astype(np.int64)
    numbers = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    entries, rows = np.unique(numbers * types.count + row_type, return_counts=True)
    group, row_type = np.divmod(entries, types.count)
    vector = None
    if problem.suppressed_rows == "exempt":
        k = max((each.rows_asked for each in problem.requirements), default=1)
        held = np.bincount(numbers)
        if problem.table.unit is not None:
            units = np.unique(problem.table.column(problem.table.unit).to_numpy(), return_inverse=True)[1]
            held = np.bincount(np.unique(np.stack([numbers, units]), axis=1)[0])
        if (held < k).any():
            levels = recode(problem, types)
            vector = np.full(len(held), -1, dtype=np.int64)
            for top in np.flatnonzero((levels.vectors == levels.top).all(axis=1)):
                vector[held < k] = top
    return Partition(group, row_type, rows.astype(np.int64), vector)


def _cheapest_covering(instance: Instance, group: Ints, row_type: Ints) -> Ints | None:
    """int64 (groups,), by entries in the order of groups; None where a group has none."""
    candidates = instance.candidates
    pairs = np.ones(candidates.pairs, dtype=np.int32)
    covers = csr_matrix((pairs, candidates.members, candidates.indptr), (candidates.count, instance.types.count))
    of_type = covers.T.tocsr()
    indptr = indptr_of(np.bincount(group))
    found = np.empty(len(indptr) - 1, dtype=np.int64)
    for first in range(0, len(found), BLOCK):
        last = min(first + BLOCK, len(found))
        begin, end = indptr[first], indptr[last]
        ones = np.ones(end - begin, dtype=np.int32)
        own = csr_matrix(
            (ones, row_type[begin:end], indptr[first : last + 1] - begin), (last - first, of_type.shape[0])
        )
        common = (own @ of_type).tocoo()
        covering = common.data == np.diff(indptr)[first:last][common.row]
        at, which = common.row[covering], common.col[covering].astype(np.int64)
        order = np.lexsort((which, candidates.cost[which], at))
        at, which = at[order], which[order]
        has, where = np.unique(at, return_index=True)
        if len(has) < last - first:
            return None
        found[first:last] = which[where]
    return found
