"""From an assignment of row types to the released table, row by row and always in the same way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.row_types import rows_by_type
from kanon_milp.system.arrays import Ints


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """columns: per quasi-identifier its released values as text, in row order.

    group: int64 (n,), group of each row, numbered from 1 in the order of their first rows.
    """

    columns: dict[str, pl.Series]
    group: Ints


def expand(instance: Instance, assignment: Assignment) -> Release:
    """Give the rows of each type, in row order, to its candidates, in candidate order."""
    types, levels = instance.types, instance.levels
    type_of_row = types.type_of_rows(instance.problem.table.keys)
    _, rows = rows_by_type(type_of_row, types.count)
    # the assignment is ordered by row type and so are `rows`: one repeat lays them side by side
    candidate_of_row = np.empty(types.n, dtype=np.int64)
    candidate_of_row[rows] = np.repeat(assignment.candidate, assignment.rows)
    used, first, inverse = np.unique(candidate_of_row, return_index=True, return_inverse=True)
    labels = instance.candidates.labels(types, levels, used)
    released = pl.DataFrame([pl.Series(f"c{j}", label, dtype=pl.String) for j, label in enumerate(labels)])[inverse]
    columns = {name: column.alias(name) for name, column in zip(types.names, released, strict=True)}
    number = np.empty(len(used), dtype=np.int64)
    number[np.argsort(first)] = np.arange(1, len(used) + 1)
    return Release(columns, number[inverse])
