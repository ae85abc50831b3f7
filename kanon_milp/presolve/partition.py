"""Groups of rows, such as those of an earlier solution: as assignments, and released without the candidates that no
group needs.

For methods that divide the rows first and then generalize each group: the candidates of a table of many columns would
be too many to enumerate, those of its groups are as many as there are groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from kanon_milp.presolve.assignment import Assignment, RowGroups
from kanon_milp.presolve.instance import Candidates, Instance, exempt_candidates, recode
from kanon_milp.presolve.preparation import Prepared
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.presolve.reductions import Merged
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.hierarchies import ColumnLevels
from kanon_milp.problem.recoding import Levels, fully_suppressed
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Flags, Ints, Ints32

BLOCK = 1 << 24  # comparisons of a group with a level vector at once


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows of the table in groups, as parallel int64 arrays: so many rows of a row type in a group, groups from 0.

    vector: int16 (groups, m), level vector of each group; -1 in each column, or None for all: the cheapest one under
    which its rows are alike. full_domain: whether each column has one level, the fully suppressed rows aside, so
    that its labels are released as the hierarchy has them, even one that stands for other values at a lower level.
    """

    group: Ints
    row_type: Ints
    rows: Ints
    vector: NDArray[np.int16] | None = None
    full_domain: bool = False

    def of_rows(self, table: Table, types: RowTypes) -> RowGroups:
        """The groups of the rows of a table; rows of a type go to its groups in the order of both."""
        order = np.lexsort((self.group, self.row_type))
        return RowGroups.of_types(table, types, self.group[order], self.rows[order])


def released_partition(instance: Instance, partition: Partition) -> tuple[Instance, Assignment] | None:
    """Release each group as cheaply as the recoding allows; groups that are then alike are one.

    instance: its row types are those of the partition; its candidates play no part. Returns the instance whose
    candidates are the released rows, and what each row type receives; None where the recoding can generalize some group
    to no common row.
    """
    types = instance.types
    order = np.lexsort((partition.row_type, partition.group))
    group, row_type, rows = partition.group[order], partition.row_type[order], partition.rows[order]
    begin = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))

    given: Flags = np.zeros(len(begin), dtype=bool)
    if partition.vector is not None:
        given = np.asarray((partition.vector >= 0).all(axis=1))

    def wanted(columns: Sequence[ColumnLevels]) -> NDArray[np.int16]:
        """What is looked at where all level vectors are allowed; a group's cheapest one is then its own."""
        common = _common_levels(columns, types.codes[row_type], begin)
        return np.unique(
            common if partition.vector is None else np.where(given[:, None], partition.vector, common), axis=0
        )

    levels = recode(instance.problem, types, wanted)
    first = types.codes[row_type[begin]]
    vector = _cheapest_above(_common_levels(levels.columns, types.codes[row_type], begin), levels, first)
    if partition.vector is not None:
        places = {tuple(each): at for at, each in enumerate(levels.vectors.tolist())}
        vector[given] = [places[tuple(each)] for each in partition.vector[given].tolist()]
    if (vector < 0).any():
        return None
    at, cost = levels.vectors[vector], levels.row_costs(vector, first)
    labels = [column.label_of[at[:, j], first[:, j]] for j, column in enumerate(levels.columns)]
    key = mixed_key(labels, [len(column.labels) for column in levels.columns])
    # the cheaper vector where two give the same row
    cheapest = np.lexsort((cost, key))
    new = np.concatenate([[True], key[cheapest][1:] != key[cheapest][:-1]])
    number = np.empty(len(vector), dtype=np.int64)
    number[cheapest] = np.cumsum(new) - 1
    of_entry = number[np.repeat(np.arange(len(begin)), np.diff(begin, append=len(group)))]
    pair, entry = np.unique(of_entry * types.count + row_type, return_inverse=True)
    members, candidate = pair % types.count, pair // types.count
    chosen = vector[cheapest[new]].astype(np.int32)
    if partition.full_domain:
        used, codes = levels.vectors[chosen[candidate]], types.codes[members]
        columns = enumerate(levels.columns)
        levels = replace(levels, columns=tuple(c.as_published(used[:, j], codes[:, j]) for j, c in columns))
    candidates = Candidates(
        vector=chosen,
        cost=cost[cheapest[new]],
        support=np.bincount(candidate, weights=types.counts[members]).astype(np.int64),
        indptr=indptr_of(np.bincount(candidate, minlength=len(chosen))),
        members=members.astype(np.int32),
    )
    exempt = exempt_candidates(instance.problem, levels, candidates)
    found = Instance(instance.problem, types, levels, candidates, exempt, instance.table_group)
    placed = np.bincount(entry, weights=rows, minlength=len(pair)).astype(np.int64)
    return found, Assignment.from_pairs(found, placed)


def _common_levels(columns: Sequence[ColumnLevels], codes: Ints32, begin: Ints) -> NDArray[np.int16]:
    """For each group the lowest level of each column at which its rows are alike, int16 (groups, m).

    codes: int32 (entries, m), sorted by group; begin: where each group begins.
    """
    found = np.empty((len(begin), len(columns)), dtype=np.int16)
    for j, column in enumerate(columns):
        height = np.full(len(begin), column.height, dtype=np.int16)
        for level in range(column.height - 1, -1, -1):
            labels = column.label_of[level, codes[:, j]]
            alike = np.minimum.reduceat(labels, begin) == np.maximum.reduceat(labels, begin)
            height[alike] = level
        found[:, j] = height
    return found


