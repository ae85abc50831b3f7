"""A registered cost of whole groups, of the user's making: what it says is checked for its kind each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, own_code, type_in_words
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.group_costs.base import GroupCost
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Ints


@dataclass(frozen=True, eq=False)
class OwnCost(GroupCost):
    """A cost of the user's making, bound to a table.

    columns: those that it is about, which it has to release.
    """

    own: GroupCost
    table: Table
    columns: tuple[str, ...]

    name: ClassVar[str] = "own"
    words: ClassVar[str] = "cost of one's own"

    @classmethod
    def of(
        cls, kind: type[GroupCost], table: Table, columns: tuple[str, ...], weights: Mapping[str, Number]
    ) -> OwnCost:
        """Bind to a table. Raises InputError for weights that are none, and where the class raises an exception."""
        exact = {name: exact_number(weights.get(name, 1), f'weight of column "{name}"') for name in columns}
        with own_code(f'the group cost "{kind.name}": {kind.__name__}', "take (table, columns, weights)"):
            own: GroupCost = kind(table, columns, exact)  # type: ignore[call-arg]
        return cls(own, table, columns)

    @property
    def splits(self) -> bool:
        """As it says."""
        what, must = self._asked("splits"), "be True or False"
        with own_code(what, must):
            found: object = self.own.splits
        if not isinstance(found, bool):
            raise InputError(f"{what} must {must}, found {type_in_words(found)}")
        return found

    @property
    def bounds_extensions(self) -> bool:
        """Whether it has a lower bound other than 0."""
        return type(self.own).lower_bound is not GroupCost.lower_bound

    def exact(self, rows: Ints) -> Fraction:
        """As it says."""
        return self._number("exact", rows)

    def lower_bound(self, rows: Ints) -> Fraction:
        """As it says."""
        return self._number("lower_bound", rows)

    def total(self) -> Fraction:
        """What all rows as one group cost."""
        return self.exact(np.arange(self.table.n))

    def below(self) -> Self:
        """Itself: nothing is known of another one."""
        return self

    def release(self, group: Ints) -> dict[str, pl.Series]:
        """As it says; a group has one cell in each column."""
        what, must = self._asked("release"), "return a polars.Series of n cells for each column, by name"
        with own_code(what, must):
            found: object = self.own.release(group)
        if not isinstance(found, Mapping) or set(found) != set(self.columns):
            raise InputError(f"{what} must {must}")
        if any(not isinstance(each, pl.Series) or len(each) != len(group) for each in found.values()):
            raise InputError(f"{what} must {must}")
        cells = {name: found[name].alias(name) for name in self.columns}
        frame = pl.DataFrame(cells)
        if frame.with_columns(__group__=pl.Series(group)).unique().height != len(np.unique(group)):
            raise InputError(f"{what} must give all rows of a group the same cells")
        return cells

    def merged(self, group: Ints) -> Ints:
        """Groups that are released alike are one group."""
        frame = pl.DataFrame(self.release(group))
        numbers = frame.select(pl.struct(pl.all()).rank("dense")).to_series()
        return numbers.to_numpy().astype(np.int64)

    def _number(self, method: str, rows: Ints) -> Fraction:
        what, must = self._asked(method), "return an int or a Fraction of at least 0"
        with own_code(what, must):
            found: object = getattr(self.own, method)(rows)
        if isinstance(found, bool) or not isinstance(found, int | Fraction) or found < 0:
            raise InputError(f"{what} must {must}, found {type_in_words(found)}")
        return Fraction(found)

    def _asked(self, method: str) -> str:
        return f'the group cost "{self.own.name}": {method}'
