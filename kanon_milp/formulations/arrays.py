"""The strong constraints as arrays, where Pyomo would be too slow: they are stated here once.

What `kanon_milp.formulations.strong` declares for k-anonymity is the same model, column by column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags, Ints


class Constraints(NamedTuple):
    """lower ≤ A·x ≤ upper."""

    A: sp.csr_array
    lower: NDArray[Any]
    upper: NDArray[Any]


def program(
    name: str, cost: NDArray[Any], upper: NDArray[Any], integer: Flags, *blocks: Constraints, offset: float = 0.0
) -> LinearModel:
    """Minimize offset + cost·x within constraints, 0 ≤ x ≤ upper; with its integers fixed it has an integral optimum.

    The columns and constraints have no names.
    """
    matrix = sp.csr_array(sp.vstack([each.A for each in blocks], format="csr"))
    none = ("",)
    return LinearModel(
        name=name,
        c=cost.astype(np.float64),
        offset=offset,
        A=matrix,
        constraint_lower=np.concatenate([each.lower for each in blocks]).astype(np.float64),
        constraint_upper=np.concatenate([each.upper for each in blocks]).astype(np.float64),
        lower=np.zeros(len(upper)),
        upper=upper.astype(np.float64),
        integer=integer,
        variable_names=none * len(upper),
        constraint_names=none * matrix.shape[0],
        integral=True,
    )


def sums(of: NDArray[np.integer[Any]], column: Ints, shape: tuple[int, int]) -> sp.csr_array:
    """One row for each sum: that of the columns with its number."""
    return sp.csr_array((np.ones(len(of)), (of, column)), shape=shape)


def placed(row_type: NDArray[np.integer[Any]], counts: Ints, columns: int) -> Constraints:
    """Σ_g x[i,g] = n_i. row_type: int64, of the first columns; counts: n, int64 (t,)."""
    n = counts.astype(np.float64)
    return Constraints(sums(row_type, np.arange(len(row_type)), (len(n), columns)), n, n)


def linked(x: Ints, most: NDArray[Any], binary: Ints, columns: int) -> Constraints:
    """x ≤ most · y. x, binary: int64, the columns of each pair of variables."""
    each, count = np.arange(len(x)), len(x)
    entries = np.concatenate([np.ones(count), -most.astype(np.float64)])
    matrix = sp.csr_array((entries, (np.tile(each, 2), np.concatenate([x, binary]))), shape=(count, columns))
    return Constraints(matrix, np.full(count, -np.inf), np.zeros(count))


def large_enough(x: Ints, group: Ints, least: Ints, first: int, columns: int) -> Constraints:
    """Σ_i x[i,g] ≥ κ_g · y[g]. x: int64, columns; group: the position of each in `least`; first: the column of y[0]."""
    each, count = np.arange(len(least)), len(least)
    entries = np.concatenate([np.ones(len(x)), -least.astype(np.float64)])
    at = (np.concatenate([group, each]), np.concatenate([x, first + each]))
    return Constraints(sp.csr_array((entries, at), shape=(count, columns)), np.zeros(count), np.full(count, np.inf))


def strong_model(counts: Ints, row_type: Ints, candidate: Ints, cost: Ints, least: Ints) -> LinearModel:
    """Rows of types to candidates: columns for the pairs, then for the candidates of which least > 0.

    counts: int64 (t,). row_type, candidate: int64 (pairs,). cost, least: int64 (G,); a candidate with least 0, as one
    that has enough other rows, needs no binary.
    """
    pairs, bound = len(row_type), least > 0
    groups = int(bound.sum())
    number = np.cumsum(bound) - 1  # of y[g]
    x = np.flatnonzero(bound[candidate])
    group, columns = number[candidate[x]], pairs + groups
    return program(
        "strong",
        np.concatenate([cost[candidate], np.zeros(groups)]),
        np.concatenate([counts[row_type], np.ones(groups)]),
        np.arange(columns) >= pairs,
        placed(row_type, counts, columns),
        linked(x, counts[row_type[x]], pairs + group, columns),
        large_enough(x, group, least[bound], pairs, columns),
    )


def set_partitioning(
    matrix: sp.csr_array, cost: NDArray[Any], counts: NDArray[Any], most: NDArray[Any], *further: Constraints
) -> LinearModel:
    """Each row in one group, at the least loss.

    matrix: (t, groups), rows of each type in each group. counts: (t,); cost, most: (groups,), how often each may be
    used.
    """
    n, groups = counts.astype(np.float64), matrix.shape[1]
    rows = Constraints(sp.csr_array(matrix.astype(np.float64)), n, n)
    return program("groups", cost, most, np.ones(groups, np.bool_), rows, *further)