def _cheapest_above(wanted: NDArray[np.int16], levels: Levels, codes: Ints32) -> Ints:
    """The cheapest level vector that is nowhere below the wanted levels, int64 (groups,), -1 where there is none.

    codes: int32 (groups, m), values of a row of each group.
    """
    every = levels.count == math.prod(column.height + 1 for column in levels.columns)
    if levels.cells is not None and not every:
        return _cheapest_of_labels(wanted, levels, codes)
    different, inverse = np.unique(wanted, axis=0, return_inverse=True)
    of_group = inverse.reshape(-1)
    found, open_ = np.full(len(different), -1, dtype=np.int64), np.arange(len(different))
    order = np.argsort(levels.costs, kind="stable")
    if every:
        # all vectors are allowed, and costs do not fall from level to level
        shape = [column.height + 1 for column in levels.columns]
        number = np.empty(levels.count, dtype=np.int64)
        number[np.ravel_multi_index(levels.vectors.T, shape)] = np.arange(levels.count)
        return np.take(number[np.ravel_multi_index(different.T, shape)], of_group)
    step = max(1, BLOCK // max(len(different) * wanted.shape[1], 1))
    for at in range(0, levels.count, step):
        some = order[at : at + step]
        above = levels.vectors[some][None, :, :] >= different[open_][:, None, :]
        fits: Flags = np.asarray(above.all(axis=2))
        has = np.asarray(fits.any(axis=1))
        found[open_[has]] = some[fits[has].argmax(axis=1)]
        open_ = open_[~has]
        if not len(open_):
            break
    return np.take(found, of_group)


def _cheapest_of_labels(wanted: NDArray[np.int16], levels: Levels, codes: Ints32) -> Ints:
    """The same where costs depend on labels: group by group, since vectors have no common order."""
    found = np.full(len(wanted), -1, dtype=np.int64)
    for group, lowest in enumerate(wanted):
        above = np.flatnonzero((levels.vectors >= lowest).all(axis=1))
        if len(above):
            found[group] = above[levels.row_costs(above, codes[group][None, :]).argmin()]
    return found


GROUPS_AT_ONCE = 1_000  # groups that are held against all candidates at once


def assignment_of_groups(prepared: Prepared, groups: RowGroups) -> Assignment | None:
    """Give each group the cheapest candidate of `prepared.instance` that covers all its rows.

    groups: any numbers. Whether what comes out satisfies the problem is for the verifier
    to say. None where some group has no candidate.
    """
    instance = prepared.instance
    of_row: Ints | Ints32 = prepared.before.types.type_of_rows(prepared.problem.table.keys)
    for step in prepared.steps if instance is not prepared.before else []:
        if isinstance(step, Merged):
            of_row = step.row_type[of_row]
    _, group, row_type, rows = _entries(groups, of_row, instance.types.count)
    candidate = _cheapest_covering(instance, group, row_type)
    if candidate is None:
        return None
    return Assignment(row_type, candidate[group], rows, 0).checked(instance)


def _entries(groups: RowGroups, type_of_row: Ints | Ints32, types: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Of each released row the number of its group; and of each entry its group, its row type, and how many rows it
    has."""
    numbers = np.unique(groups.group, return_inverse=True)[1].astype(np.int64)
    entries, inverse = np.unique(numbers * types + type_of_row[groups.row], return_inverse=True)
    rows = np.bincount(inverse, weights=groups.rows).astype(np.int64)
    return numbers, *np.divmod(entries, types), rows


def partition_of_groups(instance: Instance, groups: RowGroups) -> Partition:
    """The same groups without candidates, each to be released as cheaply as the recoding allows.

    Under the exempt reading groups of fewer than k rows (or units) are suppressed, since nothing else can be meant.
    """
    problem, types = instance.problem, instance.types
    numbers, group, row_type, rows = _entries(groups, types.type_of_rows(problem.table.keys), types.count)
    vector = None
    if problem.suppressed_rows == "exempt":
        k = max((each.rows_asked for each in problem.requirements), default=1)
        held = np.bincount(numbers, weights=groups.rows)
        if problem.table.unit is not None:
            units = np.unique(problem.table.column(problem.table.unit).to_numpy(), return_inverse=True)[1]
            held = np.bincount(np.unique(np.stack([numbers, units]), axis=1)[0])
        if (held < k).any():
            levels = recode(problem, types, fully_suppressed)
            if (levels.vectors == levels.top).all(axis=1).any():
                vector = np.where((held < k)[:, None], levels.top, np.int16(-1))
    return Partition(group, row_type, rows, vector)


def _cheapest_covering(instance: Instance, group: Ints, row_type: Ints) -> Ints | None:
    """int64 (groups,), by entries in the order of groups; None where a group has none."""
    candidates = instance.candidates
    pairs = np.ones(candidates.pairs, dtype=np.int32)
    covers = csr_matrix((pairs, candidates.members, candidates.indptr), (candidates.count, instance.types.count))
    of_type = covers.T.tocsr()
    indptr = indptr_of(np.bincount(group))
    found = np.empty(len(indptr) - 1, dtype=np.int64)
    for first in range(0, len(found), GROUPS_AT_ONCE):
        last = min(first + GROUPS_AT_ONCE, len(found))
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
