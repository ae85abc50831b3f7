"""Quality measures of released tables, as in Bredereck et al. 2013 (pattern-guided), section 3, Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.problem.table import Table
from kanon_milp.verify.frames import classes, open_released, text_columns


@dataclass(frozen=True)
class Metrics:
    """All measures of one released table; h_avg and h_max are numbers of rows."""

    suppressions: int
    groups: int
    h_avg: Fraction
    h_max: int
    discernibility: int
    usefulness: Fraction | None

    def as_dict(self) -> dict[str, int | float | None]:
        """The measures as plain numbers."""
        return {
            "suppressions": self.suppressions,
            "groups": self.groups,
            "h_avg": float(self.h_avg),
            "h_max": self.h_max,
            "discernibility": self.discernibility,
            "usefulness": None if self.usefulness is None else float(self.usefulness),
        }


def measure(table: Table, anonymized: Any) -> Metrics:
    """Measure a released table against its original; usefulness is None where their numbers of rows differ.

    Raises InputError for a released table without rows or without one of the quasi-identifiers.
    """
    released = text_columns(open_released(anonymized, table), table.quasi_identifiers)
    sizes = group_sizes(released)
    return Metrics(
        suppressions=suppressions(released, table.symbol),
        groups=len(sizes),
        h_avg=average_size(sizes),
        h_max=max(sizes),
        discernibility=discernibility(sizes),
        usefulness=usefulness(table.keys[list(table.quasi_identifiers)], released)
        if released.height == table.n
        else None,
    )


def suppressions(released: pl.DataFrame, symbol: str) -> int:
    """Number of suppressed cells. released: the quasi-identifiers as text."""
    return int(released.select((pl.all() == symbol).sum()).sum_horizontal().item())


def group_sizes(released: pl.DataFrame) -> list[int]:
    """Rows of each output row type, in the order of first appearance; #h is how many there are."""
    return [int(size) for size in np.bincount(classes(released)[0])]


def average_size(sizes: Sequence[int]) -> Fraction:
    """h_avg: mean number of rows of an output row type."""
    return Fraction(sum(sizes), len(sizes))


def discernibility(sizes: Sequence[int]) -> int:
    """Σ |group|²: each row is charged the rows that look like it (Bayardo and Agrawal 2005)."""
    return sum(size * size for size in sizes)


def usefulness(original: pl.DataFrame, released: pl.DataFrame) -> Fraction:
    """Average tuple diversity of the output row types (after Loukides and Shao 2007); small is good.

    The diversity of a column in a group is the number of distinct original values that its rows have there,
    divided by the number of distinct values of the column in the entire table. Tuple diversity is the sum over
    the columns, usefulness its mean over the groups, each group counting once; so it lies above 0 and never
    above the number of columns.

    original, released: the quasi-identifiers as text, same columns, same row order.
    """
    group_of_row, groups = classes(released)
    total = Fraction(0)
    for name in original.columns:
        value_of_row, values = classes(original[[name]])
        total += Fraction(_distinct_pairs(group_of_row, value_of_row), values.height)
    return total / groups.height


def _distinct_pairs(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    return pl.Series(left * (int(right.max()) + 1) + right).n_unique()
