"""What the cost of a group is to the rest of the package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, counted
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Ints


class GroupCost(ABC):
    """What groups of the rows of one table lose, and what they are released as.

    name: as results call it. words: for people, such as "SSE".

    A cost of one's own is a subclass that is made by (table, columns, weights), with the weights of all columns as
    fractions, and has a name, `exact` and `release`; it may have `lower_bound` and `splits`. See `register_group_cost`.
    """

    name: ClassVar[str]
    words: ClassVar[str] = ""

    @property
    def splits(self) -> bool:
        """Whether a group in two parts, however they are chosen, never costs more than the group.

        Then groups of κ to 2κ-1 rows are enough where nothing but their size is required: a larger one is cut into such
        parts. True of squares around the mean, of absolute deviations around the median (each part's own centre costs
        no more than the common one), and of boxes (a part's box lies in the common one). Not of other centres: a part
        may cost more around its own. The safe side, of a cost of which nothing is known, is False.
        """
        return False

    @abstractmethod
    def exact(self, rows: Ints) -> Fraction:
        """The cost of a group, 0 or more. rows: int64 (s,), indices of its rows from 0, in the order of the table."""

    def lower_bound(self, rows: Ints) -> Fraction:
        """A lower bound on the cost of every group that holds these rows, and perhaps others. rows: int64 (s,)."""
        return Fraction(0)

    def total(self) -> Fraction:
        """What 100 % information loss is: the sum of squares of all rows around their mean (SST), and so on. Registered
        costs need not say it: it is what all rows as one group cost."""
        return Fraction(0)

    def below(self) -> Self:
        """A cost that is above this one for no group, and splits where such a cost is known: what bounds are computed
        for."""
        return self

    @abstractmethod
    def release(self, group: Ints) -> dict[str, pl.Series]:
        """The columns of the released table. group: int64 (n,), group of each row.

        Text where cells are labels, or where the original column is text; else float64.
        """

    def merged(self, group: Ints) -> Ints:
        """The groups with those together that are released alike, where that changes what they cost."""
        return group

    def of_partition(self, group: Ints) -> Fraction:
        """The cost of all groups together. group: int64 (n,), group of each row."""
        return sum((self.exact(rows) for rows in rows_of(group)), Fraction(0))


def rows_of(group: Ints) -> list[Ints]:
    """The rows of each group, int64 (s,) each, groups by rising number. group: int64 (n,)."""
    order = np.argsort(group, kind="stable").astype(np.int64)
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def refuse_missing(table: Table, columns: tuple[str, ...], what: str) -> None:
    """Raise InputError at the first missing value of these columns. what: the recoding, as messages have it."""
    for name in columns:
        missing = table.column(name).is_null()
        if missing.any():
            row = (missing.arg_max() or 0) + 1
            raise InputError(
                f'{table.source}: column "{name}", row {row}: the value is missing '
                f"({counted(int(missing.sum()), 'such cell')}), and {what} needs a value in each row; fill them, or "
                "leave these rows out"
            )
